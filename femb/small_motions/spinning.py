"""Small motions about steady rotation, in the axes of the frames, where their coefficients are constant.

    M p'' + (C + G) p' + K p + J^T mu = F,   J p = 0,   w = p' - E p,   w' = p'' - E p'

with displacements p and speeds w in each frame's own axes. Centrifugal and gyroscopic forces are in K and G.
Source: docs/theory/linearisation.md, section 2; docs/theory/modes.md, section 1.
"""

import numpy as np
from scipy.sparse import block_diag, csc_array, eye_array

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.connections import axes_of_points
from femb.numerics import rotations
from femb.small_motions.spin_watch import warn_of_spin
from femb.system.system import System

# m/s2 and rad/s2, relative to the accelerations of the state: what counts as steady.
STEADY = 1e-6
# Rounding of accelerations: of positions (1 m), times the stiffness per mass of a node.
ROUNDING = 16.0 * np.finfo(float).eps


def in_own_axes(
    system: System,
    q: Floats,
    v: Floats,
    a: Floats,
    mass: Floats,
    damping: Floats,
    stiffness: Floats,
    jacobian: Floats,
    checked: bool = True,
) -> tuple[Floats, Floats, Floats, Floats, csc_array, csc_array]:
    """Block data of M, C + G, K and J of a state q, v with accelerations a, and inertial velocities by the rates p'
    of own displacements, H, and by these, eta_p - H E.

    mass, damping, stiffness, jacobian : block data in the System's coordinates. checked : whether to raise ModelError
    where the state is not steady.
    """
    warn_of_spin(system, v)
    pattern, n = system.pattern, system.n_v
    M, C, K = (pattern.to_csc(data)[:n, :n] for data in (mass, damping, stiffness))
    rounding = ROUNDING * np.abs(K.diagonal()) / np.maximum(M.diagonal(), np.finfo(float).tiny)
    rounding = rounding if checked else np.full(n, np.inf)
    H, eta_p, alpha_p, alpha_w, E = own_axes_derivatives(system, q, v, a, rounding)
    by_pose = eta_p - H @ E
    matrices = (
        H.T @ M @ H,
        H.T @ (M @ (alpha_w - H @ E) + C @ H),
        H.T @ (M @ (alpha_p - alpha_w @ E) + C @ by_pose + K @ H),
    )
    whole = block_diag([H, eye_array(system.n_c)], format="csc")
    rows = whole.T @ pattern.to_csc(jacobian) @ whole
    result = [pattern.from_csc(_widened(matrix, pattern.n)) for matrix in matrices]
    return result[0], result[1], result[2], pattern.from_csc(rows), H, by_pose


def _widened(matrix: csc_array, n: int) -> csc_array:
    """The matrix with rows and columns of zeros for the multipliers."""
    part = matrix.tocoo()
    return csc_array((part.data, (part.row, part.col)), shape=(n, n))


def own_axes_derivatives(system: System, q: Floats, v: Floats, a: Floats, rounding: Floats) -> tuple[csc_array, ...]:
    """H, eta_p, alpha_p, alpha_w, E (n_v, n_v) of ``femb.linear.chart``, sparse; rounding (n_v,) : of a."""
    layout = system.layout
    turning = dict(axes_of_points(layout))
    alone = [
        frame.label
        for k, (frame, j) in enumerate(zip(layout.frames, layout.frame_v, strict=True))
        if frame.freedom == 3 and k not in turning and np.any(v[j : j + 3])
    ]
    if alone:
        raise ModelError(
            f"modes: {alone[0]!r} is a free point mass, connected with nothing that has axes, so that none turn with "
            "it: leave its velocity out, or give it an inertia as a rigid body"
        )
    owners = {k: k for k, frame in enumerate(layout.frames) if frame.freedom == 6} | turning
    which, axes_of = list(owners), list(owners.values())
    line = layout.frame_v[which][:, None] + np.arange(3)
    turn = layout.frame_v[axes_of][:, None] + np.arange(3, 6)
    R = rotations.rotation_matrix(rotations.normalise(q[layout.frame_q[axes_of][:, None] + np.arange(3, 7)]))
    omega, speeds = v[turn], np.einsum("fji,fj->fi", R, v[line])
    A = np.einsum("fji,fj->fi", R, a[line])
    steady = np.abs(np.concatenate([A - np.cross(omega, speeds), a[turn]], axis=1))
    allowed = STEADY * max(1.0, float(np.max(np.abs(a)))) + np.concatenate([rounding[line], rounding[turn]], axis=1)
    if np.any(steady > allowed):
        frame = which[int(np.argmax(np.max(steady - allowed, axis=1)))]
        raise ModelError(
            f"modes: the state is not steady: {layout.frames[frame].label!r} accelerates in its own axes by "
            f"{np.max(steady):.3g}; start from 'equilibrium', or at rest"
        )
    spin, slide, pull = (rotations.cross_matrix(x) for x in (omega, speeds, A))
    n = system.n_v
    identity = np.ones(n)
    identity[line] = 0.0
    diagonal = csc_array((identity, (np.arange(n), np.arange(n))), shape=(n, n))
    H = diagonal + _blocks(n, [(line, line, R)])
    eta_p = _blocks(n, [(line, turn, -R @ slide)])
    alpha_p = _blocks(n, [(line, turn, -R @ pull)])
    alpha_w = _blocks(n, [(line, line, R @ spin), (line, turn, -R @ slide)])
    own = [k == owner for k, owner in owners.items()]
    E = _blocks(n, [(line, line, -spin), (line, turn, -slide), (turn[own], turn[own], -spin[own])])
    return H, eta_p, alpha_p, alpha_w, E


def _blocks(n: int, parts: list[tuple[np.ndarray, np.ndarray, Floats]]) -> csc_array:
    """(n, n) of blocks (f, 3, 3) at rows and columns (f, 3)."""
    rows = np.concatenate([np.repeat(at, 3, axis=1).ravel() for at, _, _ in parts])
    columns = np.concatenate([np.tile(at, (1, 3)).ravel() for _, at, _ in parts])
    values = np.concatenate([values.ravel() for _, _, values in parts])
    return csc_array((values, (rows, columns)), shape=(n, n))

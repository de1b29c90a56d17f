"""Small motions about steady rotation, in the axes of the frames, where their coefficients are constant.

    M p'' + (C + G) p' + K p + J^T mu = F,   J p = 0,   w = p' - E p,   w' = p'' - E p'

with displacements p and speeds w in each frame's own axes. Centrifugal and gyroscopic forces are in K and G.
Source: docs/theory/linearisation.md, section 2; docs/theory/modes.md, section 1.
"""

import numpy as np
from scipy.sparse import block_diag, csc_array, eye_array

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.connections import axes_of_points, groups_of
from femb.layout.layout import Layout
from femb.numerics import rotations
from femb.small_motions.spin_watch import warn_of_spin
from femb.system.system import System

# Unbalanced forces of a steady rotation, relative to those that balance in it.
STEADY = 1e-6
# Rounding of forces: of positions, times the stiffness.
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
    if checked:
        _check_steady(system, q, v, a, M, K)
    H, eta_p, alpha_p, alpha_w, E = own_axes_derivatives(system, q, v, a)
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


def _check_steady(system: System, q: Floats, v: Floats, a: Floats, M: csc_array, K: csc_array) -> None:
    """Raise ModelError where accelerations a (n_v,) are not those of rotations at a state q, v.

    The difference is a force, by the mass: it is compared with the forces that balance in the rotation of its
    structure. The accelerations of turns of hardly any inertia, which rounding makes large, are small as forces.
    """
    layout, extent, n = system.layout, system.layout.extent or 1.0, len(v)
    line, turn, R = _axes(system, q)
    own = line[:, 0] + 3 == turn[:, 0]
    spins = np.einsum("fij,fj->fi", R, v[turn])
    rotation, missing, rates, sizes = np.zeros(n), np.zeros(n), np.zeros(n), np.ones(n)
    rotation[line] = np.cross(spins, v[line])
    missing[line] = a[line] - rotation[line]
    missing[turn[own]] = a[turn[own]]
    rate = np.linalg.norm(spins, axis=1)[:, None]
    rates[line], rates[turn[own]] = rate, rate[own]
    sizes[line] = extent
    balanced, unbalanced = np.abs(M @ rotation), M @ missing
    in_orbit = any(item.follows_origin for item in system.model.items())
    allowed, rounding = STEADY * M.diagonal() * rates**2 * sizes, ROUNDING * (abs(K) @ sizes)
    for frames in groups_of(layout, joined=True):
        columns = np.concatenate([layout.frame_v[k] + np.arange(layout.frames[k].freedom) for k in frames])
        if in_orbit:
            # mass centres fall freely
            fall = np.zeros((3, n))
            fall[:, columns] = system.rigid_velocities(q)[:3, columns]
            unbalanced -= M @ (fall.T @ (fall @ unbalanced)) / float(fall[0] @ (M @ fall[0]))
        # joints pass on the rounding of what is stiff to parts that have no stiffness of their own
        force = STEADY * np.sum(balanced[columns]) + np.max(rounding[columns] * sizes[columns] / extent, initial=0.0)
        allowed[columns] += force * extent / sizes[columns]
    excess = np.abs(unbalanced) - allowed
    frame = max(range(len(layout.frames)), key=lambda k: np.max(excess[_places(layout, k)], initial=-np.inf))
    if np.max(excess[_places(layout, frame)], initial=0.0) > 0.0:
        unbalanced = unbalanced[_places(layout, frame)]
        raise ModelError(
            f"modes: the state is not steady: {layout.frames[frame].label!r} lacks a force of "
            f"{np.linalg.norm(unbalanced[:3]):.3g} N and a moment of {np.linalg.norm(unbalanced[3:]):.3g} N m to turn "
            "with its structure; start from 'equilibrium', or at rest"
        )


def _places(layout: Layout, frame: int) -> slice:
    """The velocities of a frame."""
    first = int(layout.frame_v[frame])
    return slice(first, first + layout.frames[frame].freedom)


def _axes(system: System, q: Floats) -> tuple[Ints, Ints, Floats]:
    """Velocities of f frames and points that have axes, those of the turns of these (f, 3), and the axes."""
    layout = system.layout
    owners = {k: k for k, frame in enumerate(layout.frames) if frame.freedom == 6} | dict(axes_of_points(layout))
    which, axes_of = list(owners), list(owners.values())
    line = layout.frame_v[which][:, None] + np.arange(3)
    turn = layout.frame_v[axes_of][:, None] + np.arange(3, 6)
    R = rotations.rotation_matrix(rotations.normalise(q[layout.frame_q[axes_of][:, None] + np.arange(3, 7)]))
    return line, turn, R


def own_axes_derivatives(system: System, q: Floats, v: Floats, a: Floats) -> tuple[csc_array, ...]:
    """H, eta_p, alpha_p, alpha_w, E (n_v, n_v) of ``femb.linear.chart``, sparse."""
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
    line, turn, R = _axes(system, q)
    omega, speeds = v[turn], np.einsum("fji,fj->fi", R, v[line])
    A = np.einsum("fji,fj->fi", R, a[line])
    spin, slide, pull = (rotations.cross_matrix(x) for x in (omega, speeds, A))
    n = system.n_v
    identity = np.ones(n)
    identity[line] = 0.0
    diagonal = csc_array((identity, (np.arange(n), np.arange(n))), shape=(n, n))
    H = diagonal + _blocks(n, [(line, line, R)])
    eta_p = _blocks(n, [(line, turn, -R @ slide)])
    alpha_p = _blocks(n, [(line, turn, -R @ pull)])
    alpha_w = _blocks(n, [(line, line, R @ spin), (line, turn, -R @ slide)])
    own = line[:, 0] + 3 == turn[:, 0]
    E = _blocks(n, [(line, line, -spin), (line, turn, -slide), (turn[own], turn[own], -spin[own])])
    return H, eta_p, alpha_p, alpha_w, E


def _blocks(n: int, parts: list[tuple[np.ndarray, np.ndarray, Floats]]) -> csc_array:
    """(n, n) of blocks (f, 3, 3) at rows and columns (f, 3)."""
    rows = np.concatenate([np.repeat(at, 3, axis=1).ravel() for at, _, _ in parts])
    columns = np.concatenate([np.tile(at, (1, 3)).ravel() for _, at, _ in parts])
    values = np.concatenate([values.ravel() for _, _, values in parts])
    return csc_array((values, (rows, columns)), shape=(n, n))

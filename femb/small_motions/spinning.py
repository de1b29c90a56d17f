"""Small motions about steady rotation, in the axes of the frames, where their coefficients are constant.

    M p'' + (C + G) p' + K p + J^T mu = F,   J p = 0,   w = p' - E p,   w' = p'' - E p'

with displacements p and speeds w in each frame's own axes. Centrifugal and gyroscopic forces are in K and G.
Source: docs/theory/linearisation.md, section 2; docs/theory/modes.md, section 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, eye_array

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.connections import axes_of_points, groups_of
from femb.layout.layout import Layout
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
from femb.small_motions.spin_watch import warn_of_spin
from femb.system.system import System

# Indices of a quaternion, of a velocity, and of an angular velocity.
Lines = Sequence[tuple[int, int, int]]
# Unbalanced forces of a steady rotation, relative to those that balance in it.
STEADY = 1e-6
# Rounding of forces: of positions, times the stiffness.
ROUNDING = 16.0 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class MotionChanges:
    """First-order changes of a motion by c coordinates p, speeds w and their rates, dense or sparse.

    H, eta_p, alpha_p, alpha_w (n_v, c), E (c, c) : of the pose H p, of velocities eta_p p + H w, of accelerations
    alpha_p p + alpha_w w + H w', and p' = E p + w.
    """

    H: Any
    eta_p: Any
    alpha_p: Any
    alpha_w: Any
    E: Any

    def rows(self, pose: Any, velocity: Any, acceleration: Any) -> tuple[Any, Any, Any]:
        """Rows by p, w, w' of rows (k, n_v) on pose, velocity and acceleration."""
        by_p = pose @ self.H + velocity @ self.eta_p + acceleration @ self.alpha_p
        return by_p, velocity @ self.H + acceleration @ self.alpha_w, acceleration @ self.H

    def by_rates(self) -> "MotionChanges":
        """The changes by p and p' in place of p and w, where E is constant, as in a steady rotation."""
        H, E = self.H, self.E
        return MotionChanges(H, self.eta_p - H @ E, self.alpha_p - self.alpha_w @ E, self.alpha_w - H @ E, 0.0 * E)


def in_own_axes(
    point: OperatingPoint, mass: Floats, damping: Floats, stiffness: Floats, jacobian: Floats, checked: bool = True
) -> tuple[Floats, Floats, Floats, Floats, MotionChanges]:
    """Block data of M, C + G, K and J at a point, and the changes by own displacements and their rates.

    mass, damping, stiffness, jacobian : block data in the System's coordinates. checked : whether to raise ModelError
    where the state is not steady.
    """
    system, q, v, a = point.system, point.q, point.v, point.a
    warn_of_spin(system, v)
    pattern, n = system.pattern, system.n_v
    M, C, K = (pattern.to_csc(data)[:n, :n] for data in (mass, damping, stiffness))
    if checked:
        _check_steady(system, q, v, a, M, K)
    changes = own_axes_changes(system, q, v, a).by_rates()
    by_p, by_rate, by_second = (changes.H.T @ matrix for matrix in changes.rows(K, C, M))
    whole = block_diag([changes.H, eye_array(system.n_c)], format="csc")
    rows = whole.T @ pattern.to_csc(jacobian) @ whole
    found = (pattern.from_csc(_widened(matrix, pattern.n)) for matrix in (by_second, by_rate, by_p))
    return *found, pattern.from_csc(rows), changes  # type: ignore[return-value]


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
    line, turn, R = _axes(q, lines_of(layout))
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
    first = int(layout.frame_v[frame])
    return slice(first, first + layout.frames[frame].freedom)


def lines_of(layout: Layout) -> Lines:
    """Frames and points that have axes: the indices of the quaternion of these in q, of the velocity in v, and of the
    angular velocity of the axes in v. A frame has axes of its own; a point mass has those of its structure."""
    owners = {k: k for k, frame in enumerate(layout.frames) if frame.freedom == 6} | dict(axes_of_points(layout))
    i, j = layout.frame_q.tolist(), layout.frame_v.tolist()
    return [(i[owner] + 3, j[k], j[owner] + 3) for k, owner in owners.items()]


def _axes(q: Floats, lines: Lines) -> tuple[Ints, Ints, Floats]:
    """Indices of velocities and of angular velocities of the axes (f, 3) of f lines, and these axes (f, 3, 3)."""
    quaternion, line, turn = (part[:, None] for part in np.array(lines, dtype=np.int64).reshape(-1, 3).T)
    R = rotations.rotation_matrix(rotations.normalise(q[quaternion + np.arange(4)])).reshape(-1, 3, 3)
    return line + np.arange(3), turn + np.arange(3), R


def own_axes_changes(system: System, q: Floats, v: Floats, a: Floats) -> MotionChanges:
    """Changes by displacements of all frames of a system in their own axes, sparse. Raises ModelError: a point mass
    that moves and has no axes."""
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
    lines = lines_of(layout)
    return changes_along(q, v, a, lines, lines, system.rotations.reshape(-1, 3))


def changes_along(
    q: Floats, v: Floats, a: Floats, lines: Lines, inertial: Lines, spins: Ints, dense: bool = False
) -> MotionChanges:
    """Changes by displacements of ``lines`` in axes that move with them. For a frame with axes R, and in these velocity
    V, acceleration A and omega,

        eta = R (w + phi x V),   alpha = R (w' + omega x w + delta omega x V + phi x A)
        p' = w - omega x p + phi x V,   phi' = delta omega - omega x phi

    q, v, a : the state and its accelerations (n,). inertial : those of the lines whose velocities are along inertial
    axes in v. spins (s, 3) : indices of all angular velocities.
    """
    n, tilde = len(v), rotations.cross_matrix
    of_inertial = set(inertial)
    turned = np.array([each in of_inertial for each in lines], dtype=bool)
    line, turn, axes = _axes(q, lines)
    V = np.where(turned[:, None], np.einsum("fji,fj->fi", axes, v[line]), v[line])
    spin, slide = tilde(v[turn]).reshape(-1, 3, 3), tilde(V).reshape(-1, 3, 3)
    E = [(line, line, -spin), (line, turn, -slide), (spins, spins, -tilde(v[spins]).reshape(-1, 3, 3))]
    line, turn, R, spin, slide = (part[turned] for part in (line, turn, axes, spin, slide))
    pull = tilde(np.einsum("fji,fj->fi", R, a[line])).reshape(-1, 3, 3)
    still = np.setdiff1d(np.arange(n), line)[:, None]
    parts = (
        [(still, still, np.ones((len(still), 1, 1))), (line, line, R)],
        [(line, turn, -R @ slide)],
        [(line, turn, -R @ pull)],
        [(line, line, R @ spin), (line, turn, -R @ slide)],
        E,
    )
    return MotionChanges(*(_blocks(n, each, dense) for each in parts))


def _blocks(n: int, parts: list[tuple[Ints, Ints, Floats]], dense: bool) -> Any:
    """(n, n) of blocks (f, k, k), dense or sparse, at rows and columns (f, k), none of them twice."""
    if dense:
        out = np.zeros((n, n))
        for at, to, values in parts:
            out[at[:, :, None], to[:, None, :]] = values
        return out
    rows = np.concatenate([np.repeat(at, at.shape[1], axis=1).ravel() for at, _, _ in parts])
    columns = np.concatenate([np.tile(to, (1, to.shape[1])).ravel() for _, to, _ in parts])
    return csc_array((np.concatenate([values.ravel() for _, _, values in parts]), (rows, columns)), shape=(n, n))

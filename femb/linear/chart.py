"""Charts: independent coordinates at an operating point, and the first-order changes of the motion by them.

With the changes p of the coordinates, w of the speeds and w' of their rates, a small motion has the

    pose                    xi    = H p              q changes by H(q) xi
    velocities              eta   = eta_p p + H w
    accelerations           alpha = alpha_p p + alpha_w w + H w'
    kinematics              p'    = E p + w

Source: docs/theory/linearisation.md, equations (3) to (6).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.layout.connections import axes_of_points
from femb.numerics import kinematics, rotations
from femb.small_motions.point import OperatingPoint
from femb.system.system import System

if TYPE_CHECKING:
    from femb.formulations.joint_tree import JointTree


# Coordinates of charts with velocities of frames in their own axes: derivatives, and finite changes.
#
# In axes that move with the frames, a structure in steady rotation has constant coefficients.
# Source: docs/theory/linearisation.md, section 2.

Lines = Sequence[tuple[int, int, int]]


@dataclass(frozen=True, eq=False)
class VelocityDerivatives:
    """Derivatives of the inertial velocities v by displacements p and speeds w in own axes, at a state.

    H, eta, alpha_p, alpha_w, E (n, n) : v changes by eta p + H w, v' by alpha_p p + alpha_w w + H w', and p' = E p + w.
    speeds, rates (n,) : w and w' at the state.
    """

    H: Floats
    eta: Floats
    alpha_p: Floats
    alpha_w: Floats
    E: Floats
    speeds: Floats
    rates: Floats


class OwnAxes:
    """Coordinates q and velocities v of the System, or of a joint tree, with velocities of frames in their own axes.

    coordinates : arguments of ``femb.numerics.kinematics``. frames : of what moves with displacements p in axes that
    turn, the indices of the quaternion of these axes in q, of the velocity in v, and of the axes' angular velocity in
    v. A frame has axes of its own; a point mass has those of the first frame of its structure. inertial : those of
    them with v in inertial axes.
    angles : indices in v of angles, which are compared modulo 2 pi.
    """

    def __init__(self, coordinates: Coordinates, frames: Lines, inertial: Lines, angles: Sequence[int] = ()) -> None:
        self.coordinates, self.frames, self.inertial = coordinates, frames, inertial
        self.angles = np.array(angles, dtype=int)

    @classmethod
    def of_system(cls, system: "System") -> "OwnAxes":
        """The coordinates of all frames of a System."""
        layout = system.layout
        owners = {k: k for k, frame in enumerate(layout.frames) if frame.freedom == 6} | dict(axes_of_points(layout))
        i, j = layout.frame_q, layout.frame_v
        lines = [(int(i[owner]) + 3, int(j[k]), int(j[owner]) + 3) for k, owner in owners.items()]
        return cls(system.coordinates, lines, lines)

    @classmethod
    def of_tree(cls, tree: "JointTree") -> "OwnAxes":
        """The coordinates of a joint tree; free roots have no parent, and their quaternion is the attitude."""
        roots = [frame for frame in tree.frames if frame.joint is None and frame.rotation == SPHERICAL]
        lines = [(root.angles.start, root.u.start, root.u.start + 3) for root in roots]
        inertial = [line for line, root in zip(lines, roots, strict=True) if not root.body_velocity]
        angles = [
            range(frame.u.start + len(frame.strokes), frame.u.stop)
            for frame in tree.frames
            if frame.rotation != SPHERICAL
        ]
        return cls(tree.coordinates, lines, inertial, [k for of_frame in angles for k in of_frame])

    @cached_property
    def _quaternions(self) -> list[tuple[int, int]]:
        """Indices of quaternions in q, and of their angular velocities in v."""
        return list(zip(*(coordinate.tolist() for coordinate in self.coordinates[2:]), strict=True))

    def speeds(self, q: Floats, v: Floats) -> Floats:
        """w (n,) from v (n,)."""
        return _rotated(self.inertial, q, v, rotations.rotate_back)

    def velocities(self, q: Floats, w: Floats) -> Floats:
        """v (n,) from w (n,)."""
        return _rotated(self.inertial, q, w, rotations.rotate)

    def retract(self, q: Floats, v: Floats, p: Floats, w: Floats) -> tuple[Floats, Floats]:
        """The state after finite changes p and w (n,)."""
        rates = np.zeros((1, len(q)))
        step = _rotated(self.frames, q, p, rotations.rotate)
        kinematics.rates(*self.coordinates, q[None], step[None], rates)
        after = q + rates[0]
        kinematics.normalise(self.coordinates[2], after)
        return after, self.velocities(after, self.speeds(q, v) + w)

    def local_difference(self, q: Floats, v: Floats, after: Floats, v_after: Floats) -> tuple[Floats, Floats]:
        """p and w (n,) from a state to another, the inverse of ``retract``; angles modulo 2 pi."""
        p = np.zeros(len(v))
        linear_q, linear_v = self.coordinates[:2]
        p[linear_v] = (after - q)[linear_q]
        p[self.angles] -= 2.0 * np.pi * np.round(p[self.angles] / (2.0 * np.pi))
        p = _rotated(self.frames, q, p, rotations.rotate_back)
        for i, j in self._quaternions:
            first, second = (rotations.normalise(x[i : i + 4]) for x in (q, after))
            p[j : j + 3] = rotations.logarithm(rotations.multiply(rotations.conjugate(first), second))
        return p, self.speeds(after, v_after) - self.speeds(q, v)

    def derivatives(self, q: Floats, v: Floats, a: Floats) -> VelocityDerivatives:
        """Derivatives at a state. For a frame with axes R, and in these velocity V, acceleration A and omega,

            eta = R (w + phi x V),   alpha = R (w' + omega x w + delta omega x V + phi x A)
            p' = w - omega x p + phi x V,   phi' = delta omega - omega x phi

        and the rate of the speeds is A - omega x V.
        """
        H = np.eye(len(v))
        eta, alpha_p, alpha_w, E = np.zeros((4, len(v), len(v)))
        speeds, rates = self.speeds(q, v), a.copy()
        for _, j in self._quaternions:
            E[j : j + 3, j : j + 3] = -rotations.cross_matrix(v[j : j + 3])
        for _, j, turn in self.frames:
            line, spin = slice(j, j + 3), slice(turn, turn + 3)
            E[line, line], E[line, spin] = E[spin, spin], -rotations.cross_matrix(speeds[line])
        for i, j, turn in self.inertial:
            line, spin = slice(j, j + 3), slice(turn, turn + 3)
            R = rotations.rotation_matrix(rotations.normalise(q[i : i + 4]))
            velocity, omega = rotations.cross_matrix(speeds[line]), rotations.cross_matrix(v[spin])
            rates[line] = R.T @ a[line] - omega @ speeds[line]
            H[line, line] = R
            eta[line, spin], alpha_p[line, spin] = -R @ velocity, -R @ rotations.cross_matrix(R.T @ a[line])
            alpha_w[line, line], alpha_w[line, spin] = R @ omega, -R @ velocity
        return VelocityDerivatives(H, eta, alpha_p, alpha_w, E, speeds, rates)


def _rotated(lines: Lines, q: Floats, x: Floats, rotate: Callable[[Floats, Floats], Floats]) -> Floats:
    out = x.copy()
    for i, j, _ in lines:
        out[j : j + 3] = rotate(rotations.normalise(q[i : i + 4]), x[j : j + 3])
    return out


STEADY = 1e-6  # m/s2 or rad/s2: largest acceleration in equilibrium
DEPENDENT = 1e-9  # pivots below this, relative to the largest, belong to dependent rows of constraints


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates by name, P free ones and then D that drivers prescribe, and derivatives with respect to them.

    H, eta_p, alpha_p, alpha_w (n_v, P + D), E (P + D, P + D) : as above. geometric_stiffness (P, P + D) : N of
    docs/theory/linearisation.md, equation (8). speeds, rates (P + D,) : the speeds at the point, v = H speeds, and
    their rates. retract : the state q, v of the System after finite changes p, w (P + D,), on the constraints.
    speeds_at : the free speeds (P,) of a state q, v. local_difference : inverse of retract, p and w (2 P,) of the free
    coordinates from the point to a state q, v, angles modulo 2 pi; None where the choice of coordinates may depend on
    the state. joints : the column of the chart by the number of the joint coordinate.
    """

    names: tuple[str, ...]
    driven: tuple[str, ...]
    H: Floats
    eta_p: Floats
    alpha_p: Floats
    alpha_w: Floats
    E: Floats
    geometric_stiffness: Floats
    speeds: Floats
    rates: Floats
    retract: Callable[[Floats, Floats], tuple[Floats, Floats]]
    speeds_at: Callable[[Floats, Floats], Floats]
    local_difference: Callable[[Floats, Floats], Floats] | None = None
    joints: dict[int, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """P, the number of free coordinates."""
        return len(self.names)

    def after(self, change: Floats) -> tuple[Floats, Floats]:
        """The state q, v after a change (2 P,) of the free coordinates and their speeds."""
        p, w = np.zeros((2, self.H.shape[1]))
        p[: self.free], w[: self.free] = change[: self.free], change[self.free :]
        return self.retract(p, w)


def frames_chart(point: OperatingPoint) -> Chart:
    """Chart of a system without constraints: displacements of all frames in their own axes, rotations, internal ones.

    In axes that move with the frames, a structure in steady rotation has constant coefficients. The speeds are the
    velocities in the same axes, and the angular velocities.
    """
    system = point.system
    axes = OwnAxes.of_system(system)
    own = axes.derivatives(point.q, point.v, point.a)
    return Chart(
        frame_names(system),
        (),
        own.H,
        own.eta,
        own.alpha_p,
        own.alpha_w,
        own.E,
        np.zeros((system.n_v, system.n_v)),
        own.speeds,
        own.rates,
        lambda p, w: axes.retract(point.q, point.v, p, w),
        axes.speeds,
        lambda q, v: np.concatenate(axes.local_difference(point.q, point.v, q, v)),
    )


def resting_chart(point: OperatingPoint) -> Chart:
    """Chart in equilibrium, for any constraints: an independent part of the coordinates of all frames.

    Raises ModelError at other points, where velocities and accelerations change with the coordinates.
    """
    system = point.system
    if not point.at_rest or np.max(np.abs(point.a), initial=0.0) > STEADY:
        raise ModelError.at(
            ("drivers",), "orientations are driven at this start, which is linearised in equilibrium only"
        )
    own_axes = OwnAxes.of_system(system)
    own = own_axes.derivatives(point.q, point.v, point.a)
    names = frame_names(system)
    J = system.jacobian(point.u, point.q).toarray() @ own.H
    driven, slopes = driver_slopes(point)
    solution, independent, _, _ = solved(np.hstack([J, slopes]), system.n_v)
    H = own.H @ solution[: system.n_v]
    zero = np.zeros_like(H)  # in equilibrium velocities and accelerations do not change with the coordinates
    stiffness = H[:, : len(independent)].T @ (point.reaction_stiffness() @ H)
    chosen = tuple(names[k] for k in independent)
    E, speeds = np.zeros((H.shape[1], H.shape[1])), np.zeros(H.shape[1])
    rates = np.concatenate([own.rates[independent], np.zeros(len(driven))])

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        return system.projected(point.u, system.retract(point.q, H @ p), point.v + H @ w)

    def speeds_at(q: Floats, v: Floats) -> Floats:
        return own_axes.speeds(q, v)[independent]

    return Chart(chosen, driven, H, zero, zero, zero, E, stiffness, speeds, rates, retract, speeds_at)


def driver_slopes(point: OperatingPoint) -> tuple[tuple[str, ...], Floats]:
    """Names of the coordinates that drivers prescribe, and the derivatives (n_c, D) of the constraints by them.

    The rates of the constraints are linear in the rates of the drivers: a difference for a unit rate is exact.
    """
    system = point.system
    names, columns = driven_coordinates(system), []
    at_rest = np.zeros((1, system.n_v))
    base = system.constraint_rates(point.u[None], point.q[None], at_rest)[0]
    for at in names:
        u = point.u.copy()
        u[at + 1] += 1.0
        columns.append(system.constraint_rates(u[None], point.q[None], at_rest)[0] - base)
    return tuple(names.values()), np.array(columns).reshape(len(names), system.n_c).T


def driven_coordinates(system: System) -> dict[int, str]:
    """Names of the coordinates that drivers prescribe, by the index of their motion in the inputs u."""
    names, at = {}, system.constraint_set.first_input
    for input_ in system.constraint_set.inputs:
        if input_.width == 3 and not input_.of_discrete:
            names[at] = input_.label.removesuffix(".motion")
        at += input_.width
    return names


def driven_inputs(system: System, names: Sequence[str]) -> dict[str, str]:
    """The inputs of driven coordinates with their units: the motions, then all rates, then all accelerations."""
    units = {each.label.removesuffix(".motion"): each.unit for each in system.constraint_set.inputs}
    per = {"": "", " rate": "/s", " acceleration": "/s2"}
    return {
        f"{name}{word}": f"{'1' if time and units[name] == '-' else units[name]}{time}"
        for word, time in per.items()
        for name in names
    }


def frame_names(system: System) -> tuple[str, ...]:
    layout = system.layout
    names = [""] * system.n_v
    words = ("x", "y", "z", "turn_x", "turn_y", "turn_z")
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for k, frame in enumerate(layout.frames):
        for i in range(frame.freedom):
            names[layout.frame_v[k] + i] = f"{bodies.get(k, frame.label)}.{words[i]}"
    for internal, j in zip(layout.internal, layout.internal_v, strict=True):
        names[j] = internal.name
    return tuple(names)


def solved(J: Floats, n: int) -> tuple[Floats, Ints, Ints, Floats]:
    """Solve J x = 0 for dependent ones of the first n coordinates, chosen by pivoting; all further ones are given.

    Gives x (.., k) by the independent and the given coordinates, the numbers of independent and of dependent
    coordinates, and the inverse of J for the latter.
    """
    from scipy.linalg import qr

    dependent, independent = np.arange(0, dtype=np.int64), np.arange(n, dtype=np.int64)
    if len(J):
        _, R, order = qr(J[:, :n], mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > DEPENDENT * diagonal[0]))
        dependent, independent = np.sort(order[:rank]), np.sort(order[rank:])
    inverse = np.asarray(np.linalg.pinv(J[:, dependent]), dtype=np.float64)
    given = np.concatenate([independent, np.arange(n, J.shape[1])])
    x = np.zeros((J.shape[1], len(given)))
    x[given, np.arange(len(given))] = 1.0
    x[dependent] = -inverse @ J[:, given]
    return x, independent, dependent, inverse

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

from femb.base.types import Floats, Ints
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.linear.modal_form import columns_without_rounding
from femb.numerics import kinematics, rotations
from femb.small_motions.point import OperatingPoint
from femb.small_motions.spinning import Lines, MotionChanges, changes_along, lines_of
from femb.system.block_lu import SINE
from femb.system.system import System

if TYPE_CHECKING:
    from femb.formulations.joint_tree import JointTree


# Coordinates of charts with velocities of frames in their own axes: derivatives, and finite changes.
#
# In axes that move with the frames, a structure in steady rotation has constant coefficients.
# Source: docs/theory/linearisation.md, section 2.


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
        lines = lines_of(system.layout)
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
        kinematics.rates(self.coordinates, q[None], step[None], rates)
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

    def changes(self, q: Floats, v: Floats, a: Floats) -> MotionChanges:
        """First-order changes of v and its rates by displacements p and speeds w at a state, (n, n), dense."""
        spins = np.array([j for _, j in self._quaternions], dtype=np.int64)[:, None] + np.arange(3)
        return changes_along(q, v, a, self.frames, self.inertial, spins, dense=True)

    def rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """w' (n,): in axes of a frame its acceleration less omega times its velocity."""
        speeds, rates = self.speeds(q, v), self.speeds(q, a)
        for _, j, turn in self.inertial:
            rates[j : j + 3] -= rotations.cross(v[turn : turn + 3], speeds[j : j + 3])
        return rates


def _rotated(lines: Lines, q: Floats, x: Floats, rotate: Callable[[Floats, Floats], Floats]) -> Floats:
    out = x.copy()
    for i, j, _ in lines:
        out[j : j + 3] = rotate(rotations.normalise(q[i : i + 4]), x[j : j + 3])
    return out


@dataclass(frozen=True, eq=False)
class Chart(MotionChanges):
    """Coordinates by name, P free ones and then D that drivers prescribe, and derivatives with respect to them.

    geometric_stiffness (P, P + D) : N of docs/theory/linearisation.md, equation (8). speeds, rates (P + D,) : the
    speeds at the point, v = H speeds, and their rates. retract : the state q, v of the System after finite changes p,
    w (P + D,), on the constraints. speeds_at : the free speeds (P,) of a state q, v. local_difference : inverse of
    retract, p and w (2 P,) of the free coordinates from the point to a state q, v, angles modulo 2 pi; None where the
    choice of coordinates may depend on the state. joints : the column of the chart by the number of the joint
    coordinate.
    """

    names: tuple[str, ...]
    driven: tuple[str, ...]
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
    system, state = point.system, (point.q, point.v, point.a)
    axes = OwnAxes.of_system(system)
    own = axes.changes(*state)
    return Chart(
        own.H,
        own.eta_p,
        own.alpha_p,
        own.alpha_w,
        own.E,
        frame_names(system),
        (),
        np.zeros((system.n_v, system.n_v)),
        axes.speeds(point.q, point.v),
        axes.rates(*state),
        lambda p, w: axes.retract(point.q, point.v, p, w),
        axes.speeds,
        lambda q, v: np.concatenate(axes.local_difference(point.q, point.v, q, v)),
    )


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


# Pivots below this, relative to the largest, belong to dependent rows of constraints, and those above SINE to others.
DEPENDENT = 1e-9


def solved(J: Floats, n: int, known: Callable[[], int | None] | None = None) -> tuple[Floats, Ints, Ints, Floats]:
    """Solve J x = 0 for dependent ones of the first n coordinates, chosen by pivoting; all further ones are given.

    known : the rank of J, which is asked for where pivots are between those of dependent and of other rows.
    Gives x (.., k) by the independent and the given coordinates, the numbers of independent and of dependent
    coordinates, and the inverse of J for the latter.
    """
    from scipy.linalg import qr

    dependent, independent = np.arange(0, dtype=np.int64), np.arange(n, dtype=np.int64)
    if len(J):
        _, R, order = qr(J[:, :n], mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        least, rank = (int(np.sum(diagonal > part * diagonal[0])) for part in (SINE, DEPENDENT))
        if known is not None and least < rank and (found := known()) is not None:
            rank = min(max(found, least), rank)
        dependent, independent = np.sort(order[:rank]), np.sort(order[rank:])
    inverse = columns_without_rounding(np.asarray(np.linalg.pinv(J[:, dependent]), dtype=np.float64))
    given = np.concatenate([independent, np.arange(n, J.shape[1])])
    x = np.zeros((J.shape[1], len(given)))
    x[given, np.arange(len(given))] = 1.0
    x[dependent] = -inverse @ J[:, given]
    return columns_without_rounding(x), independent, dependent, inverse

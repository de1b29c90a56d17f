"""Coordinates of charts with velocities of frames in their own axes: derivatives, and finite changes.

In axes that move with the frames, a structure in steady rotation has constant coefficients.
Source: docs/theory/linearisation.md, section 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.layout.connections import axes_of_points
from femb.numerics import kinematics, rotations

if TYPE_CHECKING:
    from femb.formulations.joint_tree import JointTree
    from femb.system.system import System

Lines = Sequence[tuple[int, int, int]]


@dataclass(frozen=True, eq=False)
class Derivatives:
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

    def derivatives(self, q: Floats, v: Floats, a: Floats) -> Derivatives:
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
        return Derivatives(H, eta, alpha_p, alpha_w, E, speeds, rates)


def _rotated(lines: Lines, q: Floats, x: Floats, rotate: Callable[[Floats, Floats], Floats]) -> Floats:
    out = x.copy()
    for i, j, _ in lines:
        out[j : j + 3] = rotate(rotations.normalise(q[i : i + 4]), x[j : j + 3])
    return out

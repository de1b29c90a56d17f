"""Velocities of frames in the frames' own axes: the coordinates that charts are made of, and finite changes of them.

In axes that move with the frames a steadily turning structure has constant coefficients.
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
from femb.numerics import kinematics, rotations

if TYPE_CHECKING:
    from femb.formulations.joint_tree import JointTree
    from femb.system.system import System

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Of the inertial velocities v by displacements p in own axes and by speeds w in them, at a state.

    H, eta, alpha_p, alpha_w, E (n, n) : v changes by eta p + H w, v' by alpha_p p + alpha_w w + H w', and p' = E p + w.
    speeds, rates (n,) : w and w' of the state.
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

    coordinates : as ``femb.numerics.kinematics`` takes them. frames : places, of the quaternion in q and of the
    velocity in v, of free frames, whose displacements p are in their own axes. inertial : those of them whose v is in
    inertial axes. angles : places in v of angles, which count turns.
    """

    def __init__(self, coordinates: Coordinates, frames: Pairs, inertial: Pairs, angles: Sequence[int] = ()) -> None:
        self.coordinates, self.frames, self.inertial = coordinates, frames, inertial
        self.angles = np.array(angles, dtype=int)

    @classmethod
    def of_system(cls, system: "System") -> "OwnAxes":
        """Of all frames of a System."""
        layout = system.layout
        free = zip(layout.frames, layout.frame_q, layout.frame_v, strict=True)
        places = [(int(i) + 3, int(j)) for frame, i, j in free if frame.freedom == 6]
        return cls(system.coordinates, places, places)

    @classmethod
    def of_tree(cls, tree: "JointTree") -> "OwnAxes":
        """Of the free roots of a joint tree: their quaternion is the attitude, as they hang on the inertial axes."""
        roots = [frame for frame in tree.frames if frame.joint is None and frame.rotation == SPHERICAL]
        places = [(root.angles.start, root.u.start) for root in roots]
        inertial = [place for place, root in zip(places, roots, strict=True) if not root.body_velocity]
        turns = [
            range(frame.u.start + len(frame.strokes), frame.u.stop)
            for frame in tree.frames
            if frame.rotation != SPHERICAL
        ]
        return cls(tree.coordinates, places, inertial, [k for turn in turns for k in turn])

    @cached_property
    def _balls(self) -> list[tuple[int, int]]:
        """Places of quaternions in q, and of their angular velocities in v."""
        return list(zip(*(coordinate.tolist() for coordinate in self.coordinates[2:]), strict=True))

    def speeds(self, q: Floats, v: Floats) -> Floats:
        """w (n,) of v."""
        return _each_turned(self.inertial, q, v, rotations.rotate_back)

    def velocities(self, q: Floats, w: Floats) -> Floats:
        """v (n,) of w."""
        return _each_turned(self.inertial, q, w, rotations.rotate)

    def retract(self, q: Floats, v: Floats, p: Floats, w: Floats) -> tuple[Floats, Floats]:
        """The state after finite changes p and w (n,)."""
        rates = np.zeros((1, len(q)))
        step = _each_turned(self.frames, q, p, rotations.rotate)
        kinematics.rates(*self.coordinates, q[None], step[None], rates)
        after = q + rates[0]
        kinematics.normalise(self.coordinates[2], after)
        return after, self.velocities(after, self.speeds(q, v) + w)

    def local_difference(self, q: Floats, v: Floats, after: Floats, v_after: Floats) -> tuple[Floats, Floats]:
        """p and w (n,) from a state to another; angles less whole turns."""
        p = np.zeros(len(v))
        linear_q, linear_v = self.coordinates[:2]
        p[linear_v] = (after - q)[linear_q]
        p[self.angles] -= 2.0 * np.pi * np.round(p[self.angles] / (2.0 * np.pi))
        p = _each_turned(self.frames, q, p, rotations.rotate_back)
        for i, j in self._balls:
            before, then = (rotations.normalise(each[i : i + 4]) for each in (q, after))
            p[j : j + 3] = rotations.logarithm(rotations.multiply(rotations.conjugate(before), then))
        return p, self.speeds(after, v_after) - self.speeds(q, v)

    def derivatives(self, q: Floats, v: Floats, a: Floats) -> Derivatives:
        """For a frame with the axes R, and in them velocity V, acceleration A and angular velocity omega,

            eta = R (w + phi x V),   alpha = R (w' + omega x w + delta omega x V + phi x A)
            p' = w - omega x p + phi x V,   phi' = delta omega - omega x phi

        and the rates A - omega x V.
        """
        H = np.eye(len(v))
        eta, alpha_p, alpha_w, E = np.zeros((4, len(v), len(v)))
        speeds, rates = self.speeds(q, v), a.copy()
        for _, j in self._balls:
            E[j : j + 3, j : j + 3] = -rotations.cross_matrix(v[j : j + 3])
        for _, j in self.frames:
            line, turn = slice(j, j + 3), slice(j + 3, j + 6)
            E[line, line], E[line, turn] = E[turn, turn], -rotations.cross_matrix(speeds[line])
        for i, j in self.inertial:
            line, turn = slice(j, j + 3), slice(j + 3, j + 6)
            R = rotations.rotation_matrix(rotations.normalise(q[i : i + 4]))
            velocity, omega = rotations.cross_matrix(speeds[line]), rotations.cross_matrix(v[turn])
            rates[line] = R.T @ a[line] - omega @ speeds[line]
            H[line, line] = R
            eta[line, turn], alpha_p[line, turn] = -R @ velocity, -R @ rotations.cross_matrix(R.T @ a[line])
            alpha_w[line, line], alpha_w[line, turn] = R @ omega, -R @ velocity
        return Derivatives(H, eta, alpha_p, alpha_w, E, speeds, rates)


def _each_turned(pairs: Pairs, q: Floats, x: Floats, turn: Callable[[Floats, Floats], Floats]) -> Floats:
    out = x.copy()
    for i, j in pairs:
        out[j : j + 3] = turn(rotations.normalise(q[i : i + 4]), x[j : j + 3])
    return out

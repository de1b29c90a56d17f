"""FrameMotion of frames and of vectors on them, with changes to first order in coordinates and speeds.

Changes are (3, 2 N): by the N coordinates of a chart, then by their N speeds, at given rates of the speeds.
Source: docs/theory/linearisation.md, section 2.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """FrameMotion of a frame: axes R (3, 3), and in these omega and its rate spin (3,); and changes (3, 2 N).

    rotation : change of the attitude, own axes. displacement, velocity, acceleration : changes of the position and its
    rates, inertial axes. omega_change, spin_change : own axes.
    """

    R: Floats
    omega: Floats
    spin: Floats
    rotation: Floats
    displacement: Floats
    velocity: Floats
    acceleration: Floats
    omega_change: Floats
    spin_change: Floats


@dataclass(frozen=True, eq=False)
class Arm:
    """A vector y (3,) in the axes of a frame, its rates y1 and y2 in these, and their changes d, d1, d2 (3, 2 N)."""

    y: Floats
    y1: Floats
    y2: Floats
    d: Floats
    d1: Floats
    d2: Floats

    def values(self, on: FrameMotion) -> tuple[Floats, Floats, Floats]:
        """R y and its first and second rates, inertial axes."""
        rate = np.cross(on.omega, self.y) + self.y1
        second = np.cross(on.spin, self.y) + np.cross(on.omega, rate + self.y1) + self.y2
        return on.R @ self.y, on.R @ rate, on.R @ second

    def changes(self, on: FrameMotion) -> tuple[Floats, Floats, Floats]:
        """Changes of R y and of its first and second rates, inertial axes."""
        omega, spin, tilde = on.omega, on.spin, cross_matrix
        rate = np.cross(omega, self.y) + self.y1
        second = np.cross(spin, self.y) + np.cross(omega, rate + self.y1) + self.y2
        d_rate = tilde(omega) @ self.d - tilde(self.y) @ on.omega_change + self.d1
        d_second = tilde(spin) @ self.d - tilde(self.y) @ on.spin_change - tilde(rate + self.y1) @ on.omega_change
        d_second += tilde(omega) @ (d_rate + self.d1) + self.d2
        pairs = ((self.y, self.d), (rate, d_rate), (second, d_second))
        first, then, last = (on.R @ (change - tilde(value) @ on.rotation) for value, change in pairs)
        return first, then, last

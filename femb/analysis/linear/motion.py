"""Motions of frames and of what they carry, with their changes to first order in coordinates and speeds.

Changes are (3, 2 N): by the N coordinates of a chart, then by their N speeds, at given rates of the speeds.
Source: docs/theory/linearisation.md, section 3.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of a frame (axes R; omega and its rate in them), and its changes (3, 2 N) by coordinates and speeds."""

    R: Floats
    omega: Floats
    spin: Floats
    turn: Floats
    place: Floats
    velocity: Floats
    acceleration: Floats
    omega_change: Floats
    spin_change: Floats


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm y to a joint, or an axis, in axes that turn, its rates y1 and y2, and their changes d, d1, d2 (3, 2 N)."""

    y: Floats
    y1: Floats
    y2: Floats
    d: Floats
    d1: Floats
    d2: Floats

    def values(self, on: Motion) -> tuple[Floats, Floats, Floats]:
        """R y, its rate and its second rate, inertial axes."""
        rate = np.cross(on.omega, self.y) + self.y1
        second = np.cross(on.spin, self.y) + np.cross(on.omega, rate + self.y1) + self.y2
        return on.R @ self.y, on.R @ rate, on.R @ second

    def moved(self, on: Motion) -> tuple[Floats, Floats, Floats]:
        """Changes of R y, of its rate and of its second rate, the frame's own displacement left out; inertial axes."""
        omega, spin, tilde = on.omega, on.spin, cross_matrix
        rate = np.cross(omega, self.y) + self.y1
        second = np.cross(spin, self.y) + np.cross(omega, rate + self.y1) + self.y2
        d_rate = tilde(omega) @ self.d - tilde(self.y) @ on.omega_change + self.d1
        d_second = tilde(spin) @ self.d - tilde(self.y) @ on.spin_change - tilde(rate + self.y1) @ on.omega_change
        d_second += tilde(omega) @ (d_rate + self.d1) + self.d2
        pairs = ((self.y, self.d), (rate, d_rate), (second, d_second))
        first, then, last = (on.R @ (change - tilde(value) @ on.turn) for value, change in pairs)
        return first, then, last

"""Composite rigid body: mass, mass centre and inertia of several bodies."""

import numpy as np

from femb.base.types import Floats


class CompositeBody:
    """mass (kg), center (3,) m and inertia (3, 3) kg m2 about it of the bodies added so far, at first none."""

    def __init__(self) -> None:
        self.mass, self.center, self.inertia = 0.0, np.zeros(3), np.zeros((3, 3))

    def add(self, mass: float, center: Floats, inertia: Floats) -> None:
        """Add a body in the same axes: mass (kg), center (3,) m, inertia (3, 3) kg m2 about its mass centre."""
        total, d = self.mass + mass, center - self.center
        reduced_mass = self.mass * mass / total
        self.inertia = self.inertia + inertia + reduced_mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        self.center = (self.mass * self.center + mass * center) / total
        self.mass = total

"""Rigid bodies put together: mass, mass centre and inertia of their sum."""

import numpy as np

from femb.base.types import Floats


class CompositeBody:
    """mass (kg), center (3,) and inertia (3, 3) about it of the bodies added; none to begin with."""

    def __init__(self) -> None:
        self.mass, self.center, self.inertia = 0.0, np.zeros(3), np.zeros((3, 3))

    def add(self, mass: float, center: Floats, inertia: Floats) -> None:
        """Add a body in the same axes: inertia about its own mass centre, kg m2."""
        total, apart = self.mass + mass, center - self.center
        reduced = self.mass * mass / total
        self.inertia = self.inertia + inertia + reduced * ((apart @ apart) * np.eye(3) - np.outer(apart, apart))
        self.center = (self.mass * self.center + mass * center) / total
        self.mass = total

"""Gravity of a central body on all masses, in a frame that moves on an orbit. Source: docs/theory/orbit.md."""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats
from femb.elements.load.mass_field import AXES, Field, MassField
from femb.elements.load.orbit_kernels import gravity
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.numerics.kepler import gradient_of_gravity
from femb.numerics.vector3 import IN_Q

# Of the gradient, over n2, along the direction to the body and across it.
WEIGHTS = np.array([2.0, -1.0, -1.0])


class OrbitBatch(MassField):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin, a function of
    time."""

    def __init__(self, name: str, mu: float, position: Callable[[float], Floats], layout: Layout) -> None:
        super().__init__(layout)
        self.mu = mu
        self.inputs = (Input(3, position, label=f"the orbit of loads.{name}", surroundings=True),)

    def field(self, u: Floats, q: Floats, middle: Floats) -> Field | None:
        R = np.ascontiguousarray(u[:, self.first_input : self.first_input + 3])
        if not R.any():
            return None
        s = len(q)
        acceleration, axes, rates = np.empty((s, len(self.index), 3)), np.empty((s, self.count, 3, 3)), np.empty(s)
        gravity(self.index, self.mu, self.layout.origin, R, q, middle, acceleration, axes, rates)
        return Field(acceleration, WEIGHTS[:, None] * rates**2, axes)

    def slopes(self, u: Floats, q: Floats) -> Floats:
        at = u[self.first_input : self.first_input + 3] + self.layout.origin
        return gradient_of_gravity(self.mu, at + q[self.index[:, IN_Q, None] + AXES])

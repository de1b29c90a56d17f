"""Gravity of a central body on all masses, in a frame that moves on an orbit. Source: docs/theory/orbit.md."""

from collections.abc import Callable

from femb.base.types import Floats
from femb.elements.load.mass_field import AXES, MassField, Rotations
from femb.elements.load.orbit_kernels import gravity
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.numerics.kepler import gradient_of_gravity
from femb.numerics.vector3 import IN_Q


class OrbitBatch(MassField):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin, a function of
    time."""

    def __init__(self, name: str, mu: float, position: Callable[[float], Floats], layout: Layout) -> None:
        super().__init__(layout)
        self.mu = mu
        self.inputs = (Input(3, position, label=f"the orbit of loads.{name}", surroundings=True),)

    def set_field(self, u: Floats, of: Rotations) -> bool:
        field = of.acceleration, of.weights, of.axes
        found: bool = gravity(self.index, self.mu, self.layout.origin, u, self.first_input, of.q, of.middle, *field)
        return found

    def slopes(self, u: Floats, q: Floats) -> Floats:
        at = u[self.first_input : self.first_input + 3] + self.layout.origin
        return gradient_of_gravity(self.mu, at + q[self.index[:, IN_Q, None] + AXES])

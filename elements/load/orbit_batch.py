"""Gravity of a central body on all masses, in a frame that moves on an orbit. Source: docs/theory/orbit.md."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.load.mass_field import AXES, MassField, Rotations
from femb.elements.load.mass_field_kernels import STRUCTURE
from femb.elements.load.orbit_kernels import gravity
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.stacking import Shift
from femb.layout.views import BlockPattern
from femb.numerics.kepler import gradient_of_gravity
from femb.numerics.vector3 import IN_Q


class OrbitBatch(MassField):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin, a function of
    time.

    mu (g,) and origin (g, 3) : of each structure, the constant of its central body and the origin of its coordinates;
    own_input (g,) : where its position of the frame begins among the inputs of the batch.
    """

    def __init__(self, name: str, mu: float, position: Callable[[float], Floats], layout: Layout) -> None:
        super().__init__(layout)
        self.mu: Floats = np.full(self.count, mu)
        self.origin: Floats = np.tile(layout.origin, (self.count, 1))
        self.own_input: Ints = np.zeros(self.count, dtype=np.int64)
        self.inputs = (Input(3, position, label=f"the orbit of loads.{name}", surroundings=True),)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = cls._stacked_field(batches, shifts, layout)
        result.mu = np.concatenate([batch.mu for batch in batches])
        result.origin = np.concatenate([batch.origin for batch in batches])
        result.own_input = np.concatenate(
            [batch.own_input + shift.inputs for batch, shift in zip(batches, shifts, strict=True)]
        )
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.first: Ints = self.first_input + self.own_input

    def set_field(self, u: Floats, of: Rotations) -> bool:
        field = of.acceleration, of.weights, of.axes
        found: bool = gravity(self.index, self.mu, self.origin, u, self.first, of.q, of.middle, *field)
        return found

    def slopes(self, u: Floats, q: Floats) -> Floats:
        structure = self.index[:, STRUCTURE]
        at = u[self.first[structure, None] + AXES] + self.origin[structure]
        return gradient_of_gravity(self.mu[structure], at + q[self.index[:, IN_Q, None] + AXES])

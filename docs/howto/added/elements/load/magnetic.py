"""Magnetic torque: a magnet on a body in a uniform field."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Floats, Ints, Unit, Vector
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.elements.marker import Place
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.symmetry import AXES, Surroundings, Symmetry, along, twists
from femb.layout.terms import Force, Tangent
from femb.numerics.rotations import cross_matrix, rotate_back
from femb.numerics.vector3 import scatter
from femb.profiles import Constant, Profile, check_profile

STARTS, SIZES = np.array([0]), np.array([3])


@dataclass(frozen=True, eq=False)
class MagneticTorque(Item):
    """The torque of a magnetic moment on a body in a uniform magnetic field."""

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "magnetic"
    results: ClassVar[type[Group]] = LoadResults
    acts_on_attitude: ClassVar[bool] = True

    name: str
    body: str
    """its name"""
    moment: Annotated[Vector, Unit("A m2")]
    """body axes, times the profile"""
    field: Annotated[Vector, Unit("T")]
    """inertial axes"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        check_profile(check, "moment")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """The body, by its name in its own fields."""
        return {(): Place(self.body)}

    def symmetry(self, around: Surroundings) -> Symmetry:
        """Translations, and turns about the field: the torque is across it."""
        return Symmetry.of(twists(AXES, along(np.array(self.field))))

    @staticmethod
    def batches(items: list["MagneticTorque"], layout: Layout, model: Any) -> list[Batch]:
        """One batch of all of them; loads on the ground have no effect."""
        moving = [item for item in items if layout.frames[layout.bodies[item.body]].freedom]
        return [MagneticBatch(moving, layout)] if moving else []


class MagneticBatch(Batch):
    def __init__(self, items: list[MagneticTorque], layout: Layout) -> None:
        self.names = [item.name for item in items]
        frames = [layout.bodies[item.body] for item in items]
        self.in_q, self.in_v = layout.frame_q[frames] + 3, layout.frame_v[frames] + 3
        self.moment = np.array([item.moment for item in items])
        self.field = np.array([item.field for item in items])
        self.inputs = tuple(Input.of_profile(item.profile, f"loads.{item.name}.profile") for item in items)

    def forces(self) -> list[Force]:
        return [Force(self.torques, (), "uq")]

    def tangents(self) -> list[Tangent]:
        return [Tangent(self.derivatives, (), self.in_v[:, None], "uq", "k")]

    def moments_and_fields(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Both in body axes (s, n, 3)."""
        factor = u[:, self.first_input : self.first_input + len(self.names)]
        attitudes = q[:, self.in_q[:, None] + np.arange(4)]
        fields = np.broadcast_to(self.field, attitudes[..., 1:].shape)
        return factor[..., None] * self.moment, rotate_back(attitudes, fields)

    def torques(self, u: Floats, q: Floats, out: Floats) -> None:
        """out (s, n_v) -= the torques."""
        torques = np.cross(*self.moments_and_fields(u, q))
        for k, j in enumerate(self.in_v):
            out[:, j : j + 3] -= torques[:, k]

    def derivatives(self, offset: Ints, stride: Ints, u: Floats, q: Floats, stiffness: Floats) -> None:
        """Add d(residual)/dq H at every state to block data (s, size)."""
        moments, fields = self.moments_and_fields(u, q)
        blocks = -cross_matrix(moments) @ cross_matrix(fields)
        for s in range(len(q)):
            for k in range(len(self.names)):
                scatter(blocks[s, k], STARTS, SIZES, offset[k], stride[k], stiffness[s])

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        torques = np.cross(*self.moments_and_fields(frames.u, frames.q))
        return {f"loads/{name}/torque": torques[:, k] for k, name in enumerate(self.names)}

"""Magnetic torque: a magnet on a body in a uniform field."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Floats, Unit, Vector
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.elements.marker import Place
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
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

    def allocate(self, pattern: Any) -> None:
        self.offset, self.stride = pattern.offsets(self.in_v[:, None])

    def moments_and_fields(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Both in body axes (s, n, 3)."""
        factor = u[:, self.first_input : self.first_input + len(self.names)]
        attitudes = q[:, self.in_q[:, None] + np.arange(4)]
        fields = np.broadcast_to(self.field, attitudes[..., 1:].shape)
        return factor[..., None] * self.moment, rotate_back(attitudes, fields)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        torques = np.cross(*self.moments_and_fields(u, q))
        for k, j in enumerate(self.in_v):
            out[:, j : j + 3] += torques[:, k]

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        torques = np.zeros_like(out)
        self.nonconservative_force(u, q, v, torques)
        out -= torques

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        moments, fields = self.moments_and_fields(u[None], q[None])
        for k in range(len(self.names)):
            block = -cross_matrix(moments[0, k]) @ cross_matrix(fields[0, k])
            scatter(block, STARTS, SIZES, self.offset[k], self.stride[k], stiffness)

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        torques = np.cross(*self.moments_and_fields(frames.u, frames.q))
        return {f"loads/{name}/torque": torques[:, k] for k, name in enumerate(self.names)}

"""Flywheel: balanced, in a body, with a motor that a switch turns off at a speed."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.errors import ModelError
from femb.base.quantity import Group, Quantity
from femb.base.types import POSITIVE, Floats, Unit, Vector
from femb.elements.body.body import RigidBody
from femb.elements.item import Item, ItemStates
from femb.layout.discrete import Update
from femb.layout.element import Batch, Input, OutputRows, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.numbering import InternalQuantity
from femb.numerics import rotations
from femb.numerics.vector3 import scatter
from femb.profiles import Constant, Profile

CONSTANT = Constant()
SPEED = InternalQuantity("speed", "rad/s", tolerance=1e-4)
STARTS, SIZES = np.array([0, 3]), np.array([3, 1])


def momentum(item: "Flywheel", at: ItemStates) -> Floats:
    """(s,) N m s about the axis, with that of the body's rotation."""
    omega = at.motion(item.body)[3]
    return item.inertia * (at.coordinate("speed") + omega @ item.axis)


def momentum_rows(item: "Flywheel", point: Any) -> OutputRows:
    layout = point.system.layout
    row = np.zeros((1, point.system.n_v))
    row[0, layout.internal_v[layout.internal_number(item.table, item.name, "speed")]] = item.inertia
    j = layout.frame_v[layout.bodies[item.body]] + 3
    row[0, j : j + 3] = item.inertia * np.array(item.axis)
    return OutputRows("N m s", velocity=row, components=())


def power(item: "Flywheel", at: ItemStates) -> Floats:
    """(s,) W of the motor: torque, unless it is off, times relative speed."""
    return at.input("torque")[:, 0] * (1.0 - at.input("off")[:, 0]) * at.coordinate("speed")


class FlywheelResults(Group):
    """Motion of a wheel, and the power of its motor."""

    word: ClassVar[str] = "flywheel"

    speed = Quantity("(T,)", "rad/s", "of the wheel relative to its body", coordinate="speed")
    momentum = Quantity("(T,)", "N m s", "about the axis", of=momentum, rows=momentum_rows, level="motion")
    power = Quantity("(T,)", "W", "of the motor", of=power)


@dataclass(frozen=True, eq=False)
class Flywheel(Item):
    """A balanced flywheel in a body, whose inertia contains the wheel; its motor turns off at ``max_speed``."""

    table: ClassVar[str] = "flywheels"
    kind: ClassVar[str] = "flywheel"
    results: ClassVar[type[Group]] = FlywheelResults

    name: str
    body: str
    """its name"""
    inertia: Annotated[float, Unit("kg m2"), POSITIVE]
    """about the axis"""
    axis: Annotated[Vector, Unit("")] = (0.0, 0.0, 1.0)
    """unit vector, body axes"""
    torque: Annotated[float, Unit("N m")] = 0.0
    """of the motor on the wheel, times the profile"""
    profile: Profile = CONSTANT
    friction: Annotated[float, Unit("N m s/rad")] = 0.0
    """against the speed"""
    speed: Annotated[float, Unit("rad/s")] = 0.0
    """at the start"""
    max_speed: Annotated[float | None, Unit("rad/s")] = None

    @property
    def switch(self) -> str:
        """The name of its discrete state: 1 where the motor is off."""
        return f"flywheels.{self.name}.off"

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        if not isinstance(model.bodies.get(self.body), RigidBody):
            raise ModelError.at((self.table, self.name, "body"), f"got {self.body!r}, wanted a rigid body")
        frame = layout.bodies[self.body]
        layout.couple([frame], [layout.add_internal(self.name, SPEED, frame, self.table, start=self.speed)])
        layout.add_discrete(self.switch, 0.0)
        limit = self.max_speed
        if limit is not None:
            layout.add_update(
                Update(
                    f"flywheels.{self.name}",
                    change=lambda t, state, discrete: {self.switch: 1.0},
                    zero=lambda t, state, discrete: state.flywheels[self.name].speed - limit,
                    watched=lambda discrete: discrete[self.switch] == 0.0,
                    direction=1,
                    recorded=True,
                )
            )

    def motor(self) -> tuple[Input, Input]:
        """The torque of the motor, and whether it is off."""
        label = f"flywheels.{self.name}.torque"
        torque = Input(
            1,
            lambda t: self.torque * self.profile(t),
            breakpoints=breakpoints_of(self.profile),
            label=label,
            unit="N m",
        )
        return torque, Input.of_array(self.switch)

    @staticmethod
    def batches(items: list["Flywheel"], layout: Layout, model: Any) -> list[Batch]:
        return [FlywheelBatch(items, layout)]


class FlywheelBatch(Batch):
    def __init__(self, items: list[Flywheel], layout: Layout) -> None:
        numbers = [layout.internal_number(item.table, item.name, "speed") for item in items]
        frames = [layout.bodies[item.body] for item in items]
        self.k, self.j = layout.internal_v[numbers], layout.frame_v[frames] + 3
        self.attitude = layout.frame_q[frames] + 3
        self.axis = np.array([item.axis for item in items])
        self.inertia, self.friction = np.array([(item.inertia, item.friction) for item in items]).T
        self.inputs = tuple(each for item in items for each in item.motor())

    def allocate(self, pattern: Any) -> None:
        self.offset, self.stride = pattern.offsets(np.stack([self.j, self.k], axis=1))

    def motor(self, u: Floats, n: int) -> Floats:
        """(s,) the torque on wheel n."""
        torque, off = u[:, self.first_input + 2 * n], u[:, self.first_input + 2 * n + 1]
        return torque * (1.0 - off)

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        for n, (j, k, g, J) in enumerate(zip(self.j, self.k, self.axis, self.inertia, strict=True)):
            omega, alpha = v[:, j : j + 3], a[:, j : j + 3]
            out[:, k] += J * (a[:, k] + alpha @ g) + self.friction[n] * v[:, k] - self.motor(u, n)
            out[:, j : j + 3] += J * (a[:, k, None] * g + v[:, k, None] * np.cross(omega, g))

    def mass(self, q: Floats, mass: Floats) -> None:
        for n, (g, J) in enumerate(zip(self.axis, self.inertia, strict=True)):
            M = np.zeros((4, 4))
            M[:3, 3] = M[3, :3] = J * g
            M[3, 3] = J
            scatter(M, STARTS, SIZES, self.offset[n], self.stride[n], mass)

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.mass(q, mass)
        self.force_tangent(u, q, v, damping, stiffness)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        for n, (j, k, g, J) in enumerate(zip(self.j, self.k, self.axis, self.inertia, strict=True)):
            C = np.zeros((4, 4))
            C[:3, :3] = -J * v[k] * rotations.cross_matrix(g)
            C[:3, 3] = J * np.cross(v[j : j + 3], g)
            C[3, 3] = self.friction[n]
            scatter(C, STARTS, SIZES, self.offset[n], self.stride[n], damping)

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        for i, j, k, g, J in zip(self.attitude, self.j, self.k, self.axis, self.inertia, strict=True):
            out[:, 0] += J * v[:, k] * (v[:, j : j + 3] @ g + 0.5 * v[:, k])
            out[:, 5:8] += rotations.rotate(q[:, i : i + 4], J * v[:, k, None] * g)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        for n, k in enumerate(self.k):
            out[:, k] += self.motor(u, n) - self.friction[n] * v[:, k]

"""Flywheel: balanced, in a body, with a motor that a switch turns off at a speed."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.errors import ModelError
from femb.base.quantity import Group, Quantity
from femb.base.types import POSITIVE, Floats, Ints, Unit, Vector
from femb.elements.body.body import RigidBody
from femb.elements.item import Item, ItemStates
from femb.layout.discrete import Update
from femb.layout.element import Batch, Input, OutputRows, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.numbering import InternalQuantity
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.numerics.compiler.compile import kernel, kernel_with_entry
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotate, rotation, scatter
from femb.profiles import Constant, Profile

CONSTANT = Constant()
SPEED = InternalQuantity("speed", "rad/s", tolerance=1e-4)
STARTS, SIZES = np.array([0, 3]), np.array([3, 1])
INERTIA, FRICTION = 3, 4


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


# Kernels: frames (n, 2): where the frame of the body begins in q and in v. speeds (n,): the place of the speed in v.
# data (n, 5): AXIS, INERTIA, FRICTION.


@kernel_with_entry
def inertia(frames, speeds, data, v, a, out):
    """out (s, n_v) += the inertia of the spin, on the wheel and on the body."""
    across = np.empty(3)
    for s in range(v.shape[0]):
        for n in range(speeds.size):
            j, k, g, J = frames[n, IN_V] + 3, speeds[n], data[n, :3], data[n, INERTIA]
            cross(v[s, j : j + 3], g, across)
            out[s, k] += J * (a[s, k] + dot(a[s, j : j + 3], g))
            for o in range(3):
                out[s, j + o] += J * (a[s, k] * g[o] + v[s, k] * across[o])


@kernel_with_entry
def motor(speeds, inputs, u, out):
    """out (s, n_v) -= the torques of the motors that are not off."""
    for s in range(u.shape[0]):
        for n in range(speeds.size):
            out[s, speeds[n]] -= u[s, inputs[n]] * (1.0 - u[s, inputs[n] + 1])


@kernel_with_entry
def friction(speeds, data, v, out):
    """out (s, n_v) += the friction."""
    for s in range(v.shape[0]):
        for n in range(speeds.size):
            out[s, speeds[n]] += data[n, FRICTION] * v[s, speeds[n]]


@kernel_with_entry
def add_mass(data, offset, stride, q, mass):
    """Add the mass at every state to block data (s, size)."""
    M = np.zeros((4, 4))
    for s in range(q.shape[0]):
        for n in range(data.shape[0]):
            M[3, 3] = data[n, INERTIA]
            for o in range(3):
                M[o, 3] = M[3, o] = data[n, INERTIA] * data[n, o]
            scatter(M, STARTS, SIZES, offset[n], stride[n], mass[s])


@kernel_with_entry
def tangent(frames, speeds, data, offset, stride, v, damping):
    """Add d(residual)/dv at every state to block data (s, size)."""
    C, unit, across = np.zeros((4, 4)), np.zeros(3), np.empty(3)
    for s in range(v.shape[0]):
        for n in range(speeds.size):
            j, g, J = frames[n, IN_V] + 3, data[n, :3], data[n, INERTIA]
            for column in range(3):
                unit[:] = 0.0
                unit[column] = 1.0
                cross(unit, g, across)
                for o in range(3):
                    C[o, column] = J * v[s, speeds[n]] * across[o]
            cross(v[s, j : j + 3], g, across)
            for o in range(3):
                C[o, 3] = J * across[o]
            C[3, 3] = data[n, FRICTION]
            scatter(C, STARTS, SIZES, offset[n], stride[n], damping[s])


@kernel
def energy(frames, speeds, data, q, v, out):
    """out (s, 8) += the kinetic energy of the spin, and its angular momentum about the origin."""
    R, h, spin = np.empty((3, 3)), np.empty(3), np.empty(3)
    for s in range(q.shape[0]):
        for n in range(speeds.size):
            i, j, speed = frames[n, IN_Q] + 3, frames[n, IN_V] + 3, v[s, speeds[n]]
            out[s, 0] += data[n, INERTIA] * speed * (dot(v[s, j : j + 3], data[n, :3]) + 0.5 * speed)
            for o in range(3):
                h[o] = data[n, INERTIA] * speed * data[n, o]
            rotation(q[s, i : i + 4], R)
            rotate(R, h, spin)
            for o in range(3):
                out[s, 5 + o] += spin[o]


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
        self.frames: Ints = np.stack([layout.frame_q[frames], layout.frame_v[frames]], axis=1)
        self.speeds: Ints = layout.internal_v[numbers]
        self.data = np.array([(*item.axis, item.inertia, item.friction) for item in items])
        self.inputs = tuple(each for item in items for each in item.motor())

    def forces(self) -> list[Force]:
        inputs = self.first_input + 2 * np.arange(len(self.speeds))
        return [
            Force(inertia, (self.frames, self.speeds, self.data), "va", ForcePart.INERTIA),
            Force(motor, (self.speeds, inputs), "u", ForcePart("work", "_motor")),
            Force(friction, (self.speeds, self.data), "v", ForcePart("work", "_friction")),
        ]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(add_mass, (self.data,), self.starts, (3, 1))]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self.frames, self.speeds, self.data), self.starts, "v", "d")]

    def energies(self) -> list[Energy]:
        return [Energy(energy, (self.frames, self.speeds, self.data))]

    @property
    def starts(self) -> Ints:
        """(n, 2) the first of the three velocities of rotation of the body, and the speed."""
        return np.stack([self.frames[:, IN_V] + 3, self.speeds], axis=1)

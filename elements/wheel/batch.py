"""Reaction wheels, evaluated together.

A wheel adds to its frame, whose mass contains it locked, what its spin adds: equations (1) to (3) of
docs/theory/wheels.md. A rotor with imbalance adds the first moment and the product of inertia that turn with it,
equation (6) with these alone: both equations are linear in the masses. Harmonics are loads by its angle, (7).
"""

from collections.abc import Sequence
from copy import copy
from math import inf, pi
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.private_blocks import MassiveElements
from femb.layout.commands import continuous_commands
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.protocols import SetsCommands
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, Vector6, cross, dot, exp, joined, lift, zeros_like
from femb.numerics.compiler.traced import (
    V3,
    V4,
    V6,
    add_changes,
    add_to,
    change,
    dual,
    of_one,
    put,
    put_changes,
    reader,
    traced,
    unit_changes,
)
from femb.numerics.vector3 import attitude, scatter, still, turned_about

# index (n, 7) int: of each wheel the frame's indices IN_Q and IN_V, those of its ANGLE in q and its SPEED in v, the
# first of its INPUTS (torque of the motor, command, sign of the speed while that is at its limit, one once the motor
# has failed), its FIRST row of ``harmonics`` and the row after its LAST. data (n, 22): AXIS, E1 and E2 in frame axes,
# its CENTRE in the frame, its SPIN inertia, STATIC and DYNAMIC imbalance, the numbers of its FRICTION: coulomb, static
# less coulomb, Stribeck speed, transition speed and viscous, the MOST speed and the most POWER. harmonics (m, 6):
# ORDER, RADIAL and AXIAL force, ROCKING and AXIAL_TORQUE by the square of the speed, PHASE.
IN_Q, IN_V, ANGLE, SPEED, INPUTS, FIRST, LAST = range(7)
AXIS, E1, E2, CENTRE, SPIN, STATIC, DYNAMIC, FRICTION, MOST, POWER = 0, 3, 6, 9, 12, 13, 14, 15, 20, 21
ORDER, RADIAL, AXIAL, ROCKING, AXIAL_TORQUE, PHASE = range(6)
INPUTS_OF_EACH = 4
# Least number of steps in a period of the fastest disturbance, of methods of order 5 and higher: see the page.
STEPS_A_PERIOD = 8.0

# 1/s, at which a motor brings a wheel back to its largest speed: the turn of its body leaves it off by the hub's
# acceleration over this rate.
HOLDING_RATE = 10.0

# Electrical numbers of a motor that loses nothing, whose power is that on the wheel.
IDEAL = (0.0, 0.0, inf)

STARTS = np.array([0, 6])
SIZES = np.array([6, 1])
# Directions of the tangent: turns of the frame, the angle, the angular velocity of the frame, and the speed; and those
# of the mass: accelerations of the frame, and of the speed.
turns, turn_of_wheel, spins, spin_of_wheel = (unit_changes(first, 8) for first in (0, 3, 4, 7))
accelerating, rate_of_wheel = unit_changes(0, 8), unit_changes(6, 8)
row_of_data, law_at, harmonic_at = reader(22), reader(5), V6


class Wheel(NamedTuple):
    """Axis g, e1, e2 and centre b (3,) in the frame, spin inertia, static and dynamic imbalance."""

    g: Vector3
    e1: Vector3
    e2: Vector3
    b: Vector3
    J_s: Number
    U_s: Number
    U_d: Number


class HubMotion(NamedTuple):
    """Axes R of the frame, angular velocity omega, acceleration (6,) of which the first three are less gravity; speed
    of the wheel, and its rate."""

    R: Matrix3
    omega: Vector3
    a: Vector6
    speed: Number
    rate: Number


@traced
def wheel_of(row: Annotated[Any, (22,)]) -> Any:
    return Wheel(row[AXIS:E1], row[E1:E2], row[E2:CENTRE], row[CENTRE:SPIN], row[SPIN], row[STATIC], row[DYNAMIC])


@traced
def hub_motion(R: Matrix3, omega: Vector3, a: Vector6, gravity: Vector3, speed: Number, rate: Number) -> Any:
    """The motion with the accelerations a (6,)."""
    return HubMotion(R, omega, joined(a[:3] - gravity, a[3:]), speed, rate)


@traced
def spin_force(wheel: Wheel, at: HubMotion) -> Any:
    """Force, torque on the frame, and torque on the wheel (7,), that the spin adds: equation (2)."""
    torque = wheel.J_s * (at.rate * wheel.g + at.speed * cross(at.omega, wheel.g))
    return joined(0.0, 0.0, 0.0, torque, wheel.J_s * (at.rate + dot(wheel.g, at.a[3:])))


def imbalance(wheel: Any, sine: Any, cosine: Any) -> tuple[Any, Any]:
    """First moment s and p of the product of inertia p g^T + g p^T, frame axes, at an angle."""
    return wheel.U_s * (sine * wheel.e1 - cosine * wheel.e2), wheel.U_d * (cosine * wheel.e1 + sine * wheel.e2)


def product_times(p: Any, g: Any, x: Any) -> Any:
    """(p g^T + g p^T) x."""
    return dot(g, x) * p + dot(p, x) * g


@traced
def rotor_force(wheel: Wheel, at: HubMotion, sine: Number, cosine: Number, angle: Number) -> Any:
    """The force of the imbalance, as ``spin_force``: equation (6); sine, cosine : of the angle."""
    g, b, omega, alpha = wheel.g, wheel.b, at.omega, at.a[3:]
    s, p = imbalance(wheel, lift(sine, (cosine, angle)), lift(cosine, (-sine, angle)))
    w, turning = omega + at.speed * g, alpha + at.rate * g + at.speed * cross(omega, g)
    a = at.R.T @ at.a[:3] + cross(alpha, b) + cross(omega, cross(omega, b))
    F = cross(turning, s) + cross(w, cross(w, s))
    T = cross(s, a) + product_times(p, g, turning) + cross(w, product_times(p, g, w))
    return joined(at.R @ F, cross(b, F) + T, dot(g, T))


@traced
def harmonic_load(wheel: Wheel, row: Vector6, sine: Number, cosine: Number, angle: Number, speed: Number) -> Any:
    """Force and torque (6,), frame axes, of a harmonic at the centre: equation (7); sine, cosine : of its phase."""
    order, radial_force, axial_force, rocking, axial_torque, _ = row
    sine, cosine = lift(sine, (order * cosine, angle)), lift(cosine, (-order * sine, angle))
    radial, axial = speed * speed * (sine * wheel.e1 - cosine * wheel.e2), speed * speed * sine * wheel.g
    return joined(radial_force * radial + axial_force * axial, rocking * radial + axial_torque * axial)


@traced
def no_load(x: Vector3) -> Any:
    """Zeros (6,) with as many changes as x."""
    return zeros_like(joined(x, x))


@traced
def varied_spin_force(wheel: Wheel, at: HubMotion, x: Vector3) -> Any:
    """``spin_force`` with as many changes as x in every entry."""
    return spin_force.run(wheel, at) + zeros_like(joined(x, x, x[0]))


@traced
def on_hub(wheel: Wheel, R: Matrix3, load: Vector6) -> Any:
    """Force and torque on the frame of a load at the centre, and none on the wheel (7,)."""
    F = load[:3]
    return joined(R @ F, cross(wheel.b, F) + load[3:], 0.0)


@traced
def friction_torque(law: Annotated[Any, (5,)], speed: Number, onset: Number) -> Any:
    """The torque of friction against the speed, equation (4); onset : the value of the tanh."""
    coulomb, rise, stribeck, transition, viscous = law
    onset = lift(onset, ((1.0 - onset * onset) / transition, speed))
    return (coulomb + rise * exp(-((speed / stribeck) ** 2))) * onset + viscous * speed


@traced
def limited(torque: Number, speed: Number, power: Number) -> Any:
    """The torque with the largest power, equation (4a)."""
    return torque * power / abs(torque * speed)


@traced
def holding(against: Number, J_s: Number, most: Number, speed: Number) -> Any:
    """The torque that holds a wheel at its ``most`` speed against its friction, equation (4b)."""
    return against + J_s * HOLDING_RATE * (most - speed)


@traced
def spin_energy(wheel: Wheel, R: Matrix3, omega: Vector3, speed: Number) -> Any:
    """Energies and momenta (8,), as in ``energy_momentum``, that the spin adds: equation (1)."""
    kinetic = wheel.J_s * speed * (dot(wheel.g, omega) + 0.5 * speed)
    return joined(kinetic, 0.0, 0.0, 0.0, 0.0, R @ (wheel.J_s * speed * wheel.g))


@traced
def rotor_energy(
    wheel: Wheel,
    r: Vector3,
    R: Matrix3,
    velocity: Vector6,
    speed: Number,
    turned: tuple[Number, Number],
    gravity: Vector3,
) -> Any:
    """The energy of the imbalance, as ``spin_energy``; turned : sine and cosine of the angle."""
    omega, (s, p) = velocity[3:], imbalance(wheel, *turned)
    w, v = omega + speed * wheel.g, R.T @ velocity[:3] + cross(omega, wheel.b)
    P, h = cross(w, s), cross(s, v) + product_times(p, wheel.g, w)
    kinetic, momentum = 0.5 * (dot(v, P) + dot(w, h)), R @ P
    return joined(kinetic, -dot(gravity, R @ s), momentum, cross(r + R @ wheel.b, momentum) + R @ h)


@inlined
def friction(data, speed):
    """The torque of friction at a speed, which may have a change."""
    return friction_torque(law_at(data[FRICTION:]), speed, np.tanh(of_one(speed) / data[FRICTION + 3]))


@inlined
def motor(index, data, u, speed):
    """The torque of the motor: within its power, and at the limit of the speed what holds it there, where the command
    exceeds that, equations (4a) and (4b); none once it has failed."""
    works, side = 1.0 - u[index[INPUTS] + 3], u[index[INPUTS] + 2]
    torque = works * (u[index[INPUTS]] + u[index[INPUTS] + 1]) + 0.0 * speed
    if abs(of_one(torque) * of_one(speed)) > data[POWER]:
        torque = limited(torque, speed, data[POWER])
    if side != 0.0 and of_one(torque) * side > 0.0:
        hold = holding(friction(data, speed), data[SPIN], side * data[MOST], speed)
        if side * of_one(torque) > side * of_one(hold):
            torque = hold
    return torque


@inlined
def harmonic_loads(index, wheel, harmonics, value, angle, speed, total):
    """``total`` (6,) with the loads of all harmonics; value : of the angle."""
    for i in range(index[FIRST], index[LAST]):
        phase = harmonics[i, ORDER] * value + harmonics[i, PHASE]
        total = total + harmonic_load(wheel, harmonic_at(harmonics[i]), np.sin(phase), np.cos(phase), angle, speed)
    return total


@inlined
def unbalanced(data):
    """Whether equation (6) has parts."""
    return data[STATIC] != 0.0 or data[DYNAMIC] != 0.0


@inlined
def add_on_hub(index, factor, f, out):
    """out (n_v,) += factor times force and torque on the frame, and torque on the wheel, f (7,)."""
    for o in range(6):
        out[index[IN_V] + o] += factor * f[o]
    out[index[SPEED]] += factor * f[6]


@kernel_with_entry
def loads(index, data, harmonics, u, q, v, factors, out):
    """out (s, n_v) -= motor, friction and harmonics, with factors (2,), or (3,) where there are harmonics."""
    f = np.empty(7)
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            k, speed, angle = index[n, SPEED], v[s, index[n, SPEED]], q[s, index[n, ANGLE]]
            if factors[0] != 0.0:
                out[s, k] -= factors[0] * motor(index[n], data[n], u[s], speed)
            if factors[1] != 0.0:
                out[s, k] += factors[1] * friction(data[n], speed)
            if index[n, LAST] > index[n, FIRST] and factors[2] != 0.0:
                wheel, R = wheel_of(row_of_data(data[n])), attitude(V4(q[s, index[n, IN_Q] + 3 :]))
                load = harmonic_loads(index[n], wheel, harmonics, angle, angle, speed, no_load(still()))
                put(on_hub(wheel, R, load), f)
                add_on_hub(index[n], -factors[2], f, out[s])


@kernel
def motor_torques(index, data, u, v, out):
    """out (s, n): the torques of the motors."""
    for s in range(v.shape[0]):
        for k in range(index.shape[0]):
            out[s, k] = motor(index[k], data[k], u[s], v[s, index[k, SPEED]])


@kernel_with_entry
def inertia(index, data, gravity, q, v, a, out):
    """out (s, n_v) += what the spin and the rotor add to the inertia, less the weight."""
    f = np.empty(7)
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            i, j, k, wheel = index[n, IN_Q], index[n, IN_V], index[n, SPEED], wheel_of(row_of_data(data[n]))
            R, angle = attitude(V4(q[s, i + 3 :])), q[s, index[n, ANGLE]]
            at = hub_motion(R, V3(v[s, j + 3 :]), V6(a[s, j:]), V3(gravity), v[s, k], a[s, k])
            put(spin_force(wheel, at), f)
            if unbalanced(data[n]):
                add_to(rotor_force(wheel, at, np.sin(angle), np.cos(angle), angle), f)
            add_on_hub(index[n], 1.0, f, out[s])


@kernel_with_entry
def add_mass(index, data, offset, stride, q, out):
    """Add the mass of what the spin adds, at every state, to block data (s, size): the change by accelerations."""
    rows, M = np.empty((7, 8)), np.empty((7, 7))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            wheel, rest, angle = wheel_of(row_of_data(data[n])), still(), q[s, index[n, ANGLE]]
            R, a = attitude(V4(q[s, index[n, IN_Q] + 3 :])), accelerating(no_load(rest))
            at = hub_motion(R, rest, a, rest, 0.0, rate_of_wheel(0.0))
            put_changes(varied_spin_force(wheel, at, a[:3]), rows)
            if unbalanced(data[n]):
                add_changes(rotor_force(wheel, at, np.sin(angle), np.cos(angle), angle), rows)
            for i in range(7):
                for o in range(7):
                    M[i, o] = rows[i, o]
            scatter(M, STARTS, SIZES, offset[n], stride[n], out[s])


@kernel_with_entry
def tangent(index, data, harmonics, gravity, offset, stride, u, q, v, a, damping, stiffness):
    """Add the exact d(residual)/dv and d(residual)/dq H at every state to block data (s, size)."""
    rows, C, K = np.empty((7, 8)), np.zeros((7, 7)), np.zeros((7, 7))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            i, j, k, wheel = index[n, IN_Q], index[n, IN_V], index[n, SPEED], wheel_of(row_of_data(data[n]))
            R, value = turned_about(attitude(V4(q[s, i + 3 :])), turns(still())), q[s, index[n, ANGLE]]
            omega, speed, angle = spins(V3(v[s, j + 3 :])), spin_of_wheel(v[s, k]), turn_of_wheel(value)
            at = hub_motion(R, omega, V6(a[s, j:]), V3(gravity), speed, a[s, k])
            put_changes(varied_spin_force(wheel, at, omega), rows)
            if unbalanced(data[n]):
                add_changes(rotor_force(wheel, at, np.sin(value), np.cos(value), angle), rows)
            if index[n, LAST] > index[n, FIRST]:
                load = harmonic_loads(index[n], wheel, harmonics, value, angle, speed, no_load(omega))
                add_changes(-on_hub(wheel, R, load), rows)
            for m in range(7):
                for o in range(4):
                    K[m, 3 + o], C[m, 3 + o] = rows[m, o], rows[m, 4 + o]
            alone = dual(v[s, k], 1.0)
            C[6, 6] += change(friction(data[n], alone)) - change(motor(index[n], data[n], u[s], alone))
            scatter(C, STARTS, SIZES, offset[n], stride[n], damping[s])
            scatter(K, STARTS, SIZES, offset[n], stride[n], stiffness[s])


@kernel
def energy_momentum(index, data, gravity, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin."""
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            i, velocity, wheel = index[n, IN_Q], V6(v[s, index[n, IN_V] :]), wheel_of(row_of_data(data[n]))
            R, speed, angle = attitude(V4(q[s, i + 3 :])), v[s, index[n, SPEED]], q[s, index[n, ANGLE]]
            add_to(spin_energy(wheel, R, velocity[3:], speed), out[s])
            if unbalanced(data[n]):
                turned = np.sin(angle), np.cos(angle)
                add_to(rotor_energy(wheel, V3(q[s, i:]), R, velocity, speed, turned, V3(gravity)), out[s])


class WheelBatch(MassiveElements):
    """The wheels of a model.

    places, data, harmonics : rows for the kernels, of ``places`` without the first input of the batch. contained : the
    wheels that are part of what no rigid body has, by their row: at beam nodes and interfaces.
    """

    in_v, sizes = [IN_V, SPEED], (6, 1)

    def __init__(self, items: Sequence[Any], layout: Layout, model: ModelView) -> None:
        index: list[list[int]] = []
        data: list[list[float]] = []
        harmonics: list[list[float]] = []
        for item in items:
            frame, number, first = layout.station(item.on).frame, item.number(layout), len(harmonics)
            harmonics += item.loads
            of_frame, of_wheel = (layout.frame_q, layout.frame_v), (layout.internal_q, layout.internal_v)
            places = [*(each[frame] for each in of_frame), *(each[number] for each in of_wheel)]
            index.append([*places, INPUTS_OF_EACH * len(index), first, len(harmonics)])
            data.append(item.numbers(layout))
        self.places: Ints = np.array(index, dtype=np.int64)
        self.index = self.places  # of inputs the numbers in the batch, until they are allocated
        self.data: Floats = np.array(data, dtype=float)
        self.harmonics = np.array(harmonics, dtype=float).reshape(-1, PHASE + 1)
        self.electrical: Floats = np.array([item.electrical_numbers for item in items])
        # continuous controllers, whose commands are torques of motors too
        self._controllers: list[Batch] = []
        self.inputs = tuple(each for item in items for each in item.inputs())
        unbalanced: Floats = self.data[:, [STATIC, DYNAMIC]].any(axis=1).astype(float)
        self.gravity = np.array(model.gravity, dtype=float) if unbalanced.any() else None
        pairs = zip(unbalanced.tolist(), items, strict=True)
        orders = [[*([own] if own else []), *(row[ORDER] for row in item.loads)] for own, item in pairs]
        # the highest order of the disturbances of each
        self.orders: Floats = np.array([max([0.0, *each]) for each in orders])
        self.limits_steps = bool(self.orders.any())
        self.layout, self.items = layout, items
        self.disturbing = {
            f"{x.table}.{x.name}": (x.number(layout), each) for x, each in zip(items, orders, strict=True) if each
        }
        self.contained = {k: item for k, item in enumerate(items) if item.in_flexible(model)}

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.places = shifted([batch.places for batch in batches], shifts, [IN_Q, ANGLE], [IN_V, SPEED], [INPUTS])
        before = np.cumsum([0, *(len(batch.harmonics) for batch in batches[:-1])])
        result.places[:, FIRST:] += np.repeat(before, [len(batch.places) for batch in batches])[:, None]
        result.data = np.concatenate([batch.data for batch in batches])
        result.harmonics = np.concatenate([batch.harmonics for batch in batches])
        result.electrical = np.concatenate([batch.electrical for batch in batches])
        result.orders = np.concatenate([batch.orders for batch in batches])
        result.limits_steps, result.contained = bool(result.orders.any()), {}
        result.gravity = next((batch.gravity for batch in batches if batch.gravity is not None), None)
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        self.pattern = pattern
        index = self.places.copy()
        index[:, INPUTS] += self.first_input
        self.set_index(index)

    def bind(self, batches: Sequence[Batch]) -> None:
        """Refuse wheels with more spin inertia than the beam or the flexible body that contains them has there."""
        self._controllers = [each for each in batches if isinstance(each, SetsCommands)]
        if not self.contained:
            return
        from scipy.sparse.linalg import splu

        q, data = self.layout.start_coordinates(), np.zeros((1, self.pattern.size))
        Evaluation([batch for batch in batches if batch is not self], self.pattern).add_masses(q[None], data)
        axes = np.zeros((self.layout.n_v, len(self.contained)))
        for column, k in enumerate(self.contained):
            axes[self.index[k, IN_V] + 3 + np.arange(3), column] = self.data[k, AXIS : AXIS + 3]
        mass = self.pattern.to_csc(data[0]).tolil()[: len(axes), : len(axes)]
        own = self.layout.internal_v[[item.number(self.layout) for item in self.items]]
        mass[own, own] = 1.0
        mobility = axes.T @ splu(mass.tocsc()).solve(axes)
        root = np.sqrt(self.data[list(self.contained), SPIN])
        if np.linalg.eigvalsh(root[:, None] * mobility * root)[-1] < 1.0:
            return
        worst = int(np.argmax(root**2 * np.diag(mobility)))
        item = list(self.contained.values())[worst]
        raise ModelError.at(
            (item.table, item.name, "spin_inertia"),
            f"got {item.spin_inertia:g}, must be below the inertia about the axis of what contains it there, "
            f"{1.0 / mobility[worst, worst]:.3g} kg m2: give mass and transverse_inertia of the rotor, which are added",
        )

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        torque = self._commanded_torque(frames.u, frames.q, frames.v)
        power = self._electrical_power(torque, frames.v)
        pairs = [(f"{item.table}/{item.name}", k) for k, item in enumerate(self.items)]
        return {f"{path}/{word}": x[:, k] for path, k in pairs for word, x in (("torque", torque), ("power", power))}

    def longest_step(self, q: Floats, v: Floats) -> float:
        fastest = float(np.max(self.orders * np.abs(v[self.index[:, SPEED]])))
        return 2.0 * pi / (STEPS_A_PERIOD * fastest) if fastest > 0.0 else inf

    def forces(self) -> list[Force]:
        words = "_motor", "_friction", *(["_harmonics"] if len(self.harmonics) else [])
        parts = tuple(ForcePart("work", word) for word in words)
        return [
            Force(inertia, (self.index, self.data, self._weight), "qva", ForcePart.INERTIA),
            Force(loads, (self.index, self.data, self.harmonics), "uqv", parts=parts),
        ]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(add_mass, (self.index, self.data), self.starts, self.sizes)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self.index, self.data, self.harmonics, self._weight), self.starts, "uqva")]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, (self.index, self.data, self._weight))]

    @property
    def _weight(self) -> Floats:
        """Gravity (3,); of balanced wheels, whose frames have the weight, zeros."""
        return np.zeros(3) if self.gravity is None else self.gravity

    def inertial(self) -> Self:
        other = shallow_copy(self)
        other.index, other.gravity = self.index.copy(), np.zeros(3)
        other.index[:, LAST] = other.index[:, FIRST]
        return other

    def balanced(self) -> Self:
        other = shallow_copy(self)
        other.index, other.data = self.index.copy(), self.data.copy()
        other.index[:, LAST] = other.index[:, FIRST]
        other.data[:, [STATIC, DYNAMIC]] = 0.0
        return other

    def motor_torque(self, u: Floats, v: Floats) -> Floats:
        """(s, n) N m: of the motor of each wheel, but for continuous commands."""
        torque = np.empty((len(v), len(self.index)))
        motor_torques(self.index, self.data, u, v, torque)
        return torque

    def limited(self, u: Floats, v: Floats) -> dict[str, float]:
        """Torques (N m) that power or speed leave of commands, by input, where these limit them, or a motor failed."""
        own, commanded, failed = (u[self.index[:, INPUTS] + k] for k in (0, 1, 3))
        torques = zip(self.items, self.motor_torque(u[None], v[None])[0], own, own + commanded, failed, strict=True)
        return {item.key("torque"): float(x - given) for item, x, given, wanted, bad in torques if bad or x != wanted}

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        """By the torque of a motor: none once it failed, or where its power or its speed limits it, equations (4a) and
        (4b)."""
        row, number = np.zeros(len(v)), int(np.searchsorted(self.index[:, INPUTS], k, side="right")) - 1
        first = self.index[number, INPUTS]
        wanted, failed = u[first] + u[first + 1], u[first + 3]
        acts = not failed and self.motor_torque(u[None], v[None])[0, number] == wanted
        row[self.index[number, SPEED]] = -float(acts)
        return row

    def supply_account(self, own: str) -> str:
        numbers = [item.electrical_numbers != IDEAL for item in self.items]
        return f"{own}_motor" if any(numbers) else ""

    def electrical_power(self, u: Floats, q: Floats, v: Floats) -> Floats:
        return self._electrical_power(self._commanded_torque(u, q, v), v)

    def _commanded_torque(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, n) N m: of the motor of each wheel, with continuous commands."""
        torque = self.motor_torque(u, v)
        commands = continuous_commands(self._controllers, u, q, v) if self._controllers else {}
        for k, item in enumerate(self.items):
            name = item.key("torque")
            if name in commands:
                torque[:, k] += commands[name][:, 0]
        return torque

    def _electrical_power(self, torque: Floats, v: Floats) -> Floats:
        """(s, n) W: equation (5)."""
        lost, idle, back = self.electrical.T
        motor = torque * v[:, self.index[:, SPEED]] + lost * torque**2
        result: Floats = idle + np.maximum(motor, -back)
        return result

"""Kinds of sensors with a place: of attitude, rotation, acceleration, position, sun and magnetic field.

Source: docs/theory/controllers.md, section 1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import exp, isinf, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.options import TOLERANCES
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Ints, OneOf, Quaternion, Unit, UnitVector, Vector
from femb.elements.control.linear_law import LinearLaw
from femb.elements.control.reference import Gravity, gravity_of, orbit_of
from femb.elements.control.sensor import NO_AXES, Sample, Sensor, Sizes
from femb.elements.control.sensor_kernels import ATTITUDE, GYRO, TRACKER
from femb.elements.control.signals import (
    Moment,
    Rows,
    Signal,
    rows_of,
    seen_from,
    signal_of,
    station_signal,
    turn_error,
    turned_rows,
)
from femb.elements.environment.field import field_gradient, magnetic_field
from femb.elements.item import FRAMES, AtPoint
from femb.layout.element import Batch, OutputRows
from femb.layout.layout import Layout
from femb.layout.numbering import InternalQuantity
from femb.layout.state import station_acceleration, station_rows
from femb.layout.terms import Force, ForcePart, MassMatrix, Tangent
from femb.layout.views import LinearPoint, ModelAtStart, ModelView, StartPoses, StateView
from femb.numerics import rotations
from femb.numerics.compiler.compile import kernel_with_entry
from femb.numerics.vector3 import add_constant, dot

IDENTITY = (1.0, 0.0, 0.0, 0.0)
# Blocks of a frame's rotation and of three states.
BLOCKS, SIZES = np.array([0, 3, 4, 5]), np.array([3, 1, 1, 1])


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacedSensor(AtPoint, Sensor):
    """The base of sensors on a body or a node."""

    acts_on_attitude: ClassVar[bool] = True
    drawn: ClassVar[str] = "arrow"

    body: str | None = None
    beam: str | None = None
    node: int = -1
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    axes: Quaternion = IDENTITY
    """quaternion from the axes of the sensor to those of the body or section"""

    def check(self, check: Checks) -> None:
        self.on.report(check)

    @property
    def turned(self) -> Floats | None:
        """(3, 3) from the axes of the host to those of the sensor; None where these are the same."""
        if np.array_equal(self.axes, IDENTITY):
            return None
        return rotations.rotation_matrix(rotations.normalise(self.axes)).T

    @property
    def place(self) -> str:
        """The name of its host in signals."""
        return f"bodies.{self.body}" if self.body is not None else f"beams.{self.beam}.{self.node}"

    @property
    def sights(self) -> Floats:
        return np.eye(3) if self.turned is None else self.turned

    def motion(self, layout: Layout, word: str) -> Signal:
        """The motion of its point."""
        return station_signal(layout, layout.station(self.on), word, f"{self.place}.{word}")

    def declared_of_value(self, layout: Layout, model: ModelView) -> dict[str, Any]:
        mount = None if self.turned is None else rotations.normalise(self.axes)
        return {"mount": mount, "host": layout.station(self.on)}

    def in_own_axes(self, signal: Signal) -> Signal:
        """A vector ``signal`` in the axes of the host as one in the axes of the sensor."""
        return signal if self.turned is None else signal.in_axes(self.turned)


@dataclass(frozen=True, eq=False)
class AttitudeSensor(PlacedSensor):
    """The attitude of a body, a quaternion from its axes to inertial ones with q_0 >= 0, or to those of the orbit."""

    kind: ClassVar[str] = "attitude"
    measures: ClassVar[int | None] = ATTITUDE
    width: ClassVar[int] = 4

    name: str
    noise: Annotated[Sizes, Unit("rad"), NOT_NEGATIVE] = 0.0
    """standard deviation of the small turn about each axis of the sensor"""
    bias: Annotated[Sizes, Unit("rad")] = 0.0
    relative_to: Annotated[str, OneOf(FRAMES)] = "inertial"
    """either "inertial", or "orbit" for the axes along the motion (x), across the orbit (y) and towards the centre
    (z)"""

    def declared_of_value(self, layout: Layout, model: ModelView) -> dict[str, Any]:
        return super().declared_of_value(layout, model) | {"frame": self.relative_to}

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        signal = self.motion(layout, "attitude")
        own = None if self.turned is None else rotations.conjugate(rotations.normalise(self.axes))
        orbit = orbit_of(model, (self.table, self.name, "relative_to")) if self.relative_to == "orbit" else None
        value = signal.value

        def attitude(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            quaternion = rotations.normalise(value(state, discrete))
            if own is not None:
                quaternion = rotations.multiply(quaternion, rotations.conjugate(own))
            if orbit is not None:
                quaternion = rotations.multiply(rotations.conjugate(orbit(state.time)[0]), quaternion)
            return positive(quaternion)

        rows = signal.rows if self.turned is None else turned_rows(self.turned, signal.rows)
        return Signal(signal.name, "-", 4, attitude, signal.linear, rows, gain=self.turned)

    def read_by_kernel(self, layout: Layout, model: ModelView) -> tuple[Signal, Floats]:
        signal = self.motion(layout, "attitude")
        signal = signal if self.relative_to == "inertial" else replace(signal, place=None)
        return signal, NO_AXES if self.turned is None else rotations.normalise(self.axes)

    def turn(self, sample: Sample) -> Floats:
        """(3,) the small turn about the axes of the sensor by noise and bias, rad."""
        noise: Floats = self.noise * sample.normals(3) if np.any(self.noise) else np.zeros(3)
        return noise + self.bias

    def measured(self, true: Floats, sample: Sample) -> Floats:
        turn = self.turn(sample)
        if not turn.any():
            return true
        return positive(rotations.normalise(rotations.multiply(true, np.array([1.0, *(0.5 * turn)]))))

    def converted(self, value: Floats) -> Floats:
        """The quantum applies to the components of the turn, 2 q_v."""
        if self.quantum is None:
            return value
        x, y, z = (0.5 * super().converted(turn_error(value))).tolist()
        return np.array([sqrt(max(0.0, 1.0 - (x * x + y * y + z * z))), x, y, z])


@dataclass(frozen=True, eq=False)
class StarTracker(AttitudeSensor):
    """An attitude sensor whose noise about its boresight is larger than across it."""

    kind: ClassVar[str] = "star_tracker"
    measures: ClassVar[int | None] = TRACKER

    roll_noise: Annotated[float, Unit("rad"), NOT_NEGATIVE] = 0.0
    """about the boresight; noise is across it"""
    boresight: UnitVector = (0.0, 0.0, 1.0)
    """in the axes of the sensor"""

    @property
    def sights(self) -> Floats:
        return np.asarray([self.boresight]) @ super().sights

    def random_numbers(self, period: float) -> tuple[int, tuple[float, ...]]:
        return 3, (self.roll_noise, *(0.0,) * 6)

    def turn(self, sample: Sample) -> Floats:
        along, random = np.asarray(self.boresight), sample.normals(3)
        # in the order of the kernel
        roll = float(along[0] * random[0] + along[1] * random[1] + along[2] * random[2])
        return np.asarray(self.noise * (random - roll * along) + self.roll_noise * roll * along + self.bias)

    def sample_errors(self, width: int, period: float) -> tuple[Floats, Floats]:
        covariance, bias = super().sample_errors(width, period)
        along = np.outer(self.boresight, self.boresight)
        across = np.eye(3) - along
        return across @ covariance @ across + (self.scale * self.roll_noise) ** 2 * along, bias


def positive(quaternion: Floats) -> Floats:
    """The quaternion of the same attitude with q_0 >= 0."""
    return -quaternion if quaternion[0] < 0.0 else quaternion


@dataclass(frozen=True, eq=False)
class Gyro(PlacedSensor):
    """The angular velocity of a body, rad/s, in the axes of the sensor.

    Source: docs/theory/controllers.md, equations (1) to (3).
    """

    kind: ClassVar[str] = "gyro"
    measures: ClassVar[int | None] = GYRO
    unit: ClassVar[str] = "rad/s"

    name: str
    angle_random_walk: Annotated[float, Unit("rad/s^0.5"), NOT_NEGATIVE] = 0.0
    """N, in data sheets deg/√h"""
    rate_random_walk: Annotated[float, Unit("rad/s^1.5"), NOT_NEGATIVE] = 0.0
    """K"""
    bias: Annotated[Sizes, Unit("rad/s")] = 0.0
    """at the start; it walks by K"""
    correlation_time: Annotated[float | None, Unit("s"), POSITIVE] = None
    """of the bias, by default infinite"""
    integrating: bool = False
    """whether the value is the mean over a period, not that at the instant"""

    def more_arrays(self) -> Mapping[str, Any]:
        return {"bias": np.broadcast_to(self.bias, 3).astype(float)} | (
            {"turned": np.zeros(3)} if self.integrating else {}
        )

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        super().declare_dofs(layout, placement, model)
        if self.integrating:
            frame = layout.station(self.on).frame
            if layout.frames[frame].freedom != 6:
                raise ModelError.at((self.table, self.name, "integrating"), "but its host does not turn")
            layout.couple([frame], [layout.add_internal(self.name, each, frame, self.table) for each in TURNED])

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        return self.in_own_axes(self._in_axes_of_host(layout))

    def _in_axes_of_host(self, layout: Layout) -> Signal:
        """The angular velocity, or its integral."""
        rate = self.motion(layout, "angular_velocity")
        if not self.integrating:
            return rate
        places = [layout.internal_v[layout.internal_number(self.table, self.name, each.name)] for each in TURNED]
        at = ("v", int(places[0])) if places == [places[0] + k for k in range(3)] else None
        return Signal(rate.name, "rad", 3, lambda state, discrete: state.v[places], rate.linear, place=at)

    def read_by_kernel(self, layout: Layout, model: ModelView) -> tuple[Signal, Floats]:
        return self._in_axes_of_host(layout), NO_AXES if self.turned is None else self.turned.ravel()

    def random_numbers(self, period: float) -> tuple[int, tuple[float, ...]]:
        end, mean, decay, share = walk(self.rate_random_walk, self.correlation_time, period)
        white = self.angle_random_walk / sqrt(period)
        walks = self.angle_random_walk or self.rate_random_walk
        return 9 if walks else 0, (0.0, end, *mean, decay, share, white)

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On a noise or a quantum that is finer than the tolerance of rates."""
        if at.run is None:
            return
        time, by_kind = at.run.atol.rate_time, dict(zip(TOLERANCES, at.run.atol.values(at.run.rtol), strict=True))
        tolerance = by_kind["quaternion"] / time
        noise = self.angle_random_walk / sqrt(self.clock(at.system.model)[0])
        finest = max(noise, self.quantum or 0.0)
        if 0.0 < finest < tolerance:
            yield (
                f"rates are followed within {tolerance:.2g} rad/s, the tolerance of quaternions over run.atol.time; "
                f"sensors.{self.name} is finer, {finest:.2g} rad/s a sample: "
                f"atol = {{ time = {time * tolerance / finest:.2g} }} follows it"
            )

    def at_start(self, layout: Layout, model: ModelView) -> Signal:
        """The angular velocity, also of an integrating one."""
        return self.in_own_axes(self.motion(layout, "angular_velocity"))

    def begun(self, true: Floats, period: float, phase: float) -> dict[str, Floats]:
        """The integral a period before the first sample: before the start it has turned as it does there."""
        return {self.key("turned"): (phase - period) * true} if self.integrating else {}

    def measured_at(self, layout: Layout, model: ModelView, t: float) -> float:
        """The middle of its period, of a mean; else as with all sensors."""
        instant = super().measured_at(layout, model, t)
        return max(instant - 0.5 * self.clock(model)[0], 0.0) if self.integrating else instant

    def sample_errors(self, width: int, period: float) -> tuple[Floats, Floats]:
        white = self.scale**2 * self.angle_random_walk**2 / period
        return white * np.eye(width), self.scale * np.broadcast_to(self.bias, width)

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its true quantity; of a mean over a period none."""
        return {} if self.integrating else super().linear_outputs(layout)

    def mean(self, true: Floats, sample: Sample) -> Floats:
        if not self.integrating:
            return true
        last = sample["turned"]
        sample["turned"] = true
        return (true - last) / sample.period

    def linear_law(self, layout: Layout, model: ModelView) -> LinearLaw:
        """Its gains; of an integrating gyro the difference of its integrals over a period, with the last one as state.

        Raises ModelError as in ``Sensor``.
        """
        law = super().linear_law(layout, model)
        if not self.integrating:
            return law
        assert law.period is not None
        turned = tuple(f"{self.table}.{self.name}.{each.name}" for each in TURNED)
        # the rate is read at the start alone, for the value there and the integral before it
        mean, none, one = law.D / law.period, np.zeros((3, 3)), np.eye(3)
        return replace(
            law, A=none, B=np.hstack([one, none]), C=-mean, D=np.hstack([mean, none]), inputs=(*turned, *law.inputs),
            start_state=np.hstack([one, (law.phase - law.period) * one]), start_value=np.hstack([none, law.D]),
        )  # fmt: skip

    @staticmethod
    def batches(items: list["Gyro"], layout: Layout, model: ModelView) -> list[Batch]:
        integrating = [item for item in items if item.integrating]
        return Sensor.batches(items, layout, model) + ([TurnedBatch(integrating, layout)] if integrating else [])

    def measured(self, true: Floats, sample: Sample) -> Floats:
        bias = sample["bias"]
        if not (self.angle_random_walk or self.rate_random_walk):
            return true + bias
        first, second, white = sample.normals(9).reshape(3, 3)
        end, mean, decay, share = walk(self.rate_random_walk, self.correlation_time, sample.period)
        drift = mean[0] * first + mean[1] * second
        sample["bias"] = decay * bias + end * first
        return true + share * bias + drift + self.angle_random_walk / sqrt(sample.period) * white


TURNED = tuple(InternalQuantity(f"turned {axis}", "rad", tolerance=1e-9) for axis in "xyz")


@kernel_with_entry
def turned(z: Ints, spin: Ints, turn: Floats, v: Floats, a: Floats, out: Floats) -> None:
    """out (s, n_v) += z' less the angular velocity along the axes of n gyros.

    z (n, 3), spin (n,) : places of the integrals and of the angular velocity in v. turn (n, 3, 3) : to those axes.
    """
    for s in range(v.shape[0]):
        for k in range(spin.size):
            for i in range(3):
                out[s, z[k, i]] += a[s, z[k, i]] - dot(turn[k, i], v[s, spin[k] : spin[k] + 3])


class TurnedBatch(Batch):
    """The integrals of angular velocities in the axes of the host, of integrating gyros."""

    def __init__(self, items: list[Gyro], layout: Layout) -> None:
        numbers = [[layout.internal_number(item.table, item.name, each.name) for each in TURNED] for item in items]
        stations = [layout.station(item.on) for item in items]
        self.z: Ints = layout.internal_v[np.array(numbers)]
        self.spin: Ints = np.array([int(layout.frame_v[each.frame]) + 3 for each in stations])
        self.turn = np.array([rotations.rotation_matrix(each.rotation).T for each in stations])

    def forces(self) -> list[Force]:
        return [Force(turned, (self.z, self.spin, self.turn), "va", ForcePart.INERTIA)]

    def masses(self) -> list[MassMatrix]:
        ones = np.tile(np.eye(3), (len(self.z), 1, 1))
        return [MassMatrix(add_constant, (ones, np.arange(3), np.ones(3, dtype=np.int64)), self.z, (1, 1, 1))]

    def tangents(self) -> list[Tangent]:
        by_velocity = np.zeros((len(self.z), 6, 6))
        by_velocity[:, 3:, :3] = -self.turn
        starts = np.concatenate([self.spin[:, None], self.z], axis=1)
        return [Tangent(add_constant, (by_velocity, BLOCKS, SIZES), starts, "q", gives="d")]


def walk(K: float, correlation: float | None, T: float) -> tuple[float, tuple[float, float], float, float]:
    """The walk of a bias over a period T (s), of two normal numbers n_1 and n_2.

    Returns the factor of n_1 in its end, those of n_1 and n_2 in its mean, the decay of the bias, and the mean of a
    bias of one that decays.
    """
    if correlation is None or isinf(correlation):
        q11, q12, q22, e, share = K * K * T, K * K * T / 2.0, K * K * T / 3.0, 1.0, 1.0
    else:
        tau = correlation
        e = exp(-T / tau)
        q11 = K * K * 0.5 * tau * (1.0 - e * e)
        q12 = K * K * tau * tau / T * ((1.0 - e) - 0.5 * (1.0 - e * e))
        q22 = K * K * (tau / T) ** 2 * (T - 2.0 * tau * (1.0 - e) + 0.5 * tau * (1.0 - e * e))
        share = tau / T * (1.0 - e)
    end = sqrt(q11)
    first = q12 / end if end > 0.0 else 0.0
    return end, (first, sqrt(max(0.0, q22 - first * first))), e, share


@dataclass(frozen=True, eq=False)
class Accelerometer(PlacedSensor):
    """The specific force at a point, m/s2, in the axes of the sensor: its acceleration less that of gravity there.

    At rest on the ground it is 9.81 m/s2 upwards, in free fall zero. At a sample accelerations are those of the old
    commands.
    """

    kind: ClassVar[str] = "accelerometer"
    unit: ClassVar[str] = "m/s2"

    name: str
    noise: Annotated[Sizes, Unit("m/s2"), NOT_NEGATIVE] = 0.0
    bias: Annotated[Sizes, Unit("m/s2")] = 0.0

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        station = layout.station(self.on)
        gravity = gravity_of(model, (self.table, self.name, "body"))
        position = self.motion(layout, "position")

        def felt(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            a = state.accelerations()
            linear = station_acceleration(layout, station, state.q[None], state.v[None], a[None])[0][0]
            return np.asarray(linear - gravity(state.time, position.value(state, discrete))[0])

        attitude = self.motion(layout, "attitude")

        def value(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            quaternion = rotations.normalise(attitude.value(state, discrete))
            return np.asarray(rotations.rotate_back(quaternion, felt(state, discrete)))

        integrated = seen_from(attitude, self.motion(layout, "velocity")), self._remainder(layout, gravity)
        return self.in_own_axes(Signal(f"{self.place}.acceleration", "m/s2", 3, value, integrated=integrated))

    def _remainder(self, layout: Layout, gravity: Gravity) -> Signal:
        """The specific force less the rate of the velocity v_b in axes of the host: omega x v_b - R^T g.

        Source: docs/theory/controllers.md, equation (10).
        """
        position, attitude, omega, velocity = (
            self.motion(layout, word) for word in ("position", "attitude", "angular_velocity", "velocity")
        )
        seen = seen_from(attitude, velocity)

        def at(state: StateView, discrete: Mapping[str, Floats]) -> tuple[Floats, ...]:
            turned = rotations.rotation_matrix(rotations.normalise(attitude.value(state, discrete))).T
            g, slope = gravity(state.time, position.value(state, discrete))
            return omega.value(state, discrete), seen.value(state, discrete), turned @ g, turned @ slope

        def value(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            w, v_b, g, _ = at(state, discrete)
            return np.asarray(np.cross(w, v_b) - g)

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            w, v_b, g, slope = at(Moment(q, v, t, np.zeros(0)), {})  # type: ignore[arg-type]
            of_turn, of_place = rows_of(attitude)(t, q, v)[0], rows_of(position)(t, q, v)[0]
            by_w, by_v = rows_of(omega)(t, q, v), rows_of(seen)(t, q, v)
            pose, velocities = (
                rotations.cross_matrix(w) @ each - rotations.cross_matrix(v_b) @ other
                for each, other in zip(by_v, by_w, strict=True)
            )
            return pose - slope @ of_place - rotations.cross_matrix(g) @ of_turn, velocities

        return Signal(f"{self.place}.acceleration", "m/s2", 3, value, (), rows)

    def true_rows(self, point: LinearPoint) -> OutputRows:
        """The rows of the specific force: accelerations among them, and the turn of the axes in which it is seen."""
        layout, model = point.system.layout, point.system.model
        station = layout.station(self.on)
        position, attitude = self.motion(layout, "position"), self.motion(layout, "attitude")
        at = Moment(point.q, point.v, point.t, np.zeros(0))
        quaternion = rotations.normalise(attitude.value(at, {}))  # type: ignore[arg-type]
        place = position.value(at, {})  # type: ignore[arg-type]
        gravity, slope = gravity_of(model, (self.table, self.name, "body"))(point.t, place)
        states = point.q[None], point.v[None], point.a[None]
        felt = rotations.rotate_back(quaternion, station_acceleration(layout, station, *states)[0][0] - gravity)
        back = rotations.rotation_matrix(quaternion).T
        by_place, by_turn = (rows_of(each)(point.t, point.q, point.v)[0] for each in (position, attitude))
        own = np.eye(3) if self.turned is None else self.turned
        rows = station_rows(point, station, "acceleration")
        pose, velocity, acceleration = (getattr(rows, word) for word in ("pose", "velocity", "acceleration"))
        pose = back @ (pose - slope @ by_place) + rotations.cross_matrix(felt) @ by_turn
        return OutputRows(self.unit, own @ pose, own @ back @ velocity, own @ back @ acceleration)


@dataclass(frozen=True, eq=False)
class PositionSensor(PlacedSensor):
    """The position of a point, m, inertial axes, or relative to another body, in the axes of that."""

    kind: ClassVar[str] = "position"
    unit: ClassVar[str] = "m"
    acts_on_attitude: ClassVar[bool] = False

    name: str
    noise: Annotated[Sizes, Unit("m"), NOT_NEGATIVE] = 0.0
    bias: Annotated[Sizes, Unit("m")] = 0.0
    relative_to: str | None = None
    """name of the other body"""

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        signal = self.motion(layout, "position")
        if self.relative_to is None:
            return signal
        if self.relative_to not in layout.bodies:
            there = ", ".join(map(repr, layout.bodies))
            raise ModelError.at(
                (self.table, self.name, "relative_to"), f"got {self.relative_to!r}, which is no body; there are {there}"
            )
        base = signal_of(layout, model, f"bodies.{self.relative_to}.position")
        axes = signal_of(layout, model, f"bodies.{self.relative_to}.attitude")
        value, of_signal, of_base = signal.value, rows_of(signal), rows_of(base)

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            return of_signal(t, q, v)[0] - of_base(t, q, v)[0], np.zeros((3, len(v)))

        def difference(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            return value(state, discrete) - base.value(state, discrete)

        return seen_from(axes, replace(signal, value=difference, rows=rows, place=None))


@dataclass(frozen=True, eq=False)
class SunSensor(PlacedSensor):
    """The unit vector to the sun in the axes of the sensor."""

    kind: ClassVar[str] = "sun"

    name: str
    sun: UnitVector
    """direction to the sun, inertial axes"""
    noise: Annotated[Sizes, Unit(""), NOT_NEGATIVE] = 0.0
    bias: Annotated[Sizes, Unit("")] = 0.0

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        sun = Signal(
            f"{self.place}.sun",
            "-",
            3,
            lambda state, discrete: np.asarray(self.sun),
            rows=lambda t, q, v: (np.zeros((3, len(v))), np.zeros((3, len(v)))),
        )
        return self.in_own_axes(seen_from(self.motion(layout, "attitude"), sun))


@dataclass(frozen=True, eq=False)
class Magnetometer(PlacedSensor):
    """The magnetic field of the model's ``fields`` at its point, T, in the axes of the sensor."""

    kind: ClassVar[str] = "magnetometer"
    unit: ClassVar[str] = "T"

    name: str
    noise: Annotated[Sizes, Unit("T"), NOT_NEGATIVE] = 0.0
    bias: Annotated[Sizes, Unit("T")] = 0.0

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        field, gradient = magnetic_field(model, (self.table, self.name)), field_gradient(model)
        position = self.motion(layout, "position")
        of_position = rows_of(position)

        def there(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            return field(state.time, position.value(state, discrete))

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            slope = gradient(t, position.value(Moment(q, v, t, np.zeros(0)), {}))  # type: ignore[arg-type]
            return slope @ of_position(t, q, v)[0], np.zeros((3, len(v)))

        vector = Signal(f"{self.place}.magnetic_field", "T", 3, there, rows=rows)
        return self.in_own_axes(seen_from(self.motion(layout, "attitude"), vector))

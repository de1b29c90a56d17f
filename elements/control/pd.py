"""Controllers of attitudes and coordinates by gains: pd and pid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import POSITIVE, Floats, Matrix, Matrix3, Unit, Vector
from femb.base.values import numbered, shallow_copy, vector, without_rounding
from femb.elements.control.control_law import Law, LinearControl
from femb.elements.control.controller import NAMES, Controller, sensor_of
from femb.elements.control.errors import AttitudeErrors, Errors, ForwardErrors
from femb.elements.control.linear_law import Realisation
from femb.elements.control.reference import AttitudeReference
from femb.elements.control.schedule import frozen, rows_of
from femb.elements.control.sensors import PlacedSensor
from femb.elements.control.signals import NO_ARRAYS, UNITS, Moment, Signal, axes_between, signal_of, turn_error
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import breakpoints_of
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelAtStart, ModelView, OutputStates
from femb.numerics import rotations
from femb.profiles import Profile

Gains: TypeAlias = Annotated[float | Vector | Matrix3, Unit("own")]
"""A number, three numbers for the axes, or a 3 x 3 matrix."""
# Singular values of unit axes, below which these lie in a plane.
INDEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class PDController(Controller):
    """u = -K_p e - K_d e' of an attitude, or of one coordinate.

    Of an attitude, e is twice the vector part of the turn from the reference, a small turn itself, and e' the angular
    velocity less that of the reference, in body axes; the law gives a torque tau, N m. With a bandwidth w, K_p = J w^2
    and K_d = 2 z w J, with the inertia J of the whole model at the start.

    Raises ModelError: gains given twice or missing, unknown names, wheels on another body, a reference along an orbit
    that a continuous law would feed forward. Source: docs/theory/controllers.md, equations (4), (5) and (7).
    """

    kind: ClassVar[str] = "pd"
    gains_by_table: ClassVar[tuple[str, ...]] = ("proportional", "derivative", "bandwidth", "damping_ratio")

    name: str
    attitude: str | None = None
    """its sensor, such as "sensors.tracker", or a body such as "bodies.hub", whose true attitude it is"""
    input: str | None = None
    """in place of the attitude a coordinate: a sensor such as "sensors.encoder", or "joints.hinge.angle" of a joint"""
    rate: str | None = None
    """of e', a sensor, body or joint as these"""
    reference: AttitudeReference = AttitudeReference()  # noqa: RUF009 - frozen
    """the attitude that is held"""
    setpoint: Annotated[Profile | Callable[..., Any] | None, Unit("rad", stroke="m")] = None
    """of a coordinate, a profile with derivatives"""
    proportional: Gains | None = None
    """gain K_p, N m/rad (N/m of a stroke)"""
    derivative: Gains | None = None
    """gain K_d, N m s/rad (N s/m of a stroke)"""
    bandwidth: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """w, in place of both gains"""
    damping_ratio: Annotated[float, Unit(""), POSITIVE] = 0.7
    """z beside the bandwidth"""
    wheels: tuple[str, ...] = ()
    """names of those that take the torque, with the commands -pinv(G) tau, with their axes G"""
    allocation: Matrix | None = None
    """the matrix in place of pinv(G), a row a wheel: the commands are its negative times tau"""
    outputs: tuple[str, ...] = ()
    """in place of wheels, commands with three numbers, such as "loads.torquer.torque"; of a coordinate one command"""
    feed_forward: Gains | None = field(default=None, kw_only=True)
    """inertia J_f, kg m2 (kg of a stroke); adds to u the torque that the reference needs, J_f a_r + w_r x J_f w_r, of a
    coordinate J_f a_r; a sampled law takes the mean acceleration over the period of its command"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("attitude", "input")
        check.names("wheels", "outputs", wanted=NAMES)
        given = isinstance(self.reference, AttitudeReference)
        check.require("reference", given, "wanted femb.AttitudeReference(quaternion=...)")
        if self.bandwidth is None:
            check.require("proportional", self.proportional is not None, "is missing: give gains, or a bandwidth")
        else:
            for word in ("proportional", "derivative"):
                check.require(word, getattr(self, word) is None, "given beside 'bandwidth', which sets it")
        if self.rate is None and "rate" not in check.bad and (self.derivative is not None or self.bandwidth):
            check.fail("rate", "is missing: the derivative needs a gyro or a tachometer, or a name as bodies.hub")
        if self.feed_forward is not None and not {"feed_forward", "reference", "setpoint"} & check.bad:
            moves = self.reference.angle if self.attitude is not None else self.setpoint
            orbit = self.attitude is not None and self.reference.relative_to == "orbit"
            if moves is None and not orbit:
                word = "reference.angle" if self.attitude is not None else "setpoint"
                check.fail("feed_forward", f"but the reference is at rest: give {word}, a profile")
            elif moves is not None and not hasattr(moves, "derivatives"):
                check.fail("setpoint", "wanted a profile with two derivatives: its acceleration is fed forward")
            if orbit and self.period is None:
                check.fail("feed_forward", "is of a reference along an orbit: give a period, or one relative to space")
        if not {"wheels", "outputs"} & check.bad and bool(self.wheels) == bool(self.outputs):
            check.fail("wheels" if not self.wheels else "outputs", "give wheels or outputs, one of the two")

    @property
    def reads(self) -> tuple[str, ...]:
        if self.attitude is not None:
            return _with(self.attitude, "attitude"), *((_with(self.rate, "angular_velocity"),) if self.rate else ())
        return str(self.input), *((self.rate,) if self.rate else ())

    @property
    def sets(self) -> tuple[str, ...]:
        return tuple(f"wheels.{name}.torque" for name in self.wheels) or self.outputs

    @property
    def axes(self) -> int:
        """The number of components of the error."""
        return 3 if self.attitude is not None else 1

    def errors(self, layout: Layout, model: ModelView) -> Errors:
        """The errors of the law, (e, e')."""
        signals = self._fitting(layout, model)
        if self.attitude is not None:
            attitude, *rates = (each.seen_on(layout, signals[0].host) for each in signals)
            rate = rates[0] if rates else Signal("zero", "rad/s", 3, lambda state, discrete: np.zeros(3))
            axes = self.reference.axes(model, (self.table, self.name, "reference"), attitude, rate)
            fixed = self.reference.fixed_in(attitude.frame)
            return AttitudeErrors(attitude, rate, axes, self.reference.breakpoints, fixed)
        setpoint, count = self.setpoint, len(signals)
        if setpoint is None:
            return Errors(signals)
        if count > 1 and not hasattr(setpoint, "derivatives"):
            raise ModelError.at((*self._path, "setpoint"), "wanted a profile with a rate: the law has a derivative")

        def reference(t: float) -> Floats:
            return np.array(setpoint.derivatives(t)[:2] if count > 1 else [setpoint(t)])  # type: ignore[union-attr]

        return Errors(signals, reference, breakpoints_of(setpoint))

    def _fitting(self, layout: Layout, model: ModelView) -> list[Signal]:
        """The signals that it reads. Raises ModelError: no attitude or coordinate, or no rate of it."""
        signals = self.signals(layout, model)
        unit = signals[0].unit
        wanted = [("an attitude", 4, ""), ("its rate", 3, "rad/s")]
        if self.attitude is None:
            wanted = [("a coordinate", 1, ""), ("its rate", 1, f"{unit}/s" if unit in ("rad", "m") else "")]
        for name, signal, (what, count, of) in zip(self.reads, signals, wanted, strict=False):
            # outputs of state spaces and functions have units of their own
            if signal.width != count or (of and signal.unit not in (of, "own")):
                got = f"got {numbered(signal.width, 'number')} in {signal.unit}"
                raise ModelError.at(self._path, f"reads {name!r} as {what}: {got}, wanted {count}{of and ' in '}{of}")
        return signals

    def gains(self, layout: Layout, model: ModelView) -> tuple[Floats, Floats]:
        """K_p and K_d (n, n)."""
        n = self.axes
        if self.bandwidth is not None:
            J = self._inertia(layout, model) if n == 3 else np.eye(1)
            return self.bandwidth**2 * J, 2.0 * self.damping_ratio * self.bandwidth * J
        return _gain(self.proportional, n), _gain(self.derivative, n)

    def fixed(self, layout: Layout, model: ModelView) -> Self:
        if self.bandwidth is None or self.axes == 1:
            return super().fixed(layout, model)
        found, words = shallow_copy(self), ("proportional", "derivative")  # not checked again
        for word, gains in zip(words, self.gains(layout, model), strict=True):
            object.__setattr__(found, word, gains)
        object.__setattr__(found, "bandwidth", None)
        if self.schedule is not None:
            of_rows = [each.gains(layout, model) for each in rows_of(self)]
            rest = {word: of for word, of in self.schedule.gains.items() if word not in ("bandwidth", "damping_ratio")}
            table = rest | dict(zip(words, zip(*of_rows, strict=True), strict=True))
            object.__setattr__(found, "schedule", replace(self.schedule, gains=table))
            return frozen(found, layout, model)  # type: ignore[no-any-return]
        return found

    def _inertia(self, layout: Layout, model: ModelView) -> Floats:
        """(3, 3) of the whole model at the start, in the axes of the body that is held."""
        station = self._host(layout, model)
        assert station is not None
        R = rotations.rotation_matrix(layout.pose(station)[1])
        return np.asarray(R.T @ layout.locked_inertia() @ R)

    def _host(self, layout: Layout, model: ModelView) -> Station | None:
        """The body or section whose attitude it regulates, in whose axes its torque is."""
        if self.attitude is None:
            return None
        sensor, place = sensor_of(model, self.attitude), self.attitude.removesuffix(".attitude")
        return layout.station(sensor.on) if isinstance(sensor, PlacedSensor) else layout.named_station(place)

    def _turned(self, layout: Layout, model: ModelView, on: Any) -> Floats:
        """(3, 3) from the axes of a place to those of its torque, at the start."""
        host = self._host(layout, model)
        turn = None if host is None else axes_between(layout, layout.station(on), host)
        return np.eye(3) if turn is None else rotations.rotation_matrix(turn)

    def distribution(self, layout: Layout, model: ModelView) -> Floats:
        """(k, n) from -(K_p e + K_d e') to the commands."""
        if not self.wheels:
            settings = self.settings(layout, model)
            if self.attitude is None or len(settings) != 1 or settings[0].command.width != 3:
                return np.eye(self.axes)
            if settings[0].command.host is None:
                text = f"sets {settings[0].label!r} in inertial axes, but its torque is in those of its body"
                raise ModelError.at(self._path, f'{text}: give the load frame = "body"')
            return self._turned(layout, model, settings[0].command.host).T
        if self.allocation is not None:
            if self.allocation.shape != (len(self.wheels), 3):
                text = f"got the shape {self.allocation.shape}, wanted ({len(self.wheels)}, 3)"
                raise ModelError.at((*self._path, "allocation"), text)
            return -np.asarray(self.allocation)
        return np.asarray(-np.linalg.pinv(self._wheel_axes(layout, model)))

    def _wheel_axes(self, layout: Layout, model: ModelView) -> Floats:
        """(3, k) unit vectors of the axes of its wheels."""
        wheels: list[Any] = [setting.item for setting in self.settings(layout, model)]
        axes = [self._turned(layout, model, each.on) @ each.axis for each in wheels]
        return np.array([each / np.linalg.norm(each) for each in axes]).T

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On axes about which its wheels, of axes in a plane or along a line, give no torque, or an allocation the
        opposite one, beside those of all."""
        yield from super().remarks(at)
        if not self.wheels:
            return
        if self.allocation is not None:
            given = np.diag(self._wheel_axes(at.system.layout, at.system.model) @ np.asarray(self.allocation))
            for letter, share in zip("xyz", given, strict=True):
                if share < 0.0:
                    yield (
                        f"controllers.{self.name}: its allocation gives {share:.3g} of the torque that is asked for "
                        f"about {letter}, of the opposite sense: wanted pinv(G), by whose negative wheels are commanded"
                    )
            return
        directions, sizes, _ = np.linalg.svd(self._wheel_axes(at.system.layout, at.system.model))
        if not (missing := directions[:, int(np.sum(sizes > INDEPENDENT)) :].T).size:
            return
        axis = missing[0] if len(missing) == 1 else np.cross(missing[0], missing[1])
        axis = without_rounding(axis * np.sign(axis[int(np.argmax(np.abs(axis)))]), 1.0)
        what = f"{'along' if len(missing) == 1 else 'across'} {vector(axis)}"
        yield f"controllers.{self.name}: its wheels give no torque {what}: about these axes nothing holds the body"

    def forward(self, model: ModelView) -> Callable[[float], Floats]:
        """The torque (n,) by the time (s) that the reference alone needs."""
        J, T = _gain(self.feed_forward, self.axes), self.period
        if self.attitude is not None:
            axes = self.reference.axes(model, (self.table, self.name, "reference"))
        axis = self.reference.axis
        unit = 1.0 if axis is None else np.asarray(axis) / np.linalg.norm(axis)
        moves: Any = self.reference.angle if self.attitude is not None else self.setpoint

        def motion(t: float) -> tuple[Floats, Floats]:
            """Rate and acceleration of the reference, or their means over the period in which a command acts."""
            if T is None:
                _, rate, acceleration = moves.derivatives(t)
                return np.atleast_1d(rate * unit), np.atleast_1d(acceleration * unit)
            first, last = (rate_at(t + self.delay + part) for part in (0.0, T))
            return 0.5 * (first + last), (last - first) / T

        def rate_at(t: float) -> Floats:
            return axes(t)[1] if self.attitude is not None else np.atleast_1d(moves.derivatives(t)[1])

        def torque(t: float) -> Floats:
            rate, acceleration = motion(t)
            result: Floats = J @ acceleration
            return result if len(rate) == 1 else result + np.cross(rate, J @ rate)

        return torque

    def law(self, layout: Layout, model: ModelView) -> Law:
        errors, (K_p, K_d) = self.errors(layout, model), self.gains(layout, model)
        allocated = self.distribution(layout, model)
        D = -allocated @ np.hstack([K_p, K_d])[:, : errors.width]
        if self.feed_forward is not None:
            errors, D = ForwardErrors(errors, self.forward(model), self.axes), np.hstack([D, allocated])
        none = Realisation(np.zeros((0, 0)), np.zeros((0, errors.width)), np.zeros((len(D), 0)), D)
        whole = bool(self.wheels) and np.linalg.matrix_rank(allocated) == self.axes
        return LinearControl(none, errors, self.limits(layout, model), None, allocated if whole else None)

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """The references and the true errors at the output times, without sensors."""
        base = Controller.records(items, system)
        errors = [(item, *item.true_error(system.layout, system.model)) for item in items]

        def series(frames: OutputStates) -> dict[str, Floats]:
            arrays = base.series(frames)
            for item, signal, law, wanted in errors:
                states = map(partial(Moment.of_output, frames), range(len(frames.time)))
                values = [signal.value(each, NO_ARRAYS) for each in states]
                pairs = zip(values, frames.time.tolist(), strict=True)
                arrays[f"{item.table}/{item.name}/error"] = np.array([law(value, t) for value, t in pairs])
                references = [np.atleast_1d(wanted(t)) for t in frames.time.tolist()]
                arrays[f"{item.table}/{item.name}/reference"] = np.array(references)
            return arrays

        return replace(base, series=series)

    def true_error(
        self, layout: Layout, model: ModelView
    ) -> tuple[Signal, Callable[[Floats, float], Floats], Callable[[float], Any]]:
        """The true signal that the law regulates, in a ``layout`` of a ``model``, the error (3,) rad or (1,) of its
        value at a time (s), and the reference at a time: a quaternion (4,) or a number."""
        name = self.reads[0]
        sensor = sensor_of(model, name)
        true = signal_of(layout, model, name) if sensor is None else sensor.checked_truth(layout, model)
        if self.attitude is None:
            setpoint = self.setpoint or (lambda t: 0.0)
            return true, lambda value, t: value - setpoint(t), setpoint
        if isinstance(sensor, PlacedSensor):
            true = sensor.motion(layout, "attitude")
        axes = self.reference.axes(model, (self.table, self.name, "reference"))

        def error(value: Floats, t: float) -> Floats:
            return turn_error(np.asarray(rotations.multiply(rotations.conjugate(axes(t)[0]), value)))

        return true, error, lambda t: axes(t)[0]


@dataclass(frozen=True, eq=False)
class PIDController(PDController):
    """A pd law with the integral of the error: u = -K_p e - K_i int e - K_d e'.

    At a sample at which a command exceeds its limit the integral is held.

    Raises ModelError: as a pd law; a tracking time below half a period.
    """

    kind: ClassVar[str] = "pid"
    gains_by_table: ClassVar[tuple[str, ...]] = (*PDController.gains_by_table, "integral")

    integral: Gains = 0.0
    """gains K_i, N m/(rad s) (N/(m s) of a stroke)"""
    tracking_time: Annotated[float | None, Unit("s"), POSITIVE] = field(default=None, kw_only=True)
    """T_t, back-calculation in place of holding the integral, which a continuous law needs: xi' = e - K_i^-1
    (tau_limited - tau)/T_t"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.tracking_time is not None and self.period is not None and not {"tracking_time", "period"} & check.bad:
            least = 0.5 * self.period
            check.require("tracking_time", self.tracking_time > least, f"must be above half the period, {least:g} s")

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        return np.zeros(self.axes)

    def law(self, layout: Layout, model: ModelView) -> Law:
        pd = super().law(layout, model)
        assert isinstance(pd, LinearControl)
        n, D = self.axes, pd.realisation.D
        allocated, gain = self.distribution(layout, model), _gain(self.integral, n)
        C = -allocated @ gain
        B = np.zeros((n, pd.errors.width))
        B[:, :n] = np.eye(n) if self.period is None else self.period * np.eye(n)
        A = np.zeros((n, n)) if self.period is None else np.eye(n)
        tracking = None
        if self.tracking_time is not None:
            share = (1.0 if self.period is None else self.period) / self.tracking_time
            tracking = -share * np.linalg.pinv(gain) @ np.linalg.pinv(allocated)
        realisation = Realisation(A, B, C, D)
        return LinearControl(realisation, pd.errors, pd.limits, np.ones(n, dtype=bool), pd.allocation, tracking)


def _with(name: str, word: str) -> str:
    """The signal of a body or node that is named without a quantity."""
    table, *parts = name.split(".")
    whole = table in ("sensors", "controllers") or (len(parts) > 1 and parts[-1] in UNITS)
    return name if whole else f"{name}.{word}"


def _gain(value: Any, n: int) -> Floats:
    """(n, n) of a number, n numbers or a matrix; zero for none."""
    if value is None:
        return np.zeros((n, n))
    gain = np.asarray(value, dtype=float)
    if gain.ndim == 2:
        return gain
    return np.diag(np.broadcast_to(gain, n))

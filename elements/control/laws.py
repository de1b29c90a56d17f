"""Controllers by state spaces, and filters of signals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import NOT_NEGATIVE, OWN_UNITS, POSITIVE, Floats, Matrix, Numbers, OneOf, Unit
from femb.base.values import frozen_array, shown, without_rounding
from femb.elements.control.control_law import Law, LinearControl
from femb.elements.control.controller import NAMES, Controller
from femb.elements.control.errors import Errors
from femb.elements.control.linear_law import Realisation, lead_lag, low_pass, notch
from femb.elements.control.signals import TRUE, is_of, signal_of
from femb.layout.layout import Layout
from femb.layout.views import ModelAtStart, ModelView

# Deviations up to which what a sensor reads is its noise.
NOISES = 3.0


class GivenStateSpace:
    """A state space of scipy or python-control: an object with A, B, C, D, and dt if it is sampled."""


@dataclass(frozen=True, eq=False)
class LinearController(Controller):
    """u = C x + D y, with x' = A x + B y, or at samples x+ = A x + B y where it has a period.

    Raises ModelError: matrices that do not fit the inputs and outputs.
    """

    kind: ClassVar[str] = "state_space"
    gains_by_table: ClassVar[tuple[str, ...]] = ("A", "B", "C", "D")

    name: str
    A: Matrix | None = None
    """rows of numbers, rates of x by x"""
    B: Matrix | None = None
    """rates of x by y"""
    C: Matrix | None = None
    """commands u by x"""
    D: Matrix | None = None
    """commands u by y"""
    inputs: tuple[str, ...] = ()
    """the signals y, one after the other; an attitude counts as its three small turns"""
    outputs: tuple[str, ...] = ()
    """the commands u"""
    state: Annotated[Numbers | None, OWN_UNITS] = None
    """x at the start"""
    file: str | None = None
    """in place of the matrices, a file (.npz, .mat) with them"""
    system: GivenStateSpace | None = None
    """in Python in place of them, a state space of scipy or python-control, whose dt is the period"""

    def check(self, check: Checks) -> None:
        matrices = self._given(check)
        super().check(check)
        check.names("inputs", "outputs", wanted=NAMES)
        if check.bad or matrices is None:
            return
        (n, _), _, _, (p, m) = shapes = _shapes(*matrices)
        if not m or not p:
            check.fail("D", "is missing: wanted D, or A, B and C")
            return
        for word, matrix, shape in zip("ABCD", matrices, shapes, strict=True):
            if matrix is not None and np.shape(matrix) != shape:
                of = f"{n} states, {m} inputs and {p} outputs"
                check.fail(word, f"got the shape {np.shape(matrix)}, wanted {shape}: the matrices have {of}")
            elif matrix is not None:
                object.__setattr__(self, word, frozen_array(matrix))
        check.require("inputs", len(self.inputs) > 0, "wanted the names of what it reads")
        if self.state is not None:
            check.numbers("state")
            if "state" not in check.bad:
                check.require("state", len(self.state) == n, f"wanted {n} numbers, one for each state")

    def _given(self, check: Checks) -> list[Floats | None] | None:
        """A, B, C and D as they are given, or of a system or a file; None with a problem."""
        words = "ABCD"
        check.at_most_one("system", "file")
        if self.system is not None:
            try:
                matrices = [np.atleast_2d(np.asarray(getattr(self.system, word), dtype=float)) for word in words]
            except (AttributeError, TypeError, ValueError):
                check.fail("system", f"got {shown(self.system)}, wanted a state space with A, B, C and D")
                return None
            dt = getattr(self.system, "dt", None)
            if dt and dt is not True:
                if self.period is not None and abs(float(dt) / self.period - 1.0) > SAME_PERIOD:
                    check.fail("period", f"got {self.period:g} s, but the system is sampled every {float(dt):g} s")
                object.__setattr__(self, "period", float(dt))
            elif dt is True and self.period is None:
                check.fail("period", "is missing: the system is sampled, with a dt that it does not tell")
            elif not dt and self.period is not None:
                sampled = f'control.sample_system(system, {self.period:g}, "tustin")'
                text = "is of samples, but the system is continuous: leave the period out, or sample the system"
                check.fail("period", f"{text}: {sampled}")
            object.__setattr__(self, "system", None)
            return [None if matrix.size == 0 else matrix for matrix in matrices]
        if self.file is not None and "file" not in check.bad:
            from femb.base.array_files import read_arrays

            try:
                arrays = read_arrays(self.file, "a state space")
            except ModelError as error:
                check.fail("file", str(error))
                return None
            return [np.atleast_2d(np.asarray(arrays[word], dtype=float)) if word in arrays else None for word in words]
        return [getattr(self, word) for word in words]

    @property
    def reads(self) -> tuple[str, ...]:
        return self.inputs

    @property
    def sets(self) -> tuple[str, ...]:
        return self.outputs

    @property
    def realisation(self) -> Realisation:
        """A, B, C, D, with zeros for those that are not given."""
        given = self.A, self.B, self.C, self.D
        pairs = zip(given, _shapes(*given), strict=True)
        return Realisation(*(np.zeros(shape) if each is None else np.asarray(each) for each, shape in pairs))

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        n = len(self.realisation.A)
        return np.zeros(n) if self.state is None else np.asarray(self.state, dtype=float)

    def width_and_unit(self, layout: Layout, model: ModelView) -> tuple[int, str]:
        return len(self.realisation.D), super().width_and_unit(layout, model)[1]

    def law(self, layout: Layout, model: ModelView) -> Law:
        errors = Errors(self.signals(layout, model))
        m, p = self.realisation.D.shape
        if errors.width != p:
            text = f"reads {errors.width} numbers ({', '.join(self.inputs)}), but its matrices have {p} inputs"
            raise ModelError.at((*self._path, "inputs"), text)
        settings = self.settings(layout, model)
        count = sum(each.command.width for each in settings)
        if settings and count != m:
            text = f"sets {count} numbers ({', '.join(self.outputs)}), but its matrices have {m} outputs"
            raise ModelError.at((*self._path, "outputs"), text)
        return LinearControl(self.realisation, errors, self.limits(layout, model))


def _shapes(A: Floats | None, B: Floats | None, C: Floats | None, D: Floats | None) -> list[tuple[int, int]]:
    """Shapes of the four matrices by those that are given, of 0 states, inputs or outputs where none tells."""
    n = 0 if A is None else len(A)
    m = next((each.shape[1] for each in (B, D) if each is not None), 0)
    p = next((len(each) for each in (C, D) if each is not None), 0)
    return [(n, n), (n, m), (p, n), (p, m)]


# Of a period: as much may a dt differ that is the same.
SAME_PERIOD = 1e-9
FILTERS = ("low_pass", "notch", "lead")


@dataclass(frozen=True, eq=False)
class FilterController(Controller):
    """A filter of one signal, on each of its components; other controllers read it by "controllers.NAME".

    It has the axes of what it reads, and starts from a state of zero. With a period it is sampled by Tustin's rule,
    exact at its frequency.
    """

    kind: ClassVar[str] = "filter"
    gains_by_table: ClassVar[tuple[str, ...]] = ("frequency", "damping_ratio", "depth", "zero", "pole", "gain")

    name: str
    input: str
    """the signal"""
    filter: Annotated[str, OneOf(FILTERS)] = "low_pass"
    """either "low_pass", of second order; "notch"; or "lead", (1 + s/zero)/(1 + s/pole), which lags where the pole is
    below the zero"""
    frequency: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """of a low pass or a notch"""
    damping_ratio: Annotated[float, Unit(""), POSITIVE] = 0.7071067811865476
    """of a low pass or a notch"""
    depth: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """gain of a notch at its frequency"""
    zero: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """of a lead"""
    pole: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """of a lead"""
    gain: Annotated[float, Unit("own")] = 1.0
    """a factor"""
    outputs: tuple[str, ...] = ()
    """commands that it sets, if any"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.names("outputs", wanted=NAMES)
        if "filter" in check.bad:
            return
        wanted = ("zero", "pole") if self.filter == "lead" else ("frequency",)
        for word in ("frequency", "zero", "pole"):
            if word in wanted:
                check.require(word, getattr(self, word) is not None, f"wanted a number, rad/s, of a {self.filter}")
            else:
                check.require(word, getattr(self, word) is None, f"but a {self.filter} has none")
        if self.frequency is not None and self.period is not None and not {"frequency", "period"} & check.bad:
            most = np.pi / self.period
            fits = self.frequency < most
            check.require("frequency", fits, f"must be below {most:.6g} rad/s, half the rate of the samples")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.input,)

    @property
    def sets(self) -> tuple[str, ...]:
        return self.outputs

    def declared_of_value(self, layout: Layout, model: ModelView) -> dict[str, Any]:
        """Declared by its input: a filter on each component leaves unit and axes as they are."""
        source = signal_of(layout, model, self.input)
        unit = {} if self.sets else {"unit": "rad" if source.width == 4 else source.unit}
        return {"mount": source.mount, "host": source.host, **unit}

    def measured_at(self, layout: Layout, model: ModelView, t: float) -> float:
        return signal_of(layout, model, self.input).instant(super().measured_at(layout, model, t))

    def _width(self, layout: Layout, model: ModelView) -> int:
        name = self.input
        for item in model.items():
            if item.table in ("sensors", "controllers") and name in (
                f"{item.table}.{item.name}",
                f"{item.table}.{item.name}.value",
                f"{item.table}.{item.name}.output",
                f"{item.table}.{item.name}.{TRUE}",
            ):
                width = int(item.width_and_unit(layout, model)[0])
                return 3 if width == 4 else width
        last = name.rpartition(".")[2]
        return 3 if last in ("position", "velocity", "turn", "attitude", "angular_velocity") else 1

    def realisation(self, count: int) -> Realisation:
        """A, B, C, D of ``count`` components."""
        if self.filter == "low_pass":
            one = low_pass(self.frequency or 1.0, self.damping_ratio)
        elif self.filter == "notch":
            one = notch(self.frequency or 1.0, self.damping_ratio, self.depth)
        else:
            one = lead_lag(self.zero or 1.0, self.pole or 1.0)
        if self.period is not None:
            one = one.tustin(self.period, self.frequency or 0.0)
        one = Realisation(one.A, one.B, self.gain * one.C, self.gain * one.D)
        return one.on_each(count)

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        return np.zeros(len(self.realisation(self._width(layout, model)).A))

    def width_and_unit(self, layout: Layout, model: ModelView) -> tuple[int, str]:
        return self._width(layout, model), "own"

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On a start far from what it reads, beside those of all."""
        yield from super().remarks(at)
        state = at.sampled.get(self.key("state"), np.zeros(0))
        _, B, *_ = self.realisation(self._width(at.system.layout, at.system.model))
        if without_rounding(state, np.abs(B).sum(axis=1)[: state.size]).any() and not self._reads_noise(at):
            yield (
                f"controllers.{self.name} starts from zero, though what it reads does not: until it has settled, what "
                "reads it acts on the difference; start the run at rest, or leave the first seconds out"
            )

    def _reads_noise(self, at: ModelAtStart) -> bool:
        """Whether the first sample of the sensor that it reads is within its noise."""
        sensors = [each for each in at.system.items if each.table == "sensors"]
        sensor = next((each for each in sensors if is_of(str(self.input), "sensors", each.name)), None)
        if sensor is None or (true := at.sampled[f"sensors.{sensor.name}.{TRUE}"]).shape == (4,):
            return False
        covariance, bias = sensor.sample_errors(len(true), sensor.clock(at.system.model)[0])
        return bool(np.all(np.abs(sensor.scale * true + bias) <= NOISES * np.sqrt(np.diag(covariance))))

    def law(self, layout: Layout, model: ModelView) -> Law:
        errors = Errors(self.signals(layout, model))
        return LinearControl(self.realisation(errors.width), errors, self.limits(layout, model))

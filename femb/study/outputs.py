"""Outputs of a study: histories of quantities, their reductions, events, and the catalogue of all outputs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, TypeVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, ResultError
from femb.base.meanings import Description
from femb.base.types import NOT_NEGATIVE, POSITIVE, Bools, Complexes, Floats, OneOf, Unit
from femb.elements.beam.results import BeamResults
from femb.results.names import STRESSES, named
from femb.results.pointing import MEASURES, PERCENT, pointing
from femb.results.results import Results
from femb.run.static import StaticResults
from femb.run.static_derivatives import StaticSide, last_of, of_elements, of_equilibrium
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.element_forms import element_mass
from femb.vibration.mode_derivatives import ModeForm
from femb.vibration.mode_sweep import followed
from femb.vibration.modes import Modes
from femb.vibration.solution import Solution

if TYPE_CHECKING:
    from femb.linear.loop import Loop
    from femb.linear.state_space import StateSpace


@dataclass(frozen=True, eq=False)
class History:
    """One number over time: time (T,) s, values (T,), and their unit, "" where it is unknown."""

    time: Floats
    values: Floats
    unit: str


def history(results: Results, name: str) -> History:
    """The history of a quantity of results. Raises ResultError: no such quantity, or more than a vector of numbers."""
    kind, _, rest = name.partition(".")
    if kind == "statistics" and isinstance(results.statistics.get(rest), int | float | np.number):
        last = results.time[-1:] if results.time.size else np.zeros(1)
        return History(last, np.array([float(results.statistics[rest])]), "s" if rest.endswith("time") else "")
    found = named(results, name)
    values = found.values
    if isinstance(found.group, BeamResults) and found.node is None:
        if found.component is None and values.ndim > 2 and found.word not in (*STRESSES, "strain"):
            values = np.linalg.norm(values, axis=-1)
        values = np.max(np.abs(values.reshape(len(values), -1)), axis=1)
    elif values.ndim > 2:
        raise ResultError(f"got {name!r}, an array of shape {values.shape}; wanted a number or a vector over time")
    elif values.ndim == 2:
        values = values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
    return History(results.time, np.asarray(values, dtype=float), found.unit)


T = TypeVar("T")
# How outputs are differentiated that do not follow from equations at a frozen state.
BY_ANALYSES, BY_STEPS = "by differences of the analysis", "by the same steps beside the value"
# The modal assurance criterion of a mode that is lost from its track.
LOST = 0.5
# Amplitudes of a spectrum below this part of the largest are no vibration of their own.
VISIBLE = 0.1


# The contract of outputs of a study: one number of every run.


class Analyses(Protocol):
    """The analyses of one run of a study, each carried out when an output first asks for it."""

    def results(self, analysis: str) -> Results:
        """Results of "run", the motion in time, or "static", the equilibria as the loads grow."""

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        """The natural modes."""

    def mass_properties(self) -> tuple[float, Floats, Floats]:
        """Mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2, of the model at its start."""

    def solution(self, held: str | None, start: str | None, damped: bool) -> Solution:
        """The natural modes with their matrices, in axes of the frames, and some more of them."""

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """The value that a function makes on first use, kept for other outputs."""

    def small_motions(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        """The matrices that these modes are of."""

    def differing(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        """These matrices of the elements that differ from the nominal ones. Raises ModelError: more differs."""

    def loop(self, start: str | None) -> "Loop":
        """The loop of the controllers."""

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> "StateSpace":
        """The linear model with these inputs and outputs, by default all; ``closed`` with the controllers."""

    def static_side(self) -> StaticSide:
        """The static equations."""

    def critical(self, number: int, factor: float) -> StaticResults:
        """The equilibria up to the critical load factor of this number, or to a factor of the loads."""

    @property
    def reference(self) -> "Analyses":
        """The analyses of the nominal case, from which modes and poles are followed by their shapes."""


@dataclass(frozen=True, eq=False)
class ByElements:
    """A derivative of which each element has its own part.

    numbers : (e, n + 1) of classes of elements of a model; the last tell the elements apart. Raises ModelError where
    elements are not told apart, or more changes. derivative : of the output by the changes (n,) of their sum.
    """

    numbers: Callable[[Analyses], list[Complexes]]
    derivative: Callable[[Complexes], float]


@dataclass(frozen=True, eq=False)
class ByChanges:
    """The way an output is differentiated: by the changes of numbers that are read from models beside the nominal one.

    numbers : (n,) of a model, real or complex; what is taken from the nominal one, as shapes and frequencies, is frozen
    in it. derivative : of the output by the changes (n,) of them. way : empty where it follows from equations; else
    what is carried out beside the value, of which differences are taken. elements : the way of parameters of single
    elements, which are many.
    """

    numbers: Callable[[Analyses], Complexes]
    derivative: Callable[[Complexes], float]
    way: str = ""
    elements: ByElements | None = None


@dataclass(frozen=True, kw_only=True)
class StudyOutput(Description):
    """Base of the kinds of outputs."""

    table: ClassVar[str] = "outputs"
    kind: ClassVar[str]
    of_unit: ClassVar[str] = ""

    name: str

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Check the fields of the kind."""

    def value(self, analyses: Analyses) -> float:
        """The number of one run. Raises ResultError where the results do not have the quantity."""
        raise NotImplementedError

    def unstable_at(self, values: Floats) -> Bools:
        """Whether values tell that a loop is not stable."""
        return np.zeros(len(values), bool)

    def unit(self, analyses: Analyses) -> str:
        """Its unit, "" where it is unknown. Raises ResultError where the results do not have the quantity."""
        return self.of_unit

    def frozen(self, analyses: Analyses) -> ByChanges:
        """The way it is differentiated about a nominal run. Raises ModelError: not at all, with the reason."""
        return self.by_values(BY_ANALYSES)

    def instants(self, analyses: Analyses) -> Floats | None:
        """The output times (s) of a nominal run from which its derivative follows; None for all."""
        return None

    def by_values(self, way: str) -> ByChanges:
        """By its values beside the nominal one."""
        return ByChanges(
            lambda other: np.array([complex(self.value(other))]), lambda change: float(change[0].real), way
        )


def damping_rate(value: complex, rate: complex) -> float:
    """The derivative of the damping ratio of an eigenvalue by that of the eigenvalue."""
    size = abs(value)
    return float(-rate.real / size + value.real * (value.conjugate() * rate).real / size**3)


# Outputs of a study that are natural modes of every run.


@dataclass(frozen=True, kw_only=True)
class ModeOutput(StudyOutput):
    """Base of the outputs of natural modes."""

    mode: int = 1
    """its number, from 1 at the lowest frequency"""
    held: str | None = None
    """as in ``femb modes``"""
    start: str | None = None
    """as in ``femb modes``"""
    by_shape: bool = False
    """whether the number is that in the nominal case, from which the mode is followed by its shape; a mode without a
    like one is refused"""
    damped: ClassVar[bool] = False

    def check(self, check: Checks) -> None:
        check.whole("mode", 1, 1000)

    def place(self, analyses: Analyses) -> int:
        """The number from 0 of the mode; by shape that of the nominal one. Raises ResultError: it lost its track."""
        reference = analyses.reference
        if not self.by_shape or reference is analyses:
            return self.mode - 1
        of = (self.held, self.start, self.damped)

        def make() -> int:
            own = analyses.solution(*of)
            modes, assurance = followed(reference.solution(*of), own, self.place(reference) + 1)
            if assurance[-1] < LOST:
                raise ResultError(
                    f"outputs.{self.name}: mode {self.mode} of the nominal case is lost from its track: the best match "
                    f"has an assurance of {assurance[-1]:.3g}; take smaller ranges, or another mode"
                )
            value = modes.eigenvalues[-1]
            return int(np.argmin(np.minimum(abs(own.eigenvalues - value), abs(own.eigenvalues - value.conjugate()))))

        return analyses.once(("place", *of, self.mode), make)

    def eigenvalue(self, analyses: Analyses) -> complex:
        """The eigenvalue of the mode, 1/s, followed by its shape. Raises ResultError."""
        return complex(analyses.solution(self.held, self.start, self.damped).eigenvalues[self.place(analyses)])

    def of_rate(self, value: complex, rate: complex) -> float:
        """The derivative of the output by that of the eigenvalue."""
        raise NotImplementedError

    def frozen(self, analyses: Analyses) -> ByChanges:
        of = (self.held, self.start, self.damped)
        modes = analyses.solution(*of)
        place = self.place(analyses)
        form, value = ModeForm.of(modes, place), complex(modes.eigenvalues[place])

        def derivative(change: Complexes) -> float:
            return self.of_rate(value, form.derivative(change))

        def of_elements(other: Analyses) -> list[Complexes]:
            return form.of_elements(other.differing(*of))

        def numbers(other: Analyses) -> Complexes:
            # by elements little cancels
            try:
                return np.asarray(sum(each[:, :-1].sum(axis=0) for each in of_elements(other)))
            except ModelError:
                return form.numbers(other.small_motions(*of))

        return ByChanges(numbers, derivative, elements=ByElements(of_elements, derivative))

    def found(self, analyses: Analyses) -> Modes:
        """The modes, at least as many as asked for."""
        modes = analyses.modes(self.held, self.start, self.damped)
        if len(modes.frequencies) < self.mode:
            raise ResultError(f"outputs.{self.name}: there are {len(modes.frequencies)} modes, got mode {self.mode}")
        return modes


class NaturalFrequency(ModeOutput):
    """The frequency (Hz) of a natural mode without damping, as in ``femb modes``."""

    kind: ClassVar[str] = "natural_frequency"
    of_unit: ClassVar[str] = "Hz"

    def value(self, analyses: Analyses) -> float:
        if self.by_shape:
            return abs(self.eigenvalue(analyses)) / (2.0 * np.pi)
        return float(self.found(analyses).frequencies[self.mode - 1])

    def of_rate(self, value: complex, rate: complex) -> float:
        return float((value.conjugate() * rate).real / abs(value) / (2.0 * np.pi))


class DampingRatio(ModeOutput):
    """The damping ratio of a complex mode, as in ``femb modes --damped``."""

    kind: ClassVar[str] = "damping_ratio"
    damped: ClassVar[bool] = True

    def value(self, analyses: Analyses) -> float:
        if self.by_shape:
            of = self.eigenvalue(analyses)
            return -of.real / abs(of)
        return float(self.found(analyses).damping[self.mode - 1])

    def of_rate(self, value: complex, rate: complex) -> float:
        return damping_rate(value, rate)


# Outputs of a study that are mass properties of the model at its start, as in ``femb check``.


class Mass(StudyOutput):
    """The mass (kg) of the whole model."""

    kind: ClassVar[str] = "mass"
    of_unit: ClassVar[str] = "kg"

    def value(self, analyses: Analyses) -> float:
        return analyses.mass_properties()[0]

    def frozen(self, analyses: Analyses) -> ByChanges:
        elements = ByElements(
            lambda other: element_mass(other.differing(None, None, False)), lambda change: float(change[0].real)
        )
        return replace(super().frozen(analyses), elements=elements)


@dataclass(frozen=True, kw_only=True)
class CenterOfMass(StudyOutput):
    """A component (m) of the mass centre, in inertial axes."""

    kind: ClassVar[str] = "center_of_mass"
    of_unit: ClassVar[str] = "m"

    component: Annotated[str, OneOf(("x", "y", "z"))]
    """of the vector"""

    def value(self, analyses: Analyses) -> float:
        return float(analyses.mass_properties()[1]["xyz".index(self.component)])


@dataclass(frozen=True, kw_only=True)
class Inertia(StudyOutput):
    """A component (kg m2) of the inertia about the mass centre, in inertial axes."""

    kind: ClassVar[str] = "inertia"
    of_unit: ClassVar[str] = "kg m2"

    component: Annotated[str, OneOf(("xx", "yy", "zz", "xy", "xz", "yz"))]
    """of the inertia matrix, whose "xy", "xz" and "yz" are the negative products"""

    def value(self, analyses: Analyses) -> float:
        row, column = ("xyz".index(axis) for axis in self.component)
        return float(analyses.mass_properties()[2][row, column])


ANALYSES = ("run", "static")


@dataclass(frozen=True, kw_only=True)
class Statistic(StudyOutput):
    """Base of the outputs that reduce the history of a quantity; between output times it is interpolated linearly."""

    of: str
    """name of the quantity, as "bodies.hub.angular_velocity.y"; without a component the magnitude of a vector"""
    first: Annotated[float | None, Unit("s")] = None
    """instant from which the run counts"""
    last: Annotated[float | None, Unit("s")] = None
    """instant up to which the run counts"""
    analysis: Annotated[str, OneOf(ANALYSES)] = "run"
    """of a "run", or "static" for the states of equilibrium as the loads of the case grow to their full value"""
    own_unit: ClassVar[str | None] = None
    """By default that of the quantity."""
    jumps: ClassVar[str] = ""
    """Advice on numbers without a derivative: what to take in place of them."""

    def check(self, check: Checks) -> None:
        if not {"first", "last"} & check.bad and self.first is not None and self.last is not None:
            check.require("last", self.last >= self.first, f"must be at least first = {self.first:g}")

    def reduced(self, time: Floats, x: Floats) -> float:
        """The number of a history."""
        raise NotImplementedError

    def value(self, analyses: Analyses) -> float:
        return self.reduced(*self._inside(analyses))

    def _inside(self, analyses: Analyses) -> tuple[Floats, Floats]:
        """The output times that count, and the values there. Raises ResultError: none."""
        found = self._history(analyses)
        inside = np.ones(found.time.size, dtype=bool)
        if self.first is not None:
            inside &= found.time >= self.first - 1e-9 * abs(self.first)
        if self.last is not None:
            inside &= found.time <= self.last + 1e-9 * abs(self.last)
        if not inside.any():
            raise ResultError(f"outputs.{self.name}: the results have no output time from {self.first} to {self.last}")
        return found.time[inside], found.values[inside]

    def instants(self, analyses: Analyses) -> Floats | None:
        time, x = self._inside(analyses)
        place = self.place(x)
        return time if place is None else time[[place]]

    def place(self, x: Floats) -> int | None:
        """The value of a history from which the number follows to first order; None for all."""
        return None

    def unit(self, analyses: Analyses) -> str:
        of_quantity = self._history(analyses).unit
        return of_quantity if self.own_unit is None else self.own_unit

    def frozen(self, analyses: Analyses) -> ByChanges:
        if self.jumps:
            raise ModelError(f"outputs.{self.name}: jumps from one output time or band to the next; take {self.jumps}")
        return self.by_values(BY_STEPS if self.analysis == "run" else BY_ANALYSES)

    def _last(self, analyses: Analyses, number: Callable[[Results], float]) -> ByChanges:
        """The way a number of the equilibrium under full load is differentiated."""
        results = analyses.results(self.analysis)
        if self.analysis == "run" or not isinstance(results, StaticResults):
            return Statistic.frozen(self, analyses)
        try:
            form = last_of(results, analyses.static_side())
        except ModelError:
            return Statistic.frozen(self, analyses)  # of a free structure
        numbers, derivative = of_equilibrium(form, number)
        own = of_elements(form, number)
        elements = ByElements(lambda other: own(other.static_side()), lambda change: float(change[0].real))
        return ByChanges(lambda other: numbers(other.static_side()), derivative, elements=elements)

    def _history(self, analyses: Analyses) -> History:
        return history(analyses.results(self.analysis), self.of)


class Maximum(Statistic):
    """The largest value."""

    kind: ClassVar[str] = "max"

    def place(self, x: Floats) -> int | None:
        return int(np.argmax(x))

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.max(x))


class Minimum(Statistic):
    """The smallest value."""

    kind: ClassVar[str] = "min"

    def place(self, x: Floats) -> int | None:
        return int(np.argmin(x))

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.min(x))


class Peak(Statistic):
    """The largest magnitude."""

    kind: ClassVar[str] = "peak"

    def place(self, x: Floats) -> int | None:
        return int(np.argmax(np.abs(x)))

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.max(np.abs(x)))


class PeakTime(Statistic):
    """The instant (s) of the largest magnitude."""

    kind: ClassVar[str] = "peak_time"
    own_unit: ClassVar[str | None] = "s"
    jumps: ClassVar[str] = "the peak, or the value at an instant"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(time[np.argmax(np.abs(x))])


class Final(Statistic):
    """The last value."""

    kind: ClassVar[str] = "final"

    def frozen(self, analyses: Analyses) -> ByChanges:
        return self._last(analyses, lambda results: float(history(results, self.of).values[-1]))

    def place(self, x: Floats) -> int | None:
        return -1

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(x[-1])


class Mean(Statistic):
    """The mean over time."""

    kind: ClassVar[str] = "mean"

    def reduced(self, time: Floats, x: Floats) -> float:
        if not time[-1] > time[0]:
            return float(x[-1])
        return float(np.sum(0.5 * (x[1:] + x[:-1]) * np.diff(time)) / (time[-1] - time[0]))


class Rms(Mean):
    """The root of the mean square over time."""

    kind: ClassVar[str] = "rms"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.sqrt(super().reduced(time, x**2)))


@dataclass(frozen=True, kw_only=True)
class PointingError(StudyOutput):
    """The error of a vector, or its mean or relative error over windows of time, as in ``femb.pointing``."""

    kind: ClassVar[str] = "pointing"

    of: str
    """name of the quantity, as "controllers.attitude.error" of a controller"""
    measure: Annotated[str, OneOf(MEASURES)] = "absolute"
    """of the error"""
    window: Annotated[float | None, Unit("s"), POSITIVE] = None
    """of the mean and of the relative error"""
    percent: Annotated[float, Unit("")] = PERCENT
    """of the time for which the error is below the output"""
    first: Annotated[float | None, Unit("s")] = None
    """instant from which errors count"""

    def check(self, check: Checks) -> None:
        needs = self.measure != "absolute"
        if "window" not in check.bad:
            check.require("window", (self.window is None) != needs, "is of mean and relative errors, which need it")
        check.require("percent", 0.0 < self.percent <= 100.0, "must be above 0 and at most 100")

    def value(self, analyses: Analyses) -> float:
        windows = [] if self.window is None else [self.window]
        found = pointing(analyses.results("run"), self.of, windows, self.first)
        return found.at_percent(self.measure, self.window or 0.0, self.percent)

    def unit(self, analyses: Analyses) -> str:
        return history(analyses.results("run"), self.of).unit

    def frozen(self, analyses: Analyses) -> ByChanges:
        return self.by_values(BY_STEPS)


@dataclass(frozen=True, kw_only=True)
class SettlingTime(Statistic):
    """The instant (s) after which the quantity stays within a band about its target; NaN if it does not settle."""

    kind: ClassVar[str] = "settling_time"
    own_unit: ClassVar[str | None] = "s"
    jumps: ClassVar[str] = "the rms of the error from an instant on"

    target: float | None = None
    """by default the last value of the run"""
    band: Annotated[float | None, POSITIVE] = None
    """half of the width of the band as a part of the largest distance from the target, by default 0.02"""
    tolerance: Annotated[float | None, POSITIVE] = None
    """in place of the band, half of its width in the unit of the quantity"""
    hold: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """time at the end of the run for which it must have stayed there: of a vibration longer than half a period, since a
    run may end while it passes through the band"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.at_most_one("band", "tolerance")

    def reduced(self, time: Floats, x: Floats) -> float:
        distance = np.abs(x - (x[-1] if self.target is None else self.target))
        band = (0.02 if self.band is None else self.band) * float(np.max(distance))
        width = band if self.tolerance is None else self.tolerance
        outside = np.flatnonzero(distance > width)
        if not outside.size:
            return float(time[0])
        last = int(outside[-1])
        if last == len(time) - 1:
            return float("nan")
        share = (distance[last] - width) / (distance[last] - distance[last + 1])
        settled = float(time[last] + share * (time[last + 1] - time[last]))
        return settled if time[-1] - settled >= self.hold else float("nan")


@dataclass(frozen=True, kw_only=True)
class SmoothMaximum(Statistic):
    """The Kreisselmeier-Steinhauser maximum of magnitudes over all places, of statics under full load, else over time.

    It has derivatives where the largest one changes places: s ln(sum exp(rho x/s))/rho, from the largest x up to that
    of n equal ones, x + s ln(n)/rho. Source: G. Kreisselmeier, R. Steinhauser, IFAC Proceedings 12 (1979).
    """

    kind: ClassVar[str] = "ks"

    scale: Annotated[float, POSITIVE]
    """s, the size of the values in their unit, as the limit of a stress"""
    sharpness: Annotated[float, POSITIVE] = 50.0
    """rho"""

    def value(self, analyses: Analyses) -> float:
        return self._of(analyses.results(self.analysis))

    def frozen(self, analyses: Analyses) -> ByChanges:
        return self._last(analyses, self._of)

    def _of(self, results: Results) -> float:
        found = named(results, self.of)
        values = found.values if self.analysis == "run" else found.values[-1:]
        if found.component is None and values.ndim > 1 and found.word not in STRESSES and values.shape[-1] == 3:
            values = np.linalg.norm(values, axis=-1)
        x = self.sharpness * np.abs(values) / self.scale
        top = float(np.max(x))
        return self.scale * (top + float(np.log(np.sum(np.exp(x - top))))) / self.sharpness


class FirstFrequency(Statistic):
    """The lowest frequency (Hz) with a peak in the amplitude spectrum, of at least a tenth of its largest value.

    From the history without its linear trend, in a Hann window; the peak is that of a parabola through the logarithms
    of three amplitudes. NaN where there is no peak. Source: F. J. Harris, On the use of windows for harmonic analysis
    with the discrete Fourier transform, Proceedings of the IEEE 66 (1978).
    """

    kind: ClassVar[str] = "first_frequency"
    own_unit: ClassVar[str | None] = "Hz"

    def reduced(self, time: Floats, x: Floats) -> float:
        if len(time) < 8 or not time[-1] > time[0]:
            return float("nan")
        even = np.linspace(time[0], time[-1], len(time))
        y = np.interp(even, time, x)
        y = (y - np.polynomial.Polynomial.fit(even, y, 1)(even)) * np.hanning(len(y))
        size = np.abs(np.fft.rfft(y))
        inner = np.arange(1, len(size) - 1)
        peaks = inner[(size[inner] >= size[inner - 1]) & (size[inner] > size[inner + 1])]
        peaks = peaks[size[peaks] >= VISIBLE * np.max(size)]
        if not peaks.size or not np.max(size) > 1e-12 * len(x) * np.max(np.abs(x)):
            return float("nan")
        k = int(peaks[0])
        a, b, c = np.log(np.maximum(size[k - 1 : k + 2], np.finfo(float).tiny))
        bins = k + 0.5 * (a - c) / (a - 2.0 * b + c)
        return float(bins / (len(even) * (even[1] - even[0])))


@dataclass(frozen=True, kw_only=True)
class EventTime(StudyOutput):
    """The first instant (s) of an event of the run, such as the closing of a latch; NaN if it does not happen."""

    kind: ClassVar[str] = "event_time"
    of_unit: ClassVar[str] = "s"

    event: str
    """its name, as "latches.hinge" of a latch"""

    def value(self, analyses: Analyses) -> float:
        times = [event.time for event in analyses.results("run").events if event.name == self.event]
        return min(times, default=float("nan"))

    def frozen(self, analyses: Analyses) -> ByChanges:
        if np.isnan(self.value(analyses)):
            raise ModelError(f"outputs.{self.name}: {self.event} does not happen in the run, and has no instant")
        return self.by_values(BY_STEPS)

"""Outputs of runs and load paths: histories of quantities, their reductions, and instants of events."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, ResultError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, OneOf, Unit
from femb.elements.beam.results import BeamResults
from femb.results.groups import groups
from femb.results.names import STRESSES, named, one_unit
from femb.results.pointing import MEASURES, PERCENT, pointing
from femb.results.results import Results
from femb.run.events import corners_of
from femb.run.static import StaticResults
from femb.run.static_derivatives import StaticNumber
from femb.study.extremes import Extreme, extreme
from femb.study.outputs import BY_ANALYSES, BY_STEPS, VISIBLE, Analyses, ByChanges, ByElements, StudyOutput


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
        return self._inside(analyses)[0]

    @property
    def known_units(self) -> tuple[str, ...]:
        if self.own_unit is not None:
            return (self.own_unit,) if self.own_unit else ()
        table, *words = self.of.split(".")
        known = groups().get(table, Group).quantities()
        # a word that is no quantity may be a coordinate
        named = [known[word] for word in words[1:] if word in known] or known.values()
        units = [unit for each in named for unit in re.split(" or |, ", each.unit)]
        return tuple(dict.fromkeys(unit for unit in units if one_unit(unit)))

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
            of = StaticNumber(results, analyses.static_side(), self.of, number)
        except ModelError:
            return Statistic.frozen(self, analyses)  # of a free structure
        elements = ByElements(lambda other: of.elements(other.static_side()), lambda change: float(change[0].real))
        return ByChanges(lambda other: of.numbers(other.static_side()), of.derivative, elements=elements)

    def _history(self, analyses: Analyses) -> History:
        return history(analyses.results(self.analysis), self.of)


def at_times(results: Results, name: str, times: Floats) -> Floats:
    """(n,) a quantity of results at the output times next to some (n,), s."""
    found = history(results, name)
    near: Floats = found.values[np.argmin(np.abs(found.time[:, None] - times), axis=0)]
    return near


class AtExtreme(StudyOutput):
    """Base of the extreme values of a run: derivatives are of the extreme value between output times.

    factor : of the largest value of the curves, in the output.
    """

    analysis: str
    factor: ClassVar[float] = 1.0

    def _curves(self, analyses: Analyses) -> tuple[Floats, Floats]:
        """Output times (T,) of a run, and the curves (m, T) of whose values the largest is sought."""
        raise NotImplementedError

    def _at(self, results: Results, times: Floats) -> Floats:
        """(m, n) the curves at the output times next to some (n,), s."""
        raise NotImplementedError

    def _place(self, analyses: Analyses) -> Extreme:
        """The place of the extreme value."""

        def make() -> Extreme:
            corners = corners_of(analyses.results("run"))
            return extreme(*self._curves(analyses), corners, lambda t: self._at(analyses.at(t), t))

        return analyses.once(("extreme", self.name), make)

    def between(self, analyses: Analyses) -> Floats:
        return self._place(analyses).instants

    def instants(self, analyses: Analyses) -> Floats | None:
        return np.zeros(0)

    def frozen(self, analyses: Analyses) -> ByChanges:
        if self.analysis != "run":
            return super().frozen(analyses)
        return self._place(analyses).by_changes(self._at, self.factor)


class Extremum(AtExtreme, Statistic):
    """Base of the extreme values of a history."""

    def curves(self, x: Floats) -> Floats:
        """(m, T) the curves of a history."""
        return x[None]

    def reduced(self, time: Floats, x: Floats) -> float:
        return self.factor * float(np.max(self.curves(x)))

    def _curves(self, analyses: Analyses) -> tuple[Floats, Floats]:
        time, x = self._inside(analyses)
        return time, self.curves(x)

    def _at(self, results: Results, times: Floats) -> Floats:
        return self.curves(at_times(results, self.of, times))


class Maximum(Extremum):
    """The largest value."""

    kind: ClassVar[str] = "max"


class Minimum(Extremum):
    """The smallest value."""

    kind: ClassVar[str] = "min"
    factor: ClassVar[float] = -1.0

    def curves(self, x: Floats) -> Floats:
        return -x[None]


class Peak(Extremum):
    """The largest magnitude."""

    kind: ClassVar[str] = "peak"

    def curves(self, x: Floats) -> Floats:
        return np.stack([x, -x])


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

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(x[-1])

    def instants(self, analyses: Analyses) -> Floats | None:
        return self._inside(analyses)[0][-1:]


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
    hold: Annotated[float | None, Unit("s"), NOT_NEGATIVE] = None
    """time at the end of the run for which it must have stayed there, by default the longest between the last three
    times that it left the band: a vibration passes through it twice a period"""

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
        left = time[outside[np.diff(outside, prepend=-2) > 1]]
        hold = np.max(np.diff(left[-3:]), initial=0.0) if self.hold is None else self.hold
        return settled if time[-1] - settled >= hold else float("nan")


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

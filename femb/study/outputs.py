"""Outputs of a study that reduce histories and events of every run, and the catalogue of all outputs."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ResultError
from femb.base.types import Floats, OneOf, Unit
from femb.results.history import History, history
from femb.study import reductions
from femb.study.mode_outputs import DampingRatio, NaturalFrequency
from femb.study.output import Analyses, Output

ANALYSES = ("run", "static")


@dataclass(frozen=True, kw_only=True)
class Reduction(Output):
    """Base of the outputs that reduce the history of a quantity.

    of : the name of the quantity, as "bodies.hub.angular_velocity.y"; without a component the magnitude of a vector.
    first, last : instants (s), for a part of the run. analysis : "run", or "static" for the states of equilibrium as
    the loads of the case grow to their full value.
    """

    of: str
    first: Annotated[float | None, Unit("s")] = None
    last: Annotated[float | None, Unit("s")] = None
    analysis: Annotated[str, OneOf(ANALYSES)] = "run"

    def check(self, check: Checks) -> None:
        if not {"first", "last"} & check.bad and self.first is not None and self.last is not None:
            check.require("last", self.last >= self.first, f"must be at least first = {self.first:g}")

    def reduced(self, time: Floats, x: Floats) -> float:
        """The number of a history."""
        raise NotImplementedError

    def value(self, analyses: Analyses) -> float:
        found = self._history(analyses)
        inside = np.ones(found.time.size, dtype=bool)
        if self.first is not None:
            inside &= found.time >= self.first - 1e-9 * abs(self.first)
        if self.last is not None:
            inside &= found.time <= self.last + 1e-9 * abs(self.last)
        if not inside.any():
            raise ResultError(f"outputs.{self.name}: the results have no output time from {self.first} to {self.last}")
        return self.reduced(found.time[inside], found.values[inside])

    def unit(self, analyses: Analyses) -> str:
        return self._history(analyses).unit

    def _history(self, analyses: Analyses) -> History:
        return history(analyses.results(self.analysis), self.of)


class Maximum(Reduction):
    """The largest value."""

    kind: ClassVar[str] = "max"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.max(x))


class Minimum(Reduction):
    """The smallest value."""

    kind: ClassVar[str] = "min"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.min(x))


class Peak(Reduction):
    """The largest magnitude."""

    kind: ClassVar[str] = "peak"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(np.max(np.abs(x)))


class PeakTime(Reduction):
    """The instant (s) of the largest magnitude."""

    kind: ClassVar[str] = "peak_time"

    def reduced(self, time: Floats, x: Floats) -> float:
        return reductions.peak_time(time, x)

    def unit(self, analyses: Analyses) -> str:
        self._history(analyses)
        return "s"


class Final(Reduction):
    """The last value."""

    kind: ClassVar[str] = "final"

    def reduced(self, time: Floats, x: Floats) -> float:
        return float(x[-1])


class Mean(Reduction):
    """The mean over time."""

    kind: ClassVar[str] = "mean"

    def reduced(self, time: Floats, x: Floats) -> float:
        return reductions.mean(time, x)


class Rms(Reduction):
    """The root of the mean square over time."""

    kind: ClassVar[str] = "rms"

    def reduced(self, time: Floats, x: Floats) -> float:
        return reductions.rms(time, x)


@dataclass(frozen=True, kw_only=True)
class SettlingTime(Reduction):
    """The instant (s) after which the quantity stays within a band about its target; NaN if it does not settle.

    target : by default the last value of the run. band : half of the width of the band as a part of the largest
    distance from the target, by default 0.02. tolerance : or half of its width in the unit of the quantity.
    hold : time (s) at the end of the run for which it must have stayed there, by default 0: of a vibration longer than
    half a period, since a run may end while it passes through the band.
    """

    kind: ClassVar[str] = "settling_time"

    target: float | None = None
    band: float | None = None
    tolerance: float | None = None
    hold: Annotated[float, Unit("s")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        check.positive("band", "tolerance")
        check.at_most_one("band", "tolerance")
        check.not_negative("hold")

    def reduced(self, time: Floats, x: Floats) -> float:
        return reductions.settling_time(time, x, self.target, self.band, self.tolerance, self.hold)

    def unit(self, analyses: Analyses) -> str:
        self._history(analyses)
        return "s"


class FirstFrequency(Reduction):
    """The lowest frequency (Hz) at which the spectrum of the history has a peak."""

    kind: ClassVar[str] = "first_frequency"

    def reduced(self, time: Floats, x: Floats) -> float:
        return reductions.first_frequency(time, x)

    def unit(self, analyses: Analyses) -> str:
        self._history(analyses)
        return "Hz"


@dataclass(frozen=True, kw_only=True)
class EventTime(Output):
    """The first instant (s) of an event of the run, such as the closing of a latch; NaN if it does not happen.

    event : its name, as "latches.hinge".
    """

    kind: ClassVar[str] = "event_time"

    event: str

    def value(self, analyses: Analyses) -> float:
        times = [event.time for event in analyses.results("run").events if event.name == self.event]
        return min(times, default=float("nan"))

    def unit(self, analyses: Analyses) -> str:
        return "s"


OUTPUTS: dict[str, type[Output]] = {
    kind.kind: kind
    for kind in (
        *(Maximum, Minimum, Peak, PeakTime, Final, Mean, Rms, SettlingTime, FirstFrequency),
        *(EventTime, NaturalFrequency, DampingRatio),
    )
}
"""The kinds of outputs by their words; the first is the default."""

"""Pointing errors of results: absolute, mean and relative errors by windows of time.

With an error e(t), as the turn of a body from its reference, and a window of the length T

    absolute    e(t)                                what an instrument sees at an instant
    mean        the mean of e over the window       what an exposure of this length sees as a shift
    relative    e(t) less the mean over its window  what an exposure sees as a blur (jitter)

The error of a window is a vector; its size is that of all components. Windows follow each other, once from the start
and once from half a window later. Source: ECSS-E-ST-60-10C, Control performance, 2008, section 3.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ResultError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import listed, shown
from femb.results.names import named
from femb.results.results import Results, results_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("absolute", "mean", "relative")
# Percentage of the time for which requirements hold, three standard deviations of one normal component.
PERCENT = 99.7
PERCENTS = f"{PERCENT:g} %"
# Of means and of what is left within windows.
COLOURS = ("#0072b2", "#d55e00")
# Windows of the table and of the figure, where none are given; output times in the shortest.
WINDOWS, SHORTEST = 12, 4


@dataclass(frozen=True, eq=False)
class Pointing(Tabled):
    """Pointing errors of one quantity.

    name : of the quantity. unit : of the errors. time (T,) s, equally spaced. error (T, k), in this unit. windows (w,)
    s. title : of the model.
    """

    name: str
    unit: str
    time: Floats
    error: Floats
    windows: tuple[float, ...]
    title: str = ""

    def sizes(self, measure: str, window: float = 0.0) -> Floats:
        """(n,) sizes of the errors of a ``measure`` "absolute", "mean" or "relative", in ``unit``.

        window : s. Raises ResultError: another measure, a window that is longer than the results or holds too few
        output times.
        """
        if measure not in MEASURES:
            raise ResultError(f"got the measure {measure!r}; there are: {', '.join(MEASURES)}")
        if measure == "absolute":
            return _sizes(self.error)
        parts = [part for part in self._parts(window) if part.size]
        means = [part.mean(axis=1) for part in parts]
        if measure == "mean":
            return _sizes(np.concatenate(means))
        pairs = zip(parts, means, strict=True)
        relative = [(part - mean[:, None]).reshape(-1, self.error.shape[1]) for part, mean in pairs]
        return _sizes(np.concatenate(relative))

    def rms(self, measure: str, window: float = 0.0) -> float:
        """The root of the mean square of ``sizes`` of a ``measure`` and a ``window`` (s), in ``unit``."""
        return float(np.sqrt(np.mean(self.sizes(measure, window) ** 2)))

    def at_percent(self, measure: str, window: float = 0.0, percent: float = PERCENT) -> float:
        """The error, in ``unit``, below which so many per cent of ``sizes`` are.

        Parameters:
            measure: "absolute", "mean" or "relative".
            window: s, of the last two.
            percent: of the sizes, %.
        """
        return float(np.percentile(self.sizes(measure, window), percent))

    def rows(self) -> list[tuple[float, float, float, float, float]]:
        """The length (s) of each window, the RMS and the 99.7 % of the mean error, and both of the relative one."""
        return [
            (
                window,
                self.rms("mean", window),
                self.at_percent("mean", window),
                self.rms("relative", window),
                self.at_percent("relative", window),
            )
            for window in self.windows
        ]

    def table(self) -> str:
        """A table of the errors by windows, with the absolute error above it."""
        lines = [
            f"{self.name}, {self.unit}, over {self.time[-1] - self.time[0]:.6g} s",
            f"absolute error: RMS {self.rms('absolute'):.4g}, {PERCENTS} {self.at_percent('absolute'):.4g}, "
            f"largest {self.sizes('absolute').max():.4g}",
            "",
            "".join(f"{word:>14}" for word in ("window s", "mean: RMS", PERCENTS, "relative: RMS", PERCENTS)),
        ]
        for window, *values in self.rows():
            lines.append("".join(f"{value:14.4g}" for value in (window, *values)))
        return "\n".join(lines)

    def plot(self) -> "Figure":
        """The mean and the relative error over the length of the window, RMS and 99.7 %."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.5, 5.5), layout="constrained")
        axes = figure.subplots()
        title = ": ".join(filter(None, (self.title, f"pointing errors, {self.name}")))
        figure.suptitle(title[:1].upper() + title[1:], fontsize=12, fontweight="bold", color="#333333")
        rows = np.array(self.rows())
        for column, label, colour, style in (
            (1, "mean, RMS", COLOURS[0], "-"),
            (2, f"mean, {PERCENTS}", COLOURS[0], "--"),
            (3, "relative, RMS", COLOURS[1], "-"),
            (4, f"relative, {PERCENTS}", COLOURS[1], "--"),
        ):
            axes.loglog(rows[:, 0], rows[:, column], style, color=colour, marker=".", label=label)
        axes.axhline(self.at_percent("absolute"), color="0.5", lw=0.8, label=f"absolute, {PERCENTS}")
        axes.set(xlabel="window (s)", ylabel=f"error ({self.unit})")
        axes.grid(color="#e4e4e4", lw=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
        return figure

    def _parts(self, window: float) -> list[Floats]:
        """Windows that follow each other, (number, samples, k), from the start and from half a window later."""
        step = float(self.time[1] - self.time[0])
        count = round(window / step)
        if not SHORTEST <= count <= len(self.time):
            span = f"from {SHORTEST * step:.4g} to {step * len(self.time):.4g} s"
            raise ResultError(f"got a window of {window:.4g} s; with these output times wanted one {span}")
        parts = []
        for first in (0, count // 2):
            number = (len(self.time) - first) // count
            part = self.error[first : first + number * count]
            parts.append(part.reshape(number, count, self.error.shape[1]))
        return parts


def _sizes(errors: Floats) -> Floats:
    sizes: Floats = np.linalg.norm(errors, axis=1)
    return sizes


def pointing(
    results: Results | str | Path, of: str, windows: Sequence[float] | None = None, first: float | None = None
) -> Pointing:
    """The pointing errors of a quantity of ``results``.

    Parameters:
        results: of a run.
        of: name of a number or a vector over time, as "controllers.attitude.error" or "joints.hinge.angle".
        windows: s, by default twelve from four output times to a third of the time.
        first: s, the instant from which errors count.

    Raises:
        ResultError: no such quantity, output times that are not equally spaced, windows that do not fit.
    """
    results = results_of(results)
    try:
        found = named(results, of)
    except ResultError as reason:
        turns = [f"bodies.{name}.euler_angles" for name, body in results.bodies.items() if "quaternion" in body]
        raise ResultError(f"{reason}; the turn of a body is {listed(turns, 3)}" if turns else str(reason)) from reason
    values = np.asarray(found.values, dtype=float)
    if values.ndim not in (1, 2) or len(values) != len(results.time):
        raise ResultError(f"got {of!r}, an array of shape {values.shape}; wanted a number or a vector over time")
    values = values.reshape(len(values), -1)
    inside = results.time >= (results.time[0] if first is None else first)
    time, error = results.time[inside], values[inside]
    if len(time) <= 3 * SHORTEST:
        raise ResultError(f"got {len(time)} output times from {shown(first)} s on; wanted more than {3 * SHORTEST}")
    steps = np.diff(time)
    if np.ptp(steps) > 1e-6 * steps[0]:
        raise ResultError("the output times are not equally spaced: give the run an output_interval")
    if windows is None:
        longest = (time[-1] - time[0]) / 3.0
        windows = np.geomspace(SHORTEST * steps[0], max(longest, SHORTEST * steps[0]), WINDOWS).tolist()
    result = Pointing(of, found.unit, time, error, tuple(float(each) for each in windows), results.title)
    for window in result.windows:
        result.sizes("mean", window)
    return result

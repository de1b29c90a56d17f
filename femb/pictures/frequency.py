"""Figures over frequency: Bode, Nichols and singular-value plots, and power spectral densities."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Complexes, Floats
from femb.numerics.linear_systems import (
    NO_UNITS,
    NOTHING,
    beside_alike,
    continuous,
    resolving,
    singular_values,
    transfers,
)
from femb.pictures.drawing import FREQUENCY, INK, PALETTE, coloured, listed, styled, titled
from femb.results.sweep import DAMPING, OF_MODES, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from femb.results.results import Results

RESPONSES = ("bode", "nichols", "singular-values")
"""Figures of a linear model."""

TWO = ("bode", "campbell and damping")  # figures of two axes, one below the other
LINEAR = ("A", "B", "C", "D", "outputs", "inputs")
# Curves that one figure can show with readable names.
MOST = 12
RPM = 30.0 / np.pi  # rpm of a rad/s
# Multiples of the rate of rotation in a Campbell diagram; the height of a name beside a curve by that of the axes.
MOST_REVOLUTIONS, NAME_HEIGHT = 8, 0.037
LEAST_REVOLUTIONS = 3  # the passing of three blades
# Curves that differ by less than this part of the highest are drawn as one; points of a curve between values.
ALIKE, POINTS = 2e-3, 400
# Width of the name of a crossing, as a part of that of the axes.
NAME_WIDTH = 0.12
WIDE = 150  # letters of a note


def draw_response(
    what: str,
    frequencies: Floats,
    values: Complexes,
    outputs: Sequence[str],
    inputs: Sequence[str],
    units: Mapping[str, str] = NO_UNITS,
    title: str = "",
) -> "Figure":
    """The figure of transfer matrices (f, p, m) at frequencies (f,) Hz; units : of inputs and outputs by name.

    what : one of RESPONSES. title : of the model. A line names pairs of input and output that do not respond; of more
    than twelve others the strongest are drawn. Raises ResultError: an unknown figure, nothing to show.
    """
    if what not in RESPONSES:
        raise ResultError(f"no figure {what!r} of a linear model; there are: {', '.join(RESPONSES)}")
    if not values.size:
        raise ResultError("the linear model has no inputs or no outputs: there is nothing to show")
    figure = _figure(what)
    titled(figure, title, "singular values" if what == "singular-values" else "frequency response")
    axes: list[Any] = figure.get_axes()
    if what == "singular-values":
        for k, column in enumerate(singular_values(values).T):
            axes[0].loglog(frequencies, column, label=f"singular value {k + 1}")
        axes[0].set(xlabel=FREQUENCY, ylabel="singular value (SI units)")
        return _finished(figure)
    size = np.max(np.abs(values), axis=0)
    part = beside_alike(size, outputs, inputs, units)
    every = [(i, j) for j in range(len(inputs)) for i in range(len(outputs))]
    pairs = [pair for pair in every if part[pair] > NOTHING]
    names = {(i, j): outputs[i] if len(inputs) == 1 else f"{outputs[i]} by {inputs[j]}" for i, j in every}
    zero = [names[pair] for pair in every if part[pair] <= NOTHING]
    drawn = sorted(sorted(pairs, key=lambda pair: -part[pair])[:MOST], key=every.index)
    ratios = [ratio_of_units(units.get(outputs[i], ""), units.get(inputs[j], "")) for i, j in drawn]
    alike = len(set(ratios)) == 1
    for (i, j), ratio in zip(drawn, ratios, strict=True):
        curve, label = values[:, i, j], f"{outputs[i]} by {inputs[j]}" + ("" if alike or not ratio else f" ({ratio})")
        gain, phase = decibels(curve), phase_of(curve)
        if what == "bode":
            axes[0].semilogx(frequencies, gain, label=label)
            axes[1].semilogx(frequencies, phase, label=label)
        else:
            axes[0].plot(phase, gain, label=label)
    gain_label = f"gain (dB of {ratios[0]})" if alike and ratios[0] else "gain (dB of SI units)"
    axes[0].set_ylabel(gain_label)
    if what == "bode":
        axes[1].set(xlabel=FREQUENCY, ylabel="phase (deg)")
    else:
        axes[0].set_xlabel("phase (deg)")
    notes = [f"the strongest {MOST} of {len(pairs)} pairs of output and input"] if len(pairs) > MOST else []
    notes += [_zero(zero)] if zero else []
    axes[0].set_title(textwrap.fill("; ".join(notes), WIDE), fontsize=8, loc="left", color=INK)
    return _finished(figure)


def draw_linear(results: "Results", what: str) -> "Figure":
    """One of RESPONSES of the linear model in a results file, over frequencies that resolve its resonances.

    Raises ResultError: results without one.
    """
    arrays = {path.removeprefix("linear/"): array for path, array in results.arrays.items()}
    if missing := [name for name in LINEAR if name not in arrays]:
        of = "of a linear model, which linear.h5 of femb linearize has"
        raise ResultError(f"the figure {what!r} is {of}: {results!r} has no {missing[0]}")
    # in modes, where there are: A itself has rounding where motions are free
    A, B, C = (np.array(arrays.get(f"form_{name}", arrays[name]), dtype=float) for name in "ABC")
    names = {word: [str(name) for name in arrays[word]] for word in LINEAR[4:]}
    poles, dt = np.linalg.eigvals(A).astype(complex), float(arrays["dt"]) if "dt" in arrays else None
    found = poles if dt is None else continuous(poles, dt)
    frequencies = resolving(found[np.isfinite(found)], last=None if dt is None else 0.5 / dt)
    values = transfers(A, B, C, np.array(arrays["D"], dtype=float), frequencies, dt)
    units = {
        name: str(unit)
        for word, each in names.items()
        for name, unit in zip(each, arrays.get(f"{word[:-1]}_units", ()), strict=False)
    }
    title = "".join(map(str, arrays.get("title", ())))
    return draw_response(what, frequencies, values, names["outputs"], names["inputs"], units, title)


def ratio_of_units(output: str, given: str) -> str:
    """The unit of an output by that of an input, as "rad/(N m)"; "" where one is not known."""
    if not output or not given:
        return ""
    if given in ("-", "1"):
        return "1" if output in ("-", "1") else output
    below = f"({given})" if " " in given or "/" in given else given
    return f"{'1' if output == '-' else output}/{below}"


@dataclass(frozen=True)
class Campbell:
    """The content of a Campbell diagram.

    speed (v,) : the parameter, in rpm if it is a rate of rotation, with its label. modes : frequencies (v,) in Hz by
    name. damping : ratios (v,) in % by name, empty without. revolutions : the multiples of the rate of rotation that
    are drawn, empty over other parameters.
    """

    speed: Floats
    label: str
    modes: dict[str, Floats]
    damping: dict[str, Floats]
    revolutions: tuple[int, ...]
    title: str = ""

    def groups(self) -> dict[str, list[str]]:
        """Modes whose curves lie on each other, by one name for all of them, such as "modes 1, 2, 3, flap"."""
        highest = max(float(np.max(column)) for column in self.modes.values())
        groups: list[list[str]] = []
        for name, column in self.modes.items():
            alike = (each for each in groups if np.max(np.abs(self.modes[each[0]] - column)) <= ALIKE * highest)
            group = next(alike, None)
            if group is None:
                groups.append([name])
            else:
                group.append(name)
        return {_common(each): each for each in groups}

    def curve(self, column: Floats) -> tuple[Floats, Floats]:
        """A smooth curve through the values (v,) of a mode, without a new extreme between them."""
        from scipy.interpolate import PchipInterpolator

        order = np.argsort(self.speed, kind="stable")
        if len(order) < 3 or np.any(np.diff(self.speed[order]) <= 0.0) or not np.all(np.isfinite(column)):
            return self.speed, column
        speeds = np.linspace(self.speed[order[0]], self.speed[order[-1]], POINTS)
        return speeds, np.asarray(PchipInterpolator(self.speed[order], column[order])(speeds))

    def crossings(self, column: Floats) -> list[tuple[float, float]]:
        """Speeds (rpm) and frequencies (Hz) where the curve of a mode meets a multiple of the rate of rotation."""
        speeds, values = self.curve(column)
        found = []
        for n in self.revolutions:
            excess = values - n * np.abs(speeds) / RPM / (2.0 * np.pi)
            for k in np.flatnonzero(np.sign(excess[:-1]) * np.sign(excess[1:]) < 0.0):
                part = excess[k] / (excess[k] - excess[k + 1])
                speed = float(speeds[k] + part * (speeds[k + 1] - speeds[k]))
                found.append((speed, n * abs(speed) / RPM / (2.0 * np.pi)))
        return found

    @classmethod
    def of(cls, sweep: Sweep) -> "Campbell":
        """The diagram of a table of modes over a parameter. Raises ResultError: any other table."""
        if sweep.design != OF_MODES:
            raise ResultError("the figure 'campbell' is of modes over a parameter, as with femb modes --sweep")
        (name, values), *_ = sweep.variables.items()
        speed = np.array(values, dtype=float)
        modes = {each: column for each, column in sweep.outputs.items() if not each.startswith(DAMPING)}
        damping = {each: 100.0 * column for each, column in sweep.outputs.items() if each.startswith(DAMPING)}
        if sweep.units.get(name) != "rad/s":
            return cls(speed, sweep.label(name), modes, damping, (), sweep.title)
        fastest = float(np.max(np.abs(speed), initial=0.0)) / (2.0 * np.pi)
        highest = max(float(np.max(column)) for column in modes.values())
        last = min(MOST_REVOLUTIONS, max(LEAST_REVOLUTIONS, int(np.ceil(highest / fastest)))) if fastest > 0.0 else 0
        return cls(RPM * speed, f"{name} (rpm)", modes, damping, tuple(range(1, last + 1)), sweep.title)


def _common(names: Sequence[str]) -> str:
    """One name for modes that move alike: of "mode 1, flap 1" and "mode 2, flap 2" it is "modes 1, 2, flap"."""
    if len(names) == 1:
        return names[0]
    words = dict.fromkeys(name.partition(", ")[2] for name in names)
    if len(words) > 1:
        words = dict.fromkeys(re.sub(r" \d+$", "", word) for word in words)
    return f"modes {', '.join(map(_number_of, names))}, {' or '.join(words)}"


def draw_campbell(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw modes over a parameter: frequencies in Hz, with their names at the curves, and damping ratios below.

    Over a rate of rotation it is a Campbell diagram: the rate in rpm, and lines of its multiples, 1P, 2P and so on.
    Raises ResultError: other results, or names of outputs, of which it takes none.
    """
    if names:
        raise ResultError(f"the figure 'campbell' shows all modes: leave out {', '.join(names)}")
    found = Campbell.of(Sweep.of(results))
    figure = _figure("campbell and damping" if found.damping else "campbell")
    titled(figure, found.title)
    axes: list[Any] = figure.get_axes()
    groups = found.groups()
    low, high = float(found.speed.min()), float(found.speed.max())
    top = 1.08 * max(float(np.max(column)) for column in found.modes.values()) or 1.0
    crossings = []
    for k, chosen in enumerate(groups.values()):
        colour, column = PALETTE[k % len(PALETTE)], found.modes[chosen[0]]
        axes[0].plot(*found.curve(column), color=colour, lw=1.4)
        axes[0].plot(found.speed, column, ".", color=colour, ms=4)
        crossings += [(colour, *each) for each in found.crossings(column)]
        for name in chosen if found.damping else ():
            axes[1].plot(*found.curve(found.damping[DAMPING + _number_of(name)]), color=colour, lw=1.4)
    for n in found.revolutions:
        ends = np.array(sorted({low, 0.0, high} if low < 0.0 < high else {low, high}))
        line = n * np.abs(ends) / RPM / (2.0 * np.pi)
        axes[0].plot(ends, line, color="#999999", lw=0.8, ls=(0, (4, 3)), zorder=1)
        x = min(high, RPM * 2.0 * np.pi * top / n) if high > 0.0 else low
        axes[0].annotate(f"{n}P", (x, n * abs(x) / RPM / (2.0 * np.pi)), color="#777777", fontsize=8,
                         xytext=(-2, 2), textcoords="offset points", ha="right")  # fmt: skip
    named: list[tuple[float, float]] = []
    for colour, speed, frequency in sorted(crossings, key=lambda each: -each[1]):
        axes[0].plot(speed, frequency, "o", color=colour, markerfacecolor="white", ms=6, zorder=4)
        place = speed / (high - low or 1.0), frequency / top
        if all(abs(place[0] - x) > NAME_WIDTH or abs(place[1] - y) > NAME_HEIGHT for x, y in named):
            named.append(place)
            axes[0].annotate(f"{speed:.0f} rpm", (speed, frequency), color=colour, fontsize=8,
                             xytext=(4, -11), textcoords="offset points")  # fmt: skip
    axes[0].set(ylabel="frequency (Hz)", ylim=(0.0, top), xlim=(low, high))
    _name_ends(axes[0], list(groups), [float(found.modes[chosen[0]][-1]) for chosen in groups.values()], top)
    if found.damping:
        axes[1].set_ylabel("damping (%)")
    axes[-1].set_xlabel(found.label)
    return _finished(figure)


def _number_of(name: str) -> str:
    """The number of the mode "mode 3, flap 1"."""
    return name.partition(",")[0].removeprefix("mode ")


def _name_ends(axes: Any, names: Sequence[str], ends: Sequence[float], top: float) -> None:
    """Write names beside the right ends of curves, those that would cover each other apart."""
    order = np.argsort(ends, kind="stable")
    places = np.array(ends)[order]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + NAME_HEIGHT * top)
    over = max(0.0, float(places[-1]) - top) if len(places) else 0.0
    for k in range(len(places) - 1, -1, -1):
        places[k] = min(places[k], places[k + 1] - NAME_HEIGHT * top if k + 1 < len(places) else places[k] - over)
    for place, k in zip(places, order, strict=True):
        axes.annotate(names[k], (1.0, place / top), xycoords="axes fraction", xytext=(5, 0), fontsize=8,
                      textcoords="offset points", va="center", color=PALETTE[k % len(PALETTE)])  # fmt: skip


def draw_shaken(
    frequencies: Floats,
    values: Floats,
    outputs: Sequence[str],
    units: Sequence[str],
    quantity: str,
    zero: Sequence[str],
    title: str,
) -> "Figure":
    """The figure of densities or amplitudes (f, p) in ``units`` (p,) over frequencies (f,) Hz.

    zero : outputs that are zero to rounding, which a line names. title : of the model.
    """
    figure = _figure("densities")
    titled(figure, title, "shake of the base")
    (axes,) = figure.get_axes()
    alike = len(set(units)) == 1
    for column, name, unit in list(zip(values.T, outputs, units, strict=True))[:MOST]:
        if np.any(column > 0.0):
            axes.loglog(frequencies, column, label=name if alike else f"{name} ({unit})")
    axes.set(xlabel=FREQUENCY, ylabel=f"{quantity} ({units[0]})" if alike else quantity)
    axes.set_title(textwrap.fill(_zero(zero), WIDE), fontsize=8, loc="left", color=INK)
    return _finished(figure)


def _zero(names: Sequence[str]) -> str:
    """A line above the axes that names what is not drawn."""
    if not names:
        return ""
    return f"zero to rounding: {', '.join(names[:MOST])}" + (", ..." if len(names) > MOST else "")


def draw_unbalance(
    speeds: Floats,
    values: Complexes,
    outputs: Sequence[str],
    units: Sequence[str],
    title: str,
    unstable: Sequence[tuple[float, float]] = (),
) -> "Figure":
    """The figure of amplitude and phase of vibration (v, p) over speeds (v,) rpm; title : of the model. unstable :
    ranges of speeds (rpm) at which it is not steady, which are shaded."""
    figure = _figure("bode")
    titled(figure, title, "unbalance response")
    axes: list[Any] = figure.get_axes()
    alike = set(units)
    for column, name, unit in list(zip(values.T, outputs, units, strict=True))[:MOST]:
        label = name if len(alike) == 1 else f"{name} ({unit})"
        axes[0].semilogy(speeds, np.abs(column), label=label)
        axes[1].plot(speeds, phase_of(column))
    for each in axes:
        for k, (first, last) in enumerate(unstable):
            each.axvspan(first, last, color="tab:red", alpha=0.12, label=None if k else "unstable: not steady")
    axes[0].set_ylabel(f"amplitude ({', '.join(sorted(alike))})")
    axes[1].set(xlabel="speed (rpm)", ylabel="phase (deg)")
    return _finished(figure)


def draw_residual(frequencies: Floats, residual: Floats, modes: Floats, label: str) -> "Figure":
    """The figure of the vibration that a shaper leaves (f,) over frequencies (f,) Hz, with lines at its modes."""
    figure = _figure("residual")
    titled(figure, "", "residual vibration of an input shaper")
    (axes,) = figure.get_axes()
    axes.plot(frequencies, 100.0 * residual, label=label)
    for k, mode in enumerate(modes):
        axes.axvline(mode, color="0.4", linestyle=":", label="modes" if k == 0 else None)
    axes.axhline(5.0, color="tab:red", linewidth=0.8, label="5 %")
    axes.set(xlabel=FREQUENCY, ylabel="residual vibration (% of that of one impulse)", ylim=(0.0, None))
    return _finished(figure)


def _figure(what: str) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 7.0 if what in TWO else 5.0), layout="constrained")
    ratios = [2, 1] if what == "campbell and damping" else None
    figure.subplots(2 if what in TWO else 1, sharex=True, height_ratios=ratios)
    for axes in figure.get_axes():
        coloured(axes)
    return figure


def decibels(curve: Complexes) -> Floats:
    """(f,) dB."""
    return np.asarray(20.0 * np.log10(np.maximum(np.abs(curve), np.finfo(float).tiny)))


def phase_of(curve: Complexes) -> Floats:
    """(f,) degrees, continuous, and at the first frequency above -270 and up to 90."""
    phase = np.unwrap(np.angle(curve))
    turns = np.ceil((phase[:1] - 0.5 * np.pi - 1e-6) / (2.0 * np.pi))
    return np.asarray(np.degrees(phase - 2.0 * np.pi * (turns if len(turns) else 0.0)))


def _finished(figure: "Figure") -> "Figure":
    for axes in figure.get_axes():
        styled(axes)
    listed(figure, figure.get_axes()[0])
    return figure

"""Figures of a control loop: Bode, Nichols and Nyquist curves with margins and vibrations, and its poles."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Complexes, Floats
from femb.pictures.drawing import INK, PALETTE, coloured, listed, styled, titled
from femb.pictures.frequency import decibels, phase_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("bode", "nichols", "nyquist", "poles")
# Vibrations that are named; the largest |L| of a Nyquist curve, and the span (dB) of other curves, that are in sight.
MOST, SIGHT, SPAN = 8, 3.0, 70.0
# |L| (dB) of a vibration that a Nyquist curve names.
LEAST = -15.0
# Below the lowest crossover and vibration, the first frequency in sight, as a part of it.
FIRST = 0.05
# Part of the axes within which numbers of vibrations stand together.
CLOSE = 0.03


class Opened(Protocol):
    """The loop opened at a channel as it is drawn: L (f,) at frequencies (f,) rad/s, and its margins.

    crossovers (a,) rad/s with phase_margins (a,) degrees, and phase_crossovers (b,) rad/s with gain_margins (b,);
    distance: least |1 + L|.
    """

    @property
    def channel(self) -> str: ...
    @property
    def frequencies(self) -> Floats: ...
    @property
    def values(self) -> Complexes: ...
    @property
    def crossovers(self) -> Floats: ...
    @property
    def phase_margins(self) -> Floats: ...
    @property
    def phase_crossovers(self) -> Floats: ...
    @property
    def gain_margins(self) -> Floats: ...
    @property
    def distance(self) -> float: ...


def draw_loop(
    what: str,
    opened: Sequence[Opened],
    vibrations: Sequence[tuple[str, float]],
    poles: Complexes,
    period: float | None,
    title: str = "",
) -> "Figure":
    """One of FIGURES, or "all" of them.

    opened : the loop at each channel that is shown. vibrations : name and frequency, rad/s, of the modes of the plant.
    poles : of the closed loop, 1/s. period : s, of sampled laws, else None. title : of the model. Raises ResultError:
    another figure.
    """
    from matplotlib.figure import Figure

    if what not in (*FIGURES, "all"):
        raise ResultError(f"no figure {what!r} of a loop; there are: {', '.join(FIGURES)}, all")
    if what == "all":
        figure = Figure(figsize=(14.0, 9.0), layout="constrained")
        grid = figure.add_gridspec(4, 2)
        gain = figure.add_subplot(grid[0, 0])
        places: dict[str, list[Any]] = {"bode": [gain, figure.add_subplot(grid[1, 0], sharex=gain)]}
        for word, place in (("nichols", grid[:2, 1]), ("nyquist", grid[2:, 0]), ("poles", grid[2:, 1])):
            places[word] = [figure.add_subplot(place)]
    else:
        figure = Figure(figsize=(9.5, 7.0 if what == "bode" else 6.0), layout="constrained")
        figure.subplots(2 if what == "bode" else 1, sharex=True)
        places = {what: list(figure.get_axes())}
    titled(figure, title, "control loop")
    curves = [_Curve(each, PALETTE[k % len(PALETTE)]) for k, each in enumerate(opened)]
    named = _on_curves(sorted(vibrations, key=lambda each: each[1]), curves)
    drawn = {"bode": _bode, "nichols": _nichols, "nyquist": _nyquist}
    for word, axes in places.items():
        for each in axes:
            coloured(each)
        if word == "poles":
            _poles(axes[0], poles, period)
        else:
            drawn[word](axes, curves, named)
        for each in axes:
            styled(each)
    if set(places) & {"bode", "nichols", "nyquist"}:
        first = next(iter(places.values()))[0]
        if named and curves:
            first.plot([], [], " ", label="\nvibrations of the plant")
            for number, name, omega, curve in named:
                # in the colour of the channel in which it shows most
                colour = INK if curve is None else curve.colour
                first.plot([], [], ".", color=colour, label=f"{number}: {omega / (2.0 * np.pi):.4g} Hz, {name}")
        listed(figure, first, "channels, opened one at a time", "outside right upper")
    return figure


class _Curve:
    """L of a channel, its colour, and the margins that are marked: each as name, frequency (rad/s)."""

    def __init__(self, opened: Opened, colour: str) -> None:
        self.channel, self.omega, self.values = opened.channel, opened.frequencies, opened.values
        self.colour, self.distance = colour, opened.distance
        self.gain, self.phase = decibels(self.values), phase_of(self.values)
        self.of_phase: tuple[float, float] | None = None
        self.of_gain: list[tuple[float, float]] = []
        if len(opened.crossovers):
            k = int(np.argmin(np.abs(opened.phase_margins)))
            self.of_phase = float(opened.crossovers[k]), float(opened.phase_margins[k])
        for side in (opened.gain_margins < 1.0, opened.gain_margins >= 1.0):
            if np.any(side):
                k = int(np.argmin(np.where(side, np.abs(np.log(opened.gain_margins)), np.inf)))
                # at zero frequency or infinity the mark is at the end of the curve
                at = np.clip(opened.phase_crossovers[k], self.omega[0], self.omega[-1])
                self.of_gain.append((float(at), float(opened.gain_margins[k])))

    @property
    def label(self) -> str:
        """The channel and its least margins."""
        words = [] if self.of_phase is None else [f"phase margin {self.of_phase[1]:.3g}°"]
        words += [f"gain margin {20.0 * np.log10(factor):.3g} dB" for _, factor in self.of_gain]
        return "\n".join([f"channel {self.channel}", *words])

    def at(self, ordinate: Floats, omega: float) -> float:
        """An ordinate (f,) at a frequency, rad/s."""
        return float(np.interp(np.log(omega), np.log(self.omega), ordinate))


def _on_curves(vibrations: Sequence[tuple[str, float]], curves: Sequence[_Curve]) -> "list[_Named]":
    """The first vibrations, each with the curve in which it shows most."""
    found: list[_Named] = []
    for name, omega in vibrations[:MOST]:
        head, *parts = name.split(", ")
        items = ", ".join(dict.fromkeys(part for part in parts if not part.startswith("node ")))
        seen = [each for each in curves if len(each.omega) and each.omega[0] <= omega <= each.omega[-1]]
        most = max(seen, key=lambda each: each.at(each.gain, omega), default=None)
        found.append((head.rpartition(" ")[2], items, omega, most))
    return found


_Named = tuple[str, str, float, _Curve | None]


def _bode(axes: list[Any], curves: Sequence[_Curve], named: Sequence[_Named]) -> None:
    axes[0].set_xscale("log")  # shared; also of a loop without a channel that has an effect
    for each in curves:
        axes[0].plot(each.omega / (2.0 * np.pi), each.gain, color=each.colour, label=each.label)
        axes[1].plot(each.omega / (2.0 * np.pi), each.phase, color=each.colour)
        if each.of_phase is not None:
            omega, margin = each.of_phase
            end = each.at(each.phase, omega)
            _bar(axes[1], each, omega, end - margin, end)
        for omega, factor in each.of_gain:
            end = -20.0 * np.log10(factor)
            _bar(axes[0], each, omega, 0.0, end)
    axes[0].axhline(0.0, color="grey", linewidth=0.8)
    axes[1].axhline(-180.0, color="grey", linewidth=0.8)
    slow = [omega for *_, omega, _ in named] + [each.of_phase[0] for each in curves if each.of_phase is not None]
    if slow and curves and (omega := FIRST * min(slow)) > curves[0].omega[0]:
        axes[0].set_xlim(omega / (2.0 * np.pi), None)
        highest = max(each.at(each.gain, omega) for each in curves)
        axes[0].set_ylim(None, highest + 0.05 * (highest - min(float(np.min(each.gain)) for each in curves)))
    for *_, omega, _ in named:
        for each in axes:
            each.axvline(omega / (2.0 * np.pi), color="grey", linewidth=0.6, linestyle=":")
    low, high = np.log(axes[0].get_xlim())
    places = [((np.log(omega / (2.0 * np.pi)) - low) / (high - low), 1.0) for *_, omega, _ in named]
    _number(axes[0], named, np.array(places).reshape(-1, 2), (0, 3))
    axes[0].set_ylabel("loop gain (dB)")
    axes[1].set(xlabel="frequency (Hz)", ylabel="phase (deg)")


def _bar(axes: Any, curve: _Curve, omega: float, begin: float, end: float) -> None:
    """A margin as a bar at its frequency."""
    axes.plot([omega / (2.0 * np.pi)] * 2, [begin, end], color=curve.colour, linewidth=3.0, alpha=0.5, marker="_")


def _nichols(axes: list[Any], curves: Sequence[_Curve], named: Sequence[_Named]) -> None:
    for each in curves:
        axes[0].plot(each.phase, each.gain, color=each.colour, label=each.label)
        marks = [(each.at(each.phase, omega), 0.0) for omega, _ in filter(None, [each.of_phase])]
        marks += [(each.at(each.phase, omega), -20.0 * np.log10(factor)) for omega, factor in each.of_gain]
        _mark(axes[0], each, marks)
    axes[0].plot([-180.0], [0.0], "k+")
    lowest = min((float(np.min(each.gain)) for each in curves if len(each.gain)), default=-SPAN)
    highest = max((float(np.max(each.gain)) for each in curves if len(each.gain)), default=SPAN)
    axes[0].set(
        xlabel="phase (deg)", ylabel="loop gain (dB)", ylim=(max(lowest - 3.0, -SPAN), min(highest + 3.0, SPAN))
    )
    _along(axes[0], named, {id(each): (each.phase, each.gain) for each in curves})


def _nyquist(axes: list[Any], curves: Sequence[_Curve], named: Sequence[_Named]) -> None:
    turn = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 200))
    for each in curves:
        axes[0].plot(each.values.real, each.values.imag, color=each.colour, label=each.label)
        marks = [(-np.cos(np.radians(m)), -np.sin(np.radians(m))) for _, m in filter(None, [each.of_phase])]
        _mark(axes[0], each, [*marks, *((-1.0 / factor, 0.0) for _, factor in each.of_gain)])
    if curves:
        least = min(curves, key=lambda each: each.distance)
        circle = -1.0 + least.distance * turn
        axes[0].plot(circle.real, circle.imag, color=least.colour, linewidth=0.8, linestyle="--")
    axes[0].plot(turn.real, turn.imag, color="grey", linewidth=0.6, linestyle=":")
    axes[0].plot([-1.0], [0.0], "k+")
    axes[0].set(xlabel="real part of L", ylabel="imaginary part of L", aspect="equal")
    axes[0].set(xlim=(-SIGHT, SIGHT), ylim=(-SIGHT, SIGHT))
    seen = [each for each in named if each[3] is not None and each[3].at(each[3].gain, each[2]) > LEAST]
    _along(axes[0], seen, {id(each): (each.values.real, each.values.imag) for each in curves})


def _mark(axes: Any, curve: _Curve, places: Sequence[tuple[float, float]]) -> None:
    """Circles where a curve has its margins."""
    if places:
        x, y = zip(*places, strict=True)
        axes.plot(x, y, "o", color=curve.colour, markerfacecolor="white", markersize=6)


def _along(axes: Any, named: Sequence[_Named], ordinates: Mapping[int, tuple[Floats, Floats]]) -> None:
    """Dots and numbers of vibrations that are in sight, each on the curve in which it shows most."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    shown, places = [], []
    for each in named:
        *_, omega, curve = each
        if curve is None:
            continue
        x, y = (curve.at(of, omega) for of in ordinates[id(curve)])
        place = (x - left) / (right - left), (y - bottom) / (top - bottom)
        if min(place) >= 0.0 and max(place) <= 1.0:
            axes.plot(x, y, ".", color=curve.colour, markersize=7)
            shown.append(each)
            places.append(place)
    _number(axes, shown, np.array(places).reshape(-1, 2), (4, 3))


def _number(axes: Any, named: Sequence[_Named], places: Floats, offset: tuple[int, int]) -> None:
    """Numbers of vibrations at places (k, 2), parts of the axes; those of close ones together."""
    groups: list[tuple[Floats, list[str]]] = []
    for (number, *_), place in zip(named, places, strict=True):
        near = next((group for at, group in groups if np.max(np.abs(place - at)) < CLOSE), None)
        if near is None:
            groups.append((place, [number]))
        else:
            near.append(number)
    for place, numbers in groups:
        axes.annotate(
            ", ".join(numbers), place, xycoords="axes fraction", xytext=offset, textcoords="offset points",
            fontsize="x-small", ha="center" if offset[0] == 0 else "left",
        )  # fmt: skip


def _poles(axes: Any, poles: Complexes, period: float | None) -> None:
    both = np.concatenate([poles, poles.conj()])
    if period is None:
        axes.plot(both.real, both.imag, "x")
        axes.axvline(0.0, color="grey", linewidth=0.8)
        axes.set(xlabel="real part (1/s)", ylabel="imaginary part (1/s)")
        return
    z = np.exp(both * period)
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color="grey", linewidth=0.8)
    axes.plot(z.real, z.imag, "x")
    axes.set(xlabel=f"real part of z, period {period:.6g} s", ylabel="imaginary part of z", aspect="equal")

"""Figures of a control loop: Bode, Nichols and Nyquist curves with the vibrations of the plant, and its poles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Complexes, Floats
from femb.pictures.drawing import coloured, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("bode", "nichols", "nyquist", "poles")
# Vibrations that are named, and the largest |L| of a Nyquist curve that is in sight.
MOST, SIGHT = 6, 4.0
# Part of the axis within which the numbers of vibrations stand together.
CLOSE = 0.03


def draw_loop(
    what: str,
    curves: Sequence[tuple[str, Floats, Complexes]],
    vibrations: Sequence[tuple[str, float]],
    poles: Complexes,
    period: float | None,
) -> "Figure":
    """One of FIGURES, or "all" of them.

    curves : channel, frequencies (f,) rad/s, and L (f,) of the loop opened there. vibrations : name and frequency,
    rad/s, of the modes of the plant. poles : of the closed loop, 1/s. period : s, of sampled laws, else None. Raises
    ResultError: another figure.
    """
    from matplotlib.figure import Figure

    if what not in (*FIGURES, "all"):
        raise ResultError(f"no figure {what!r} of a loop; there are: {', '.join(FIGURES)}, all")
    if what == "all":
        figure = Figure(figsize=(12.0, 9.0), layout="constrained")
        grid = figure.add_gridspec(4, 2)
        gain = figure.add_subplot(grid[0, 0])
        places: dict[str, list[Any]] = {"bode": [gain, figure.add_subplot(grid[1, 0], sharex=gain)]}
        for word, place in (("nichols", grid[:2, 1]), ("nyquist", grid[2:, 0]), ("poles", grid[2:, 1])):
            places[word] = [figure.add_subplot(place)]
    else:
        figure = Figure(figsize=(8.0, 7.0 if what == "bode" else 6.0), layout="constrained")
        figure.subplots(2 if what == "bode" else 1, sharex=True)
        places = {what: list(figure.get_axes())}
    named = sorted(vibrations, key=lambda each: each[1])[:MOST]
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
    first = next(iter(places.values()))[0]
    if first.get_legend_handles_labels()[1]:
        first.legend(fontsize=8, edgecolor="none", framealpha=0.85)
    return figure


def _decibels(values: Complexes) -> Floats:
    return np.asarray(20.0 * np.log10(np.maximum(np.abs(values), np.finfo(float).tiny)))


def _degrees(values: Complexes) -> Floats:
    """(f,) continuous, and at the first frequency above -270 and up to 90 degrees."""
    phase = np.unwrap(np.angle(values))
    turns = np.ceil((phase[0] - 0.5 * np.pi - 1e-6) / (2.0 * np.pi)) if len(phase) else 0.0
    return np.asarray(np.degrees(phase - 2.0 * np.pi * turns))


def _at(frequencies: Floats, values: Floats, omega: float) -> float:
    return float(np.interp(np.log(omega), np.log(frequencies), values))


def _bode(axes: list[Any], curves: Sequence[tuple[str, Floats, Complexes]], named: Sequence[tuple[str, float]]) -> None:
    for channel, frequencies, values in curves:
        axes[0].semilogx(frequencies / (2.0 * np.pi), _decibels(values), label=channel)
        axes[1].semilogx(frequencies / (2.0 * np.pi), _degrees(values), label=channel)
    axes[0].axhline(0.0, color="grey", linewidth=0.8)
    axes[1].axhline(-180.0, color="grey", linewidth=0.8)
    for _, omega in named:
        for each in axes:
            each.axvline(omega / (2.0 * np.pi), color="grey", linewidth=0.6, linestyle=":")
    _number(axes[0], named)
    if named:
        listed = "\n".join(" ".join(filter(None, _short(name))) for name, _ in named)
        axes[1].text(0.01, 0.03, listed, transform=axes[1].transAxes, fontsize="x-small", va="bottom")
    axes[0].set_ylabel("loop gain (dB)")
    axes[1].set(xlabel="frequency (Hz)", ylabel="phase (deg)")


def _short(name: str) -> tuple[str, str]:
    """The number of "mode 4, left, node 3.z, right, node 3.z", and the items that move: left, right."""
    head, *parts = name.split(", ")
    return head.rpartition(" ")[2], ", ".join(dict.fromkeys(part for part in parts if not part.startswith("node ")))


def _number(axes: Any, named: Sequence[tuple[str, float]]) -> None:
    """The numbers of the vibrations above their lines; those of close ones together."""
    low, high = np.log(axes.get_xlim())
    groups: list[tuple[float, list[str]]] = []
    for name, omega in named:
        place = float(np.log(omega / (2.0 * np.pi)))
        if groups and place - groups[-1][0] < CLOSE * (high - low):
            groups[-1][1].append(_short(name)[0])
        else:
            groups.append((place, [_short(name)[0]]))
    for place, numbers in groups:
        text = numbers[0] if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        axes.annotate(
            text,
            (np.exp(place), 1.01),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize="x-small",
        )


def _nichols(
    axes: list[Any], curves: Sequence[tuple[str, Floats, Complexes]], named: Sequence[tuple[str, float]]
) -> None:
    for k, (channel, frequencies, values) in enumerate(curves):
        phase, gain = _degrees(values), _decibels(values)
        axes[0].plot(phase, gain, label=channel)
        _name(axes[0], named if k == 0 else (), frequencies, phase, gain)
    axes[0].plot([-180.0], [0.0], "k+")
    axes[0].set(xlabel="phase (deg)", ylabel="loop gain (dB)")


def _nyquist(
    axes: list[Any], curves: Sequence[tuple[str, Floats, Complexes]], named: Sequence[tuple[str, float]]
) -> None:
    for k, (channel, frequencies, values) in enumerate(curves):
        axes[0].plot(values.real, values.imag, label=channel)
        _name(axes[0], named if k == 0 else (), frequencies, values.real, values.imag)
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    axes[0].plot(np.cos(turn), np.sin(turn), color="grey", linewidth=0.6, linestyle=":")
    axes[0].plot([-1.0], [0.0], "k+")
    axes[0].set(xlabel="real part of L", ylabel="imaginary part of L", xlim=(-SIGHT, SIGHT), ylim=(-SIGHT, SIGHT))


def _name(axes: Any, named: Sequence[tuple[str, float]], frequencies: Floats, x: Floats, y: Floats) -> None:
    for name, omega in named:
        if len(frequencies) and frequencies[0] <= omega <= frequencies[-1]:
            place = _at(frequencies, x, omega), _at(frequencies, y, omega)
            axes.plot(*place, "k.", markersize=4)
            offset = {"xytext": (3, 3), "textcoords": "offset points"}
            axes.annotate(_short(name)[0], place, fontsize="x-small", annotation_clip=True, **offset)


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

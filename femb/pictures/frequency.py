"""Figures over frequency: Bode, Nichols and singular-value plots, and power spectral densities."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Complexes, Floats
from femb.numerics.held_inputs import continuous
from femb.numerics.resonances import resolving

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from femb.results.results import Results

RESPONSES = ("bode", "nichols", "singular-values")
"""Figures of a linear model."""

LINEAR = ("A", "B", "C", "D", "outputs", "inputs")
# Curves that one figure can show with readable names.
MOST = 12
# Values below this part of a figure's largest are zero by symmetry.
NOTHING = 1e-12


def draw_response(
    what: str,
    frequencies: Floats,
    values: Complexes,
    outputs: Sequence[str],
    inputs: Sequence[str],
) -> "Figure":
    """The figure of transfer matrices (f, p, m) at frequencies (f,) Hz.

    what : one of RESPONSES. Pairs of input and output that do not respond are left out, as are those beyond the
    twelfth. Raises ResultError: an unknown figure, nothing to show.
    """
    if what not in RESPONSES:
        raise ResultError(f"no figure {what!r} of a linear model; there are: {', '.join(RESPONSES)}")
    if not values.size:
        raise ResultError("the linear model has no inputs or no outputs: there is nothing to show")
    figure = _figure(what)
    axes: list[Any] = figure.get_axes()
    if what == "singular-values":
        singular = np.linalg.svd(values, compute_uv=False)
        for k, column in enumerate(singular.T):
            axes[0].loglog(frequencies, column, label=f"singular value {k + 1}")
        axes[0].set(xlabel="frequency, Hz", ylabel="singular value, SI units")
        return _finished(figure)
    size = np.max(np.abs(values), axis=0)
    pairs = [(i, j) for j in range(len(inputs)) for i in range(len(outputs)) if size[i, j] > NOTHING * np.max(size)]
    for i, j in pairs[:MOST]:
        curve, label = values[:, i, j], f"{outputs[i]} by {inputs[j]}"
        gain, phase = 20.0 * np.log10(np.maximum(np.abs(curve), np.finfo(float).tiny)), np.degrees(_phase(curve))
        if what == "bode":
            axes[0].semilogx(frequencies, gain, label=label)
            axes[1].semilogx(frequencies, phase, label=label)
        else:
            axes[0].plot(phase, gain, label=label)
    if what == "bode":
        axes[0].set_ylabel("gain, dB of SI units")
        axes[1].set(xlabel="frequency, Hz", ylabel="phase, degrees")
    else:
        axes[0].set(xlabel="phase, degrees", ylabel="gain, dB of SI units")
    if len(pairs) > MOST:
        figure.suptitle(f"the first {MOST} of {len(pairs)} pairs of input and output", fontsize="medium")
    return _finished(figure)


def draw_linear(results: "Results", what: str) -> "Figure":
    """One of RESPONSES of the linear model in a results file, over frequencies that resolve its resonances.

    Raises ResultError: results without one.
    """
    missing = [name for name in LINEAR if f"linear/{name}" not in results.arrays]
    if missing:
        raise ResultError(
            f"the figure {what!r} is of a linear model, which linear.h5 of femb linearize has: {results!r}"
        )
    A, B, C, D = (np.array(results.arrays[f"linear/{name}"], dtype=float) for name in LINEAR[:4])
    outputs, inputs = ([str(name) for name in results.arrays[f"linear/{word}"]] for word in LINEAR[4:])
    poles, dt = np.linalg.eigvals(A).astype(complex), results.arrays.get("linear/dt")
    if dt is None:
        frequencies = resolving(poles)
        points = 2j * np.pi * frequencies
    else:
        found = continuous(poles, float(dt))
        frequencies = resolving(found[np.isfinite(found)], last=0.5 / float(dt))
        points = np.exp(2j * np.pi * frequencies * float(dt))
    values = np.array([D + C @ np.linalg.solve(point * np.eye(len(A)) - A, B) for point in points])
    return draw_response(what, frequencies, values, outputs, inputs)


def draw_densities(frequencies: Floats, densities: Floats, outputs: Sequence[str], unit: str) -> "Figure":
    """The figure of power spectral densities (f, p) over frequencies (f,) Hz."""
    figure = _figure("densities")
    (axes,) = figure.get_axes()
    for column, name in list(zip(densities.T, outputs, strict=True))[:MOST]:
        if np.any(column > 0.0):
            axes.loglog(frequencies, column, label=name)
    axes.set(xlabel="frequency, Hz", ylabel=unit)
    return _finished(figure)


def draw_residual(frequencies: Floats, residual: Floats, modes: Floats, label: str) -> "Figure":
    """The figure of the vibration that a shaper leaves (f,) over frequencies (f,) Hz, with lines at its modes."""
    figure = _figure("residual")
    (axes,) = figure.get_axes()
    axes.plot(frequencies, 100.0 * residual, label=label)
    for k, mode in enumerate(modes):
        axes.axvline(mode, color="0.4", linestyle=":", label="modes" if k == 0 else None)
    axes.axhline(5.0, color="tab:red", linewidth=0.8, label="5 %")
    axes.set(xlabel="frequency, Hz", ylabel="residual vibration, % of that of one impulse", ylim=(0.0, None))
    return _finished(figure)


def _figure(what: str) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0 if what == "bode" else 5.0), layout="constrained")
    figure.subplots(2 if what == "bode" else 1, sharex=True)
    return figure


def _phase(curve: Complexes) -> Floats:
    """(f,) rad, continuous, and at the first frequency above -270 and up to 90 degrees."""
    phase: Floats = np.unwrap(np.angle(curve))
    turns = float(np.ceil((phase[0] - 0.5 * np.pi - 1e-6) / (2.0 * np.pi)))
    return np.asarray(phase - 2.0 * np.pi * turns)


def _finished(figure: "Figure") -> "Figure":
    for axes in figure.get_axes():
        axes.grid(alpha=0.3, which="both")
    if figure.get_axes()[0].get_legend_handles_labels()[1]:
        figure.get_axes()[0].legend(fontsize="small")
    return figure

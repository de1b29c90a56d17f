"""Report: a case linearised about its start, and what to print of it; what stands behind ``femb linearize``."""

from collections.abc import Sequence

import numpy as np

from femb.checks import numbered
from femb.linear.linearise import chart_of, second_order, state_space
from femb.linear.point import OperatingPoint
from femb.linear.statespace import StateSpace
from femb.linear.trim import trim
from femb.model import Model
from femb.options import Run
from femb.simulation import started


def linearized(
    model: Model, run: Run | None = None, trimmed: bool = False, outputs: Sequence[str] | None = None
) -> tuple[StateSpace, str]:
    """The state space about the start of a run, or about steady motion near it, and a text with its eigenvalues.

    Raises as femb.linear.linearize and femb.linear.trim; SolveError where the run starts in an equilibrium that is not
    there.
    """
    from femb.system import System

    system = started(System(model, assemble=run is not None and run.start == "assembled"), run)
    point = trim(system) if trimmed else OperatingPoint.of(system)
    chart = chart_of(point)
    space = state_space(point, second_order(point, chart), outputs)
    return space, "\n".join([_heading(space, chart.rates[: chart.free]), "", *_table(space)])


def _heading(space: StateSpace, rates: np.ndarray) -> str:
    named = {"state": space.states, "input": space.inputs, "output": space.outputs}
    counts = ", ".join(numbered(len(names), word) for word, names in named.items())
    largest = float(np.max(np.abs(rates), initial=0.0))
    if largest < 1e-6:
        return f"{counts}; about steady motion"
    k = int(np.argmax(np.abs(rates)))
    return f"{counts}; about unsteady motion: {space.states[k]} changes its speed by {rates[k]:.3g} per s2"


def _table(space: StateSpace) -> list[str]:
    """A line for each eigenvalue, those of a pair once, by size."""
    values = space.eigenvalues()
    values = values[values.imag >= 0.0]
    lines = [f"{'real 1/s':>14}{'imaginary 1/s':>16}{'frequency Hz':>14}{'damping':>11}"]
    for value in values[np.argsort(np.abs(values), kind="stable")]:
        size = abs(value)
        damping = f"{-value.real / size:11.3g}" if size > 0.0 else f"{'':11}"
        lines.append(f"{value.real:14.6g}{value.imag:16.6g}{size / (2.0 * np.pi):14.6g}{damping}")
    return lines

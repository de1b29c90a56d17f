"""Trim: a state of steady motion near the start - an equilibrium, or a constant spin of bodies and joints.

    w'(p) = 0 at given speeds,    K dp = M w',    p and w' of independent coordinates in axes that move with the bodies

Newton's iteration with the exact stiffness K at the accelerations of each state (femb.linear.linearise). Coordinates
that nothing depends on, such as the azimuth of a free rotor, stay near where they are: each step is the shortest.
Source: docs/theory/linearisation.md, equation (14).
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.errors import ModelError, SolveError
from femb.linear.chart import Chart
from femb.linear.linearise import chart_of, second_order
from femb.linear.point import OperatingPoint
from femb.model import Model
from femb.types import Floats

ITERATIONS = 50
LARGEST_STEP = 0.3  # rad or m, of one iteration
STEADY = 1e-10  # of accelerations, m/s2 or rad/s2, and relative to those at first
SMALLEST_STEP = 1e-12  # rad or m
SINGULAR = 1e-11  # singular values below this part of the largest count as zero


def trim(model: Model | Any, *, vary: Sequence[str] | None = None, t: float = 0.0) -> OperatingPoint:
    """A state of steady motion from the start of a model, or of a System of it.

    vary : names of states, as `linearize` gives them, that may change: coordinates, or their "rate"; by default all
    coordinates, while the speeds stay: at rest that gives an equilibrium, in motion a constant spin. Steady means that
    the speeds of the independent coordinates do not change: rates of joints, and velocities in axes of the bodies.

    Raises ModelError: an unknown name, or what cannot be linearised; SolveError where there is no such state nearby.
    """
    from femb.system import System

    system = System(model) if isinstance(model, Model) else model
    q, v = _near(system)
    first = 0.0
    for _ in range(ITERATIONS):
        point = OperatingPoint.of(system, q, v, t)
        chart = chart_of(point)
        rates, slopes = _steadiness(point, chart, vary)
        left = float(np.max(np.abs(rates), initial=0.0))
        first = max(first, left)
        if left <= STEADY * max(1.0, first):
            return point
        step = np.linalg.lstsq(slopes, -rates, rcond=SINGULAR)[0]
        change = float(np.max(np.abs(step), initial=0.0))
        if change < SMALLEST_STEP:
            # rounding, if the step would bring it to rest; else what is left does not depend on what varies
            if np.linalg.norm(rates + slopes @ step) < 1e-3 * np.linalg.norm(rates):
                return point
            break
        p, w = np.zeros((2, chart.H.shape[1]))
        p[: chart.free], w[: chart.free] = _spread(chart, vary, step * min(1.0, LARGEST_STEP / change))
        q, v = chart.moved(p, w)
    k = int(np.argmax(np.abs(rates)))
    raise SolveError(
        f"no steady motion found near the start: {chart.names[k]} still changes its speed by {rates[k]:.3g} per s2; "
        "start nearer, or let more vary"
    )


def _near(system: Any) -> tuple[Floats, Floats]:
    """The start; of beams without joints in the steady motion it describes: they are too stiff to bend in one step."""
    from femb.equilibrium import steady_start

    if system.layout.beams and not system.n_c:
        with contextlib.suppress(SolveError):
            return steady_start(system)
    return system.q0, system.v0


def _steadiness(point: OperatingPoint, chart: Chart, vary: Sequence[str] | None) -> tuple[Floats, Any]:
    """w' (P,), and its derivatives by what varies."""
    equations = second_order(point, chart)
    P = chart.free
    blocks = np.hstack([-equations.stiffness[:, :P], -equations.damping[:, :P]])
    columns = [_column(chart, name) for name in vary] if vary is not None else list(range(P))
    return chart.rates[:P], np.linalg.solve(equations.mass[:, :P], blocks)[:, columns]


def _column(chart: Chart, name: str) -> int:
    word = name.removesuffix(" rate")
    if word not in chart.names:
        raise ModelError(f"trim: no state {name!r}; there are: {', '.join(chart.names)}, and their 'rate'")
    return chart.names.index(word) + (chart.free if name.endswith(" rate") else 0)


def _spread(chart: Chart, vary: Sequence[str] | None, step: Any) -> tuple[Floats, Floats]:
    """The changes p and w (P,) of what varies."""
    whole = np.zeros(2 * chart.free)
    whole[[_column(chart, name) for name in vary] if vary is not None else range(chart.free)] = step
    return whole[: chart.free], whole[chart.free :]

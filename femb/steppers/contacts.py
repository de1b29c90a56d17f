"""Location of contacts: a step ends where a gap closes or opens, and the next begins a smooth interval.

The stiffness of an end stop changes abruptly where its gap (``Batch.gaps``) passes through zero. A step across that
instant has the error of a method of low order, and is rejected until it is short. A step therefore ends before the
instant predicted from the gap and its first two derivatives; its dense output, extrapolated a little, then gives the
instant to rounding, the next step ends there, and the stepper restarts. A gap that closes within a step, even if it
opens again, is detected in the dense output, and the step is repeated up to there. Source:
docs/theory/integration.md, section 5.
"""

from collections.abc import Callable
from math import inf, ulp
from typing import ClassVar, Protocol

import numpy as np

from femb.base.options import Run
from femb.base.types import Bools, Floats
from femb.formulations.contract import Formulation
from femb.steppers.contract import Step, StepperState, located

# Intervals of a step at whose ends the gaps are evaluated.
SAMPLES = 8
# Extrapolation of the dense output, as a fraction of the step; fraction of the time to a predicted contact to step.
EXTRAPOLATION, APPROACH = 0.02, 0.99
# A gap that closes at less than this many times the absolute tolerance of velocities makes no impact.
SLOW = 10.0
# Contacts nearer than this many ulp of t are ignored.
NEAREST = 1000.0


class Landing(StepperState, Protocol):
    """The members of a stepper that ``Contacts`` uses."""

    def land(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Restart at a contact."""


class Contacts:
    """Ends the steps of a stepper at the zeros of the gaps of its system.

    openings : whether also where a contact ends, or only where one begins.
    """

    memory: ClassVar[tuple[str, ...]] = ("_end", "_gaps", "_side", "_zero", "_passing")

    def __init__(self, run: Run, openings: bool) -> None:
        self._openings = openings
        self._slow = SLOW * run.atol.values(run.rtol)[0] / run.atol.time
        # end of the last step, the gaps and their first two derivatives there, and their signs after it
        self._end: float | None = None
        self._gaps = np.zeros((3, 0))
        self._side = np.zeros(0)
        # the zero at which the next step ends, infinity for none, and the gaps that cross it
        self._zero, self._passing = inf, np.zeros(0, dtype=bool)

    def step(self, stepper: Landing, make: Callable[[float], Step], limit: float) -> Step:
        """One accepted step; make : function of a limit (s) that makes one. Raises SolveError."""
        start = stepper.t, stepper.q, stepper.v, stepper.work
        if stepper.t != self._end:
            self._begin(stepper)
        step = make(min(limit, self._aim(stepper.t, limit)))
        if step.end == self._zero:
            self._land(stepper)
            return step
        g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        self._zero, self._passing, side = self._first_zero(stepper.form, step, self._gaps[:2], np.stack([g, rate]))
        if self._zero < step.end:
            stepper.statistics.steps -= 1
            stepper.statistics.rejected += 1
            with located(start[0]):
                stepper.land(*start)
            step = make(self._zero)
            if step.end == self._zero:
                self._land(stepper)
                return step
            g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        else:
            self._side = side
        self._end = step.end
        self._gaps = np.stack([g, rate, (rate - self._gaps[1]) / (step.end - step.start)])
        return step

    def _begin(self, stepper: Landing) -> None:
        """Evaluate the gaps at a state that no step has led to."""
        g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        self._gaps, self._side = np.stack([g, rate, 0.0 * g]), np.where(g == 0.0, np.sign(rate), np.sign(g))
        self._zero = inf

    def _aim(self, t: float, limit: float) -> float:
        """Latest end of the next step: at a known zero, or before a predicted one."""
        near = NEAREST * ulp(limit)
        if t + near < self._zero < inf:
            return self._zero
        remaining = _time_to_zero(*(self._side * self._gaps)[:, self._openings | (self._side > 0.0)])
        return t + APPROACH * remaining if near < remaining else inf

    def _land(self, stepper: Landing) -> None:
        side = np.where(self._passing, -self._side, self._side)
        with located(stepper.t):
            stepper.land(stepper.t, stepper.q, stepper.v, stepper.work)
        self._begin(stepper)
        self._end, self._side = stepper.t, side

    def _first_zero(self, form: Formulation, step: Step, start: Floats, end: Floats) -> tuple[float, Bools, Floats]:
        """The first zero of gaps in a step or shortly after it; which gaps cross it; the signs at the step's end.

        start, end : the gaps and their rates (2, k) at the step's start and end.
        """
        from scipy.optimize import brentq

        side, h = self._side, step.end - step.start

        def signed_gaps(times: Floats) -> tuple[Floats, Floats]:
            g, rate = form.system.gaps(*form.to_system(*step(times)[:2]))
            return side * g, side * rate

        (g0, rate0), (g1, rate1) = side * start, side * end
        roots, at_end = np.full(len(side), inf), np.where(g1 < 0.0, -side, side)
        if np.all(np.minimum(g0, g1) > 2.0 * h * np.maximum(np.abs(rate0), np.abs(rate1))):
            return inf, roots < inf, at_end
        times = np.append(np.linspace(step.start, step.end, SAMPLES + 1), step.end + EXTRAPOLATION * h)
        g, rate = signed_gaps(times)
        extrema = _extrema(times, g, rate)
        if len(extrema):
            times = np.sort(np.append(times, extrema))
            g, rate = signed_gaps(times)
        for k in np.flatnonzero(self._openings | (side > 0.0)):
            for i in np.flatnonzero((g[:-1, k] > 0.0) & (g[1:, k] < 0.0)):
                t = brentq(lambda t, k=k: signed_gaps(np.array([t]))[0][0, k], times[i], times[i + 1], xtol=1e-300)
                if t > step.start + NEAREST * ulp(t) and -signed_gaps(np.array([t]))[1][0, k] > self._slow:
                    roots[k] = t
                    break
        first = float(np.min(roots, initial=inf))
        return first, roots <= first, at_end


def _gaps(form: Formulation, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Gaps and their rates (k,) at one state of a formulation."""
    g, rate = form.system.gaps(*form.to_system(q[None], v[None]))
    return g[0], rate[0]


def _time_to_zero(g: Floats, rate: Floats, curvature: Floats) -> float:
    """The shortest time (s) in which one of g + rate t + curvature t^2/2 falls from above zero to zero."""
    root = rate * rate - 2.0 * curvature * g
    falls = (g > 0.0) & (root >= 0.0)
    bottom = np.sqrt(np.where(falls, root, 0.0)) - rate
    falls &= bottom > 0.0
    return float(np.min(2.0 * g[falls] / bottom[falls], initial=inf))


def _extrema(times: Floats, g: Floats, rate: Floats) -> Floats:
    """Instants of negative extrema of the cubic interpolants between positive values g with the rates given."""
    extrema = []
    for i, k in zip(*np.nonzero((g[:-1] > 0.0) & (g[1:] > 0.0) & (rate[:-1] < 0.0) & (rate[1:] > 0.0)), strict=True):
        h = times[i + 1] - times[i]
        first, last, rise = h * rate[i, k], h * rate[i + 1, k], g[i + 1, k] - g[i, k]
        cubic = np.array([first + last - 2.0 * rise, 3.0 * rise - 2.0 * first - last, first, g[i, k]])
        x = np.roots(np.polyder(cubic))
        x = x[np.isreal(x)].real
        x = x[(x > 0.0) & (x < 1.0)]
        x = x[np.polyval(cubic, x) < 0.0]
        extrema += list(times[i] + h * x)
    return np.array(extrema)

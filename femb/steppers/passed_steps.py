"""Many steps of DOP853 in one compiled call, with the output inside them.

Python takes part between the steps of a run for events, contacts, singular configurations and user's functions. Where
there are none, a formulation whose steps are compiled (``femb.formulations.contract.WithSteps``) makes many in a call.
A step that it cannot make, because a trial fails, is left to ``VariableStep.step``, which also finds the cause.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from femb.base.types import ErrorScale, Floats
from femb.formulations.contract import Formulation, WithSteps
from femb.numerics import dop853 as dop
from femb.numerics.dop853_kernels import EVALUATIONS, INSTANTS, LENGTH, REJECTED, STEPS, TIME
from femb.steppers.contract import SMALLEST_STEP, F, Statistics
from femb.steppers.dense import SLOPES

# Most output instants and steps of a call, and of large models so many that a call has so many numbers: Python shows
# progress, writes checkpoints and answers Ctrl-C between calls.
MOST_INSTANTS, MOST_STEPS = 256, 100
NUMBERS_OF_INSTANTS, NUMBERS_OF_STEPS = 200_000, 40_000


@dataclass(frozen=True)
class PassedSteps:
    """Accepted steps that end at the times ``ends`` (s,), and output instants inside them.

    time (k,), q (k, n_q) with unit quaternions, v (k, n_v), work (k,), accelerations a (k, n_v), and start and end (k,)
    of the step of each instant, s. angles (k, m) : joint coordinates from which those of each instant are unwrapped,
    end_angles (m,) : those at the last end; None where q counts them. is_near : whether a singular configuration of a
    closed loop is near.
    """

    ends: Floats
    time: Floats
    q: Floats
    v: Floats
    work: Floats
    a: Floats
    start: Floats
    end: Floats
    angles: Floats | None
    end_angles: Floats | None
    is_near: bool

    def after(self, form: F, q: Floats) -> F:
        """The formulation after the steps, which end at q (n_q,)."""
        if self.end_angles is None:
            return form.at(q)
        return form.with_discrete(replace(form.system.discrete, angles=self.end_angles))


class StepLoop:
    """The state of a stepper as a compiled loop over steps changes it: time t, length h of the next step (s), y and its
    rate (n,), and the error estimate of order 5 (n,) of the last step tried."""

    def __init__(self, t: float, h: float, y: Floats, rate: Floats) -> None:
        self.t, self.h, self.y, self.rate = t, h, y.copy(), rate.copy()
        self.error = np.empty_like(y)

    def run(
        self,
        form: Formulation,
        norms: tuple[ErrorScale, ErrorScale],
        limit: tuple[float, float, float],
        times: Floats,
        most: float,
        statistics: Statistics,
    ) -> PassedSteps | None:
        """Make at most ``most`` steps with output at the next ``times``; None where not one could be made.

        limit : the time to step to, the last output time there, and the longest step, s.
        """
        assert isinstance(form, WithSteps)
        n, n_q = len(self.y), form.n_q
        room = min(len(times), MOST_INSTANTS, 1 + NUMBERS_OF_INSTANTS // n)
        count = int(min(most, MOST_STEPS, 1 + NUMBERS_OF_STEPS // n))
        clock, counts = np.array([self.t, self.h, 0.0, 0.0]), np.zeros(4, dtype=np.int64)
        Y, a, spans, ends = np.empty((room, n)), np.empty((room, form.n_v)), np.empty((room, 2)), np.empty(count)
        arrays = self.y, self.rate, np.empty((dop.EXTENDED, n)), np.empty(n), np.empty(n), self.error
        bounds = (*limit, SMALLEST_STEP * math.ulp(limit[0]))
        # one time more than there is room for tells a step with too many
        output = times[: room + 1], Y, a, spans, ends
        angles = form.steps(((dop.A, dop.E5, dop.E3, dop.D, SLOPES), norms, bounds, clock, counts, arrays, output))
        steps, k = int(counts[STEPS]), int(counts[INSTANTS])
        if not steps:
            return None
        self.t, self.h = float(clock[TIME]), float(clock[LENGTH])
        statistics.steps += steps
        statistics.rejected += int(counts[REJECTED])
        statistics.evaluations += int(counts[EVALUATIONS])
        q = np.ascontiguousarray(Y[:k, :n_q])
        form.normalise(q)
        v = np.ascontiguousarray(Y[:k, n_q:-1])
        start, end = spans[:k].T
        of_instants = None if angles is None else angles[np.searchsorted(ends[:steps], end)]
        end_angles = None if angles is None else angles[-1]
        return PassedSteps(
            ends[:steps], times[:k], q, v, Y[:k, -1], a[:k], start, end, of_instants, end_angles, clock[-1] < 0.0
        )

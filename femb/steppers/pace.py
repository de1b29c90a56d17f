"""Pace: whether a run makes progress, and the cause if it does not."""

from collections import deque

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.steppers.contract import StepperState
from femb.steppers.diagnosis import cause, limiting_component

# Steps over which the pace is measured; steps that a run may still need at that pace before it is given up.
WINDOW, HOPELESS = 1000, 1e9


class Pace:
    """Watches the steps of a run from time ``start`` to ``end`` (s)."""

    def __init__(self, start: float, end: float, max_steps: float) -> None:
        self._end, self._length, self._max_steps = end, end - start, max_steps
        self._times: deque[float] = deque(maxlen=WINDOW + 1)

    def room(self, stepper: StepperState) -> float:
        """The number of steps that may be made before the next check."""
        steps = stepper.statistics.steps
        return min(WINDOW - steps % WINDOW, self._max_steps - steps)

    def pass_over(self, ends: Floats) -> None:
        """Count steps that ended at the times (s,) without a check between them; the last end is for the next check."""
        self._times.extend(ends[:-1].tolist())

    def check(self, stepper: StepperState) -> None:
        """Raise SolveError, with the cause of short steps, after max_steps or where the run makes no progress."""
        self._times.append(stepper.t)
        steps, t = stepper.statistics.steps, stepper.t
        if steps >= self._max_steps:
            raise SolveError(
                f"the integration was given up at t = {t:.6g} s after max_steps = {self._max_steps} steps"
                f"{self._reason(stepper)}"
            )
        if len(self._times) <= WINDOW:
            return
        gained = t - self._times[0]
        if steps % WINDOW == 0 and gained * self._max_steps < WINDOW * (self._end - t):
            reason = cause(stepper)
            if reason:
                raise SolveError(
                    f"the integration was given up at t = {t:.6g} s: the last {WINDOW} steps took it on by "
                    f"{gained:.2g} of {self._length:.6g} s. {reason}"
                )
        if gained * HOPELESS < WINDOW * (self._end - t):
            raise SolveError(
                f"the integration was given up at t = {t:.6g} s, since it makes no progress: the last {WINDOW} steps "
                f"took it on by {gained:.2g} of {self._length:.6g} s{self._reason(stepper)}"
            )

    def _reason(self, stepper: StepperState) -> str:
        worst, reason = limiting_component(stepper), cause(stepper)
        text = f"; what keeps the steps short is {worst}" if worst else ""
        advice = "; a filter, damping, a larger rtol or a smaller atol.time let steps pass over fast vibrations"
        return f"{text}. {reason}" if reason else text + (advice if worst else "")

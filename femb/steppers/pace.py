"""Pace: whether a run gets on, and what holds it up if it does not."""

from collections import deque

from femb.base.errors import SolveError
from femb.steppers.contract import StepperState
from femb.steppers.diagnosis import limiting_component, misbehaving_input

# The pace is that of the last so many steps; a run is given up where it would take so many more at that pace.
WINDOW, HOPELESS = 1000, 1e9


class Pace:
    """Watches the steps of a run from time ``start`` to ``end`` (s)."""

    def __init__(self, start: float, end: float, max_steps: float) -> None:
        self._end, self._length, self._max_steps = end, end - start, max_steps
        self._times: deque[float] = deque(maxlen=WINDOW + 1)

    def check(self, stepper: StepperState) -> None:
        """Raises SolveError, with what keeps the steps short, after max_steps or where the run gets nowhere."""
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
            found = misbehaving_input(stepper)
            if found:
                raise SolveError(
                    f"the integration was given up at t = {t:.6g} s: the last {WINDOW} steps took it on by "
                    f"{gained:.2g} of {self._length:.6g} s. {found}"
                )
        if gained * HOPELESS < WINDOW * (self._end - t):
            raise SolveError(
                f"the integration was given up at t = {t:.6g} s, since it makes no progress: the last {WINDOW} steps "
                f"took it on by {gained:.2g} of {self._length:.6g} s{self._reason(stepper)}"
            )

    def _reason(self, stepper: StepperState) -> str:
        worst, found = limiting_component(stepper), misbehaving_input(stepper)
        said = f"; what keeps the steps short is {worst}" if worst else ""
        advice = "; damping, a larger rtol or a smaller atol.time let steps pass over vibrations that do not matter"
        return f"{said}. {found}" if found else said + (advice if worst else "")

"""Steps that are taken again: those of a recorded run in a model with other numbers, without any choice of their own.

Step lengths, orders and the instants where a filter damps are those of the record; what ends an interval moves with the
numbers, as in the recorded run: instants where steps have to end (a corner of a profile, a sample, the end of the run),
events inside steps, and the closing of gaps at their ends. Newton's iterations go on to rounding, so that the end of a
run is a smooth function of the numbers. Source: docs/theory/sensitivities.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Bools, Floats
from femb.steppers.contract import AcceptedStep, StepperState

# Of the step before: one up to a contact that is shorter than this part of it was only cut off.
SHORT = 0.5
# Of a step: instants that differ by less are one but for rounding.
SAME = 1e-6


class ReplayError(ModelError):
    """The steps of a run cannot be taken again: other events, or other instants of them."""


@dataclass(frozen=True)
class TakenStep:
    """An accepted step from ``start`` to ``end`` (s).

    limit : s, where steps had to end at the latest. order : of the method. damps : whether a filter damped in it.
    passing : the gaps that close at its end; None for none.
    """

    start: float
    end: float
    limit: float
    order: int
    damps: bool
    passing: Bools | None = None


class StepRecord:
    """The steps of a run in their order, noted by its stepper. limit : s, of the step on its way. contacts : s, ends of
    steps where gaps close."""

    def __init__(self) -> None:
        self.steps: list[TakenStep] = []
        self.limit, self.contacts = np.inf, list[float]()

    def add(self, start: float, end: float, order: int, damps: bool) -> None:
        """Note an accepted step."""
        self.steps.append(TakenStep(start, end, self.limit, order, damps))

    def halved(self) -> list[TakenStep]:
        """The steps in halves; of one with an event inside, the event is in the second."""
        found = []
        for one, after in zip(self.steps, [*self.steps, *self.steps[-1:]][1:], strict=True):
            last = one.end if after is one else min(one.end, after.start)
            middle = 0.5 * (one.start + last)
            found += [replace(one, end=middle, passing=None), replace(one, start=middle)]
        return found

    def doubled(self) -> list[TakenStep]:
        """The steps without events, each with the one after it where no limit or gap is between them."""
        found: list[TakenStep] = []
        alone = False
        for one in self.steps:
            before = found[-1] if alone else None
            # a step with an event inside ends after the start of the next
            whole = before is not None and before.end == one.start
            if before is None or not whole or before.end == before.limit or before.passing is not None:
                found.append(one)
                alone = True
            else:
                found[-1] = replace(one, start=before.start)
                alone = False
        return found

    def drop(self) -> None:
        """Take back the last step, which is repeated."""
        self.steps.pop()

    def landed(self, passing: Bools) -> None:
        """Note that gaps close at the end of the last step.

        A short one is taken together with the one before, which approached the contact: the instant moves.
        """
        last = self.steps.pop()
        before = self.steps[-1] if self.steps else last
        approached = before.end == last.start < before.limit and before.passing is None
        if approached and last.end - last.start < SHORT * (before.end - before.start):
            last = replace(self.steps.pop(), end=last.end)
        self.steps.append(replace(last, passing=passing.copy()))
        self.contacts.append(last.end)


class Replaying(StepperState, Protocol):
    """The members of a stepper that takes given steps."""

    def take(self, h: float, end: float, one: TakenStep, landing: Callable[[], float] | None) -> AcceptedStep:
        """Take a step of length h (s) to ``end``, or to where ``landing``, the time to a zero (s), is zero."""

    def gap(self, passing: Bools) -> float:
        """The time (s) from the end of a solved step to the zero of these gaps."""

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart at a contact."""


class GivenSteps:
    """The steps that a stepper takes again. contacts : s, ends of steps where gaps close."""

    def __init__(self, steps: list[TakenStep]) -> None:
        self._steps, self._next = steps, 0
        count = len(steps)
        # the first step of each interval, and the last of the interval of each step
        self._first = [
            k == 0
            or steps[k].start != steps[k - 1].end
            or steps[k - 1].end == steps[k - 1].limit
            or steps[k - 1].passing is not None
            for k in range(count)
        ]
        self._last = np.zeros(count, dtype=int)
        for k in range(count - 1, -1, -1):
            self._last[k] = k if k == count - 1 or self._first[k + 1] else self._last[k + 1]
        self._end, self._begin, self._scale = np.nan, 0.0, 1.0
        self.contacts: list[float] = []

    def step(self, stepper: Replaying, limit: float) -> AcceptedStep:
        """The next step. Raises ReplayError."""
        k = self._next
        jumped = k > 0 and stepper.t < self._end
        if k == len(self._steps) or jumped != (k > 0 and self._steps[k].start < self._steps[k - 1].end):
            raise ReplayError("the events of the run, or their order, differ beside the value")
        one, last = self._steps[k], self._steps[self._last[k]]
        if k > 0 and one.start - self._steps[k - 1].end > SAME * (one.end - one.start):
            raise ReplayError("the run passes a singular posture of a loop")
        reaches = last.end == last.limit and last.passing is None
        if self._first[k]:
            self._begin = stepper.t
            self._scale = (limit - stepper.t) / (last.end - one.start) if reaches else 1.0
            self._from = one.start
        end = min(limit, self._begin + self._scale * (one.end - self._from))
        if reaches and k == self._last[k]:
            end = limit
        if not end > stepper.t:
            raise ReplayError("an event moves by more than the steps before it")
        passing = one.passing
        landing = None if passing is None else lambda: stepper.gap(passing)
        step = stepper.take(end - stepper.t, end, one, landing)
        self._next, self._end = k + 1, step.end
        if landing is not None:
            stepper.land(stepper.t, stepper.q, stepper.v, stepper.work)
            self.contacts.append(step.end)
        return step

    def finish(self) -> None:
        """Raise ReplayError where steps are left."""
        if self._next < len(self._steps):
            raise ReplayError("the run has fewer steps beside the value, for its events differ")

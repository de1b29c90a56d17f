"""Updates of discrete states beside a recorded run, to first order: what they change, and when."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from femb.base.types import Floats
from femb.layout.discrete import DiscreteState
from femb.results.groups import EventRecord
from femb.run.events import OF_UPDATES, Change, RunSummary, kinetic_energy, switched
from femb.steppers.contract import AcceptedStep
from femb.steppers.dense import SolvedStep
from femb.steppers.radau import Radau
from femb.steppers.replay import ReplayError
from femb.steppers.step_tangent import End, StepChanges
from femb.system.pair import SystemPair, moved
from femb.system.system import System

# Rate of the function of an event at its zero, relative to its change over the step: less is a grazing one.
GRAZING = 1e-6
# Part of a step beside the zero, for its rate; corrections of its instant beside the nominal one.
NEAR, CORRECTIONS = 1e-4, 3
# Of accelerations: a smaller change is rounding.
SMOOTH = 1e-9


def shifted(
    pairs: Sequence[SystemPair], end: End, rates: tuple[Floats, Floats, Floats], shifts: Sequence[float]
) -> tuple[Sequence[SystemPair], End]:
    """Pairs and the end of a step where its instant has these derivatives; rates : of q, v and work there."""
    more = np.array([shift - pair.shift for shift, pair in zip(shifts, pairs, strict=True)])
    if not np.any(more):
        return pairs, end
    q, v, work = (np.outer(rate, more) for rate in rates)
    pairs = [pair.later(shift) for shift, pair in zip(shifts, pairs, strict=True)]
    return pairs, (end[0] + q, end[1] + v, end[2], end[3] + work.T, end[4])


def together(before: SolvedStep) -> ReplayError | None:
    """The problem of a corner of inputs that moves, and of updates at the same instant, after a step; None for none."""
    system, t, (q, v, *_) = before.step.form.system, before.step.end, before.step.state1
    a, other = before.a[-1], system.acceleration(system.inputs_at(t, q, v), q, v)
    if np.max(np.abs(a - other)) <= SMOOTH * np.max(np.abs(a)):
        return None
    return ReplayError(f"an input jumps with an update at t = {t:.6g} s, but apart from it beside the value")


class AfterUpdates(NamedTuple):
    """A motion after updates, at the time of the nominal ones."""

    q: Floats
    v: Floats
    work: Floats
    discrete: DiscreteState


class ChangeBeside:
    """Updates of a run beside the nominal ones ``change``, after which its system is ``after``, in a state q, v.

    before : the step before them; None at the start.
    """

    def __init__(self, change: Change, before: SolvedStep | None, after: System, state: tuple[Floats, Floats]) -> None:
        self.change, self.before, self.after = change, before, after
        known = change.form.layout.updates
        self._numbers = [known.index(each) for each in change.updates]
        self._states = (change.q, change.v), state
        self._slope, self._rates = 0.0, dict[int, tuple[Floats, Floats]]()
        if change.zero is not None:
            assert before is not None
            length = before.step.end - before.step.start
            d = NEAR * length
            first, left, right, last = (
                self._value(change.form.system, before.step, t)
                for t in (before.step.start, change.t - d, change.t + d, before.step.end)
            )
            self._slope = (right - left) / (2.0 * d)
            if abs(self._slope) * length <= GRAZING * max(abs(first), abs(last)):
                raise ReplayError(f"{change.zero.label} grazes its zero at t = {change.t:.6g} s")

    def _value(self, system: System, step: AcceptedStep, t: float) -> float:
        """The function of the event along a step of a system."""
        q, v, _ = step(np.array([t]))
        zero = system.layout.updates[self._numbers[0]].zero
        assert zero is not None
        return zero(t, system.state(t, q[0], v[0]), system.discrete)

    def over(
        self, pair: SystemPair, end: End, j: int, step: StepChanges | None, summaries: Sequence[RunSummary]
    ) -> tuple[SystemPair, Floats, Floats, Floats]:
        """The pair after the updates, and derivatives of q, v and work there, by the parameter j of the end before.

        step : derivatives of the step before. summaries : of both systems, to which events and samples are added.
        """
        one, other = (
            self._beside(side, place, [end[0][:, j], end[1][:, j], end[3][j]], pair, step, summary)
            for side, place, summary in zip(pair.sides, pair.places, summaries, strict=True)
        )
        changes = pair.changes(one.discrete, other.discrete)
        q, v, work = ((a - b) / pair.distance for a, b in zip(one[:3], other[:3], strict=True))
        return pair.holding(self.after.discrete, changes), q, v, work

    def _beside(
        self, side: System, place: float, changes: Sequence[Floats], pair: SystemPair, step: StepChanges | None,
        summary: RunSummary,
    ) -> AfterUpdates:  # fmt: skip
        change = self.change
        t, q, v, work = change.t, change.q, change.v, change.work
        form = side.with_discrete(moved(change.form.system.discrete, pair.discrete, place))
        updates = [side.layout.updates[k] for k in self._numbers]
        if change.zero is not None:
            assert step is not None
            assert self.before is not None
            line = step.of(self.before, side, place)
            for _ in range(CORRECTIONS):
                t -= self._value(form, line, t) / self._slope
            q, v, work = (x[0] for x in line(np.array([t])))
            q, v = form.projected(form.inputs_at(t, q, v), q, v)
        else:
            t += self._later(form)
            q, v, work = (x + place * each for x, each in zip((q, v, work), changes, strict=True))
            q, v, work = self._shifted(change.form.system, q, v, work, t - change.t, 0)
        summary.add_samples({OF_UPDATES: [t]})
        after = switched(form, updates, t, q, v, change.same)
        if after.jumps:
            work = after.work_after(work, kinetic_energy(form, q, v))
        for update, loss in zip(updates, after.losses, strict=True):
            if update.recorded and (change.zero is not None or after.form is not form):
                summary.events.append(EventRecord(t, update.label, loss))
            if update.sample is not None and update.samples(form.discrete, t + change.same):
                arrays = {name: array[None] for name, array in after.form.discrete.items()}
                summary.add_samples(update.sample(arrays))
        found = self._shifted(self.after, after.q, after.v, work, change.t - t, 1)
        return AfterUpdates(*found, after.form.discrete)

    def _later(self, form: System) -> float:
        """By how much (s) the instant of these updates is later in a system. Raises ReplayError: they come apart."""
        nominal, later = self.change.form.system, dict[str, float]()
        for k in self._numbers:
            one, other = nominal.layout.updates[k], form.layout.updates[k]
            if one.has_instants and one.next(nominal.discrete) <= self.change.t + self.change.same:
                later[one.label] = other.next(form.discrete) - one.next(nominal.discrete)
        if later and max(later.values()) - min(later.values()) > self.change.same:
            names = " and ".join(later)
            raise ReplayError(f"{names} act together at t = {self.change.t:.6g} s, but apart beside the value")
        return next(iter(later.values()), 0.0)

    def _shifted(
        self, system: System, q: Floats, v: Floats, work: Floats, time: float, side: int
    ) -> tuple[Floats, Floats, Floats]:
        """A state a little time (s) later, with the rates of the nominal motion before or after the updates (0, 1)."""
        if not time:
            return q, v, work
        if side not in self._rates:
            state = self._states[side]
            u = system.inputs_at(self.change.t, *state)
            self._rates[side] = system.acceleration(u, *state), Radau.power_at(system, u, *state)()
        rate, power = self._rates[side]
        q = q + time * system.rates(q[None], v[None])[0]
        system.normalise(q)
        return q, v + time * rate, work + time * power

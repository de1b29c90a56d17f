"""Members of an ensemble on their way: in groups that take the same steps, from their last events on.

Where a latch engages, or a spring snaps over, within a step of the group, its member has the event by the code of
single runs, in the part of the step that is its own, and leaves. What an event excites is fast at first and takes short
steps, which the others should not make with it: those with as many events go on together when all have come so far,
each from its own instant, on clocks that count from there. Until few are left in a group, what has left is integrated
with it in vain, since a new group costs as much as several steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.recording.frames import Frames
from femb.recording.instants import Part, step_instants
from femb.results.groups import EventRecord
from femb.run.events import RunSummary, find_events, switch, update_events
from femb.run.time_loop import integrate
from femb.steppers import make_stepper
from femb.steppers.contract import AcceptedStep, Stepper, located
from femb.steppers.dense import HermiteStep
from femb.steppers.diagnosis import event_values
from femb.steppers.variable_step import VariableStep
from femb.study.stacked_system import Stack
from femb.system.system import System

S = TypeVar("S", bound=System)

# Intervals of a step at whose ends coordinates of joints are compared to levels.
LOOKS = 8
# The part of a group that goes on: where fewer are left, they do so in a group of their own.
ENOUGH = 0.5
# Instants that differ by less than this, relative to the duration, are equal up to rounding.
SAME_INSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Member:
    """A member on its way: ``system`` starts at the time t, s, with a step of h, s, or an estimated one for zero.

    events : so far. output : at the times so far, and at instants between them. statistics : sums over its steps.
    """

    system: System
    t: float = 0.0
    h: float = 0.0
    events: tuple[EventRecord, ...] = ()
    output: tuple[Part, ...] = ()
    statistics: dict[str, float] = field(default_factory=dict)

    def then(self, later: "Member") -> "Member":
        """The member after a further part of its way."""
        counts = {name: value + self.statistics.get(name, 0) for name, value in later.statistics.items()}
        events, output = (*self.events, *later.events), (*self.output, *later.output)
        return replace(later, events=events, output=output, statistics=counts)

    def alone(self, run: Run) -> "Member":
        """The part of its way up to its next event, or to the end. Raises SolveError."""
        times, summary = run.output_times(), RunSummary([])
        stepper = _stepper(self.system, run, self.t, self.h)
        instants = np.append(self.t, times[times > self.t])
        _, *parts = integrate(
            self.system, stepper, instants, summary, max_steps=run.most_steps, until=lambda *_: bool(summary.events)
        )
        system = stepper.form.starting_at(stepper.q, stepper.v)
        return _reached(system, stepper, stepper.t, parts, summary.events)


def _reached(
    form: System, stepper: Stepper[Any], t: float, output: Sequence[Part], events: Sequence[EventRecord] = ()
) -> Member:
    """A member at the time t (s), after the steps of a stepper to the state of ``form``."""
    return Member(form, t, getattr(stepper, "h", 0.0), tuple(events), tuple(output), stepper.statistics.as_dict())


def _stepper(form: S, run: Run, t: float, h: float) -> Stepper[S]:
    """The stepper of a run from the start of a formulation at the time t (s), with a step of at most h (s)."""
    stepper = make_stepper(form, replace(run, first_step=h) if h and run.controls_error else run)
    if t > 0.0:
        with located(t):
            if isinstance(stepper, VariableStep):
                stepper.move(t, form.q0, form.v0, h)
            else:
                stepper.jump(t, form.q0, form.v0, stepper.work)
    return stepper


class MemberGroup:
    """Members that go on together, each from its own instant, on clocks that are set to the first of these instants.

    run : of all. forces, evaluate : whether output has forces, and what makes it of instants of a run.
    """

    def __init__(
        self, members: Sequence[Member], run: Run, forces: bool, evaluate: Callable[[Sequence[Part]], Frames]
    ) -> None:
        self._members, self._run, self._evaluate = members, run, evaluate
        self._start, self._times = min(member.t for member in members), run.output_times()
        self._late = [member.t - self._start for member in members]
        self._stack = Stack([member.system for member in members], forces, self._late, run.duration)
        self._form = self._stack.system
        # the output of members at the same instant is that of all; of others each has its own
        self._shared = not any(self._late)
        self._output: list[list[Part]] = [[] for _ in members]
        self._done = [int(np.searchsorted(self._times, member.t, side="right")) for member in members]
        self._left: dict[int, Member] = {}
        self._lost: set[int] = set()
        self._motion = self._form.joint_motion(self._form.q0, self._form.v0)
        self._watched = Watched.of(self._stack, self._late)

    def go_on(self) -> list[Member | None]:
        """The members after their next events, at the end of the run, or where few others are left; None of those that
        failed alone. Raises SolveError where the group cannot go on."""
        run, start = self._run, self._start
        stepper = _stepper(self._form, run, start, min(member.h for member in self._members))
        inside = self._times[(self._times > start) & self._shared]
        times = np.unique(np.concatenate([[start, run.duration], inside]))
        until = self._until if len(self._watched.members) or not self._shared else None
        parts: list[Part] = []
        try:
            parts += integrate(self._form, stepper, times, RunSummary([]), max_steps=run.most_steps, until=until)
        except SolveError:
            # perhaps by the motion of a member that has left: the others go on without it
            if not self._left:
                raise
        for k, late in enumerate(self._late):
            if k not in self._left:
                self._left[k] = self._reached(k, stepper, stepper.t + late)
        if start > 0.0:
            del parts[0]  # the start, which is the end of the part before
        if self._shared and parts:
            whole = self._evaluate(parts)
            for k, left in self._left.items():
                frames = self._stack.frames_of(k, whole)
                self._left[k] = replace(left, output=(frames.part(np.flatnonzero(frames.time <= left.t)),))
        return [None if k in self._lost else member.then(self._left[k]) for k, member in enumerate(self._members)]

    def _until(self, stepper: Stepper[System], step: AcceptedStep) -> bool:
        """Let members that have an event in a step, or are at the end of the run, leave; whether few are left."""
        before, run = self._motion, self._run
        self._motion = stepper.form.joint_motion(stepper.q, stepper.v)
        for k in self._watched.crossed(step.start, step.end, before, self._motion).tolist():
            if k not in self._left:
                self._switch(k, stepper, step, before[0])
        for k, late in enumerate(self._late):
            if k not in self._left:
                ends = step.end + late >= run.duration * (1.0 - SAME_INSTANT)
                if not self._shared:
                    self._add_output(k, step, before[0], run.duration if ends else step.end + late)
                if ends:
                    self._left[k] = self._reached(k, stepper, run.duration)
        left = len(self._members) - len(self._left)
        return left == 0 or (left < len(self._members) and left <= ENOUGH * len(self._members))

    def _reached(self, k: int, stepper: Stepper[System], t: float) -> Member:
        """The way of a member in the group up to the present state, at its time t (s)."""
        stack, own = self._stack, self._members[k].system
        system = own.starting_at(stepper.q[stack.parts_q[k]].copy(), stepper.v[stack.parts_v[k]].copy())
        angles = stepper.form.discrete.angles[stack.parts_joints[k]]
        return _reached(system.with_discrete(system.discrete.with_angles(angles)), stepper, t, self._output[k])

    def _switch(self, k: int, stepper: Stepper[System], step: AcceptedStep, angles: Floats) -> None:
        """Let a member leave the group at its first event in a step, if it has one; angles : those at the start."""
        system, part = self._part(k, step, angles)
        events, summary = update_events(system), RunSummary([])
        q, v, _ = part(np.array([part.start]))
        try:
            stops, _ = find_events(system, events, part, event_values(system, events, part.start, q[0], v[0]), summary)
            if not stops:
                return
            landing = _Landing(system)
            switch(system, landing, part, stops, summary)
        except SolveError:
            self._lost.add(k)
            self._left[k] = self._reached(k, stepper, part.end)
            return
        if not self._shared:
            self._add_output(k, step, angles, stops[0].t)
        v = landing.v
        if isinstance(stepper, VariableStep):
            v = stepper.after_impact(landing.form, stops[0].t, landing.q, v)
        system = landing.form.starting_at(landing.q, v)
        left = _reached(system, stepper, stops[0].t, self._output[k], summary.events)
        self._left[k] = replace(left, h=0.0)

    def _part(self, k: int, step: AcceptedStep, angles: Floats) -> tuple[System, AcceptedStep]:
        """The system of a member at the start of a step, where joints have the coordinates ``angles``; and its part of
        the step."""
        own, stack = self._members[k].system, self._stack
        system = own.with_discrete(own.discrete.with_angles(angles[stack.parts_joints[k]]))
        part = stack.parts_q[k], stack.parts_v[k], self._late[k]
        if isinstance(step, HermiteStep):
            return system, step.part(system, *part)
        return system, PartOfStep(system, step, *part)

    def _add_output(self, k: int, step: AcceptedStep, angles: Floats, last: float) -> None:
        """Add the output of a member at its times up to ``last`` (s) in a step of the group."""
        end = int(np.searchsorted(self._times, last, side="right"))
        if end > self._done[k]:
            times, self._done[k] = self._times[self._done[k] : end], end
            self._output[k].append(step_instants(*self._part(k, step, angles), times))


class _Landing:
    """Where a member is after an event: its formulation, and coordinates and velocities."""

    def __init__(self, form: System) -> None:
        self.form, self.q, self.v = form, form.q0, form.v0

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Keep the state after the event."""
        self.q, self.v = q, v


class PartOfStep:
    """A step of a member, which is a part of one of its group, by a clock that is ``late`` (s) behind."""

    def __init__(self, form: System, whole: AcceptedStep, in_q: slice, in_v: slice, late: float) -> None:
        self.form, self.whole, self.in_q, self.in_v, self.late = form, whole, in_q, in_v, late
        self.start, self.end = whole.start + late, whole.end + late

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        q, v, _ = self.whole(np.asarray(times) - self.late)
        none = np.zeros((len(times), self.form.budget.size))
        return np.ascontiguousarray(q[:, self.in_q]), np.ascontiguousarray(v[:, self.in_v]), none

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return np.ascontiguousarray(self.whole.accelerations(np.asarray(times) - self.late)[:, self.in_v])


@dataclass(frozen=True, eq=False)
class Watched:
    """Levels (w,) that coordinates of joints, by numbers, or the clock, -1, cross with a sign; of ``members`` (w,)."""

    members: Ints
    numbers: Ints
    levels: Floats
    signs: Floats
    directions: Ints

    @staticmethod
    def of(stack: Stack, late: Sequence[float]) -> "Watched":
        """The levels that updates of members wait for, whose clocks are late (s)."""
        found: list[tuple[float, ...]] = []
        for k, member in enumerate(stack.members):
            for update in member.layout.updates:
                if update.crossing is not None and update.watches(member.discrete):
                    number, level, sign = update.crossing(member.discrete)
                    if number >= 0:
                        found.append((k, number + stack.parts_joints[k].start, level, sign, update.direction))
                    else:
                        found.append((k, -1, level - late[k], sign, update.direction))
        columns: Floats = np.array(found, dtype=float).reshape(-1, 5).T
        members, numbers, directions = (columns[k].astype(np.int64) for k in (0, 1, 4))
        return Watched(members, numbers, columns[2], columns[3], directions)

    def crossed(self, start: float, end: float, before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> Ints:
        """The members with a level that is crossed in a step; before, after : coordinates and rates (m,) at its ends,
        between which coordinates are cubic."""
        if not len(self.members):
            return self.members
        x = np.linspace(0.0, 1.0, LOOKS + 1)[:, None]
        h = end - start
        of_joint, c = self.numbers >= 0, np.tile(start + h * x, len(self.numbers))
        (c0, r0), (c1, r1) = ([each[self.numbers[of_joint]] for each in pair] for pair in (before, after))
        cubic = c0 + x * (h * r0 + x * (3.0 * (c1 - c0) - h * (2.0 * r0 + r1) + x * (2.0 * (c0 - c1) + h * (r0 + r1))))
        c[:, of_joint] = cubic
        c[-1, of_joint] = c1
        values = self.signs * (c - self.levels)
        a, b = values[:-1], values[1:]
        up = (a < 0.0) & (b >= 0.0) & (self.directions >= 0)
        down = (a > 0.0) & (b <= 0.0) & (self.directions <= 0)
        return np.unique(self.members[(up | down).any(axis=0)])


def quiet(system: System, forces: bool) -> System:
    """A member without the unbalanced forces of the audit; forces : whether its output has forces."""
    other = shallow_copy(system)
    other.audited, other.forces_recorded = False, forces
    return other


def moved(
    systems: Sequence[System], run: Run, forces: bool, evaluate: Callable[[Sequence[Part]], Frames]
) -> list[Member | None]:
    """The members at the end of a run; None of those that could not be brought there with others.

    Those with as many events so far go on together: what an event excites is fast at first and takes short steps.
    """
    found: list[Member | None] = [Member(system) for system in systems]
    waiting = {0: list(range(len(systems)))}
    while waiting:
        numbers = waiting.pop(min(waiting))
        members = [member for k in numbers if (member := found[k]) is not None]
        for k, member in zip(numbers, _carried_on(members, run, forces, evaluate), strict=True):
            found[k] = member
            if member is not None and member.t < run.duration:
                waiting.setdefault(len(member.events), []).append(k)
    return found


def _carried_on(
    members: Sequence[Member], run: Run, forces: bool, evaluate: Callable[[Sequence[Part]], Frames]
) -> list[Member | None]:
    """Members after a part of their way as a group; where it cannot go on, each half of it begins anew."""
    if len(members) == 1:
        (member,) = members
        try:
            return [member.then(member.alone(run)) if member.t > 0.0 else None]
        except SolveError:
            return [None]
    try:
        return MemberGroup(members, run, forces, evaluate).go_on()
    except SolveError:
        half = len(members) // 2
        return [each for part in (members[:half], members[half:]) for each in _carried_on(part, run, forces, evaluate)]

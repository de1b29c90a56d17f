"""The time loop: steps from breakpoint to breakpoint, events, and output at given instants.

The loop is in Python, as are controllers, events and progress.
"""

import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from femb.base.errors import SolveError
from femb.base.progress import Reporter
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.discrete import DiscreteState, Update
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.recording.frames import Frames, output_frames
from femb.recording.instants import Part, passed_instants, step_instants
from femb.results.groups import EventRecord
from femb.run.checkpoints import Checkpoints
from femb.run.checkpoints import RunSummary as RunSummary
from femb.run.events import BoundUpdates, Event, kinetic_energy, switched, update_events
from femb.run.singularity import SingularityCrossing
from femb.steppers.contract import (
    AcceptedStep,
    F,
    PassedSteps,
    Statistics,
    Stepper,
    StepperOfMany,
    StepperState,
    located,
)
from femb.steppers.diagnosis import (
    Repetition,
    cause,
    event_values,
    held_by_vibration,
    limiting_component,
    rounding_of_forces,
    stiff_control,
)

# The wall and CPU time that a run takes.


class RunClock:
    """Adds the time that has passed to the statistics of a run.

    It is read at the end and for checkpoints alone: on some machines a program that has worked waits longer for its CPU
    time than a small step takes.
    """

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def add_to(self, statistics: Statistics) -> None:
        """Add the time since the start, or since the last call, to the times of an earlier part of the run."""
        wall, cpu = time.perf_counter(), time.process_time()
        statistics.wall_time += wall - self._wall
        statistics.cpu_time += cpu - self._cpu
        self._wall, self._cpu = wall, cpu


# Pace: whether a run makes progress, and the cause if it does not.

# Steps over which the pace is measured; steps that a run may still need at that pace before it is given up.
WINDOW, HOPELESS = 1000, 1e9
EXPLICIT = "rk"
# Methods of low order, and the steps still needed above which a vibration that keeps them short is said.
OF_LOW_ORDER, MANY = ("generalized-alpha", "bdf"), 1e5


class Pace:
    """Watches the steps of a run from time ``start`` to ``end`` (s).

    warning : empty, or that explicit steps are held up by a function of a user that is stiff, or those of a method of
    low order by a vibration.
    """

    def __init__(self, start: float, end: float, max_steps: float) -> None:
        self._end, self._length, self._max_steps = end, end - start, max_steps
        self._times: deque[float] = deque(maxlen=WINDOW + 1)
        self._next_look, self.warning = WINDOW, ""

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
        if steps >= self._next_look and not self.warning:
            # seldom: a probe takes a hundred evaluations
            self._next_look, h, method = 2 * steps, gained / WINDOW, stepper.run.method
            if method == EXPLICIT:
                self.warning = stiff_control(stepper, h)
            elif method in OF_LOW_ORDER and stepper.run.step is None and MANY * h < self._end - t:
                self.warning = held_by_vibration(stepper, h, self._end)
            elif MANY * h < self._end - t:
                self.warning = rounding_of_forces(stepper)
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
        if self.warning and not reason:
            return f": {self.warning}"
        text = f"; what keeps the steps short is {worst}" if worst else ""
        advice = "; a filter, damping, a larger rtol or a smaller atol.time let steps pass over fast vibrations"
        return f"{text}. {reason}" if reason else text + (advice if worst else "")


# Number of evaluations of an event's sign in a step.
LOOKS = 8
# The least size of the value of an event after its zero.
LEAST_VALUE = 1e-300
# Instants that differ by less than this, relative to the duration, are equal up to rounding.
SAME_INSTANT = 1e-12
# Steps of a run before kernels of its updates are bound, which costs as much as it saves in so many samples.
FIRST_STEPS = 10
# Updates whose zeros are within this part of a step come together: rounding could hide the second after the first.
SIMULTANEOUS = 1e-6


def integrate(
    form: F,
    stepper: Stepper[F],
    times: Floats,
    summary: RunSummary,
    events: tuple[Event, ...] = (),
    progress: Reporter | None = None,
    max_steps: float = np.inf,
    checkpoints: Checkpoints | None = None,
    motion_only: bool = False,
    until: Callable[[Stepper[F], AcceptedStep], bool] | None = None,
) -> Iterator[Part]:
    """Yield the output of a run at ``times`` (T,), from times[0] = the stepper's time to times[-1].

    Instants inside steps are evaluated by ``femb.recording.instants.evaluated``, which is cheaper for many at once.

    summary is filled during the run. checkpoints : where they are written, and the one to continue from, if any; then
    the output is that of the later times. motion_only : as of ``femb.recording.frames.frames_of``. until : called after
    every step and its events; the run ends where it is true. Raises SolveError after the output up to the last state
    has been yielded.
    """
    clock = RunClock()
    try:
        yield from _integrate(
            form, stepper, times, summary, clock, events, progress, max_steps, checkpoints, motion_only, until
        )
    finally:
        clock.add_to(stepper.statistics)


def _integrate(
    form: F,
    stepper: Stepper[F],
    times: Floats,
    summary: RunSummary,
    clock: RunClock,
    events: tuple[Event, ...],
    progress: Reporter | None,
    max_steps: float,
    checkpoints: Checkpoints | None,
    motion_only: bool,
    until: Callable[[Stepper[F], AcceptedStep], bool] | None,
) -> Iterator[Part]:
    """``integrate``; clock : of the times of a checkpoint."""
    instants, end, user_events = times.tolist(), float(times[-1]), events

    def keep() -> None:
        if checkpoints is not None:
            clock.add_to(stepper.statistics)
            checkpoints.keep(form, stepper, values, summary)

    if checkpoints is not None and checkpoints.earlier is not None:
        form, values = checkpoints.restore(form, stepper, summary, len(events))
        events = (*events, *update_events(form))
        done = checkpoints.done(times, stepper.t)
        jumps = checkpoints.ended_at_jump(form, stepper.t)
    else:
        events = (*events, *update_events(form))
        jumps = False
        values = event_values(form, events, stepper.t, stepper.q, stepper.v)
        yield _last_state(form, stepper, motion_only)
        done = 1
    crossing = SingularityCrossing.of(stepper)
    many = stepper if isinstance(stepper, StepperOfMany) and until is None else None
    pace, repetition = Pace(stepper.t, end, max_steps), Repetition()
    shown = stepper.t
    landings, updates = Landings(form, float(times[0]), end), form.layout.updates
    bound: BoundUpdates | None = None
    after_steps = [update for update in updates if update.after_steps]

    def go_on(waiting: list[Update], jumps: bool) -> bool:
        """Carry out updates at the end of a step, and begin a smooth interval where these, or an input that may jump,
        change the motion; whether a discrete state changes."""
        nonlocal form, events, values, bound
        before = form
        if bound is None and AVAILABLE and form is form.system and stepper.statistics.steps >= FIRST_STEPS:
            bound = BoundUpdates(form.system)
        form, begins = _updated(form, stepper, waiting, jumps, landings.same, summary, bound)
        if crossing and begins:
            crossing.reset()
        if form is before:
            # values are those at the end of the step: with new ones, a zero there could be detected twice, by rounding
            return False
        waited = update_events(form)
        values = values[: len(user_events)] + event_values(form, waited, stepper.t, stepper.q, stepper.v)
        events = (*user_events, *waited)
        return True

    if (updates or jumps) and stepper.t < end:  # a run interrupted after its last step has nothing left to do
        go_on(landings.due(stepper.t, form.system.discrete), jumps)
    while stepper.t < end:
        limit, instant, jumps = landings.after(stepper.t, form.system.discrete)
        changed = False
        while stepper.t < limit and not changed:
            if checkpoints is not None and checkpoints.due:
                keep()
            passed: PassedSteps | None = None
            try:
                pace.check(stepper)
                repetition.check(form, stepper.t, stepper.q, stepper.v, events)
                if many is not None and not (events or after_steps) and (crossing is None or crossing.is_far):
                    wanted = times[done : bisect_right(instants, instant)]
                    passed = many.steps(limit, instant, wanted, pace.room(stepper))
                if passed is None:
                    step = crossing.step(limit) if crossing else stepper.step(limit)
            except SolveError:
                if stepper.t > shown:
                    yield _last_state(form, stepper, motion_only)
                raise
            stops: list[Zero] = []
            if passed is not None:
                pace.pass_over(passed.ends)
                if crossing:
                    crossing.pass_over(passed)
                last = float(passed.ends[-1])
                done += len(passed.time)
                if len(passed.time):
                    shown = float(passed.time[-1])
                    yield passed_instants(form, passed)
            else:
                if events:
                    stops, values = find_events(form, events, step, values, summary)
                reached = instant if step.end == limit else step.end
                last = stops[0].t if stops else reached
                count = bisect_right(instants, last)
                wanted = times[done:count]
                if summary.stopped_by is not None and (len(wanted) == 0 or wanted[-1] < last):
                    wanted = np.append(wanted, last)
                if len(wanted):
                    shown = float(wanted[-1])
                    yield step_instants(form, step, wanted)
                done = count
            if progress is not None:
                progress.update(last)
            warning = pace.warning or (crossing.warning if crossing else "")
            if warning and not summary.warning:
                summary.warning = warning
                if progress is not None:
                    progress.message(summary.warning)
            if summary.stopped_by is not None:
                keep()
                return
            stepper.form = form = form.at(stepper.q) if passed is None else passed.after(form, stepper.q)
            if stops:
                form, sides = switch(form, stepper, step, stops, summary)
                if crossing:
                    crossing.reset()
                events = (*user_events, *update_events(form))
                values = event_values(form, events, stepper.t, stepper.q, stepper.v)
                values = [_beyond(value, sides.get(event.update)) for event, value in zip(events, values, strict=True)]
                changed = bool(updates)
            if after_steps and stepper.t < limit:
                changed = go_on(after_steps, False) or changed
            if until is not None and passed is None and until(stepper, step):
                return
        if stepper.t < limit:
            continue
        stepper.t = instant
        if instant < end:
            go_on([*after_steps, *landings.due(instant, form.system.discrete)], jumps)
    repetition.finish()
    keep()


def _last_state(form: Formulation, stepper: StepperState, motion_only: bool) -> Frames:
    now, work = np.array([stepper.t]), stepper.work[None].copy()
    return output_frames(form, now, stepper.q[None].copy(), stepper.v[None].copy(), work, motion_only)


class Landings:
    """The instants at which steps end: where inputs are not smooth, samples of clocks, and instants of updates.

    same : s, instants that differ by less are one: steps go to the first, and go on from the last.
    """

    def __init__(self, form: Formulation, start: float, end: float) -> None:
        self._breakpoints = [t for t in form.breakpoints if start < t < end]
        self._updates = [each for each in form.layout.updates if each.period is not None or each.instant is not None]
        self._end, self.same = end, SAME_INSTANT * (end - start)

    def after(self, t: float, discrete: DiscreteState) -> tuple[float, float, bool]:
        """The next instant after t (s) to step to, the time to continue from, and whether an input may jump there."""
        breakpoints, jumps = self._breakpoints, False
        first = bisect_right(breakpoints, t)
        wanted = [self._end, *breakpoints[first : first + 1]]
        for update in self._updates:
            wanted.append(asked := update.next(discrete))
            if asked <= t:
                raise SolveError(
                    f"{update.label}: waits for t = {asked:.6g} s at t = {t:.6g} s: after an update name a later "
                    "instant, or infinity"
                )
        limit = instant = min(wanted)
        while first < len(breakpoints) and breakpoints[first] - instant <= self.same:
            instant, jumps, first = max(instant, breakpoints[first]), True, first + 1
        near = limit + self.same
        for asked in wanted:
            if instant < asked <= near:
                instant = asked
        return limit, min(instant, self._end), jumps

    def due(self, t: float, discrete: DiscreteState) -> list[Update]:
        """The updates that wait for the time t (s)."""
        return [update for update in self._updates if update.next(discrete) <= t + self.same]


class Zero(NamedTuple):
    """A zero of an event at a time, s, and the sign of its function after it."""

    t: float
    event: Event
    side: float


def find_events(
    form: Formulation, events: tuple[Event, ...], step: AcceptedStep, start_values: list[float], summary: RunSummary
) -> tuple[list[Zero], list[float]]:
    """Record the zeros of events in a step, up to the first that ends it.

    Returns that one, or those of all updates at that instant, and the values at the end of the step.
    """
    from scipy.optimize import brentq

    def at(event: Event, t: float) -> float:
        q, v, _ = step(np.array([t]))
        return event.value(t, form.state(t, q[0], v[0]))

    instants = np.linspace(step.start, step.end, LOOKS + 1)
    q, v, _ = step(instants)
    values = start_values
    zeros = []
    for k in range(1, LOOKS + 1):
        previous, values = values, event_values(form, events, float(instants[k]), q[k], v[k])
        for event, a, b in zip(events, previous, values, strict=True):
            crossed = (a < 0.0 <= b and event.direction >= 0) or (a > 0.0 >= b and event.direction <= 0)
            if crossed:
                t = instants[k]
                if b != 0.0:
                    t = brentq(lambda s, e=event: at(e, s), instants[k - 1], t, xtol=1e-14, rtol=1e-15)
                zeros.append(Zero(float(t), event, 1.0 if a < 0.0 else -1.0))
    zeros.sort(key=lambda zero: zero.t)
    for zero in zeros:
        t, event, _ = zero
        if event.update is not None:
            near = t + SIMULTANEOUS * (step.end - step.start)
            return [other for other in zeros if other.event.update is not None and t <= other.t <= near], values
        summary.events.append(EventRecord(t, event.name))
        if event.terminal:
            summary.stopped_by = event.name
            return [zero], values
    return [], values


class Jumping(Protocol[F]):
    """A stepper that goes back to an instant within a step, with another state."""

    form: F

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from there."""


def switch(
    form: F, stepper: Jumping[F], step: AcceptedStep, stops: list[Zero], summary: RunSummary
) -> tuple[F, dict[Update | None, float]]:
    """Carry out the updates of ``stops`` and set the stepper to that instant; returns the new formulation, and the sign
    of the function of those whose zero is still there."""
    t = stops[0].t
    q, v, work = step(np.array([t]))
    form = form.at(q[0])
    updates = [zero.event.update for zero in stops if zero.event.update is not None]
    with located(t):
        # removes the gaps of the interpolation, whose energy is no loss of a latch
        q, v = form.projected(form.inputs_at(t, q[0], v[0]), q[0], v[0])
        energy = kinetic_energy(form, q, v)
        after = switched(form, updates, t, q, v)
    for update, loss in zip(updates, after.losses, strict=True):
        if update.recorded:
            summary.events.append(EventRecord(t, update.label, loss))
    stepper.form = after.form
    with located(t):
        # the work of drivers in the jump is part of the work
        more = kinetic_energy(after.form, after.q, after.v) - energy if after.jumps else 0.0
        stepper.jump(t, after.q, after.v, form.system.budget.jumped(work[0], more))
    state, now = after.form.state(t, after.q, after.v), {event.update: event for event in update_events(after.form)}
    same = [zero for zero in stops if zero.event.update in now]
    return after.form, {
        zero.event.update: zero.side
        for zero in same
        if zero.event.value(t, state) == now[zero.event.update].value(t, state)
    }


def _beyond(value: float, side: float | None) -> float:
    """A value of an event, that of a zero which has just passed on the side where it goes."""
    return value if side is None else math.copysign(max(abs(value), LEAST_VALUE), side)


def _updated(
    form: F, stepper: Stepper[F], updates: list[Update], jumps: bool, same: float, summary: RunSummary,
    bound: BoundUpdates | None,
) -> tuple[F, bool]:  # fmt: skip
    """Carry out updates at the end of a step; returns the formulation, itself if nothing changes, and whether a smooth
    interval begins.

    jumps : whether an input may jump there. same : s, instants that differ by less are one. bound : kernels of some.
    """
    t, before = stepper.t, form.system.discrete
    with located(t):
        after = switched(form, updates, t, stepper.q, stepper.v, same, bound)
        stepper.form = after.form
        if after.jumps:
            energy = kinetic_energy(form, stepper.q, stepper.v)
            more = kinetic_energy(after.form, after.q, after.v) - energy
            stepper.jump(t, after.q, after.v, form.system.budget.jumped(stepper.work, more))
        elif jumps:
            stepper.restart()
        elif after.acts:
            stepper.resume()
    changed = after.form is not form
    for update, loss in zip(updates, after.losses, strict=True):
        if changed and update.recorded:
            summary.events.append(EventRecord(t, update.label, loss))
        if update.sample is not None and update.samples(before, t + same):
            summary.add_samples(update.sample(after.form.system.discrete))
    return after.form, jumps or after.acts

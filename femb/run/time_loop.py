"""The time loop: steps from breakpoint to breakpoint, events, and output at given instants.

The loop is in Python, as are controllers, events and progress.
"""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from femb.base.errors import SolveError
from femb.base.progress import Reporter
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.bound_updates import BoundUpdates
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import BatchError
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.recording.frames import Frames, output_frames
from femb.recording.instants import Part, passed_instants, step_instants
from femb.run.checkpoints import Checkpoints
from femb.run.events import Event, Zero, beyond, find_events, switch, update_events, updated
from femb.run.events import RunSummary as RunSummary
from femb.run.singularity import SingularityCrossing
from femb.steppers.contract import (
    SMALLEST_STEP,
    AcceptedStep,
    F,
    HeldSteps,
    PassedSteps,
    Statistics,
    Stepper,
    StepperOfHeld,
    StepperOfMany,
    StepperState,
    left_limit,
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


# Instants that differ by less than this, relative to the duration, are equal up to rounding.
SAME_INSTANT = 1e-12
# Steps of a run before kernels of its updates are bound, which costs as much as it saves in so many samples.
FIRST_STEPS = 10
# Ends of steps of a call that do not pay for it, and most landings without one after it.
FEW, LONGEST_PAUSE = 4, 64


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
    the output is that of the later times. motion_only : as in ``femb.recording.frames.frames_of``. until : called after
    every step and its events; the run ends where it is true. Raises SolveError after the output up to the last state
    has been yielded.
    """
    integration = Integration(
        form, stepper, times, summary, events, progress, max_steps, checkpoints, motion_only, until
    )
    try:
        yield from integration.parts()
    except BatchError as error:
        raise SolveError(f"the run stopped after t = {stepper.t:.6g} s: {error}") from error
    finally:
        integration.clock.add_to(stepper.statistics)


@dataclass(eq=False)
class Integration(Generic[F]):
    """A run on its way, with the arguments of ``integrate``; form : in its present discrete state.

    events, values : those of the user and what updates wait for, and their functions at the end of the last step. done,
    shown : the number of output times so far, and the last output (s). over : whether an event or ``until`` has ended
    the run.
    """

    form: F
    stepper: Stepper[F]
    times: Floats
    summary: RunSummary
    user_events: tuple[Event, ...] = ()
    progress: Reporter | None = None
    max_steps: float = np.inf
    checkpoints: Checkpoints | None = None
    motion_only: bool = False
    until: Callable[[Stepper[F], AcceptedStep], bool] | None = None
    over: bool = False
    bound: BoundUpdates | None = None
    crossing: SingularityCrossing | None = None

    def __post_init__(self) -> None:
        self.clock, self.end = RunClock(), float(self.times[-1])
        self.landings, self.updates = Landings(self.form, float(self.times[0]), self.end), self.form.layout.updates
        # an end where inputs may jump is given by the last state, before the jump
        self.instants = self.times[: len(self.times) - self.landings.jumps_at_end].tolist()
        self.after_steps = [update for update in self.updates if update.after_steps]
        # asked once, since a test for a protocol is slow
        self.many = self.stepper if isinstance(self.stepper, StepperOfMany) and self.until is None else None
        self.held: StepperOfHeld | None = None
        if isinstance(self.stepper, StepperOfHeld) and self.landings.waits and not (self.user_events or self.until):
            self.held = None if self.form.breakpoints else self.stepper
        # landings until many steps are tried again, and how many after the next call that makes few
        self._pause, self._pauses = 0, 1

    def parts(self) -> Iterator[Part]:
        """The output: to each instant where steps end in turn, with the updates there."""
        yield from self._begin()
        stepper = self.stepper
        while stepper.t < self.end:
            if (passed := self._held_steps()) is not None:
                yield from self._passed_held(passed)
                continue
            limit, instant, jumps = self.landings.after(stepper.t, self.form.system.discrete)
            yield from self._steps(limit, instant)
            if self.over:
                return
            if limit - stepper.t <= self.landings.same:
                stepper.t = instant
                if instant < self.end:
                    self._update([*self.after_steps, *self._due()], jumps)
        if self.done < len(self.times):  # the last change is at the end
            yield replace(self._last_state(), time=self.times[-1:])
        self.repetition.finish()
        self._keep()

    def _begin(self) -> Iterator[Part]:
        """The start of the run, or of its continuation."""
        form, stepper, jumps = self.form, self.stepper, False
        if self.checkpoints is not None and self.checkpoints.earlier is not None:
            self.form, self.values = self.checkpoints.restore(form, stepper, self.summary, len(self.user_events))
            self.events = (*self.user_events, *update_events(self.form))
            self.done = self.checkpoints.done(self.times, stepper.t)
            jumps = self.checkpoints.ended_at_jump(self.form, stepper.t)
        else:
            self._begin_events()
            if values := [each for each in self._due() if each.order < 0]:
                self._update(values, False)
            yield self._last_state()
            self.done = 1
        self.crossing = SingularityCrossing.of(stepper)
        self.pace, self.repetition = Pace(stepper.t, self.end, self.max_steps), Repetition()
        self.shown = stepper.t
        # a run interrupted after its last step has nothing left to do
        if (self.updates or jumps) and stepper.t < self.end:
            self._update(self._due(), jumps)

    def _steps(self, limit: float, instant: float) -> Iterator[Part]:
        """Steps up to the time ``limit`` (s), which counts as ``instant``, or until a discrete state changes."""
        stepper, changed, same = self.stepper, False, self.landings.same
        while limit - stepper.t > same and not changed:
            if self.checkpoints is not None and self.checkpoints.due:
                self._keep()
            try:
                taken = self._taken(limit, instant)
            except SolveError:
                if stepper.t > self.shown:
                    yield self._last_state()
                raise
            if isinstance(taken, PassedSteps):
                yield from self._passed(taken)
                continue
            stops = self._zeros(taken)
            last = stops[0].t if stops else taken.end
            if self.summary.stopped_by is None and limit - last <= same:
                last = instant
            yield from self._output(taken, last)
            self._report(last)
            if self.summary.stopped_by is not None:
                self.over = True
                self._keep()
                return
            stepper.form = self.form = self.form.at(stepper.q)
            if stops:
                changed = self._switch(taken, stops)
            if self.after_steps and limit - stepper.t > same:
                changed = self._update(self.after_steps, False) or changed
            if self.until is not None and self.until(stepper, taken):
                self.over = True
                return

    # Many steps and updates in one call

    def _held_steps(self) -> HeldSteps | None:
        """Steps and updates between which nothing is asked, in one call; None where the next step is one by itself."""
        stepper = self.stepper
        self._pause -= 1
        steps = stepper.statistics.steps
        if self.held is None or self._pause >= 0 or steps < FIRST_STEPS or steps % WINDOW == 0:
            return None
        if self.crossing is not None or not self._bind():
            self.held = None
            return None
        if self.checkpoints is not None and self.checkpoints.due:
            self._keep()
        wanted, same = self.times[self.done :], self.landings.same
        assert self.bound is not None
        passed = self.held.held_steps(self.bound, self.end, same, wanted, self.pace.room(stepper))
        few = passed is None or len(passed.ends) <= FEW
        self._pauses = min(2 * self._pauses, LONGEST_PAUSE) if few else 1
        self._pause = self._pauses if few else 0
        return passed

    def _bind(self) -> bool:
        """Bind the kernels of updates; whether a loop over steps may carry out all."""
        system, (n_q, n_v) = self.form.system, (self.form.n_q, self.form.n_v)
        if self.bound is None and AVAILABLE and self.form is system:
            self.bound = BoundUpdates(self.updates, system.discrete, n_q, n_v)
        return self.bound is not None and self.bound.in_loops

    def _passed_held(self, steps: HeldSteps) -> Iterator[Part]:
        """The output and the samples of many steps."""
        assert self.bound is not None
        self.pace.pass_over(steps.ends)
        for form, step, times in steps.output:
            self.done += len(times)
            self.shown = float(times[-1])
            yield step_instants(form, step, times)
        self.form = self.stepper.form
        tables = self.bound.tables(self.form.system.discrete, steps.samples)
        for update, carried_out in zip(self.bound.updates, steps.updates.T, strict=True):
            if update.sample is not None and carried_out.any():
                self.summary.add_samples(update.sample({name: x[carried_out] for name, x in tables.items()}))
        self._report(float(steps.ends[-1]))
        if steps.due:
            self._update(self._due(), False)

    # What follows each other in a step

    def _taken(self, limit: float, instant: float) -> AcceptedStep | PassedSteps:
        """A step, or many in one call where nothing is asked between them. Raises SolveError."""
        stepper, crossing = self.stepper, self.crossing
        self.pace.check(stepper)
        self.repetition.check(self.form, stepper.t, stepper.q, stepper.v, self.events)
        asked = self.events or self.after_steps
        if self.many is not None and not asked and (crossing is None or crossing.is_far):
            wanted = self.times[self.done : bisect_right(self.instants, instant)]
            if (passed := self.many.steps(limit, instant, wanted, self.pace.room(stepper))) is not None:
                return passed
        return crossing.step(limit) if crossing else stepper.step(limit)

    def _passed(self, steps: PassedSteps) -> Iterator[Part]:
        """The output inside many steps, to whose end the run goes."""
        self.pace.pass_over(steps.ends)
        if self.crossing:
            self.crossing.pass_over(steps)
        self.done += len(steps.time)
        if len(steps.time):
            self.shown = float(steps.time[-1])
            yield passed_instants(self.form, steps)
        self._report(float(steps.ends[-1]))
        self.stepper.form = self.form = steps.after(self.form, self.stepper.q)

    def _zeros(self, step: AcceptedStep) -> list[Zero]:
        """The zeros that end a step before its end."""
        stops: list[Zero] = []
        if self.events:
            stops, self.values = find_events(self.form, self.events, step, self.values, self.summary)
        return stops

    def _output(self, step: AcceptedStep, last: float) -> Iterator[Part]:
        """The output inside a step up to the time ``last`` (s), also there if an event ends the run."""
        count = bisect_right(self.instants, last)
        wanted = self.times[self.done : count]
        if self.summary.stopped_by is not None and (len(wanted) == 0 or wanted[-1] < last):
            wanted = np.append(wanted, last)
        if len(wanted):
            self.shown = float(wanted[-1])
            yield step_instants(self.form, step, wanted)
        self.done = count

    def _report(self, last: float) -> None:
        """Show the time reached (s), and a warning once."""
        warning = self.pace.warning or (self.crossing.warning if self.crossing else "")
        if self.progress is not None:
            self.progress.update(last)
        if warning and not self.summary.warning:
            self.summary.warning = warning
            if self.progress is not None:
                self.progress.message(warning)

    def _switch(self, step: AcceptedStep, stops: list[Zero]) -> bool:
        """Carry out the updates whose zeros end a step; whether there are any."""
        self.form, sides = switch(self.form, self.stepper, step, stops, self.summary)
        if self.crossing:
            self.crossing.reset()
        self._begin_events()
        pairs = zip(self.events, self.values, strict=True)
        self.values = [beyond(value, sides.get(event.update)) for event, value in pairs]
        return bool(self.updates)

    def _update(self, waiting: list[Update], jumps: bool) -> bool:
        """Carry out updates at the end of a step, and begin a smooth interval where these, or an input that may jump,
        change the motion; whether a discrete state changes."""
        before, stepper = self.form, self.stepper
        if stepper.statistics.steps >= FIRST_STEPS:
            self._bind()
        same = self.landings.same
        self.form, begins = updated(before, stepper, waiting, jumps, same, self.summary, self.bound)
        if self.crossing and begins:
            self.crossing.reset()
        if self.form is before:
            # values are those at the end of the step: with new ones, a zero there could be detected twice, by rounding
            return False
        self._begin_events(self.values[: len(self.user_events)])
        return True

    def _begin_events(self, known: Sequence[float] = ()) -> None:
        """Take what updates wait for in the present discrete state; known : the values of the first events."""
        stepper, self.events = self.stepper, (*self.user_events, *update_events(self.form))
        others = self.events[len(known) :]
        self.values = [*known, *event_values(self.form, others, stepper.t, stepper.q, stepper.v)]

    def _due(self) -> list[Update]:
        return self.landings.due(self.stepper.t, self.form.system.discrete)

    def _keep(self) -> None:
        if self.checkpoints is not None:
            self.clock.add_to(self.stepper.statistics)
            self.checkpoints.keep(self.form, self.stepper, self.values, self.summary)

    def _last_state(self) -> Frames:
        stepper = self.stepper
        t = left_limit(stepper.t, 0.0) if self.landings.jumps_at_end and stepper.t >= self.end else stepper.t
        now, work = np.array([t]), stepper.work[None].copy()
        return output_frames(self.form, now, stepper.q[None].copy(), stepper.v[None].copy(), work, self.motion_only)


class Landings:
    """The instants at which steps end: where inputs are not smooth, samples of clocks, and instants of updates.

    same : s, instants that differ by less, as by rounding, are one: steps go to the first, and go on from the last.
    jumps_at_end : whether an input may jump at the end.
    """

    def __init__(self, form: Formulation, start: float, end: float) -> None:
        self._breakpoints = [t for t in form.breakpoints if start < t < end]
        self._updates = [each for each in form.layout.updates if each.has_instants]
        self._end, self.same = end, max(SAME_INSTANT * (end - start), SMALLEST_STEP * float(np.spacing(end)))
        self.waits = bool(self._updates)
        self.jumps_at_end = start < end and any(abs(t - end) <= self.same for t in form.breakpoints)

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

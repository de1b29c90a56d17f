"""The time loop: steps from breakpoint to breakpoint, events, and output at given instants.

The loop is in Python, as are controllers, events and progress.
"""

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from femb.analysis.checkpoints import Checkpoints
from femb.analysis.events import Event, kinetic_energy, latch_events, switched
from femb.analysis.run_clock import RunClock
from femb.analysis.run_summary import RunSummary as RunSummary
from femb.analysis.singularity_crossing import SingularityCrossing
from femb.base.errors import SolveError
from femb.base.progress import Reporter
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.results.frames import Frames, output_frames
from femb.results.groups import EventRecord
from femb.results.inside_steps import Part, passed_instants, step_instants
from femb.steppers.contract import F, Step, Stepper, StepperOfMany, StepperState, located
from femb.steppers.diagnosis import Repetition, event_values
from femb.steppers.pace import Pace
from femb.steppers.passed_steps import PassedSteps

# Number of evaluations of an event's sign in a step.
LOOKS = 8
# Instants that differ by less than this, relative to the duration, are equal up to rounding.
SAME_INSTANT = 1e-12
# Latches that switch within this part of a step switch together: rounding could hide the second zero after the first.
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
) -> Iterator[Part]:
    """Yield the output of a run at ``times`` (T,), from times[0] = the stepper's time to times[-1].

    Instants inside steps are evaluated by ``femb.results.instants.evaluated``, which is cheaper for many at once.

    summary is filled during the run. checkpoints : where they are written, and the one to continue from, if any; then
    the output is that of the later times. motion_only : as of ``femb.results.frames.frames_of``. Raises SolveError
    after the output up to the last state has been yielded.
    """
    clock = RunClock()
    try:
        yield from _integrate(
            form, stepper, times, summary, clock, events, progress, max_steps, checkpoints, motion_only
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
) -> Iterator[Part]:
    """``integrate``; clock : of the times of a checkpoint."""
    instants, end, user_events = times.tolist(), float(times[-1]), events

    def keep() -> None:
        if checkpoints is not None:
            clock.add_to(stepper.statistics)
            checkpoints.keep(form, stepper, values, summary)

    if checkpoints is not None and checkpoints.earlier is not None:
        form, values = checkpoints.restore(form, stepper, summary, len(events))
        events = (*events, *latch_events(form))
        done = checkpoints.done(times, stepper.t)
    else:
        events = (*events, *latch_events(form))
        values = event_values(form, events, stepper.t, stepper.q, stepper.v)
        yield _last_state(form, stepper, motion_only)
        done = 1
    crossing = SingularityCrossing.of(stepper)
    many = stepper if isinstance(stepper, StepperOfMany) else None
    pace, repetition = Pace(stepper.t, end, max_steps), Repetition()
    shown = stepper.t
    for limit, instant in _landings(form.breakpoints, float(times[0]), end):
        if instant <= stepper.t:
            continue
        while stepper.t < limit:
            if checkpoints is not None and checkpoints.due:
                keep()
            passed: PassedSteps | None = None
            try:
                pace.check(stepper)
                repetition.check(form, stepper.t, stepper.q, stepper.v, events)
                if many is not None and not events and (crossing is None or crossing.is_far):
                    wanted = times[done : bisect_right(instants, instant)]
                    passed = many.steps(limit, instant, wanted, pace.room(stepper))
                if passed is None:
                    step = crossing.step(limit) if crossing else stepper.step(limit)
            except SolveError:
                if stepper.t > shown:
                    yield _last_state(form, stepper, motion_only)
                raise
            stops: list[tuple[float, Event]] = []
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
                    stops, values = _find_events(form, events, step, values, summary)
                reached = instant if step.end == limit else step.end
                last = stops[0][0] if stops else reached
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
            if crossing and crossing.warning and not summary.warning:
                summary.warning = crossing.warning
                if progress is not None:
                    progress.message(summary.warning)
            if summary.stopped_by is not None:
                keep()
                return
            stepper.form = form = form.at(stepper.q) if passed is None else passed.after(form, stepper.q)
            if stops:
                form = _switch(form, stepper, step, stops, summary)
                if crossing:
                    crossing.reset()
                events = (*user_events, *latch_events(form))
                values = event_values(form, events, stepper.t, stepper.q, stepper.v)
        stepper.t = instant
        if instant < end:
            # values are those at the end of the step: with new ones, a zero there could be detected twice, by rounding
            with located(instant):
                stepper.restart()
            if crossing:
                crossing.reset()
    repetition.finish()
    keep()


def _last_state(form: Formulation, stepper: StepperState, motion_only: bool) -> Frames:
    now, work = np.array([stepper.t]), np.array([stepper.work])
    return output_frames(form, now, stepper.q[None].copy(), stepper.v[None].copy(), work, motion_only)


def _landings(breakpoints: list[float], start: float, end: float) -> list[tuple[float, float]]:
    """Instants to step to, each with the time to continue from: the last instant that differs only by rounding."""
    result: list[tuple[float, float]] = []
    for t in [*(t for t in breakpoints if start < t < end), end]:
        if result and t - result[-1][1] <= SAME_INSTANT * (end - start):
            result[-1] = (result[-1][0], t)
        else:
            result.append((t, t))
    return result


def _find_events(
    form: Formulation, events: tuple[Event, ...], step: Step, start_values: list[float], summary: RunSummary
) -> tuple[list[tuple[float, Event]], list[float]]:
    """Record the zeros of events in a step, up to the first that ends it.

    Returns that event, or all latches at that instant, with their times, and the values at the end of the step.
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
                zeros.append((float(t), event))
    zeros.sort(key=lambda zero: zero[0])
    for t, event in zeros:
        if event.latch >= 0:
            near = t + SIMULTANEOUS * (step.end - step.start)
            return [zero for zero in zeros if zero[1].latch >= 0 and t <= zero[0] <= near], values
        summary.events.append(EventRecord(t, event.name))
        if event.terminal:
            summary.stopped_by = event.name
            return [(t, event)], values
    return [], values


def _switch(form: F, stepper: Stepper[F], step: Step, stops: list[tuple[float, Event]], summary: RunSummary) -> F:
    """Switch the latches of ``stops`` and set the stepper to that instant; returns the new formulation."""
    t = stops[0][0]
    q, v, work = step(np.array([t]))
    form = form.at(q[0])
    with located(t):
        # removes the gaps of the interpolation, whose energy is no loss of a latch
        q, v = form.projected(form.inputs_at(t, q[0], v[0]), q[0], v[0])
        energy = kinetic_energy(form, q, v)
        form, q, v, losses = switched(form, [event.latch for _, event in stops], t, q, v)
    summary.events += [EventRecord(t, event.name, float(loss)) for (_, event), loss in zip(stops, losses, strict=True)]
    stepper.form = form
    with located(t):
        # the work of drivers in the jump is part of the work
        stepper.jump(t, q, v, float(work[0]) + kinetic_energy(form, q, v) - energy)
    return form

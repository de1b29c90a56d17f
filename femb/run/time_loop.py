"""The time loop: steps from breakpoint to breakpoint, events, and output at given instants.

The loop is in Python, as are controllers, events and progress.
"""

import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

import numpy as np

from femb.base.errors import SolveError
from femb.base.progress import Reporter
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import TrialError
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.numerics.kinematics import error_norm
from femb.recording.frames import Frames, output_frames
from femb.recording.instants import Part, passed_instants, step_instants
from femb.results.groups import EventRecord
from femb.run.checkpoints import Checkpoints
from femb.run.checkpoints import RunSummary as RunSummary
from femb.run.events import BoundUpdates, Event, kinetic_energy, switched, update_events
from femb.steppers.contract import (
    AcceptedStep,
    F,
    PassedSteps,
    Statistics,
    Stepper,
    StepperOfMany,
    StepperState,
    left_limit,
    located,
)
from femb.steppers.dense import HermiteStep
from femb.steppers.diagnosis import Repetition, cause, event_values, limiting_component, stiff_control
from femb.system.constraints import mass_factors
from femb.system.system import System

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


# Crossing of singular configurations, in which rows of a closed loop are dependent for an instant.
#
# The pivot of such a row falls to zero like the square of an angle s between it and the others; forces of constraints
# grow like 1/s and change their sign, though the motion is smooth. Near the singularity accelerations are inaccurate
# and error control shrinks the step. The time loop therefore ends a step at a sufficiently large s, and crosses to the
# same distance on the other side by one step of the implicit Adams formula
#
#     y1 = y0 + sum_j w_j y'_j,        t_j = t0 - j h (j = 0 .. 5) and t1 = t0 + h
#
# with accelerations at its end and at past instants only, solved by fixed-point iteration with a projection on the
# constraints at its end. The error estimate is the difference from the formula without the oldest instant.
#
# docs/theory/constraints.md, section 6; E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations
# I,
# section III.1 (Adams formulas).

# The angle s at which a crossing begins, and the least angle at which one is tried.
BEGIN, LEAST = 0.02, 1e-3
# A step towards a singularity leaves at least the part LEFT of the time to it; NEAR : that time, in steps, from which
# on singularities are considered.
LEFT, NEAR = 0.3, 8.0
# That number of steps from which on a loop of steps need not stop to look.
FAR = 6.0
# Number of past instants in the formula.
PAST = 6
# Iterations; changes, relative to the tolerance, that end the iteration, and that count as converged.
ITERATIONS, ROUNDING, SOLVED = 12, 1e-8, 1e-2


class SingularityCrossing:
    """Steps of a stepper, with crossings of singularities, for systems with closed loops.

    warning : empty until the first crossing, then its time and the joint whose rows became dependent. is_far : whether
    there is none within ``FAR`` steps.
    """

    def __init__(self, stepper: Stepper[System]) -> None:
        self._stepper = stepper
        self._scales = stepper.form.error_scale(stepper.run.rtol, stepper.run.atol)
        self._steps: deque[AcceptedStep] = deque(maxlen=3 * PAST)
        self._last_angles: tuple[float, Floats] | None = None
        self._begin, self._worst, self._row = BEGIN, np.inf, -1
        self.warning = ""
        self.is_far = True

    @classmethod
    def of(cls, stepper: Stepper[F]) -> "SingularityCrossing | None":
        """The crossings of a stepper of a System with closed loops; None for others, without such singularities."""
        return cls(stepper) if stepper.form.layout.has_loops and _of_system(stepper) else None

    def reset(self) -> None:
        """Restart after a discontinuity of the motion."""
        self._steps.clear()
        self._last_angles = None

    def pass_over(self, steps: PassedSteps) -> None:
        """Steps were made without crossings."""
        self.reset()
        self._begin, self._worst, self.is_far = BEGIN, np.inf, not steps.is_near

    def step(self, limit: float) -> AcceptedStep:
        """A step of the stepper to ``limit`` at most, or a crossing. Raises SolveError as the stepper does.

        Rows that are dependent at the start are left out throughout the step.
        """
        stepper = self._stepper
        time_left, angle = self._time_left()
        if self._last_angles is not None and np.any(self._last_angles[1] == 0.0):
            stepper.form = stepper.form.without_rows(self._last_angles[1] == 0.0)
        while stepper.t + 1.2 * time_left < limit and self._begin >= LEAST:
            begin = min(1.0, self._begin / angle) * time_left
            if time_left > 1.2 * begin:
                limit = min(limit, stepper.t + time_left - max(begin, LEFT * time_left))
                break
            step = self._cross(min(limit, stepper.t + 2.0 * time_left))
            if step is not None:
                return step
        step = stepper.step(limit)
        self._steps.append(step)
        return step

    def _time_left(self) -> tuple[float, float]:
        """Time (s) to the singularity that the motion approaches, infinity if there is none near, and the angle s."""
        stepper, system = self._stepper, self._stepper.form
        try:
            now = (stepper.t, _angles(system, stepper.t, stepper.q, stepper.v))
            previous, self._last_angles, self.is_far = self._last_angles, now, False
            if previous is None or not self._steps or self._steps[-1].end != now[0]:
                return np.inf, 0.0
            last = self._steps[-1]
            h = last.end - last.start
            times = _times_to_zero(previous, now)
            self.is_far = not np.any(times <= FAR * h)
            if not np.any(times <= NEAR * h):
                self._begin, self._worst = BEGIN, np.inf
                return np.inf, 0.0
            t = now[0] - 0.1 * h
            q, v, _ = last(np.array([t]))
            times = _times_to_zero((t, _angles(system, t, q[0], v[0])), now)
        except TrialError:
            return np.inf, 0.0
        self._row = int(np.argmin(times))
        return float(times[self._row]), float(now[1][self._row])

    # The crossing

    def _cross(self, end: float) -> AcceptedStep | None:
        """The step across, after which the stepper restarts; None where its error would exceed the tolerance."""
        stepper = self._stepper
        system, t0 = stepper.form, stepper.t
        h = end - t0
        past = self._past(h)
        if past is None:
            self._begin *= 0.5
            return None
        ages, y, rates, a0 = past
        n_q, in_v, in_work = system.n_q, self._in_v, self._in_work
        full, less = (_weights(np.append(h, -past), h) for past in (ages, ages[:-1]))
        change = np.inf
        try:
            now, rate, a = self._on_constraints(system, end, t0, y + rates.T @ _weights(-ages, h))
            for _ in range(ITERATIONS):
                last, previous = now, change
                now, rate, a = self._on_constraints(system, end, t0, y + full[0] * rate + rates.T @ full[1:])
                change = self._norm(now - last, now, n_q)
                if change <= ROUNDING or change > 0.5 * previous:
                    break
            system.check_singularities(t0, np.stack([y[:n_q], now[:n_q]]), np.stack([y[in_v], now[in_v]]))
        except TrialError:
            self._begin *= 0.5
            return None
        error = max(change / SOLVED, self._norm(y + less[0] * rate + rates[:-1].T @ less[1:] - now, now, n_q))
        if not error <= 1.0 and not error > 0.5 * self._worst:
            # the error falls with the distance, unless it is rounding
            self._begin, self._worst = 0.5 * self._begin, error
            return None
        q0, v0 = y[:n_q], y[in_v]
        q, v = now[:n_q].copy(), now[in_v].copy()
        self._warn(system, t0 + 0.5 * h)
        stepper.statistics.steps += 1
        stepper.jump(end, q, v, now[in_work].copy())
        self.reset()
        at_start, at_end = (q0, v0, a0, y[in_work], rates[0, in_work]), (q, v, a, now[in_work], rate[in_work])
        return HermiteStep(system, t0, end, at_start, at_end)

    def _past(self, h: float) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Ages (s) of past instants, the present state y = (q, v, budget), the rates of y at all instants, and the
        present accelerations; None where the past is too short."""
        stepper, system, t0 = self._stepper, self._stepper.form, self._stepper.t
        d = float(min(h, (t0 - self._steps[0].start) / (PAST - 1)))
        if d < 0.3 * h:
            return None
        ages = d * np.arange(PAST, dtype=np.float64)
        y = np.concatenate([stepper.q, stepper.v, stepper.work])
        _, first, a0 = self._on_constraints(system, t0, t0, y)
        rates = [first]
        for age in ages[1:]:
            step = next(step for step in self._steps if step.end >= t0 - age)
            q, v, work = step(np.array([t0 - age]))
            rates.append(self._on_constraints(system, t0 - age, t0, np.concatenate([q[0], v[0], work[0]]))[1])
        return ages, y, np.array(rates), a0

    def _on_constraints(self, system: System, t: float, start: float, y: Floats) -> tuple[Floats, Floats, Floats]:
        """y projected on the constraints, its rate, and the accelerations; inputs from the left."""
        n_q = system.n_q
        q, v = y[:n_q].copy(), y[self._in_v]
        system.normalise(q)
        u = system.inputs_at(left_limit(t, start) if t > start else t, q, v)
        q, v = system.projected(u, q, v)
        # once more, since the remaining gaps are amplified by 1/s
        factors, x = mass_factors(system, u, q), np.zeros(system.n_v + system.n_c)
        x[system.n_v :] = -system.position_residual(u, q, v)
        q = system.retract(q, factors.solve(x)[: system.n_v])
        x[: system.n_v], x[system.n_v :] = 0.0, -system.velocity_residual(u, q, v)
        v = v + factors.solve(x)[: system.n_v]
        a, multipliers = system.forward(u, q, v)
        power = system.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
        rate = np.concatenate([system.rates(q[None], v[None])[0], a, power])
        return np.concatenate([q, v, y[self._in_work]]), rate, a

    @property
    def _in_v(self) -> slice:
        """The velocities in y."""
        system = self._stepper.form
        return slice(system.n_q, system.n_q + system.n_v)

    @property
    def _in_work(self) -> slice:
        """The budget in y."""
        return slice(self._in_v.stop, None)

    def _norm(self, error: Floats, y: Floats, n_q: int) -> float:
        of_q = error_norm(*self._scales[0], error[:n_q], y[:n_q])
        return float(max(of_q, error_norm(*self._scales[1], error[self._in_v], y[self._in_v])))

    def _warn(self, system: System, t: float) -> None:
        if not self.warning:
            layout = system.layout
            label = layout.row_labels[int(np.flatnonzero(layout.row_c == self._row)[0])]
            item, _, what = label.partition(": ")
            self.warning = (
                f"at t = {t:.6g} s the mechanism passed a singular posture, where {item} ({what}) depends on the other "
                "constraints; it went on along its branch"
            )


def _of_system(stepper: Stepper[F]) -> TypeGuard[Stepper[System]]:
    return isinstance(stepper.form, System)


def _angles(system: System, t: float, q: Floats, v: Floats) -> Floats:
    """The angles s (n_c,) of all rows at a state; zero for dependent rows."""
    return np.sqrt(mass_factors(system, system.inputs_at(t, q, v), q).pivot_ratios())


def _times_to_zero(earlier: tuple[float, Floats], now: tuple[float, Floats]) -> Floats:
    """Times (s) from ``now`` to the zeros of the lines through two (time, values); infinity if they do not fall."""
    fall = (earlier[1] - now[1]) / (now[0] - earlier[0])
    falls = (fall > 0.0) & (now[1] > 0.0)
    return np.where(falls, now[1] / np.where(falls, fall, 1.0), np.inf)


def _weights(instants: Floats, h: float) -> Floats:
    """Weights of the rates at some instants (s) that integrate the polynomial through them from 0 to h."""
    powers = np.arange(len(instants))
    return h * np.linalg.solve((instants / h) ** powers[:, None], 1.0 / (powers + 1.0))


# Pace: whether a run makes progress, and the cause if it does not.

# Steps over which the pace is measured; steps that a run may still need at that pace before it is given up.
WINDOW, HOPELESS = 1000, 1e9
EXPLICIT = "rk"


class Pace:
    """Watches the steps of a run from time ``start`` to ``end`` (s).

    warning : empty, or that explicit steps are held up by a function of a user that is stiff.
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
        if steps >= self._next_look and stepper.run.method == EXPLICIT and not self.warning:
            # seldom: a probe takes a hundred evaluations
            self._next_look, self.warning = 2 * steps, stiff_control(stepper, gained / WINDOW)
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
) -> Iterator[Part]:
    """Yield the output of a run at ``times`` (T,), from times[0] = the stepper's time to times[-1].

    Instants inside steps are evaluated by ``femb.recording.instants.evaluated``, which is cheaper for many at once.

    summary is filled during the run. checkpoints : where they are written, and the one to continue from, if any; then
    the output is that of the later times. motion_only : as of ``femb.recording.frames.frames_of``. Raises SolveError
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
    many = stepper if isinstance(stepper, StepperOfMany) else None
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

    if updates or jumps:
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
                    stops, values = _find_events(form, events, step, values, summary)
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
                form, sides = _switch(form, stepper, step, stops, summary)
                if crossing:
                    crossing.reset()
                events = (*user_events, *update_events(form))
                values = event_values(form, events, stepper.t, stepper.q, stepper.v)
                values = [_beyond(value, sides.get(event.update)) for event, value in zip(events, values, strict=True)]
                changed = bool(updates)
            if after_steps and stepper.t < limit:
                changed = go_on(after_steps, False) or changed
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


def _find_events(
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


def _switch(
    form: F, stepper: Stepper[F], step: AcceptedStep, stops: list[Zero], summary: RunSummary
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

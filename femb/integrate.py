"""The time loop: steps from breakpoint to breakpoint, events, and output at given instants.

The loop is ordinary Python, so controllers, events and progress are ordinary Python too.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.errors import SolveError
from femb.state import State
from femb.steppers.contract import Step, Stepper
from femb.types import Floats

# An event's sign is looked at so many times a step.
LOOKS = 8
# Instants closer to each other than this part of the run's length differ by rounding.
SAME_INSTANT = 1e-12


@dataclass(frozen=True)
class Event:
    """A function of (t, state) whose zero is looked for; ``direction`` 1 or -1 takes rising or falling zeros only.

    A terminal event ends the run there. Two zeros within an eighth of a step may be missed: limit ``max_step``.
    """

    name: str
    function: Callable[[float, State], float]
    terminal: bool = True
    direction: int = 0


@dataclass(frozen=True)
class Frames:
    """Consecutive output instants: time (k,), q (k, n_q), v (k, n_v), work (k,)."""

    time: Floats
    q: Floats
    v: Floats
    work: Floats


@dataclass
class Outcome:
    """How a run ended: the zeros of events as (time, name), and which terminal one stopped it."""

    events: list[tuple[float, str]]
    stopped_by: str | None = None


def integrate(
    system: Any,
    stepper: Stepper,
    times: Floats,
    outcome: Outcome,
    events: tuple[Event, ...] = (),
    progress: Any = None,
    max_steps: float = np.inf,
) -> Iterator[Frames]:
    """Yield the output frames of a run over ``times`` (T,), from times[0] = the stepper's time to times[-1].

    outcome is filled as the run goes on. Raises SolveError with everything before it already yielded, the last state
    reached among it.
    """
    clock, cpu = time.perf_counter(), time.process_time()
    end = float(times[-1])
    values = _values(system, events, stepper.t, stepper.q, stepper.v)
    first = np.array([stepper.t])
    yield _frames(system, first, stepper.q[None].copy(), stepper.v[None].copy(), np.array([stepper.work]))
    done, shown = 1, stepper.t
    for limit, instant in _landings(system.breakpoints, stepper.t, end):
        while stepper.t < limit:
            try:
                if stepper.statistics.steps >= max_steps:
                    raise SolveError(
                        f"the integration was given up at t = {stepper.t:.6g} s after max_steps = {max_steps} steps"
                    )
                step = stepper.step(limit)
            except SolveError:
                if stepper.t > shown:
                    now = np.array([stepper.t])
                    yield _frames(system, now, stepper.q[None].copy(), stepper.v[None].copy(), np.array([stepper.work]))
                raise
            stop = None
            if events:
                stop, values = _look(system, events, step, values, outcome)
            reached = instant if step.end == limit else step.end
            last = reached if stop is None else stop
            count = int(np.searchsorted(times, last, side="right"))
            wanted = times[done:count]
            if stop is not None and (len(wanted) == 0 or wanted[-1] < stop):
                wanted = np.append(wanted, stop)
            if len(wanted):
                shown = float(wanted[-1])
                yield _frames(system, wanted, *step(wanted))
            done = count
            stepper.statistics.wall_time = time.perf_counter() - clock
            stepper.statistics.cpu_time = time.process_time() - cpu
            if progress is not None:
                progress.update(last)
            if stop is not None:
                return
        stepper.t = instant
        if instant < end:
            stepper.restart()
            values = _values(system, events, stepper.t, stepper.q, stepper.v)


def _frames(system: Any, times: Floats, q: Floats, v: Floats, work: Floats) -> Frames:
    return Frames(times, q, system.velocities(q, v), work)


def _landings(breakpoints: list[float], start: float, end: float) -> list[tuple[float, float]]:
    """Instants to step to, each with the last one that differs from it only by rounding: the time to go on from."""
    found: list[tuple[float, float]] = []
    for t in [*(t for t in breakpoints if start < t < end), end]:
        if found and t - found[-1][1] <= SAME_INSTANT * (end - start):
            found[-1] = (found[-1][0], t)
        else:
            found.append((t, t))
    return found


def _values(system: Any, events: tuple[Event, ...], t: float, q: Floats, v: Floats) -> list[float]:
    state = State(system.layout, t, q, system.velocities(q[None], v[None])[0]) if events else None
    return [float(event.function(t, state)) for event in events]  # type: ignore[arg-type]


def _look(
    system: Any, events: tuple[Event, ...], step: Step, before: list[float], outcome: Outcome
) -> tuple[float | None, list[float]]:
    """Zeros of the events inside a step, in order; the time of the first terminal one, and the values at the end."""
    from scipy.optimize import brentq

    def at(event: Event, t: float) -> float:
        q, v, _ = step(np.array([t]))
        return float(event.function(t, State(system.layout, t, q[0], system.velocities(q, v)[0])))

    instants = np.linspace(step.start, step.end, LOOKS + 1)
    q, v, _ = step(instants)
    after = before
    found = []
    for k in range(1, LOOKS + 1):
        before, after = after, _values(system, events, float(instants[k]), q[k], v[k])
        for event, a, b in zip(events, before, after, strict=True):
            crossed = (a < 0.0 <= b and event.direction >= 0) or (a > 0.0 >= b and event.direction <= 0)
            if crossed:
                t = instants[k]
                if b != 0.0:
                    t = brentq(lambda s, e=event: at(e, s), instants[k - 1], t, xtol=1e-14, rtol=1e-15)
                found.append((float(t), event))
    for t, event in sorted(found, key=lambda each: each[0]):
        outcome.events.append((t, event.name))
        if event.terminal:
            outcome.stopped_by = event.name
            return t, after
    return None, after

"""Events, updates of discrete states, and the velocity jump where one sets constraints in force, as a latch does.

The velocities jump by the smallest change, in the metric of the mass M, that satisfies the constraints:

    [ M  J^T ] [ v+ - v- ]   [            0           ]
    [ J   0  ] [    p    ] = [ -(J v- + Phi_t) ],

with the impulses p of the constraints. Impulses between bodies are internal: momentum is conserved. The lost kinetic
energy is the sum over the rows i of (v+ + v-)/2 . J_i^T p_i: zero for joints, the work of drivers (negative), and the
loss of each latch. Source: docs/theory/constraints.md, section 12.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown, whole_number
from femb.formulations.contract import Formulation
from femb.layout.bound_updates import BoundUpdates, in_order
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import Input, raised
from femb.layout.state import State
from femb.results.groups import EventRecord
from femb.results.results import Results
from femb.steppers.contract import AcceptedStep, F, Stepper, located
from femb.steppers.diagnosis import event_values
from femb.system.constraints import mass_factors, projected
from femb.system.stacked import least_multipliers
from femb.system.system import System


@dataclass(frozen=True)
class Event:
    """A zero of a function of (t, state), t in s. With ``direction`` 1 or -1 only a rising or a falling one counts.

    name : in ``results.events``. update : of discrete states, which waits for the zero; None for events of users.

    A terminal event ends the run. Two zeros within an eighth of a step may be missed: limit ``max_step``.

    Raises ModelError: a name that is no text, a function that cannot be called, an unknown direction.
    """

    name: str
    function: Callable[[float, State], float]
    terminal: bool = True
    direction: int = 0
    update: Update | None = None

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.name, str) or not self.name:
            problems.append(("name", f"got {shown(self.name)}, wanted text"))
        if not callable(self.function):
            problems.append(("function", f"got {shown(self.function)}, wanted a function of time and state"))
        if not isinstance(self.terminal, bool):
            problems.append(("terminal", f"got {shown(self.terminal)}, wanted True or False"))
        if not whole_number(self.direction) or self.direction not in (-1, 0, 1):
            problems.append(("direction", f"got {shown(self.direction)}, must be -1, 0 or 1"))
        if not isinstance(self.update, Update | None):
            problems.append(("update", f"got {shown(self.update)}, leave it out: it is the program's"))
        if problems:
            raise ModelError(*(Problem(("event", word), text) for word, text in problems))

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name if self.update is not None else f"event {self.name!r}"

    def value(self, t: float, state: State) -> float:
        """The function at an instant. Raises SolveError where it fails or does not return a number."""
        label = self.label
        try:
            result = self.function(t, state)
        except FembError:
            raise
        except Exception as error:
            raise SolveError(str(raised(label, t, error))) from error
        if isinstance(result, float) and result == result:
            return float(result)
        number = as_numbers(result)
        if number is None or number.size != 1 or np.isnan(number).any():
            raise SolveError(
                f"{label}: got {shown(result)} at t = {t:.6g} s, wanted a number that passes through zero where the "
                "event is; for a condition such as x > 1 give the difference, x - 1"
            )
        return float(number.reshape(-1)[0])


def update_events(form: Formulation) -> tuple[Event, ...]:
    """The zeros that updates of a formulation's system wait for in its discrete state."""
    discrete = form.system.discrete
    return tuple(
        Event(update.label, partial(_zero, update, discrete), False, update.direction, update)
        for update in form.layout.updates
        if update.watches(discrete)
    )


def _zero(update: Update, discrete: DiscreteState, t: float, state: State) -> float:
    assert update.zero is not None
    return update.zero(t, state, discrete)


def kinetic_energy(form: Formulation, q: Floats, v: Floats) -> float:
    """J, of a state of a formulation."""
    return float(form.system.energy_momentum(*form.to_system(q[None], v[None]))[0, 0])


@dataclass(slots=True)
class Switched(Generic[F]):
    """A formulation after updates of its discrete state, and coordinates and velocities after the jump.

    acts : whether an input has changed. jumps : whether one of the constraints has, the motion that they prescribe or
    whether they are in force, so that velocities jump. losses : energy (J) that each of the updates and its rows took.
    """

    form: F
    q: Floats
    v: Floats
    losses: list[float]
    acts: bool = False
    jumps: bool = False

    def work_after(self, work: Floats, energy: float) -> Floats:
        """The work (n_w,) with that of drivers in a jump; energy : the kinetic one before it, J."""
        more = kinetic_energy(self.form, self.q, self.v) - energy if self.jumps else 0.0
        return self.form.system.budget.jumped(work, more)


def switched(
    form: F,
    updates: Sequence[Update],
    t: float,
    q: Floats,
    v: Floats,
    same: float = 0.0,
    bound: BoundUpdates | None = None,
) -> Switched[F]:
    """The formulation at a state after updates, in their order; itself if nothing changes.

    same : s, instants that differ by less are one. bound : kernels of some of them. The loss of one of several latches
    that engage together may be negative, by the impulse of another one. Raises SolveError as ``Update.changed``.
    """
    system = form.system
    discrete, state = system.discrete, None
    taken = [0.0] * len(updates)
    for numbers, calls in bound.groups(tuple(updates)) if bound is not None else [(in_order(updates), None)]:
        after = bound.changed(calls, t, q, v, discrete) if bound is not None and calls is not None else None
        if after is not None:
            discrete = after
            continue
        for k in numbers:
            update, before = updates[k], discrete
            if state is None:
                state = form.state(t, q, v)
            discrete = update.changed(t, state, discrete, sampled=update.samples(discrete, t + same))
            if update.loss is not None:
                taken[k] = update.loss(before, discrete)
    if discrete is system.discrete:
        return Switched(form, q, v, taken)
    other = form.with_discrete(discrete)
    if not _changed(system.constraint_set.inputs, system.discrete, discrete):
        return Switched(other, q, v, taken, system.inputs.change(system.discrete, discrete))
    q, v = (x[0] for x in form.to_system(q[None], v[None]))
    system = other.system
    u, v_before = system.inputs_at(t, q, v), v
    q, v = projected(system, u, q, v)
    losses, row_c = _losses(system, u, q, v_before, v), system.layout.row_c
    of_updates = [
        own + float(np.sum(losses[row_c[list(update.rows)]])) for update, own in zip(updates, taken, strict=True)
    ]
    return Switched(other, *other.from_system(q, v), of_updates, True, True)


def _changed(inputs: Sequence[Input], before: DiscreteState, after: DiscreteState) -> bool:
    """Whether an input of the discrete state has another value after a change."""
    return any(
        not np.array_equal(each.function(before), each.function(after))
        for each in inputs
        if each.of_discrete and not (each.array and before[each.array] is after[each.array])
    )


def _losses(system: System, u: Floats, q: Floats, v_before: Floats, v_after: Floats) -> Floats:
    """(n_c,) J: kinetic energy lost by the impulse of each row in the jump of the velocities."""
    n_v, x = system.n_v, np.zeros(system.n_v + system.n_c)
    x[n_v:] = -system.constraint_rates(u[None], q[None], v_before[None])[0]
    impulses = least_multipliers(system, u[None], q[None], mass_factors(system, u, q).solve(x)[None, n_v:])[0]
    result: Floats = impulses * (system.jacobian(u, q) @ (0.5 * (v_before + v_after)))
    return result


# The summary of a run besides its output.

# Where results of recorded runs have their corners: instants of updates, of inputs that are not smooth, of contacts.
OF_UPDATES, OF_INPUTS, OF_CONTACTS = CORNERS = ("corners/updates", "corners/inputs", "corners/contacts")


def corners_of(results: Results) -> Floats:
    """Instants (s) at which the motion of a recorded run is not smooth, in an order that parameters do not change."""
    found: Floats = np.concatenate([results.static.get(path, np.zeros(0)) for path in CORNERS])
    return found


@dataclass(frozen=True, eq=False)
class Change:
    """Updates at a time t (s) of a run, and the state of its formulation before them.

    zero : the event whose zero it is, in the step before; None at an instant, and after a step. same : as in
    ``switched``.
    """

    t: float
    form: Formulation
    q: Floats
    v: Floats
    work: Floats
    updates: Sequence[Update]
    zero: "Event | None" = None
    same: float = 0.0


@dataclass
class RunSummary:
    """Summary of a run: its events in order, the terminal event that stopped it, and a warning for the user.

    samples : what updates with a clock have recorded, the values of one sample after the other by path. changes : where
    updates are noted with the state before them, if at all.
    """

    events: list[EventRecord]
    stopped_by: str | None = None
    warning: str = ""
    samples: dict[str, list[Any]] = field(default_factory=dict)
    changes: "list[Change] | None" = None

    def note(self, change: "Change") -> None:
        """Note updates, where they are wanted."""
        if self.changes is not None and change.updates:
            self.changes.append(change)
            self.add_samples({OF_UPDATES: [change.t]})

    def add_samples(self, values: Mapping[str, Any]) -> None:
        """Add the arrays (k, ...) of k samples by path."""
        for path, value in values.items():
            self.samples.setdefault(path, []).extend(value)

    def sampled(self) -> dict[str, Floats]:
        """The arrays (k, ...) of all samples so far by path."""
        return {path: np.array(values, dtype=np.float64) for path, values in self.samples.items()}

    def arrays(self) -> dict[str, Floats]:
        """Samples, and times (s) and energy losses (J) of the events, by the path in a results file."""
        result = self.sampled()
        for name in dict.fromkeys(event.name for event in self.events):
            records = [event for event in self.events if event.name == name]
            path = f"events/{name.replace('/', ' per ')}"
            result[f"{path}/time"] = np.array([event.time for event in records])
            result[f"{path}/energy_loss"] = np.array([event.energy_loss for event in records])
        return result


# Zeros of events in a step, and what is carried out there and at the ends of steps.

# Number of evaluations of an event's sign in a step.
LOOKS = 8
# The least size of the value of an event after its zero.
LEAST_VALUE = 1e-300
# Updates whose zeros are within this part of a step come together: rounding could hide the second after the first.
SIMULTANEOUS = 1e-6


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


def switch(
    form: F, stepper: Any, step: AcceptedStep, stops: list[Zero], summary: RunSummary
) -> tuple[F, dict[Update | None, float]]:
    """Carry out the updates of ``stops`` and set the stepper, or a member of an ensemble, to that instant.

    Returns the new formulation, and the sign of the function of those whose zero is still there.
    """
    t = stops[0].t
    q, v, work = step(np.array([t]))
    form = form.at(q[0])
    updates = [zero.event.update for zero in stops if zero.event.update is not None]
    with located(t):
        # removes the gaps of the interpolation, whose energy is no loss of a latch
        q, v = form.projected(form.inputs_at(t, q[0], v[0]), q[0], v[0])
        summary.note(Change(t, form, q, v, work[0], updates, stops[0].event))
        energy = kinetic_energy(form, q, v)
        after = switched(form, updates, t, q, v)
    for update, loss in zip(updates, after.losses, strict=True):
        if update.recorded:
            summary.events.append(EventRecord(t, update.label, loss))
    stepper.form = after.form
    with located(t):
        stepper.jump(t, after.q, after.v, after.work_after(work[0], energy))
    state, now = after.form.state(t, after.q, after.v), {event.update: event for event in update_events(after.form)}
    same = [zero for zero in stops if zero.event.update in now]
    return after.form, {
        zero.event.update: zero.side
        for zero in same
        if zero.event.value(t, state) == now[zero.event.update].value(t, state)
    }


def beyond(value: float, side: float | None) -> float:
    """A value of an event, that of a zero which has just passed on the side where it goes."""
    return value if side is None else math.copysign(max(abs(value), LEAST_VALUE), side)


def updated(
    form: F, stepper: Stepper[F], updates: list[Update], jumps: bool, same: float, summary: RunSummary,
    bound: BoundUpdates | None,
) -> tuple[F, bool]:  # fmt: skip
    """Carry out updates at the end of a step; returns the formulation, itself if nothing changes, and whether a smooth
    interval begins.

    jumps : whether an input may jump there. same : s, instants that differ by less are one. bound : kernels of some.
    """
    t, before = stepper.t, form.system.discrete
    summary.note(Change(t, form, stepper.q, stepper.v, stepper.work, updates, same=same))
    with located(t):
        after = switched(form, updates, t, stepper.q, stepper.v, same, bound)
        stepper.form = after.form
        if after.jumps:
            work = after.work_after(stepper.work, kinetic_energy(form, stepper.q, stepper.v))
            stepper.jump(t, after.q, after.v, work)
        elif jumps:
            stepper.restart()
        elif after.acts:
            stepper.resume()
    changed = after.form is not form
    for update, loss in zip(updates, after.losses, strict=True):
        if changed and update.recorded:
            summary.events.append(EventRecord(t, update.label, loss))
        if update.sample is not None and update.samples(before, t + same):
            discrete = after.form.system.discrete
            summary.add_samples(update.sample({name: array[None] for name, array in discrete.items()}))
    return after.form, jumps or after.acts

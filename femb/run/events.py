"""Events, updates of discrete states, and the velocity jump where one sets constraints in force, as a latch does.

The velocities jump by the smallest change, in the metric of the mass M, that satisfies the constraints:

    [ M  J^T ] [ v+ - v- ]   [            0           ]
    [ J   0  ] [    p    ] = [ -(J v- + Phi_t) ],

with the impulses p of the constraints. Impulses between bodies are internal: momentum is conserved. The lost kinetic
energy is the sum over the rows i of (v+ + v-)/2 . J_i^T p_i: zero for joints, the work of drivers (negative), and the
loss of each latch. Source: docs/theory/constraints.md, section 12.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown, whole_number
from femb.formulations.contract import Formulation
from femb.layout.bound_updates import BoundUpdates, in_order
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import Input, raised
from femb.layout.state import State
from femb.steppers.contract import F
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
        return Switched(other, q, v, taken, system.inputs_change(discrete))
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

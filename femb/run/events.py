"""Events, and the velocity jump where a latch engages.

The velocities jump by the smallest change, in the metric of the mass M, that satisfies the constraints:

    [ M  J^T ] [ v+ - v- ]   [            0           ]
    [ J   0  ] [    p    ] = [ -(J v- + Phi_t) ],

with the impulses p of the constraints. Impulses between bodies are internal: momentum is conserved. The lost kinetic
energy is the sum over the rows i of (v+ + v-)/2 . J_i^T p_i: zero for joints, the work of drivers (negative), and the
loss of each latch. Source: docs/theory/constraints.md, section 12.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown, whole_number
from femb.formulations.contract import Formulation
from femb.layout.element import raised
from femb.layout.layout import LatchLayout
from femb.layout.state import State
from femb.steppers.contract import F
from femb.system.constraints import mass_factors, projected
from femb.system.stacked import least_multipliers
from femb.system.system import System


@dataclass(frozen=True)
class Event:
    """An event: a zero of a function of (t, state), t in s; with ``direction`` 1 or -1, only a rising or a falling one.

    name : in ``results.events``. latch : number of the latch that it switches; -1 for events of users.

    A terminal event ends the run. Two zeros within an eighth of a step may be missed: limit ``max_step``.

    Raises ModelError: a name that is no text, a function that cannot be called, an unknown direction.
    """

    name: str
    function: Callable[[float, State], float]
    terminal: bool = True
    direction: int = 0
    latch: int = -1

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
        if not whole_number(self.latch):
            problems.append(("latch", f"got {shown(self.latch)}, leave it out: it is the program's"))
        if problems:
            raise ModelError(*(Problem(("event", word), text) for word, text in problems))

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name if self.latch >= 0 else f"event {self.name!r}"

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


def latch_events(form: Formulation) -> tuple[Event, ...]:
    """The events at which the latches of a formulation's system switch from its discrete state."""
    result, system = [], form.system
    for k, latch in enumerate(system.layout.latches):
        item, engaged = latch.item, bool(system.discrete.engaged[k])
        if engaged == item.engaged:
            result.append(Event(f"latches.{item.name}", _function(latch), False, item.direction, k))
    return tuple(result)


def _function(latch: LatchLayout) -> Callable[[float, State], float]:
    item = latch.item
    if item.when is not None:
        when: Callable[[float, State], float] = item.when
        return when
    if item.time is not None:
        return lambda t, state: t - item.time
    return lambda t, state: state.coordinates[latch.coordinate] - item.at


def kinetic_energy(form: Formulation, q: Floats, v: Floats) -> float:
    """J, of a state of a formulation."""
    return float(form.system.energy_momentum(*form.to_system(q[None], v[None]))[0, 0])


def switched(form: F, latches: list[int], t: float, q: Floats, v: Floats) -> tuple[F, Floats, Floats, Floats]:
    """The formulation with switched latches, coordinates and velocities after the jump, and the energy loss (J) of each
    of the latches.

    The loss of one of several latches that engage together may be negative, by the impulse of another one.
    """
    system = form.system
    discrete = system.discrete
    q, v = (x[0] for x in form.to_system(q[None], v[None]))
    engaged, held = discrete.engaged.copy(), discrete.latched.copy()
    coordinates = system.joint_motion(q, v)[0]
    for k in latches:
        engaged[k] = 1.0 - engaged[k]
        held[k] = coordinates[system.layout.latches[k].coordinate]
    other = form.with_discrete(replace(discrete, engaged=engaged, latched=held))
    system = other.system
    u, v_before = system.inputs_at(t, q, v), v
    q, v = projected(system, u, q, v)
    losses = _losses(system, u, q, v_before, v)[[system.layout.row_c[system.layout.latches[k].row] for k in latches]]
    return other, *other.from_system(q, v), losses


def _losses(system: System, u: Floats, q: Floats, v_before: Floats, v_after: Floats) -> Floats:
    """(n_c,) J: kinetic energy lost by the impulse of each row in the jump of the velocities."""
    n_v, x = system.n_v, np.zeros(system.n_v + system.n_c)
    x[n_v:] = -system.constraint_rates(u[None], q[None], v_before[None])[0]
    impulses = least_multipliers(system, u[None], q[None], mass_factors(system, u, q).solve(x)[None, n_v:])[0]
    result: Floats = impulses * (system.jacobian(u, q) @ (0.5 * (v_before + v_after)))
    return result

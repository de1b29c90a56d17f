"""Latching: the events of latches, and what happens to the motion at one.

When a latch engages, velocities jump by the smallest change, weighted with the mass M, that the constraints allow:

    [ M  J^T ] [ v+ - v- ]   [            0           ]
    [ J   0  ] [    p    ] = [ -(J v- + Phi_t) ],

p being the impulses of the joints. Between bodies they are internal, so that momentum is kept. The kinetic energy lost
is the sum of what the impulses take, (v+ + v-)/2 . J_i^T p_i a row: of joints nothing, of drivers what they give in the
jump as work, of each latch its own loss. Source: docs/theory/constraints.md, section 12.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import FembError, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.formulations.contract import Formulation
from femb.layout.element import raised
from femb.layout.layout import LatchLayout
from femb.layout.state import State
from femb.steppers.contract import F
from femb.system.constraints import least_multipliers, mass_factors, projected
from femb.system.system import System


@dataclass(frozen=True)
class Event:
    """A function of (t, state) whose zero is looked for; ``direction`` 1 or -1 takes rising or falling zeros only.

    A terminal event ends the run there. Two zeros within an eighth of a step may be missed: limit ``max_step``.
    """

    name: str
    function: Callable[[float, State], float]
    terminal: bool = True
    direction: int = 0
    latch: int = -1

    def value(self, t: float, state: State) -> float:
        """The function at an instant. Raises SolveError where it fails or gives no number."""
        label = self.name if self.latch >= 0 else f"event {self.name!r}"
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
    """The events that the latches of a formulation's system wait for, in its discrete state."""
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
    """The formulation with latches switched at a state, the coordinates and velocities after it, and the energy (J)
    that each of the latches took.

    Of latches that engage together one may take less than nothing: what another one's impulse has put into its motion.
    """
    system = form.system
    discrete = system.discrete
    q, v = (each[0] for each in form.to_system(q[None], v[None]))
    engaged, held = discrete.engaged.copy(), discrete.held.copy()
    coordinates = system.joint_motion(q, v)[0]
    for k in latches:
        engaged[k] = 1.0 - engaged[k]
        held[k] = coordinates[system.layout.latches[k].coordinate]
    other = form.with_discrete(replace(discrete, engaged=engaged, held=held))
    system = other.system
    u, before = system.inputs_at(t, q, v), v
    q, v = projected(system, u, q, v)
    losses = _taken(system, u, q, before, v)[[system.layout.row_c[system.layout.latches[k].row] for k in latches]]
    return other, *other.from_system(q, v), losses


def _taken(system: System, u: Floats, q: Floats, before: Floats, after: Floats) -> Floats:
    """(n_c,) J: what the impulse of each row takes from the motion in the jump from v before to v after."""
    n_v, x = system.n_v, np.zeros(system.n_v + system.n_c)
    x[n_v:] = -system.constraint_rates(u[None], q[None], before[None])[0]
    impulses = least_multipliers(system, u, q, mass_factors(system, u, q).solve(x)[n_v:])
    result: Floats = impulses * (system.jacobian(u, q) @ (0.5 * (before + after)))
    return result

"""Latching: the events of latches, and what happens to the motion at one.

When a latch engages, velocities jump by the smallest change, weighted with the mass M, that the constraints allow:

    [ M  J^T ] [ v+ - v- ]   [            0           ]
    [ J   0  ] [    p    ] = [ -(J v- + Phi_t) ],

p being the impulses of the joints. Between bodies they are internal, so that momentum is kept; the kinetic energy lost
is that of v+ - v-. Source: docs/theory/constraints.md, section 7.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from femb.batch import raised
from femb.checks import as_numbers, shown
from femb.constraints import projected
from femb.errors import FembError, SolveError
from femb.types import Floats


@dataclass(frozen=True)
class Event:
    """A function of (t, state) whose zero is looked for; ``direction`` 1 or -1 takes rising or falling zeros only.

    A terminal event ends the run there. Two zeros within an eighth of a step may be missed: limit ``max_step``.
    """

    name: str
    function: Callable[[float, Any], float]
    terminal: bool = True
    direction: int = 0
    latch: int = -1

    def value(self, t: float, state: Any) -> float:
        """The function at an instant. Raises SolveError where it fails or gives no number."""
        label = self.name if self.latch >= 0 else f"event {self.name!r}"
        try:
            found = self.function(t, state)
        except FembError:
            raise
        except Exception as error:
            raise SolveError(str(raised(label, t, error))) from error
        if isinstance(found, float) and found == found:
            return float(found)
        number = as_numbers(found)
        if number is None or number.size != 1 or np.isnan(number).any():
            raise SolveError(
                f"{label}: got {shown(found)} at t = {t:.6g} s, wanted a number that passes through zero where the "
                "event is; for a condition such as x > 1 give the difference, x - 1"
            )
        return float(number.reshape(-1)[0])


def latch_events(form: Any) -> tuple[Event, ...]:
    """The events that the latches of a formulation's system wait for, in its discrete state."""
    found, system = [], form.velocity_form
    for k, latch in enumerate(system.layout.latches):
        item, engaged = latch.item, bool(system.discrete.engaged[k])
        if engaged == item.engaged:
            found.append(Event(f"latches.{item.name}", _function(latch), False, item.direction, k))
    return tuple(found)


def _function(latch: Any) -> Callable[[float, Any], float]:
    item = latch.item
    if item.when is not None:
        return item.when
    if item.time is not None:
        return lambda t, state: t - item.time
    return lambda t, state: state.coordinates[latch.coordinate] - item.at


def switched(form: Any, latches: list[int], t: float, q: Floats, v: Floats) -> tuple[Any, Floats, Floats, float]:
    """The formulation with latches switched at a state, the coordinates and velocities after it, and the energy lost
    (J)."""
    system = form.velocity_form
    discrete = system.discrete
    q, v = (each[0] for each in form.configuration(q[None], v[None]))
    engaged, held = discrete.engaged.copy(), discrete.held.copy()
    coordinates = system.joint_motion(q, v)[0]
    for k in latches:
        engaged[k] = 1.0 - engaged[k]
        held[k] = coordinates[system.layout.latches[k].coordinate]
    other = form.with_discrete(replace(discrete, engaged=engaged, held=held))
    system = other.velocity_form
    before = system.energy_momentum(q[None], v[None])[0, 0]
    u = system.inputs_at(t, q, v)
    q, v = projected(system, u, q, v)
    loss = before - system.energy_momentum(q[None], v[None])[0, 0]
    return other, *other.from_configuration(q, v), float(loss)

"""Hinges that drivers and engaged latches hold: which, and how they move."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.system.system import System


@dataclass(frozen=True)
class Held:
    """A hinge (its number), and what holds it: an input of value, rate and second derivative at ``place`` in u, or,
    where that is negative, a latch at ``value``."""

    hinge: int
    name: str
    place: int = -1
    value: float = 0.0

    def motion(self, u: Floats) -> Any:
        """(3,): value, rate and second derivative, for inputs u (n_u,)."""
        return u[self.place : self.place + 3] if self.place >= 0 else (self.value, 0.0, 0.0)


def held_hinges(system: System, hinge_of: Any) -> list[Held]:
    """Of a System in its discrete state; hinge_of (m,) is the hinge of every joint coordinate.

    A hinge that several latches hold is held once. Raises ModelError for a latch on a driven hinge.
    """
    layout = system.layout
    places, at = {}, 0
    for input_ in system.inputs:
        places[id(input_)], at = at, at + input_.width
    found: dict[int, Held] = {}
    for name, driver in layout.drivers.items():
        hinge = int(hinge_of[driver.coordinate])
        found[hinge] = Held(hinge, f"drivers.{name}", place=places[id(driver.inputs[0])])
    for latch, engaged, value in zip(layout.latches, system.discrete.engaged, system.discrete.held, strict=True):
        hinge = int(hinge_of[latch.coordinate])
        if hinge in found and found[hinge].place >= 0:
            raise ModelError.at(
                ("run", "formulation"),
                f"'hamiltonian' drives a hinge or latches it, got {found[hinge].name} and latches.{latch.item.name} on "
                "the same one; leave one out, or use 'velocity'",
            )
        if engaged:
            found.setdefault(hinge, Held(hinge, f"latches.{latch.item.name}", value=float(value)))
    return list(found.values())


def motions(held: list[Held], u: Floats) -> Floats:
    """(n, 3): value, rate and second derivative of each."""
    return np.array([each.motion(u) for each in held], dtype=float).reshape(-1, 3)

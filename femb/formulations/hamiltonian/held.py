"""Driven hinges: hinges whose motion a driver or an engaged latch prescribes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.system.system import System


@dataclass(frozen=True)
class DrivenHinge:
    """A driven hinge (its number) and the name of its driver or latch. first_input : index in u of its value, rate and
    second derivative; negative for a latch, which keeps the hinge at ``value``."""

    hinge: int
    name: str
    first_input: int = -1
    value: float = 0.0

    def motion(self, u: Floats) -> Any:
        """Value, rate and second derivative (3,) for inputs u (n_u,)."""
        return u[self.first_input : self.first_input + 3] if self.first_input >= 0 else (self.value, 0.0, 0.0)


def driven_hinges(system: System, hinge_of: Any) -> list[DrivenHinge]:
    """The driven hinges of a System in its discrete state; hinge_of (m,) is the hinge of every joint coordinate.

    A hinge with several engaged latches is listed once. Raises ModelError for a hinge with a driver and a latch.
    """
    layout = system.layout
    first_input, n_u = {}, 0
    for input_ in system.inputs:
        first_input[id(input_)], n_u = n_u, n_u + input_.width
    driven: dict[int, DrivenHinge] = {}
    for name, driver in layout.drivers.items():
        hinge = int(hinge_of[driver.coordinate])
        driven[hinge] = DrivenHinge(hinge, f"drivers.{name}", first_input=first_input[id(driver.inputs[0])])
    for latch, engaged, value in zip(layout.latches, system.discrete.engaged, system.discrete.held, strict=True):
        hinge = int(hinge_of[latch.coordinate])
        if hinge in driven and driven[hinge].first_input >= 0:
            raise ModelError.at(
                ("run", "formulation"),
                f"'hamiltonian' drives a hinge or latches it, got {driven[hinge].name} and latches.{latch.item.name} "
                "on the same one; leave one out, or use 'velocity'",
            )
        if engaged:
            driven.setdefault(hinge, DrivenHinge(hinge, f"latches.{latch.item.name}", value=float(value)))
    return list(driven.values())


def prescribed_motions(hinges: list[DrivenHinge], u: Floats) -> Floats:
    """Value, rate and second derivative (n, 3) of n driven hinges for inputs u (n_u,)."""
    return np.array([hinge.motion(u) for hinge in hinges], dtype=float).reshape(-1, 3)

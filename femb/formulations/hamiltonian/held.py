"""Driven hinges: hinges whose motion a driver or an engaged latch prescribes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.formulations.transformed import refused
from femb.system.system import System


@dataclass(frozen=True)
class DrivenHinge:
    """A driven hinge (its number) and the name of its driver or latch. first_input : index in u of its value, rate and
    second derivative; negative for a latch, which keeps the hinge at ``value``."""

    hinge: int
    name: str
    first_input: int = -1
    value: float = 0.0


def driven_hinges(system: System, hinge_of: Any) -> list[DrivenHinge]:
    """The driven hinges of a System in its discrete state; hinge_of (m,) is the hinge of every joint coordinate.

    A hinge with several engaged latches is listed once. Raises ModelError for a hinge with a driver and a latch.
    """
    layout = system.layout
    first_input = {id(input_): part.start for input_, part in system.parts_of_inputs}
    driven: dict[int, DrivenHinge] = {}
    for name, driver in layout.drivers.items():
        hinge = int(hinge_of[driver.coordinate])
        driven[hinge] = DrivenHinge(hinge, f"drivers.{name}", first_input=first_input[id(driver.inputs[0])])
    for latch, engaged, value in zip(layout.latches, system.discrete.engaged, system.discrete.latched, strict=True):
        hinge = int(hinge_of[latch.coordinate])
        if hinge in driven and driven[hinge].first_input >= 0:
            raise refused(
                f"'hamiltonian' drives a hinge or latches it, got {driven[hinge].name} and latches.{latch.item.name} "
                "on the same one; leave one out, or use 'velocity'"
            )
        if engaged:
            driven.setdefault(hinge, DrivenHinge(hinge, f"latches.{latch.item.name}", value=float(value)))
    return list(driven.values())


def prescribed_motions(hinges: list[DrivenHinge], u: Floats) -> Floats:
    """Value, rate and second derivative (n, 3) of n driven hinges for inputs u (n_u,)."""
    motions = [u[h.first_input : h.first_input + 3] if h.first_input >= 0 else (h.value, 0.0, 0.0) for h in hinges]
    return np.array(motions, dtype=float).reshape(-1, 3)

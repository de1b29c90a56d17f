"""Formulations: the coordinates in which one System's equations are written and integrated.

A formulation shows a stepper the members of ``femb.formulations.contract``; "velocity" is the System itself. What is
not done in a formulation's own coordinates (output, reactions, events, latches) is done in the System's, ``system``:
``to_system(q, v)`` takes s states there, and ``from_system(q, v)`` takes one back. Adding a formulation is one file and
an entry in ``FORMULATIONS``, and its name in ``femb.base.options.FORMULATIONS``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from femb.formulations.contract import Formulation
    from femb.system.system import System


def _velocity(system: "System") -> "Formulation":
    return system


def _quaternion(system: "System") -> "Formulation":
    from femb.formulations.quaternion import QuaternionForm

    return QuaternionForm(system)


def _reduced(system: "System") -> "Formulation":
    from femb.formulations.reduced import ReducedForm

    return ReducedForm(system)


def _hamiltonian(system: "System") -> "Formulation":
    from femb.formulations.hamiltonian.momentum_form import MomentumForm

    return MomentumForm(system)


FORMULATIONS: "dict[str, Callable[[System], Formulation]]" = {
    "velocity": _velocity,
    "quaternion": _quaternion,
    "reduced": _reduced,
    "hamiltonian": _hamiltonian,
}


def make_formulation(system: "System", name: str) -> "Formulation":
    """The system in the coordinates of one of ``FORMULATIONS``. Raises ModelError where it cannot be written so."""
    return FORMULATIONS[name](system)

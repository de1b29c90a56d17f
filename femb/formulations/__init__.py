"""Formulations: the coordinates in which the equations of a System are written and integrated.

A formulation implements ``femb.formulations.contract``; "velocity" is the System itself. Output, reactions, events and
latches are evaluated in the coordinates of the System, ``system``: ``to_system(q, v)`` converts s states,
``from_system(q, v)`` converts one state back. A new formulation needs one file, an entry in ``FORMULATIONS`` and its
name in ``femb.base.options.FORMULATIONS``.
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
    """The system in the coordinates of one of ``FORMULATIONS``. Raises ModelError if it does not apply to the model."""
    return FORMULATIONS[name](system)

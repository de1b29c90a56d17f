"""Formulations: the coordinates in which the equations of a System are written and integrated.

A formulation implements ``femb.formulations.contract``; "velocity" is the System itself. Output, reactions, events and
latches are evaluated in the coordinates of the System, ``system``: ``to_system(q, v)`` converts s states,
``from_system(q, v)`` converts one state back. A new formulation needs one file, an entry in ``FORMULATIONS`` and its
name in ``femb.base.options.FORMULATIONS``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from femb.formulations.contract import Formulation
    from femb.system.system import System


FORMULATIONS = {
    "velocity": ("", ""),
    "quaternion": ("femb.formulations.quaternion", "QuaternionForm"),
    "reduced": ("femb.formulations.reduced.form", "ReducedForm"),
    "hamiltonian": ("femb.formulations.hamiltonian.momentum_form", "MomentumForm"),
}
"""Module and class of each formulation, imported on its first use; none for the System itself."""


def make_formulation(system: "System", name: str) -> "Formulation":
    """The system in the coordinates of one of ``FORMULATIONS``. Raises ModelError if it does not apply to the model."""
    module, kind = FORMULATIONS[name]
    form: Formulation = getattr(import_module(module), kind)(system) if module else system
    return form

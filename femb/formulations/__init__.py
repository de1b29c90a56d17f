"""Formulations: the coordinates in which one System's equations are written and integrated.

A formulation shows a stepper the interface of System (n_q, n_v, q0, v0, rates, acceleration, power, error_scale, ...);
"velocity" is the System itself. What is not done in a formulation's own coordinates (output, reactions, events,
latches) is done in the System's, ``velocity_form``: ``configuration(q, v)`` takes s states there, and
``from_configuration(q, v)`` takes one back. Adding a formulation is one file and one line here.
"""

from typing import Any


def make_formulation(system: Any, name: str) -> Any:
    """The system in the coordinates of a formulation of femb.base.options.FORMULATIONS."""
    if name == "quaternion":
        from femb.formulations.quaternion import QuaternionForm

        return QuaternionForm(system)
    if name == "hamiltonian":
        from femb.formulations.hamiltonian.momentum_form import MomentumForm

        return MomentumForm(system)
    if name == "reduced":
        from femb.formulations.reduced import ReducedForm

        return ReducedForm(system)
    return system

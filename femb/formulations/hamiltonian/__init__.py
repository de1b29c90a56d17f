"""Trees of rigid segments in hinge coordinates and momenta; docs/theory/hamiltonian.md.

Tree or TreeBuilder -> HamiltonianForm (y' = f(t, y)) -> femb.steppers.collocation or any other integrator
Model -> System -> MomentumForm, formulation "hamiltonian" -> the steppers of femb.steppers
"""

from femb.formulations.hamiltonian.actions import Drive, Functions, GeneralizedForce, Load, Potential, Quadratic
from femb.formulations.hamiltonian.builder import Hinge, TreeBuilder
from femb.formulations.hamiltonian.form import HamiltonianForm
from femb.formulations.hamiltonian.of_model import small_motion, tree_of
from femb.formulations.hamiltonian.small import SmallMotion, expanded_energy_matrix, linearise
from femb.formulations.hamiltonian.tree import Base, Tree

__all__ = [
    "Base",
    "Drive",
    "Functions",
    "GeneralizedForce",
    "HamiltonianForm",
    "Hinge",
    "Load",
    "Potential",
    "Quadratic",
    "SmallMotion",
    "Tree",
    "TreeBuilder",
    "expanded_energy_matrix",
    "linearise",
    "small_motion",
    "tree_of",
]

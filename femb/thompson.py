"""Matrices of the equations of motion, for methods of one's own: trees of joints, energy forms, blocks of an aircraft.

The forms of Thompson and others; docs/theory has them. What most users need is in ``femb`` itself.
"""

from femb.formulations.hamiltonian.of_model import EnergyMatrix, SmallMotion, energy_matrix, small_motion
from femb.formulations.reduced.matrices import JointMatrices, ReducedMatrices, joint_matrices, reduced_matrices
from femb.formulations.tree_frame import Root
from femb.linear.modal_model import gyroscopic_force, mass_derivative
from femb.linear.report import NineBlocks, nine_blocks
from femb.numerics.euler import lock_angles
from femb.run.relative_kinematics import RelativeKinematics, RelativeState, relative_kinematics

__all__ = [
    "EnergyMatrix",
    "JointMatrices",
    "NineBlocks",
    "ReducedMatrices",
    "RelativeKinematics",
    "RelativeState",
    "Root",
    "SmallMotion",
    "energy_matrix",
    "gyroscopic_force",
    "joint_matrices",
    "lock_angles",
    "mass_derivative",
    "nine_blocks",
    "reduced_matrices",
    "relative_kinematics",
    "small_motion",
]

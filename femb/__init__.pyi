"""The public names of femb and their modules, for type checkers and for femb, which imports a name on its first use.

A star stands for all names of a module. Source: Scientific Python, SPEC 1, lazy loading of submodules and functions.
"""

from femb.analysis.compare import compare as compare
from femb.analysis.differences import differences as differences
from femb.analysis.events import Event as Event
from femb.analysis.inverse import inverse as inverse
from femb.analysis.linear import OperatingPoint as OperatingPoint
from femb.analysis.linear import Periodic as Periodic
from femb.analysis.linear import StateSpace as StateSpace
from femb.analysis.linear import linearize as linearize
from femb.analysis.linear import multiblade as multiblade
from femb.analysis.linear import operating_point as operating_point
from femb.analysis.linear import periodic as periodic
from femb.analysis.linear import trim as trim
from femb.analysis.linear.aircraft import NineBlocks as NineBlocks
from femb.analysis.linear.aircraft import nine_blocks as nine_blocks
from femb.analysis.modal import ModalModel as ModalModel
from femb.analysis.modal import modal_model as modal_model
from femb.analysis.modes import HybridCoordinates as HybridCoordinates
from femb.analysis.modes import Modes as Modes
from femb.analysis.modes import ModeSweep as ModeSweep
from femb.analysis.modes import Participation as Participation
from femb.analysis.modes import mode_sweep as mode_sweep
from femb.analysis.modes import modes as modes
from femb.analysis.relative_kinematics import RelativeKinematics as RelativeKinematics
from femb.analysis.relative_kinematics import relative_kinematics as relative_kinematics
from femb.analysis.simulate import simulate as simulate
from femb.analysis.static import static as static
from femb.analysis.static_results import StaticResults as StaticResults
from femb.base.errors import FembError as FembError
from femb.base.errors import FembWarning as FembWarning
from femb.base.errors import ModelError as ModelError
from femb.base.errors import ResultError as ResultError
from femb.base.errors import SolveError as SolveError
from femb.base.options import Run as Run
from femb.base.options import Tolerances as Tolerances
from femb.case import load_case as load_case
from femb.case.json_schema import schema as schema
from femb.elements.catalogue import *  # noqa: F403
from femb.export.catalogue import *  # noqa: F403
from femb.export.plots import animate as animate
from femb.export.plots import picture as picture
from femb.export.plots import plot as plot
from femb.formulations.hamiltonian.energy import EnergyMatrix as EnergyMatrix
from femb.formulations.hamiltonian.energy import energy_matrix as energy_matrix
from femb.formulations.hamiltonian.of_model import small_motion as small_motion
from femb.formulations.hamiltonian.small import SmallMotion as SmallMotion
from femb.formulations.reduced.matrices import JointMatrices as JointMatrices
from femb.formulations.reduced.matrices import ReducedMatrices as ReducedMatrices
from femb.formulations.reduced.matrices import joint_matrices as joint_matrices
from femb.formulations.reduced.matrices import reduced_matrices as reduced_matrices
from femb.formulations.relative_state import RelativeState as RelativeState
from femb.formulations.tree_frame import Root as Root
from femb.model.figure import Figure as Figure
from femb.model.model import Model as Model
from femb.numerics.euler import lock_angles as lock_angles
from femb.results.results import Results as Results
from femb.system.inertia_tensor import gyroscopic_force as gyroscopic_force
from femb.system.inertia_tensor import mass_derivative as mass_derivative
from femb.system.system import System as System

__version__: str

"""femb: rigid-flexible multibody dynamics - satellites with booms, rotors and mechanisms.

``Model`` and the elements describe; ``simulate`` integrates; ``Results`` holds arrays by name.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # What type checkers see of the names that are imported on first use.
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
    from femb.analysis.relative_kinematics import RelativeKinematics as RelativeKinematics
    from femb.analysis.relative_kinematics import relative_kinematics as relative_kinematics
    from femb.analysis.simulate import simulate as simulate
    from femb.base.errors import FembError as FembError
    from femb.base.errors import FembWarning as FembWarning
    from femb.base.errors import ModelError as ModelError
    from femb.base.errors import ResultError as ResultError
    from femb.base.errors import SolveError as SolveError
    from femb.base.options import Run as Run
    from femb.base.options import Tolerances as Tolerances
    from femb.case import load_case as load_case
    from femb.case.json_schema import schema as schema
    from femb.elements import AerodynamicLoad as AerodynamicLoad
    from femb.elements import Airload as Airload
    from femb.elements import Attachment as Attachment
    from femb.elements import Beam as Beam
    from femb.elements import Components as Components
    from femb.elements import Cylindrical as Cylindrical
    from femb.elements import Distance as Distance
    from femb.elements import DistanceDriver as DistanceDriver
    from femb.elements import DistributedLoad as DistributedLoad
    from femb.elements import EulerSpringDamper as EulerSpringDamper
    from femb.elements import Fixed as Fixed
    from femb.elements import Ground as Ground
    from femb.elements import JointDriver as JointDriver
    from femb.elements import JointEnd as JointEnd
    from femb.elements import JointFriction as JointFriction
    from femb.elements import JointMotor as JointMotor
    from femb.elements import JointSpringDamper as JointSpringDamper
    from femb.elements import JointStops as JointStops
    from femb.elements import Load as Load
    from femb.elements import OrientationDriver as OrientationDriver
    from femb.elements import Parallel as Parallel
    from femb.elements import Path as Path
    from femb.elements import Perpendicular as Perpendicular
    from femb.elements import Place as Place
    from femb.elements import Planar as Planar
    from femb.elements import PointMass as PointMass
    from femb.elements import PointOnLine as PointOnLine
    from femb.elements import PointOnPlane as PointOnPlane
    from femb.elements import PositionDriver as PositionDriver
    from femb.elements import Prismatic as Prismatic
    from femb.elements import Pull as Pull
    from femb.elements import Revolute as Revolute
    from femb.elements import RigidBody as RigidBody
    from femb.elements import Section as Section
    from femb.elements import Spherical as Spherical
    from femb.elements import SpringDamper as SpringDamper
    from femb.elements import SpringEnd as SpringEnd
    from femb.elements import ThermalLoad as ThermalLoad
    from femb.elements import TorsionSpringDamper as TorsionSpringDamper
    from femb.elements import Universal as Universal
    from femb.export import export_csv as export_csv
    from femb.export import export_vtu as export_vtu
    from femb.export import export_xdmf as export_xdmf
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

__version__ = "0.1.0"

# Imported on first use, so that `import femb` costs next to nothing.
_HOMES = {
    "Model": "femb.model.model",
    "Run": "femb.base.options",
    "Tolerances": "femb.base.options",
    "Results": "femb.results.results",
    "simulate": "femb.analysis.simulate",
    "lock_angles": "femb.numerics.euler",
    "inverse": "femb.analysis.inverse",
    "compare": "femb.analysis.compare",
    "load_case": "femb.case",
    "schema": "femb.case.json_schema",
    "ModalModel": "femb.analysis.modal",
    "modal_model": "femb.analysis.modal",
    "mass_derivative": "femb.system.inertia_tensor",
    "JointMatrices": "femb.formulations.reduced.matrices",
    "ReducedMatrices": "femb.formulations.reduced.matrices",
    "joint_matrices": "femb.formulations.reduced.matrices",
    "reduced_matrices": "femb.formulations.reduced.matrices",
    "EnergyMatrix": "femb.formulations.hamiltonian.energy",
    "energy_matrix": "femb.formulations.hamiltonian.energy",
    "SmallMotion": "femb.formulations.hamiltonian.small",
    "small_motion": "femb.formulations.hamiltonian.of_model",
    "NineBlocks": "femb.analysis.linear.aircraft",
    "nine_blocks": "femb.analysis.linear.aircraft",
    "Root": "femb.formulations.tree_frame",
    "RelativeKinematics": "femb.analysis.relative_kinematics",
    "RelativeState": "femb.formulations.relative_state",
    "relative_kinematics": "femb.analysis.relative_kinematics",
    "gyroscopic_force": "femb.system.inertia_tensor",
    "Figure": "femb.model.figure",
    "AerodynamicLoad": "femb.elements",
    "Airload": "femb.elements",
    "Attachment": "femb.elements",
    "Beam": "femb.elements",
    "DistributedLoad": "femb.elements",
    "Ground": "femb.elements",
    "JointDriver": "femb.elements",
    "DistanceDriver": "femb.elements",
    "PositionDriver": "femb.elements",
    "OrientationDriver": "femb.elements",
    "Load": "femb.elements",
    "Path": "femb.elements",
    "Place": "femb.elements",
    "PointMass": "femb.elements",
    "Pull": "femb.elements",
    "RigidBody": "femb.elements",
    "Section": "femb.elements",
    "SpringDamper": "femb.elements",
    "SpringEnd": "femb.elements",
    "ThermalLoad": "femb.elements",
    "TorsionSpringDamper": "femb.elements",
    "EulerSpringDamper": "femb.elements",
    "JointEnd": "femb.elements",
    "Revolute": "femb.elements",
    "Spherical": "femb.elements",
    "Universal": "femb.elements",
    "Cylindrical": "femb.elements",
    "Prismatic": "femb.elements",
    "Planar": "femb.elements",
    "Fixed": "femb.elements",
    "Distance": "femb.elements",
    "Parallel": "femb.elements",
    "Perpendicular": "femb.elements",
    "PointOnLine": "femb.elements",
    "PointOnPlane": "femb.elements",
    "Components": "femb.elements",
    "JointSpringDamper": "femb.elements",
    "JointFriction": "femb.elements",
    "JointStops": "femb.elements",
    "JointMotor": "femb.elements",
    "FembError": "femb.base.errors",
    "FembWarning": "femb.base.errors",
    "ModelError": "femb.base.errors",
    "ResultError": "femb.base.errors",
    "SolveError": "femb.base.errors",
    "System": "femb.system.system",
    "Event": "femb.analysis.events",
    "linearize": "femb.analysis.linear",
    "trim": "femb.analysis.linear",
    "multiblade": "femb.analysis.linear",
    "operating_point": "femb.analysis.linear",
    "periodic": "femb.analysis.linear",
    "OperatingPoint": "femb.analysis.linear",
    "Periodic": "femb.analysis.linear",
    "StateSpace": "femb.analysis.linear",
    "plot": "femb.export.plots",
    "picture": "femb.export.plots",
    "animate": "femb.export.plots",
    "export_vtu": "femb.export",
    "export_xdmf": "femb.export",
    "export_csv": "femb.export",
    "differences": "femb.analysis.differences",
}

if not TYPE_CHECKING:
    # Not for type checkers, which would take a misspelt name for one of these.
    __all__ = sorted(_HOMES)

    # What other programs and the sources call a class.
    _OTHER_NAMES = {
        "Hinge": "Revolute",
        "Ball": "Spherical",
        "Hooke": "Universal",
        "Cardan": "Universal",
        "Translational": "Prismatic",
        "Weld": "Fixed",
        "Rod": "Distance",
        "DoubleSpherical": "Distance",
        "Dot1": "Perpendicular",
        "Dot2": "PointOnPlane",
    }

    def __getattr__(name):
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in _OTHER_NAMES:
            raise AttributeError(f"module 'femb' has no attribute {name!r}; did you mean {_OTHER_NAMES[name]!r}?")
        raise AttributeError(f"module 'femb' has no attribute {name!r}; it has {', '.join(__all__)}")

    def __dir__():
        return [*__all__, "__version__"]

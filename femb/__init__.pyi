"""The public names of femb and their modules, for type checkers and for femb, which imports a name on its first use.

A star stands for all names of a module. Source: Scientific Python, SPEC 1, lazy loading of submodules and functions.
"""

from femb import elements as elements
from femb import fem as fem
from femb import handover as handover
from femb import profiles as profiles
from femb import thompson as thompson
from femb.base.errors import FembError as FembError
from femb.base.errors import FembWarning as FembWarning
from femb.base.errors import ModelError as ModelError
from femb.base.errors import ResultError as ResultError
from femb.base.errors import SolveError as SolveError
from femb.base.options import Output as Output
from femb.base.options import Run as Run
from femb.base.options import StartState as StartState
from femb.base.options import Tolerances as Tolerances
from femb.case import load_case as load_case
from femb.case.json_schema import schema as schema
from femb.elements.beam.laminate import MATERIALS as MATERIALS
from femb.elements.beam.laminate import PLY_MATERIALS as PLY_MATERIALS
from femb.elements.beam.section import SectionTable as SectionTable
from femb.elements.beam.section import read_sections as read_sections
from femb.elements.catalogue import *  # noqa: F403
from femb.elements.control.linear_law import LinearLaw as LinearLaw
from femb.elements.environment.orbital_frame import orbital_frame as orbital_frame
from femb.elements.registry import register as register
from femb.export.catalogue import *  # noqa: F403
from femb.layout.element import Differentiated as Differentiated
from femb.linear import FrequencyResponse as FrequencyResponse
from femb.linear import OperatingPoint as OperatingPoint
from femb.linear import Periodic as Periodic
from femb.linear import StateSpace as StateSpace
from femb.linear import linearize as linearize
from femb.linear import linearize_structure as linearize_structure
from femb.linear import operating_point as operating_point
from femb.linear.base_shake import shake as shake
from femb.linear.design import StateFeedback as StateFeedback
from femb.linear.design import h2 as h2
from femb.linear.design import lqr as lqr
from femb.linear.linearise import loop as loop
from femb.linear.loop import Loop as Loop
from femb.linear.modal_model import ModalModel as ModalModel
from femb.linear.modal_model import modal_model as modal_model
from femb.linear.model import LinearModel as LinearModel
from femb.linear.model import linear_model as linear_model
from femb.linear.peak_loads import PeakLoads as PeakLoads
from femb.linear.peak_loads import peak_loads as peak_loads
from femb.linear.shaper import Shaper as Shaper
from femb.linear.shaper import shaper as shaper
from femb.model.model import Figure as Figure
from femb.model.model import Model as Model
from femb.pictures.animation import animate as animate
from femb.pictures.figures import figure as figure
from femb.pictures.figures import plot as plot
from femb.pictures.picture import picture as picture
from femb.reporting.report import report as report
from femb.reporting.report import show as show
from femb.results.pointing import Pointing as Pointing
from femb.results.pointing import pointing as pointing
from femb.results.results import Results as Results
from femb.results.sobol import SobolIndices as SobolIndices
from femb.results.sobol import sobol_indices as sobol_indices
from femb.results.sweep import Sweep as Sweep
from femb.robust.uncertain import Uncertain as Uncertain
from femb.robust.uncertain import uncertain as uncertain
from femb.run.compare import compare as compare
from femb.run.compare import differences as differences
from femb.run.events import Event as Event
from femb.run.inverse import inverse as inverse
from femb.run.simulate import simulate as simulate
from femb.run.static import StaticResults as StaticResults
from femb.run.static import static as static
from femb.study.ensemble import Ensemble as Ensemble
from femb.study.ensemble import simulate_ensemble as simulate_ensemble
from femb.study.sensitivity import Sensitivities as Sensitivities
from femb.study.sensitivity import sensitivities as sensitivities
from femb.study.study import Study as Study
from femb.study.sweep import optimize as optimize
from femb.study.sweep import sweep as sweep
from femb.system.system import System as System
from femb.vibration.completion import completed as completed
from femb.vibration.mode_sweep import ModeSweep as ModeSweep
from femb.vibration.mode_sweep import mode_sweep as mode_sweep
from femb.vibration.modes import Modes as Modes
from femb.vibration.modes import modes as modes
from femb.vibration.participation import ModalMotion as ModalMotion
from femb.vibration.participation import Participation as Participation
from femb.vibration.participation import base_motion as base_motion
from femb.vibration.participation import quasi_static as quasi_static

__version__: str
from femb.linear import multiblade as multiblade
from femb.linear import periodic as periodic
from femb.linear import trim as trim

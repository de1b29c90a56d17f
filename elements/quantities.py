"""The quantities of the items of a table, where they stand in a file of their own: results are read with these alone.

A line has the table after it. Of a table without a line the classes of its items are imported, which declare their
quantities (``Item.results``); tests/results/test_without_dynamics.py compares both.
"""

# ruff: isort: skip_file

from femb.elements.beam.results import BeamResults as BeamResults  # beams
from femb.elements.body.results import BodyResults as BodyResults  # bodies
from femb.elements.control.results import ControllerResults as ControllerResults  # controllers
from femb.elements.control.results import SensorResults as SensorResults  # sensors
from femb.elements.force_results import FieldResults as FieldResults  # fields
from femb.elements.force_results import AtmosphereResults as AtmosphereResults  # fields
from femb.elements.joint.results import DriverResults as DriverResults  # drivers
from femb.elements.joint.results import CouplingResults as CouplingResults  # couplings
from femb.elements.joint.results import JointResults as JointResults  # joints
from femb.elements.shell.results import HingeResults as HingeResults  # hinges
from femb.elements.shell.results import ShellResults as ShellResults  # shells
from femb.elements.force_results import LoadResults as LoadResults  # loads
from femb.elements.joint.results import StepperResults as StepperResults  # loads
from femb.elements.force_results import SpringResults as SpringResults  # springs
from femb.elements.joint.results import CurveResults as CurveResults  # springs
from femb.elements.force_results import ModalDampingResults as ModalDampingResults  # modal_damping

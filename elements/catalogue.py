"""The catalogue of elements: the classes of all items, and of the parts of their descriptions.

A new element, joint or load needs one file and one line here. Case files, the schema, messages, ``femb.NAME`` and
``femb.elements.NAME`` follow from these lines; the word in a case file is the ``kind`` of the class. The equations
have the same order. The first class of a table is the default of its ``kind``.
"""

# ruff: isort: skip_file

from femb.elements.body.rigid_body import RigidBody as RigidBody
from femb.elements.body.point_mass import PointMass as PointMass
from femb.elements.body.ground import Ground as Ground
from femb.elements.modal.flexible_body import FlexibleBody as FlexibleBody
from femb.elements.modal.flexible_body import Interface as Interface

from femb.elements.beam.section import Section as Section
from femb.elements.beam.beam import Beam as Beam
from femb.elements.exact.beam import ExactBeam as ExactBeam

from femb.elements.shell.shell import ShellPoint as ShellPoint
from femb.elements.shell.shell import Shell as Shell

from femb.elements.joint.kinds import Revolute as Revolute
from femb.elements.joint.kinds import Spherical as Spherical
from femb.elements.joint.kinds import Universal as Universal
from femb.elements.joint.kinds import Cylindrical as Cylindrical
from femb.elements.joint.kinds import Prismatic as Prismatic
from femb.elements.joint.kinds import Planar as Planar
from femb.elements.joint.kinds import Fixed as Fixed
from femb.elements.joint.kinds import Distance as Distance
from femb.elements.joint.kinds import Parallel as Parallel
from femb.elements.joint.kinds import Perpendicular as Perpendicular
from femb.elements.joint.kinds import PointOnLine as PointOnLine
from femb.elements.joint.kinds import PointOnPlane as PointOnPlane
from femb.elements.joint.components import Components as Components

from femb.elements.joint.driver_joint import JointDriver as JointDriver
from femb.elements.joint.driver import DistanceDriver as DistanceDriver
from femb.elements.joint.driver import PositionDriver as PositionDriver
from femb.elements.joint.driver_orientation import OrientationDriver as OrientationDriver
from femb.elements.joint.latch import Latch as Latch

from femb.elements.body.tank import SloshingTank as SloshingTank

from femb.elements.load.load import Load as Load
from femb.elements.spring.pull import Pull as Pull
from femb.elements.load.line_load import DistributedLoad as DistributedLoad
from femb.elements.shell.load import SurfaceLoad as SurfaceLoad
from femb.elements.load.drag import Drag as Drag
from femb.elements.load.thermal import ThermalLoad as ThermalLoad
from femb.elements.load.gravity_gradient import GravityGradient as GravityGradient
from femb.elements.joint.motor import JointMotor as JointMotor
from femb.elements.joint.stepper import StepperMotor as StepperMotor
from femb.elements.load.aerodynamic import AerodynamicLoad as AerodynamicLoad
from femb.elements.load.orbit import Orbit as Orbit
from femb.elements.load.plate import SolarPressure as SolarPressure
from femb.elements.load.plate import PlateDrag as PlateDrag

from femb.elements.actuator.thruster import Thruster as Thruster
from femb.elements.actuator.magnetic_torquer import MagneticTorquer as MagneticTorquer
from femb.elements.environment.field import DipoleField as DipoleField
from femb.elements.environment.field import UniformField as UniformField

from femb.elements.spring.point import SpringDamper as SpringDamper
from femb.elements.spring.torsion import TorsionSpringDamper as TorsionSpringDamper
from femb.elements.spring.euler import EulerSpringDamper as EulerSpringDamper
from femb.elements.joint.spring import JointSpringDamper as JointSpringDamper
from femb.elements.joint.friction import JointFriction as JointFriction
from femb.elements.joint.stops import JointStops as JointStops
from femb.elements.joint.curve import JointCurve as JointCurve

from femb.elements.spring.modal_damping import ModalDamping as ModalDamping

from femb.elements.wheel.reaction_wheel import ReactionWheel as ReactionWheel
from femb.elements.wheel.control_moment_gyro import ControlMomentGyro as ControlMomentGyro

from femb.elements.control.sensors import AttitudeSensor as AttitudeSensor
from femb.elements.control.sensors import StarTracker as StarTracker
from femb.elements.control.sensors import Gyro as Gyro
from femb.elements.control.sensors import Accelerometer as Accelerometer
from femb.elements.control.sensors import PositionSensor as PositionSensor
from femb.elements.control.sensors import SunSensor as SunSensor
from femb.elements.control.sensors import Magnetometer as Magnetometer
from femb.elements.control.sensors import Encoder as Encoder
from femb.elements.control.sensors import Tachometer as Tachometer
from femb.elements.control.sensors import WheelSpeedSensor as WheelSpeedSensor
from femb.elements.control.strain import StrainGauge as StrainGauge

from femb.elements.control.laws import PDController as PDController
from femb.elements.control.laws import PIDController as PIDController
from femb.elements.control.laws import LinearController as LinearController
from femb.elements.control.laws import FilterController as FilterController
from femb.elements.control.function import SampledController as SampledController

# Parts of descriptions, which are not items.
from femb.elements.control.reference import AttitudeReference as AttitudeReference
from femb.elements.beam.shape import Path as Path
from femb.elements.beam.laminate import Ply as Ply
from femb.elements.beam.laminate import Material as Material
from femb.elements.joint.stepper import DriveHarmonic as DriveHarmonic
from femb.elements.joint.curve import Snap as Snap
from femb.elements.load.airload import Airload as Airload
from femb.elements.wheel.control_moment_gyro import Gimbal as Gimbal
from femb.elements.wheel.reaction_wheel import WheelHarmonic as WheelHarmonic
from femb.elements.marker import Attachment as Attachment
from femb.elements.marker import JointEnd as JointEnd
from femb.elements.marker import Place as Place
from femb.elements.marker import SpringEnd as SpringEnd

"""The catalogue of elements: the classes of all items, and of the parts of their descriptions.

A new element, joint or load needs one file and one line here, with its table and its word in case files, so that a
class is imported when a model has such an item. Case files, the schema, messages, ``femb.NAME`` and
``femb.elements.NAME`` follow from these lines. The equations have the same order. The first class of a table is the
default of its ``kind``. A line with a table alone is of items that other items make. What a table is stands above its
first class.
"""

# ruff: isort: skip_file

# bodies: Rigid bodies, point masses and frames that do not move
from femb.elements.body.body import RigidBody as RigidBody  # bodies.rigid
from femb.elements.body.body import PointMass as PointMass  # bodies.point_mass
from femb.elements.body.body import Ground as Ground  # bodies.ground
from femb.elements.modal.flexible_body import FlexibleBody as FlexibleBody  # bodies.modal
from femb.elements.modal.flexible_body import Interface as Interface  # bodies

# sections: Cross-sections of beams
from femb.elements.beam.section import Section as Section  # sections.section

# beams: Flexible beams
from femb.elements.beam.beam import Beam as Beam  # beams.beam
from femb.elements.exact.beam import ExactBeam as ExactBeam  # beams.exact

from femb.elements.shell.attachment import ShellPoint as ShellPoint  # bodies

# shells: Shells: panels, dishes, tapes and membranes
from femb.elements.shell.shell import Shell as Shell  # shells.shell

# hinges: Lines of hinges along edges of shells
from femb.elements.shell.hinge import HingeLine as HingeLine  # hinges.hinge

# joints: Joints between bodies and beam nodes
from femb.elements.joint.joint import Revolute as Revolute  # joints.revolute
from femb.elements.joint.joint import Spherical as Spherical  # joints.spherical
from femb.elements.joint.joint import Universal as Universal  # joints.universal
from femb.elements.joint.joint import Cylindrical as Cylindrical  # joints.cylindrical
from femb.elements.joint.joint import Prismatic as Prismatic  # joints.prismatic
from femb.elements.joint.joint import Planar as Planar  # joints.planar
from femb.elements.joint.joint import Fixed as Fixed  # joints.fixed
from femb.elements.joint.joint import Distance as Distance  # joints.distance
from femb.elements.joint.joint import Parallel as Parallel  # joints.parallel
from femb.elements.joint.joint import Perpendicular as Perpendicular  # joints.perpendicular
from femb.elements.joint.joint import PointOnLine as PointOnLine  # joints.point_on_line
from femb.elements.joint.joint import PointOnPlane as PointOnPlane  # joints.point_on_plane
from femb.elements.joint.joint import Components as Components  # joints.components

# drivers: Prescribed motions
from femb.elements.joint.driver import JointDriver as JointDriver  # drivers.joint
from femb.elements.joint.driver import DistanceDriver as DistanceDriver  # drivers.distance
from femb.elements.joint.driver import PositionDriver as PositionDriver  # drivers.position
from femb.elements.joint.driver import OrientationDriver as OrientationDriver  # drivers.orientation

# latches: Latches of joints
from femb.elements.joint.latch import Latch as Latch  # latches.latch

# couplings: Gears, racks, screws and other relations of coordinates of joints
from femb.elements.joint.coupling import Gear as Gear  # couplings.gear
from femb.elements.joint.coupling import Rack as Rack  # couplings.rack
from femb.elements.joint.coupling import Screw as Screw  # couplings.screw
from femb.elements.joint.coupling import Worm as Worm  # couplings.worm
from femb.elements.joint.coupling import Differential as Differential  # couplings.differential
from femb.elements.joint.coupling import Planetary as Planetary  # couplings.planetary
from femb.elements.joint.coupling import Coupling as Coupling  # couplings.linear
from femb.elements.joint.coupling import TableCoupling as TableCoupling  # couplings.table
from femb.elements.joint.coupling import FunctionCoupling as FunctionCoupling  # couplings.python

from femb.elements.body.tank import TankRod as TankRod  # joints

# tanks: Tanks of liquid that sloshes
from femb.elements.body.tank import SloshingTank as SloshingTank  # tanks.cylinder

# loads: Forces and torques
from femb.elements.load.load import Load as Load  # loads.point
from femb.elements.spring.spring import Pull as Pull  # loads.pull
from femb.elements.load.line_load import DistributedLoad as DistributedLoad  # loads.distributed
from femb.elements.shell.load import SurfaceLoad as SurfaceLoad  # loads.surface
from femb.elements.load.line_load import Drag as Drag  # loads.drag
from femb.elements.load.line_load import ThermalLoad as ThermalLoad  # loads.thermal
from femb.elements.load.orbit import GravityGradient as GravityGradient  # loads.gravity_gradient
from femb.elements.joint.force import JointMotor as JointMotor  # loads.motor
from femb.elements.joint.stepper import StepperMotor as StepperMotor  # loads.stepper_motor
from femb.elements.modal.load import ModalLoad as ModalLoad  # loads.modal
from femb.elements.load.aerodynamic import AerodynamicLoad as AerodynamicLoad  # loads.aerodynamic
from femb.elements.load.orbit import Orbit as Orbit  # loads.orbit
from femb.elements.load.plate import SolarPressure as SolarPressure  # loads.solar_pressure
from femb.elements.load.plate import PlateDrag as PlateDrag  # loads.plate_drag

# thrusters: Thrusters
from femb.elements.actuator.thruster import Thruster as Thruster  # thrusters.thruster

# magnetic_torquers: Magnetic torquers
from femb.elements.actuator.torquer import MagneticTorquer as MagneticTorquer  # magnetic_torquers.magnetic_torquer

# fields: Magnetic fields and air of the surroundings
from femb.elements.environment.field import DipoleField as DipoleField  # fields.dipole
from femb.elements.environment.field import UniformField as UniformField  # fields.uniform
from femb.elements.environment.atmosphere import Atmosphere as Atmosphere  # fields.atmosphere

# springs: Springs, dashpots, friction and stops
from femb.elements.spring.spring import SpringDamper as SpringDamper  # springs.point
from femb.elements.spring.spring import TorsionSpringDamper as TorsionSpringDamper  # springs.torsion
from femb.elements.spring.spring import EulerSpringDamper as EulerSpringDamper  # springs.euler
from femb.elements.joint.force import JointSpringDamper as JointSpringDamper  # springs.joint
from femb.elements.joint.force import JointFriction as JointFriction  # springs.friction
from femb.elements.joint.force import JointStops as JointStops  # springs.stops
from femb.elements.joint.curve import JointCurve as JointCurve  # springs.curve
from femb.elements.spring.bearing import Bearing as Bearing  # springs.bearing

# modal_damping: Damping ratios of the modes of appendages
from femb.elements.spring.modal_damping import ModalDamping as ModalDamping  # modal_damping.modal_damping

# wheels: Wheels with motors
from femb.elements.wheel.reaction_wheel import ReactionWheel as ReactionWheel  # wheels.reaction
from femb.elements.wheel.control_moment_gyro import ControlMomentGyro as ControlMomentGyro  # wheels.control_moment

# rotors: Rotors that turn in a model at rest
from femb.elements.wheel.rotor import Rotor as Rotor  # rotors.rotor
from femb.elements.wheel.rotor import Unbalance as Unbalance

# sensors: Sensors
from femb.elements.control.sensors import AttitudeSensor as AttitudeSensor  # sensors.attitude
from femb.elements.control.sensors import StarTracker as StarTracker  # sensors.star_tracker
from femb.elements.control.sensors import Gyro as Gyro  # sensors.gyro
from femb.elements.control.sensors import Accelerometer as Accelerometer  # sensors.accelerometer
from femb.elements.control.sensors import PositionSensor as PositionSensor  # sensors.position
from femb.elements.control.sensors import SunSensor as SunSensor  # sensors.sun
from femb.elements.control.sensors import Magnetometer as Magnetometer  # sensors.magnetometer
from femb.elements.control.joint_sensors import Encoder as Encoder  # sensors.encoder
from femb.elements.control.joint_sensors import Tachometer as Tachometer  # sensors.tachometer
from femb.elements.control.joint_sensors import WheelSpeedSensor as WheelSpeedSensor  # sensors.wheel_speed
from femb.elements.control.strain import StrainGauge as StrainGauge  # sensors.strain

# controllers: Controllers
from femb.elements.control.pd import PDController as PDController  # controllers.pd
from femb.elements.control.pd import PIDController as PIDController  # controllers.pid
from femb.elements.control.laws import LinearController as LinearController  # controllers.state_space
from femb.elements.control.laws import FilterController as FilterController  # controllers.filter
from femb.elements.control.function import SampledController as SampledController  # controllers.python

# Parts of descriptions, which are not items.
from femb.elements.control.reference import AttitudeReference as AttitudeReference
from femb.elements.control.schedule import GainSchedule as GainSchedule
from femb.elements.beam.shape import Path as Path
from femb.elements.beam.laminate import Ply as Ply
from femb.elements.beam.laminate import Material as Material
from femb.elements.joint.relation import JointCoordinate as JointCoordinate
from femb.elements.joint.stepper import DriveHarmonic as DriveHarmonic
from femb.elements.joint.curve import Snap as Snap
from femb.elements.load.aerodynamic import Airload as Airload
from femb.elements.wheel.control_moment_gyro import Gimbal as Gimbal
from femb.elements.wheel.reaction_wheel import WheelHarmonic as WheelHarmonic
from femb.elements.marker import Attachment as Attachment
from femb.elements.marker import JointEnd as JointEnd
from femb.elements.marker import Place as Place
from femb.elements.marker import SpringEnd as SpringEnd

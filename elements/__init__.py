"""The element library: one physical thing a file; ``CATALOGUE`` is what a model may hold.

Adding an element is one file here and one line in the catalogue; see docs/howto/add_an_element.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from femb.elements.aerodynamic import AerodynamicLoad, Airload
from femb.elements.attachment import Attachment, Place
from femb.elements.beam import Beam
from femb.elements.beam_path import Path
from femb.elements.driver_joint import JointDriver
from femb.elements.driver_orientation import OrientationDriver
from femb.elements.driver_points import DistanceDriver, PositionDriver
from femb.elements.ground import Ground
from femb.elements.joint_end import JointEnd
from femb.elements.joint_friction import JointFriction
from femb.elements.joint_kinds import (
    JOINTS,
    Components,
    Cylindrical,
    Distance,
    Fixed,
    Parallel,
    Perpendicular,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from femb.elements.joint_motor import JointMotor
from femb.elements.joint_spring import JointSpringDamper
from femb.elements.joint_stops import JointStops
from femb.elements.latch import Latch
from femb.elements.line_load import DistributedLoad
from femb.elements.load import Load
from femb.elements.point_mass import PointMass
from femb.elements.pull import Pull
from femb.elements.rigid_body import RigidBody
from femb.elements.section import Section
from femb.elements.spring_end import SpringEnd
from femb.elements.spring_euler import EulerSpringDamper
from femb.elements.spring_point import SpringDamper
from femb.elements.spring_torsion import TorsionSpringDamper
from femb.elements.thermal import ThermalLoad

DRIVERS = (JointDriver, DistanceDriver, PositionDriver, OrientationDriver)
LOADS = (Load, Pull, DistributedLoad, ThermalLoad, JointMotor, AerodynamicLoad)
SPRINGS = (SpringDamper, TorsionSpringDamper, EulerSpringDamper, JointSpringDamper, JointFriction, JointStops)
CATALOGUE = (RigidBody, PointMass, Ground, Section, Beam, *JOINTS, *DRIVERS, Latch, *LOADS, *SPRINGS)

__all__ = [
    "CATALOGUE",
    "AerodynamicLoad",
    "Airload",
    "Attachment",
    "Beam",
    "Components",
    "Cylindrical",
    "Distance",
    "DistanceDriver",
    "DistributedLoad",
    "EulerSpringDamper",
    "Fixed",
    "Ground",
    "JointDriver",
    "JointEnd",
    "JointFriction",
    "JointMotor",
    "JointSpringDamper",
    "JointStops",
    "Latch",
    "Load",
    "OrientationDriver",
    "Parallel",
    "Path",
    "Perpendicular",
    "Place",
    "Planar",
    "PointMass",
    "PointOnLine",
    "PointOnPlane",
    "PositionDriver",
    "Prismatic",
    "Pull",
    "Revolute",
    "RigidBody",
    "Section",
    "Spherical",
    "SpringDamper",
    "SpringEnd",
    "ThermalLoad",
    "TorsionSpringDamper",
    "Universal",
]

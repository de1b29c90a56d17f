"""The element library: one physical thing a file; ``CATALOGUE`` is what a model may hold.

Adding an element is one file here and one line in the catalogue; see docs/howto/add_an_element.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from femb.elements.beam.beam import Beam
from femb.elements.beam.path import Path
from femb.elements.beam.section import Section
from femb.elements.body.ground import Ground
from femb.elements.body.point_mass import PointMass
from femb.elements.body.rigid_body import RigidBody
from femb.elements.item import Item
from femb.elements.joint.driver_joint import JointDriver
from femb.elements.joint.driver_orientation import OrientationDriver
from femb.elements.joint.driver_points import DistanceDriver, PositionDriver
from femb.elements.joint.friction import JointFriction
from femb.elements.joint.kinds import (
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
from femb.elements.joint.latch import Latch
from femb.elements.joint.motor import JointMotor
from femb.elements.joint.spring import JointSpringDamper
from femb.elements.joint.stops import JointStops
from femb.elements.load.aerodynamic import AerodynamicLoad
from femb.elements.load.airload import Airload
from femb.elements.load.line_load import DistributedLoad
from femb.elements.load.load import Load
from femb.elements.load.thermal import ThermalLoad
from femb.elements.marker import Attachment, JointEnd, Place, SpringEnd
from femb.elements.spring.euler import EulerSpringDamper
from femb.elements.spring.point import SpringDamper
from femb.elements.spring.pull import Pull
from femb.elements.spring.torsion import TorsionSpringDamper

BODIES = (RigidBody, PointMass, Ground)
DRIVERS = (JointDriver, DistanceDriver, PositionDriver, OrientationDriver)
LOADS = (Load, Pull, DistributedLoad, ThermalLoad, JointMotor, AerodynamicLoad)
SPRINGS = (SpringDamper, TorsionSpringDamper, EulerSpringDamper, JointSpringDamper, JointFriction, JointStops)
CATALOGUE: tuple[type[Item], ...] = (*BODIES, Section, Beam, *JOINTS, *DRIVERS, Latch, *LOADS, *SPRINGS)

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

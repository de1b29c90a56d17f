"""The element library: one physical thing a file; ``CATALOGUE`` is what a model may hold.

Adding an element is one file here and one line in the catalogue; see docs/howto/add_an_element.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from femb.elements.attachment import Attachment, Place
from femb.elements.beam import Beam
from femb.elements.ground import Ground
from femb.elements.joint_end import JointEnd
from femb.elements.joint_friction import JointFriction
from femb.elements.joint_kinds import (
    JOINTS,
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
from femb.elements.load import Load
from femb.elements.point_mass import PointMass
from femb.elements.rigid_body import RigidBody
from femb.elements.section import Section
from femb.elements.spring_end import SpringEnd
from femb.elements.spring_euler import EulerSpringDamper
from femb.elements.spring_point import SpringDamper
from femb.elements.spring_torsion import TorsionSpringDamper

CATALOGUE = (
    RigidBody,
    PointMass,
    Ground,
    Section,
    Beam,
    *JOINTS,
    Latch,
    Load,
    SpringDamper,
    TorsionSpringDamper,
    EulerSpringDamper,
    JointSpringDamper,
    JointFriction,
    JointStops,
    JointMotor,
)

__all__ = [
    "CATALOGUE",
    "Attachment",
    "Beam",
    "Cylindrical",
    "Distance",
    "EulerSpringDamper",
    "Fixed",
    "Ground",
    "JointEnd",
    "JointFriction",
    "JointMotor",
    "JointSpringDamper",
    "JointStops",
    "Latch",
    "Load",
    "Parallel",
    "Perpendicular",
    "Place",
    "Planar",
    "PointMass",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "RigidBody",
    "Section",
    "Spherical",
    "SpringDamper",
    "SpringEnd",
    "TorsionSpringDamper",
    "Universal",
]

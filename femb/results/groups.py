"""The catalogue of quantities: arrays of the results of a body, a beam, a joint and so on, with shapes and units.

A quantity is one line here. Attributes of results, checks of files, columns of tables, labels of figures and the table
of docs/reference/results.md follow from it; see docs/howto/add_an_output.md. T output times, n nodes, e elements.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from femb.base.types import Floats
from femb.numerics import euler
from femb.results.motion import (
    DISPLACEMENT,
    Moving,
    no_corners,
    rotation_of_body,
    since_first,
    start_section_deflection,
)
from femb.results.quantity import Group, Quantity

VIOLATIONS = "femb.results.violations"


class Body(Moving):
    """Motion of a body's reference point and axes."""

    position = Quantity("(T, 3)", "m", "of the reference point, inertial axes")
    quaternion = Quantity("(T, 4)", "-", "body to inertial, scalar first")
    velocity = Quantity("(T, 3)", "m/s", "of the reference point, inertial axes")
    angular_velocity = Quantity("(T, 3)", "rad/s", "body axes")
    acceleration = Quantity("(T, 3)", "m/s2", "of the reference point, inertial axes")
    angular_acceleration = Quantity("(T, 3)", "rad/s2", "body axes")
    displacement = Quantity("(T, 3)", "m", DISPLACEMENT, otherwise=since_first)
    rotation = Quantity(
        "(T, 4)", "-", "rotation from the start configuration; not in the file", otherwise=rotation_of_body
    )
    reference_position = Quantity("(3,)", "m", "reference point in the start configuration, inertial axes")
    reference_quaternion = Quantity("(4,)", "-", "body to inertial in the start configuration")

    @property
    def shape(self) -> dict[str, Any] | None:
        """Shape for pictures: ``{"box": [x, y, z]}``, ``{"sphere": radius}``, ``{"cylinder":
        [radius, length]}`` (about z), in m; None where the model gives none."""
        text = self.attributes.get("shape")
        return None if text is None else json.loads(text)

    @property
    def fixed(self) -> bool:
        """Whether it is a ground, which does not move."""
        return bool(self.attributes.get("fixed", False))

    def euler_angles(self, sequence: Any = "xyz", unwrap: bool = True) -> Floats:
        """(T, 3) rad: intrinsic Euler angles of the body; ``unwrap`` removes the jumps of 2 pi."""
        return euler.to_euler(self.quaternion, sequence, unwrap=unwrap)

    def euler_rates(self, sequence: Any = "xyz") -> Floats:
        """(T, 3) rad/s: rates of `euler_angles`."""
        return euler.euler_rates(self.quaternion, self.angular_velocity, sequence)


class Beam(Moving):
    """Motion and section loads of a beam of e elements and n = e + 1 nodes, from start to end."""

    of_nodes = True

    position = Quantity("(T, n, 3)", "m", "of the nodes from start to end, inertial axes")
    quaternion = Quantity("(T, n, 4)", "-", "section to inertial, scalar first; x is along the tangent")
    velocity = Quantity("(T, n, 3)", "m/s", "of the nodes, inertial axes")
    angular_velocity = Quantity("(T, n, 3)", "rad/s", "section axes")
    acceleration = Quantity("(T, n, 3)", "m/s2", "of the nodes, inertial axes")
    angular_acceleration = Quantity("(T, n, 3)", "rad/s2", "section axes")
    strain = Quantity("(T, e, 2)", "-", "axial strain at both ends of every element")
    # Both act on the face whose outward normal is the tangent: a positive first force is tension.
    section_force = Quantity("(T, e, 2, 3)", "N", "at both ends of every element, section axes, tension positive")
    section_moment = Quantity("(T, e, 2, 3)", "N m", "at both ends of every element, section axes")
    rotation = Quantity("(T, n, 4)", "-", "quaternion of the rotation of the nodes from the reference shape")
    # Files without it, and results made by hand, have no undeformed shape: there it is the change since the first
    # output time, in the axes of the start node's section.
    deflection = Quantity(
        "(T, n, 3)",
        "m",
        "of the nodes from the undeformed beam that moves rigidly with the body of `deflection_body`, see below",
        otherwise=start_section_deflection,
    )
    displacement = Quantity("(T, n, 3)", "m", DISPLACEMENT, otherwise=since_first)
    reference_position = Quantity("(n, 3)", "m", "nodes in the start configuration, inertial axes")
    reference_quaternion = Quantity("(n, 4)", "-", "sections in the start configuration")
    element_length = Quantity("(e,)", "m", "undeformed length of every element")
    corner = Quantity(
        "(e, 4)",
        "-",
        "quaternion from the section of an element's first node to the element's own section; they differ only at a "
        "corner",
        otherwise=no_corners,
    )
    outline = Quantity("(m, 2)", "m", "closed polygon of the section in its y and z axes, for pictures")

    @property
    def kind(self) -> str:
        """The kind of beam, as in a case file."""
        return str(self.attributes.get("kind", "beam"))

    @property
    def deflection_body(self) -> str | None:
        """The body that `deflection` is relative to: the one the start is clamped to, or, if the start is free,
        the end. None for a beam that is free or on another beam: there it is relative to its first node's section."""
        return self.attributes.get("deflection_body")

    def euler_angles(self, sequence: Any = "xyz", unwrap: bool = True) -> Floats:
        """(T, n, 3) rad: intrinsic Euler angles of `rotation`."""
        return euler.to_euler(self.rotation, sequence, unwrap=unwrap)

    def euler_rates(self, sequence: str = "xyz") -> Floats:
        """(T, n, 3) rad/s: rates of `euler_angles`."""
        return euler.euler_rates(*self._rotation_and_rate(), sequence)


class Joint(Group):
    """Reaction of a joint on its second body, and its c coordinates where it has any."""

    force = Quantity(
        "(T, 3)", "N", "constraint reaction on the second end at its point, in the joint's axes at the first end"
    )
    torque = Quantity("(T, 3)", "N m", "in the same axes; about the point of the second end")
    coordinates = Quantity(
        "(T, c)", "m or rad", "in the order of the attribute `names` (JSON); angles count full revolutions"
    )
    rates = Quantity("(T, c)", "m/s or rad/s", "of the coordinates")
    accelerations = Quantity("(T, c)", "m/s2 or rad/s2", "of the coordinates")


class Driver(Group):
    """Prescribed motion and force of a driver; the attribute ``names`` has the n components of the force.

    The power of the drive is the sum of force times rate.
    """

    value = Quantity(
        "(T, n)",
        "m or rad",
        "prescribed value: a coordinate of a joint, a distance, n components of a position; of an orientation (T, 4), "
        "the quaternion of the second end relative to the first",
    )
    rate = Quantity(
        "(T, n)",
        "m/s or rad/s",
        "of the value; of an orientation the angular velocity (T, 3) of the second end relative to the first, in the "
        "axes of the second",
    )
    force = Quantity(
        "(T, n)",
        "N or N m",
        "of the drive, positive if it acts towards larger values: the force or torque on the second end, with the "
        "opposite one on the first; of an orientation the torque (T, 3) in the axes of the second. The sum of force "
        "times rate is the power of the drive. The attribute `names` (JSON) names the n components",
    )


class Spring(Group):
    """Resistance of a spring, dashpot, friction or stop, and the motion against it; (T, 3) on Euler angles."""

    force = Quantity(
        "(T,)",
        "N or N m",
        "resistance of a spring, dashpot, friction or stop: tension, or a force against an increase of the angle or "
        "stroke; (T, 3) for a spring on Euler angles, here and below",
    )
    length = Quantity("(T,)", "m", "distance of the two points, or stroke of the joint")
    angle = Quantity("(T,)", "rad", "of the torsion spring or of the joint, counting full revolutions")
    rate = Quantity(
        "(T,)",
        "m/s or rad/s",
        'of the length or the angle; for springs on Euler angles in `frame = "body"` the relative angular velocity '
        "along the axes",
    )


class Load(Group):
    """Force and torque of a load; of a motor or a pull also the motion it drives."""

    force = Quantity(
        "(T,)",
        "N",
        "(T, 3), inertial axes; of a pull between two points (T,), towards each other; of the motor of a joint (T,), "
        "N or N m, positive if it acts towards larger coordinates",
    )
    torque = Quantity("(T, 3)", "N m", "with its damping, in the axes of the body or section")
    factor = Quantity("(T,)", "-", "value of the profile of a load along a beam or of a heated beam")
    length = Quantity("(T,)", "m", "distance of the ends of a pull; stroke of a motor's joint")
    angle = Quantity("(T,)", "rad", "of a motor's joint, counting full revolutions")
    rate = Quantity("(T,)", "m/s or rad/s", "of the length or the angle")


class Audit(Group):
    """Quantities that should be conserved or zero, at every output time."""

    kinetic_energy = Quantity("(T,)", "J", "of the whole model")
    potential_energy = Quantity("(T,)", "J", "elastic and gravitational")
    work = Quantity("(T,)", "J", "done by loads, dampers and drivers since the start")
    linear_momentum = Quantity("(T, 3)", "N s", "inertial axes")
    angular_momentum = Quantity("(T, 3)", "N m s", "about the inertial origin, inertial axes")
    energy_error = Quantity("(T,)", "J", "kinetic + potential - work, minus its start value")
    constraint_position = Quantity(
        "(T,)",
        "-",
        "largest violation of a constraint equation of joints, m or -; zero without joints",
        recorded=VIOLATIONS,
    )
    constraint_velocity = Quantity(
        "(T,)", "-", "largest violation of the rate of a constraint equation, per s", recorded=VIOLATIONS
    )
    quaternion_norm = Quantity(
        "(T,)", "-", "largest deviation of a quaternion's squared length from 1", recorded=VIOLATIONS
    )
    force_balance = Quantity(
        "(T,)", "N", "largest residual force on a body or beam node between steps, see below", recorded=VIOLATIONS
    )
    moment_balance = Quantity(
        "(T,)", "N m", "largest residual moment on a body or beam node between steps, see below", recorded=VIOLATIONS
    )


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: time (s), name (of a latch ``"latches.NAME"``), and the energy (J) that a latch took."""

    time: float
    name: str
    energy_loss: float = 0.0


GROUPS: dict[str, type[Group]] = {
    "bodies": Body,
    "beams": Beam,
    "joints": Joint,
    "drivers": Driver,
    "springs": Spring,
    "loads": Load,
    "audit": Audit,
}
"""Kinds of groups by the first part of their paths: one group of the audit, and one of each item of the others."""

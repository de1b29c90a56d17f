"""The catalogue of quantities: arrays of the results of a body, a beam, a joint and so on, with shapes and units.

A quantity is one line here. Attributes of results, checks of files, columns of tables, labels of figures and the table
of docs/reference/results.md follow from it; see docs/howto/add_an_output.md. T output times, n nodes, e elements.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics import euler, rotations
from femb.results.arrays import Arrays
from femb.results.quantity import Group, Quantity, axial_stress, shear_stress, von_mises

# Motion of bodies and beams: quantities computed from the positions, quaternions and velocities in the results.

DISPLACEMENT = (
    "position minus that at the first output time, inertial axes; in results of `Results.in_frame` minus that in the "
    "start configuration; not in the file"
)


def since_first(group: Group) -> Floats:
    """Displacement since the first output time, for results without recorded displacements."""
    position: Floats = group["position"] - group["position"][:1]
    return position


def rotation_of_body(body: Group) -> Floats:
    """Rotation from the start configuration, or else from the first output time."""
    quaternion = body["quaternion"]
    start = body["reference_quaternion"] if "reference_quaternion" in body else quaternion[0]
    return rotations.multiply(quaternion, rotations.conjugate(start))


def start_section_deflection(beam: Group) -> Floats:
    """(T, n, 3) m: nodes in the axes of the start node's section, minus their value at the first output time.

    The deflection where the undeformed shape is not known.
    """
    position = beam["position"]
    local = rotations.rotate_back(beam["quaternion"][:, :1], position - position[:, :1])
    return local - local[:1]


def no_corners(beam: Group) -> Floats:
    """(e, 4) corners of older files, which do not record them."""
    return np.tile([1.0, 0.0, 0.0, 0.0], (len(beam["element_length"]), 1))


class Moving(Group):
    """Base of bodies and beams: the rotation since the start configuration, and its rates.

    Arrays are (T, ...) with the nodes of a beam, if any, in between.
    """

    def _rotation_and_rate(self) -> tuple[Floats, Floats]:
        """`rotation`, and the angular velocity in the axes that it rotates: (T, ..., 4), (T, ..., 3) rad/s."""
        rotation, quaternion = self.rotation, self["quaternion"]  # type: ignore[attr-defined]
        start = rotations.multiply(rotations.conjugate(rotation), quaternion)
        return rotation, rotations.rotate(start, self["angular_velocity"])

    @property
    def quaternion_rate(self) -> Floats:
        """(T, ..., 4) 1/s: rate of `quaternion`."""
        return rotations.quaternion_rate(self["quaternion"], self["angular_velocity"])

    @property
    def rotation_rate(self) -> Floats:
        """(T, ..., 4) 1/s: rate of the quaternion `rotation`."""
        return rotations.quaternion_rate(*self._rotation_and_rate())


# The quantities of beams: arrays of nodes and elements from start to end.


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
    midpoint_force = Quantity("(T, e, 3)", "N", "in the middle of every element, section axes, tension positive")
    midpoint_moment = Quantity("(T, e, 3)", "N m", "in the middle of every element, section axes")
    axial_stress = Quantity(
        "(T, e, 3, p)",
        "Pa",
        "of axial force and bending at start, middle and end of every element, at the recovery points; not in the file",
        otherwise=axial_stress,
    )
    shear_stress = Quantity(
        "(T, e, 3)",
        "Pa",
        "largest of torsion in the section, same places; not in the file",
        otherwise=shear_stress,
    )
    von_mises = Quantity(
        "(T, e, 3, p)", "Pa", "of `axial_stress` and `shear_stress`; not in the file", otherwise=von_mises
    )
    recovery_points = Quantity("(p, 2)", "m", "points of the section for stresses, y and z")
    stress_section = Quantity(
        "(4,)",
        "m2, m4, m4, m3",
        "area, second moments about y and z, and torsional section modulus (NaN if unknown) for stresses",
    )
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


VIOLATIONS = "femb.recording.record"


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

    deformation = Quantity("(T, n)", "-", "coordinates of a flexible body: interfaces (m, rad), modes")
    deformation_rate = Quantity("(T, n)", "1/s", "rates of `deformation`")
    modal_coordinates = Quantity("(T, m)", "m", "amplitudes of the modes of a flexible body")
    nodal_displacement = Quantity("(T, N, 3)", "m", "of the nodes of a flexible body, body axes")
    recovered = Quantity(
        "(T, r)",
        "-",
        "of a flexible body, such as stresses; the attribute `recovery_names` (JSON) names the quantities",
    )

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
    torque = Quantity(
        "(T, 3)",
        "N m",
        "with its damping, in the axes of the body or section; of a gravity gradient about its origin, inertial axes",
    )
    factor = Quantity("(T,)", "-", "value of the profile of a load along a beam or of a heated beam")
    length = Quantity("(T,)", "m", "distance of the ends of a pull; stroke of a motor's joint")
    angle = Quantity("(T,)", "rad", "of a motor's joint, counting full revolutions")
    rate = Quantity("(T,)", "m/s or rad/s", "of the length or the angle")
    position = Quantity(
        "(T, 3)", "m", "of an orbit: the origin of the model's frame, from the centre of the central body"
    )
    velocity = Quantity("(T, 3)", "m/s", "of this origin")


class Appendage(Group):
    """Root load of an appendage: what hangs on the ground or on the heaviest body of its part of the model."""

    force = Quantity("(T, 3)", "N", "of the appendage on its parent, in the axes of `parent`")
    torque = Quantity("(T, 3)", "N m", "in the same axes, about `point`")
    point = Quantity(
        "(3,)",
        "m",
        "where the appendage is attached, in the axes of the attribute `parent` from its reference point; the "
        "reference point itself where it is attached at several; inertial where these are on several grounds",
    )

    @property
    def parent(self) -> str:
        """Name of the body, or "ground", that it is attached to."""
        return str(self.attributes.get("parent", ""))


class ModalDamping(Group):
    """What modal damping takes from the motion, of k modes."""

    power = Quantity("(T,)", "W", "that modal damping takes from the motion, never negative")
    modal_rates = Quantity(
        "(T, k)",
        "-",
        "of the modal coordinates, sqrt(kg) m/s; the attribute `names` (JSON) names the modes",
    )
    frequencies = Quantity("(k,)", "Hz", "of the damped modes, with the body held")
    ratios = Quantity("(k,)", "-", "damping ratios of these modes")

    @property
    def description(self) -> str:
        """Ratios, numbers of modes and appendages, as text."""
        return str(self.attributes.get("description", ""))


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


def event_records(static: Arrays) -> tuple[EventRecord, ...]:
    """The events in the arrays of a run, in order of time."""
    names = [path.split("/")[1] for path in static if path.startswith("events/") and path.endswith("/time")]
    events = [
        EventRecord(float(t), name, float(loss))
        for name in names
        for t, loss in zip(static[f"events/{name}/time"], static[f"events/{name}/energy_loss"], strict=True)
    ]
    return tuple(sorted(events, key=lambda event: event.time))


GROUPS: dict[str, type[Group]] = {
    "bodies": Body,
    "beams": Beam,
    "joints": Joint,
    "drivers": Driver,
    "springs": Spring,
    "loads": Load,
    "appendages": Appendage,
    "modal_damping": ModalDamping,
    "audit": Audit,
}
"""Kinds of groups by the first part of their paths: one group of the audit, and one of each item of the others."""

"""The quantities of beams: arrays of nodes and elements from start to end."""

from typing import Any

from femb.base.types import Floats
from femb.numerics import euler
from femb.results.motion import DISPLACEMENT, Moving, no_corners, since_first, start_section_deflection
from femb.results.quantity import Quantity
from femb.results.stress import axial_stress, shear_stress, von_mises


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

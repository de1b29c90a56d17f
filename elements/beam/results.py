"""Quantities of beams in results: arrays of nodes and elements from start to end; T times, n nodes, e elements."""

from typing import Any, ClassVar

import numpy as np

from femb.base.quantity import ENDS, Group, Quantity
from femb.base.types import Floats
from femb.elements.body.results import DISPLACEMENT, Moving, since_first
from femb.numerics import euler, rotations

STATIONS = ("start", "middle", "end")  # places in an element

# Stresses at the recovery points of beams, from section forces and moments.
#
#     sigma = N/A + M_y z/I_y - M_z y/I_z,    tau = |M_x|/W_t,    von Mises = sqrt(sigma^2 + 3 tau^2)
#
# tau is the largest shear stress of torsion in the section, taken at every point; the shear of the shear forces is left
# out. Source: docs/theory/loads.md, section 2.


def section_loads(group: Group) -> Floats:
    """(T, e, 3, 6): section force (N) and moment (N m) at start, middle and end of every element, section axes."""
    force, moment = (
        np.stack([group[ends][:, :, 0], group[middle], group[ends][:, :, 1]], axis=2)
        for ends, middle in (("section_force", "midpoint_force"), ("section_moment", "midpoint_moment"))
    )
    return np.concatenate([force, moment], axis=-1)


def axial_stress(group: Group) -> Floats:
    """(T, e, 3, p) Pa at start, middle and end of every element."""
    loads, points, section = section_loads(group), group["recovery_points"], group["stress_section"]
    force, about_y, about_z = loads[..., 0, None], loads[..., 4, None], loads[..., 5, None]
    area, of_y, of_z = (section[..., k, None] for k in range(3))
    result: Floats = force / area + about_y * (points[..., 1] / of_y) - about_z * (points[..., 0] / of_z)
    return result


def shear_stress(group: Group) -> Floats:
    """(T, e, 3) Pa: the largest of torsion; NaN where the torsional section modulus is unknown."""
    moment = np.stack(
        [group["section_moment"][:, :, 0, 0], group["midpoint_moment"][..., 0], group["section_moment"][:, :, 1, 0]],
        axis=2,
    )
    result: Floats = np.abs(moment) / group["stress_section"][..., 3]
    return result


def von_mises(group: Group) -> Floats:
    """(T, e, 3, p) Pa; without torsion where the torsional section modulus is unknown."""
    shear = np.nan_to_num(shear_stress(group), nan=0.0)
    return np.sqrt(axial_stress(group) ** 2 + 3.0 * shear[..., None] ** 2)


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


class BeamResults(Moving):
    """Motion and section loads of a beam of e elements and n = e + 1 nodes, from start to end."""

    word: ClassVar[str] = "beam"
    shown: ClassVar[tuple[str, ...] | None] = (*Moving.motion, "strain", "section_force", "section_moment")
    of_nodes: ClassVar[bool] = True

    position = Quantity("(T, n, 3)", "m", "of the nodes from start to end, inertial axes", level="motion")
    quaternion = Quantity("(T, n, 4)", "-", "section to inertial, scalar first; x is along the tangent", level="motion")
    velocity = Quantity("(T, n, 3)", "m/s", "of the nodes, inertial axes", level="motion")
    angular_velocity = Quantity("(T, n, 3)", "rad/s", "section axes", level="motion")
    acceleration = Quantity("(T, n, 3)", "m/s2", "of the nodes, inertial axes")
    angular_acceleration = Quantity("(T, n, 3)", "rad/s2", "section axes")
    strain = Quantity(
        "(T, e, 2)",
        "-",
        "axial strain at both ends of every element",
        level="deformation",
        components=ENDS,
        label="axial strain",
    )
    # Both act on the face whose outward normal is the tangent: a positive first force is tension.
    section_force = Quantity(
        "(T, e, 2, 3)", "N", "at both ends of every element, section axes, tension positive", places=ENDS
    )
    section_moment = Quantity("(T, e, 2, 3)", "N m", "at both ends of every element, section axes", places=ENDS)
    midpoint_force = Quantity("(T, e, 3)", "N", "in the middle of every element, section axes, tension positive")
    midpoint_moment = Quantity("(T, e, 3)", "N m", "in the middle of every element, section axes")
    axial_stress = Quantity(
        "(T, e, 3, p)",
        "Pa",
        "of axial force and bending at start, middle and end of every element, at the recovery points; not in the file",
        otherwise=axial_stress,
        places=STATIONS,
    )
    shear_stress = Quantity(
        "(T, e, 3)",
        "Pa",
        "largest of torsion in the section, same places; not in the file",
        otherwise=shear_stress,
        components=STATIONS,
    )
    von_mises = Quantity(
        "(T, e, 3, p)",
        "Pa",
        "of `axial_stress` and `shear_stress`; not in the file",
        otherwise=von_mises,
        places=STATIONS,
    )
    recovery_points = Quantity("(..., p, 2)", "m", "points of the section for stresses, y and z; (e, 3, p, 2) of cones")
    stress_section = Quantity(
        "(..., 4)",
        "m2, m4, m4, m3",
        "area, second moments about y and z, and torsional section modulus (NaN if unknown) for stresses; (e, 3, 4) of "
        "cones",
    )
    rotation = Quantity(
        "(T, n, 4)", "-", "quaternion of the rotation of the nodes from the reference shape", level="motion"
    )
    # Files without it, and results made by hand, have no undeformed shape: there it is the change since the first
    # output time, in the axes of the start node's section.
    deflection = Quantity(
        "(T, n, 3)",
        "m",
        "of the nodes from the undeformed beam that moves rigidly with the body of `deflection_body`, see below",
        otherwise=start_section_deflection,
        level="deformation",
    )
    displacement = Quantity("(T, n, 3)", "m", DISPLACEMENT, otherwise=since_first, level="motion")
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

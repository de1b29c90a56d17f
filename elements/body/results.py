"""Quantities of bodies in results, and what they share with those of beams."""

import json
from typing import Any, ClassVar

import numpy as np

from femb.base.quantity import Group, Quantity
from femb.base.types import Floats
from femb.numerics import euler, rotations

DISPLACEMENT = "position minus that at the first output time, inertial axes; not in the file"


def since_first(group: Group) -> Floats:
    """Displacement since the first output time, for results without recorded displacements."""
    position: Floats = group["position"] - group["position"][:1]
    return position


class Moving(Group):
    """Base of bodies and beams: the rotation since the start configuration, and its rates.

    Arrays are (T, ...) with the nodes of a beam, if any, in between. motion : the quantities of it that figures offer.
    """

    motion: ClassVar[tuple[str, ...]] = (
        "position",
        "quaternion",
        "velocity",
        "angular_velocity",
        "acceleration",
        "angular_acceleration",
    )

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


def rotation_of_body(body: Group) -> Floats:
    """Rotation from the start configuration, or else from the first output time."""
    quaternion = body["quaternion"]
    start = body["reference_quaternion"] if "reference_quaternion" in body else quaternion[0]
    return rotations.multiply(quaternion, rotations.conjugate(start))


def nodal_stress_at(body: Group, chosen: Any = slice(None)) -> Floats:
    """(k, N, 6) Pa at the chosen output times: xx, yy, zz, xy, yz, zx, body axes."""
    stress: Floats = np.tensordot(body["deformation"][chosen], body["stress_shapes"], 1)
    if "load_sizes" in body:  # what heat would do in the body if it were held
        stress = stress + np.tensordot(body["load_sizes"][chosen], body["load_stress"], 1)
    return stress[..., (0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)]


def nodal_von_mises_at(body: Group, chosen: Any = slice(None)) -> Floats:
    """(k, N) Pa of `nodal_stress_at`."""
    stress = nodal_stress_at(body, chosen)
    x, y, z = np.moveaxis(stress[..., :3], -1, 0)
    shear = np.sum(stress[..., 3:] ** 2, axis=-1)
    return np.asarray(np.sqrt(0.5 * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) + 3.0 * shear))


class BodyResults(Moving):
    """Motion of a body's reference point and axes."""

    word: ClassVar[str] = "body"
    shown: ClassVar[tuple[str, ...] | None] = (*Moving.motion, "modal_coordinates", "deformation")

    position = Quantity("(T, 3)", "m", "of the reference point, inertial axes", level="motion")
    quaternion = Quantity("(T, 4)", "-", "body to inertial, scalar first", level="motion")
    velocity = Quantity("(T, 3)", "m/s", "of the reference point, inertial axes", level="motion")
    angular_velocity = Quantity("(T, 3)", "rad/s", "body axes", level="motion")
    acceleration = Quantity("(T, 3)", "m/s2", "of the reference point, inertial axes")
    angular_acceleration = Quantity("(T, 3)", "rad/s2", "body axes")
    displacement = Quantity("(T, 3)", "m", DISPLACEMENT, otherwise=since_first, level="motion")
    rotation = Quantity(
        "(T, 4)",
        "-",
        "rotation from the start configuration; not in the file",
        otherwise=rotation_of_body,
        level="motion",
    )
    reference_position = Quantity("(3,)", "m", "reference point in the start configuration, inertial axes")
    reference_quaternion = Quantity("(4,)", "-", "body to inertial in the start configuration")

    deformation = Quantity(
        "(T, n)", "-", "coordinates of a flexible body: interfaces (m, rad), modes", level="deformation"
    )
    deformation_rate = Quantity("(T, n)", "1/s", "rates of `deformation`", level="deformation")
    modal_coordinates = Quantity("(T, m)", "m", "amplitudes of the modes of a flexible body", level="deformation")
    nodal_displacement = Quantity("(T, N, 3)", "m", "of the nodes of a flexible body, body axes", level="deformation")
    nodal_stress = Quantity(
        "(T, N, 6)",
        "Pa",
        "of the nodes of a flexible body with stresses, body axes: xx, yy, zz, xy, yz, zx; not in the file",
        otherwise=nodal_stress_at,
        level="deformation",
        components=("xx", "yy", "zz", "xy", "yz", "zx"),
    )
    nodal_von_mises = Quantity(
        "(T, N)", "Pa", "of `nodal_stress`; not in the file", otherwise=nodal_von_mises_at, level="deformation"
    )
    load_sizes = Quantity("(T, l)", "-", "of the loads inside a heated flexible body, in the order of its file")
    recovered = Quantity(
        "(T, r)",
        "-",
        "of a flexible body, such as stresses; the attribute `recovery_names` (JSON) names the quantities",
    )

    @property
    def shape(self) -> dict[str, Any] | None:
        """Shape for pictures: ``{"box": [x, y, z]}``, ``{"sphere": radius}``, ``{"cylinder":
        [radius, length]}`` (about z), in m, with its middle ``"at"``; None where the model gives none."""
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

"""Motion of bodies and beams: quantities computed from the positions, quaternions and velocities in the results."""

import numpy as np

from femb.base.types import Floats
from femb.numerics import rotations
from femb.results.quantity import Group

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

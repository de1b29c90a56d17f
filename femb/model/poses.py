"""Poses of bodies and beams at the start, and the origin of positions."""

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import vector
from femb.elements import Attachment, Ground
from femb.elements.marker import Marker
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.components import norm

Pose = tuple[Floats, Floats]  # position (3,), quaternion (4,)
# Within this distance of the inertial origin (m), the rounding of positions is below the tolerance of constraints.
NEAR = 1e3
# A model farther away than this multiple of its extent has an origin of its own.
FAR = 10.0


class Poses:
    """Known poses: ``bodies[name]``, and ``beams[name]``, the pose of the start of a beam.

    Positions are relative to ``origin`` (3,) m, inertial axes: zero, or the first given position of a model that is far
    away from the inertial origin. There, differences of positions, such as strains, would be lost in rounding.

    ``clamps[name]`` : for each end of a beam on a body, the rotation (quaternion) from the body to the section.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.origin = _origin(model)
        self.bodies: dict[str, Pose] = {}
        self.beams: dict[str, Pose] = {}
        self.clamps: dict[str, tuple[Floats | None, Floats | None]] = {}

    def given_pose(self, name: str) -> Pose:
        """Pose in the description of a body; by default the inertial origin and axes."""
        given = self.model.body(name).start_pose()
        position = (given.position if given.position is not None else np.zeros(3)) - self.origin
        quaternion = given.quaternion
        return position, quaternion if quaternion is not None else np.array([1.0, 0.0, 0.0, 0.0])

    def placed(self, end: Marker | None) -> bool:
        """Whether the pose of the body or beam at an end is known."""
        return end is not None and (end.body in self.bodies or end.beam in self.beams)

    def host(self, end: Marker) -> Pose:
        """Pose of the body or the beam node of an end."""
        if end.body is not None:
            return self.bodies[end.body]
        at, axes = self.beams[str(end.beam)]
        positions, orientations = self.model.beams[str(end.beam)].reference()
        return at + rotations.rotate(axes, positions[end.node]), rotations.multiply(axes, orientations[end.node])

    def clamp_point(self, end: Attachment) -> Floats:
        """Position of an attachment point, (3,) m."""
        position, quaternion = self.host(end)
        return position + rotations.rotate(quaternion, end.at)

    def check_point(
        self, path: tuple[str, ...], what: str, point: Floats, end: Attachment, size: float, advice: str
    ) -> None:
        """Raise ModelError unless a point (3,) of an item of that size (m) is where its attachment is."""
        gap = self.clamp_point(end) - point
        if norm(gap) > 1e-6 * size:
            at, wanted = vector(self.origin + point), vector(self.origin + point + gap)
            raise ModelError.at(path, f"{what} {at} but its place on {end.host} is at {wanted} m: {advice}")


def _origin(model: Model) -> Floats:
    """The origin of the positions of a model, (3,) m; see ``Poses``."""
    poses = [(body, body.start_pose().position) for body in model.bodies.values()]
    fixed = [position for body, position in poses if position is not None and isinstance(body, Ground)]
    given = [position for body, position in poses if position is not None and not isinstance(body, Ground)]
    free = [(beam, end) for beam in model.beams.values() for end in (beam.start or beam.end,)]
    given += [end.at for beam, end in free if beam.attached == (None, None) and end is not None]
    points = np.array(given or fixed).reshape(-1, 3)
    if not len(points):
        return np.zeros(3)
    extent = float(np.max(np.linalg.norm(points - points[0], axis=1)))
    far = norm(points[0]) > max(NEAR, FAR * extent)
    return np.array(points[0]) if far else np.zeros(3)

"""Poses of bodies and beams at the start, and the point that positions are counted from."""

import numpy as np

from femb.base.types import Floats
from femb.elements import Attachment, Ground
from femb.elements.marker import Marker
from femb.model.model import Model
from femb.numerics import rotations

Pose = tuple[Floats, Floats]  # position (3,), quaternion (4,)
# Nearer to the inertial origin than this (m), the rounding of positions is below what constraints are held to.
NEAR = 1e3
# A model that is this many times as far away as it is large has positions of its own.
FAR = 10.0


class Poses:
    """Poses that are known so far: ``bodies[name]`` and, per beam, ``beams[name]`` the pose of its start.

    Positions are from the point ``origin`` (3,) m of inertial space. It is where positions are counted from unless the
    model is far away from there, and then the first position that is given: differences of positions, such as strains,
    would be lost in the rounding of numbers that are much larger.

    ``clamps[name]`` has, for each end of a beam on a body, the rotation from the body to the section.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.origin = _origin(model)
        self.bodies: dict[str, Pose] = {}
        self.beams: dict[str, Pose] = {}
        self.clamps: dict[str, tuple[Floats | None, Floats | None]] = {}

    def own_pose(self, name: str) -> Pose:
        """Of a body as its description says; the origin and the inertial axes for what it does not say."""
        given = self.model.body(name).start_pose()
        position = (given.position if given.position is not None else np.zeros(3)) - self.origin
        quaternion = given.quaternion
        return position, quaternion if quaternion is not None else np.array([1.0, 0.0, 0.0, 0.0])

    def placed(self, end: Marker | None) -> bool:
        """Whether what an end is on has its place."""
        return end is not None and (end.body in self.bodies or end.beam in self.beams)

    def host(self, end: Marker) -> Pose:
        """Pose of the body or the beam node that an end is on."""
        if end.body is not None:
            return self.bodies[end.body]
        at, axes = self.beams[str(end.beam)]
        positions, turns = self.model.beams[str(end.beam)].reference()
        return at + rotations.rotate(axes, positions[end.node]), rotations.multiply(axes, turns[end.node])

    def clamp_point(self, end: Attachment) -> Floats:
        """The point of an attachment, (3,) m."""
        position, quaternion = self.host(end)
        return position + rotations.rotate(quaternion, end.at)


def _origin(model: Model) -> Floats:
    """Where positions of a model are counted from, (3,) m."""
    poses = [(body, body.start_pose().position) for body in model.bodies.values()]
    fixed = [position for body, position in poses if position is not None and isinstance(body, Ground)]
    given = [position for body, position in poses if position is not None and not isinstance(body, Ground)]
    free = [(beam, end) for beam in model.beams.values() for end in (beam.start or beam.end,)]
    given += [end.at for beam, end in free if beam.attached == (None, None) and end is not None]
    points = np.array(given or fixed).reshape(-1, 3)
    if not len(points):
        return np.zeros(3)
    extent = float(np.max(np.linalg.norm(points - points[0], axis=1)))
    far = np.linalg.norm(points[0]) > max(NEAR, FAR * extent)
    return np.array(points[0]) if far else np.zeros(3)

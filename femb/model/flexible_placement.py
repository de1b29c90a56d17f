"""Start poses of a flexible body, of its interfaces, and of the bodies that they are attached to."""

import numpy as np

from femb.base.types import Floats
from femb.elements import Attachment, FlexibleBody
from femb.elements.beam.shape import section_axes
from femb.model.poses import Pose, Poses
from femb.numerics import rotations


def place_flexible(poses: Poses, body: FlexibleBody) -> bool:
    """Set the poses of a body and of all its interfaces by one that is known; whether one is.

    Raises ModelError where the attached bodies contradict the undeformed body.
    """
    rest = {name: body.rest_pose(name) for name in body.reduced.interface_names}
    root = next(iter(rest))
    names = {root: body.name} | {name: item.name for name, item in body.free_interfaces.items()}
    known: Pose | None = None
    for name, pose in rest.items():
        end = body.attached.get(name)
        if end is not None and poses.placed(end):
            known = _after(_after(poses.host(end), (end.at, _axes(end))), _inverse(pose))
        elif end is None and names[name] in poses.bodies:
            known = _after(poses.bodies[names[name]], _inverse(pose))
        if known is not None:
            break
    if known is None:
        return False
    poses.bodies[body.name] = known
    for name, pose in rest.items():
        end, placed = body.attached.get(name), _after(known, pose)
        if end is None:
            poses.bodies[names[name]] = placed
        elif poses.placed(end):
            field = ("start",) if name == root else ("interfaces", name)
            path, size = (body.table, body.name, *field), float(np.max(np.linalg.norm(body.reduced.interfaces, axis=1)))
            advice = "check the position of the body, or leave it out"
            poses.check_point(path, "the undeformed interface is at", placed[0], end, max(size, 1e-3), advice)
        else:
            poses.bodies[str(end.body)] = _after(placed, _inverse((end.at, _axes(end))))
    return True


def _axes(end: Attachment) -> Floats:
    """Quaternion of the interface in the axes of the body that carries it."""
    if end.direction is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return section_axes(end.direction, end.up)


def _after(pose: Pose, relative: Pose) -> Pose:
    return pose[0] + rotations.rotate(pose[1], relative[0]), rotations.multiply(pose[1], relative[1])


def _inverse(pose: Pose) -> Pose:
    back = rotations.conjugate(pose[1])
    return -rotations.rotate(back, pose[0]), back

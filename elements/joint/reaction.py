"""Reactions: force and torque of the rows of a joint, from their multipliers.

Source: docs/theory/constraints.md, equations (11) and (12).
"""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats
from femb.elements.records import RecordedSystem
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.views import OutputStates
from femb.numerics import rotations


def joint_reaction(system: RecordedSystem, joint: JointLayout, frames: OutputStates) -> tuple[Floats, Floats]:
    """Force (k, 3) N and torque (k, 3) N m of one joint; see ``joint_reactions``."""
    force, torque = joint_reactions(system, [joint], frames)
    return force[:, 0], torque[:, 0]


def joint_reactions(
    system: RecordedSystem, joints: Sequence[JointLayout], frames: OutputStates
) -> tuple[Floats, Floats]:
    """Forces (k, n, 3) N and torques (k, n, 3) N m of n joints on the second end at its point, in the joint's axes at
    the first end.

    The multipliers are those of least norm, which makes reactions unique that the equations of motion do not determine.
    If the frame of the second end is fixed, the result is the opposite of the reaction on the first end.
    """
    layout, q = system.layout, frames.q
    moving = [layout.frames[joint.second.frame].freedom > 0 for joint in joints]
    ends = [joint.second if on else joint.first for joint, on in zip(joints, moving, strict=True)]
    at = np.array([layout.frame_v[end.frame] for end in ends], dtype=np.int64)
    rows = [joint.rows for joint in joints]
    on_end = system.constraint_set.reactions(rows, at, frames.u, q, frames.v, frames.multipliers)
    on_end *= np.where(moving, -1.0, 1.0)[:, None]
    force = on_end[..., :3]
    # the frame's own origin and axes
    origin, attitude = _poses(layout, [Station(end.frame) for end in ends], q)
    point = _poses(layout, [joint.second for joint in joints], q)[0]
    torque = -np.cross(point - origin, force)
    with_axes = np.array([layout.frames[end.frame].freedom == 6 for end in ends])[:, None]
    torque += np.where(with_axes, rotations.rotate(attitude, on_end[..., 3:]), 0.0)
    axes = _poses(layout, [joint.first for joint in joints], q)[1]
    return rotations.rotate_back(axes, force), rotations.rotate_back(axes, torque)


def _poses(layout: Layout, stations: Sequence[Station], q: Floats) -> tuple[Floats, Floats]:
    """Points (k, n, 3) and quaternions (k, n, 4) of n stations at k states."""
    r, p = np.empty((len(q), len(stations), 3)), np.empty((len(q), len(stations), 4))
    turning = []
    for n, station in enumerate(stations):
        frame, i = layout.frames[station.frame], layout.frame_q[station.frame]
        if frame.freedom == 0:
            r[:, n], p[:, n] = layout.pose(station)
            continue
        r[:, n], p[:, n] = q[:, i : i + 3], (1.0, 0.0, 0.0, 0.0)
        if frame.freedom == 6:
            p[:, n] = q[:, i + 3 : i + 7]
            if not station.on_frame:
                turning.append(n)
    if turning:
        offsets, turns = (np.array([getattr(stations[n], word) for n in turning]) for word in ("offset", "rotation"))
        r[:, turning] += rotations.rotate(p[:, turning], offsets)
        p[:, turning] = rotations.multiply(p[:, turning], turns)
    return r, p

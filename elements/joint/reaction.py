"""Reactions: force and torque of the rows of a joint, from their multipliers.

Source: docs/theory/constraints.md, equations (11) and (12).
"""

import numpy as np

from femb.base.types import Floats
from femb.elements.records import RecordedSystem
from femb.layout.layout import JointLayout
from femb.layout.state import station_motion
from femb.layout.views import OutputStates
from femb.numerics import rotations


def joint_reaction(system: RecordedSystem, joint: JointLayout, frames: OutputStates) -> tuple[Floats, Floats]:
    """Force (k, 3) N and torque (k, 3) N m on the second end at its point, in the joint's axes at the first end.

    The multipliers are those of least norm, which makes reactions unique that the equations of motion do not determine.
    If the frame of the second end is fixed, the result is the opposite of the reaction on the first end.
    """
    layout = system.layout
    rows_force = np.zeros_like(frames.v)
    system.constraint_set.reaction_of(joint.rows, frames.u, frames.q, frames.v, frames.multipliers, rows_force)
    moving = layout.frames[joint.second.frame].freedom > 0
    end, sign = (joint.second, -1.0) if moving else (joint.first, 1.0)
    frame = layout.frames[end.frame]
    i, j = layout.frame_q[end.frame], layout.frame_v[end.frame]
    force = sign * rows_force[:, j : j + 3]
    point = station_motion(layout, joint.second, frames.q, frames.v)[0]
    arm = point - frames.q[:, i : i + 3]
    torque = -np.cross(arm, force)
    if frame.freedom == 6:
        torque += sign * rotations.rotate(frames.q[:, i + 3 : i + 7], rows_force[:, j + 3 : j + 6])
    axes = station_motion(layout, joint.first, frames.q, frames.v)[1]
    return rotations.rotate_back(axes, force), rotations.rotate_back(axes, torque)

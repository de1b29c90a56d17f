"""The reaction of a joint as rows on small changes of the pose and of the multipliers.

    force = A^T f,  torque = A^T t,  f = -g,  t = -R (c - d x R^T g),  [g; c] = J_joint^T lambda on the second end

with A the joint's axes at the first end and d its point on the second. Signs and axes are those of results
(``femb.elements.joint.reaction``). Source: docs/theory/constraints.md, equations (11) and (12).
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.layout import JointLayout
from femb.numerics import rotations
from femb.system.reaction_stiffness import reaction_stiffness

if TYPE_CHECKING:
    from femb.analysis.linear.point import OperatingPoint

tilde = rotations.cross_matrix


def reaction_rows(point: "OperatingPoint", joint: JointLayout, word: str) -> tuple[Floats, Floats]:
    """Rows (3, n_v) on the pose and (3, n_c) on the multipliers; word : "force" or "torque".

    Raises ModelError: a joint on a point mass.
    """
    system, layout = point.system, point.system.layout
    moving = layout.frames[joint.second.frame].freedom > 0
    end, sign = (joint.second, -1.0) if moving else (joint.first, 1.0)
    if layout.frames[end.frame].freedom != 6:
        raise ModelError(f"output: the reaction of a joint on the point mass {layout.frames[end.frame].label!r}")
    j = layout.frame_v[end.frame]
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    own = np.zeros(system.n_c, dtype=bool)
    own[layout.row_c[joint.rows]] = True
    by_multipliers = sign * system.jacobian(point.u, point.q).T.toarray()[j : j + 6] * own
    by_pose = sign * reaction_stiffness(system, point.u, point.q, point.v, np.where(own, point.multipliers, 0.0))
    by_pose = by_pose.tocsr()[j : j + 6].toarray()
    g, c = np.split(by_multipliers @ point.multipliers, 2)
    position, R = _pose(point, end.frame)
    A = _pose(point, joint.first.frame)[1] @ rotations.rotation_matrix(joint.first.rotation)
    # the point of the second end, in axes of the frame on which the reaction is taken
    second, S = _pose(point, joint.second.frame)
    d = R.T @ (second + S @ joint.second.offset - position)
    w = c - np.cross(d, R.T @ g)
    rows = []
    for change, turned in ((by_pose, True), (by_multipliers, False)):
        if word == "force":
            row, value = A.T @ change[:3], A.T @ g
        else:
            row = change[3:] - tilde(d) @ (R.T @ change[:3])
            if turned:
                row[:, spin] -= tilde(d) @ tilde(R.T @ g) + tilde(w)
                if not moving:  # the point is on the other frame, which is fixed: d changes
                    row[:, spin] += tilde(R.T @ g) @ tilde(d)
                    row[:, line] -= tilde(R.T @ g) @ R.T
            row, value = A.T @ R @ row, A.T @ R @ w
        first = layout.frames[joint.first.frame]
        if turned and first.freedom == 6:
            i = layout.frame_v[joint.first.frame] + 3
            row[:, i : i + 3] += tilde(value) @ rotations.rotation_matrix(joint.first.rotation).T
        rows.append(row)
    return rows[0], rows[1]


def _pose(point: "OperatingPoint", frame: int) -> tuple[Floats, Floats]:
    """Position (3,) and axes (3, 3) of a frame."""
    layout = point.system.layout
    if not layout.frames[frame].freedom:
        return layout.frames[frame].position, rotations.rotation_matrix(layout.frames[frame].quaternion)
    i = layout.frame_q[frame]
    if layout.frames[frame].freedom == 3:
        return point.q[i : i + 3], np.eye(3)
    return point.q[i : i + 3], rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))

"""Indices of positions, quaternions and internal coordinates in the vectors of coordinates and velocities."""

import numpy as np

from femb.base.options import TOLERANCES, Tolerances
from femb.base.types import Bools, ErrorScale, Floats, Ints
from femb.layout.layout import Layout
from femb.numerics import rotations


def corotated_vectors(first: Ints) -> Ints:
    """(F, 2) for ``DofIndex.corotated_frames``, for frames with the first velocity at index first (F,)."""
    return np.stack([first, np.full(len(first), -1)], axis=1)


class DofIndex:
    """Indices of components by kind of quantity.

    coordinates : indices in q and in v of positions and internal coordinates, then of quaternions in q and of angular
    velocities in v, as the kernels of ``femb.numerics.kinematics`` take them. corotated_frames : of the frames that
    flexible elements couple, indices of quaternions in q (F,), and (F, 2) of two vectors in v that rotate with the
    frame: the velocity, and the rate of the quaternion in formulations that have it as velocity; else -1. A Newton
    iteration rotates the forces on these frames back to the attitude of its matrices. Forces on other frames are not
    rotated, so that their sum, the change of linear momentum, is exact to rounding.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        freedom = np.array([frame.freedom for frame in layout.frames])
        poses = freedom == 6
        axes = np.arange(3)
        moving = freedom > 0
        linear_q = (layout.frame_q[moving][:, None] + axes).ravel()
        linear_v = (layout.frame_v[moving][:, None] + axes).ravel()
        self.coordinates = (
            np.concatenate([linear_q, layout.internal_q]),
            np.concatenate([linear_v, layout.internal_v]),
            layout.frame_q[poses] + 3,
            layout.frame_v[poses] + 3,
        )
        coupled = {frame for frames, _ in layout.couplings for frame in frames}
        corotated = np.array([frame in coupled for frame in range(len(freedom))], dtype=bool) & poses
        self.corotated_frames = (layout.frame_q[corotated] + 3, corotated_vectors(layout.frame_v[corotated]))
        # groups of components for the error norm, by kind of quantity: positions, quaternions, internal coordinates
        self._groups_q = (layout.frame_q[moving], layout.frame_q[poses] + 3, layout.internal_q)
        self._groups_v = (layout.frame_v[moving], layout.frame_v[poses] + 3, layout.internal_v)

    def rigid_velocities(self, q: Floats) -> Floats:
        """(6, n_v): velocities of all frames in rigid motions: unit translations along the inertial axes, then unit
        rotations about them through the origin.
        """
        out = np.zeros((6, self.layout.n_v))
        for k, frame in enumerate(self.layout.frames):
            i, j = self.layout.frame_q[k], self.layout.frame_v[k]
            if frame.freedom:
                out[:3, j : j + 3] = np.eye(3)
                out[3:, j : j + 3] = np.cross(np.eye(3), q[i : i + 3])
            if frame.freedom == 6:
                out[3:, j + 3 : j + 6] = rotations.rotation_matrix(q[i + 3 : i + 7])
        return out

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """The leading arguments of ``kinematics.error_norm``, before the error, for q and for v."""
        position, quaternion, _ = atol.values(rtol)
        internal, angles = internal_tolerances(self.layout, atol, rtol)
        result = []
        for groups, count, angle, time in ((self._groups_q, 4, -1, 1.0), (self._groups_v, 3, 1, atol.time)):
            points, attitudes, _ = (len(group) for group in groups)
            sizes = np.repeat((3, count), (points, attitudes))
            scale = np.repeat((position, quaternion), (points, attitudes))
            sizes = np.concatenate([sizes, np.where(angles, angle, 1)])
            result.append((np.concatenate(groups), sizes, np.concatenate([scale, internal]) / time, rtol))
        return result[0], result[1]


def internal_tolerances(layout: Layout, atol: Tolerances, rtol: float) -> tuple[Floats, Bools]:
    """Absolute tolerances (S,) of the internal coordinates, and (S,) whether they are angles."""
    values = dict(zip(TOLERANCES, atol.values(rtol), strict=True))
    tolerances = [values[item.quantity.tolerance] for item in layout.internal]
    return np.array(tolerances, dtype=float), np.array([item.quantity.unit == "rad" for item in layout.internal], bool)

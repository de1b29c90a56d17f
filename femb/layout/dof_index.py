"""Places: where positions, quaternions and strains of a layout are among its coordinates and velocities."""

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.layout.layout import Layout
from femb.numerics import rotations


def turned_places(first: Ints) -> Ints:
    """(F, 2) for ``Places.corotated_frames`` of frames whose translational velocities begin at first (F,)."""
    return np.stack([first, np.full(len(first), -1)], axis=1)


class Places:
    """Numbers of components by kind of quantity.

    coordinates : places in q and in v of what is linear, then of quaternions and of angular velocities, as the kernels
    of ``femb.numerics.kinematics`` take them. corotated_frames : of frames that stiff members are on, places of
    quaternions in q (F,) and (F, 2) of the first velocity and, where velocities are rates of quaternions, the first of
    those; else -1. A Newton iteration turns their forces back to the attitude of its matrices; those of others it
    leaves as they are, so that their sum, the change of linear momentum, is kept to rounding.
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
            np.concatenate([linear_q, layout.strain_q]),
            np.concatenate([linear_v, layout.strain_v]),
            layout.frame_q[poses] + 3,
            layout.frame_v[poses] + 3,
        )
        members = {frame for frames, _ in layout.couplings for frame in frames}
        turned = np.array([frame in members for frame in range(len(freedom))], dtype=bool) & poses
        self.corotated_frames = (layout.frame_q[turned] + 3, turned_places(layout.frame_v[turned]))
        # groups of components for the error norm, by kind of quantity: positions, quaternions, strains
        self._groups_q = (layout.frame_q[moving], layout.frame_q[poses] + 3, layout.strain_q)
        self._groups_v = (layout.frame_v[moving], layout.frame_v[poses] + 3, layout.strain_v)

    def rigid_velocities(self, q: Floats) -> Floats:
        """(6, n_v): velocities of all frames in unit translations along, then rotations about, the inertial axes.

        Rotations are about the origin.
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
        """Arguments of ``kinematics.error_norm`` before the error, for q and for v."""
        absolute = atol.values(rtol)
        result = []
        for groups, sizes, time in ((self._groups_q, (3, 4, 1), 1.0), (self._groups_v, (3, 3, 1), atol.time)):
            counts = [len(group) for group in groups]
            scale = np.repeat(np.array(absolute) / time, counts)
            result.append((np.concatenate(groups), np.repeat(sizes, counts), scale, rtol))
        return result[0], result[1]

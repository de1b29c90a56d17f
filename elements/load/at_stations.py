"""Forces and torques at stations that few items of a model have, in numpy: generalized forces and exact tangents.

A class derived from ``StationForces`` gives the force and the torque of each of its items, and their derivatives.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.element import ForceBatch
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern
from femb.numerics import rotations
from femb.numerics.vector3 import scatter

STARTS, SIZES = np.array([0]), np.array([6])


class StationForces(ForceBatch):
    """Forces at points of n frames with axes, each of an item with the marker ``on``.

    in_q, in_v (n,) : of the frames in q and v. offset (n, 3) m and axes (n, 3, 3) : the stations in axes of the frames.

    Raises ModelError: an item on what is fixed.
    """

    def __init__(self, items: Sequence[Any], layout: Layout) -> None:
        self.items, self.layout = list(items), layout
        stations = [layout.station(item.on) for item in items]
        frames = [station.frame for station in stations]
        for item, frame in zip(items, frames, strict=True):
            if not layout.frames[frame].freedom:
                raise ModelError.at((item.table, item.name), f"is on {item.on.host}, which is fixed and feels no force")
        self.in_q, self.in_v = layout.frame_q[frames], layout.frame_v[frames]
        self.of_frames = [(j, np.flatnonzero(self.in_v == j)) for j in np.unique(self.in_v).tolist()]
        self.offset = np.array([station.offset for station in stations])
        self.axes = np.array([station.axes for station in stations])

    def allocate(self, pattern: BlockPattern) -> None:
        self.blocks = pattern.offsets(self.in_v[:, None])

    def attitudes(self, q: Floats) -> Floats:
        """(s, n, 4) unit quaternions of the frames."""
        return rotations.normalise(q[:, self.in_q[:, None] + np.arange(3, 7)])

    def wrench(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Forces (inertial axes) and torques about the origins of the frames (their axes), (s, n, 3) each."""
        raise NotImplementedError

    def slopes(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Derivatives (n, 6, 6) of ``wrench`` at one state by the velocities of the frames and by their poses times H:
        rows of the force and the torque, columns of a displacement (inertial axes) and a rotation (axes of the frame).
        """
        raise NotImplementedError

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        wrench = rest * np.concatenate(self.wrench(u, q, v), axis=-1)
        for j, rows in self.of_frames:
            out[:, j : j + 6] -= wrench[:, rows].sum(axis=1)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        by_velocity, by_pose = self.slopes(u, q, v)
        offset, stride = self.blocks
        for k in range(len(self.in_v)):
            if by_velocity[k].any():
                scatter(-by_velocity[k], STARTS, SIZES, offset[k], stride[k], damping)
            scatter(-by_pose[k], STARTS, SIZES, offset[k], stride[k], stiffness)

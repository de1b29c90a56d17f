"""Motion of the stations of elements, and the transfer of forces and matrices to the frames; for elements in numpy.

A station is a point with axes fixed to a frame. An element formulates its forces and matrices in velocities (inertial
axes) and angular velocities (axes of the station) of its stations; this module transforms them to the frames.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.layout.layout import Layout, Station
from femb.layout.views import BlockPattern
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of the e stations of n elements at s states: position (s, n, e, 3) m and axes (s, n, e, 3, 3), as columns;
    velocity (s, n, e, 3) m/s, inertial axes, and omega (s, n, e, 3) rad/s, axes of the station."""

    position: Floats
    axes: Floats
    velocity: Floats
    omega: Floats


class Stations:
    """The stations of n elements, a list of e stations for each."""

    def __init__(self, stations: list[list[Station]], layout: Layout) -> None:
        self.count = len(stations[0])
        all_stations = [station for element in stations for station in element]
        frames = [station.frame for station in all_stations]
        in_q, self.in_v = layout.frame_q[frames], layout.frame_v[frames]
        self.moving = self.in_v >= 0
        self.q = np.maximum(in_q, 0)[:, None] + np.arange(7)
        self.v = self.in_v[self.moving][:, None] + np.arange(6)
        self.fixed = layout.fixed[np.where(self.moving, 0, -1 - in_q)]
        self.offset = np.array([station.offset for station in all_stations])
        self.rotation = np.array([station.axes for station in all_stations])

    def motion(self, q: Floats, v: Floats) -> Motion:
        """Motion at s states q (s, n_q), v (s, n_v)."""
        rates = np.zeros((len(q), len(self.moving), 6))
        rates[:, self.moving] = v[:, self.v]
        velocity, omega = rates[..., :3], rates[..., 3:]
        position, R = self._frames(q)
        arm = rotations.cross(omega, self.offset)
        return Motion(
            self._by_element(position + _apply(R, self.offset)),
            self._by_element(R @ self.rotation),
            self._by_element(velocity + _apply(R, arm)),
            self._by_element(_apply(np.swapaxes(self.rotation, -1, -2), omega)),
        )

    def allocate(self, pattern: BlockPattern) -> None:
        """Look up the offsets of the blocks of the frames in the matrices."""
        self.offsets, self.stride = pattern.offsets(self.in_v.reshape(-1, self.count))

    def add_force(self, q: Floats, force: Floats, torque: Floats, out: Floats) -> None:
        """out (s, n_v) += forces (s, n, e, 3), inertial axes, and torques (s, n, e, 3), axes of the station."""
        _, R = self._frames(q)
        force, torque = (x.reshape(len(q), -1, 3) for x in (force, torque))
        arm = rotations.cross(self.offset, _apply(np.swapaxes(R, -1, -2), force))
        wrench = np.concatenate([force, arm + _apply(self.rotation, torque)], axis=-1)
        np.add.at(out.T, self.v, np.moveaxis(wrench[:, self.moving], 0, -1))  # stations may share a frame

    def add_matrix(self, q: Floats, matrix: Floats, data: Floats, force: Floats | None = None) -> None:
        """Add matrices (n, 6 e, 6 e), by the velocities of the stations, to block data at one state.

        force (n, e, 3) : adds the stiffness due to the rotation of its lever arms, for the derivative of ``add_force``.
        """
        from femb.numerics.vector3 import scatter

        (R,) = self._frames(q[None])[1]
        to_frames = np.zeros((len(R), 6, 6))
        to_frames[:, :3, :3], to_frames[:, 3:, 3:] = np.eye(3), np.swapaxes(self.rotation, -1, -2)
        to_frames[:, :3, 3:] = -R @ cross_matrix(self.offset)
        T = to_frames.reshape(-1, self.count, 6, 6)
        blocks = np.asarray(matrix).reshape(-1, self.count, 6, self.count, 6)
        blocks = np.einsum("naji,najbk,nbkl->naibl", T, blocks, T)
        if force is not None:
            local = _apply(np.swapaxes(R, -1, -2), force.reshape(-1, 3))
            arms = (cross_matrix(self.offset) @ cross_matrix(local)).reshape(-1, self.count, 3, 3)
            for end in range(self.count):
                blocks[:, end, 3:, end, 3:] += arms[:, end]
        starts, sizes = 6 * np.arange(self.count), np.full(self.count, 6)
        for k, block in enumerate(blocks.reshape(-1, 6 * self.count, 6 * self.count)):
            scatter(block, starts, sizes, self.offsets[k], self.stride[k], data)

    def _frames(self, q: Floats) -> tuple[Floats, Floats]:
        """Positions (s, m, 3) and axes (s, m, 3, 3) of the frames of all m stations."""
        poses = np.where(self.moving[:, None], q[:, self.q], self.fixed)
        return poses[..., :3], rotations.rotation_matrix(rotations.normalise(poses[..., 3:]))

    def _by_element(self, values: Floats) -> Floats:
        return values.reshape(len(values), -1, self.count, *values.shape[2:])


def _apply(R: Floats, x: Floats) -> Floats:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return (R @ x[..., None])[..., 0]

"""Coordinates and velocities of a system.

The kinematic relation is q' = H(q) v, with retraction and scales of errors.
"""

from functools import cached_property

import numpy as np

from femb.base.options import GivenScales, Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.layout.connections import groups_of
from femb.layout.layout import Layout
from femb.numerics import kinematics, rotations


class VelocityCoordinates:
    """q = positions, unit quaternions and internal coordinates; v = their velocities, angular velocities in body axes.

    Arrays q (s, n_q), v, a (s, n_v) are of s states where a method says so.
    coordinates : indices in q and in v of positions and internal coordinates, then of quaternions in q and of angular
    velocities in v, as the kernels of ``femb.numerics.kinematics`` take them. corotated_frames : of the frames that
    flexible elements couple, indices of quaternions in q (F,), and (F, 2) of two vectors in v that rotate with the
    frame: the velocity, and the rate of the quaternion in formulations that have it as velocity; else -1. A Newton
    iteration rotates the forces on these frames back to the attitude of its matrices. Forces on other frames are not
    rotated, so that their sum, the change of linear momentum, is exact to rounding.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.n_q, self.n_v, self.n_c = layout.n_q, layout.n_v, layout.n_c
        numbers = layout.numbers
        self.coordinates, (self._groups_q, self._groups_v) = numbers.coordinates, numbers.groups
        coupled = {frame for frames in layout.structures for frame in frames}
        corotated = [k for k in sorted(coupled) if layout.frames[k].freedom == 6]
        self.corotated_frames = (layout.frame_q[corotated] + 3, corotated_vectors(layout.frame_v[corotated]))

    def rates(self, q: Floats, v: Floats) -> Floats:
        """H(q) v (s, n_q)."""
        out = np.empty_like(q)
        kinematics.rates(self.coordinates, q, v, out)
        return out

    def retract(self, q: Floats, x: Floats, part: float = 1.0) -> Floats:
        """q (n_q,) after the displacements and rotations part x, x (n_v,); unit quaternions."""
        result: Floats = q + part * self.rates(q[None], x[None])[0]
        self.normalise(result)
        return result

    @cached_property
    def rotations(self) -> Ints:
        """Indices (3 F,) of angular velocities in v."""
        result: Ints = (self.coordinates[3][:, None] + np.arange(3)).ravel()
        return result

    def moves(self, v: Floats, still: float = 0.0) -> bool:
        """Whether a velocity of v (n_v,) is larger than ``still``; the values of first-order states are none."""
        sizes = np.abs(v)
        sizes[self.layout.first_order_v] = 0.0
        return bool(np.max(sizes, initial=0.0) > still)

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The velocities v (s, n_v) with H(q) v = dq, for q (n_q,) or (s, n_q) and dq (s, n_q)."""
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(self.coordinates, q if q.ndim == 2 else q[None], dq, out)
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q) = H(q) a + H(q') v of s states."""
        H_rate_v = self.rates(self.rates(q, v), v)
        H_rate_v[:, self.coordinates[0]] = 0.0  # H' is zero for positions and internal coordinates
        return self.rates(q, a) + H_rate_v

    def normalise(self, q: Floats) -> float:
        """Scale the quaternions in q, (n_q,) or (s, n_q), to unit length, in place; returns the largest previous
        |p.p - 1|."""
        return float(kinematics.normalise_each(self.coordinates[2], q.reshape(-1, self.n_q)))

    def rigid_velocities(self, q: Floats) -> Floats:
        """(6, n_v): velocities of all frames in rigid motions: unit translations along the inertial axes, then unit
        rotations about them through the origin.
        """
        layout, axes = self.layout, np.eye(3)
        out, three = np.zeros((6, layout.n_v)), np.arange(3)
        moving, turning = layout.numbers.moving, layout.numbers.turning
        positions = q[layout.frame_q[moving, None] + three]
        columns = layout.frame_v[moving, None] + three
        out[:3, columns] = axes[:, None]
        out[3:, columns] = rotations.cross(axes[:, None], positions)
        matrices = rotations.rotation_matrix(q[layout.frame_q[turning, None] + 3 + np.arange(4)])
        out[3:, layout.frame_v[turning, None] + 3 + three] = np.swapaxes(matrices, 0, 1)
        return out

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Arguments of ``kinematics.error_norm`` before the error, for q and for v, by ``rtol``, a ratio, and
        ``atol``."""
        if isinstance(atol, GivenScales) and atol.scales is not None:
            return atol.scales
        position, quaternion, _ = atol.values(rtol, self.layout.length)
        *internal, angles = self.layout.internal_tolerances(atol, rtol)
        result, ones = [], np.ones(len(self._groups_v[0]) + len(self._groups_v[1]))
        parts = (self._groups_q, 4, -1, ones, internal[0]), (self._groups_v, 3, 1, self._times(atol), internal[1])
        for groups, count, angle, time, of_internal in parts:
            points, attitudes, _ = (len(group) for group in groups)
            sizes = np.repeat((3, count), (points, attitudes))
            scale = np.repeat((position, quaternion), (points, attitudes))
            sizes = np.concatenate([sizes, np.where(angles, angle, 1)])
            result.append((np.concatenate(groups), sizes, np.concatenate([scale / time, of_internal]), rtol))
        return result[0], result[1]

    def _times(self, atol: Tolerances) -> Floats:
        """Shortest times of interest (s), of the velocities and angular velocities of frames: ``atol.time``, and of
        bodies that nothing is connected with at least that of a slow motion, over which an error of a rate adds up."""
        layout, (points, attitudes, _) = self.layout, self._groups_v
        first, slow = np.concatenate([points, attitudes - 3]), np.zeros(self.n_v)
        whole = {each.owner for each in layout.internal if not each.quantity.first_order}
        groups = groups_of(layout, joined=True) if np.any(layout.slow_time) else []
        alone = [group[0] for group in groups if len(group) == 1 and group[0] not in whole]
        slow[layout.frame_v[alone]] = np.broadcast_to(layout.slow_time, len(layout.frames))[alone]
        return np.asarray(np.maximum(slow[first], atol.rate_time))


def corotated_vectors(first: Ints) -> Ints:
    """(F, 2) for ``VelocityCoordinates.corotated_frames``, for frames with the first velocity at index first (F,)."""
    result: Ints = np.full((len(first), 2), -1)
    result[:, 0] = first
    return result

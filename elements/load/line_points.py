"""Points on the axis of a beam by its coordinates: places, velocities, directions, and their derivatives.

In an element of either kind, a point is a sum of four vectors x = (r_I, g_I, r_II, g_II) with constant factors: the
places r of both ends, and vectors g along the beam at these ends. With the attitude R of the frame of an end,

    r = p + R d,    g = R k,    k = L (1 + eps) e of beams with a strain eps at the end, or constant.

Arrays have s states, e elements and three Gauss points each. Source: docs/theory/beam_loads.md, section 3.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.batch import COORDINATES, BeamBatch
from femb.elements.beam.batch import VELOCITIES as BEAM_VELOCITIES
from femb.elements.beam.columns import LENGTH
from femb.elements.beam.interpolation import cubics, slopes
from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.batch import ExactBatch
from femb.elements.exact.columns import REFERENCE
from femb.numerics.rotations import cross_matrix, rotation_matrix

BUBBLE = 0.5 * POINTS * (1.0 - POINTS)
QUADRATIC = np.stack([1.0 - POINTS, BUBBLE, POINTS, -BUBBLE], axis=1)
QUADRATIC_SLOPES = np.stack([-1.0 + 0.0 * POINTS, 0.5 - POINTS, 1.0 + 0.0 * POINTS, POINTS - 0.5], axis=1)
AXES = np.arange(3)
WIDTH = 7  # velocities of an end: of its frame, and of its strain


@dataclass(frozen=True, eq=False)
class Motion:
    """The four vectors x and their rates (s, e, 4, 3) at s states, inertial axes; of both ends, in frame axes: R (s, e,
    2, 3, 3) of the frame, omega, k, w = omega x k + k', and arm_rate = omega x d, (s, e, 2, 3)."""

    R: Floats
    k: Floats
    w: Floats
    arm_rate: Floats
    omega: Floats
    x: Floats
    rates: Floats


class LinePoints:
    """The Gauss points on the elements of one beam.

    starts (e, 4 or 2) : first velocities of the groups of an element, for its pattern. values, slopes (3, 4) : factors
    of the four vectors for the place and for the derivative along the element. weights (e, 3) : m. s (e, 3) : length
    from the start of the beam, m. sections (e, 2, 3, 3) : axes of the end sections in their frames.
    """

    def __init__(self, batch: BeamBatch | ExactBatch) -> None:
        n = len(batch.index)
        self.fixed, self.strained = batch.fixed, isinstance(batch, BeamBatch)
        self.length: Floats = batch.data[:, LENGTH]
        rotation = batch.ends[:, :, 4:13].reshape(n, 2, 3, 3)
        self.d: Floats = batch.ends[:, :, 1:4]
        self.sections: Floats = rotation
        if isinstance(batch, BeamBatch):
            first, self.starts = COORDINATES, batch.index[:, BEAM_VELOCITIES]
            self.in_q, self.in_v = batch.index[:, first][:, [0, 2]], batch.index[:, BEAM_VELOCITIES][:, [0, 2]]
            self.eps_q, self.eps_v = batch.index[:, first][:, [1, 3]], batch.index[:, BEAM_VELOCITIES][:, [1, 3]]
            self.values = cubics(POINTS)
            n2, n3, n4 = slopes(POINTS)[:, :3].T
            self.slopes: Floats = np.stack([-n3, n2, n3, n4], axis=1)
            self.e: Floats = rotation[..., 0] * self.length[:, None, None]
        else:
            self.starts = batch.index[:, 2:4]
            self.in_q, self.in_v = batch.index[:, 0:2], batch.index[:, 2:4]
            self.eps_q = self.eps_v = np.full((n, 2), -1)
            self.values, self.slopes = QUADRATIC, QUADRATIC_SLOPES
            self.e = np.einsum("neij,nj->nei", rotation, batch.data[:, REFERENCE : REFERENCE + 3])
        self.weights: Floats = self.length[:, None] * WEIGHTS
        ends = np.cumsum(self.length)
        self.s: Floats = (ends - self.length)[:, None] + self.length[:, None] * POINTS

    def motion(self, q: Floats, v: Floats) -> Motion:
        """The four vectors at states q (s, n_q), v (s, n_v)."""
        held = self.in_v < 0
        poses = q[:, np.where(held, 0, self.in_q)[..., None] + np.arange(7)]
        poses[:, held] = self.fixed[-1 - self.in_q[held]]
        rates = np.where(held[..., None], 0.0, v[:, np.where(held, 0, self.in_v)[..., None] + np.arange(6)])
        quaternion = poses[..., 3:] / np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
        R, omega = rotation_matrix(quaternion), rates[..., 3:]
        eps = q[:, self.eps_q] if self.strained else np.zeros((len(q), *held.shape))
        eps_rate = v[:, self.eps_v] if self.strained else eps
        k, arm_rate = (1.0 + eps[..., None]) * self.e, np.cross(omega, self.d)
        w = np.cross(omega, k) + eps_rate[..., None] * self.e
        x = np.stack([poses[..., :3] + _times(R, self.d), _times(R, k)], axis=3)
        dx = np.stack([rates[..., :3] + _times(R, arm_rate), _times(R, w)], axis=3)
        shape = (len(q), len(self.length), 4, 3)
        return Motion(R, k, w, arm_rate, omega, x.reshape(shape), dx.reshape(shape))

    def at_points(self, factors: Floats, x: Floats) -> Floats:
        """(s, e, 3, 3) sums of the four vectors (s, e, 4, 3) at the Gauss points; factors (3, 4)."""
        result: Floats = np.einsum("ga,seai->segi", factors, x)
        return result

    def end_forces(self, motion: Motion, force: Floats) -> tuple[Floats, Floats]:
        """Forces per length (s, e, 3, 3), inertial axes, as forces F (s, e, 4, 3) on the four vectors, inertial axes,
        and as generalised forces (s, e, 2, 7) on the frames (torques in their axes) and the strains."""
        F = np.einsum("eg,ga,segi->seai", self.weights, self.values, force)
        own = np.einsum("senji,senaj->senai", motion.R, F.reshape(*F.shape[:2], 2, 2, 3))
        torque = np.cross(self.d, own[..., 0, :]) + np.cross(motion.k, own[..., 1, :])
        strain = np.einsum("eni,seni->sen", self.e, own[..., 1, :])
        return F, np.concatenate([F[:, :, ::2], torque, strain[..., None]], axis=-1)

    def add(self, parts: Floats, sign: float, out: Floats) -> None:
        """out (s, n_v) += sign times the generalised forces (s, e, 2, 7)."""
        for element in range(len(self.length)):
            for end in range(2):
                j = self.in_v[element, end]
                if j >= 0:
                    out[:, j : j + 6] += sign * parts[:, element, end, :6]
                if self.strained:
                    out[:, self.eps_v[element, end]] += sign * parts[:, element, end, 6]

    def jacobian(self, motion: Motion) -> tuple[Floats, Floats]:
        """Derivatives (e, 4, 3, 14) of the four vectors, and of their rates at constant velocities, along the motions
        of both ends, at the first of the states."""
        e = len(self.length)
        by, rate_by = np.zeros((2, e, 2, 2, 3, 2, WIDTH))
        for end in range(2):
            R = motion.R[0, :, end]
            by[:, end, 0, :, end, :3] = np.eye(3)
            for a, local, turned in ((0, self.d, motion.arm_rate[0]), (1, motion.k[0], motion.w[0])):
                by[:, end, a, :, end, 3:6] = -R @ cross_matrix(local[:, end])
                rate_by[:, end, a, :, end, 3:6] = -R @ cross_matrix(turned[:, end])
            by[:, end, 1, :, end, 6] = _times(R, self.e[:, end])
            rate_by[:, end, 1, :, end, 6] = _times(R, np.cross(motion.omega[0, :, end], self.e[:, end]))
        return by.reshape(e, 4, 3, 2 * WIDTH), rate_by.reshape(e, 4, 3, 2 * WIDTH)

    def turning(self, motion: Motion, F: Floats) -> Floats:
        """(e, 14, 14) change of the generalised forces along the motions of the ends at constant F (e, 4, 3)."""
        out = np.zeros((len(F), 2, WIDTH, 2, WIDTH))
        own = np.einsum("enji,enaj->enai", motion.R[0], F.reshape(-1, 2, 2, 3))
        for end in range(2):
            r, g, e = cross_matrix(own[:, end, 0]), cross_matrix(own[:, end, 1]), self.e[:, end]
            turned = cross_matrix(self.d[:, end]) @ r + cross_matrix(motion.k[0, :, end]) @ g
            out[:, end, 3:6, end, 3:6] = turned
            out[:, end, 3:6, end, 6] = np.cross(e, own[:, end, 1])
            out[:, end, 6, end, 3:6] = np.einsum("ei,eij->ej", e, g)
        return out.reshape(-1, 2 * WIDTH, 2 * WIDTH)


def starts_of(points: LinePoints) -> tuple[Ints, Ints]:
    """First and size of the groups of an element among its 14 motions, for ``scatter``."""
    return (
        (np.array([0, 6, 7, 13]), np.array([6, 1, 6, 1])) if points.strained else (np.array([0, 7]), np.array([6, 6]))
    )


def _times(R: Floats, x: Floats) -> Floats:
    """R x of arrays (..., 3, 3) and (..., 3)."""
    result: Floats = np.einsum("...ij,...j->...i", R, np.broadcast_to(x, R.shape[:-1]))
    return result

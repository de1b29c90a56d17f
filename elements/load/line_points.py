"""Points on the axis of a beam by its coordinates: places, velocities, directions, and their derivatives.

In an element of either kind, a point is a sum of four vectors x = (r_I, g_I, r_II, g_II) with constant factors: the
places r of both ends, and vectors g along the beam at these ends. With the attitude R of the frame of an end,

    r = p + R d,    g = R k,    k = L (1 + eps) e of beams with a strain eps at the end, or constant.

Arrays have s states, e elements and three Gauss points each. Source: docs/theory/beam_loads.md, section 3.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.batch import COORDINATES, BeamBatch
from femb.elements.beam.batch import VELOCITIES as BEAM_VELOCITIES
from femb.elements.beam.columns import LENGTH
from femb.elements.beam.interpolation import cubics, slopes
from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.batch import ExactBatch
from femb.elements.exact.columns import REFERENCE
from femb.elements.load.line_point_kernels import end_forces, motions

BUBBLE = 0.5 * POINTS * (1.0 - POINTS)
QUADRATIC = np.stack([1.0 - POINTS, BUBBLE, POINTS, -BUBBLE], axis=1)
QUADRATIC_SLOPES = np.stack([-1.0 + 0.0 * POINTS, 0.5 - POINTS, 1.0 + 0.0 * POINTS, POINTS - 0.5], axis=1)


@dataclass(frozen=True, eq=False)
class Motion:
    """The four vectors x and their rates (s, e, 4, 3) at s states, inertial axes; of both ends, in frame axes: R (s, e,
    2, 3, 3) of the frame, omega, k, w = omega x k + k', and arm_rate = omega x d, (s, e, 2, 3).

    F (s, e, 4, 3) : forces on the four vectors, which ``LinePoints.add_forces`` sets.
    """

    R: Floats
    omega: Floats
    k: Floats
    w: Floats
    arm_rate: Floats
    x: Floats
    rates: Floats
    F: Floats

    @classmethod
    def empty(cls, s: int, e: int) -> Self:
        """Arrays of s states and e elements, to be set."""
        vectors, four = np.empty((4, s, e, 2, 3)), np.empty((3, s, e, 4, 3))
        return cls(np.empty((s, e, 2, 3, 3)), *vectors, *four)


class LinePoints:
    """The Gauss points on the elements of one beam.

    index, ends : as of ``line_point_kernels``. starts (e, 4 or 2) : first velocities of the groups of an element, for
    its pattern. values, slopes (3, 4) : factors of the four vectors for the place and for the derivative along the
    element. weights (e, 3) : m. s (e, 3) : length from the start of the beam, m. sections (e, 2, 3, 3) : axes of the
    end sections in their frames.
    """

    def __init__(self, batch: BeamBatch | ExactBatch) -> None:
        n = len(batch.index)
        self.fixed, self.strained = batch.fixed, isinstance(batch, BeamBatch)
        self.length: Floats = batch.data[:, LENGTH]
        rotation = batch.ends[:, :, 4:13].reshape(n, 2, 3, 3)
        self.sections: Floats = rotation
        if isinstance(batch, BeamBatch):
            self.starts = batch.index[:, BEAM_VELOCITIES]
            pairs = batch.index[:, COORDINATES].reshape(n, 2, 2), self.starts.reshape(n, 2, 2)
            self.index: Ints = np.stack([pairs[part][:, :, m] for m in (0, 1) for part in (0, 1)], axis=2)
            self.values = cubics(POINTS)
            n2, n3, n4 = slopes(POINTS)[:, :3].T
            self.slopes: Floats = np.stack([-n3, n2, n3, n4], axis=1)
            along: Floats = rotation[..., 0] * self.length[:, None, None]
        else:
            self.starts = batch.index[:, 2:4]
            none = np.full((n, 2), -1)
            self.index = np.stack([batch.index[:, 0:2], self.starts, none, none], axis=2)
            self.values, self.slopes = QUADRATIC, QUADRATIC_SLOPES
            along = np.einsum("neij,nj->nei", rotation, batch.data[:, REFERENCE : REFERENCE + 3])
        self.ends: Floats = np.concatenate([batch.ends[:, :, 1:4], along], axis=2)
        self.weights: Floats = self.length[:, None] * WEIGHTS
        reached = np.cumsum(self.length)
        self.s: Floats = (reached - self.length)[:, None] + self.length[:, None] * POINTS

    def set(self, motion: Motion, q: Floats, v: Floats) -> None:
        """Set the motion at states q (s, n_q), v (s, n_v)."""
        of = motion.R, motion.omega, motion.k, motion.w, motion.arm_rate, motion.x, motion.rates
        motions(self.index, self.ends, self.fixed, q, v, *of)

    def motion(self, q: Floats, v: Floats) -> Motion:
        """The motion at states q (s, n_q), v (s, n_v)."""
        motion = Motion.empty(len(q), len(self.length))
        self.set(motion, q, v)
        return motion

    def at_points(self, factors: Floats, x: Floats) -> Floats:
        """(s, e, 3, 3) sums of the four vectors (s, e, 4, 3) at the Gauss points; factors (3, 4)."""
        result: Floats = np.einsum("ga,seai->segi", factors, x)
        return result

    def add_forces(self, motion: Motion, force: Floats, sign: float, out: Floats) -> None:
        """out (s, n_v) += sign times the generalised forces of forces per length (s, e, 3, 3), inertial; sets F."""
        points = self.index, self.ends, self.weights, self.values
        end_forces(*points, motion.R, motion.k, force, sign, motion.F, out)


def starts_of(points: LinePoints) -> tuple[Ints, Ints]:
    """First and size of the groups of an element among its 14 motions, for ``scatter``."""
    return (
        (np.array([0, 6, 7, 13]), np.array([6, 1, 6, 1])) if points.strained else (np.array([0, 7]), np.array([6, 6]))
    )

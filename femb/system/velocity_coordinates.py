"""Coordinates and velocities: the kinematic relation q' = H(q) v, retraction, and scales of errors."""

from functools import cached_property

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.layout.dof_index import DofIndex
from femb.layout.layout import Layout
from femb.numerics import kinematics


class VelocityCoordinates:
    """q = positions, unit quaternions and internal coordinates; v = their velocities, angular velocities in body axes.

    Arrays q (s, n_q), v, a (s, n_v) are of s states where a method says so.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.n_q, self.n_v, self.n_c = layout.n_q, layout.n_v, layout.n_c
        self.dof_index = DofIndex(layout)
        self.coordinates, self.corotated_frames = self.dof_index.coordinates, self.dof_index.corotated_frames

    def rates(self, q: Floats, v: Floats) -> Floats:
        """H(q) v (s, n_q)."""
        out = np.empty_like(q)
        kinematics.rates(*self.coordinates, q, v, out)
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

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The velocities v (s, n_v) with H(q) v = dq, for q (n_q,) and dq (s, n_q)."""
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(*self.coordinates, q[None], dq, out)
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q) = H(q) a + H(q') v of s states."""
        H_rate_v = self.rates(self.rates(q, v), v)
        H_rate_v[:, self.coordinates[0]] = 0.0  # H' is zero for positions and internal coordinates
        return self.rates(q, a) + H_rate_v

    def normalise(self, q: Floats) -> float:
        """Scale the quaternions in q (n_q,) to unit length, in place; returns the largest previous |p.p - 1|."""
        return float(kinematics.normalise(self.coordinates[2], q))

    def rigid_velocities(self, q: Floats) -> Floats:
        """(6, n_v): velocities of all frames in unit translations along, and rotations about, the inertial axes."""
        return self.dof_index.rigid_velocities(q)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Arguments of ``kinematics.error_norm`` before the error, for q and for v."""
        return self.dof_index.error_scale(rtol, atol)

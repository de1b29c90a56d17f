"""Coordinates and velocities, and the equations of motion at states.

The kinematic relation is q' = H(q) v, with retraction and scales of errors.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints, Sparse
from femb.elements.joint.constraint_set import ConstraintSet
from femb.layout.connections import groups_of
from femb.layout.element import Batch, LowRank
from femb.layout.layout import Layout
from femb.numerics import kinematics, rotations
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.system.block_lu import LinearSolver, Matrix, WithLowRank
from femb.system.pattern import Pattern

# Number of roundings of a position in a constraint equation.
ROUNDINGS = 8.0


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

    def moves(self, v: Floats, still: float = 0.0) -> bool:
        """Whether a velocity of v (n_v,) is larger than ``still``; the values of first-order states are none."""
        sizes = np.abs(v)
        sizes[self.layout.first_order_v] = 0.0
        return bool(np.max(sizes, initial=0.0) > still)

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The velocities v (s, n_v) with H(q) v = dq, for q (n_q,) or (s, n_q) and dq (s, n_q)."""
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(*self.coordinates, q if q.ndim == 2 else q[None], dq, out)
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
        position, quaternion, _ = atol.values(rtol)
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
        groups = groups_of(layout, springs=True, rows=True) if np.any(layout.slow_time) else []
        alone = [group[0] for group in groups if len(group) == 1 and group[0] not in whole]
        slow[layout.frame_v[alone]] = np.broadcast_to(layout.slow_time, len(layout.frames))[alone]
        return np.asarray(np.maximum(slow[first], atol.time))


def corotated_vectors(first: Ints) -> Ints:
    """(F, 2) for ``VelocityCoordinates.corotated_frames``, for frames with the first velocity at index first (F,)."""
    result: Ints = np.full((len(first), 2), -1)
    result[:, 0] = first
    return result


class BoundMatrices(BoundSequence):
    """``MotionEquations.matrices`` of the state in u, q, v and multipliers: arrays (1, .) whose entries change between
    the calls, of a system without matrices of low rank.

    Each call overwrites ``arrays``: mass, damping and tangent, block data. Raises FoldedError.
    """

    def __init__(self, system: "MotionEquations", u: Floats, q: Floats, v: Floats, multipliers: Floats) -> None:
        data = np.zeros((3, system.pattern.size))
        parts = data[0:1], data[1:2], data[2:3]
        self.arrays: tuple[Floats, Floats, Floats] = data[0], data[1], data[2]
        calls: list[Callable[[], object]] = [Bound(clear, data)]
        calls += [batch.bound_matrices(u, q, v, *parts) for batch in system.batches]
        super().__init__([*calls, system.constraint_set.bound_matrices(u, q, v, multipliers, *parts[1:])])


class MotionEquations(VelocityCoordinates):
    """The equations of motion of batches and constraints, evaluated at states.

    M a + h + f - f_applied + J^T lambda = 0 and Phi = 0, with inputs u (n_u,), coordinates q (n_q,), velocities v
    (n_v,) and their rates a; of s states the arrays are (s, n_u) and so on.
    """

    pattern: Pattern
    solver: LinearSolver
    batches: list[Batch]
    constraint_set: ConstraintSet

    @cached_property
    def rigid(self) -> Any:
        """Compiled steps, if there are only rigid bodies, point masses and joints, without inputs."""
        return None

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """M a + h + f_el - f (s, n_v), without the forces of constraints. Raises FoldedError."""
        out = np.zeros(a.shape)
        for batch in self.batches:
            batch.residual(u, q, v, a, out)
        return out

    def matrices(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None
    ) -> tuple[Floats, Matrix, Matrix]:
        """Mass, damping and iteration tangent of the ``equations`` at one state, block data. Raises FoldedError.

        J and J^T are part of damping, the derivatives with respect to velocities and multipliers. multipliers (n_c,).
        Damping and tangent are ``femb.system.block_lu.WithLowRank`` where an element asks for it.
        """
        mass, damping, stiffness = np.zeros((3, self.pattern.size))
        for batch in self.batches:
            batch.matrices(u, q, v, mass, damping, stiffness)
        return mass, *self._constrained(u, q, v, multipliers, damping, stiffness)

    def bound_matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> BoundMatrices | None:
        """``matrices`` of the state u, q, v, ``multipliers`` in these arrays (1, n), bound to kernels.

        None where an element may ask for a part of low rank.
        """
        if any(type(batch).low_rank_matrices is not Batch.low_rank_matrices for batch in self.batches):
            return None
        return BoundMatrices(self, u, q, v, multipliers)

    def _constrained(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None, damping: Floats, stiffness: Floats
    ) -> tuple[Matrix, Matrix]:
        """Damping with J and J^T, stiffness with the derivatives of constraint forces, both with low-rank parts."""
        self.constraint_set.jacobian(u, q, damping)
        if multipliers is not None:
            self.constraint_set.constraint_tangent(u, q, v, multipliers, stiffness)
        low_rank = self.low_rank_matrices(u, q, v)
        return WithLowRank.pair(damping, stiffness, low_rank, self.n_c) if low_rank.rank else (damping, stiffness)

    def low_rank_matrices(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The part of ``matrices`` at one state that is not in block data; of rank 0 where no element asks for it."""
        parts = [batch.low_rank_matrices(u, q, v) for batch in self.batches]
        return LowRank.joined([part for part in parts if part is not None], self.n_v)

    def mass_data(self, q: Floats) -> Floats:
        """Mass at one state, block data."""
        mass = np.zeros(self.pattern.size)
        for batch in self.batches:
            batch.mass(q, mass)
        return mass

    def mass_matrix(self, q: Floats) -> Sparse:
        """M(q) (n_v, n_v), scipy.sparse."""
        return self.pattern.to_csc(self.mass_data(q))[: self.n_v, : self.n_v]

    @cached_property
    def resolution(self) -> float:
        """Size of gaps of constraints (m) that are rounding errors of the positions at the start."""
        return ROUNDINGS * float(np.finfo(float).eps) * self.layout.extent

    def constraints(self, u: Floats, q: Floats, v: Floats, data: Floats | None = None) -> tuple[Floats, Floats]:
        """Phi and gamma (s, n_c), where J v' = gamma; J and J^T are added to block data (s, size)."""
        position, gamma = np.zeros((2, len(q), self.n_c))
        if data is None:
            self.constraint_set.constraints(u, q, v, position, gamma)
        else:
            self.constraint_set.jacobian_each(u, q, v, data, position, gamma)
        return position, gamma

    def constraint_rates(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (s, n_c)."""
        force, rates = np.zeros(v.shape), np.zeros((len(q), self.n_c))
        self.constraint_set.constraint_force(u, q, v, np.zeros_like(rates), force, rates)
        return rates

    def position_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """Phi (n_c,) at one state."""
        gaps: Floats = self.constraints(u[None], q[None], v[None])[0][0]
        return gaps

    def velocity_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (n_c,) at one state."""
        rates: Floats = self.constraint_rates(u[None], q[None], v[None])[0]
        return rates

    def jacobian(self, u: Floats, q: Floats) -> Sparse:
        """J (n_c, n_v) at one state, scipy.sparse."""
        data = np.zeros(self.pattern.size)
        self.constraint_set.jacobian(u, q, data)
        return self.pattern.to_csc(data)[self.n_v :, : self.n_v]

"""Relative coordinates of a System and their speeds: conversion of states, rates, tolerances.

Source: docs/theory/relative.md, sections 1 to 4.
"""

from functools import cached_property

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.joint_tree_kernels import POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.relative import Speeds, Velocities, velocities
from femb.formulations.relative_angles import angle_rates, gimbal_distance
from femb.formulations.relative_columns import RelativeColumns
from femb.formulations.relative_tree import Placement
from femb.numerics import kinematics, rotations
from femb.system.system import System


class RelativeCoordinates(RelativeColumns):
    """A model's joint tree in relative coordinates q (n_q,) and speeds v (n_v,). q0, v0 : the model's start."""

    def __init__(self, system: System, choice: Speeds) -> None:
        super().__init__(system, choice)
        self._inner = rotations.from_matrix(self.tree.parent_axes)
        self._outer_back = rotations.conjugate(rotations.from_matrix(self.tree.body_axes))
        self._signs = np.ones(len(self.names))
        self.q0, self.v0 = self.from_system(system.q0, system.v0)
        Q, _ = self.to_system(self.q0[None], self.v0[None])
        for k, frame in enumerate(self.joints.frames):
            i = self.layout.frame_q[frame.frame] + 3
            if self.layout.frames[frame.frame].freedom == 6 and Q[0, i : i + 4] @ system.q0[i : i + 4] < 0.0:
                self._signs[k] = -1.0

    # States

    def placement(self, q: Floats) -> Placement:
        """Translations and relative attitudes of all joints at q (n_q,)."""
        s, angles = np.zeros((2, len(self.names), 3))
        R = np.empty((len(self.names), 3, 3))
        for k, (frame, (i, _)) in enumerate(zip(self.joints.frames, self._parts, strict=True)):
            s[k, list(frame.strokes)] = q[i : i + len(frame.strokes)]
            if frame.rotation == SPHERICAL and self.choice == "angles":
                angles[k] = q[i + len(frame.strokes) :][:3]
            R[k] = rotations.rotation_matrix(self._relative_attitude(k, q)).T
        return Placement(s, angles, R)

    def _relative_attitude(self, k: int, q: Floats) -> Floats:
        """Quaternion (4,) of a joint's axes in the body relative to those in the parent, continuous in a motion.

        A point mass has no axes; it rotates with its parent.
        """
        frame = self.joints.frames[k]
        q_joint = q[self._parts[k][0] + len(frame.strokes) :]
        if frame.rotation == SPHERICAL:
            if self.choice == "angles":
                first, second, third = (_axis_rotation(axis, q_joint[axis]) for axis in range(3))
                return rotations.multiply(first, rotations.multiply(second, third))
            return rotations.normalise(q_joint[:4])
        if frame.rotation == POINT_MASS:
            return np.array([1.0, 0.0, 0.0, 0.0])
        p = rotations.from_matrix(frame.zero)
        if frame.rotation in (REVOLUTE, UNIVERSAL):
            p = rotations.multiply(_axis_rotation(2, q_joint[0]), p)
        if frame.rotation == UNIVERSAL:
            p = rotations.multiply(p, _axis_rotation(2, q_joint[1]))
        return rotations.conjugate(p) if frame.backward else p

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q and v of s states, q (s, n_q), v (s, n_v)."""
        Q, V = np.empty((len(q), self.system.n_q)), np.empty((len(q), self.system.n_v))
        for row in range(len(q)):
            motion = velocities(self.tree, self.placement(q[row]), self.select @ v[row], self.choice)
            self._fill(motion, q[row], v[row], Q[row], V[row])
        return Q, V

    def _fill(self, motion: Velocities, q: Floats, v: Floats, Q: Floats, V: Floats) -> None:
        attitudes: list[Floats] = []
        for k, frame in enumerate(self.joints.frames):
            i, j = self.layout.frame_q[frame.frame], self.layout.frame_v[frame.frame]
            p = rotations.multiply(self._inner[k], self._relative_attitude(k, q))
            p = rotations.multiply(p, self._outer_back[k])
            attitudes.append(rotations.multiply(attitudes[frame.parent], p) if frame.parent >= 0 else p)
            back = motion.A[k] @ self._centers[k]
            Q[i : i + 3], V[j : j + 3] = motion.r[k] - back, motion.v[k] - np.cross(motion.w[k], back)
            if self.layout.frames[frame.frame].freedom == 6:
                Q[i + 3 : i + 7] = self._signs[k] * attitudes[k]
                V[j + 3 : j + 6] = motion.A[k].T @ motion.w[k]
        i, j, count = self._internal
        Q[self.layout.internal_q], V[self.layout.internal_v] = q[i : i + count], v[j : j + count]

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,), u (n_v,) of one state of the System. Raises SolveError at gimbal lock."""
        tree = self.joints
        tree_q = tree.coordinates_at(q)
        tree_u = tree.speeds_at(tree_q, v)
        q_relative, u_relative = np.empty(self.n_q), np.empty(self.n_v)
        attitude: list[Floats] = []
        spin: list[Floats] = []  # inertial
        for k, (frame, (i, j)) in enumerate(zip(tree.frames, self._parts, strict=True)):
            in_q, in_v = self.layout.frame_q[frame.frame], self.layout.frame_v[frame.frame]
            p = frame.parent
            above, carrier = (attitude[p], spin[p]) if p >= 0 else (np.eye(3), np.zeros(3))
            if self.layout.frames[frame.frame].freedom == 6:
                A = rotations.rotation_matrix(rotations.normalise(q[in_q + 3 : in_q + 7]))
                w = A @ v[in_v + 3 : in_v + 6]
            else:  # a point mass rotates with its parent
                A = above @ self.tree.parent_axes[k] @ self.tree.body_axes[k].T
                w = carrier
            attitude.append(A)
            spin.append(w)
            strokes = len(frame.strokes)
            q_relative[i : i + strokes] = tree_q[frame.q.start : frame.angles.start]
            u_relative[j : j + strokes] = tree_u[frame.u.start : frame.u.start + strokes]
            if frame.joint is None:
                back = A @ self._centers[k]
                q_relative[i : i + 3] = q[in_q : in_q + 3] + back
                u_relative[j : j + 3] = v[in_v : in_v + 3] + np.cross(w, back)
            i, j = i + strokes, j + strokes
            if frame.rotation in (REVOLUTE, UNIVERSAL):
                count = frame.q.stop - frame.angles.start
                q_relative[i : i + count], u_relative[j : j + count] = tree_q[frame.angles], tree_u[frame.u][strokes:]
            elif frame.rotation == SPHERICAL:
                inner, outer = above @ self.tree.parent_axes[k], A @ self.tree.body_axes[k]
                self._set_spherical(inner, outer, w - carrier, q_relative[i:], u_relative[j:])
        i, j, count = self._internal
        q_relative[i : i + count], u_relative[j : j + count] = q[self.layout.internal_q], v[self.layout.internal_v]
        return q_relative, u_relative

    def _set_spherical(self, inner: Floats, outer: Floats, relative: Floats, q: Floats, u: Floats) -> None:
        """Set the first entries of q and u to the coordinates and speeds of a spherical joint."""
        C = inner.T @ outer
        if self.choice == "angles":
            q[:3] = np.arctan2(-C[1, 2], C[2, 2]), np.arctan2(C[0, 2], np.hypot(C[0, 0], C[0, 1])), 0.0
            q[2] = np.arctan2(-C[0, 1], C[0, 0])
            u[:3] = angle_rates(q[:3], inner.T @ relative)
        else:
            q[:4] = rotations.from_matrix(C)
            u[:3] = (inner if self.choice == "fixed" else outer).T @ relative

    def gimbal_distances(self, q: Floats) -> dict[str, float]:
        """Gimbal distances of spherical joints and free bodies by name; see ``RelativeState``."""
        result: dict[str, float] = {}
        for k, frame in enumerate(self.joints.frames):
            if frame.rotation != SPHERICAL:
                continue
            angle = q[self._parts[k][0] + len(frame.strokes) + 1]
            distance = float(gimbal_distance([0.0, angle, 0.0])) if self.choice == "angles" else 1.0
            result[self.names[k] if frame.joint is None else frame.joint] = distance
        return result

    @cached_property
    def _indices(self) -> tuple[Ints, list[tuple[int, int]]]:
        """Indices (2, k) in q and u of coordinates whose rates are speeds, and (q, u) of every quaternion."""
        linear: list[tuple[int, int]] = []
        quaternions: list[tuple[int, int]] = []
        for frame, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            count = frame.u.stop - frame.u.start
            if frame.rotation == SPHERICAL and self.choice != "angles":
                count -= 3
                quaternions.append((i + count, j + count))
            linear += [(i + k, j + k) for k in range(count)]
        i, j, count = self._internal
        linear += [(i + k, j + k) for k in range(count)]
        return np.array(linear, dtype=np.int64).reshape(-1, 2).T, quaternions

    def _product(self, p: Floats, x: Floats) -> Floats:
        """(0, x) p (speeds in parent axes) or p (0, x) (body axes) of quaternions (s, 4) and speeds (s, 3)."""
        w = np.concatenate([np.zeros_like(x[:, :1]), x], axis=1)
        return rotations.multiply(*((w, p) if self.choice == "fixed" else (p, w)))

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        out = np.empty_like(q)
        (at_q, at_v), quaternions = self._indices
        out[:, at_q] = v[:, at_v]
        for i, j in quaternions:
            out[:, i : i + 4] = 0.5 * self._product(q[:, i : i + 4], v[:, j : j + 3])
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q)."""
        by_rate = self.rates(self.rates(q, v), v)
        by_rate[:, self._indices[0][0]] = 0.0
        return self.rates(q, a) + by_rate

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The speeds (s, n_v) that change q (n_q,) or (s, n_q) at rates dq (s, n_q); a change of length is dropped."""
        out = np.empty((len(dq), self.n_v))
        (at_q, at_v), quaternions = self._indices
        out[:, at_v] = dq[:, at_q]
        for i, j in quaternions:
            # q' = (0, w) p / 2 or p (0, w) / 2
            p, change = q[..., i : i + 4], dq[:, i : i + 4]
            back = rotations.conjugate(p)
            w = rotations.multiply(*((change, back) if self.choice == "fixed" else (back, change)))
            out[:, j : j + 3] = 2.0 / np.sum(p * p, axis=-1, keepdims=True) * w[:, 1:]
        return out

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; returns the largest |p.p - 1| before."""
        first = np.array([i for i, _ in self._indices[1]], dtype=np.int64)
        return float(kinematics.normalise_each(first, q.reshape(-1, self.n_q)))

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Tolerances (n_q,), (n_v,) of every coordinate and speed by ``rtol``, a ratio, and ``atol``: of positions for
        strokes, of quaternions for rotations."""
        position, quaternion, _ = atol.values(rtol)
        of_q, of_v = np.full(self.n_q, quaternion), np.full(self.n_v, quaternion)
        for frame, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            of_q[i : i + len(frame.strokes)] = of_v[j : j + len(frame.strokes)] = position
        of_q[self._internal[0] :] = of_v[self._internal[1] :] = self.layout.internal_tolerances(atol, rtol)[0]
        scales = []
        for scale, time in ((of_q, 1.0), (of_v, atol.time)):
            # for the tolerance an angle is at most one radian
            sizes = np.where((scale == quaternion) & (time == 1.0), -1, 1)
            scales.append((np.arange(len(scale)), sizes, scale / time, rtol))
        return scales[0], scales[1]


def _axis_rotation(axis: int, angle: float) -> Floats:
    """Quaternion (4,) of a rotation by an angle (rad) about a coordinate axis."""
    p = np.zeros(4)
    p[0], p[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return p

"""Equations of motion of a joint tree in relative coordinates after Kamman: a formulation for explicit methods.

Kane's equations with the partial velocities V of mass centres and W of bodies are

    V^T (F - m a) + W^T (T - J alpha - w x J w) = 0,    v = V u,  w = W u,  a = V u' + V' u,  alpha = W u' + W' u

Source: docs/theory/relative.md, sections 2 to 4.
"""

from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.joint_tree import JointTree, TreeForm, joint_words
from femb.formulations.joint_tree_kernels import POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.relative import (
    GIMBAL,
    Partials,
    RelativePlacement,
    RelativeTree,
    Speeds,
    Velocities,
    angle_rates,
    body_rows,
    gimbal_distance,
    partials,
    velocities,
)
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.numerics import kinematics, rotations
from femb.system.system import System

# The joint tree of a System as a ``RelativeTree``, and the names of its coordinates and speeds.
#
# A RelativeTree has six columns for every joint; the joint's strokes and angles are those components of the relative
# translation and rotation, in axes of the joint, that no row constrains.
# Source: docs/theory/relative.md, sections 1 to 4.


class RelativeColumns:
    """The columns of a model.

    names (n,) : bodies and nodes of beams, parents first. parents (n,) : index of the parent in ``names``, -1 for the
    ground or the inertial frame. coordinates, speeds : their names. choice : "fixed", "body" or "angles". tree : has
    six columns for every joint; ``select`` (6 n, n_v) maps the speeds to these columns.
    """

    def __init__(self, system: System, choice: Speeds) -> None:
        self.choice: Speeds = choice
        self.system, self.model, self.layout = system, system.model, system.layout
        self.joints = JointTree(system, "relative_kinematics", analysis=True)
        self.names = tuple(self.layout.frames[frame.frame].label for frame in self.joints.frames)
        self.parents = tuple(frame.parent for frame in self.joints.frames)
        self.tree = self._relative_tree()
        self._number()
        self.n_q, self.n_v = len(self.coordinates), len(self.speeds)

    def _center(self, frame: int) -> Floats:
        """Mass centre (3,) of a frame in its axes; zero for nodes and point masses."""
        name = next((name for name, number in self.layout.bodies.items() if number == frame), None)
        body = None if name is None else self.model.bodies[name]
        return np.asarray(getattr(body, "center_of_mass", np.zeros(3)), dtype=float)

    def _relative_tree(self) -> RelativeTree:
        frames, count = self.joints.frames, len(self.joints.frames)
        self._centers = np.array([self._center(frame.frame) for frame in frames])
        joint, arm = np.zeros((2, count, 3))
        inner, outer = np.tile(np.eye(3), (2, count, 1, 1))
        for k, frame in enumerate(frames):
            if frame.joint is None:
                continue  # a free root: translation of its mass centre, rotation of its axes
            if frame.parent >= 0:
                joint[k] = frame.above.offset - self._centers[frame.parent]
                inner[k] = rotations.rotation_matrix(frame.above.rotation)
            else:
                joint[k], quaternion = self.layout.pose(frame.above)
                inner[k] = rotations.rotation_matrix(quaternion)
            arm[k] = self._centers[k] - frame.below.offset
            outer[k] = rotations.rotation_matrix(frame.below.rotation)
        universal = [(2 if frame.backward else 1) if frame.rotation == UNIVERSAL else 0 for frame in frames]
        slides = [float(frame.backward) for frame in frames]
        return RelativeTree(self.names, self.parents, joint, arm, inner, outer, slides, universal)

    def _number(self) -> None:
        """Set the names of coordinates and speeds, and ``select``."""
        coordinates: list[str] = []
        speeds: list[str] = []
        columns: list[tuple[int, float]] = []
        self._parts: list[tuple[int, int]] = []  # first coordinate and speed of every frame
        for k, frame in enumerate(self.joints.frames):
            self._parts.append((len(coordinates), len(speeds)))
            free = frame.joint is None
            title = f"bodies.{self.names[k]}" if free else f"joints.{frame.joint}"
            words = ["xyz"[axis] for axis in frame.strokes] if free else joint_words(self.layout, frame)
            coordinates += [f"{title}.{word}" for word in words]
            speeds += [f"{title}.{word} rate" for word in words]
            columns += [(6 * k + axis, 1.0) for axis in frame.strokes]
            if frame.rotation in (REVOLUTE, UNIVERSAL):
                sign, count = -1.0 if frame.backward else 1.0, len(words) - len(frame.strokes)
                columns += [(6 * k + 3 + (2 if frame.rotation == REVOLUTE else i), sign) for i in range(count)]
            elif frame.rotation == SPHERICAL:
                if self.choice == "angles":
                    names = [f"{title}.theta_{i}" for i in (1, 2, 3)]
                    coordinates += names
                    speeds += [f"{name} rate" for name in names]
                else:
                    coordinates += [f"{title}.quaternion_{i}" for i in range(4)]
                    speeds += [f"{title}.omega_{axis}" for axis in "xyz"]
                columns += [(6 * k + 3 + i, 1.0) for i in range(3)]
        internal = [f"{item.table}.{item.label}: {item.quantity.name}" for item in self.layout.internal]
        self._internal = len(coordinates), len(speeds), len(internal)
        self.coordinates, self.speeds = (*coordinates, *internal), (*speeds, *(f"{name} rate" for name in internal))
        self.select = np.zeros((6 * len(self.names), len(self.speeds)))
        for column, (row, sign) in enumerate(columns):
            self.select[row, column] = sign


# Relative coordinates of a System and their speeds: conversion of states, rates, tolerances.
#
# Source: docs/theory/relative.md, sections 1 to 4.


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

    def placement(self, q: Floats) -> RelativePlacement:
        """Translations and relative attitudes of all joints at q (n_q,)."""
        s, angles = np.zeros((2, len(self.names), 3))
        R = np.empty((len(self.names), 3, 3))
        for k, (frame, (i, _)) in enumerate(zip(self.joints.frames, self._parts, strict=True)):
            s[k, list(frame.strokes)] = q[i : i + len(frame.strokes)]
            if frame.rotation == SPHERICAL and self.choice == "angles":
                angles[k] = q[i + len(frame.strokes) :][:3]
            R[k] = rotations.rotation_matrix(self._relative_attitude(k, q)).T
        return RelativePlacement(s, angles, R)

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
        # for the tolerance an angle is at most one radian
        sizes = np.where(of_q == quaternion, -1, 1)
        of_v /= atol.time
        i, j, _ = self._internal
        of_q[i:], of_v[j:], angles = self.layout.internal_tolerances(atol, rtol)
        sizes[i:] = np.where(angles, -1, 1)
        ones = np.ones(self.n_v, dtype=sizes.dtype)
        return (np.arange(self.n_q), sizes, of_q, rtol), (np.arange(self.n_v), ones, of_v, rtol)


def _axis_rotation(axis: int, angle: float) -> Floats:
    """Quaternion (4,) of a rotation by an angle (rad) about a coordinate axis."""
    p = np.zeros(4)
    p[0], p[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return p


# Projection onto the retained rows: tolerance in the units of the rows, and number of iterations.


class RelativeEquations(RelativeCoordinates, TreeForm):
    """A System in relative coordinates of its joints."""

    def __init__(self, system: "System", choice: Speeds) -> None:
        TreeForm.__init__(self, system)
        RelativeCoordinates.__init__(self, system, choice)
        self._select_rows(self.joints)
        if not self.n_v:
            raise ModelError("relative_kinematics: the joints leave nothing free to move")

    def _motion(self, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats]:
        """Velocities, partials, and H2, H2' (system.n_v, n_v): the System's velocities by the speeds."""
        placement, full = self.placement(q), self.select @ v
        motion = velocities(self.tree, placement, full, self.choice)
        parts = partials(self.tree, placement, full, self.choice)
        rows, rates = (body_row @ self.select for body_row in body_rows(motion, parts))
        H2, H2_rate = np.zeros((2, self.system.n_v, self.n_v))
        for k, frame in enumerate(self.joints.frames):
            j, freedom = self.layout.frame_v[frame.frame], self.layout.frames[frame.frame].freedom
            linear, angular = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            # from the mass centre to the frame's origin: v - w x A c = v + A c~ (A^T w)
            lever = motion.A[k] @ rotations.cross_matrix(self._centers[k])
            lever_rate = rotations.cross_matrix(motion.w[k]) @ lever
            H2[j : j + 3] = rows[linear] + lever @ rows[angular]
            H2_rate[j : j + 3] = rates[linear] + lever @ rates[angular] + lever_rate @ rows[angular]
            if freedom == 6:
                H2[j + 3 : j + 6], H2_rate[j + 3 : j + 6] = rows[angular], rates[angular]
        _, j, count = self._internal
        H2[self.layout.internal_v, np.arange(j, j + count)] = 1.0
        return motion, parts, H2, H2_rate

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The System's v' of s states whose speeds have the rates a (s, n_v): H2 a + H2' v."""
        out = np.empty((len(q), self.system.n_v))
        for k in range(len(q)):
            _, _, H2, H2_rate = self._motion(q[k], v[k])
            out[k] = H2 @ a[k] + H2_rate @ v[k]
        return out

    def balance(self, u: Floats, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats, Floats, Floats]:
        """The equations of ``forward``: motion, partials, inertia, force, retained rows and their right-hand side."""
        motion, parts, H2, H2_rate = self._motion(q, v)
        Q, V = np.empty((1, self.system.n_q)), np.empty((1, self.system.n_v))
        self._fill(motion, q, v, Q[0], V[0])
        bias = H2_rate @ v
        inertia = H2.T @ (self.system.mass_matrix(Q[0]) @ H2)
        force = -H2.T @ self.system.residual(u[None], Q, V, bias[None])[0]
        rows, gamma = np.zeros((0, self.n_v)), np.zeros(0)
        if self.n_c:
            J = self.system.jacobian(u, Q[0])[self.retained]
            gamma = self.system.constraints(u[None], Q, V)[1][0, self.retained] - J @ bias
            rows = J @ H2
        return motion, parts, inertia, force, rows, gamma

    def solved(self, inertia: Floats, force: Floats, rows: Floats, gamma: Floats, q: Floats) -> tuple[Floats, Floats]:
        """u' (n_v,) and lambda (n_c,): inertia u' + rows^T lambda = force, rows u' = gamma. Raises TrialError."""
        locked = [name for name, x in self.gimbal_distances(q).items() if x < GIMBAL]
        if locked:
            raise TrialError(f"the 1-2-3 angles of {', '.join(locked)} are locked; take angular velocities as speeds")
        n_c = len(rows)
        matrix = np.block([[inertia, rows.T], [rows, np.zeros((n_c, n_c))]])
        try:
            x = np.linalg.solve(matrix, np.concatenate([force, gamma]))
        except np.linalg.LinAlgError as error:
            raise TrialError(
                "the generalized inertia is singular: a direction without mass, or drivers that depend on each other"
            ) from error
        return x[: self.n_v], x[self.n_v :]

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """u' (n_v,) and the multipliers (n_c,) of drivers and latches. Raises TrialError at lock."""
        _, _, inertia, force, rows, gamma = self.balance(u, q, v)
        return self.solved(inertia, force, rows, gamma, q)

    # Other members of the contract

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) of the System at time t (s) and one state."""
        Q, V = self.to_system(q[None], v[None])
        return self.system.at(Q[0]).inputs_at(t, Q[0], V[0])

    def at(self, q: Floats) -> Self:
        """The equations after a step to q, from which joint angles are unwrapped."""
        other = copy(self)
        other.system = self.system.at(self.to_system(q[None], np.zeros((1, self.n_v)))[0][0])
        return other

    def _update_discrete(self, previous: DiscreteState) -> None:
        self._select_rows(self.joints)

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the inertia, that changes the retained rows by -gap."""
        _, _, inertia, _, rows, _ = self.balance(u, q, np.zeros(self.n_v))
        return self.solved(inertia, np.zeros(self.n_v), rows, -gap, q)[0]

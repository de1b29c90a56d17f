"""Relative coordinates of a System and their speeds: states, rates, tolerances.

Source: docs/theory/relative.md, sections 1 to 4.
"""

from functools import cached_property

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.joint_tree_kernels import POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.relative import Speeds, Velocities, accelerations, velocities
from femb.formulations.relative_angles import angle_rates, gimbal_distance
from femb.formulations.relative_columns import RelativeColumns
from femb.formulations.relative_tree import Placement
from femb.formulations.tree_frame import TreeFrame
from femb.layout.dof_index import internal_tolerances
from femb.numerics import kinematics, rotations
from femb.system.system import System


class RelativeCoordinates(RelativeColumns):
    """A model's tree of joints in relative coordinates q (n_q,) and speeds u (n_v,). q0, v0 : the model's start."""

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
        """Where the bodies are, at q (n_q,)."""
        s, angles = np.zeros((2, len(self.names), 3))
        R = np.empty((len(self.names), 3, 3))
        for k, (each, (i, _)) in enumerate(zip(self.joints.frames, self._parts, strict=True)):
            s[k, list(each.strokes)] = q[i : i + len(each.strokes)]
            if each.turn == SPHERICAL and self.choice == "angles":
                angles[k] = q[i + len(each.strokes) :][:3]
            R[k] = rotations.rotation_matrix(self._turn(k, q)).T
        return Placement(s, angles, R)

    def _turn(self, k: int, q: Floats) -> Floats:
        """Quaternion (4,) of a joint's axes in the body relative to those in the parent; it does not jump in a motion.

        A point mass has no axes; it turns with what it hangs on.
        """
        each = self.joints.frames[k]
        own = q[self._parts[k][0] + len(each.strokes) :]
        if each.turn == SPHERICAL:
            if self.choice == "angles":
                first, second, third = (_half_turn(axis, own[axis]) for axis in range(3))
                return rotations.multiply(first, rotations.multiply(second, third))
            return rotations.normalise(own[:4])
        if each.turn == POINT_MASS:
            return np.array([1.0, 0.0, 0.0, 0.0])
        p = rotations.from_matrix(each.zero)
        if each.turn in (REVOLUTE, UNIVERSAL):
            p = rotations.multiply(_half_turn(2, own[0]), p)
        if each.turn == UNIVERSAL:
            p = rotations.multiply(p, _half_turn(2, own[1]))
        return rotations.conjugate(p) if each.backward else p

    def _turns_freely(self) -> list[tuple[int, TreeFrame]]:
        return [(k, frame) for k, frame in enumerate(self.joints.frames) if frame.turn == SPHERICAL]

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q and v of s states, q (s, n_q), v (s, n_v)."""
        Q, V = np.empty((len(q), self.system.n_q)), np.empty((len(q), self.system.n_v))
        for row in range(len(q)):
            motion = velocities(self.tree, self.placement(q[row]), self.select @ v[row], self.choice)
            self._fill(motion, q[row], v[row], Q[row], V[row])
        return Q, V

    def _fill(self, motion: Velocities, q: Floats, v: Floats, Q: Floats, V: Floats) -> None:
        turns: list[Floats] = []
        for k, frame in enumerate(self.joints.frames):
            i, j = self.layout.frame_q[frame.frame], self.layout.frame_v[frame.frame]
            turn = rotations.multiply(rotations.multiply(self._inner[k], self._turn(k, q)), self._outer_back[k])
            turns.append(rotations.multiply(turns[frame.parent], turn) if frame.parent >= 0 else turn)
            back = motion.A[k] @ self._centers[k]
            Q[i : i + 3], V[j : j + 3] = motion.r[k] - back, motion.v[k] - np.cross(motion.w[k], back)
            if self.layout.frames[frame.frame].freedom == 6:
                Q[i + 3 : i + 7] = self._signs[k] * turns[k]
                V[j + 3 : j + 6] = motion.A[k].T @ motion.w[k]
        i, j, count = self._internal
        Q[self.layout.internal_q], V[self.layout.internal_v] = q[i : i + count], v[j : j + count]

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The System's v' of s states whose speeds have the rates a (s, n_v)."""
        out = np.empty((len(q), self.system.n_v))
        start, count = self._internal[1:]
        for row in range(len(q)):
            at, u = self.placement(q[row]), self.select @ v[row]
            motion = velocities(self.tree, at, u, self.choice)
            linear, angular = accelerations(self.tree, at, u, self.select @ a[row], self.choice)
            for k, frame in enumerate(self.joints.frames):
                j = self.layout.frame_v[frame.frame]
                back, w = motion.A[k] @ self._centers[k], motion.w[k]
                out[row, j : j + 3] = linear[k] - np.cross(angular[k], back) - np.cross(w, np.cross(w, back))
                if self.layout.frames[frame.frame].freedom == 6:
                    out[row, j + 3 : j + 6] = motion.A[k].T @ angular[k]
            out[row, self.layout.internal_v] = a[row, start : start + count]
        return out

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,), u (n_v,) of one state of the System. Raises SolveError where angles are locked."""
        tree = self.joints
        own = tree.coordinates_at(q)
        rates = tree.speeds_at(own, v)
        mine, speeds = np.empty(self.n_q), np.empty(self.n_v)
        attitude: list[Floats] = []
        spin: list[Floats] = []  # inertial
        for k, (each, (i, j)) in enumerate(zip(tree.frames, self._parts, strict=True)):
            place, at = self.layout.frame_q[each.frame], self.layout.frame_v[each.frame]
            turns = self.layout.frames[each.frame].freedom == 6
            if turns:
                A = rotations.rotation_matrix(rotations.normalise(q[place + 3 : place + 7]))
                w = A @ v[at + 3 : at + 6]
            else:  # a point mass turns with what it hangs on
                above = attitude[each.parent] if each.parent >= 0 else np.eye(3)
                A = above @ self.tree.parent_axes[k] @ self.tree.body_axes[k].T
                w = spin[each.parent] if each.parent >= 0 else np.zeros(3)
            attitude.append(A)
            spin.append(w)
            strokes = len(each.strokes)
            mine[i : i + strokes] = own[each.q.start : each.angles.start]
            speeds[j : j + strokes] = rates[each.u.start : each.u.start + strokes]
            if each.joint is None:
                back = A @ self._centers[k]
                mine[i : i + 3], speeds[j : j + 3] = q[place : place + 3] + back, v[at : at + 3] + np.cross(w, back)
            i, j = i + strokes, j + strokes
            if each.turn in (REVOLUTE, UNIVERSAL):
                count = each.q.stop - each.angles.start
                mine[i : i + count], speeds[j : j + count] = own[each.angles], rates[each.u][strokes:]
            elif each.turn == SPHERICAL:
                above = attitude[each.parent] if each.parent >= 0 else np.eye(3)
                inner, outer = above @ self.tree.parent_axes[k], A @ self.tree.body_axes[k]
                relative = w - (spin[each.parent] if each.parent >= 0 else 0.0)
                self._free_turn(inner, outer, relative, mine[i:], speeds[j:])
        i, j, count = self._internal
        mine[i : i + count], speeds[j : j + count] = q[self.layout.internal_q], v[self.layout.internal_v]
        return mine, speeds

    def _free_turn(self, inner: Floats, outer: Floats, relative: Floats, q: Floats, u: Floats) -> None:
        """Coordinates and speeds of a turn about three axes, into the start of q and u."""
        C = inner.T @ outer
        if self.choice == "angles":
            q[:3] = np.arctan2(-C[1, 2], C[2, 2]), np.arctan2(C[0, 2], np.hypot(C[0, 0], C[0, 1])), 0.0
            q[2] = np.arctan2(-C[0, 1], C[0, 0])
            u[:3] = angle_rates(q[:3], inner.T @ relative)
        else:
            q[:4] = rotations.from_matrix(C)
            u[:3] = (inner if self.choice == "fixed" else outer).T @ relative

    def gimbal_distances(self, q: Floats) -> dict[str, float]:
        """Of joints and free bodies that turn about three axes, by name: see ``RelativeState``."""
        result: dict[str, float] = {}
        for k, each in self._turns_freely():
            angle = q[self._parts[k][0] + len(each.strokes) + 1]
            distance = float(gimbal_distance([0.0, angle, 0.0])) if self.choice == "angles" else 1.0
            result[self.names[k] if each.joint is None else each.joint] = distance
        return result

    @cached_property
    def _places(self) -> tuple[Ints, list[tuple[int, int]]]:
        """Places (2, k) in q and u of the coordinates whose rates are speeds, and of quaternions and their speeds."""
        plain: list[tuple[int, int]] = []
        turns: list[tuple[int, int]] = []
        for frame, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            count = frame.u.stop - frame.u.start
            if frame.turn == SPHERICAL and self.choice != "angles":
                count -= 3
                turns.append((i + count, j + count))
            plain += [(i + k, j + k) for k in range(count)]
        i, j, count = self._internal
        plain += [(i + k, j + k) for k in range(count)]
        return np.array(plain, dtype=np.int64).reshape(-1, 2).T, turns

    def _product(self, p: Floats, x: Floats) -> Floats:
        """(0, x) p or p (0, x) of quaternions (s, 4) and speeds (s, 3): in axes of the parent or of the body."""
        w = np.concatenate([np.zeros_like(x[:, :1]), x], axis=1)
        return rotations.multiply(*((w, p) if self.choice == "fixed" else (p, w)))

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        out = np.empty_like(q)
        (at_q, at_v), turns = self._places
        out[:, at_q] = v[:, at_v]
        for i, j in turns:
            out[:, i : i + 4] = 0.5 * self._product(q[:, i : i + 4], v[:, j : j + 3])
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q)."""
        turning = self.rates(self.rates(q, v), v)
        turning[:, self._places[0][0]] = 0.0
        return self.rates(q, a) + turning

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The speeds (s, n_v) that change q (n_q,) at the rates dq (s, n_q); a change of length is dropped."""
        out = np.empty((len(dq), self.n_v))
        (at_q, at_v), turns = self._places
        out[:, at_v] = dq[:, at_q]
        for i, j in turns:
            # q' = (0, w) p / 2 or p (0, w) / 2
            p, change = q[i : i + 4], dq[:, i : i + 4]
            back = rotations.conjugate(p)
            w = rotations.multiply(*((change, back) if self.choice == "fixed" else (back, change)))
            out[:, j : j + 3] = 2.0 / (p @ p) * w[:, 1:]
        return out

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; returns the largest |p.p - 1| before."""
        return float(kinematics.normalise(np.array([i for i, _ in self._places[1]], dtype=np.int64), q))

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Tolerances of coordinates and speeds one by one: of positions for strokes, of quaternions for turns."""
        position, turn, _ = atol.values(rtol)
        of_q, of_v = np.full(self.n_q, turn), np.full(self.n_v, turn)
        for frame, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            of_q[i : i + len(frame.strokes)] = of_v[j : j + len(frame.strokes)] = position
        of_q[self._internal[0] :] = of_v[self._internal[1] :] = internal_tolerances(self.layout, atol, rtol)[0]
        found = []
        for scale, time in ((of_q, 1.0), (of_v, atol.time)):
            places = np.arange(len(scale))
            # a turn is never larger than a radian to the tolerance
            sizes = np.where((scale == turn) & (time == 1.0), -1, 1)
            found.append((places, sizes, scale / time, rtol))
        return found[0], found[1]


def _half_turn(axis: int, angle: float) -> Floats:
    """Quaternion (4,) of a turn about an axis."""
    p = np.zeros(4)
    p[0], p[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return p

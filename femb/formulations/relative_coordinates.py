"""Relative coordinates of a System: its tree of joints as ``femb.formulations.relative`` takes it.

Joints are columns there: their strokes and turns are the components of the relative translation and rotation that no
row holds, in axes of the joint. Source: docs/theory/relative.md, sections 1 to 4.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.relative import (
    Placement,
    RelativeTree,
    Speeds,
    Velocities,
    accelerations,
    angle_rates,
    gimbal_distance,
    velocities,
)
from femb.formulations.tree_frame import TreeFrame
from femb.numerics import kinematics, rotations

if TYPE_CHECKING:
    from femb.system.system import System


class RelativeCoordinates:
    """A model's tree of joints in relative coordinates q (n_q,) and speeds u (n_v,).

    names (n,) : bodies and nodes of beams, parents first. parents (n,) : the place of the one that each hangs on, -1
    the ground or the inertial frame. coordinates, speeds : their names. choice : "fixed", "body" or "angles". q0, v0 :
    the model's start. tree : joints with six columns each, of which ``select`` (6 n, n_v) takes those that are free.
    """

    def __init__(self, system: "System", choice: Speeds) -> None:
        self.choice: Speeds = choice
        self.system, self.model, self.layout = system, system.model, system.layout
        self.joints = JointTree(system, "relative_kinematics", analysis=True)
        self.names = tuple(self.layout.frames[each.frame].label for each in self.joints.frames)
        self.parents = tuple(each.parent for each in self.joints.frames)
        self.tree = self._relative_tree()
        self._number()
        self.n_q, self.n_v = len(self.coordinates), len(self.speeds)
        self._inner = rotations.from_matrix(self.tree.parent_axes)
        self._outer_back = rotations.conjugate(rotations.from_matrix(self.tree.body_axes))
        self._signs = np.ones(len(self.names))
        self.q0, self.v0 = self.from_system(system.q0, system.v0)
        Q, _ = self.to_system(self.q0[None], self.v0[None])
        for k, each in enumerate(self.joints.frames):
            i = self.layout.frame_q[each.frame] + 3
            if self.layout.frames[each.frame].freedom == 6 and Q[0, i : i + 4] @ system.q0[i : i + 4] < 0.0:
                self._signs[k] = -1.0

    # The tree

    def _center(self, frame: int) -> Floats:
        """Mass centre (3,) of a frame in its axes; zero for nodes and point masses."""
        name = next((name for name, number in self.layout.bodies.items() if number == frame), None)
        body = None if name is None else self.model.bodies[name]
        return np.asarray(getattr(body, "center_of_mass", np.zeros(3)), dtype=float)

    def _relative_tree(self) -> RelativeTree:
        frames, count = self.joints.frames, len(self.joints.frames)
        self._centers = np.array([self._center(each.frame) for each in frames])
        joint, arm = np.zeros((2, count, 3))
        inner, outer = np.tile(np.eye(3), (2, count, 1, 1))
        for k, each in enumerate(frames):
            if each.joint is None:
                continue  # a free root: its translation is that of its mass centre, its turn that of its axes
            if each.parent >= 0:
                joint[k] = each.above.offset - self._centers[each.parent]
                inner[k] = rotations.rotation_matrix(each.above.rotation)
            else:
                place, turn = self.layout.pose(each.above)
                joint[k], inner[k] = place, rotations.rotation_matrix(turn)
            arm[k] = self._centers[k] - each.below.offset
            outer[k] = rotations.rotation_matrix(each.below.rotation)
        two = [(2 if each.backward else 1) if each.turn == UNIVERSAL else 0 for each in frames]
        slides = [float(each.backward) for each in frames]
        return RelativeTree(self.names, self.parents, joint, arm, inner, outer, slides, two)

    def _number(self) -> None:
        """Names and places of coordinates and speeds; ``select`` (6 n, n_v) takes the speeds to all of the tree's."""
        coordinates: list[str] = []
        speeds: list[str] = []
        columns: list[tuple[int, float]] = []
        self._parts: list[tuple[int, int]] = []  # first coordinate and speed of every frame
        labels = self._joint_labels()
        for k, each in enumerate(self.joints.frames):
            self._parts.append((len(coordinates), len(speeds)))
            title = f"bodies.{self.names[k]}" if each.joint is None else f"joints.{each.joint}"
            plain = labels.get(k, [])
            for number, axis in enumerate(each.strokes):
                name = plain[number] if number < len(plain) else f"{title}.{'xyz'[axis]}"
                coordinates.append(name)
                speeds.append(f"{name} rate")
                columns.append((6 * k + axis, 1.0))
            names = plain[len(each.strokes) :]
            if each.turn in (REVOLUTE, UNIVERSAL):
                coordinates += names
                speeds += [f"{name} rate" for name in names]
                sign = -1.0 if each.backward else 1.0
                columns += [(6 * k + 3 + (2 if each.turn == REVOLUTE else i), sign) for i in range(len(names))]
            elif each.turn == SPHERICAL:
                if self.choice == "angles":
                    own = [f"{title}.theta_{i}" for i in (1, 2, 3)]
                    coordinates += own
                    speeds += [f"{name} rate" for name in own]
                else:
                    coordinates += [f"{title}.quaternion_{i}" for i in range(4)]
                    speeds += [f"{title}.omega_{axis}" for axis in "xyz"]
                columns += [(6 * k + 3 + i, 1.0) for i in range(3)]
        strains = [f"beams.{label}: strain" for label in self.layout.strain_labels]
        self._strains = len(coordinates), len(speeds), len(strains)
        self.coordinates, self.speeds = (*coordinates, *strains), (*speeds, *(f"{name} rate" for name in strains))
        self.select = np.zeros((6 * len(self.names), len(self.speeds)))
        for column, (row, sign) in enumerate(columns):
            self.select[row, column] = sign

    def _joint_labels(self) -> dict[int, list[str]]:
        """Names of joints' own coordinates, strokes first, by frame."""
        found: dict[int, list[str]] = {}
        for k, each in enumerate(self.joints.frames):
            if each.joint is None:
                continue
            coordinates = self.layout.joints[each.joint].coordinates
            slides = {c.first[0]: c.name for c in coordinates if not c.is_angle}
            angles = [c.name for c in coordinates if c.is_angle]
            if each.turn == UNIVERSAL and not angles:
                angles = ["first_angle", "second_angle"]
            if each.turn == REVOLUTE and not angles:
                angles = ["angle"]
            names = [slides.get(axis, "xyz"[axis]) for axis in each.strokes] + angles
            found[k] = [f"joints.{each.joint}.{name}" for name in names]
        return found

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
        return [(k, each) for k, each in enumerate(self.joints.frames) if each.turn == SPHERICAL]

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q and v of s states, q (s, n_q), v (s, n_v)."""
        Q, V = np.empty((len(q), self.system.n_q)), np.empty((len(q), self.system.n_v))
        for row in range(len(q)):
            motion = velocities(self.tree, self.placement(q[row]), self.select @ v[row], self.choice)
            self._fill(motion, q[row], v[row], Q[row], V[row])
        return Q, V

    def _fill(self, motion: Velocities, q: Floats, v: Floats, Q: Floats, V: Floats) -> None:
        turns: list[Floats] = []
        for k, each in enumerate(self.joints.frames):
            i, j = self.layout.frame_q[each.frame], self.layout.frame_v[each.frame]
            turn = rotations.multiply(rotations.multiply(self._inner[k], self._turn(k, q)), self._outer_back[k])
            turns.append(rotations.multiply(turns[each.parent], turn) if each.parent >= 0 else turn)
            back = motion.A[k] @ self._centers[k]
            Q[i : i + 3], V[j : j + 3] = motion.r[k] - back, motion.v[k] - np.cross(motion.w[k], back)
            if self.layout.frames[each.frame].freedom == 6:
                Q[i + 3 : i + 7] = self._signs[k] * turns[k]
                V[j + 3 : j + 6] = motion.A[k].T @ motion.w[k]
        i, j, count = self._strains
        Q[self.layout.strain_q], V[self.layout.strain_v] = q[i : i + count], v[j : j + count]

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The System's v' of s states whose speeds have the rates a (s, n_v)."""
        out = np.empty((len(q), self.system.n_v))
        start, count = self._strains[1:]
        for row in range(len(q)):
            at, u = self.placement(q[row]), self.select @ v[row]
            motion = velocities(self.tree, at, u, self.choice)
            linear, angular = accelerations(self.tree, at, u, self.select @ a[row], self.choice)
            for k, each in enumerate(self.joints.frames):
                j = self.layout.frame_v[each.frame]
                back, w = motion.A[k] @ self._centers[k], motion.w[k]
                out[row, j : j + 3] = linear[k] - np.cross(angular[k], back) - np.cross(w, np.cross(w, back))
                if self.layout.frames[each.frame].freedom == 6:
                    out[row, j + 3 : j + 6] = motion.A[k].T @ angular[k]
            out[row, self.layout.strain_v] = a[row, start : start + count]
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
        i, j, count = self._strains
        mine[i : i + count], speeds[j : j + count] = q[self.layout.strain_q], v[self.layout.strain_v]
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
        found: dict[str, float] = {}
        for k, each in self._turns_freely():
            angle = q[self._parts[k][0] + len(each.strokes) + 1]
            distance = float(gimbal_distance([0.0, angle, 0.0])) if self.choice == "angles" else 1.0
            found[self.names[k] if each.joint is None else each.joint] = distance
        return found

    @cached_property
    def _places(self) -> tuple[Ints, list[tuple[int, int]]]:
        """Places (2, k) in q and u of the coordinates whose rates are speeds, and of quaternions and their speeds."""
        plain: list[tuple[int, int]] = []
        turns: list[tuple[int, int]] = []
        for each, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            count = each.u.stop - each.u.start
            if each.turn == SPHERICAL and self.choice != "angles":
                count -= 3
                turns.append((i + count, j + count))
            plain += [(i + k, j + k) for k in range(count)]
        i, j, count = self._strains
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
        position, turn, strain = atol.values(rtol)
        of_q, of_v = np.full(self.n_q, turn), np.full(self.n_v, turn)
        for each, (i, j) in zip(self.joints.frames, self._parts, strict=True):
            of_q[i : i + len(each.strokes)] = of_v[j : j + len(each.strokes)] = position
        of_q[self._strains[0] :] = of_v[self._strains[1] :] = strain
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

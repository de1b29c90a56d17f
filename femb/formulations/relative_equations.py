"""Equations of motion of a joint tree in relative coordinates after Kamman: a formulation for explicit methods.

Kane's equations with the partial velocities V of mass centres and W of bodies are

    V^T (F - m a) + W^T (T - J alpha - w x J w) = 0,    v = V u,  w = W u,  a = V u' + V' u,  alpha = W u' + W' u

Source: docs/theory/relative.md, sections 2 to 4.
"""

from copy import copy
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.joint_tree import JointTree, TreeForm, joint_words
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.formulations.reduced.null_space import NullSpace
from femb.formulations.relative import GIMBAL, Speeds, angle_rates, gimbal_distance, speed_columns
from femb.formulations.tree_frame import Root, TreeFrame
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.numerics import kinematics, rotations
from femb.system.system import System


class BodyMotions(NamedTuple):
    """Kinematics of n bodies: mass centres r, v (n, 3) and angular velocities w (n, 3), inertial axes; attitudes A
    (n, 3, 3), body to inertial; partial velocities V, W (n, 3, n_v) and their rates, v = V u and w = W u."""

    r: Floats
    A: Floats
    v: Floats
    w: Floats
    V: Floats
    W: Floats
    V_rate: Floats
    W_rate: Floats


class RelativeColumns:
    """The columns of a model: a joint tree whose free bodies are positioned by their mass centres.

    names (n,) : bodies and nodes of beams, parents first. parents (n,) : index of the parent in ``names``, -1 for the
    ground or the inertial frame. coordinates, speeds : their names. choice : "fixed", "body" or "angles" of rotations.
    """

    def __init__(self, system: System, choice: Speeds) -> None:
        self.choice: Speeds = choice
        self.system, self.model, self.layout = system, system.model, system.layout
        self.joints = JointTree(system, "relative_kinematics", Root("center_of_mass"), analysis=True)
        self.null_space = NullSpace(self.joints)
        self.names = tuple(self.layout.frames[frame.frame].label for frame in self.joints.frames)
        self.parents = tuple(frame.parent for frame in self.joints.frames)
        bodies = {number: self.model.bodies.get(name) for name, number in self.layout.bodies.items()}
        of_frames = (bodies.get(frame.frame) for frame in self.joints.frames)
        self._centers = [np.asarray(getattr(body, "center_of_mass", np.zeros(3)), dtype=float) for body in of_frames]
        self._number()
        self.n_q, self.n_v = len(self.coordinates), len(self.speeds)

    def _number(self) -> None:
        """Set the names of coordinates and speeds, which are in the order of those of the tree."""
        coordinates: list[str] = []
        speeds: list[str] = []
        # of every rotation its frame, its first coordinate here and in the tree, and its first speed
        self._rotations: list[tuple[TreeFrame, int, int, int]] = []
        self._first: list[int] = []  # coordinate of every frame
        for name, frame in zip(self.names, self.joints.frames, strict=True):
            self._first.append(len(coordinates))
            free = frame.joint is None
            title = f"bodies.{name}" if free else f"joints.{frame.joint}"
            words = ["xyz"[axis] for axis in frame.strokes] if free else joint_words(self.layout, frame)
            coordinates += [f"{title}.{word}" for word in words]
            speeds += [f"{title}.{word} rate" for word in words]
            if frame.rotation == SPHERICAL:
                self._rotations.append((frame, len(coordinates), frame.angles.start, len(speeds)))
                if self.choice == "angles":
                    turns = [f"{title}.theta_{i}" for i in (1, 2, 3)]
                    coordinates += turns
                    speeds += [f"{turn} rate" for turn in turns]
                else:
                    coordinates += [f"{title}.quaternion_{i}" for i in range(4)]
                    speeds += [f"{title}.omega_{axis}" for axis in "xyz"]
        internal = [f"{item.table}.{item.label}: {item.quantity.name}" for item in self.layout.internal]
        self._internal = len(coordinates), len(speeds), len(internal)
        self.coordinates, self.speeds = (*coordinates, *internal), (*speeds, *(f"{name} rate" for name in internal))
        # of all other coordinates their places here and in the tree
        size = 3 if self.choice == "angles" else 4
        own = [i + k for _, i, _, _ in self._rotations for k in range(size)]
        of_tree = [i + k for _, _, i, _ in self._rotations for k in range(4)]
        self._others = np.delete(np.arange(len(self.coordinates)), own), np.delete(np.arange(self.joints.n_q), of_tree)


# Relative coordinates of a System and their speeds: conversion of states, rates, tolerances.
#
# Source: docs/theory/relative.md, sections 1 to 4.


class RelativeCoordinates(RelativeColumns):
    """A model's joint tree in relative coordinates q (n_q,) and speeds v (n_v,). q0, v0 : the model's start."""

    def __init__(self, system: System, choice: Speeds) -> None:
        super().__init__(system, choice)
        self._signs = np.ones(len(self._rotations))
        self.q0, self.v0 = self.from_system(system.q0, system.v0)
        # quaternions of bodies have the signs of the start
        start = self.tree_q(self.q0[None])[0]
        for k, (_, _, i, _) in enumerate(self._rotations):
            self._signs[k] = np.copysign(1.0, start[i : i + 4] @ self.joints.q0[i : i + 4])

    # States

    def _attitude(self, k: int, q: Floats) -> Floats:
        """Quaternions (s, 4) of a rotation: the joint's axes in the body relative to those in the parent."""
        _, i, _, _ = self._rotations[k]
        if self.choice != "angles":
            return rotations.normalise(q[:, i : i + 4])
        first, second, third = (_axis_rotation(axis, q[:, i + axis]) for axis in range(3))
        p: Floats = self._signs[k] * rotations.multiply(first, rotations.multiply(second, third))
        return p

    def tree_q(self, q: Floats) -> Floats:
        """The coordinates of the joint tree (s, joints.n_q) of q (s, n_q)."""
        out = np.empty((len(q), self.joints.n_q))
        out[:, self._others[1]] = q[:, self._others[0]]
        for k, (frame, _, i, _) in enumerate(self._rotations):
            p = self._attitude(k, q)
            out[:, i : i + 4] = rotations.conjugate(p) if frame.backward else p
        return out

    def between(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The tree's speeds by those here, and the rate, (n_v, n_v) at one state.

        With the columns E of ``speed_columns`` and hat = E u, they are R E for a body at the second end of its joint,
        with the rate R (E' - hat x E), else -E.
        """
        G, G_rate = np.eye(self.n_v), np.zeros((self.n_v, self.n_v))
        for k, (frame, i, _, j) in enumerate(self._rotations):
            R = rotations.rotation_matrix(self._attitude(k, q[None])[0]).T
            own = slice(j, j + 3)
            E, E_rate = speed_columns(self.choice, R, q[i : i + 3], v[own])
            if frame.backward:
                G[own, own], G_rate[own, own] = -E, -E_rate
            else:
                G[own, own], G_rate[own, own] = R @ E, R @ (E_rate - rotations.cross_matrix(E @ v[own]) @ E)
        return G, G_rate

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q and v of s states, q (s, n_q), v (s, n_v)."""
        speeds = np.array([self.between(*state)[0] @ state[1] for state in zip(q, v, strict=True)])
        return self.joints.to_system(self.tree_q(q), speeds.reshape(v.shape))

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,), u (n_v,) of one state of the System. Raises SolveError at gimbal lock."""
        tree_q = self.joints.coordinates_at(q)
        out, u = np.empty(self.n_q), self.joints.speeds_at(tree_q, v)
        out[self._others[0]] = tree_q[self._others[1]]
        for frame, i, at, j in self._rotations:
            p = rotations.normalise(tree_q[at : at + 4])
            p = rotations.conjugate(p) if frame.backward else p
            C, own = rotations.rotation_matrix(p), slice(j, j + 3)
            hat = -u[own] if frame.backward else C @ u[own]
            if self.choice == "angles":
                out[i : i + 2] = np.arctan2(-C[1, 2], C[2, 2]), np.arctan2(C[0, 2], np.hypot(C[0, 0], C[0, 1]))
                out[i + 2] = np.arctan2(-C[0, 1], C[0, 0])
                u[own] = angle_rates(out[i : i + 3], hat)
            else:
                out[i : i + 4], u[own] = p, hat if self.choice == "fixed" else C.T @ hat
        return out, u

    def gimbal_distances(self, q: Floats) -> dict[str, float]:
        """Gimbal distances of spherical joints and free bodies by name; see ``RelativeState``."""
        result: dict[str, float] = {}
        names = {frame.frame: name for frame, name in zip(self.joints.frames, self.names, strict=True)}
        for frame, i, _, _ in self._rotations:
            distance = float(gimbal_distance(q[i : i + 3])) if self.choice == "angles" else 1.0
            result[names[frame.frame] if frame.joint is None else frame.joint] = distance
        return result

    @cached_property
    def _indices(self) -> tuple[Ints, list[tuple[int, int]]]:
        """Indices (2, k) in q and u of coordinates whose rates are speeds, and (q, u) of every quaternion."""
        linear: list[tuple[int, int]] = []
        quaternions: list[tuple[int, int]] = []
        for frame, i in zip(self.joints.frames, self._first, strict=True):
            j, count = frame.u.start, frame.u.stop - frame.u.start
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
        position, quaternion, _ = atol.values(rtol, self.layout.length)
        of_q, of_v = np.full(self.n_q, quaternion), np.full(self.n_v, quaternion)
        for frame, i in zip(self.joints.frames, self._first, strict=True):
            j = frame.u.start
            of_q[i : i + len(frame.strokes)] = of_v[j : j + len(frame.strokes)] = position
        # for the tolerance an angle is at most one radian
        sizes = np.where(of_q == quaternion, -1, 1)
        of_v /= atol.rate_time
        i, j, _ = self._internal
        of_q[i:], of_v[j:], angles = self.layout.internal_tolerances(atol, rtol)
        sizes[i:] = np.where(angles, -1, 1)
        ones = np.ones(self.n_v, dtype=sizes.dtype)
        return (np.arange(self.n_q), sizes, of_q, rtol), (np.arange(self.n_v), ones, of_v, rtol)


def _axis_rotation(axis: int, angle: Floats) -> Floats:
    """Quaternions (s, 4) of rotations by angles (s,), rad, about a coordinate axis."""
    p = np.zeros((len(angle), 4))
    p[:, 0], p[:, 1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return p


class RelativeEquations(RelativeCoordinates, TreeForm):
    """A System in relative coordinates of its joints."""

    def __init__(self, system: "System", choice: Speeds) -> None:
        TreeForm.__init__(self, system)
        RelativeCoordinates.__init__(self, system, choice)
        self._select_rows(self.joints)
        if not self.n_v:
            raise ModelError("relative_kinematics: the joints leave nothing free to move")

    def H2(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """H2 and H2' (system.n_v, n_v) at one state: the System's velocities by the speeds."""
        G, G_rate = self.between(q, v)
        swept = self.joints.sweep(self.tree_q(q[None]), (G @ v)[None])
        H2, H2_rate = self.null_space.matrices(*(array[0] for array in swept[2:]))
        return H2 @ G, H2_rate @ G + H2 @ G_rate

    def motion(self, q: Floats, v: Floats) -> BodyMotions:
        """Mass centres, attitudes and partial velocities of all bodies at one state.

        A point mass turns with its parent.
        """
        H2, H2_rate = self.H2(q, v)
        Q, V = (x[0] for x in self.to_system(q[None], v[None]))
        count, layout = len(self.names), self.layout
        vectors, partials = np.zeros((3, count, 3)), np.zeros((4, count, 3, self.n_v))
        found = BodyMotions(vectors[0], np.zeros((count, 3, 3)), vectors[1], vectors[2], *partials)
        for k, (frame, center) in enumerate(zip(self.joints.frames, self._centers, strict=True)):
            i, j, h = layout.frame_q[frame.frame], layout.frame_v[frame.frame], frame.parent
            line, spin = slice(j, j + 3), slice(j + 3, j + 6)
            found.V[k], found.V_rate[k] = H2[line], H2_rate[line]
            if layout.frames[frame.frame].freedom == 3:
                found.r[k], found.v[k], found.A[k] = Q[i : i + 3], V[line], np.eye(3)
                if frame.joint is not None:
                    inner = layout.pose(frame.above)[1] if h < 0 else frame.above.rotation
                    turn = rotations.multiply(inner, rotations.conjugate(frame.below.rotation))
                    found.A[k] = rotations.rotation_matrix(turn)
                if h >= 0:
                    found.A[k] = found.A[h] @ found.A[k]
                    found.w[k], found.W[k], found.W_rate[k] = found.w[h], found.W[h], found.W_rate[h]
                continue
            A = found.A[k] = rotations.rotation_matrix(rotations.normalise(Q[i + 3 : i + 7]))
            omega, lever = rotations.cross_matrix(V[spin]), A @ rotations.cross_matrix(center)
            # of the mass centre: v - A c~ omega
            found.r[k], found.v[k] = Q[i : i + 3] + A @ center, V[line] - lever @ V[spin]
            found.V[k] -= lever @ H2[spin]
            found.V_rate[k] -= lever @ H2_rate[spin] + A @ omega @ rotations.cross_matrix(center) @ H2[spin]
            found.w[k], found.W[k] = A @ V[spin], A @ H2[spin]
            found.W_rate[k] = A @ (omega @ H2[spin] + H2_rate[spin])
        return found

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The System's v' of s states whose speeds have the rates a (s, n_v): H2 a + H2' v."""
        out = np.empty((len(q), self.system.n_v))
        for k in range(len(q)):
            H2, H2_rate = self.H2(q[k], v[k])
            out[k] = H2 @ a[k] + H2_rate @ v[k]
        return out

    def balance(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The equations of ``forward``: inertia, force, retained rows and their right-hand side."""
        H2, H2_rate = self.H2(q, v)
        Q, V = self.to_system(q[None], v[None])
        bias = H2_rate @ v
        inertia = H2.T @ (self.system.mass_matrix(Q[0]) @ H2)
        force = -H2.T @ self.system.residual(u[None], Q, V, bias[None])[0]
        rows, gamma = np.zeros((0, self.n_v)), np.zeros(0)
        if self.n_c:
            J = self.system.jacobian(u, Q[0])[self.retained]
            gamma = self.system.constraints(u[None], Q, V)[1][0, self.retained] - J @ bias
            rows = J @ H2
        return inertia, force, rows, gamma

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
        inertia, force, rows, gamma = self.balance(u, q, v)
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
        inertia, _, rows, _ = self.balance(u, q, np.zeros(self.n_v))
        return self.solved(inertia, np.zeros(self.n_v), rows, -gap, q)[0]

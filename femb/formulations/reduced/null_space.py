"""H2 and H2': products with them and their derivatives by kernels over a joint tree, and both as sparse matrices.

The velocity of a frame depends only on the speeds on its path from the root, so that both are sparse for trees with
branches.
Source: docs/theory/reduced_order.md, equation (12).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.independent import Independent
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import (
    BACKWARD,
    BODY_VELOCITY,
    FIRST_U,
    FRAME_Q,
    FRAME_V,
    PARENT,
    ROTATION,
    SIZE,
    SPEEDS,
    SPHERICAL,
    STROKES,
    motion_at,
    motion_cross,
    motionless,
)
from femb.layout.element import LowRank
from femb.numerics.compiler.compile import kernel, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Vector3, Vector6, cross, joined
from femb.numerics.compiler.traced import M6, V3, V4, V6, add_to, put, traced
from femb.numerics.vector3 import attitude, unturned

# Kernels over a joint tree with v_i = T_i v_parent + B_i u_i: products with H2, its transpose and derivatives.
#
# index : as in ``joint_tree_kernels``. T, B and their rates T1, B1 (s, n, 6, 6) at s states; F, V, A (s, n_v) in the
# order of the System. Source: docs/theory/reduced_order.md, equations (8), (10) to (13).


@kernel_with_entry
def apply_H2(index, T, T1, B, B1, V, u, ud, A):
    """A = H2 u' + H2' u, root to tips: A_i = T_i A_parent + B_i u'_i + T'_i V_parent + B'_i u_i."""
    for s in range(A.shape[0]):
        for k in range(index.shape[0]):
            h, j, row = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V]
            size, count = index[k, SIZE], index[k, SPEEDS]
            for m in range(size):
                total = 0.0
                for o in range(count):
                    total += B[s, k, m, o] * ud[s, j + o] + B1[s, k, m, o] * u[s, j + o]
                if h >= 0:
                    parent_row = index[h, FRAME_V]
                    for o in range(index[h, SIZE]):
                        total += T[s, k, m, o] * A[s, parent_row + o] + T1[s, k, m, o] * V[s, parent_row + o]
                A[s, row + m] = total


@kernel_with_entry
def apply_H2_T(index, T, B, F, g):
    """g = H2^T F, tips to root; on return F contains for every frame the sum over its subtree."""
    for s in range(F.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, row, size = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V], index[k, SIZE]
            for o in range(index[k, SPEEDS]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * F[s, row + m]
                g[s, j + o] = total
            if h >= 0:
                parent_row = index[h, FRAME_V]
                for o in range(index[h, SIZE]):
                    for m in range(size):
                        F[s, parent_row + o] += T[s, k, m, o] * F[s, row + m]


@kernel
def apply_dH2_T(index, T, B, T1, B1, F, dF, g):
    """g = H2'^T f for s directions: F (1, n_v) as returned by ``apply_H2_T``, dF (s, n_v) zero on entry."""
    for s in range(g.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, row, size = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V], index[k, SIZE]
            for o in range(index[k, SPEEDS]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * dF[s, row + m] + B1[s, k, m, o] * F[0, row + m]
                g[s, j + o] = total
            if h >= 0:
                parent_row = index[h, FRAME_V]
                for o in range(index[h, SIZE]):
                    for m in range(size):
                        dF[s, parent_row + o] += T[s, k, m, o] * dF[s, row + m] + T1[s, k, m, o] * F[0, row + m]


@kernel_with_entry
def fill(index, start, width, T, T1, B, B1, H, H1):
    """Rows of H2 and H2' at one state in flat arrays H, H1: those of frame k begin at start[k], with width[k] entries,
    one for each speed on the path from the root to the frame. T, T1, B, B1 (n, 6, 6)."""
    for k in range(index.shape[0]):
        h, count = index[k, PARENT], index[k, SPEEDS]
        inherited = width[k] - count
        for m in range(index[k, SIZE]):
            row = start[k] + m * width[k]
            for c in range(inherited):
                x = y = 0.0
                for o in range(index[h, SIZE]):
                    parent_row = start[h] + o * width[h] + c
                    x += T[k, m, o] * H[parent_row]
                    y += T1[k, m, o] * H[parent_row] + T[k, m, o] * H1[parent_row]
                H[row + c], H1[row + c] = x, y
            for c in range(count):
                H[row + inherited + c], H1[row + inherited + c] = B[k, m, c], B1[k, m, c]


@kernel_with_entry
def product(rows, columns, entries, first, path, H, out):
    """Add A H2 to out, of a matrix A by its entries at (rows, columns), and of H2 by its rows: those of row r are
    H[first[r] : first[r + 1]], in the columns path."""
    for e in range(rows.size):
        r, c = rows[e], columns[e]
        for b in range(first[c], first[c + 1]):
            out[r, path[b]] += entries[e] * H[b]


@kernel_with_entry
def pulled_rows(first, path, H, A, out):
    """Add H2^T A to out; H2 as in ``product``."""
    for r in range(A.shape[0]):
        for a in range(first[r], first[r + 1]):
            for c in range(A.shape[1]):
                out[path[a], c] += H[a] * A[r, c]


@kernel_with_entry
def composite(index, T, B, M, out):
    """out = H2^T M H2 at one state by the composite rigid body algorithm; T, B (n, 6, 6).

    M (n, 6, 6) : mass of every frame; on return the composite mass of its subtree.
    """
    F, G = np.empty((6, 6)), np.empty((6, 6))
    for k in range(index.shape[0] - 1, -1, -1):
        j, count, size = index[k, FIRST_U], index[k, SPEEDS], index[k, SIZE]
        for m in range(size):
            for c in range(count):
                F[m, c] = 0.0
                for o in range(size):
                    F[m, c] += M[k, m, o] * B[k, o, c]
        h, below = k, k
        while True:
            i = index[h, FIRST_U]
            for o in range(index[h, SPEEDS]):
                for c in range(count):
                    total = 0.0
                    for m in range(index[h, SIZE]):
                        total += B[h, m, o] * F[m, c]
                    out[i + o, j + c] = total
                    out[j + c, i + o] = total
            below, h = h, index[h, PARENT]
            if h < 0:
                break
            for o in range(index[h, SIZE]):
                for c in range(count):
                    G[o, c] = 0.0
                    for m in range(index[below, SIZE]):
                        G[o, c] += T[below, m, o] * F[m, c]
            for o in range(index[h, SIZE]):
                for c in range(count):
                    F[o, c] = G[o, c]
        h = index[k, PARENT]
        if h >= 0:
            for m in range(size):
                for o in range(index[h, SIZE]):
                    G[m, o] = 0.0
                    for n in range(size):
                        G[m, o] += M[k, m, n] * T[k, n, o]
            for m in range(index[h, SIZE]):
                for o in range(index[h, SIZE]):
                    for n in range(size):
                        M[h, m, o] += T[k, n, m] * G[n, o]


@kernel
def fill_changes(index, constant, start, width, Q, u, a, B, W, alpha):
    """W, alpha: columns D_j v and D_j v' at one state, v = H2 u and v' = H2 a + H2' u, at constant u and a; flat as
    in ``fill``.

    Q : coordinates of the System. B (n, 6, 6). constant (n,) : frames with zero derivatives; their entries are not set.
    Motions (6,) have an angular and a linear part in inertial axes, at the frame's origin: c the velocity, d its rate
    in the frame's axes, Y and Z the derivatives of c and d in the frame's axes by every speed on the path, P the
    rotation of the frame by that speed. Source: docs/theory/reduced_order.md, equations (23) to (27).
    """
    n = index.shape[0]
    first = np.zeros(n + 1, dtype=np.int64)
    for k in range(n):
        first[k + 1] = first[k] + width[k]
    P, Y, Z = np.zeros((first[n], 6)), np.zeros((first[n], 6)), np.zeros((first[n], 6))
    C, D, S, columns = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((6, 6)), np.empty((2, 6))
    for k in range(n):
        if constant[k]:
            continue
        h, at, size, j = index[k, PARENT], index[k, FRAME_Q], index[k, SIZE], index[k, FIRST_U]
        backward, strokes, count = index[k, BACKWARD], index[k, STROKES], index[k, SPEEDS]
        inherited, own, c, d = width[k] - count, first[k + 1] - count, motionless(), motionless()
        if h >= 0:
            rho = V3(Q[at:]) - V3(Q[index[h, FRAME_Q] :])
            c, d = motion_at(V6(C[h]), rho), motion_at(V6(D[h]), rho)
            for o in range(inherited):
                put(V6(P[first[h] + o]), P[first[k] + o])
                put(motion_at(V6(Y[first[h] + o]), rho), Y[first[k] + o])
                put(motion_at(V6(Z[first[h] + o]), rho), Z[first[k] + o])
        R = attitude(V4(Q[at + 3 :]) if size == 6 else unturned())
        put(M6(B[k]).T, S)
        for o in range(count):
            motion = in_inertial_axes(R, V6(S[o]))
            put(motion, S[o])
            put(motion[:3], P[own + o])
        # the motions of the joint from the parent on: single columns, three of a spherical joint, or all in body axes
        done = 0
        while done < count:
            spherical = index[k, ROTATION] == SPHERICAL and (done == 0 if backward else done >= strokes)
            together = count if index[k, BODY_VELOCITY] else 3 if spherical else 1
            o = count - done - together if backward else done
            J, previous, previous_rate = motionless(), c, d
            for e in range(o, o + together):
                J += u[j + e] * V6(S[e])
                d += a[j + e] * V6(S[e])
            c += J
            d -= motion_cross(J, previous)
            for e in range(inherited):
                add_to(-motion_cross(J, V6(Y[first[k] + e])), Z[first[k] + e])
            for e in range(count):
                if (e >= o + together) if backward else (e < o):
                    add_to(-motion_cross(J, V6(Y[own + e])), Z[own + e])
                elif o <= e < o + together:
                    add_to(-motion_cross(V6(S[e]), c if backward else previous), Y[own + e])
                    add_to(-motion_cross(V6(S[e]), d if backward else previous_rate), Z[own + e])
                    if not backward:
                        add_to(-motion_cross(J, V6(Y[own + e])), Z[own + e])
            done += together
        # derivatives of linear parts in inertial axes, of angular parts in the frame's axes
        for o in range(first[k], first[k + 1]):
            by_speed, by_rate = changes_in_axes(R, V6(P[o]), V6(Y[o]), V6(Z[o]), c, d)
            put(by_speed, columns[0])
            put(by_rate, columns[1])
            for m in range(size):
                entry = start[k] + o - first[k] + m * width[k]
                W[entry], alpha[entry] = columns[0, m], columns[1, m]
            if size == 3:
                # a point mass has no axes
                put(motionless(), P[o])
                put(without_turn(by_speed[:3]), Y[o])
                put(without_turn(by_rate[:3]), Z[o])
        if size == 3:
            c, d = without_turn(c[3:]), without_turn(linear_acceleration(c, d))
        put(c, C[k])
        put(d, D[k])


@traced
def in_inertial_axes(R: Matrix3, column: Vector6) -> Any:
    """The motion (6,) of a column of B, whose linear part comes first and whose angular part is in the frame's axes."""
    return joined(R @ column[3:], column[:3])


@traced
def without_turn(x: Vector3) -> Any:
    """The motion (6,) with a linear part alone."""
    return joined(0.0, 0.0, 0.0, x)


@traced
def linear_acceleration(c: Vector6, d: Vector6) -> Any:
    """That in inertial axes, of the velocity c and its rate in the frame's axes."""
    return d[3:] + cross(c[:3], c[3:])


@traced
def changes_in_axes(R: Matrix3, p: Vector6, y: Vector6, z: Vector6, c: Vector6, d: Vector6) -> Any:
    """Columns (6,) of W and alpha by the rotation p and the derivatives y, z of c and d, linear parts first."""
    turn, v, acceleration = p[:3], c[3:], linear_acceleration.run(c, d)
    by_rate = z[3:] + cross(turn, acceleration) + cross(y[:3], v) + cross(c[:3], y[3:])
    return joined(y[3:] + cross(turn, v), R.T @ y[:3]), joined(by_rate, R.T @ z[:3])


class NullSpace:
    """Builds H2 (system.n_v, n_u) of a joint tree with J H2 = 0."""

    def __init__(self, tree: JointTree) -> None:
        self.tree = tree
        self.shape = (tree.system.n_v, tree.n_u)

    @cached_property
    def _paths(self) -> list[list[int]]:
        """The speeds on the path from the root to every frame."""
        paths: list[list[int]] = []
        for frame in self.tree.frames:
            parent_path = paths[frame.parent] if frame.parent >= 0 else []
            paths.append(parent_path + list(range(frame.u.start, frame.u.stop)))
        return paths

    @cached_property
    def width(self) -> Ints:
        """Number of speeds that every frame depends on."""
        return np.array([len(path) for path in self._paths], dtype=np.int64)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.tree.index[:, SIZE] * self.width)

    @property
    def start(self) -> Ints:
        """First entry of every frame in the order of ``fill``."""
        return np.concatenate([[0], self._ends[:-1]]).astype(np.int64)

    @property
    def size(self) -> int:
        """Number of entries in the order of ``fill``."""
        return int(self._ends[-1]) if len(self._ends) else 0

    @cached_property
    def structure(self) -> tuple[Ints, Ints, Ints]:
        """Order of the entries, their columns, and the first of every row."""
        tree, paths = self.tree, self._paths
        first_v, size, internal_v = tree.index[:, FRAME_V], tree.index[:, SIZE], tree.internal_index[1]
        rows = [np.repeat(first_v[k] + np.arange(size[k]), self.width[k]) for k in range(len(paths))]
        columns = [np.tile(path, size[k]) for k, path in enumerate(paths)]
        row = np.concatenate([*rows, internal_v])
        column = np.concatenate([*columns, np.arange(tree.internal[1].start, tree.internal[1].stop)]).astype(int)
        order = np.lexsort((column, row))
        first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=tree.system.n_v))])
        return order, column[order], first

    def matrices(self, T: Floats, T1: Floats, B: Floats, B1: Floats) -> tuple[Any, Any]:
        """H2 and H2' of T, T', B, B' (n, 6, 6) at one state, scipy.sparse."""
        H, H1 = np.empty((2, self.size))
        fill(self.tree.index, self.start, self.width, T, T1, B, B1, H, H1)
        return self.matrix(H, 1.0), self.matrix(H1, 0.0)

    def of(self, swept: Swept) -> Any:
        """H2 at the first swept state."""
        return self.matrices(swept[2][0], swept[3][0], swept[4][0], swept[5][0])[0]

    def rows(self, swept: Swept) -> tuple[Ints, Ints, Floats]:
        """H2 at the first swept state by its rows, as ``product`` takes them."""
        H, H1 = np.empty((2, self.size))
        fill(self.tree.index, self.start, self.width, *(array[0] for array in swept[2:]), H, H1)
        _, columns, first = self.structure
        return first, columns, self._ordered(H, 1.0)

    def _ordered(self, flat: Floats, of_internal: float) -> Floats:
        """Entries by rows of those in the order of ``fill``; one value for internal coordinates."""
        result: Floats = np.append(flat, np.full(len(self.tree.internal_index[1]), of_internal))[self.structure[0]]
        return result

    def matrix(self, flat: Floats, of_internal: float) -> Any:
        """(system.n_v, n_u), scipy.sparse, of entries in the order of ``fill``; one value for internal coordinates."""
        from scipy.sparse import csr_array

        _, columns, first = self.structure
        return csr_array((self._ordered(flat, of_internal), columns, first), shape=self.shape)


# Tangents of the reduced form: those of the velocity form projected with H2, and the derivatives of H2 and H2'.
#
# Source: docs/theory/reduced_order.md, sections 4 and 10.

# Number of directions evaluated at once, which limits the memory.
DIRECTIONS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Changes:
    """First derivatives, at constant speeds u and rates u', of v = H2 u and of v' = H2 u' + H2' u at a state.

    Derivative j is along the motion of speed j alone. H2, H2_rate, by_q, rate_by_q (system.n_v, n_u) : H2, H2', and the
    derivatives of v and v'. geometric (n_u, n_u) : derivative of H2^T f at constant forces f. All are scipy.sparse.
    The derivative of v' by the speeds is ``by_q + H2_rate``.
    """

    H2: Any
    H2_rate: Any
    by_q: Any
    rate_by_q: Any
    geometric: Any

    def of_independent(self, independent: Independent) -> "Changes":
        """The changes by the independent speeds, of which the tree's are constant multiples."""
        parts = self.H2, self.H2_rate, self.by_q, self.rate_by_q
        H2, H2_rate, by_q, rate_by_q = (independent.pulled(each) for each in parts)
        return Changes(H2, H2_rate, by_q, rate_by_q, independent.pulled(self.geometric, left=True))

    def pulled_back(self, part: LowRank) -> LowRank:
        """A part of low rank of the System's damping and stiffness in the speeds, as by (14) and (15)."""
        H, W = self.H2.T, self.by_q.T
        return LowRank(H @ part.left, H @ part.damping, H @ part.stiffness + W @ part.damping)


class TreeTangent:
    """Derivatives of H2 and H2' of a joint tree in the directions of its speeds.

    The derivative D_j H2 is H2' with u the unit vector e_j.
    """

    def __init__(self, tree: JointTree, null_space: NullSpace | None = None) -> None:
        self.tree = tree
        self.null_space = NullSpace(tree) if null_space is None else null_space
        parents = {frame.parent for frame in tree.frames}
        varying = [
            frame.joint is not None or k in parents or frame.body_velocity or bool(frame.below.offset.any())
            for k, frame in enumerate(tree.frames)
        ]
        self._constant = ~np.array(varying, dtype=bool)
        parts = [frame.u for frame, on in zip(tree.frames, varying, strict=True) if on]
        directions = [j for part in parts for j in range(part.start, part.stop)]
        self.directions: Ints = np.array(directions, dtype=np.int64)

    def changes(self, swept: Any, force: Floats, q: Floats, u: Floats, a: Floats) -> Changes:
        """Derivatives at a state q (n_q,), u (n_u,), u' = a (n_u,); swept : the result of the tree's sweep there.

        force (system.n_v,) : f, the forces on all frames.
        """
        null_space = self.null_space
        flat = np.zeros((2, null_space.size))
        arguments = self.tree.index, self._constant, null_space.start, null_space.width
        fill_changes(*arguments, swept[0][0], u, a, swept[4][0], *flat)
        H2, H2_rate = null_space.matrices(*(array[0] for array in swept[2:]))
        by_q, rate_by_q = (null_space.matrix(entries, 0.0) for entries in flat)
        return Changes(H2, H2_rate, by_q, rate_by_q, self._geometric(swept, force, q))

    def _geometric(self, swept: Any, force: Floats, q: Floats) -> Any:
        """(n_u, n_u), scipy.sparse: columns (D_j H2)^T f."""
        from scipy.sparse import csc_array, csr_array

        tree, n_u, count = self.tree, self.tree.n_u, len(self.directions)
        subtree_force = force[None].copy()
        apply_H2_T(tree.index, swept[2], swept[4], subtree_force, np.empty((1, n_u)))
        G = np.zeros((count, n_u))
        for first in range(0, count, DIRECTIONS_AT_ONCE):
            directions = self.directions[first : first + DIRECTIONS_AT_ONCE]
            s = len(directions)
            unit = np.zeros((s, n_u))
            unit[np.arange(s), directions] = 1.0
            _, _, T, T1, B, B1 = tree.sweep(np.tile(q, (s, 1)), unit)
            part = np.zeros((s, n_u))
            apply_dH2_T(tree.index, T, B, T1, B1, subtree_force, np.zeros((s, len(force))), part)
            G[first : first + s] = part
        columns = csr_array((np.ones(count), (np.arange(count), self.directions)), shape=(count, n_u))
        return csc_array(G.T) @ columns

    def pulled_back(
        self, changes: Changes, parts: Iterable[Any], retained: Ints, reactions: Any = None
    ) -> tuple[Any, Any, Any]:
        """Mass, damping and stiffness, bordered by the retained rows, from the System's ``parts``, scipy.sparse.

        retained (n_c,) : indices of the retained rows in the System's multipliers. reactions : derivative of their
        constraint forces by the coordinates. Equations (14) and (15).
        """
        from scipy.sparse import block_array, csr_array

        mass, damping, stiffness = parts
        H, W = changes.H2, changes.by_q
        n = H.shape[0]
        M, C, K = (part[:n, :n] for part in (mass, damping, stiffness))
        reduced_mass, reduced_damping = H.T @ (M @ H), H.T @ (C @ H + M @ (W + changes.H2_rate))
        reduced_stiffness = H.T @ (K @ H + C @ W + M @ changes.rate_by_q) + changes.geometric
        if reactions is not None:
            reduced_stiffness = reduced_stiffness + H.T @ (reactions @ H)
        if not len(retained):
            return reduced_mass, reduced_damping, reduced_stiffness
        rows, n_c = n + retained, len(retained)
        J, J_change = damping.tocsr()[rows][:, :n], stiffness.tocsr()[rows][:, :n]
        blank, border = csr_array((n_c, n_c)), J @ H
        return (
            block_array([[reduced_mass, None], [None, blank]]),
            block_array([[reduced_damping, border.T], [border, blank]]),
            block_array([[reduced_stiffness, None], [J_change @ H + J @ W, blank]]),
        )

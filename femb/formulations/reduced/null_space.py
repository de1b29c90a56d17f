"""H2 and H2' as sparse matrices.

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
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE
from femb.formulations.reduced.kernels import apply_dH2_T, apply_H2_T, fill, fill_changes


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
    def _structure(self) -> tuple[Ints, Ints, Ints]:
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

    def matrix(self, flat: Floats, of_internal: float) -> Any:
        """(system.n_v, n_u), scipy.sparse, of entries in the order of ``fill``; one value for internal coordinates."""
        from scipy.sparse import csr_array

        data = np.append(flat, np.full(len(self.tree.internal_index[1]), of_internal))
        order, columns, first = self._structure
        return csr_array((data[order], columns, first), shape=self.shape)


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

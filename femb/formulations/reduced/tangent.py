"""Iteration matrices of the reduced form: those of the velocity form pulled back, with the change of H2.

Source: docs/theory/reduced_order.md, equations (14) and (15).
"""

from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array, csr_array

from femb.base.types import Floats, Ints
from femb.formulations.reduced.kernels import pull_change, push

# Directions that are evaluated together, for the memory they take.
TOGETHER = 64


class Tangent:
    """Derivatives of H2 in the directions of the speeds: D_j H2 is H2' with u the unit vector e_j."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        parents = {each.parent for each in tree.frames}
        self.directions: Ints = np.array(
            [
                j
                for k, each in enumerate(tree.frames)
                if each.joint is not None or k in parents or each.body_velocity or each.below.offset.any()
                for j in range(each.u.start, each.u.stop)
            ],
            dtype=np.int64,
        )

    def changes(self, swept: Any, force: Floats, q: Floats, v: Floats, a: Floats) -> tuple[Any, Any, Any]:
        """W, Z (system.n_v, n_u) and G (n_u, n_u), scipy.sparse: columns (D_j H2) v, (D_j H2) a and (D_j H2)^T f.

        force (1, system.n_v) : f summed over what hangs on each frame, as by ``pull``.
        """
        tree, n_u = self.tree, self.tree.n_u
        n_v, count = tree.system.n_v, len(self.directions)
        _, V, T, _, B, _ = swept
        H2_a, still = np.empty((1, n_v)), np.zeros((1, n_u))
        push(tree.index, T, 0.0 * T, B, 0.0 * B, V, still, a[None], H2_a)
        found = np.zeros((2, count, n_v))
        G = np.zeros((count, n_u))
        for first in range(0, count, TOGETHER):
            some = self.directions[first : first + TOGETHER]
            s = len(some)
            unit = np.zeros((s, n_u))
            unit[np.arange(s), some] = 1.0
            _, _, T, T1, B, B1 = tree.sweep(np.tile(q, (s, 1)), unit)
            idle = np.zeros((s, n_u))
            for out, speeds, motion in zip(found, (v, a), (V, H2_a), strict=True):
                whole = np.zeros((s, n_v))
                push(tree.index, T, T1, B, B1, np.tile(motion, (s, 1)), np.tile(speeds, (s, 1)), idle, whole)
                out[first : first + s] = whole
            part = np.zeros((s, n_u))
            pull_change(tree.index, T, B, T1, B1, force, np.zeros((s, n_v)), part)
            G[first : first + s] = part
        places = csr_array((np.ones(count), (np.arange(count), self.directions)), shape=(count, n_u))
        W, Z, G = (csc_array(each.T) @ places for each in (*found, G))
        return W, Z, G

    def pulled_back(
        self, null_space: Any, swept: Any, parts: Any, force: Floats, q: Floats, v: Floats, a: Floats, kept: Ints
    ) -> tuple[Any, Any, Any]:
        """Mass, damping and tangent, bordered by the kept rows, of the System's (``parts``, scipy.sparse)."""
        H, H1 = null_space.matrices(*(each[0] for each in swept[2:]))
        W, Z, G = self.changes(swept, force, q, v, a)
        n = H.shape[0]
        M, C, K = (part[:n, :n] for part in parts)
        mass, damping = H.T @ (M @ H), H.T @ (C @ H + M @ (W + H1))
        stiffness = H.T @ (K @ H + C @ W + M @ Z) + G
        if not len(kept):
            return mass, damping, stiffness
        rows, n_c = n + kept, len(kept)
        J, J_change = parts[1].tocsr()[rows][:, :n], parts[2].tocsr()[rows][:, :n]
        blank, border = csr_array((n_c, n_c)), J @ H
        return (
            block_array([[mass, None], [None, blank]]),
            block_array([[damping, border.T], [border, blank]]),
            block_array([[stiffness, None], [J_change @ H + J @ W, blank]]),
        )

"""Independent coordinates of a joint tree whose joints have linear couplings: the others follow by constant factors.

A coupling is one equation A q = b of coordinates of joints, which count turns. With the dependent ones d and the
others i, q_d = A_d^-1 (b - A_i q_i), and likewise their speeds: nothing drifts. Source: docs/theory/reduced_order.md,
section 11.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree import JointTree
from femb.formulations.tree_frame import TreeFrame


def eliminated(rows: Floats, values: Floats) -> tuple[Ints, Floats, Floats]:
    """Dependent columns d (m,) of m independent equations ``rows`` x = ``values``, factors F (m, n) and constants c
    (m,) of x_d = F x + c, with F zero in the columns d.

    The dependent column of each equation has its largest factor.
    """
    matrix = np.column_stack([rows, values])
    columns: Ints = np.zeros(len(rows), dtype=np.int64)
    for k in range(len(rows)):
        columns[k] = np.argmax(np.abs(matrix[k, :-1]))
        matrix[k] /= matrix[k, columns[k]]
        others = np.arange(len(rows)) != k
        matrix[others] -= matrix[others, columns[k], None] * matrix[k]
    factors = -matrix[:, :-1]
    factors[:, columns] = 0.0
    return columns, factors, matrix[:, -1]


class Independent:
    """The independent coordinates q (n_q,) and speeds v (n_v,) of a joint tree, which has more where it has linear
    couplings. rows : numbers of the layout's rows of these. speeds_by (tree.n_u, n_v) : the tree's speeds by v, sparse.
    """

    def __init__(self, tree: JointTree) -> None:
        self.tree = tree
        entries = [
            each
            for each in tree.layout.relations.values()
            if each.row >= 0 and each.factors and np.all(tree.coordinate_index[list(each.numbers)] >= 0)
        ]
        self.rows = frozenset(each.row for each in entries)
        in_q, in_u = np.zeros((len(entries), tree.n_q)), np.zeros((len(entries), tree.n_u))
        for k, each in enumerate(entries):
            in_q[k, tree.coordinate_index[list(each.numbers)]] = each.factors
            in_u[k, [tree.joint_speeds[number] for number in each.numbers]] = each.factors
        self._of_q, self._factors, self._constants = eliminated(in_q, np.array([each.offset for each in entries]))
        of_u, factors, _ = eliminated(in_u, np.zeros(len(entries)))
        kept_u: Ints = np.delete(np.arange(tree.n_u), of_u)
        self._kept_q: Ints = np.delete(np.arange(tree.n_q), self._of_q)
        self.kept_u = kept_u
        self.n_q, self.n_v = len(self._kept_q), len(kept_u)
        if entries:
            from scipy.sparse import csr_array  # for a faster start

            speeds_by = np.zeros((tree.n_u, self.n_v))
            speeds_by[kept_u, np.arange(self.n_v)] = 1.0
            speeds_by[of_u] = factors[:, kept_u]
            self.speeds_by = csr_array(speeds_by)
            self._transposed = self.speeds_by.T  # once: a product from the left would do so each time

    def __bool__(self) -> bool:
        """Whether any coordinate is dependent."""
        return bool(self.rows)

    def tree_q(self, q: Floats) -> Floats:
        """The tree's q of (s, n_q) or (n_q,)."""
        if not self:
            return q
        out = np.zeros((*q.shape[:-1], self.tree.n_q))
        out[..., self._kept_q] = q
        out[..., self._of_q] = out @ self._factors.T + self._constants
        return out

    def tree_u(self, v: Floats) -> Floats:
        """The tree's speeds of v (s, n_v) or (n_v,)."""
        return (self.speeds_by @ v.T).T if self else v

    def q_of(self, tree_q: Floats) -> Floats:
        """q (n_q,) of that of the tree."""
        return tree_q[..., self._kept_q] if self else tree_q

    def v_of(self, tree_u: Floats) -> Floats:
        """v (n_v,) of the tree's speeds."""
        return tree_u[..., self.kept_u] if self else tree_u

    def pulled(self, x: Any, left: bool = False) -> Any:
        """Columns (., n_v) by v of those (., tree.n_u) by the tree's speeds; ``left`` : likewise of rows."""
        if not self:
            return x
        by_v = (self._transposed @ x.T).T
        return self._transposed @ by_v if left else by_v

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """The places in q and v of the tree's coordinates and speeds; -1 of dependent ones."""
        places = np.full(self.tree.n_q, -1), np.full(self.tree.n_u, -1)
        for place, kept in zip(places, (self._kept_q, self.kept_u), strict=True):
            place[kept] = np.arange(len(kept))
        return places

    def placed(self, in_q: Ints, in_u: Ints) -> tuple[Ints, Ints, Bools]:
        """Indices in q and v, of those that are independent, of indices in the tree's; and which they are."""
        at_q, at_u = self._places[0][in_q], self._places[1][in_u]
        there: Bools = at_q >= 0
        return np.ascontiguousarray(at_q[there]), np.ascontiguousarray(at_u[there]), there

    @cached_property
    def coordinates(self) -> Coordinates:
        """Indices as ``femb.numerics.kinematics`` takes them."""
        if not self:
            return self.tree.coordinates
        linear_q, linear_v, quaternion_q, omega_v = self.tree.coordinates
        return *self.placed(linear_q, linear_v)[:2], *self.placed(quaternion_q, omega_v)[:2]

    def frame(self, frame: TreeFrame) -> TreeFrame:
        """A frame none of whose coordinates depends, with their places in q and v."""
        if not self:
            return frame
        return replace(frame, first_q=int(self._places[0][frame.first_q]), first_u=int(self._places[1][frame.first_u]))

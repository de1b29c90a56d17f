"""The reduced form as in its source: rows Ha v = Hb u of all frames of a tree.

These matrices are for users; integration uses the sweeps of ``form``. They are evaluated at one state, in the order of
the System's velocities. Source:
docs/theory/reduced_order.md, equations (16) to (18); Thompson, AIAA 2011-6277, equations (12), (16) to (18).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve_triangular

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE

if TYPE_CHECKING:
    from femb.formulations.reduced.form import ReducedForm


@dataclass(frozen=True)
class VelocityRows:
    """Ha (n_v, n_v) and Hb (n_v, n_u), with their rates, scipy.sparse: Ha v = Hb u.

    ``order`` (n_v,) are the System's velocities with parents before children: Ha is unit lower triangular in it.
    """

    Ha: Any
    Hb: Any
    Ha_rate: Any
    Hb_rate: Any
    order: Any

    def H2(self) -> tuple[Floats, Floats]:
        """H2 = Ha^-1 Hb and H2' = Ha^-1 (Hb' - Ha' H2), by forward substitution."""
        H2 = self._solved(self.Hb.toarray())
        return H2, self._solved(self.Hb_rate - self.Ha_rate @ H2)

    def H2_inverse(self) -> Floats:
        """H2^+ = Hb^+ Ha (n_u, n_v), the last rows of [H1 H2]^-1: u = H2^+ v."""
        result: Floats = np.linalg.pinv(self.Hb.toarray()) @ self.Ha
        return result

    def _solved(self, right: Any) -> Floats:
        right = np.asarray(right)
        out = np.empty_like(right)
        ordered = csc_array(self.Ha)[self.order][:, self.order].tocsr()
        out[self.order] = spsolve_triangular(ordered, right[self.order], lower=True, unit_diagonal=True)
        result: Floats = out
        return result


def rows(form: "ReducedForm", q: Floats, v: Floats) -> VelocityRows:
    """Rows of a ReducedForm at one state. Equations (16) and (17)."""
    tree = form.tree
    n_v, n_u = tree.system.n_v, tree.n_u
    _, _, T, T1, B, B1 = (array[0] for array in tree.sweep(q[None], v[None]))
    Ha, Ha_rate = np.eye(n_v), np.zeros((n_v, n_v))
    Hb, Hb_rate = np.zeros((2, n_v, n_u))
    order: list[int] = []
    for k, frame in enumerate(tree.frames):
        first, size, count = tree.index[k, FRAME_V], tree.index[k, SIZE], frame.u.stop - frame.u.start
        block = slice(first, first + size)
        order += range(first, first + size)
        Hb[block, frame.u], Hb_rate[block, frame.u] = B[k, :size, :count], B1[k, :size, :count]
        if frame.parent >= 0:
            parent_v, width = tree.index[frame.parent, FRAME_V], tree.index[frame.parent, SIZE]
            parent = slice(parent_v, parent_v + width)
            Ha[block, parent], Ha_rate[block, parent] = -T[k, :size, :width], -T1[k, :size, :width]
    internal = tree.internal_index[1]
    Hb[internal, np.arange(tree.internal[1].start, tree.internal[1].stop)] = 1.0
    Ha, Hb, Ha_rate, Hb_rate = (csc_array(matrix) for matrix in (Ha, Hb, Ha_rate, Hb_rate))
    return VelocityRows(Ha, Hb, Ha_rate, Hb_rate, np.array([*order, *internal], dtype=int))

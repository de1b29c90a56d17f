"""The reduced form as in its source: rows Ha v = Hb u of all frames of a tree.

These matrices are for users; integration uses the sweeps of ``form``. They are evaluated at one state, in the order of
the System's velocities. Source:
docs/theory/reduced_order.md, equations (16) to (18); Thompson, AIAA 2011-6277, equations (12), (16) to (18).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE

if TYPE_CHECKING:
    from femb.formulations.reduced.form import ReducedForm


@dataclass(frozen=True)
class VelocityRows:
    """Ha (n_v, n_v) and Hb (n_v, n_u), with their rates: Ha v = Hb u, so that H2 = Ha^-1 Hb.

    Ha is unit lower triangular with parents before children.
    """

    Ha: Floats
    Hb: Floats
    Ha_rate: Floats
    Hb_rate: Floats

    def H2_inverse(self) -> Floats:
        """H2^+ = Hb^+ Ha (n_u, n_v), the last rows of [H1 H2]^-1: u = H2^+ v."""
        return np.linalg.pinv(self.Hb) @ self.Ha


def rows(form: "ReducedForm", q: Floats, v: Floats) -> VelocityRows:
    """Rows of a ReducedForm at one state. Equations (16) and (17)."""
    tree = form.tree
    n_v, n_u = tree.system.n_v, tree.n_u
    _, _, T, T1, B, B1 = (array[0] for array in tree.sweep(q[None], v[None]))
    Ha, Ha_rate = np.eye(n_v), np.zeros((n_v, n_v))
    Hb, Hb_rate = np.zeros((2, n_v, n_u))
    blocks = [slice(first, first + size) for first, size in tree.index[:, [FRAME_V, SIZE]]]
    for k, (block, frame) in enumerate(zip(blocks, tree.frames, strict=True)):
        size, count = block.stop - block.start, frame.u.stop - frame.u.start
        Hb[block, frame.u], Hb_rate[block, frame.u] = B[k, :size, :count], B1[k, :size, :count]
        if frame.parent >= 0:
            parent, width = blocks[frame.parent], tree.index[frame.parent, SIZE]
            Ha[block, parent], Ha_rate[block, parent] = -T[k, :size, :width], -T1[k, :size, :width]
    Hb[tree.internal_index[1], np.arange(tree.internal[1].start, tree.internal[1].stop)] = 1.0
    return VelocityRows(Ha, Hb, Ha_rate, Hb_rate)

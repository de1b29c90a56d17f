"""Derivative of the forces of constraints with respect to the coordinates, d(J^T lambda)/dq H, complete.

Row by row, as a sparse matrix: block data have no blocks for two frames that are coupled by a joint alone.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array

from femb.base.types import Floats, Sparse
from femb.elements.joint.columns import FIRST, IN_FORCE, ROW, SECOND
from femb.elements.joint.constraint_tangent_kernels import row_tangent
from femb.numerics.vector3 import HAS_AXES, IN_V

if TYPE_CHECKING:
    from femb.system.system import System


def reaction_stiffness(system: "System", u: Floats, q: Floats, v: Floats, multipliers: Floats) -> Sparse:
    """(n_v, n_v), scipy.sparse, at one state, at constant multipliers (n_c,)."""
    K, T = np.zeros((12, 12)), np.zeros(12)
    rows, columns, values = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], [np.zeros(0)]
    constraints = system.constraint_set
    for index, data in zip(constraints.index, constraints.data, strict=True):
        multiplier = multipliers[index[ROW]]
        if multiplier == 0.0 or (index[IN_FORCE] >= 0 and u[index[IN_FORCE]] == 0.0):
            continue  # an open latch
        row_tangent(index, data, u, q, v, system.layout.fixed, K, T)
        frames = index[FIRST : FIRST + 3], index[SECOND : SECOND + 3]
        counts = [(6 if frame[HAS_AXES] else 3) if frame[IN_V] >= 0 else 0 for frame in frames]
        free = np.concatenate([np.arange(counts[0]), 6 + np.arange(counts[1])])
        at = np.concatenate([frame[IN_V] + np.arange(count) for frame, count in zip(frames, counts, strict=True)])
        rows.append(np.repeat(at, len(at)))
        columns.append(np.tile(at, len(at)))
        values.append(multiplier * K[np.ix_(free, free)].ravel())
    indices = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), indices), shape=(system.n_v, system.n_v)).tocsc()

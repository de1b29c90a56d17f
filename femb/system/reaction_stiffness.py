"""How the forces of constraints change with the coordinates, d(J^T lambda)/dq H, complete.

Row by row: the blocks of Newton's matrices have no place for what a joint couples two frames by.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array

from femb.base.types import Floats, Sparse
from femb.elements.joint.constraint_tangent_kernels import second

if TYPE_CHECKING:
    from femb.system.system import System


def reaction_stiffness(system: "System", u: Floats, q: Floats, v: Floats, multipliers: Floats) -> Sparse:
    """(n_v, n_v), scipy.sparse, at one state, the multipliers (n_c,) held."""
    K, T = np.zeros((12, 12)), np.zeros(12)
    rows, columns, values = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], [np.zeros(0)]
    constraints = system.constraint_set
    for index, data in zip(constraints.index, constraints.data, strict=True):
        multiplier = multipliers[index[6]]
        if multiplier == 0.0 or (index[9] >= 0 and u[index[9]] == 0.0):
            continue  # not in force
        second(index, data, u, q, v, system.layout.fixed, K, T)
        counts = [(6 if index[e + 2] else 3) if index[e + 1] >= 0 else 0 for e in (0, 3)]
        own = np.concatenate([np.arange(counts[0]), 6 + np.arange(counts[1])])
        at = np.concatenate([index[1] + np.arange(counts[0]), index[4] + np.arange(counts[1])])
        rows.append(np.repeat(at, len(at)))
        columns.append(np.tile(at, len(at)))
        values.append(multiplier * K[np.ix_(own, own)].ravel())
    places = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), places), shape=(system.n_v, system.n_v)).tocsc()

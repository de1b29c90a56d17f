"""Fixed frames among the moving ones: where their coordinates and velocities follow all others."""

import numpy as np

from femb.base.types import Ints


def unfixed_frames(index: Ints, n_q: int, n_v: int, in_q: list[int], in_v: list[int]) -> Ints:
    """A copy of index rows in which the fixed frame i has the place n_q + 7 i in q and n_v + 6 i in v.

    in_q, in_v : columns of indices of the same frames in q, which are -1-i for the fixed frame i, and in v.
    """
    result = index.copy()
    held = index[:, in_q] < 0
    number = -1 - index[:, in_q]
    result[:, in_q] = np.where(held, n_q + 7 * number, index[:, in_q])
    result[:, in_v] = np.where(held, n_v + 6 * number, index[:, in_v])
    return result

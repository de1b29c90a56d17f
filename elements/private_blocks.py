"""Blocks of elements kept apart: every element with velocities of its own, also where elements share a frame.

A kernel that adds what belongs to a unit velocity or acceleration then gives it for all elements in one call, since
their unit vectors do not mix.
"""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats, Ints


class PrivateBlocks:
    """Numbering of the velocities of e elements, each of which has groups of them, as frames and strains.

    starts (e, groups) : the first velocity of each group in a vector of e n; negative where the group is held.
    offset, stride (e, groups, groups) : where its blocks are in data of e n n numbers, as kernels take them. places (e,
    n) : of these velocities in the System's.
    """

    def __init__(self, starts: Ints, sizes: tuple[int, ...]) -> None:
        count, n = len(starts), sum(sizes)
        self.count, self.n = count, n
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        element = np.arange(count)
        moving = starts >= 0
        self.starts: Ints = np.where(moving, n * element[:, None] + first, -1)
        offset = n * n * element[:, None, None] + n * first[:, None] + first
        self.offset: Ints = np.where(moving[:, :, None] & moving[:, None, :], offset, -1)
        self.stride: Ints = np.full(self.offset.shape, n)
        inside = np.concatenate([np.arange(size) for size in sizes])
        self.places: Ints = np.where(np.repeat(moving, sizes, axis=1), np.repeat(starts, sizes, axis=1) + inside, -1)

    def matrices(self, data: Floats) -> Floats:
        """(e, n, n) of block data."""
        return data.reshape(self.count, self.n, self.n)

    def by_columns(self, change: Callable[[Floats, Floats, Floats, Floats], None]) -> Floats:
        """D (e, n, n, n): D[:, :, j] is what ``change`` adds as the unit accelerations along j change with q.

        change(still, a, nothing, out) adds to block data ``out`` at velocities ``still`` of zero; ``nothing`` is block
        data too, for what it adds elsewhere.
        """
        result = np.empty((self.count, self.n, self.n, self.n))
        still = np.zeros(self.count * self.n)
        nothing = np.zeros(self.count * self.n**2)
        for j in range(self.n):
            a, out = np.zeros_like(still), np.zeros_like(nothing)
            a[j :: self.n] = 1.0
            change(still, a, nothing, out)
            result[:, :, j] = out.reshape(self.count, self.n, self.n)
        return result

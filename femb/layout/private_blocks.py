"""Separate blocks for every element: velocities are numbered by element, also where elements share a frame.

One call of a kernel then gives the contribution of a unit velocity or acceleration for all elements, without any
superposition between elements; and the residual of one element alone is the force on its ends, of which the exact
tangents are the derivatives.
"""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats, Ints


class PrivateBlocks:
    """Numbering of the velocities of e elements: n velocities each, in groups (frames and internal coordinates).

    starts (e, groups) : index of the first velocity of a group in a vector of length e n; negative for a fixed group.
    offset, stride (e, groups, groups) : position of the blocks in block data of length e n n. indices (e, n) : of these
    velocities in the System's v, -1 if fixed.
    """

    def __init__(self, starts: Ints, sizes: tuple[int, ...]) -> None:
        count, n = len(starts), sum(sizes)
        starts = np.ascontiguousarray(starts)  # see BlockPattern.offsets
        self.count, self.n, self.size = count, n, count * n * n
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        element = np.arange(count)
        moving = starts >= 0
        self.starts: Ints = np.where(moving, n * element[:, None] + first, -1)
        offset = n * n * element[:, None, None] + n * first[:, None] + first
        self.offset: Ints = np.where(moving[:, :, None] & moving[:, None, :], offset, -1)
        self.stride: Ints = np.full(self.offset.shape, n)
        in_group = np.concatenate([np.arange(size) for size in sizes])
        self.indices: Ints = np.where(np.repeat(moving, sizes, axis=1), np.repeat(starts, sizes, axis=1) + in_group, -1)

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Offset and stride (n, g, g) of the blocks of groups that begin at ``starts`` (n, g), negative if fixed."""
        starts = np.ascontiguousarray(starts)  # see BlockPattern.offsets
        element, first = starts // self.n, starts % self.n
        moving = starts >= 0
        offset: Ints = self.n**2 * element[:, :, None] + self.n * first[:, :, None] + first[:, None, :]
        offset = np.where(moving[:, :, None] & moving[:, None, :], offset, -1)
        return offset, np.full(offset.shape, self.n)

    def matrices(self, data: Floats) -> Floats:
        """(e, n, n) of block data."""
        return data.reshape(self.count, self.n, self.n)

    def by_columns(self, tangent: Callable[[Floats, Floats], tuple[Floats, Floats]]) -> Floats:
        """D (e, n, n, n): D[:, :, j] is the stiffness, of the damping and stiffness that ``tangent`` gives as block
        data, at rest with unit accelerations along j."""
        result = np.empty((self.count, self.n, self.n, self.n))
        v = np.zeros(self.count * self.n)
        for j in range(self.n):
            a = np.zeros_like(v)
            a[j :: self.n] = 1.0
            result[:, :, j] = self.matrices(tangent(v, a)[1])
        return result

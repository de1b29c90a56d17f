"""Pattern: where the entries of the system matrices are stored.

The unknowns are velocities, then multipliers. All matrices of a system share one layout: the dense blocks of coupled
frames and multipliers, row by row, in one flat array ("block data"), with room for what elimination fills in. Elements
add into it at places computed once, block elimination works on it directly, and ``to_csc`` views the part of the
velocities as a scipy.sparse matrix.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.layout import Layout
from femb.numerics.elimination import Elimination


class Pattern:
    """Places of the blocks.

    n unknowns, the first n_v velocities; block_start (B+1,); diagonal (B,) offsets of the diagonal blocks in data of
    length ``size``; per edge of the elimination lower and upper, the offsets of the blocks (earlier, later) and
    (later, earlier). ``places`` and ``targets`` are these as ``blocklu`` takes them.
    """

    def __init__(self, layout: Layout) -> None:
        start = layout.block_start
        sizes = np.diff(start)
        self.n_v, self.n = layout.n_v, layout.n_v + layout.n_c
        self.block_start = start
        self.block_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
        count = len(sizes)
        elimination = Elimination(count, set(layout.edges), layout.eliminated_after)
        earlier = np.repeat(elimination.order, np.diff(elimination.first))
        later = elimination.later
        self.edges: Ints = np.stack([earlier, later], axis=1)
        products = sizes[earlier] * sizes[later]
        places = np.concatenate([[0], np.cumsum(np.concatenate([sizes**2, products, products]))])
        self.size = int(places[-1])
        self.diagonal: Ints = places[:count]
        self.lower: Ints = places[count : count + len(later)]
        self.upper: Ints = places[count + len(later) : -1]
        keys = np.concatenate([np.arange(count) * (count + 1), earlier * count + later, later * count + earlier])
        order = np.argsort(keys)
        self._keys, self._places = keys[order], places[:-1][order]
        self._csc: tuple[Ints, Ints, Ints] | None = None
        self.places = (
            start, layout.n_v, self.diagonal, elimination.order, elimination.first, later, self.lower, self.upper
        )  # fmt: skip
        self.targets = self._targets(elimination)

    def _targets(self, elimination: Elimination) -> Ints:
        """For each eliminated block, the offset of the block of every pair of its later neighbours."""
        count = len(self.diagonal)
        degree = np.diff(elimination.first)
        found = [np.zeros(0, dtype=np.int64)]
        if np.all(degree <= 1):
            return self.diagonal[elimination.later]
        for k in range(len(degree)):
            each = elimination.later[elimination.first[k] : elimination.first[k + 1]]
            pairs = (each[:, None] * count + each).ravel()
            found.append(self._places[np.searchsorted(self._keys, pairs)])
        return np.concatenate(found)

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Where elements add: starts (n, g) first unknown of each group, negative if fixed.

        Returns offset and stride (n, g, g) of entry (0, 0) of every pair of groups; offset -1 where one is fixed.
        """
        starts = np.asarray(starts)
        moving = starts >= 0
        block = self.block_of[np.where(moving, starts, 0)]
        inside = starts - self.block_start[block]
        sizes = np.diff(self.block_start)
        rows, columns = block[:, :, None], block[:, None, :]
        keys = rows * len(sizes) + columns
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        stride = np.broadcast_to(sizes[columns], keys.shape)
        offset = self._places[found] + inside[:, :, None] * stride
        offset = offset + inside[:, None, :]
        both = moving[:, :, None] & moving[:, None, :] & (self._keys[found] == keys)
        return np.where(both, offset, -1), np.ascontiguousarray(stride)

    def rows_columns(self) -> tuple[Ints, Ints]:
        """Row and column of every entry of the data."""
        start, sizes = self.block_start, np.diff(self.block_start)
        earlier, later = self.edges.T
        row_blocks = np.concatenate([np.arange(len(sizes)), earlier, later])
        column_blocks = np.concatenate([np.arange(len(sizes)), later, earlier])
        rows, columns = [], []
        for i, j in zip(row_blocks, column_blocks, strict=True):
            rows.append(np.repeat(np.arange(start[i], start[i + 1]), sizes[j]))
            columns.append(np.tile(np.arange(start[j], start[j + 1]), sizes[i]))
        return np.concatenate(rows), np.concatenate(columns)

    def from_csc(self, matrix: Any) -> Floats:
        """Block data of a scipy.sparse matrix (n, n) that has no entries beside the blocks."""
        rows, columns = self.rows_columns()
        return np.asarray(matrix.tocsr()[rows, columns], dtype=float).ravel()

    def to_csc(self, data: Floats):
        """The matrix (n, n) of block data as scipy.sparse.csc_array; the structure is found once."""
        from scipy.sparse import csc_array

        if self._csc is None:
            rows, columns = self.rows_columns()
            order = np.lexsort((rows, columns))
            pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=self.n))])
            self._csc = (order, rows[order], pointers)
        order, indices, pointers = self._csc
        return csc_array((data[order], indices, pointers), shape=(self.n, self.n))

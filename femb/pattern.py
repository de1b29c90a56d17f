"""Pattern: where the entries of the system matrices are stored.

All matrices of a system share one layout: the dense blocks of coupled frames, row by row, in one flat array
("block data"). Elements add into it at places computed once, block elimination works on it directly, and
``to_csc`` views it as a scipy.sparse matrix.
"""

import numpy as np

from femb.layout import Layout
from femb.types import Floats, Ints


class Pattern:
    """Places of the blocks: diagonal (B,), and per edge (child, parent) those of both off-diagonal blocks.

    block_start (B+1,) and parent (B,) as in Layout; diagonal[b], upper[k] (rows of the parent) and lower[k] (rows of
    the child) are offsets in data of length ``size``.
    """

    def __init__(self, layout: Layout) -> None:
        start = layout.block_start
        sizes = np.diff(start)
        self.n_v = layout.n_v
        self.block_start = start
        self.block_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.edges: Ints = np.array(layout.edges, dtype=np.int64).reshape(-1, 2)
        child, parent = self.edges.T
        lengths = np.concatenate([sizes**2, sizes[child] * sizes[parent], sizes[child] * sizes[parent]])
        places = np.concatenate([[0], np.cumsum(lengths)])
        count = len(sizes)
        self.size = int(places[-1])
        self.diagonal: Ints = places[:count]
        self.lower: Ints = places[count : count + len(child)]
        self.upper: Ints = places[count + len(child) : -1]
        keys = [np.arange(count) * (count + 1), child * count + parent, parent * count + child]
        all_keys = np.concatenate(keys)
        order = np.argsort(all_keys)
        self._keys, self._places = all_keys[order], places[:-1][order]
        self._csc: tuple[Ints, Ints, Ints] | None = None

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Where elements add: starts (n, g) first velocity of each group, negative if fixed.

        Returns offset and stride (n, g, g) of entry (0, 0) of every pair of groups; offset -1 where one is fixed.
        """
        starts = np.asarray(starts)
        moving = starts >= 0
        block = self.block_of[np.where(moving, starts, 0)]
        inside = starts - self.block_start[block]
        sizes = np.diff(self.block_start)
        rows, columns = block[:, :, None], block[:, None, :]
        keys = rows * len(sizes) + columns
        found = np.searchsorted(self._keys, keys)
        stride = np.broadcast_to(sizes[columns], keys.shape)
        offset = self._places[np.minimum(found, len(self._keys) - 1)] + inside[:, :, None] * stride
        offset = offset + inside[:, None, :]
        both = moving[:, :, None] & moving[:, None, :]
        return np.where(both, offset, -1), np.ascontiguousarray(stride)

    def rows_columns(self) -> tuple[Ints, Ints]:
        """Row and column of every entry of the data."""
        start, sizes = self.block_start, np.diff(self.block_start)
        child, parent = self.edges.T
        row_blocks = np.concatenate([np.arange(len(sizes)), child, parent])
        column_blocks = np.concatenate([np.arange(len(sizes)), parent, child])
        rows, columns = [], []
        for i, j in zip(row_blocks, column_blocks, strict=True):
            rows.append(np.repeat(np.arange(start[i], start[i + 1]), sizes[j]))
            columns.append(np.tile(np.arange(start[j], start[j + 1]), sizes[i]))
        return np.concatenate(rows), np.concatenate(columns)

    def to_csc(self, data: Floats):  # type: ignore[no-untyped-def]
        """The matrix (n_v, n_v) of block data as scipy.sparse.csc_array; the structure is found once."""
        from scipy.sparse import csc_array

        if self._csc is None:
            rows, columns = self.rows_columns()
            order = np.lexsort((rows, columns))
            pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=self.n_v))])
            self._csc = (order, rows[order], pointers)
        order, indices, pointers = self._csc
        return csc_array((data[order], indices, pointers), shape=(self.n_v, self.n_v))

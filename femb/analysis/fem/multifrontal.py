"""Cholesky factors of large sparse matrices by dense fronts.

Unknowns are eliminated in blocks. A block's front has its own unknowns and those of later blocks that it touches; what
its elimination leaves on these is added to the front of the block that comes first among them. All arithmetic is that
of dense matrices. Source: I. S. Duff, J. K. Reid, ACM Trans. Math. Softw. 9 (1983) 302.
"""

import numpy as np

from femb.base.types import Floats, Ints, Sparse


class Multifrontal:
    """Factors of a symmetric positive definite matrix (n, n), eliminated by blocks of its rows in this order.

    Raises numpy.linalg.LinAlgError: the matrix is not positive definite.
    """

    def __init__(self, matrix: Sparse, blocks: list[Ints]) -> None:
        from scipy.linalg.blas import dsyrk, dtrsm
        from scipy.linalg.lapack import dpotrf

        self.order = np.concatenate(blocks)
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        ends = np.cumsum([len(block) for block in blocks])
        block_of = np.repeat(np.arange(len(blocks)), np.diff(ends, prepend=0))
        left: list[list[tuple[Ints, Floats]]] = [[] for _ in blocks]
        self.fronts: list[tuple[int, int, Ints, Floats, Floats]] = []
        for number, end in enumerate(map(int, ends)):
            size = len(blocks[number])
            start = end - size
            rows, columns, values = _columns(matrix, blocks[number], place, start)
            border = np.unique(np.concatenate([rows[rows >= end], *(each[each >= end] for each, _ in left[number])]))
            outer = len(border)
            corner, below = np.zeros((size, size), order="F"), np.zeros((outer, size), order="F")
            rest = np.zeros((outer, outer), order="F")
            inside = rows < end
            corner[rows[inside] - start, columns[inside]] = values[inside]
            below[np.searchsorted(border, rows[~inside]), columns[~inside]] = values[~inside]
            for touched, update in left[number]:
                cut = int(np.searchsorted(touched, end))
                a, b = _runs(touched[:cut] - start), _runs(np.searchsorted(border, touched[cut:]))
                _add_lower(corner, update[:cut, :cut], a)
                _add(below, update[cut:, :cut], b, a)
                _add_lower(rest, update[cut:, cut:], b)
            left[number] = []
            corner, failed = dpotrf(corner, lower=1, clean=1, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError(f"row {self.order[start + failed - 1]} has no positive pivot")
            if outer:
                below = dtrsm(1.0, corner, below, side=1, lower=1, trans_a=1, overwrite_b=1)
                rest = dsyrk(-1.0, below, beta=1.0, c=rest, lower=1, overwrite_c=1)
                left[block_of[border[0]]].append((border, rest))
            self.fronts.append((start, end, border, corner, below))

    @property
    def entries(self) -> int:
        """How many numbers the factors hold."""
        return sum(corner.size + below.size for _, _, _, corner, below in self.fronts)

    def solve(self, force: Floats) -> Floats:
        """(n, q) of forces (n, q)."""
        from scipy.linalg.blas import dtrsm

        x = np.ascontiguousarray(force[self.order])
        # rows of x are columns of the transpose, which is in the order of Fortran
        for start, end, border, corner, below in self.fronts:
            part = dtrsm(1.0, corner, x[start:end].T, side=1, lower=1, trans_a=1)
            x[start:end] = part.T
            if len(border):
                x[border] -= below @ x[start:end]
        for start, end, border, corner, below in reversed(self.fronts):
            if len(border):
                x[start:end] -= below.T @ x[border]
            x[start:end] = dtrsm(1.0, corner, x[start:end].T, side=1, lower=1).T
        out = np.empty_like(x)
        out[self.order] = x
        return out


def _columns(matrix: Sparse, block: Ints, place: Ints, start: int) -> tuple[Ints, Ints, Floats]:
    """Entries of the columns of a block from row ``start`` on: rows by ``place``, columns in the block, values."""
    starts, lengths = matrix.indptr[block], matrix.indptr[block + 1] - matrix.indptr[block]
    flat = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    rows = place[matrix.indices[flat]]
    own = rows >= start
    return rows[own], np.repeat(np.arange(len(block)), lengths)[own], matrix.data[flat[own]]


LONGEST = 256  # of a run, so that parts above the diagonal are left out


def _runs(places: Ints) -> list[tuple[slice, slice]]:
    """Places, rising, as pairs of slices of consecutive places and of their numbers."""
    if not len(places):
        return []
    jumps = np.flatnonzero(np.diff(places) != 1) + 1
    cuts = np.union1d(jumps, np.arange(LONGEST, len(places), LONGEST)).tolist()
    starts, ends = [0, *cuts], [*cuts, len(places)]
    return [
        (slice(first, first + end - start), slice(start, end))
        for start, end, first in zip(starts, ends, places[starts].tolist(), strict=True)
    ]


Runs = list[tuple[slice, slice]]


def _add(target: Floats, part: Floats, rows: Runs, columns: Runs) -> None:
    """Add a part to rows and columns of a front by whole blocks."""
    for to_column, column in columns:
        for to_row, row in rows:
            target[to_row, to_column] += part[row, column]


def _add_lower(target: Floats, part: Floats, runs: Runs) -> None:
    """Add the lower triangle of a part, and what its blocks have above the diagonal."""
    for number, column in enumerate(runs):
        _add(target, part, runs[number:], [column])

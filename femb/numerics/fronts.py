"""Factors of large sparse matrices by dense fronts, in the order of a nested dissection.

Unknowns are eliminated in blocks. A block's front has its own unknowns and those of later blocks that it touches;
what its elimination leaves on these is added to the front of the block that comes first among them. All arithmetic
is that of dense matrices. Source: I. S. Duff, J. K. Reid, ACM Trans. Math. Softw. 9 (1983) 302.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Bools, Floats, Ints, Sparse
from femb.numerics.block_kernels import factor_of_rows
from femb.numerics.threads import spared

# Order of elimination of a finite element matrix: nested dissection by the positions of its nodes.
#
# A set of unknowns is cut in halves across its longest side. The fewest unknowns that every connection of the halves
# touches come last: by Koenig's theorem, the cover of a largest matching. Sources: A. George, Nested dissection of a
# regular finite element mesh, SIAM J. Numer. Anal. 10 (1973) 345; A. Pothen, C.-J. Fan, Computing the block triangular
# form of a sparse matrix, ACM Trans. Math. Softw. 16 (1990) 303.

SMALL = 120  # unknowns that are not divided further


def dissection(matrix: Sparse, places: Floats) -> list[Ints]:
    """Blocks of the rows of a symmetric matrix (n, n), in the order of elimination; its rows are at places (n, 3).

    Rows at one place that nothing connects are of different points: those of a flat panel along and across it.
    """
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(matrix, directed=False)
    _, point = np.unique(np.column_stack([part, places]), axis=0, return_inverse=True)
    point = point.ravel().astype(np.int32)
    count = int(point.max(initial=-1)) + 1
    where = np.zeros((count, 3))
    where[point] = places
    ranked = np.argsort(point, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(point, minlength=count))])
    blocks = dissected(_graph(matrix, point, count), where, max(1, SMALL * count // max(1, len(point))))
    return [np.concatenate([ranked[starts[k] : starts[k + 1]] for k in own]) for own in blocks]


def dissected(graph: Sparse, where: Floats, small: int) -> list[Ints]:
    """Sets of points at ``where`` (n, 3), in the order of elimination; graph, csr_array : which of them are connected.

    small : the most points of a set that is not divided further.
    """
    from scipy.sparse.csgraph import connected_components

    order: list[Ints] = []
    local = np.full(len(where), -1)
    number, part = connected_components(graph, directed=False)
    parts = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=number))[:-1])
    stack: list[tuple[Ints, bool]] = [(own, False) for own in parts]
    while stack:
        own, done = stack.pop()
        if done or len(own) <= small:
            order.append(own)
            continue
        axis = int(np.argmax(np.ptp(where[own], axis=0)))
        ranked = own[np.argsort(where[own, axis], kind="stable")]
        left, right = ranked[: len(own) // 2], ranked[len(own) // 2 :]
        of_left, of_right = _separator(_crossing(graph, left, right, local))
        if len(of_left) + len(of_right) == len(own):
            order.append(own)
            continue
        between = np.concatenate([left[of_left], right[of_right]])
        # sorted along its longest side: what a later part touches of it is then a few runs
        axis = int(np.argmax(np.ptp(where[between], axis=0))) if len(between) else 0
        between = between[np.argsort(where[between, axis], kind="stable")]
        stack += [(np.delete(left, of_left), False), (np.delete(right, of_right), False), (between, True)]
    # the list was filled separator first: in its reverse every separator comes after its halves
    return [own for own in reversed(order) if len(own)]


def _graph(matrix: Sparse, point: Ints, count: int) -> Sparse:
    """Which points are connected, as csr_array."""
    from scipy.sparse import csr_array

    columns = np.repeat(point, np.diff(matrix.indptr))
    return csr_array((np.ones(matrix.nnz, dtype=np.int8), (point[matrix.indices], columns)), shape=(count, count))


def _crossing(graph: Sparse, left: Ints, right: Ints, local: Ints) -> Sparse:
    """Connections (left, right) of two sets of points; ``local`` (points,) is -1 before and after."""
    from scipy.sparse import csr_array

    local[right] = np.arange(len(right))
    starts, lengths = graph.indptr[left], np.diff(graph.indptr)[left]
    flat = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    columns = local[graph.indices[flat]]
    rows = np.repeat(np.arange(len(left)), lengths)[columns >= 0]
    columns = columns[columns >= 0]
    local[right] = -1
    return csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(len(left), len(right)))


def _separator(crossing: Sparse) -> tuple[Ints, Ints]:
    """Rows and columns, the fewest that hold all entries."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    column_of = maximum_bipartite_matching(crossing, perm_type="column")
    row_of = np.full(crossing.shape[1], -1)
    matched = np.flatnonzero(column_of >= 0)
    row_of[column_of[matched]] = matched
    # rows and columns on paths from rows without a partner, that alternate between other entries and the matching
    rows, columns = (column_of < 0) & (np.diff(crossing.indptr) > 0), np.zeros(crossing.shape[1], dtype=bool)
    front = np.flatnonzero(rows)
    while len(front):
        reached = np.unique(crossing[front].indices)
        reached = reached[~columns[reached]]
        columns[reached] = True
        front = row_of[reached]
        front = front[~rows[front]]
        rows[front] = True
    return np.flatnonzero((np.diff(crossing.indptr) > 0) & ~rows), np.flatnonzero(columns)


# Rows of the largest front from which several threads of dense linear algebra are used: those beside it are small.
THREADED = 2000
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


# Fronts: the places of all entries in them are found once for all matrices of one structure.


@dataclass(frozen=True, eq=False)
class Front:
    """The unknowns ``start`` to ``end`` in the order of elimination, and those of the ``border`` (m,).

    entries (k,) of the data at the ``places`` (k,) of its own rows and columns, each part column by column: between its
    unknowns, of the border by these, and of these by the border. parent : the number of the front to which it adds what
    it leaves on the border, the first ``cut`` at runs ``inside`` the unknowns of that, the others at runs ``outside``,
    of its border. multipliers : whether its unknowns are these; bordering (b,) : which of the border are.
    """

    start: int
    end: int
    border: Ints
    entries: Ints
    places: Ints
    parent: int
    cut: int
    inside: Runs
    outside: Runs
    multipliers: bool
    bordering: Ints

    @property
    def size(self) -> int:
        """The number of its unknowns."""
        return self.end - self.start


class Fronts:
    """The fronts of matrices whose entries (k,) of data are at rows and columns (k,).

    sets : unknowns of each front in the order of elimination; those from n_v on are multipliers, which are in other
    fronts than velocities. ``order`` (n,) : all unknowns in this order. ``largest`` : rows of the largest front.
    """

    def __init__(self, rows: Ints, columns: Ints, sets: list[Ints], n_v: int) -> None:
        self.n_v, self.order = n_v, np.concatenate(sets)
        n, count = len(self.order), len(sets)
        place: Ints = np.empty(n, dtype=np.int32)  # half the memory where n is large
        place[self.order] = np.arange(n)
        sizes = np.array([len(each) for each in sets])
        ends = np.cumsum(sizes)
        front_of = np.repeat(np.arange(count, dtype=np.int32), sizes)
        first, second = place[rows], place[columns]
        owner = front_of[np.minimum(first, second)]
        ranked = np.argsort(owner, kind="stable")
        limits = np.searchsorted(owner[ranked], np.arange(count + 1))
        first, second = first[ranked], second[ranked]
        self.diagonal = np.zeros(n, dtype=np.int64)
        on_diagonal = np.flatnonzero(rows == columns)
        self.diagonal[rows[on_diagonal]] = on_diagonal
        local = np.empty(n, dtype=np.int64)
        left: list[list[Ints]] = [[] for _ in sets]
        found: list[tuple[int, int, Ints, Ints, Ints, int]] = []
        for k, end in enumerate(ends.tolist()):
            start, part = end - int(sizes[k]), slice(limits[k], limits[k + 1])
            i, j = first[part], second[part]
            border = np.unique(np.concatenate([i[i >= end], *(each[each >= end] for each in left[k])]))
            left[k] = []
            n, m = end - start, len(border)
            local[start:end] = np.arange(n)
            local[border] = n + np.arange(m)
            i, j = local[i], local[j]
            places = np.where(j >= n, n * (m + j) + i, np.where(i >= n, n * (n - 1) + i + m * j, i + n * j))
            parent = int(front_of[border[0]]) if len(border) else -1
            if len(border):
                left[parent].append(border)
            found.append((start, end, border, ranked[part].astype(np.int32), places.astype(np.int32), parent))
        self.all: list[Front] = []
        for start, end, border, entries, places, parent in found:
            cut, inside, outside = 0, _runs(border[:0]), _runs(border[:0])
            if parent >= 0:
                first_above, last_above, above = found[parent][:3]
                cut = int(np.searchsorted(border, last_above))
                inside, outside = _runs(border[:cut] - first_above), _runs(np.searchsorted(above, border[cut:]))
            bordering = np.flatnonzero(self.order[border] >= n_v)
            rest = cut, inside, outside, bool(self.order[start] >= n_v), bordering
            self.all.append(Front(start, end, border, entries, places, parent, *rest))
        self.largest = max((front.size + len(front.border) for front in self.all), default=0)


# Cholesky factors.
#
# scipy's splu, which is for unsymmetric matrices, takes four times the time and 1.8 times the entries, in this order of
# elimination 2.5 and 1.6 times: python tests/bench/bench_reduce.py 56 19 3 scipy, a panel of 30,849 nodes. Separators
# that are one side of a cut, not the fewest unknowns, take 1.3 times the entries.


class Multifrontal:
    """Factors of a symmetric positive definite matrix by its data on the fronts of its structure.

    Data above the diagonal, in the order of elimination, are not read. Raises numpy.linalg.LinAlgError: the matrix is
    not positive definite.
    """

    def __init__(self, fronts: Fronts, data: Floats) -> None:
        # the fronts of one matrix alone are freed with their places
        self.order, self.largest = fronts.order, fronts.largest
        self.factors: list[tuple[slice, Ints, Floats, Floats]] = []
        self._eliminate(fronts, data)

    @spared(lambda own: own.largest, THREADED)
    def _eliminate(self, fronts: Fronts, data: Floats) -> None:
        from scipy.linalg.blas import dsyrk, dtrsm
        from scipy.linalg.lapack import dpotrf

        waiting: list[list[tuple[Front, Floats]]] = [[] for _ in fronts.all]
        for number, front in enumerate(fronts.all):
            n, m = front.size, len(front.border)
            lower = front.places < n * (n + m)
            flat = np.zeros(n * (n + m))
            flat[front.places[lower]] = data[front.entries[lower]]
            corner, below = flat[: n * n].reshape(n, n, order="F"), flat[n * n :].reshape(m, n, order="F")
            rest = np.zeros((m, m), order="F")
            for child, update in waiting[number]:
                a, b, cut = child.inside, child.outside, child.cut
                _add_lower(corner, update[:cut, :cut], a)
                _add(below, update[cut:, :cut], b, a)
                _add_lower(rest, update[cut:, cut:], b)
            waiting[number] = []
            corner, failed = dpotrf(corner, lower=1, clean=1, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError(f"row {fronts.order[front.start + failed - 1]} has no positive pivot")
            if m:
                below = dtrsm(1.0, corner, below, side=1, lower=1, trans_a=1, overwrite_b=1)
                rest = dsyrk(-1.0, below, beta=1.0, c=rest, lower=1, overwrite_c=1)
                waiting[front.parent].append((front, rest))
            self.factors.append((slice(front.start, front.end), front.border, corner, below))

    @classmethod
    def of(cls, matrix: Sparse, blocks: list[Ints]) -> "Multifrontal":
        """Factors of a sparse matrix (n, n), eliminated by blocks of its rows in this order."""
        place = np.empty(matrix.shape[0], dtype=np.int32)
        place[np.concatenate(blocks)] = np.arange(len(place), dtype=np.int32)
        columns: Any = np.repeat(np.arange(len(place), dtype=np.int32), np.diff(matrix.indptr))
        lower = np.flatnonzero(place[matrix.indices] >= place[columns])
        return cls(Fronts(matrix.indices[lower], columns[lower], blocks, len(place)), matrix.data[lower])

    @property
    def entries(self) -> int:
        """The number of entries of the factors."""
        return sum(corner.size + below.size for _, _, corner, below in self.factors)

    @spared(lambda own: own.largest, THREADED)
    def solve(self, right: Floats) -> Floats:
        """Solutions (n, k) for right-hand sides (n, k)."""
        from scipy.linalg.blas import dtrsm

        x = np.ascontiguousarray(right[self.order])
        # rows of x are columns of the transpose, which is in the order of Fortran
        for own, border, corner, below in self.factors:
            part = dtrsm(1.0, corner, x[own].T, side=1, lower=1, trans_a=1).T
            x[own] = part
            if len(border):
                x[border] -= below @ part
        for own, border, corner, below in reversed(self.factors):
            part = x[own]
            if len(border):
                part -= below.T @ x[border]
            x[own] = dtrsm(1.0, corner, part.T, side=1, lower=1).T
        out = np.empty_like(x)
        out[self.order] = x
        return out


# Factors of matrices of symmetric structure, which need be neither symmetric nor definite: velocities and multipliers.
#
# A front of velocities is factorised with partial pivoting. A front of multipliers has become -J P J^T when it is
# eliminated: it is factorised with diagonal pivoting, and rows that depend on those before are left out, as in
# ``femb.numerics.block_kernels``.

# Smaller entries of solutions are set to zero: see ``femb.numerics.block_kernels``.
FLUSH_TO_ZERO = 1e-100


class ZeroPivotError(ArithmeticError):
    """A front that is singular, at an ``unknown``."""

    def __init__(self, unknown: int) -> None:
        super().__init__("the matrix is singular")
        self.unknown = unknown


@dataclass(frozen=True, eq=False)
class FrontFactors:
    """L and U (r, r) of a front in one array, its unknowns of rows and columns in the order of their pivots (r,),
    below (m, r), right (r, m)."""

    triangles: Floats
    rows: Ints
    columns: Ints
    below: Floats
    right: Floats


class FrontalLU:
    """Factors of data on the fronts of its structure, real or complex. Raises ZeroPivotError.

    dependent, excluded (n_c,) : the pivot ratio below which a row of multipliers is left out, and rows that are.
    """

    def __init__(self, fronts: Fronts, data: Any, dependent: float, excluded: Bools) -> None:
        self.fronts, self.dtype, self.largest = fronts, data.dtype, fronts.largest
        # of the rows of multipliers: the sizes that their diagonals have been changed by, and the ratios of pivots
        scale = np.abs(data[fronts.diagonal[fronts.n_v :]])
        scale[excluded] = -np.inf
        self.ratios = np.zeros(len(scale))
        self.rank = 0
        self.factors: list[FrontFactors] = []
        self._eliminate(data, scale, dependent)

    @spared(lambda own: own.largest, THREADED)
    def _eliminate(self, data: Any, scale: Floats, dependent: float) -> None:
        from scipy.linalg import get_blas_funcs, get_lapack_funcs

        fronts = self.fronts
        getrf, laswp = get_lapack_funcs(("getrf", "laswp"), (data,))
        trsm, gemm = get_blas_funcs(("trsm", "gemm"), (data,))
        self._trsm: Callable[..., Any] = trsm
        waiting: list[list[tuple[Front, Any]]] = [[] for _ in fronts.all]
        for number, front in enumerate(fronts.all):
            n, m = front.size, len(front.border)
            flat = np.zeros(n * (n + 2 * m), dtype=data.dtype)
            flat[front.places] = data[front.entries]
            # parts of one array, so that nothing is copied where they are overwritten
            own = flat[: n * n].reshape(n, n, order="F")
            below = flat[n * n : n * (n + m)].reshape(m, n, order="F")
            right = flat[n * (n + m) :].reshape(n, m, order="F")
            rest = np.zeros((m, m), dtype=data.dtype, order="F")
            for child, update in waiting[number]:
                a, b, cut = child.inside, child.outside, child.cut
                _add(own, update[:cut, :cut], a, a)
                _add(below, update[cut:, :cut], b, a)
                _add(right, update[:cut, cut:], a, b)
                _add(rest, update[cut:, cut:], b, b)
            waiting[number] = []
            if front.multipliers:
                numbers = fronts.order[front.start : front.end] - fronts.n_v
                rows, own, self.ratios[numbers] = _of_rows(own, scale[numbers], dependent)
                columns = rows
                below, right = (np.asfortranarray(part) for part in (below[:, rows], right[rows]))
            else:
                own, exchanges, _ = getrf(own, overwrite_a=1)
                pivots = np.diagonal(own)
                good = np.isfinite(pivots) & (pivots != 0.0)
                if not good.all():
                    raise ZeroPivotError(int(fronts.order[front.start + int(np.argmin(good))]))
                rows, columns = _after_exchanges(exchanges, n), np.arange(n)
                right = laswp(right, exchanges, overwrite_a=1) if m else right
            self.rank += len(rows)
            if m and len(rows):
                below = trsm(1.0, own, below, side=1, overwrite_b=1)
                right = trsm(1.0, own, right, lower=1, diag=1, overwrite_b=1)
                rest = gemm(-1.0, below, right, beta=1.0, c=rest, overwrite_c=1)
            if m:
                waiting[front.parent].append((front, rest))
            if len(front.bordering) and not front.multipliers:
                changes = np.einsum("ik,ki->i", below[front.bordering], right[:, front.bordering])
                scale[fronts.order[front.border[front.bordering]] - fronts.n_v] += np.abs(changes)
            self.factors.append(FrontFactors(own, rows, columns, below, right))

    @spared(lambda own: own.largest, THREADED)
    def solve(self, right: Any) -> Any:
        """Solutions (n, k) for right-hand sides (n, k)."""
        if np.iscomplexobj(right) and self.dtype != right.dtype:
            return self.solve(np.ascontiguousarray(right.real)) + 1j * self.solve(np.ascontiguousarray(right.imag))
        trsm, order = self._trsm, self.fronts.order
        x = np.ascontiguousarray(right[order], dtype=self.dtype)
        parts: list[Any] = []
        # rows of x are columns of the transpose, which is in the order of Fortran
        for front, own in zip(self.fronts.all, self.factors, strict=True):
            part = x[front.start : front.end][own.rows]
            if len(part):
                part = trsm(1.0, own.triangles, part.T, side=1, lower=1, trans_a=1, diag=1).T
                if len(front.border):
                    x[front.border] -= own.below @ part
            parts.append(part)
        for front, own, part in zip(reversed(self.fronts.all), reversed(self.factors), reversed(parts), strict=True):
            if len(part):
                if len(front.border):
                    part = part - own.right @ x[front.border]
                part = trsm(1.0, own.triangles, part.T, side=1, trans_a=1).T
            x[front.start : front.end] = 0.0
            x[front.start + own.columns] = part
        x[np.abs(x) < FLUSH_TO_ZERO] = 0.0
        out = np.empty_like(x)
        out[order] = x
        return out

    def negative_eigenvalues(self) -> int:
        """The number of negative eigenvalues of a symmetric matrix, on the motions that its constraints allow."""
        from scipy.linalg.lapack import dsytrf

        found = 0
        for front, own in zip(self.fronts.all, self.factors, strict=True):
            if not len(own.rows):
                continue
            product = np.tril(own.triangles, -1) @ np.triu(own.triangles) + np.triu(own.triangles)
            if not front.multipliers:
                product[own.rows] = product.copy()
            _, pivots, _ = LDL = dsytrf(0.5 * (product + product.T), lower=1)
            diagonal = np.diagonal(LDL[0])
            # a pivot of two rows has one negative eigenvalue
            found += int(np.sum((pivots > 0) & (diagonal < 0.0))) + int(np.sum(pivots < 0)) // 2
            found -= len(own.rows) if front.multipliers else 0
        return found


def _after_exchanges(exchanges: Ints, count: int) -> Ints:
    """The order of so many rows after exchanges of the first ones with others."""
    order = list(range(count))
    for k, other in enumerate(exchanges.tolist()):
        order[k], order[other] = order[other], order[k]
    return np.array(order)


def _of_rows(A: Any, scale: Floats, dependent: float) -> tuple[Ints, Any, Floats]:
    """LU of a front of multipliers with diagonal pivoting: the rows in the order of their pivots, without those that
    depend on others; L and U in one array; and the ratios of pivots to ``scale``, by row."""
    n, ratios = len(A), np.zeros(len(A))
    block, pivots, scale = np.array(A, order="C"), np.empty(n, dtype=np.int64), scale.copy()
    rank = factor_of_rows(block.reshape(-1), pivots, scale, dependent)
    order = _after_exchanges(pivots[:rank], n)[:rank]
    ratios[order] = np.abs(np.diagonal(block)[:rank]) / scale[:rank]
    return order, np.asfortranarray(block[:rank, :rank]), ratios

"""Order of elimination of a finite element matrix: nested dissection by the positions of its nodes.

A set of unknowns is cut in halves across its longest side. The fewest unknowns that every connection of the halves
touches come last: by Koenig's theorem, the cover of a largest matching. Sources: A. George, Nested dissection of a
regular finite element mesh, SIAM J. Numer. Anal. 10 (1973) 345; A. Pothen, C.-J. Fan, Computing the block triangular
form of a sparse matrix, ACM Trans. Math. Softw. 16 (1990) 303.
"""

import numpy as np

from femb.base.types import Floats, Ints, Sparse

SMALL = 60  # points that are not divided further


def dissection(matrix: Sparse, places: Floats) -> list[Ints]:
    """Blocks of the rows of a symmetric matrix (n, n), in the order of elimination; its rows are at places (n, 3)."""
    _, point = np.unique(places, axis=0, return_inverse=True)
    point = point.ravel().astype(np.int32)
    count = int(point.max(initial=-1)) + 1
    where = np.zeros((count, 3))
    where[point] = places
    graph = _graph(matrix, point, count)
    order: list[Ints] = []
    local = np.full(count, -1)
    stack: list[tuple[Ints, bool]] = [(np.arange(count), False)]
    while stack:
        own, done = stack.pop()
        if done or len(own) <= SMALL:
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
        axis = int(np.argmax(np.ptp(where[between], axis=0)))
        between = between[np.argsort(where[between, axis], kind="stable")]
        stack += [(np.delete(left, of_left), False), (np.delete(right, of_right), False), (between, True)]
    # the list was filled separator first: in its reverse every separator comes after its halves
    ranked = np.argsort(point, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(point, minlength=count))])
    return [np.concatenate([ranked[starts[k] : starts[k + 1]] for k in own]) for own in reversed(order) if len(own)]


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

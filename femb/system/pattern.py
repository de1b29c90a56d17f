"""Pattern: storage of the system matrices as dense blocks.

The unknowns are velocities, then multipliers. All matrices of a system have one layout: the dense blocks of coupled
frames and multipliers, row by row, in one flat array ("block data"), fill-in included. Elements add to it at offsets
that are computed once; block elimination is done in it; ``to_csc`` gives the matrix in scipy.sparse.
"""

from collections.abc import Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.base.values import Keeper
from femb.layout.layout import Layout
from femb.layout.numbering import KEPT
from femb.layout.stacking import starts_of
from femb.numerics.fronts import Fronts, dissected

# Elimination order of the blocks of the system matrices, and the fill-in.
#
# Minimum degree ordering of the graph of blocks: a tree is eliminated from the leaves to the root without fill-in; a
# loop adds a few blocks. A block of multipliers has a zero diagonal: it may only be eliminated after the blocks that
# change this diagonal (``after``).
#
# A. George, J. W. H. Liu, The evolution of the minimum degree ordering algorithm, SIAM Review 31 (1989) 1-19.


class Elimination:
    """order (B,) of the blocks; later[first[k] : first[k + 1]] : neighbours of the k-th, eliminated after it.

    fill : whether the blocks that elimination fills in are among the neighbours; the order is then that of it, else
    that of the numbers.
    """

    def __init__(self, count: int, edges: set[tuple[int, int]], after: dict[int, set[int]], fill: bool = True) -> None:
        if fill:
            found = None if any(after.values()) else _of_forest(count, edges)
            order, later = found or _minimum_degree(count, edges, after)
        else:
            order = list(range(count))
            others: list[list[int]] = [[] for _ in order]
            for first, second in sorted((min(pair), max(pair)) for pair in edges):
                others[first].append(second)
            later = others
        self.order: Ints = np.array(order, dtype=np.int64)
        self.first: Ints = np.concatenate([[0], np.cumsum([len(others) for others in later])]).astype(np.int64)
        self.later: Ints = np.array([n for others in later for n in others], dtype=np.int64)


def _of_forest(count: int, edges: set[tuple[int, int]]) -> tuple[list[int], list[tuple[int, ...]]] | None:
    """The order of ``_minimum_degree``, and the later neighbours, if the edges close no loop: no sets are needed."""
    degree, link = [0] * count, [0] * count
    for a, b in edges:
        degree[a] += 1
        degree[b] += 1
        # all neighbours in one number: that of the last one, after the others are taken out
        link[a] ^= b
        link[b] ^= a
    heap = [(degree[b], -b) for b in range(count) if degree[b] <= 1]
    heapify(heap)
    order: list[int] = []
    later: list[tuple[int, ...]] = []
    done = [False] * count
    while heap:
        neighbours, b = heappop(heap)
        b = -b
        if done[b] or neighbours != degree[b]:
            continue
        done[b] = True
        order.append(b)
        if not neighbours:
            later.append(())
            continue
        n = link[b]
        later.append((n,))
        link[n] ^= b
        degree[n] -= 1
        if degree[n] <= 1:
            heappush(heap, (degree[n], -n))
    return (order, later) if len(order) == count else None


def _minimum_degree(
    count: int, edges: set[tuple[int, int]], after: dict[int, set[int]]
) -> tuple[list[int], list[list[int]]]:
    """The blocks in their order, and the later neighbours of each."""
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    waiting = {block: set(others) for block, others in after.items() if others}
    waiting_for: dict[int, list[int]] = {}
    for block, others in waiting.items():
        for other in others:
            waiting_for.setdefault(other, []).append(block)
    heap: list[tuple[int, int]] = []
    for b in range(count):
        if b not in waiting:
            heappush(heap, (len(neighbours[b]), -b))
    order: list[int] = []
    later: list[list[int]] = []
    done = [False] * count
    while heap:
        degree, b = heappop(heap)
        b = -b
        if done[b] or degree != len(neighbours[b]):
            continue
        done[b] = True
        order.append(b)
        others = neighbours[b]
        later.append(sorted(others))
        for n in others:
            neighbours[n].discard(b)
        if len(others) > 1:
            for n in others:
                neighbours[n] |= others
                neighbours[n].discard(n)
        released = []
        for block in waiting_for.get(b, ()):
            waiting[block].discard(b)
            if not waiting[block]:
                del waiting[block]
                released.append(block)
        for n in (*others, *released):
            if n not in waiting:
                heappush(heap, (len(neighbours[n]), -n))
    return order, later


# Nets: meshes of shells and nets of beams, whose elimination would fill in many blocks in every matrix.
#
# Their block data have no fill-in, and are factorised by fronts (``femb.numerics.fronts``): blocks of velocities in the
# order of a nested dissection by their places, those of multipliers in the front after that of the last block before
# which they must not be eliminated.

# Loops of couplings from which a system is a net, and the most blocks that are not divided further.
NET, SMALL = 1000, 24
# Arrays of offsets that a pattern keeps, for the batches of the next model of its topology.
KEPT_OFFSETS = 64


def _is_net(layout: Layout) -> bool:
    """Whether the couplings close many loops; a joint is a block of multipliers between two others."""
    return len(layout.edges) - len(layout.block_start) > NET


class Pattern:
    """Offsets of the blocks.

    n unknowns, the first n_v velocities; block_start (B+1,), sizes (B,) : of the blocks; diagonal (B,) : offsets of
    the diagonal blocks in data of length ``size``; lower, upper : for each edge of the elimination, the offsets of the
    blocks (earlier, later) and (later, earlier). ``structure`` and ``targets`` : the same as arguments of
    ``femb.numerics.block_kernels``. net : whether the data have no fill-in; block elimination has no targets then.

    filled : whether also a net gets its fill-in.
    """

    def __init__(self, layout: Layout, filled: bool = False) -> None:
        start = layout.block_start
        sizes = np.diff(start)
        self.n_v, self.n = layout.n_v, layout.n_v + layout.n_c
        self.block_start, self.sizes = start, sizes
        self.block_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
        count = len(sizes)
        self.net = not filled and _is_net(layout)
        self._layout = layout if self.net else None
        elimination = Elimination(count, set(layout.edges), layout.eliminated_after, not self.net)
        earlier = np.repeat(elimination.order, np.diff(elimination.first))
        later = elimination.later
        self.edges: Ints = np.stack([earlier, later], axis=1)
        products = sizes[earlier] * sizes[later]
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([sizes**2, products, products]))])
        self.size = int(offsets[-1])
        self.diagonal: Ints = offsets[:count]
        self.lower: Ints = offsets[count : count + len(later)]
        self.upper: Ints = offsets[count + len(later) : -1]
        self._find(offsets[:-1])
        self.structure = (
            start, layout.n_v, self.diagonal, elimination.order, elimination.first, later, self.lower, self.upper
        )  # fmt: skip
        self.targets = np.zeros(0, dtype=np.int64) if self.net else self._targets(elimination)
        kept = layout.numbers.kept and not self.net
        self._found_offsets: Keeper[tuple[Ints, Ints]] | None = Keeper(KEPT_OFFSETS) if kept else None

    def _find(self, offsets: Ints) -> None:
        """Sort the offsets of the diagonal, lower and upper blocks by their rows and columns."""
        count, (earlier, later) = len(self.sizes), self.edges.T
        keys = np.concatenate([np.arange(count) * (count + 1), earlier * count + later, later * count + earlier])
        order = np.argsort(keys)
        self._keys, self._offsets = keys[order], offsets[order]

    @staticmethod
    def of(layout: Layout) -> "Pattern":
        """The pattern of a layout; models of one topology have the same, which nothing changes. That of a net depends
        on the places of its nodes too."""
        if not layout.numbers.kept or _is_net(layout):
            return Pattern(layout)
        return PATTERNS.get(layout.numbers, lambda: Pattern(layout))

    def _targets(self, elimination: Elimination) -> Ints:
        """Offsets of the blocks of every pair of later neighbours, for each eliminated block."""
        count = len(self.diagonal)
        degree = np.diff(elimination.first)
        targets = [np.zeros(0, dtype=np.int64)]
        if np.all(degree <= 1):
            return self.diagonal[elimination.later]
        for k in range(len(degree)):
            later = elimination.later[elimination.first[k] : elimination.first[k + 1]]
            pairs = (later[:, None] * count + later).ravel()
            targets.append(self._offsets[np.searchsorted(self._keys, pairs)])
        return np.concatenate(targets)

    @cached_property
    def fronts(self) -> Fronts:
        """The fronts of a net."""
        from scipy.sparse import csr_array

        layout, start = self._layout, self.block_start
        assert layout is not None
        count = int(np.searchsorted(start, self.n_v))
        couplings = self.edges[self.edges.max(axis=1) < count]
        ends: dict[int, list[int]] = {}
        for a, b in self.edges[self.edges.max(axis=1) >= count].tolist():
            ends.setdefault(max(a, b), []).append(min(a, b))
        # what joints connect is connected as what elements couple
        joined = np.array([pair for pair in ends.values() if len(pair) == 2], dtype=np.int64).reshape(-1, 2)
        pairs = np.concatenate([couplings, couplings[:, ::-1], joined, joined[:, ::-1]])
        graph = csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(count, count))
        sets = [np.sort(each) for each in dissected(graph, self._places(graph), SMALL)]
        number = np.empty(count, dtype=np.int64)
        for k, each in enumerate(sets):
            number[each] = k
        rows: dict[int, list[int]] = {}
        for block, frames in ends.items():
            before = [other for other in layout.eliminated_after.get(block, ()) if other < count] or frames
            # in a loop one frame alone may be held by other rows: these seem to depend on those then
            before = frames if layout.has_loops else before
            rows.setdefault(int(number[before].max()), []).append(block)
        blocks: list[list[int]] = []
        for k, each in enumerate(sets):
            blocks += [each.tolist(), *([rows[k]] if k in rows else [])]
        unknowns = [np.concatenate([np.arange(start[b], start[b + 1]) for b in each]) for each in blocks]
        return Fronts(*self.rows_columns(), unknowns, self.n_v)

    def _places(self, graph: Any) -> Floats:
        """(b, 3) m: the positions of the blocks of velocities; those of blocks without a frame are in the middle of
        what they are coupled to."""
        layout = self._layout
        assert layout is not None
        frames = np.flatnonzero(layout.frame_v >= 0)
        places, known = np.zeros((graph.shape[0], 3)), np.zeros(graph.shape[0])
        block = self.block_of[layout.frame_v[frames]]
        places[block], known[block] = [layout.frames[k].position for k in frames.tolist()], 1.0
        around = np.maximum(graph @ known, 1.0)
        return np.where(known[:, None] > 0.0, places, (graph @ places) / around[:, None])

    @cached_property
    def with_fill(self) -> "tuple[Pattern, Ints]":
        """The pattern of a net with its fill-in, and the places (size,) of these data in those of it."""
        assert self._layout is not None
        filled = Pattern(self._layout, filled=True)
        return filled, filled.places(*self.rows_columns())

    def places(self, rows: Ints, columns: Ints) -> Ints:
        """The places in the data of entries by row and column; -1 of those outside the blocks."""
        of_rows, of_columns = self.block_of[rows], self.block_of[columns]
        keys = of_rows * len(self.sizes) + of_columns
        k = np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)
        inside = (rows - self.block_start[of_rows]) * self.sizes[of_columns] + columns - self.block_start[of_columns]
        return np.where(self._keys[k] == keys, self._offsets[k] + inside, -1)

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Offset and stride (n, g, g) of entry (0, 0) of every pair of groups of unknowns; offset -1 if one is fixed.

        starts (n, g) : the first unknown of each group, negative if it is fixed. Nothing changes the results: the last
        ones are kept.
        """
        if self._found_offsets is None:
            return self._offsets_of(starts)
        return self._found_offsets.get((starts.shape, starts.tobytes()), lambda: self._offsets_of(starts))

    def _offsets_of(self, starts: Ints) -> tuple[Ints, Ints]:
        # columns that a list selects lie in the order of Fortran, for which kernels would be compiled once more
        starts = np.ascontiguousarray(starts)
        moving = starts >= 0
        block = self.block_of[starts * moving]
        inside = starts - self.block_start[block]
        keys = block[:, :, None] * len(self.sizes) + block[:, None, :]
        k = np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)
        stride = np.empty_like(keys)
        stride[...] = self.sizes[block][:, None, :]
        offset = self._offsets[k] + inside[:, :, None] * stride + inside[:, None, :]
        offset[~(moving[:, :, None] & moving[:, None, :] & (self._keys[k] == keys))] = -1
        return offset, stride

    def rows_columns(self) -> tuple[Ints, Ints]:
        """Row and column of every entry of the data."""
        return self._rows_columns

    @cached_property
    def _rows_columns(self) -> tuple[Ints, Ints]:
        start, sizes = self.block_start, self.sizes
        earlier, later = self.edges.T
        row_blocks = np.concatenate([np.arange(len(sizes)), earlier, later])
        column_blocks = np.concatenate([np.arange(len(sizes)), later, earlier])
        counts = sizes[row_blocks] * sizes[column_blocks]
        width = np.repeat(sizes[column_blocks], counts)
        row, column = np.divmod(np.arange(self.size) - np.repeat(np.cumsum(counts) - counts, counts), width)
        row += np.repeat(start[row_blocks], counts)
        column += np.repeat(start[column_blocks], counts)
        return row.astype(self._kind), column.astype(self._kind)

    @property
    def _kind(self) -> Any:
        """The type of numbers of entries: of large patterns they take as much memory as the data."""
        return np.int32 if self.size < np.iinfo(np.int32).max else np.int64

    def entries_of(self, unknowns: Bools) -> tuple[Bools, Bools]:
        """The entries of the data in the rows and columns of some unknowns (n,) bool, and those on the diagonal."""
        if not unknowns.any():
            return np.zeros(self.size, dtype=bool), np.zeros(self.size, dtype=bool)
        rows, columns = self.rows_columns()
        touched = unknowns[rows] | unknowns[columns]
        return touched, touched & (rows == columns)

    @cached_property
    def of_diagonal(self) -> Ints:
        """(n,) the places of the diagonal entries in the data."""
        blocks = self.block_of
        inside = np.arange(self.n) - self.block_start[blocks]
        result: Ints = self.diagonal[blocks] + inside * (self.sizes[blocks] + 1)
        return result

    @cached_property
    def transposed(self) -> Ints:
        """The place of the transposed entry of every entry of the data."""
        from scipy.sparse import coo_array

        numbers = coo_array((np.arange(self.size), self.rows_columns()), shape=(self.n, self.n)).tocsr()
        numbers.sort_indices()
        # the order of rows and columns is in the transposed matrix that of columns and rows
        places: Ints = np.empty(self.size, dtype=np.int64)
        places[numbers.data] = self._in_columns[0]
        return places

    @cached_property
    def _in_columns(self) -> tuple[Ints, Ints, Ints]:
        """The entries of the data in the order of columns and rows, their rows, and the first of each column."""
        start, sizes, kind = self.block_start, self.sizes, self._kind
        count, (earlier, later) = len(sizes), self.edges.T
        rows = np.concatenate([np.arange(count), earlier, later])
        columns = np.concatenate([np.arange(count), later, earlier])
        ranked = np.lexsort((rows, columns))
        rows, offsets = rows[ranked], np.concatenate([self.diagonal, self.lower, self.upper])[ranked]
        # the blocks of every column, and of every one of these its rows
        blocks = np.bincount(columns, minlength=count)
        per = blocks[self.block_of]
        block = _ramps((np.cumsum(blocks) - blocks)[self.block_of], per)
        column = np.repeat(np.arange(self.n), per)
        of = self.block_of[column]
        heights = sizes[rows[block]]
        pointers = np.concatenate([[0], np.cumsum(heights)])[np.concatenate([[0], np.cumsum(per)])].astype(kind)
        first = (offsets[block] + column - start[of]).astype(kind)
        inside = _ramps(np.zeros(len(block), dtype=kind), heights)
        order = inside * np.repeat(sizes[of].astype(kind), heights)
        order += np.repeat(first, heights)
        inside += np.repeat(start[rows[block]].astype(kind), heights)
        return order, inside, pointers

    def from_csc(self, matrix: Any) -> Floats:
        """Block data of a scipy.sparse matrix (n, n) without entries outside the blocks."""
        rows, columns = self.rows_columns()
        return np.asarray(matrix.tocsr()[rows, columns], dtype=float).ravel()

    def to_csc(self, data: Floats):
        """The matrix (n, n) of block data as scipy.sparse.csc_array; its structure is computed once."""
        from scipy.sparse import csc_array

        order, indices, pointers = self._in_columns
        return csc_array((data[order], indices, pointers), shape=(self.n, self.n))


class StackedPattern(Pattern):
    """The pattern of models that nothing couples: data of each as with its own pattern, one model after the other.

    Elimination too goes from model to model, with matrices of one after the other in the processor's cache. alike : the
    pattern of every model where all have the same; None otherwise.
    """

    def __init__(self, layout: Layout, patterns: Sequence[Pattern]) -> None:
        self.n_v, self.n, self.block_start = layout.n_v, layout.n_v + layout.n_c, layout.block_start
        self.sizes = np.diff(self.block_start)
        self.block_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.net, self._layout, self._found_offsets = False, None, None
        self._patterns = patterns
        self.alike = patterns[0] if all(each is patterns[0] for each in patterns) else None
        counts = [int(np.searchsorted(each.block_start, each.n_v)) for each in patterns]
        rows = [len(each.sizes) - count for each, count in zip(patterns, counts, strict=True)]
        # blocks of rows follow the blocks of velocities of all models
        first, first_row = starts_of(counts), sum(counts) + starts_of(rows) - np.array(counts)

        def blocks(word: int) -> Ints:
            """Numbers of blocks in the structures of all models, as those of all."""
            own = [np.asarray(each.structure[word]) for each in patterns]
            places = zip(own, counts, first.tolist(), first_row.tolist(), strict=True)
            return np.concatenate([np.where(each < count, each + a, each + b) for each, count, a, b in places])

        def joined(parts: list[Ints], counts: list[int]) -> Ints:
            """Numbers of all models, of parts with numbers in things of which each model has so many."""
            return np.concatenate([part + first for part, first in zip(parts, starts_of(counts), strict=True)])

        data, edges = [each.size for each in patterns], [len(each.edges) for each in patterns]
        self.size = sum(data)
        self.lower, self.upper, self.targets = (
            joined([getattr(each, word) for each in patterns], data) for word in ("lower", "upper", "targets")
        )
        diagonal = [each.diagonal + start for each, start in zip(patterns, starts_of(data), strict=True)]
        kinds = [(each[:count], each[count:]) for each, count in zip(diagonal, counts, strict=True)]
        self.diagonal = np.concatenate([part for kind in zip(*kinds, strict=True) for part in kind])
        order, later = blocks(3), blocks(5)
        starts = np.append(0, joined([each.structure[4][1:] for each in patterns], edges))
        self.edges = np.stack([np.repeat(order, np.diff(starts)), later], axis=1)
        self._find(np.concatenate([self.diagonal, self.lower, self.upper]))
        self.structure = (
            self.block_start, self.n_v, self.diagonal, order, starts, later, self.lower, self.upper,
        )  # fmt: skip

    @cached_property
    def _rows_columns(self) -> tuple[Ints, Ints]:
        of_rows = [each.n - each.n_v for each in self._patterns]
        first, first_row = starts_of([each.n_v for each in self._patterns]), self.n_v + starts_of(of_rows)
        rows, columns = zip(
            *(
                [np.where(own < each.n_v, own + start, own - each.n_v + start_row) for own in each.rows_columns()]
                for each, start, start_row in zip(self._patterns, first, first_row, strict=True)
            ),
            strict=True,
        )
        return np.concatenate(rows).astype(self._kind), np.concatenate(columns).astype(self._kind)


def _ramps(first: Ints, counts: Ints) -> Ints:
    """Numbers that rise from each of ``first``, as many as ``counts``, of its type."""
    out = np.arange(int(counts.sum()), dtype=first.dtype)
    out += np.repeat((first - (np.cumsum(counts) - counts)).astype(first.dtype), counts)
    return out


PATTERNS: Keeper[Pattern] = Keeper(KEPT)

"""Craig-Bampton reduction of finite element models to interfaces and modes, the first interface held.

    Psi_b : unit motions of the other interfaces,   V : modes with all interfaces held                     (3), (4)

The eigenproblem is of the flexibility, so that rotations without inertia are admitted.
Source: docs/theory/modal_body.md, section 2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats, Ints, Sparse
from femb.fem.model import FeModel, Tied

# Order of elimination of a finite element matrix: nested dissection by the positions of its nodes.
#
# A set of unknowns is cut in halves across its longest side. The fewest unknowns that every connection of the halves
# touches come last: by Koenig's theorem, the cover of a largest matching. Sources: A. George, Nested dissection of a
# regular finite element mesh, SIAM J. Numer. Anal. 10 (1973) 345; A. Pothen, C.-J. Fan, Computing the block triangular
# form of a sparse matrix, ACM Trans. Math. Softw. 16 (1990) 303.

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


# Cholesky factors of large sparse matrices by dense fronts.
#
# Unknowns are eliminated in blocks. A block's front has its own unknowns and those of later blocks that it touches;
# what its elimination leaves on these is added to the front of the block that comes first among them. All arithmetic
# is that of dense matrices. Source: I. S. Duff, J. K. Reid, ACM Trans. Math. Softw. 9 (1983) 302.
#
# scipy's splu, which is for unsymmetric matrices, takes four times the time and 1.8 times the entries, in this order of
# elimination 2.5 and 1.6 times: python tests/bench/bench_reduce.py 56 19 3 scipy, a panel of 30,849 nodes. Separators
# that are one side of a cut, not the fewest unknowns, take 1.3 times the entries.


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
        """The number of entries of the factors."""
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


# Static solutions of a free model with its interfaces held: sparse factors, and borders for mean interfaces.
#
#     [ K  R^T ] [ u ]   [ f ]
#     [ R   0  ] [ l ] = [ g ]                                                                    (4)
#
# K of the free degrees of freedom is definite if an interface is rigid; if none is, three nodes are supported, and
# rigid motions are added such that the supports carry nothing. Source: docs/theory/modal_body.md, section 2.

SINGULAR = 1e14  # largest amplification of a stiffness that is not singular


class HeldSolver:
    """Solves for the free degrees of freedom of ``tied`` with all interfaces held.

    Raises ModelError: a mechanism, named by the node that it moves most.
    """

    def __init__(self, tied: Tied) -> None:
        self.tied = tied
        reduced = (tied.expand.T @ tied.model.stiffness @ tied.expand).tocsc()
        self.inner, self.outer = np.arange(tied.free), np.arange(tied.free, reduced.shape[0])
        self.coupling: Sparse = reduced[: tied.free, tied.free :]
        self.rows = tied.rows[:, : tied.free]
        self.rows_outer = tied.rows[:, tied.free :]
        self.kept, self.rigid = self.inner, np.zeros((tied.free, 0))
        if not len(self.outer):
            self.rigid = tied.expand.T @ tied.model.rigid_motions(tied.model.nodes.mean(axis=0))
            self.rigid[:, 3:] /= tied.model.length
            self.kept = np.setdiff1d(self.inner, supports(self.rigid))
        inside = reduced[: tied.free, : tied.free]
        del reduced  # as large as the stiffness
        if len(self.kept) < tied.free:
            inside = inside[self.kept][:, self.kept]
        self.factors = _factorise(tied, inside, self.kept)
        border = self.rows.shape[0]
        if border:
            self.border = self._supported(self.rows.T.toarray())
            corner = self.rows @ self.border
            carried = self.rows @ self.rigid
            zero = np.zeros((self.rigid.shape[1], self.rigid.shape[1]))
            self.small = np.block([[corner, -carried], [carried.T, zero]])

    def _supported(self, force: Floats) -> Floats:
        """(free, q): with the supports, if there are any."""
        out = np.zeros_like(force)
        out[self.kept] = self.factors.solve(np.ascontiguousarray(force[self.kept]))
        return out

    def solve(self, force: Floats, mean: Floats | None = None) -> Floats:
        """Displacements (free, q) by forces (free, q), and by motions (6 m, q) of the mean interfaces, else zero."""
        u = self._supported(force)
        if not self.rows.shape[0]:
            return u
        gap = self.rows @ u - (0.0 if mean is None else mean)
        z = np.linalg.solve(self.small, np.vstack([gap, self.rigid.T @ force]))
        split = self.rows.shape[0]
        return np.asarray(u - self.border @ z[:split] + self.rigid @ z[split:])

    def flexibility(self, force: Floats) -> Floats:
        """Displacements (n, q) of all degrees of freedom by forces (n, q) on them."""
        inner = (self.tied.expand.T @ force)[: self.tied.free]
        whole = np.zeros((self.tied.expand.shape[1], force.shape[1]))
        whole[: self.tied.free] = self.solve(inner)
        return np.asarray(self.tied.expand @ whole)

    def constraint_shapes(self, number: int) -> Floats:
        """(n, 6): displacements by unit motions of one interface, with the others held."""
        tied, q = self.tied, 6
        outer = np.zeros((len(self.outer), q))
        mean = np.zeros((self.rows.shape[0], q))
        columns = tied.columns(number)
        if tied.interfaces[number].kind == "rigid":
            outer[columns - tied.free, np.arange(6)] = 1.0
        else:
            mean[columns, np.arange(6)] = 1.0
        force = -(self.coupling @ outer) if len(self.outer) else np.zeros((tied.free, q))
        inner = self.solve(force, mean - self.rows_outer @ outer)
        return np.asarray(tied.expand @ np.vstack([inner, outer]))


def supports(rigid: Floats) -> Ints:
    """Six rows of rigid motions (n, 6) that are far from dependent: degrees of freedom that support a body."""
    from scipy.linalg import qr

    _, _, order = qr(rigid.T, mode="economic", pivoting=True)
    return np.asarray(order[:6])


def _factorise(tied: Tied, matrix: Sparse, kept: Ints) -> Multifrontal:
    try:
        factors = Multifrontal(matrix, dissection(matrix, _places(tied, kept)))
    except np.linalg.LinAlgError:
        shift = 1e-10 * float(np.max(matrix.diagonal(), initial=1.0))
        from scipy.sparse import eye_array

        try:
            shifted = (matrix + shift * eye_array(matrix.shape[0])).tocsc()
            factors = Multifrontal(shifted, dissection(matrix, _places(tied, kept)))
        except np.linalg.LinAlgError as error:
            raise ModelError("stiffness: is not positive definite with the interfaces held") from error
        raise _mechanism(tied, kept, _loosest(factors, matrix)[1]) from None
    size, motion = _loosest(factors, matrix)
    if size > SINGULAR:
        raise _mechanism(tied, kept, motion)
    return factors


def _loosest(factors: Multifrontal, matrix: Sparse) -> tuple[float, Floats]:
    """The ratio of the stiffest entry to the stiffness of the softest motion, and this motion."""
    x = np.random.default_rng(1).standard_normal((matrix.shape[0], 1))
    for _ in range(2):
        x = factors.solve(x / np.linalg.norm(x))
    return float(np.linalg.norm(x)) * float(np.max(np.abs(matrix.diagonal()), initial=0.0)), x[:, 0]


def _mechanism(tied: Tied, kept: Ints, motion: Floats) -> ModelError:
    free = np.zeros(tied.expand.shape[1])
    free[kept] = motion
    model: FeModel = tied.model
    most = int(np.argmax(np.abs(tied.expand @ free)))
    return ModelError(
        f"stiffness: the model has a mechanism beside its six rigid motions: {model.label(most)} moves most, without "
        "stiffness, while the interfaces are held. A part is not connected, or rotations of nodes have no stiffness"
    )


def _places(tied: Tied, kept: Ints) -> Floats:
    """(kept, 3) m: positions of free degrees of freedom."""
    rows = tied.expand.tocsc()[:, : tied.free].tocoo()
    place = np.zeros((tied.free, 3))
    place[rows.col] = tied.model.nodes[tied.model.node_of[rows.row]]
    return place[kept]


# Largest eigenvalues of a flexibility and a mass by block Lanczos with full orthogonalisation.
#
#     F M x = mu x,   x^T M x = 1,   mu = 1/omega^2
#
# Blocks make the triangular solves products of matrices: scipy's eigsh solves for one vector at a time, reads all
# factors for each, and takes twice the time (the same bench). Source: R. G. Grimes, J. G. Lewis, H. D. Simon, SIAM J.
# Matrix Anal. Appl. 15 (1994) 228.

RESIDUAL = 1e-9  # of an eigenvalue, whose own error is the square
ROUNDING = 1e-13  # of the largest eigenvalue
MOST_BLOCKS = 60
DEPENDENT = 1e-12  # of the largest square of a block


def largest(flexibility: Callable[[Floats], Floats], mass: Sparse, count: int) -> tuple[Floats, Floats]:
    """mu (count,), falling, and x (n, count). Raises SolveError: no convergence."""
    n = mass.shape[0]
    width = min(max(8, count // 3), n)  # narrow blocks: fewer vectors in all
    step = flexibility(mass @ np.random.default_rng(1).standard_normal((n, width)))
    momenta = mass @ step
    basis: list[Floats] = []
    moved: list[Floats] = []
    rows: list[Floats] = []
    for _ in range(MOST_BLOCKS):
        block, weighted = _orthonormal(step, momenta, mass, basis, moved)
        if not block.shape[1]:  # an invariant space
            break
        basis.append(block)
        moved.append(weighted)
        step = flexibility(weighted)
        rows.append(_remove(step, basis, moved))
        momenta = mass @ step
        size = sum(each.shape[1] for each in basis)
        values, parts = _projected(rows, size)
        if size >= count:
            kept = parts[:, :count]
            # what the next block would add to each of the wanted ones
            last = kept[size - step.shape[1] :]
            norms = np.sqrt(np.maximum(np.einsum("jk,jl,lk->k", last, step.T @ momenta, last, optimize=True), 0.0))
            if np.all(norms <= RESIDUAL * values[:count] + ROUNDING * values[0]):
                return values[:count], _combined(basis, kept)
    else:
        raise SolveError(f"modes: the eigenvalue solver did not converge in {MOST_BLOCKS} blocks of {width}")
    values, parts = _projected(rows, sum(each.shape[1] for each in basis))
    return values[:count], _combined(basis, parts[:, :count])


def _projected(rows: list[Floats], size: int) -> tuple[Floats, Floats]:
    """Eigenvalues, falling, and vectors of the projection, whose upper block columns are ``rows``."""
    H = np.zeros((size, size))
    first = 0
    for each in rows:
        last = first + each.shape[1]
        H[: len(each), first:last] = each
        H[first:last, : len(each)] = each.T
        H[first:last, first:last] = 0.5 * (each[first:] + each[first:].T)
        first = last
    values, vectors = np.linalg.eigh(H)
    return values[::-1], vectors[:, ::-1]


def _combined(basis: list[Floats], parts: Floats) -> Floats:
    out, first = np.zeros((len(basis[0]), parts.shape[1])), 0
    for each in basis:
        out += each @ parts[first : first + each.shape[1]]
        first += each.shape[1]
    return out


def _remove(x: Floats, basis: list[Floats], moved: list[Floats]) -> Floats:
    """Take the basis out of x, in place; returns the parts (size, q) that x had."""
    parts = [each.T @ x for each in moved]
    for each, part in zip(basis, parts, strict=True):
        x -= each @ part
    return np.vstack(parts) if parts else np.zeros((0, x.shape[1]))


def _orthonormal(
    x: Floats, momenta: Floats, mass: Sparse, basis: list[Floats], moved: list[Floats]
) -> tuple[Floats, Floats]:
    """A block of unit mass without the basis, of x without it but for rounding, and its momenta; dependent columns are
    left out."""
    x, _ = _of_unit_mass(x, momenta)
    momenta = mass @ x  # nearly dependent columns have lost digits
    if x.shape[1]:
        parts = _remove(x, basis, moved)
        first = 0
        for each in moved:
            momenta -= each @ parts[first : first + each.shape[1]]
            first += each.shape[1]
    return _of_unit_mass(x, momenta)


def _of_unit_mass(x: Floats, momenta: Floats) -> tuple[Floats, Floats]:
    scale = np.sqrt(np.maximum(np.einsum("nk,nk->k", x, momenta), 0.0))
    own = scale > 0.0
    x, momenta = x[:, own] / scale[own], momenta[:, own] / scale[own]
    squares, axes = np.linalg.eigh(x.T @ momenta)
    good = squares > DEPENDENT * max(squares[-1], 1e-300) if len(squares) else np.zeros(0, dtype=bool)
    turn = axes[:, good] / np.sqrt(squares[good])
    return x @ turn, momenta @ turn


FIRST_MODES = 10


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of a reduced model.

    boundary (n, b) : unit motions of the interfaces but the root. modes (n, m) : of unit mass, with all interfaces
    held, with their frequencies (m,) Hz. solver : static solutions with the interfaces held.
    """

    boundary: Floats
    modes: Floats
    frequencies: Floats
    solver: HeldSolver

    @property
    def all(self) -> Floats:
        """(n, b + m)."""
        return np.hstack([self.boundary, self.modes])


def shapes(tied: Tied, enough: Callable[[Floats, Floats], int | None], most: int) -> Shapes:
    """Shapes of a tied model.

    enough : the number of modes to keep by their frequencies (m,) Hz and shapes (n, m), or None where more are to be
    computed. most : the largest number. Raises ModelError: a mechanism; more modes than degrees of freedom.
    """
    solver = HeldSolver(tied)
    parts = [solver.constraint_shapes(k) for k in range(1, len(tied.interfaces))]
    boundary = np.hstack(parts) if parts else np.zeros((tied.model.size, 0))
    count = min(most, FIRST_MODES) if enough(np.zeros(0), np.zeros((tied.model.size, 0))) is None else most
    while True:
        frequencies, modes = held_modes(tied.model, solver, count)
        kept = enough(frequencies, modes)
        if kept is not None or count >= most:
            return Shapes(boundary, modes[:, :kept], frequencies[:kept], solver)
        count = min(most, 2 * count)


def held_modes(model: FeModel, solver: HeldSolver, count: int) -> tuple[Floats, Floats]:
    """Frequencies (count,) Hz and shapes (n, count) of unit mass of the lowest modes with all interfaces held."""
    from scipy.linalg import eigh

    tied = solver.tied
    n = tied.free
    expand = tied.expand[:, :n]
    mass = (expand.T @ model.mass @ expand).tocsc()
    if count == 0:
        return np.zeros(0), np.zeros((model.size, 0))
    independent = int(np.count_nonzero(mass.diagonal())) - tied.rows.shape[0]
    if count > independent:
        raise ModelError(f"modes: got {count}, wanted at most {independent}, the masses that can move")
    if n < 200 or 2 * count > n:
        flexible = solver.solve(np.eye(n))
        root = _root(mass.toarray())
        values, parts = eigh(root.T @ flexible @ root, subset_by_index=(root.shape[1] - count, root.shape[1] - 1))
        inner = flexible @ (root @ parts)[:, ::-1] / values[::-1]
        values = values[::-1]
    else:
        values, inner = largest(solver.solve, mass, count)
    inner = inner / np.sqrt(np.einsum("nk,nk->k", inner, mass @ inner))
    peaks = inner[np.argmax(np.abs(inner), axis=0), np.arange(count)]
    return 1.0 / (2.0 * np.pi * np.sqrt(values)), np.asarray(expand @ (inner * np.sign(peaks)))


def _root(mass: Floats) -> Floats:
    """L with L L^T = mass, semidefinite: only columns of masses that are not zero."""
    values, axes = np.linalg.eigh(mass)
    own = values > 1e-14 * values[-1]
    return np.asarray(axes[:, own] * np.sqrt(values[own]))


def root_held(model: FeModel, found: Shapes) -> Callable[[Floats], Floats]:
    """Static displacements (n, q) by forces (n, q), with only the root held."""
    boundary = found.boundary
    if not boundary.shape[1]:
        return found.solver.flexibility
    loaded = boundary.T @ (model.stiffness @ boundary)

    def flexibility(force: Floats) -> Floats:
        return np.asarray(found.solver.flexibility(force) + boundary @ np.linalg.solve(loaded, boundary.T @ force))

    return flexibility

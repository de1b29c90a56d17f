"""Matrices of many states at once: factors, products and the projection on the constraints, in compiled loops.

Output is evaluated at many states. What a stepper does once in a step is done here for k of them, several in the lanes
of one register (``femb.numerics.compiler.lanes``), with the same operations in the same order, so that the results are
those of one state at a time.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.numerics.block_kernels import factor, factor_blocks, multiply, multiply_blocks, solve, solve_blocks
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, lanes, places_in
from femb.numerics.row_calls import RowCalls
from femb.system.block_lu import DEPENDENT, Factors, LinearSolver, Matrix, SingularError, Unknowns
from femb.system.constraints import OPEN, PASSES, SETTLED, VELOCITY, position_limit, projected, singular_mass
from femb.system.motion_equations import MotionEquations
from femb.system.pattern import StackedPattern

# Block elimination of k matrices of one structure in one call; see ``femb.numerics.block_kernels``.
#
# Of k matrices each LANES are factorised, solved and multiplied together. The last few, and those of which some have
# more dependent rows of constraints than others, are treated one by one, by the kernels of one matrix: a copy of them
# here would be compiled once more.


@inlined
def gather(rows, first, out):
    """out (n, LANES): the rows (s, n) from ``first``, as columns."""
    for i in range(rows.shape[1]):
        for m in range(LANES):
            out[i, m] = rows[first + m, i]


@inlined
def spread(columns, first, out):
    """The rows (s, n) of out from ``first``: the columns (n, LANES)."""
    for i in range(out.shape[1]):
        for m in range(LANES):
            out[first + m, i] = columns[i, m]


@kernel
def shift_each(mass, damping, stiffness, mu):
    """mass = mu mass + damping + stiffness/mu and stiffness = damping + stiffness/mu, of k matrices (k, size) and
    numbers mu (k,)."""
    for s in range(mu.size):
        scale, reach = mu[s], 1.0 / mu[s]
        for i in range(mass.shape[1]):
            stiff = damping[s, i] + reach * stiffness[s, i]
            mass[s, i] = scale * mass[s, i] + stiff
            stiffness[s, i] = stiff


@kernel
def factor_groups(
    structure, targets, matrices, pivots, rank, diagonal_scale, dependent, grouped, grouped_scale, together
):  # fmt: skip
    """``factor`` of matrices (k, size) in groups of LANES: their factors go to ``grouped`` (g, size, LANES).

    pivots (k, n), rank (k, B) : in the first row of a group. diagonal_scale (k, n) or (k, 0), grouped_scale
    (g, n, LANES). together (g,) : whether a group is factorised as one.
    """
    in_lanes, scale_in_lanes = lanes(grouped), lanes(grouped_scale)
    for g in range(together.size):
        s = g * LANES
        gather(matrices, s, grouped[g])
        gather(diagonal_scale, s, grouped_scale[g])
        bad = factor_blocks(structure, targets, in_lanes[g], pivots[s], rank[s], scale_in_lanes[g], dependent)
        together[g] = bad < 0


@kernel
def solve_groups(structure, grouped, pivots, rank, together, x):
    """``solve`` for m right-hand sides of each matrix in groups, x (m, k, n), with the factors of ``factor_groups``."""
    columns = np.empty((x.shape[2], LANES))
    in_lanes, columns_in_lanes = lanes(grouped), lanes(columns)
    for g in range(together.size):
        if together[g]:
            s = g * LANES
            for m in range(x.shape[0]):
                gather(x[m], s, columns)
                solve_blocks(structure, in_lanes[g], pivots[s], rank[s], columns_in_lanes)
                spread(columns, s, x[m])


@kernel
def multiply_groups(structure, data, x, y):
    """y (m, k, n) = A x for as many of k matrices, data (k, size), as are in groups of LANES."""
    matrix, columns = np.empty((data.shape[1], LANES)), np.empty((x.shape[2], LANES))
    result = np.empty((y.shape[2], LANES))
    in_lanes, columns_in_lanes, result_in_lanes = lanes(matrix), lanes(columns), lanes(result)
    for g in range(x.shape[1] // LANES):
        s = g * LANES
        gather(data, s, matrix)
        for m in range(x.shape[0]):
            gather(x[m], s, columns)
            multiply_blocks(structure, in_lanes, columns_in_lanes, result_in_lanes)
            spread(result, s, y[m])


# Numbers of a matrix from which lanes, which are three times as fast, save more than they take to be compiled: that of
# one or two free bodies has fewer.
FEWEST = 100


def takes_lanes(data: Floats) -> bool:
    """Whether matrices (k, size) are treated in lanes."""
    return bool(LANES > 1 and data.shape[1] >= FEWEST)


class EachFactors(Protocol):
    """Factors of k matrices."""

    def solve(self, x: Floats, /) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n) or (m, k, n) of the k matrices, and return them."""

    def of(self, k: int, /) -> Factors:
        """The factors of one matrix."""


class Space:
    """Arrays (k, ...) that are used again for the next states, since the system takes long to give new memory."""

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}

    def array(self, name: str, *shape: int) -> Floats:
        """The array of this name, with any entries; the one before is no longer used."""
        kept = self._arrays.get(name)
        if kept is None or kept.shape[1:] != shape[1:] or len(kept) < shape[0]:
            kept = self._arrays[name] = np.empty(shape)
        return kept[: shape[0]]

    def zeros(self, name: str, *shape: int) -> Floats:
        """The array of this name and shape, with zeros."""
        result = self.array(name, *shape)
        result[:] = 0.0
        return result


class StackedFactors:
    """Factors of k matrices, block data (k, size), which are left as they are. Raises SingularError with its ``state``.

    Those that can be are factorised in lanes. space : of the factors.
    """

    def __init__(self, solver: LinearSolver, data: Floats, space: Space | None = None) -> None:
        space = Space() if space is None else space
        k, n, n_v = len(data), solver.pattern.n, solver.pattern.n_v
        pivots: Ints = np.empty((k, n), dtype=np.int64)
        rank: Ints = np.empty((k, len(solver.sizes)), dtype=np.int64)
        none = np.zeros(n if n > n_v else 0)
        if n > n_v:
            none[n_v:][solver.excluded_rows] = -np.inf
        scale = np.tile(none, (k, 1))
        groups = k // LANES if takes_lanes(data) else 0
        grouped, own = space.array("in lanes", groups, data.shape[1], LANES), space.array("alone", *data.shape)
        self._together: Bools = np.zeros(groups, dtype=bool)
        self._structure, self._arrays, self._grouped = solver.structure, (own, pivots, rank), grouped
        if groups:
            factor_groups(
                solver.structure, solver.targets, data, pivots, rank, scale, DEPENDENT, grouped,
                np.empty((groups, scale.shape[1], LANES)), self._together,
            )  # fmt: skip
        in_group = np.zeros(k, dtype=bool)
        in_group[: groups * LANES] = np.repeat(self._together, LANES)
        self._alone: Ints = np.flatnonzero(~in_group)
        if not len(self._alone):
            return
        own[self._alone] = data[self._alone]
        arguments = solver.structure, solver.targets, own, pivots, rank, scale, DEPENDENT
        done = RowCalls(factor, (2, 3, 4, 5), *arguments).call(self._alone)
        if done < len(self._alone):
            s = int(self._alone[done])
            own[s], scale[s] = data[s], none
            bad = factor(solver.structure, solver.targets, own[s], pivots[s], rank[s], scale[s], DEPENDENT)
            start = solver.pattern.block_start
            raise SingularError(int(start[bad]), int(start[bad + 1]), s)

    def solve(self, x: Floats) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n) or (m, k, n) of the k matrices, and return them."""
        own, pivots, rank = self._arrays
        sides = x if x.ndim == 3 else x[None]
        if len(self._together):
            solve_groups(self._structure, self._grouped, pivots, rank, self._together, sides)
        if len(self._alone):
            for each in sides:
                RowCalls(solve, (1, 2, 3, 4), self._structure, own, pivots, rank, each).call(self._alone)
        return x

    def of(self, k: int) -> Factors:
        """The factors of one matrix."""
        own, pivots, rank = self._arrays
        group, lane = divmod(k, LANES)
        if group < len(self._together) and self._together[group]:
            first = k - lane
            data = np.ascontiguousarray(self._grouped[group, :, lane])
            return _One((self._structure, data, places_in(lane, pivots[first]), rank[first]))
        return _One((self._structure, own[k], pivots[k], rank[k]))


class _One:
    """One of ``StackedFactors``; arguments : of the kernel ``solve`` before the right-hand side."""

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self._arguments = arguments

    def solve(self, x: Unknowns) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        solve(*self._arguments, x)
        return x


class FactorsOfModels:
    """Factors of k matrices of a ``StackedPattern`` of equal models: those of all models at k states in lanes."""

    def __init__(self, solver: LinearSolver, of_model: LinearSolver, data: Floats, space: Space | None) -> None:
        self._whole, self._data, self._unknowns = solver, data, _unknowns_of_models(solver, of_model)
        models = data.reshape(-1, of_model.pattern.size)
        try:
            self._factors = StackedFactors(of_model, models, space=space)
        except SingularError as error:
            state, model = divmod(error.state, len(models) // len(data))
            first, last = self._unknowns[model, [error.first, error.last - 1]].tolist()
            raise SingularError(first, last + 1, state) from error

    def solve(self, x: Floats) -> Floats:
        """Solve as in ``StackedFactors``."""
        own = np.ascontiguousarray(x[..., self._unknowns])
        self._factors.solve(own.reshape(*x.shape[:-2], -1, own.shape[-1]))
        x[..., self._unknowns] = own
        return x

    def of(self, k: int) -> Factors:
        """The factors of one matrix, formed anew."""
        return self._whole.factorise(self._data[k].copy())


def _of_models(solver: LinearSolver) -> LinearSolver | None:
    """The solver of each of equal models that are stacked."""
    pattern = solver.pattern
    alike = pattern.alike if isinstance(pattern, StackedPattern) else None
    return LinearSolver(alike) if alike is not None else None


def _unknowns_of_models(solver: LinearSolver, of_model: LinearSolver) -> Ints:
    """(m, n) of all unknowns those of each of m equal models: velocities, then multipliers."""
    n_v, n_c = of_model.pattern.n_v, of_model.pattern.n - of_model.pattern.n_v
    number = np.arange(solver.pattern.n_v // n_v)[:, None]
    return np.hstack([number * n_v + np.arange(n_v), solver.pattern.n_v + number * n_c + np.arange(n_c)])


def factors_each(solver: LinearSolver, data: Floats, space: Space | None = None) -> EachFactors:
    """Factors of k matrices, block data (k, size), which are left as they are, in a space. Raises SingularError."""
    if (of_models := _of_models(solver)) is not None:
        return FactorsOfModels(solver, of_models, data, space)
    if not solver.pattern.net:
        return StackedFactors(solver, data, space=space)
    found: list[Factors] = []
    for k, each in enumerate(data):
        try:
            found.append(solver.factorise(each))
        except SingularError as error:
            raise SingularError(error.first, error.last, k) from error
    return ListedFactors(found)


def products(solver: LinearSolver, data: Floats, x: Floats) -> Floats:
    """A x of k matrices, block data, and contiguous x (k, n) or (m, k, n)."""
    if (of_models := _of_models(solver)) is not None:
        unknowns, y = _unknowns_of_models(solver, of_models), np.empty_like(x)
        own = np.ascontiguousarray(x[..., unknowns])
        together = own.reshape(*x.shape[:-2], -1, own.shape[-1])
        y[..., unknowns] = products(of_models, data.reshape(-1, of_models.pattern.size), together).reshape(own.shape)
        return y
    y = np.empty_like(x)
    groups = len(data) // LANES if takes_lanes(data) else 0
    sides, results = (x, y) if x.ndim == 3 else (x[None], y[None])
    if groups:
        multiply_groups(solver.structure, data, sides, results)
    others = np.arange(groups * LANES, len(data))
    if len(others):
        for each, result in zip(sides, results, strict=True):
            RowCalls(multiply, (1, 2, 3), solver.structure, data, each, result).call(others)
    return y


class StackedMatrices:
    """The iteration matrices mu M + C + K/mu with J and J^T of k states u, q, v and numbers mu (k,).

    space : of the matrices and factors. Raises TrialError, SingularError.
    """

    def __init__(
        self, system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats, space: Space | None = None
    ) -> None:
        self._solver, self._n_v, space = system.solver, system.n_v, Space() if space is None else space
        names = "mass", "damping", "stiffness"
        mass, damping, stiffness = (space.zeros(name, len(q), system.pattern.size) for name in names)
        system.evaluation.add_step_matrices(u, q, v, mass, damping, stiffness)
        if system.n_c:
            system.constraints(u, q, v, damping)
        shift_each(mass, damping, stiffness, mu)
        self.factors: EachFactors = factors_each(system.solver, mass, space)
        self._stiff: Floats = stiffness

    def filtered(self, x: Floats) -> Floats:
        """F x in place, x (k, n) or (m, k, n): F y is the solution for (C + K/mu) y; multipliers are zero."""
        x[..., self._n_v :] = 0.0
        self.factors.solve(x)
        x[..., self._n_v :] = 0.0
        product = products(self._solver, self._stiff, x)
        product[..., self._n_v :] = 0.0
        return self.factors.solve(product)


class ListedFactors:
    """Factors of k matrices, one after the other."""

    def __init__(self, factors: list[Factors]) -> None:
        self._factors = factors

    def solve(self, x: Floats) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n) or (m, k, n) of the k matrices, and return them."""
        for each in x if x.ndim == 3 else x[None]:
            for row, factors in zip(each, self._factors, strict=True):
                factors.solve(row)
        return x

    def of(self, k: int) -> Factors:
        """The factors of one matrix."""
        return self._factors[k]


class ListedMatrices:
    """Matrices of several states, one after the other: for matrices with a part of low rank."""

    def __init__(self, system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats) -> None:
        self._solver, self._n_v = system.solver, system.n_v
        factors: list[Factors] = []
        self._stiff: list[tuple[Matrix, Matrix, float]] = []
        for k, scale in enumerate(mu.tolist()):
            mass, damping, stiffness = system.matrices(u[k], q[k], v[k])
            factors.append(self._solver.factorise(self._solver.shifted(mass, damping, stiffness, scale)))
            self._stiff.append((damping, stiffness, 1.0 / scale))
        self.factors: EachFactors = ListedFactors(factors)

    def filtered(self, x: Floats) -> Floats:
        """Filter as ``StackedMatrices.filtered`` does."""
        x[..., self._n_v :] = 0.0
        self.factors.solve(x)
        x[..., self._n_v :] = 0.0
        for each in x if x.ndim == 3 else x[None]:
            for row, (damping, stiffness, reach) in zip(each, self._stiff, strict=True):
                row[:] = self._solver.multiply(damping, row) + reach * self._solver.multiply(stiffness, row)
        x[..., self._n_v :] = 0.0
        return self.factors.solve(x)


EachMatrices: TypeAlias = StackedMatrices | ListedMatrices


# Numbers of the matrices that are formed together, so that they stay in the processor's cache; at least one matrix. Of
# up to `IN_LANES` full groups of lanes save more, by the fill-in of nets, than memory beyond the cache costs.
TOGETHER, IN_LANES = 1 << 16, 1 << 22


def portions(system: MotionEquations, count: int) -> Iterator[slice]:
    """The slices of ``count`` states whose matrices are formed together."""
    size = max(1, system.pattern.size)
    together = max(1, TOGETHER // size)
    if LANES * size <= IN_LANES:
        together = max(LANES, together // LANES * LANES)
    yield from (slice(first, first + together) for first in range(0, count, together))


def matrices_each(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats, space: Space | None = None
) -> EachMatrices:
    """The iteration matrices of k states; space : see ``StackedMatrices``. Raises TrialError, SingularError."""
    low_rank = system.low_rank_matrices(u[0], q[0], v[0]).rank
    return ListedMatrices(system, u, q, v, mu) if low_rank else StackedMatrices(system, u, q, v, mu, space)


# Multipliers of least norm.

# Distance of a row of J from the combination of others, relative to its size, up to which it depends on them.
PARALLEL = 1e-10
# What is added to J^T J, relative to its diagonal; iterations; and forces J^T x, relative to J and x, after which there
# is one more.
SLIGHT, MOST, UNCHANGED = 1e-8, 300, 1e-11


def least_multipliers(system: MotionEquations, u: Floats, q: Floats, multipliers: Floats) -> Floats:
    """The multipliers (k, n_c) of least norm with the same forces J^T lambda, at k states.

    The multipliers of dependent rows are not unique: with rigid bodies the equations of motion do not determine them.
    Source: docs/theory/constraints.md, section 6.
    """
    if not system.n_c or not system.layout.has_loops:
        return multipliers
    found, space = [np.zeros((0, system.n_c))], Space()
    for some in portions(system, len(q)):
        J = space.zeros("J", len(q[some]), system.pattern.size)
        system.constraints(u[some], q[some], np.zeros((len(J), system.n_v)), J)
        found.append((_least_dense if system.pattern.net else _least)(system, J, multipliers[some]))
    return np.concatenate(found)


def _least_dense(system: MotionEquations, J: Floats, multipliers: Floats) -> Floats:
    """``least_multipliers`` by dense least squares; J (k, size) : block data of J and J^T alone."""
    rows = [system.pattern.to_csc(each)[system.n_v :, : system.n_v] for each in J]
    parts = [each[:, np.unique(each.tocoo().col)].toarray().T for each in rows]
    return np.array([np.linalg.lstsq(A, A @ x, PARALLEL)[0] for A, x in zip(parts, multipliers, strict=True)])


def _least(system: MotionEquations, J: Floats, x: Floats) -> Floats:
    """``least_multipliers`` by iteration for the motion w whose J w is nearest to x: this is the result.

    What is left of x loses J w in each step, with (J^T J + e D) w = J^T x, D being the diagonal of J^T J:

        [e D  J^T] [w]   [J^T x]
        [J    -1 ] [.] = [0    ]

    A motion that stretches J by much less than the root of e stays in what is left: where a row depends on others but
    for the error of the state. Where that changes forces, beside a singular posture, dense least squares take over.
    """
    solver, n_v = LinearSolver(system.pattern), system.n_v
    rows, columns = system.pattern.rows_columns()
    of_rows, diagonal = np.flatnonzero((rows >= n_v) & (columns < n_v)), np.flatnonzero(rows == columns)
    diagonal = diagonal[np.argsort(rows[diagonal])]
    squares = np.array([np.bincount(columns[of_rows], each[of_rows] ** 2, n_v) for each in J])
    data = J.copy()
    data[:, diagonal[:n_v]] = SLIGHT * np.where(squares > 0.0, squares, 1.0)
    data[:, diagonal[n_v:]] = -1.0
    factors, wide, left = factors_each(solver, data), np.zeros((len(J), system.pattern.n)), x.copy()
    limit = UNCHANGED * np.sqrt(np.max(squares, axis=1)) * np.linalg.norm(x, axis=1)
    for _ in range(MOST):
        wide[:, :n_v], wide[:, n_v:] = 0.0, left
        force = products(solver, J, wide)[:, :n_v]
        done = np.linalg.norm(force, axis=1) <= limit
        wide[:, :n_v], wide[:, n_v:] = force, 0.0
        factors.solve(wide)
        wide[:, n_v:] = 0.0
        left -= products(solver, J, wide)[:, n_v:]
        if done.all():
            break
    result: Floats = x - left
    if not done.all():
        result[~done] = _least_dense(system, J[~done], x[~done])
    return result


def mass_factors(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, data: Floats, space: Space | None = None
) -> EachFactors:
    """Factors of the masses with J and J^T of k states, block data (k, size), in a space. Raises TrialError."""
    try:
        return factors_each(system.solver, data, space)
    except SingularError as error:
        raise singular_mass(system, error, *(array[error.state] for array in (u, q, v))) from error


def on_constraints(system: MotionEquations, u: Floats, q: Floats, v: Floats) -> Bools:
    """Which of k states (k,) ``projected_each`` would leave as they are."""
    gaps, rates = system.constraints(u, q, v)[0], system.constraint_rates(u, q, v)
    closed, kept = (np.max(np.abs(each), axis=1, initial=0.0) for each in (gaps, rates))
    result: Bools = (closed <= position_limit(system)) & (kept <= VELOCITY * (1.0 + np.max(np.abs(v), axis=1)))
    return result


def projected_each(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: EachFactors | None = None
) -> tuple[Floats, Floats]:
    """q (k, n_q), v (k, n_v) of k states on the constraints: ``projected`` of each by its factors.

    Without factors, by those of the masses, if any state is off the constraints.
    """
    if not system.n_c:
        return q, v

    @cache
    def known() -> EachFactors:
        if factors is not None:
            return factors
        data = np.zeros((len(q), system.pattern.size))
        system.evaluation.add_masses(q, data)
        system.constraints(u, q, v, data)
        return mass_factors(system, u, q, v, data)

    def retract(x: Floats, change: Floats) -> Floats:
        new: Floats = x + system.rates(x, change)
        system.normalise(new)
        return new

    limits = np.full(len(q), position_limit(system))
    x, closed = _closed_each(system, lambda x: system.constraints(u, x, v)[0], q, retract, limits, known)
    limits = VELOCITY * (1.0 + np.max(np.abs(v), axis=1, initial=0.0))
    y, kept = _closed_each(
        system, lambda y: system.constraint_rates(u, x, y), v, lambda y, change: y + change, limits, known
    )
    for k in np.flatnonzero(~(closed & kept)).tolist():
        x[k], y[k] = projected(system, u[k], q[k], v[k], factors and factors.of(k))
    return x, y


def _closed_each(
    system: MotionEquations,
    residual: Callable[[Floats], Floats],
    x: Floats,
    retract: Callable[[Floats, Floats], Floats],
    limits: Floats,
    factors: Callable[[], EachFactors],
) -> tuple[Floats, Bools]:
    """x (k, ...) on the constraints after a few passes, and which of the k are, by the criteria of ``projected``."""
    x, n_v = x.copy(), system.n_v
    size = change = np.full(len(x), np.inf)
    done = np.zeros(len(x), dtype=bool)
    for count in range(PASSES + 1):
        gaps = residual(x)
        previous, size = size, np.max(np.abs(gaps), axis=1)
        with np.errstate(invalid="ignore"):
            done |= (size <= limits) | ((change <= SETTLED) & (size <= OPEN))
            if count > 1:
                done |= (size <= 100.0 * limits) & (size > 0.5 * previous)
        if done.all() or count == PASSES or not np.isfinite(size).all():
            break
        c = np.zeros((len(x), system.pattern.n))
        c[:, n_v:] = -gaps
        step = np.ascontiguousarray(factors().solve(c)[:, :n_v])
        change = np.max(np.abs(step), axis=1)
        x = np.where(done[:, None], x, retract(x, step))
    return x, done

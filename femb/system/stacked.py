"""Matrices of many states at once: factors, products and the projection on the constraints, in compiled loops.

Output is evaluated at many states. What a stepper does once in a step is done here for k of them, with the same
operations in the same order, so that the results are those of one state at a time.
"""

import math
from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.numerics.block_kernels import factor, multiply, solve
from femb.numerics.compiler.compile import inlined, kernel
from femb.system.block_lu import DEPENDENT, Factors, LinearSolver, Matrix, SingularError, Unknowns
from femb.system.constraints import OPEN, PASSES, SETTLED, VELOCITY, position_limit, projected
from femb.system.velocity_coordinates import MotionEquations

# Block elimination of k matrices of one structure in one call; see ``femb.numerics.block_kernels``.


@kernel
def factor_each(
    start, n_v, diagonal, order, first, later, lower, upper, targets, data, pivots, rank, diagonal_scale, dependent
):
    """``factor`` of k matrices: data (k, size), pivots, diagonal_scale (k, n) or (k, 0), rank (k, B).

    Returns the number of the first matrix that is singular and that of its singular block; -1, -1 for none.
    """
    for s in range(data.shape[0]):
        bad = factor(
            start, n_v, diagonal, order, first, later, lower, upper, targets, data[s], pivots[s], rank[s],
            diagonal_scale[s], dependent,
        )  # fmt: skip
        if bad >= 0:
            return s, bad
    return -1, -1


@kernel
def solve_each(start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, diagonal_scale, x):
    """``solve`` for one right-hand side of each of k matrices, x (k, n)."""
    for s in range(x.shape[0]):
        solve(
            start,
            n_v,
            diagonal,
            order,
            first,
            later,
            lower,
            upper,
            data[s],
            pivots[s],
            rank[s],
            diagonal_scale[s],
            x[s],
        )


@kernel
def multiply_each(start, diagonal, order, first, later, lower, upper, data, x, y):
    """y (k, n) = A x for k matrices, data (k, size)."""
    for s in range(x.shape[0]):
        multiply(start, diagonal, order, first, later, lower, upper, data[s], x[s], y[s])


@inlined
def left_out(start, n_v, pivots, rank, rows):
    """Set the numbers of the rows of multipliers that a factorisation left out; returns how many they are."""
    count = 0
    for b in range(rank.size):
        o, n = start[b], start[b + 1] - start[b]
        if o < n_v or rank[b] == n:
            continue
        for i in range(n):
            rows[count + i] = o - n_v + i
        for k in range(rank[b]):
            i = pivots[o + k]
            rows[count + k], rows[count + i] = rows[count + i], rows[count + k]
        for k in range(rank[b], n):
            rows[count + k - rank[b]] = rows[count + k]
        count += n - rank[b]
    return count


@inlined
def subtract_projection(n, x):
    """Subtract from x its projection on the unit vector n."""
    along = 0.0
    for i in range(n.size):
        along += n[i] * x[i]
    for i in range(n.size):
        x[i] -= along * n[i]


@kernel
def least_norm_each(
    start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, diagonal_scale, J, dependent, x
):
    """Multipliers x (k, n_c) of least norm with the same J^T x, in place, by the factors of k matrices [A J^T; J 0].

    J (k, size) : block data of J and J^T alone. A row that was left out is a combination c of the others, J_d = c J,
    which the factors give; x becomes orthogonal to all such (c, -1). dependent : largest |J_d - c J| / |J_d|.
    """
    n, n_c = start[-1], x.shape[1]
    column, force, gap = np.empty(n), np.empty(n), np.empty(n)
    rows = np.empty(n_c + 1, dtype=np.int64)
    for s in range(x.shape[0]):
        count = left_out(start, n_v, pivots[s], rank[s], rows)
        if count == 0:
            continue
        N, found = np.empty((count, n_c)), 0
        scale = diagonal_scale[s]
        for m in range(count):
            column[:] = 0.0
            column[n_v + rows[m]] = 1.0
            multiply(start, diagonal, order, first, later, lower, upper, J[s], column, force)
            size = 0.0
            for i in range(n):
                column[i] = force[i] if i < n_v else 0.0
                size += column[i] * column[i]
            solve(start, n_v, diagonal, order, first, later, lower, upper, data[s], pivots[s], rank[s], scale, column)
            for i in range(n_v):
                column[i] = 0.0
            multiply(start, diagonal, order, first, later, lower, upper, J[s], column, gap)
            off = 0.0
            for i in range(n_v):
                off += (force[i] - gap[i]) ** 2
            if not off <= dependent * dependent * size:
                continue
            column[n_v + rows[m]] -= 1.0
            combination = N[found]
            for i in range(n_c):
                combination[i] = column[n_v + i]
            # twice, since nearly parallel combinations lose digits
            for _ in range(2):
                for other in range(found):
                    subtract_projection(N[other], combination)
            size = 0.0
            for i in range(n_c):
                size += combination[i] * combination[i]
            for i in range(n_c):
                combination[i] /= math.sqrt(size)
            subtract_projection(combination, x[s])
            found += 1


# Distance of a row of J from the combination of others, relative to its size, up to which it depends on them.
PARALLEL = 1e-10


class EachFactors(Protocol):
    """Factors of k matrices."""

    def solve(self, x: Floats, /) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n), one of each matrix, and return them."""

    def of(self, k: int, /) -> Factors:
        """The factors of one matrix."""


class StackedFactors:
    """Factors of k matrices, block data (k, size), which they overwrite. Raises SingularError with its ``state``."""

    def __init__(self, solver: LinearSolver, data: Floats) -> None:
        k, n, n_v = len(data), solver.pattern.n, solver.pattern.n_v
        pivots: Ints = np.empty((k, n), dtype=np.int64)
        rank: Ints = np.empty((k, len(solver.sizes)), dtype=np.int64)
        scale = np.zeros((k, n if n > n_v else 0))
        if n > n_v:
            scale[:, n_v:][:, solver.excluded_rows] = -np.inf
        self._structure, self._arrays = solver.structure, (data, pivots, rank)
        self._scale = scale
        state, block = factor_each(*solver.structure, solver.targets, data, pivots, rank, scale, DEPENDENT)
        if state >= 0:
            start = solver.pattern.block_start
            raise SingularError(int(start[block]), int(start[block + 1]), state)

    def solve(self, x: Floats) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n), one of each matrix, and return them."""
        solve_each(*self._structure, *self._arrays, self._scale, x)
        return x

    def least_norm(self, J: Floats, x: Floats) -> Floats:
        """Multipliers x (k, n_c) of least norm with the same J^T x, in place; J (k, size) : J and J^T alone."""
        least_norm_each(*self._structure, *self._arrays, self._scale, J, PARALLEL, x)
        return x

    def of(self, k: int) -> Factors:
        """The factors of one matrix."""
        return _One((*self._structure, *(array[k] for array in self._arrays), self._scale[k]))


class _One:
    """One of ``StackedFactors``; arguments : of the kernel ``solve`` before the right-hand side."""

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self._arguments = arguments

    def solve(self, x: Unknowns) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        solve(*self._arguments, x)
        return x


def products(solver: LinearSolver, data: Floats, x: Floats) -> Floats:
    """A x (k, n) of k matrices, block data, and contiguous x (k, n)."""
    y = np.empty_like(x)
    multiply_each(solver.structure[0], *solver.structure[2:], data, x, y)
    return y


class StackedMatrices:
    """The iteration matrices mu M + C + K/mu with J and J^T of k states u, q, v and numbers mu (k,).

    Raises TrialError, SingularError.
    """

    def __init__(self, system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats) -> None:
        self._solver, self._n_v, k = system.solver, system.n_v, len(q)
        mass, damping, stiffness = np.zeros((3, k, system.pattern.size))
        for batch in system.batches:
            batch.matrices_each(u, q, v, mass, damping, stiffness)
        if system.n_c:
            system.constraints(u, q, v, damping)
        reach = 1.0 / mu[:, None]
        # in place, since the arrays are large
        mass *= mu[:, None]
        mass += damping
        mass += reach * stiffness
        self.factors: EachFactors = StackedFactors(system.solver, mass)
        stiffness /= mu[:, None]
        stiffness += damping
        self._stiff: Floats = stiffness

    def filtered(self, x: Floats) -> Floats:
        """F x in place, x (k, n): F y is the solution for (C + K/mu) y; multipliers are zero."""
        x[:, self._n_v :] = 0.0
        self.factors.solve(x)
        x[:, self._n_v :] = 0.0
        product = products(self._solver, self._stiff, x)
        product[:, self._n_v :] = 0.0
        return self.factors.solve(product)


class ListedFactors:
    """Factors of k matrices, one after the other."""

    def __init__(self, factors: list[Factors]) -> None:
        self._factors = factors

    def solve(self, x: Floats) -> Floats:
        """Solve in place for contiguous right-hand sides (k, n), one of each matrix, and return them."""
        for row, factors in zip(x, self._factors, strict=True):
            factors.solve(row)
        return x

    def of(self, k: int) -> Factors:
        """The factors of one matrix."""
        return self._factors[k]


class ListedMatrices:
    """As ``StackedMatrices``, one after the other: for matrices with a part of low rank."""

    def __init__(self, system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats) -> None:
        self._solver, self._n_v = system.solver, system.n_v
        factors: list[Factors] = []
        self._stiff: list[Matrix] = []
        for k, scale in enumerate(mu.tolist()):
            mass, damping, stiffness = system.matrices(u[k], q[k], v[k])
            factors.append(self._solver.factorise(self._solver.shifted(mass, damping, stiffness, scale)))
            self._stiff.append(damping + stiffness / scale)
        self.factors: EachFactors = ListedFactors(factors)

    def filtered(self, x: Floats) -> Floats:
        """As ``StackedMatrices.filtered``."""
        for k, stiff in enumerate(self._stiff):
            x[k, self._n_v :] = 0.0
            self.factors.of(k).solve(x[k])
            x[k, self._n_v :] = 0.0
            x[k] = self._solver.multiply(stiff, x[k])
            x[k, self._n_v :] = 0.0
        return self.factors.solve(x)


EachMatrices: TypeAlias = StackedMatrices | ListedMatrices


def matrices_each(system: MotionEquations, u: Floats, q: Floats, v: Floats, mu: Floats) -> EachMatrices:
    """The iteration matrices of k states. Raises TrialError, SingularError."""
    low_rank = any(batch.low_rank_matrices(u[0], q[0], v[0]) is not None for batch in system.batches)
    return (ListedMatrices if low_rank else StackedMatrices)(system, u, q, v, mu)


def least_multipliers(system: MotionEquations, u: Floats, q: Floats, multipliers: Floats) -> Floats:
    """The multipliers (k, n_c) of least norm with the same forces J^T lambda, at k states.

    The multipliers of dependent rows are not unique: with rigid bodies the equations of motion do not determine them.
    Source: docs/theory/constraints.md, section 6.
    """
    if not system.n_c or not system.layout.has_loops:
        return multipliers
    data, J = np.zeros((2, len(q), system.pattern.size))
    system.constraints(u, q, np.zeros((len(q), system.n_v)), J)
    for batch in system.batches:
        batch.mass_each(q, data)
    return StackedFactors(system.solver, data + J).least_norm(J, multipliers.copy())


def projected_each(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: EachFactors
) -> tuple[Floats, Floats]:
    """q (k, n_q), v (k, n_v) of k states on the constraints: ``projected`` of each by its factors."""
    if not system.n_c:
        return q, v

    def retract(x: Floats, change: Floats) -> Floats:
        new: Floats = x + system.rates(x, change)
        system.normalise(new)
        return new

    limits = np.full(len(q), position_limit(system))
    x, closed = _closed_each(system, lambda x: system.constraints(u, x, v)[0], q, retract, limits, factors)
    limits = VELOCITY * (1.0 + np.max(np.abs(v), axis=1, initial=0.0))
    y, kept = _closed_each(
        system, lambda y: system.constraint_rates(u, x, y), v, lambda y, change: y + change, limits, factors
    )
    for k in np.flatnonzero(~(closed & kept)).tolist():
        x[k], y[k] = projected(system, u[k], q[k], v[k], factors.of(k))
    return x, y


def _closed_each(
    system: MotionEquations,
    residual: Callable[[Floats], Floats],
    x: Floats,
    retract: Callable[[Floats, Floats], Floats],
    limits: Floats,
    factors: EachFactors,
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
        step = np.ascontiguousarray(factors.solve(c)[:, :n_v])
        change = np.max(np.abs(step), axis=1)
        x = np.where(done[:, None], x, retract(x, step))
    return x, done

"""Factorisation of block data: block elimination in the order of the pattern, for trees, loops and multipliers.

Each block is factorised on its own: velocities with partial pivoting, multipliers with diagonal pivoting. Nothing
pivots between blocks. The matrices are not assumed symmetric or definite: the iteration matrix of a compressed beam is
neither. With multipliers the matrix is [A J^T; J 0]; a block of multipliers has become -J P J^T, with P the inverse of
A, when it is eliminated. A row of constraints that depends on those before it then has a zero pivot: it is left out,
with a multiplier of zero.
"""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.layout.element import LowRank
from femb.numerics.block_kernels import begin_scale, factor, multiply, pivot_ratios, shift, solve, solve_columns
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.fronts import FrontalLU, Multifrontal, ZeroPivotError
from femb.system.pattern import Pattern

# Interface of steppers to solvers of linear systems.
#
# A matrix is opaque to a stepper: it comes from ``matrices`` of a formulation, and goes to the solver of that
# formulation. It is block data of a pattern (``femb.system.block_lu``), with quaternions in
# ``femb.formulations.quaternion``, or a dense or sparse array (``femb.formulations.reduced``).

Matrix: TypeAlias = Any
"""A matrix of a formulation, or a combination of three of them; its type is known to the solver alone."""
Unknowns: TypeAlias = Any
"""Array (n,) of velocities and multipliers, float or complex."""


class Factors(Protocol):
    """Factors of one matrix."""

    def solve(self, x: Unknowns, /) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""


class Solver(Protocol):
    """Combines, multiplies and factorises the matrices of a formulation."""

    def shifted(
        self, mass: Matrix, damping: Matrix, stiffness: Matrix, mu: complex, reach: complex | None = None, /
    ) -> Matrix:
        """mu M + C + reach K, real or complex as mu is; reach is 1/mu by default."""

    def factorise(self, matrix: Matrix, dependent: float = ..., /) -> Factors:
        """Factors of a combined matrix, which must not be used afterwards. Raises SingularError.

        dependent : the pivot ratio below which a row of constraints is left out, by solvers that support it.
        """

    def multiply(self, matrix: Matrix, x: Floats, /) -> Floats:
        """A x (n,) for an x with zero multipliers; only the rows of velocities of the result are defined."""


# Pivot ratio, relative to the diagonal, below which a row of constraints depends on those before it; the second value,
# for rows at an angle of a milliradian, is used near a singular configuration. SINE : of the angle of the first.
DEPENDENT, NEARLY_DEPENDENT = 1e-10, 1e-6
SINE = DEPENDENT**0.5


class SingularError(ArithmeticError):
    """A matrix that cannot be factorised; ``first`` and ``last`` bound the unknowns of the singular block, if known.

    state : which of several matrices it is.
    """

    def __init__(self, first: int = 0, last: int = 0, state: int = 0) -> None:
        super().__init__("the matrix is singular")
        self.first, self.last, self.state = first, last, state


class Factorisation:
    """Factors of one matrix, which overwrite ``data``; none yet without ``dependent``."""

    def __init__(self, solver: "LinearSolver", data: Matrix, dependent: float | None = None) -> None:
        self.structure, self.data = solver.structure, data
        n = solver.pattern.n
        self.pivots: Ints = np.empty(n, dtype=np.int64)
        self.rank: Ints = np.empty(len(solver.sizes), dtype=np.int64)
        self._diagonal_scale = np.zeros(n if n > solver.pattern.n_v else 0)
        # arguments of the kernel ``solve`` before the right-hand side
        self.arguments = (self.structure, data, self.pivots, self.rank)
        self._solve = partial(solve, *self.arguments)
        if dependent is not None:
            self.factorise(solver, dependent)

    def factorise(self, solver: "LinearSolver", dependent: float) -> None:
        """Factorise what is in ``data``: at first, or a matrix of the same structure written to it. Raises
        SingularError."""
        self.idle = solver.idle(self.data)
        self.bound(solver, dependent)()

    def bound(self, solver: "LinearSolver", dependent: float = DEPENDENT) -> BoundSequence:
        """``factorise`` as bound kernels."""
        scale = self._diagonal_scale
        arguments = self.structure, solver.targets, self.data, self.pivots, self.rank, scale, dependent
        return BoundSequence(
            [
                Bound(begin_scale, solver.pattern.n_v, solver.excluded_rows, scale),
                Bound(factor, *arguments, check=partial(_check_regular, solver.pattern)),
            ]
        )

    @property
    def dependent(self) -> int:
        """Number of rows of constraints that depend on the others."""
        return len(self.pivots) - int(self.rank.sum())

    def pivot_ratios(self) -> Floats:
        """(n_c,) pivot of each row of constraints, relative to its diagonal; zero if the row is excluded."""
        ratios = np.zeros(len(self.pivots) - self.structure[1])
        if self._diagonal_scale.size:
            pivot_ratios(self.structure, self.data, self.pivots, self.rank, self._diagonal_scale, ratios)
        return ratios

    def negative_eigenvalues(self) -> int:
        """The number of negative eigenvalues of a symmetric matrix, on the motions that its constraints allow.

        By Sylvester's law of inertia: elimination is a congruence, so that the diagonal blocks (Schur complements) have
        as many negative eigenvalues as the matrix; each independent row of constraints in force accounts for one.
        docs/theory/statics.md, equation (9).
        """
        start, n_v = self.structure[0], self.structure[1]
        sizes = np.diff(start)
        found = self.idle - int(self.rank[start[:-1] >= n_v].sum())
        for size in np.unique(self.rank[self.rank > 0]):
            blocks, rows = np.flatnonzero(self.rank == size), np.arange(size)
            # blocks of constraints exchange columns too, which leaves their eigenvalues as they are
            others = np.where(start[blocks, None] < n_v, self.pivots[start[blocks, None] + rows], rows)
            entries = self.structure[2][blocks, None, None] + rows[:, None] * sizes[blocks, None, None] + rows
            # without exchanges elimination is a congruence within a block as well
            exchanged = (others != rows).any(axis=1)
            found += int(np.sum(self.data[entries[~exchanged][:, rows, rows]] < 0.0))
            if exchanged.any():
                found += _negative_eigenvalues(self.data[entries[exchanged]], others[exchanged])
        return found

    def solve(self, x: Unknowns) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        self._solve(x)
        return x

    def solve_columns(self, right: Floats) -> Floats:
        """(n, k): the solutions of k right-hand sides (n, k), for which the factors are read once."""
        x = np.array(right, dtype=self.data.dtype, order="C")
        if x.size:  # the kernel looks at the first column
            solve_columns(*self.arguments, x.shape[1], x.reshape(-1))
        return x


def _check_regular(pattern: Pattern, block: int) -> None:
    """Raise SingularError for the block that ``factor`` returned, unless it is -1."""
    if block >= 0:
        raise SingularError(*pattern.block_start[block : block + 2].tolist())


def _negative_eigenvalues(LU: Floats, others: Ints) -> int:
    """The number of negative eigenvalues of symmetric matrices (k, n, n) by their factors, of which row i was exchanged
    with row ``others`` (k, n)."""
    k, n = others.shape
    A = (np.tril(LU, -1) + np.eye(n)) @ np.triu(LU)
    # undo the exchanges of rows, the last one first
    for i in np.flatnonzero((others != np.arange(n)).any(axis=0))[::-1]:
        rows = np.arange(k), others[:, i]
        A[:, i], A[rows] = A[rows], A[:, i].copy()
    A = 0.5 * (A + A.transpose(0, 2, 1))
    # mostly they have no others or none
    for sign, count in ((1.0, 0), (-1.0, k * n)):
        with suppress(np.linalg.LinAlgError):
            np.linalg.cholesky(sign * A)  # in a tenth of the time of eigenvalues
            return count
    return int(np.sum(np.linalg.eigvalsh(A) < 0.0))


class _OfFronts:
    factors: FrontalLU | Multifrontal

    def solve(self, x: Unknowns) -> Unknowns:
        """Solve in place for a right-hand side (n,), and return it."""
        x[:] = self.solve_columns(x[:, None])[:, 0]
        return x

    def solve_columns(self, right: Floats) -> Floats:
        """(n, k): the solutions of k right-hand sides (n, k)."""
        return np.asarray(self.factors.solve(right))


class FrontalFactorisation(_OfFronts):
    """Factors of the matrix of a net, with the interface of ``Factorisation``. Raises SingularError."""

    factors: FrontalLU

    def __init__(self, solver: "LinearSolver", data: Matrix, dependent: float) -> None:
        pattern, self.idle = solver.pattern, solver.idle(data)
        try:
            self.factors = FrontalLU(pattern.fronts, data, dependent, solver.excluded_rows)
        except ZeroPivotError as error:
            block = pattern.block_of[error.unknown]
            first, last = pattern.block_start[block : block + 2].tolist()
            raise SingularError(first, last) from error
        self.dependent = pattern.n - self.factors.rank

    def pivot_ratios(self) -> Floats:
        """(n_c,) as in ``Factorisation``."""
        return self.factors.ratios

    def negative_eigenvalues(self) -> int:
        """The number of negative eigenvalues, as in ``Factorisation``."""
        return self.idle + self.factors.negative_eigenvalues()


class DefiniteFactorisation(_OfFronts):
    """Factors of a symmetric positive definite matrix of a net without constraints, with the interface of
    ``Factorisation``: half of what others take. Raises numpy.linalg.LinAlgError: it is not positive definite."""

    dependent = idle = 0

    def __init__(self, solver: "LinearSolver", data: Matrix) -> None:
        self.factors = Multifrontal(solver.pattern.fronts, data)

    def pivot_ratios(self) -> Floats:
        """(0,)."""
        return np.zeros(0)

    def negative_eigenvalues(self) -> int:
        """None."""
        return 0


AnyFactorisation: TypeAlias = Factorisation | FrontalFactorisation | DefiniteFactorisation


class LinearSolver:
    """Factorises matrices given as block data of one pattern, real or complex."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.sizes = pattern.sizes
        self.structure, self.targets = pattern.structure, pattern.targets
        self.excluded_rows = np.zeros(pattern.n - pattern.n_v, dtype=bool)
        self.excludes = False  # whether there are any

    def without(self, rows: Bools) -> "LinearSolver":
        """A solver that leaves out these rows of constraints (n_c,) bool, whatever their pivots."""
        other = copy(self)
        other.excluded_rows, other.excludes = rows, bool(rows.any())
        return other

    def by_blocks(self, *parts: Matrix) -> "tuple[LinearSolver, tuple[Matrix, ...]]":
        """A solver by block elimination, and block data as it takes them: of a net with their fill-in."""
        if not self.pattern.net:
            return self, parts
        pattern, places = self.pattern.with_fill
        found = tuple(np.zeros(pattern.size, dtype=part.dtype) for part in parts)
        for filled, part in zip(found, parts, strict=True):
            filled[places] = part
        return LinearSolver(pattern).without(self.excluded_rows), found

    def idle(self, data: Matrix) -> int:
        """The number of rows of constraints that are not in force, as of latches: they have a unit diagonal alone."""
        of_rows = self.pattern.of_diagonal[self.pattern.n_v :]
        return int(np.count_nonzero(data[of_rows])) if len(self.excluded_rows) else 0

    def multiply(self, data: Floats, x: Floats) -> Floats:
        """A x (n,) for block data A."""
        y = np.empty(len(x))
        multiply(self.structure, data, x, y)
        return y

    def shifted(
        self, mass: Floats, damping: Floats, stiffness: Floats, mu: complex, reach: complex | None = None
    ) -> Matrix:
        """Block data of mu M + C + reach K, real or complex as mu is: an iteration matrix of velocities.

        For a unit change of velocities, accelerations change by mu and coordinates by ``reach``, by default 1/mu.
        """
        data = np.empty(len(mass), dtype=type(mu))
        shift(mass, damping, stiffness, mu, 1.0 / mu if reach is None else reach, data)
        return data

    def refactorise(
        self, factors: Factorisation, matrices: tuple[Floats, Floats, Floats], mu: complex,
        dependent: float = DEPENDENT, reach: complex | None = None,
    ) -> None:  # fmt: skip
        """``factorise`` of ``shifted`` matrices in the arrays of earlier factors, real or complex as mu is."""
        shift(*matrices, mu, 1.0 / mu if reach is None else reach, factors.data)
        factors.factorise(self, dependent)

    def factorise(self, data: Matrix, dependent: float = DEPENDENT) -> AnyFactorisation:
        """Factors of the matrix; raises SingularError. ``data`` must not be used afterwards.

        dependent : the pivot ratio below which a row of constraints is left out.
        """
        return (FrontalFactorisation if self.pattern.net else Factorisation)(self, data, dependent)

    def factorise_symmetric(self, data: Floats) -> AnyFactorisation:
        """Factors of a matrix that is symmetric: in a net without constraints by Cholesky, if it is definite."""
        if self.pattern.net and self.pattern.n == self.pattern.n_v:
            with suppress(np.linalg.LinAlgError):
                return DefiniteFactorisation(self, data)
        return self.factorise(data)

    def multiply_columns(self, data: Floats, x: Floats) -> Floats:
        """A x (n, k) for block data A and columns x (n, k)."""
        if self.pattern.net:
            return np.asarray(self.pattern.to_csc(data) @ x)
        return np.array([self.multiply(data, column) for column in np.ascontiguousarray(x.T)]).reshape(x.T.shape).T


# Solution with a matrix of low rank beside the stored one, by Woodbury's formula.
#
#     (A + U V^T)^-1 = A^-1 - A^-1 U (1 + V^T A^-1 U)^-1 V^T A^-1
#
# for forces that couple many frames by a few scalars (``femb.layout.element``). Columns of U are solved for once for
# each factorisation.


@dataclass(frozen=True, eq=False)
class WithLowRank:
    """A matrix of a solver, plus U V^T; left, right (n, r) : U, V, with zeros for multipliers.

    Damping and stiffness of one state have the same U.
    """

    matrix: Matrix
    left: Floats
    right: Floats

    @classmethod
    def pair(
        cls, damping: Matrix, stiffness: Matrix, part: LowRank, multipliers: int
    ) -> "tuple[WithLowRank, WithLowRank]":
        """Damping and stiffness with a part of low rank of the velocities, before so many multipliers."""
        free = np.zeros((multipliers, part.rank))
        left, of_damping, of_stiffness = (np.vstack([x, free]) for x in (part.left, part.damping, part.stiffness))
        return cls(damping, left, of_damping), cls(stiffness, left, of_stiffness)


class LowRankFactors:
    """Factors of a matrix with a part of low rank. base : those of the matrix alone."""

    def __init__(self, base: Factors, matrix: WithLowRank, dtype: type) -> None:
        self.base, self._right = base, matrix.right
        columns = np.array([base.solve(np.ascontiguousarray(column, dtype=dtype)) for column in matrix.left.T])
        # einsum: on products of this size the threads of a BLAS cost more than they save
        inner = np.linalg.inv(np.eye(len(columns)) + np.einsum("nr,sn->rs", self._right, columns))
        self._columns = np.einsum("rn,rs->ns", columns, inner)

    def solve(self, x: Unknowns) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        self.base.solve(x)
        x -= np.einsum("nr,r->n", self._columns, np.einsum("nr,n->r", self._right, x))
        return x


class LowRankMatrices:
    """The methods of a solver for matrices ``WithLowRank``; before the class of the solver in the list of bases."""

    def shifted(
        self, mass: Matrix, damping: Matrix, stiffness: Matrix, mu: complex, reach: complex | None = None
    ) -> Matrix:
        """mu M + C + reach K, as with the solver; C and K may be ``WithLowRank``."""
        solver: Any = super()
        if not isinstance(damping, WithLowRank):
            return solver.shifted(mass, damping, stiffness, mu, reach)
        matrix = solver.shifted(mass, damping.matrix, stiffness.matrix, mu, reach)
        right = damping.right + (1.0 / mu if reach is None else reach) * stiffness.right
        return WithLowRank(matrix, damping.left.astype(type(mu)), right)

    def factorise(self, data: Matrix, dependent: float = DEPENDENT) -> Any:
        """Factors of the matrix, as with the solver."""
        solver: Any = super()
        if not isinstance(data, WithLowRank):
            return solver.factorise(data, dependent)
        return LowRankFactors(solver.factorise(data.matrix, dependent), data, data.left.dtype.type)

    def multiply(self, data: Matrix, x: Floats) -> Floats:
        """A x (n,), as with the solver."""
        solver: Any = super()
        if not isinstance(data, WithLowRank):
            product: Floats = solver.multiply(data, x)
            return product
        product = solver.multiply(data.matrix, x) + data.left @ (data.right.T @ x)
        return product


class LowRankSolver(LowRankMatrices, LinearSolver):
    """The solver of block data, also with a part of low rank."""

"""Solution with a matrix of low rank beside the stored one, by Woodbury's formula.

    (A + U V^T)^-1 = A^-1 - A^-1 U (1 + V^T A^-1 U)^-1 V^T A^-1

for forces that couple many frames by a few scalars (``femb.layout.low_rank``). Columns of U are solved for once for
each factorisation.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.layout.low_rank import LowRank
from femb.system.block_lu import DEPENDENT, LinearSolver
from femb.system.linear_solver import Factors, Matrix, Unknowns


@dataclass(frozen=True, eq=False)
class WithLowRank:
    """A matrix of a solver, plus U V^T; left, right (n, r) : U, V, with zeros for multipliers."""

    matrix: Matrix
    left: Floats
    right: Floats

    # numpy leaves sums of arrays and these to this class
    __array_ufunc__ = None

    @classmethod
    def of(cls, matrix: Matrix, part: LowRank, multipliers: int) -> "WithLowRank":
        """A damping matrix and a part of low rank of the velocities, before so many multipliers."""
        free = np.zeros((multipliers, part.rank))
        return cls(matrix, np.vstack([part.left, free]), np.vstack([part.damping, free]))

    def __add__(self, other: Matrix) -> "WithLowRank":
        return replace(self, matrix=self.matrix + other)

    __radd__ = __add__


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
        """mu M + C + reach K, as of the solver; C may be ``WithLowRank``."""
        solver: Any = super()
        if not isinstance(damping, WithLowRank):
            return solver.shifted(mass, damping, stiffness, mu, reach)
        matrix = solver.shifted(mass, damping.matrix, stiffness, mu, reach)
        return replace(damping, matrix=matrix, left=damping.left.astype(type(mu)))

    def factorise(self, data: Matrix, dependent: float = DEPENDENT) -> Any:
        """Factors of the matrix, as of the solver."""
        solver: Any = super()
        if not isinstance(data, WithLowRank):
            return solver.factorise(data, dependent)
        return LowRankFactors(solver.factorise(data.matrix, dependent), data, data.left.dtype.type)

    def multiply(self, data: Matrix, x: Floats) -> Floats:
        """A x (n,), as of the solver."""
        solver: Any = super()
        if not isinstance(data, WithLowRank):
            product: Floats = solver.multiply(data, x)
            return product
        product = solver.multiply(data.matrix, x) + data.left @ (data.right.T @ x)
        return product


class LowRankSolver(LowRankMatrices, LinearSolver):
    """The solver of block data, also with a part of low rank."""

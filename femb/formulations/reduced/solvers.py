"""Solvers of bordered matrices, sparse and dense, with the interface of ``femb.system.block_lu.LinearSolver``."""

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from femb.base.types import Floats
from femb.system.block_lu import DEPENDENT, SingularError
from femb.system.linear_solver import Matrix


class SparseFactors:
    """LU factors of one matrix. Raises SingularError."""

    def __init__(self, matrix: Any) -> None:
        try:
            self._lu = splu(csc_array(matrix))
        except RuntimeError as error:  # scipy raises it for an exactly singular matrix
            raise SingularError from error

    def solve(self, x: Floats) -> Floats:
        """Solve in place for a right-hand side (n,), and return it."""
        x[:] = self._lu.solve(x)
        return x


class DenseFactors:
    """LU factors of one matrix (n, n), real or complex. Raises SingularError."""

    def __init__(self, matrix: Any) -> None:
        factorise, self._solve = get_lapack_funcs(("getrf", "getrs"), (matrix,))
        self._lu, self._pivots, info = factorise(matrix)
        if info > 0 or not np.all(np.isfinite(np.diag(self._lu))):
            raise SingularError

    def solve(self, x: Floats) -> Floats:
        """Solve in place for a right-hand side (n,), and return it."""
        x[:], _ = self._solve(self._lu, self._pivots, x)
        return x


def solve_positive(matrix: Floats, x: Floats) -> Floats:
    """Solution (n,) of a positive definite system by a Cholesky factorisation. Raises SingularError."""
    (solve,) = get_lapack_funcs(("posv",), (matrix,))
    _, solution, info = solve(matrix, x, lower=True)
    if info > 0 or not np.all(np.isfinite(solution)):
        raise SingularError
    result: Floats = solution
    return result


def bordered(matrix: Matrix, J: Floats) -> Matrix:
    """[matrix, J^T; J, 0], dense or scipy.sparse like the matrix."""
    if isinstance(matrix, np.ndarray):
        return np.block([[matrix, J.T], [J, np.zeros((len(J), len(J)))]])
    return block_array([[matrix, J.T], [J, None]], format="csc")


class BorderedSolver:
    """Factorises and multiplies matrices (n, n) of scipy.sparse."""

    def factorise(self, matrix: Any, dependent: float = DEPENDENT) -> SparseFactors:
        """Factors of a matrix without dependent rows; ``dependent`` is ignored. Raises SingularError."""
        return SparseFactors(matrix)

    def shifted(self, mass: Any, damping: Any, stiffness: Any, mu: complex, reach: complex | None = None) -> Any:
        """mu M + C + reach K; reach is 1/mu by default."""
        return mu * mass + damping + (stiffness / mu if reach is None else reach * stiffness)

    def multiply(self, matrix: Any, x: Floats) -> Floats:
        """A x (n,)."""
        result: Floats = matrix @ x
        return result


class DenseSolver(BorderedSolver):
    """Factorises and multiplies matrices (n, n)."""

    def factorise(self, matrix: Any, dependent: float = 0.0) -> DenseFactors:  # type: ignore[override]
        """Factors of the matrix. Raises SingularError, also for dependent rows."""
        return DenseFactors(matrix)

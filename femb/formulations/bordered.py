"""Solver for bordered scipy.sparse matrices, with the interface of ``femb.system.block_lu.LinearSolver``."""

from typing import Any

from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from femb.base.types import Floats
from femb.system.block_lu import DEPENDENT, SingularError


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


class BorderedSolver:
    """Factorises and multiplies matrices (n, n)."""

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

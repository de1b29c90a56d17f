"""Factorisation of block data: elimination leaf to root on a tree of blocks, SuperLU where there is a loop.

Each block is factorised with partial pivoting inside the block; no fill arises between blocks. The matrices are
not assumed symmetric or definite: the iteration matrix of a compressed beam is neither.
"""

from typing import Any, Protocol

import numpy as np

from femb.jit import kernel
from femb.pattern import Pattern
from femb.types import Floats, Ints


@kernel
def factor(start, diagonal, parent, lower, upper, data, pivots):  # type: ignore[no-untyped-def]
    """Factorise block data in place; returns -1, or the block that is singular.

    lower, upper (B,) : places of the blocks (b, parent) and (parent, b). On return the diagonal blocks hold L and U,
    the blocks (b, parent) hold A_bb^-1 A_bp, pivots (n_v,) the row exchanges.
    """
    count = parent.size
    for b in range(count - 1, -1, -1):
        first = start[b]
        n = start[b + 1] - first
        D = data[diagonal[b] : diagonal[b] + n * n].reshape(n, n)
        for k in range(n):
            best, row = abs(D[k, k]), k
            for i in range(k + 1, n):
                if abs(D[i, k]) > best:
                    best, row = abs(D[i, k]), i
            if not best > 0.0:
                return b
            pivots[first + k] = row
            if row != k:
                for j in range(n):
                    D[k, j], D[row, j] = D[row, j], D[k, j]
            inverse = 1.0 / D[k, k]
            for i in range(k + 1, n):
                D[i, k] *= inverse
                f = D[i, k]
                for j in range(k + 1, n):
                    D[i, j] -= f * D[k, j]
        p = parent[b]
        if p < 0:
            continue
        m = start[p + 1] - start[p]
        X = data[lower[b] : lower[b] + n * m].reshape(n, m)
        U = data[upper[b] : upper[b] + m * n].reshape(m, n)
        P = data[diagonal[p] : diagonal[p] + m * m].reshape(m, m)
        for k in range(n):
            row = pivots[first + k]
            if row != k:
                for j in range(m):
                    X[k, j], X[row, j] = X[row, j], X[k, j]
        for k in range(n):
            for i in range(k + 1, n):
                f = D[i, k]
                for j in range(m):
                    X[i, j] -= f * X[k, j]
        for k in range(n - 1, -1, -1):
            inverse = 1.0 / D[k, k]
            for j in range(m):
                X[k, j] *= inverse
            for i in range(k):
                f = D[i, k]
                for j in range(m):
                    X[i, j] -= f * X[k, j]
        for i in range(m):
            for k in range(n):
                f = U[i, k]
                for j in range(m):
                    P[i, j] -= f * X[k, j]
    return -1


@kernel
def solve(start, diagonal, parent, lower, upper, data, pivots, x):  # type: ignore[no-untyped-def]
    """Solve in place for one right-hand side x (n_v,) with a factorisation of ``factor``."""
    count = parent.size
    for b in range(count - 1, -1, -1):
        first = start[b]
        n = start[b + 1] - first
        D = data[diagonal[b] : diagonal[b] + n * n].reshape(n, n)
        for k in range(n):
            row = pivots[first + k]
            if row != k:
                x[first + k], x[first + row] = x[first + row], x[first + k]
        for k in range(n):
            for i in range(k + 1, n):
                x[first + i] -= D[i, k] * x[first + k]
        for k in range(n - 1, -1, -1):
            x[first + k] /= D[k, k]
            for i in range(k):
                x[first + i] -= D[i, k] * x[first + k]
        p = parent[b]
        if p >= 0:
            m = start[p + 1] - start[p]
            U = data[upper[b] : upper[b] + m * n].reshape(m, n)
            for i in range(m):
                s = x[start[p] + i]
                for k in range(n):
                    s -= U[i, k] * x[first + k]
                x[start[p] + i] = s
    for b in range(count):
        p = parent[b]
        if p >= 0:
            first = start[b]
            n = start[b + 1] - first
            m = start[p + 1] - start[p]
            X = data[lower[b] : lower[b] + n * m].reshape(n, m)
            for i in range(n):
                s = x[first + i]
                for j in range(m):
                    s -= X[i, j] * x[start[p] + j]
                x[first + i] = s


@kernel
def multiply(start, diagonal, parent, lower, upper, data, x, y):  # type: ignore[no-untyped-def]
    """y (n_v,) = A x for block data on a tree."""
    y[:] = 0.0
    for b in range(parent.size):
        first = start[b]
        n = start[b + 1] - first
        for i in range(n):
            for j in range(n):
                y[first + i] += data[diagonal[b] + n * i + j] * x[first + j]
        p = parent[b]
        if p >= 0:
            other = start[p]
            m = start[p + 1] - other
            for i in range(n):
                for j in range(m):
                    y[first + i] += data[lower[b] + m * i + j] * x[other + j]
                    y[other + j] += data[upper[b] + n * j + i] * x[first + i]


class SingularError(ArithmeticError):
    """A matrix that cannot be factorised; ``first`` and ``last`` bound the velocities it concerns, if known."""

    def __init__(self, first: int = 0, last: int = 0) -> None:
        super().__init__("the matrix is singular")
        self.first, self.last = first, last


class Factorisation(Protocol):
    """Factors of one matrix: ``solve`` works in place on a contiguous right-hand side (n_v,) and returns it."""

    def solve(self, x: Any) -> Any: ...


class TreeFactorisation:
    """Block elimination of a tree; ``data`` is overwritten by the factors."""

    def __init__(self, solver: "LinearSolver", data: Any) -> None:
        self.places = solver.places
        self.data = data
        self.pivots: Ints = np.empty(solver.pattern.n_v, dtype=np.int64)
        bad = factor(*self.places, data, self.pivots)
        if bad >= 0:
            start = solver.pattern.block_start
            raise SingularError(int(start[bad]), int(start[bad + 1]))

    def solve(self, x: Any) -> Any:
        solve(*self.places, self.data, self.pivots, x)
        return x


class SparseFactorisation:
    """SuperLU in leaf-to-root order, which its symmetric mode keeps where pivots allow."""

    def __init__(self, solver: "LinearSolver", data: Any) -> None:
        from scipy.sparse.linalg import splu

        matrix = solver.pattern.to_csc(data)[solver.order][:, solver.order].tocsc()
        self.order = solver.order
        try:
            self.lu = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.1, options={"SymmetricMode": True})
        except RuntimeError as error:
            raise SingularError from error

    def solve(self, x: Any) -> Any:
        x[self.order] = self.lu.solve(x[self.order])
        return x


class LinearSolver:
    """Factorises matrices given as block data of one pattern, real or complex."""

    def __init__(self, pattern: Pattern, parent: Ints, is_tree: bool) -> None:
        self.pattern = pattern
        self.is_tree = is_tree
        self.order: Ints = np.arange(pattern.n_v)[::-1].copy()
        if is_tree:
            lower = np.zeros(len(parent), dtype=np.int64)
            upper = np.zeros(len(parent), dtype=np.int64)
            lower[pattern.edges[:, 0]] = pattern.lower
            upper[pattern.edges[:, 0]] = pattern.upper
            self.places: tuple[Ints, ...] = (pattern.block_start, pattern.diagonal, parent, lower, upper)

    def multiply(self, data: Floats, x: Floats) -> Floats:
        """A x (n_v,) for block data A."""
        if not self.is_tree:
            return self.pattern.to_csc(data) @ x
        y = np.empty_like(x)
        multiply(*self.places, data, x, y)
        return y

    def factorise(self, data: Any) -> Factorisation:
        """Factors of the matrix; raises SingularError. ``data`` must not be used afterwards."""
        return TreeFactorisation(self, data) if self.is_tree else SparseFactorisation(self, data)

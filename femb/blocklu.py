"""Factorisation of block data: block elimination in the order of the pattern, for trees, loops and multipliers.

Each block is factorised on its own: velocities with partial pivoting, multipliers with diagonal pivoting. Nothing
pivots between blocks. The matrices are not assumed symmetric or definite: the iteration matrix of a compressed beam is
neither. With multipliers the matrix is [A J^T; J 0]; when a block of multipliers is eliminated it has become -J P J^T,
and what its rows add to those eliminated before shows in the pivots: a row that depends on them adds nothing, and is
left out with a multiplier of zero.
"""

from typing import Any

import numpy as np

from femb.jit import kernel
from femb.pattern import Pattern
from femb.types import Floats, Ints

# A row of constraints depends on those before it when they leave this part of its diagonal; and when it nearly does, at
# an angle of a milliradian, as it may have to be seen near a singular posture.
DEPENDENT, NEARLY_DEPENDENT = 1e-10, 1e-6


@kernel
def factor(start, n_v, diagonal, order, first, later, lower, upper, targets, data, pivots, rank, own, dependent):  # type: ignore[no-untyped-def]
    """Factorise block data in place; returns -1, or the block that is singular.

    The arguments up to targets are those of ``Pattern.places``. On return the diagonal blocks hold L and U, the blocks
    (b, later) hold A_bb^-1 A_b,later, pivots (n,) the exchanges, rank (B,) the rows of each block that are independent;
    own (n,) is what the velocities alone add to the diagonal of multipliers, of which ``dependent`` is the least part
    that an independent row leaves.
    """
    for b in range(diagonal.size):
        n = start[b + 1] - start[b]
        for i in range(n):
            own[start[b] + i] = abs(data[diagonal[b] + i * n + i])
    t = 0
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        D = diagonal[b]
        rows = o >= n_v
        rank[b] = n
        for k in range(n):
            best, row = -1.0, k
            for i in range(k, n):
                x = data[D + i * n + i] if rows else data[D + i * n + k]
                size = abs(x.real) + abs(x.imag)
                if rows:
                    size = size / own[o + i] if own[o + i] > 0.0 else 0.0
                if size > best:
                    best, row = size, i
            pivots[o + k] = row
            if rows:
                if not best > dependent:
                    rank[b] = k
                    break
            elif not best > 0.0:
                return b
            if row != k:
                for j in range(n):
                    data[D + k * n + j], data[D + row * n + j] = data[D + row * n + j], data[D + k * n + j]
                if rows:
                    own[o + k], own[o + row] = own[o + row], own[o + k]
                    for i in range(n):
                        data[D + i * n + k], data[D + i * n + row] = data[D + i * n + row], data[D + i * n + k]
            inverse = 1.0 / data[D + k * n + k]
            for i in range(k + 1, n):
                f = data[D + i * n + k] * inverse
                data[D + i * n + k] = f
                for j in range(k + 1, n):
                    data[D + i * n + j] -= f * data[D + k * n + j]
        r = rank[b]
        for e in range(first[step], first[step + 1]):
            p = later[e]
            m = start[p + 1] - start[p]
            X = lower[e]
            for k in range(r):
                row = pivots[o + k]
                if row != k:
                    for j in range(m):
                        data[X + k * m + j], data[X + row * m + j] = data[X + row * m + j], data[X + k * m + j]
            for k in range(r):
                for i in range(k + 1, r):
                    f = data[D + i * n + k]
                    for j in range(m):
                        data[X + i * m + j] -= f * data[X + k * m + j]
            for k in range(r - 1, -1, -1):
                inverse = 1.0 / data[D + k * n + k]
                for j in range(m):
                    data[X + k * m + j] *= inverse
                for i in range(k):
                    f = data[D + i * n + k]
                    for j in range(m):
                        data[X + i * m + j] -= f * data[X + k * m + j]
            if rows:
                for i in range(r, n):
                    for j in range(m):
                        data[X + i * m + j] = 0.0
                for k in range(r - 1, -1, -1):
                    row = pivots[o + k]
                    if row != k:
                        for j in range(m):
                            data[X + k * m + j], data[X + row * m + j] = data[X + row * m + j], data[X + k * m + j]
        for e in range(first[step], first[step + 1]):
            p = later[e]
            m = start[p + 1] - start[p]
            U = upper[e]
            for g in range(first[step], first[step + 1]):
                c = start[later[g] + 1] - start[later[g]]
                X = lower[g]
                T = targets[t]
                t += 1
                goal, columns = data[T : T + m * c], data[X : X + n * c]
                for i in range(m):
                    for k in range(n):
                        f = data[U + i * n + k]
                        for j in range(c):
                            goal[i * c + j] -= f * columns[k * c + j]
                if e == g and not rows and start[p] >= n_v:
                    for i in range(m):
                        x = data[U + i * n] * data[X + i]
                        for k in range(1, n):
                            x += data[U + i * n + k] * data[X + k * c + i]
                        own[start[p] + i] += abs(x.real) + abs(x.imag)
    return -1


@kernel
def kept_parts(start, n_v, diagonal, data, pivots, rank, own, parts):  # type: ignore[no-untyped-def]
    """parts (n_c,) of the diagonals ``own`` that rows of constraints left when they were eliminated."""
    for b in range(diagonal.size):
        o = start[b]
        n = start[b + 1] - o
        if o >= n_v:
            for k in range(rank[b]):
                parts[o - n_v + k] = abs(data[diagonal[b] + k * n + k]) / own[o + k]
            # undo the exchanges, the last one first
            for k in range(rank[b] - 1, -1, -1):
                i, j = o - n_v + k, o - n_v + pivots[o + k]
                parts[i], parts[j] = parts[j], parts[i]


@kernel
def solve(start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, x):  # type: ignore[no-untyped-def]
    """Solve in place for one right-hand side x (n,) with a factorisation of ``factor``."""
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        D = diagonal[b]
        r = rank[b]
        for k in range(r):
            row = pivots[o + k]
            if row != k:
                x[o + k], x[o + row] = x[o + row], x[o + k]
        for k in range(r):
            for i in range(k + 1, r):
                x[o + i] -= data[D + i * n + k] * x[o + k]
        for k in range(r - 1, -1, -1):
            x[o + k] /= data[D + k * n + k]
            for i in range(k):
                x[o + i] -= data[D + i * n + k] * x[o + k]
        if o >= n_v:
            for i in range(r, n):
                x[o + i] = 0.0
            for k in range(r - 1, -1, -1):
                row = pivots[o + k]
                if row != k:
                    x[o + k], x[o + row] = x[o + row], x[o + k]
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            m = start[later[e] + 1] - p
            for i in range(m):
                s = x[p + i]
                for k in range(n):
                    s -= data[upper[e] + i * n + k] * x[o + k]
                x[p + i] = s
    for step in range(order.size - 1, -1, -1):
        o = start[order[step]]
        n = start[order[step] + 1] - o
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            m = start[later[e] + 1] - p
            for i in range(n):
                s = x[o + i]
                for j in range(m):
                    s -= data[lower[e] + i * m + j] * x[p + j]
                x[o + i] = s


@kernel
def multiply(start, diagonal, order, first, later, lower, upper, data, x, y):  # type: ignore[no-untyped-def]
    """y (n,) = A x for block data."""
    for i in range(y.size):
        y[i] = 0.0
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        for i in range(n):
            for j in range(n):
                y[o + i] += data[diagonal[b] + n * i + j] * x[o + j]
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            m = start[later[e] + 1] - p
            for i in range(n):
                for j in range(m):
                    y[o + i] += data[lower[e] + m * i + j] * x[p + j]
                    y[p + j] += data[upper[e] + n * j + i] * x[o + i]


class SingularError(ArithmeticError):
    """A matrix that cannot be factorised; ``first`` and ``last`` bound the velocities it concerns, if known."""

    def __init__(self, first: int = 0, last: int = 0) -> None:
        super().__init__("the matrix is singular")
        self.first, self.last = first, last


class Factorisation:
    """Factors of one matrix; ``data`` is overwritten by them. ``dependent``: rows of constraints left out."""

    def __init__(self, solver: "LinearSolver", data: Any, dependent: float) -> None:
        self.places, self.data = solver.places, data
        n = solver.pattern.n
        self.pivots: Ints = np.empty(n, dtype=np.int64)
        self.rank: Ints = np.empty(len(solver.sizes), dtype=np.int64)
        self._own = np.empty(n)
        bad = factor(*self.places, solver.targets, data, self.pivots, self.rank, self._own, dependent)
        if bad >= 0:
            start = solver.pattern.block_start
            raise SingularError(int(start[bad]), int(start[bad + 1]))

    @property
    def dependent(self) -> int:
        """How many rows of constraints depend on the others."""
        return len(self.pivots) - int(self.rank.sum())

    def kept(self) -> Floats:
        """Part of its diagonal (n_c,) that each row of constraints leaves when it is eliminated; zero if left out."""
        parts = np.zeros(len(self.pivots) - self.places[1])
        kept_parts(*self.places[:3], self.data, self.pivots, self.rank, self._own, parts)
        return parts

    def solve(self, x: Any) -> Any:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        solve(*self.places, self.data, self.pivots, self.rank, x)
        return x


class LinearSolver:
    """Factorises matrices given as block data of one pattern, real or complex."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.sizes: Ints = np.diff(pattern.block_start)
        self.places, self.targets = pattern.places, pattern.targets

    def multiply(self, data: Floats, x: Floats) -> Floats:
        """A x (n,) for block data A."""
        y = np.empty_like(x)
        start, _, *rest = self.places
        multiply(start, *rest, data, x, y)
        return y

    def factorise(self, data: Any, dependent: float = DEPENDENT) -> Factorisation:
        """Factors of the matrix; raises SingularError. ``data`` must not be used afterwards.

        dependent : the part of its diagonal below which a row of constraints is left out.
        """
        return Factorisation(self, data, dependent)

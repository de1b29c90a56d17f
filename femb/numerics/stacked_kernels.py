"""Block elimination of k matrices of one structure in one call; see ``femb.numerics.block_kernels``."""

import math

import numpy as np

from femb.numerics.block_kernels import factor, multiply
from femb.numerics.block_solve_kernels import solve
from femb.numerics.compile import inlined, kernel


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

"""Substitution with the factors of block data: one right-hand side, or several, for which they are read once.

Structure and factors are those of ``femb.numerics.block_kernels.factor``.
"""

import numpy as np

from femb.numerics.compile import inlined, kernel

# Number of columns of a vector; for a literal 1, numba would compile a variant of the called kernel.
ONE_COLUMN = np.int64(1)
# Smaller entries of a solution are set to zero, block by block: arithmetic with subnormal numbers is several times
# slower, and far from where a load acts a solution fades to them, without reaching zero.
FLUSH_TO_ZERO = 1e-100


@inlined
def exchange(x, X, row, other, m):
    """Exchange two rows of the block of m columns at X."""
    for j in range(m):
        x[X + row * m + j], x[X + other * m + j] = x[X + other * m + j], x[X + row * m + j]


@inlined
def substitute(data, D, n, r, pivots, o, x, X, m):
    """Solve for the block (r, m) at X with the first r rows of the factors at D."""
    for k in range(r):
        if pivots[o + k] != k:
            exchange(x, X, k, pivots[o + k], m)
    for k in range(r):
        for i in range(k + 1, r):
            f = data[D + i * n + k]
            for j in range(m):
                x[X + i * m + j] -= f * x[X + k * m + j]
    for k in range(r - 1, -1, -1):
        inverse = 1.0 / data[D + k * n + k]
        for j in range(m):
            x[X + k * m + j] *= inverse
        for i in range(k):
            f = data[D + i * n + k]
            for j in range(m):
                x[X + i * m + j] -= f * x[X + k * m + j]


@inlined
def restore_order(n, r, pivots, o, x, X, m):
    """Restore the order of the multipliers after ``substitute``; those of dependent rows are zero."""
    for i in range(r * m, n * m):
        x[X + i] = 0.0
    for k in range(r - 1, -1, -1):
        if pivots[o + k] != k:
            exchange(x, X, k, pivots[o + k], m)


@kernel
def solve(start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, diagonal_scale, x):
    """Solve in place for one right-hand side x (n,) with the factors computed by ``factor``."""
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        substitute(data, diagonal[b], n, rank[b], pivots, o, x, o, ONE_COLUMN)
        if o >= n_v:
            restore_order(n, rank[b], pivots, o, x, o, ONE_COLUMN)
        flush(x, o, o + n)
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            subtract_vector(data, upper[e], start[later[e] + 1] - p, n, x, o, p)
    for step in range(order.size - 1, -1, -1):
        o = start[order[step]]
        n = start[order[step] + 1] - o
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            subtract_vector(data, lower[e], n, start[later[e] + 1] - p, x, p, o)
        flush(x, o, o + n)


@kernel
def solve_columns(start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, diagonal_scale, c, x):
    """As ``solve``, for c right-hand sides: x (n c,) has c numbers a row, so that factors are read once for all."""
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        substitute(data, diagonal[b], n, rank[b], pivots, o, x, o * c, c)
        if o >= n_v:
            restore_order(n, rank[b], pivots, o, x, o * c, c)
        flush(x, o * c, (o + n) * c)
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            subtract_product(data, upper[e], start[later[e] + 1] - p, n, x, o * c, p * c, c)
    for step in range(order.size - 1, -1, -1):
        o = start[order[step]]
        n = start[order[step] + 1] - o
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            subtract_product(data, lower[e], n, start[later[e] + 1] - p, x, p * c, o * c, c)
        flush(x, o * c, (o + n) * c)


@inlined
def flush(x, first, last):
    """Set negligible entries of x[first:last] to zero."""
    for i in range(first, last):
        if abs(x[i].real) + abs(x[i].imag) < FLUSH_TO_ZERO:
            x[i] = 0.0


@inlined
def subtract_product(data, A, m, n, x, X, T, c):
    """Subtract the block (m, n) of data at A times the block (n, c) of x at X from the block (m, c) of x at T.

    x : right-hand sides, or data itself.
    """
    # views: the product never overlaps its factors, so that the inner loop runs in registers
    goal, columns = x[T : T + m * c], x[X : X + n * c]
    for i in range(m):
        for k in range(n):
            f = data[A + i * n + k]
            for j in range(c):
                goal[i * c + j] -= f * columns[k * c + j]


@inlined
def subtract_vector(data, A, m, n, x, o, p):
    """Subtract the block (m, n) at A times x[o:] (n,) from x[p:] (m,)."""
    for i in range(m):
        s = x[p + i]
        for k in range(n):
            s -= data[A + i * n + k] * x[o + k]
        x[p + i] = s

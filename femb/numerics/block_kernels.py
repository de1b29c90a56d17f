"""Kernels of block elimination; see ``femb.system.block_lu``. Blocks are stored row by row in a flat array, real or
complex.

``diagonal_scale`` has no entries for matrices without multipliers.
"""

from femb.numerics.block_solve_kernels import exchange, restore_order, substitute, subtract_product
from femb.numerics.compile import inlined, kernel


@kernel
def factor(
    start, n_v, diagonal, order, first, later, lower, upper, targets, data, pivots, rank, diagonal_scale, dependent
):
    """Factorise block data in place; returns -1, or the block that is singular.

    The arguments up to targets are those of ``Pattern.structure``. On return the diagonal blocks contain L and U, the
    blocks (b, later) A_bb^-1 A_b,later, pivots (n,) the exchanges, rank (B,) the number of independent rows of each
    block. diagonal_scale (n,) or (0,) on entry: zero, or minus infinity for excluded rows; on return: the contribution
    of the velocities to the diagonal of each multiplier. A row whose pivot is at most ``dependent`` times this is
    dependent.
    """
    if diagonal_scale.size > 0:
        for b in range(diagonal.size):
            n = start[b + 1] - start[b]
            for i in range(n):
                diagonal_scale[start[b] + i] += abs(data[diagonal[b] + i * n + i])
    t = 0
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        D = diagonal[b]
        r = -1
        if o >= n_v:
            r = factor_rows(data, D, n, pivots, o, diagonal_scale, dependent)
        if r < 0:
            if not factor_velocities(data, D, n, pivots, o):
                return b
            r = n
        rank[b] = r
        for e in range(first[step], first[step + 1]):
            m = start[later[e] + 1] - start[later[e]]
            substitute(data, D, n, r, pivots, o, data, lower[e], m)
            if o >= n_v:
                restore_order(n, r, pivots, o, data, lower[e], m)
        for e in range(first[step], first[step + 1]):
            p = later[e]
            m = start[p + 1] - start[p]
            U = upper[e]
            for g in range(first[step], first[step + 1]):
                c = start[later[g] + 1] - start[later[g]]
                subtract_product(data, U, m, n, data, lower[g], targets[t], c)
                t += 1
            if o < n_v and start[p] >= n_v:
                X = lower[e]
                for i in range(m):
                    x = data[U + i * n] * data[X + i]
                    for k in range(1, n):
                        x += data[U + i * n + k] * data[X + k * m + i]
                    diagonal_scale[start[p] + i] += abs(x.real) + abs(x.imag)
    return -1


@kernel
def pivot_ratios(start, n_v, diagonal, data, pivots, rank, diagonal_scale, ratios):
    """ratios (n_c,) of the pivots of constraint rows to their ``diagonal_scale``."""
    for b in range(diagonal.size):
        o = start[b]
        n = start[b + 1] - o
        if o >= n_v:
            for k in range(rank[b]):
                ratios[o - n_v + k] = abs(data[diagonal[b] + k * n + k]) / diagonal_scale[o + k]
            # undo the exchanges, the last one first
            for k in range(rank[b] - 1, -1, -1):
                i, j = o - n_v + k, o - n_v + pivots[o + k]
                ratios[i], ratios[j] = ratios[j], ratios[i]


@inlined
def factor_velocities(data, D, n, pivots, o):
    """LU of the block (n, n) at D with partial pivoting; returns whether the block is regular."""
    for k in range(n):
        best, row = 0.0, k
        for i in range(k, n):
            x = data[D + i * n + k]
            size = abs(x.real) + abs(x.imag)
            if size > best:
                best, row = size, i
        if not best > 0.0:
            return False
        pivots[o + k] = row
        if row != k:
            exchange(data, D, k, row, n)
        eliminate(data, D, n, k)
    return True


@inlined
def factor_rows(data, D, n, pivots, o, diagonal_scale, dependent):
    """LU of a block of multipliers with diagonal pivoting; returns the number of independent rows."""
    for k in range(n):
        best, row = -1.0, k
        for i in range(k, n):
            x = data[D + i * n + i]
            size = (abs(x.real) + abs(x.imag)) / diagonal_scale[o + i] if diagonal_scale[o + i] > 0.0 else 0.0
            if size > best:
                best, row = size, i
        pivots[o + k] = row
        if not best > dependent:
            return k
        if row != k:
            exchange(data, D, k, row, n)
            diagonal_scale[o + k], diagonal_scale[o + row] = diagonal_scale[o + row], diagonal_scale[o + k]
            for i in range(n):
                data[D + i * n + k], data[D + i * n + row] = data[D + i * n + row], data[D + i * n + k]
        eliminate(data, D, n, k)
    return n


@inlined
def eliminate(data, D, n, k):
    """Subtract multiples of row k of the block (n, n) at D from the rows below it."""
    inverse = 1.0 / data[D + k * n + k]
    for i in range(k + 1, n):
        f = data[D + i * n + k] * inverse
        data[D + i * n + k] = f
        for j in range(k + 1, n):
            data[D + i * n + j] -= f * data[D + k * n + j]


@kernel
def multiply(start, diagonal, order, first, later, lower, upper, data, x, y):
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


@kernel
def shift(mass, damping, stiffness, mu, reach, out):
    """out = mu mass + damping + reach stiffness for block data; mu and reach are real or complex."""
    for i in range(out.size):
        out[i] = mu * mass[i] + damping[i] + reach * stiffness[i]

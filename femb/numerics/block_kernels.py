"""Kernels of block elimination; see ``femb.system.block_lu``. Blocks are stored row by row in a flat array, real or
complex, or values of ``femb.numerics.compiler.lanes``: several matrices of one structure, each with its own exchanges.

Loops over four columns or more hold a row in registers, by parts of four to eight columns, to the same last bit: the
factors of blocks of 7 take half the time of loops over single numbers.

``diagonal_scale`` has no entries for matrices without multipliers.
"""

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import (
    choose,
    every,
    has_place,
    in_registers,
    is_mixed,
    magnitude,
    minus_row,
    number_at,
    place_of,
    put_row,
    row_at,
    times_row,
)

# Substitution with the factors of block data: one right-hand side, or several, for which they are read once.
#
# Structure and factors are those of ``femb.numerics.block_kernels.factor``.

# For a literal 1, as the number of columns of a vector, numba would compile a variant of the called kernel.
ONE = np.int64(1)
# Smaller entries of a solution are set to zero, block by block: arithmetic with subnormal numbers is several times
# slower, and far from where a load acts a solution fades to them, without reaching zero.
FLUSH_TO_ZERO = 1e-100


@inlined
def exchange(x, X, line, other, n, across, m, along):
    """Exchange a line of the block at X with the other, a ``place_of`` behind it: a row or a column.

    Of n lines, which begin ``across`` numbers after each other, with m numbers that are ``along`` apart.
    """
    if is_mixed(other, x[X]):
        for i in range(line + 1, n):
            here = has_place(other, i, x[X])
            for j in range(m):
                o, p = X + line * across + j * along, X + i * across + j * along
                x[o], x[p] = choose(here, x[p], x[o]), choose(here, x[o], x[p])
    else:
        for j in range(m):
            o, p = X + line * across + j * along, X + other * across + j * along
            x[o], x[p] = x[p], x[o]


@inlined
def width_of(columns):
    """Columns of the next part, where at least four are left: four to eight, and never one to three for the last."""
    if columns < 9:
        return columns
    return np.int64(4 if columns < 12 else 8)


@inlined
def substitute_rows(data, D, n, r, x, X, m, width):
    """``substitute`` for ``width`` columns of rows of m numbers, after the exchanges; each row stays in registers."""
    for i in range(1, r):
        row = row_at(x, X + i * m, width)
        for k in range(i):
            row = minus_row(row, times_row(data[D + i * n + k], row_at(x, X + k * m, width)))
        put_row(x, X + i * m, width, row)
    for i in range(r - 1, -1, -1):
        row = row_at(x, X + i * m, width)
        for k in range(r - 1, i, -1):
            row = minus_row(row, times_row(data[D + i * n + k], row_at(x, X + k * m, width)))
        put_row(x, X + i * m, width, times_row(1.0 / data[D + i * n + i], row))


@inlined
def substitute(data, D, n, r, pivots, o, x, X, m):
    """Solve for the block (r, m) at X with the first r rows of the factors at D."""
    for k in range(r):
        if pivots[o + k] != k:
            exchange(x, X, k, pivots[o + k], n, m, m, ONE)
    if in_registers(x, m):
        first = 0
        while first < m:
            width = width_of(m - first)
            substitute_rows(data, D, n, r, x, X + first, m, width)
            first += width
        return
    for j in range(X, X + m):
        for i in range(1, r):
            y = x[j + i * m]
            for k in range(i):
                y -= number_at(data, D + i * n + k) * number_at(x, j + k * m)
            x[j + i * m] = y
        for i in range(r - 1, -1, -1):
            y = x[j + i * m]
            for k in range(r - 1, i, -1):
                y -= number_at(data, D + i * n + k) * number_at(x, j + k * m)
            x[j + i * m] = 1.0 / data[D + i * n + i] * y


@inlined
def restore_order(n, r, pivots, o, x, X, m):
    """Restore the order of the multipliers after ``substitute``; those of dependent rows are zero."""
    for i in range(r * m, n * m):
        x[X + i] = 0.0
    for k in range(r - 1, -1, -1):
        if pivots[o + k] != k:
            exchange(x, X, k, pivots[o + k], n, m, m, ONE)


@kernel_with_entry
def solve(structure, data, pivots, rank, x):
    """Solve in place for one right-hand side x (n,) with the factors computed by ``factor``."""
    solve_blocks(structure, data, pivots, rank, x)


@inlined
def solve_blocks(structure, data, pivots, rank, x):
    """``solve``, also of matrices in lanes."""
    start, n_v, diagonal, order, first, later, lower, upper = structure
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        substitute(data, diagonal[b], n, rank[b], pivots, o, x, o, ONE)
        if o >= n_v:
            restore_order(n, rank[b], pivots, o, x, o, ONE)
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
def solve_columns(structure, data, pivots, rank, c, x):
    """Solve for c right-hand sides: x (n c,) has c numbers a row, so that factors are read once for all."""
    start, n_v, diagonal, order, first, later, lower, upper = structure
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
        x[i] = choose(magnitude(x[i]) < FLUSH_TO_ZERO, 0.0, x[i])


@inlined
def subtract_product(data, A, m, n, x, X, T, c):
    """Subtract the block (m, n) of data at A times the block (n, c) of x at X from the block (m, c) of x at T.

    x : right-hand sides, or data itself.
    """
    if in_registers(x, c):
        first = 0
        while first < c:
            width = width_of(c - first)
            for i in range(m):
                row = row_at(x, T + first + i * c, width)
                for k in range(n):
                    row = minus_row(row, times_row(data[A + i * n + k], row_at(x, X + first + k * c, width)))
                put_row(x, T + first + i * c, width, row)
            first += width
        return
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
            s -= number_at(data, A + i * n + k) * number_at(x, o + k)
        x[p + i] = s


@kernel_with_entry
def factor(structure, targets, data, pivots, rank, diagonal_scale, dependent):
    """Factorise block data in place; returns -1, or the block that is singular.

    structure, targets : of ``femb.system.pattern.Pattern``. On return the diagonal blocks contain L and U, the
    blocks (b, later) A_bb^-1 A_b,later, pivots (n,) the exchanges, rank (B,) the number of independent rows of each
    block. diagonal_scale (n,) or (0,) on entry: zero, or minus infinity for excluded rows; on return: the contribution
    of the velocities to the diagonal of each multiplier. A row whose pivot is at most ``dependent`` times this is
    dependent.
    """
    return factor_blocks(structure, targets, data, pivots, rank, diagonal_scale, dependent)


@inlined
def factor_blocks(structure, targets, data, pivots, rank, diagonal_scale, dependent):
    """``factor``, also of matrices in lanes; then it also returns the block whose rank is not the same in all."""
    start, n_v, diagonal, order, first, later, lower, upper = structure
    if diagonal_scale.size > 0:
        for b in range(diagonal.size):
            n = start[b + 1] - start[b]
            for i in range(n):
                diagonal_scale[start[b] + i] += magnitude(data[diagonal[b] + i * n + i])
    t = 0
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        D = diagonal[b]
        if o >= n_v:
            r = factor_rows(data, D, n, pivots, o, diagonal_scale, dependent)
        else:
            r = factor_velocities(data, D, n, pivots, o)
        if r < 0:
            return b
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
                    diagonal_scale[start[p] + i] += magnitude(x)
    return -1


@kernel_with_entry
def begin_scale(n_v, excluded, diagonal_scale):
    """diagonal_scale (n,) or (0,) as ``factor`` takes it, with these rows of constraints (n_c,) excluded."""
    for i in range(diagonal_scale.size):
        diagonal_scale[i] = -np.inf if i >= n_v and excluded[i - n_v] else 0.0


@kernel
def pivot_ratios(structure, data, pivots, rank, diagonal_scale, ratios):
    """ratios (n_c,) of the pivots of constraint rows to their ``diagonal_scale``."""
    start, n_v, diagonal, _, _, _, _, _ = structure
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
    """LU of the block (n, n) at D with partial pivoting; returns n, or -1 of a block that is not regular."""
    for k in range(n):
        size = magnitude(data[D + k * n + k])
        # what is not a number is passed over
        best, row = choose(size > 0.0, size, 0.0), choose(size > 0.0, k, k)
        for i in range(k + 1, n):
            size = magnitude(data[D + i * n + k])
            best, row = choose(size > best, size, best), choose(size > best, i, row)
        if not every(best > 0.0):
            return -1
        pivots[o + k] = place_of(row)
        if pivots[o + k] != k:
            exchange(data, D, k, pivots[o + k], n, n, n, ONE)
        eliminate(data, D, n, k)
    return n


@inlined
def relative_size(data, D, n, i, scale):
    """Size of the diagonal entry i of the block at D, relative to its scale; zero without one."""
    return choose(scale > 0.0, magnitude(data[D + i * n + i]) / scale, 0.0)


@inlined
def factor_rows(data, D, n, pivots, o, diagonal_scale, dependent):
    """LU of a block of multipliers with diagonal pivoting; returns the number of independent rows.

    Of matrices in lanes with different numbers of rows it returns -1.
    """
    for k in range(n):
        size = relative_size(data, D, n, k, diagonal_scale[o + k])
        best, row = choose(size > -1.0, size, -1.0), choose(size > -1.0, k, k)
        for i in range(k + 1, n):
            size = relative_size(data, D, n, i, diagonal_scale[o + i])
            best, row = choose(size > best, size, best), choose(size > best, i, row)
        other = place_of(row)
        pivots[o + k] = other
        if not every(best > dependent):
            return k if every(best <= dependent) else -1
        if other != k:
            exchange(data, D, k, other, n, n, n, ONE)
            exchange(diagonal_scale, o, k, other, n, ONE, ONE, ONE)
            exchange(data, D, k, other, n, ONE, n, n)
        eliminate(data, D, n, k)
    return n


@kernel
def factor_of_rows(data, pivots, diagonal_scale, dependent):
    """``factor_rows`` of one block (n, n), whose pivots and scale are (n,)."""
    return factor_rows(data, 0, pivots.size, pivots, 0, diagonal_scale, dependent)


@inlined
def subtract_multiple(f, x, X, T, c):
    """Subtract f times the c numbers at X from those at T."""
    first = 0
    while in_registers(x, c - first):
        width = width_of(c - first)
        put_row(x, T + first, width, minus_row(row_at(x, T + first, width), times_row(f, row_at(x, X + first, width))))
        first += width
    for j in range(first, c):
        x[T + j] -= f * x[X + j]


@inlined
def eliminate(data, D, n, k):
    """Subtract multiples of row k of the block (n, n) at D from the rows below it."""
    inverse = 1.0 / data[D + k * n + k]
    for i in range(k + 1, n):
        f = data[D + i * n + k] * inverse
        data[D + i * n + k] = f
        subtract_multiple(f, data, D + k * n + k + 1, D + i * n + k + 1, n - k - 1)


@kernel_with_entry
def multiply(structure, data, x, y):
    """y (n,) = A x for block data."""
    multiply_blocks(structure, data, x, y)


@inlined
def add_vector(data, A, m, n, x, o, y, p):
    """y[p:] (m,) += the block (m, n) at A times x[o:] (n,)."""
    for i in range(m):
        s = y[p + i]
        for k in range(n):
            s += number_at(data, A + i * n + k) * number_at(x, o + k)
        y[p + i] = s


@inlined
def multiply_blocks(structure, data, x, y):
    """``multiply``, also of matrices in lanes."""
    start, _, diagonal, order, first, later, lower, upper = structure
    for i in range(y.size):
        y[i] = 0.0
    for step in range(order.size):
        b = order[step]
        o = start[b]
        n = start[b + 1] - o
        add_vector(data, diagonal[b], n, n, x, o, y, o)
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            m = start[later[e] + 1] - p
            add_vector(data, lower[e], n, m, x, p, y, o)
            add_vector(data, upper[e], m, n, x, o, y, p)


@kernel_with_entry
def clear(data):
    """Zero block data (s, size), or forces (s, n_v)."""
    for i in range(data.shape[0]):
        for k in range(data.shape[1]):
            data[i, k] = 0.0


@kernel
def shift(mass, damping, stiffness, mu, reach, out):
    """out = mu mass + damping + reach stiffness for block data; mu and reach are real or complex."""
    for i in range(out.size):
        out[i] = mu * mass[i] + damping[i] + reach * stiffness[i]

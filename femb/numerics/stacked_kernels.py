"""Block elimination of k matrices of one structure in one call; see ``femb.numerics.block_kernels``."""

from femb.numerics.block_kernels import factor, multiply, solve
from femb.numerics.compile import kernel


@kernel
def factor_each(
    start, n_v, diagonal, order, first, later, lower, upper, targets, data, pivots, rank, diagonal_scale, dependent
):
    """``factor`` of k matrices: data (k, size), pivots, diagonal_scale (k, n), rank (k, B).

    Returns the number of the first matrix that is singular and that of its singular block; -1, -1 for none.
    """
    for s in range(data.shape[0]):
        scale = None if diagonal_scale is None else diagonal_scale[s]
        bad = factor(
            start, n_v, diagonal, order, first, later, lower, upper, targets, data[s], pivots[s], rank[s], scale,
            dependent,
        )  # fmt: skip
        if bad >= 0:
            return s, bad
    return -1, -1


@kernel
def solve_each(start, n_v, diagonal, order, first, later, lower, upper, data, pivots, rank, diagonal_scale, x):
    """``solve`` for one right-hand side of each of k matrices, x (k, n)."""
    for s in range(x.shape[0]):
        scale = None if diagonal_scale is None else diagonal_scale[s]
        solve(start, n_v, diagonal, order, first, later, lower, upper, data[s], pivots[s], rank[s], scale, x[s])


@kernel
def multiply_each(start, diagonal, order, first, later, lower, upper, data, x, y):
    """y (k, n) = A x for k matrices, data (k, size)."""
    for s in range(x.shape[0]):
        multiply(start, diagonal, order, first, later, lower, upper, data[s], x[s], y[s])

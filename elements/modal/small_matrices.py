"""Kernels over 3 x 3 matrices, and blocks of them in larger ones."""

from femb.numerics.compile import inlined


@inlined
def skew(x, out):
    """out = x~."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, -x[2], x[1]
    out[1, 0], out[1, 1], out[1, 2] = x[2], 0.0, -x[0]
    out[2, 0], out[2, 1], out[2, 2] = -x[1], x[0], 0.0


@inlined
def add_product(factor, A, B, out):
    """out += factor A B; out may be neither."""
    for i in range(3):
        for j in range(3):
            out[i, j] += factor * (A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j])


@inlined
def add_outer(factor, a, b, out):
    """out += factor a b^T."""
    for i in range(3):
        for j in range(3):
            out[i, j] += factor * a[i] * b[j]


@inlined
def add_diagonal(factor, out):
    """out += factor 1."""
    for i in range(3):
        out[i, i] += factor


@inlined
def add_half_turn_rate(theta, y, out):
    """out += d(B^-1 y)/dtheta = -y~/2 + ((theta . y) 1 + theta y^T)/4; with -y~, d(B^-T y)/dtheta."""
    along = 0.25 * (theta[0] * y[0] + theta[1] * y[1] + theta[2] * y[2])
    for i in range(3):
        for j in range(3):
            out[i, j] += 0.25 * theta[i] * y[j]
        out[i, i] += along
    out[0, 1] += 0.5 * y[2]
    out[0, 2] -= 0.5 * y[1]
    out[1, 0] -= 0.5 * y[2]
    out[1, 2] += 0.5 * y[0]
    out[2, 0] += 0.5 * y[1]
    out[2, 1] -= 0.5 * y[0]


@inlined
def turn_rates(theta, sign, B, inverse):
    """B = (1 - theta~/2)/(1 + tau) and its inverse 1 + theta~/2 + theta theta^T/4, equation (16); sign 1.

    With sign -1, their transposes.
    """
    tau = 0.25 * (theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    skew(theta, B)
    for i in range(3):
        for j in range(3):
            half = 0.5 * sign * B[i, j]
            inverse[i, j] = half + 0.25 * theta[i] * theta[j]
            B[i, j] = -half / (1.0 + tau)
        inverse[i, i] += 1.0
        B[i, i] += 1.0 / (1.0 + tau)


@inlined
def add_block_rows(factor, A, rows, at, columns, out, row):
    """out[row : row + 3, :columns] += factor A rows[at : at + 3, :columns]."""
    for i in range(3):
        for k in range(3):
            x = factor * A[i, k]
            for j in range(columns):
                out[row + i, j] += x * rows[at + k, j]


@inlined
def add_block(factor, A, out, row, column):
    """out[row : row + 3, column : column + 3] += factor A."""
    for i in range(3):
        for j in range(3):
            out[row + i, column + j] += factor * A[i, j]


@inlined
def six_times(J, x, out):
    """out = J x for a symmetric J of six numbers."""
    out[0] = J[0] * x[0] + J[5] * x[1] + J[4] * x[2]
    out[1] = J[5] * x[0] + J[1] * x[1] + J[3] * x[2]
    out[2] = J[4] * x[0] + J[3] * x[1] + J[2] * x[2]


@inlined
def six_to_matrix(J, out):
    """out (3, 3) of six numbers."""
    out[0, 0], out[1, 1], out[2, 2] = J[0], J[1], J[2]
    out[1, 2], out[2, 1] = J[3], J[3]
    out[0, 2], out[2, 0] = J[4], J[4]
    out[0, 1], out[1, 0] = J[5], J[5]

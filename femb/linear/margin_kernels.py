"""Kernels of opened loops; see ``femb.linear.margins``.

Matrices come by columns, so that each adds a multiple of a contiguous one.
"""

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel

# In place of a pivot of zero.
LITTLE = 1e-30 + 0.0j


@inlined
def add_product(columns, x, out):
    """out (n,) += the matrix of these columns times x (n,)."""
    for k in range(len(x)):
        value = x[k]
        for i in range(len(out)):
            out[i] += columns[k, i] * value


@inlined
def substitute(columns, point, x):
    """x (n,) becomes (point - T)^-1 x, with the columns of a triangle T; a pivot of zero is taken as a small number."""
    for k in range(len(x) - 1, -1, -1):
        pivot = point - columns[k, k]
        if pivot == 0.0:
            pivot = LITTLE
        # a quotient of complex numbers looks at their sizes first
        value = x[k] * pivot.conjugate() / (pivot.real * pivot.real + pivot.imag * pivot.imag)
        x[k] = value
        for i in range(k):
            x[i] += columns[k, i] * value


@kernel
def responses(triangle, left, right, points):
    """(f, p, m) left (z - T)^-1 right at points z (f,), with the columns of a triangle T.

    left (p, n), right (m, n) : of inputs by rows.
    """
    found = np.zeros((len(points), len(left), len(right)), dtype=np.complex128)
    for f in range(len(points)):
        for j in range(len(right)):
            x = right[j].copy()
            substitute(triangle, points[f], x)
            for i in range(len(left)):
                value = 0.0j
                for k in range(len(x)):
                    value += left[i, k] * x[k]
                found[f, i, j] = value
    return found


@kernel
def refined_response(triangle, basis, adjoint, right, A, B, C, point):
    """C (z - A)^-1 B at a point z, with one step of refinement.

    triangle, basis, adjoint (n, n) complex: of A = basis triangle adjoint. right (n,) : adjoint B. B, C (n,).
    """
    part, x, rest = right.copy(), np.zeros_like(right), B.astype(np.complex128)
    substitute(triangle, point, part)
    add_product(basis, part, x)
    add_product(A, x, rest)
    part[:] = 0.0
    for i in range(len(x)):
        rest[i] -= point * x[i]
    add_product(adjoint, rest, part)
    substitute(triangle, point, part)
    add_product(basis, part, x)
    found = 0.0j
    for i in range(len(x)):
        found += C[i] * x[i]
    return found

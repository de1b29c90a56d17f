"""Velocities from momenta by a recursion of cost O(n), and the energy matrix from composite inertias.

Source: docs/theory/hamiltonian.md, sections 4 and 5.
"""

import numpy as np

from femb.formulations.hamiltonian.sweep_kernels import cholesky_solve
from femb.numerics.compile import inlined, kernel

# Smallest ratio of a pivot to the inertia with all outboard hinges locked; a smaller one is a rounding error.
ROUNDING = 1e-13


@inlined
def recursive_velocities(parent, floating, driven, given, S, M, p, h0, rate, v, h):
    """Articulated recursion, equations (9) to (11); on return M (rows, 6, 6) are the articulated inertias.

    p (n,) : momenta of the hinges. h0 (6,) : momentum of the tree about the base. Sets the rates (n,) of the
    hinges, the velocities v (rows, 6) of the segments and the momenta h (rows, 6) of the hinges. A driven hinge
    (``driven[k]``) has the rate ``given[k]``; its p is not read. Returns the number of the first segment whose pivot
    is a rounding error, or zero.
    """
    rows = parent.size
    U, W, composite = np.empty((rows, 6)), np.empty(rows), np.empty((rows, 3))
    D, bias = np.empty(rows), np.zeros((rows, 6))
    for k in range(rows):  # mass, and twice the mean of the second moments: a bound of the inertia about any axis
        composite[k, 0] = M[k, 3, 3]
        composite[k, 1] = M[k, 0, 0] + M[k, 1, 1] + M[k, 2, 2]
    failed = 0
    for k in range(rows - 1, 0, -1):
        g = parent[k]
        composite[g, 0] += composite[k, 0]
        composite[g, 1] += composite[k, 1]
        for i in range(6):
            total = 0.0
            for j in range(6):
                total += M[k, i, j] * S[k, j]
            U[k, i] = total
        if driven[k - 1]:
            r = given[k - 1]
            for i in range(6):
                for j in range(6):
                    M[g, i, j] += M[k, i, j]
                bias[g, i] += bias[k, i] + U[k, i] * r
            continue
        d, w = 0.0, p[k - 1]
        for i in range(6):
            d += S[k, i] * U[k, i]
            w -= S[k, i] * bias[k, i]
        omega2 = S[k, 0] * S[k, 0] + S[k, 1] * S[k, 1] + S[k, 2] * S[k, 2]
        size = omega2 * composite[k, 1] + composite[k, 0] * (S[k, 3] * S[k, 3] + S[k, 4] * S[k, 4] + S[k, 5] * S[k, 5])
        if not d > ROUNDING * size:
            failed = k
        D[k], W[k] = d, w
        inverse = 1.0 / d
        f = w * inverse
        for i in range(6):
            e = U[k, i] * inverse
            for j in range(6):
                M[g, i, j] += M[k, i, j] - e * U[k, j]
            bias[g, i] += bias[k, i] + U[k, i] * f
    if floating:
        A, x = np.empty((6, 6)), np.empty(6)
        for i in range(6):
            x[i] = h0[i] - bias[0, i]
            for j in range(6):
                A[i, j] = M[0, i, j]
        cholesky_solve(A, x)
        for i in range(6):
            v[0, i] = x[i]
    else:
        for i in range(6):
            v[0, i] = 0.0
    for k in range(rows):
        if k > 0:
            g = parent[k]
            if driven[k - 1]:
                rate[k - 1] = given[k - 1]
            else:
                w = W[k]
                for i in range(6):
                    w -= U[k, i] * v[g, i]
                rate[k - 1] = w / D[k]
            for i in range(6):
                v[k, i] = v[g, i] + S[k, i] * rate[k - 1]
        for i in range(6):
            total = bias[k, i]
            for j in range(6):
                total += M[k, i, j] * v[k, j]
            h[k, i] = total
    return failed


@kernel
def energy_matrix(parent, S, M, A):
    """A (6 + n, 6 + n), the base's six velocities first, from composite inertias, equation (7).

    Sets only the entries of the lower triangle for pairs on one path; on return M are the composite inertias.
    """
    rows = parent.size
    F = np.empty(6)
    for k in range(rows - 1, 0, -1):
        for i in range(6):
            total = 0.0
            for j in range(6):
                total += M[k, i, j] * S[k, j]
                M[parent[k], i, j] += M[k, i, j]
            F[i] = total
        i = k
        while i > 0:
            total = 0.0
            for j in range(6):
                total += S[i, j] * F[j]
            A[5 + k, 5 + i] = total
            i = parent[i]
        for j in range(6):
            A[5 + k, j] = F[j]
    for i in range(6):
        for j in range(6):
            A[i, j] = M[0, i, j]

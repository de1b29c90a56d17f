"""Velocities from momenta and accelerations from forces by one recursion of cost O(n), and the energy matrix.

Sources: docs/theory/hamiltonian.md, sections 4, 5 and 7; Featherstone, Rigid Body Dynamics Algorithms, Springer 2008,
section 7.3 (there in link axes).
"""

import numpy as np

from femb.formulations.hamiltonian.sweep_kernels import cholesky_solve
from femb.formulations.spatial_kernels import add_cross, transform
from femb.numerics.compile import inlined, kernel

# Smallest ratio of a pivot to the inertia with all outboard hinges locked; a smaller one is a rounding error.
ROUNDING = 1e-13


@inlined
def articulated(parent, floating, driven, given, S, M, c, bias, p, h0, rate, v, h):
    """Articulated recursion, equations (9) to (11), for v_k = v_parent + c_k + S_k rate_k and h_k = M_k v_k + bias_k
    plus the h of the segments outboard, with S_k . h_k = p_k and, for a free base, h_0 = h0.

    p (n,), h0 (6,) : momenta of the hinges and of the tree about the base; or, for accelerations, the forces. Sets the
    rates (n,) of the hinges, v and h (rows, 6). c (rows, 6), or (0, 6) for zero. A driven hinge (``driven[k]``) has
    the rate ``given[k]``; its p is not read. On return M (rows, 6, 6) are the articulated inertias and bias (rows, 6)
    the articulated ones. Returns the number of the first segment whose pivot is a rounding error, or zero.
    """
    rows, moving = parent.size, c.shape[0] > 0
    U, W, D, composite = np.empty((rows, 6)), np.empty(rows), np.empty(rows), np.empty((rows, 2))
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
                if moving:
                    bias[k, i] += M[k, i, j] * c[k, j]
            U[k, i] = total
        if driven[k - 1]:
            for i in range(6):
                for j in range(6):
                    M[g, i, j] += M[k, i, j]
                bias[g, i] += bias[k, i] + U[k, i] * given[k - 1]
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
    for i in range(6):
        v[0, i] = h0[i] - bias[0, i] if floating else 0.0
    if floating:
        cholesky_solve(M[0].copy(), v[0])
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
            total = bias[k, i]  # with the momentum of c
            for j in range(6):
                total += M[k, i, j] * v[k, j]
            h[k, i] = total
        if moving:
            for i in range(6):
                v[k, i] += c[k, i]
    return failed


@inlined
def inertia_force(M, v, h, out):
    """out (6,) = v x* (M v), equation (16), and h (6,) = M v."""
    transform(M, v, h)
    for i in range(3):
        m, n = (i + 1) % 3, (i + 2) % 3
        out[i] = v[m] * h[n] - v[n] * h[m] + v[3 + m] * h[3 + n] - v[3 + n] * h[3 + m]
        out[3 + i] = v[m] * h[3 + n] - v[n] * h[3 + m]


@kernel
def accelerations(parent, floating, driven, given, S, M, v, rate, force, W, second, a, f):
    """Hinge accelerations ``second`` (n,), segments' a (rows, 6) and the forces f (rows, 6) through their hinges.

    The integration of momenta does not need them; results and drive torques do. a is the rate of v at the common point,
    fixed in space. force (n,): spring, damper and other generalized forces; W (rows, 6): external wrenches of each
    segment. A driven hinge has the acceleration ``given[k]``. M is overwritten. f[0] is zero for a free base;
    otherwise it is the force of the ground.
    """
    rows = parent.size
    bias, c, h = np.empty((rows, 6)), np.zeros((rows, 6)), np.empty(6)
    for k in range(rows):
        inertia_force(M[k], v[k], h, bias[k])
        for i in range(6):
            bias[k, i] -= W[k, i]
        if k > 0:
            add_cross(v[k], S[k], rate[k - 1], c[k])
    articulated(parent, floating, driven, given, S, M, c, bias, force, np.zeros(6), second, a, f)


@kernel
def energy_matrix(parent, S, M, A):
    """A (6 + n, 6 + n), the base's six velocities first, from composite inertias, equation (7).

    Sets only the entries of the lower triangle for pairs on one path; on return M are the composite inertias.
    """
    rows = parent.size
    F = np.empty(6)
    for k in range(rows - 1, 0, -1):
        transform(M[k], S[k], F)
        for i in range(6):
            for j in range(6):
                M[parent[k], i, j] += M[k, i, j]
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

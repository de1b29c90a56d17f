"""Accelerations and the forces that the hinges transmit: the articulated-body recursion about the common point.

The integration of momenta does not need it; results and drive torques do. Source: docs/theory/hamiltonian.md,
section 7; Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 7.3 (there in link axes).
"""

import numpy as np

from femb.formulations.hamiltonian.sweep_kernels import cholesky_solve, motion_rate
from femb.numerics.compile import kernel


@kernel
def accelerations(parent, floating, driven, given, S, M, v, rate, force, W, second, a, f):
    """Hinge accelerations ``second`` (n,), segments' a (rows, 6) and the forces f (rows, 6) through their hinges.

    a is the rate of v at the common point, fixed in space. force (n,): spring, damper and other generalized forces; W
    (rows, 6): external wrenches of each segment. A driven hinge has the acceleration ``given[k]``. M is overwritten.
    f[0] is zero for a free base; otherwise it is the force of the ground.
    """
    rows = parent.size
    U, D, w = np.empty((rows, 6)), np.empty(rows), np.empty(rows)
    bias, c, h = np.empty((rows, 6)), np.zeros((rows, 6)), np.empty(6)
    for k in range(rows):
        for i in range(6):
            h[i] = 0.0
            for j in range(6):
                h[i] += M[k, i, j] * v[k, j]
        x, y, z = v[k, 0], v[k, 1], v[k, 2]
        r, s, t = v[k, 3], v[k, 4], v[k, 5]
        # v x* (M v) less the external wrench, equation (16)
        bias[k, 0] = y * h[2] - z * h[1] + s * h[5] - t * h[4] - W[k, 0]
        bias[k, 1] = z * h[0] - x * h[2] + t * h[3] - r * h[5] - W[k, 1]
        bias[k, 2] = x * h[1] - y * h[0] + r * h[4] - s * h[3] - W[k, 2]
        bias[k, 3] = y * h[5] - z * h[4] - W[k, 3]
        bias[k, 4] = z * h[3] - x * h[5] - W[k, 4]
        bias[k, 5] = x * h[4] - y * h[3] - W[k, 5]
    for k in range(rows - 1, 0, -1):
        g = parent[k]
        motion_rate(S, v, k, c[k])
        for i in range(6):
            c[k, i] *= rate[k - 1]
            if driven[k - 1]:
                c[k, i] += S[k, i] * given[k - 1]
        D[k], w[k] = 0.0, force[k - 1]
        for i in range(6):
            total = 0.0
            for j in range(6):
                total += M[k, i, j] * S[k, j]
            U[k, i] = total
            D[k] += S[k, i] * total
            w[k] -= S[k, i] * bias[k, i]
        if driven[k - 1]:
            for i in range(6):
                bias[g, i] += bias[k, i]
                for j in range(6):
                    M[g, i, j] += M[k, i, j]
                    bias[g, i] += M[k, i, j] * c[k, j]
            continue
        share = w[k]
        for i in range(6):
            share -= U[k, i] * c[k, i]
        share /= D[k]
        for i in range(6):
            bias[g, i] += bias[k, i] + U[k, i] * share
            e = U[k, i] / D[k]
            for j in range(6):
                bias[g, i] += M[k, i, j] * c[k, j]
                M[g, i, j] += M[k, i, j] - e * U[k, j]
    for i in range(6):
        a[0, i] = -bias[0, i] if floating else 0.0
    if floating:
        cholesky_solve(M[0].copy(), a[0])
    for k in range(rows):
        if k > 0:
            g = parent[k]
            second[k - 1] = given[k - 1]
            if not driven[k - 1]:
                total = w[k]
                for i in range(6):
                    total -= U[k, i] * (a[g, i] + c[k, i])
                second[k - 1] = total / D[k]
            for i in range(6):
                a[k, i] = a[g, i] + c[k, i]
                if not driven[k - 1]:
                    a[k, i] += S[k, i] * second[k - 1]
        for i in range(6):
            total = bias[k, i]
            for j in range(6):
                total += M[k, i, j] * a[k, j]
            f[k, i] = total

"""Poses, spatial inertias and velocities of a tree by sweeps over its segments; row 0 is the base.

Spatial vectors are in inertial axes about one common point, the origin of the base's frame: motions (omega, v), momenta
and forces (moment, force). A recursion needs no change of frames. Source: docs/theory/hamiltonian.md, section 3.
"""

import math

from femb.formulations.hamiltonian.columns import (
    AT,
    AXIS,
    CENTER,
    COSINE,
    FIXED,
    INERTIA,
    MASS,
    SINE,
    SLIDE,
)
from femb.numerics.compile import inlined, kernel


@kernel
def poses(parent, data, q, R, hinge, c, S):
    """Attitudes R, hinge points hinge, mass centres c (rows, 3) and hinge motions S (rows, 6); R[0] is given.

    Equations (1) and (4).
    """
    for i in range(3):
        hinge[0, i] = 0.0
        c[0, i] = R[0, i, 0] * data[0, CENTER] + R[0, i, 1] * data[0, CENTER + 1] + R[0, i, 2] * data[0, CENTER + 2]
    for k in range(1, parent.size):
        h, x, slide = parent[k], q[k - 1], data[k, SLIDE]
        sine, cosine = math.sin(x), math.cos(x)
        for j in range(3):
            a = data[k, FIXED + j] + cosine * data[k, COSINE + j] + sine * data[k, SINE + j]
            b = data[k, FIXED + 3 + j] + cosine * data[k, COSINE + 3 + j] + sine * data[k, SINE + 3 + j]
            d = data[k, FIXED + 6 + j] + cosine * data[k, COSINE + 6 + j] + sine * data[k, SINE + 6 + j]
            for i in range(3):
                R[k, i, j] = R[h, i, 0] * a + R[h, i, 1] * b + R[h, i, 2] * d
        shift = slide * x
        a = data[k, AT] + shift * data[k, AXIS]
        b = data[k, AT + 1] + shift * data[k, AXIS + 1]
        d = data[k, AT + 2] + shift * data[k, AXIS + 2]
        for i in range(3):
            hinge[k, i] = hinge[h, i] + R[h, i, 0] * a + R[h, i, 1] * b + R[h, i, 2] * d
            c[k, i] = (
                hinge[k, i]
                + R[k, i, 0] * data[k, CENTER]
                + R[k, i, 1] * data[k, CENTER + 1]
                + R[k, i, 2] * data[k, CENTER + 2]
            )
        z0 = R[h, 0, 0] * data[k, AXIS] + R[h, 0, 1] * data[k, AXIS + 1] + R[h, 0, 2] * data[k, AXIS + 2]
        z1 = R[h, 1, 0] * data[k, AXIS] + R[h, 1, 1] * data[k, AXIS + 1] + R[h, 1, 2] * data[k, AXIS + 2]
        z2 = R[h, 2, 0] * data[k, AXIS] + R[h, 2, 1] * data[k, AXIS + 1] + R[h, 2, 2] * data[k, AXIS + 2]
        revolute = 1.0 - slide
        S[k, 0] = revolute * z0
        S[k, 1] = revolute * z1
        S[k, 2] = revolute * z2
        S[k, 3] = revolute * (hinge[k, 1] * z2 - hinge[k, 2] * z1) + slide * z0
        S[k, 4] = revolute * (hinge[k, 2] * z0 - hinge[k, 0] * z2) + slide * z1
        S[k, 5] = revolute * (hinge[k, 0] * z1 - hinge[k, 1] * z0) + slide * z2


@kernel
def spatial_inertias(data, R, c, M):
    """M (rows, 6, 6) about the common point, equation (5)."""
    for k in range(M.shape[0]):
        m, x, y, z = data[k, MASS], c[k, 0], c[k, 1], c[k, 2]
        for i in range(3):
            a = R[k, i, 0] * data[k, INERTIA] + R[k, i, 1] * data[k, INERTIA + 3] + R[k, i, 2] * data[k, INERTIA + 6]
            b = (
                R[k, i, 0] * data[k, INERTIA + 1]
                + R[k, i, 1] * data[k, INERTIA + 4]
                + R[k, i, 2] * data[k, INERTIA + 7]
            )
            d = (
                R[k, i, 0] * data[k, INERTIA + 2]
                + R[k, i, 1] * data[k, INERTIA + 5]
                + R[k, i, 2] * data[k, INERTIA + 8]
            )
            for j in range(3):
                M[k, i, j] = a * R[k, j, 0] + b * R[k, j, 1] + d * R[k, j, 2] - m * c[k, i] * c[k, j]
                M[k, i, 3 + j] = 0.0
                M[k, 3 + i, j] = 0.0
                M[k, 3 + i, 3 + j] = 0.0
        square = m * (x * x + y * y + z * z)
        for i in range(3):
            M[k, i, i] += square
            M[k, 3 + i, 3 + i] = m
        M[k, 0, 4] = -m * z
        M[k, 0, 5] = m * y
        M[k, 1, 3] = m * z
        M[k, 1, 5] = -m * x
        M[k, 2, 3] = -m * y
        M[k, 2, 4] = m * x
        M[k, 4, 0] = -m * z
        M[k, 5, 0] = m * y
        M[k, 3, 1] = m * z
        M[k, 5, 1] = -m * x
        M[k, 3, 2] = -m * y
        M[k, 4, 2] = m * x


@kernel
def motion_rate(S, v, k, out):
    """out (6,) = v_k x S_k, the rate of the hinge motion S_k, equation (6)."""
    a, b, c = v[k, 0], v[k, 1], v[k, 2]
    d, e, f = v[k, 3], v[k, 4], v[k, 5]
    x, y, z = S[k, 0], S[k, 1], S[k, 2]
    s, t, u = S[k, 3], S[k, 4], S[k, 5]
    out[0] = b * z - c * y
    out[1] = c * x - a * z
    out[2] = a * y - b * x
    out[3] = b * u - c * t + e * z - f * y
    out[4] = c * s - a * u + f * x - d * z
    out[5] = a * t - b * s + d * y - e * x


@kernel
def velocities(parent, S, rate, v):
    """v (rows, 6) from hinge rates (n,) and v[0]."""
    for k in range(1, parent.size):
        h = parent[k]
        for i in range(6):
            v[k, i] = v[h, i] + S[k, i] * rate[k - 1]


@kernel
def multiply(M, x, out):
    """out (rows, 6) = M x, row by row."""
    for k in range(x.shape[0]):
        for i in range(6):
            total = 0.0
            for j in range(6):
                total += M[k, i, j] * x[k, j]
            out[k, i] = total


@kernel
def sum_outboard(parent, x):
    """Replace x (rows, 6) by its sums over each segment and the segments outboard of it."""
    for k in range(parent.size - 1, 0, -1):
        for i in range(6):
            x[parent[k], i] += x[k, i]


@inlined
def cholesky_solve(A, x):
    """x = A^-1 x in place, A symmetric and overwritten; returns whether A is positive definite."""
    n = x.size
    for j in range(n):
        for i in range(j, n):
            total = A[i, j]
            for m in range(j):
                total -= A[i, m] * A[j, m]
            if i == j:
                if not total > 0.0:
                    return False
                A[j, j] = math.sqrt(total)
            else:
                A[i, j] = total / A[j, j]
    for i in range(n):
        total = x[i]
        for m in range(i):
            total -= A[i, m] * x[m]
        x[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for m in range(i + 1, n):
            total -= A[m, i] * x[m]
        x[i] = total / A[i, i]
    return True

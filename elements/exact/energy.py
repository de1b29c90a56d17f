"""Kernels of the strain energy in natural coordinates: compliance, stress, force and second derivatives.

Source: docs/theory/exact_beam.md, sections 4 to 6.
"""

import math

from femb.elements.exact.element_data import LENGTH, MEAN, QUADRATIC, REFERENCE, SLOPE
from femb.numerics.compiler.compile import inlined


@inlined
def adjoint(u, r, a, out):
    """out (6,) = ad_d a = (theta x a_t + u x a_r, theta x a_r), of d = (u, r)."""
    out[0] = r[1] * a[2] - r[2] * a[1] + u[1] * a[5] - u[2] * a[4]
    out[1] = r[2] * a[0] - r[0] * a[2] + u[2] * a[3] - u[0] * a[5]
    out[2] = r[0] * a[1] - r[1] * a[0] + u[0] * a[4] - u[1] * a[3]
    out[3] = r[1] * a[5] - r[2] * a[4]
    out[4] = r[2] * a[3] - r[0] * a[5]
    out[5] = r[0] * a[4] - r[1] * a[3]


@inlined
def coadjoint(u, r, s, out):
    """out (6,) = ad_d^T s = (n x theta, n x u + m x theta), of s = (n, m)."""
    out[0] = s[1] * r[2] - s[2] * r[1]
    out[1] = s[2] * r[0] - s[0] * r[2]
    out[2] = s[0] * r[1] - s[1] * r[0]
    out[3] = s[1] * u[2] - s[2] * u[1] + s[4] * r[2] - s[5] * r[1]
    out[4] = s[2] * u[0] - s[0] * u[2] + s[5] * r[0] - s[3] * r[2]
    out[5] = s[0] * u[1] - s[1] * u[0] + s[3] * r[1] - s[4] * r[0]


@inlined
def compliance(data, d, X, C):
    """X = G + ad_d Fq and the Cholesky factor of C (lower triangle), equation (11), (6, 6) each."""
    u, r = d[0:3], d[3:6]
    for j in range(6):
        for i in range(6):
            C[0, i] = data[QUADRATIC + 6 * i + j]
        adjoint(u, r, C[0], C[1])
        for i in range(6):
            X[i, j] = data[SLOPE + 6 * i + j] + C[1, i]
    # C = Fm + ad_d G + X ad_d^T, by rows; X first, since its row is turned by ad_d
    for i in range(6):
        adjoint(u, r, X[i], C[i])
        for j in range(6):
            C[i, j] += data[MEAN + 6 * i + j]
    for j in range(6):
        g0, g1, g2 = data[SLOPE + j], data[SLOPE + 6 + j], data[SLOPE + 12 + j]
        g3, g4, g5 = data[SLOPE + 18 + j], data[SLOPE + 24 + j], data[SLOPE + 30 + j]
        C[0, j] += r[1] * g2 - r[2] * g1 + u[1] * g5 - u[2] * g4
        C[1, j] += r[2] * g0 - r[0] * g2 + u[2] * g3 - u[0] * g5
        C[2, j] += r[0] * g1 - r[1] * g0 + u[0] * g4 - u[1] * g3
        C[3, j] += r[1] * g5 - r[2] * g4
        C[4, j] += r[2] * g3 - r[0] * g5
        C[5, j] += r[0] * g4 - r[1] * g3
    for j in range(6):
        x = C[j, j]
        for k in range(j):
            x -= C[j, k] * C[j, k]
        x = math.sqrt(x)
        C[j, j] = x
        for i in range(j + 1, 6):
            y = C[i, j]
            for k in range(j):
                y -= C[i, k] * C[j, k]
            C[i, j] = y / x


@inlined
def forward(C, x):
    """x <- C_L^-1 x, with the Cholesky factor."""
    for i in range(6):
        for k in range(i):
            x[i] -= C[i, k] * x[k]
        x[i] /= C[i, i]


@inlined
def solve(C, x):
    """x <- C^-1 x, with the Cholesky factor."""
    forward(C, x)
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= C[k, i] * x[k]
        x[i] /= C[i, i]


@inlined
def stress_force(data, d, sigma, w, y, n):
    """w, y and n_d (6,) of a stress sigma: equation (11)."""
    u, r = d[0:3], d[3:6]
    coadjoint(u, r, sigma, w)
    for i in range(6):
        x = 0.0
        for k in range(6):
            x += data[QUADRATIC + 6 * i + k] * w[k] + data[SLOPE + 6 * i + k] * sigma[k]
        y[i] = x
    # n = sigma + L S(sigma) y
    coadjoint(y[0:3], y[3:6], sigma, n)
    length = data[LENGTH]
    for i in range(6):
        n[i] = sigma[i] + length * n[i]


@inlined
def linear_stress_force(data, d, X, sigma, own, w, y, change, n):
    """n_d (6,) of the stress ``sigma``, linear about the stress ``own``: equation (19). w, y, change (6,) : work."""
    length = data[LENGTH]
    stress_force(data, d, own, w, y, n)
    for i in range(6):
        change[i] = sigma[i] - own[i]
    # Lambda^T change, by (14) and the skew symmetry of S: change + L ad_y^T change + L S(own) X^T change
    coadjoint(y[0:3], y[3:6], change, w)
    for i in range(6):
        x = 0.0
        for k in range(6):
            x += X[k, i] * change[k]
        y[i] = x
        n[i] += change[i] + length * w[i]
    coadjoint(y[0:3], y[3:6], own, w)
    for i in range(6):
        n[i] += length * w[i]


@inlined
def strain(data, d, free, e):
    """e (6,) = d - d0 - free, with the free strain times the length."""
    for i in range(6):
        e[i] = d[i] - data[REFERENCE + i] - free[i]


@inlined
def rows_times_stress(A, sigma, out):
    """out = A S(sigma): rows (a, b) become (b x n, a x n + b x m)."""
    for i in range(6):
        a0, a1, a2, b0, b1, b2 = A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5]
        out[i, 0] = b1 * sigma[2] - b2 * sigma[1]
        out[i, 1] = b2 * sigma[0] - b0 * sigma[2]
        out[i, 2] = b0 * sigma[1] - b1 * sigma[0]
        out[i, 3] = a1 * sigma[2] - a2 * sigma[1] + b1 * sigma[5] - b2 * sigma[4]
        out[i, 4] = a2 * sigma[0] - a0 * sigma[2] + b2 * sigma[3] - b0 * sigma[5]
        out[i, 5] = a0 * sigma[1] - a1 * sigma[0] + b0 * sigma[4] - b1 * sigma[3]


@inlined
def add_adjoint(a, factor, M):
    """M (6, 6) += factor ad_a."""
    for o in (0, 3):
        M[o, o + 1] -= factor * a[5]
        M[o + 1, o] += factor * a[5]
        M[o, o + 2] += factor * a[4]
        M[o + 2, o] -= factor * a[4]
        M[o + 1, o + 2] -= factor * a[3]
        M[o + 2, o + 1] += factor * a[3]
    M[0, 4] -= factor * a[2]
    M[1, 3] += factor * a[2]
    M[0, 5] += factor * a[1]
    M[2, 3] -= factor * a[1]
    M[1, 5] -= factor * a[0]
    M[2, 4] += factor * a[0]


@inlined
def second_derivative(data, X, C, sigma, y, L6, work, H):
    """H (6, 6) of equation (14), and Lambda (6, 6) in L6; ``work`` (6, 6)."""
    length = data[LENGTH]
    rows_times_stress(X, sigma, L6)
    for i in range(6):
        for j in range(6):
            L6[i, j] *= -length
        L6[i, i] += 1.0
    add_adjoint(y, length, L6)
    # L S Fq S: the rows, then the columns
    for i in range(6):
        for j in range(6):
            H[i, j] = data[QUADRATIC + 6 * i + j]
    rows_times_stress(H, sigma, work)
    for j in range(6):
        a0, a1, a2, b0, b1, b2 = work[0, j], work[1, j], work[2, j], work[3, j], work[4, j], work[5, j]
        H[0, j] = length * (sigma[1] * b2 - sigma[2] * b1)
        H[1, j] = length * (sigma[2] * b0 - sigma[0] * b2)
        H[2, j] = length * (sigma[0] * b1 - sigma[1] * b0)
        H[3, j] = length * (sigma[1] * a2 - sigma[2] * a1 + sigma[4] * b2 - sigma[5] * b1)
        H[4, j] = length * (sigma[2] * a0 - sigma[0] * a2 + sigma[5] * b0 - sigma[3] * b2)
        H[5, j] = length * (sigma[0] * a1 - sigma[1] * a0 + sigma[3] * b1 - sigma[4] * b0)
    # C_L^-1 Lambda
    for i in range(6):
        for j in range(6):
            work[i, j] = L6[i, j]
        for k in range(i):
            x = C[i, k]
            for j in range(6):
                work[i, j] -= x * work[k, j]
        x = 1.0 / C[i, i]
        for j in range(6):
            work[i, j] *= x
    x = 1.0 / length
    for k in range(6):
        for i in range(6):
            y_ki = x * work[k, i]
            for j in range(6):
                H[i, j] += y_ki * work[k, j]

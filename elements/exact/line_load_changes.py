"""Changes of what loads along exact beam elements depend on: the bubble, vectors that turn, and forces at points.

Changes are along the motion z (9,) of the ends; other arguments as in ``line_load``. Source: docs/theory/exact_beam.md,
section 10.
"""

import math

from femb.elements.exact.columns import LENGTH, QUADRATIC
from femb.elements.exact.energy import coadjoint, rows_times_stress, solve
from femb.elements.exact.line_load import bubble_argument, load_vector
from femb.numerics.compile import inlined
from femb.numerics.vector3 import rotate, rotate_back


@inlined
def mean_change(psi, y, M):
    """M (3, 3): derivative of A(psi)^T y by psi."""
    t = psi[0] * psi[0] + psi[1] * psi[1] + psi[2] * psi[2]
    if t < 1e-2:
        a = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0)))
        b = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))
        # derivatives by t
        da = -1.0 / 24.0 + t / 360.0 * (1.0 - t * 3.0 / 112.0 * (1.0 - t * 4.0 / 270.0))
        db = -1.0 / 120.0 + t / 2520.0 * (1.0 - t * 3.0 / 144.0 * (1.0 - t * 4.0 / 330.0))
    else:
        size = math.sqrt(t)
        sine, cosine = math.sin(size), math.cos(size)
        a = (1.0 - cosine) / t
        b = (1.0 - sine / size) / t
        da = (0.5 * sine / size - a) / t
        db = (0.5 * (sine / size - cosine) / t - b) / t
    s = psi[0] * y[0] + psi[1] * y[1] + psi[2] * y[2]
    c0 = psi[1] * y[2] - psi[2] * y[1]
    c1 = psi[2] * y[0] - psi[0] * y[2]
    c2 = psi[0] * y[1] - psi[1] * y[0]
    for i in range(3):
        cross_i = c0 if i == 0 else (c1 if i == 1 else c2)
        w = 2.0 * db * (psi[i] * s - t * y[i]) - 2.0 * b * y[i] - 2.0 * da * cross_i
        for j in range(3):
            M[i, j] = b * psi[i] * y[j] + w * psi[j]
        M[i, i] += b * s
    M[0, 1] -= a * y[2]
    M[1, 0] += a * y[2]
    M[0, 2] += a * y[1]
    M[2, 0] -= a * y[1]
    M[1, 2] -= a * y[0]
    M[2, 1] += a * y[0]


@inlined
def bubble_change(data, X, C, sigma, Lambda, column, work, Sd, Y):
    """Changes with d, (6, 6): Sd of the stress, (L C)^-1 Lambda, and Y of y, Fq S(sigma) + X^T Sd."""
    for i in range(6):
        for j in range(6):
            work[i, j] = data[QUADRATIC + 6 * i + j]
    rows_times_stress(work, sigma, Y)
    for j in range(6):
        for i in range(6):
            column[i] = Lambda[i, j] / data[LENGTH]
        solve(C, column)
        for i in range(6):
            Sd[i, j] = column[i]
            for k in range(6):
                Y[i, j] += X[k, i] * column[k]


@inlined
def bubble_force_change(data, X, sigma, y, eta, a, Sd, Y, dd, deta, dh, six, dn):
    """dn (6,) += change of the force of the bubble, eta + L (ad_y^T eta + ad_a^T sigma), with those of d, eta and h.

    six (4, 6) : work.
    """
    ds, dy, da, c, length = six[0], six[1], six[2], six[3], data[LENGTH]
    coadjoint(dd[0:3], dd[3:6], eta, c)  # S(eta) dd
    bubble_argument(data, X, deta, dh, da)
    for i in range(6):
        ds[i] = 0.0
        dy[i] = 0.0
        for j in range(6):
            ds[i] += Sd[i, j] * dd[j]
            dy[i] += Y[i, j] * dd[j]
            da[i] += data[QUADRATIC + 6 * i + j] * c[j]
        dn[i] += deta[i]
    coadjoint(y[0:3], y[3:6], deta, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(dy[0:3], dy[3:6], eta, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(da[0:3], da[3:6], sigma, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(a[0:3], a[3:6], ds, c)
    for i in range(6):
        dn[i] += length * c[i]


@inlined
def spins(xi, length, follows, E, A, Ab, Y, B, D, T, Tb, S):
    """T (3, 9): rotation of the helix at xi beside end I. S (3, 9): of what a vector follows, beside end I.

    Tb (3, 3) : work.
    """
    for i in range(3):
        for j in range(9):
            T[i, j] = xi * (A[i, 0] * D[3, j] + A[i, 1] * D[4, j] + A[i, 2] * D[5, j])
            S[i, j] = T[i, j] if follows else 0.0
        if not follows:
            S[i, 3 + i] = -1.0
    if follows:
        factor = -6.0 * length * xi * (1.0 - xi)
        for i in range(3):
            for j in range(3):
                Tb[i, j] = factor * (E[i, 0] * Ab[0, j] + E[i, 1] * Ab[1, j] + E[i, 2] * Ab[2, j])
        for j in range(9):
            for k in range(3):
                s = 0.0
                for m in range(6):
                    s += Y[3 + k, m] * B[m, j]
                for i in range(3):
                    S[i, j] += Tb[i, k] * s


@inlined
def crossed(S, f, out):
    """out (3, 9) = S x f, columns of S times a vector."""
    for j in range(9):
        a, b, c = S[0, j], S[1, j], S[2, j]
        out[0, j] = b * f[2] - c * f[1]
        out[1, j] = c * f[0] - a * f[2]
        out[2, j] = a * f[1] - b * f[0]


@inlined
def point_rows(ends, data, R, dF, row, small, y, K):
    """K (12, 12) += rows on the frames of the changes dF (4, 3, 9), axes of end I, by the motions of the ends."""
    for m in range(4):
        o = 6 * (m // 2)
        Rf = R[2 * (m // 2)]
        load_vector(m, ends, data, y)
        for j in range(9):
            for i in range(3):
                row[i] = dF[m, i, j]
            rotate(R[1], row, small)
            rotate_back(Rf, small, row)
            c0 = y[1] * row[2] - y[2] * row[1]
            c1 = y[2] * row[0] - y[0] * row[2]
            c2 = y[0] * row[1] - y[1] * row[0]
            for i in range(3):
                c = c0 if i == 0 else (c1 if i == 1 else c2)
                if j >= 3:
                    column = j if j < 6 else j + 3
                    K[o + 3 + i, column] += c
                    if m % 2 == 0:
                        K[o + i, column] += small[i]
                else:
                    # v = R_I^T (r_II' - r_I')
                    for k in range(3):
                        K[o + 3 + i, 6 + k] += c * R[1, k, j]
                        K[o + 3 + i, k] -= c * R[1, k, j]
                        if m % 2 == 0:
                            K[o + i, 6 + k] += small[i] * R[1, k, j]
                            K[o + i, k] -= small[i] * R[1, k, j]


@inlined
def point_levers(ends, data, R, F, small, y, K):
    """K (12, 12) += the change of the torques about the frames with their own rotation: y~ (R^T F)~."""
    for m in range(4):
        o = 6 * (m // 2) + 3
        rotate(R[1], F[m], small[0])
        rotate_back(R[2 * (m // 2)], small[0], small[1])
        load_vector(m, ends, data, y)
        along = y[0] * small[1, 0] + y[1] * small[1, 1] + y[2] * small[1, 2]
        # y~ f~ = f y^T - (y . f) 1
        for i in range(3):
            for j in range(3):
                K[o + i, o + j] += small[1, i] * y[j]
            K[o + i, o + i] -= along

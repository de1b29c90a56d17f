"""Kernels of the deformation of an element: natural coordinates, strain energy and damping.

Source: docs/theory/exact_beam.md, sections 4 to 6.
"""

import math

from femb.elements.exact.element_data import (
    DAMPING,
    LENGTH,
    MEAN,
    QUADRATIC,
    REFERENCE,
    SLOPE,
    VISCOUS_MEAN,
    VISCOUS_QUADRATIC,
    VISCOUS_SLOPE,
)
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import choose, every
from femb.numerics.orbits import arctangent_series
from femb.numerics.vector3 import hamilton


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


# Kernels of the natural coordinates d = (u, theta) of an element: its end II seen from its end I.
#
# Source: docs/theory/exact_beam.md, section 2.

# Below this mu_0 an element is folded.
FOLDED = 1e-3


@inlined
def end_attitude(pose, end, p):
    """p (4,): unit quaternion of an element's end, from the pose (7,) of its frame."""
    a, b, c, d = pose[3], pose[4], pose[5], pose[6]
    s = 1.0 / math.sqrt(a * a + b * b + c * c + d * d)
    a, b, c, d = a * s, b * s, c * s, d * s
    if not every(end[0] == 0.0):
        a, b, c, d = hamilton(a, b, c, d, end[13], end[14], end[15], end[16])
    p[0], p[1], p[2], p[3] = a, b, c, d


@inlined
def rotation_between(p, theta):
    """theta (3,): rotation vector from end I to end II, axes of both, equation (3).

    p (3, 4): quaternions of both ends, and that between them with p[2, 0] >= 0, which is set.
    """
    p1, p2, m = p[0], p[1], p[2]
    m[0], m[1], m[2], m[3] = hamilton(p1[0], -p1[1], -p1[2], -p1[3], p2[0], p2[1], p2[2], p2[3])
    sign = choose(m[0] < 0.0, -1.0, 1.0)
    for i in range(4):
        m[i] *= sign
    # |m_v| h is the tangent of |theta|/4, |theta|/8 and |theta|/16, whose angle is a series without branches
    s = m[1] * m[1] + m[2] * m[2] + m[3] * m[3]
    h = 1.0 / (1.0 + m[0])
    h = h / (1.0 + math.sqrt(1.0 + s * h * h))
    h = h / (1.0 + math.sqrt(1.0 + s * h * h))
    series = arctangent_series(s * h * h)
    for i in range(3):
        theta[i] = 16.0 * h * series * m[1 + i]


@inlined
def coefficients(t, m):
    """k0, k1, k2 of equation (4) and its derivatives by t = |theta|^2, m (4,) : the quaternion of theta."""
    k0, k1, k2 = series_of_coefficients(t)
    near = t < 1.0
    if every(near):
        return k0, k1, k2
    # sine and cotangent of half the angle; below 1 rad the terms cancel
    size, sine = math.sqrt(t), math.sqrt(m[1] * m[1] + m[2] * m[2] + m[3] * m[3])
    h, cotangent = 0.5 * size, m[0] / sine
    chi = cotangent - h / (sine * sine)
    f0 = (1.0 - h * cotangent) / t
    f1 = (-chi / (4.0 * size) - f0) / t
    f2 = (-(2.0 * h * cotangent - 2.0) / (16.0 * t * sine * sine) + chi / (8.0 * size * t) - 2.0 * f1) / t
    return choose(near, k0, f0), choose(near, k1, f1), choose(near, k2, f2)


# Numerators and denominators of the power series of k0 by t, the highest power first.
SERIES = (
    (236364091.0, 1693824136731743669452800000.0), (77683.0, 14101100039391805440000.0),
    (174611.0, 802857662698291200000.0), (43867.0, 5109094217170944000.0), (3617.0, 10670622842880000.0),
    (1.0, 74724249600.0), (691.0, 1307674368000.0), (1.0, 47900160.0), (1.0, 1209600.0), (1.0, 30240.0),
    (1.0, 720.0), (1.0, 12.0),
)  # fmt: skip
K0 = tuple(above / below for above, below in SERIES[1:])
K1 = tuple((11 - i) * above / below for i, (above, below) in enumerate(SERIES[:-1]))
K2 = tuple((11 - i) * (10 - i) * above / below for i, (above, below) in enumerate(SERIES[:-2]))


@inlined
def series_of_coefficients(t):
    """k0, k1, k2 to rounding for t below 1."""
    k0, k1, k2 = K0[1] + t * K0[0], K1[1] + t * K1[0], K2[1] + t * K2[0]
    for i in range(2, 11):
        k0 = K0[i] + t * k0
    for i in range(2, 11):
        k1 = K1[i] + t * k1
    for i in range(2, 10):
        k2 = K2[i] + t * k2
    return k0, k1, k2


@inlined
def map_of(theta, k0, P):
    """P (3, 3) of equation (4)."""
    a, b, c = theta[0], theta[1], theta[2]
    t = a * a + b * b + c * c
    for i in range(3):
        for j in range(3):
            P[i, j] = k0 * theta[i] * theta[j]
        P[i, i] += 1.0 - k0 * t
    P[0, 1] += 0.5 * c
    P[1, 0] -= 0.5 * c
    P[2, 0] += 0.5 * b
    P[0, 2] -= 0.5 * b
    P[1, 2] += 0.5 * a
    P[2, 1] -= 0.5 * a


@inlined
def map_derivative(theta, y, half, k0, k1, W):
    """W (3, 3) of equation (5): the derivative of P y by theta; with half = -1/2 that of P^T y. half : 1/2 or -1/2."""
    t = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    s = theta[0] * y[0] + theta[1] * y[1] + theta[2] * y[2]
    for i in range(3):
        # theta x (theta x y) = theta (theta . y) - y t
        w = 2.0 * k1 * (theta[i] * s - y[i] * t) - 2.0 * k0 * y[i]
        for j in range(3):
            W[i, j] = k0 * theta[i] * y[j] + w * theta[j]
        W[i, i] += k0 * s
    W[0, 1] -= half * y[2]
    W[1, 0] += half * y[2]
    W[0, 2] += half * y[1]
    W[2, 0] -= half * y[1]
    W[1, 2] -= half * y[0]
    W[2, 1] += half * y[0]


@inlined
def gradient(x, P, W, B):
    """B (6, 9) of equation (7): rates of d by the motion (v, omega_I, omega_II) of the ends; W = W(theta, x)."""
    for i in range(3):
        # rows of u: P [1, x~, 0] + W [0, -P, P^T]
        a, b, c = P[i, 0], P[i, 1], P[i, 2]
        B[i, 0], B[i, 1], B[i, 2] = a, b, c
        # row vector times x~ = row cross x
        B[i, 3] = b * x[2] - c * x[1]
        B[i, 4] = c * x[0] - a * x[2]
        B[i, 5] = a * x[1] - b * x[0]
        for j in range(3):
            first, last = 0.0, 0.0
            for k in range(3):
                first += W[i, k] * P[k, j]
                last += W[i, k] * P[j, k]
            B[i, 3 + j] -= first
            B[i, 6 + j] = last
            B[3 + i, j] = 0.0
            B[3 + i, 3 + j] = -P[i, j]
            B[3 + i, 6 + j] = P[j, i]


# Kernels of the damping of an element: its matrix, and the change of the damping force with the pose.
#
# Source: docs/theory/exact_beam.md, equations (13), (13b), (17), (17b) and (18).


@inlined
def viscous_product(data, d, eta, w, y, out):
    """out (6,) = (viscous compliance) eta, equation (13b); w, y (6,) : as in ``stress_force``, by this compliance."""
    coadjoint(d[0:3], d[3:6], eta, w)
    for i in range(6):
        s = 0.0
        for k in range(6):
            s += data[VISCOUS_QUADRATIC + 6 * i + k] * w[k] + data[VISCOUS_SLOPE + 6 * i + k] * eta[k]
        y[i] = s
    adjoint(d[0:3], d[3:6], y, out)
    for i in range(6):
        for k in range(6):
            out[i] += data[VISCOUS_MEAN + 6 * i + k] * eta[k] + data[VISCOUS_SLOPE + 6 * i + k] * w[k]


@inlined
def add_damping_force(data, d, C, rate, eta, w, y, out, n):
    """n (6,) += the damping force on d, with the Cholesky factor C and the rate (6,) of d; the others (6,) : work."""
    factor = 1.0 / data[LENGTH]
    for i in range(6):
        eta[i] = rate[i]
    solve(C, eta)
    if every(data[DAMPING] >= 0.0):
        factor *= data[DAMPING]
        for i in range(6):
            n[i] += factor * eta[i]
    else:
        viscous_product(data, d, eta, w, y, out)
        solve(C, out)
        for i in range(6):
            n[i] += factor * out[i]


@inlined
def viscous_matrix(data, d, C, B, eta, w, y, out, half, K9):
    """K9 (9, 9) = B^T C^-1 (viscous compliance) C^-1 B / L; eta, w, y, out (6,), half (6, 9) : work."""
    for j in range(9):
        for i in range(6):
            eta[i] = B[i, j]
        solve(C, eta)
        for i in range(6):
            half[i, j] = eta[i]
    for j in range(9):
        for i in range(6):
            eta[i] = half[i, j]
        viscous_product(data, d, eta, w, y, out)
        for i in range(9):
            s = 0.0
            for k in range(6):
                s += half[k, i] * out[k]
            K9[i, j] = s / data[LENGTH]


@inlined
def compliance_change(X, stress, y, sign, E):
    """E (6, 6) = sign (X S(stress) - ad_y): change of a compliance times a stress with d."""
    rows_times_stress(X, stress, E)
    for i in range(6):
        for j in range(6):
            E[i, j] *= sign
    add_adjoint(y, -sign, E)


@inlined
def damping_matrix(factor, B, C, column, half, K9):
    """K9 (9, 9) = factor B^T C^-1 B, with the Cholesky factor C; column (6,), half (6, 9) : work."""
    for j in range(9):
        for i in range(6):
            column[i] = B[i, j]
        forward(C, column)
        for i in range(6):
            half[i, j] = column[i]
    for i in range(9):
        for j in range(9):
            s = 0.0
            for k in range(6):
                s += half[k, i] * half[k, j]
            K9[i, j] = factor * s


@inlined
def rate_gradient(theta, x, P, k0, k1, k2, z, W, E, M, D, xr, G):
    """G (6, 9): change of the rate of d by the motion of the ends at constant velocities of these, equation (18).

    D (6, 9) : rows [1, x~, 0] and [0, -P, P^T]. W, E, M (3, 3), xr (2, 3) : work arrays.
    """
    w1, w2 = z[3:6], z[6:9]
    a, b = xr[0], xr[1]  # rates of x and theta
    a[0] = z[0] + x[1] * w1[2] - x[2] * w1[1]
    a[1] = z[1] + x[2] * w1[0] - x[0] * w1[2]
    a[2] = z[2] + x[0] * w1[1] - x[1] * w1[0]
    for i in range(3):
        b[i] = 0.0
        for j in range(3):
            b[i] += P[j, i] * w2[j] - P[i, j] * w1[j]
    # rate of theta: (Wbar(theta, w2) - W(theta, w1)) delta theta, in rows 3 to 5
    map_derivative(theta, w2, -0.5, k0, k1, E)
    map_derivative(theta, w1, 0.5, k0, k1, M)
    for i in range(3):
        for j in range(9):
            s = 0.0
            for k in range(3):
                s += (E[i, k] - M[i, k]) * D[3 + k, j]
            G[3 + i, j] = s
    # P times the change of the rate of x: v~ z2 - w1~ delta x
    for j in range(9):
        d0, d1, d2 = D[0, j], D[1, j], D[2, j]
        c0, c1, c2 = w1[2] * d1 - w1[1] * d2, w1[0] * d2 - w1[2] * d0, w1[1] * d0 - w1[0] * d1
        if j == 3:
            c1 += z[2]
            c2 -= z[1]
        elif j == 4:
            c0 -= z[2]
            c2 += z[0]
        elif j == 5:
            c0 += z[1]
            c1 -= z[0]
        for i in range(3):
            G[i, j] = P[i, 0] * c0 + P[i, 1] * c1 + P[i, 2] * c2
    # W(theta, x) times the change of the rate of theta
    map_derivative(theta, x, 0.5, k0, k1, E)
    for i in range(3):
        for j in range(9):
            for k in range(3):
                G[i, j] += E[i, k] * G[3 + k, j]
    # (W(theta, x') + Y) delta theta + M delta x
    map_derivative(theta, a, 0.5, k0, k1, E)
    t = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    tx = theta[0] * x[0] + theta[1] * x[1] + theta[2] * x[2]
    tb = theta[0] * b[0] + theta[1] * b[1] + theta[2] * b[2]
    bx = b[0] * x[0] + b[1] * x[1] + b[2] * x[2]
    for i in range(3):
        w = theta[i] * tx - t * x[i]
        wb = b[i] * tx + theta[i] * bx - 2.0 * tb * x[i]
        for j in range(3):
            E[i, j] += (
                k0 * (b[i] * x[j] - 2.0 * x[i] * b[j])
                + 2.0 * k1 * (tb * (theta[i] * x[j] - 2.0 * x[i] * theta[j]) + wb * theta[j] + w * b[j])
                + 4.0 * k2 * tb * w * theta[j]
            )
            M[i, j] = k0 * (theta[i] * b[j] + b[i] * theta[j]) + 2.0 * k1 * tb * theta[i] * theta[j]
        E[i, i] += k0 * bx + 2.0 * k1 * tb * tx
        # theta'~ theta~ + theta~ theta'~ = theta theta'^T + theta' theta^T - 2 (theta . theta') 1
        M[i, i] -= 2.0 * k0 * tb + 2.0 * k1 * tb * t
    M[0, 1] += 0.5 * b[2]
    M[1, 0] -= 0.5 * b[2]
    M[2, 0] += 0.5 * b[1]
    M[0, 2] -= 0.5 * b[1]
    M[1, 2] += 0.5 * b[0]
    M[2, 1] -= 0.5 * b[0]
    for i in range(3):
        for j in range(9):
            for k in range(3):
                G[i, j] += E[i, k] * D[3 + k, j] + M[i, k] * D[k, j]


@inlined
def add_damping_change(factor, data, d, rate, X, C, B, G, quadratic, slope, eta, w, y, E, column, K9):
    """K9 (9, 9) += factor B^T C^-1 (G - G_eta B): equation (17).

    rate (6,) : of d. quadratic, slope : columns of data. eta, w, y, column (6,), E (6, 6) : work arrays; G is
    overwritten.
    """
    for i in range(6):
        eta[i] = rate[i]
    solve(C, eta)
    coadjoint(d[0:3], d[3:6], eta, w)
    for i in range(6):
        s = 0.0
        for k in range(6):
            s += data[quadratic + 6 * i + k] * w[k] + data[slope + 6 * i + k] * eta[k]
        y[i] = s
    compliance_change(X, eta, y, 1.0, E)
    for j in range(9):
        for i in range(6):
            column[i] = G[i, j]
            for k in range(6):
                column[i] -= E[i, k] * B[k, j]
        solve(C, column)
        for i in range(9):
            s = 0.0
            for k in range(6):
                s += B[k, i] * column[k]
            K9[i, j] += factor * s


@inlined
def add_viscous_change(data, d, rate, X, C, B, G, quadratic, slope, eta, w, y, out, E, E2, XV, K9):
    """K9 (9, 9) += the same for damping by direction: equation (17b). eta, w, y, out (6,), E, E2, XV (6, 6) : work."""
    for i in range(6):
        eta[i] = rate[i]
    solve(C, eta)
    # of the compliance, at eta and, with the other sign, at the damping stress
    coadjoint(d[0:3], d[3:6], eta, w)
    for i in range(6):
        y[i] = 0.0
        for k in range(6):
            y[i] += data[quadratic + 6 * i + k] * w[k] + data[slope + 6 * i + k] * eta[k]
    compliance_change(X, eta, y, 1.0, E)
    viscous_product(data, d, eta, w, y, out)
    for j in range(6):
        for i in range(6):
            XV[0, i] = data[VISCOUS_QUADRATIC + 6 * i + j]
        adjoint(d[0:3], d[3:6], XV[0], XV[1])
        for i in range(6):
            E2[i, j] = data[VISCOUS_SLOPE + 6 * i + j] + XV[1, i]
    compliance_change(E2, eta, y, 1.0, XV)
    solve(C, out)
    coadjoint(d[0:3], d[3:6], out, w)
    for i in range(6):
        y[i] = 0.0
        for k in range(6):
            y[i] += data[quadratic + 6 * i + k] * w[k] + data[slope + 6 * i + k] * out[k]
    compliance_change(X, out, y, -1.0, E2)
    for i in range(6):
        for j in range(6):
            E2[i, j] += XV[i, j]
    for j in range(9):
        for i in range(6):
            eta[i] = G[i, j]
            for k in range(6):
                eta[i] -= E[i, k] * B[k, j]
        solve(C, eta)
        viscous_product(data, d, eta, w, y, out)
        for i in range(6):
            for k in range(6):
                out[i] += E2[i, k] * B[k, j]
        solve(C, out)
        for i in range(9):
            for k in range(6):
                K9[i, j] += B[k, i] * out[k] / data[LENGTH]

"""Kernels of the damping of an element: its matrix, and the change of the damping force with the pose.

Source: docs/theory/exact_beam.md, equations (13), (13b), (17), (17b) and (18).
"""

from femb.elements.exact.coordinates import map_derivative
from femb.elements.exact.element_data import DAMPING, LENGTH, VISCOUS_MEAN, VISCOUS_QUADRATIC, VISCOUS_SLOPE
from femb.elements.exact.energy import add_adjoint, adjoint, coadjoint, forward, rows_times_stress, solve
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import every


@inlined
def viscous_product(data, d, eta, w, y, out):
    """out (6,) = (viscous compliance) eta, equation (13b); w, y (6,) : as of ``stress_force``, by this compliance."""
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

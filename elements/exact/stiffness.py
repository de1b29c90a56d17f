"""Kernels of the derivatives of the elastic and damping forces of an element by the motion of its frames.

Source: docs/theory/exact_beam.md, section 6.
"""

from femb.elements.exact.coordinates import map_derivative
from femb.numerics.compile import inlined
from femb.numerics.lanes import every
from femb.numerics.vector3 import rotate_back


@inlined
def add_curvature(theta, x, n, k0, k1, k2, HX):
    """HX (6, 6) += second derivatives of n_u . P(theta) x by theta, equation (15), in the block theta theta."""
    t = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    nt = n[0] * theta[0] + n[1] * theta[1] + n[2] * theta[2]
    tx = theta[0] * x[0] + theta[1] * x[1] + theta[2] * x[2]
    nx = n[0] * x[0] + n[1] * x[1] + n[2] * x[2]
    q = nt * tx - t * nx
    for i in range(3):
        a = n[i] * tx + x[i] * nt - 2.0 * theta[i] * nx
        for j in range(3):
            b = n[j] * tx + x[j] * nt - 2.0 * theta[j] * nx
            HX[3 + i, 3 + j] += (
                k0 * (n[i] * x[j] + x[i] * n[j])
                + 2.0 * k1 * (theta[i] * b + a * theta[j])
                + 4.0 * k2 * q * theta[i] * theta[j]
            )
        HX[3 + i, 3 + i] += 2.0 * k1 * q - 2.0 * k0 * nx


@inlined
def ends_stiffness(H, B, P, W, theta, x, n, f, moment, k0, k1, k2, HB, E, K9):
    """K9 (9, 9): derivatives of the forces on the ends by their motion: equations (15) and (16).

    H (6, 6) : on d. n (6,) : the whole force on d. f, moment (3,) : f and mu of equation (12). HB (6, 9), E (6, 6) :
    work arrays.
    """
    # U^T H U in the coordinates of B: K = B^T H B, and the change of U and D at constant n
    for i in range(6):
        for j in range(9):
            s = 0.0
            for k in range(6):
                s += H[i, k] * B[k, j]
            HB[i, j] = s
    for i in range(9):
        for j in range(9):
            s = 0.0
            for k in range(6):
                s += B[k, i] * HB[k, j]
            K9[i, j] = s
    # second derivatives of n_u . P x on (x, theta)
    E[:] = 0.0
    map_derivative(theta, n, -0.5, k0, k1, W)
    for i in range(3):
        for j in range(3):
            E[i, 3 + j] = W[i, j]
            E[3 + j, i] = W[i, j]
    add_curvature(theta, x, n, k0, k1, k2, E)
    # rows D = [1, x~, 0; 0, -P, P^T] in HB; then K9 += D^T E D
    for i in range(3):
        for j in range(3):
            HB[i, j] = 1.0 if i == j else 0.0
            HB[i, 6 + j] = 0.0
            HB[3 + i, j] = 0.0
            HB[3 + i, 3 + j] = -P[i, j]
            HB[3 + i, 6 + j] = P[j, i]
        HB[i, 3 + i] = 0.0
    HB[0, 4], HB[1, 3] = -x[2], x[2]
    HB[0, 5], HB[2, 3] = x[1], -x[1]
    HB[1, 5], HB[2, 4] = -x[0], x[0]
    for j in range(9):
        e0, e1, e2, e3, e4, e5 = HB[0, j], HB[1, j], HB[2, j], HB[3, j], HB[4, j], HB[5, j]
        for i in range(9):
            s = 0.0
            for k in range(6):
                y = E[k, 0] * e0 + E[k, 1] * e1 + E[k, 2] * e2 + E[k, 3] * e3 + E[k, 4] * e4 + E[k, 5] * e5
                s += HB[k, i] * y
            K9[i, j] += s
    # the directions rotate at constant f and mu: equation (16)
    K9[0, 4] += f[2]
    K9[1, 3] -= f[2]
    K9[0, 5] -= f[1]
    K9[2, 3] += f[1]
    K9[1, 5] += f[0]
    K9[2, 4] -= f[0]
    xf = x[0] * f[0] + x[1] * f[1] + x[2] * f[2]
    for i in range(3):
        for j in range(3):
            K9[3 + i, 3 + j] += x[i] * f[j]
        K9[3 + i, 3 + i] -= xf
    K9[3, 1] -= f[2]
    K9[4, 0] += f[2]
    K9[3, 2] += f[1]
    K9[5, 0] -= f[1]
    K9[4, 2] -= f[0]
    K9[5, 1] += f[0]
    for half, row, sign in ((-0.5, 3, -1.0), (0.5, 6, 1.0)):
        map_derivative(theta, moment, half, k0, k1, W)
        for i in range(3):
            for j in range(6):
                s = 0.0
                for k in range(3):
                    s += W[i, k] * HB[3 + k, 3 + j]
                K9[row + i, 3 + j] += sign * s


@inlined
def to_nodes(K9, R1, K):
    """K (12, 12) of the motions of both ends, inertial translations, from K9 by (v, omega_I, omega_II)."""
    # columns: v = R_I^T (r_II' - r_I')
    for i in range(9):
        row = 6 + i if i < 3 else (i if i < 6 else 3 + i)
        for j in range(3):
            s = K9[i, 0] * R1[j, 0] + K9[i, 1] * R1[j, 1] + K9[i, 2] * R1[j, 2]
            K[row, j] = -s
            K[row, 6 + j] = s
            K[row, 3 + j] = K9[i, 3 + j]
            K[row, 9 + j] = K9[i, 6 + j]
    # rows of the force: R_I f on end II, and its opposite on end I
    for j in range(12):
        a, b, c = K[6, j], K[7, j], K[8, j]
        for i in range(3):
            s = R1[i, 0] * a + R1[i, 1] * b + R1[i, 2] * c
            K[6 + i, j] = s
            K[i, j] = -s


@inlined
def columns_to_frames(ends, R, K):
    """Columns of K (12, 12) by the motion of the ends become those of the frames: section 6.4."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for i in range(12):
            t0, t1, t2 = K[i, o], K[i, o + 1], K[i, o + 2]
            m0, m1, m2 = K[i, o + 3], K[i, o + 4], K[i, o + 5]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[i, o + 3] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[i, o + 4] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[i, o + 5] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def rows_to_frames(ends, R, K):
    """Rows of K (12, 12) of the forces on the ends become those of the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for j in range(12):
            t0, t1, t2 = K[o, j], K[o + 1, j], K[o + 2, j]
            m0, m1, m2 = K[o + 3, j], K[o + 4, j], K[o + 5, j]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[o + 3, j] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[o + 4, j] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[o + 5, j] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def add_lever_damping(ends, R, omega, C, work, K):
    """Spin columns of K (12, 12) += C by the velocity of an offset end, times its change by the attitude of the frame.

    C (12, 12) : by the motions of the ends; K with columns of the frames. work (3,).
    """
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        Rn, o = R[2 * e], 6 * e
        b0, b1, b2 = ends[e, 1], ends[e, 2], ends[e, 3]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        x0, x1, x2 = w1 * b2 - w2 * b1, w2 * b0 - w0 * b2, w0 * b1 - w1 * b0
        for i in range(12):
            t0, t1, t2 = C[i, o], C[i, o + 1], C[i, o + 2]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            # -g x~ as a row is x cross g
            K[i, o + 3] += x1 * g2 - x2 * g1
            K[i, o + 4] += x2 * g0 - x0 * g2
            K[i, o + 5] += x0 * g1 - x1 * g0


@inlined
def add_offset_stiffness(ends, R, force, work, K):
    """K (12, 12) += the change of the torque of the end forces +-force (3,), inertial axes, about the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        sign, end, o = 2.0 * e - 1.0, ends[e], 6 * e + 3
        rotate_back(R[2 * e], force, work)
        along = sign * (end[1] * work[0] + end[2] * work[1] + end[3] * work[2])
        for i in range(3):
            for j in range(3):
                K[o + i, o + j] += sign * work[i] * end[1 + j]
            K[o + i, o + i] -= along

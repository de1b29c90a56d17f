"""Kernels of the inertia: four vectors that are fixed in the frames, and the rotary inertia.

Source: docs/theory/exact_beam.md, section 9, equations (20) to (26).
"""

from femb.elements.exact.element_data import MASSES, POINTS, ROTARY
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import product, times_skew

# Columns of the inertias J11, J12, J22 in a row of data.
J11, J12, J22 = ROTARY, ROTARY + 9, ROTARY + 18


@inlined
def point_accelerations(data, R1, R2, omega, alpha, acc, A, xdd):
    """A (4, 3), frame axes, and the second derivatives (4, 3) of the four vectors, inertial axes: equation (24).

    omega, alpha (2, 3) : angular velocities and accelerations of the frames, own axes. acc (2, 3) : accelerations of
    the frames less gravity, inertial axes.
    """
    for k in range(4):
        e = k // 2
        o = POINTS + 3 * k
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        b0, b1, b2 = alpha[e, 0], alpha[e, 1], alpha[e, 2]
        wy = w0 * y0 + w1 * y1 + w2 * y2
        ww = w0 * w0 + w1 * w1 + w2 * w2
        A[k, 0] = b1 * y2 - b2 * y1 + w0 * wy - y0 * ww
        A[k, 1] = b2 * y0 - b0 * y2 + w1 * wy - y1 * ww
        A[k, 2] = b0 * y1 - b1 * y0 + w2 * wy - y2 * ww
        R = R1 if e == 0 else R2
        for i in range(3):
            xdd[k, i] = R[i, 0] * A[k, 0] + R[i, 1] * A[k, 1] + R[i, 2] * A[k, 2]
            if k % 2 == 0:
                xdd[k, i] += acc[e, i]


@inlined
def point_forces(data, xdd, F):
    """F (4, 3) = h xdd."""
    for k in range(4):
        o = MASSES + 4 * k
        for i in range(3):
            F[k, i] = data[o] * xdd[0, i] + data[o + 1] * xdd[1, i] + data[o + 2] * xdd[2, i] + data[o + 3] * xdd[3, i]


@inlined
def add_point_forces(data, R1, R2, F, f):
    """f (12,) += the forces F (4, 3) of the four vectors on the frames: equation (25)."""
    for k in range(4):
        e = k // 2
        R = R1 if e == 0 else R2
        if k % 2 == 0:
            for i in range(3):
                f[6 * e + i] += F[k, i]
        g0 = R[0, 0] * F[k, 0] + R[1, 0] * F[k, 1] + R[2, 0] * F[k, 2]
        g1 = R[0, 1] * F[k, 0] + R[1, 1] * F[k, 1] + R[2, 1] * F[k, 2]
        g2 = R[0, 2] * F[k, 0] + R[1, 2] * F[k, 1] + R[2, 2] * F[k, 2]
        o = POINTS + 3 * k
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        f[6 * e + 3] += y1 * g2 - y2 * g1
        f[6 * e + 4] += y2 * g0 - y0 * g2
        f[6 * e + 5] += y0 * g1 - y1 * g0


@inlined
def angular_momenta(data, omega, h):
    """h (2, 3): derivatives of the rotary energy by the angular velocities of both frames, own axes."""
    for i in range(3):
        x, y = 0.0, 0.0
        for j in range(3):
            x += data[J11 + 3 * i + j] * omega[0, j] + data[J12 + 3 * i + j] * omega[1, j]
            y += data[J12 + 3 * j + i] * omega[0, j] + data[J22 + 3 * i + j] * omega[1, j]
        h[0, i] = x
        h[1, i] = y


@inlined
def add_rotary_force(data, omega, alpha, h, g, f):
    """f (12,) += the torques of the rotary inertia; h, g (2, 3) work arrays."""
    angular_momenta(data, omega, h)
    angular_momenta(data, alpha, g)
    for e in range(2):
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        f[6 * e + 3] += g[e, 0] + w1 * h[e, 2] - w2 * h[e, 1]
        f[6 * e + 4] += g[e, 1] + w2 * h[e, 0] - w0 * h[e, 2]
        f[6 * e + 5] += g[e, 2] + w0 * h[e, 1] - w1 * h[e, 0]


@inlined
def add_mass(data, R1, R2, M):
    """M (12, 12) += the mass matrix: equation (26)."""
    for e in range(2):
        for g in range(2):
            Rg = R1 if g == 0 else R2
            Re = R1 if e == 0 else R2
            h, slope = data[MASSES + 8 * e + 2 * g], data[MASSES + 8 * e + 2 * g + 1]
            for i in range(3):
                M[6 * e + i, 6 * g + i] += h
            # y_eg, and M = -R_g y~
            o = POINTS + 6 * g
            y0 = h * data[o] + slope * data[o + 3]
            y1 = h * data[o + 1] + slope * data[o + 4]
            y2 = h * data[o + 2] + slope * data[o + 5]
            for i in range(3):
                a, b, c = Rg[i, 0], Rg[i, 1], Rg[i, 2]
                # row of R times y~ is the row x y
                x0, x1, x2 = b * y2 - c * y1, c * y0 - a * y2, a * y1 - b * y0
                M[6 * e + i, 6 * g + 3] -= x0
                M[6 * e + i, 6 * g + 4] -= x1
                M[6 * e + i, 6 * g + 5] -= x2
                M[6 * g + 3, 6 * e + i] -= x0
                M[6 * g + 4, 6 * e + i] -= x1
                M[6 * g + 5, 6 * e + i] -= x2
            for k in range(2 * e, 2 * e + 2):
                ok = POINTS + 3 * k
                a0, a1, a2 = data[ok], data[ok + 1], data[ok + 2]
                for m in range(2 * g, 2 * g + 2):
                    h = data[MASSES + 4 * k + m]
                    om = POINTS + 3 * m
                    b0, b1, b2 = data[om], data[om + 1], data[om + 2]
                    for j in range(3):
                        # column j of R_e^T R_g y~_m
                        c0 = 0.0 if j == 0 else (-b2 if j == 1 else b1)
                        c1 = b2 if j == 0 else (0.0 if j == 1 else -b0)
                        c2 = -b1 if j == 0 else (b0 if j == 1 else 0.0)
                        d0 = Rg[0, 0] * c0 + Rg[0, 1] * c1 + Rg[0, 2] * c2
                        d1 = Rg[1, 0] * c0 + Rg[1, 1] * c1 + Rg[1, 2] * c2
                        d2 = Rg[2, 0] * c0 + Rg[2, 1] * c1 + Rg[2, 2] * c2
                        l0 = Re[0, 0] * d0 + Re[1, 0] * d1 + Re[2, 0] * d2
                        l1 = Re[0, 1] * d0 + Re[1, 1] * d1 + Re[2, 1] * d2
                        l2 = Re[0, 2] * d0 + Re[1, 2] * d1 + Re[2, 2] * d2
                        # y~_k^T l = l x y_k
                        M[6 * e + 3, 6 * g + 3 + j] += h * (l1 * a2 - l2 * a1)
                        M[6 * e + 4, 6 * g + 3 + j] += h * (l2 * a0 - l0 * a2)
                        M[6 * e + 5, 6 * g + 3 + j] += h * (l0 * a1 - l1 * a0)
    for i in range(3):
        for j in range(3):
            M[3 + i, 3 + j] += data[J11 + 3 * i + j]
            M[3 + i, 9 + j] += data[J12 + 3 * i + j]
            M[9 + j, 3 + i] += data[J12 + 3 * i + j]
            M[9 + i, 9 + j] += data[J22 + 3 * i + j]


# Kernel of the derivatives of the inertia force: end of section 9 of docs/theory/exact_beam.md.


@inlined
def add_inertia_tangent(data, R1, R2, omega, h, A, F, S, T, by_pose, by_rate, C, K):
    """C, K (12, 12) += derivatives of the inertia force by velocities and by poses at constant accelerations.

    A, F (4, 3) : as of ``point_accelerations`` and ``point_forces``; h (2, 3) : of ``angular_momenta``. S, T (3, 3),
    by_pose, by_rate (4, 3, 3) : work arrays, set to the change of x_b'' by the rotation and the rate of its frame.
    """
    for b in range(4):
        e = b // 2
        R = R1 if e == 0 else R2
        o = POINTS + 3 * b
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        times_skew(-1.0, R, A[b], by_pose[b])
        # (w x y)~ + w~ y~ = (w x y)~ + y w^T - (w . y) 1
        c0, c1, c2 = w1 * y2 - w2 * y1, w2 * y0 - w0 * y2, w0 * y1 - w1 * y0
        wy = w0 * y0 + w1 * y1 + w2 * y2
        S[0, 0], S[0, 1], S[0, 2] = y0 * w0 - wy, y0 * w1 - c2, y0 * w2 + c1
        S[1, 0], S[1, 1], S[1, 2] = y1 * w0 + c2, y1 * w1 - wy, y1 * w2 - c0
        S[2, 0], S[2, 1], S[2, 2] = y2 * w0 - c1, y2 * w1 + c0, y2 * w2 - wy
        product(R, S, T)
        for i in range(3):
            for j in range(3):
                by_rate[b, i, j] = -T[i, j]
    for a in range(4):
        e = a // 2
        R = R1 if e == 0 else R2
        o = POINTS + 3 * a
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        for g in range(2):
            for part in range(2):
                source = by_pose if part == 0 else by_rate
                out = K if part == 0 else C
                b = 2 * g
                ha, hb = data[MASSES + 4 * a + b], data[MASSES + 4 * a + b + 1]
                for j in range(3):
                    t0 = ha * source[b, 0, j] + hb * source[b + 1, 0, j]
                    t1 = ha * source[b, 1, j] + hb * source[b + 1, 1, j]
                    t2 = ha * source[b, 2, j] + hb * source[b + 1, 2, j]
                    column = 6 * g + 3 + j
                    if a % 2 == 0:
                        out[6 * e, column] += t0
                        out[6 * e + 1, column] += t1
                        out[6 * e + 2, column] += t2
                    l0 = R[0, 0] * t0 + R[1, 0] * t1 + R[2, 0] * t2
                    l1 = R[0, 1] * t0 + R[1, 1] * t1 + R[2, 1] * t2
                    l2 = R[0, 2] * t0 + R[1, 2] * t1 + R[2, 2] * t2
                    out[6 * e + 3, column] += y1 * l2 - y2 * l1
                    out[6 * e + 4, column] += y2 * l0 - y0 * l2
                    out[6 * e + 5, column] += y0 * l1 - y1 * l0
        # y~ (R^T F)~ = (R^T F) y^T - (y . R^T F) 1
        g0 = R[0, 0] * F[a, 0] + R[1, 0] * F[a, 1] + R[2, 0] * F[a, 2]
        g1 = R[0, 1] * F[a, 0] + R[1, 1] * F[a, 1] + R[2, 1] * F[a, 2]
        g2 = R[0, 2] * F[a, 0] + R[1, 2] * F[a, 1] + R[2, 2] * F[a, 2]
        along = y0 * g0 + y1 * g1 + y2 * g2
        o = 6 * e + 3
        K[o, o] += g0 * y0 - along
        K[o, o + 1] += g0 * y1
        K[o, o + 2] += g0 * y2
        K[o + 1, o] += g1 * y0
        K[o + 1, o + 1] += g1 * y1 - along
        K[o + 1, o + 2] += g1 * y2
        K[o + 2, o] += g2 * y0
        K[o + 2, o + 1] += g2 * y1
        K[o + 2, o + 2] += g2 * y2 - along
    add_gyroscopic(data, omega, h, C)


@inlined
def add_gyroscopic(data, omega, h, C):
    """C (12, 12) += derivatives of omega x (J omega) by the angular velocities."""
    for e in range(2):
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        o = 6 * e + 3
        for g in range(2):
            for j in range(3):
                # column j of J_eg
                if e == 0:
                    at = J11 if g == 0 else J12
                    a, b, c = data[at + j], data[at + 3 + j], data[at + 6 + j]
                elif g == 0:
                    a, b, c = data[J12 + 3 * j], data[J12 + 3 * j + 1], data[J12 + 3 * j + 2]
                else:
                    a, b, c = data[J22 + j], data[J22 + 3 + j], data[J22 + 6 + j]
                column = 6 * g + 3 + j
                C[o, column] += w1 * c - w2 * b
                C[o + 1, column] += w2 * a - w0 * c
                C[o + 2, column] += w0 * b - w1 * a
        C[o, o + 1] += h[e, 2]
        C[o + 1, o] -= h[e, 2]
        C[o, o + 2] -= h[e, 1]
        C[o + 2, o] += h[e, 1]
        C[o + 1, o + 2] += h[e, 0]
        C[o + 2, o + 1] -= h[e, 0]

"""Kernel of the derivatives of the inertia force: end of section 9 of docs/theory/exact_beam.md."""

from femb.elements.exact.columns import MASSES, POINTS
from femb.elements.exact.inertia import J11, J12, J22
from femb.numerics.compile import inlined
from femb.numerics.vector3 import product, times_skew


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

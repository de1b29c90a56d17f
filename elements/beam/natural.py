"""Natural coordinates of a beam element, and their derivatives with respect to the motion of its ends.

The strains depend on the poses and strains of the ends only through eight *natural coordinates*, the shape of the
element, with components in the axes of its first section (x along its tangent):

    X = (d, s, G, alpha)      d (3) chord, s length of the centreline derivative at the first end, G (3) centreline
                              derivative at the second end, alpha twist of the second section about the tangent

The motion of the ends (11,) is chord rate (3) in the axes of end I, spin (3) and strain rate of end I, spin (3) and
strain rate of end II, each spin in the axes of its section. Source: docs/theory/beam.md, equations (4) to (16).
"""

import math

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.orbits import arctangent
from femb.numerics.vector3 import product_left_back, rotate_back


@kernel
def natural_coordinates(r1, R1, eps1, r2, R2, eps2, length, Q, X):
    """Q (3, 3) = R1^T R2 and the natural coordinates X (8,) of an element with end poses (r, R) and strains."""
    product_left_back(R1, R2, Q)
    for i in range(3):
        X[i] = R1[0, i] * (r2[0] - r1[0]) + R1[1, i] * (r2[1] - r1[1]) + R1[2, i] * (r2[2] - r1[2])
        X[4 + i] = length * (1.0 + eps2) * Q[i, 0]
    X[3] = length * (1.0 + eps1)
    X[7] = 2.0 * arctangent(Q[2, 1] - Q[1, 2], 1.0 + Q[0, 0] + Q[1, 1] + Q[2, 2])


@inlined
def twist_directions(Q, beta, gamma):
    """beta, gamma (3,): rate of alpha = gamma . omega_II - beta . omega_I, each in the axes of its section."""
    c = 1.0 / (1.0 + Q[0, 0])
    beta[0] = 1.0
    gamma[0] = 1.0
    for i in range(1, 3):
        beta[i] = Q[i, 0] * c
        gamma[i] = Q[0, i] * c


@inlined
def natural_rates(X, Q, beta, gamma, length, motion, out):
    """out (8,) = B motion: rates of the natural coordinates for a motion (11,) of the ends, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    out[0] = motion[0] + X[1] * motion[5] - X[2] * motion[4]
    out[1] = motion[1] + X[2] * motion[3] - X[0] * motion[5]
    out[2] = motion[2] + X[0] * motion[4] - X[1] * motion[3]
    out[3] = length * motion[6]
    g1, g2, g3 = length * motion[10], s2 * motion[9], -s2 * motion[8]
    out[4] = Q[0, 0] * g1 + Q[0, 1] * g2 + Q[0, 2] * g3 + X[5] * motion[5] - X[6] * motion[4]
    out[5] = Q[1, 0] * g1 + Q[1, 1] * g2 + Q[1, 2] * g3 + X[6] * motion[3] - X[4] * motion[5]
    out[6] = Q[2, 0] * g1 + Q[2, 1] * g2 + Q[2, 2] * g3 + X[4] * motion[4] - X[5] * motion[3]
    out[7] = 0.0
    for k in range(3):
        out[7] += gamma[k] * motion[7 + k] - beta[k] * motion[3 + k]


@inlined
def end_gradient(X, Q, beta, gamma, length, n, out):
    """out (11,) = B^T n: force on the motion of the ends by n (8,) on the natural coordinates, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    for i in range(3):
        out[i] = n[i]
    # components of d and G change as the axes of end I rotate: n_d x d + n_G x G
    out[3] = n[1] * X[2] - n[2] * X[1] + n[5] * X[6] - n[6] * X[5] - n[7] * beta[0]
    out[4] = n[2] * X[0] - n[0] * X[2] + n[6] * X[4] - n[4] * X[6] - n[7] * beta[1]
    out[5] = n[0] * X[1] - n[1] * X[0] + n[4] * X[5] - n[5] * X[4] - n[7] * beta[2]
    out[6] = length * n[3]
    out[7] = n[7] * gamma[0]
    out[8] = n[7] * gamma[1] - s2 * (Q[0, 2] * n[4] + Q[1, 2] * n[5] + Q[2, 2] * n[6])
    out[9] = n[7] * gamma[2] + s2 * (Q[0, 1] * n[4] + Q[1, 1] * n[5] + Q[2, 1] * n[6])
    out[10] = length * (Q[0, 0] * n[4] + Q[1, 0] * n[5] + Q[2, 0] * n[6])


@inlined
def ends_force(X, Q, beta, gamma, length, s2, n, F, M1, work, f11, f):
    """f (14,): force on the two ends; forces in the axes of section I, moments in end axes.

    n (8,), F (4, 3), M1 (3,) : forces conjugate to the natural coordinates, to the positions and centreline derivatives
    (r_I, g_I, r_II, g_II), and to the spin of end I. s2 : length of g_II. work (3,), f11 (11,) : work arrays.
    """
    s1 = X[3]
    end_gradient(X, Q, beta, gamma, length, n, f11)
    for k in range(3):
        f[k] = F[0, k] - f11[k]
        f[3 + k] = f11[3 + k] + M1[k]
        f[7 + k] = F[2, k] + f11[k]
        f[10 + k] = f11[7 + k]
    # a force on g = s e1: moment s e1 x F and strain force length F_1
    rotate_back(Q, F[3], work)
    f[4] -= s1 * F[1, 2]
    f[5] += s1 * F[1, 1]
    f[6] = f11[6] + length * F[1, 0]
    f[11] -= s2 * work[2]
    f[12] += s2 * work[1]
    f[13] = f11[10] + length * work[0]


@inlined
def shape_gradient(X, Q, beta, gamma, length, B):
    """B (8, 11): gradient of the natural coordinates with respect to the motion of the ends, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    B[:] = 0.0
    for i in range(3):
        B[i, i] = 1.0
        B[7, 3 + i] = -beta[i]
        B[7, 7 + i] = gamma[i]
        B[4 + i, 8] = -s2 * Q[i, 2]
        B[4 + i, 9] = s2 * Q[i, 1]
        B[4 + i, 10] = length * Q[i, 0]
    for k in range(2):
        o = 4 * k
        B[o, 4], B[o, 5] = -X[o + 2], X[o + 1]
        B[o + 1, 3], B[o + 1, 5] = X[o + 2], -X[o]
        B[o + 2, 3], B[o + 2, 4] = -X[o + 1], X[o]
    B[3, 6] = length


@inlined
def geometric_stiffness(X, Q, beta, gamma, length, n, K):
    """K (11, 11) += the change of B^T n with the motion of the ends at constant n (8,): the geometric stiffness.

    Rows of the chord force are in inertial directions (they include the rotation of the axes of end I).
    """
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    along = 0.0
    for i in range(3):
        along += n[i] * X[i] + n[4 + i] * X[4 + i]
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        # chord: force R1 n_d on its row, moment n_d x d on I
        K[i, 3 + j] += n[k]
        K[i, 3 + k] -= n[j]
        K[3 + i, j] -= n[k]
        K[3 + i, k] += n[j]
        # moments n_d x d and n_G x G on I: a~ b~ = b a^T - (a . b) I
        for m in range(3):
            K[3 + i, 3 + m] += X[i] * n[m] + X[4 + i] * n[4 + m]
        K[3 + i, 3 + i] -= along
        # change of the moment n_G x G with strain and spin of II, which change G by Q (length, s2 e3, -s2 e2)
        for m in range(3):
            column = 10 - m
            h = n[4 + j] * Q[k, m] - n[4 + k] * Q[j, m]
            h *= length if m == 0 else (s2 if m == 1 else -s2)
            K[3 + i, column] += h
            K[column, 3 + i] += h
    # moment s2 e1 x (Q^T n_G) on II, strain force length e1 . Q^T n_G; e1~ g~ = g e1^T - g1 I
    g1 = Q[0, 0] * n[4] + Q[1, 0] * n[5] + Q[2, 0] * n[6]
    g2 = Q[0, 1] * n[4] + Q[1, 1] * n[5] + Q[2, 1] * n[6]
    g3 = Q[0, 2] * n[4] + Q[1, 2] * n[5] + Q[2, 2] * n[6]
    K[8, 7] += s2 * g2
    K[9, 7] += s2 * g3
    K[8, 8] -= s2 * g1
    K[9, 9] -= s2 * g1
    K[10, 8] -= length * g3
    K[8, 10] -= length * g3
    K[10, 9] += length * g2
    K[9, 10] += length * g2
    # twist: moments -n_a beta on I and n_a gamma on II, where l_II in axes I changes by l~ spin_I - Q e1~ spin_II and
    # l_I in axes II likewise with Q^T
    c = n[7] / (1.0 + Q[0, 0])
    for end in range(2):
        o = 4 * end
        f = c if end == 0 else -c
        l2, l3 = (Q[1, 0], Q[2, 0]) if end == 0 else (Q[0, 1], Q[0, 2])
        d2, d3 = (beta[1], beta[2]) if end == 0 else (gamma[1], gamma[2])
        K[4 + o, 3 + o] -= f * l3
        K[5 + o, 3 + o] += f * l2
        K[4 + o, 4 + o] -= f * d2 * l3
        K[4 + o, 5 + o] += f * (Q[0, 0] + d2 * l2)
        K[5 + o, 4 + o] -= f * (Q[0, 0] + d3 * l3)
        K[5 + o, 5 + o] += f * d3 * l2
    for i in range(1, 3):
        K[3 + i, 8] += c * (Q[i, 2] - beta[i] * Q[0, 2])
        K[3 + i, 9] -= c * (Q[i, 1] - beta[i] * Q[0, 1])
        K[7 + i, 4] -= c * (Q[2, i] - gamma[i] * Q[2, 0])
        K[7 + i, 5] += c * (Q[1, i] - gamma[i] * Q[1, 0])

"""Kernels of the natural coordinates d = (u, theta) of an element: its end II seen from its end I.

Source: docs/theory/exact_beam.md, section 2.
"""

import math

from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import choose, every
from femb.numerics.orbits import arctangent_series
from femb.numerics.vector3 import hamilton

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


@inlined
def series_of_coefficients(t):
    """k0, k1, k2 to rounding for t below 1."""
    k0 = 77683.0 / 14101100039391805440000.0
    k0 = 174611.0 / 802857662698291200000.0 + t * k0
    k0 = 43867.0 / 5109094217170944000.0 + t * k0
    k0 = 3617.0 / 10670622842880000.0 + t * k0
    k0 = 1.0 / 74724249600.0 + t * k0
    k0 = 691.0 / 1307674368000.0 + t * k0
    k0 = 1.0 / 47900160.0 + t * k0
    k0 = 1.0 / 1209600.0 + t * k0
    k0 = 1.0 / 30240.0 + t * k0
    k0 = 1.0 / 720.0 + t * k0
    k0 = 1.0 / 12.0 + t * k0
    k1 = 11.0 * 236364091.0 / 1693824136731743669452800000.0
    k1 = 10.0 * 77683.0 / 14101100039391805440000.0 + t * k1
    k1 = 9.0 * 174611.0 / 802857662698291200000.0 + t * k1
    k1 = 8.0 * 43867.0 / 5109094217170944000.0 + t * k1
    k1 = 7.0 * 3617.0 / 10670622842880000.0 + t * k1
    k1 = 6.0 / 74724249600.0 + t * k1
    k1 = 5.0 * 691.0 / 1307674368000.0 + t * k1
    k1 = 4.0 / 47900160.0 + t * k1
    k1 = 3.0 / 1209600.0 + t * k1
    k1 = 2.0 / 30240.0 + t * k1
    k1 = 1.0 / 720.0 + t * k1
    k2 = 110.0 * 236364091.0 / 1693824136731743669452800000.0
    k2 = 90.0 * 77683.0 / 14101100039391805440000.0 + t * k2
    k2 = 72.0 * 174611.0 / 802857662698291200000.0 + t * k2
    k2 = 56.0 * 43867.0 / 5109094217170944000.0 + t * k2
    k2 = 42.0 * 3617.0 / 10670622842880000.0 + t * k2
    k2 = 30.0 / 74724249600.0 + t * k2
    k2 = 20.0 * 691.0 / 1307674368000.0 + t * k2
    k2 = 12.0 / 47900160.0 + t * k2
    k2 = 6.0 / 1209600.0 + t * k2
    k2 = 2.0 / 30240.0 + t * k2
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

"""Kernels for the second derivatives of rows of constraints, and for the tangents of J^T lambda and J v.

All rows but ORIENTATION are a product x.y of vectors that are constant, A a or the distance d. With X = dx/dq H and
Y = dy/dq H, for rotations about frame axes,

    d(J^T)/dq H = X^T Y + Y^T X + (second derivative of x).y + x.(second derivative of y),

where the second derivative of (A a).y is l a^T - (a.l) 1 with l = A^T y. Arguments as in ``columns``;
K (12, 12) and T (12,) are on (rdot_i, omega_i, rdot_j, omega_j). Source: docs/theory/constraints.md, equations (13) to
(15).
"""

import math

import numpy as np

from femb.elements.joint.columns import (
    ANGLE,
    CONSTANT,
    DISTANCE,
    DOT1,
    DOT2,
    FIRST,
    FIRST_AXIS,
    FIRST_AXIS_2,
    FIRST_POINT,
    INPUT,
    ORIENTATION,
    PRIMITIVE,
    ROW,
    SECOND,
    SECOND_AXIS,
    SECOND_POINT,
)
from femb.elements.joint.constraint_kernels import inactive, rate_of, rotation_gradient
from femb.elements.joint.orientation_kernels import orientation_tangent
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import add_torque_tangent, frame_motion, rotate, rotate_back, times_skew


@inlined
def add_rotation_tangent(factor, a, R, y, at, K, local):
    """Add factor times the second derivative of (R a).y at constant y, for rotations of R, to K[at:, at:]."""
    rotate_back(R, y, local)
    add_torque_tangent(factor, local, a, at, K)


@kernel
def row_tangent(index, data, u, q, v, fixed, K, T):
    """K = d(J^T)/dq H and T = d(Phi_t)/dq H of a row."""
    kind, first = index[PRIMITIVE], index[INPUT]
    for k in range(12):
        T[k] = 0.0
        for m in range(12):
            K[k, m] = 0.0
    if kind == ORIENTATION:
        orientation_tangent(index, data, u, q, fixed, K, T)
        return
    Ri, Rj, W = np.empty((3, 3)), np.empty((3, 3)), np.empty((9, 3))
    X, Y = np.zeros((3, 12)), np.zeros((3, 12))
    ri, rj, x, y, a, m, local = W[0], W[1], W[2], W[3], W[4], W[5], W[6]
    frame_motion(index, FIRST, q, v, fixed, Ri, ri, W[7], W[8])
    frame_motion(index, SECOND, q, v, fixed, Rj, rj, W[7], W[8])
    for k in range(3):
        a[k] = data[FIRST_AXIS + k]
    if kind in (DOT1, ANGLE):
        b = data[SECOND_AXIS]
        if kind == ANGLE:
            cosine, sine = math.cos(u[first]), math.sin(u[first])
            for k in range(3):
                g, h = data[FIRST_AXIS + k], data[FIRST_AXIS_2 + k]
                a[k], m[k] = cosine * h - sine * g, -cosine * g - sine * h
        rotate(Ri, a, x)
        rotate(Rj, b, y)
        times_skew(-1.0, Ri, a, X[:, 3:6])
        times_skew(-1.0, Rj, b, Y[:, 9:12])
        add_rotation_tangent(1.0, a, Ri, y, 3, K, local)
        add_rotation_tangent(1.0, b, Rj, x, 9, K, local)
        if kind == ANGLE:
            # Phi_t = f' (A_i m).e_j
            rotation_gradient(m, Ri, y, local, T[3:6])
            rotate(Ri, m, x)
            rotation_gradient(b, Rj, x, local, T[9:12])
            for k in range(12):
                T[k] *= u[first + 1]
    else:
        rotate(Ri, data[FIRST_POINT], x)
        rotate(Rj, data[SECOND_POINT], y)
        for k in range(3):
            y[k] += rj[k] - ri[k] - x[k]
            Y[k, k], Y[k, 6 + k] = -1.0, 1.0
        times_skew(1.0, Ri, data[FIRST_POINT], Y[:, 3:6])
        times_skew(-1.0, Rj, data[SECOND_POINT], Y[:, 9:12])
        if kind == DISTANCE:
            # d.d/2c is x.y with x = d/2c, y = d; the factor of their second derivatives is d/c in total.
            for k in range(3):
                x[k] = y[k] / data[CONSTANT]
                for n in range(12):
                    X[k, n] = 0.5 * Y[k, n] / data[CONSTANT]
        elif kind == DOT2:
            rotate(Ri, a, x)
            times_skew(-1.0, Ri, a, X[:, 3:6])
            add_rotation_tangent(1.0, a, Ri, y, 3, K, local)
        else:
            for k in range(3):
                x[k] = a[k]
        add_rotation_tangent(-1.0, data[FIRST_POINT], Ri, x, 3, K, local)
        add_rotation_tangent(1.0, data[SECOND_POINT], Rj, x, 9, K, local)
    for k in range(12):
        for n in range(12):
            for c in range(3):
                K[k, n] += X[c, k] * Y[c, n] + Y[c, k] * X[c, n]


@kernel
def constraint_tangent(index, data, offset, stride, u, q, v, fixed, multipliers, out):
    """Add d(J^T lambda)/dq H, and d(J v + Phi_t)/dq H in the rows of the multipliers, to block data."""
    K, T = np.empty((12, 12)), np.empty(12)
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            continue
        row_tangent(index[n], data[n], u, q, v, fixed, K, T)
        strength = multipliers[index[n, ROW]]
        for h in range(4):
            for g in range(4):
                if offset[n, g, h] >= 0:
                    for k in range(3):
                        for m in range(3):
                            place = offset[n, g, h] + k * stride[n, g, h] + m
                            out[place] += strength * K[3 * g + k, 3 * h + m]
            if offset[n, 4, h] >= 0:
                for m in range(3):
                    out[offset[n, 4, h] + m] += T[3 * h + m] + rate_of(index[n], v, K[:, 3 * h + m])

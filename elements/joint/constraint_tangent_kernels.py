"""Kernels for the second derivatives of rows of constraints, and for the tangents of J^T lambda and J v.

All rows but ORIENTATION are a product x.y of vectors that are constant, A a or the distance d. With X = dx/dq H and
Y = dy/dq H, for rotations about frame axes,

    d(J^T)/dq H = X^T Y + Y^T X + (second derivative of x).y + x.(second derivative of y),

where the second derivative of (A a).y is l a^T - (a.l) 1 with l = A^T y. Arguments as in ``constraint_kernels``;
K (12, 12) and T (12,) are on (rdot_i, omega_i, rdot_j, omega_j). Source: docs/theory/constraints.md, equations (13) to
(15).
"""

import math

import numpy as np

from femb.elements.joint.constraint_kernels import (
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
    inactive,
    relative_orientation,
)
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import (
    AXES,
    IN_V,
    add_torque_tangent,
    cross,
    frame_motion,
    quaternion_times_into,
    rotation,
    times_quaternion_into,
    times_skew,
    turn,
    turn_back,
)


@inlined
def add_rotation_tangent(factor, a, R, y, at, K, local):
    """Add factor times the second derivative of (R a).y at constant y, for rotations of R, to K[at:, at:]."""
    turn_back(R, y, local)
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
    Ri, Rj, W = np.empty((3, 3)), np.empty((3, 3)), np.empty((11, 3))
    X, Y = np.zeros((3, 12)), np.zeros((3, 12))
    ri, rj, x, y, a, m, local, work = W[0], W[1], W[2], W[3], W[4], W[5], W[6], W[7]
    frame_motion(index, FIRST, q, v, fixed, Ri, ri, W[8], W[9])
    frame_motion(index, SECOND, q, v, fixed, Rj, rj, W[8], W[9])
    for k in range(3):
        a[k] = data[FIRST_AXIS + k]
    if kind in (DOT1, ANGLE):
        b = data[SECOND_AXIS]
        if kind == ANGLE:
            cosine, sine = math.cos(u[first]), math.sin(u[first])
            for k in range(3):
                g, h = data[FIRST_AXIS + k], data[FIRST_AXIS_2 + k]
                a[k], m[k] = cosine * h - sine * g, -cosine * g - sine * h
        turn(Ri, a, x)
        turn(Rj, b, y)
        times_skew(-1.0, Ri, a, X[:, 3:6])
        times_skew(-1.0, Rj, b, Y[:, 9:12])
        add_rotation_tangent(1.0, a, Ri, y, 3, K, local)
        add_rotation_tangent(1.0, b, Rj, x, 9, K, local)
        if kind == ANGLE:
            # Phi_t = f' (A_i m).e_j
            turn_back(Ri, y, local)
            cross(m, local, work)
            for k in range(3):
                T[3 + k] = u[first + 1] * work[k]
            turn(Ri, m, x)
            turn_back(Rj, x, local)
            cross(b, local, work)
            for k in range(3):
                T[9 + k] = u[first + 1] * work[k]
    else:
        turn(Ri, data[FIRST_POINT], x)
        turn(Rj, data[SECOND_POINT], y)
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
            turn(Ri, a, x)
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


@inlined
def orientation_tangent(index, data, u, q, fixed, K, T):
    """K and T of an ORIENTATION row."""
    pd, y, a, b = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    R, units, wd = np.empty((3, 3)), np.zeros((2, 3, 3)), np.zeros(3)
    first, c = index[INPUT], int(data[CONSTANT]) + 1
    relative_orientation(index, data, u, q, fixed, pd, y)
    rotation(pd, R)
    for k in range(3):
        units[1, k, k] = 1.0
        for m in range(3):
            units[0, k, m] = R[k, m]
        if first >= 0:
            wd[k] = u[first + 4 + k]
    for k in range(3):
        own, other = units[1, k], units[0, k]
        for m in range(3):
            # y changes by y (0, w_j)/2 and by -(0, A_d^T w_i) y/2
            quaternion_times_into(y, units[1, m], a)
            quaternion_times_into(a, own, b)
            K[9 + k, 9 + m] = 0.25 * b[c]
            times_quaternion_into(other, a, b)
            K[3 + k, 9 + m] = K[9 + m, 3 + k] = -0.25 * b[c]
            times_quaternion_into(units[0, m], y, a)
            times_quaternion_into(other, a, b)
            K[3 + k, 3 + m] = 0.25 * b[c]
        if first >= 0:
            quaternion_times_into(y, own, a)
            times_quaternion_into(wd, a, b)
            T[9 + k] = -0.25 * b[c]
            times_quaternion_into(other, y, a)
            times_quaternion_into(wd, a, b)
            T[3 + k] = 0.25 * b[c]


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
                    change = T[3 * h + m]
                    for e in range(2):
                        j = index[n, 3 * e + IN_V]
                        if j >= 0:
                            for k in range(6 if index[n, 3 * e + AXES] else 3):
                                change += v[j + k] * K[6 * e + k, 3 * h + m]
                    out[offset[n, 4, h] + m] += change

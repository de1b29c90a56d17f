"""Kernels for the second derivatives of rows of constraints, of which the tangents of J^T lambda and J v are made.

All rows but ORIENTATION are a product x.y of vectors that are constant, A a or the distance d. With X = dx/dq H and
Y = dy/dq H, where a turn is one of the frame in its own axes,

    d(J^T)/dq H = X^T Y + Y^T X + (second derivative of x).y + x.(second derivative of y),

of which those of A a are l a^T - (a.l) 1 with l = A^T y. Arguments as in ``constraint_kernels``; K (12, 12) and T (12,)
are on (rdot_i, omega_i, rdot_j, omega_j). Source: docs/theory/constraints.md, equations (13) to (15).
"""

import math

import numpy as np

from femb.elements.joint.constraint_kernels import (
    ANGLE,
    DISTANCE,
    DOT1,
    DOT2,
    ORIENTATION,
    frame_motion,
    inactive,
    quaternion_times,
    relative_orientation,
    times_quaternion,
)
from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import cross, dot, rotation, turn, turn_back


@inner
def turning(K, at, sign, a, R, y, local):
    """K += sign (l a^T - (a.l) 1) at the turn of a frame with axes R, l = R^T y."""
    turn_back(R, y, local)
    along = dot(a, local)
    for k in range(3):
        for m in range(3):
            K[at + k, at + m] += sign * local[k] * a[m]
        K[at + k, at + k] -= sign * along


@inner
def swept(X, at, sign, a, R):
    """X (3, 12) = -sign R a~ at the turn of a frame: what R a changes by, times sign."""
    for k in range(3):
        X[k, at] = sign * (R[k, 2] * a[1] - R[k, 1] * a[2])
        X[k, at + 1] = sign * (R[k, 0] * a[2] - R[k, 2] * a[0])
        X[k, at + 2] = sign * (R[k, 1] * a[0] - R[k, 0] * a[1])


@kernel
def second(index, data, u, q, v, fixed, K, T):
    """K = d(J^T)/dq H and T = d(Phi_t)/dq H of a row."""
    kind, first = index[7], index[8]
    for k in range(12):
        T[k] = 0.0
        for m in range(12):
            K[k, m] = 0.0
    if kind == ORIENTATION:
        orientation_second(index, data, u, q, fixed, K, T)
        return
    Ri, Rj, W = np.empty((3, 3)), np.empty((3, 3)), np.empty((11, 3))
    X, Y = np.zeros((3, 12)), np.zeros((3, 12))
    ri, rj, x, y, a, m, local, work = W[0], W[1], W[2], W[3], W[4], W[5], W[6], W[7]
    frame_motion(index[0], index[1], index[2], q, v, fixed, Ri, ri, W[8], W[9])
    frame_motion(index[3], index[4], index[5], q, v, fixed, Rj, rj, W[8], W[9])
    for k in range(3):
        a[k] = data[3 + k]
    if kind in (DOT1, ANGLE):
        b = data[12:15]
        if kind == ANGLE:
            cosine, sine = math.cos(u[first]), math.sin(u[first])
            for k in range(3):
                a[k] = cosine * data[6 + k] - sine * data[3 + k]
                m[k] = -cosine * data[3 + k] - sine * data[6 + k]
        turn(Ri, a, x)
        turn(Rj, b, y)
        swept(X, 3, 1.0, a, Ri)
        swept(Y, 9, 1.0, b, Rj)
        turning(K, 3, 1.0, a, Ri, y, local)
        turning(K, 9, 1.0, b, Rj, x, local)
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
        turn(Ri, data[0:3], x)
        turn(Rj, data[9:12], y)
        for k in range(3):
            y[k] += rj[k] - ri[k] - x[k]
            Y[k, k], Y[k, 6 + k] = -1.0, 1.0
        swept(Y, 3, -1.0, data[0:3], Ri)
        swept(Y, 9, 1.0, data[9:12], Rj)
        if kind == DISTANCE:
            # d.d/2c is x.y with x = d/2c, y = d; what the second derivatives of both are multiplied with is d/c.
            for k in range(3):
                x[k] = y[k] / data[15]
                for n in range(12):
                    X[k, n] = 0.5 * Y[k, n] / data[15]
        elif kind == DOT2:
            turn(Ri, a, x)
            swept(X, 3, 1.0, a, Ri)
            turning(K, 3, 1.0, a, Ri, y, local)
        else:
            for k in range(3):
                x[k] = a[k]
        turning(K, 3, -1.0, data[0:3], Ri, x, local)
        turning(K, 9, 1.0, data[9:12], Rj, x, local)
    for k in range(12):
        for n in range(12):
            for c in range(3):
                K[k, n] += X[c, k] * Y[c, n] + Y[c, k] * X[c, n]


@inner
def orientation_second(index, data, u, q, fixed, K, T):
    """K and T of an ORIENTATION row."""
    pd, y, a, b = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    R, units, wd = np.empty((3, 3)), np.zeros((2, 3, 3)), np.zeros(3)
    first, c = index[8], int(data[15]) + 1
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
            quaternion_times(y, units[1, m], a)
            quaternion_times(a, own, b)
            K[9 + k, 9 + m] = 0.25 * b[c]
            times_quaternion(other, a, b)
            K[3 + k, 9 + m] = K[9 + m, 3 + k] = -0.25 * b[c]
            times_quaternion(units[0, m], y, a)
            times_quaternion(other, a, b)
            K[3 + k, 3 + m] = 0.25 * b[c]
        if first >= 0:
            quaternion_times(y, own, a)
            times_quaternion(wd, a, b)
            T[9 + k] = -0.25 * b[c]
            times_quaternion(other, y, a)
            times_quaternion(wd, a, b)
            T[3 + k] = 0.25 * b[c]


@kernel
def hold_tangent(index, data, offset, stride, u, q, v, fixed, multipliers, out):
    """Add d(J^T lambda)/dq H, and in the rows of the multipliers d(J v + Phi_t)/dq H, to block data."""
    K, T = np.empty((12, 12)), np.empty(12)
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            continue
        second(index[n], data[n], u, q, v, fixed, K, T)
        strength = multipliers[index[n, 6]]
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
                        j = index[n, 3 * e + 1]
                        if j >= 0:
                            for k in range(6 if index[n, 3 * e + 2] else 3):
                                change += v[j + k] * K[6 * e + k, 3 * h + m]
                    out[offset[n, 4, h] + m] += change

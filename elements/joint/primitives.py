"""Primitive equations of which the rows of joints, drivers and couplings consist: values, rates, second derivatives.

Each primitive is a line of the table below, and a branch of ``next_row``, ``product_tangent`` and ``course_of_row``.
Source: docs/theory/constraints.md, equations (1) to (9), (13) to (15) and (18) to (20).
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.courses import Course
from femb.numerics.vector3 import (
    HAS_AXES,
    IN_Q,
    IN_V,
    add_point_force,
    add_torque_tangent,
    cross,
    dot,
    dot4,
    frame_motion,
    hamilton_into,
    quaternion_times_into,
    rotate,
    rotate_back,
    rotation,
    times_quaternion_into,
    times_skew,
)

# A row is an equation between frame i and frame j. With s points and a, h directions fixed in the frames, e = A a, the
# distance d = r_j + A_j s_j - r_i - A_i s_i, and f, f', f'' its input and the derivatives, or zeros:
#
#     POINT        e.d - f           e = a_i, inertial
#     DISTANCE     (d.d - f^2)/2c    c the length at the start; without an input f = c
#     DOT1         e_i.e_j - f
#     DOT2         e_i.d - f
#     ORIENTATION  one component of vec(conj(p_d) conj(p_i) p_j); the input is p_d, omega_d, omega_d'
#     STROKE       factor k(c) - offset - f of c = e_i.d
#     TURN         factor k(c) - offset - f of c = atan2(h_i.b_j, e_i.e_j) with b over s_j, counted in turns
#
# Rows with the same ROW are terms of one equation, their sum: Phi, J and gamma of terms add up. In STROKE and TURN the
# factor is the CONSTANT, and k(c) is c; or, of the numbers c_0, k, k', k'' of a CURVE in the inputs, the value of their
# parabola at c; or that of a TABLE. An angle is within pi of the input LAST, or, without one, of f.
#
# index (n, 13) int: FIRST and SECOND, columns of the frames i and j (see ``femb.numerics.vector3``); the ROW; the
# PRIMITIVE; first INPUT; input that is 0 while the row is not IN_FORCE; LAST; first of a CURVE, each -1 for none; a
# TABLE, counted from the end of data, 0 for none. data (n + ., 17): s_i, a_i (p_d over a_i and h for ORIENTATION), h,
# s_j, a_j, a CONSTANT, the OFFSET; after all rows those of tables, see ``table_at``. J (12,) of a row is on (rdot_i,
# omega_i, rdot_j, omega_j). fixed : poses of fixed frames.

POINT, DISTANCE, DOT1, DOT2, ORIENTATION, STROKE, TURN = range(7)
FIRST, SECOND, ROW, PRIMITIVE, INPUT, IN_FORCE, LAST, CURVE, TABLE = 0, 3, 6, 7, 8, 9, 10, 11, 12
SIZE, NUMBERS = 13, 17
FIRST_POINT, FIRST_AXIS, FIRST_AXIS_2 = slice(0, 3), slice(3, 6), slice(6, 9)
SECOND_POINT, SECOND_AXIS = slice(9, 12), slice(12, 15)
CONSTANT, OFFSET = 15, 16
REVOLUTION = 2.0 * math.pi
QUATERNION = 3
# What is found of a row: J, Phi, Phi_t and gamma.
PHI, PHI_T, GAMMA, FOUND = 12, 13, 14, 15


# Kernels of ORIENTATION rows: one component of the relative attitude of two frames; arguments as above.


@inlined
def relative_orientation(index, data, u, q, fixed, pd, y, work):
    """p_d, and y = conj(p_d) conj(p_i) p_j with p_i, p_j of unit length; work (3, 4)."""
    pi, pj, x = work[0], work[1], work[2]
    i, j, first = index[FIRST + IN_Q], index[SECOND + IN_Q], index[INPUT]
    for k in range(4):
        pi[k] = q[i + 3 + k] if i >= 0 else fixed[-1 - i, 3 + k]
        pj[k] = q[j + 3 + k] if j >= 0 else fixed[-1 - j, 3 + k]
        pd[k] = u[first + k] if first >= 0 else data[QUATERNION + k]
    hamilton_into(pi, pd, x)
    for k in range(1, 4):
        x[k] = -x[k]
    hamilton_into(x, pj, y)
    size = math.sqrt(dot4(pi, pi) * dot4(pj, pj))
    for k in range(4):
        y[k] /= size


@inlined
def orientation(index, data, u, q, fixed, wi, wj, J, R, work):
    """Phi, Phi_t and gamma of an ORIENTATION row; sets J. R (3, 3), work (13, 4)."""
    pd, y, rate, a, b = work[3], work[4], work[5], work[6], work[7]
    wd, ad, local, full, unit = work[8], work[9], work[10], work[11], work[12]
    relative_orientation(index, data, u, q, fixed, pd, y, work)
    first = index[INPUT]
    for k in range(3):
        wd[k] = u[first + 4 + k] if first >= 0 else 0.0
        ad[k] = u[first + 7 + k] if first >= 0 else 0.0
    rotation(pd, R)
    rotate_back(R, wi, local)
    cross(wd, local, full)
    for k in range(3):
        ad[k] -= full[k]
        full[k] = local[k] + wd[k]
    quaternion_times_into(y, wj, a)
    times_quaternion_into(full, y, b)
    for k in range(4):
        rate[k] = 0.5 * (a[k] - b[k])
    quaternion_times_into(rate, wj, a)
    times_quaternion_into(full, rate, b)
    c = int(data[CONSTANT])
    gamma = -0.5 * (a[c + 1] - b[c + 1])
    times_quaternion_into(ad, y, b)
    gamma += 0.5 * b[c + 1]
    times_quaternion_into(wd, y, b)
    phi_t = -0.5 * b[c + 1]
    for k in range(3):
        unit[0], unit[1], unit[2] = 0.0, 0.0, 0.0
        unit[k] = 1.0
        quaternion_times_into(y, unit, a)
        J[9 + k] = 0.5 * a[c + 1]
        rotate_back(R, unit, local)
        times_quaternion_into(local, y, b)
        J[3 + k] = -0.5 * b[c + 1]
    return y[c + 1], phi_t, gamma


@inlined
def orientation_tangent(index, data, u, q, fixed, K, T):
    """K and T of an ORIENTATION row."""
    pd, y, a, b = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    R, units, wd = np.empty((3, 3)), np.zeros((2, 3, 3)), np.zeros(3)
    first, c = index[INPUT], int(data[CONSTANT]) + 1
    relative_orientation(index, data, u, q, fixed, pd, y, np.empty((3, 4)))
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


# What a row shares with the one before it.
NEW, FRAMES, POINTS = range(3)


@inlined
def spin_terms(R, w, a, e, rate, second, work):
    """e = R a of a vector a fixed in a frame, its rate R w~ a, and ``second`` = R w~ w~ a."""
    rotate(R, a, e)
    cross(w, a, work)
    rotate(R, work, rate)
    cross(w, work, second)
    for k in range(3):
        work[k] = second[k]
    rotate(R, work, second)


@inlined
def rotation_gradient(a, R, y, local, out):
    """out (3,) = a x (R^T y): the derivative of (R a).y at constant y by a rotation of R; local : work array."""
    rotate_back(R, y, local)
    cross(a, local, out)


@inlined
def product_of_axes(a, b, R, W, J):
    """The product of axes a of frame i and b of frame j, and gamma; sets the rotations in J. R, W : of ``next_row``."""
    wi, wj, work, ei, ei1, ei2, ej, ej1, ej2, local = W[2], W[5], W[6], W[7], W[8], W[9], W[10], W[11], W[12], W[15]
    spin_terms(R[0], wi, a, ei, ei1, ei2, work)
    spin_terms(R[1], wj, b, ej, ej1, ej2, work)
    rotation_gradient(a, R[0], ej, local, J[3:6])
    rotation_gradient(b, R[1], ei, local, J[9:12])
    return dot(ei, ej), -dot(ej, ei2) - dot(ei, ej2) - 2.0 * dot(ei1, ej1)


@inlined
def turn(data, R, W, J):
    """Sine and cosine of a TURN, times one length, and gamma of its angle; sets J. Arguments as in ``next_row``."""
    wi, wj, by_i, by_j = W[2], W[5], W[17], W[18]
    x, x2 = product_of_axes(data[FIRST_AXIS_2], data[SECOND_POINT], R, W, J)
    for k in range(3):
        by_i[k], by_j[k] = J[3 + k], J[9 + k]
    y, y2 = product_of_axes(data[FIRST_AXIS], data[SECOND_AXIS], R, W, J)
    x1, y1 = dot(by_i, wi) + dot(by_j, wj), dot(J[3:6], wi) + dot(J[9:12], wj)
    f = 1.0 / (x * x + y * y)
    for k in range(3):
        J[3 + k], J[9 + k] = f * (y * by_i[k] - x * J[3 + k]), f * (y * by_j[k] - x * J[9 + k])
    return x, y, f * (y * x2 - x * y2 + 2.0 * f * (y * x1 - x * y1) * (x * x1 + y * y1))


@inlined
def row(index, data, u, q, v, fixed, J, R, W):
    """Phi, Phi_t and gamma of a row; sets J (12,). R (3, 3, 3), W (22, 4) : work arrays.

    Of STROKE and TURN what ``set_term`` completes.
    """
    return next_row(index, data, index, data, NEW, u, q, v, fixed, J, R, W)


@inlined
def shared(index, data, last_index, last_data):
    """The data that a row shares with the last one: NEW, nothing; FRAMES; or, of rows POINT, also their POINTS."""
    for k in range(6):
        if index[k] != last_index[k]:
            return NEW
    if index[PRIMITIVE] != POINT or last_index[PRIMITIVE] != POINT:
        return FRAMES
    for k in range(3):
        if data[k] != last_data[k] or data[9 + k] != last_data[9 + k]:
            return FRAMES
    return POINTS


@inlined
def next_row(index, data, last_index, last_data, begun, u, q, v, fixed, J, R, W):
    """Terms of a row after another one of the same state, with its index and data, in the same work arrays.

    begun : NEW if there is no other row. Rows of a joint follow each other and share their frames and points.
    """
    kind, first = index[PRIMITIVE], index[INPUT]
    Ri, Rj = R[0], R[1]
    ri, vi, wi, rj, vj, wj = W[0], W[1], W[2], W[3], W[4], W[5]
    common = NEW if begun == NEW else shared(index, data, last_index, last_data)
    if common == NEW:
        frame_motion(index, FIRST, q, v, fixed, Ri, ri, vi, wi)
        frame_motion(index, SECOND, q, v, fixed, Rj, rj, vj, wj)
    for k in range(12):
        J[k] = 0.0
    if kind == ORIENTATION:
        return orientation(index, data, u, q, fixed, wi, wj, J, R[2], W[6:])
    if kind == TURN:
        return turn(data, R, W, J)
    f, f1, f2 = 0.0, 0.0, 0.0
    if first >= 0 and kind != STROKE:
        f, f1, f2 = u[first], u[first + 1], u[first + 2]
    work, ei, ei1, ei2 = W[6], W[7], W[8], W[9]
    if kind == DOT1:
        product, gamma = product_of_axes(data[FIRST_AXIS], data[SECOND_AXIS], R, W, J)
        return product - data[CONSTANT] - f, -f1, gamma + f2
    d, d1, d2, b0, b1, b2 = W[10], W[11], W[12], W[13], W[14], W[15]
    point_i, point_j = data[FIRST_POINT], data[SECOND_POINT]
    if common != POINTS:
        spin_terms(Ri, wi, point_i, b0, b1, b2, work)
        spin_terms(Rj, wj, point_j, d, d1, d2, work)
        for k in range(3):
            d[k] += rj[k] - ri[k] - b0[k]
            d1[k] += vj[k] - vi[k] - b1[k]
            d2[k] -= b2[k]
    if kind == POINT:
        for k in range(3):
            ei[k] = data[3 + k]
        phi, phi_t, gamma = dot(ei, d) - f, -f1, f2 - dot(ei, d2)
    elif kind == DISTANCE:
        scale = 0.5 / data[CONSTANT]
        if first < 0:
            f = data[CONSTANT]
        for k in range(3):
            ei[k] = 2.0 * scale * d[k]
        phi, phi_t = scale * (dot(d, d) - f * f), -2.0 * scale * f * f1
        gamma = 2.0 * scale * (f1 * f1 + f * f2 - dot(d, d2) - dot(d1, d1))
    else:
        axis = data[FIRST_AXIS]
        spin_terms(Ri, wi, axis, ei, ei1, ei2, work)
        phi, phi_t = dot(ei, d) - f, -f1
        gamma = f2 - dot(d, ei2) - 2.0 * dot(ei1, d1) - dot(ei, d2)
        rotation_gradient(axis, Ri, d, b0, J[3:6])
    rotate_back(Ri, ei, b0)
    add_point_force(-1.0, ei, b0, point_i, 0, J)
    rotate_back(Rj, ei, b0)
    add_point_force(1.0, ei, b0, point_j, 6, J)
    return phi, phi_t, gamma


@inlined
def rate_of(index, v, J):
    """J v of a row."""
    rate = 0.0
    for e in range(2):
        j = index[3 * e + IN_V]
        if j >= 0:
            for k in range(6 if index[3 * e + HAS_AXES] else 3):
                rate += J[6 * e + k] * v[j + k]
    return rate


@inlined
def piece_at(c, begin, end, tables):
    """The last of the rows ``begin`` to ``end`` - 1 of ``tables`` that begins, by its first column, at or before c."""
    while end - begin > 1:
        middle = (begin + end) // 2
        if c < tables[middle, 0]:
            end = middle
        else:
            begin = middle
    return begin


@kernel
def table_at(c, first, data):
    """Value and three derivatives at c of a table of cubic pieces in rows of data.

    Its first row has the number of pieces, where the first of a periodic one begins, the period or 0, and the rise in a
    period. Each piece has where it begins, and coefficients of powers of the distance from there.
    """
    rise, period = 0.0, data[first, 2]
    if period > 0.0:
        periods = math.floor((c - data[first, 1]) / period)
        c, rise = c - periods * period, periods * data[first, 3]
    n = piece_at(c, first + 1, first + 1 + int(data[first, 0]), data)
    x, b, d, e = c - data[n, 0], data[n, 2], data[n, 3], data[n, 4]
    slope, bend = b + x * (2.0 * d + 3.0 * x * e), 2.0 * d + 6.0 * x * e
    return rise + data[n, 1] + x * (b + x * (d + x * e)), slope, bend, 6.0 * e


@kernel
def law(n, index, data, u, c):
    """k(c) of row n, a STROKE or a TURN, and three derivatives; an angle c may lack turns."""
    near, curve, table = index[n, LAST] if index[n, LAST] >= 0 else index[n, INPUT], index[n, CURVE], index[n, TABLE]
    if index[n, PRIMITIVE] == TURN and near >= 0:
        c -= REVOLUTION * math.floor((c - u[near]) / REVOLUTION + 0.5)
    if curve >= 0:
        x, slope, bend = c - u[curve], u[curve + 2], u[curve + 3]
        return u[curve + 1] + x * (slope + 0.5 * x * bend), slope + x * bend, bend, 0.0
    if table > 0:
        return table_at(c, data.shape[0] - table, data)
    return c, 1.0, 0.0, 0.0


@inlined
def term(n, index, data, u, x, y):
    """Value of row n, a STROKE with the coordinate x or a TURN with atan2(x, y), and two derivatives by it."""
    factor, motion = data[n, CONSTANT], index[n, INPUT]
    value, slope, bend, _ = law(n, index, data, u, math.atan2(x, y) if index[n, PRIMITIVE] == TURN else x)
    return factor * value - data[n, OFFSET] - (u[motion] if motion >= 0 else 0.0), factor * slope, factor * bend


@inlined
def set_term(n, index, data, u, v, found):
    """Phi, Phi_t, J and gamma of row n, a STROKE or a TURN, in found (15,), from those of its coordinate."""
    rate, motion = rate_of(index[n], v, found), index[n, INPUT]
    found[PHI], slope, bend = term(n, index, data, u, found[PHI], found[PHI_T])
    found[PHI_T] = -u[motion + 1] if motion >= 0 else 0.0
    found[GAMMA] = slope * found[GAMMA] - bend * rate * rate + (u[motion + 2] if motion >= 0 else 0.0)
    for k in range(12):
        found[k] *= slope


# Kernels for the second derivatives of rows of constraints, and for the tangents of J^T lambda and J v.
#
# All rows but ORIENTATION are a product x.y of vectors that are constant, A a or the distance d. With X = dx/dq H and
# Y = dy/dq H, for rotations about frame axes,
#
#     d(J^T)/dq H = X^T Y + Y^T X + (second derivative of x).y + x.(second derivative of y),
#
# where the second derivative of (A a).y is l a^T - (a.l) 1 with l = A^T y. Arguments as above; K (12, 12) and
# T (12,) are on (rdot_i, omega_i, rdot_j, omega_j). Source: docs/theory/constraints.md, equations (13) to (15).


@inlined
def add_rotation_tangent(factor, a, R, y, at, K, local):
    """Add factor times the second derivative of (R a).y at constant y, for rotations of R, to K[at:, at:]."""
    rotate_back(R, y, local)
    add_torque_tangent(factor, local, a, at, K)


@inlined
def product_tangent(kind, index, data, q, v, fixed, K, T):
    """``row_tangent`` of a product of vectors."""
    T[:] = 0.0
    K[:] = 0.0
    Ri, Rj, W = np.empty((3, 3)), np.empty((3, 3)), np.empty((9, 3))
    X, Y = np.zeros((3, 12)), np.zeros((3, 12))
    ri, rj, x, y, a, local = W[0], W[1], W[2], W[3], W[4], W[5]
    frame_motion(index, FIRST, q, v, fixed, Ri, ri, W[6], W[7])
    frame_motion(index, SECOND, q, v, fixed, Rj, rj, W[6], W[7])
    for k in range(3):
        a[k] = data[3 + k]
    if kind == DOT1:
        b = data[SECOND_AXIS]
        rotate(Ri, a, x)
        rotate(Rj, b, y)
        times_skew(-1.0, Ri, a, X[:, 3:6])
        times_skew(-1.0, Rj, b, Y[:, 9:12])
        add_rotation_tangent(1.0, a, Ri, y, 3, K, local)
        add_rotation_tangent(1.0, b, Rj, x, 9, K, local)
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
def row_tangent(n, index, data, u, q, v, fixed, K, T):
    """K = d(J^T)/dq H and T = d(Phi_t)/dq H of row n.

    Of a term k(c), K = k' D + k'' J^T J with J and D = dJ/dq H of the coordinate. Of an angle atan2(S, C), with
    w = S^2 + C^2, they are J = (C J_S - S J_C)/w and
    D = (C D_S - S D_C + J_S^T J_C - J_C^T J_S - 2 J^T (S J_S + C J_C))/w.
    """
    kind = index[n, PRIMITIVE]
    if kind == ORIENTATION:
        T[:] = 0.0
        K[:] = 0.0
        orientation_tangent(index[n], data[n], u, q, fixed, K, T)
        return
    if kind < STROKE:
        product_tangent(kind, index[n], data[n], q, v, fixed, K, T)
        return
    # the two products of axes of an angle, or the coordinate of a stroke, as rows of these
    one, axes, E, R, W = index[n].copy(), data[n].copy(), np.empty((12, 12)), np.empty((3, 3, 3)), np.empty((22, 4))
    J, B, y = np.empty(12), np.empty(12), 0.0
    one[PRIMITIVE], one[INPUT], axes[CONSTANT] = DOT2 if kind == STROKE else DOT1, -1, 0.0
    if kind == TURN:
        y, _, _ = row(one, axes, u, q, v, fixed, B, R, W)
        product_tangent(DOT1, one, axes, q, v, fixed, E, T)
        axes[FIRST_AXIS] = axes[FIRST_AXIS_2]
        axes[SECOND_AXIS] = axes[SECOND_POINT]
    x, _, _ = row(one, axes, u, q, v, fixed, J, R, W)
    product_tangent(one[PRIMITIVE], one, axes, q, v, fixed, K, T)
    _, slope, bend = term(n, index, data, u, x, y)
    if kind == TURN:
        f = 1.0 / (x * x + y * y)
        for k in range(12):
            by = f * (y * J[k] - x * B[k])
            for m in range(12):
                K[k, m] = f * (y * K[k, m] - x * E[k, m] + J[k] * B[m] - B[k] * J[m])
                K[k, m] -= 2.0 * f * by * (x * J[m] + y * B[m])
        for k in range(12):
            J[k] = f * (y * J[k] - x * B[k])
    for k in range(12):
        for m in range(12):
            K[k, m] = slope * K[k, m] + bend * J[k] * J[m]


# Rows in motions that change to first order, for linear models. Source: docs/theory/linearisation.md, section 2.


class ChangedFrame(Protocol):
    """A frame in a motion that changes: the courses of its axes and points, inertial axes."""

    def axis(self, axis: Floats) -> Course:
        """That of an axis (3,) in its axes."""
        ...

    def point(self, at: Floats) -> Course:
        """That of a point (3,) in its axes."""
        ...


def course_of_row(
    row: Any, first: ChangedFrame, second: ChangedFrame, motion: Course | None, k: Callable[[float], Any]
) -> Course | None:
    """Phi of a row of two frames with its rates; None of ORIENTATION, whose changes by pose are not written.

    row : a ``femb.elements.joint.constraint_set.ConstraintRow``. motion : that of its input. k : ``law`` of a STROKE or
    TURN, by the coordinate.
    """
    kind = row.primitive
    if kind == ORIENTATION:
        return None
    if kind in (DOT1, TURN):
        phi = first.axis(row.first_axis).dot(second.axis(row.second_axis))
        if kind == TURN:
            phi = first.axis(row.first_axis_2).dot(second.axis(row.second_point)).angle(phi)
    else:
        d = second.point(row.second_point) - first.point(row.first_point)
        if kind == POINT:
            phi = d.along(row.first_axis)
        elif kind == DISTANCE:
            phi = d.dot(d).scaled(0.5 / row.constant)
            motion = None if motion is None else motion.dot(motion).scaled(0.5 / row.constant)
        else:
            phi = first.axis(row.first_axis).dot(d)
    if kind in (STROKE, TURN):
        phi = phi.function(k).scaled(row.constant)
    return phi if motion is None else phi - motion

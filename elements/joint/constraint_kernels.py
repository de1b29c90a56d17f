"""Kernels over rows of constraints: the primitive equations of which joints and drivers consist.

A row is an equation between frame i and frame j. With s points and a, h directions fixed in the frames, e = A a, the
distance d = r_j + A_j s_j - r_i - A_i s_i, and f, f', f'' its input and the derivatives, or zeros:

    POINT        e.d - f           e = a_i, inertial
    DISTANCE     (d.d - f^2)/2c    c the length at the start; without an input f = c
    DOT1         e_i.e_j - f
    DOT2         e_i.d - f
    ANGLE        e_i.e_j           a_i = -sin f g + cos f h: the angle from g to a_j about g x h is f
    ORIENTATION  one component of vec(conj(p_d) conj(p_i) p_j); the input is p_d, omega_d, omega_d'

index (n, 10) int: FIRST and SECOND, columns of the frames i and j (see ``femb.numerics.vector3``); the ROW; the
PRIMITIVE; first INPUT or -1; input that is 0 while the row is not IN_FORCE, or -1. data (n, 16): s_i, a_i (g for ANGLE,
p_d over a_i and h for ORIENTATION), h, s_j, a_j, a CONSTANT. J (12,) of a row is on (rdot_i, omega_i, rdot_j, omega_j).
fixed : poses of fixed frames. Source: docs/theory/constraints.md, equations (1) to (9).
"""

import math

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import (
    AXES,
    IN_Q,
    IN_V,
    add_point_force,
    cross,
    dot,
    dot4,
    frame_motion,
    hamilton_into,
    quaternion_times_into,
    rotation,
    times_quaternion_into,
    turn,
    turn_back,
)

POINT, DISTANCE, DOT1, DOT2, ANGLE, ORIENTATION = range(6)
FIRST, SECOND, ROW, PRIMITIVE, INPUT, IN_FORCE = 0, 3, 6, 7, 8, 9
FIRST_POINT, SECOND_POINT, SECOND_AXIS = slice(0, 3), slice(9, 12), slice(12, 15)
FIRST_AXIS, FIRST_AXIS_2, CONSTANT = 3, 6, 15
QUATERNION = 3


@inlined
def relative_orientation(index, data, u, q, fixed, pd, y):
    """p_d, and y = conj(p_d) conj(p_i) p_j with p_i, p_j of unit length."""
    pi, pj, x = np.empty(4), np.empty(4), np.empty(4)
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
def orientation(index, data, u, q, fixed, wi, wj, J):
    """Phi, Phi_t and gamma of an ORIENTATION row; sets J."""
    pd, y = np.empty(4), np.empty(4)
    relative_orientation(index, data, u, q, fixed, pd, y)
    first = index[INPUT]
    wd, ad, local, R = np.zeros(3), np.zeros(3), np.empty(3), np.empty((3, 3))
    if first >= 0:
        for k in range(3):
            wd[k], ad[k] = u[first + 4 + k], u[first + 7 + k]
    rotation(pd, R)
    turn_back(R, wi, local)
    full, rate, a, b = np.empty(3), np.empty(4), np.empty(4), np.empty(4)
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
    unit = np.zeros(3)
    for k in range(3):
        unit[0], unit[1], unit[2] = 0.0, 0.0, 0.0
        unit[k] = 1.0
        quaternion_times_into(y, unit, a)
        J[9 + k] = 0.5 * a[c + 1]
        turn_back(R, unit, local)
        times_quaternion_into(local, y, b)
        J[3 + k] = -0.5 * b[c + 1]
    return y[c + 1], phi_t, gamma


@inlined
def spin_terms(R, w, a, e, rate, second, work):
    """e = R a of a vector a fixed in a frame, its rate R w~ a, and ``second`` = R w~ w~ a."""
    turn(R, a, e)
    cross(w, a, work)
    turn(R, work, rate)
    cross(w, work, second)
    for k in range(3):
        work[k] = second[k]
    turn(R, work, second)


@inlined
def row(index, data, u, q, v, fixed, J, R, W):
    """Phi, Phi_t and gamma of a row; sets J (12,). R (2, 3, 3), W (22, 3) : work arrays."""
    kind, first = index[PRIMITIVE], index[INPUT]
    Ri, Rj = R[0], R[1]
    ri, vi, wi, rj, vj, wj = W[0], W[1], W[2], W[3], W[4], W[5]
    frame_motion(index, FIRST, q, v, fixed, Ri, ri, vi, wi)
    frame_motion(index, SECOND, q, v, fixed, Rj, rj, vj, wj)
    for k in range(12):
        J[k] = 0.0
    if kind == ORIENTATION:
        return orientation(index, data, u, q, fixed, wi, wj, J)
    f, f1, f2 = 0.0, 0.0, 0.0
    if first >= 0:
        f, f1, f2 = u[first], u[first + 1], u[first + 2]
    work, ei, ei1, ei2 = W[6], W[7], W[8], W[9]
    if kind in (DOT1, ANGLE):
        ej, ej1, ej2, a, local = W[10], W[11], W[12], W[13], W[14]
        cosine, sine, b = math.cos(f), math.sin(f), data[SECOND_AXIS]
        for k in range(3):
            g, h = data[FIRST_AXIS + k], data[FIRST_AXIS_2 + k]
            a[k] = g if kind == DOT1 else cosine * h - sine * g
        spin_terms(Ri, wi, a, ei, ei1, ei2, work)
        spin_terms(Rj, wj, b, ej, ej1, ej2, work)
        turn_back(Ri, ej, local)
        cross(a, local, work)
        for k in range(3):
            J[3 + k] = work[k]
        turn_back(Rj, ei, local)
        cross(b, local, work)
        for k in range(3):
            J[9 + k] = work[k]
        gamma = -dot(ej, ei2) - dot(ei, ej2) - 2.0 * dot(ei1, ej1)
        if kind == DOT1:
            return dot(ei, ej) - data[CONSTANT] - f, -f1, gamma + f2
        # n' = f' m and n'' = f'' m - f'^2 n with m = -cos f g - sin f h
        m, m0, m1, m2 = W[15], W[16], W[17], W[18]
        for k in range(3):
            m[k] = -cosine * data[FIRST_AXIS + k] - sine * data[FIRST_AXIS_2 + k]
        spin_terms(Ri, wi, m, m0, m1, m2, work)
        along = dot(m0, ej)
        gamma -= f2 * along - f1 * f1 * dot(ei, ej) + 2.0 * f1 * (dot(m1, ej) + dot(m0, ej1))
        return dot(ei, ej), f1 * along, gamma
    d, d1, d2, b0, b1, b2 = W[10], W[11], W[12], W[13], W[14], W[15]
    point_i, point_j = data[FIRST_POINT], data[SECOND_POINT]
    spin_terms(Ri, wi, point_i, b0, b1, b2, work)
    spin_terms(Rj, wj, point_j, d, d1, d2, work)
    for k in range(3):
        d[k] += rj[k] - ri[k] - b0[k]
        d1[k] += vj[k] - vi[k] - b1[k]
        d2[k] -= b2[k]
    if kind == POINT:
        for k in range(3):
            ei[k] = data[FIRST_AXIS + k]
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
        axis = data[FIRST_AXIS : FIRST_AXIS + 3]
        spin_terms(Ri, wi, axis, ei, ei1, ei2, work)
        phi, phi_t = dot(ei, d) - f, -f1
        gamma = f2 - dot(d, ei2) - 2.0 * dot(ei1, d1) - dot(ei, d2)
        turn_back(Ri, d, b0)
        cross(axis, b0, work)
        for k in range(3):
            J[3 + k] = work[k]
    turn_back(Ri, ei, b0)
    add_point_force(-1.0, ei, b0, point_i, 0, J)
    turn_back(Rj, ei, b0)
    add_point_force(1.0, ei, b0, point_j, 6, J)
    return phi, phi_t, gamma


@inlined
def inactive(index, u):
    """Whether a row is not in force."""
    return index[IN_FORCE] >= 0 and u[index[IN_FORCE]] == 0.0


@inlined
def rate_of(index, v, J):
    """J v of a row."""
    rate = 0.0
    for e in range(2):
        j = index[3 * e + IN_V]
        if j >= 0:
            for k in range(6 if index[3 * e + AXES] else 3):
                rate += J[6 * e + k] * v[j + k]
    return rate


@kernel
def constraint_force(index, data, u, q, v, fixed, multipliers, force, rates):
    """force (s, n_v) += J^T lambda, rates (s, n_c) = J v + Phi_t, or the multiplier for a row that is not in force."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            c = index[n, ROW]
            if inactive(index[n], u[s]):
                rates[s, c] = multipliers[s, c]
                continue
            _, phi_t, _ = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
            rates[s, c] = rate_of(index[n], v[s], J) + phi_t
            for e in range(2):
                j = index[n, 3 * e + IN_V]
                if j >= 0:
                    for k in range(6 if index[n, 3 * e + AXES] else 3):
                        force[s, j + k] += J[6 * e + k] * multipliers[s, c]


@kernel
def constraints(index, data, u, q, v, fixed, position, gamma):
    """position (s, n_c) = Phi, and gamma (s, n_c)."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if not inactive(index[n], u[s]):
                phi, _, right = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
                position[s, index[n, ROW]] = phi
                gamma[s, index[n, ROW]] = right


@kernel
def jacobian(index, data, offset, stride, u, q, v, fixed, out):
    """Add J and J^T to block data; the diagonal of a row not in force becomes one."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            out[offset[n, 4, 4]] += 1.0
            continue
        row(index[n], data[n], u, q, v, fixed, J, R, W)
        for g in range(4):
            if offset[n, 4, g] >= 0:
                for k in range(3):
                    out[offset[n, 4, g] + k] += J[3 * g + k]
                    out[offset[n, g, 4] + k * stride[n, g, 4]] += J[3 * g + k]


@kernel
def constraint_power(index, data, u, q, v, fixed, multipliers, out):
    """out (s,) += lambda . Phi_t, the power of the inputs."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if index[n, INPUT] >= 0 and not inactive(index[n], u[s]):
                _, phi_t, _ = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
                out[s] += multipliers[s, index[n, ROW]] * phi_t

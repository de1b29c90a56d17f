"""Kernels over rows of constraints: the primitive equations of which joints and drivers consist.

Rows, index and data as in ``femb.elements.joint.columns``. Source: docs/theory/constraints.md, equations (1) to (9).
"""

import math

import numpy as np

from femb.elements.joint.columns import (
    ANGLE,
    CONSTANT,
    DISTANCE,
    DOT1,
    FIRST,
    FIRST_AXIS,
    FIRST_AXIS_2,
    FIRST_POINT,
    IN_FORCE,
    INPUT,
    ORIENTATION,
    POINT,
    PRIMITIVE,
    ROW,
    SECOND,
    SECOND_AXIS,
    SECOND_POINT,
)
from femb.elements.joint.orientation_kernels import orientation
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import HAS_AXES, IN_V, add_point_force, cross, dot, frame_motion, rotate, rotate_back

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
def row(index, data, u, q, v, fixed, J, R, W):
    """Phi, Phi_t and gamma of a row; sets J (12,). R (2, 3, 3), W (22, 3) : work arrays."""
    return next_row(index, data, index, data, NEW, u, q, v, fixed, J, R, W)


@inlined
def shared(index, data, last_index, last_data):
    """What a row shares with the last one: NEW, nothing; FRAMES; or, of rows POINT, also their POINTS."""
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
    """The same after another row of the same state, with its index and data, in the same work arrays.

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
        rotation_gradient(a, Ri, ej, local, J[3:6])
        rotation_gradient(b, Rj, ei, local, J[9:12])
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
    if common != POINTS:
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
        rotation_gradient(axis, Ri, d, b0, J[3:6])
    rotate_back(Ri, ei, b0)
    add_point_force(-1.0, ei, b0, point_i, 0, J)
    rotate_back(Rj, ei, b0)
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
            for k in range(6 if index[3 * e + HAS_AXES] else 3):
                rate += J[6 * e + k] * v[j + k]
    return rate


@inlined
def add_row_force(index, factor, J, out):
    """out (n_v,) += factor J^T of a row."""
    for e in range(2):
        j = index[3 * e + IN_V]
        if j >= 0:
            for k in range(6 if index[3 * e + HAS_AXES] else 3):
                out[j + k] += factor * J[6 * e + k]


@kernel
def constraint_force(index, data, u, q, v, fixed, multipliers, force, rates):
    """force (s, n_v) += J^T lambda, rates (s, n_c) = J v + Phi_t, or the multiplier for a row that is not in force."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        last, begun = 0, NEW
        for n in range(index.shape[0]):
            c = index[n, ROW]
            if inactive(index[n], u[s]):
                rates[s, c] = multipliers[s, c]
                continue
            _, phi_t, _ = next_row(index[n], data[n], index[last], data[last], begun, u[s], q[s], v[s], fixed, J, R, W)
            last, begun = n, FRAMES
            rates[s, c] = rate_of(index[n], v[s], J) + phi_t
            add_row_force(index[n], multipliers[s, c], J, force[s])


@kernel
def constraints(index, data, u, q, v, fixed, position, gamma):
    """position (s, n_c) = Phi, and gamma (s, n_c)."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        last, begun = 0, NEW
        for n in range(index.shape[0]):
            if not inactive(index[n], u[s]):
                phi, _, right = next_row(
                    index[n], data[n], index[last], data[last], begun, u[s], q[s], v[s], fixed, J, R, W
                )
                last, begun = n, FRAMES
                position[s, index[n, ROW]] = phi
                gamma[s, index[n, ROW]] = right


@kernel
def jacobian(index, data, offset, stride, u, q, v, fixed, out, position, gamma):
    """As ``constraints``; J and J^T are added to block data (s, size), to the diagonal one for a row not in force."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        last, begun = 0, NEW
        for n in range(index.shape[0]):
            if inactive(index[n], u[s]):
                out[s, offset[n, 4, 4]] += 1.0
                continue
            phi, _, right = next_row(
                index[n], data[n], index[last], data[last], begun, u[s], q[s], v[s], fixed, J, R, W
            )
            last, begun = n, FRAMES
            position[s, index[n, ROW]], gamma[s, index[n, ROW]] = phi, right
            for g in range(4):
                if offset[n, 4, g] >= 0:
                    for k in range(3):
                        out[s, offset[n, 4, g] + k] += J[3 * g + k]
                        out[s, offset[n, g, 4] + k * stride[n, g, 4]] += J[3 * g + k]


@kernel
def constraint_power(index, data, u, q, v, fixed, multipliers, out):
    """out (s,) += lambda . Phi_t, the power of the inputs."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if index[n, INPUT] >= 0 and not inactive(index[n], u[s]):
                _, phi_t, _ = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
                out[s] += multipliers[s, index[n, ROW]] * phi_t

"""Kernels over torsion springs and dashpots between the axes of two frames.

The rotation of station b relative to station a, p = p_a* p_b, has angles theta_m with rates h_m . w, where w is the
angular velocity of b relative to a. With the moments n_m = k_m (theta_m - free_m) + c_m rate_m + torque_m, in axes of
station b:

    ONE_AXIS    one angle, about the axis f fixed in both stations: theta = 2 atan2(f . p, p_0),
                h = (p_0^2 f + p_0 f x p + (f . p) p) / (p_0^2 + (f . p)^2);          torque on b  -n h
    DUAL_EULER  three Euler angles, h_m = g^m, the dual Euler basis (B^+):            torque on b  -sum n_m g^m
    BENDING     three small Euler angles (B = 1), rate_m = b_m . w with b_m the axis
                of station b for rotation m of the sequence:                           torque on b  -sum n_m b_m

and the opposite on a. The first two are the derivative of k (theta - free)^2 / 2, the last only to first order.

index, data : columns of ``femb.elements.spring.torsion_angles``. Inputs: torque, and its derivatives by angle and rate.
fixed : poses of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.
"""

import numpy as np

from femb.elements.load.euler_basis import basis_change
from femb.elements.spring.torsion_angles import (
    ANGLES,
    AXIS,
    BENDING,
    DAMPING,
    DUAL_EULER,
    FIRST_AXIS,
    FIRST_STATION,
    FREE,
    INPUT,
    KIND,
    LAST_AXIS,
    ONE_AXIS,
    SECOND_STATION,
    SIGN,
    STIFFNESS,
    angles,
    relative,
    twist_change,
)
from femb.numerics.compile import kernel
from femb.numerics.vector3 import IN_V, add_skew, assign, cross, dot, product, rotation, scatter

STARTS = np.array([0, 3])
SIZES = np.array([3, 3])


@kernel
def forces(index, data, u, q, v, fixed, elastic, dissipative, out):
    """out (s, n_v) += moments on b minus those on a; elastic is a factor of the stiffness, dissipative of the rest.

    The work of the BENDING spring is not the difference of a potential energy and counts as dissipative.
    """
    p, work, R = np.empty(4), np.empty((6, 3)), np.empty((3, 3))
    w, z, theta, rate, t, local = work[0], work[1], work[2], work[3], work[4], work[5]
    h, b, S = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            relative(index[k], data[k], q[s], v[s], fixed, p, R, w, z)
            angles(index[k], data[k], p, R, w, theta, rate, h, b)
            spring = dissipative if index[k, KIND] == BENDING else elastic
            t[:] = 0.0
            for m in range(index[k, ANGLES]):
                n = spring * data[k, STIFFNESS + m] * (theta[m] - data[k, FREE + m])
                n += dissipative * data[k, DAMPING + m] * rate[m]
                if index[k, INPUT] >= 0:
                    n += dissipative * u[s, index[k, INPUT]]
                for o in range(3):
                    t[o] += n * b[m, o]
            for e in range(2):
                j = index[k, 3 * e + IN_V]
                if j < 0:
                    continue
                for o in range(3):
                    local[o] = -dot(R[o], t) if e == 0 else t[o]
                rotation(data[k, 4 * e : 4 * e + 4], S)
                for o in range(3):
                    out[s, j + 3 + o] += dot(S[o], local)


@kernel
def energy(index, data, q, v, fixed, out):
    """out (s, 8) += k (theta - free)^2 / 2, as potential energy, which a BENDING spring does not have."""
    p, work, R = np.empty(4), np.empty((4, 3)), np.empty((3, 3))
    h, b = np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if index[k, KIND] == BENDING:
                continue
            relative(index[k], data[k], q[s], v[s], fixed, p, R, work[0], work[1])
            angles(index[k], data[k], p, R, work[0], work[2], work[3], h, b)
            for m in range(index[k, ANGLES]):
                out[s, 1] += 0.5 * data[k, STIFFNESS + m] * (work[2, m] - data[k, FREE + m]) ** 2


@kernel
def motions(index, data, q, v, fixed, p, w):
    """p (s, n, 4), w (s, n, 3): the rotation of b relative to a and its angular velocity, axes of station b."""
    z, R = np.empty(3), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            relative(index[k], data[k], q[s], v[s], fixed, p[s, k], R, w[s, k], z)


@kernel
def tangent(index, data, offset, stride, u, q, v, fixed, damping, stiffness):
    """Add the derivatives of the torques by v, and by q H, to block data.

    Let phi be a small rotation of b relative to a, in axes of b. Then h_m . w and theta_m change by h_m . phi, b_m by
    db_m phi, w by dw - z x phi, and the torque t = sum n_m b_m on b by T phi + C dw with

        C = sum c_m b_m b_m^T,    T = sum b_m (k_m h_m + c_m (z x b_m + db_m^T w))^T + n_m db_m;

    For the opposite torque on a, the change in axes of b is (T - t~) phi + C dw.
    """
    p, work, R = np.empty(4), np.empty((6, 3)), np.empty((3, 3))
    w, z, theta, rate, t, row = work[0], work[1], work[2], work[3], work[4], work[5]
    h, b, db = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3))
    T, C, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    U, S, last = np.empty((2, 3, 3)), np.empty((3, 3)), np.zeros(3)
    K6, C6, KU, CU = np.empty((6, 6)), np.empty((6, 6)), np.empty((3, 3)), np.empty((3, 3))
    for k in range(index.shape[0]):
        kind, first = index[k, KIND], index[k, INPUT]
        relative(index[k], data[k], q, v, fixed, p, R, w, z)
        angles(index[k], data[k], p, R, w, theta, rate, h, b)
        db[:] = 0.0
        if kind == ONE_AXIS:
            twist_change(p, data[k, AXIS], h[0], db[0])
        elif kind == DUAL_EULER:
            last[:] = 0.0
            last[index[k, LAST_AXIS]] = 1.0
            basis_change(R[index[k, FIRST_AXIS]], last, data[k, SIGN], True, b, db)
        t[:] = 0.0
        T[:] = 0.0
        C[:] = 0.0
        for m in range(index[k, ANGLES]):
            stiff, damp = data[k, STIFFNESS + m], data[k, DAMPING + m]
            n = stiff * (theta[m] - data[k, FREE + m]) + damp * rate[m]
            if first >= 0:
                n += u[first]
                stiff += u[first + 1]
                damp += u[first + 2]
            cross(z, b[m], row)
            for o in range(3):
                row[o] += w[0] * db[m, 0, o] + w[1] * db[m, 1, o] + w[2] * db[m, 2, o]
                row[o] = stiff * h[m, o] + damp * row[o]
            for o in range(3):
                t[o] += n * b[m, o]
                for x in range(3):
                    T[o, x] += b[m, o] * row[x] + n * db[m, o, x]
                    C[o, x] += damp * b[m, o] * b[m, x]
        # from axes of station b to those of the frames; the motion of a has the opposite sign
        rotation(data[k, FIRST_STATION], S)
        product(S, R, U[0])
        rotation(data[k, SECOND_STATION], U[1])
        for o in range(3):
            for x in range(3):
                U[0, o, x] = -U[0, o, x]
        for e in range(2):
            for o in range(3):
                assign(T[o], A[o])
            if e == 0:
                for o in range(3):
                    row[o] = -t[o]
                add_skew(row, A)
            product(U[e], A, KU)
            product(U[e], C, CU)
            for g in range(2):
                for o in range(3):
                    for x in range(3):
                        K6[3 * e + o, 3 * g + x] = dot(KU[o], U[g, x])
                        C6[3 * e + o, 3 * g + x] = dot(CU[o], U[g, x])
        scatter(C6, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K6, STARTS, SIZES, offset[k], stride[k], stiffness)

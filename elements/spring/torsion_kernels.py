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

index (n, 12) int: columns of the frames a and b (see ``femb.numerics.vector3``), first INPUT or -1, KIND, the three
axes of the sequence, number of ANGLES. data (n, 21): quaternions (4, 4) of the stations in their frames, axis f (3), k
(3), c (3), free (3), SIGN of g_3 x g_1 along g_2. Inputs: torque, and its derivatives by angle and rate. fixed : poses
of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.
"""

import math

import numpy as np

from femb.elements.load.euler_basis import basis, basis_change
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_skew,
    cross,
    dot,
    hamilton_into,
    product,
    rotation,
    scatter,
    turn_back,
)

ONE_AXIS, DUAL_EULER, BENDING = range(3)
INPUT, KIND, FIRST_AXIS, SECOND_AXIS, LAST_AXIS, ANGLES = range(6, 12)
FIRST_STATION, SECOND_STATION, AXIS = slice(0, 4), slice(4, 8), slice(8, 11)
STIFFNESS, DAMPING, FREE, SIGN = 11, 14, 17, 20  # three columns each, but one for SIGN
STARTS = np.array([0, 3])
SIZES = np.array([3, 3])


@inlined
def quaternion_of(i, q, fixed, station, p):
    """p (4,) of a station: quaternion of its frame times that of the station in the frame."""
    hamilton_into(q[i + 3 : i + 7] if i >= 0 else fixed[-1 - i, 3:7], station, p)


@inlined
def relative(index, data, q, v, fixed, p, R, w, z):
    """p (4,), R (3, 3): rotation of station b relative to a; w: its angular velocity, z: that of a; axes of b."""
    work, spin, S = np.empty((2, 4)), np.empty(3), np.empty((3, 3))
    a, b = work[0], work[1]
    quaternion_of(index[IN_Q], q, fixed, data[FIRST_STATION], a)
    quaternion_of(index[3 + IN_Q], q, fixed, data[SECOND_STATION], b)
    for k in range(1, 4):
        a[k] = -a[k]
    hamilton_into(a, b, p)
    z[:] = 0.0
    w[:] = 0.0
    if index[IN_V] >= 0:
        rotation(data[FIRST_STATION], S)
        turn_back(S, v[index[IN_V] + 3 : index[IN_V] + 6], spin)
        rotation(p, R)
        turn_back(R, spin, z)
    if index[3 + IN_V] >= 0:
        rotation(data[SECOND_STATION], S)
        turn_back(S, v[index[3 + IN_V] + 3 : index[3 + IN_V] + 6], w)
    rotation(p, R)
    for k in range(3):
        w[k] -= z[k]


@kernel
def twist(p, f, h):
    """The angle about f, in [-pi, pi], and h (3,) with rate = h . w."""
    x, vector, y = p[0], p[1:4], dot(f, p[1:4])
    cross(f, vector, h)
    for o in range(3):
        h[o] = (x * x * f[o] + x * h[o] + y * vector[o]) / (x * x + y * y)
    return 2.0 * math.atan2(y, x) if x >= 0.0 else 2.0 * math.atan2(-y, -x)


@inlined
def twist_change(p, f, h, change):
    """change (3, 3): [:, k] is the rate of h for a unit spin of b about its axis k, p' = p (0, e_k)/2."""
    work = np.empty((5, 3))
    vector, dvector, unit, fxv, c = work[0], work[1], work[2], work[3], work[4]
    x, y = p[0], dot(f, p[1:4])
    for o in range(3):
        vector[o] = p[1 + o]
    cross(f, vector, fxv)
    square = x * x + y * y
    for k in range(3):
        unit[:] = 0.0
        unit[k] = 1.0
        cross(vector, unit, dvector)
        for o in range(3):
            dvector[o] = 0.5 * (x * unit[o] + dvector[o])
        dx, dy = -0.5 * vector[k], dot(f, dvector)
        cross(f, dvector, c)
        grown = 2.0 * (x * dx + y * dy)
        for o in range(3):
            top = 2.0 * x * dx * f[o] + dx * fxv[o] + x * c[o] + dy * vector[o] + y * dvector[o]
            change[o, k] = (top - grown * h[o]) / square


@inlined
def euler_angles(R, i, j, k, theta):
    """theta (3,) of the sequence with axes i, j, k: first and last in [-pi, pi]; see femb.numerics.euler."""
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    if i != k:
        theta[0] = math.atan2(-e * R[j, k], R[k, k])
        theta[1] = math.atan2(e * R[i, k], math.hypot(R[i, i], R[i, j]))
        theta[2] = math.atan2(-e * R[i, j], R[i, i])
    else:
        m = 3 - i - j
        theta[0] = math.atan2(R[j, i], -e * R[m, i])
        theta[1] = math.atan2(math.hypot(R[i, j], R[i, m]), R[i, i])
        theta[2] = math.atan2(R[i, j], e * R[i, m])


@inlined
def angles(index, data, p, R, w, theta, rate, h, b):
    """theta, rate (3,); h (3, 3): rows, h_m . w is the exact rate; b (3, 3): rows, directions of the moments."""
    kind = index[KIND]
    if kind == ONE_AXIS:
        theta[0] = twist(p, data[AXIS], h[0])
        for o in range(3):
            b[0, o] = h[0, o]
    else:
        i, j, k = index[FIRST_AXIS], index[SECOND_AXIS], index[LAST_AXIS]
        euler_angles(R, i, j, k, theta)
        last = np.zeros(3)
        last[k] = 1.0
        basis(R[i], last, data[SIGN], True, h)
        for m in range(3):
            for o in range(3):
                b[m, o] = h[m, o] if kind == DUAL_EULER else 0.0
        if kind == BENDING:
            b[0, i], b[1, j], b[2, k] = 1.0, 1.0, 1.0
    for m in range(index[ANGLES]):
        rate[m] = dot(b[m], w)


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
    K6, C6 = np.empty((6, 6)), np.empty((6, 6))
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
                for x in range(3):
                    A[o, x] = T[o, x]
            if e == 0:
                for o in range(3):
                    row[o] = -t[o]
                add_skew(row, A)
            for g in range(2):
                for o in range(3):
                    for x in range(3):
                        into_k, into_c = 0.0, 0.0
                        for m in range(3):
                            for y in range(3):
                                f = U[e, o, m] * U[g, x, y]
                                into_k += f * A[m, y]
                                into_c += f * C[m, y]
                        K6[3 * e + o, 3 * g + x] = into_k
                        C6[3 * e + o, 3 * g + x] = into_c
        scatter(C6, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K6, STARTS, SIZES, offset[k], stride[k], stiffness)

"""Angles of torsion springs: the rotation between two stations, its angles and their rates.

index (n, 12) int: columns of the frames a and b (see ``femb.numerics.vector3``), first INPUT or -1, KIND, the three
axes of the sequence, number of ANGLES. data (n, 21): quaternions (4, 4) of the stations in their frames, axis f (3), k
(3), c (3), free (3), SIGN of g_3 x g_1 along g_2. Formulas: ``femb.elements.spring.torsion_kernels``.
"""

import math

import numpy as np

from femb.elements.load.euler_basis import basis
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, hamilton_into, rotate_back, rotation

ONE_AXIS, DUAL_EULER, BENDING = range(3)
INPUT, KIND, FIRST_AXIS, SECOND_AXIS, LAST_AXIS, ANGLES = range(6, 12)
FIRST_STATION, SECOND_STATION, AXIS = slice(0, 4), slice(4, 8), slice(8, 11)
STIFFNESS, DAMPING, FREE, SIGN = 11, 14, 17, 20  # three columns each, but one for SIGN


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
        rotate_back(S, v[index[IN_V] + 3 : index[IN_V] + 6], spin)
        rotation(p, R)
        rotate_back(R, spin, z)
    if index[3 + IN_V] >= 0:
        rotation(data[SECOND_STATION], S)
        rotate_back(S, v[index[3 + IN_V] + 3 : index[3 + IN_V] + 6], w)
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

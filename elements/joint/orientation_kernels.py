"""Kernels of ORIENTATION rows: one component of the relative attitude of two frames; arguments as in ``columns``.

Source: docs/theory/constraints.md, equations (1) to (9) and (13) to (15).
"""

import math

import numpy as np

from femb.elements.joint.columns import CONSTANT, FIRST, INPUT, QUATERNION, SECOND
from femb.numerics.compile import inlined
from femb.numerics.vector3 import (
    IN_Q,
    cross,
    dot4,
    hamilton_into,
    quaternion_times_into,
    rotate_back,
    rotation,
    times_quaternion_into,
)


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
    rotate_back(R, wi, local)
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

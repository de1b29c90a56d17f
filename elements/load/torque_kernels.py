"""Kernels over torques: components along three base vectors, each damped by its conjugate rate.

    torque = sum T_m b_m,    T_m = u_m - c_m b_m . omega

where b_m are the inertial axes, the axes of the station (a body, or the section of a beam node), the Euler basis or its
dual. The power of T_m is T_m b_m . omega: its conjugate rate is b_m . omega, an Euler rate for the dual basis.
Vectors are in the axes of the station's frame.

index (n, 6) int: index of the frame in q and in v, first INPUT, number of INPUTS, BASIS, FIRST_AXIS of the Euler
sequence. data (n, 25): MATRIX (9) from the inputs to u_m, DAMPING (3), STATION_AXES (9) in the frame, LAST_AXIS (3) of
the Euler sequence in the frame, SIGN of g_3 x g_1 along g_2. Torques without damping along the axes of the station have
the first four columns of the index, and data (n, 9), the MATRIX; they are called steady.
Source: Choi, USC thesis 2014, equations (2), (6) to (11), (36), (37).
"""

import numpy as np

from femb.elements.load.euler_basis import basis, basis_change
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import IN_Q, IN_V, add_skew, dot, rotation, scatter

INPUT, INPUTS, BASIS, FIRST_AXIS = range(2, 6)
MATRIX, DAMPING, STATION_AXES, LAST_AXIS, SIGN = 0, 9, 12, slice(21, 24), 24
INERTIAL, BODY, EULER, DUAL = 0, 1, 2, 3
STARTS = np.array([0])
SIZES = np.array([6])


@inlined
def base_vectors(index, data, R, b):
    """b (3, 3): the base vectors of one torque as rows, for frame axes R."""
    kind = index[BASIS]
    if kind == INERTIAL:
        for m in range(3):
            for o in range(3):
                b[m, o] = R[m, o]
    elif kind == BODY:
        for m in range(3):
            for o in range(3):
                b[m, o] = data[STATION_AXES + 3 * o + m]
    else:
        basis(R[index[FIRST_AXIS]], data[LAST_AXIS], data[SIGN], kind == DUAL, b)


@inlined
def components(index, data, u, omega, b, T):
    """T (3,): components of one torque."""
    for m in range(3):
        T[m] = -data[DAMPING + m] * dot(b[m], omega)
        for k in range(index[INPUTS]):
            T[m] += data[MATRIX + 3 * m + k] * u[index[INPUT] + k]


@kernel_with_entry
def torques(index, data, u, q, v, out):
    """out (s, n_v) -= the torques."""
    R, b, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            rotation(q[s, i + 3 : i + 7], R)
            base_vectors(index[k], data[k], R, b)
            components(index[k], data[k], u[s], v[s, j + 3 : j + 6], b, T)
            for o in range(3):
                out[s, j + 3 + o] -= T[0] * b[0, o] + T[1] * b[1, o] + T[2] * b[2, o]


@kernel_with_entry
def steady_torques(index, data, u, out):
    """out (s, n_v) -= the steady torques."""
    for s in range(u.shape[0]):
        for k in range(index.shape[0]):
            j, first, count = index[k, IN_V], index[k, INPUT], index[k, INPUTS]
            for o in range(3):
                for i in range(count):
                    out[s, j + 3 + o] -= data[k, MATRIX + 3 * o + i] * u[s, first + i]


@kernel_with_entry
def tangent(index, data, offset, stride, u, q, v, damping, stiffness):
    """Add d(-torque)/dv and d(-torque)/dq H at constant inputs to block data (s, size).

    A rotation of the frame changes b_m by db_m and the torque by sum T_m db_m - c_m b_m (omega . db_m).
    """
    R, b, T, change = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.zeros((3, 3, 3))
    C, K = np.zeros((6, 6)), np.zeros((6, 6))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, kind = index[k, IN_Q], index[k, IN_V], index[k, BASIS]
            omega = v[s, j + 3 : j + 6]
            rotation(q[s, i + 3 : i + 7], R)
            base_vectors(index[k], data[k], R, b)
            components(index[k], data[k], u[s], omega, b, T)
            change[:] = 0.0
            if kind == INERTIAL:
                for m in range(3):
                    add_skew(1.0, b[m], change[m])
            elif kind != BODY:
                first = R[index[k, FIRST_AXIS]]
                basis_change(first, data[k, LAST_AXIS], data[k, SIGN], kind == DUAL, b, change)
            for o in range(3):
                for p in range(3):
                    C[3 + o, 3 + p] = 0.0
                    K[3 + o, 3 + p] = 0.0
                    for m in range(3):
                        c = data[k, DAMPING + m]
                        C[3 + o, 3 + p] += c * b[m, o] * b[m, p]
                        rate_change = dot(omega, change[m, :, p])
                        K[3 + o, 3 + p] += c * b[m, o] * rate_change - T[m] * change[m, o, p]
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[s])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[s])

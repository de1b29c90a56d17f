"""Kernels over torques: components along three base vectors, each damped by the rate conjugate to it.

    torque = sum T_m b_m,    T_m = u_m - c_m b_m . omega

with b_m the inertial axes, the axes of the station (a body, or the section of a beam node), the Euler basis or its
dual. The power of T_m is T_m b_m . omega: b_m . omega is what it is conjugate to, an Euler rate for the dual basis.
All vectors are in the axes of the frame that carries the station.

index (n, 6) int: of the frame in q, in v, first input, number of inputs, basis, first axis of the Euler sequence.
data (n, 25): matrix (9) from the inputs to u_m, damping (3), axes (9) of the station in the frame, last axis (3) of
the Euler sequence in the frame, sign of g_3 x g_1 along g_2. Torques that are steady in the frame, along the axes of
the station and undamped, take the first four columns of the index, and data (n, 9), the matrix from the inputs.
Source: Choi, USC thesis 2014, equations (2), (6) to (11), (36), (37).
"""

import numpy as np

from femb.elements.load.euler_basis import basis, basis_change
from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import dot, rotation, scatter

INERTIAL, BODY, EULER, DUAL = 0, 1, 2, 3
STARTS = np.array([0])
SIZES = np.array([6])


@inner
def base_vectors(index, data, R, b):
    """b (3, 3): the base vectors of one torque, a row each, for the frame's axes R."""
    kind = index[4]
    if kind == 0:
        for m in range(3):
            for o in range(3):
                b[m, o] = R[m, o]
    elif kind == 1:
        for m in range(3):
            for o in range(3):
                b[m, o] = data[12 + 3 * o + m]
    else:
        basis(R[index[5]], data[21:24], data[24], kind == 3, b)


@inner
def components(index, data, u, omega, b, T):
    """T (3,) of one torque."""
    for m in range(3):
        T[m] = -data[9 + m] * dot(b[m], omega)
        for k in range(index[3]):
            T[m] += data[3 * m + k] * u[index[2] + k]


@kernel
def applied(index, data, u, q, v, sign, out):
    """out (s, n_v) += sign times the torques."""
    R, b, T = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, 0], index[k, 1]
            rotation(q[s, i + 3 : i + 7], R)
            base_vectors(index[k], data[k], R, b)
            components(index[k], data[k], u[s], v[s, j + 3 : j + 6], b, T)
            for o in range(3):
                out[s, j + 3 + o] += sign * (T[0] * b[0, o] + T[1] * b[1, o] + T[2] * b[2, o])


@kernel
def applied_steady(index, data, u, q, v, sign, out):
    """out (s, n_v) += sign times the torques that are steady in their frames."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            j, first, count = index[k, 1], index[k, 2], index[k, 3]
            for o in range(3):
                for i in range(count):
                    out[s, j + 3 + o] += sign * data[k, 3 * o + i] * u[s, first + i]


@kernel
def tangent(index, data, offset, stride, u, q, v, damping, stiffness):
    """Add d(-torque)/dv and d(-torque)/dq H to block data, inputs held.

    As the frame turns, b_m changes by db_m, the torque by sum T_m db_m - c_m b_m (omega . db_m).
    """
    R, b, T, change = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.zeros((3, 3, 3))
    C, K = np.zeros((6, 6)), np.zeros((6, 6))
    for k in range(index.shape[0]):
        i, j, kind = index[k, 0], index[k, 1], index[k, 4]
        omega = v[j + 3 : j + 6]
        rotation(q[i + 3 : i + 7], R)
        base_vectors(index[k], data[k], R, b)
        components(index[k], data[k], u, omega, b, T)
        change[:] = 0.0
        if kind == 0:
            for m in range(3):
                # b_m x e_k: the columns of its cross matrix
                change[m, 0, 1], change[m, 0, 2] = -b[m, 2], b[m, 1]
                change[m, 1, 0], change[m, 1, 2] = b[m, 2], -b[m, 0]
                change[m, 2, 0], change[m, 2, 1] = -b[m, 1], b[m, 0]
        elif kind > 1:
            basis_change(R[index[k, 5]], data[k, 21:24], data[k, 24], kind == 3, b, change)
        for o in range(3):
            for p in range(3):
                C[3 + o, 3 + p] = 0.0
                K[3 + o, 3 + p] = 0.0
                for m in range(3):
                    c = data[k, 9 + m]
                    C[3 + o, 3 + p] += c * b[m, o] * b[m, p]
                    turned = dot(omega, change[m, :, p])
                    K[3 + o, 3 + p] += c * b[m, o] * turned - T[m] * change[m, o, p]
        scatter(C, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness)

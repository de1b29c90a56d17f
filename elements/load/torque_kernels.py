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

from typing import Any

import numpy as np

from femb.elements.load.euler_basis import dual_basis, euler_basis
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Vector3, scaled
from femb.numerics.compiler.traced import M3, V3, V4, add_to, put_changes, traced, unit_changes
from femb.numerics.vector3 import IN_Q, IN_V, attitude, scatter, still, turned_about

INPUT, INPUTS, BASIS, FIRST_AXIS = range(2, 6)
MATRIX, DAMPING, STATION_AXES, LAST_AXIS, SIGN = 0, 9, 12, 21, 24
INERTIAL, BODY, EULER, DUAL = 0, 1, 2, 3
STARTS = np.array([0])
SIZES = np.array([6])


UNITS = np.eye(3)

# Directions of the tangent: rotations about the frame's axes, and from 4 on components of the angular velocity.
turns, spins = unit_changes(0, 8), unit_changes(4, 8)


@traced
def row_of(unit: Vector3, R: Matrix3) -> Any:
    """The row (3,) of axes R that a unit vector names."""
    return unit @ R


@traced
def torque_along(b: Matrix3, u: Vector3, damping: Vector3, omega: Vector3) -> Any:
    """The torque (3,) along base vectors b (3, 3), a row each, see above."""
    return (u - scaled(damping, b @ omega)) @ b


@inlined
def torque_on(index, data, u, R, omega, given):
    """One torque, for frame axes R and an angular velocity. given (3,) : work."""
    kind, b = index[BASIS], R
    for m in range(3):
        given[m] = 0.0
        for k in range(index[INPUTS]):
            given[m] += data[MATRIX + 3 * m + k] * u[index[INPUT] + k]
    if kind == BODY:
        b = M3(data[STATION_AXES:]).T
    elif kind != INERTIAL:
        first, last = row_of(V3(UNITS[index[FIRST_AXIS]]), R), V3(data[LAST_AXIS:])
        b = dual_basis(first, last, data[SIGN]) if kind == DUAL else euler_basis(first, last, data[SIGN])
    return torque_along(b, V3(given), V3(data[DAMPING:]), omega)


@kernel_with_entry
def torques(index, data, u, q, v, out):
    """out (s, n_v) -= the torques."""
    given = np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            R, omega = attitude(V4(q[s, index[k, IN_Q] + 3 :])), V3(v[s, index[k, IN_V] + 3 :])
            add_to(-torque_on(index[k], data[k], u[s], R, omega, given), out[s, index[k, IN_V] + 3 :])


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
    """Add d(-torque)/dv and d(-torque)/dq H at constant inputs to block data (s, size)."""
    given, rows, C, K = np.empty(3), np.empty((3, 8)), np.zeros((6, 6)), np.zeros((6, 6))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            omega = V3(v[s, index[k, IN_V] + 3 :])
            R = turned_about(attitude(V4(q[s, index[k, IN_Q] + 3 :])), turns(still()))
            put_changes(-torque_on(index[k], data[k], u[s], R, spins(omega), given), rows)
            for o in range(3):
                for p in range(3):
                    K[3 + o, 3 + p], C[3 + o, 3 + p] = rows[o, p], rows[o, 4 + p]
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[s])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[s])

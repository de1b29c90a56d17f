"""Kernels over point forces.

index (n, 5) int: index of the frame in q and in v, first INPUT, number of INPUTS, KIND: components in INERTIAL axes, in
axes of the BODY, or on a POINT mass, which has no axes. data (n, 12): the point in the frame, MATRIX (9) from the
inputs to the components.
"""

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_point_force,
    add_torque_tangent,
    rotate,
    rotate_back,
    rotation,
    scatter,
    times_skew,
)

INPUT, INPUTS, KIND = 2, 3, 4
AT, MATRIX = slice(0, 3), 3
INERTIAL, BODY, POINT = 0, 1, 2
STARTS = np.array([0])
SIZES = np.array([6])


@inlined
def components(index, data, u, F):
    """F (3,): components of one force."""
    for i in range(3):
        F[i] = 0.0
        for k in range(index[INPUTS]):
            F[i] += data[MATRIX + 3 * i + k] * u[index[INPUT] + k]


@kernel
def forces(index, data, u, q, v, sign, out):
    """out (s, n_v) += sign times the generalized forces."""
    R, w = np.empty((3, 3)), np.empty((2, 3))
    F, other = w[0], w[1]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, kind = index[k, IN_Q], index[k, IN_V], index[k, KIND]
            components(index[k], data[k], u[s], F)
            if kind == POINT:
                for o in range(3):
                    out[s, j + o] += sign * F[o]
                continue
            rotation(q[s, i + 3 : i + 7], R)
            if kind == BODY:
                rotate(R, F, other)
                add_point_force(sign, other, F, data[k, AT], j, out[s])
            else:
                rotate_back(R, F, other)
                add_point_force(sign, F, other, data[k, AT], j, out[s])


@kernel
def tangent(index, data, offset, stride, u, q, out):
    """Add d(-force)/dq H to block data: the change of directions and arms with the frame at constant inputs."""
    R, w, A = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 6))
    F, local = w[0], w[1]
    for k in range(index.shape[0]):
        i, kind = index[k, IN_Q], index[k, KIND]
        if kind == POINT:
            continue
        components(index[k], data[k], u, F)
        rotation(q[i + 3 : i + 7], R)
        A[:] = 0.0
        if kind == BODY:
            times_skew(1.0, R, F, A[:3, 3:])
        else:
            rotate_back(R, F, local)
            add_torque_tangent(-1.0, local, data[k, AT], 3, A)
        scatter(A, STARTS, SIZES, offset[k], stride[k], out)

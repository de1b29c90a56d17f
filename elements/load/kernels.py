"""Kernels over point forces.

index (n, 5) int: of the frame in q, in v, first input, number of inputs, kind: 0 inertial axes, 1 frame axes, 2 at a
point without axes. data (n, 12): offset (3) in the frame, matrix (9) from the inputs to the components.
"""

import numpy as np

from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import cross, rotation, scatter, turn, turn_back

INERTIAL, BODY, POINT = 0, 1, 2
STARTS = np.array([0])
SIZES = np.array([6])


@inner
def vector(index, data, u, F):
    """F (3,) of one force in its own axes."""
    for i in range(3):
        F[i] = 0.0
        for k in range(index[3]):
            F[i] += data[3 + 3 * i + k] * u[index[2] + k]


@kernel
def applied(index, data, u, q, v, sign, out):
    """out (s, n_v) += sign times the generalized forces."""
    R, w = np.empty((3, 3)), np.empty((4, 3))
    F, inertial, local, torque = w[0], w[1], w[2], w[3]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, kind = index[k, 0], index[k, 1], index[k, 4]
            vector(index[k], data[k], u[s], F)
            if kind == 2:
                for o in range(3):
                    out[s, j + o] += sign * F[o]
                continue
            rotation(q[s, i + 3 : i + 7], R)
            if kind == 1:
                turn(R, F, inertial)
                for o in range(3):
                    local[o] = F[o]
            else:
                turn_back(R, F, local)
                for o in range(3):
                    inertial[o] = F[o]
            cross(data[k, 0:3], local, torque)
            for o in range(3):
                out[s, j + o] += sign * inertial[o]
                out[s, j + 3 + o] += sign * torque[o]


@kernel
def stiffness(index, data, offset, stride, u, q, out):
    """Add d(-force)/dq H to block data: the turning of directions and arms with the frame, inputs held."""
    R, w, A = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 6))
    F, local = w[0], w[1]
    for k in range(index.shape[0]):
        i, kind = index[k, 0], index[k, 4]
        if kind == 2:
            continue
        vector(index[k], data[k], u, F)
        rotation(q[i + 3 : i + 7], R)
        A[:] = 0.0
        if kind == 1:
            # R F turns with the frame: -d(R F) = R F~
            for o in range(3):
                A[o, 3] = R[o, 1] * F[2] - R[o, 2] * F[1]
                A[o, 4] = R[o, 2] * F[0] - R[o, 0] * F[2]
                A[o, 5] = R[o, 0] * F[1] - R[o, 1] * F[0]
        else:
            # -d(d x R^T F) = -(f d^T - (d . f) I), f = R^T F
            turn_back(R, F, local)
            d = data[k, 0] * local[0] + data[k, 1] * local[1] + data[k, 2] * local[2]
            for o in range(3):
                for p in range(3):
                    A[3 + o, 3 + p] = -local[o] * data[k, p]
                A[3 + o, 3 + o] += d
        scatter(A, STARTS, SIZES, offset[k], stride[k], out)

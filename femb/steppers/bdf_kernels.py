"""Kernels of the BDF stepper."""

import math

from femb.numerics.compile import kernel
from femb.numerics.kinematics import error_norm
from femb.numerics.vector3 import hamilton
from femb.steppers.radau_kernels import rotate_frames


@kernel
def implicit_coordinates(linear_q, linear_v, quaternion_q, omega_v, mu, known, v, q):
    """q (n_q,) with q = known + H(q) v / mu.

    For a quaternion this is p = c + p w with the vector w = omega/(2 mu): linear in p, and solved by
    p = c (1 + w)/(1 + w.w).
    """
    for k in range(linear_q.size):
        q[linear_q[k]] = known[linear_q[k]] + v[linear_v[k]] / mu
    f = 0.5 / mu
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = f * v[j], f * v[j + 1], f * v[j + 2]
        s = 1.0 / (1.0 + a * a + b * b + c * c)
        q[i], q[i + 1], q[i + 2], q[i + 3] = hamilton(
            s * known[i], s * known[i + 1], s * known[i + 2], s * known[i + 3], 1.0, a, b, c
        )


@kernel
def correct(rotations, corotated_v, change, scale, reference, d):
    """d (n_v,) += change, rotated to the present attitude (rotations (F, 4)); returns the norm of the change."""
    rotate_frames(rotations, corotated_v, change)
    for k in range(d.size):
        d[k] += change[k]
    start, size, atol, rtol = scale
    return error_norm(start, size, atol, rtol, change, reference)


@kernel
def normalise_history(quaternion_q, D):
    """Scale the quaternions of the last value D[0] to unit length, and all their differences by the same factor.

    p' = p (0, omega)/2 is linear in p, so that the scaled history is a solution of the same difference equations: the
    projection changes neither later attitudes nor the smoothness of the differences.
    """
    for k in range(quaternion_q.size):
        i = quaternion_q[k]
        s = 0.0
        for m in range(i, i + 4):
            s += D[0, m] * D[0, m]
        f = 1.0 / math.sqrt(s)
        for j in range(D.shape[0]):
            for m in range(i, i + 4):
                D[j, m] *= f

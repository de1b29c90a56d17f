"""Kernels of the generalized-alpha stepper."""

import math

from femb.numerics.compile import kernel
from femb.numerics.vector3 import hamilton


@kernel
def retract(linear_q, linear_v, quaternion_q, omega_v, q, x, out):
    """out (n_q,): the coordinates q after the displacement x (n_v,), with the exponential of its rotations."""
    for k in range(linear_q.size):
        out[linear_q[k]] = q[linear_q[k]] + x[linear_v[k]]
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 0.5 * x[j], 0.5 * x[j + 1], 0.5 * x[j + 2]
        angle = math.sqrt(a * a + b * b + c * c)
        f = math.sin(angle) / angle if angle > 1e-8 else 1.0 - angle * angle / 6.0
        out[i], out[i + 1], out[i + 2], out[i + 3] = hamilton(
            q[i], q[i + 1], q[i + 2], q[i + 3], math.cos(angle), f * a, f * b, f * c
        )

"""Kernels of the generalized-alpha stepper."""

import math

from femb.numerics.compile import kernel


@kernel
def moved(linear_q, linear_v, quaternion_q, omega_v, q, x, out):
    """out (n_q,): the coordinates q after the displacement x (n_v,), its rotations by their exponential."""
    for k in range(linear_q.size):
        out[linear_q[k]] = q[linear_q[k]] + x[linear_v[k]]
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 0.5 * x[j], 0.5 * x[j + 1], 0.5 * x[j + 2]
        angle = math.sqrt(a * a + b * b + c * c)
        f = math.sin(angle) / angle if angle > 1e-8 else 1.0 - angle * angle / 6.0
        d = math.cos(angle)
        a, b, c = f * a, f * b, f * c
        p0, p1, p2, p3 = q[i], q[i + 1], q[i + 2], q[i + 3]
        out[i] = d * p0 - p1 * a - p2 * b - p3 * c
        out[i + 1] = d * p1 + p0 * a + p2 * c - p3 * b
        out[i + 2] = d * p2 + p0 * b + p3 * a - p1 * c
        out[i + 3] = d * p3 + p0 * c + p1 * b - p2 * a

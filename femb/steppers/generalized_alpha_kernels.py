"""Kernels of the generalized-alpha stepper."""

import math

from femb.numerics.compile import kernel
from femb.numerics.kinematics import error_norm, rates
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


@kernel
def states(linear_q, linear_v, quaternion_q, omega_v, weights, h, q0, v0, a0, A0, a, q, v, A, x):
    """q, v and A at the end of a step h with the accelerations a (n_v,) there, from the state q0, v0, a0, A0.

    weights : alpha_m, alpha_f, gamma, beta. x (n_v,) : work.
    """
    alpha_m, alpha_f, gamma, beta = weights
    for k in range(a.size):
        A[k] = ((1.0 - alpha_f) * a[k] + alpha_f * a0[k] - alpha_m * A0[k]) / (1.0 - alpha_m)
        v[k] = v0[k] + h * ((1.0 - gamma) * A0[k] + gamma * A[k])
        x[k] = h * v0[k] + h * h * ((0.5 - beta) * A0[k] + beta * A[k])
    retract(linear_q, linear_v, quaternion_q, omega_v, q0, x, q)


@kernel
def correct(linear_q, linear_v, quaternion_q, omega_v, scale_q, scale_v, h, share, q0, v0, x, a, multipliers, work):
    """Apply a correction x (n,) of velocities and multipliers: a += x / (share h). Returns its norm.

    q0 (1, n_q), v0 (n_v,) : the state at the start of the step. work : (1, n_v) and (1, n_q).
    """
    n_v = a.size
    change, rate = work
    for k in range(n_v):
        a[k] += x[k] / (share * h)
        change[0, k] = h * x[k]
    for k in range(n_v, x.size):
        multipliers[k - n_v] += x[k]
    rates(linear_q, linear_v, quaternion_q, omega_v, q0, change, rate)
    start, size, atol, rtol = scale_q
    norm = error_norm(start, size, atol, rtol, rate[0], q0[0])
    start, size, atol, rtol = scale_v
    return max(norm, error_norm(start, size, atol, rtol, x, v0))

"""Kernels of modal damping of what hangs on a body.

With the body's axes R_h, origin r_h and angular velocity omega_h, the rates of deformation of the frame k are

    u' = R_h^T (r_k' - r_h') - omega_h x R_h^T (r_k - r_h),    theta' = R_h^T R_k omega_k - omega_h

and of an internal coordinate its own rate: all vanish in rigid motions. Modal rates eta'_j = d_j . (u', theta') give
forces w = sum_j c_j eta'_j d_j on these rates, which the transpose takes to frames and to the body.
Source: docs/theory/modal_damping.md, equations (2) to (4).

body (3,), frames (n, 3) int : columns of frames (see ``femb.numerics.vector3``). internal (m,) int : of internal
coordinates in v. d (k, n, 6), e (k, m) : d_j of frames and of internal coordinates. c (k,) : 2 zeta omega.
"""

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import HAS_AXES, IN_V, cross, dot, frame_motion, product_left_back, rotate, rotate_back


@inlined
def deformation(body, frames, q, v, fixed, R, work, Q, place, rates):
    """Sets R (3, 3), the body's axes; Q (n, 3, 3), axes of the frames in these; ``place`` and ``rates`` of the frames.

    place (n, 3) : R_h^T (r_k - r_h). rates (n, 6) : u', theta'.
    """
    r, speed, w, own, rate, spin, difference, swept = (
        work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7]
    )  # fmt: skip
    axes = np.empty((3, 3))
    frame_motion(body, 0, q, v, fixed, R, r, speed, w)
    for i in range(frames.shape[0]):
        frame_motion(frames[i], 0, q, v, fixed, axes, own, rate, spin)
        for k in range(3):
            difference[k] = own[k] - r[k]
        rotate_back(R, difference, place[i])
        for k in range(3):
            difference[k] = rate[k] - speed[k]
        rotate_back(R, difference, rates[i, :3])
        cross(w, place[i], swept)
        product_left_back(R, axes, Q[i])
        rotate(Q[i], spin, difference)
        for k in range(3):
            rates[i, k] -= swept[k]
            rates[i, 3 + k] = difference[k] - w[k]
        if not frames[i, HAS_AXES]:
            for k in range(3):
                rates[i, 3 + k] = 0.0


@inlined
def modal_rate(d, e, rates, internal, v):
    """eta' of one mode."""
    result = 0.0
    for i in range(rates.shape[0]):
        result += dot(d[i, :3], rates[i, :3]) + dot(d[i, 3:], rates[i, 3:])
    for i in range(internal.size):
        result += e[i] * v[internal[i]]
    return result


@kernel
def forces(body, frames, internal, d, e, c, q, v, fixed, factor, eta_rates, out):
    """eta_rates (s, k) of s states, and out (s, n_v) += factor times the forces, with the signs of a residual."""
    n = frames.shape[0]
    R, work, Q = np.empty((3, 3)), np.empty((8, 3)), np.empty((n, 3, 3))
    place, rates, w = np.empty((n, 3)), np.empty((n, 6)), np.empty((n, 6))
    force, torque = work[0], work[1]
    on_body = np.empty(6)
    for s in range(q.shape[0]):
        deformation(body, frames, q[s], v[s], fixed, R, work, Q, place, rates)
        for i in range(n):
            for m in range(6):
                w[i, m] = 0.0
        for j in range(c.size):
            eta_rates[s, j] = modal_rate(d[j], e[j], rates, internal, v[s])
            share = factor * c[j] * eta_rates[s, j]
            for i in range(n):
                for m in range(6):
                    w[i, m] += share * d[j, i, m]
            for i in range(internal.size):
                out[s, internal[i]] += share * e[j, i]
        for m in range(6):
            on_body[m] = 0.0
        for i in range(n):
            rotate(R, w[i, :3], force)
            cross(place[i], w[i, :3], torque)
            for m in range(3):
                on_body[m] += force[m]
                on_body[3 + m] += torque[m]
            at = frames[i, IN_V]
            for m in range(3):
                out[s, at + m] += force[m]
            if frames[i, HAS_AXES]:
                rotate_back(Q[i], w[i, 3:], torque)
                for m in range(3):
                    on_body[3 + m] += w[i, 3 + m]
                    out[s, at + 3 + m] += torque[m]
        at = body[IN_V]
        if at >= 0:
            for m in range(6):
                out[s, at + m] -= on_body[m]

"""Kernels of the Radau stepper: the small dense algebra between residual and linear solves."""

import numpy as np

from femb.jit import kernel
from femb.kinematics import error_norm
from femb.smallmath import rotation


@kernel
def frame_turns(quaternion_q, q, Q, turns):  # type: ignore[no-untyped-def]
    """turns (s, F, 3, 3): rotation of every frame from q (n_q,) to each state of Q (s, n_q), inertial axes."""
    p = np.empty(4)
    for i in range(Q.shape[0]):
        for k in range(quaternion_q.size):
            o = quaternion_q[k]
            a0, a1, a2, a3 = Q[i, o], Q[i, o + 1], Q[i, o + 2], Q[i, o + 3]
            b0, b1, b2, b3 = q[o], q[o + 1], q[o + 2], q[o + 3]
            p[0] = a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3
            p[1] = a1 * b0 - a0 * b1 + a3 * b2 - a2 * b3
            p[2] = a2 * b0 - a0 * b2 + a1 * b3 - a3 * b1
            p[3] = a3 * b0 - a0 * b3 + a2 * b1 - a1 * b2
            rotation(p, turns[i, k])


@kernel
def turn_frames(turns, omega_v, x):  # type: ignore[no-untyped-def]
    """Turn the translational components of x (n_v,) of every frame with axes, in place."""
    for k in range(omega_v.size):
        o = omega_v[k] - 3
        a, b, c = x[o], x[o + 1], x[o + 2]
        for m in range(3):
            x[o + m] = turns[k, m, 0] * a + turns[k, m, 1] * b + turns[k, m, 2] * c


@kernel
def turn_frames_back(turns, omega_v, x):  # type: ignore[no-untyped-def]
    """Turn back the translational components of x (n_v,) of every frame with axes, in place."""
    for k in range(omega_v.size):
        o = omega_v[k] - 3
        a, b, c = x[o], x[o + 1], x[o + 2]
        for m in range(3):
            x[o + m] = turns[k, 0, m] * a + turns[k, 1, m] * b + turns[k, 2, m] * c


@kernel
def to_eigenvectors(inverse, turns, omega_v, residual, real, pair):  # type: ignore[no-untyped-def]
    """real (n,), pair (n,) complex: minus the residuals (3, n) in the eigenvectors of A^-1.

    Forces on frames are first turned back to the attitude at which the matrices were formed: a stiff member that has
    turned by theta would otherwise resist across itself with theta^2 of its stiffness, and Newton's iteration would
    only converge while that is less than the inertia.
    """
    for i in range(3):
        turn_frames_back(turns[i], omega_v, residual[i])
    for k in range(real.size):
        a, b, c = residual[0, k], residual[1, k], residual[2, k]
        real[k] = -(inverse[0, 0] * a + inverse[0, 1] * b + inverse[0, 2] * c)
        x = -(inverse[1, 0] * a + inverse[1, 1] * b + inverse[1, 2] * c)
        y = -(inverse[2, 0] * a + inverse[2, 1] * b + inverse[2, 2] * c)
        pair[k] = complex(x, y)


@kernel
def update_velocities(T, turns, omega_v, real, pair, scale, v, Z, L):  # type: ignore[no-untyped-def]
    """Z (3, n_v), L (3, n_c) += T (real, Re pair, Im pair), turned on to the stages; returns the norm of the largest
    change of Z."""
    n_v = v.size
    change = np.empty((3, real.size))
    for i in range(3):
        for k in range(real.size):
            change[i, k] = T[i, 0] * real[k] + T[i, 1] * pair[k].real + T[i, 2] * pair[k].imag
        turn_frames(turns[i], omega_v, change[i])
        for k in range(n_v):
            Z[i, k] += change[i, k]
        for k in range(n_v, real.size):
            L[i, k - n_v] += change[i, k]
    worst = 0.0
    start, size, atol, rtol = scale
    for i in range(3):
        worst = max(worst, error_norm(start, size, atol, rtol, change[i], v))
    return worst


@kernel
def stage_coordinates(  # type: ignore[no-untyped-def]
    linear_q, linear_v, quaternion_q, omega_v, hA, q, v, Z, V, Q, sweeps, afresh
):
    """V = v + Z and Q = q + h A (H(Q) V), the quaternions by fixed-point sweeps from Q, or from q if ``afresh``."""
    for i in range(3):
        for k in range(v.size):
            V[i, k] = v[k] + Z[i, k]
        for k in range(linear_q.size):
            Q[i, linear_q[k]] = q[linear_q[k]]
    for i in range(3):
        for j in range(3):
            for k in range(linear_q.size):
                Q[i, linear_q[k]] += hA[i, j] * V[j, linear_v[k]]
    for k in range(quaternion_q.size):
        o, w = quaternion_q[k], omega_v[k]
        if afresh:
            for i in range(3):
                for m in range(4):
                    Q[i, o + m] = q[o + m]
        for _ in range(sweeps):
            r0, r1, r2 = rates_of(Q[0], V[0], o, w), rates_of(Q[1], V[1], o, w), rates_of(Q[2], V[2], o, w)
            for i in range(3):
                for m in range(4):
                    Q[i, o + m] = q[o + m] + hA[i, 0] * r0[m] + hA[i, 1] * r1[m] + hA[i, 2] * r2[m]


@kernel
def rates_of(q, v, o, w):  # type: ignore[no-untyped-def]
    """Rates of the quaternion at q[o:o+4] with the angular velocity at v[w:w+3]."""
    a, b, c = 0.5 * v[w], 0.5 * v[w + 1], 0.5 * v[w + 2]
    p0, p1, p2, p3 = q[o], q[o + 1], q[o + 2], q[o + 3]
    return (-p1 * a - p2 * b - p3 * c, p0 * a + p2 * c - p3 * b, p0 * b + p3 * a - p1 * c, p0 * c + p1 * b - p2 * a)

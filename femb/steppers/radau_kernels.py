"""Kernels of the Radau stepper: the small dense algebra between residual and linear solves."""

import math

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.kinematics import error_norm, rates, tangents
from femb.numerics.vector3 import hamilton, quaternion_times

# Sweeps of quaternions, see stage_coordinates. For a literal number, numba would compile a variant of the kernel.
LATER_SWEEPS, FIRST_SWEEPS = np.int64(2), np.int64(3)


@kernel
def frame_rotations(quaternion_q, q, Q, rotations):
    """rotations (s, F, 4): unit quaternions, inertial axes, of the frames from q (n_q,) to states Q (s, n_q)."""
    for i in range(Q.shape[0]):
        for k in range(quaternion_q.size):
            o = quaternion_q[k]
            a0, a1, a2, a3 = Q[i, o], Q[i, o + 1], Q[i, o + 2], Q[i, o + 3]
            b0, b1, b2, b3 = q[o], q[o + 1], q[o + 2], q[o + 3]
            f = (a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3) * (b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3)
            f = 1.0 / math.sqrt(f)
            # the conjugate of q conj(Q) is Q conj(q)
            c0, c1, c2, c3 = hamilton(b0, b1, b2, b3, a0, -a1, -a2, -a3)
            rotations[i, k, 0], rotations[i, k, 1] = f * c0, -f * c1
            rotations[i, k, 2], rotations[i, k, 3] = -f * c2, -f * c3


@kernel
def rotate_frames(rotations, corotated_v, x):
    """Rotate the components of x (n,) in inertial axes by the rotations (F, 4) of the frames, in place.

    corotated_v (F, 2) : indices of the translational components, and of the components of quaternion rates; negative
    for none. Angular velocities in body axes do not change; rates of quaternions are multiplied from the left.
    """
    for k in range(corotated_v.shape[0]):
        c0, c1, c2, c3 = rotations[k, 0], rotations[k, 1], rotations[k, 2], rotations[k, 3]
        rotate_by(c0, c1, c2, c3, corotated_v[k, 0], corotated_v[k, 1], x)


@kernel
def rotate_frames_back(rotations, corotated_v, x):
    """The inverse of ``rotate_frames``."""
    for k in range(corotated_v.shape[0]):
        c0, c1, c2, c3 = rotations[k, 0], rotations[k, 1], rotations[k, 2], rotations[k, 3]
        rotate_by(c0, -c1, -c2, -c3, corotated_v[k, 0], corotated_v[k, 1], x)


@inlined
def rotate_by(c0, c1, c2, c3, o, p, x):
    """Rotate the vector at x[o:] and the quaternion at x[p:], unless o or p is negative, by the quaternion c."""
    if o >= 0:
        a, b, c = x[o], x[o + 1], x[o + 2]
        f, g, h = 2.0 * (c2 * c - c3 * b), 2.0 * (c3 * a - c1 * c), 2.0 * (c1 * b - c2 * a)
        x[o] = a + c0 * f + c2 * h - c3 * g
        x[o + 1] = b + c0 * g + c3 * f - c1 * h
        x[o + 2] = c + c0 * h + c1 * g - c2 * f
    if p >= 0:
        x[p], x[p + 1], x[p + 2], x[p + 3] = hamilton(c0, c1, c2, c3, x[p], x[p + 1], x[p + 2], x[p + 3])


@kernel
def to_eigenvectors(inverse, rotations, corotated_v, residual, real, pair):
    """real (n,), pair (n,) complex: minus the residuals (3, n) in the eigenvectors of A^-1.

    Forces on frames are first rotated back to the attitude at which the matrices were formed: otherwise theta^2 of the
    stiffness of a member rotated by theta would act in its transverse direction, and Newton's iteration would only
    converge while that is less than the inertia.
    """
    for i in range(3):
        rotate_frames_back(rotations[i], corotated_v, residual[i])
    for k in range(real.size):
        a, b, c = residual[0, k], residual[1, k], residual[2, k]
        real[k] = -(inverse[0, 0] * a + inverse[0, 1] * b + inverse[0, 2] * c)
        x = -(inverse[1, 0] * a + inverse[1, 1] * b + inverse[1, 2] * c)
        y = -(inverse[2, 0] * a + inverse[2, 1] * b + inverse[2, 2] * c)
        pair[k] = complex(x, y)


@kernel
def finish_iteration(
    linear_q, linear_v, quaternion_q, omega_v, corotated_q, corotated_v, matrices_q, A, inverse, T, h, scale, q, v,
    rotations, real, pair, Z, V, K, Q, L,
):  # fmt: skip
    """Z (3, n_v), L (3, n_c) += T (real, Re pair, Im pair), rotated to the stages; updates V, K, Q and rotations.

    Returns the norm of the largest change of Z.
    """
    n_v = v.size
    start, size, atol, rtol = scale
    change = np.empty(real.size)
    worst = 0.0
    for i in range(3):
        for k in range(real.size):
            change[k] = T[i, 0] * real[k] + T[i, 1] * pair[k].real + T[i, 2] * pair[k].imag
        rotate_frames(rotations[i], corotated_v, change)
        for k in range(n_v):
            Z[i, k] += change[k]
        for k in range(n_v, real.size):
            L[i, k - n_v] += change[k]
        worst = max(worst, error_norm(start, size, atol, rtol, change, v))
    stage_coordinates(linear_q, linear_v, quaternion_q, omega_v, A, inverse, h, q, v, Z, V, K, Q, LATER_SWEEPS)
    frame_rotations(corotated_q, matrices_q, Q, rotations)
    return worst


@inlined
def stage_coordinates(linear_q, linear_v, quaternion_q, omega_v, A, inverse, h, q, v, Z, V, K, Q, sweeps):
    """V = v + Z, K = A^-1 Z / h and Q = q + h A (H(Q) V), the quaternions by fixed-point sweeps from Q."""
    for i in range(3):
        for k in range(v.size):
            V[i, k] = v[k] + Z[i, k]
            K[i, k] = (inverse[i, 0] * Z[0, k] + inverse[i, 1] * Z[1, k] + inverse[i, 2] * Z[2, k]) / h
        a, b, c = h * A[i, 0], h * A[i, 1], h * A[i, 2]
        for k in range(linear_q.size):
            o, w = linear_q[k], linear_v[k]
            Q[i, o] = q[o] + a * (v[w] + Z[0, w]) + b * (v[w] + Z[1, w]) + c * (v[w] + Z[2, w])
    for k in range(quaternion_q.size):
        o, w = quaternion_q[k], omega_v[k]
        for _ in range(sweeps):
            r0, r1, r2 = rates_of(Q[0], V[0], o, w), rates_of(Q[1], V[1], o, w), rates_of(Q[2], V[2], o, w)
            for i in range(3):
                a, b, c = h * A[i, 0], h * A[i, 1], h * A[i, 2]
                for m in range(4):
                    Q[i, o + m] = q[o + m] + a * r0[m] + b * r1[m] + c * r2[m]


@inlined
def rates_of(q, v, o, w):
    """Rates of the quaternion at q[o:o+4] with the angular velocity at v[w:w+3]."""
    return quaternion_times(q[o], q[o + 1], q[o + 2], q[o + 3], 0.5 * v[w], 0.5 * v[w + 1], 0.5 * v[w + 2])


# The error estimate; see Radau._error.


@kernel
def start_estimate(
    linear_q, linear_v, quaternion_q, omega_v, corotated_q, corotated_v, matrices_q, weights, h, q0, q, v, Z, Q,
    change, rate, drift, rotations,
):  # fmt: skip
    """The kinematic terms of the error estimate at q, v (1, ...) of a step from q0 (1, n_q), from its stages Z and Q.

    change (1, n_v) : minus the weighted sum of Z over h. rate (1, n_q) : H(q) v plus that of Q - q0. drift (1, n), zero
    on entry : rate as velocities, rotated back by rotations (1, F, 4) to the attitude of frames at matrices_q (n_q,).
    """
    a, b, c = weights[0] / h, weights[1] / h, weights[2] / h
    for k in range(change.shape[1]):
        change[0, k] = -(a * Z[0, k] + b * Z[1, k] + c * Z[2, k])
    rates(linear_q, linear_v, quaternion_q, omega_v, q, v, rate)
    for k in range(rate.shape[1]):
        rate[0, k] += a * (Q[0, k] - q0[0, k]) + b * (Q[1, k] - q0[0, k]) + c * (Q[2, k] - q0[0, k])
    tangents(linear_q, linear_v, quaternion_q, omega_v, q0, rate, drift)
    frame_rotations(corotated_q, matrices_q, q0, rotations)
    rotate_frames_back(rotations[0], corotated_v, drift[0])


@kernel
def estimate_force(corotated_v, n_v, rotations, mu, residual, elastic):
    """residual (1, n) becomes the right-hand side: minus itself, rotated back, less elastic (n,) / mu; 0 beyond n_v."""
    rotate_frames_back(rotations[0], corotated_v, residual[0])
    for k in range(n_v):
        residual[0, k] = -residual[0, k] - elastic[k] / mu
    for k in range(n_v, elastic.size):
        residual[0, k] = 0.0


@kernel
def estimate_size(
    linear_q,
    linear_v,
    quaternion_q,
    omega_v,
    corotated_v,
    scale_q,
    scale_v,
    mu,
    q0,
    v0,
    rotations,
    rate,
    error_v,
    error_q,
):
    """Norm of the estimate; error_v (1, n) is rotated to q0, error_q (1, n_q) = (H(q0) error_v + rate) / mu."""
    rotate_frames(rotations[0], corotated_v, error_v[0])
    rates(linear_q, linear_v, quaternion_q, omega_v, q0, error_v, error_q)
    for k in range(error_q.shape[1]):
        error_q[0, k] = (error_q[0, k] + rate[0, k]) / mu
    start, size, atol, rtol = scale_q
    norm = error_norm(start, size, atol, rtol, error_q[0], q0[0])
    start, size, atol, rtol = scale_v
    return max(norm, error_norm(start, size, atol, rtol, error_v[0], v0[0]))

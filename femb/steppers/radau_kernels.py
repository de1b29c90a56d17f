"""Kernels of the Radau stepper: the small dense algebra between residual and linear solves."""

import math

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.kinematics import error_norm, rates, tangents
from femb.numerics.tableaux import (
    RADAU_A,
    RADAU_C,
    RADAU_COMPLEX,
    RADAU_ESTIMATE,
    RADAU_INVERSE,
    RADAU_REAL,
    RADAU_T,
    RADAU_T_INVERSE,
)
from femb.numerics.vector3 import quaternion_times
from femb.steppers.step_kernels import frame_rotations, rotate_frames, rotate_frames_back

C, A, INVERSE = RADAU_C, RADAU_A, RADAU_INVERSE
T, T_INVERSE = RADAU_T, RADAU_T_INVERSE
# From values at the stages to coefficients of their polynomial, of powers 0 to 2.
THROUGH_STAGES = np.linalg.inv(C[:, None] ** np.arange(3))
# Sweeps of quaternions, see stage_coordinates. For a literal number, numba would compile a variant of the kernel.
LATER_SWEEPS, FIRST_SWEEPS = np.int64(2), np.int64(3)


@kernel_with_entry
def shift_matrices(step, mass, damping, stiffness, real, pair):
    """real, pair (size,), float and complex: the iteration matrices mu M + C + K/mu for both eigenvalues of A^-1.

    step (1,) : its length h (s), mu = eigenvalue/h.
    """
    h = step[0]
    mu, shift = RADAU_REAL / h, complex(RADAU_COMPLEX.real / h, RADAU_COMPLEX.imag / h)
    reach, reach_of_pair = 1.0 / mu, 1.0 / shift
    a, b, c, d = shift.real, shift.imag, reach_of_pair.real, reach_of_pair.imag
    for i in range(real.size):
        m, k = mass[i], stiffness[i]
        real[i] = mu * m + damping[i] + reach * k
        pair[i] = complex(a * m + damping[i] + c * k, b * m + d * k)


@kernel_with_entry
def to_eigenvectors(rotations, corotated_v, residual, real, pair):
    """real (n,), pair (n,) complex: minus the residuals (3, n) in the eigenvectors of A^-1.

    Forces on frames are first rotated back to the attitude at which the matrices were formed: otherwise theta^2 of the
    stiffness of a member rotated by theta would act in its transverse direction, and Newton's iteration would only
    converge while that is less than the inertia.
    """
    for i in range(3):
        rotate_frames_back(rotations[i], corotated_v, residual[i])
    for k in range(real.size):
        a, b, c = residual[0, k], residual[1, k], residual[2, k]
        real[k] = -(T_INVERSE[0, 0] * a + T_INVERSE[0, 1] * b + T_INVERSE[0, 2] * c)
        x = -(T_INVERSE[1, 0] * a + T_INVERSE[1, 1] * b + T_INVERSE[1, 2] * c)
        y = -(T_INVERSE[2, 0] * a + T_INVERSE[2, 1] * b + T_INVERSE[2, 2] * c)
        pair[k] = complex(x, y)


@kernel_with_entry
def finish_iteration(coordinates, turning, matrices_q, step, scale, q, v, rotations, real, pair, stages):
    """Z (3, n_v), L (3, n_c) += T (real, Re pair, Im pair), rotated to the stages; updates V, K, Q and rotations.

    Returns the norm of the largest change of Z. step (1,) : its length, s. stages : Z, V, K, Q, L.
    """
    (corotated_q, corotated_v), (Z, V, K, Q, L) = turning, stages
    n_v, h = v.size, step[0]
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
    stage_coordinates(coordinates, h, q, v, Z, V, K, Q, LATER_SWEEPS)
    frame_rotations(corotated_q, matrices_q, Q, rotations)
    return worst


@inlined
def stage_coordinates(coordinates, h, q, v, Z, V, K, Q, sweeps):
    """V = v + Z, K = A^-1 Z / h and Q = q + h A (H(Q) V), the quaternions by fixed-point sweeps from Q."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for i in range(3):
        for k in range(v.size):
            V[i, k] = v[k] + Z[i, k]
            K[i, k] = (INVERSE[i, 0] * Z[0, k] + INVERSE[i, 1] * Z[1, k] + INVERSE[i, 2] * Z[2, k]) / h
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


# The prediction of stages; see ``femb.steppers.radau``.


@inlined
def attitudes(quaternion_q, q, result):
    """result (F, 4): the quaternions of frames in q (n_q,), of unit length."""
    for k in range(quaternion_q.size):
        o = quaternion_q[k]
        f = 1.0 / math.sqrt(q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
        for m in range(4):
            result[k, m] = f * q[o + m]


@inlined
def along(t, h, earlier, slope, bend, third):
    """The change of a component from the end of a step h to the time t after it, by the cubic of the trend; earlier :
    the length of the step before."""
    return t * (slope + 0.5 * (h + t) * (bend + (earlier + h + t) * third / 3.0))


@inlined
def extrapolated(x, first, second, d1, d2):
    """At the part x of a step after its end, the cubic that is zero at both ends and d1, d2 at the inner stages.

    first, second : the parts at which these are, negative.
    """
    a, b = d1 / (first * (first + 1.0)), d2 / (second * (second + 1.0))
    slope = (b - a) / (second - first)
    return x * (x + 1.0) * (a + slope * (x - first))


@kernel_with_entry
def start_stages(coordinates, turning, matrices_q, step, trend, q, v, stages, rotations):
    """Stages of a step before the first iteration, and the rotations of frames to them from ``matrices_q`` (n_q,).

    step (1,) : its length, s. trend : of ``femb.steppers.radau_stages.Trend``. turning : quaternions (F,) and vectors
    (F, 2) of frames, as in ``rotate_frames``. stages : Z, V, K, Q of ``stage_coordinates``, K = A^-1 Z / h; L (3, n_c).
    """
    (turning_q, turning_v), (Z, V, K, Q, L) = turning, stages
    lengths, velocity, slope, bend, third, deviation, growing, of_multipliers = trend
    h, length, earlier = step[0], lengths[0], lengths[1]
    first, second = C[0] - 1.0, C[1] - 1.0
    ratio = h / length if length > 0.0 else 0.0
    for i in range(3):
        theta = 1.0 + C[i] * ratio
        for k in range(L.shape[1]):
            a, b, c = of_multipliers[0, k], of_multipliers[1, k], of_multipliers[2, k]
            L[i, k] = a + theta * (b + theta * c)
        for k in range(q.size):
            Q[i, k] = q[k]
    # at a start inertial accelerations are constant
    count = turning_q.size if length > 0.0 else 0
    in_q, in_v = turning_q[:count], turning_v[:count]
    # angular velocities are the same in all axes: the second attitudes follow from them. Rates of quaternions are not,
    # and their attitudes are iterated.
    for _ in range(1 if count == 0 else 2 if coordinates[2].size > 0 else 4):
        for i in range(3):
            attitudes(in_q, Q[i], rotations[i])
            for k in range(v.size):
                Z[i, k] = velocity[k]
                if length == 0.0:
                    Z[i, k] += C[i] * h * slope[k]
                    continue
                if growing[k]:
                    more = extrapolated(C[i] * ratio, first, second, deviation[0, k], deviation[1, k])
                else:
                    more = ratio * ratio * ratio * deviation[i, k]
                Z[i, k] += more
                Z[i, k] += along(C[i] * h, length, earlier, slope[k], bend[k], third[k])
            rotate_frames(rotations[i], in_v, Z[i])
            for k in range(v.size):
                Z[i, k] -= v[k]
        stage_coordinates(coordinates, h, q, v, Z, V, K, Q, FIRST_SWEEPS)
    frame_rotations(turning_q, matrices_q, Q, rotations)


@kernel_with_entry
def find_trend(turning, step, trend, q0, v0, q1, v1, V, Q, L, rotations, ends):
    """The trend after a step from q0, v0 to q1, v1 with stages V (3, n_v), Q (3, n_q), L (3, n_c), in place of the one
    before it.

    step, turning : as in ``start_stages``. V, rotations (3, F, 4) and ends (2, n_v) are overwritten.
    """
    turning_q, turning_v = turning
    lengths, velocity, slope, bend, third, deviation, growing, multipliers = trend
    h, length, earlier = step[0], lengths[0], lengths[1]
    attitudes(turning_q, q0, rotations[0])
    attitudes(turning_q, q1, rotations[1])
    for k in range(v0.size):
        ends[0, k], ends[1, k] = v0[k], v1[k]
    for i in range(2):
        rotate_frames_back(rotations[i], turning_v, ends[i])
    for i in range(3):
        attitudes(turning_q, Q[i], rotations[i])
        rotate_frames_back(rotations[i], turning_v, V[i])
    ratio = h / length if length > 0.0 else 0.0
    first, second = C[0] - 1.0, C[1] - 1.0
    for k in range(v0.size):
        chord = (ends[1, k] - ends[0, k]) / h
        curve = 2.0 * (chord - slope[k]) / (h + length) if length > 0.0 else 0.0
        change = 3.0 * (curve - bend[k]) / (h + length + earlier) if earlier > 0.0 else 0.0
        kept = grown = 0.0
        for i in range(3):
            more = V[i, k] - (velocity[k] + along(C[i] * h, length, earlier, slope[k], bend[k], third[k]))
            kept += abs(more - ratio * ratio * ratio * deviation[i, k])
            grown += abs(more - extrapolated(C[i] * ratio, first, second, deviation[0, k], deviation[1, k]))
        growing[k] = grown < kept or length == 0.0
        velocity[k], slope[k], bend[k], third[k] = ends[1, k], chord, curve, change
        for i in range(3):
            deviation[i, k] = V[i, k] - (velocity[k] + along((C[i] - 1.0) * h, h, length, chord, curve, change))
    for i in range(3):
        for k in range(L.shape[1]):
            a, b, c = THROUGH_STAGES[i]
            multipliers[i, k] = a * L[0, k] + b * L[1, k] + c * L[2, k]
    lengths[0], lengths[1] = h, length


# The length of the next step, and the work of a step.

MAX_FACTOR = 8.0
# The largest number of iterations of a step.
MAX_ITERATIONS = 7
# Rate of convergence above which new matrices are formed for the next step.
SLOW = 0.02
# Growth of the longest length from step to step after a failure.
RECOVERY = 1.05


@kernel
def step_factor(done, error, h, old_error, old_h):
    """Factor of the length h (s) of a step with an error: Gustafsson's prediction from this step and the last one, of
    old_h (s), zero for none; at most that of this step. done : its corrections, fewer of which allow a longer step."""
    safety = 0.9 * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + done)
    if error == 0.0:
        return safety * MAX_FACTOR
    factor = error**-0.25
    if old_h > 0.0 and error <= 1.0:
        factor = min(factor, factor * h / old_h * (old_error / error) ** 0.25)
    return safety * factor


@kernel
def add_work(h, weights, powers, work):
    """Add the integral over a step h (s) of the powers (3, n_w) at its stages, with these weights (3,)."""
    for k in range(work.size):
        work[k] += h * (weights[0] * powers[0, k] + weights[1] * powers[1, k] + weights[2] * powers[2, k])


# The error estimate; see Radau._error.


@kernel_with_entry
def start_estimate(coordinates, turning, matrices_q, step, q0, q, v, stages, change, drift, rotations, error_q):
    """The kinematic terms of the error estimate at q, v (1, ...) of a step from q0 (1, n_q), from its stages Z and Q.

    change (1, n_v) : minus the weighted sum of Z over h. error_q (1, n_q) : H(q) v plus that of Q - q0, over mu. drift
    (1, n), zero on entry : the same times mu as velocities, rotated back by rotations (1, F, 4) to the attitude of
    frames at matrices_q (n_q,).
    """
    (corotated_q, corotated_v), (Z, _, _, Q, _) = turning, stages
    h = step[0]
    a, b, c = RADAU_ESTIMATE[0] / h, RADAU_ESTIMATE[1] / h, RADAU_ESTIMATE[2] / h
    for k in range(change.shape[1]):
        change[0, k] = -(a * Z[0, k] + b * Z[1, k] + c * Z[2, k])
    rates(coordinates, q, v, error_q)
    for k in range(error_q.shape[1]):
        error_q[0, k] += a * (Q[0, k] - q0[0, k]) + b * (Q[1, k] - q0[0, k]) + c * (Q[2, k] - q0[0, k])
    tangents(coordinates, q0, error_q, drift)
    frame_rotations(corotated_q, matrices_q, q0, rotations)
    rotate_frames_back(rotations[0], corotated_v, drift[0])
    mu = RADAU_REAL / h
    for k in range(error_q.shape[1]):
        error_q[0, k] /= mu


@kernel_with_entry
def estimate_force(corotated_v, n_v, rotations, step, residual, elastic, x):
    """x (1, n): minus the residual (1, n), rotated back in place, less elastic (n,) / mu; zero beyond n_v."""
    mu = RADAU_REAL / step[0]
    rotate_frames_back(rotations[0], corotated_v, residual[0])
    for k in range(n_v):
        x[0, k] = -residual[0, k] - elastic[k] / mu
    for k in range(n_v, elastic.size):
        x[0, k] = 0.0


@kernel_with_entry
def add_errors(error_q, error_v, q, v, unfiltered):
    """Add errors (1, n_q), (1, n) to q (1, n_q), v (1, n_v), and keep those of v in unfiltered (n_v,)."""
    for k in range(q.shape[1]):
        q[0, k] += error_q[0, k]
    for k in range(v.shape[1]):
        unfiltered[k] = error_v[0, k]
        v[0, k] += error_v[0, k]


# Accelerations and multipliers after a change of inputs, which only predict the next stages. Their change is that of an
# implicit step, in which stiff members are at rest already; see ``femb.steppers.radau_stages``.


@kernel_with_entry
def take_difference(residual, u, other, x):
    """The velocities of x (n,) become the residual (1, n_v) less them; the inputs u (1, n_u) are exchanged with other
    (n_u,)."""
    for k in range(residual.shape[1]):
        x[k] = residual[0, k] - x[k]
    for k in range(other.size):
        other[k], u[0, k] = u[0, k], other[k]


@kernel_with_entry
def start_response(turning, matrices_q, q, rotations, x):
    """Set rotations (1, F, 4) of frames from ``matrices_q`` (n_q,) to q (1, n_q), and rotate x (n,) back by them."""
    corotated_q, corotated_v = turning
    frame_rotations(corotated_q, matrices_q, q, rotations)
    rotate_frames_back(rotations[0], corotated_v, x)


@kernel_with_entry
def finish_response(corotated_v, step, rotations, x, slope, multipliers, of_multipliers):
    """Add a solution x (n,), rotated forth, to slope (n_v,) and multipliers (1, n_c), the first row of of_multipliers
    too."""
    mu = RADAU_REAL / step[0]
    rotate_frames(rotations[0], corotated_v, x)
    n_v = slope.size
    for k in range(n_v):
        slope[k] += mu * x[k]
    for k in range(n_v, x.size):
        multipliers[0, k - n_v] += x[k]
        of_multipliers[0, k - n_v] = multipliers[0, k - n_v]

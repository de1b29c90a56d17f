"""Kernels of the Radau stepper: the small dense algebra between residual and linear solves."""

import math
from typing import Any

import numpy as np

from femb.numerics.compiler.bound_calls import call_bound, call_for_number
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
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


@kernel_with_entry
def right_hand_side(corotated_v, rotations, residual, x):
    """x (n,): minus the residual (1, n), rotated back by the rotations (1, F, 4) of frames since the matrices."""
    for k in range(x.size):
        x[k] = -residual[0, k]
    rotate_frames_back(rotations[0], corotated_v, x)


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


@kernel_with_entry
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


@kernel_with_entry
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
def start_stages(
    linear_q, linear_v, quaternion_q, omega_v, corotated_q, matrices_q, C, A, inverse, h, trend, q, v, Z, V, K, Q, L,
    rotations,
):  # fmt: skip
    """Stages of a step h before the first iteration, and the rotations of frames to them from ``matrices_q`` (n_q,).

    trend : the attributes of ``Trend``. Z, V, K, Q : see ``stage_coordinates``; K = A^-1 Z / h. L (3, n_c).
    """
    length, earlier, velocity, slope, bend, third, deviation, growing, of_multipliers, turning_q, turning_v = trend
    first, second = C[0] - 1.0, C[1] - 1.0
    ratio = h / length if length > 0.0 else 0.0
    for i in range(3):
        theta = 1.0 + C[i] * ratio
        for k in range(L.shape[1]):
            a, b, c = of_multipliers[0, k], of_multipliers[1, k], of_multipliers[2, k]
            L[i, k] = a + theta * (b + theta * c)
        for k in range(q.size):
            Q[i, k] = q[k]
    # angular velocities are the same in all axes: the second attitudes follow from them. Rates of quaternions are not,
    # and their attitudes are iterated.
    for _ in range(1 if turning_q.size == 0 else 2 if quaternion_q.size > 0 else 4):
        for i in range(3):
            attitudes(turning_q, Q[i], rotations[i])
            for k in range(v.size):
                if growing[k]:
                    more = extrapolated(C[i] * ratio, first, second, deviation[0, k], deviation[1, k])
                else:
                    more = ratio * ratio * ratio * deviation[i, k]
                Z[i, k] = velocity[k] + more
                Z[i, k] += along(C[i] * h, length, earlier, slope[k], bend[k], third[k])
            rotate_frames(rotations[i], turning_v, Z[i])
            for k in range(v.size):
                Z[i, k] -= v[k]
        stage_coordinates(linear_q, linear_v, quaternion_q, omega_v, A, inverse, h, q, v, Z, V, K, Q, FIRST_SWEEPS)
    frame_rotations(corotated_q, matrices_q, Q, rotations)


@kernel
def find_trend(
    turning_q, turning_v, C, h, length, earlier, old_velocity, old_slope, old_bend, old_third, old_deviation, q0, v0,
    q1, v1, Z, Q, rotations, velocity, slope, bend, third, deviation, growing,
):  # fmt: skip
    """velocity, slope, bend, third (n_v,), deviation (3, n_v), growing (n_v,) of ``Trend`` after a step h from q0, v0
    to q1, v1.

    length, earlier and those with ``old`` : after the step before. Z (3, n_v), Q (3, n_q) : the stages, as of
    ``start_stages``. rotations (3, F, 4) is overwritten.
    """
    attitudes(turning_q, q0, rotations[0])
    attitudes(turning_q, q1, rotations[1])
    for k in range(v0.size):
        slope[k], velocity[k] = v0[k], v1[k]
    rotate_frames_back(rotations[0], turning_v, slope)
    rotate_frames_back(rotations[1], turning_v, velocity)
    for k in range(v0.size):
        slope[k] = (velocity[k] - slope[k]) / h
        bend[k] = 2.0 * (slope[k] - old_slope[k]) / (h + length) if length > 0.0 else 0.0
        third[k] = 3.0 * (bend[k] - old_bend[k]) / (h + length + earlier) if earlier > 0.0 else 0.0
    for i in range(3):
        attitudes(turning_q, Q[i], rotations[i])
        for k in range(v0.size):
            deviation[i, k] = v0[k] + Z[i, k]
        rotate_frames_back(rotations[i], turning_v, deviation[i])
    ratio = h / length if length > 0.0 else 0.0
    first, second = C[0] - 1.0, C[1] - 1.0
    for k in range(v0.size):
        kept = grown = 0.0
        for i in range(3):
            old = old_velocity[k] + along(C[i] * h, length, earlier, old_slope[k], old_bend[k], old_third[k])
            more = deviation[i, k] - old
            kept += abs(more - ratio * ratio * ratio * old_deviation[i, k])
            grown += abs(more - extrapolated(C[i] * ratio, first, second, old_deviation[0, k], old_deviation[1, k]))
            deviation[i, k] -= velocity[k] + along((C[i] - 1.0) * h, h, length, slope[k], bend[k], third[k])
        growing[k] = grown < kept or length == 0.0


# Convergence of a simplified Newton iteration; see ``femb.steppers.implicit.Convergence``.

# Corrections below this fraction of the tolerance may be rounding and give no rate of convergence.
NEGLIGIBLE = 1e-3
# With matrices of a contact that has ended all of Newton's corrections are small, and their ratio is above this.
TOO_STIFF = 0.5
# Ratio of successive corrections above which they do not decrease, if they are small.
STAGNATING = 0.5
# What an iteration remembers: the number of its corrections, their rate, ratio, and the last two sizes.
DONE, RATE, RATIO, LAST, BEFORE = range(5)
CONVERGED, GOES_ON, FAILED, UNDEFINED = 1, 0, -1, 2


def judged(limits: Any, memory: Any, size: float) -> int:
    """CONVERGED, FAILED, or GOES_ON where a correction of this size does not tell.

    limits : tolerance, iterations, doubted, restoring, diverging, least and rounding of a ``Convergence``. memory (5,).
    """
    tolerance, iterations, doubted_below, restoring, diverging, least, rounding = limits
    memory[DONE] += 1.0
    if not math.isfinite(size):
        return FAILED
    done, last, before = memory[DONE], memory[LAST], memory[BEFORE]
    memory[LAST], memory[BEFORE] = size, last
    doubted, negligible = 0.0 < size <= doubted_below, size <= NEGLIGIBLE * tolerance
    if done == 1.0:
        return CONVERGED if negligible and not doubted else GOES_ON
    ratio = memory[RATIO] = size / last if last > 0.0 else 1.0
    if doubted and ratio > TOO_STIFF:
        return FAILED
    if negligible:
        return CONVERGED
    if done == 2.0 and ratio >= restoring:
        if ratio > diverging and size > rounding:
            return FAILED
        return CONVERGED if size <= tolerance else GOES_ON
    if done > 2.0 and ratio > STAGNATING and size <= rounding:
        return CONVERGED
    memory[RATE] = ratio
    # where the last correction was small by chance, the present one is large beside it
    expected = min(ratio, math.sqrt(size / before)) if before > 0.0 else ratio
    if ratio >= 1.0 or expected ** (iterations - done) / (1.0 - expected) * size > tolerance:
        return FAILED
    rate = max(ratio, least if ratio > NEGLIGIBLE else 0.0)
    return CONVERGED if rate / (1.0 - rate) * size <= tolerance else GOES_ON


judged_inside = inlined(judged)

# The error estimate; see Radau._error.


@kernel_with_entry
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


@kernel_with_entry
def estimate_force(corotated_v, n_v, rotations, mu, residual, elastic):
    """residual (1, n) becomes the right-hand side: minus itself, rotated back, less elastic (n,) / mu; 0 beyond n_v."""
    rotate_frames_back(rotations[0], corotated_v, residual[0])
    for k in range(n_v):
        residual[0, k] = -residual[0, k] - elastic[k] / mu
    for k in range(n_v, elastic.size):
        residual[0, k] = 0.0


@kernel_with_entry
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


# A whole trial step in one call: kernels that are bound to the arrays of the stepper, see ``bound_calls``.


@inlined
def evaluate(equations):
    """Whether the equations of bound kernels are defined, which add to force (s, n_v) and set rates (s, n_c); both are
    copied to result (s, n). See ``femb.system.system.BoundEquations``."""
    program, force, rates, result = equations
    for i in range(force.shape[0]):
        for k in range(force.shape[1]):
            force[i, k] = 0.0
    for k in range(program.shape[0]):
        if call_bound(program[k, 0], program[k, 1]) != -1:
            return False
    if rates.shape[1] > 0:
        for i in range(force.shape[0]):
            for k in range(force.shape[1]):
                result[i, k] = force[i, k]
            for k in range(rates.shape[1]):
                result[i, force.shape[1] + k] = rates[i, k]
    return True


@inlined
def called(program):
    """The number that the last of bound kernels returns, which are called one after the other."""
    number = 0.0
    for k in range(program.shape[0]):
        number = call_for_number(program[k, 0], program[k, 1])
    return number


@kernel
def try_step(start, equations, correction, estimate, equations_of_one, error, size, most, limits, memory):
    """A step by Newton's iteration, with the estimate of its error, as a stepper does it by the same kernels.

    start, correction, estimate, size : bound kernels of the prediction, of a correction, whose size the last one
    returns, before the equations of the estimate, and after them up to its size. equations, equations_of_one : of the
    stages, and of one state for the estimate, which begins with error (1, n) equal to them; without it ``size`` is
    empty. most : the largest number of iterations. limits, memory : of ``judged``.

    Returns whether the iteration CONVERGED, FAILED, GOES_ON, or met equations that are UNDEFINED; the size of the
    error, infinite where its equations are undefined; and the number of evaluations for it.
    """
    called(start)
    outcome = GOES_ON
    for _ in range(most):
        if not evaluate(equations):
            return UNDEFINED, math.inf, 0
        outcome = judged_inside(limits, memory, called(correction))
        if outcome != GOES_ON:
            break
    if outcome != CONVERGED or size.shape[0] == 0:
        return outcome, math.inf, 0
    called(estimate)
    if not evaluate(equations_of_one):
        return outcome, math.inf, 0
    for k in range(error.shape[1]):
        error[0, k] = equations_of_one[3][0, k]
    return outcome, called(size), 1


@kernel_with_entry
def respond(
    corotated_q, corotated_v, matrices_q, mu, u, q, a, multipliers, slope, of_multipliers, rotations, before, x,
    equations, solution,
):  # fmt: skip
    """Change slope (n_v,), multipliers (1, n_c) and the first row of of_multipliers (3, n_c) with the inputs, from
    ``before`` (n_u,) to u (1, n_u), as an implicit step of the length 1/mu does.

    equations : bound, of one state u, q, a. solution : of x (n,) by the factors for mu. rotations (1, F, 4) is
    overwritten, and x. Where equations are not defined nothing changes: the step will tell.
    """
    n_v = slope.size
    for k in range(n_v):
        a[0, k] = 0.0
    defined = True
    for i in range(2):
        for k in range(before.size):
            before[k], u[0, k] = u[0, k], before[k]
        defined = defined and evaluate(equations)
        for k in range(n_v):
            x[k] = x[k] - equations[3][0, k] if i else equations[3][0, k]
    if not defined:
        return
    for k in range(n_v, x.size):
        x[k] = 0.0
    frame_rotations(corotated_q, matrices_q, q, rotations)
    rotate_frames_back(rotations[0], corotated_v, x)
    called(solution)
    rotate_frames(rotations[0], corotated_v, x)
    for k in range(n_v):
        slope[k] += mu * x[k]
    for k in range(n_v, x.size):
        multipliers[0, k - n_v] += x[k]
        of_multipliers[0, k - n_v] = multipliers[0, k - n_v]

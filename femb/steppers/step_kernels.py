"""Kernels that implicit steppers share: frames that turn, Newton's iteration, filtered errors, a whole trial step."""

import math

from femb.numerics.block_kernels import shift
from femb.numerics.compiler.bound_calls import call_each, called, calling
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.kinematics import error_norm, normalise, tangents
from femb.numerics.vector3 import hamilton, quaternion_times


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


# Matrices of a step, and errors that pass through one of its linear equations; see ``femb.steppers.low_pass``.


@kernel_with_entry
def shift_matrix(weights, mass, damping, stiffness, out):
    """out = mu M + C + reach K for block data; weights (2,) : mu and reach."""
    shift(mass, damping, stiffness, weights[0], weights[1], out)


@kernel_with_entry
def start_filter(coordinates, corotated_v, n_v, rotations, q, error_q, error_v, in_q, in_v):
    """in_q, in_v (1, n), zero on entry beyond n_v: an error (1, n_q), (1, n) as velocities at q (1, n_q), rotated back
    by rotations (1, F, 4) to the attitude of frames at which the matrices were formed."""
    tangents(coordinates, q, error_q, in_q)
    for k in range(n_v):
        in_v[0, k] = error_v[0, k]
    rotate_frames_back(rotations[0], corotated_v, in_q[0])
    rotate_frames_back(rotations[0], corotated_v, in_v[0])


@kernel_with_entry
def force_of_error(n_v, weights, inertial, elastic, x):
    """x (1, n): mu inertial - elastic (n,), zero beyond n_v."""
    for k in range(n_v):
        x[0, k] = weights[0] * inertial[k] - elastic[k]
    for k in range(n_v, x.shape[1]):
        x[0, k] = 0.0


@kernel_with_entry
def finish_filter(coordinates, turning, scales, weights, q, q0, v0, error_q, error_v):
    """error_v (1, n) is rotated forth, error_q (1, n_q) += reach H(q) error_v. Returns their norm at q0, v0 (1, ...).

    turning : ``corotated_v``, and the rotations of frames. weights (2,) : mu and reach.
    """
    corotated_v, rotations = turning
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    rotate_frames(rotations[0], corotated_v, error_v[0])
    reach = weights[1]
    for k in range(linear_q.size):
        error_q[0, linear_q[k]] += reach * error_v[0, linear_v[k]]
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 0.5 * error_v[0, j], 0.5 * error_v[0, j + 1], 0.5 * error_v[0, j + 2]
        r0, r1, r2, r3 = quaternion_times(q[0, i], q[0, i + 1], q[0, i + 2], q[0, i + 3], a, b, c)
        error_q[0, i] += reach * r0
        error_q[0, i + 1] += reach * r1
        error_q[0, i + 2] += reach * r2
        error_q[0, i + 3] += reach * r3
    return size_of_error(scales, q0[0], v0[0], error_q[0], error_v[0])


@inlined
def size_of_error(scales, q0, v0, error_q, error_v):
    """Norm of an error of q and v at a state."""
    start, size, atol, rtol = scales[0]
    norm = error_norm(start, size, atol, rtol, error_q, q0)
    start, size, atol, rtol = scales[1]
    return max(norm, error_norm(start, size, atol, rtol, error_v, v0))


# The end of a step, before it is projected on the constraints.


@kernel_with_entry
def last_state(quaternion_q, Q, V, q, v):
    """q (1, n_q), v (1, n_v): the last of the states Q (s, n_q), V (s, n_v), with unit quaternions."""
    last = Q.shape[0] - 1
    for k in range(q.size):
        q[0, k] = Q[last, k]
    for k in range(v.size):
        v[0, k] = V[last, k]
    normalise(quaternion_q, q[0])


# Convergence of a simplified Newton iteration; see ``femb.steppers.step_program.Convergence``.

# Corrections below this fraction of the tolerance may be rounding and give no rate of convergence.
NEGLIGIBLE = 1e-3
# With matrices of a contact that has ended all of Newton's corrections are small, and their ratio is above this.
TOO_STIFF = 0.5
# Corrections below this fraction of the tolerance of a step are rounding, as where its first guess solves it.
EPS = 2.0**-52
# Ratio of successive corrections above which they do not decrease, if they are small.
STAGNATING = 0.5
# The numbers of a step. Of its iteration the number of corrections, their rate, ratio, and the last two sizes; and its
# outcome. The norm of the error estimate, infinite where its equations are undefined, and that of the first one, before
# it is replaced; the number of estimates; whether ``end`` and ``ahead`` are made.
DONE, RATE, RATIO, LAST, BEFORE, OUTCOME, NORM, UNFILTERED, ESTIMATES, ENDED, LOOKED_AHEAD = range(11)
CONVERGED, GOES_ON, FAILED, UNDEFINED = 1, 0, -1, 2
# The limits of a step behind those of ``judged``: the largest number of iterations, how many begin with matrices
# formed anew, and how often an estimate above one is replaced.
MOST, RENEWING, REPEATS = 7, 8, 9


@calling
def judged(limits, memory, size):
    """CONVERGED, FAILED, or GOES_ON where a correction of this size does not tell.

    limits : tolerance, iterations, doubted, restoring, diverging, least and rounding of a ``Convergence``. memory (5,).
    """
    tolerance, iterations, doubted_below, restoring = limits[0], limits[1], limits[2], limits[3]
    diverging, least, rounding = limits[4], limits[5], limits[6]
    memory[DONE] += 1.0
    if not math.isfinite(size):
        return FAILED
    done, last, before = memory[DONE], memory[LAST], memory[BEFORE]
    memory[LAST], memory[BEFORE] = size, last
    doubted, negligible = EPS < size <= doubted_below, size <= NEGLIGIBLE * tolerance
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


# The length of the next step; the least growth for which it is changed.
WORTHWHILE = 1.2


@kernel
def next_length(h, planned, factor, cut, worthwhile):
    """``factor`` times the length h of a step; h where the growth is not ``worthwhile``.

    planned : of the step, which one that is ``cut`` at a limit does not reduce.
    """
    length = h if 1.0 <= factor < worthwhile else h * factor
    return max(length, planned * min(1.0, factor)) if cut and h < planned else length


# A whole trial step in one call: kernels that are bound to the arrays of the stepper, see ``bound_calls``.


@calling
def iterated(renew, equations, correction, limits, numbers):
    """The outcome of Newton's iteration: it CONVERGED, FAILED, GOES_ON, or met equations that are UNDEFINED."""
    for count in range(int(limits[MOST])):
        if count < limits[RENEWING] and call_each(renew) < renew.shape[0]:
            return UNDEFINED
        if call_each(equations) < equations.shape[0]:
            return UNDEFINED
        outcome = judged(limits, numbers, called(correction))
        if outcome != GOES_ON:
            return outcome
    return GOES_ON


@calling
def estimated(errors, size, numbers):
    """The norm of an error estimate, infinite where its equations are undefined; counts it."""
    if call_each(errors) < errors.shape[0]:
        return math.inf
    numbers[ESTIMATES] += 1.0
    return called(size)


@calling
def try_step(start, equations, correction, renew, errors, size, again, end, ahead, limits, numbers):
    """The stages of a trial step, see ``femb.steppers.step_program.Stages``; limits (10,), numbers (11,)."""
    numbers[:] = 0.0
    numbers[NORM] = numbers[UNFILTERED] = math.inf
    called(start)
    numbers[OUTCOME] = iterated(renew, equations, correction, limits, numbers)
    if numbers[OUTCOME] != CONVERGED:
        return
    norm = numbers[UNFILTERED] = estimated(errors, size, numbers)
    for _ in range(int(limits[REPEATS])):
        if 1.0 < norm < math.inf:
            norm = estimated(again, size, numbers)
    numbers[NORM] = norm
    if norm <= 1.0 and end.shape[0] > 0 and call_each(end) == end.shape[0]:
        numbers[ENDED] = 1.0
        if numbers[UNFILTERED] <= 1.0 and ahead.shape[0] > 0:
            called(ahead)
            numbers[LOOKED_AHEAD] = 1.0

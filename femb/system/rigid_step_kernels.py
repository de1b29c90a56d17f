"""Many steps of DOP853 of rigid bodies, points and joints in one call, far from singular configurations.

The arguments are those of ``femb.system.rigid_kernels``.
"""

import math

from femb.numerics import kinematics
from femb.numerics.block_kernels import pivot_ratios
from femb.numerics.compile import inlined, kernel
from femb.numerics.dop853_kernels import (
    EVALUATIONS,
    INSTANTS,
    LENGTH,
    LOST,
    STEPS,
    TIME,
    advance,
    copy_to,
    error_size,
    instants_until,
    interpolate,
    is_open,
    shortened,
    trial_length,
)
from femb.system.rigid_kernels import factorised, project, stages

# Entries of a loop's clock: the start of the last step, and whether the pivots there are known: 0, 1, or NEAR, where a
# row nearly depends on others.
BEFORE, KNOWN = 2, 3
NEAR = -1.0


@inlined
def is_far(bodies, points, rows, matrix, scale, dependent, work, u, q, v, clock, ratios, earlier, near):
    """Whether no row of a closed loop is about to depend on others; excludes the rows that depend already.

    near : the number of steps to a dependence from which on it is near. A step is the longer of the last and the
    planned one. ratios, earlier (n_c,) : the angles of the rows at the state, which are set, and at the start of the
    last step. Source: ``femb.analysis.singularity_crossing``.
    """
    start, n_v, block, _, _, _, _, _, _ = matrix
    data, pivots, rank, diagonal, _, _, _, _ = work
    for i in range(ratios.size):
        scale[n_v + i], ratios[i] = 0.0, 0.0
    if factorised(bodies, points, rows, matrix, scale, dependent, work, u, q, v) >= 0:
        return False
    pivot_ratios(start, n_v, block, data[0], pivots, rank, diagonal, ratios)
    passed = clock[TIME] - clock[BEFORE]
    longest = near * max(passed, clock[LENGTH])
    for i in range(ratios.size):
        ratios[i] = math.sqrt(ratios[i])
        falls = clock[KNOWN] > 0.0 and 0.0 < ratios[i] < earlier[i]
        if falls and ratios[i] * passed <= longest * (earlier[i] - ratios[i]):
            clock[KNOWN] = NEAR
            return False
    for i in range(ratios.size):
        earlier[i] = ratios[i]
        if ratios[i] == 0.0:
            scale[n_v + i] = -math.inf
    clock[BEFORE], clock[KNOWN] = clock[TIME], 1.0
    return True


@kernel
def steps(
    bodies, points, rows, matrix, scale, dependent, coordinates, work, spare, limits, u, still, n_q, zero, near, ratios,
    states, loop,
):  # fmt: skip
    """Accepted steps of DOP853, as ``femb.numerics.dop853_kernels`` tells; ends before one that this loop cannot make.

    spare, limits : as in ``project``, None without rows. still : as in ``stages``. zero (1, 1) : the coefficients of a
    single evaluation. near, ratios (2, n_c) : see ``is_far``; near is None without closed loops. states (s or 0, n_q) :
    q at the ends of the steps, if wanted.
    """
    rigid = bodies, points, rows, matrix, scale, dependent, coordinates, work
    coefficients, (scale_q, scale_v), bounds, clock, counts, (y, rate, K, y1, state, fifth), output = loop
    A, E5, E3, _, _ = coefficients
    last, n_v, quaternion_q = K.shape[0] - 4, matrix[1], coordinates[2]
    while is_open(bounds, clock, counts, output):
        t, h, rejections, error = clock[TIME], clock[LENGTH], 0, LOST
        if near is not None:
            q, v = y[:n_q].reshape((1, n_q)), y[n_q : n_q + n_v].reshape((1, n_v))
            if not is_far(
                bodies, points, rows, matrix, scale, dependent, work, u, q, v, clock, ratios[0], ratios[1], near
            ):
                return
        copy_to(K[0], rate)
        while error > 1.0:
            if error < LOST:
                h = shortened(h, error)
                rejections += 1
            h = trial_length(bounds, t, h)
            if h == 0.0 or stages(*rigid, still, u, A, 1, last + 1, h, n_q, y, K, y1) >= 0:
                return
            error = error_size(E5, E3, scale_q, scale_v, n_q, h, y, y1, K, fifth)
            if not error < LOST:
                return
        first = counts[INSTANTS]
        count = instants_until(bounds, output, first, t, h)
        if count > 0:
            if first + count > output[1].shape[0] or (
                stages(*rigid, still, u, A, last + 1, last + 4, h, n_q, y, K, state) >= 0
            ):
                return
            interpolate(coefficients, bounds, output, n_q, first, count, t, h, y, y1, K)
        kinematics.normalise(quaternion_q, y1[:n_q])
        if rows is not None:
            q, v = y1[:n_q].reshape((1, n_q)), y1[n_q : n_q + n_v].reshape((1, n_v))
            if not project(bodies, points, rows, matrix, scale, dependent, coordinates, work, spare, limits, u, q, v):
                return
            if stages(*rigid, still, u, zero, 0, 1, 0.0, n_q, y1, K[last : last + 1], state) >= 0:
                return
            counts[EVALUATIONS] += 1
        if count > 0:
            counts[INSTANTS] += count
            counts[EVALUATIONS] += 3
        counts[EVALUATIONS] += last * (1 + rejections)
        copy_to(rate, K[last])
        if states.shape[0] > 0:
            copy_to(states[counts[STEPS]], y1[:n_q])
        advance(bounds, clock, counts, output, h, error, rejections, y, y1)

"""DOP853 in compiled loops over steps: trial lengths, error, dense output, and the plan of the next step.

A loop over steps belongs to the module that evaluates the rates, and calls the functions of this module. Its argument
``loop`` consists of the coefficients (A, E5, E3, D, SLOPES) of ``femb.numerics.tableaux``; the norms, the scales
of ``error_size``; ``bounds``, see ``trial_length``; clock (4,), the time and the planned length of a step,
s, and two entries of the loop's own; counts (4,), of accepted steps, rejected steps, evaluations and output instants;
the arrays of a step, (y, rate, K, y1, spare, fifth): the state and its rate (n,), the stages (EXTENDED, n), the end
of a trial step (n,), one more state (n,), the error estimate (n,); and the output: times (k or k + 1,), states Y (k,
n), accelerations (k, n_v), start and end of the step of every instant (k, 2), and the times of step ends (s,), of
which at most s steps are made.

E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, sections II.4, II.5 and II.6.
"""

import math

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.kinematics import MOST_TURNED, error_norm, turn

TIME, LENGTH = range(2)
STEPS, REJECTED, EVALUATIONS, INSTANTS = range(4)
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
# A larger error is not finite, or about to be.
LOST = 1e300


@kernel
def error_size(estimates, scales, n_q, h, y0, y1, K, fifth):
    """Norm of the local error of a step of length h from y0 to y1 (n,); infinity where it is not finite.

    estimates : coefficients E5, E3 (stages,) of the rates K in those of order 5 and 3. fifth (n,) : the former, on
    return. scales : of q and of v, as ``error_norm`` takes them, and ``turning`` of the formulation: the norm is above
    one where a frame makes more than a quarter of a turn, in which joints would lose whole ones.
    """
    (E5, E3), (scale_q, scale_v, turning) = estimates, scales
    n = y0.size
    third, scale = np.empty(n), np.empty(n)
    for i in range(n):
        a = b = 0.0
        for s in range(E5.size):
            a += E5[s] * K[s, i]
            b += E3[s] * K[s, i]
        fifth[i], third[i] = h * a, h * b
        scale[i] = max(abs(y0[i]), abs(y1[i]))
    start_q, size_q, atol_q, rtol_q = scale_q
    start_v, size_v, atol_v, rtol_v = scale_v
    five = three = 0.0
    for order in range(2):
        error = fifth if order == 0 else third
        worst = max(
            error_norm(start_q, size_q, atol_q, rtol_q, error[:n_q], scale[:n_q]),
            error_norm(start_v, size_v, atol_v, rtol_v, error[n_q : n - 1], scale[n_q : n - 1]),
        )
        if order == 0:
            five = worst
        else:
            three = worst
    if not five + three < math.inf:
        return math.inf
    (places, width, factor), turned = turning, 0.0
    for j in places:
        turned = max(turned, turn(n_q + j, width, factor, h, y0, y1))
    error = five * five / math.hypot(five, 0.1 * three) if five > 0.0 else 0.0
    return max(error, (turned / MOST_TURNED) ** 8)


@inlined
def copy_to(y, x):
    """y = x."""
    for i in range(x.size):
        y[i] = x[i]


@inlined
def trial_length(bounds, t, h):
    """The length of a trial step of about h from t (s), as ``femb.steppers.contract.step_to``; zero for none.

    bounds : the time to step to, the last output time there, the longest and the smallest step, s.
    """
    limit, _, longest, smallest = bounds
    h, remaining = min(h, longest), limit - t
    if h >= remaining * (1.0 - 1e-10):
        h = remaining
    elif h > 0.5 * remaining:
        h = 0.5 * remaining
    return h if h >= smallest else 0.0


@inlined
def factor(error):
    """The factor by which error control changes the length of a step."""
    return SAFETY * error ** (-1.0 / 8.0) if error > 0.0 else MAX_FACTOR


@inlined
def instants_until(bounds, output, first, t, h):
    """The number of output times from the first on up to the end of a step of length h from t."""
    limit, last, _, _ = bounds
    times = output[0]
    end = last if h == limit - t else t + h
    count = first
    while count < times.size and times[count] <= end:
        count += 1
    return count - first


@inlined
def interpolate(coefficients, bounds, output, n_q, first, count, t, h, y0, y1, K):
    """Set the output at ``count`` instants inside a step of length h from t to y1; K : all stages."""
    _, _, _, D, slopes = coefficients
    times, Y, accelerations, spans, _ = output
    n = y0.size
    last = K.shape[0] - 4
    c, weights, rates = np.empty((7, n)), np.empty(7), np.empty(7)
    for i in range(n):
        change = y1[i] - y0[i]
        c[0, i], c[1, i], c[2, i] = change, h * K[0, i] - change, 2.0 * change - h * (K[last, i] + K[0, i])
    for m in range(4):
        for i in range(n):
            c[3 + m, i] = 0.0
        for s in range(K.shape[0]):
            f = h * D[m, s]
            if f != 0.0:
                for i in range(n):
                    c[3 + m, i] += f * K[s, i]
    limit = bounds[0]
    for k in range(first, first + count):
        x = (times[k] - t) / h
        power = 1.0
        for m in range(7):
            power *= 1.0 - x if m % 2 == 1 else x
            weights[m] = power
            rates[m] = 0.0
            for j in range(6, -1, -1):
                rates[m] = rates[m] * x + slopes[j, m]
            rates[m] /= h
        for i in range(n):
            Y[k, i] = y0[i]
        for m in range(7):
            for i in range(n):
                Y[k, i] += weights[m] * c[m, i]
        for i in range(accelerations.shape[1]):
            a = 0.0
            for m in range(7):
                a += rates[m] * c[m, n_q + i]
            accelerations[k, i] = a
        spans[k, 0], spans[k, 1] = t, limit if h == limit - t else t + h


@inlined
def shortened(h, error):
    """The length to try after an error above one."""
    return h * max(MIN_FACTOR, factor(error))


@inlined
def is_open(bounds, clock, counts, output):
    """Whether a loop goes on: before its limit, with room for steps, and for as many output times as there were."""
    return clock[TIME] < bounds[0] and counts[STEPS] < output[4].size and 2 * counts[INSTANTS] <= output[1].shape[0]


@inlined
def advance(bounds, clock, counts, output, h, error, rejections, y, y1):
    """Take up an accepted step of length h, and plan the length of the next."""
    limit = bounds[0]
    grow = min(MAX_FACTOR, factor(error))
    # a step shortened to end at the limit does not reduce the length that was planned
    planned = 0.0 if rejections > 0 or h >= clock[LENGTH] else clock[LENGTH]
    clock[LENGTH] = max(h * (min(1.0, grow) if rejections > 0 else grow), planned)
    clock[TIME] = limit if h == limit - clock[TIME] else clock[TIME] + h
    output[4][counts[STEPS]] = clock[TIME]
    counts[STEPS] += 1
    counts[REJECTED] += rejections
    copy_to(y, y1)


# States at which the stages of an explicit Runge-Kutta step are evaluated.


@inlined
def stage_state(A, s, h, y0, K, y):
    """y (n,) = y0 + h sum A[s, m] K[m] over the stages before s."""
    for i in range(y0.size):
        y[i] = y0[i]
    for m in range(s):
        weight = h * A[s, m]
        if weight != 0.0:
            for i in range(y0.size):
                y[i] += weight * K[m, i]

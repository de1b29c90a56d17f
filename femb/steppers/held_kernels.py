"""Steps of Radau's method with held inputs, and the updates of discrete states between them, in one compiled call.

A call goes on until a step or an update needs Python, or an array is full; see ``femb.steppers.radau``.
"""

import math

from femb.numerics.compiler.bound_calls import call_bound, call_each, calling
from femb.numerics.compiler.compile import inlined
from femb.numerics.tableaux import RADAU_REAL
from femb.steppers.radau_kernels import MAX_FACTOR, RECOVERY, SLOW, add_work, step_factor
from femb.steppers.step_kernels import (
    CONVERGED,
    DONE,
    ENDED,
    ESTIMATES,
    LOOKED_AHEAD,
    NORM,
    OUTCOME,
    RATE,
    UNFILTERED,
    WORTHWHILE,
    next_length,
)

# The numbers of a loop: times and lengths in s; the length of the factors; where the run ends, and how far instants
# that are one differ; the shortest step.
TIME, LENGTH, OLD_ERROR, OLD_LENGTH, CEILING, LONGEST, FACTORED, END, SAME, SHORTEST = range(10)
# Its counts; and whether updates are due that need Python, the next step begins a smooth interval, its inputs have
# just changed, and the next step needs new matrices.
STEPS, EVALUATIONS, ITERATIONS, FACTORED_ANEW, INSTANTS, ROWS, SAMPLES, DUE, STARTING, REPLACED, TOO_OLD = range(11)
# Of a row of a step: start, end and length, s; the number of instants inside, whether it began a smooth interval, and
# with inputs that had just changed.
ROW_START, ROW_END, ROW_LENGTH, ROW_INSTANTS, ROW_STARTING, ROW_REPLACED, ROW_HEAD = range(7)
# Steps whose lengths differ by this part have the same factors: those between samples differ in the last digits.
SAME_LENGTH = 1e-9
ALMOST = 1.0 - 1e-10


@calling
def pass_steps(programs, updates, states, stepper, motion, output):
    """Make steps and updates; see ``femb.steppers.radau.HeldLoop`` for the arrays."""
    clock, counts = motion[0], motion[1]
    _, ends, rows, samples, due_at = output
    while counts[STEPS] < ends.size and counts[ROWS] < rows.shape[0] and counts[SAMPLES] < samples.shape[0]:
        t = clock[TIME]
        limit, instant = landing(updates, states[0], clock)
        if limit <= t or not one_step(limit, instant, programs, updates, states, stepper, motion, output):
            return
        if clock[TIME] < limit:
            continue
        clock[TIME] = instant
        if instant >= clock[END]:
            return
        if not updated(programs[3], updates, states, motion, samples, due_at):
            counts[DUE] = 1
            return


@inlined
def next_instant(k, updates, numbers):
    """The next instant (s) of an update; infinity for none."""
    clocks, places = updates[0], updates[1]
    asked = math.inf
    if places[k, 0] >= 0:
        asked = clocks[k, 0] + numbers[places[k, 0]] * clocks[k, 1]
    return min(asked, numbers[places[k, 1]]) if places[k, 1] >= 0 else asked


@inlined
def landing(updates, numbers, clock):
    """The instant (s) to step to, and the one to go on from."""
    limit = clock[END]
    for k in range(updates[0].shape[0]):
        limit = min(limit, next_instant(k, updates, numbers))
    instant, near = limit, limit + clock[SAME]
    for k in range(updates[0].shape[0]):
        asked = next_instant(k, updates, numbers)
        if instant < asked <= near:
            instant = asked
    if instant < clock[END] <= near:
        instant = clock[END]
    return limit, min(instant, clock[END])


@inlined
def put(x, row, first):
    """Copy x (n,) into a row; the place behind it."""
    for k in range(x.size):
        row[first + k] = x[k]
    return first + x.size


@inlined
def put_rows(x, row, first):
    """Copy x (m, n) into a row; the place behind it."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            row[first + k] = x[i, k]
        first += x.shape[1]
    return first


@inlined
def hold(updates, states, u):
    """Set the inputs u (n_u,) to those of the discrete state."""
    numbers, angles = states[0], states[2]
    of_states, of_angles = updates[3], updates[4]
    for k in range(of_states.shape[0]):
        u[of_states[k, 1]] = numbers[of_states[k, 0]]
    for k in range(of_angles.shape[0]):
        u[of_angles[k, 1]] = angles[0, of_angles[k, 0]]


@calling
def updated(calls, updates, states, motion, samples, due_at):
    """Carry out the updates that are due; whether none needs Python, for which nothing is changed then."""
    clock, counts, v, u, a, multipliers = motion[0], motion[1], motion[3], motion[5], motion[6], motion[7]
    recorded, of_states = updates[2], updates[3]
    numbers, before, time, held, trend = states[0], states[1], states[4], states[5], states[6]
    lengths, velocity, slope, of_multipliers, u_before = trend
    time[0] = clock[TIME]
    row, keeps = due_at[counts[SAMPLES]], False
    for k in range(row.size):
        row[k] = next_instant(k, updates, numbers) <= clock[TIME] + clock[SAME]
        keeps = keeps or (row[k] and recorded[k])
    put(numbers, before, 0)
    for k in range(row.size):
        if row[k] and call_bound(calls[k, 0], calls[k, 1]) != -1:
            put(before, numbers, 0)
            return False
    if keeps:
        put(numbers, samples[counts[SAMPLES]], 0)
        counts[SAMPLES] += 1
    acts = False
    for k in range(of_states.shape[0]):
        x, y = numbers[of_states[k, 0]], before[of_states[k, 0]]
        differs = x != y or (x == 0.0 and math.copysign(1.0, x) != math.copysign(1.0, y))
        acts = acts or (differs and of_states[k, 2] == 1)
    hold(updates, states, held)
    if acts:
        put(u, u_before, 0)
        put(held, u, 0)
        counts[REPLACED] = counts[STARTING] = 1
        lengths[:] = 0.0
        put(v, velocity, 0)
        put(a, slope, 0)
        of_multipliers[1:] = 0.0
        put(multipliers, of_multipliers[0], 0)
    return True


@calling
def one_step(limit, instant, programs, updates, states, stepper, motion, output):
    """Make a step towards the limit (s); False where it needs Python, for which nothing is changed then."""
    clock, counts, q, v, work, u, a, multipliers, power = motion
    length, numbers, at, U, Z, K, L, powers, weights, end_q, end_v = stepper
    t, held = clock[TIME], states[5]
    remaining = limit - t
    h = min(clock[LENGTH], clock[LONGEST])
    if h >= remaining * ALMOST:
        h = remaining
    elif h > 0.5 * remaining:
        h = 0.5 * remaining
    before, anew = clock[FACTORED], programs[4]
    fits = abs(h - before) <= SAME_LENGTH * before
    if h < clock[SHORTEST] or counts[TOO_OLD] or not (fits or anew.shape[0] > 0):
        return False
    end = limit if h == remaining else t + h
    length[0] = h
    put(v, at, put(q, at, put(multipliers, at, put(v, at, put(q, at, put(u, at, 0))))))
    if counts[REPLACED] and not responded(programs[1], states, stepper, a):
        return False
    for i in range(3):
        put(held, U[i], 0)
    if not ((fits or factorised(anew, h, length, states[8])) and tried(programs[0], numbers)):
        if not fits:
            factorised(anew, before, length, states[8])
        return False
    if not fits:
        clock[FACTORED] = h
        counts[FACTORED_ANEW] += 1
    last, times = instant if end == limit else end, output[0]
    count = counts[INSTANTS]
    while count < times.size and times[count] <= last:
        count += 1
    row = output[2][counts[ROWS]]
    if count > counts[INSTANTS]:
        row[ROW_START], row[ROW_END], row[ROW_LENGTH], row[ROW_INSTANTS] = t, end, h, count - counts[INSTANTS]
        row[ROW_STARTING], row[ROW_REPLACED] = counts[STARTING], counts[REPLACED]
        place = put(power, row, put(work, row, put(v, row, put(q, row, put(held, row, ROW_HEAD)))))
        place = put_rows(Z, row, put(a, row, place))
    plan(h, end == limit, numbers, clock, counts)
    clock[TIME] = end
    put(end_q, q, 0)
    put(end_v, v, 0)
    add_work(h, weights, powers, work)
    put(U[2], u, 0)
    put(K[2], a, 0)
    put(L[2], multipliers, 0)
    put(powers[2], power, 0)
    if count > counts[INSTANTS]:
        place = put_rows(powers, row, put(work, row, put(v, row, put(q, row, place))))
        put(states[2][0], row, put(states[0], row, put_rows(K, row, place)))
        counts[ROWS] += 1
        counts[INSTANTS] = count
    output[1][counts[STEPS]] = end
    counts[STEPS] += 1
    counts[STARTING] = counts[REPLACED] = 0
    if programs[2].shape[0] > 0:
        call_each(programs[2])
        put(states[3][0], states[2][0], 0)
        hold(updates, states, held)
    return True


@inlined
def responded(program, states, stepper, a):
    """Accelerations and multipliers after a change of inputs; False where the equations are not defined."""
    slope, u_before = states[6][2], states[6][4]
    before, change, real = states[7]
    put(u_before, before, 0)
    put(a, slope, 0)
    change[:] = 0.0
    real[:] = 0.0
    return call_each(program) == program.shape[0]


@inlined
def factorised(program, h, length, weights):
    """Factorise the matrices for a step of length h (s); whether they are not singular."""
    length[0], weights[0] = h, RADAU_REAL / h
    weights[1] = 1.0 / weights[0]
    return call_each(program) == program.shape[0]


@inlined
def tried(program, numbers):
    """Make a trial step; whether it is accepted, with its end and what the next one takes from it."""
    if call_each(program) < program.shape[0] or numbers[OUTCOME] != CONVERGED:
        return False
    return numbers[UNFILTERED] <= 1.0 and numbers[ENDED] == 1.0 and numbers[LOOKED_AHEAD] == 1.0


@inlined
def plan(h, cut, numbers, clock, counts):
    """Plan the next step after one of length h (s), and count this one."""
    error, done = numbers[NORM], numbers[DONE]
    renew = numbers[RATE] > SLOW and done > 2.0
    factor = min(MAX_FACTOR, step_factor(done, error, h, clock[OLD_ERROR], clock[OLD_LENGTH]))
    clock[OLD_ERROR], clock[OLD_LENGTH] = max(error, 1e-4), h
    length = next_length(h, clock[LENGTH], factor, cut, 1.0 if renew else WORTHWHILE)
    clock[LENGTH] = min(length, clock[CEILING])
    clock[CEILING] *= RECOVERY
    counts[TOO_OLD] = counts[TOO_OLD] or renew
    counts[EVALUATIONS] += int(3.0 * done + numbers[ESTIMATES])
    counts[ITERATIONS] += int(done)

"""Samples of controllers as kernels bound to their arrays: what a law reads, its step, the queue and held commands.

They change the discrete states in ``femb.layout.discrete.UpdateArrays``, as the methods in Python do to the last bit.
"""

import math
from typing import Any

from femb.elements.control.queue import ROUNDING
from femb.elements.joint.primitives import piece_at
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry

# Where a law reads: coordinates, velocities, or discrete states.
IN_Q, IN_V, IN_STATES = range(3)
# Integers of a sample: places of the count of samples, the output, its time, the state and the queue, rows of the
# queue, whether an attitude is regulated, and the place of what other laws read after a delay, -1 for none.
COUNT, OUTPUT, TIME, STATE, QUEUE, SLOTS, ATTITUDE, ARRIVED_AT = range(8)


def attitude_error(q: Any, p: Any, w: Any, r: Any) -> tuple[float, ...]:
    """The turn (3) from a reference p to an attitude q of any length, and the rate (3) beside that of the reference.

    w : the rate, body axes; r : of the reference, in its axes. docs/theory/controllers.md, equation (4).
    """
    q0, q1, q2, q3 = q
    p0, p1, p2, p3 = p
    scale = 1.0 / math.sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    e0 = scale * (p0 * q0 + p1 * q1 + p2 * q2 + p3 * q3)
    e1 = scale * (p0 * q1 - p1 * q0 - p2 * q3 + p3 * q2)
    e2 = scale * (p0 * q2 - p2 * q0 - p3 * q1 + p1 * q3)
    e3 = scale * (p0 * q3 - p3 * q0 - p1 * q2 + p2 * q1)
    # the rate of the reference in axes of the body, R(e)^T r
    r1, r2, r3 = r
    x, y, z = 2.0 * (r2 * e3 - r3 * e2), 2.0 * (r3 * e1 - r1 * e3), 2.0 * (r1 * e2 - r2 * e1)
    r1, r2, r3 = r1 + e0 * x + y * e3 - z * e2, r2 + e0 * y + z * e1 - x * e3, r3 + e0 * z + x * e2 - y * e1
    twice = -2.0 if e0 < 0.0 else 2.0
    return twice * e1, twice * e2, twice * e3, w[0] - r1, w[1] - r2, w[2] - r3


attitude_error_inside = inlined(attitude_error)


@kernel
def linear_step(law, x, y, u, new):
    """Commands u = C x + D y (k,) and the next state new = A x + B y (n,).

    law : A, B, C, D, limits (k,), holds and tracking (n, k), by which what limits take from the commands changes the
    state; holds (n,) : without tracking, the states that are held while a limit takes something.
    """
    A, B, C, D, limits, holds, tracking = law
    for i in range(u.size):
        u[i] = 0.0
        for j in range(x.size):
            u[i] += C[i, j] * x[j]
        for j in range(y.size):
            u[i] += D[i, j] * y[j]
    for i in range(x.size):
        new[i] = 0.0
        for j in range(x.size):
            new[i] += A[i, j] * x[j]
        for j in range(y.size):
            new[i] += B[i, j] * y[j]
    if x.size == 0:
        return
    held = False
    for k in range(u.size):
        taken = min(max(u[k], -limits[k]), limits[k]) - u[k]
        if taken != 0.0:
            held = True
            if tracking.size:
                for i in range(x.size):
                    new[i] += tracking[i, k] * taken
    if held and tracking.size == 0:
        for i in range(x.size):
            if holds[i]:
                new[i] = x[i]


@kernel
def scheduled(table, x, now):
    """Set now (n,) by a table (r, 1 + n) over the rising values of its first column: linear between rows, constant
    before the first and after the last."""
    k = piece_at(x, 0, table.shape[0] - 1, table)
    share = min(max((x - table[k, 0]) / (table[k + 1, 0] - table[k, 0]), 0.0), 1.0)
    for i in range(now.size):
        now[i] = table[k, 1 + i] + share * (table[k + 1, 1 + i] - table[k, 1 + i])


@inlined
def set_commands(u, targets, limits, states):
    """Hold commands u, within their limits, in the discrete states, and count those that exceed them.

    targets (c, 3) : of each command the place of its first number, how many it has, and the place of its count.
    limits (c, 2) : what is added to it before its limit, and the limit.
    """
    first = 0
    for c in range(targets.shape[0]):
        place, width, clips = targets[c, 0], targets[c, 1], targets[c, 2]
        own, most = limits[c, 0], limits[c, 1]
        clipped = False
        for k in range(width):
            wanted = u[first + k]
            given = wanted
            if abs(own + wanted) > most:
                given = min(max(own + wanted, -most), most) - own
            clipped = clipped or given != wanted
            states[place + k] = given
        if clipped:
            states[clips] += 1.0
        first += width


# The queue of ``femb.elements.control.queue`` at a place of the discrete states: rows of an instant (s) and a value.


@inlined
def push(states, at, slots, instant, value):
    """Put a value (k,) that is due at an instant (s) behind the others; in the place of the last if all are full."""
    width, row = 1 + value.size, 0
    while row < slots - 1 and states[at + row * width] < math.inf:
        row += 1
    states[at + row * width] = instant
    for k in range(value.size):
        states[at + row * width + 1 + k] = value[k]


@inlined
def due_rows(states, at, slots, width, t):
    """The number of rows that are due at the time t (s)."""
    due = 0
    while due < slots and states[at + due * width] <= t:
        due += 1
    return due


@inlined
def shift(states, at, slots, width, due):
    """Take the first rows from the queue."""
    size = slots * width
    for k in range(size):
        taken = k + due * width
        rest = math.inf if k % width == 0 else 0.0
        states[at + k] = states[at + taken] if taken < size else rest


@kernel_with_entry
def sample(places, timing, sources, q, v, states, reference, law, schedule, room, commands):
    """A sample of a linear law; 0 where a number is not finite, for Python to tell, otherwise -1.

    timing : phase, period and delay, s. sources (s, 3) : of each signal where it is, its place, and its width; one of
    four numbers is an attitude. reference : of the errors y. law : A, B, C, D, limits, holds and tracking of
    ``linear_step``. schedule : its table, empty of a law without one, the numbers of the law that follow it, and where
    the signal is over which it is, as in a row of sources. room : for errors y, commands u and the next state.
    commands : targets and limits of ``set_commands``.
    """
    y, u, new = room
    at_output, at_state, at_queue, slots = places[OUTPUT], places[STATE], places[QUEUE], places[SLOTS]
    if places[ATTITUDE]:
        attitude, rate = sources[0, 1], sources[1, 1]
        a, w = q if sources[0, 0] == IN_Q else states, v if sources[1, 0] == IN_V else states
        y[0], y[1], y[2], y[3], y[4], y[5] = attitude_error_inside(
            (a[attitude], a[attitude + 1], a[attitude + 2], a[attitude + 3]),
            (reference[0], reference[1], reference[2], reference[3]),
            (w[rate], w[rate + 1], w[rate + 2]),
            (reference[4], reference[5], reference[6]),
        )
    else:
        row = 0
        for s in range(sources.shape[0]):
            where, place, width = sources[s, 0], sources[s, 1], sources[s, 2]
            values = q if where == IN_Q else v if where == IN_V else states
            if width == 4:
                twice = -2.0 if values[place] < 0.0 else 2.0
                for k in range(3):
                    y[row + k] = twice * values[place + 1 + k] - reference[row + k]
                row += 3
            else:
                for k in range(width):
                    y[row + k] = values[place + k] - reference[row + k]
                row += width
    table, now, over = schedule
    if table.size:
        values = q if over[0] == IN_Q else v if over[0] == IN_V else states
        scheduled(table, values[over[1]], now)
    linear_step(law, states[at_state : at_state + new.size], y, u, new)
    for k in range(u.size):
        if not math.isfinite(u[k]):
            return 0
    for k in range(new.size):
        if not math.isfinite(new[k]):
            return 0
    instant = timing[0] + states[places[COUNT]] * timing[1]
    states[places[COUNT]] += 1.0
    states[places[TIME]] = instant
    for k in range(u.size):
        states[at_output + k] = u[k]
    for k in range(new.size):
        states[at_state + k] = new[k]
    if slots == 0:
        set_commands(u, commands[0], commands[1], states)
        return -1
    push(states, at_queue, slots, instant + timing[2], u)
    return -1


@kernel_with_entry
def act(places, timing, t, states, u, targets, limits):
    """Set the commands of a controller whose delay has passed at the time t (1,), the oldest first; -1. Otherwise as
    ``sample``."""
    at_queue, width, slots = places[QUEUE], 1 + u.size, places[SLOTS]
    due = due_rows(states, at_queue, slots, width, t[0] + ROUNDING * timing[1])
    for row in range(due):
        for k in range(u.size):
            u[k] = states[at_queue + row * width + 1 + k]
            if places[ARRIVED_AT] >= 0:
                states[places[ARRIVED_AT] + k] = u[k]
        set_commands(u, targets, limits, states)
    if due:
        shift(states, at_queue, slots, width, due)
    return -1

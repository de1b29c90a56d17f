"""Samples of sensors as kernels bound to their arrays, and the normal numbers of their noise.

They change the discrete states in ``femb.layout.discrete.UpdateArrays``, as the methods in Python do to the last bit.
"""

import math

import numpy as np

from femb.elements.control.queue import ROUNDING
from femb.elements.control.sample_kernels import IN_Q, due_rows, push, shift
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry

# What a sensor measures: numbers, an attitude, one with another noise about a boresight, and a rate whose bias walks.
NUMBERS, ATTITUDE, TRACKER, GYRO = range(4)
# Integers of a sample: the kind, where the quantity is and its place, places of the count of samples, the true value,
# its time, the value, the queue and its rows, of the bias and of the integral at the last sample (-1 for none), whether
# a quantum rounds down, and how many normal numbers are drawn.
KIND, WHERE, AT, COUNT, TRUE_VALUE, TIME, VALUE, QUEUE, SLOTS, BIAS, LAST, FLOOR, DRAWN = range(13)
# Its numbers: phase, period and delay, s; scale, quantum (zero for none) and range; the noise about the boresight; of a
# walk the factors of the first numbers in its end, of the first and second in its mean, its decay, the share of the
# bias in the mean, and the white noise.
PHASE, PERIOD, DELAY, SCALE, QUANTUM, RANGE, ROLL, END, FIRST, SECOND, DECAY, SHARE, WHITE = range(13)

# Philox of four words and ten rounds: J. K. Salmon et al., SC11 (2011). Words are multiplied by their halves, since
# scalars of numpy warn of an overflow.
HALF, LOW, SHIFT = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(11)
FACTORS = np.array([0xD2E7470EE14C6C93, 0xCA5A826395121157], dtype=np.uint64)
STEPS = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], dtype=np.uint64)
ROUNDS, WORDS = 10, 4


@inlined
def product_of_words(a, b):
    """The high and the low word of the product of two words."""
    a1, a0, b1, b0 = a >> HALF, a & LOW, b >> HALF, b & LOW
    low = a0 * b0
    middle = a1 * b0 + (low >> HALF)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (other >> HALF), ((other & LOW) << HALF) | (low & LOW)


@inlined
def sum_of_words(a, b):
    """The sum of two words, without the carry."""
    low = (a & LOW) + (b & LOW)
    return ((((a >> HALF) + (b >> HALF) + (low >> HALF)) & LOW) << HALF) | (low & LOW)


@kernel
def draw(key, counter, factors, steps, words, uniform, out):
    """out (k,): normal numbers by Box and Muller, from words of Philox with a key (2,).

    counter (4,) : zero but for the number of the sample. words (4,) and uniform (k + 4,) are overwritten.
    """
    half = (out.size + 1) // 2
    for first in range(0, 2 * half, WORDS):
        counter[0] = first // WORDS + 1
        for k in range(WORDS):
            words[k] = counter[k]
        k0, k1 = key[0], key[1]
        for _ in range(ROUNDS):
            high0, low0 = product_of_words(factors[0], words[0])
            high1, low1 = product_of_words(factors[1], words[2])
            words[0], words[2] = high1 ^ words[1] ^ k0, high0 ^ words[3] ^ k1
            words[1], words[3] = low1, low0
            k0, k1 = sum_of_words(k0, steps[0]), sum_of_words(k1, steps[1])
        for k in range(WORDS):
            uniform[first + k] = (float(words[k] >> SHIFT) + 1.0) * 2.0**-53
    for k in range(out.size):
        of = k if k < half else k - half
        radius, angle = math.sqrt(-2.0 * math.log(uniform[of])), 2.0 * math.pi * uniform[half + of]
        out[k] = radius * (math.cos(angle) if k < half else math.sin(angle))


@inlined
def read(places, numbers, turn, q, v, states, true):
    """The true quantity (k,) in the axes of the sensor; whether it is defined."""
    source, at = q if places[WHERE] == IN_Q else v, places[AT]
    if places[KIND] == ATTITUDE or places[KIND] == TRACKER:
        a, b, c, d = source[at], source[at + 1], source[at + 2], source[at + 3]
        length = math.sqrt(a * a + b * b + c * c + d * d)
        if length == 0.0:
            return False
        a, b, c, d = a / length, b / length, c / length, d / length
        if turn.size:
            a, b, c, d = product(a, b, c, d, turn[0], turn[1], turn[2], turn[3])
        set_positive(a, b, c, d, true)
        return True
    for k in range(true.size):
        if turn.size:
            x, y, z = turn[3 * k], turn[3 * k + 1], turn[3 * k + 2]
            true[k] = x * source[at] + y * source[at + 1] + z * source[at + 2]
        else:
            true[k] = source[at + k]
    if places[LAST] >= 0:
        for k in range(true.size):
            last = places[LAST] + k
            integral = true[k]
            true[k] = (integral - states[last]) / numbers[PERIOD]
            states[last] = integral
    return True


@inlined
def product(a, b, c, d, e, f, g, h):
    """The product of two quaternions."""
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


@inlined
def set_positive(a, b, c, d, x):
    """x (4,): a quaternion, with x_0 >= 0."""
    x[0], x[1], x[2], x[3] = (-a, -b, -c, -d) if a < 0.0 else (a, b, c, d)


@inlined
def measure(places, numbers, errors, random, states, true, value):
    """value (k,): the true one with bias and noise; the bias of a gyro walks."""
    noise, bias, boresight = errors
    kind = places[KIND]
    if kind == NUMBERS:
        for k in range(true.size):
            value[k] = (true[k] + noise[k] * random[k] if places[DRAWN] else true[k]) + bias[k]
    elif kind == GYRO:
        for k in range(3):
            at = places[BIAS] + k
            if not places[DRAWN]:
                value[k] = true[k] + states[at]
                continue
            drift = numbers[FIRST] * random[k] + numbers[SECOND] * random[3 + k]
            value[k] = true[k] + numbers[SHARE] * states[at] + drift + numbers[WHITE] * random[6 + k]
            states[at] = numbers[DECAY] * states[at] + numbers[END] * random[k]
    else:
        x, y, z = random[0], random[1], random[2]
        if kind == TRACKER:
            e0, e1, e2 = boresight[0], boresight[1], boresight[2]
            roll = e0 * x + e1 * y + e2 * z
            along = numbers[ROLL] * roll
            x = noise[0] * (x - roll * e0) + along * e0 + bias[0]
            y = noise[1] * (y - roll * e1) + along * e1 + bias[1]
            z = noise[2] * (z - roll * e2) + along * e2 + bias[2]
        elif places[DRAWN]:
            x, y, z = noise[0] * x + bias[0], noise[1] * y + bias[1], noise[2] * z + bias[2]
        else:
            x, y, z = bias[0], bias[1], bias[2]
        a, b, c, d = true[0], true[1], true[2], true[3]
        if x != 0.0 or y != 0.0 or z != 0.0:
            a, b, c, d = product(a, b, c, d, 1.0, 0.5 * x, 0.5 * y, 0.5 * z)
            length = math.sqrt(a * a + b * b + c * c + d * d)
            a, b, c, d = a / length, b / length, c / length, d / length
        set_positive(a, b, c, d, value)


@inlined
def converted(x, places, numbers):
    """A component with scale, quantum and range."""
    x = numbers[SCALE] * x
    quantum, most = numbers[QUANTUM], numbers[RANGE]
    if quantum > 0.0:
        x = quantum * (math.floor(x / quantum) if places[FLOOR] else np.rint(x / quantum))
    return min(max(x, -most), most)


@inlined
def convert(places, numbers, value):
    """Convert a value (k,); of an attitude with a quantum the components of its turn."""
    if places[KIND] == NUMBERS or places[KIND] == GYRO:
        for k in range(value.size):
            value[k] = converted(value[k], places, numbers)
    elif numbers[QUANTUM] > 0.0:
        twice = -2.0 if value[0] < 0.0 else 2.0
        for k in range(1, 4):
            value[k] = 0.5 * converted(twice * value[k], places, numbers)
        squares = value[1] * value[1] + value[2] * value[2] + value[3] * value[3]
        value[0] = math.sqrt(max(0.0, 1.0 - squares))


@kernel_with_entry
def sample_sensor(places, numbers, turn, errors, drawing, random, kept, true, value, q, v, states):
    """A sample of a sensor; 0 where a number is not finite, for Python to tell, otherwise -1.

    turn : its own axes, a quaternion (4,) of attitudes, otherwise a matrix (9,), empty of none. errors : noise and bias
    (k,), boresight (3,). drawing : the arrays of ``draw`` before ``out``. random (9,), kept (6,), true and value (k,)
    are overwritten.
    """
    instant = numbers[PHASE] + states[places[COUNT]] * numbers[PERIOD]
    for k in range(3):
        kept[k] = states[places[BIAS] + k] if places[BIAS] >= 0 else 0.0
        kept[3 + k] = states[places[LAST] + k] if places[LAST] >= 0 else 0.0
    finite = read(places, numbers, turn, q, v, states, true)
    if finite:
        if places[DRAWN]:
            key, counter, factors, steps, words, uniform = drawing
            counter[2] = int(states[places[COUNT]])
            draw(key, counter, factors, steps, words, uniform, random[: places[DRAWN]])
        measure(places, numbers, errors, random, states, true, value)
        convert(places, numbers, value)
    for k in range(value.size):
        finite = finite and math.isfinite(true[k]) and math.isfinite(value[k])
    if not finite:
        for k in range(3):
            if places[BIAS] >= 0:
                states[places[BIAS] + k] = kept[k]
            if places[LAST] >= 0:
                states[places[LAST] + k] = kept[3 + k]
        return 0
    states[places[COUNT]] += 1.0
    states[places[TIME]] = instant
    for k in range(value.size):
        states[places[TRUE_VALUE] + k] = true[k]
    if places[SLOTS]:
        push(states, places[QUEUE], places[SLOTS], instant + numbers[DELAY], value)
    else:
        for k in range(value.size):
            states[places[VALUE] + k] = value[k]
    return -1


@kernel_with_entry
def arrive(places, numbers, t, value, states):
    """Take what has waited for its delay at the time t (1,); -1."""
    at_queue, width, slots = places[QUEUE], 1 + value.size, places[SLOTS]
    due = due_rows(states, at_queue, slots, width, t[0] + ROUNDING * numbers[PERIOD])
    if due:
        for k in range(value.size):
            states[places[VALUE] + k] = states[at_queue + (due - 1) * width + 1 + k]
        shift(states, at_queue, slots, width, due)
    return -1

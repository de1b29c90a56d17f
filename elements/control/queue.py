"""Queue of values that arrive later: of a sensor with a delay, or of the commands of a controller."""

from bisect import bisect_right
from math import ceil, inf

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats

# Instants within this part of a period are one.
ROUNDING = 1e-9
# Periods of the longest delay.
LONGEST = 100_000


def slots(path: tuple[str, ...], delay: float, period: float) -> int:
    """The largest number of values that wait at once. Raises ModelError, at the path of an item: too many."""
    if delay > LONGEST * period:
        raise ModelError.at((*path, "delay"), f"got {delay:g} s, must be at most {LONGEST} periods of {period:g} s")
    return ceil(delay / period * (1.0 - ROUNDING)) + 1


def empty(count: int, width: int) -> Floats:
    """(count, 1 + width) an empty queue: in each row an instant (s), infinity of an empty row, and a value."""
    result = np.zeros((count, 1 + width))
    result[:, 0] = inf
    return result


def pushed(queue: Floats, instant: float, value: Floats) -> Floats:
    """The queue with one more value; a full queue, whose clock has begun anew, loses its last one."""
    result, free = queue.copy(), queue[:, 0].tolist().count(inf)
    row = result[-free if free else -1]
    row[0], row[1:] = instant, value
    return result


def moved(queue: Floats, t: float) -> Floats:
    """The queue with instants that count from t (s)."""
    result = queue.copy()
    result[:, 0] -= t
    return result


def newest(queue: Floats) -> Floats:
    """(..., width) the value that came last, of queues (..., count, 1 + width) that are not empty."""
    last = np.count_nonzero(queue[..., 0] < inf, axis=-1) - 1
    value: Floats = np.take_along_axis(queue, last[..., None, None], axis=-2)[..., 0, 1:]
    return value


def taken(queue: Floats, t: float, period: float) -> tuple[Floats, Floats]:
    """The values (n, width) that are due at t (s), the oldest first, and the rest of the queue."""
    # the instants are sorted
    due = bisect_right(queue[:, 0].tolist(), t + ROUNDING * period)
    if not due:
        return queue[:0, 1:], queue
    rest, left = queue.copy(), len(queue) - due
    rest[:left] = queue[due:]
    rest[left:], rest[left:, 0] = 0.0, inf
    return queue[:due, 1:], rest

"""Forces of many elements, evaluated in ranges at the same time; see ``femb.numerics.threads``."""

from collections.abc import Callable
from functools import partial

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.row_kernels import add_rows
from femb.numerics.threads import concurrently, ranges

NO_ROWS = np.empty((0, 0, 0))


def in_ranges(
    of_range: Callable[[slice, Floats], Callable[[], int]],
    starts: Ints,
    sizes: tuple[int, ...],
    out: Floats,
    multiple: int = 1,
) -> Callable[[], int]:
    """The function that adds the forces of elements to out (s, n_v), and returns the number of a folded one or -1.

    of_range(elements, rows) : the same for a range of them. It adds to out if rows is empty; otherwise it sets rows (n,
    s, w) to the forces of its n elements, which are then added in the order of the elements, as without ranges.
    starts (e, groups) : the first velocity of each group of an element, negative if it is fixed. sizes : of the groups.
    multiple : see ``ranges``.
    """
    parts = ranges(len(starts), len(out), multiple)
    if len(parts) == 1:
        return of_range(parts[0], NO_ROWS)
    rows = np.empty((len(starts), len(out), sum(sizes)))
    first_elements: list[int] = [part.start for part in parts]
    tasks = [of_range(part, rows[part]) for part in parts]
    add = partial(add_rows, np.ascontiguousarray(starts), np.array(sizes), rows, out)

    def evaluate() -> int:
        for first, folded in zip(first_elements, concurrently(tasks), strict=True):
            if folded >= 0:
                return first + folded
        add()
        return -1

    return evaluate

"""Forces of many elements, evaluated in ranges at the same time; see ``femb.numerics.threads``."""

from collections.abc import Callable
from functools import partial

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.compile import kernel
from femb.numerics.threads import concurrently, ranges

# Sums of rows of elements into the vectors of a system.


@kernel
def add_rows(starts, sizes, rows, out):
    """out (s, n_v) += rows (n, s, w) of n elements at s states, in the order of the elements.

    starts (n, groups) : index in out of the first number of each group of a row, negative if it is left out. sizes
    (groups,) : of the groups.
    """
    for s in range(out.shape[0]):
        for k in range(rows.shape[0]):
            i = 0
            for g in range(sizes.size):
                o = starts[k, g]
                if o >= 0:
                    for m in range(sizes[g]):
                        out[s, o + m] += rows[k, s, i + m]
                i += sizes[g]


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

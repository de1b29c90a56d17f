"""Forces of many elements, evaluated in ranges at the same time; see ``femb.numerics.threads``."""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import kernel
from femb.numerics.threads import concurrently, ranges

# Sums of rows of elements into the vectors of a system.


@kernel
def add_rows(starts: Ints, sizes: Ints, rows: Floats, out: Floats) -> None:
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
    of_range: Callable[[slice, Floats], Bound],
    starts: Ints,
    sizes: tuple[int, ...],
    out: Floats,
    multiple: int = 1,
    check: Callable[[int], object] | None = None,
) -> Bound:
    """The call that adds the forces of elements to out (s, n_v): a ``Bound`` kernel if they are in one range.

    of_range(elements, rows) : the same for a range of them. It adds to out if rows is empty; otherwise it sets rows (n,
    s, w) to the forces of its n elements, which are then added in the order of the elements, as without ranges.
    starts (e, groups) : the first velocity of each group of an element, negative if it is fixed. sizes : of the groups.
    multiple : see ``ranges``. check : called with the number of a folded element, or -1; None where none can fold.
    """
    parts = ranges(len(starts), len(out), multiple)
    if len(parts) == 1:
        bound = of_range(parts[0], NO_ROWS)
        bound.check = check
        return bound
    rows = np.empty((len(starts), len(out), sum(sizes)))
    first_elements: list[int] = [part.start for part in parts]
    tasks = [of_range(part, rows[part]) for part in parts]
    add = Bound(add_rows, np.ascontiguousarray(starts), np.array(sizes), rows, out)

    def evaluate() -> None:
        for first, folded in zip(first_elements, concurrently(tasks), strict=True):
            if check is not None and folded >= 0:
                check(first + folded)
        add()

    return Bound(evaluate)

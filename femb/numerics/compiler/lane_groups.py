"""Arrays of elements in groups of LANES, as kernels over ``femb.numerics.compiler.lanes`` read them."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.lanes import LANES


def groups(rows: Floats, axis: int = 0) -> Floats:
    """Rows along an axis of an array (..., n, a, b) as groups (..., g, a, b, LANES), the last one filled up."""
    count = rows.shape[axis]
    number = -(-count // LANES)
    if number * LANES != count:
        rows = rows.take(np.minimum(np.arange(number * LANES), count - 1), axis)
    grouped = rows.reshape(*rows.shape[:axis], number, LANES, *rows.shape[axis + 1 :])
    # np.moveaxis of the lanes to the end takes several times as long
    return grouped.transpose(*range(axis + 1), *range(axis + 2, grouped.ndim), axis + 1).copy()


def ungrouped(values: Floats, count: int) -> Floats:
    """The rows (s, n, a) of groups (s, g, a, LANES)."""
    states, _, numbers, _ = values.shape
    return np.ascontiguousarray(values.transpose(0, 1, 3, 2).reshape(states, -1, numbers)[:, :count])


def kinds(*parts: Floats) -> tuple[Any, ...]:
    """The numbers (g,) of the kinds of groups (g, ...), and the parts of each kind.

    A group like the one before it is of its kind: the elements of a uniform beam share one set of parameters.
    """
    first = np.ones(len(parts[0]), dtype=bool)
    flat = [part.reshape(len(part), -1) for part in parts]
    first[1:] = np.any([np.any(part[1:] != part[:-1], axis=1) for part in flat], axis=0)
    return np.cumsum(first) - 1, *(part[first] for part in parts)


class SharedRows:
    """Rows (n, ...) of elements, of which a row like the one before it takes no memory: those of a uniform beam."""

    def __init__(self, rows: Floats) -> None:
        self._kind, self._rows = kinds(rows)

    def all(self) -> Floats:
        """A copy of all rows."""
        return np.asarray(self._rows[self._kind])


def groups_of(part: slice) -> slice:
    """The groups of a range of elements, which begins with a group."""
    return slice(part.start // LANES, -(-part.stop // LANES))


def of_range(
    part: slice, index: Ints, kind: Ints, ends: Floats, data: Floats, free: Floats, own: Floats
) -> tuple[Any, ...]:
    """The arguments of kernels over lanes for a range of elements, which begins with a group.

    ends, data : of the kinds. free (s, g, a, LANES) or empty, own (g, a, LANES) : of the groups.
    """
    of_groups = groups_of(part)
    free_of_groups = np.ascontiguousarray(free[:, of_groups]) if free.size else free
    return index[part], kind[of_groups], ends, data, free_of_groups, own[of_groups]

"""Numbers of several elements in one value, so that a kernel written for one element computes LANES at once.

``lanes(array)`` shows an array (..., LANES) as an array (...) of such values. Kernels marked ``@inlined`` take them as
they take numbers: +, -, *, / and ``math.sqrt`` act on every lane, and a number beside them stands for all lanes;
``math.sin`` and ``math.cos`` take one lane after another, which ``femb.numerics.orbits`` avoids for small angles.
What differs between elements is chosen by ``choose(condition, x, y)``, and left out where ``every(condition)``;
``magnitude`` is a size without a sign, ``place_of`` the integer of a value that is a whole number. They take numbers
too. A value is a vector of the processor: one instruction does the work of several, with the same rounding.
Rows of a matrix of plain numbers are held in registers too: ``row_at``, ``times_row``, ``minus_row`` and ``put_row``
take four to eight of its numbers at once, where ``in_registers`` says so, with the rounding of a loop over them.
There are four lanes, since models with few elements would leave more of them unused; eight take an eighth less time for
many elements.

The type of these values extends numba by names that another version may lack. There is one lane, a plain number, where
the version of numba was not tested (`femb.numerics.compiler.kernel_compiler`), where the extension raises, and where
kernels are not compiled (NUMBA_DISABLE_JIT).
"""

from importlib import import_module
from typing import Any

import numba
import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.kernel_compiler import KNOWN, OPTIONS


def _extension() -> Any:
    """The module of the type, or None where numba cannot have it."""
    if not KNOWN or numba.config.DISABLE_JIT:
        return None
    try:
        return import_module("femb.numerics.compiler.lane_types")
    except Exception:
        # Whatever numba refuses, one lane computes the same.
        return None


_TYPES = _extension()

if _TYPES is not None:
    LANES, lanes, choose, every = _TYPES.LANES, _TYPES.lanes, _TYPES.choose, _TYPES.every
    magnitude, place_of, is_mixed, has_place = _TYPES.magnitude, _TYPES.place_of, _TYPES.is_mixed, _TYPES.has_place
    places_in = _TYPES.places_in
    in_registers, row_at, put_row = _TYPES.in_registers, _TYPES.row_at, _TYPES.put_row
    number_at, times_row, minus_row = _TYPES.number_at, _TYPES.times_row, _TYPES.minus_row
else:
    LANES = 1
    # by numba alone, since a view of an array is counted as a reference to it
    _inlined = numba.njit(**OPTIONS)

    @_inlined
    def lanes(array: Any) -> Any:
        """View of an array (..., LANES) as an array (...) of values with LANES numbers each."""
        return array.reshape(array.shape[:-1])

    @_inlined
    def choose(condition: Any, x: Any, y: Any) -> Any:
        """x in the lanes where the condition holds, y in the others."""
        return x if condition else y

    @_inlined
    def every(condition: Any) -> bool:
        """Whether the condition holds in every lane."""
        return bool(condition)

    @_inlined
    def magnitude(x: Any) -> Any:
        """|x|; of a complex number the sum of its parts' sizes."""
        return abs(x.real) + abs(x.imag)

    @_inlined
    def place_of(x: Any) -> Any:
        """The whole number x as an integer."""
        return int(x)

    @_inlined
    def is_mixed(place: Any, x: Any) -> bool:
        """Whether a ``place_of`` differs between lanes."""
        return False

    @_inlined
    def has_place(place: Any, number: Any, x: Any) -> bool:
        """Lanes in which a mixed ``place_of`` is this number."""
        return False

    def places_in(lane: int, place: Any) -> Any:
        """The numbers in one lane, of an array of ``place_of``."""
        return place

    @_inlined
    def number_at(x: Any, at: Any) -> Any:
        """Entry of an array (n,) at a place that is not negative."""
        return x[at]

    @_inlined
    def in_registers(x: Any, count: Any) -> bool:
        """Whether rows of this many numbers of an array (n,) are held in registers."""
        return False

    @_inlined
    def row_at(x: Any, at: Any, count: Any) -> Any:
        """The row of numbers at an entry of an array (n,)."""
        return x[at]

    @_inlined
    def put_row(x: Any, at: Any, count: Any, row: Any) -> None:
        """Write a row of numbers at an entry of an array (n,)."""
        x[at] = row

    @_inlined
    def times_row(factor: Any, row: Any) -> Any:
        """A factor times a row."""
        return factor * row

    @_inlined
    def minus_row(row: Any, other: Any) -> Any:
        """The difference of two rows."""
        return row - other


# Arrays of elements in groups of LANES, as kernels read them.


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

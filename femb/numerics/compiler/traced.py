"""Traced functions: mathematics in ordinary Python that kernels call, and the rows that kernels read and write for it.

``@traced`` takes a function of numbers, small arrays and (named) tuples of them, in the terms of
``femb.numerics.compiler.duals``. While a kernel is compiled, the function runs once and writes its operations into the
kernel's machine code; there are no calls, no loops and no branches left in it. Arguments with changes (`dual`) give
results with changes. Called from Python it computes at once, with numbers and arrays of numpy; so do kernels that are
not compiled (NUMBA_DISABLE_JIT).

Rows are contiguous arrays of numbers, or of ``lanes``. A reader reads as many numbers as it needs from the start of a
row, or an array of its own shape: ``V3(x[k])``, ``V3(v[state, j + 3:])``, ``M3(data[k, INERTIA:])``. In Python an
array may have one axis more, of states: (3, n). ``put`` and ``add_to`` write values.
Where one element has many directions, lanes hold LANES of them: ``unit_changes`` and ``changes_along`` make such
changes of plain numbers, ``put_changes`` and ``add_changes`` write them as rows (entries, directions), and
``of_one`` gives the values as plain numbers again.
The numba type of the arrays is imported only where something is compiled.
"""

import linecache
import traceback
from collections.abc import Callable
from functools import cached_property, update_wrapper
from importlib import import_module
from inspect import signature
from math import prod
from pathlib import Path
from typing import Any

import numba
import numpy as np

from femb.numerics.compiler.duals import Dual, SmallArray, as_dual, is_number
from femb.numerics.compiler.duals import value as without_changes
from femb.numerics.compiler.kernel_compiler import KNOWN

_HERE = str(Path(__file__).parent)


def _numba_types() -> Any:
    return import_module("femb.numerics.compiler.small_types")


if not KNOWN and not numba.config.DISABLE_JIT:
    # The compiler of kernels imports them before it begins; numba alone does not.
    _numba_types()


class Traced:
    """A function that runs while a kernel is compiled; called from Python it computes at once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.key_parts = function, (function,)
        self.signature = signature(function)
        update_wrapper(self, function)

    @cached_property
    def _numba_type_(self) -> Any:
        return _numba_types().type_of_traced(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            return _plain(self.run(*args, **named))

    def run(self, *args: Any, **named: Any) -> Any:
        """The result of the function; an error names the function, the line and the shapes of the arguments."""
        try:
            return self.function(*map(_entered, args), **{name: _entered(each) for name, each in named.items()})
        except Exception as error:
            raise TypeError(self._told(error, [*args, *named.values()])) from error

    def _told(self, error: Exception, args: list[Any]) -> str:
        calls = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_HERE)]
        if isinstance(error.__cause__, Exception) or not calls:
            return str(error)  # of a traced function that this one calls
        last = calls[-1]
        line = linecache.getline(last.filename, last.lineno or 0).strip()
        shapes = ", ".join(
            f"{name} {_shapes(each)}" for name, each in zip(self.signature.parameters, args, strict=False)
        )
        return (
            f"traced function {self.__name__}: {error}\n  in {last.filename}, line {last.lineno}: {line}\n"  # type: ignore[attr-defined]
            f"  called with {shapes}"
        )


def traced(function: Callable[..., Any]) -> Any:
    """Make a function of numbers and small arrays one that kernels and Python call."""
    return Traced(function)


def _shapes(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_shapes(each) for each in x)
    return x.shape if isinstance(x, SmallArray) else () if isinstance(x, Dual) or np.isscalar(x) else type(x).__name__


def _each(rule: Callable[..., Any], parts: tuple[Any, ...], *others: tuple[Any, ...]) -> Any:
    """A tuple, or a named one, of what a rule makes of its parts."""
    made = map(rule, parts, *others)
    return type(parts)(*made) if hasattr(parts, "_fields") else tuple(made)


def _entered(x: Any) -> Any:
    """An argument as the function gets it."""
    if isinstance(x, tuple):
        return _each(_entered, x)
    return as_dual(x) if is_number(x) else x


def _plain(x: Any) -> Any:
    """A result as Python gets it: a number without changes is one of Python or numpy."""
    if isinstance(x, tuple):
        return _each(_plain, x)
    return x.value if isinstance(x, Dual) and is_number(x.value) and not x.changes else x


@traced
def dual(x: Any, dx: Any) -> Any:
    """A number, an array or a tuple of them x, with the change dx."""
    if isinstance(x, tuple):
        return _each(dual.run, x, dx)
    if isinstance(x, SmallArray):
        return x.paired(dx, "with the change", dual.run)
    return Dual(as_dual(x).value, (as_dual(dx).value,))


@traced
def change(x: Any) -> Any:
    """The first change of a number or array."""
    if isinstance(x, SmallArray):
        return SmallArray(x.shape, map(change.run, x.items))
    return Dual(0.0 if not x.changes or x.changes[0] is None else x.changes[0])


class RowFunction:
    """A function that reads or writes contiguous rows of numbers, by a name that ``small_types`` knows."""

    def __init__(self, name: str, plain: Callable[..., Any], *numbers: Any) -> None:
        self.name, self.numbers, self.key_parts, self._plain = name, numbers, (name, numbers), plain

    @cached_property
    def _numba_type_(self) -> Any:
        return _numba_types().type_of_rows(self)

    def __call__(self, *args: Any) -> Any:
        return self._plain(*args, *self.numbers)


def reader(*shape: int) -> Any:
    """A function that reads an array of this shape from the start of a row, or from an array of its shape."""
    return RowFunction("read", _read, shape)


def _read(x: Any, shape: tuple[int, ...]) -> SmallArray:
    x = np.asarray(x)
    if x.ndim == 1:
        x = x[: prod(shape)].reshape(shape)
    return SmallArray(shape, x.reshape(-1, *x.shape[len(shape) :]))


def _items(x: Any) -> list[Dual]:
    return x.items if isinstance(x, SmallArray) else [as_dual(x)]


def _put(x: Any, out: Any) -> None:
    for i, each in enumerate(_items(x)):
        out.flat[i] = each.value


def _add_to(x: Any, out: Any) -> None:
    for i, each in enumerate(_items(x)):
        out.flat[i] += each.value


def _rows_of_changes(x: Any) -> list[Any]:
    items = _items(x)
    count = max(len(each.changes) for each in items)
    every = [dx for each in items for dx in (*each.changes, *[None] * (count - len(each.changes)))]
    return [0.0 if dx is None else dx for dx in every]


def _put_changes(x: Any, rows: Any) -> None:
    for i, dx in enumerate(_rows_of_changes(x)):
        rows.flat[i] = dx


def _add_changes(x: Any, rows: Any) -> None:
    for i, dx in enumerate(_rows_of_changes(x)):
        rows.flat[i] += dx


def _of_one(x: Any) -> Any:
    return _plain(without_changes(x))


def unit_changes(first: int, count: int) -> Any:
    """A function of a number or array of which entry i changes by one along direction first + i of count."""
    return RowFunction("unit_changes", _unit_changes, first, count)


def _unit_changes(x: Any, first: int, count: int) -> Any:
    def made(i: int, each: Dual) -> Dual:
        return Dual(each.value, tuple(1.0 if j == first + i else None for j in range(count)))

    items = [made(i, each) for i, each in enumerate(_items(x))]
    return SmallArray(x.shape, items) if isinstance(x, SmallArray) else items[0]


def changes_along(count: int) -> Any:
    """A function of a number or array x and of rows (entries, count) with the changes of x along count directions."""
    return RowFunction("changes_along", _changes_along, count)


def _changes_along(x: Any, rows: Any, count: int) -> Any:
    flat = rows.reshape(-1, count)
    items = [Dual(each.value, tuple(row)) for each, row in zip(_items(x), flat, strict=False)]
    return SmallArray(x.shape, items) if isinstance(x, SmallArray) else items[0]


put, add_to = RowFunction("put", _put), RowFunction("add_to", _add_to)
put_changes, add_changes = RowFunction("put_changes", _put_changes), RowFunction("add_changes", _add_changes)
of_one = RowFunction("of_one", _of_one)
V3, V4, V6, M3, M43, M6 = reader(3), reader(4), reader(6), reader(3, 3), reader(4, 3), reader(6, 6)

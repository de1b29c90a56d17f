"""Components of vectors, quaternions and matrices with any leading axes; Python numbers of single vectors."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats

SCALARS = frozenset((float, complex))
# Up to so many vectors are computed faster one by one in Python numbers than together by numpy.
FEW = 12

Formula: TypeAlias = Callable[..., Sequence[Any]]
"""From the components of vectors, in Python numbers or in arrays, to those of a result."""
Operand: TypeAlias = tuple[ArrayLike, int, str]
"""Vectors (..., n), n, and what they are."""


Result = TypeVar("Result")

# Results of a function that are kept, and the shapes of its arguments by the number of bytes.
KEPT = 512
SHAPES = {16: (2,), 24: (3,), 32: (4,), 72: (3, 3), 128: (4, 4)}


def kept(function: Callable[..., Result]) -> Callable[..., Result]:
    """A pure function of float arrays of these shapes, numbers and None, that keeps its last results.

    A model has many parts alike, and the next model of a sweep has the same ones. The arrays that the function takes
    and gives are read-only.
    """

    @lru_cache(KEPT)
    def of_bytes(*keys: Any) -> Result:
        return function(*[
            np.frombuffer(key).reshape(SHAPES[len(key)]) if type(key) is bytes else key for key in keys
        ])  # fmt: skip

    @wraps(function)
    def found(*values: Any) -> Result:
        return of_bytes(*[value.tobytes() if type(value) is np.ndarray else value for value in values])

    return found


def as_components(x: ArrayLike, count: int, what: str) -> Floats:
    """``x`` as a float (or complex) array whose last axis has ``count`` entries. Raises ModelError."""
    array = np.asarray(x)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != count:
        raise ModelError.at((), f"{what} has shape {array.shape}; it must end in {count} components, (..., {count}).")
    return array


def entries_of(x: Floats) -> Sequence[Any]:
    """The components (...) of (..., n); Python numbers of one vector (n,), for which numpy's calls take longer."""
    if x.ndim == 1 and x.dtype.char in "dD":
        entries: list[Any] = x.tolist()
        return entries
    return tuple(x[..., k] for k in range(x.shape[-1]))


def components(x: ArrayLike, count: int, what: str) -> Sequence[Any]:
    """The ``count`` components (...) of (..., count), as in ``entries_of``. Raises ModelError."""
    if type(x) is np.ndarray and x.shape == (count,) and x.dtype.char == "d":
        entries: list[Any] = x.tolist()
        return entries
    return entries_of(as_components(x, count, what))


def rows_of(R: Floats) -> tuple[Floats, ...]:
    """The rows (..., n) of (..., m, n)."""
    return tuple(R[..., k, :] for k in range(R.shape[-2]))


def stacked(*entries: Any) -> Floats:
    """(..., n) of components (...), broadcast: np.stack, but faster for few numbers."""
    if SCALARS.issuperset(map(type, entries)):
        return np.array(entries)
    first = entries[0]
    if all(
        type(entry) is np.ndarray and entry.shape == first.shape and entry.dtype == first.dtype for entry in entries
    ):
        out = np.empty((*first.shape, len(entries)), dtype=first.dtype)
    else:
        out = np.empty((*np.broadcast_shapes(*map(np.shape, entries)), len(entries)), dtype=np.result_type(*entries))
    for k, entry in enumerate(entries):
        out[..., k] = entry
    return out


def evaluated(formula: Formula, *operands: Operand) -> Floats:
    """The results (..., m) of a formula, broadcast over the leading axes of its operands. Raises ModelError."""
    # the most frequent case, without calls of other functions
    single = [x.tolist() for x, n, _ in operands if type(x) is np.ndarray and x.shape == (n,) and x.dtype.char == "d"]
    if len(single) == len(operands):
        return np.array(formula(*single))
    if all(_numbers(x) and x.shape[-1:] == (count,) for x, count, _ in operands):  # type: ignore[union-attr]
        leads = {x.shape[:-1] for x, _, _ in operands}  # type: ignore[union-attr]
        lead = leads.pop() if len(leads) == 1 else np.broadcast(*map(np.empty, leads)).shape
        if 0 < math.prod(lead) <= FEW:
            vectors = [_vectors(x, (*lead, count)) for x, count, _ in operands]
            return np.array([formula(*each) for each in zip(*vectors, strict=True)]).reshape(*lead, -1)
    return stacked(*formula(*[components(*operand) for operand in operands]))


def _vectors(x: Any, shape: tuple[int, ...]) -> Sequence[Any]:
    """Vectors, broadcast to a shape (..., n), one by one in Python numbers."""
    if x.shape != shape:
        full = np.empty(shape)
        full[...] = x
        x = full
    vectors: Sequence[Any] = x.reshape(-1, shape[-1]).tolist()
    return vectors


def _numbers(x: ArrayLike) -> bool:
    return type(x) is np.ndarray and x.dtype.char == "d"


def matrix_of(*rows: tuple[Any, ...]) -> Floats:
    """Matrix (..., rows, columns) of rows of entries (...)."""
    entries = stacked(*[entry for row in rows for entry in row])
    return entries.reshape(*entries.shape[:-1], len(rows), len(rows[0]))


def norm(x: Floats) -> float:
    """The length of one vector (n,), for which np.linalg.norm takes several times as long."""
    return math.sqrt(x @ x)


def length_of(x: Floats) -> Floats:
    """Length of 3-vectors; hypot avoids the underflow of squares."""
    return np.hypot(np.hypot(x[..., 0], x[..., 1]), x[..., 2])

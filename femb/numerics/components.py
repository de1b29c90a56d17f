"""Components of vectors, quaternions and matrices with any leading axes; Python numbers of single vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats

SCALARS = frozenset((float, complex))


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
    """The ``count`` components (...) of (..., count), as of ``entries_of``. Raises ModelError."""
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
    out = np.empty((*np.broadcast_shapes(*map(np.shape, entries)), len(entries)), dtype=np.result_type(*entries))
    for k, entry in enumerate(entries):
        out[..., k] = entry
    return out


def matrix_of(*rows: tuple[Any, ...]) -> Floats:
    """Matrix (..., rows, columns) of rows of entries (...)."""
    entries = stacked(*[entry for row in rows for entry in row])
    return entries.reshape(*entries.shape[:-1], len(rows), len(rows[0]))


def length_of(x: Floats) -> Floats:
    """Length of 3-vectors; hypot avoids the underflow of squares."""
    return np.hypot(np.hypot(x[..., 0], x[..., 1]), x[..., 2])

"""The arrays of a page: rounded to steps, as differences along time, compressed.

The bytes of all arrays follow each other, are compressed together (zlib) and written in base64; an array is described
by where it begins. arrays.js reverses `Packing.add`.
"""

import base64
import zlib
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints

COARSE, FINE = 15, 22
"""Bits of the largest magnitude: of positions that are seen, and of histories, which are also seen enlarged."""
MISSING = -(2**31)  # stands for a value that is not finite
LEVEL = 6  # of the compression
SAMPLE = 4000  # rows

Reference = dict[str, Any]
"""An array in the data of a page: ``at``, first byte; ``shape``; ``bytes`` of an integer; ``step``, value of 1;
``differences``, how often to sum along the first axis."""


class Packing:
    """Collects arrays. Rounding changes no value by more than half a step, 2^-bits of the largest magnitude."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: Floats | Ints, bits: int = COARSE) -> Reference:
        """The description of an array (t, ...); integers are kept as they are."""
        array = np.asarray(values)
        if array.dtype.kind in "iub":
            step, whole = 1.0, array.astype(np.int64)
        else:
            finite = np.isfinite(array)
            largest = float(np.max(np.abs(array), where=finite, initial=0.0))
            step = largest / 2.0**bits or 1.0
            whole = np.where(finite, np.rint(np.where(finite, array, 0.0) / step), MISSING).astype(np.int64)
        wide = 2 if np.max(np.abs(whole), initial=0) < 2**15 else 4
        # differences that make the first rows smallest
        sizes, rows = [], whole[:SAMPLE]
        for _ in range(3 if len(whole) > 2 else 1):
            sizes.append(len(zlib.compress(_planes(rows, wide), 1)))
            rows = np.diff(rows, axis=0, prepend=0)
        times = int(np.argmin(sizes))
        for _ in range(times):
            whole = np.diff(whole, axis=0, prepend=0)
        best = _planes(whole, wide)
        reference = {"at": self._size, "shape": list(array.shape), "bytes": wide, "step": step, "differences": times}
        self._parts.append(best)
        self._size += len(best)
        return reference

    def text(self) -> str:
        """All bytes, compressed, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), LEVEL)).decode("ascii")


def _planes(whole: Ints, wide: int) -> bytes:
    """Integers as bytes in the order of their places, all lowest bytes first; of (t, c) column by column."""
    count = len(whole)
    columns = whole.reshape(count, whole.size // count).T if count else whole
    low = columns.astype(f"<i{wide}")  # sums are modulo 2^(8 wide)
    return np.ascontiguousarray(low.reshape(-1).view(np.uint8).reshape(-1, wide).T).tobytes()

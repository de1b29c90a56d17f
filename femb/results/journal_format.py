"""The layout of journals: records with checksums, and arrays in them; see `femb.results.journal`."""

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

MAGIC = b"femb journal 1\n"
RECORD = struct.Struct("<4sQI")
COUNT = struct.Struct("<Q")
STATUS_ROOM = 4096
# Booleans, integers, floating-point and complex numbers, text.
KINDS = "biufcU"

Row = tuple[str, str, tuple[int, ...]]


def to_json(value: Any) -> bytes:
    return json.dumps(value, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Types that JSON does not know: numbers and arrays of numpy, and mappings other than dictionaries."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written to a result file")


def packed(arrays: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    rows, contents = [], []
    for name, value in arrays.items():
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name}: an array of kind {array.dtype} cannot be written to a result file")
        rows.append((name, array.dtype.str, array.shape))
        contents.append(array.tobytes())
    head = to_json({**about, "arrays": rows})
    return b"".join([COUNT.pack(len(head)), head, *contents])


def unpacked(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    (length,) = COUNT.unpack_from(content)
    about = json.loads(content[COUNT.size : COUNT.size + length])
    return arrays_of([row_of(entry) for entry in about["arrays"]], content, COUNT.size + length), about


def row_of(entry: Any) -> Row:
    """Name, type and shape of an array from JSON. Raises ValueError for types that are not stored."""
    name, dtype, shape = entry
    if np.dtype(dtype).kind not in KINDS or any(size < 0 for size in shape):
        raise ValueError(f"{name}: kind {dtype}, shape {shape}")
    return str(name), str(dtype), tuple(map(int, shape))


def byte_count(dtype: str, shape: tuple[int, ...]) -> int:
    return np.dtype(dtype).itemsize * math.prod(shape)


def arrays_of(rows: list[Row], content: bytes, offset: int) -> dict[str, np.ndarray]:
    result = {}
    for name, dtype, shape in rows:
        length = byte_count(dtype, shape)
        part = content[offset : offset + length]
        result[name] = np.frombuffer(part, dtype).reshape(shape)
        offset += length
    return result

"""The reader of a journal, `femb.results.storage.file`."""

import json
import math
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.results.storage.hdf5 import OpenFile

# The layout of journals: records with checksums, and arrays in them; see `femb.results.storage.file`.

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


# Files with a single writer: locked during writing, and renamed when complete.

# s; a reader that checks for a writer holds the lock for some microseconds.
LOCK_PATIENCE = 0.25


def is_locked(file: OpenFile | int) -> bool:
    """Whether a process is writing to the file now."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def remove_drafts(path: Path) -> None:
    """Remove drafts of ``path``, named .NAME.PROCESS.RANDOM, that processes left when they were killed."""
    for draft in path.parent.glob(f".{escape(path.name)}.*.*"):
        process = draft.name.split(".")[-2]
        if not process.isdecimal() or _is_running(int(process)):
            continue
        try:
            with draft.open("rb") as file:
                locked = is_locked(file.fileno())
            if not locked:
                draft.unlink()
        except OSError:
            pass  # of another user, or removed meanwhile


def _is_running(process: int) -> bool:
    """Whether there is a process of that number on this machine; True where this cannot be asked."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def put_in_place(draft: Path, path: Path) -> None:
    """Rename a file to ``path``. A file of that name left by a killed run gets the suffix ``.old``; one that another
    process has locked stays: BlockingIOError."""
    limit = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            _rename(draft, path)
            return
        except FileExistsError:
            existing = os.open(path, os.O_RDWR)
            try:
                lock(existing, limit)
                if is_at(existing, path):
                    path.replace(path.with_name(path.name + ".old"))
            finally:
                os.close(existing)


def _rename(draft: Path, path: Path) -> None:
    """Rename a file, or raise FileExistsError if the new name exists."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        if path.exists():
            raise FileExistsError(path) from None
        draft.rename(path)


def lock(file: int, limit: float) -> None:
    """Lock a file for writing; the end of the process, in whatever way, unlocks it."""
    try:
        import fcntl
    except ImportError:
        return
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.01)


def is_at(file: int, path: Path) -> bool:
    """Whether an open file has the name ``path``."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


class JournalReader:
    """The complete records of a journal at the time of opening, of a run that continues or has ended.

    status, message, statistics, attributes, static : as in `Results`. frames : number of output times.
    checkpoint : the last one, empty if there is none; kept : number of output times before it.
    dropped : bytes after the last complete record. live : whether the run continues.
    Raises ResultError where the beginning cannot be read.
    """

    def __init__(self, file: OpenFile, name: str) -> None:
        self._file, self._name = file, name
        self.live = is_locked(file)
        self.status, self.message, self.statistics = "running", "", dict[str, Any]()
        self.attributes: dict[str, dict[str, Any]] = {}
        self.static: dict[str, np.ndarray] = {}
        self.form: list[Row] = []
        self.frames = self.kept = 0
        self._checkpoint = b""
        self._rows: list[tuple[int, int]] = []
        size = os.fstat(file.fileno()).st_size
        if not is_journal(file):
            raise ResultError(f"{name}: cannot be read: not a journal of femb")
        end, headed = len(MAGIC), False
        try:
            while (record := self._record(end, size)) is not None:
                kind, content = record
                self._take(kind, content, end + RECORD.size)
                headed |= kind == b"HEAD"
                end += RECORD.size + len(content)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ResultError(f"{name}: cannot be read: damaged at byte {end} ({error})") from error
        if not headed:
            raise ResultError(f"{name}: cannot be read: damaged or cut off at byte {end}, before the first output time")
        self.dropped = size - end

    @property
    def checkpoint(self) -> dict[str, np.ndarray]:
        """The arrays of the last checkpoint."""
        return unpacked(self._checkpoint)[0] if self._checkpoint else {}

    def blocks(self, frames: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """The output times in order, in blocks as they were written; only the first ``frames`` if given."""
        left = self.frames if frames is None else frames
        for offset, length in self._rows:
            if left <= 0:
                return
            self._file.seek(offset)
            block = self._block(self._file.read(length))
            yield {name: array[:left] for name, array in block.items()}
            left -= len(block["time"])

    def _record(self, offset: int, size: int) -> tuple[bytes, bytes] | None:
        """Kind and content of the record at an offset; None without a complete one."""
        self._file.seek(offset)
        head = self._file.read(RECORD.size)
        if len(head) < RECORD.size:
            return None
        kind, length, checksum = RECORD.unpack(head)
        if length > size - offset - RECORD.size:
            return None
        content = self._file.read(length)
        if len(content) < length:
            return None
        if zlib.crc32(content) != checksum:
            # STAT may be read while it is overwritten.
            return (kind, b"{}") if kind == b"STAT" and length == STATUS_ROOM else None
        return kind, content

    def _take(self, kind: bytes, content: bytes, offset: int) -> None:
        if kind == b"STAT":
            status = json.loads(content)
            self.status, self.message = str(status.get("status", "running")), str(status.get("message", ""))
            self.statistics = dict(status.get("statistics", {}))
        elif kind in (b"HEAD", b"MORE"):
            arrays, about = unpacked(content)
            self.static |= arrays
            self.attributes |= about.get("attributes", {})
        elif kind == b"FORM":
            self.form = [row_of(entry) for entry in json.loads(content)]
        elif kind == b"ROWS":
            (count,) = COUNT.unpack_from(content)
            wanted = COUNT.size + sum(byte_count(dtype, (count, *shape)) for _, dtype, shape in self.form)
            if wanted != len(content):
                raise ValueError(f"{len(content)} bytes of output times, expected {wanted}")
            self.frames += count
            self._rows.append((offset, len(content)))
        elif kind == b"KEEP":
            self._checkpoint, self.kept = content, self.frames
        else:
            raise ValueError(f"a record of unknown kind {kind!r}")

    def _block(self, content: bytes) -> dict[str, np.ndarray]:
        (count,) = COUNT.unpack_from(content)
        return arrays_of([(name, dtype, (count, *shape)) for name, dtype, shape in self.form], content, COUNT.size)


def is_journal(file: OpenFile) -> bool:
    """Whether a file begins as a journal does."""
    file.seek(0)
    return file.read(len(MAGIC)) == MAGIC

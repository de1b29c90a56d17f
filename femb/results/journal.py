"""Journal: the file of a run that still goes on, in records that are only ever appended.

What a record holds is in the file as soon as `Journal.append` returns, and stays there if the process is killed. A
reader needs no help of the writer: it takes the records up to the first that is not whole. The layout::

    MAGIC, then records: kind (4 bytes), length of the content and its CRC-32, then the content

    STAT   how the run stands: a JSON object in a fixed amount of room, written over in place, so that it can be told
           how a run ended also where no room is left on the disk
    HEAD   attributes, and arrays that do not change with time
    FORM   names, kinds and shapes of the arrays that do
    ROWS   k output times of them
    MORE   arrays that were not known before

Arrays are a JSON list of (name, kind, shape) and their bytes one after the other. A journal is made into an HDF5 file
when the run ends, see `femb.results.file`.
"""

from __future__ import annotations

import json
import os
import struct
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.results.openfile import OpenFile

MAGIC = b"femb journal 1\n"
RECORD = struct.Struct("<4sQI")
COUNT = struct.Struct("<Q")
STATUS_ROOM = 4096
# Booleans, integers, floating-point and complex numbers, text.
KINDS = "biufcU"
# A reader that looks whether a run goes on holds the lock for some microseconds.
LOCK_PATIENCE = 0.25

Row = tuple[str, str, tuple[int, ...]]


class Journal:
    """The writing end: makes the file, locks it, and appends. Raises OSError where that fails, BlockingIOError where
    another process writes to it."""

    def __init__(self, path: Path, attributes: Mapping[str, Mapping[str, Any]], static: Mapping[str, Any]) -> None:
        head = _packed(static, {"attributes": attributes})
        self.path = path
        self._form: list[Row] = []
        # Made under another name, so that whoever finds it at its place finds a beginning that is whole.
        draft = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _lock(self._file, time.monotonic())
            self._size = len(MAGIC)
            self._write(MAGIC, 0)
            self._append(b"STAT", b" " * STATUS_ROOM)
            self.stand("running", "", {})
            self._append(b"HEAD", head)
            _put(draft, path)
        except BaseException:
            os.close(self._file)
            raise
        finally:
            draft.unlink(missing_ok=True)

    def append(self, block: Mapping[str, np.ndarray]) -> None:
        """Add k output times; the file is as before where that fails."""
        if not self._form:
            form = [(name, array.dtype.str, array.shape[1:]) for name, array in block.items()]
            self._append(b"FORM", json.dumps(form).encode())
            self._form = form
        rows = [np.ascontiguousarray(block[name], dtype).tobytes() for name, dtype, _ in self._form]
        self._append(b"ROWS", b"".join([COUNT.pack(len(block["time"])), *rows]))

    def more(self, arrays: Mapping[str, Any]) -> None:
        """Add arrays that do not change with time."""
        self._append(b"MORE", _packed(arrays, {}))

    def stand(self, status: str, message: str, statistics: Mapping[str, Any]) -> None:
        """Write how the run stands over what was there; that needs no more room on the disk."""
        for words in (message, message[:500]):
            text = _json({"status": status, "message": words, "statistics": statistics})
            if len(text) <= STATUS_ROOM:
                break
        else:
            text = _json({"status": status, "message": message[:500], "statistics": {}})
        text = text.ljust(STATUS_ROOM)
        self._write(RECORD.pack(b"STAT", len(text), zlib.crc32(text)) + text, len(MAGIC))

    def close(self, discard: bool = False) -> None:
        """Let go of the file, and of its name where ``discard`` is set and the name is still its own."""
        if self._file < 0:
            return
        if discard and _is_at(self._file, self.path):
            self.path.unlink()
        os.close(self._file)
        self._file = -1

    def _append(self, kind: bytes, content: bytes) -> None:
        record = RECORD.pack(kind, len(content), zlib.crc32(content)) + content
        try:
            self._write(record, self._size)
        except BaseException:
            # A record that is there in part would hide what comes after it.
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(record)

    def _write(self, data: bytes, place: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file, view, place)
            view, place = view[written:], place + written


class JournalReader:
    """The reading end: what is there in full when it is opened, whether the run goes on or not.

    status, message, statistics, attributes, static : as in `Results`. frames : how many output times there are.
    dropped : bytes behind the last whole record. live : whether the run goes on.
    Raises ResultError where the beginning cannot be read.
    """

    def __init__(self, file: OpenFile, name: str) -> None:
        self._file, self._name = file, name
        self.live = is_locked(file)
        self.status, self.message, self.statistics = "running", "", dict[str, Any]()
        self.attributes: dict[str, dict[str, Any]] = {}
        self.static: dict[str, np.ndarray] = {}
        self.form: list[Row] = []
        self.frames = 0
        self._rows: list[tuple[int, int]] = []
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
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

    def blocks(self) -> Iterator[dict[str, np.ndarray]]:
        """The output times in order, in blocks as they were written."""
        for place, length in self._rows:
            self._file.seek(place)
            yield self._block(self._file.read(length))

    def _record(self, place: int, size: int) -> tuple[bytes, bytes] | None:
        """Kind and content of the record at a place; None where there is no whole one."""
        self._file.seek(place)
        head = self._file.read(RECORD.size)
        if len(head) < RECORD.size:
            return None
        kind, length, checksum = RECORD.unpack(head)
        if length > size - place - RECORD.size:
            return None
        content = self._file.read(length)
        if len(content) < length:
            return None
        if zlib.crc32(content) != checksum:
            # The one record that is written over may be read in between.
            return (kind, b"{}") if kind == b"STAT" and length == STATUS_ROOM else None
        return kind, content

    def _take(self, kind: bytes, content: bytes, place: int) -> None:
        if kind == b"STAT":
            stand = json.loads(content)
            self.status, self.message = str(stand.get("status", "running")), str(stand.get("message", ""))
            self.statistics = dict(stand.get("statistics", {}))
        elif kind in (b"HEAD", b"MORE"):
            arrays, about = _unpacked(content)
            self.static |= arrays
            self.attributes |= about.get("attributes", {})
        elif kind == b"FORM":
            self.form = [_row(each) for each in json.loads(content)]
        elif kind == b"ROWS":
            (count,) = COUNT.unpack_from(content)
            wanted = COUNT.size + sum(_bytes(dtype, (count, *shape)) for _, dtype, shape in self.form)
            if wanted != len(content):
                raise ValueError(f"{len(content)} bytes of output times, expected {wanted}")
            self.frames += count
            self._rows.append((place, len(content)))
        else:
            raise ValueError(f"a record of unknown kind {kind!r}")

    def _block(self, content: bytes) -> dict[str, np.ndarray]:
        (count,) = COUNT.unpack_from(content)
        return _arrays([(name, dtype, (count, *shape)) for name, dtype, shape in self.form], content, COUNT.size)


def is_journal(file: OpenFile) -> bool:
    """Whether a file begins like a journal."""
    file.seek(0)
    return file.read(len(MAGIC)) == MAGIC


def is_locked(file: OpenFile) -> bool:
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


def _put(draft: Path, path: Path) -> None:
    """Give a file the name ``path``. A file of that name that a killed run has left gets the suffix ``.old``; one that
    another process has locked stays: BlockingIOError."""
    limit = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            _rename(draft, path)
            return
        except FileExistsError:
            left = os.open(path, os.O_RDWR)
            try:
                _lock(left, limit)
                if _is_at(left, path):
                    path.replace(path.with_name(path.name + ".old"))
            finally:
                os.close(left)


def _rename(draft: Path, path: Path) -> None:
    """Rename a file where there is none of the new name, else raise FileExistsError."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        if path.exists():
            raise FileExistsError(path) from None
        draft.rename(path)


def _lock(file: int, limit: float) -> None:
    """Lock a file for writing; it is unlocked when the process ends, however that is."""
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


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that has the name ``path``."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _json(value: Any) -> bytes:
    return json.dumps(value, default=_plain).encode()


def _plain(value: Any) -> Any:
    """What JSON has no word for: numbers and arrays of numpy, and mappings that are no dictionaries."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written to a result file")


def _packed(arrays: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    rows, contents = [], []
    for name, each in arrays.items():
        array = np.ascontiguousarray(each).reshape(np.shape(each))
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name}: an array of kind {array.dtype} cannot be written to a result file")
        rows.append((name, array.dtype.str, array.shape))
        contents.append(array.tobytes())
    head = _json({**about, "arrays": rows})
    return b"".join([COUNT.pack(len(head)), head, *contents])


def _unpacked(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    (length,) = COUNT.unpack_from(content)
    about = json.loads(content[COUNT.size : COUNT.size + length])
    return _arrays([_row(each) for each in about["arrays"]], content, COUNT.size + length), about


def _row(each: Any) -> Row:
    name, dtype, shape = each
    if np.dtype(dtype).kind not in KINDS or any(size < 0 for size in shape):
        raise ValueError(f"{name}: kind {dtype}, shape {shape}")
    return str(name), str(dtype), tuple(map(int, shape))


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    total = np.dtype(dtype).itemsize
    for size in shape:
        total *= size
    return total


def _arrays(rows: list[Row], content: bytes, place: int) -> dict[str, np.ndarray]:
    found = {}
    for name, dtype, shape in rows:
        length = _bytes(dtype, shape)
        part = content[place : place + length]
        found[name] = np.frombuffer(part, dtype).reshape(shape)
        place += length
    return found

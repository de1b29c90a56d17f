"""Journal: the file of an unfinished run, a sequence of records that is only appended to.

The data of a record are in the file when `Journal.append` returns, and stay there if the process is killed. A reader
takes the records up to the first incomplete one, independently of the writer. The layout::

    MAGIC, then records: kind (4 bytes), length of the content and its CRC-32, then the content

    STAT   status of the run: a JSON object of fixed length, overwritten in place, so that the end of a run can be
           recorded also on a full disk
    HEAD   attributes, and arrays that do not change with time
    FORM   names, types and shapes of the arrays over time
    ROWS   k output times of them
    KEEP   a checkpoint: the arrays from which the run continues after the output times so far; the last one counts
    MORE   constant arrays that were not known before

Arrays are a JSON list of (name, type, shape), followed by their bytes. At the end of the run a journal is converted to
an HDF5 file, see `femb.results.storage.file`.
"""

import json
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.arrays import NOTHING, Arrays, Attributes, Block
from femb.base.descriptors import is_locked, lock, opened, renamed, write_at
from femb.base.errors import ContinuationError, ResultError
from femb.results.storage.hdf5 import OpenFile

MAGIC = b"femb journal 1\n"
RECORD = struct.Struct("<4sQI")
COUNT = struct.Struct("<Q")
STATUS_ROOM = 4096
# Booleans, integers, floating-point and complex numbers, text.
KINDS = "biufcU"

Row = tuple[str, str, tuple[int, ...]]
"""Name, type and shape of an array."""


class ResultJournal:
    """The writer of a journal: creates the file, locks it, appends.

    blocks, checkpoint : of the part of a run that this one continues; they are in the file before it has its name. A
    file of that name, which a killed run left, gets the suffix ``.old``, unless one of the same run is longer.
    Raises OSError where that fails, BlockingIOError where another process writes to it.
    """

    def __init__(
        self,
        path: Path,
        attributes: Attributes,
        static: Arrays,
        blocks: Iterable[Block] = (),
        checkpoint: Arrays | None = None,
    ) -> None:
        head = _packed(static, {"attributes": attributes})
        self.path = path
        self._form: list[Row] = []
        # A file named ``path`` always has a complete beginning. Who has locked the draft is the only one that begins.
        draft = path.with_name(f".{path.name}.draft")
        self._file = opened(draft, os.O_RDWR | os.O_CREAT)
        try:
            lock(self._file)
            if not self._is_at(draft):
                raise BlockingIOError
            try:
                self._begin(head, blocks, checkpoint)
                if path.exists():
                    with OpenFile(path) as existing:
                        if is_locked(existing.fileno()):
                            raise BlockingIOError
                    if not outruns(old_of(path), path):
                        path.replace(old_of(path))
                self._file = renamed(self._file, draft, path)
            except BaseException:
                draft.unlink()
                raise
        except BaseException:
            os.close(self._file)
            raise

    def _begin(self, head: bytes, blocks: Iterable[Block], checkpoint: Arrays | None) -> None:
        os.ftruncate(self._file, 0)  # the draft of a process that was killed
        self._size = len(MAGIC)
        write_at(self._file, MAGIC, 0)
        self._append(b"STAT", b" " * STATUS_ROOM)
        self.set_status("running", "", {})
        self._append(b"HEAD", head)
        for block in blocks:
            self.append(block)
        if checkpoint is not None:
            self.keep(checkpoint)

    def append(self, block: Block) -> None:
        """Add k output times; a failure leaves the file unchanged."""
        if not self._form:
            form = [(name, array.dtype.str, array.shape[1:]) for name, array in block.items()]
            self._append(b"FORM", json.dumps(form).encode())
            self._form = form
        if odd := {*block} ^ {name for name, *_ in self._form}:
            raise ContinuationError(
                f"{self.path}: the earlier part of the run has other quantities, as {min(odd)}: continue it with the "
                "femb that made it, or carry out the run from its beginning"
            )
        rows = [np.ascontiguousarray(block[name], dtype).ravel().view(np.uint8).data for name, dtype, _ in self._form]
        self._append(b"ROWS", COUNT.pack(len(block["time"])), *rows)

    def keep(self, checkpoint: Arrays) -> None:
        """Add a checkpoint of the run after the output times so far."""
        self._append(b"KEEP", _packed(checkpoint, NOTHING))

    def more(self, arrays: Arrays) -> None:
        """Add arrays that do not change with time."""
        self._append(b"MORE", _packed(arrays, NOTHING))

    def set_status(self, status: str, message: str, statistics: Mapping[str, Any]) -> None:
        """Overwrite the status of the run; that needs no further disk space."""
        for words, numbers in ((message, statistics), (message[:500], statistics), (message[:500], {})):
            text = _to_json({"status": status, "message": words, "statistics": numbers})
            if len(text) <= STATUS_ROOM:
                break
        text = text.ljust(STATUS_ROOM)
        write_at(self._file, RECORD.pack(b"STAT", len(text), zlib.crc32(text)) + text, len(MAGIC))

    def close(self, discard: bool = False) -> None:
        """Close the file; ``discard`` also deletes it, unless another file has its name now."""
        if self._file < 0:
            return
        if discard and self._is_at(self.path):
            self.path.unlink()
        os.close(self._file)
        self._file = -1

    def _is_at(self, path: Path) -> bool:
        """Whether the file has this name."""
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(path))
        except FileNotFoundError:
            return False

    def _append(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Append a record whose content is these parts, one after the other; they are not copied."""
        length, checksum, end = sum(map(len, parts)), 0, self._size
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        try:
            for part in filter(len, (RECORD.pack(kind, length, checksum), *parts)):
                write_at(self._file, part, end)
                end += len(part)
        except BaseException:
            # An incomplete record would hide the following ones.
            os.ftruncate(self._file, self._size)
            raise
        self._size = end


def old_of(journal: Path) -> Path:
    """The file of what a killed run left, while a continuation of it is in the journal."""
    return journal.with_name(journal.name + ".old")


def outruns(first: Path, second: Path) -> bool:
    """Whether a journal is of the same run as the second, and has more output times."""
    try:
        with OpenFile(first) as one, OpenFile(second) as two:
            found, other = JournalReader(one, first), JournalReader(two, second)
    except (ResultError, OSError):
        return False
    about = [
        ({**each.attributes[""], "status": "", "message": ""}, each.attributes.get("run")) for each in (found, other)
    ]
    return found.frames > other.frames and about[0] == about[1]


class JournalReader:
    """The complete records of a journal at the time of opening, of a run that continues or has ended.

    attributes, with the status of the run, and static : as in `Results`. frames : number of output times.
    kept : number of output times before the last checkpoint; record : its content, empty if there is none.
    dropped : bytes after the last complete record. live : whether the run continues.
    Raises ResultError where the beginning cannot be read.
    """

    def __init__(self, file: OpenFile, path: Path) -> None:
        self._file = file
        self.live = is_locked(file.fileno())
        self.attributes: dict[str, dict[str, Any]] = {}
        self.static: dict[str, np.ndarray] = {}
        self.frames = self.kept = 0
        self._status: dict[str, Any] = {}
        self._form: list[Row] = []
        self.record = b""
        self._rows: list[tuple[int, int]] = []
        size = os.fstat(file.fileno()).st_size
        if not is_journal(file):
            raise ResultError(f"{path}: cannot be read: not a journal of femb")
        end, headed = len(MAGIC), False
        try:
            while (record := self._record(end, size)) is not None:
                kind, content = record
                self._take(kind, content, end + RECORD.size)
                headed |= kind == b"HEAD"
                end += RECORD.size + len(content)
            if not headed:
                raise ResultError(
                    f"{path}: cannot be read: damaged or cut off at byte {end}, before the first output time"
                )
            root = self.attributes.setdefault("", {})
            root |= {word: str(self._status.get(word, "")) for word in ("status", "message")}
            root["status"] = root["status"] or "running"
            self.attributes.setdefault("statistics", {}).update(self._status.get("statistics", {}))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ResultError(f"{path}: cannot be read: damaged at byte {end} ({error})") from error
        self.dropped = size - end

    @property
    def names(self) -> list[str]:
        """The paths of the arrays over time."""
        return [name for name, *_ in self._form]

    @property
    def checkpoint(self) -> dict[str, np.ndarray]:
        """The arrays of the last checkpoint."""
        return arrays_of(self.record) if self.record else {}

    def blocks(self, frames: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """The output times in order, in blocks as they were written; only the first ``frames`` if given."""
        left = self.frames if frames is None else frames
        for offset, length in self._rows:
            if left <= 0:
                return
            content = self._file.at(offset, length)
            (count,) = COUNT.unpack_from(content)
            form = [(name, dtype, (count, *shape)) for name, dtype, shape in self._form]
            yield {name: array[:left] for name, array in _arrays(form, content, COUNT.size).items()}
            left -= count

    def _record(self, offset: int, size: int) -> tuple[bytes, bytes] | None:
        """Kind and content of the record at an offset; None without a complete one."""
        head = self._file.at(offset, RECORD.size)
        if len(head) < RECORD.size:
            return None
        kind, length, checksum = RECORD.unpack(head)
        if length > size - offset - RECORD.size:
            return None
        content = self._file.at(offset + RECORD.size, length)
        if len(content) < length:
            return None
        if zlib.crc32(content) != checksum:
            # STAT may be read while it is overwritten.
            return (kind, b"{}") if kind == b"STAT" and length == STATUS_ROOM else None
        return kind, content

    def _take(self, kind: bytes, content: bytes, offset: int) -> None:
        if kind == b"STAT":
            self._status = json.loads(content)
        elif kind in (b"HEAD", b"MORE"):
            arrays, about = _unpacked(content)
            self.static |= arrays
            self.attributes |= {path: dict(values) for path, values in about.get("attributes", {}).items()}
        elif kind == b"FORM":
            self._form = [_row(entry) for entry in json.loads(content)]
        elif kind == b"ROWS":
            (count,) = COUNT.unpack_from(content)
            wanted = COUNT.size + sum(_byte_count(dtype, (count, *shape)) for _, dtype, shape in self._form)
            if wanted != len(content):
                raise ValueError(f"{len(content)} bytes of output times, expected {wanted}")
            self.frames += count
            self._rows.append((offset, len(content)))
        elif kind == b"KEEP":
            self.record, self.kept = content, self.frames
        else:
            raise ValueError(f"a record of unknown kind {kind!r}")


def is_journal(file: OpenFile) -> bool:
    """Whether a file begins as a journal does."""
    return file.at(0, len(MAGIC)) == MAGIC


# Arrays and JSON in a record.


def _to_json(value: Any) -> bytes:
    return json.dumps(value, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Types that JSON does not know: numbers and arrays of numpy, and mappings other than dictionaries."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written to a result file")


def _packed(arrays: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    rows, contents = [], []
    for name, value in arrays.items():
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name}: an array of kind {array.dtype} cannot be written to a result file")
        rows.append((name, array.dtype.str, array.shape))
        contents.append(array.tobytes())
    head = _to_json({**about, "arrays": rows})
    return b"".join([COUNT.pack(len(head)), head, *contents])


def _unpacked(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    (length,) = COUNT.unpack_from(content)
    about = json.loads(content[COUNT.size : COUNT.size + length])
    return _arrays([_row(entry) for entry in about["arrays"]], content, COUNT.size + length), about


def arrays_of(record: bytes) -> dict[str, np.ndarray]:
    """The arrays of a record of a checkpoint."""
    return _unpacked(record)[0]


def _row(entry: Any) -> Row:
    """Name, type and shape of an array from JSON. Raises ValueError for types that are not stored."""
    name, dtype, shape = entry
    if np.dtype(dtype).kind not in KINDS or any(size < 0 for size in shape):
        raise ValueError(f"{name}: kind {dtype}, shape {shape}")
    return str(name), str(dtype), tuple(map(int, shape))


def _byte_count(dtype: str, shape: tuple[int, ...]) -> int:
    return np.dtype(dtype).itemsize * math.prod(shape)


def _arrays(rows: list[Row], content: bytes, offset: int) -> dict[str, np.ndarray]:
    result = {}
    for name, dtype, shape in rows:
        length = _byte_count(dtype, shape)
        part = content[offset : offset + length]
        result[name] = np.frombuffer(part, dtype).reshape(shape)
        offset += length
    return result

"""The reader of a journal, `femb.results.journal`."""

import json
import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.results.journal_format import COUNT, MAGIC, RECORD, STATUS_ROOM, Row, arrays_of, byte_count, row_of, unpacked
from femb.results.locks import is_locked
from femb.results.openfile import OpenFile


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

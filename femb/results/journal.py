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
import time
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.results.journal_format import COUNT, MAGIC, RECORD, STATUS_ROOM, Row, packed, to_json
from femb.results.locks import is_at, lock, put_in_place


class Journal:
    """The writing end, for `femb.results.journal_reader.JournalReader`: makes the file, locks it, and appends.

    Raises OSError where that fails, BlockingIOError where another process writes to it.
    """

    def __init__(self, path: Path, attributes: Mapping[str, Mapping[str, Any]], static: Mapping[str, Any]) -> None:
        head = packed(static, {"attributes": attributes})
        self.path = path
        self._form: list[Row] = []
        # Made under another name, so that whoever finds it at its place finds a beginning that is whole.
        draft = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            lock(self._file, time.monotonic())
            self._size = len(MAGIC)
            self._write(MAGIC, 0)
            self._append(b"STAT", b" " * STATUS_ROOM)
            self.stand("running", "", {})
            self._append(b"HEAD", head)
            put_in_place(draft, path)
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
        self._append(b"MORE", packed(arrays, {}))

    def stand(self, status: str, message: str, statistics: Mapping[str, Any]) -> None:
        """Write how the run stands over what was there; that needs no more room on the disk."""
        for words in (message, message[:500]):
            text = to_json({"status": status, "message": words, "statistics": statistics})
            if len(text) <= STATUS_ROOM:
                break
        else:
            text = to_json({"status": status, "message": message[:500], "statistics": {}})
        text = text.ljust(STATUS_ROOM)
        self._write(RECORD.pack(b"STAT", len(text), zlib.crc32(text)) + text, len(MAGIC))

    def close(self, discard: bool = False) -> None:
        """Let go of the file, and of its name where ``discard`` is set and the name is still its own."""
        if self._file < 0:
            return
        if discard and is_at(self._file, self.path):
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

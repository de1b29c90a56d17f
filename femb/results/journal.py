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
an HDF5 file, see `femb.results.file`.
"""

import json
import os
import time
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.results.earlier import Earlier
from femb.results.journal_format import COUNT, MAGIC, RECORD, STATUS_ROOM, Row, packed, to_json
from femb.results.locks import is_at, lock, put_in_place, remove_drafts
from femb.results.openfile import write_at


class Journal:
    """The writer of a journal, see `femb.results.journal_reader.JournalReader`: creates the file, locks it, appends.

    earlier : the part of a run that this one continues; it is in the file before the file has its name.
    Raises OSError where that fails, BlockingIOError where another process writes to it.
    """

    def __init__(
        self,
        path: Path,
        attributes: Mapping[str, Mapping[str, Any]],
        static: Mapping[str, Any],
        earlier: Earlier | None = None,
    ) -> None:
        head = packed(static, {"attributes": attributes})
        self.path = path
        self._form: list[Row] = []
        remove_drafts(path)
        # Created under another name, so that a file named ``path`` always has a complete beginning.
        draft = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            lock(self._file, time.monotonic())
            self._size = len(MAGIC)
            write_at(self._file, MAGIC, 0)
            self._append(b"STAT", b" " * STATUS_ROOM)
            self.set_status("running", "", {})
            self._append(b"HEAD", head)
            if earlier is not None:
                for block in earlier.blocks():
                    self.append(block)
                self.keep(earlier.checkpoint)
            put_in_place(draft, path)
        except BaseException:
            os.close(self._file)
            raise
        finally:
            draft.unlink(missing_ok=True)

    def append(self, block: Mapping[str, np.ndarray]) -> None:
        """Add k output times; a failure leaves the file unchanged."""
        if not self._form:
            form = [(name, array.dtype.str, array.shape[1:]) for name, array in block.items()]
            self._append(b"FORM", json.dumps(form).encode())
            self._form = form
        rows = [np.ascontiguousarray(block[name], dtype).ravel().view(np.uint8).data for name, dtype, _ in self._form]
        self._append(b"ROWS", COUNT.pack(len(block["time"])), *rows)

    def keep(self, checkpoint: Mapping[str, Any]) -> None:
        """Add a checkpoint of the run after the output times so far."""
        self._append(b"KEEP", packed(checkpoint, {}))

    def more(self, arrays: Mapping[str, Any]) -> None:
        """Add arrays that do not change with time."""
        self._append(b"MORE", packed(arrays, {}))

    def set_status(self, status: str, message: str, statistics: Mapping[str, Any]) -> None:
        """Overwrite the status of the run; that needs no further disk space."""
        for words in (message, message[:500]):
            text = to_json({"status": status, "message": words, "statistics": statistics})
            if len(text) <= STATUS_ROOM:
                break
        else:
            text = to_json({"status": status, "message": message[:500], "statistics": {}})
        text = text.ljust(STATUS_ROOM)
        write_at(self._file, RECORD.pack(b"STAT", len(text), zlib.crc32(text)) + text, len(MAGIC))

    def close(self, discard: bool = False) -> None:
        """Close the file; ``discard`` also deletes it, unless another file has its name now."""
        if self._file < 0:
            return
        if discard and is_at(self._file, self.path):
            self.path.unlink()
        os.close(self._file)
        self._file = -1

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

"""Result files: written during a run, valid at every instant.

The HDF5 file has the arrays of `femb.results.groups` at ``/KIND/NAME/QUANTITY``, those of the audit at
``/audit/QUANTITY``, ``/time`` (T,) and attributes, as docs/reference/results.md lists them for users' scripts. A
*block* is a mapping of path to (k, ...) array for k consecutive output times.

During a run its output times are in a journal beside the file, ``results.h5.part``. At the end of the run the journal
is converted to the HDF5 file, which then replaces an earlier one. A run that ends early does not replace finished
results; its own stay in ``results.h5.part``.
"""

import json
import os
import time
import uuid
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np

from femb.base.errors import ContinuationError, ResultError
from femb.results.arrays import CHECKPOINT, NOTHING, Arrays, Attributes, Content, Growing, visible
from femb.results.arrays import Block as Block
from femb.results.storage.hdf5 import ORDERED, OpenFile, write_at
from femb.results.storage.journal import (
    COUNT,
    MAGIC,
    RECORD,
    STATUS_ROOM,
    JournalReader,
    Row,
    is_at,
    is_journal,
    lock,
    packed,
    put_in_place,
    remove_drafts,
    to_json,
)
from femb.results.storage.read import attributes_of, is_finished, lazily, opened, part_of, read_content, reading

# The part of a run up to its last checkpoint, from which the run is continued.
#
# A checkpoint has the state of the integration, of the recorder and of the model after the output times before it, as
# arrays below ``checkpoint/``; see `femb.run.checkpoints`. A journal has the last one as a record, a result file
# as
# constant arrays; `femb.Results` does not show them.

# The number of output times before the checkpoint, in result files.
FRAMES = CHECKPOINT + "frames"
# Output times that are read at a time.
ROWS = 1024


@dataclass(frozen=True)
class Earlier:
    """What a file has of a run: attributes with its status, constant arrays, the checkpoint, and its output times.

    path : of the file. checkpoint : empty where there is none. frames : number of output times before it. blocks : a
    function that yields these in order.
    """

    path: Path
    attributes: Attributes
    static: Arrays
    checkpoint: Arrays
    frames: int
    blocks: Callable[[], Iterator[dict[str, np.ndarray]]]

    @property
    def status(self) -> str:
        """ "running" of a run that was killed, "complete" or "failed"."""
        return str(self.attributes[""]["status"])

    def check_model(self, static: Arrays) -> None:
        """Raise ContinuationError where the constant arrays of a model are not those of this run."""
        for name, array in static.items():
            old = self.static.get(name)
            if old is None or not np.array_equal(old, array, equal_nan=np.asarray(array).dtype.kind in "fc"):
                raise ContinuationError(
                    f"{self.path}: has the run of another model, which cannot be continued: {name} differs"
                )

    def part(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of one part of the checkpoint, such as "stepper", by their paths in it."""
        prefix = f"{CHECKPOINT}{name}/"
        return {path.removeprefix(prefix): array for path, array in self.checkpoint.items() if path.startswith(prefix)}


def unfinished(path: Path) -> Earlier | None:
    """The run that ended before its time, of a result file of this path: its journal, or a file with the status
    "failed"; None where there is none. Raises ResultError where a file is damaged."""
    part = part_of(path)
    for file in (part, path, part.with_name(part.name + ".old")):
        if file.exists():
            earlier = read_earlier(file)
            # a complete journal had no room for its result file
            return earlier if file == part or earlier.status != "complete" else None
    return None


def read_earlier(path: Path) -> Earlier:
    """The run of a result file or a journal. Raises ResultError where it cannot be read."""
    if not path.exists():
        raise ResultError(f"{path}: there is no such result file")
    with reading(path), OpenFile(path) as file:
        if not is_journal(file):
            return _of_results(path)
        journal = JournalReader(file, str(path))
        hidden = {name: array for name, array in journal.static.items() if name.startswith(CHECKPOINT)}
        checkpoint = {**hidden, **journal.checkpoint} if journal.checkpoint else {}

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        with reading(path), OpenFile(path) as file:
            yield from JournalReader(file, str(path)).blocks(journal.kept)

    return Earlier(path, attributes_of(journal), visible(journal.static), checkpoint, journal.kept, blocks)


def _of_results(path: Path) -> Earlier:
    import h5py

    from femb.results.storage.hdf5 import read_array

    content = read_content(path, lazy=True)
    checkpoint: dict[str, np.ndarray] = {}
    with reading(path), h5py.File(path, "r", locking=False) as file:
        if CHECKPOINT in file:
            file[CHECKPOINT].visititems(
                lambda name, item: (
                    checkpoint.update({CHECKPOINT + name: read_array(item)}) if isinstance(item, h5py.Dataset) else None
                )
            )
    frames = int(checkpoint.pop(FRAMES, np.array(0)))

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        with reading(path), h5py.File(path, "r", locking=False) as file:
            for first in range(0, frames, ROWS):
                rows = slice(first, min(first + ROWS, frames))
                block = {name: np.asarray(file[name][rows]) for name in content.series}
                if len(block["time"]) != rows.stop - rows.start:
                    raise ResultError(f"{path}: ends before its checkpoint")
                yield block

    return Earlier(path, content.attributes, content.static, checkpoint, frames, blocks)


# Journal: the file of an unfinished run, a sequence of records that is only appended to.
#
# The data of a record are in the file when `Journal.append` returns, and stay there if the process is killed. A reader
# takes the records up to the first incomplete one, independently of the writer. The layout::
#
#     MAGIC, then records: kind (4 bytes), length of the content and its CRC-32, then the content
#
#     STAT   status of the run: a JSON object of fixed length, overwritten in place, so that the end of a run can be
#            recorded also on a full disk
#     HEAD   attributes, and arrays that do not change with time
#     FORM   names, types and shapes of the arrays over time
#     ROWS   k output times of them
#     KEEP   a checkpoint: the arrays from which the run continues after the output times so far; the last one counts
#     MORE   constant arrays that were not known before
#
# Arrays are a JSON list of (name, type, shape), followed by their bytes. At the end of the run a journal is converted
# to
# an HDF5 file, see `femb.results.storage.file`.


class Journal:
    """The writer of a journal, see `femb.results.storage.journal.JournalReader`: creates the file, locks it, appends.

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


# The results of a file that this process has just written: names and shapes are known without reading it again.

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def written_content(path: Path, attributes: Attributes, static: Shapes, series: Shapes) -> Content:
    """The content of a new file as `femb.results.storage.read.read_content` reads it, in the order of writing."""
    places = _in_file_order([*static, *attributes, *series])

    def in_order(entries: Mapping[str, Any]) -> dict[str, Any]:
        return visible({name: entries[name] for name in places if name in entries})

    stored = {name: {key: _stored(values[key]) for key in sorted(values)} for name, values in attributes.items()}
    return lazily(opened(path), path, in_order(series), in_order(static), in_order(stored))


def _in_file_order(paths: Iterable[str]) -> list[str]:
    """Paths in the order in which a file lists them: by the alphabet, items of a model as they were written."""
    items: dict[str, int] = {}

    def place(path: str) -> tuple[str, int, list[str]]:
        kind, *rest = path.split("/")
        if kind not in ORDERED or not rest:
            return kind, -1, rest
        return kind, items.setdefault(f"{kind}/{rest[0]}", len(items)), rest[1:]

    return sorted(dict.fromkeys(paths), key=place)


def _stored(value: Any) -> Any:
    """An attribute as a file gives it back: lists as arrays."""
    return np.asarray(value) if isinstance(value, list | tuple) else value


class Writer(ABC):
    """The target of a run's results: a file or memory. As a context: an exception that leaves it finishes the results
    with the status "failed"."""

    @abstractmethod
    def append(self, block: Block) -> None:
        """Add k consecutive output times."""

    def keep(self, checkpoint: Arrays) -> None:  # noqa: B027
        """Record a checkpoint of the run after the output times so far, see `femb.results.storage.file`."""

    @abstractmethod
    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record the end of the run, and arrays that were not known before."""

    @abstractmethod
    def content(self) -> Content:
        """What was appended so far."""

    def close(self) -> None:  # noqa: B027
        """Release the target, if there is any to release; nothing can be added after it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                # Report the first error; the results up to there are in the journal.
                with suppress(ResultError):
                    name = type(error).__name__
                    self.finish("failed", f"{name}: {error}" if str(error) else name)
        finally:
            self.close()


class _Checked:
    """Checks that all blocks have the paths and row shapes of the first."""

    def __init__(self) -> None:
        self._shapes: dict[str, tuple[int, ...]] = {}

    def __call__(self, block: Block) -> dict[str, np.ndarray]:
        """The block, as arrays. Raises ResultError."""
        arrays = {path: np.asarray(array) for path, array in block.items()}
        if "time" not in arrays or arrays["time"].ndim != 1:
            raise ResultError("a block of results needs 'time' of shape (k,)")
        frames = arrays["time"].size
        for path, array in arrays.items():
            if array.shape[:1] != (frames,):
                raise ResultError(f"{path}: shape {array.shape} in a block of {frames} output times")
        shapes = {path: array.shape[1:] for path, array in arrays.items()}
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            path = next(p for p in {**shapes, **self._shapes} if shapes.get(p) != self._shapes.get(p))
            raise ResultError(
                f"{path}: one output time has shape {shapes.get(path, 'none')}, "
                f"earlier ones {self._shapes.get(path, 'none')}"
            )
        return arrays


class MemoryWriter(Writer):
    """Keeps the blocks in memory; expected : the likely number of output times."""

    def __init__(self, static: Arrays, attributes: Attributes, expected: int = 0) -> None:
        self._static = {path: np.array(array) for path, array in static.items()}
        self._attributes = _started(attributes)
        self._checked, self._expected = _Checked(), expected
        self._series: dict[str, Growing] = {}

    def append(self, block: Block) -> None:
        """Store a copy of the block."""
        for path, array in self._checked(block).items():
            self._series.setdefault(path, Growing(self._expected)).append(array)

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record the end of the run, and arrays that were not known before."""
        self._static |= more
        self._attributes[""].update(status=status, message=message)
        self._attributes.setdefault("statistics", {}).update(statistics)

    def content(self) -> Content:
        """What was appended so far."""
        series = {path: array.shown() for path, array in self._series.items()}
        return Content(series, self._static, self._attributes)


class ResultWriter(Writer):
    """Writes to a file: appended blocks are in the file even if the process is killed.

    Parameters
    ----------
    path : path of the HDF5 file
        Its folder is created. An existing file stays until `finish` has written the new one.
    static, attributes : as in `femb.Results`
    compression : level of gzip of arrays over time, 1 to 9, or 0 for none
    earlier : the part of a run that this one continues.

    Before `finish`, ``Results.read`` reads the journal, `part_of` the path. Raises ResultError where the file cannot be
    written, or another run writes to it.
    """

    def __init__(
        self,
        path: str | Path,
        static: Arrays,
        attributes: Attributes,
        compression: int = 0,
        earlier: Earlier | None = None,
    ) -> None:
        self.path, self._compression = Path(path), compression
        self.file = part_of(self.path)
        self._checked = _Checked()
        self._written: tuple[Attributes, Shapes, Shapes] | None = None
        with _writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise IsADirectoryError("it is a folder")
            self._journal = Journal(self.file, _started(attributes), static, earlier)

    def append(self, block: Block) -> None:
        """Write k output times."""
        with _writing(self.path):
            self._journal.append(self._checked(block))

    def keep(self, checkpoint: Arrays) -> None:
        """Write a checkpoint."""
        with _writing(self.path):
            self._journal.keep(checkpoint)

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record the end of the run, and arrays that were not known before; write the HDF5 file.

        ``file`` is then the path of the results. Raises ResultError where there is no room for the HDF5 file; all
        blocks and the end of the run stay in the journal.
        """
        from femb.results.storage.hdf5 import write_hdf5

        with _writing(self.path):
            self._journal.set_status(status, message, statistics)
            if more:
                self._journal.more(more)
            draft = self.path.with_name(f".{self.path.name}.draft")
            draft.unlink(missing_ok=True)
            try:
                with OpenFile(self.file) as file:
                    journal = JournalReader(file, str(self.file))
                    kept = journal.checkpoint
                    static = journal.static | kept | ({FRAMES: np.array(journal.kept)} if kept else {})
                    content = attributes_of(journal), static, journal.frames, journal.blocks()
                    series = write_hdf5(draft, *content, compression=self._compression)
                self._written = content[0], {name: np.shape(array) for name, array in static.items()}, series
                if status == "complete" or not is_finished(self.path):
                    draft.replace(self.path)
                    self.file = self.path
                else:
                    draft.replace(self.file)
            finally:
                draft.unlink(missing_ok=True)
        if status == "complete":
            part_of(self.path).with_suffix(".part.old").unlink(missing_ok=True)

    def content(self) -> Content:
        """The results written; arrays of a finished file are read on first use."""
        return read_content(self.file) if self._written is None else written_content(self.file, *self._written)

    def close(self) -> None:
        """Close the journal; the status stays."""
        self._journal.close(discard=self.file == self.path)


def write_content(content: Content, path: str | Path) -> None:
    """Write a new file that `read_content` reads back; it replaces an older one once it is complete."""
    from femb.results.storage.hdf5 import write_hdf5

    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            blocks = [content.series] if content.series else []
            frames = len(content.series["time"]) if content.series else 0
            write_hdf5(draft, _started(content.attributes), content.static, frames, blocks)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _started(attributes: Attributes) -> dict[str, dict[str, Any]]:
    """A copy with at least the root attributes that a reader expects."""
    copy = {path: dict(values) for path, values in attributes.items()}
    copy[""] = {"case": "", "method": "", "status": "running", "message": "", **copy.get("", {})}
    return copy


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of h5py and the system into a ResultError that names the file."""
    try:
        yield
    except BlockingIOError as error:
        raise ResultError(
            f"{path}: another run writes to it now; wait for its end, or write to another file or folder"
        ) from error
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        raise ResultError(
            f"{path}: the result file cannot be written ({reason}). Check the folder's permissions and the free space"
        ) from error

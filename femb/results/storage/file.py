"""Result files: written during a run, valid at every instant.

The HDF5 file has the arrays of `femb.results.groups` at ``/KIND/NAME/QUANTITY``, those of the audit at
``/audit/QUANTITY``, ``/time`` (T,) and attributes, as docs/reference/results.md lists them for users' scripts. A
*block* is a mapping of path to (k, ...) array for k consecutive output times.

During a run its output times are in a journal beside the file, ``results.h5.part``. At the end of the run the journal
is converted to the HDF5 file, which then replaces an earlier one. A run that ends early does not replace finished
results; its own stay in ``results.h5.part``.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np

from femb.base.arrays import NOTHING, Arrays, Attributes, Block, Content, LazyArrays, visible
from femb.base.errors import ResultError
from femb.base.quantity import Group
from femb.results.groups import ArrayAttributes
from femb.results.storage.hdf5 import ORDERED, OpenFile, write_hdf5
from femb.results.storage.journal import JournalReader, ResultJournal, old_of, outruns
from femb.results.storage.read import FRAMES, RECORD, Earlier, is_finished, lazily, opened, part_of, read_content

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

    def take(self, block: dict[str, np.ndarray]) -> None:
        """Add k consecutive output times, and empty the block, so that memory never has all of its arrays twice."""
        self.append(block)
        block.clear()

    def keep(self, checkpoint: Arrays) -> None:  # noqa: B027
        """Record a checkpoint of the run after the output times so far, see `femb.results.storage.file`."""

    @abstractmethod
    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record the end of the run, and arrays that were not known before."""

    @abstractmethod
    def content(self) -> Content:
        """The content that was appended so far."""

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
        frames = arrays["time"].shape
        if {array.shape[:1] for array in arrays.values()} != {frames}:
            path, shape = next((path, array.shape) for path, array in arrays.items() if array.shape[:1] != frames)
            raise ResultError(f"{path}: shape {shape} in a block of {frames[0]} output times")
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
    """Keeps the blocks in memory; those of an array are joined when it is asked for, since of large models few are."""

    def __init__(self, static: Arrays, attributes: Attributes) -> None:
        self._static = {path: np.array(array) for path, array in static.items()}
        self._attributes = _started(attributes)
        self._checked, self._count = _Checked(), 0
        self._blocks: list[dict[str, np.ndarray]] = []

    def append(self, block: Block) -> None:
        """Store a copy of the block."""
        self.take({path: np.array(array) for path, array in block.items()})

    def take(self, block: dict[str, np.ndarray]) -> None:
        """Store the block itself, whose arrays must not change afterwards."""
        self._blocks.append(self._checked(block))
        self._count += len(block["time"])
        block.clear()

    def keep(self, checkpoint: Arrays) -> None:
        """Keep a checkpoint."""
        self._static |= checkpoint

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record the end of the run, and arrays that were not known before."""
        self._static |= more
        self._attributes[""].update(status=status, message=message)
        self._attributes.setdefault("statistics", {}).update(statistics)

    def content(self) -> Content:
        """The content that was appended so far."""
        count = self._count
        shapes = {path: (count, *array.shape[1:]) for each in self._blocks[:1] for path, array in each.items()}
        series = LazyArrays(shapes, lambda path: {path: self._joined(path)[:count]})
        return Content(series, self._static, self._attributes)

    def _joined(self, path: str) -> np.ndarray:
        first, *others = self._blocks
        parts = [first[path], *(each.pop(path) for each in others if path in each)]
        if len(parts) > 1 or not parts[0].flags.c_contiguous:
            first[path] = np.concatenate(parts)
        return first[path]


class ResultWriter(Writer):
    """Writes to a file: appended blocks are in the file even if the process is killed.

    Before `finish`, ``Results.read`` reads the journal, `part_of` the path.

    Parameters:
        path: of the HDF5 file. Its folder is created. An existing file stays until `finish` has written the new one.
        static: as in `femb.Results`.
        attributes: as in `femb.Results`.
        compression: level of gzip of arrays over time, 1 to 9, or 0 for none.
        earlier: the part of a run that this one continues.
        kinds: of groups by path, see `ArrayAttributes`.

    Raises:
        ResultError: the file cannot be written, or another run writes to it.
    """

    def __init__(
        self,
        path: str | Path,
        static: Arrays,
        attributes: Attributes,
        compression: int = 0,
        earlier: Earlier | None = None,
        kinds: Mapping[str, type[Group]] | None = None,
    ) -> None:
        self.path, self._compression, self._kinds = Path(path), compression, kinds
        self.file = part_of(self.path)
        self._checked = _Checked()
        self._written: tuple[Attributes, Shapes, Shapes] | None = None
        with _writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise IsADirectoryError("it is a folder")
            self._earlier = earlier.path if earlier is not None else None
            kept = (earlier.blocks(), earlier.checkpoint) if earlier is not None else ()
            self._journal = ResultJournal(self.file, _started(attributes), static, *kept)

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

        ``file`` is then the path of the results. A continuation that ends early leaves the earlier part of the run
        where that is longer. Raises ResultError where there is no room for the HDF5 file; all blocks and the end of the
        run stay in the journal.
        """
        before, source = self._earlier, self.file
        with _writing(self.path):
            self._journal.set_status(status, message, statistics)
            if more:
                self._journal.more(more)
            draft = self.path.with_name(f".{self.path.name}.draft")
            draft.unlink(missing_ok=True)
            try:
                if status != "complete" and before == self.file and outruns(old_of(before), before):
                    source = old_of(before)
                with OpenFile(source) as file:
                    journal = JournalReader(file, source)
                    journal.attributes[""] |= {"status": status, "message": message}
                    if status != "complete" and before == self.path and _frames(before) > journal.frames:
                        self.file = before
                        return
                    static = journal.static
                    if journal.record:
                        record = np.frombuffer(journal.record, np.uint8)
                        static = static | {RECORD: record, FRAMES: np.array(journal.kept)}
                    content = journal.attributes, static, journal.frames, journal.blocks()
                    about = ArrayAttributes(journal.attributes, (*static, *journal.names), self._kinds)
                    series = write_hdf5(draft, *content, compression=self._compression, about=about)
                self._written = content[0], {name: np.shape(array) for name, array in static.items()}, series
                if status == "complete" or not is_finished(self.path):
                    draft.replace(self.path)
                    self.file = self.path
                else:
                    draft.replace(self.file)
            finally:
                draft.unlink(missing_ok=True)
        if status == "complete" or source != part_of(self.path):
            old_of(part_of(self.path)).unlink(missing_ok=True)

    def content(self) -> Content:
        """The results written; arrays of a finished file are read on first use."""
        return read_content(self.file) if self._written is None else written_content(self.file, *self._written)

    def close(self) -> None:
        """Close the journal; the status stays."""
        self._journal.close(discard=self.file == self.path)


def _frames(path: Path) -> int:
    return len(read_content(path).series["time"])


def write_content(content: Content, path: str | Path) -> None:
    """Write a new file that `read_content` reads back; it replaces an older one once it is complete."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            blocks = [content.series] if content.series else []
            frames = len(content.series["time"]) if content.series else 0
            about = ArrayAttributes(content.attributes, (*content.static, *content.series))
            write_hdf5(draft, _started(content.attributes), content.static, frames, blocks, about=about)
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

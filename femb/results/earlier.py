"""The part of a run up to its last checkpoint, from which the run is continued.

A checkpoint has the state of the integration, of the recorder and of the model after the output times before it, as
arrays below ``checkpoint/``; see `femb.analysis.checkpoints`. A journal has the last one as a record, a result file as
constant arrays; `femb.Results` does not show them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ContinuationError, ResultError
from femb.results.arrays import CHECKPOINT, Arrays, Attributes, visible
from femb.results.journal_reader import JournalReader, is_journal
from femb.results.openfile import OpenFile
from femb.results.read import attributes_of, part_of, read_content, reading

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

    from femb.results.hdf5 import read_array

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

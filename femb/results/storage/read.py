"""Reading and checking of result files, of finished and unfinished runs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.arrays import CHECKPOINT, NOTHING, Arrays, Attributes, Content, LazyArrays, joined, listing, visible
from femb.base.descriptors import is_locked
from femb.base.errors import ContinuationError, ResultError
from femb.base.memory import LAYOUT, layout_of, recall
from femb.base.quantity import selection_note
from femb.base.values import shown
from femb.results.storage.hdf5 import Listing, OpenFile, read_array
from femb.results.storage.journal import JournalReader, arrays_of, is_journal, old_of

STATUSES = ("running", "complete", "failed")
KILLED = "the process ended before the run did"
# Attributes in JSON, and the type of their content.
STRUCTURED = {"shape": dict, "names": list, "attachments": dict}
# The number of output times before the checkpoint, and the journal's record of its arrays, in result files.
FRAMES, RECORD = CHECKPOINT + "frames", CHECKPOINT + "record"
# Output times that are read at a time.
ROWS = 1024


def part_of(path: Path) -> Path:
    """The file of a run that is not finished, or that ended early where finished results exist."""
    if not path.name:
        raise ResultError(
            f"{shown(str(path))}: is a folder, wanted the name of a result file, such as 'out/results.h5'"
        )
    return path.with_name(path.name + ".part")


def is_finished(path: Path) -> bool:
    """Whether a result file exists that only a completed run may replace: any but that of an incomplete run."""
    import h5py

    try:
        if path.is_fifo() or not h5py.is_hdf5(path):
            return False
        with h5py.File(path, "r", locking=False) as content:
            return content.attrs.get("status") not in ("running", "failed", b"running", b"failed")
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return path.exists()


def is_being_written(path: Path) -> bool:
    """Whether a run that will write this file is in progress."""
    with suppress(OSError), OpenFile(part_of(path)) as file:
        return is_journal(file) and is_locked(file.fileno())
    return False


TABLES = ("loads.h5", "modal.h5")  # files beside results, which do not stand for their folder


def find_results(path: Path) -> Path:
    """The result file of a path: the file itself, or of a folder the finished ``results.h5``, or else the file of the
    unfinished or killed run, or else its only results, such as ``sweep.h5`` of a study.

    Raises ResultError: several files, of which one must be named.
    """
    with _naming(path):
        if not path.is_dir():
            return path
        every = sorted(path.glob("*.h5"))
        others = [file for file in every if file.name not in TABLES] or every
    file = path / "results.h5"
    part = part_of(file)
    if part.exists() and not is_finished(file):
        return part
    if file.exists() or not others:
        return file
    if len(others) > 1:
        raise ResultError(f"{path}: has several results: name one of {', '.join(map(str, others))}")
    return others[0]


def opened(path: Path) -> OpenFile:
    """The file of a path, or of its unfinished run. Raises ResultError where there is none."""
    if path.suffix in (".toml", ".py"):
        raise ResultError(
            f"{path}: is a case or a study, wanted results: femb run or femb sweep writes them to out/{path.stem}"
        )
    # A run may end, and rename its file, between the attempts.
    for attempt in (path, part_of(path), path):
        with suppress(FileNotFoundError, NotADirectoryError), _naming(path):
            return OpenFile(attempt)
    study = next((f"; {part.name} beside it is of an interrupted study: the same femb sweep continues it"
                  for part in path.parent.glob("*.part")), "")  # fmt: skip
    raise ResultError(f"{path}: there is no such result file{study}")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn errors of the system, but for a missing file, into a ResultError."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except IsADirectoryError as error:
        raise ResultError(f"{path}: a folder, not result file") from error
    except (OSError, ValueError) as error:  # such as a path that is too long, or has a zero byte
        what = getattr(error, "strerror", None) or error
        raise ResultError(f"{shown(str(path))}: cannot be read as a result file ({what})") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn every error of a damaged file into a ResultError that names it."""
    try:
        yield
    except ResultError as error:
        raise ResultError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    except Exception as error:
        raise ResultError(
            f"{path}: cannot be read as a result file ({error}). It is damaged, cut off or of another kind; "
            "make the results anew, or take those of another run"
        ) from error


def read_content(path: str | Path, lazy: bool = False) -> Content:
    """The content of a result file; of an unfinished one, the complete output times.

    path : the file, or the folder of a run. Without a file of that name, that of an unfinished run, `part_of` the path,
    is read. lazy : read and check arrays on first use. Raises ResultError where the file is missing, damaged, or no
    result file.
    """
    import h5py

    path = find_results(Path(path))
    file = opened(path)
    with reading(path):
        if is_journal(file):
            journal = JournalReader(file, path)
            root = journal.attributes[""]
            if root["status"] == "running" and not journal.live:
                lost = f"; {journal.dropped} damaged bytes at the end are left out" if journal.dropped else ""
                root["message"] = KILLED + lost
            return Content(joined(list(journal.blocks())), visible(journal.static), journal.attributes)
        with h5py.File(file, "r") as content:
            names = Listing(content)
            _check_attributes(names.attributes)
            static = visible(names.static)
            if lazy:
                series, arrays = ({name: each.shape for name, each in of.items()} for of in (names.series, static))
                return lazily(file, path, series, arrays, visible(names.attributes))
            series = {name: read_array(array) for name, array in names.series.items()}
            arrays = {name: read_array(array) for name, array in static.items()}
    # An edited file may have more of some series than of others, or times that were never filled.
    frames = min(map(len, series.values()), default=0)
    if "time" in series:
        with reading(path):
            frames = _check_time(series["time"][:frames], names.attributes)
    for name in series:
        if (rows := names.filled.get(name, frames)) < frames:
            raise ResultError(f"{path}: {name}: ends after {rows} of {frames} output times")
    attributes = {name: values for name, values in visible(names.attributes).items() if values}
    return Content({name: array[:frames] for name, array in series.items()}, arrays, attributes)


TOGETHER = ("audit/", "budget/")


def lazily(
    file: OpenFile,
    path: Path,
    series: Mapping[str, tuple[int, ...]],
    static: Mapping[str, tuple[int, ...]],
    attributes: Attributes,
) -> Content:
    """Results with arrays of known shapes that are read from a file on first use, those of the audit and of budgets,
    which are small, together; groups without attributes are left out."""
    import h5py

    def load(name: str) -> dict[str, np.ndarray]:
        kind = f"{name.partition('/')[0]}/"
        names = [each for each in series if each.startswith(kind)] if kind in TOGETHER and name in series else [name]
        with reading(path), h5py.File(file, "r") as content:
            arrays = {each: read_array(content[each]) for each in names}
            if name == "time":
                _check_time(arrays[name], attributes)
        return arrays

    def read(name: str, rows: slice) -> np.ndarray:
        with reading(path), h5py.File(file, "r") as content:
            return read_array(content[name], rows)

    kept = {name: values for name, values in attributes.items() if values}
    return Content(LazyArrays(series, load, read), LazyArrays(static, load), kept)


def _check_time(time: np.ndarray, attributes: Attributes) -> int:
    """The number of output times. Raises ResultError for a time that is no number, except at the end of a run that
    ended early."""
    written = np.isfinite(time)
    if written.all():
        return len(time)
    k = int(np.argmin(written))
    if attributes.get("", {}).get("status") == "complete" or written[k:].any():
        raise ResultError(f"time: is no number at output time {k}: the file is damaged; make the results anew")
    return k


def _check_attributes(attributes: Attributes) -> None:
    root = attributes[""]
    if "status" not in root:
        raise ResultError("an HDF5 file, but not one of femb's: it has no attribute 'status'")
    if root["status"] not in STATUSES:
        raise ResultError(f"attribute status: got {root['status']!r}, expected one of {', '.join(STATUSES)}")
    for word in ("message", "method", "case"):
        if not isinstance(root.get(word, ""), str):
            raise ResultError(f"attribute {word}: got {root[word]!r}, expected text")
    for name, values in attributes.items():
        for word, kind in STRUCTURED.items():
            if word in values and "/" in name and not isinstance(json.loads(values[word]), kind):
                raise ResultError(f"{name}: attribute {word}: got {values[word]!r}, expected a {kind.__name__}")


# KIND/NAME[NODE]/QUANTITY
OF_NODE = re.compile(r"(?P<item>.+)\[(?P<node>-?\d+)\]/(?P<word>[^/]+)")


def read_array_of(path: str | Path, name: str) -> np.ndarray:
    """See `femb.Results.read_array`."""
    path = find_results(Path(path))
    match = OF_NODE.fullmatch(name)
    whole, node = (f"{match['item']}/{match['word']}", int(match["node"])) if match else (name, None)
    with opened(path) as file:
        if not is_journal(file):
            with reading(path):
                return _one_of_hdf5(file, whole, node, name)
    content = read_content(path)
    arrays = {**content.series, **content.static}
    if whole not in arrays:
        raise _missing(path, name, content.attributes, list(content.series))
    array = arrays[whole]
    return array if node is None else array[_part(whole, array.shape, node, whole in content.series)]


def _one_of_hdf5(file: Any, whole: str, node: int | None, name: str) -> np.ndarray:
    import h5py

    with h5py.File(file, "r") as content:
        dataset = content.get(whole)
        if not isinstance(dataset, h5py.Dataset):
            group = content.get(whole.rpartition("/")[0])
            near = list(group) if isinstance(group, h5py.Group) else list(content)
            raise _missing(None, name, {"": dict(content.attrs)}, near)
        if node is None:
            return read_array(dataset)
        # not of the checked listing, which reads the whole index of chunks: the time of one node is that of its chunks
        return read_array(dataset, _part(whole, dataset.shape, node, dataset.maxshape[:1] == (None,)))


def _missing(path: Path | None, name: str, attributes: Any, known: list[str]) -> ResultError:
    place = f"{path}: " if path is not None else ""
    text = f"no array {name!r}; there are: {listing(dict.fromkeys(known))}{selection_note(attributes)}"
    return ResultError(place + text)


def _part(name: str, shape: tuple[int, ...], node: int, over_time: bool) -> tuple[Any, ...]:
    """The index of a node, in its array over time or constant array."""
    axis = 1 if over_time else 0
    if len(shape) <= axis + 1 or not name.startswith("beams/"):
        raise ResultError(f"{name}: has no nodes, its shape is {shape}: leave out [{node}]")
    count = shape[axis]
    if not -count <= node < count:
        raise ResultError(f"{name}: no number {node}; they are 0 to {count - 1}, or -1 for the last")
    return (slice(None),) * axis + (node,)


# The part of a run up to its last checkpoint, from which the run is continued.
#
# A checkpoint has the state of the integration, of the recorder and of the model after the output times before it, as
# arrays below ``checkpoint/``; see `femb.run.checkpoints`. A journal has the last one as a record, a result file as
# that record in one array, since each array costs HDF5 time and room; `femb.Results` does not show it.


@dataclass(frozen=True)
class Earlier:
    """The content of a run's file: attributes with its status, constant arrays, the checkpoint, and its output times.

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

    def recall(self, owner: object, name: str) -> None:
        """Set the memory of an object to a part of the checkpoint. Raises ContinuationError: its layout is another."""
        arrays = self.part(name)
        if str(arrays.pop(LAYOUT, "")) != layout_of(type(owner)):
            raise self.of_other_layout()
        recall(owner, arrays)

    def of_other_layout(self) -> ContinuationError:
        """The error of a checkpoint that this code does not understand."""
        made = self.attributes.get("", NOTHING).get("femb_version", "of an unknown version")
        node = str(made).partition("+g")[2].partition(".")[0]
        get = f" (git checkout {node})" if node else ""
        return ContinuationError(
            f"{self.path}: has a checkpoint of femb {made}, of another layout than those of this femb: continue it "
            f"with that{get}, or carry out the run from its beginning"
        )

    def part(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of one part of the checkpoint, such as "stepper", by their paths in it."""
        prefix = f"{CHECKPOINT}{name}/"
        return {path.removeprefix(prefix): array for path, array in self.checkpoint.items() if path.startswith(prefix)}


def unfinished(path: Path) -> Earlier | None:
    """The run that ended before its time, of a result file of this path: its journal, or a file with the status
    "failed"; None where there is none. Raises ResultError where a file is damaged."""
    part = part_of(path)
    for file in (part, path, old_of(part)):
        if file.exists():
            earlier = read_earlier(file)
            # a complete journal had no room for its result file
            return earlier if file == part or earlier.status != "complete" else None
    return None


def killed_at(path: Path) -> float | None:
    """The last output time (s) of a run of this result file whose process ended; None where there is none to lose."""
    return None if is_being_written(path) else last_time(part_of(path))


def last_time(path: Path) -> float | None:
    """The last output time (s) of a result file or a journal; None without one."""
    with suppress(ResultError):
        time = read_content(path).series.get("time")
        return float(time[-1]) if time is not None and len(time) else None
    return None


def read_earlier(path: Path) -> Earlier:
    """The run of a result file or a journal. Raises ResultError where it cannot be read."""
    import h5py

    if not path.exists():
        raise ResultError(f"{path}: there is no such result file")
    with reading(path), OpenFile(path) as file:
        if is_journal(file):
            journal = JournalReader(file, path)
            attributes, arrays, frames = journal.attributes, journal.static, journal.kept
            arrays = arrays | journal.checkpoint if journal.checkpoint else visible(arrays)
        else:
            with h5py.File(file, "r") as content:
                names = Listing(content)
                _check_attributes(names.attributes)
                attributes = {name: values for name, values in visible(names.attributes).items() if values}
                arrays = {name: read_array(array) for name, array in names.static.items()}
            if RECORD in arrays:
                arrays |= arrays_of(arrays.pop(RECORD).tobytes())
            frames = int(arrays.pop(FRAMES, np.array(0)))

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        with reading(path), OpenFile(path) as file:
            if is_journal(file):
                yield from JournalReader(file, path).blocks(frames)
                return
            with h5py.File(file, "r") as content:
                for first in range(0, frames, ROWS):
                    rows = slice(first, min(first + ROWS, frames))
                    block = {name: np.asarray(content[name][rows]) for name in names.series}
                    if len(block["time"]) != rows.stop - rows.start:
                        raise ResultError(f"{path}: ends before its checkpoint")
                    yield block

    static = visible(arrays)
    return Earlier(path, attributes, static, {k: v for k, v in arrays.items() if k not in static}, frames, blocks)

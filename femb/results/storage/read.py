"""Reading and checking of result files, of finished and unfinished runs."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Bools
from femb.base.values import shown
from femb.results.arrays import Attributes, Content, LazyArrays, joined, listing, visible
from femb.results.quantity import selection_note
from femb.results.storage.hdf5 import OpenFile
from femb.results.storage.journal import JournalReader, is_journal, is_locked

# The first bytes of HDF5 files.
SIGNATURE = b"\x89HDF\r\n\x1a\n"
STATUSES = ("running", "complete", "failed")
KILLED = "the process ended before the run did"
# Attributes in JSON, and the type of their content.
STRUCTURED = {"shape": dict, "names": list, "attachments": dict}


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
        with path.open("rb") as file:
            if file.read(len(SIGNATURE)) != SIGNATURE:
                return False
        with h5py.File(path, "r", locking=False) as content:
            return content.attrs.get("status") not in ("running", "failed", b"running", b"failed")
    except FileNotFoundError:
        return False
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return True


def is_being_written(path: Path) -> bool:
    """Whether a run that will write this file is in progress."""
    try:
        with OpenFile(part_of(path)) as file:
            return is_journal(file) and is_locked(file)
    except OSError:
        return False


def read_content(path: str | Path, lazy: bool = False) -> Content:
    """The content of a result file; of an unfinished one, the complete output times.

    Without a file of that name, that of an unfinished run, `part_of` the path, is read. lazy : read and check arrays
    on first use. Raises ResultError where the file is missing, damaged, or no result file.
    """
    path = Path(path)
    file = opened(path)
    with reading(path):
        if is_journal(file):
            return _of_journal(file, path)
        if lazy:
            return _listed(file, path)
        with file:
            return _of_hdf5(file, path)


def find_results(path: Path) -> Path:
    """The result file of a path: the file itself, or of a folder the finished ``results.h5``, or else the file of the
    unfinished or killed run."""
    try:
        folder = path.is_dir()
    except (OSError, ValueError) as error:  # such as a name that is too long, or has a zero byte
        what = getattr(error, "strerror", None) or error
        raise ResultError(f"{shown(str(path))}: cannot be read as a result file ({what})") from error
    if not folder:
        return path
    file = path / "results.h5"
    part = part_of(file)
    return part if part.exists() and not is_finished(file) else file


def attributes_of(journal: JournalReader) -> dict[str, dict[str, Any]]:
    """The attributes of a journal, with the status of its run."""
    attributes = {path: dict(values) for path, values in journal.attributes.items()}
    attributes.setdefault("", {}).update(status=journal.status, message=journal.message)
    attributes.setdefault("statistics", {}).update(journal.statistics)
    return attributes


def _of_journal(file: OpenFile, path: Path) -> Content:
    journal = JournalReader(file, str(path))
    attributes = attributes_of(journal)
    if journal.status == "running" and not journal.live:
        lost = f"; {journal.dropped} damaged bytes at the end are left out" if journal.dropped else ""
        attributes[""]["message"] = KILLED + lost
    return Content(joined(list(journal.blocks())), visible(journal.static), attributes)


def _of_hdf5(file: OpenFile, path: Path) -> Content:
    import h5py

    from femb.results.storage.hdf5 import Listing, read_array

    with h5py.File(file, "r") as content:
        names = Listing(content)
        _check_attributes(names.attributes, path)
        series = {name: read_array(content[name]) for name in names.series}
        static = {name: read_array(content[name]) for name in visible(dict.fromkeys(names.static))}
    # A truncated or edited file may have more of some series than of others.
    frames = min((len(array) for array in series.values()), default=0)
    written = np.isfinite(series["time"][:frames]) if "time" in series else np.ones(frames, bool)
    if not written.all():
        _check_unwritten(written, names.attributes.get("", {}).get("status"))
        frames = int(np.argmin(written))
    for name in names.series:
        rows = names.filled.get(name, frames)
        if rows < frames:
            raise ResultError(f"{name}: ends after {rows} of {frames} output times")
    attributes = {name: values for name, values in visible(names.attributes).items() if values}
    return Content({name: array[:frames] for name, array in series.items()}, static, attributes)


def _check_unwritten(written: Bools, status: Any) -> None:
    """Raise ResultError for a time that is no number, except at the end of a run that ended early."""
    k = int(np.argmin(written))
    if status == "complete" or written[k:].any():
        raise ResultError(f"time: is no number at output time {k}: the file is damaged; make the results anew")


def _listed(file: OpenFile, path: Path) -> Content:
    """The results of a file, with arrays read on first use."""
    import h5py

    from femb.results.storage.hdf5 import Listing

    with h5py.File(file, "r") as content:
        names = Listing(content)
        series = {name: content[name].shape for name in names.series}
        static = {name: content[name].shape for name in visible(dict.fromkeys(names.static))}
    return lazily(file, path, series, static, visible(names.attributes))


def lazily(
    file: OpenFile,
    path: Path,
    series: Mapping[str, tuple[int, ...]],
    static: Mapping[str, tuple[int, ...]],
    attributes: Attributes,
) -> Content:
    """Results with arrays of known shapes that are read from a file on first use; groups without attributes are left
    out."""
    import h5py

    from femb.results.storage.hdf5 import read_array

    def load(name: str) -> np.ndarray:
        with reading(path), h5py.File(file, "r") as content:
            array = read_array(content[name])
            if name == "time" and not (written := np.isfinite(array)).all():
                _check_unwritten(written, attributes.get("", {}).get("status"))
            return array

    kept = {name: values for name, values in attributes.items() if values}
    return Content(LazyArrays(series, load), LazyArrays(static, load), kept)


def _check_attributes(attributes: Mapping[str, Mapping[str, Any]], path: Path) -> None:
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


def opened(path: Path) -> OpenFile:
    # A run may end, and rename its file, between the attempts.
    for attempt in (path, part_of(path), path):
        try:
            return OpenFile(attempt)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except IsADirectoryError as error:
            raise ResultError(f"{path}: a folder, not result file") from error
        except (OSError, ValueError) as error:  # such as a path with a zero byte
            what = getattr(error, "strerror", None) or error
            raise ResultError(f"{shown(str(path))}: cannot be read ({what})") from error
    raise ResultError(f"{path}: there is no such result file")


# Reading of one array of a result file, or of one node in it.

# KIND/NAME[NODE]/QUANTITY
OF_NODE = re.compile(r"(?P<item>.+)\[(?P<node>-?\d+)\]/(?P<word>[^/]+)")


def read_array_of(path: str | Path, name: str) -> np.ndarray:
    """See `femb.Results.read_array`."""
    path = Path(path)
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

    from femb.results.storage.hdf5 import check_complete, read_array

    with h5py.File(file, "r") as content:
        dataset = content.get(whole)
        if not isinstance(dataset, h5py.Dataset):
            group = content.get(whole.rpartition("/")[0])
            near = list(group) if isinstance(group, h5py.Group) else list(content)
            raise _missing(None, name, {"": dict(content.attrs)}, near)
        check_complete(dataset, whole)
        if node is None:
            return read_array(dataset)
        return np.asarray(dataset[_part(whole, dataset.shape, node, dataset.maxshape[:1] == (None,))])


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

"""Functions for all exporters: the output times to write, and files that appear when all are complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from femb.base.errors import ResultError
from femb.results.results import Results

Span = tuple[float | None, float | None]


def chosen_times(results: Results, every: int, at: float | None = None, times: Span = (None, None)) -> list[int]:
    """Indices of every ``every``-th output time within ``times`` (s), or of the one that is nearest to ``at`` (s).

    Raises ResultError: no output times, ``every`` below 1, ``at`` beside others or outside of the results.
    """
    if every < 1:
        raise ResultError(f"every is {every}; it must be 1 (all output times) or more")
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to export")
    if at is None:
        return [int(k) for k in np.flatnonzero(between(results, times))[::every]]
    first, last = float(results.time[0]), float(results.time[-1])
    if not first <= at <= last:
        wrong, start, end = results.instants([at, first, last])
        raise ResultError(f"at is {wrong}; the output times are from {start} to {end}")
    if every != 1 or times != (None, None):
        beside = f"every = {every}" if every != 1 else f"times = {times}"
        raise ResultError(f"at is given beside {beside}: give one of them")
    return [int(np.argmin(np.abs(results.time - at)))]


def between(results: Results, times: Span) -> np.ndarray:
    """Mask (T,) of the output times in a span; ResultError if there is none."""
    first, last = times
    time = results.time
    inside = np.ones(time.size, dtype=bool)
    if first is not None:
        inside &= time >= first - 1e-9 * abs(first)
    if last is not None:
        inside &= time <= last + 1e-9 * abs(last)
    if not inside.any() and time.size:
        unit = "" if results.counted else " s"
        span = f"from {time[0]:g} to {time[-1]:g}{unit}"
        raise ResultError(f"no output time from {first} to {last}{unit}: the results go {span}")
    return inside


class Drafts:
    """Files that are written to a temporary folder until all are complete, and then renamed.

    This also works while a viewer has an old file open, and on file systems without locks.
    """

    def __init__(self, draft: Path, folder: Path) -> None:
        self._draft, self._folder = draft, folder
        self._names: list[str] = []

    def new(self, name: str) -> Path:
        """The temporary path of the file that will be ``name`` in the folder."""
        self._names.append(name)
        return self._draft / name

    def finish(self) -> None:
        """Move the files to the folder, in the order of ``new``."""
        for name in self._names:
            (self._draft / name).replace(self._folder / name)


@contextmanager
def writing(folder: Path) -> Iterator[Drafts]:
    """Create the folder, and move the files into it at the end of the context; an error leaves it unchanged.

    Errors of the system and of HDF5 become a ResultError that names the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", suffix=".part", dir=folder) as draft:
            drafts = Drafts(Path(draft), folder)
            yield drafts
            drafts.finish()
    except (OSError, RuntimeError) as error:  # RuntimeError is how HDF5 reports a full disk
        raise ResultError(
            f"{folder}: the files cannot be written there ({error}). Check the folder's permissions and "
            "the free space, or choose another folder"
        ) from error

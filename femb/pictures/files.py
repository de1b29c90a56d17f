"""Functions for all exporters: the output times to write, and files that appear when all are complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from femb.base.errors import ResultError
from femb.results.results import Results


def chosen_times(results: Results, every: int, at: float | None = None) -> list[int]:
    """Indices of every ``every``-th output time, or of the one that is nearest to ``at`` (s).

    Raises ResultError: no output times, ``every`` below 1 or beside ``at``, ``at`` before the first or after the last.
    """
    if every < 1:
        raise ResultError(f"every is {every}; it must be 1 (all output times) or more")
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to export")
    if at is None:
        return list(range(0, results.time.size, every))
    first, last = float(results.time[0]), float(results.time[-1])
    if not first <= at <= last:
        wrong, start, end = results.instants([at, first, last])
        raise ResultError(f"at is {wrong}; the output times are from {start} to {end}")
    if every != 1:
        raise ResultError(f"at is given beside every = {every}: give one of them")
    return [int(np.argmin(np.abs(results.time - at)))]


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

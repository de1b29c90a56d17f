"""What every exporter needs: the output times to write, and files that appear when all are whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from femb.base.errors import ResultError
from femb.results.results import Results


def chosen_times(results: Results, every: int) -> list[int]:
    """Indices of every so many output times; ResultError where that leaves none."""
    if every < 1:
        raise ResultError(f"every is {every}; it must be 1 (all output times) or more")
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to export")
    return list(range(0, results.time.size, every))


class Drafts:
    """Files that are written to a folder of their own, until all of them are whole.

    A viewer that has an old file open, or a file system that cannot lock, is no obstacle: files are renamed.
    """

    def __init__(self, draft: Path, folder: Path) -> None:
        self._draft, self._folder = draft, folder
        self._names: list[str] = []

    def new(self, name: str) -> Path:
        """The path to write a file to that will be ``name`` in the folder."""
        self._names.append(name)
        return self._draft / name

    def finish(self) -> None:
        """Move the files into place, in the order they were begun."""
        for name in self._names:
            (self._draft / name).replace(self._folder / name)


@contextmanager
def writing(folder: Path) -> Iterator[Drafts]:
    """Make the folder, and put files into it when the context is left; left by an error, it stays as it was.

    Raises ResultError, which names the folder, for what the system and HDF5 raise.
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

"""What every exporter needs: the output times to write, and errors of writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from femb.base.errors import ResultError
from femb.results.results import Results


def chosen_times(results: Results, every: int) -> list[int]:
    """Indices of every so many output times; ResultError where that leaves none."""
    if every < 1:
        raise ResultError(f"every is {every}; it must be 1 (all output times) or more")
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to export")
    return list(range(0, results.time.size, every))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Make the folder, and turn what goes wrong in it into a ResultError that names it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError is how HDF5 reports a full disk
        raise ResultError(
            f"{folder}: the files cannot be written there ({error}). Check the folder's permissions and "
            "the free space, or choose another folder"
        ) from error

"""Files that anyone may have written, texts and arrays, .npz, HDF5 and MATLAB's .mat: what is wrong is refused.

The readers of these files raise errors of many kinds where a file is damaged; here every one of them becomes a
ResultError of one line that names the file.
"""

import errno
import os
import select
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.descriptors import opened
from femb.base.errors import FembError, ModelError, Problem, ResultError
from femb.base.types import Floats

DEPTH = 16  # of nested groups
MOST = 4_000_000_000  # bytes of an array
LARGEST_TEXT = 500 * 10**6  # bytes
WAIT = 5.0  # s: longest silence of what writes to a pipe


def content_of(path: str | Path, most: int = LARGEST_TEXT) -> bytes:
    """The content of a file, or what is written to a pipe.

    Raises OSError; also for more than ``most`` bytes, as in a device without an end, and for a pipe to which nothing is
    written for five seconds.
    """
    # without waiting for a writer of a pipe
    with open(opened(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        found = _of_pipe(file.fileno(), most) if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode) else file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"has more than {most // 10**6} MB, or no end")
    return found


def _of_pipe(descriptor: int, most: int) -> bytes:
    found, poll = bytearray(), select.poll()
    poll.register(descriptor, select.POLLIN)
    while len(found) <= most:
        if not poll.poll(1000.0 * WAIT):
            raise OSError(errno.EAGAIN, f"is a pipe to which nothing was written for {WAIT:g} s")
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        found += part
    return bytes(found)


def check_file(path: str | Path, what: str) -> None:
    """Raise ResultError where there is no file to read as ``what``, but nothing, a folder, a pipe or a device."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        found = "there is no such file" if missing else getattr(error, "strerror", None) or str(error)
    else:
        if stat.S_ISREG(mode):
            return
        found = "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device, wanted a file"
    raise ResultError(f"{path}: cannot be read as {what}: {found}")


@contextmanager
def reading_foreign(path: str | Path, what: str) -> Iterator[None]:
    """Raise ResultError in place of all that a reader of ``what``, such as "a mesh", raises for a file, or where there
    is none."""
    check_file(path, what)
    try:
        yield
    except FembError:
        raise
    except (Exception, SystemExit) as error:
        reason = next(iter(str(error).strip().splitlines()), "") if not isinstance(error, SystemExit) else ""
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        shown = reason if len(reason) <= 120 else f"{reason[:117]}..."
        known = isinstance(error, OSError | ValueError) and shown
        raise ResultError(
            f"{path}: cannot be read as {what} ({shown if known else f'{type(error).__name__} {shown}'.strip()}): "
            "it is damaged, or of another kind; write it again"
        ) from error


@contextmanager
def of_file(path: str | Path) -> Iterator[None]:
    """Name the file at ``path`` in all problems of a ModelError that do not; refuse matrices that have no solution."""
    try:
        yield
    except ModelError as error:
        folder = str(Path(path).parent / Path(path).stem)
        named = (each if folder in str(each) else Problem((), f"{path}: {each}") for each in error.problems)
        raise ModelError(*named) from error
    except np.linalg.LinAlgError as error:
        raise ModelError(
            f"{path}: mass and stiffness are not those of a body: their numbers are too large, or a matrix that must "
            f"be positive definite is not ({next(iter(str(error).splitlines()), '')[:80]})"
        ) from error


def read_arrays(path: str | Path, what: str, group: str = "") -> dict[str, Any]:
    """Arrays, numbers and texts of a .npz, .h5 or .mat by name, of one ``group`` of an .h5.

    Sparse matrices of MATLAB are csc_array. Raises ResultError: names the file.
    """
    path = Path(path)
    with reading_foreign(path, what):
        if path.suffix.lower() == ".npz":
            with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
                if not isinstance(file, Mapping):
                    raise ValueError("it is a single array")
                return dict(file)
        if path.suffix.lower() == ".h5" or _is_hdf5(path):
            return _hdf5(path, group)
        from scipy.io import loadmat

        return {name: value for name, value in loadmat(path).items() if not name.startswith("__")}


def numbers_in(path: str | Path, name: str, value: Any) -> Floats:
    """An array of a file as floats. Raises ResultError: texts, complex numbers, and numbers that are not finite."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ResultError(f"{path}: {name}: got {_kind(array)}, wanted real numbers")
    found = array.astype(float)
    if not np.isfinite(found).all():
        raise ResultError(f"{path}: {name}: contains numbers that are not finite")
    return found


def _kind(array: Any) -> str:
    return {"c": "complex numbers", "U": "text", "S": "text", "O": "objects"}.get(array.dtype.kind, str(array.dtype))


def _is_hdf5(path: Path) -> bool:
    """MATLAB's files from version 7.3 on are HDF5."""
    import h5py

    return bool(h5py.is_hdf5(path))


def _hdf5(path: Path, group: str) -> dict[str, Any]:
    """Datasets by their path, and sparse matrices of MATLAB, which are groups; a .mat holds the transposes."""
    import h5py
    from scipy.sparse import csc_array

    arrays: dict[str, Any] = {}
    matlab = path.suffix.lower() == ".mat"

    def take(place: Any, prefix: str, depth: int) -> None:
        for name in place:
            if place.get(name, getlink=True).__class__ is h5py.ExternalLink:
                raise ValueError(f"{prefix}{name} is a link to another file")
            item = place[name]
            if isinstance(item, h5py.Group):
                if matlab and "ir" in item:
                    parts = (item["data"][()], item["ir"][()], item["jc"][()])
                    shape = int(item.attrs["MATLAB_sparse"]), len(parts[2]) - 1
                    arrays[prefix + name] = csc_array(parts, shape=shape)
                elif depth < DEPTH and not matlab:
                    take(item, f"{prefix}{name}/", depth + 1)
            elif isinstance(item, h5py.Dataset):
                if item.size is None or item.size * item.dtype.itemsize > MOST:
                    raise ValueError(f"{prefix}{name} is empty or larger than {MOST / 1e9:g} GB")
                value: Any = item[()]
                if isinstance(value, bytes):
                    value = value.decode()
                arrays[prefix + name] = value.T if matlab else value

    with h5py.File(path, "r", locking=False) as file:
        place = file[group] if group else file
        if not isinstance(place, h5py.Group):
            raise ValueError(f"{group} is no group")
        take(place, "", 0)
    return arrays

"""Files of arrays and names, which linear and modal models are written to: .npz, results files .h5, Matlab's .mat."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import ResultError

Arrays: TypeAlias = Mapping[str, NDArray[np.generic] | float | tuple[str, ...]]
"""What a file holds, by name: arrays, numbers, and lists of names."""


def write_arrays(
    path: str | Path, arrays: Arrays, formats: tuple[str, ...] = (".npz",), *, group: str = "", more: str = ""
) -> Path:
    """Write arrays and names to a file of one of the formats; its path. In a results file they are in the group.

    more : what to try with another suffix. Raises ResultError.
    """
    path = Path(path)
    if path.suffix not in formats:
        wanted = f"one of {', '.join(formats)}" if len(formats) > 1 else formats[0]
        raise ResultError(f"{path}: got the suffix {path.suffix!r}, must be {wanted}{more}")
    path.parent.mkdir(parents=True, exist_ok=True)
    plain: dict[str, Any] = {
        name: np.array(value, dtype=str) if isinstance(value, tuple) else value for name, value in arrays.items()
    }
    if path.suffix == ".npz":
        np.savez(path, **plain)
    elif path.suffix == ".h5":
        from femb.results.results import Results

        Results({}, {f"{group}/{name}": value for name, value in plain.items()}, {"": {"status": "complete"}}).write(
            path
        )
    else:
        from scipy.io import savemat

        # names as a cell array of text each
        cells = {
            name: np.array(value, dtype=object).reshape(-1, 1)
            for name, value in arrays.items()
            if isinstance(value, tuple)
        }
        savemat(path, plain | cells)
    return path


def read_arrays(path: str | Path, arrays: Iterable[str], names: Iterable[str], what: str) -> dict[str, Any]:
    """Arrays and lists of names of a .npz, by name; ``what`` it should hold. Raises ResultError."""
    try:
        with np.load(path) as file:
            found: dict[str, Any] = {name: file[name] for name in arrays}
            return found | {name: tuple(map(str, file[name])) for name in names}
    except (OSError, KeyError, ValueError) as error:
        raise ResultError(f"{path}: cannot be read as a {what} ({error})") from error

"""Files of arrays and names for linear and modal models: .npz, results files .h5, Matlab's .mat."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from femb.base import array_files as foreign
from femb.base.errors import ResultError

Arrays: TypeAlias = Mapping[str, NDArray[np.generic] | float | tuple[str, ...]]
"""The content of a file, by name: arrays, numbers, and lists of names."""


def write_arrays(
    path: str | Path, arrays: Arrays, formats: tuple[str, ...] = (".npz",), *, group: str = "", more: str = ""
) -> Path:
    """Write arrays and names to a file, in a results file to ``group``; returns the path.

    formats : the allowed suffixes. more : advice for another suffix, for the message. Raises ResultError.
    """
    path = Path(path)
    if path.suffix not in formats:
        wanted = f"one of {', '.join(formats)}" if len(formats) > 1 else formats[0]
        raise ResultError(f"{path}: got the suffix {path.suffix!r}, must be {wanted}{more}")
    path.parent.mkdir(parents=True, exist_ok=True)
    stored: dict[str, Any] = {
        name: np.array(value, dtype=str) if isinstance(value, tuple) else value for name, value in arrays.items()
    }
    if path.suffix == ".npz":
        np.savez(path, **stored)
    elif path.suffix == ".h5":
        from femb.results.results import Results

        Results({}, {f"{group}/{name}": value for name, value in stored.items()}, {"": {"status": "complete"}}).write(
            path
        )
    else:
        from scipy.io import savemat

        # each list of names as a cell array of text
        cells = {
            name: np.array(value, dtype=object).reshape(-1, 1)
            for name, value in arrays.items()
            if isinstance(value, tuple)
        }
        savemat(path, stored | cells)
    return path


def read_arrays(
    path: str | Path,
    arrays: Iterable[str],
    names: Iterable[str],
    what: str,
    optional: Iterable[str] = (),
    group: str = "",
    prefix: str = "\0",
) -> dict[str, Any]:
    """Arrays and lists of names of a file of ``write_arrays``, by name; ``what`` : its content, for the message.

    optional : lists and numbers that some files lack, as lists of text, which are empty then. group : of a results
    file. prefix : of the names of other arrays that some files have. Raises ResultError.
    """
    found = foreign.read_arrays(path, f"a {what}", group)
    with foreign.reading_foreign(path, f"a {what}"):
        lists = {name: _texts(found[name]) for name in names}
        lists |= {name: _texts(found.get(name, ())) for name in optional}
        return {name: found[name] for name in (*arrays, *(each for each in found if each.startswith(prefix)))} | lists


def _texts(value: Any) -> tuple[str, ...]:
    """A list of text; an entry of a cell array of Matlab is an array, which is empty for an empty text."""
    entries = (np.ravel(each) if isinstance(each, np.ndarray) else [each] for each in np.ravel(value))
    first = (entry[0] if len(entry) else "" for entry in entries)
    return tuple(each.decode() if isinstance(each, bytes) else str(each) for each in first)


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Arrays and texts of nested mappings and lists of mappings, by path such as hub/mass_matrix, appendages/0/name."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, list):
            found[f"{prefix}{key}/count"] = float(len(value))
            value = {str(k): entry for k, entry in enumerate(value)}
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}/")
        else:
            found[f"{prefix}{key}"] = (value,) if isinstance(value, str) else value
    return found


def nested(arrays: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The nested mappings that ``flat`` made the arrays with a prefix from. Raises KeyError."""
    document: dict[str, Any] = {}
    for path, value in arrays.items():
        if path.startswith(prefix):
            *above, key = path.removeprefix(prefix).split("/")
            place = document
            for word in above:
                place = place.setdefault(word, {})
            place[key] = str(value[0]) if np.asarray(value).dtype.kind in "OSTU" else value
    unlisted: dict[str, Any] = _lists(document)
    return unlisted


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "count" in value:
        return [_lists(value[str(k)]) for k in range(int(value["count"]))]
    return {key: _lists(entry) for key, entry in value.items()}

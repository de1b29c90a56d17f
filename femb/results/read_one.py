"""Reading of one array of a result file, or of one node in it."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.results.arrays import listing
from femb.results.journal_reader import is_journal
from femb.results.quantity import selection_note
from femb.results.read import opened, read_content, reading

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
                return _of_hdf5(file, whole, node, name)
    content = read_content(path)
    arrays = {**content.series, **content.static}
    if whole not in arrays:
        raise _missing(path, name, content.attributes, list(content.series))
    array = arrays[whole]
    return array if node is None else array[_part(whole, array.shape, node, whole in content.series)]


def _of_hdf5(file: Any, whole: str, node: int | None, name: str) -> np.ndarray:
    import h5py

    from femb.results.hdf5 import check_complete, read_array

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

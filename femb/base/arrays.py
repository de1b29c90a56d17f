"""Arrays of results by path: in memory, or read on first use."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

Arrays = Mapping[str, np.ndarray]
Attributes = Mapping[str, Mapping[str, Any]]
Block = Mapping[str, np.ndarray]
"""Arrays of k consecutive output times by path."""
Value = TypeVar("Value")

# The paths of arrays from which a run continues, see femb.results.storage.file; they are no results.
CHECKPOINT = "checkpoint/"

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Content(NamedTuple):
    """The content of results: arrays over time, other arrays, and attributes, by path; as in `femb.Results`."""

    series: Arrays
    static: Arrays
    attributes: Attributes


class ByName(Mapping[str, Value]):
    """A mapping with known names, whose values are found or read when they are asked for."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._names)


class ReadOnly(ByName[Value]):
    """A mapping that cannot be changed, whose names notebooks complete."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._names = self._values = values

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return f"<{listing(self)}>"


class Frozen(ReadOnly[np.ndarray]):
    """Read-only views of arrays, each made when it is asked for; the caller's arrays stay writable."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__({path: np.asarray(array) for path, array in arrays.items()})
        self._views: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = frozen(self._values[name])
        return view

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all arrays by path."""
        return {path: array.shape for path, array in self._values.items()}


class LazyArrays(ByName[np.ndarray]):
    """Arrays that are loaded on first use, maybe with others beside them; their shapes are known before."""

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        load: Callable[[str], Mapping[str, np.ndarray]],
        read: Callable[[str, slice], np.ndarray] | None = None,
    ) -> None:
        self.shapes = dict(shapes)
        super().__init__(self.shapes)
        self._load, self._read = load, read
        self._loaded: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._loaded:
            if name not in self.shapes:
                raise KeyError(name)
            self._loaded |= {each: frozen(array) for each, array in self._load(name).items()}
        return self._loaded[name]

    def rows(self, name: str, rows: slice) -> np.ndarray:
        """Some rows of an array, which are not kept."""
        return self[name][rows] if name in self._loaded or self._read is None else self._read(name, rows)


class Chosen(ByName[np.ndarray]):
    """Some of the arrays, by path."""

    def __init__(self, paths: Collection[str], arrays: Arrays) -> None:
        super().__init__(paths)
        self._arrays = arrays

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._arrays[name]


class Below(ByName[np.ndarray]):
    """The arrays whose paths begin with a prefix, by the remainder of the path."""

    def __init__(self, prefix: str, arrays: Arrays) -> None:
        self._arrays = arrays
        self._paths = {path.removeprefix(prefix): path for path in arrays if path.startswith(prefix)}
        super().__init__(self._paths)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[self._paths[name]]


def parted(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """The arrays of results, and those of a checkpoint."""
    kept = {path: arrays[path] for path in arrays if path.startswith(CHECKPOINT)}
    return visible(arrays) if kept else arrays, kept


def visible(arrays: Mapping[str, Value]) -> dict[str, Value]:
    """The entries of a mapping of paths that are not of a checkpoint."""
    return {path: value for path, value in arrays.items() if not path.startswith(CHECKPOINT)}


def joined(blocks: Sequence[Block]) -> Block:
    """Consecutive blocks as one; without any, no arrays."""
    if len(blocks) == 1:
        return blocks[0]
    return {path: np.concatenate([block[path] for block in blocks]) for path in (blocks[0] if blocks else ())}


def listing(names: Mapping[str, Any], limit: int = 30) -> str:
    """Names for a message: ``'a', 'b', ... (40 in all)``."""
    shown = ", ".join(map(repr, list(names)[:limit])) or "none"
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def frozen(array: Any) -> np.ndarray:
    """A read-only view; the caller's array stays writable."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def rows_of(arrays: Arrays, name: str, rows: slice) -> np.ndarray:
    """Some rows of an array; of one in a file these alone are read."""
    return arrays.rows(name, rows) if isinstance(arrays, LazyArrays) else arrays[name][rows]


def read_only(arrays: Arrays) -> Arrays:
    return arrays if isinstance(arrays, LazyArrays | Frozen) else Frozen(arrays)


def shapes_of(arrays: Arrays) -> Mapping[str, tuple[int, ...]]:
    if isinstance(arrays, LazyArrays | Frozen):
        return arrays.shapes
    return {path: array.shape for path, array in arrays.items()}

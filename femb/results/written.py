"""The results of a file that this process has just written: names and shapes are known without reading it again."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from femb.results.arrays import Attributes, Content, visible
from femb.results.hdf5 import ORDERED
from femb.results.read import lazily, opened

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def written_content(path: Path, attributes: Attributes, static: Shapes, series: Shapes) -> Content:
    """What `femb.results.read.read_content` reads lazily of a new file that has this, in the order of writing."""
    places = _in_file_order([*static, *attributes, *series])

    def in_order(entries: Mapping[str, Any]) -> dict[str, Any]:
        return visible({name: entries[name] for name in places if name in entries})

    stored = {name: {key: _stored(values[key]) for key in sorted(values)} for name, values in attributes.items()}
    return lazily(opened(path), path, in_order(series), in_order(static), in_order(stored))


def _in_file_order(paths: Iterable[str]) -> list[str]:
    """Paths in the order in which a file lists them: by the alphabet, items of a model as they were written."""
    items: dict[str, int] = {}

    def place(path: str) -> tuple[str, int, list[str]]:
        kind, *rest = path.split("/")
        if kind not in ORDERED or not rest:
            return kind, -1, rest
        return kind, items.setdefault(f"{kind}/{rest[0]}", len(items)), rest[1:]

    return sorted(dict.fromkeys(paths), key=place)


def _stored(value: Any) -> Any:
    """An attribute as a file gives it back: lists as arrays."""
    return np.asarray(value) if isinstance(value, list | tuple) else value

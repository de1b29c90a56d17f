"""The registry: the classes of items that a model may contain, of the catalogue and of other packages.

A package adds classes by the entry point ``femb.items``, which names modules or classes, or a script by
``femb.register``. They are items as those of the catalogue: words of case files, the schema, results, pictures, linear
models and studies follow from what the class declares. See docs/howto/add_an_element.md.
"""

import dataclasses
import warnings
from functools import cache
from types import ModuleType
from typing import TypeVar

import femb.elements
from femb.base.errors import FembWarning, ModelError
from femb.base.values import shown
from femb.elements.item import Item

GROUP = "femb.items"
Kind = TypeVar("Kind", bound=type[Item])

_registered: list[type[Item]] = []


def kinds() -> tuple[type[Item], ...]:
    """The classes of all items: those of the catalogue, those of installed packages, and those that were registered."""
    return (*femb.elements.CATALOGUE, *_of_packages(), *_registered)


def of_others(kind: type[Item]) -> bool:
    """Whether a class is of another package or a script, so that another process may not have it."""
    return kind not in femb.elements.CATALOGUE


def register(kind: Kind) -> Kind:
    """Add a class of items for this process, and return it, so that it can decorate the class; again is the same.

    A frozen dataclass derived from ``femb.elements.item.Item``, with ``table`` and ``kind``. Raises ModelError where it
    is none, or where the table has another kind of this word.
    """
    problem = _problem(kind, kinds())
    if problem:
        raise ModelError.at(("register",), problem)
    if kind not in kinds():
        _registered.append(kind)
    return kind


def _problem(kind: object, known: tuple[type[Item], ...]) -> str:
    """Why a class is no item that can be added; empty if it can."""
    if not (isinstance(kind, type) and issubclass(kind, Item) and dataclasses.is_dataclass(kind)):
        return f"got {shown(kind)}, wanted a dataclass derived from femb.elements.item.Item"
    for word in ("table", "kind"):
        value = getattr(kind, word, None)
        if not (isinstance(value, str) and value.isidentifier() and value == value.lower()):
            return f"{kind.__name__}.{word}: got {shown(value)}, wanted a word in small letters, as in a case file"
    for other in known:
        if other is not kind and (other.table, other.kind) == (kind.table, kind.kind):
            return f"{kind.__name__}: the table {kind.table!r} has the kind {kind.kind!r} already, {other.__name__}"
    return ""


@cache
def _of_packages() -> tuple[type[Item], ...]:
    """The classes that installed packages offer; a package that cannot be used is warned of and left out."""
    from importlib.metadata import entry_points

    found: list[type[Item]] = []
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # of another package
            problem = f"{type(error).__name__}: {error}"
        else:
            offered = _items_of(loaded) if isinstance(loaded, ModuleType) else [loaded]
            known = (*femb.elements.CATALOGUE, *found)
            problem = next((text for kind in offered if (text := _problem(kind, known))), "")
            if not problem:
                found += offered
        if problem:
            package = entry.dist.name if entry.dist is not None else "?"
            text = f"items {entry.name!r} of the package {package!r} are left out: {problem}"
            warnings.warn(FembWarning(text), stacklevel=2)
    return tuple(found)


def _items_of(module: ModuleType) -> list[type[Item]]:
    """The classes of items that a module defines, in their order."""
    values = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Item)]
    return [value for value in values if value.__module__ == module.__name__ and hasattr(value, "kind")]

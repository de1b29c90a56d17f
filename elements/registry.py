"""The registry: the classes of items that a model may contain, of the catalogue and of other packages.

A package adds classes by the entry point ``femb.items``, which names modules or classes, or a script by
``femb.register``. They are items as those of the catalogue: words of case files, the schema, results, pictures, linear
models and studies follow from what the class declares. See docs/howto/extend.md.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from femb.base.errors import FembWarning, ModelError
from femb.base.lazy import Public, public_names, source_of
from femb.base.values import shown
from femb.elements import entries

if TYPE_CHECKING:
    from femb.base.quantity import Group
    from femb.elements.item import Item

GROUP = "femb.items"
Kind = TypeVar("Kind", bound="type[Item]")

_registered: list[type[Item]] = []


class Words(Mapping[str, "type[Item]"]):
    """The classes of the items of a table by their word in case files; one of the catalogue is imported when it is
    asked for. The first is the default."""

    def __init__(self, table: str) -> None:
        own = {word: line for word, line in ((_place(line)[1], line) for line in _lines(table)) if word}
        others = {kind.kind: kind for kind in _of_others() if kind.table == table and kind.in_case_files}
        self._found: dict[str, Public | type[Item]] = {**own, **others}

    def __getitem__(self, word: str) -> type[Item]:
        found = self._found[word]
        return found.value() if isinstance(found, Public) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _place(line: Public) -> tuple[str, str]:
    """Table and word of a line of the catalogue; no table of a part of a description, no word without one in files."""
    table, _, word = line.remark.partition(".")
    return table, word


def _of_others() -> tuple[type[Item], ...]:
    return (*_of_packages(), *_registered)


@cache
def _lines(table: str) -> tuple[Public, ...]:
    return tuple(line for line in entries().values() if table and _place(line)[0] == table)


@cache
def _own_tables() -> tuple[str, ...]:
    return tuple(dict.fromkeys(table for line in entries().values() if (table := _place(line)[0])))


@cache
def _own_of_table(table: str) -> tuple[type[Item], ...]:
    return tuple(line.value() for line in _lines(table))


@cache
def _own_results(table: str) -> tuple[type[Group], ...]:
    lines = public_names("femb.elements.quantities")[0].values()
    named = tuple(line.value() for line in lines if line.remark == table)
    return named or tuple(kind.results for kind in _own_of_table(table))


@cache
def _of_catalogue() -> tuple[type[Item], ...]:
    return tuple(line.value() for line in entries().values() if line.remark)


def kinds() -> tuple[type[Item], ...]:
    """The classes of all items: those of the catalogue, those of installed packages, and those that were registered."""
    return (*_of_catalogue(), *_of_others())


def tables(others: bool = True) -> tuple[str, ...]:
    """The tables of all items, in the order of the catalogue.

    others : whether also items of other packages count.
    """
    return tuple(dict.fromkeys((*_own_tables(), *(kind.table for kind in (_of_others() if others else ())))))


@cache
def _meanings() -> Mapping[str, str]:
    """The meanings of the tables of the catalogue, by the lines above their first classes."""
    heads = (line.partition(": ") for line in source_of("femb.elements.catalogue").splitlines())
    return {head.removeprefix("# "): text for head, _, text in heads if head.startswith("# ") and text}


def meaning(table: str) -> str:
    """The meaning of a table, as "Flexible beams"; of other packages' the first words of its first class."""
    own = _meanings().get(table)
    return own or (inspect.getdoc(of_table(table)[0]) or table).partition(".")[0].partition("\n")[0]


def of_table(table: str) -> tuple[type[Item], ...]:
    """The classes of the items of a table, with those that case files have no word for."""
    return (*_own_of_table(table), *(kind for kind in _of_others() if kind.table == table))


def results_of(table: str, others: bool = True) -> tuple[type[Group], ...]:
    """The classes of the quantities of a table; without importing its items where the catalogue of quantities has them.

    others : whether also items of other packages count.
    """
    return (*_own_results(table), *(kind.results for kind in (_of_others() if others else ()) if kind.table == table))


def is_of_others(kind: type[Item]) -> bool:
    """Whether a class is of another package or a script, so that another process may not have it."""
    line = entries().get(kind.__name__)
    return line is None or not line.remark or line.module != kind.__module__


def is_known(kind: type[Item]) -> bool:
    """Whether a model may contain items of a class."""
    return not is_of_others(kind) or kind in _of_others()


@cache
def _places() -> dict[str, int]:
    return {name: k for k, name in enumerate(entries())}


def in_order(classes: Iterable[type[Item]]) -> list[type[Item]]:
    """Classes in the order of `kinds`: the catalogue's, then those of others."""
    place, others = _places(), _of_others()

    def key(kind: type[Item]) -> int:
        return len(place) + others.index(kind) if is_of_others(kind) else place[kind.__name__]

    return sorted(classes, key=key)


def register(kind: Kind) -> Kind:
    """Add a class of items for this process. Returns it, so that this can decorate the class; again is the same.

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
    from femb.elements.item import Item

    if not (isinstance(kind, type) and issubclass(kind, Item) and dataclasses.is_dataclass(kind)):
        return f"got {shown(kind)}, wanted a dataclass derived from femb.elements.item.Item"
    for word in ("table", "kind"):
        value = getattr(kind, word, None)
        if not (isinstance(value, str) and value.isidentifier() and value == value.lower()):
            return f"{kind.__name__}.{word}: got {shown(value)}, wanted a word in small letters, as in a case file"
    if text := kind.class_problem():
        return f"{kind.__name__}.{text}"
    for other in known:
        if other is not kind and (other.table, other.kind) == (kind.table, kind.kind):
            return f"{kind.__name__}: the table {kind.table!r} has the kind {kind.kind!r} already, {other.__name__}"
    return ""


@cache
def _of_packages() -> tuple[type[Item], ...]:
    """The classes that installed packages offer; a package that cannot be used is warned of and left out."""
    from importlib.metadata import entry_points

    items: list[type[Item]] = []
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # of another package
            problem = f"{type(error).__name__}: {error}"
        else:
            offered = _items_of(loaded) if isinstance(loaded, ModuleType) else [loaded]
            known = (*_of_catalogue(), *items)
            problem = next((text for kind in offered if (text := _problem(kind, known))), "")
            if not problem:
                items += offered
        if problem:
            package = entry.dist.name if entry.dist is not None else "?"
            text = f"items {entry.name!r} of the package {package!r} are left out: {problem}"
            warnings.warn(FembWarning(text), stacklevel=2)
    return tuple(items)


def _items_of(module: ModuleType) -> list[type[Item]]:
    """The classes of items that a module defines, in their order."""
    from femb.elements.item import Item

    values = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Item)]
    return [value for value in values if value.__module__ == module.__name__ and hasattr(value, "kind")]

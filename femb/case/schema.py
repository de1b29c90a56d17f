"""The keys of the tables of a case file, from the fields of the model's dataclasses.

The annotation of a field decides its form: a number, a list of a given shape, text, a nested table, or a profile by its
``shape``. Values are checked as in Python, by femb.base.checks. Callables, and items in place of their names (such as a
Section), are available in Python only.
"""

import dataclasses
import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

from femb.base.checks import alternatives, fit, mark_of
from femb.base.types import OneOf
from femb.base.values import shown
from femb.case.text import KeyPath
from femb.elements.item import Item
from femb.profiles import PROFILES, Profile

MISSING = "is missing"

Walked = tuple[Any, dict[KeyPath, str]]
"""A value made of that of a key, and its problems by path in it."""


@cache
def keys_of(kind: type) -> Mapping[str, Any]:
    """The keys of a table and their annotations; the name of an item is no key, but the name of its table."""
    hints = get_type_hints(kind, include_extras=True)
    named = {"name"} if hasattr(kind, "table") else set()
    return types.MappingProxyType(
        {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init and field.name not in named}
    )


@cache
def required_keys(kind: type) -> tuple[str, ...]:
    """The keys without defaults."""
    optional = {
        field.name
        for field in dataclasses.fields(kind)
        if not (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
    }
    return tuple(name for name in keys_of(kind) if name not in optional)


def table_kind(hint: Any, value: Any) -> type | None:
    """The dataclass of a table under a key of this annotation; None where the value is no table."""
    for choice in choices(hint) if isinstance(value, dict) else ():
        if choice is Profile:
            return cast(type | None, PROFILES.get(str(value.get("shape"))))
        if dataclasses.is_dataclass(choice):
            return cast(type, choice)
    return None


def walked(
    hint: Any,
    value: Any,
    of_table: Callable[[type, dict[str, Any]], Walked],
    of_other: Callable[[Any], Walked],
) -> Walked:
    """The value of a key with ``of_table`` of each table in it, also in lists of tables, and ``of_other`` of all else;
    and their problems by path in the value."""
    if nested := table_kind(hint, value):
        return of_table(nested, value)
    entries = [get_args(option)[0] for option in choices(hint) if get_origin(option) is list]
    if not isinstance(value, list) or not entries or not any(isinstance(entry, dict) for entry in value):
        return of_other(value)
    made = [walked(entries[0], entry, of_table, of_other) for entry in value]
    problems = {(str(k), *path): text for k, (_, of_entry) in enumerate(made) for path, text in of_entry.items()}
    return [entry for entry, _ in made], problems


def key_problems(kind: type, values: dict[str, Any], *also: str) -> dict[KeyPath, str]:
    """The problems of a table's keys and of the types of their values, by path in the table.

    also : keys that are read elsewhere.
    """
    known = keys_of(kind)
    unknown = [str(key) for key in values if key not in known and key not in also]
    # A misspelt key is not reported as missing too.
    meant = {word for key in unknown for word in close_to(key, known)}
    result: dict[KeyPath, str] = {
        (key,): MISSING for key in required_keys(kind) if key not in values and key not in meant
    }
    for key, hint in known.items():
        if key in values:
            result |= {(key, *path): text for path, text in _value_problems(hint, values[key]).items()}
    return result | {(key,): unknown_key(key, known) for key in unknown}


def _value_problems(hint: Any, value: Any) -> dict[KeyPath, str]:
    """The problems of the value of a key, by path in the value."""
    options, kind = choices(hint), table_kind(hint, value)
    if Profile in options and (isinstance(value, dict) or float not in options):
        if not isinstance(value, dict):
            return {(): f"got {shown(value)}, wanted a table such as {{ shape = 'versine', duration = 1.0 }}"}
        if kind is None:
            got = f"got {shown(value['shape'])}," if "shape" in value else f"{MISSING},"
            return {("shape",): f"{got} must be one of {', '.join(map(repr, PROFILES))}"}
        return key_problems(kind, value, "shape")
    if kind is not None:
        return key_problems(kind, value)
    for option in options:
        if get_origin(option) in (list, tuple):
            if not isinstance(value, list):
                return {(): f"got {shown(value)}, wanted a list"}
            entry = get_args(option)[0]
            by_index = ((str(k), _value_problems(entry, element)) for k, element in enumerate(value))
            return {(k, *path): text for k, problems in by_index for path, text in problems.items()}
    values = [option for option in options if not dataclasses.is_dataclass(option)]
    if options and not values:
        keys = ", ".join(map(repr, keys_of(options[0])))
        return {(): f"got {shown(value)}, wanted a table with keys from {keys}"}
    # The dataclass checks which word it is: any text lets it be constructed, so that it reports its other problems too.
    problem = fit([str if isinstance(mark_of(option), OneOf) else option for option in values], value)
    return {(): problem} if problem else {}


def close_to(word: str, known: Iterable[str]) -> list[str]:
    """The known word that was probably meant, if there is one."""
    return difflib.get_close_matches(word.lower().replace("-", "_"), list(known), n=1)


def unknown_key(word: str, known: Iterable[str]) -> str:
    """The message about a key that does not exist."""
    if word == "name":
        return "unknown key; an item's name is that of its table, such as [bodies.hub]"
    for guess in close_to(word, known):
        return f"unknown key; did you mean {guess!r}?"
    return "unknown key; the keys here are " + ", ".join(map(repr, known))


@cache
def choices(hint: Any) -> tuple[Any, ...]:
    """The alternatives of an annotation that a file can express; items of the model are given by their names."""
    options = [
        alternative
        for alternative in alternatives(hint)
        if alternative is not type(None) and get_origin(alternative) is not Callable
    ]
    other = tuple(option for option in options if not (isinstance(option, type) and issubclass(option, Item)))
    return other or (str,) * len(options)

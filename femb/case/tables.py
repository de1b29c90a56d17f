"""From one table of a case file to its dataclass, with all problems."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from femb.base.annotations import mark_of
from femb.base.errors import ModelError
from femb.base.types import Shape
from femb.base.values import shown
from femb.case.lines import Path
from femb.case.schema import Walked, choices, close_to, key_problems, keys_of, required_keys, walked
from femb.case.units import ANYWHERE, Scope, in_si


def read_table(
    kind: type, values: dict[str, Any], scope: Scope = ANYWHERE, **named: str
) -> tuple[Any, dict[Path, str]]:
    """The object of a table's dataclass, and the problems by path in the table.

    scope : what the units of its numbers depend on. ``named`` are arguments that are not in the table, such as its
    name. With problems, the object is unchecked and made of the valid keys and stand-ins: enough to check references to
    it. Problems of keys that are not given, or have a problem already, are not reported.
    """
    values, of_units = in_si(kind, values, scope)
    problems = key_problems(kind, values) | of_units
    arguments, nested = _arguments(kind, without(values, problems), named)
    of_class: dict[Path, str] = {}
    item: Any = None
    try:
        item = kind(**(arguments | _stand_ins(kind, arguments)))
    except ModelError as error:
        # The last part of the path is the field, or fields joined by dots; the others are the path of the item.
        of_class = {
            tuple(problem.item[-1].split(".")) if problem.item else (): problem.message for problem in error.problems
        }
    except (TypeError, ValueError):
        if not problems and not nested:
            raise
    # a list with an invalid entry is removed from its table, which must not be reported as missing
    nested = {path: text for path, text in nested.items() if not any(bad[: len(path)] == path for bad in problems)}
    problems |= nested
    if problems:
        of_class = {
            path: text
            for path, text in of_class.items()
            if given(values, path) is not None and not any(bad[: len(path)] == path for bad in problems)
        }
    problems |= of_class
    return _unchecked(kind, without(values, problems), named) if problems else item, problems


def kind_in(values: dict[str, Any], words: Mapping[str, type]) -> tuple[type | None, str]:
    """The dataclass of a table by its key ``kind``, by default the first; or None and the problem of that key."""
    word = values.get("kind", next(iter(words)))
    if isinstance(word, str) and word in words:
        return words[word], ""
    known = {**words} | {other: kind for kind in words.values() for other in getattr(kind, "also", ())}
    if word in list(known):
        return known[word], ""
    guesses = close_to(word, known) if isinstance(word, str) else []
    hint = f"; did you mean {guesses[0]!r}?" if guesses else ""
    return None, f"got {shown(word)}, must be one of {', '.join(map(repr, words))}{hint}"


def given(tables: Any, path: Path) -> Any:
    """The value at a path of nested tables; None where there is none."""
    for part in path:
        tables = tables.get(part) if isinstance(tables, dict) else None
    return tables


def without(tables: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Nested tables without the values at some paths; a path into a list removes the list. Those given stay as they
    are."""
    result = dict(tables)
    for path in paths:
        table = result
        for part, following in zip(path, (*path[1:], None), strict=True):
            inner = table.get(part)
            if following is None or not isinstance(inner, dict):
                table.pop(part, None)
                break
            table[part] = dict(inner)
            table = table[part]
    return result


def _arguments(kind: type, values: dict[str, Any], named: dict[str, str]) -> tuple[dict[str, Any], dict[Path, str]]:
    """Arguments of a dataclass, with nested tables as dataclasses, and the problems of those."""
    arguments: dict[str, Any] = dict(named)
    problems: dict[Path, str] = {}
    for key, hint in keys_of(kind).items():
        if key in values:
            item, of_item = walked(hint, values[key], _made, lambda value: (value, {}))
            problems |= {(key, *path): text for path, text in of_item.items()}
            if not of_item:
                arguments[key] = item
    return arguments, problems


def _made(kind: type, values: dict[str, Any]) -> Walked:
    """The dataclass of a nested table, whose keys are those of the dataclass and the shape of a profile."""
    return read_table(kind, {word: x for word, x in values.items() if word in keys_of(kind)})


def _unchecked(kind: type, values: dict[str, Any], named: dict[str, str]) -> Any:
    """An object of a dataclass without its checks."""
    arguments, _ = _arguments(kind, values, named)
    item: Any = object.__new__(kind)
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            arguments.setdefault(field.name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            arguments.setdefault(field.name, field.default_factory())
    for name, value in (arguments | _stand_ins(kind, arguments)).items():
        object.__setattr__(item, name, value)
    return item


def _stand_ins(kind: type, arguments: dict[str, Any]) -> dict[str, Any]:
    """Values for the required keys that are missing or wrong."""
    hints = keys_of(kind)
    return {key: _stand_in(hints[key]) for key in required_keys(kind) if key not in arguments}


def _stand_in(hint: Any) -> Any:
    """A value that most checks accept, for a required key that is missing or wrong."""
    for choice in choices(hint):
        mark = mark_of(choice)
        if isinstance(mark, Shape) and len(mark.dims) == 1:
            return (1.0,) * (mark.dims[0] or 1)
        if dataclasses.is_dataclass(choice):  # such as a marker, whose attributes are read by other checks
            return _unchecked(choice, {}, {})  # type: ignore[arg-type]
    return {int: 1, bool: False, str: "stand-in"}.get(hint, 1.0)

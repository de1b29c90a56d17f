"""From one table of a case file to its dataclass, with every problem on the way."""

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from femb.base.errors import ModelError
from femb.base.types import Shape
from femb.case.lines import Path
from femb.case.schema import choices, key_problems, keys_of, required_keys, table_kind


def read_table(kind: type, values: dict[str, Any], **named: str) -> tuple[Any, dict[Path, str]]:
    """The dataclass that a table describes, and the problems by place in the table.

    ``named`` are arguments that are not in the table, such as its name. Where there are problems, the object is
    an unchecked one of the good keys and stand-ins: enough to check what refers to it. What the dataclass finds
    wrong with keys that are not given, or hold a problem already, is not reported.
    """
    problems = key_problems(kind, values)
    arguments, nested = _arguments(kind, without(values, problems), named)
    found: dict[Path, str] = {}
    item: Any = None
    try:
        item = kind(**(arguments | _stand_ins(kind, arguments)))
    except ModelError as error:
        # The last part of a place is the field, or fields joined by dots; the rest is the item's own place.
        found = {
            tuple(problem.item[-1].split(".")) if problem.item else (): problem.message for problem in error.problems
        }
    except (TypeError, ValueError):
        if not problems and not nested:
            raise
    # a list with a wrong entry is taken out of its table, which may then seem to lack it
    nested = {place: text for place, text in nested.items() if not any(bad[: len(place)] == place for bad in problems)}
    problems |= nested
    if problems:
        found = {
            place: text
            for place, text in found.items()
            if given(values, place) is not None and not any(bad[: len(place)] == place for bad in problems)
        }
    problems |= found
    return _unchecked(kind, without(values, problems), named) if problems else item, problems


def given(tables: Any, place: Path) -> Any:
    """What stands at a place of nested tables; None where there is nothing."""
    for part in place:
        tables = tables.get(part) if isinstance(tables, dict) else None
    return tables


def without(tables: dict[str, Any], places: Iterable[Path]) -> dict[str, Any]:
    """A copy of nested tables without what stands at some places; a list is taken out as a whole."""
    rest = copy.deepcopy(tables)
    for place in places:
        table: Any = rest
        for part, following in zip(place, (*place[1:], None), strict=True):
            if following is None or not isinstance(table.get(part), dict):
                table.pop(part, None)
                break
            table = table[part]
    return rest


def _arguments(kind: type, values: dict[str, Any], named: dict[str, str]) -> tuple[dict[str, Any], dict[Path, str]]:
    """Arguments of a dataclass, its nested tables as dataclasses, and what those refuse."""
    arguments: dict[str, Any] = dict(named)
    problems: dict[Path, str] = {}
    for key, hint in keys_of(kind).items():
        if key in values:
            nested = table_kind(hint, values[key])
            item, found = _nested(nested, values[key]) if nested else (values[key], {})
            problems |= {(key, *place): text for place, text in found.items()}
            if not found:
                arguments[key] = item
    return arguments, problems


def _nested(kind: type, values: dict[str, Any]) -> tuple[Any, dict[Path, str]]:
    values = {key: value for key, value in values.items() if key in keys_of(kind)}  # without a profile's shape
    return read_table(kind, values)


def _unchecked(kind: type, values: dict[str, Any], named: dict[str, str]) -> Any:
    """An object of a dataclass that its own checks have not seen."""
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
    """A value that most checks let pass, for a required key that is missing or wrong."""
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, Shape) and len(mark.dims) == 1:
            return (1.0,) * (mark.dims[0] or 1)
    for choice in choices(hint):
        if dataclasses.is_dataclass(choice):  # a place on nothing, rather than a number that has no places
            return _unchecked(choice, {}, {})  # type: ignore[arg-type]
    return {int: 1, bool: False, str: "stand-in"}.get(hint, 1.0)

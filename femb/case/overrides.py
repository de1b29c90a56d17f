"""Entries of a case given on the command line: ``--set beams.right.elements=4``."""

import json
import re
import tomllib
from collections.abc import Container
from typing import Any

from femb.base.errors import Problem
from femb.case.errors import CaseError, dotted
from femb.case.lines import Path, typed_key


def parse_override(text: str) -> tuple[Path, Any]:
    """The path and the value of ``path=value``; the value is TOML, and a single word needs no quotes.

    Raises CaseError for any other form.
    """
    for sign in re.finditer("=", text):
        try:
            path = typed_key(text[: sign.start()])
        except ValueError:
            continue  # inside a quoted key
        return path, _value(text, text[sign.end() :].strip())
    raise refused(text, "wanted KEY=VALUE, such as beams.right.elements=4")


def override(key: str, value: object) -> str:
    """The text ``key=value`` that ``parse_override`` reads; value : a number, truth value, text, list or table."""
    return f"{key}={_written(value)}"


def _written(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{dotted((str(key),))} = {_written(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def entry_of(document: dict[str, Any], key: str) -> Any:
    """The value at a dotted key of the tables of a case, None where there is none; a number is an index in a list."""
    value: Any = document
    for part in typed_key(key):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def apply_override(document: dict[str, Any], text: str, named: Container[str]) -> Path:
    """Set ``path=value`` in the tables of a case and return the path.

    A number is the index of an entry of a list, from 0. Keys are checked with the rest of the case afterwards; only
    items must exist, because a misspelt name would create a new one. ``named`` are the tables that contain items.
    Raises CaseError.
    """
    path, value = parse_override(text)
    if len(path) > 1 and path[0] in named:
        items = document.get(path[0], {})
        if isinstance(items, dict) and path[1] not in items:
            names = ", ".join(map(repr, items)) or "none"
            raise refused(text, f"there is no {path[1]!r} in {path[0]}; there are: {names}")
    table: Any = document
    for depth, part in enumerate(path[:-1], start=1):
        if isinstance(table, list):
            table = table[_index(text, path[: depth - 1], table, part)]
        else:
            table = table.setdefault(part, {})
        if not isinstance(table, dict | list):
            message = f"{dotted(path[:depth])} is {table!r}, not a table with a key {path[depth]!r}"
            raise refused(text, message)
    table[_index(text, path[:-1], table, path[-1]) if isinstance(table, list) else path[-1]] = value
    return path


def _index(text: str, path: Path, entries: list[Any], key: str) -> int:
    """The index of an entry of a list that a key names."""
    if not key.isdecimal() or int(key) >= len(entries):
        raise refused(text, f"{dotted(path)} is {entries!r}, a list with entries 0 to {len(entries) - 1}, got {key!r}")
    return int(key)


def _value(text: str, written: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {written}")
        if len(parsed) == 1:
            return parsed["value"]
    except ValueError:
        # a word, or a number with its unit, as a shell hands on what stood in quotes
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*|[-+]?[0-9.]+([eE][-+]?[0-9]+)? ?[A-Za-z%][A-Za-z0-9/*^ -]*", written):
            return written
    raise refused(text, f"{written!r} is not a TOML value: write 4, 1e-6, true, [1, 0, 0] or a word")


def refused(text: str, message: str) -> CaseError:
    """The error of an override."""
    return CaseError([f"--set {text}: {message}"], [Problem((), message)])

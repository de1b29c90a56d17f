"""Entries of a case given on the command line: ``--set beams.right.elements=4``."""

import re
import tomllib
from collections.abc import Container
from typing import Any

from femb.base.errors import Problem
from femb.case.errors import CaseError, dotted
from femb.case.lines import Path, split_key


def parse_override(text: str) -> tuple[Path, Any]:
    """The path and the value of ``path=value``; the value is TOML, and a single word needs no quotes.

    Raises CaseError: no such form.
    """
    for sign in re.finditer("=", text):
        try:
            path = split_key(text[: sign.start()])
        except ValueError:
            continue  # inside a quoted key
        return path, _value(text, text[sign.end() :].strip())
    raise refused(text, "wanted KEY=VALUE, such as beams.right.elements=4")


def apply_override(document: dict[str, Any], text: str, named: Container[str]) -> Path:
    """Put ``path=value`` into the tables of a case and return the path.

    Keys are checked with the rest of the case afterwards; only items must exist, because a misspelt name would
    make a new one. ``named`` are the tables that hold items. Raises CaseError.
    """
    path, value = parse_override(text)
    if len(path) > 1 and path[0] in named:
        items = document.get(path[0], {})
        if isinstance(items, dict) and path[1] not in items:
            names = ", ".join(map(repr, items)) or "none"
            raise refused(text, f"there is no {path[1]!r} in {path[0]}; there are: {names}")
    table = document
    for depth, part in enumerate(path[:-1], start=1):
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            message = f"{dotted(path[:depth])} is {table!r}, not a table with a key {path[depth]!r}"
            raise refused(text, message)
    table[path[-1]] = value
    return path


def _value(text: str, written: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {written}")
        if len(parsed) == 1:
            return parsed["value"]
    except ValueError:
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", written):
            return written
    raise refused(text, f"{written!r} is not a TOML value: write 4, 1e-6, true, [1, 0, 0] or a word")


def refused(text: str, message: str) -> CaseError:
    """The error of an override."""
    return CaseError([f"--set {text}: {message}"], [Problem((), message)])

"""Columns of numbers in text files (.csv)."""

import csv
from collections.abc import Sequence

from femb.base.errors import ModelError
from femb.base.values import shown

LARGEST = 500 * 10**6  # characters of a table; a device such as /dev/zero has no end


def columns_of(path: str, column: str | int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The first column of a table and another one, by its name in the first row or by its number from 1.

    Columns are separated by commas, semicolons or blanks; lines from # on are comments. Raises ModelError.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(text) > LARGEST:
        raise ModelError(f"{path}: has more than {LARGEST // 10**6} MB, or no end; wanted a table of numbers")
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    rows = [(number, _entries(line)) for number, line in enumerate(lines, 1) if line]
    if not rows:
        raise ModelError(f"{path}: has no numbers; wanted rows of a time (s) and values")
    heads: Sequence[str] = ()
    if _number(rows[0][1][0]) is None:
        heads, rows = rows[0][1], rows[1:]
    k = _place(path, column, heads, len(rows[0][1]) if rows else len(heads))
    result: tuple[list[float], list[float]] = [], []
    for number, entries in rows:
        for place, values in zip((0, k), result, strict=True):
            value = _number(entries[place]) if place < len(entries) else None
            if value is None:
                got = shown(entries[place]) if place < len(entries) else "nothing"
                raise ModelError(f"{path}:{number}: column {place + 1}: got {got}, wanted a number")
            values.append(value)
    if not result[0]:
        raise ModelError(f"{path}: has no numbers below its first row")
    return tuple(result[0]), tuple(result[1])


def _place(path: str, column: str | int, heads: Sequence[str], count: int) -> int:
    """The index of a column."""
    if isinstance(column, str):
        if column not in heads:
            known = f"its columns are {', '.join(map(repr, heads))}" if heads else "its first row has no names"
            raise ModelError(f"{path}: has no column {column!r}; {known}")
        return heads.index(column)
    if not 1 <= column <= count:
        raise ModelError(f"{path}: got column = {column}, but it has {count} columns")
    return column - 1


def _entries(line: str) -> list[str]:
    """The entries of a line."""
    if ";" in line or "," in line:
        return [entry.strip() for entry in next(csv.reader([line], delimiter=";" if ";" in line else ","))]
    return line.split()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

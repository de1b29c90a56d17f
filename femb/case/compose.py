"""The tables of a case from its file, the files that it includes, its patterns and the command line."""

import ast
import copy
import json
import math
import operator
import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from femb.base.errors import ModelError, Problem
from femb.base.values import LARGEST, shown, whole_number
from femb.case.text import DEEPEST, CaseError, KeyPath, dotted, key_lines, located, parse_toml, text_of, typed_key

# Patterns of a case file: items that are repeated, with numbers and names that differ.
#
#     [patterns.wing]
#     count = 4                                            # {i} is 1, 2, 3, 4
#     each = { side = ["left", "right"], y = [1, -1] }     # all of it for each of these
#     [patterns.wing.bodies."{side} panel {i}"]
#     mass = "{2.0 - 0.1*i}"
#     [patterns.wing.first.joints."{side} hinge {i}"]      # in addition, for i = 1; ``last`` for i = count
#     first = { body = "hub", at = [0, "{0.5*y}", 0], axis = [1, 0, 0] }
#
# A text in braces is an expression of numbers and of the variables. A text that is one expression becomes its number.


def power(a: Any, b: Any) -> Any:
    """A real power. Raises ValueError where it is none, or too large for a case: whole ones may have any size."""
    if a and abs(b) * abs(math.log10(abs(a))) > math.log10(LARGEST):
        raise ValueError
    result = a**b
    if isinstance(result, complex):
        raise ValueError
    return result


MOST_ITEMS = 100_000
WORDS = ("count", "each", "first", "last")
EXPRESSION = re.compile(r"\{([^{}]*)\}")
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "sqrt")},
    **{"abs": abs, "min": min, "max": max},
}
CONSTANTS = {"pi": math.pi}
RESERVED = ("i", "count", *CONSTANTS)  # names of variables that mean something already
Variables = Mapping[str, Any]


def repeated(pattern: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Variables]]:
    """The tables of every repetition, with expressions in place, and its variables. Raises ModelError."""
    tables = {word: value for word, value in pattern.items() if word not in WORDS}
    for word, value in [*tables.items(), *((end, pattern.get(end, {})) for end in ("first", "last"))]:
        if not isinstance(value, dict):
            raise ModelError.at(
                (word,), f"got {shown(value)}, wanted tables of items, such as [patterns.NAME.bodies.NAME]"
            )
    count, each = pattern.get("count", 1), pattern.get("each", {})
    if not whole_number(count) or count < 1:
        raise ModelError.at(("count",), f"got {shown(count)}, must be a whole number of at least 1")
    groups = _groups(each)
    if count * len(groups) > MOST_ITEMS:
        raise ModelError.at(("count",), f"got {count * len(groups)} repetitions, must be at most {MOST_ITEMS}")
    for group in groups:
        for i in range(1, count + 1):
            merged = copy.deepcopy(tables)
            for end, at in (("first", 1), ("last", count)):
                if i == at:
                    merge(merged, pattern.get(end, {}))
            yield merged, {**group, "i": i, "count": count}


def _groups(each: Any) -> list[dict[str, Any]]:
    """The values of the variables of ``each``, in step."""
    if not isinstance(each, dict) or not all(isinstance(values, list) and values for values in each.values()):
        raise ModelError.at(("each",), f"got {shown(each)}, wanted lists by the names of variables")
    if taken := [name for name in each if name in RESERVED]:
        raise ModelError.at(("each", taken[0]), "is a variable of every pattern already: take another name")
    if len({len(values) for values in each.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in each.items())
        raise ModelError.at(("each",), f"the lists must have as many entries as each other: {lengths}")
    return [dict(zip(each, values, strict=True)) for values in zip(*each.values(), strict=True)] or [{}]


def merge(into: dict[str, Any], tables: dict[str, Any]) -> None:
    """Put nested tables over others, key by key."""
    for key, value in tables.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def filled(value: Any, variables: Variables, path: tuple[str, ...] = ()) -> Any:
    """A value with its expressions in place, also in nested tables and lists. Raises ModelError with their path."""
    if isinstance(value, list):
        return [filled(entry, variables, path) for entry in value]
    try:
        if isinstance(value, dict):
            names = {key: str(filled_text(key, variables)) for key in value}
        else:
            return filled_text(value, variables) if isinstance(value, str) else value
    except ModelError as error:
        raise ModelError.at(path, str(error)) from error
    return {names[key]: filled(entry, variables, (*path, key)) for key, entry in value.items()}


def filled_text(text: str, variables: Variables) -> Any:
    """A text with its expressions in place; the value itself, if the text is one expression. Raises ModelError."""
    whole = EXPRESSION.fullmatch(text)
    if whole:
        return _evaluated(whole[1], text, variables)
    return EXPRESSION.sub(lambda match: _written(_evaluated(match[1], text, variables)), text)


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _evaluated(expression: str, text: str, variables: Variables) -> Any:
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, variables)
    except (SyntaxError, TypeError, ZeroDivisionError, OverflowError, KeyError, RecursionError, ValueError) as error:
        known = ", ".join(variables)
        raise ModelError(
            f"got {shown(text)}: {{{expression}}} is no expression of numbers, of the variables {known}, and of "
            f"{', '.join((*FUNCTIONS, *CONSTANTS))}"
        ) from error


def _value(node: ast.expr, variables: Variables) -> Any:
    match node:
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(name):
            return CONSTANTS[name] if name in CONSTANTS else variables[name]
        case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
            numbers = [_value(argument, variables) for argument in arguments]
            if all(isinstance(number, int | float) for number in numbers):
                return FUNCTIONS[name](*numbers)
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, variables)
        case ast.BinOp(left, sign, right):
            a, b = _value(left, variables), _value(right, variables)
            if isinstance(a, int | float) and isinstance(b, int | float):
                return OPERATORS[type(sign)](a, b)
    raise ValueError


# Keys of items, and of tables within them, whose text is the path of a file.
FILES = ("file", "mesh", "python", "sections")
VALUED = "parameters", "gains"  # tables of values for entries of the case
DEFAULTS = ("title", "gravity", "noise", "run")  # that an included file may have too


@dataclass
class Composition:
    """document : the tables of the case. elsewhere : file and line of paths that are not in the case file itself.
    included : the files that are included, and their texts."""

    document: dict[str, Any] = field(default_factory=dict)
    elsewhere: dict[KeyPath, tuple[Path, int]] = field(default_factory=dict)
    included: dict[Path, str] = field(default_factory=dict)


def composed(path: Path, text: str) -> Composition:
    """The tables of a case file with those that it includes and the items of its patterns.

    Raises CaseError: a file that cannot be read, an item that is given twice, a pattern that is none.
    """
    result = Composition()
    _add(result, path, text, (path,))
    return result


def _add(result: Composition, path: Path, text: str, within: tuple[Path, ...]) -> None:
    """Add the tables of a file; ``within`` are the files that include it, and itself."""
    document, lines = parse_toml(path, text), key_lines(text)
    files, patterns = document.pop("include", []), document.pop("patterns", {})
    outer = len(within) == 1
    if not outer:  # those of the case itself also stand in options of the command line, which are not read yet
        for tables in (document, *(patterns.values() if isinstance(patterns, dict) else ())):
            locate_files(tables, path.parent.resolve())
    for name in _names(path, lines, files):
        _include(result, path, lines, name, within)
    places = {} if outer else {place: (path, line) for place, line in lines.items()}
    _merge(result, path, lines, document, places)
    if not isinstance(patterns, dict):
        raise CaseError.of_file(
            path, f"patterns: got {shown(patterns)}, wanted tables [patterns.NAME]", lines["patterns",]
        )
    for name, pattern in patterns.items():
        try:
            for tables, found in _items(path, lines, name, pattern):
                _merge(result, path, lines, tables, found)
        except CaseError:
            raise
        except ModelError as error:
            problems = [type(problem)(("patterns", name, *problem.item), problem.message) for problem in error.problems]
            raise located(path, lines, problems) from error


def _names(path: Path, lines: Mapping[KeyPath, int], files: Any) -> list[str]:
    names = [files] if isinstance(files, str) else files
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        message = f"include: got {shown(files)}, wanted the path of a case file (TOML), or a list of them"
        raise CaseError.of_file(path, message, lines["include",])
    for name in names:
        if "\0" in name:
            raise CaseError.of_file(path, f"include: {name!r} is no path of a file", lines["include",])
    return names


def _include(
    result: Composition, path: Path, lines: Mapping[KeyPath, int], name: str, within: tuple[Path, ...]
) -> None:
    file = path.parent / name
    try:
        text = text_of(file)
    except CaseError as error:
        raise CaseError.of_file(path, f"include: {error}", lines["include",]) from error
    if file.resolve() in [each.resolve() for each in within]:
        raise CaseError.of_file(path, f"include: {name!r} includes itself", lines["include",])
    result.included[file] = text
    _add(result, file, text, (*within, file))


def _items(
    path: Path, lines: Mapping[KeyPath, int], name: str, pattern: Any
) -> Iterator[tuple[dict[str, Any], dict[KeyPath, tuple[Path, int]]]]:
    """The tables of every repetition of a pattern, and their lines."""
    if not isinstance(pattern, dict):
        raise ModelError.at((), f"got {shown(pattern)}, wanted a table")
    own = [(place[2:], line) for place, line in lines.items() if place[:2] == ("patterns", name) and len(place) > 2]
    for tables, variables in repeated(pattern):
        found: dict[KeyPath, tuple[Path, int]] = {}
        for place, line in own:
            rest = place[1:] if place[0] in ("first", "last") else place
            if rest:
                found.setdefault((rest[0], *(str(filled(part, variables)) for part in rest[1:])), (path, line))
        yield filled(tables, variables), found


def _merge(
    result: Composition,
    path: Path,
    lines: Mapping[KeyPath, int],
    document: dict[str, Any],
    places: dict[KeyPath, tuple[Path, int]],
) -> None:
    """Add tables to those of the case; an item may be given once."""
    for table, items in document.items():
        known = result.document.get(table)
        if table in DEFAULTS:
            merge(result.document, {table: items})
        elif not isinstance(items, dict) or not isinstance(known, dict):
            result.document[table] = items
        else:
            for name, item in items.items():
                if name in known:
                    at, line = places.get((table, name), (path, lines.get((table, name), 1)))
                    file, other = result.elsewhere.get((table, name), (path, lines.get((table, name), 1)))
                    message = f"{dotted((table, name))}: is given here and in {file}:{other}; rename one, or take --set"
                    raise CaseError.of_file(at, message, line)
                known[name] = item
    result.elsewhere.update(places)


def locate_files(value: Any, folder: Path) -> None:
    """Files that items name are relative to the folder of their case file; of patterns, those of their tables."""
    if isinstance(value, dict):
        value |= {word: str(folder / value[word]) for word in FILES if isinstance(value.get(word), str)}
        value = list(value.values())
    for entry in value if isinstance(value, list) else ():
        locate_files(entry, folder)


# Entries of a case given on the command line: ``--set beams.right.elements=4``.


def parse_override(text: str) -> tuple[KeyPath, Any]:
    """The path and the value of ``path=value``; the value is TOML, and a single word needs no quotes.

    Raises CaseError for any other form.
    """
    for sign in re.finditer("=", text):
        try:
            path = typed_key(text[: sign.start()])
        except ValueError:
            continue  # inside a quoted key
        if len(path) > DEEPEST:
            raise refused(f"{text[:40]}...", f"tables are nested too deeply: {len(path)} keys, at most {DEEPEST}")
        return path, _parsed(text, text[sign.end() :].strip())
    raise refused(text, "wanted KEY=VALUE, such as beams.right.elements=4")


def override(key: str, value: object) -> str:
    """The text ``key=value`` that ``parse_override`` reads; value : a number, truth value, text, list or table."""
    return f"{key}={_as_text(value)}"


def _as_text(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{dotted((str(key),))} = {_as_text(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_as_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_toml(document: Mapping[str, Any]) -> str:
    """The text of a case with these tables."""
    lines = [f"{dotted((key,))} = {_as_text(value)}" for key, value in document.items() if not isinstance(value, dict)]
    for table, items in document.items():
        if not isinstance(items, dict):
            continue
        whole = not all(isinstance(item, dict) for item in items.values())
        for path, item in (
            {(table,): items}.items() if whole else {(table, name): x for name, x in items.items()}.items()
        ):
            lines += [
                "",
                f"[{dotted(path)}]",
                *(f"{dotted((key,))} = {_as_text(value)}" for key, value in item.items()),
            ]
    return "\n".join(lines).lstrip("\n") + "\n"


def entry_of(document: dict[str, Any], key: str) -> Any:
    """The value at a dotted key of the tables of a case, None where there is none; a number is an index in a list."""
    return given(document, typed_key(key))


def given(tables: Any, path: KeyPath) -> Any:
    """The value at a path of nested tables and lists; None where there is none."""
    for part in path:
        if isinstance(tables, list) and part.isdecimal() and int(part) < len(tables):
            tables = tables[int(part)]
        else:
            tables = tables.get(part) if isinstance(tables, dict) else None
    return tables


def apply_override(document: dict[str, Any], text: str, named: Container[str]) -> KeyPath:
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


def _index(text: str, path: KeyPath, entries: list[Any], key: str) -> int:
    if not key.isdecimal() or int(key) >= len(entries):
        raise refused(text, f"{dotted(path)} is {entries!r}, a list with entries 0 to {len(entries) - 1}, got {key!r}")
    return int(key)


def _parsed(text: str, written: str) -> Any:
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

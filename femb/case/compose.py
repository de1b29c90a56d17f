"""The tables of a case from its file, the files that it includes and its patterns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from femb.base.errors import ModelError
from femb.base.values import shown
from femb.case.errors import CaseError, dotted, located
from femb.case.lines import Path, key_lines
from femb.case.patterns import filled, merge, repeated
from femb.case.text import parse_toml, text_of

# Keys whose text is the path of a file, by table: of flexible bodies, sections, and sections along a beam.
FILES = (("bodies", "file"), ("sections", "file"), ("beams", "sections"))
OF_FILES = ("table", "spline")  # shapes of profiles that files may hold
DEFAULTS = ("title", "gravity", "run")  # that an included file may have too


@dataclass
class Composition:
    """document : the tables of the case. elsewhere : file and line of paths that are not in the case file itself.
    included : the files that are included, and their texts."""

    document: dict[str, Any] = field(default_factory=dict)
    elsewhere: dict[Path, tuple[FilePath, int]] = field(default_factory=dict)
    included: dict[FilePath, str] = field(default_factory=dict)


def composed(path: FilePath, text: str) -> Composition:
    """The tables of a case file with those that it includes and the items of its patterns.

    Raises CaseError: a file that cannot be read, an item that is given twice, a pattern that is none.
    """
    result = Composition()
    _add(result, path, text, (path,))
    return result


def _add(result: Composition, path: FilePath, text: str, within: tuple[FilePath, ...]) -> None:
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


def _names(path: FilePath, lines: Mapping[Path, int], files: Any) -> list[str]:
    names = [files] if isinstance(files, str) else files
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        message = f"include: got {shown(files)}, wanted the path of a case file (TOML), or a list of them"
        raise CaseError.of_file(path, message, lines["include",])
    for name in names:
        if "\0" in name:
            raise CaseError.of_file(path, f"include: {name!r} is no path of a file", lines["include",])
    return names


def _include(
    result: Composition, path: FilePath, lines: Mapping[Path, int], name: str, within: tuple[FilePath, ...]
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
    path: FilePath, lines: Mapping[Path, int], name: str, pattern: Any
) -> Iterator[tuple[dict[str, Any], dict[Path, tuple[FilePath, int]]]]:
    """The tables of every repetition of a pattern, and their lines."""
    if not isinstance(pattern, dict):
        raise ModelError.at((), f"got {shown(pattern)}, wanted a table")
    own = [(place[2:], line) for place, line in lines.items() if place[:2] == ("patterns", name) and len(place) > 2]
    for tables, variables in repeated(pattern):
        found: dict[Path, tuple[FilePath, int]] = {}
        for place, line in own:
            rest = place[1:] if place[0] in ("first", "last") else place
            if rest:
                found.setdefault((rest[0], *(str(filled(part, variables)) for part in rest[1:])), (path, line))
        yield filled(tables, variables), found


def _merge(
    result: Composition,
    path: FilePath,
    lines: Mapping[Path, int],
    document: dict[str, Any],
    places: dict[Path, tuple[FilePath, int]],
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
                    message = f"{dotted((table, name))}: is given here and in {file}:{other}; rename one of them"
                    raise CaseError.of_file(at, message, line)
                known[name] = item
    result.elsewhere.update(places)


def locate_files(document: Any, folder: FilePath) -> None:
    """Files that items name are relative to the folder of their case file; of patterns, those of their tables."""
    for table, word in FILES:
        items = document.get(table) if isinstance(document, dict) else None
        for item in items.values() if isinstance(items, dict) else ():
            if isinstance(item, dict) and isinstance(item.get(word), str):
                item[word] = str(folder / item[word])
    _locate_tables(document, folder)


def _locate_tables(value: Any, folder: FilePath) -> None:
    """Files of profiles, anywhere in nested tables and lists."""
    if isinstance(value, dict):
        if value.get("shape") in OF_FILES and isinstance(value.get("file"), str):
            value["file"] = str(folder / value["file"])
        value = list(value.values())
    for entry in value if isinstance(value, list) else ():
        _locate_tables(entry, folder)

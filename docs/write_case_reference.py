"""Write docs/reference/case_file.md and a page for each table, with all kinds and keys of a case file, from its schema.

    python docs/write_case_reference.py

Types, defaults and meanings are those of ``femb schema``, units those with which texts such as "10 mm" are read.
Examples are items of the cases and of the how-tos. ``tests/docs/test_site.py`` checks that the pages are up to date.
"""

import dataclasses
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple, get_args

from femb.base.checks import unit_of
from femb.base.meanings import meanings
from femb.case.build import OPTIONS, kinds
from femb.case.json_schema import meaning, schema
from femb.case.schema import choices, keys_of, required_keys, table_kind
from femb.elements.marker import Marker, Place
from femb.numerics.turns import SEQUENCES
from femb.profiles import PROFILES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "case_file.md"
EXAMPLES = PAGE.parent / "examples.toml"  # of what no case has
NEED_FILES = PAGE.parent / "examples_with_files.toml"
TOML = re.compile(r"^```toml[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
FUNCTIONS = "Functions of time"
LONGEST = 170  # characters of an example, where one is as short
HEAD = f"""# The case file

All tables and keys of a case file, made by `python docs/write_case_reference.py` from the schema by which
`femb check CASE` checks a file and [editors complete keys](../howto/command_line.md#edit-case-files).
[Run a case](../howto/run_a_case.md) explains the use.

An item is a table with a name of your choice, such as `[bodies.hub]`. Its `kind` is the word in the title of a section,
by default the first of its table. Keys in **bold** are required. The brackets behind a key have its type, its unit and
its default, of several words the first.

- A key with a unit or a default alone is a number; a boolean without a default is `false`. A vector has three numbers,
  a matrix 3 x 3.
- Units are SI and radians; a text with a unit such as `"10 mm"` or `"0.05 deg/sqrt(h)"` is read too. Of two units the
  first applies to angles, the other to strokes. "value" is the unit of a profile: none for a factor, rad or m for a
  motion. "own": see the text.
- Axes are inertial unless the text names others. Directions may have any length. Paths are relative to the folder of
  the case file. In Python some keys take functions too: see the docstrings.
- Keys shared by the kinds of a table stand first. A kind has all of them unless it lists its own.
- A *sequence* of Euler angles is one of {", ".join(f"`{word}`" for word in SEQUENCES)}.
"""
TOP = {
    "title": ("text", "", '`""`', "for figures and reports"),
    "gravity": ("vector", "m/s2", "zeros", "uniform acceleration"),
    "include": (
        "text or texts", "", "", "case files whose tables belong to this case too, relative to its folder",
    ),
    "parameters": (
        "tables", "", "",
        "[numbers that analyses change](../howto/sweep.md#parameters), by which results are differentiated",
    ),
    "gains": (
        "tables", "", "",
        "[numbers of controllers that `femb loop --tune` tunes](../howto/robust.md#gains-for-all-values): as "
        "`parameters`, each with a `range`",
    ),
    "unmodelled": (
        "tables", "", "",
        "[errors of what acts or is measured](../howto/robust.md#unmodelled-dynamics), by frequency: `at`, `error`, "
        "`frequencies`",
    ),
    "patterns": (
        "tables", "", "",
        "[items that are repeated](../howto/run_a_case.md#write-a-case): `count`, `each`, `first`, `last`, and tables "
        "of items with expressions such as `{2*i}`",
    ),
}  # fmt: skip
"""Type, unit, default and meaning of the keys outside tables."""
SHARED = "Keys of several"
PLACE = "[place](#place)"
INDEX = "[How to read](../case_file.md)."
ERRORS = re.compile(r" ?Raises ModelError: [^.]*\.")  # which `femb check` prints


class Row(NamedTuple):
    """A row of a table of keys."""

    name: str
    type: str
    unit: str
    default: str
    meaning: str


NONE: Mapping[str, Row] = {}


def pages() -> dict[Path, str]:
    """The texts of all pages: the index, a page for each table, for functions of time and for nested tables."""
    writer = Writer()
    rows = [line_of([Row(f"`{key}`", *cells)]) for key, cells in TOP.items()]
    index = [HEAD, "\n".join(["## The top of the file\n", *rows, ""]), "## Tables\n"]
    texts: dict[Path, str] = {}
    for name, purpose, kinds_of in tables():
        several = "shapes" if name == FUNCTIONS else name.lower()
        shared = writer.shared(kinds_of.values()) if len(kinds_of) > 1 else NONE
        parts = [f"# {name}\n\n{purpose} {INDEX}\n" if len(kinds_of) > 1 else f"# {name}\n\n{INDEX}\n"]
        if shared:
            parts.append(f"## {SHARED} {several}\n\n{list_of(shared.values())}\n")
        for title, kind in kinds_of.items():
            also = [f"`{word}`" for word in getattr(kind, "also", ())]
            tag = f"Or {', '.join(also)}. " if also else ""
            parts.append(writer.section(title if len(kinds_of) > 1 else "", kind, tag, several, shared))
        texts[page_of(name)] = "\n".join(parts)
        links = [f"[{title.partition(': ')[2] or title}](#{anchor(title)})" for title in kinds_of]
        listed = f"{purpose.rstrip('.')}: {', '.join(links)}" if len(links) > 1 else purpose
        index.append(f"- [{name}](#{anchor(name)}): {listed}")
    texts = {PAGE: "\n".join([*index, ""]), **texts}
    where = {anchor(line.lstrip("# ")): path for path, text in texts.items() for line in HEADING.findall(text)}
    return {path: linked(text, path, where) for path, text in texts.items()}


def tables() -> Iterator[tuple[str, str, dict[str, type]]]:
    """Name, purpose and kinds, by the titles of their sections, of each page."""
    for table, words in kinds().items():
        yield table, meaning(table), {f"{table}: {word}": kind for word, kind in words.items()}
    for table, kind in OPTIONS.items():
        yield table, meaning(table), {table: kind}
    yield FUNCTIONS, "A profile is a table with the key `shape`.", {f"shape: {w}": kind for w, kind in PROFILES.items()}
    yield "Nested tables", "Tables that are values of keys.", {kind.__name__: kind for kind in Writer().nested()}


def page_of(name: str) -> Path:
    """The page of a table, of functions of time or of nested tables."""
    return PAGE.parent / "case" / f"{name.lower().replace(' ', '_')}.md"


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def linked(text: str, path: Path, where: Mapping[str, Path]) -> str:
    """A text whose links lead from its page to anchors of other pages, and to files of the documentation."""

    def link(found: re.Match[str]) -> str:
        target = where[found[1]]
        heading = "" if target.stem == found[1].replace("-", "_") else f"#{found[1]}"
        return f"]({relpath(target, path.parent)}{heading})" if target != path else f"](#{found[1]})"

    text = re.sub(r"\]\(#([^)]+)\)", link, text)
    return (
        text
        if path == PAGE
        else text.replace("](../howto/", "](../../howto/").replace("](../theory/", "](../../theory/")
    )


def sections() -> Iterator[tuple[str, type, str]]:
    """The name of each class in the reference, the class, and the path of its section beside the index."""
    for name, _, kinds_of in tables():
        path = page_of(name).relative_to(PAGE.parent).as_posix()
        for title, kind in kinds_of.items():
            alone = len(kinds_of) == 1
            yield (name if alone else title), kind, path if alone else f"{path}#{anchor(title)}"


def list_of(rows: Iterable[Row]) -> str:
    """A list of keys; those with one meaning, or with none, share a line."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.meaning, []).append(row)
    return "\n".join(map(line_of, groups.values()))


def line_of(group: list[Row]) -> str:
    """The line of keys with one meaning."""
    meaning = group[0].meaning
    if meaning == PLACE:
        return f"- {', '.join(row.name for row in group)} ({PLACE})"
    alike: dict[str, list[str]] = {}
    for row in group:
        alike.setdefault(facts_of(row), []).append(row.name)
    keys = ", ".join(f"{', '.join(names)} ({facts})" for facts, names in alike.items())
    return f"- {keys}{': ' if meaning else ''}{meaning}"


def facts_of(row: Row) -> str:
    """Type, unit and default of a key, of several words the first; numbers without their type."""
    unit = row.unit if row.unit != "-" else ""
    kind = row.type
    words = re.findall(r"`([^`]+)`", kind)
    if words and all(f'"{word}"' in row.meaning.replace("\\", "") for word in words):
        kind = ("" if row.default else "text") + kind[kind.rindex("`") + 1 :]
        kind = kind.removeprefix(" or ")
    elif row.default.strip('`"') in words:
        words.sort(key=lambda word: word != row.default.strip('`"'))
        return ", ".join(f"`{word}`" for word in words)
    known = kind == "number" and (unit or row.default)
    return ", ".join(filter(None, ["" if known else kind, unit, row.default]))


class Writer:
    """Writes the tables of dataclasses with types from the schema."""

    def __init__(self) -> None:
        self.definitions = schema()["definitions"]
        self.examples = examples()

    def nested(self) -> list[type]:
        """The dataclasses of values, in the order of the schema."""
        known = {kind for words in kinds().values() for kind in words.values()}
        known |= set(PROFILES.values()) | set(OPTIONS.values())
        found: dict[str, type] = {}
        todo = list(known)
        while todo:
            for hint in keys_of(todo.pop()).values():
                for kind in _classes(hint):
                    if kind not in known and kind.__name__ not in found and kind.__name__ in self.definitions:
                        found[kind.__name__] = kind
                        todo.append(kind)
        return [found[name] for name in self.definitions if name in found]

    def rows(self, kind: type) -> dict[str, Row]:
        """A row of the table for each key of a kind."""
        rows = {}
        for key, value in self.definitions[kind.__name__]["properties"].items():
            if key not in keys_of(kind):
                continue  # kind or shape
            unit = unit_words(kind, key)
            given = value.get("default")
            default = "" if given in (None, []) or isinstance(given, dict) else f"`{written(given)}`"
            default = "" if default == "`false`" else default.replace(".0`", "`")
            default = "zeros" if re.fullmatch(r"`\[[\[\]0., ]*0[\[\]0., ]*\]`", default) else default
            name = f"**`{key}`**" if key in required_keys(kind) else f"`{key}`"
            text = meanings(kind).get(key, "")
            at_place = not issubclass(kind, Marker) and text and text == meanings(Place).get(key)
            default = "`1`" if key == "profile" and given else default
            rows[key] = Row(name, typed(value), unit, default, PLACE if at_place else escaped(text))
        return rows

    def shared(self, of: Iterable[type]) -> dict[str, Row]:
        """Rows that several kinds of a table have alike, by key; of a key with several such rows the most frequent."""
        of = list(of)
        profiles = set(of) <= set(PROFILES.values())  # of these, keys without a meaning stand in one line of each
        counts = Counter(pair for kind in of for pair in self.rows(kind).items())
        found: dict[str, Row] = {}
        for (key, row), count in sorted(counts.items(), key=lambda each: -each[1]):
            if count > 1 and (row.meaning or not profiles):
                found.setdefault(key, row)
        return found

    def section(self, title: str, kind: type, tag: str, table: str = "", shared: Mapping[str, Row] = NONE) -> str:
        """Heading, purpose, keys and an example of one kind of table; shared : rows that stand elsewhere. title : empty
        for the only kind of a page."""
        own = self.rows(kind)
        rows = [
            row._replace(meaning="") if key in shared and shared[key].meaning == row.meaning else row
            for key, row in own.items()
            if shared.get(key) != row
        ]
        others = [f"`{key}`" for key, row in own.items() if shared.get(key) == row]
        parts = [list_of(rows)] if rows else []
        if others and any(key not in own for key in shared):
            parts.append(f"[Shared](#{anchor(f'{SHARED} {table}')}): {', '.join(others)}.")
        example = self.examples.get(kind.__name__)
        parts += [f"```text\n{example}\n```"] if example else []
        body = "\n\n".join(parts) or ("" if own else "It has no further keys.")
        parts_of = ERRORS.sub("", self.definitions[kind.__name__]["description"]).split("\n\n")
        purpose = "\n\n".join(part if part.startswith("    ") else escaped(part) for part in parts_of)
        heading = f"## {title}\n\n" if title else ""
        return f"{heading}{tag}{purpose}\n\n{body}".rstrip() + "\n"


def typed(value: dict[str, Any]) -> str:
    """The type of a value of the schema, in words."""
    if value.get("enum") == list(SEQUENCES):
        return "a sequence"
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    for word in ("anyOf", "allOf"):
        if word in value:
            return " or ".join(dict.fromkeys(map(typed, value[word])))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return "[profile](#functions-of-time)" if name == "Profile" else f"[table](#{name.lower()})"
    if value.get("type") == "array":
        return array(value)
    names = {"number": "number", "integer": "integer", "boolean": "boolean", "object": "table"}
    kind = value.get("type", "value")
    return "number" if isinstance(kind, list) else names.get(kind, "text")


def array(value: dict[str, Any]) -> str:
    """The same of a list."""
    sizes = []
    while value.get("type") == "array":
        sizes.append(str(value["maxItems"]) if "maxItems" in value else "n")
        value = value["items"]
    entries = typed(value)
    if entries != "number":
        return {"text": "texts"}.get(entries, f"list of {entries}")
    known = {"n": "numbers", "3": "vector", "3 x 3": "matrix"}
    return known.get(" x ".join(sizes), " x ".join(sizes) + " numbers")


def unit_words(kind: type, key: str) -> str:
    """The unit of a key, in words."""
    unit = unit_of(keys_of(kind)[key])
    return "" if unit is None else ", ".join(text or "-" for text in (unit.text, unit.stroke) if text is not None)


def escaped(text: str) -> str:
    """A text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _classes(hint: Any) -> Iterator[type]:
    options = choices(hint)
    for option in (*options, *(entry for each in options for entry in get_args(each))):
        if isinstance(option, type) and dataclasses.is_dataclass(option):
            yield option


def examples() -> dict[str, str]:
    """An item of each kind by its class: the short one with most keys in the cases and how-tos."""
    texts = [path.read_text() for path in (EXAMPLES, NEED_FILES, *sorted((ROOT / "cases").glob("*.toml")))]
    for path in sorted((ROOT / "docs" / "howto").glob("*.md")):
        texts += TOML.findall(path.read_text()) if not path.stem.startswith("add_") else []
    found: dict[str, list[tuple[int, int, str]]] = {}
    for text in texts:
        for kind, keys, shown in items(tomllib.loads(text)):
            found.setdefault(kind.__name__, []).append((min(LONGEST - len(shown), 0), len(keys), shown))
    return {name: max(each, key=lambda one: (*one[:2], -len(one[2]), one[2]))[2] for name, each in found.items()}


def items(document: dict[str, Any]) -> Iterator[tuple[type, set[str], str]]:
    """Class, keys and text of every item and nested table of a case."""
    for table, words in kinds().items():
        first = next(iter(words))
        known = {name: kind for word, kind in words.items() for name in (word, *getattr(kind, "also", ()))}
        for name, values in document.get(table, {}).items():
            kind = known.get(values.get("kind", first))
            if kind is not None:
                lines = [f"{key} = {written(value)}" for key, value in values.items()]
                yield kind, set(values), "\n".join([f"[{table}.{written_key(name)}]", *lines])
                yield from inside(kind, values)
    for table, kind in OPTIONS.items():
        if values := document.get(table, {}):
            lines = [f"{key} = {written(value)}" for key, value in values.items()]
            yield kind, set(values), "\n".join([f"[{table}]", *lines])
            yield from inside(kind, values)


def inside(kind: type, values: dict[str, Any]) -> Iterator[tuple[type, set[str], str]]:
    """The same of the tables that are values."""
    for key, hint in keys_of(kind).items():
        value = values.get(key)
        for entry in value if isinstance(value, list) else [value]:
            options = [entry_kind for entry_kind in _classes(hint) if entry_kind is not table_kind(hint, entry)]
            nested = table_kind(hint, entry) or (options[0] if options and isinstance(entry, dict) else None)
            if nested is not None:
                shown = f"{key} = {written(value if isinstance(value, dict) else [entry])}"
                yield nested, set(entry), shown
                yield from inside(nested, entry)


def written(value: Any) -> str:
    """A value as in a file of TOML, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{written_key(key)} = {written(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, float) else f"{value!r}"


def written_key(key: str) -> str:
    """A key, with quotes where it needs them."""
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)

"""From the tables of a case file to dataclasses, a Model and the options of analyses, with all problems."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from femb.base.checks import mark_of
from femb.base.errors import ModelError, Problem
from femb.base.options import Run, beside_accuracy
from femb.base.types import Shape
from femb.base.values import shown, whole_number
from femb.case.compose import Composition, apply_override, composed, entry_of, given, override
from femb.case.schema import (
    ANYWHERE,
    Scope,
    Walked,
    choices,
    close_to,
    converted,
    in_si,
    key_problems,
    keys_of,
    required_keys,
    unknown_key,
    walked,
)
from femb.case.text import KeyPath, typed_key
from femb.elements import registry
from femb.elements.item import Item
from femb.model.model import Figure, Model

# From one table of a case file to its dataclass, with all problems.


def read_table(
    kind: type, values: dict[str, Any], scope: Scope = ANYWHERE, **named: str
) -> tuple[Any, dict[KeyPath, str]]:
    """The object of a table's dataclass, and the problems by path in the table.

    scope : what the units of its numbers depend on. ``named`` are arguments that are not in the table, such as its
    name. With problems, the object is unchecked and made of the valid keys and stand-ins: enough to check references to
    it. Problems of keys that are not given, or have a problem already, are not reported.
    """
    values, of_units = in_si(kind, values, scope)
    problems = key_problems(kind, values) | of_units
    arguments, nested = _arguments(kind, without(values, problems), named)
    of_class: dict[KeyPath, str] = {}
    item: Any = None
    try:
        item = kind(**(arguments | _stand_ins(kind, arguments)))
    except ModelError as error:
        of_class = {_in_table(kind, problem.item, bool(named)): problem.message for problem in error.problems}
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


def kind_in(values: dict[str, Any], words: Mapping[str, Any]) -> tuple[Any, str]:
    """The dataclass of a table by its key ``kind``, by default the first; or None and the problem of that key."""
    word = values.get("kind", next(iter(words)))
    if isinstance(word, str) and word in words:
        return words[word], ""
    known = {**words} | {other: kind for kind in words.values() for other in getattr(kind, "also", ())}
    known |= {kind.__name__: kind for kind in words.values() if kind.__name__ not in known}  # those of Python
    if word in list(known):
        return known[word], ""
    snake = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): kind for name, kind in known.items()}
    guesses = (
        close_to(word, snake) or [each for each in snake if each.startswith(word)] if isinstance(word, str) else []
    )
    hint = f"; did you mean {getattr(snake[guesses[0]], 'kind', guesses[0])!r}?" if guesses else ""
    return None, f"got {shown(word)}, must be one of {', '.join(map(repr, words))}{hint}"


def _in_table(kind: type, path: KeyPath, named: bool) -> KeyPath:
    """The path in a table of a problem that its class found: behind that of the item, from the first of its keys."""
    parts = [part for each in path[2 if named else 0 :] for part in each.split(".")]
    first = next((k for k, part in enumerate(parts) if part in keys_of(kind)), len(parts) - 1)
    return tuple(parts[max(first, 0) :])


def without(tables: dict[str, Any], paths: Iterable[KeyPath]) -> dict[str, Any]:
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


def _arguments(kind: type, values: dict[str, Any], named: dict[str, str]) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    """Arguments of a dataclass, with nested tables as dataclasses, and the problems of those."""
    arguments: dict[str, Any] = dict(named)
    problems: dict[KeyPath, str] = {}
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


# Tables that describe an analysis, not the model.
OPTIONS: dict[str, type] = {"run": Run}
# The table of the seed of noise.
NOISE = "noise"


UNENDED = "run without a duration"


def read_run(values: dict[str, Any]) -> tuple[Any, dict[KeyPath, str], bool]:
    """A Run of its table, its problems, and whether it has a duration, which analyses without time do not take."""
    misspelt = any(key not in keys_of(Run) and close_to(str(key), ["duration"]) for key in values)
    if "duration" in values or not values or misspelt:
        return *read_table(Run, values), True
    return *read_table(Run, values | {"duration": values.get("output_interval", 1.0)}), False


class KnownItems(NamedTuple):
    """Parts of a case that others beside it share: its tables by path and text, and its items, by table and name, with
    what they were read from. ``read_case`` fills it."""

    tables: dict[Path, tuple[str, Composition]]
    items: dict[KeyPath, tuple[object, Any]]

    def composed(self, path: Path, text: str) -> Composition:
        """The tables of a case, which the caller may change."""
        if path not in self.tables or self.tables[path][0] != text:
            self.tables[path] = text, composed(path, text)
        found = self.tables[path][1]
        return dataclasses.replace(found, document=deepcopy(found.document))


def build(
    document: dict[str, Any], known: dict[KeyPath, tuple[object, Any]] | None = None
) -> tuple[Model, dict[str, Any], list[Problem]]:
    """The model, the options by table name, and the problems; with problems the model is incomplete."""
    builder = _Builder(document, known)
    return builder.model, builder.options, builder.problems


def kinds() -> dict[str, Mapping[str, type]]:
    """The dataclasses of the items of a model by table and by the word for their kind; the first is the default."""
    return {**{table: registry.Words(table) for table in registry.tables()}, Figure.table: {Figure.kind: Figure}}


def scope_of(document: Mapping[str, Any], kind: type, values: dict[str, Any]) -> Scope:
    """Coordinates on which the units of an item's numbers depend: those of its joint, or its own if it is one."""
    if not issubclass(kind, Item):
        return ANYWHERE
    if (angles := kind.own_angles()) is not None:
        return Scope(list(angles.values()))
    name = values.get("joint")
    if not kind.follows_joint or not isinstance(name, str):
        return ANYWHERE
    joint = given(document, ("joints", name))
    of_joint = kind_in(joint, registry.Words("joints"))[0] if isinstance(joint, dict) else None
    angles = None if of_joint is None else of_joint.own_angles()
    named = [angle for key, angle in (angles or {}).items() if values.get("coordinate") in (None, key)]
    return Scope(named[:1]) if named else ANYWHERE


def entry_in_si(document: Mapping[str, Any], key: str, value: Any) -> Any:
    """A value of an entry of a case with numbers in SI units in place of texts with units; as it is without such an
    entry. Raises ModelError: another unit."""
    if not isinstance(value, str | list):
        return value
    path = typed_key(key) if "." in key else (key,)
    if path[0] == "gravity":
        return converted(value, ("m/s2",))
    size = 1 if path[0] in OPTIONS else 2
    fields, words = given(document, path[:size]), kinds().get(path[0])
    kind = OPTIONS.get(path[0]) or (kind_in(fields, words)[0] if words and isinstance(fields, dict) else None)
    if kind is None or not isinstance(fields, dict) or len(path) == size:
        return value
    own: dict[str, Any] = {path[0]: fields if size == 1 else {path[1]: fields}}
    own = deepcopy(own)
    apply_override(own, override(key, value), ())
    fields = given(own, path[:size])
    fields |= (found := in_si(kind, fields, scope_of(document, kind, fields)))[0]
    for at, text in found[1].items():
        if at == path[size:][: len(at)]:
            raise ModelError(text)
    return entry_of(own, key)


class _Builder:
    def __init__(self, document: dict[str, Any], known: dict[KeyPath, tuple[object, Any]] | None) -> None:
        self.document, self.known = document, known
        self.problems: list[Problem] = []
        self.options: dict[str, Any] = {}
        self.kinds = kinds()
        words = ["title", "gravity", NOISE, "parameters", "gains", "unmodelled", *self.kinds, *OPTIONS]
        for key in document:
            if key not in words:
                self.fail((key,), self.place_of(key) or unknown_key(key, words))
        self.model = self.empty_model()
        for table in self.kinds:
            for name, values in self.items(table):
                self.read_item(table, name, values)
        for table in OPTIONS:
            values = document.get(table, {})
            if not isinstance(values, dict):
                self.fail((table,), f"got {shown(values)}, wanted a table [{table}]")
            elif table in document:
                options, problems, ends = read_run(values)
                self.options[table if ends else UNENDED] = options
                self.problems += [Problem((table, *path), message) for path, message in problems.items()]
                # defaults that are given, too
                if not problems and "accuracy" in values and (text := beside_accuracy(values)):
                    self.fail((table, "accuracy"), text)
        earlier = _EarlierProblems(document, self.kinds, self.problems)
        of_model = self.model.problems()
        if self.model.figures:
            # imported only where there are figures, for a faster start
            from femb.pictures.check import figure_problems

            of_model = [*of_model, *figure_problems(self.model)]
        self.problems += [problem for problem in of_model if not earlier.may_cause(problem)]

    def place_of(self, key: str) -> str:
        """The message about a key outside all tables that belongs into one, or is the name of an item."""
        places = ["run"] * (key in keys_of(Run)) + [
            table for table in self.kinds if isinstance(items := self.document.get(table), dict) and key in items
        ]
        return f"unknown key; did you mean {places[0]}.{key}?" if places else ""

    def fail(self, item: KeyPath, message: str) -> None:
        self.problems.append(Problem(item, message))

    def empty_model(self) -> Model:
        title = self.document.get("title", "")
        if not isinstance(title, str):
            self.fail(("title",), f"got {shown(title)}, wanted text in quotes")
        seed = self.seed()
        gravity = self.document.get("gravity", (0.0, 0.0, 0.0))
        try:
            gravity = converted(gravity, ("m/s2",))
        except ModelError as error:
            self.fail(("gravity",), str(error))
            return Model(str(title), seed=seed)
        try:
            return Model(str(title), gravity, seed)
        except ModelError as error:
            self.problems += error.problems
            return Model(str(title))

    def seed(self) -> int:
        """The seed in the table [noise]."""
        values = self.document.get(NOISE, {})
        if not isinstance(values, dict):
            self.fail((NOISE,), f"got {shown(values)}, wanted a table [{NOISE}] with the key 'seed'")
            return 0
        for key in values:
            if key != "seed":
                self.fail((NOISE, key), unknown_key(key, ["seed"]))
        seed = values.get("seed", 0)
        if not whole_number(seed) or seed < 0:
            self.fail((NOISE, "seed"), f"got {shown(seed)}, must be a whole number of at least 0")
            return 0
        return int(seed)

    def items(self, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and values of the items in a table of tables."""
        items = self.document.get(table, {})
        if not isinstance(items, dict):
            self.fail((table,), f"got {shown(items)}, wanted tables [{table}.NAME]")
            return
        for name, values in items.items():
            if isinstance(values, dict):
                yield name, values
            else:
                self.fail((table, name), f"got {shown(values)}, wanted a table [{table}.NAME]")

    def read_item(self, table: str, name: str, values: dict[str, Any]) -> None:
        kind, problem = kind_in(values, self.kinds[table])
        if kind is None:
            self.fail((table, name, "kind"), problem)
            return
        fields = {key: value for key, value in values.items() if key != "kind"}
        scope = scope_of(self.document, kind, fields)
        # functions may have states of their own; as text 1, 1.0 and true differ
        source = None if self.known is None or "python" in fields else (kind, repr((fields, scope)))
        if source is not None and self.known is not None and self.known.get((table, name), (None,))[0] == source:
            self.model.add(self.known[table, name][1])
            return
        item, problems = read_table(kind, fields, scope, name=name)
        self.problems += [Problem((table, name, *path), message) for path, message in problems.items()]
        if source is not None and self.known is not None and not problems:
            self.known.setdefault((table, name), (source, item))
        self.model.add(item)


class _EarlierProblems:
    """The problems of single tables, which may cause apparent problems of the model.

    Consequences are problems of references by name to an item with a problem, and of missing keys of such an item.
    """

    def __init__(self, document: dict[str, Any], tables: dict[str, Any], problems: list[Problem]) -> None:
        self.document = document
        self.clean = all(problem.item[0] in OPTIONS for problem in problems)
        self.broken = {problem.item[:2] for problem in problems if problem.item[0] in tables}
        self.names = {path[1] for path in self.broken if len(path) == 2}
        for problem in problems:
            word, content = problem.item[0], document.get(problem.item[0])
            if word not in tables and word not in OPTIONS and isinstance(content, dict):
                self.names.update(content)  # items of a misspelt table

    def may_cause(self, problem: Problem) -> bool:
        """Whether a problem of the model may be a consequence of these."""
        item = problem.item
        if any(len(path) == 1 for path in self.broken):  # a table without items
            return True
        if len(item) < 2:
            return not self.clean
        value = given(self.document, item)
        if isinstance(value, str):
            return value in self.names
        return item[:2] in self.broken or not self.names.isdisjoint(texts_of(given(self.document, item[:2])))


def texts_of(value: Any) -> Iterator[str]:
    """All texts in nested tables and lists; of names with dots also their parts."""
    if isinstance(value, str):
        yield from {value, *value.split(".")}
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from texts_of(entry)

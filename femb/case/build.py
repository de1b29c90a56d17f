"""From the tables of a case file to a Model and the options of analyses, with all problems."""

from collections.abc import Iterator, Mapping
from typing import Any

from femb.base.errors import ModelError, Problem
from femb.base.options import Run
from femb.base.values import shown, whole_number
from femb.case.lines import Path
from femb.case.schema import unknown_key
from femb.case.tables import given, kind_in, read_table
from femb.case.units import ANYWHERE, Scope, converted
from femb.elements import registry
from femb.elements.joint.joint import Joint, OnCoordinate
from femb.model.figure import Figure
from femb.model.model import Model

# Tables that describe an analysis, not the model.
OPTIONS: dict[str, type] = {"run": Run}
# The table of the seed of noise.
NOISE = "noise"


def build(document: dict[str, Any]) -> tuple[Model, dict[str, Any], list[Problem]]:
    """The model, the options by table name, and the problems; with problems the model is incomplete."""
    builder = _Builder(document)
    return builder.model, builder.options, builder.problems


def kinds() -> dict[str, Mapping[str, type]]:
    """The dataclasses of the items of a model by table and by the word for their kind; the first is the default."""
    return {**{table: registry.Words(table) for table in registry.tables()}, Figure.table: {Figure.kind: Figure}}


class _Builder:
    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.options: dict[str, Any] = {}
        self.kinds = kinds()
        known = ["title", "gravity", NOISE, *self.kinds, *OPTIONS]
        for key in document:
            if key not in known:
                self.fail((key,), unknown_key(key, known))
        self.model = self.empty_model()
        for table in self.kinds:
            for name, values in self.items(table):
                self.read_item(table, name, values)
        for table, kind in OPTIONS.items():
            values = document.get(table, {})
            if not isinstance(values, dict):
                self.fail((table,), f"got {shown(values)}, wanted a table [{table}]")
            elif table in document:
                self.options[table] = self.read((table,), kind, values)
        earlier = _EarlierProblems(document, self.kinds, self.problems)
        of_model = self.model.problems()
        if self.model.figures:
            # imported only where there are figures, for a faster start
            from femb.pictures.check import figure_problems

            of_model = [*of_model, *figure_problems(self.model)]
        self.problems += [problem for problem in of_model if not earlier.may_cause(problem)]

    def fail(self, item: Path, message: str) -> None:
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
        self.model.add(self.read((table, name), kind, fields, self.scope(kind, fields), name=name))

    def scope(self, kind: type, values: dict[str, Any]) -> Scope:
        """Coordinates on which the units of an item's numbers depend: those of its joint, or its own if it is one."""
        if issubclass(kind, Joint):
            return Scope([coordinate.is_angle for coordinate in kind.coordinates])
        name = values.get("joint")
        if not issubclass(kind, OnCoordinate) or not isinstance(name, str):
            return ANYWHERE
        joint = given(self.document, ("joints", name))
        of_joint = kind_in(joint, self.kinds["joints"])[0] if isinstance(joint, dict) else None
        if of_joint is None or not issubclass(of_joint, Joint):
            return ANYWHERE
        named = [c.is_angle for c in of_joint.coordinates if values.get("coordinate") in (None, c.name)]
        return Scope(named[:1]) if named else ANYWHERE

    def read(self, item_path: Path, kind: type, values: dict[str, Any], scope: Scope = ANYWHERE, **named: str) -> Any:
        item, problems = read_table(kind, values, scope, **named)
        self.problems += [Problem((*item_path, *path), message) for path, message in problems.items()]
        return item


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
        return item[:2] in self.broken or not self.names.isdisjoint(_texts(given(self.document, item[:2])))


def _texts(value: Any) -> Iterator[str]:
    """Every text in nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)

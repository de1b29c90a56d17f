"""Study files: a `Study` in TOML, with every problem and its line."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from femb.base.errors import ModelError, Problem
from femb.base.values import shown
from femb.case.errors import located
from femb.case.json_schema import DRAFT, NAMES, SchemaWriter, described
from femb.case.lines import key_lines
from femb.case.overrides import override
from femb.case.schema import choices, key_problems, keys_of, unknown_key
from femb.case.text import parse_toml, text_of
from femb.study.outputs import OUTPUTS, Limits
from femb.study.study import Study
from femb.study.variables import VARIABLES

SET = "set"
"""The table of entries of the case for all runs."""
IN_PYTHON = ("overrides", "run", "file")
"""Fields of a Study that a file does not have: they are given by the command line, the case, and the file itself."""
KEYS = (*(key for key in keys_of(Study) if key not in IN_PYTHON), SET)


def read_study(
    path: str | Path, overrides: Iterable[str] = (), design: str | None = None, runs: int | None = None
) -> Study:
    """Read a study file; its case is relative to its folder.

    overrides : entries of the case for all runs, as of ``load_case``, after those of the table ``set``. design, runs :
    instead of those of the file. Raises CaseError with all problems and their lines.
    """
    path = Path(path)
    text = text_of(path, "a study file (TOML)")
    document = parse_toml(path, text)
    fixed = document.get(SET, {})
    problems = key_problems(Study, {key: value for key, value in document.items() if key in keys_of(Study)})
    problems |= {(key,): unknown_key(key, KEYS) for key in document if key not in KEYS}
    if not isinstance(fixed, dict):
        problems[(SET,)] = f"got {shown(fixed)}, wanted a table of entries of the case"
        fixed = {}
    case = document.get("case")
    if case is not None and not isinstance(case, str):
        problems[("case",)] = f"got {shown(case)}, wanted the path of a case file"
    words: dict[str, Any] = {
        key: document[key] for key in KEYS if key in document and key != SET and (key,) not in problems
    }
    if "case" in words:
        words["case"] = path.parent / words["case"]
    # stand-ins, whose own problems are not reported
    stand_ins: dict[str, Any] = {"case": path, "variables": {}, "outputs": {}}
    words = stand_ins | words | {"overrides": (*_entries(fixed), *overrides), "file": (path, text)}
    if design is not None:
        words["design"] = design
    if runs is not None:
        words["runs"] = runs
    study = None
    found = [Problem(key, problem) for key, problem in problems.items()]
    try:
        study = Study(**words)
    except ModelError as error:
        found += [problem for problem in error.problems if problem.item[:1] not in problems]
    if found or study is None:
        raise located(path, key_lines(text), found)
    return study


def _entries(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The entries of nested tables as ``load_case`` takes them."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _entries(value, (*path, key))
        else:
            # a key in quotes is a path too
            yield override(".".join((*path, key)), value)


# The JSON Schema of a study file, from the annotations that also check it: for completion and checks in editors.

TABLES: dict[str, tuple[Mapping[str, type], str]] = {
    "variables": (VARIABLES, "Entries of the case that differ from run to run, by name."),
    "outputs": (OUTPUTS, "Numbers of every run, by name."),
}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a study file, ready for ``json.dump``. Source: femb.Study and its tables."""
    writer = SchemaWriter()
    texts, hints = described(Study), keys_of(Study)
    properties: dict[str, Any] = {}
    for key in KEYS:
        if key == SET:
            text = "Entries of the case for all runs, as run.duration = 60.0."
            properties[key] = {"type": "object", "description": text}
        elif key == Limits.table:
            items = writer.table(Limits)
            properties[key] = {"type": "object", "description": texts[key], "additionalProperties": items}
        elif key in TABLES:
            kinds, text = TABLES[key]
            items = writer.chosen("kind", [([word], kind) for word, kind in kinds.items()], default=True)
            properties[key] = {
                "type": "object", "description": text, "propertyNames": NAMES, "additionalProperties": items,
                "minProperties": 1,
            }  # fmt: skip
        else:
            properties[key] = writer.value(choices(hints[key])) | {"description": texts.get(key, "")}
    return {
        "$schema": DRAFT,
        "title": "femb study",
        "description": "A study of femb: many runs of one case, for femb sweep.",
        "type": "object",
        "properties": properties,
        "required": ["case", *TABLES],
        "additionalProperties": False,
        "definitions": writer.definitions,
    }

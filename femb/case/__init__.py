"""Cases: files in TOML or Python that describe a model and its analysis.

``load_case`` reads both; ``femb.case.schema`` derives the keys of a file from the elements.
"""

import dataclasses
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from femb.base.errors import ModelError, Problem
from femb.base.options import Run, StartState
from femb.case.errors import CaseError, located
from femb.case.lines import key_lines
from femb.model.model import Model

Paths = tuple[tuple[str, ...], ...]

# Keys whose text is the path of a file, by table: of flexible bodies, sections, and sections along a beam.
FILES = (("bodies", "file"), ("sections", "file"), ("beams", "sections"))

__all__ = ["Case", "CaseError", "load_case"]


@dataclass(frozen=True)
class Case:
    """The content of a case file.

    text : of the file, with the options --set of the command line as comments at its end. run : None if the file has
    no ``[run]``; such a case can be checked but not integrated in time.
    """

    title: str
    text: str
    model: Model
    run: Run | None
    path: Path
    overridden: Paths = ()
    overrides: tuple[str, ...] = ()

    @property
    def start(self) -> str:
        """How the states of analyses start that are given no start of their own; the last state of a run is one for
        integrations in time only."""
        return self.run.start_word if self.run is not None else "as_given"

    def located(self, error: ModelError) -> CaseError:
        """An error of the model that was raised later, with its lines in the file."""
        if isinstance(error, CaseError):
            return error
        lines = {} if self.path.suffix == ".py" else key_lines(self.text)
        return located(self.path, lines, error.problems, self.overridden)


def load_case(path: str | Path, overrides: Iterable[str] = ()) -> Case:
    """Read a case file (TOML), or a Python script where the name ends in ``.py``.

    overrides : entries to replace before the case is checked, as ``"beams.right.elements=4"``; for a Python case
    only those of ``run``. Raises CaseError with all problems and their lines.
    """
    path = Path(path)
    return read_case(path, text_of(path), overrides)


def read_case(path: Path, text: str, overrides: Iterable[str] = ()) -> Case:
    """The case in the text of a file, as of ``load_case``; path : names the file in messages and finds those beside it.

    Raises CaseError.
    """
    overrides = tuple(overrides)
    read = _from_python if path.suffix == ".py" else _from_toml
    model, run, set_paths = read(path, text, overrides)
    comments = "".join(f"# --set {override}\n" for override in overrides)
    return Case(model.title, f"{text}\n{comments}" if comments else text, model, run, path, set_paths, overrides)


def text_of(path: Path, wanted: str = "a case file (TOML or Python)") -> str:
    """The text of a file, without the byte order mark that some editors write. Raises CaseError."""
    if path.is_dir():
        raise CaseError.of_file(path, f"is a folder, wanted {wanted}")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CaseError.of_file(path, "there is no such file") from None
    except (OSError, ValueError) as error:
        raise CaseError.of_file(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CaseError.of_file(path, f"is not UTF-8 text; wanted {wanted}", line) from error


def _from_toml(path: Path, text: str, overrides: tuple[str, ...]) -> tuple[Model, Run | None, Paths]:
    from femb.case.build import build, kinds
    from femb.case.overrides import apply_override

    document = parse_toml(path, text)
    if not document and not overrides:
        raise CaseError.of_file(path, "the file is empty: a case has at least one [bodies.NAME] or [beams.NAME]", 1)
    set_paths = tuple(apply_override(document, override, kinds()) for override in overrides)
    _locate_files(document, path.parent)
    model, options, problems = build(document)
    if problems:
        raise located(path, key_lines(text), problems, set_paths)
    return model, _located_start(options.get("run"), path.parent), set_paths


def _located_start(run: Run | None, folder: Path) -> Run | None:
    """Results that a run starts from are relative to the folder of the case file."""
    if run is None or isinstance(run.start, str):
        return run
    return dataclasses.replace(run, start=StartState(str(folder / run.start.results)))


def _locate_files(document: dict[str, Any], folder: Path) -> None:
    """Files that items name are relative to the folder of the case file."""
    for table, word in FILES:
        items = document.get(table)
        for item in items.values() if isinstance(items, dict) else ():
            if isinstance(item, dict) and isinstance(item.get(word), str):
                item[word] = str(folder / item[word])


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text; path : of its file, for messages. Raises CaseError with the line of a problem."""
    try:
        # With a newline at the end, errors of the last line have its number instead of "at end of document".
        return tomllib.loads(text if text.endswith("\n") else text + "\n")
    except RecursionError:
        raise CaseError.of_file(path, "lists or tables are nested too deeply", 1) from None
    except ValueError as error:
        line, message = _syntax_problem(text, str(error))
        raise CaseError.of_file(path, message, line) from error


def _syntax_problem(text: str, message: str) -> tuple[int, str]:
    """Line and message with column, from a message of the parser such as "Invalid value (at line 3, column 5)"."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return 1, f"not valid TOML: {message}"
    if match[2] is None:
        return text.rstrip("\n").count("\n") + 1, f"not valid TOML: {match[1]}, at the end of the file: is it complete?"
    line = int(match[2])
    if re.match(r"Cannot (overwrite|declare|mutate)", match[1]):
        return line, _given_twice(text.splitlines(), line)
    return line, f"not valid TOML: {match[1]} (column {match[3]})"


def _given_twice(lines: list[str], number: int) -> str:
    """The message about a key or table given twice, with the line where it is first given."""

    def key_of(line: str) -> str:
        bare = line.split("#")[0].strip()
        return re.sub(r"\s", "", bare) if bare.startswith("[") else re.sub(r"\s", "", bare.split("=")[0])

    key = key_of(lines[number - 1])
    if key.startswith("["):
        earlier, kind = range(number - 1), "the table"
    else:
        header = max((k for k in range(number - 1) if lines[k].lstrip().startswith("[")), default=-1)
        earlier, kind = range(header + 1, number - 1), "the key"
    first = next((k + 1 for k in earlier if key_of(lines[k]) == key), None)
    position = f", first in line {first}" if first is not None else ""
    return f"not valid TOML: {kind} {key} is given twice{position}"


def _from_python(path: Path, text: str, overrides: tuple[str, ...]) -> tuple[Model, Run | None, Paths]:
    from femb.case.script import build_script

    model, run = build_script(path, text)
    from femb.export.plots.check import figure_problems

    problems = [*model.problems(), *figure_problems(model)]
    set_paths: Paths = ()
    if overrides:
        from femb.case.overrides import apply_override, refused

        # The model of a script exists already; only the options can still be changed.
        document = {"run": _given_fields(run) if isinstance(run, Run) else dict(run or {})}
        set_paths = tuple(apply_override(document, override, ()) for override in overrides)
        for override, (first, *_) in zip(overrides, set_paths, strict=True):
            if first != "run":
                raise refused(override, "of a case in Python only run.KEY can be set")
        run = document["run"]
    if isinstance(run, dict):
        from femb.case.tables import read_table

        run, run_problems = read_table(Run, run)
        problems += [Problem(("run", *path), text) for path, text in run_problems.items()]
    elif run is not None and not isinstance(run, Run):
        raise CaseError.of_file(path, f"run is {run!r}, wanted a femb.Run or a dictionary of its fields")
    if problems:
        raise located(path, {}, problems, set_paths)
    return model, _located_start(run, path.parent), set_paths


def _given_fields(options: Any) -> dict[str, Any]:
    """The fields of options as a table, without those that are None."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return {
        name: _given_fields(value) if dataclasses.is_dataclass(value) else value
        for name, value in values.items()
        if value is not None
    }

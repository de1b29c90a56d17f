"""Cases: files in TOML or Python that describe a model and its analysis.

``load_case`` reads both; ``femb.case.schema`` derives the keys of a file from the elements.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from femb.base.errors import ModelError, Problem
from femb.base.html import Brief
from femb.base.options import Run, StartState
from femb.case.compose import Composition, composed, locate_files
from femb.case.text import CaseError, key_lines, located, text_of
from femb.model.model import Model

Paths = tuple[tuple[str, ...], ...]

__all__ = ["Case", "CaseError", "load_case"]


@dataclass(frozen=True)
class Case(Brief):
    """The content of a case file.

    text : of the file, with the files that it includes and the options --set of the command line as comments at its
    end. run : None if the file has no ``[run]``; such a case can be checked but not integrated in time. elsewhere :
    file and line of items that are not in the file itself, but in one that it includes, or in a pattern.
    """

    title: str
    text: str
    model: Model
    run: Run | None
    path: Path
    overridden: Paths = ()
    overrides: tuple[str, ...] = ()
    elsewhere: Mapping[tuple[str, ...], tuple[Path, int]] = field(default_factory=dict)

    @property
    def start(self) -> str:
        """The start of analyses that are given no start of their own; the last state of a run is one for
        integrations in time only."""
        return self.run.start_word if self.run is not None else "as_given"

    def located(self, error: ModelError) -> CaseError:
        """An error of the model that was raised later, with its lines in the file."""
        if isinstance(error, CaseError):
            return error
        lines = {} if self.path.suffix == ".py" else key_lines(self.text)
        return located(self.path, lines, error.problems, self.overridden, self.elsewhere)


# The variable that lets case files run their code, which --allow-code sets for this process and those it starts.
ALLOW_CODE = "FEMB_ALLOW_CODE"


def load_case(path: str | Path, overrides: Iterable[str] = (), allow_code: bool = False) -> Case:
    """Read the case file at ``path`` (TOML), or a Python script where the name ends in ``.py``.

    overrides : entries to replace before the case is checked, as ``"beams.right.elements=4"``; for a Python case
    those of ``run``, and arguments of ``build`` as ``"build.links=4"``. allow_code : whether controllers in it may name
    functions in Python files. Raises CaseError with all problems and their lines.
    """
    path = Path(path)
    return read_case(path, text_of(path), overrides, allow_code)


def read_case(path: Path, text: str, overrides: Iterable[str] = (), allow_code: bool = False) -> Case:
    """The case in the text of a file, as of ``load_case``; path : names the file in messages and finds those beside it.

    Raises CaseError.
    """
    overrides = tuple(overrides)
    if path.suffix == ".py":
        model, run, set_paths, composition = _from_python(path, text, overrides)
    else:
        allowed = allow_code or os.environ.get(ALLOW_CODE) == "1"
        model, run, set_paths, composition = _from_toml(path, text, overrides, allowed)
    comments = "".join(f"# {line}\n" for line in _remarks(composition, overrides))
    full = f"{text}\n{comments}" if comments else text
    return Case(model.title, full, model, run, path, set_paths, overrides, composition.elsewhere)


def _remarks(composition: Composition, overrides: tuple[str, ...]) -> list[str]:
    """The parts of a case beside its text: the texts of other files and the options of the command line."""
    files = [(f"include {path}", *content.splitlines()) for path, content in composition.included.items()]
    return [line for lines in files for line in lines] + [f"--set {override}" for override in overrides]


def _from_toml(
    path: Path, text: str, overrides: tuple[str, ...], allow_code: bool
) -> tuple[Model, Run | None, Paths, Composition]:
    from femb.case.build import build, kinds
    from femb.case.compose import apply_override

    composition = composed(path, text)
    document = composition.document
    if not document and not overrides:
        raise CaseError.of_file(path, "the file is empty: a case has at least one [bodies.NAME] or [beams.NAME]", 1)
    set_paths = tuple(apply_override(document, override, kinds()) for override in overrides)
    locate_files(document, path.parent)
    model, options, problems = build(document)
    problems += [] if allow_code else _code_in(document)
    if problems:
        raise located(path, key_lines(text), problems, set_paths, composition.elsewhere)
    return model, _located_start(options.get("run"), path.parent), set_paths, composition


def _code_in(document: dict[str, Any]) -> list[Problem]:
    """A problem for each function in Python that a case file names."""
    items = document.get("controllers", {})
    named = [name for name, item in items.items() if isinstance(item, dict) and "python" in item]
    text = "is code in Python, which runs only if you allow it: read it, then give --allow-code (allow_code=True)"
    return [Problem(("controllers", name, "python"), text) for name in named]


def _located_start(run: Run | None, folder: Path) -> Run | None:
    """Results that a run starts from are relative to the folder of the case file."""
    if run is None or isinstance(run.start, str):
        return run
    return dataclasses.replace(run, start=StartState(str(folder / run.start.results)))


def _from_python(path: Path, text: str, overrides: tuple[str, ...]) -> tuple[Model, Run | None, Paths, Composition]:
    from femb.case.compose import apply_override, parse_override, refused
    from femb.case.script import build_script

    split = {override: parse_override(override) for override in overrides}
    arguments = {key[1]: (override, value) for override, (key, value) in split.items() if _is_argument(key)}
    model, run = build_script(path, text, arguments)
    from femb.pictures.check import figure_problems

    problems = [*model.problems(), *figure_problems(model)]
    set_paths: Paths = ()
    if overrides:
        # The model of a script exists already; only the options of the run can still be changed.
        document = {"run": _given_fields(run) if isinstance(run, Run) else dict(run or {})}
        set_paths = tuple(
            key if _is_argument(key) else apply_override(document, override, ()) for override, (key, _) in split.items()
        )
        for override, key in zip(split, set_paths, strict=True):
            if key[0] != "run" and not _is_argument(key):
                raise refused(override, "of a case in Python only run.KEY and build.ARGUMENT can be set")
        run = document["run"]
    if isinstance(run, dict):
        from femb.case.build import read_table

        run, run_problems = read_table(Run, run)
        problems += [Problem(("run", *path), text) for path, text in run_problems.items()]
    elif run is not None and not isinstance(run, Run):
        raise CaseError.of_file(path, f"run is {run!r}, wanted a femb.Run or a dictionary of its fields")
    if problems:
        raise located(path, {}, problems, set_paths)
    return model, _located_start(run, path.parent), set_paths, Composition()


def _is_argument(key: tuple[str, ...]) -> bool:
    """Whether an override names an argument of ``build``."""
    return len(key) == 2 and key[0] == "build"


def _given_fields(options: Any) -> dict[str, Any]:
    """The fields of options as a table, without those that are None."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return {
        name: _given_fields(value)
        if dataclasses.is_dataclass(value)
        else list(value)
        if type(value) is tuple
        else value
        for name, value in values.items()
        if value is not None
    }

"""Cases: files in TOML that describe a model and its analysis, and scripts in Python.

A script defines ``build() -> Model`` and, for integration in time, ``run``. ``load_case`` reads both;
``femb.case.schema`` derives the keys of a file from the elements.
"""

import contextlib
import dataclasses
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from femb.base.errors import FembError, ModelError, Problem
from femb.base.html import Brief
from femb.base.options import Run, StartState, set_aside
from femb.base.values import check_kind, nearest
from femb.case.compose import VALUED, Composition, apply_override, composed, locate_files, refused
from femb.case.text import CaseError, dotted, key_lines, located, text_of, typed_key
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.case.build import KnownItems

Paths = tuple[tuple[str, ...], ...]

__all__ = ["Case", "CaseError", "load_case"]


def build_script(path: Path, text: str, given: Mapping[str, tuple[str, Any]] | None = None) -> tuple[Model, Any]:
    """The model of a script and its ``run``: a Run, a dictionary of its fields, or None.

    The script is executed as a module, without its ``if __name__ == "__main__":``; its folder is searched for imports
    as when Python runs it. given : arguments of ``build`` by name, each with the text of its --set and its value.
    Raises CaseError with the script's line if it fails, has no ``build``, or ``build`` returns no Model.
    """
    module = types.ModuleType(f"femb_case_{path.stem}")
    module.__file__ = str(path)
    # Functions of the case can be pickled, as for parameter studies in several processes, only if the module is known.
    sys.modules[module.__name__] = module
    with _failures_located(path), _first_on_path(path.resolve().parent):
        exec(compile(text, str(path), "exec"), module.__dict__)
        make = getattr(module, "build", None)
        if not callable(make):
            raise CaseError.of_file(path, "defines no build(): a case in Python is def build() -> femb.Model: ...")
        model = make(**_arguments(make, given or {}))
    if not isinstance(model, Model):
        raise CaseError.of_file(path, f"build() returned {type(model).__name__}, wanted a femb.Model")
    return model, getattr(module, "run", None)


def _arguments(make: Callable[..., Any], given: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    """The values of given arguments of a function. Raises CaseError where it has no argument of that name."""
    if given:
        parameters = inspect.signature(make).parameters.values()
        known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        anything = any(each.kind is each.VAR_KEYWORD for each in parameters)
        for name, (text, _) in given.items():
            if name not in known and not anything:
                there = f"there are: {', '.join(known)}" if known else "it has none"
                raise refused(text, f"build() has no argument {name!r}{nearest(name, known) or f'; {there}'}")
    return {name: value for name, (_, value) in given.items()}


@contextlib.contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


@contextlib.contextmanager
def _failures_located(path: Path) -> Iterator[None]:
    """Turn every error of a script into a CaseError with its line."""
    try:
        yield
    except CaseError:
        raise
    except ModelError as error:
        location = f"{path}:{_line(error, path)}"
        raise CaseError([f"{location}: {problem}" for problem in error.problems], error.problems) from error
    except SyntaxError as error:
        line = error.lineno if error.filename == str(path) else _line(error, path)
        raise CaseError.of_file(path, f"{type(error).__name__}: {error.msg}", line) from error
    except SystemExit as error:
        raise CaseError.of_file(path, "the script ended Python (sys.exit)", _line(error, path)) from error
    except Exception as error:
        name = "" if isinstance(error, FembError) else f"{type(error).__name__}: "
        raise CaseError.of_file(path, f"{name}{error}", _line(error, path)) from error


def _line(error: BaseException, path: Path) -> int | None:
    """The innermost line of the script in the error's traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return frames[-1].lineno if frames else None


@dataclass(frozen=True)
class Case(Brief):
    """The content of a case file.

    text : of the file, with the files that it includes and the options --set of the command line as comments at its
    end. run : None if the file has no ``[run]``, or one without a duration; such a case can be checked but not
    integrated in time. elsewhere : file and line of items that are not in the file itself, but in one that it includes,
    or in a pattern. parameters : of the table [parameters], by name, each a Parameter. unended : the options of a
    ``[run]`` without a duration, with a stand-in for it.
    """

    title: str
    text: str
    model: Model
    run: Run | None
    path: Path
    overridden: Paths = ()
    overrides: tuple[str, ...] = ()
    elsewhere: Mapping[tuple[str, ...], tuple[Path, int]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unended: Run | None = None

    @property
    def start(self) -> str:
        """The start of analyses that are given no start of their own, in the last state of a run as it is there."""
        return "as_given" if self.options is None else self.options.start_word

    @property
    def options(self) -> Run | None:
        """The options of ``[run]``, also without a duration."""
        return self.run or self.unended

    def located(self, error: ModelError) -> CaseError:
        """An error of the model that was raised later, with its lines in the file."""
        if isinstance(error, CaseError):
            return error
        lines = {} if self.path.suffix == ".py" else key_lines(self.text)
        return located(self.path, lines, error.problems, self.overridden, self.elsewhere)


Given: TypeAlias = Model | Case | str | Path
"""What functions about a model take: a model, a case, or the path of its file."""

# The variable that lets case files run their code, which --allow-code sets for this process and those it starts.
ALLOW_CODE = "FEMB_ALLOW_CODE"


def load_case(path: str | Path, overrides: Iterable[str] = (), allow_code: bool = False) -> Case:
    """Read a case file (TOML), or a Python script where the name ends in ``.py``.

    Parameters:
        path: of the file.
        overrides: entries to replace before the case is checked, as ``"beams.right.elements=4"``; for a Python case
            those of ``run``, and arguments of ``build`` as ``"build.links=4"``.
        allow_code: whether controllers in it may name functions in Python files.

    Raises:
        CaseError: all problems and their lines.
    """
    check_kind("load_case", path, (str, os.PathLike), "the path of a case file")
    path = Path(path)
    return read_case(path, text_of(path), overrides, allow_code)


def read_case(
    path: Path, text: str, overrides: Iterable[str] = (), allow_code: bool = False, known: "KnownItems | None" = None
) -> Case:
    """The case in the text of a file, as in ``load_case``; path : names the file in messages and finds those beside it.

    known : of cases that are read again and again with other overrides.

    Raises CaseError.
    """
    overrides = tuple(overrides)
    parameters: Mapping[str, Any] = {}
    if path.suffix == ".py":
        model, run, unended, set_paths, composition = _from_python(path, text, overrides)
    else:
        allowed = allow_code or os.environ.get(ALLOW_CODE) == "1"
        model, run, unended, set_paths, composition, parameters = _from_toml(path, text, overrides, allowed, known)
    comments = "".join(f"# {line}\n" for line in _remarks(composition, overrides))
    full = f"{text}\n{comments}" if comments else text
    return Case(model.title, full, model, run, path, set_paths, overrides, composition.elsewhere, parameters, unended)


def _remarks(composition: Composition, overrides: tuple[str, ...]) -> list[str]:
    """The parts of a case beside its text: the texts of other files and the options of the command line."""
    files = [(f"include {path}", *content.splitlines()) for path, content in composition.included.items()]
    return [line for lines in files for line in lines] + [f"--set {override}" for override in overrides]


def _from_toml(
    path: Path, text: str, overrides: tuple[str, ...], allow_code: bool, known: "KnownItems | None"
) -> tuple[Model, Run | None, Run | None, Paths, Composition, Mapping[str, Any]]:
    from femb.case.build import UNENDED, build

    composition = composed(path, text) if known is None else known.composed(path, text)
    document = composition.document
    if not document and not overrides:
        raise CaseError.of_file(path, "the file is empty: a case has at least one [bodies.NAME] or [beams.NAME]", 1)
    if "case" in document and "variables" in document:
        raise CaseError.of_file(path, f"this is a study, of many runs of a case: femb sweep {path} carries it out")
    set_paths = _overridden(document, overrides)
    locate_files(document, path.parent)
    tables: dict[str, Any] = {word: document[word] for word in VALUED if word in document}
    parameters, of_parameters = _parameters_in(document)
    model, options, problems = build(document, None if known is None else known.items)
    problems = [_at_value(each, parameters) for each in problems]
    problems += [*of_parameters, *([] if allow_code else _code_in(document))]
    if problems and tables:
        from femb.case.parameters import entries_without_item

        problems += entries_without_item(document, model, tables)
    if problems:
        raise located(path, key_lines(text), problems, set_paths, composition.elsewhere)
    run, unended = (_located_start(options.get(word), path.parent) for word in ("run", UNENDED))
    return model, run, unended, set_paths, composition, parameters


def _at_value(problem: Problem, parameters: Mapping[str, Any]) -> Problem:
    """A problem of the model; of a number that a parameter sets, at the value of this."""
    for name, each in parameters.items():
        paths = () if each.value is None else [typed_key(key) for key in each.keys]
        if any(problem.item[: len(path)] == path for path in paths):
            return Problem((each.table, name, "value"), f"{dotted(problem.item)}: {problem.message}")
    return problem


def _overridden(document: dict[str, Any], overrides: Iterable[str]) -> Paths:
    """Set entries of the command line in a case, and return their paths."""
    from femb.case.build import kinds

    if document.keys().isdisjoint(VALUED):
        set_paths = tuple(apply_override(document, text, kinds()) for text in overrides)
    else:  # imported only where there are parameters, for a faster start
        from femb.case.parameters import apply_overrides

        set_paths = apply_overrides(document, overrides)
    _set_aside(document, set_paths)
    return set_paths


def _set_aside(document: dict[str, Any], set_paths: Paths) -> None:
    """Take options of the run out of a case for which others stand that are set."""
    for word in set_aside(path[1] for path in set_paths if path[0] == "run" and len(path) > 1):
        document["run"].pop(word, None)


def _parameters_in(document: dict[str, Any]) -> tuple[Mapping[str, Any], list[Problem]]:
    """The parameters of a case, whose values are set, and the problems of these, of gains and of unmodelled dynamics;
    all are taken out of its tables."""
    if not {"parameters", "gains", "unmodelled"} & document.keys():
        return {}, []
    from femb.case.parameters import TunedGain, read_parameters, read_tables, take_parameters
    from femb.case.unmodelled import Unmodelled

    gains, errors = (document.pop(kind.table, {}) for kind in (TunedGain, Unmodelled))
    parameters, problems = take_parameters(document)
    problems += read_parameters(gains, True, document, TunedGain)[1]
    return parameters, problems + read_tables(Unmodelled, errors)[1]


def rewritten(path: Path, overrides: Iterable[str], to: Path) -> str:
    """The text of a case file (TOML) with the entries of ``overrides``, what it includes and repeats in place, for a
    file ``to`` in any folder. Raises CaseError."""
    from femb.case.compose import as_toml

    document = composed(path, text_of(path)).document
    _overridden(document, overrides)
    folder = Path(os.path.relpath(path.resolve().parent, to.resolve().parent))
    locate_files(document, folder)
    start = document.get("run", {}).get("start")
    if isinstance(start, dict) and "results" in start:
        start["results"] = str(folder / start["results"])
    return as_toml(document)


def _code_in(document: dict[str, Any]) -> list[Problem]:
    """A problem for each function in Python that a case file names."""
    tables = [(table, items) for table, items in document.items() if isinstance(items, dict)]
    named = [
        (table, name)
        for table, items in tables
        for name, item in items.items()
        if isinstance(item, dict) and "python" in item
    ]
    text = "is code in Python, which runs only if you allow it: read it, then give --allow-code (allow_code=True)"
    return [Problem((*path, "python"), text) for path in named]


def _located_start(run: Run | None, folder: Path) -> Run | None:
    """Results that a run starts from are relative to the folder of the case file."""
    if run is None or isinstance(run.start, str):
        return run
    return dataclasses.replace(run, start=StartState(str(folder / run.start.results)))


def _from_python(
    path: Path, text: str, overrides: tuple[str, ...]
) -> tuple[Model, Run | None, Run | None, Paths, Composition]:
    from femb.case.compose import apply_override, parse_override, refused

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
        _set_aside(document, set_paths)
        run = document["run"]
    ends = True
    if isinstance(run, dict):
        from femb.case.build import read_run

        run, run_problems, ends = read_run(run)
        problems += [Problem(("run", *path), text) for path, text in run_problems.items()]
    elif run is not None and not isinstance(run, Run):
        raise CaseError.of_file(path, f"run is {run!r}, wanted a femb.Run or a dictionary of its fields")
    if problems:
        raise located(path, {}, problems, set_paths)
    run = _located_start(run, path.parent)
    return model, run if ends else None, None if ends else run, set_paths, Composition()


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

"""Study: the description of many runs of one case and of what they vary, from a file or from Python."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.errors import FembWarning, ModelError, Problem
from femb.base.html import Brief
from femb.base.meanings import Description
from femb.base.options import AUTO, Run
from femb.base.types import OneOf, SeveralForms, Unit
from femb.base.values import number_problem, shown
from femb.case import ALLOW_CODE
from femb.case.build import kind_in, kinds, read_table
from femb.case.compose import composed, override
from femb.case.parameters import (
    OF_ENTRY,
    common_number,
    document_of,
    numbers_in_si,
    overlaps,
    read_parameters,
    tables_of,
)
from femb.case.schema import VALUE, Scope, key_problems, keys_of, unknown_key
from femb.case.text import CaseError, key_lines, located, parse_toml, text_of
from femb.model.model import Model
from femb.results.sweep import FEASIBLE
from femb.study.box import EVALUATIONS
from femb.study.linear_outputs import OUTPUTS
from femb.study.outputs import StudyOutput
from femb.study.variables import DESIGNS, LISTED, OPTIMIZE, OPTIMIZERS, VARIABLES, WORST, Uniform, Variable, rows_of

Build = Callable[..., Model]
CaseForms = Annotated[Any, SeveralForms((str,))]
Tables = Annotated[Any, SeveralForms((dict,))]
# More runs than this are a mistake, such as a grid of too many variables.
MOST_RUNS = 10_000_000
# Names of columns of the table that are not variables or outputs.
RESERVED = ("run", FEASIBLE, "status", "message")


SENSES = ("least", "largest")
"""First word of what is best, before the name of an output."""


@dataclass(frozen=True, kw_only=True)
class Limits(Description):
    """Limits of an output, in its unit, that a run has to keep; at least one of them. Texts with units are those
    of the output."""

    table: ClassVar[str] = "constraints"

    name: str
    """of the output"""
    least: Annotated[float | None, Unit(VALUE)] = None
    """smallest value that is allowed"""
    largest: Annotated[float | None, Unit(VALUE)] = None
    """largest value that is allowed"""

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            if check.bad:
                return
            if self.least is None and self.largest is None:
                check.fail("largest", "is missing; a constraint has least, largest or both")
            elif self.least is not None and self.largest is not None:
                check.require("largest", self.largest >= self.least, f"must be at least least = {self.least:g}")


@dataclass(frozen=True)
class Study(Brief):
    """Many runs of one case.

    Raises ModelError with every problem.
    """

    table: ClassVar[str] = "study"

    case: CaseForms
    """path of a case file; in Python also a function of the variables that returns a femb.Model"""
    variables: Tables = field(default_factory=dict)
    """tables by name, in the order of the columns of the result; see docs/howto/sweep.md"""
    outputs: Tables = field(default_factory=dict)
    """tables by name, in the order of the columns of the result; see docs/howto/sweep.md"""
    design: Annotated[str, OneOf(DESIGNS)] = "grid"
    """how the runs are chosen: "grid", every combination of the variables' values; "list", their first values, their
    second, and so on; "random", "latin-hypercube" or "sobol", so many runs of their distributions; "saltelli", runs (n
    + 2) of n variables, for Sobol indices; "optimize", at most so many runs in search of the best within the
    constraints; "worst", corners and random points of the bounds of the variables, and a search from there for the
    opposite of ``best``, which the last row has"""
    runs: int | None = None
    """number of samples of a random design, or of runs of a search"""
    seed: int = 0
    """of a random design or a search, a whole number"""
    keep: bool = False
    """whether the results of every run are written"""
    title: str = ""
    """for reports"""
    parameters: Tables = field(default_factory=dict)
    """tables by name of entries with a range, as those of a case; they are variables of the study"""
    constraints: Annotated[Any, SeveralForms((dict,))] = field(default_factory=dict)
    """limits by the name of an output, least, largest or both"""
    best: str | None = None
    """the run that the table names, among those that keep all limits: "least NAME" or "largest NAME" of an output"""
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = AUTO
    """of a search: "slsqp" or "trust-constr" by gradients, "differential-evolution" without; "auto", slsqp,
    but differential-evolution among choices, and of outputs without derivatives"""
    starts: int = 1
    """number of starts of a search by gradients: the values of the case, and points of a Sobol sequence"""
    overrides: tuple[str, ...] = ()
    """entries of the case for all runs, as in femb.load_case"""
    run: Annotated[Any, SeveralForms(())] = None
    """a femb.Run, or its fields, for a case that is a function; else that of the case file"""
    file: tuple[Path, str] | None = field(default=None, repr=False)
    """path and text of the study file, for messages"""
    rows: list[tuple[Any, ...]] = field(init=False, repr=False, default_factory=list)
    """the values of the variables of each run, of a search those of its first generation"""
    given_limits: dict[str, Mapping[str, Any]] = field(init=False, repr=False, default_factory=dict)
    """the constraints as they are given, with texts"""

    def __post_init__(self) -> None:
        with Checks(self) as check:
            self._check_case(check)
            self._read_parameters(check)
            for word, kinds in (("variables", VARIABLES), ("outputs", OUTPUTS)):
                object.__setattr__(self, word, self._items(check, word, kinds))
            self._check_best(check)
            check.whole("runs", 1, MOST_RUNS)
            check.whole("seed", 0)
            check.whole("starts", 1, 1000)
            if not check.problems:
                self._check_design(check)
            if not check.problems:
                self._check_columns(check)
            check.problems = [Problem(self._as_given(each.item), each.message) for each in check.problems]
        rows = rows_of(self.design, tuple(self.variables.values()), self.runs, self.seed)
        object.__setattr__(self, "rows", rows)

    @property
    def most(self) -> int:
        """Number of runs, of a search the largest."""
        if self.design == WORST:
            return len(self.rows) + EVALUATIONS * len(self.variables) + 1
        return self.runs or 0 if self.design == OPTIMIZE else len(self.rows)

    @property
    def limits(self) -> dict[str, tuple[float | None, float | None]]:
        """Least and largest value, or None, by output."""
        return {name: (each.least, each.largest) for name, each in self.constraints.items()}

    @property
    def build(self) -> Build | None:
        """The function that makes the model; None of a case file."""
        return None if isinstance(self.case, str | Path) else self.case

    def located(self, error: ModelError) -> ModelError:
        """An error of a variable, an output or a limit that was found later, with its lines in the study file."""
        of_study = all(
            problem.item[:1] in (("variables",), ("outputs",), ("constraints",)) for problem in error.problems
        )
        if isinstance(error, CaseError) or not of_study:
            return error
        problems = [Problem(self._as_given(problem.item), problem.message) for problem in error.problems]
        if self.file is None:
            return ModelError(*problems)
        return _located(*self.file, self.case, problems)

    def _as_given(self, item: tuple[str, ...]) -> tuple[str, ...]:
        """The path of a variable as that of the parameter which it is of."""
        if item[0] != "variables" or len(item) < 2 or item[1] not in self.parameters:
            return item
        entry = "entry" if self.parameters[item[1]].entries is None else "entries"
        words = {"key": entry, "kind": "distribution"}
        return ("parameters", item[1], *(words.get(word, word) for word in item[2:]))

    def _check_case(self, check: Checks) -> None:
        if isinstance(self.case, str | Path):
            if self.run is not None:
                check.fail("run", "is that of the case file; change it by overrides, as 'run.duration=10.0'")
        elif not callable(self.case):
            check.fail("case", f"got {shown(self.case)}, wanted the path of a case file")
        elif isinstance(self.run, Mapping):
            run, problems = read_table(Run, dict(self.run))
            object.__setattr__(self, "run", run)
            for path, text in problems.items():
                check.fail_at(("run", *path), text)
        elif self.run is not None and not isinstance(self.run, Run):
            check.fail("run", f"got {shown(self.run)}, wanted a femb.Run, or a dictionary of its fields")

    def _document(self) -> dict[str, Any] | None:
        """The tables of the case for units and nominal values of entries; None where it has none, or none are asked."""
        tables = self.variables if isinstance(self.variables, Mapping) else {}
        made = [name for name, each in tables.items() if isinstance(each, Variable)]
        texts = [each.get(word) for each in tables.values() if isinstance(each, Mapping) for word in OF_ENTRY]
        asked = isinstance(self.parameters, Mapping) and not set(self.parameters) <= set(made)
        if not (asked or any(isinstance(value, str) for value in texts)) or not isinstance(self.case, str | Path):
            return None
        path = Path(self.case)
        if path.suffix != ".toml" or (self.file is not None and path == self.file[0]):
            return None
        return document_of(path, text_of(path), self.overrides)

    def _read_parameters(self, check: Checks) -> None:
        """Read the parameters, and add the variables that they are."""
        document = self._document()
        found, problems = read_parameters(self.parameters, self.build is None, document)
        for problem in problems:
            check.fail_at(problem.item, problem.message)
        object.__setattr__(self, "parameters", found)
        variables = dict(self.variables) if isinstance(self.variables, Mapping) else {}
        broken = {problem.item[1] for problem in problems if len(problem.item) > 1}
        for name, parameter in found.items():
            if name in broken or isinstance(variables.get(name), Variable):
                continue  # a copy of a study has its variables
            if name in variables:
                check.fail_at(("parameters", name), "is the name of a variable too; give it once")
                continue
            try:
                nominal = None if document is None else common_number(document, parameter.keys)
                if self.build is not None and parameter.value is None and isinstance(parameter.range, str | None):
                    # a number in per cent, or a derivative, is about a value
                    if number_problem(default := given_entries(self).get(parameter.keys[0])):
                        raise ModelError.at(("parameters", name, "value"), "is missing; the argument has no default")
                    parameter = replace(parameter, value=default)
                variables[name] = parameter.as_variable(nominal)
            except ModelError as error:
                for problem in error.problems:
                    check.fail_at(problem.item, problem.message)
        converted, of_units = numbers_in_si(Variable, variables, document)
        for item, text in of_units.items():
            check.fail_at(item, text)
        if variables:
            object.__setattr__(self, "variables", converted)

    def _items(self, check: Checks, word: str, kinds: Mapping[str, type]) -> dict[str, Any]:
        """The items of a table of tables by name; with problems, those that can be read."""
        tables = getattr(self, word)
        if word == "variables" and not tables and self.parameters:
            return {}  # those of parameters, which are wrong themselves
        if not isinstance(tables, Mapping) or not tables:
            check.fail(word, f"got {shown(tables)}, wanted at least one table [{word}.NAME]")
            return {}
        items: dict[str, Any] = {}
        for name, values in tables.items():
            if isinstance(values, Variable | StudyOutput):
                items[name] = values
                continue
            if not isinstance(values, Mapping):
                check.fail_at((word, str(name)), f"got {shown(values)}, wanted a table [{word}.NAME]")
                continue
            kind, problem = kind_in(dict(values), kinds)
            if kind is None:
                check.fail_at((word, name, "kind"), problem)
                continue
            item, problems = read_table(kind, {k: v for k, v in values.items() if k != "kind"}, name=name)
            known = {problem.item for problem in check.problems}
            for path, text in problems.items():
                if (*check.path, word, name, *path) not in known:
                    check.fail_at((word, name, *path), text)
            items[name] = item
        return items

    def _check_best(self, check: Checks) -> None:
        """Read the constraints, and compare the names of outputs in them and in ``best``."""
        limits: dict[str, Limits] = {}
        if not isinstance(self.constraints, Mapping):
            check.fail("constraints", f"got {shown(self.constraints)}, wanted tables [constraints.NAME] of outputs")
            return
        for name, values in self.constraints.items():
            if name not in self.outputs:
                text = f"there is no output of this name; there are: {', '.join(self.outputs)}"
                check.fail_at(("constraints", str(name)), text)
            elif isinstance(values, Limits):
                limits[name] = values
            elif not isinstance(values, Mapping):
                check.fail_at(("constraints", name), f"got {shown(values)}, wanted least and largest")
            else:
                item, problems = self._read_limits(name, values, self.outputs[name].known_units)
                for path, text in problems.items():
                    check.fail_at(("constraints", name, *path), text)
                limits[name], self.given_limits[name] = item, values
        object.__setattr__(self, "constraints", limits)
        if isinstance(self.best, str):
            sense, _, name = self.best.partition(" ")
            if sense not in SENSES or name not in self.outputs:
                wanted = ", ".join(f"{word} {each}" for each in self.outputs for word in SENSES)
                check.fail("best", f"got {shown(self.best)}, wanted one of: {wanted}")

    @staticmethod
    def _read_limits(name: str, values: Mapping[str, Any], units: tuple[str, ...]) -> tuple[Limits, dict[Any, str]]:
        """The limits of an output in one of these units, and problems by path."""
        return read_table(Limits, dict(values), Scope(value=units), name=name)

    def check_units(self, units: Mapping[str, str]) -> None:
        """Raise ModelError for limits with units that are not those of the outputs, as the model tells these."""
        for name, values in self.given_limits.items():
            if unit := units.get(name, ""):
                _, problems = self._read_limits(name, values, (unit,))
                if problems:
                    raise ModelError(*(Problem(("constraints", name, *path), text) for path, text in problems.items()))

    def _check_design(self, check: Checks) -> None:
        levels = {name: variable.levels() for name, variable in self.variables.items()}
        if self.design == OPTIMIZE and self.best is None:
            check.fail("best", f"is missing: the design {OPTIMIZE!r} needs an output that is to be least or largest")
        if self.design == WORST:
            if self.runs is not None:
                text = f"got {self.runs}, but the design {WORST!r} searches until it has converged; leave it out"
                check.fail("runs", text)
            if self.best is None:
                check.fail(
                    "best", f"is missing: the design {WORST!r} seeks its opposite: give largest NAME of a margin"
                )
            for name, variable in self.variables.items():
                if not isinstance(variable, Uniform):
                    text = f"got {variable.kind!r}, wanted uniform: the worst is sought between bounds"
                    check.fail_at(("variables", name, "kind"), text)
            return
        if self.design not in LISTED:
            if self.runs is None:
                check.fail("runs", f"is missing: the design {self.design!r} needs the number of samples")
            elif self.design in ("sobol", "saltelli") and self.runs & (self.runs - 1):
                above = 1 << self.runs.bit_length()
                warnings.warn(
                    f"runs: {self.runs} is no power of two; a Sobol sequence is balanced for {above // 2} or {above}",
                    FembWarning,
                    stacklevel=4,
                )
            return
        if self.runs is not None:
            check.fail("runs", f"got {self.runs}, but the values of a {self.design} give the number of runs")
        counts = {name: len(values) for name, values in levels.items() if values is not None}
        if self.design == "list" and len(set(counts.values())) > 1:
            text = ", ".join(f"{name} {count}" for name, count in counts.items())
            check.fail("variables", f"got different numbers of values, {text}; a list needs as many of each")
        size = 1.0
        for count in counts.values():
            size *= count
        if self.design == "grid" and size > MOST_RUNS:
            check.fail("design", f"gives {size:.3g} runs, wanted at most {MOST_RUNS:g}; take a random design")

    def check_runs(self) -> None:
        """Raise ModelError where the design gives no runs: a grid or a list of variables that have a range alone.

        Sensitivities, tolerances and uncertain models need no runs.
        """
        ranged = [name for name, variable in self.variables.items() if variable.levels() is None]
        if self.design in LISTED and ranged:
            text = (
                f"is a range, but the design is a {self.design}, which needs values: give variables of kind 'values' "
                "or 'range', or design = 'latin-hypercube' and the number of runs"
            )
            raise ModelError(*(Problem(("variables", name), text) for name in ranged))

    def _check_columns(self, check: Checks) -> None:
        names = [*self.variables, *self.outputs]
        for word, items in (("variables", self.variables), ("outputs", self.outputs)):
            for name in items:
                if name in RESERVED:
                    check.fail_at((word, name), f"is the name of another column; not {' or '.join(RESERVED)}")
        for name in self.outputs:
            if names.count(name) > 1:
                check.fail_at(("outputs", name), "is the name of a variable too; both are columns of one table")
        for name, text in overlaps({name: each.keys for name, each in self.variables.items()}):
            check.fail_at(("variables", name, "key"), text)
        for name, variable in self.variables.items():
            if self.build is None and variable.key is None:
                check.fail_at(("variables", name, "key"), "is missing")
            if self.build is not None and variable.relative:
                check.fail_at(("variables", name, "relative"), "has no meaning for a case that is a function")


def given_entries(study: Study, without: str = "") -> dict[str, Any]:
    """The tables of the case of a study; of a function the defaults of its arguments.

    without : a parameter whose factor does not act.
    """
    if study.build is not None:
        given = inspect.signature(study.build).parameters.values()
        return {each.name: each.default for each in given if each.default is not each.empty}
    path = Path(study.case).resolve()
    return document_of(path, text_of(path), study.overrides, without) if path.suffix != ".py" else {}


def multiplied(study: Study, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The tables of the case with the numbers that each factor multiplies, by its name, where others act: a factor of
    the case with this name, in whose place it is."""
    acting, found = given_entries(study), {name: given_entries(study, name) for name in names}
    return {name: document for name, document in found.items() if document != acting}


# Study files: a `Study` in TOML, with every problem and its line.

SET = "set"
"""The table of entries of the case for all runs."""
IN_PYTHON = ("overrides", "run", "file")
"""Fields of a Study that a file does not have: they are given by the command line, the case, and the file itself."""
KEYS = (*(key for key in keys_of(Study) if key not in IN_PYTHON), SET)


def read_study(
    path: str | Path, overrides: Iterable[str] = (), design: str | None = None, runs: int | None = None
) -> Study:
    """Read a study file; its case is relative to its folder.

    overrides : entries of the case for all runs, as in ``load_case``, after those of the table ``set``. design, runs :
    instead of those of the file. Raises CaseError with all problems and their lines.
    """
    path = Path(path)
    text = text_of(path, "a study file (TOML)")
    document = parse_toml(path, text)
    if "case" not in document and not document.keys().isdisjoint((*kinds(), "patterns")):
        raise CaseError.of_file(path, f"this is a case, wanted a study of one: femb run {path} runs it")
    fixed = document.get(SET, {})
    problems = key_problems(Study, {key: value for key, value in document.items() if key in keys_of(Study)})
    problems |= {(key,): unknown_key(key, KEYS) for key in document if key not in KEYS}
    if not isinstance(fixed, dict):
        problems[(SET,)] = f"got {shown(fixed)}, wanted a table of entries of the case"
        fixed = {}
    case = document.get("case")
    if case is not None and not isinstance(case, str):
        problems[("case",)] = f"got {shown(case)}, wanted the path of a case file"
    elif str(case).endswith(".py") and os.environ.get(ALLOW_CODE) != "1":
        problems[("case",)] = (
            f"{case} is code in Python, which runs only if you allow it: read it, then give --allow-code, or in Python "
            "a femb.Study of that case"
        )
    words: dict[str, Any] = {
        key: document[key] for key in KEYS if key in document and key != SET and (key,) not in problems
    }
    if "case" in words:
        words["case"] = path.parent / words["case"]
    given = (*_entries(fixed), *overrides)
    # stand-ins, whose own problems are not reported
    stand_ins: dict[str, Any] = {"case": path}
    if not {"variables", "parameters"} & document.keys() and isinstance(case, str) and case.endswith(".toml"):
        of_case = tables_of(path.parent / case, text_of(path.parent / case), given)
        stand_ins["parameters"] = of_case.get("parameters", {})
    words = stand_ins | words | {"overrides": given, "file": (path, text)}
    if design is not None:
        words["design"] = design
    if runs is not None:
        words["runs"] = runs
    study = None
    found = [Problem(key, problem) for key, problem in problems.items()]
    try:
        study = Study(**words)
    except CaseError:
        raise
    except ModelError as error:
        found += [problem for problem in error.problems if problem.item[:1] not in problems]
    if found or study is None:
        raise _located(path, text, words["case"], found)
    return study


def _located(path: Path, text: str, case: Any, problems: Sequence[Problem]) -> CaseError:
    """The error with its lines in the study file, or in the case whose parameters are those of the study."""
    lines = key_lines(text)
    of_case = [each for each in problems if each.item[:1] == ("parameters",) and each.item[:2] not in lines]
    if not of_case or not isinstance(case, str | Path) or Path(case) == path:
        return located(path, lines, problems)
    text = text_of(Path(case))
    return located(case, key_lines(text), of_case, (), composed(Path(case), text).elsewhere)


def _entries(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The entries of nested tables as ``load_case`` takes them; profiles and tables of paths replace others."""
    for key, value in table.items():
        if isinstance(value, dict) and "." not in key and not isinstance(value.get("shape"), str):
            yield from _entries(value, (*path, key))
        else:
            # a key in quotes is a path too
            yield override(".".join((*path, key)), value)

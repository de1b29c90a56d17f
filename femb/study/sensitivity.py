"""Sensitivities: derivatives of outputs by parameters, each with an error of its own.

Models are built beside the value of a parameter by the path of --set, and the numbers that an output reads from them,
with shapes, states and frequencies of the nominal model, are differenced (femb.study.outputs.ByChanges):

    D_h = (f(p + h) - f(p - h))/(2 h),    D = (4 D_{h/2} - D_h)/3,    error = |D - D_{h/2}|

Of a number that is linear in the parameter D_h is enough, which the number at p itself shows.

Source: docs/theory/sensitivities.md.
"""

import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, SolveError
from femb.base.files import write_table
from femb.base.html import Tabled
from femb.base.options import Run
from femb.base.types import Bools, Complexes, Floats
from femb.base.values import absent, nearest
from femb.case.build import KnownItems, kind_in, read_table
from femb.case.parameters import (
    Differentiable,
    Parameter,
    differentiable,
    overlaps,
    read_parameters,
    refusal,
    tables_of,
)
from femb.case.text import KeyPath, dotted, parse_toml, text_of, typed_key
from femb.model.model import Model
from femb.numerics.threads import limited_threads, one_blas_thread
from femb.results.array_file import write_arrays
from femb.results.results import Results
from femb.results.sweep import SENSITIVITIES as METHOD
from femb.run.replay import RecordedRun
from femb.run.tangents import RunTangents
from femb.steppers.replay import ReplayError
from femb.study.beside import BesideValue
from femb.study.jointly import Jointly, groups, merged
from femb.study.linear_outputs import OUTPUTS
from femb.study.outputs import BETWEEN, BY_STEPS, ByChanges, StudyOutput
from femb.study.runner import RunAnalyses, Runner
from femb.study.study import Build, Study, given_entries, multiplied, read_study
from femb.study.variables import Variable

# Steps, relative to the value, in the order in which they are tried: what models are read for has no large terms that
# cancel, so that rounding is small; numbers of whole analyses need longer ones. Of runs events must not move by more
# than the steps before them.
STEPS, OF_ANALYSES, OF_RUNS = (1e-4, 1e-3, 1e-2), (1e-3, 1e-2, 1e-4), (1e-4, 1e-5, 1e-3)
# Along tangents rounding is that of outputs alone, and of an unstable motion they are long. Instants of updates move.
OF_JUMPS, ALONG = (1e-5, 1e-4), 1e-6
# Those of many parameters at once, of polynomials of degree four.
TOGETHER = 1e-3, 1e-2, 1e-4
# An error is small beside the derivative, of runs and of whole analyses, which cost more, less so; or beside the value
# of the output by that of the parameter.
SMALL, SMALL_OF_RUNS, NOTHING = 1e-8, 1e-6, 1e-11
# What a table warns of, relative to the derivative.
DOUBTFUL = 1e-6
# The option of a run that its outputs depend on.
DURATION = "run.duration"
# Parts of parameters along which they change together.
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
By: TypeAlias = Sequence[str] | Mapping[str, Any] | str | None
# Part of the value that stands for a range where there is none.
PER_CENT = 0.01


@dataclass(frozen=True, eq=False)
class Sensitivities(Tabled):
    """Derivatives of o outputs by k parameters, in SI units.

    outputs, parameters : their names. derivatives, errors (o, k) : and what two step sizes leave open. title : of the
    model. values (o,) : of the outputs. nominal (k,) : of the parameters. swings (k,) : half of their ranges, or a
    hundredth of their values. ranged (k,) : which have a range. ways (o,) : empty where derivatives follow from
    equations, else of what they are differences. units : of outputs and parameters by name.
    """

    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    values: Floats
    nominal: Floats
    derivatives: Floats
    errors: Floats
    swings: Floats
    ranged: Bools
    ways: tuple[str, ...]
    units: Mapping[str, str]
    title: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The derivative of an output by a parameter. Raises ModelError: an unknown name."""
        places = []
        for name, known in zip(pair, (self.outputs, self.parameters), strict=True):
            if name not in known:
                raise ModelError(f"sensitivities: no {absent(name, known)}")
            places.append(known.index(name))
        return float(self.derivatives[places[0], places[1]])

    @property
    def changes(self) -> Floats:
        """(o, k) what the outputs change by, to first order, from the middle of a range to its end."""
        return np.asarray(self.derivatives * self.swings)

    def table(self) -> str:
        """A block for each output, with the parameters by what they change it."""
        width = max(12, *(len(name) + 2 for name in self.parameters))
        lines = [self.title] if self.title else []
        for i, name in enumerate(self.outputs):
            unit = self.units.get(name, "")
            lines += ["", ", ".join(filter(None, [f"{name} {self.values[i]:.7g} {unit}".rstrip(), self.ways[i]]))]
            lines.append(f"{'by':{width}}{'value':>13}{'derivative':>16}{'error':>10}{'change':>13}  unit of the value")
            for k in np.argsort(-np.abs(self.changes[i]), kind="stable"):
                slope, error = self.derivatives[i, k], self.errors[i, k]
                # more than rounding of the output
                shows = abs(self.changes[i, k]) > NOTHING * abs(self.values[i])
                flag = " !" if error > DOUBTFUL * abs(slope) and shows else ""
                lines.append(
                    f"{self.parameters[k]:{width}}{self.nominal[k]:13.6g}{slope:16.9g}{error:10.1e}"
                    f"{self.changes[i, k]:13.5g}  {self.units.get(self.parameters[k], '') or '-'}{flag}"
                )
        lines += [
            "",
            "change: by half of the range" + ("" if self.ranged.all() else ", or by 1 % of a value without one"),
        ]
        if "!" in "".join(line[-1:] for line in lines):
            lines.append(f"!: the error is above {DOUBTFUL:g} of the derivative")
        return "\n".join(lines).lstrip("\n")

    def write(self, path: str | Path) -> Path:
        """Write a .npz or a results file .h5 with the fields by their names, or a .csv with a row for each pair; the
        path of it."""
        path = Path(path)
        if path.suffix == ".csv":
            rows = [
                (name, self.values[i], self.units.get(name, ""), by, self.nominal[k], self.units.get(by, ""),
                 self.derivatives[i, k], self.errors[i, k], self.changes[i, k])
                for i, name in enumerate(self.outputs) for k, by in enumerate(self.parameters)
            ]  # fmt: skip
            head = (
                "output",
                "value",
                "unit",
                "parameter",
                "nominal",
                "unit of parameter",
                "derivative",
                "error",
                "change",
            )
            return write_table(path, head, rows)
        if path.suffix == ".h5":
            self.results().write(path)
            return path
        return write_arrays(path, self._arrays())

    def results(self) -> Results:
        """The fields as `Results`, for files and reports."""
        arrays = {f"{METHOD}/{word}": np.asarray(value) for word, value in self._arrays().items()}
        return Results({}, arrays, {"": {"status": "complete", "method": METHOD, "title": self.title}})

    def _arrays(self) -> dict[str, Any]:
        words = ("outputs", "parameters", "values", "nominal", "derivatives", "errors", "swings", "ways")
        names = {
            f"{word}_units": tuple(self.units.get(name, "") for name in getattr(self, word))
            for word in ("outputs", "parameters")
        }
        return {word: getattr(self, word) for word in words} | names

    def draw(self, path: str | Path) -> Path:
        """Draw a tornado of every output, its changes over the ranges, to the picture file ``path``, and return it."""
        from femb.pictures.drawing import save
        from femb.pictures.study import draw_tornado

        what = "changes by half of the range" + ("" if self.ranged.all() else ", or by 1 %")
        labels = [f"{name} ({unit})" if (unit := self.units.get(name, "")) else name for name in self.outputs]
        return save(draw_tornado(self.title, what, labels, self.parameters, self.values, self.changes), Path(path))


def sensitivities(
    case: Study | Build | str | Path,
    of: Sequence[str] | Mapping[str, Any] | str | None = None,
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    overrides: Iterable[str] = (),
) -> Sensitivities:
    """Derivatives of outputs of a case by its parameters.

    Parameters:
        case: path of a case file or of a study file, a femb.Study, or a function that returns a femb.Model. A study has
            outputs and parameters.
        of: outputs: names of those of the study; texts as "natural_frequency mode=2", a kind and its keys; or tables by
            name, as [outputs] of a study. By default all of the study.
        by: parameters: names of those of the study or the case; entries as "springs.left.stiffness"; or tables by name,
            as [parameters]. By default all of the study, or of the case.
        overrides: entries to replace, as in ``load_case``.

    Raises:
        ModelError: unknown names, an output or a parameter that has no derivative, with the reason.
        FembError: as with the analyses that the outputs are of.
    """
    study = read_either(case, overrides)
    return Differences(study, parameters_of(study, by, shared=True), outputs_of(study, of)).found()


def read_either(case: Study | Build | str | Path, overrides: Iterable[str]) -> Study:
    """A study, that of a file, or one of a case alone, with the parameters of this. Raises CaseError."""
    if isinstance(case, Study):
        return case
    overrides = tuple(overrides)
    document: dict[str, Any] = {}
    if isinstance(case, str | Path) and (path := Path(case)).suffix != ".py":
        text = text_of(path, "a case file or a study file")
        if "case" in parse_toml(path, text):
            return read_study(path, overrides)
        document = tables_of(path, text, overrides)
    # with stand-ins, since a study has an output and a variable
    variables, outputs = {"none": {"key": "run.duration", "values": [1.0]}}, {"mass": {"kind": "mass"}}
    study = Study(case, variables, outputs, overrides=overrides)
    parameters = _read(document.get(Parameter.table, {}), document)
    vars(study).update(variables={}, outputs={}, parameters=parameters)
    return study


def _read(tables: Mapping[str, Any], document: dict[str, Any] | None) -> dict[str, Parameter]:
    found, problems = read_parameters(tables, False, document)
    if problems:
        raise ModelError(*problems)
    return found


def outputs_of(study: Study, of: By) -> dict[str, StudyOutput]:
    """The outputs by name. Raises ModelError."""
    if isinstance(of, Mapping):
        return {name: _made(name, dict(table)) for name, table in of.items()}
    if not of:
        if not study.outputs:
            raise ModelError(
                f"of: is missing; wanted outputs, as 'natural_frequency mode=1'; kinds: {', '.join(OUTPUTS)}"
            )
        return dict(study.outputs)
    found = {}
    for text in [of] if isinstance(of, str) else of:
        if text in study.outputs:
            found[text] = study.outputs[text]
            continue
        word, *pairs = shlex.split(text)
        if word not in OUTPUTS:
            raise ModelError(f"of: no output {absent(word, (*study.outputs, *OUTPUTS))}")
        # names have no slash
        found[text] = _made(text.replace("/", "."), {"kind": word, **dict(map(_pair, pairs))})
    return found


def _pair(text: str) -> tuple[str, Any]:
    """The key and the value of KEY=VALUE: a value of TOML, else text. Raises ModelError."""
    key, sign, value = text.partition("=")
    if not sign:
        raise ModelError(f"of: got {text!r}, wanted KEY=VALUE, as in 'natural_frequency mode=2'")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def _made(name: str, table: dict[str, Any]) -> StudyOutput:
    kind, problem = kind_in(table, OUTPUTS)
    if kind is None:
        raise ModelError.at(("outputs", name, "kind"), problem)
    output, problems = read_table(kind, {key: value for key, value in table.items() if key != "kind"}, name=name)
    if problems:
        missing = f"is missing: write '{name} KEY=VALUE', as in 'final of=bodies.hub.position.x'"
        texts = {path: missing if text == "is missing" else text for path, text in problems.items()}
        raise ModelError(*(Problem(("outputs", name, *path), text) for path, text in texts.items()))
    made: StudyOutput = output
    return made


def parameters_of(study: Study, by: By, shared: bool = False) -> dict[str, Parameter]:
    """The parameters by name, also variables; shared : whether they may have entries in common. Raises ModelError."""
    found = _found(study, by)
    for name, text in overlaps({name: each.keys for name, each in found.items()}, shared):
        raise ModelError.at((Parameter.table, name), text)
    return found


def _found(study: Study, by: By) -> dict[str, Parameter]:
    if isinstance(by, Mapping):
        return _read(by, given_entries(study) if study.build is None else None)
    known = {name: _of_variable(variable) for name, variable in study.variables.items()} | dict(study.parameters)
    if not by:
        if not known:
            raise ModelError("by: is missing; wanted entries of the case, as 'springs.left.stiffness'")
        return known
    found = {}
    names = [by] if isinstance(by, str) else by
    for name in [every for each in names for every in (matching(study, each) if "*" in each else [each])]:
        if name not in known and "." not in name and study.build is None:
            hint = nearest(name, known)
            raise ModelError(f"by: no parameter {name!r}{hint}; wanted one, or an entry as bodies.hub.mass")
        found[name] = known.get(name) or Parameter(name=name, entry=name)
    return found


def matching(study: Study, pattern: str) -> list[str]:
    """The entries of the case of which keys match, where * stands for a part of one. Raises ModelError: none."""
    found: list[tuple[KeyPath, Any]] = [((), given_entries(study))]
    for part in typed_key(pattern):
        found = [((*path, key), each) for path, value in found for key, each in _items(value) if fnmatchcase(key, part)]
    if not found:
        raise ModelError(f"by: no entry of the case matches {pattern!r}; * stands for names, and numbers of a list")
    return [dotted(path) for path, _ in found]


def _items(value: Any) -> list[tuple[str, Any]]:
    """The entries of a table or a list, with their keys."""
    if isinstance(value, dict):
        return list(value.items())
    return [(str(k), each) for k, each in enumerate(value)] if isinstance(value, list) else []


def _of_variable(variable: Variable) -> Parameter:
    """A variable of a study as a parameter, whose range holds its numbers."""
    levels = variable.levels() or variable.quantile(np.array([0.05, 0.95]))
    numbers = [float(x) for x in levels if isinstance(x, int | float) and not isinstance(x, bool)]
    limits = [min(numbers), max(numbers)] if len(set(numbers)) > 1 else None
    return Parameter(name=variable.name, entries=list(variable.keys), range=limits, relative=variable.relative)


class CaseFamily:
    """Models of a case by the values of its parameters; fixed : further entries."""

    def __init__(
        self,
        study: Study,
        parameters: dict[str, Parameter],
        outputs: dict[str, StudyOutput],
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.outputs = outputs
        source = study.build or (Path(study.case).resolve(), text_of(Path(study.case)))
        self.runner = Runner(
            source, study.run, study.overrides, (), {}, tuple(outputs.values()), known=KnownItems({}, {})
        )  # fmt: skip
        document = given_entries(study)
        if isinstance(source, tuple):
            self.base = {
                key: parameter.value
                for parameter in parameters.values()
                for key in (parameter.keys if parameter.value is not None and not parameter.relative else ())
            }
        else:
            self.base = {p.keys[0]: p.value for p in parameters.values() if p.value is not None}
            document |= self.base
        self.base |= fixed or {}
        self.nominal = self.analyses({})
        model, self.document = self.nominal.described.model, document
        factors = multiplied(study, [name for name, each in parameters.items() if each.relative])
        self.parameters = [
            differentiable(each, factors.get(name, document), model) for name, each in parameters.items()
        ]
        own = [each for each in self.parameters if each.factors]
        moved = [each for each in own if each.value != 1.0 or each.parameter.name in factors]
        for each in moved:
            self.base |= each.entries(each.value)
        if moved:
            self.nominal = self.analyses({})

    def analyses(self, entries: dict[str, Any]) -> RunAnalyses:
        """The analyses of the case with these entries."""
        given = self.base | entries
        runner = replace(self.runner, keys=tuple((key,) for key in given), nominal=tuple(given.values()))
        return runner.analyses(list(given.values()))


class Differences(CaseFamily):
    """The derivatives of outputs, from models beside the nominal one.

    small : a relative error of derivatives at which no other step is tried; above the usual one, runs are not carried
    out by half the steps. times : output times (s) of runs, by default those of the case.
    """

    small = SMALL
    times: Floats | None = None
    recorded: RecordedRun | None = None
    tangents: RunTangents | None = None
    halved = False
    between = np.zeros(0)

    def analyses(self, entries: dict[str, Any]) -> RunAnalyses:
        analyses = super().analyses(entries)
        analyses.motion, analyses.differentiated, analyses.between = self._motion, True, self.between
        analyses.at_times = lambda times: self.recorded.at(times) if self.recorded else self.nominal.results("run")
        return analyses

    def _look_between(self, outputs: Iterable[StudyOutput]) -> None:
        """Let the motions have the instants between output times from which derivatives of outputs of runs follow."""
        found = np.unique(np.concatenate([np.zeros(0), *(each.between(self.nominal) for each in outputs)]))
        if self.recorded is None or not found.size:
            return
        self.between = self.recorded.between = found[~np.isin(found, self.recorded.times)]
        self.nominal.between = self.between
        self.nominal.found[BETWEEN] = self.recorded.at(np.union1d(self.recorded.times, self.between))

    def _motion(self, model: Model, run: Run) -> Results:
        """The results of the nominal motion, and then of its steps beside it."""
        if self.recorded is None:
            self.recorded = RecordedRun(model, run, self.times)
            return self.recorded.results
        return self.recorded.of(model, self.halved, run.duration)

    @one_blas_thread()
    def slopes(self, numbers: Callable[[RunAnalyses], Complexes], of_run: bool = False) -> Complexes:
        """(n, k) derivatives of numbers (n,) of analyses by the parameters; of_run : of the steps of the nominal run.

        Raises ModelError: a parameter beside which there is no run with the same events. SolveError: the motion along
        the tangents is too far away.
        """
        with limited_threads(1):
            numbers(self.nominal)
            self.tangents = self.recorded.tangents(self.recorded.times) if of_run and self.recorded else None
            step = STEPS[0] if self.tangents is None else ALONG
            besides = [self._beside(each, step) for each in self.parameters]
            found = []
            for each, beside in zip(self.parameters, besides, strict=True):
                try:
                    found.append(beside.change(numbers))
                except ReplayError as problem:
                    raise refusal(each.parameter, str(problem)) from problem
            return np.array(found).T

    def _by_other_steps(
        self, ways: Mapping[int, ByChanges], besides: Mapping[int, BesideValue], derivatives: Floats, doubled: bool
    ) -> Floats:
        """(o, k): differences of derivatives of runs to those by other steps, along some parameters at once.

        These are half the steps, or, of what follows tangents, mostly those of twice the length. The difference is
        shared out evenly, by the sizes of the parameters.

        ways : of the outputs of runs, by their numbers. besides : the analyses beside parameters, by their numbers.
        derivatives (o, k).
        """
        found, outputs, some, part = np.zeros(derivatives.shape), list(ways), list(besides), 1.0
        # of unequal parts, since the changes by a mass and a stiffness may cancel
        parts, chosen = 0.5 + np.modf(GOLDEN * np.arange(len(some)))[0], [self.parameters[k] for k in some]
        signs = np.array([each.side or 1.0 for each in besides.values()])
        sizes = signs * parts * [abs(each.value) or each.scale for each in chosen]
        one_sided = any(each.side for each in besides.values())
        step = ALONG if doubled and one_sided else self._of_runs()[0]
        places = step, 0.0 if one_sided else -step
        try:
            sides = []
            for s in places:
                moved = [each.entries(each.value + s * size) for each, size in zip(chosen, sizes, strict=True)]
                sides.append(self.analyses({key: value for entries in moved for key, value in entries.items()}))
            if doubled:
                assert self.recorded is not None
                assert self.tangents is not None
                others, part = self.recorded.by_other_steps(self.tangents.times)
                first, second = (side.described.model for side in sides)
                column = others.add((first, second), places)
                for side, s in zip(sides, places, strict=True):
                    side.motion = partial(lambda model, _, s: column.results(model, s), s=s)
            self.halved = not doubled
            values = [[each.numbers(side) for each in ways.values()] for side in sides]
        except (ReplayError, SolveError):
            found[np.ix_(outputs, some)] = np.inf
            return found
        finally:
            self.halved = False
        changes = [(one - two) / (places[0] - places[1]) for one, two in zip(*values, strict=True)]
        other = np.array([each.derivative(change) for each, change in zip(ways.values(), changes, strict=True)])
        away = np.abs(other - derivatives[np.ix_(outputs, some)] @ sizes) * part
        found[np.ix_(outputs, some)] = away[:, None] / np.abs(sizes * np.sqrt(len(sizes)))
        return found

    @one_blas_thread()
    def found(self) -> Sensitivities:
        """The derivatives."""
        with limited_threads(1):
            values = np.array([output.value(self.nominal) for output in self.outputs.values()])
            units = {name: output.unit(self.nominal) for name, output in self.outputs.items()}
            frozen = {name: output.frozen(self.nominal) for name, output in self.outputs.items()}
            of_runs = {i: each for i, each in enumerate(frozen.values()) if each.way == BY_STEPS}
            runs = list(of_runs)
            self._look_between([list(self.outputs.values())[i] for i in runs])
            others = [name for i, name in enumerate(frozen) if i not in runs]
            for parameter in (each.parameter for each in self.parameters):
                for key in (key for key in parameter.keys if key.startswith("run.")):
                    if key != DURATION:
                        raise refusal(parameter, f"{key} says how motions are computed, and is no number of the model")
                    if others:
                        raise refusal(parameter, f"{others[0]!r} is of no motion in time, and does not depend on {key}")
            self.tangents = self._tangents(runs)
            ways = {each.way for each in frozen.values()}
            steps = self._of_runs() if runs else OF_ANALYSES if any(ways) else STEPS
            known = self._jointly(list(frozen.values()), values)
            # those of all parameters first, whose tangents are found at once
            firsts = [self._beside(each, steps[0]) for each in self.parameters]
            columns = [
                self._column(each, first, steps, list(frozen.values()), values, own)
                for each, first, own in zip(self.parameters, firsts, known, strict=True)
            ]
            found = np.array(columns).transpose(2, 1, 0)
            if runs and self.small <= SMALL:
                for doubled in (True, False):
                    some = {k: each for k, each in enumerate(firsts) if bool(each.columns) == doubled}
                    if some:
                        found[1] = np.maximum(found[1], self._by_other_steps(of_runs, some, found[0], doubled))
        names = tuple(each.parameter.name for each in self.parameters)
        ranged = np.array([each.limits is not None for each in self.parameters])
        swings = [
            0.5 * (each.limits[1] - each.limits[0])
            if each.limits
            else each.parameter.scale or PER_CENT * abs(each.value)
            for each in self.parameters
        ]
        return Sensitivities(
            tuple(self.outputs), names, values, np.array([each.value for each in self.parameters]),
            found[0], found[1],
            np.array(swings), ranged, tuple(each.way for each in frozen.values()),
            units | {each.parameter.name: each.unit for each in self.parameters}, self.nominal.described.model.title,
        )  # fmt: skip

    def _jointly(self, frozen: list[ByChanges], values: Floats) -> Floats:
        """(k, o, 2): derivatives and errors by many parameters of single elements at once; infinite where unknown."""
        found = np.full((len(self.parameters), len(frozen), 2), np.inf)
        ways = [(i, each.elements) for i, each in enumerate(frozen) if each.elements is not None]
        for some in groups(self.parameters) if ways else ():
            of = [self.parameters[k] for k in some]
            scales = np.array([each.scale for each in of])
            waiting = dict(ways)
            for step in TOGETHER:
                models = Jointly(self._moved, of, step, self.nominal)
                for i, way in list(waiting.items()):
                    try:
                        new = models.derivatives(way)
                    except FembError:
                        # one by one, with their own reasons
                        del waiting[i]
                        continue
                    best = found[some, i]
                    found[some, i] = np.where(new[:, 1:] < best[:, 1:], new, best)
                    enough = SMALL_OF_RUNS * np.abs(found[some, i, 0]) + NOTHING * abs(values[i]) / scales
                    if np.all(found[some, i, 1] <= enough):
                        del waiting[i]
                if not waiting:
                    break
        return found

    def _of_runs(self) -> Sequence[float]:
        """Steps of derivatives of runs."""
        if self.tangents is None:
            return OF_RUNS
        return OF_JUMPS if self.tangents.jumps else OF_ANALYSES

    def _moved(self, entries: dict[str, Any]) -> RunAnalyses:
        """The analyses of the case with entries of many parameters."""
        return self.analyses(merged(entries, self.document))

    def _tangents(self, runs: list[int]) -> RunTangents | None:
        """The tangents of the nominal run, at the instants from which the derivatives of outputs of runs follow."""
        if not runs or self.recorded is None:
            return None
        outputs, time = list(self.outputs.values()), self.nominal.results("run").time
        parts = [time if (at := outputs[i].instants(self.nominal)) is None else at for i in runs]
        parts += [outputs[i].between(self.nominal) for i in runs]
        # the first, from which displacements count, too
        return self.recorded.tangents(np.unique(np.concatenate([time[:1], *parts])))

    def _beside(self, of: Differentiable, step: float, earlier: BesideValue | None = None) -> BesideValue:
        """The analyses a step, relative to the value, beside it; earlier : those by another step."""
        beside = BesideValue(self.analyses, of, step * (abs(of.value) or of.scale), self.nominal)
        if self.tangents is not None and DURATION not in of.parameter.keys:
            # of what is linear the tangents are those of any step
            beside.follow(self.tangents, earlier.columns.get(1.0) if earlier and not earlier.curved else None)
        return beside

    def _column(
        self, of: Differentiable, first: BesideValue, steps: Sequence[float], frozen: list[ByChanges], values: Floats,
        known: Floats,
    ) -> Floats:  # fmt: skip
        """(o, 2): derivatives by a parameter and their errors, of what is not known before; first : the analyses beside
        it by the first step."""
        best, missing = known.copy(), np.flatnonzero(~np.isfinite(known[:, 1])).tolist()
        between = np.zeros(len(best))
        problem: ReplayError | None = None
        small = np.array([max(SMALL_OF_RUNS, self.small) if each.way else self.small for each in frozen])
        for step in steps:
            beside = first if step == steps[0] or not missing else self._beside(of, step, first)
            for i, each in ((i, frozen[i]) for i in missing):
                enough = small[i] * abs(best[i, 0]) + NOTHING * abs(values[i]) / of.scale
                if not np.isfinite(best[i, 1]) or best[i, 1] > enough:
                    try:
                        derivative, error = beside.derivative(each)
                    except ReplayError as found:
                        problem = found
                        continue
                    if not np.isfinite(best[i, 1]) or error < best[i, 1]:
                        best[i], between[i] = (derivative, error), beside.between(each)
            enough = small * np.abs(best[:, 0]) + NOTHING * np.abs(values) / of.scale
            if np.all((best[:, 1] <= enough)[missing]) or (beside.columns and beside.settled and not beside.curved):
                break
        if problem is not None and not np.all(np.isfinite(best)):
            raise refusal(of.parameter, str(problem)) from problem
        best[:, 1] += between
        return best

"""Sweep: the runs of a study, the function behind ``femb sweep``."""

import hashlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from femb import __version__
from femb.base.descriptors import lock, opened
from femb.base.errors import FembError, FembWarning, ModelError, Problem, ResultError
from femb.base.progress import Reporter, counted
from femb.base.values import as_numbers, shown
from femb.case.build import entry_in_si, texts_of
from femb.case.compose import composed, entry_of
from femb.case.parameters import common_number, document_of
from femb.case.schema import unit_of_entry
from femb.case.text import CaseError, text_of
from femb.results.results import Results
from femb.results.sweep import Sweep, is_numeric
from femb.study.ensemble import TOGETHER, simulate_ensemble
from femb.study.runner import Described, LoopFamily, RunAnalyses, Runner, StudyRow
from femb.study.search import Search
from femb.study.study import Study, given_entries, multiplied, read_study
from femb.study.variables import OPTIMIZE, WORST
from femb.study.workers import Runs, carried_out, check_places

# Preparation of a study: the checks that need its case, compiled kernels, and the units of its outputs.
#
# Without it a misspelt entry or quantity would be the message of every single run.


def runner_of(study: Study, folder: Path | None, form: LoopFamily | None = None) -> Runner:
    """The runner of a study; folder : for the results of all runs. form : as in ``sweep``.

    Raises ModelError: a design without runs, a relative variable of an entry that is no number; CaseError where the
    case cannot be read.
    """
    study.check_runs()
    source = study.build
    keys = tuple(variable.keys for variable in study.variables.values())
    of_form = None
    if form is not None:
        if unknown := [name for name in study.variables if name not in form.nominal]:
            raise ModelError(f"form: has no {', '.join(unknown)}; its parameters are {', '.join(form.nominal)}")
        own = {name for name, each in study.parameters.items() if each.relative}
        times = {
            name: form.nominal[name] if each.relative and name not in own else 1.0
            for name, each in study.variables.items()
        }
        of_form = form, times
    if source is not None:
        nominal = study.rows[0] if study.rows else ()
        return Runner(source, study.run, (), keys, {}, tuple(study.outputs.values()), folder, nominal, of_form)
    path = Path(study.case)
    text = text_of(path)
    factors: dict[str, Any] = {}
    if any(variable.relative for variable in study.variables.values()):
        factors = _factors(study)
    file = (path.resolve(), text)
    return Runner(file, None, study.overrides, keys, factors, tuple(study.outputs.values()), folder, form=of_form)


def _factors(study: Study) -> dict[str, Any]:
    """The entries of the case that relative variables multiply."""
    if Path(study.case).suffix == ".py":
        raise ModelError("relative variables are of case files in TOML: a case in Python has no entries")
    document = given_entries(study)
    others = multiplied(study, [name for name, each in study.variables.items() if each.relative])
    factors: dict[str, Any] = {}
    problems = []
    for name, variable in study.variables.items():
        for key in variable.keys if variable.relative else ():
            own = others.get(name, document)
            factors[key] = entry_in_si(own, key, entry_of(own, key))
            if as_numbers(factors[key]) is None:
                problems.append(
                    Problem(
                        ("variables", name, "relative"),
                        f"the case has {shown(factors[key])} as {key}, wanted a number or a list of numbers",
                    )
                )
    if problems:
        raise ModelError(*problems)
    return factors


def trial(study: Study, runner: Runner) -> dict[str, str]:
    """Start the first run that has a model, and return the units of variables and outputs.

    Compiles the kernels that the runs need. Raises ModelError: entries or quantities that do not exist, everything
    that is wrong with the case itself, and a function that fails in every run.
    """
    failed: Exception | None = None
    for values in study.rows:
        try:
            of_model = runner.analyses(values)
            break
        except Exception as error:  # also of a user's function; the row of this run will say it
            if failed is None and isinstance(error, CaseError):
                _check_entries(study, runner, error)
            failed = failed or error
    else:
        if failed is None or isinstance(failed, CaseError):
            return {}
        text = str(failed) if isinstance(failed, FembError) else f"{type(failed).__name__}: {failed}"
        raise ModelError(f"the function of the case fails in every run, in the first: {text}") from failed
    of_model.brief = True
    units: dict[str, str] = {}
    for name, variable in study.variables.items():
        own = {unit_of_entry(of_model.described.model, key) for key in variable.keys}
        if not variable.relative and len(own) == 1 and any(own):
            units[name] = own.pop()
    problems = []
    analyses = of_model if runner.form is None else runner.begun(values)
    for name, output in study.outputs.items():
        try:
            units[name] = output.unit(analyses)
        except ResultError as error:
            problems.append(Problem(("outputs", name, "of"), str(error)))
        except ModelError as error:
            if isinstance(study.case, str | Path) and [problem.item for problem in error.problems] == [("run",)]:
                raise CaseError.of_file(study.case, str(error), 1) from error
            return units
        except Exception:
            # This run fails, which its row will say; the others may not.
            return units
    if problems:
        raise ModelError(*problems)
    study.check_units(units)
    return units


def _nominal(study: Study, runner: Runner) -> dict[str, float]:
    """The numbers of the case that variables change, by their names, as far as it says them; of factors 1."""
    document: dict[str, Any] = {}
    if not callable(runner.source) and runner.source[0].suffix != ".py":
        document = document_of(*runner.source, study.overrides)
    found: dict[str, Any] = {}
    for name, variable in study.variables.items():
        given = study.parameters[name].value if name in study.parameters else None
        of_case = 1.0 if variable.relative else common_number(document, variable.keys[:1])
        found[name] = of_case if given is None else given
    return {name: float(value) for name, value in found.items() if is_numeric([value])}


def _check_entries(study: Study, runner: Runner, error: CaseError) -> None:
    """Raise ModelError where a variable sets an entry that does not exist, or the case is wrong without variables too.

    error : of the first run. Other problems are those of its values.
    """
    of_case = _problems(replace(runner, keys=()), ())
    problems = []
    for name, variable, value in zip(study.variables, study.variables.values(), study.rows[0], strict=True):
        own = [problem for problem in _problems(replace(runner, keys=(variable.keys,)), (value,)) if _unknown(problem)]
        texts = [problem.message for problem in own if problem not in of_case]
        problems += [Problem(("variables", name, "key"), f"got {shown(variable.key)}: {text}") for text in texts]
    if problems:
        raise ModelError(*problems)
    if any(problem in of_case for problem in error.problems):
        replace(runner, keys=()).described(())


def _problems(runner: Runner, values: tuple[Any, ...]) -> tuple[Problem, ...]:
    try:
        runner.described(values)
    except CaseError as error:
        return error.problems
    return ()


def _unknown(problem: Problem) -> bool:
    """Whether a problem says that an entry does not exist: without a place in the case, or an unknown key."""
    return not problem.item or "unknown key" in problem.message


# The journal of a study: a line in JSON for each finished run, so that a killed study goes on where it was.
#
# The first line has the fingerprint of the study; runs of another study are not mixed with its own. A line that a
# killed process has not finished is left out.

# s; how long another process that only looks at the journal may hold it.
PATIENCE = 0.25


def fingerprint(study: Study, runner: Runner) -> dict[str, str]:
    """The parts of a study that its rows depend on."""
    parts: dict[str, Any] = {
        "version of femb": __version__,
        "case": _case(runner.source),
        "entries of all runs": [*study.overrides, repr(study.run)],
        "variables": [[kind.kind, asdict(kind)] for kind in study.variables.values()],
        "outputs": [[kind.kind, asdict(kind)] for kind in study.outputs.values()],
        "design": [study.design, study.runs, study.seed],
        "keep": study.keep,
    }
    if study.design in (OPTIMIZE, WORST):
        parts["aim"] = [study.best, study.limits, study.optimizer, study.starts]
    if runner.form is not None:
        parts["form"] = runner.form[0].identity
    return {word: _digest(json.dumps(part, sort_keys=True, default=repr)) for word, part in parts.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _case(source: tuple[Path, str] | Callable[..., Any]) -> list[str]:
    """The text of a case and the content of files that it names; of a function its source, if it is known."""
    if callable(source):
        try:
            return [inspect.getsource(source)]
        except (OSError, TypeError):
            return [getattr(source, "__qualname__", repr(type(source)))]
    path, text = source
    if path.suffix == ".py":
        return [text]
    document = composed(path, text).document
    files = sorted({file for word in texts_of(document) for file in (word, word.split(":")[0])})
    contents = [_content(path.parent / file) for file in files]
    return [json.dumps(document, sort_keys=True, default=repr), *(content for content in contents if content)]


def _content(file: Path) -> str:
    """The digest of the content of a file; "" where a text names none."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""


class StudyJournal:
    """The journal of a study at a path: ``rows`` has the finished runs, ``add`` writes another.

    Raises ResultError: a journal of another study, one that another process writes to, one that cannot be written.
    """

    def __init__(self, path: Path, parts: Mapping[str, str], again: bool = False) -> None:
        self.path = path
        self.rows: dict[int, StudyRow] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = opened(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise ResultError(f"{path}: cannot be written ({error.strerror})") from error
        try:
            self._begin(parts, again)
        except BaseException:
            os.close(self.file)
            raise

    def _begin(self, parts: Mapping[str, str], again: bool) -> None:
        try:
            lock(self.file, PATIENCE)
        except BlockingIOError:
            raise ResultError(
                f"{self.path}: another study writes to it now; wait for its end, or try --out DIR"
            ) from None
        content = b"" if again else self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete:
            self._read(complete.decode("utf-8", "replace").splitlines(), parts)
        os.ftruncate(self.file, len(complete))
        os.lseek(self.file, 0, os.SEEK_END)
        if not complete:
            self._write({"study": dict(parts)})

    def _read(self, lines: list[str], parts: Mapping[str, str]) -> None:
        try:
            earlier = json.loads(lines[0])["study"]
            rows = [StudyRow(*json.loads(line)) for line in lines[1:]]
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{self.path}: is damaged ({error}); --force starts the study anew") from error
        different = [word for word in parts if earlier.get(word) != parts[word]]
        if different:
            raise ResultError(
                f"{self.path}: has {len(rows)} runs of another study, with other {', '.join(different)}; --force "
                "starts anew, --out DIR writes to another folder"
            )
        self.rows = {row.run: row._replace(outputs=tuple(row.outputs)) for row in rows}

    def add(self, row: StudyRow) -> None:
        """Write a finished run."""
        self.rows[row.run] = row
        self._write(row)

    def _write(self, content: object) -> None:
        try:
            os.write(self.file, json.dumps(content).encode() + b"\n")
        except OSError as error:
            raise ResultError(f"{self.path}: cannot be written ({error.strerror})") from error

    def remove(self) -> None:
        """Delete the journal, when the table has all runs."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> "StudyJournal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.close(self.file)


def finished_rows(folder: Path, runner: Runner, parts: Mapping[str, str]) -> dict[int, StudyRow]:
    """The rows of the finished table in a folder, if it has those of this study; none for cases in Python, which may
    depend on other modules.

    parts : see `fingerprint`.
    """
    if callable(runner.source) or runner.source[0].suffix == ".py":
        return {}
    try:
        table = Sweep.read(folder / f"{TABLE}.h5")
    except ResultError:
        return {}
    if table.fingerprint != parts:
        return {}
    outputs = zip(*(values.tolist() for values in table.outputs.values()), strict=True)
    gradients = table.gradients.tolist() if table.gradients.size else [()] * len(table)
    rows = zip(outputs, table.failed.tolist(), table.messages, gradients, strict=True)
    return {number: StudyRow(number, *row) for number, row in enumerate(rows)}


def is_finished(study: Study, folder: Path, form: LoopFamily | None = None) -> bool:
    """Whether a folder has the finished table of this study."""
    with suppress(ModelError):
        runner = runner_of(study, None, form)
        return bool(finished_rows(folder, runner, fingerprint(study, runner)))
    return False


# Runs of a study whose motions are integrated together, as ensembles.


def in_ensembles(runner: Runner, runs: Mapping[int, Sequence[Any]]) -> Iterator[StudyRow]:
    """Rows of runs, in this process; the motions of ``femb.study.ensemble.TOGETHER`` runs are integrated together.

    runs : the values of the variables by number. Raises ModelError where runs have different options, or the models
    cannot be integrated together.
    """
    numbers = list(runs)
    for first in range(0, len(numbers), TOGETHER):
        described: dict[int, Described] = {}
        for number in numbers[first : first + TOGETHER]:
            try:
                described[number] = runner.described(runs[number])
            except Exception:
                # also of a function of the case; the row has the message
                yield runner(number, runs[number])
        if described:
            yield from _rows(runner, described)


def refuse_audit(study: Study) -> None:
    """Raise ModelError for an output of the audit: members of an ensemble have none."""
    names = [item.name for item in study.outputs.values() if getattr(item, "of", "").split(".")[0] == "audit"
             and getattr(item, "analysis", "run") == "run"]  # fmt: skip
    if names:
        path = ("outputs", names[0], "of")
        raise study.located(
            ModelError.at(path, "runs that are integrated together have no audit: leave out this output, or together")
        )


def _rows(runner: Runner, described: dict[int, Described]) -> Iterator[StudyRow]:
    run = next(iter(described.values())).run
    if any(each.run != run for each in described.values()):
        raise ModelError("together: a variable changes the run; wanted the same method, duration and tolerances of all")
    ensemble = simulate_ensemble([each.model for each in described.values()], run, together=len(described))
    if ensemble.note:
        warnings.warn(f"together: {ensemble.note}", FembWarning, stacklevel=2)
    for number, results, message in zip(described, ensemble.results, ensemble.messages, strict=True):
        if results is None or message:
            yield StudyRow(number, (float("nan"),) * len(runner.outputs), True, message)
        else:
            yield runner.row(number, partial(_with_motion, runner, described[number], results))


def _with_motion(runner: Runner, described: Described, results: Results) -> RunAnalyses:
    analyses = runner.analyses_of(described)
    analyses.found["run"] = results
    return analyses


@dataclass
class _Execution:
    """Carries out runs at their places, and keeps each in ``rows`` and the journal as it is finished."""

    runner: Runner
    places: tuple[int, str | None, str | None]
    together: bool
    rows: dict[int, StudyRow]
    journal: StudyJournal | None
    tell: Callable[[int, int, int], None]
    total: int

    def __post_init__(self) -> None:
        self.failed = sum(row.failed for row in self.rows.values())

    def report(self) -> None:
        """Tell how many runs are done, how many of them failed, and how many there are."""
        self.tell(len(self.rows), self.failed, self.total)

    def carry_out(self, runs: Runs, one: Callable[[int, Sequence[Any]], StudyRow] | None = None) -> list[StudyRow]:
        """The rows of runs, of which those that are missing are carried out; one : carries out each in its turn."""
        missing = {k: values for k, values in runs.items() if k not in self.rows}
        if one is not None:
            finished: Iterator[StudyRow] = (one(*run) for run in missing.items())
        elif self.together:
            finished = in_ensembles(self.runner, missing)
        else:
            finished = carried_out(self.runner, missing, *self.places)
        for row in finished:
            self.rows[row.run] = row
            if self.journal is not None:
                self.journal.add(row)
            self.failed += row.failed
            self.report()
        return [self.rows[k] for k in runs]


TABLE, RUNS = "sweep", "runs"
"""Names of the files of the table, and of the folder of the results of all runs."""


def sweep(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    workers: int = 0,
    scheduler: str | None = None,
    cluster: str | None = None,
    together: bool = False,
    form: LoopFamily | None = None,
    again: bool = False,
    progress: Callable[[int, int, int], None] | bool | None = None,
) -> Sweep:
    """Carry out the runs of a study, and return their table.

    A run that fails, or whose process is killed, becomes a row with its message, and the others go on.

    Parameters:
        study: or the path of a study file.
        out: a folder for sweep.csv, sweep.h5 and, where the study keeps them, the results of all runs; a study that was
            interrupted or killed there goes on with the missing runs, and one that is finished there carries out none
            (a case in Python: all).
        workers: number of processes; 0 runs all in this process. A script that asks for processes needs ``if __name__
            == "__main__":``, and a case that is a function must be one of a module.
        scheduler: the address of a dask scheduler.
        cluster: in place of it "local" or "slurm", for workers of dask.distributed.
        together: integrate the motions of 32 runs at a time as an ensemble, in this process; see ``simulate_ensemble``.
        form: ``femb.uncertain(study)``: loops and their transfer functions are of it, not of a model for each run;
            gains that follow an inertia are those of the nominal case. Runs are in this process.
        again: start anew where ``out`` has runs of another study, or all runs of this one.
        progress: True for a bar; or called as ``progress(done, failed, total)`` before the first run and after every
            run.

    Raises:
        ModelError: every problem of the study and its case.
        CaseError: every problem of their files.
        ResultError: the folder has another study, cannot be written, or a package is missing.
    """
    if isinstance(study, str | Path):
        study = read_study(study)
    if not isinstance(study, Study):
        raise ModelError(f"got {shown(study)} for the study, wanted a femb.Study or the path of a study file")
    places = workers, scheduler, cluster
    check_places(*places)
    _check_here(study, together, form is not None, any(places))
    if study.keep and out is None:
        raise ModelError("keep: the results of all runs need a folder: give out=...")
    folder = None if out is None else Path(out)
    try:
        runner = runner_of(study, folder / RUNS if folder is not None and study.keep else None, form)
        units = trial(study, runner)
    except ModelError as error:
        raise study.located(error) from error
    parts = fingerprint(study, runner)
    with ExitStack() as stack:
        rows, journal = dict[int, StudyRow](), None
        if folder is not None:
            journal = stack.enter_context(StudyJournal(folder / f"{TABLE}.part", parts, again))
            rows.update(journal.rows or ({} if again else finished_rows(folder, runner, parts)))
        bar = stack.enter_context(counted(quiet=progress is not True, unit="run", always=True))
        tell = progress if callable(progress) else lambda done, _, total: bar(done, total)
        execution = _Execution(runner, places, together, rows, journal, tell, study.most)
        execution.report()
        search = Search(study, runner, execution.carry_out)
        try:
            search.run()
        except KeyboardInterrupt as stop:
            known = [k for k in range(len(search.values)) if k in rows]
            so_far = table_of(study, [search.values[k] for k in known], [rows[k] for k in known], units)
            stop.add_note("\n".join(so_far.judged()))
            raise
        table = replace(
            table_of(study, search.values, [rows[k] for k in range(len(search.values))], units),
            fingerprint=parts, notes=search.notes, multipliers=search.multipliers, nominal=_nominal(study, runner),
        )  # fmt: skip
        if folder is not None and journal is not None:
            table.write_csv(folder / f"{TABLE}.csv")
            table.write(folder / f"{TABLE}.h5")
            journal.remove()
    return table


def _check_here(study: Study, together: bool, form: bool, elsewhere: bool) -> None:
    """Raise ModelError where runs that need this process have other processes, results of their own, or an audit."""
    if together and (elsewhere or study.keep):
        raise ModelError("together: runs in this process, and keeps no results of all runs; leave the others out")
    if form and (elsewhere or together or study.keep):
        raise ModelError("form: runs in this process, and has no results of all runs; leave the others out")
    if together:
        refuse_audit(study)


def compile_for(study: Study, progress: Reporter) -> None:
    """Compile the kernels of the first run in two processes, as the command line does, if none have been compiled."""
    from femb.run.warmup import compile_first

    # the trial tells what is wrong with the case
    with suppress(ModelError):
        compile_first(runner_of(study, None).described(study.rows[0]).model, progress)


def table_of(study: Study, given: Sequence[Sequence[Any]], rows: list[StudyRow], units: dict[str, str]) -> Sweep:
    """The table of all rows of a study; given : the values of the variables of each."""
    outputs = np.array([row.outputs for row in rows], dtype=float).reshape(len(rows), len(study.outputs))
    gradients = np.full((len(rows), len(study.outputs), len(study.variables)), np.nan)
    for k, row in enumerate(rows):
        gradients[k] = row.gradients or np.nan
    return Sweep(
        {name: [values[k] for values in given] for k, name in enumerate(study.variables)},
        {name: outputs[:, k] for k, name in enumerate(study.outputs)},
        np.array([row.failed for row in rows], dtype=bool),
        [row.message for row in rows],
        units,
        study.title,
        study.design,
        study.runs or len(rows),
        study.limits,
        study.best or "",
        gradients=gradients if any(row.gradients for row in rows) else np.zeros((len(rows), 0)),
        unstable=np.any([of.unstable_at(outputs[:, k]) for k, of in enumerate(study.outputs.values())], axis=0),
    )


# Runs of a search, where nobody says how many.
MOST = 200


def optimize(study: Study | str | Path, *, runs: int | None = None, **options: Any) -> Sweep:
    """Search for the run of a study whose output ``best`` is least or largest within the constraints.

    The table has all runs in the order of the search; its ``best`` is the number of the best, ``notes`` and
    ``multipliers`` tell more. Numbers are sought by gradients between the bounds of their distributions, choices among
    values by differential evolution.

    Parameters:
        study: or the path of a study file, with an output that is best.
        runs: the most, by default 200 or those of a study of this design.
        options: as in ``sweep``.

    Raises:
        ModelError: a study without ``best``; and the errors of ``sweep``.
    """
    if isinstance(study, str | Path):
        study = read_study(study, design=OPTIMIZE, runs=runs or MOST)
    elif isinstance(study, Study):
        own = study.runs if study.design == OPTIMIZE else None
        study = replace(study, design=OPTIMIZE, runs=runs or own or MOST)
    return sweep(study, **options)

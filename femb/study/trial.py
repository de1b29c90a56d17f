"""Preparation of a study: the checks that need its case, compiled kernels, and the units of its outputs.

Without it a misspelt entry or quantity would be the message of every single run.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from femb.base.errors import FembError, ModelError, Problem, ResultError
from femb.base.values import as_numbers, shown
from femb.case.build import kinds
from femb.case.compose import composed
from femb.case.errors import CaseError
from femb.case.overrides import apply_override, entry_of
from femb.case.text import text_of
from femb.study.runner import Runner
from femb.study.study import Study


def runner_of(study: Study, folder: Path | None) -> Runner:
    """The runner of a study; folder : for the results of all runs.

    Raises ModelError: a relative variable of an entry that is no number; CaseError where the case cannot be read.
    """
    source = study.build
    keys = tuple(variable.keys for variable in study.variables.values())
    if source is not None:
        return Runner(source, study.run, (), keys, {}, tuple(study.outputs.values()), folder)
    path = Path(study.case)
    text = text_of(path)
    factors: dict[str, Any] = {}
    if any(variable.relative for variable in study.variables.values()):
        factors = _factors(study, path, text)
    file = (path.resolve(), text)
    return Runner(file, None, study.overrides, keys, factors, tuple(study.outputs.values()), folder)


def _factors(study: Study, path: Path, text: str) -> dict[str, Any]:
    """The entries of the case that relative variables multiply."""
    if path.suffix == ".py":
        raise ModelError("relative variables are of case files in TOML: a case in Python has no entries")
    document = composed(path, text).document
    for given in study.overrides:
        apply_override(document, given, kinds())
    factors: dict[str, Any] = {}
    problems = []
    for name, variable in study.variables.items():
        for key in variable.keys if variable.relative else ():
            factors[key] = entry_of(document, key)
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
    """Start the first run, and return the units of the outputs.

    Compiles the kernels that the runs need. Raises ModelError: entries or quantities that do not exist, and everything
    that is wrong with the case itself.
    """
    if not study.rows:
        return {}
    try:
        analyses = runner.analyses(study.rows[0])
    except CaseError as error:
        _check_entries(study, runner, error)
        return {}
    analyses.brief = True
    units: dict[str, str] = {}
    problems = []
    for name, output in study.outputs.items():
        try:
            units[name] = output.unit(analyses)
        except ResultError as error:
            problems.append(Problem(("outputs", name, "of"), str(error)))
        except ModelError as error:
            if isinstance(study.case, str | Path) and [problem.item for problem in error.problems] == [("run",)]:
                raise CaseError.of_file(study.case, str(error), 1) from error
            return units
        except FembError:
            # This run fails, which its row will say; the others may not.
            return units
    if problems:
        raise ModelError(*problems)
    return units


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
    """The problems of the case with these values."""
    try:
        runner.described(values)
    except CaseError as error:
        return error.problems
    return ()


def _unknown(problem: Problem) -> bool:
    """Whether a problem says that an entry does not exist: without a place in the case, or an unknown key."""
    return not problem.item or "unknown key" in problem.message

"""Arguments of the analyses: a model or a case file, and a run or its options by name."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from femb.base.errors import ModelError, Problem
from femb.base.options import Method, Output, Run, StartState, Tolerances, beside_accuracy, set_aside
from femb.base.values import shown
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.case import Case, Given


class ToleranceOptions(TypedDict, total=False):
    """The fields of ``femb.Tolerances``."""

    position: float | None
    quaternion: float | None
    strain: float | None
    time: float


class OutputOptions(TypedDict, total=False):
    """The fields of ``femb.Output``."""

    select: Sequence[str]
    exclude: Sequence[str]
    precision: Literal["float64", "float32"]
    compression: int
    motion_only: bool


class StartOptions(TypedDict):
    """The fields of ``femb.StartState``."""

    results: str


class RunOptions(TypedDict, total=False):
    """The fields of ``femb.Run`` as options by name; ``atol`` may be one number for all quantities or, as ``output``,
    a dictionary."""

    duration: float
    output_interval: float | None
    method: Method
    formulation: Literal["velocity", "quaternion", "reduced", "hamiltonian"]
    rtol: float
    atol: Tolerances | ToleranceOptions | float
    accuracy: float | None
    start: Literal["as_given", "assembled", "equilibrium"] | StartState | StartOptions
    tableau: Literal["dop853", "rk4"]
    step: float | None
    order: Literal[4, 6]
    max_order: int | None
    spectral_radius: float
    filter: float | None
    first_step: float | None
    max_step: float | None
    max_steps: int
    output: Output | OutputOptions


def check_known(model: Model, duration: float) -> None:
    """Raise ModelError where an item, as one of a table, is known for less than a ``duration`` (s)."""
    for item in model.items():
        if item.known_until < duration:
            raise ModelError.at(
                (item.table, item.name),
                f"its table ends at {item.known_until:.6g} s, before the end of the run at {duration:.6g} s: give a "
                "longer table, or a shorter run.duration",
            )


def model_and_case(given: "Given") -> tuple[Model, "Case | None"]:
    """A model, and its case where a case or the path of its file is given. Raises ModelError, CaseError."""
    if isinstance(given, Model):
        return given, None
    from femb.case import Case, load_case

    case = load_case(given) if isinstance(given, str | Path) else given
    if not isinstance(case, Case):
        wanted = "a femb.Model, a case or the path of a case file"
        raise ModelError(f"got {shown(given)} for the model, wanted {wanted}")
    return case.model, case


def read_call(model: "Given", run: Run | None, options: RunOptions) -> tuple[Model, Run, str]:
    """The model, the run, and the text of the case file if ``model`` is a case or its path.

    Options replace those of the run of a case file. Raises ModelError: unknown options, options together with a run,
    neither a model nor a path; CaseError for errors of the file.
    """
    model, case = model_and_case(model)
    text = "" if case is None else case.text
    if case is not None:
        if run is None and case.run is not None:
            back: dict[str, Any] = {each.name: each.default for each in fields(Run) if each.name in set_aside(options)}
            return model, replace(case.run, **back, **_arguments(options)), text
        if run is None and case.unended is not None and "duration" in options:
            return model, replace(case.unended, **_arguments(options)), text
    if run is None:
        given = _arguments(options)
        if "duration" not in given:
            raise ModelError("the duration (s) is missing: give duration=..., or a femb.Run")
        return model, Run(**given), text
    if not isinstance(run, Run):
        raise ModelError(f"got {shown(run)} for the run, wanted a femb.Run; of a dictionary take **run")
    if options:
        raise ModelError(f"got a run and the options {', '.join(options)}: give one of the two")
    return model, run, text


def _arguments(options: RunOptions) -> dict[str, Any]:
    """Arguments of a Run. Raises ModelError with suggestions for unknown names."""
    names = [field.name for field in fields(Run)]
    problems = []
    for name in options:
        if name not in names:
            close = get_close_matches(name, names, 1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
            problems.append(Problem(("run", name), f"there is no such option; {meant}"))
    if problems:
        raise ModelError(*problems)
    given: dict[str, Any] = dict(options)
    if given.get("accuracy") is not None and (text := beside_accuracy(given)):
        raise ModelError.at(("run", "accuracy"), text)
    nested: tuple[tuple[str, type, str], ...] = (("atol", Tolerances, "tolerance"), ("output", Output, "option"))
    for word, kind, what in nested:
        values = given.get(word)
        if isinstance(values, Mapping):
            known = [field.name for field in fields(kind)]
            unknown = [name for name in values if name not in known]
            if unknown:
                path = ("run", word, str(unknown[0]))
                raise ModelError.at(path, f"there is no such {what}; there are: {', '.join(known)}")
            given[word] = kind(**values)
    atol = given.get("atol")
    if isinstance(atol, int | float) and not isinstance(atol, bool):
        given["atol"] = Tolerances(position=atol, quaternion=atol, strain=atol)
    start = given.get("start")
    if isinstance(start, Mapping):
        if list(start) != ["results"]:
            raise ModelError.at(("run", "start"), f"got {shown(dict(start))}, wanted {{'results': FILE}}")
        given["start"] = StartState(**start)
    return given

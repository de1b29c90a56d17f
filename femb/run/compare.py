"""Compare: one case in every formulation that admits it, and the largest differences of the results.

Formulations are independent derivations of the equations of motion of one model: their agreement verifies them.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from femb.base.arrays import listing
from femb.base.errors import FembError, ModelError, ResultError
from femb.base.files import write_json, write_table
from femb.base.options import FORMULATIONS, METHODS, METHODS_OF, Run
from femb.base.progress import Reporter, reporting
from femb.base.types import Floats
from femb.model.model import Model
from femb.results.groups import groups
from femb.results.results import Results, results_of
from femb.run.calling import RunOptions, read_call
from femb.run.memory import with_interval
from femb.run.simulate import simulate
from femb.vibration.completion import completed, system_of

if TYPE_CHECKING:
    from femb.case import Given

# Differences, by kind of quantity, of two results of the same items at the same output times.

SAME_INSTANT = 1e-12  # largest difference of two equal output times, relative to the last of them


@dataclass(frozen=True)
class Difference:
    """The largest difference of one kind of quantity.

    quantity, unit : such as "position" and "m". largest : the norm of the difference of vectors, the angle between
    attitudes, or the difference of numbers; NaN where one of the two results has NaN. time : its instant, s.
    where : its array, such as "bodies/hub/position". scale : the largest norm, in the same unit, of the quantity itself
    in the first results; pi for attitudes.
    """

    quantity: str
    unit: str
    largest: float
    time: float
    where: str
    scale: float


@dataclass(frozen=True)
class _Kind:
    """A kind of quantity, with the groups of items and the word of its arrays."""

    quantity: str
    unit: str
    items: tuple[str, ...]
    word: str
    vectors: bool = True


NAMED: tuple[_Kind, ...] = (
    _Kind("position", "m", ("bodies", "beams"), "position"),
    _Kind("orientation", "rad", ("bodies", "beams"), "quaternion"),
    _Kind("velocity", "m/s", ("bodies", "beams"), "velocity"),
    _Kind("angular velocity", "rad/s", ("bodies", "beams"), "angular_velocity"),
    _Kind("axial strain", "-", ("beams",), "strain", vectors=False),
    _Kind("kinetic energy", "J", ("audit",), "kinetic_energy", vectors=False),
    _Kind("potential energy", "J", ("audit",), "potential_energy", vectors=False),
    _Kind("work", "J", ("audit",), "work", vectors=False),
    _Kind("reaction force", "N", ("joints",), "force"),
    _Kind("reaction torque", "N m", ("joints",), "torque"),
    _Kind("driver force", "N or N m", ("drivers",), "force", vectors=False),
    _Kind("section force", "N", ("beams",), "section_force"),
    _Kind("section moment", "N m", ("beams",), "section_moment"),
    _Kind("root force", "N", ("appendages",), "force"),
    _Kind("root torque", "N m", ("appendages",), "torque"),
)
GROUPS = ("bodies", "beams", "joints", "drivers")


def kinds_of_quantities(every: bool = False) -> tuple[_Kind, ...]:
    """The quantities that are compared: the named ones, and those that items declare with their values; or every one
    but accelerations, budgets and the audit."""
    named = {(items, kind.word) for kind in NAMED for items in kind.items}
    declared = tuple(
        _Kind(word.replace("_", " "), quantity.unit, (kind,), word, vectors=quantity.sizes[-1] == "3")
        for kind, group in groups().items()
        for word, quantity in group.quantities().items()
        if kind not in ("audit", "budget")
        and (quantity.recorded or quantity.given or (every and (kind, word) not in named))
        and "acceleration" not in word
        and word != "time"
    )
    return NAMED + declared


def differences(
    first: Results | str | Path,
    second: Results | str | Path,
    names: tuple[str, str] = ("the first", "the second"),
    every: bool = False,
) -> tuple[Difference, ...]:
    """A Difference for each kind of quantity that both results have, of each unit, in the order of
    ``kinds_of_quantities``.

    Nothing is interpolated. A kind of quantity is left out if one of the two results has no array of it.

    Parameters:
        first: one of the two results.
        second: the other one, with the same output times and items.
        names: of the two results, for messages.
        every: whether the measured, the commanded and all other quantities are compared too.

    Raises:
        ResultError: output times, items, or shapes of arrays differ.
    """
    first, second = results_of(first), results_of(second)
    check_times(first.time, second.time, names)
    for group in GROUPS:
        _check_names(group, first, second, names)
    return tuple(each for kind in kinds_of_quantities(every) for each in _largest(kind, first, second, names))


def check_times(first: Floats, second: Floats, names: tuple[str, str]) -> None:
    """Raise ResultError unless two arrays of output times (T,) are equal up to rounding."""
    one, other = names
    advice = "; nothing is interpolated: use the same run.duration and run.output_interval for both"
    if len(first) != len(second):
        raise ResultError(f"{other}: {_span(second)}, but {one} has {_span(first)}{advice}")
    gaps = np.abs(second - first)
    if gaps.size and not np.max(gaps) <= SAME_INSTANT * max(1.0, float(np.max(np.abs(first)))):
        k = int(np.argmax(gaps > SAME_INSTANT))
        raise ResultError(f"{other}: output time {k} is {second[k]:.12g} s, but {first[k]:.12g} s in {one}{advice}")


def _span(time: Floats) -> str:
    return f"{len(time)} output times up to {time[-1]:.6g} s" if len(time) else "no output times"


def _check_names(group: str, first: Results, second: Results, names: tuple[str, str]) -> None:
    """Raise ResultError unless both have the same items; their order does not matter."""
    in_first, in_second = getattr(first, group), getattr(second, group)
    for wanted, present, label in ((in_first, in_second, names[1]), (in_second, in_first, names[0])):
        missing = [name for name in wanted if name not in present]
        if missing:
            listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise ResultError(f"{label}: has no {listed} among its {group}; there are: {listing(present)}")


def _pairs(kind: _Kind, first: Results, second: Results) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Path, unit and both arrays of a kind of quantity, where both results have it."""
    for group in kind.items:
        items = {"audit": None} if group == "audit" else getattr(first, group)
        for name, item in items.items():
            path = f"{name}/{kind.word}" if item is None else f"{group}/{name}/{kind.word}"
            if path in first.series and path in second.series:
                # of a joint or spring: by its coordinate
                unit = item.columns_of(kind.word)[0] if " or " in kind.unit and item is not None else kind.unit
                yield path, unit, first.series[path], second.series[path]


def _largest(kind: _Kind, first: Results, second: Results, names: tuple[str, str]) -> Iterator[Difference]:
    """The largest difference of each unit."""
    measure: Callable[[Floats, Floats], tuple[Floats, Floats]]
    measure = _angles if kind.word == "quaternion" else _lengths if kind.vectors else _numbers
    found: dict[str, Difference] = {}
    for path, unit, a, b in _pairs(kind, first, second):
        if a.shape != b.shape:
            raise ResultError(
                f"{names[1]}: {path} has the shape {b.shape}, but {a.shape} in {names[0]}: "
                "beams must have the same elements"
            )
        if not a.size:
            continue
        gaps, size = measure(a, b)
        # NaN counts as the largest difference, unless all is equal
        gaps = np.where(np.isnan(gaps), 0.0 if np.array_equal(a, b, equal_nan=True) else np.inf, gaps)
        k, before = int(np.argmax(gaps)), found.get(unit)
        scale = float(np.max(size, initial=before.scale if before else 0.0, where=np.isfinite(size)))
        if before is None or gaps[k] > before.largest:
            found[unit] = Difference(kind.quantity, unit, float(gaps[k]), float(first.time[k]), path, scale)
        else:
            found[unit] = replace(before, scale=scale)
    for each in found.values():
        yield replace(each, largest=float("nan")) if np.isinf(each.largest) else each


def _over_items(values: Floats) -> Floats:
    """(T,) the largest value at each instant; NaN if one of them is."""
    result: Floats = np.max(values.reshape(len(values), -1), axis=1)
    return result


def _lengths(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return _over_items(np.linalg.norm(second - first, axis=-1)), _over_items(np.linalg.norm(first, axis=-1))


def _numbers(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return _over_items(np.abs(second - first)), _over_items(np.abs(first))


def _angles(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Angles between attitudes, by the chord of quaternions, which is zero of equal ones; p and -p are one attitude."""
    chord = np.minimum(*(np.linalg.norm(second - sign * first, axis=-1) for sign in (1.0, -1.0)))
    return _over_items(4.0 * np.arcsin(0.5 * chord)), np.full(len(first), np.pi)


COLUMNS = ("formulation", "reference", "quantity", "unit", "largest", "time", "where", "scale")


@dataclass(frozen=True)
class Attempt:
    """The run of a case in a formulation.

    method : the stepper, None where no stepper of the formulation accepts the options. results : None where the run did
    not reach its end, for the ``reason``. failed : whether the run began, and stopped before its end.
    """

    formulation: str
    method: str | None
    results: Results | None
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    reference : the formulation, or the file, that the others are compared with. attempts : one for each formulation.
    table : by formulation its Differences from the reference (femb.run.compare).
    """

    reference: str
    attempts: tuple[Attempt, ...]
    table: dict[str, tuple[Difference, ...]]

    @property
    def failed(self) -> bool:
        """Whether a run in a formulation that admits the case stopped before its end."""
        return any(attempt.failed for attempt in self.attempts)

    def text(self) -> str:
        """The formulations and the table of differences as text."""
        width = max(len(attempt.formulation) for attempt in self.attempts)
        lines = [f"{attempt.formulation:{width}}  {_outcome(attempt)}" for attempt in self.attempts]
        for formulation, rows in self.table.items():
            lines += ["", f"{formulation} less {self.reference}"]
            cells = [
                (d.quantity, f"{d.largest:.3g} {d.unit}", f"at {d.time:.6g} s", d.where, f"of {d.scale:.3g}")
                for d in rows
            ]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines += [
                "  " + "  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells
            ]
        if not self.table:
            lines += ["", "nothing to compare: no second formulation ran; a results file can be given to compare with"]
        return "\n".join(lines)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write comparison.csv, a row for each difference, and comparison.json, with the formulations; their paths."""
        rows = ([row[word] for word in COLUMNS] for row in self._rows())
        table = write_table(Path(folder) / "comparison.csv", COLUMNS, rows)
        return table, write_json(Path(folder) / "comparison.json", self.content())

    def content(self) -> dict[str, Any]:
        """The content of comparison.json: reference, runs and differences, None in place of NaN."""
        known = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in self._rows()
        ]
        runs = [
            {"formulation": a.formulation, "method": a.method, "ran": a.results is not None, "reason": a.reason}
            for a in self.attempts
        ]
        return {"reference": self.reference, "runs": runs, "differences": known}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"formulation": formulation, "reference": self.reference, **asdict(difference)}
            for formulation, rows in self.table.items()
            for difference in rows
        ]


def compare(
    model: "Given",
    run: Run | None = None,
    *,
    against: Results | str | Path | None = None,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Run a model in every formulation of femb.base.options.FORMULATIONS that admits it, and compare the results.

    Each formulation takes the run's method if it can, else the first of its methods (femb.base.options.METHODS_OF). The
    reference is the run's own formulation or, if that does not run, the first that does.

    Parameters:
        model: a model, a case or the path of its file.
        run: options of the integration, in place of options by name.
        against: other results, or their file, as the reference instead.
        out: a folder, for ``FORMULATION/results.h5`` of every run.
        case_text: as in ``simulate``.
        progress: as in ``simulate``.
        options: fields of ``femb.Run`` by name, as in ``simulate``.

    Raises:
        ModelError: every problem of the model, or no formulation admits it.
        ResultError: ``against`` cannot be read, or has other output times or items.
    """
    model, run, text = read_call(model, run, options)
    case_text = case_text or text
    model = completed(model)
    # raises the problems of the model itself, with their items
    run, _ = with_interval(system_of(model, run.assembles), run)
    name = str(against) if isinstance(against, str | Path) else "the other results"
    other = Results.read(against) if isinstance(against, str | Path) else against
    if other is not None:
        # checked before the runs, which may take long
        check_times(run.output_times(), other.time, ("the case", name))
    order = [run.formulation, *(formulation for formulation in FORMULATIONS if formulation != run.formulation)]
    attempts = []
    for formulation in order:
        file = None if out is None else Path(out) / formulation / "results.h5"
        with reporting(progress, run.duration) as reporter:
            attempts.append(_attempt(model, run, formulation, file, case_text, reporter))
    ran = {attempt.formulation: attempt.results for attempt in attempts if attempt.results is not None}
    if not ran and not any(attempt.failed for attempt in attempts):
        raise ModelError(*[f"{attempt.formulation}: {attempt.reason}" for attempt in attempts])
    if other is not None:
        reference, base = name, other
    elif ran:
        reference, base = next(iter(ran.items()))
        del ran[reference]
    else:
        reference, base = order[0], Results({})
    table = {formulation: differences(base, results, (reference, formulation)) for formulation, results in ran.items()}
    return Comparison(reference, tuple(attempts), table)


def admitted(run: Run, formulation: str) -> Run:
    """The run in a formulation: by its own method or, if that is refused, the first that is not.

    Raises ModelError, that of the run's own method, where all are refused.
    """
    refused: ModelError | None = None
    for method in dict.fromkeys((run.method, *METHODS_OF.get(formulation, METHODS))):
        try:
            return replace(run, formulation=formulation, method=method)
        except ModelError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _attempt(
    model: Model, run: Run, formulation: str, file: Path | None, case_text: str, progress: Reporter | None
) -> Attempt:
    method = None
    if progress is not None:
        progress.update(0.0)
        progress.message(f"formulation {formulation}")
    try:
        chosen = admitted(run, formulation)
        method = chosen.method
        results = simulate(model, chosen, out=file, case_text=case_text, progress=progress, force=True)
    except ModelError as error:
        return Attempt(formulation, method, None, _reason(error))
    except FembError as error:
        return Attempt(formulation, method, None, str(error), failed=True)
    return Attempt(formulation, results.method, results)


def _reason(error: ModelError) -> str:
    """The problems of an error on one line; the item ``run.formulation`` is left out."""
    chosen = ("run", "formulation")
    return "; ".join(problem.message if problem.item == chosen else str(problem) for problem in error.problems)


def _outcome(attempt: Attempt) -> str:
    if attempt.results is None:
        return f"{'stopped' if attempt.failed else 'does not apply'}: {attempt.reason}"
    statistics = attempt.results.statistics
    wall = f", {statistics['wall_time']:.3g} s" if "wall_time" in statistics else ""
    return f"{attempt.method}, {statistics.get('steps', '?')} steps{wall}"

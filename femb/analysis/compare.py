"""Compare: one case in every formulation that admits it, and the largest differences of the results.

Formulations are independent derivations of the equations of motion of one model: their agreement verifies them.
"""

import csv
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from femb.analysis.calling import RunOptions, read_call
from femb.analysis.completion import completed, system_of
from femb.analysis.differences import Difference, check_times, differences
from femb.analysis.simulate import simulate
from femb.base.errors import FembError, ModelError
from femb.base.methods import METHODS
from femb.base.options import FORMULATIONS, METHODS_OF, Run
from femb.base.progress import Reporter, reporting
from femb.model.model import Model
from femb.results.results import Results

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
    table : by formulation its Differences from the reference (femb.analysis.differences).
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
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        table, record = folder / "comparison.csv", folder / "comparison.json"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self._rows())
        record.write_text(json.dumps(self.content(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return table, record

    def content(self) -> dict[str, Any]:
        """What comparison.json contains: reference, runs and differences, None in place of NaN."""
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
    model: Model | str | Path,
    run: Run | None = None,
    *,
    against: Results | str | Path | None = None,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Run a model in every formulation of femb.base.options.FORMULATIONS that admits it, and compare the results.

    model : or the path of a case file. run, or its fields as keyword options. Each formulation takes the run's method
    if it can, else the first of its methods (femb.base.options.METHODS_OF). The reference is the run's own formulation
    or, if that does not run, the first that does. against : other results, or their file, as the reference instead.
    out : a folder, for ``FORMULATION/results.h5`` of every run. case_text, progress : as in ``simulate``.

    Raises ModelError with every problem of the model, or where no formulation admits it; ResultError where ``against``
    cannot be read, or has other output times or items.
    """
    model, run, text = read_call(model, run, options)
    case_text = case_text or text
    model = completed(model)
    system_of(model, run.assembles)  # raises the problems of the model itself, with their items
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
        results = simulate(model, chosen, out=file, case_text=case_text, progress=progress)
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

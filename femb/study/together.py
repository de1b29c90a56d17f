"""Runs of a study whose motions are integrated together, as ensembles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from femb.base.errors import ModelError
from femb.results.results import Results
from femb.study.ensemble import TOGETHER, simulate_ensemble
from femb.study.runner import Described, Row, RunAnalyses, Runner
from femb.study.study import Study


def in_ensembles(runner: Runner, runs: Mapping[int, Sequence[Any]]) -> Iterator[Row]:
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


def _rows(runner: Runner, described: dict[int, Described]) -> Iterator[Row]:
    """The rows of runs of one ensemble."""
    run = next(iter(described.values())).run
    if any(each.run != run for each in described.values()):
        raise ModelError("together: a variable changes the run; wanted the same method, duration and tolerances of all")
    ensemble = simulate_ensemble([each.model for each in described.values()], run, together=len(described))
    for number, results, message in zip(described, ensemble.results, ensemble.messages, strict=True):
        if results is None or message:
            yield Row(number, (float("nan"),) * len(runner.outputs), True, message)
        else:
            yield runner.row(number, _Begun(runner, described[number], results))


class _Begun:
    """Called, gives the analyses of a run with the results of its motion."""

    def __init__(self, runner: Runner, described: Described, results: Results) -> None:
        self.runner, self.described, self.results = runner, described, results

    def __call__(self) -> RunAnalyses:
        analyses = self.runner.analyses_of(self.described)
        analyses.found["run"] = self.results
        return analyses

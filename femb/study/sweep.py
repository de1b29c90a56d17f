"""Sweep: the runs of a study, the function behind ``femb sweep``."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError
from femb.base.progress import Reporter, counted
from femb.base.values import shown, whole_number
from femb.results.sweep import Sweep
from femb.study.file import read_study
from femb.study.journal import Journal, fingerprint
from femb.study.runner import Row, Runner
from femb.study.study import Study
from femb.study.together import in_ensembles, refuse_audit
from femb.study.trial import runner_of, trial
from femb.study.workers import Runs, in_pool, in_process

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
    again: bool = False,
    progress: Callable[[int, int, int], None] | bool | None = None,
) -> Sweep:
    """Carry out the runs of a study, and return their table.

    study : or the path of a study file. out : a folder for sweep.csv, sweep.h5 and, where the study keeps them, the
    results of all runs; a study that was interrupted or killed there goes on with the missing runs.
    workers : number of processes; 0, the default, runs all in this process. A script that asks for processes needs
    ``if __name__ == "__main__":``, and a case that is a function must be one of a module.
    scheduler : the address of a dask scheduler, or cluster : "local" or "slurm", for workers of dask.distributed.
    together : integrate the motions of 50 runs at a time as an ensemble, in this process; see ``simulate_ensemble``.
    again : start anew where ``out`` has runs of another study, or all runs of this one. progress : True for
    a bar; or called as ``progress(done, failed, total)`` before the first run and after every run.

    A run that fails, or whose process is killed, becomes a row with its message, and the others go on. Raises
    ModelError with every problem of the study and its case, CaseError for those of files; ResultError where the
    folder has another study, cannot be written, or a package is missing.
    """
    if isinstance(study, str | Path):
        study = read_study(study)
    if not isinstance(study, Study):
        raise ModelError(f"got {shown(study)} for the study, wanted a femb.Study or the path of a study file")
    check_places(workers, scheduler, cluster)
    if together and (workers or scheduler or cluster or study.keep):
        raise ModelError("together: runs in this process, and keeps no results of all runs; leave the others out")
    if together:
        refuse_audit(study)
    if study.keep and out is None:
        raise ModelError("keep: the results of all runs need a folder: give out=...")
    folder = None if out is None else Path(out)
    try:
        runner = runner_of(study, folder / RUNS if folder is not None and study.keep else None)
        units = trial(study, runner)
    except ModelError as error:
        raise study.located(error) from error
    with ExitStack() as stack:
        rows: dict[int, Row] = {}
        journal = None
        if folder is not None:
            journal = stack.enter_context(Journal(folder / f"{TABLE}.part", fingerprint(study, runner), again))
            rows.update(journal.rows)
        missing = {k: values for k, values in enumerate(study.rows) if k not in rows}
        bar = stack.enter_context(counted(quiet=progress is not True, unit="run", always=True))
        tell = progress if callable(progress) else lambda done, _, total: bar(done, total)
        report = _Report(tell, len(study.rows), rows.values())
        places = (workers, scheduler, cluster)
        for row in in_ensembles(runner, missing) if together else carried_out(runner, missing, *places):
            rows[row.run] = row
            if journal is not None:
                journal.add(row)
            report.add(row)
        table = table_of(study, [rows[k] for k in range(len(study.rows))], units)
        if folder is not None and journal is not None:
            table.write_csv(folder / f"{TABLE}.csv")
            table.write(folder / f"{TABLE}.h5")
            journal.remove()
    return table


def compile_for(study: Study, progress: Reporter) -> None:
    """Compile the kernels of the first run in two processes, as the command line does, if none have been compiled."""
    from femb.analysis.warmup import compile_first

    # the trial tells what is wrong with the case
    with suppress(ModelError):
        compile_first(runner_of(study, None).described(study.rows[0]).model, progress)


def check_places(workers: int, scheduler: str | None, cluster: str | None) -> None:
    """Raise ModelError where it is not clear which processes are to carry out the runs."""
    if not whole_number(workers) or workers < 0:
        raise ModelError(f"workers: got {shown(workers)}, wanted a whole number of processes, 0 for this one")
    if scheduler is not None and cluster is not None:
        raise ModelError("scheduler and cluster: give one of the two")


def carried_out(runner: Runner, runs: Runs, workers: int, scheduler: str | None, cluster: str | None) -> Iterator[Row]:
    """The rows of runs as they are finished, from where they are carried out."""
    if not runs:
        return iter(())
    if scheduler is not None or cluster is not None:
        from femb.study.cluster import on_cluster

        return on_cluster(runner, runs, workers or None, scheduler, cluster)
    return in_pool(runner, runs, workers) if workers else in_process(runner, runs)


class _Report:
    """Calls ``progress`` with the numbers of finished, failed and all runs."""

    def __init__(self, progress: Callable[[int, int, int], None], total: int, rows: Iterable[Row]) -> None:
        self.progress, self.total, self.done, self.failed = progress, total, 0, 0
        for row in rows:
            self._count(row)
        self._tell()

    def add(self, row: Row) -> None:
        self._count(row)
        self._tell()

    def _count(self, row: Row) -> None:
        self.done += 1
        self.failed += row.failed

    def _tell(self) -> None:
        self.progress(self.done, self.failed, self.total)


def table_of(study: Study, rows: list[Row], units: dict[str, str]) -> Sweep:
    """The table of all rows of a study."""
    outputs = np.array([row.outputs for row in rows], dtype=float).reshape(len(rows), len(study.outputs))
    return Sweep(
        {name: [values[k] for values in study.rows] for k, name in enumerate(study.variables)},
        {name: outputs[:, k] for k, name in enumerate(study.outputs)},
        np.array([row.failed for row in rows], dtype=bool),
        [row.message for row in rows],
        units,
        study.title,
        study.design,
        study.runs or len(rows),
    )

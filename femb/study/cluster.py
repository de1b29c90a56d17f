"""Runs of a study on workers of dask.distributed: of a scheduler that runs already, of this machine, or of Slurm.

dask repeats the runs of a worker that is lost on the others. Source: docs.dask.org, Futures; jobqueue.dask.org.
"""

import importlib
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from femb.base.errors import FembWarning, ModelError, ResultError
from femb.numerics.threads import core_count
from femb.study.runner import Row, Runner
from femb.study.workers import AHEAD, Runs, lost

CLUSTERS = ("local", "slurm")
# Memory of a Slurm job where dask's own configuration has none.
MEMORY = "2GB"

_one_run = threading.Lock()


def on_cluster(
    runner: Runner, runs: Runs, workers: int | None, scheduler: str | None = None, cluster: str | None = None
) -> Iterator[Row]:
    """Rows of runs carried out by dask.

    scheduler : its address, as "tcp://host:8786". cluster : or "local" for processes of this machine, "slurm" for jobs
    of one core each, with queue, account, time limit and memory of dask's own configuration; then ``workers`` is their
    number, by default that of the cores. Raises ModelError for another cluster, ResultError where the packages are
    missing or the scheduler does not answer.
    """
    if cluster is not None and cluster not in CLUSTERS:
        raise ModelError(f"cluster: got {cluster!r}, must be one of {', '.join(map(repr, CLUSTERS))}")
    distributed = _package("distributed", "dask.distributed")
    with ExitStack() as stack:
        if cluster is not None:
            address: Any = stack.enter_context(started(cluster, workers or core_count()))
        else:
            address = scheduler
        try:
            client = stack.enter_context(distributed.Client(address))
        except (OSError, ValueError) as error:
            raise ResultError(f"scheduler {scheduler}: there is no answer ({error})") from error
        _warn_of_threads(client)
        yield from _rows(client, distributed, runner, runs, workers)


def started(cluster: str, workers: int) -> Any:
    """A dask cluster of new workers with one thread each. Raises ResultError."""
    if cluster == "local":
        distributed = _package("distributed", "dask.distributed")
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
    jobqueue = _package("dask_jobqueue", "dask-jobqueue")
    memory = importlib.import_module("dask").config.get("jobqueue.slurm.memory", None) or MEMORY
    jobs = jobqueue.SLURMCluster(cores=1, processes=1, memory=memory)
    jobs.scale(jobs=workers)
    return jobs


def _package(module: str, name: str) -> Any:
    """An optional package. Raises ResultError if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ResultError(f"pip install 'femb[cluster]': {name} is not installed") from error


def _warn_of_threads(client: Any) -> None:
    threads = [worker["nthreads"] for worker in client.scheduler_info().get("workers", {}).values()]
    if any(count > 1 for count in threads):
        warnings.warn(
            f"the workers have up to {max(threads)} threads, of which a study uses one: start them with "
            "dask worker --nworkers N --nthreads 1",
            FembWarning,
            stacklevel=2,
        )


def _rows(client: Any, distributed: Any, runner: Runner, runs: Runs, workers: int | None) -> Iterator[Row]:
    waiting = iter(list(runs.items()))
    under_way = distributed.as_completed()
    numbers: dict[Any, int] = {}

    def hand_out() -> None:
        for number, values in waiting:
            future = client.submit(_run, runner, number, values, pure=False, retries=2)
            numbers[future.key] = number
            under_way.add(future)
            return

    many = AHEAD * max(workers or 0, len(client.scheduler_info().get("workers", {})), 1)
    for _ in range(many):
        hand_out()
    for future in under_way:
        number = numbers.pop(future.key)
        error = future.exception() if future.status == "error" else None
        if error is not None:
            row = lost(runner, number)
            if not isinstance(error, distributed.scheduler.KilledWorker):
                row = row._replace(message=f"{type(error).__name__}: {error}")
        else:
            row = future.result()
        hand_out()
        yield row


def _run(runner: Runner, number: int, values: Sequence[Any]) -> Row:
    # a worker may have several threads; a run uses settings of the whole process
    with _one_run:
        return runner(number, values)

"""Workers that carry out the runs of a study: this process, processes of this machine, and those of dask."""

import concurrent.futures
import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from femb.base.errors import FembWarning, ModelError, ResultError, SolveError, optional
from femb.base.values import shown, whole_number
from femb.numerics.threads import can_fork, core_count, has_forks

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
from femb.study.runner import Runner, StudyRow

# Workers: in this process, or in processes of this machine.
#
# Every way is a function of the runner and of the missing runs, which yields their rows as they are finished.

Runs = Mapping[int, Sequence[Any]]
"""The values of the variables by the number of the run."""
NumberedRun: TypeAlias = tuple[int, Sequence[Any]]
# Runs that are handed out in advance for each worker, so that none waits.
AHEAD = 2
# Pools that broke while a run was under way, before it gets a process of its own.
MOST_BREAKS = 2
LOST = "the process of this run ended every time: it crashed, or was killed, as by the system for want of memory"

_runner: Runner | None = None


def in_pool(runner: Runner, runs: Runs, workers: int) -> Iterator[StudyRow]:
    """Rows of runs carried out in ``workers`` processes.

    A worker that is killed takes the pool with it; the runs that were under way are then repeated, and those under way
    when that happens a second time each alone in a process. A run whose process ends then too has failed.
    """
    missing = dict(runs)
    breaks: Counter[int] = Counter()
    while missing:
        suspects: list[int] = []
        for row in _one_pool(runner, missing, min(workers, len(missing)), suspects):
            missing.pop(row.run)
            yield row
        breaks.update(suspects)
        for number in suspects:
            values = missing.pop(number)
            if breaks[number] < MOST_BREAKS:
                missing[number] = values  # behind all others
                continue
            rows = list(_one_pool(runner, {number: values}, 1, []))
            yield from rows or [lost(runner, number)]


def lost(runner: Runner, number: int) -> StudyRow:
    """The row of a run whose process ends every time."""
    return StudyRow(number, (float("nan"),) * len(runner.outputs), True, LOST)


def _one_pool(runner: Runner, runs: Runs, workers: int, suspects: list[int]) -> Iterator[StudyRow]:
    """Rows of a pool until it ends or breaks; then ``suspects`` has the runs that were under way."""
    waiting = iter(list(runs.items()))
    # as forks of this process, which has loaded modules and kernels for all of them, unless other threads run, whose
    # locks a fork would inherit
    context = multiprocessing.get_context("fork" if can_fork() else "spawn")
    listener, lifeline = context.Pipe(duplex=False)
    # a fork has also the end of the pipe that only this process may keep open
    arguments = (runner, listener, lifeline if context.get_start_method() == "fork" else None)
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, initializer=_begin_worker, initargs=arguments)
    under_way: dict[concurrent.futures.Future[StudyRow], int] = {}
    try:
        _start(pool)
        while True:
            for number, values in waiting:
                under_way[pool.submit(_run, number, values)] = number
                if len(under_way) >= AHEAD * workers:
                    break
            if not under_way:
                pool.shutdown()
                return
            done, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                row = future.result()
                del under_way[future]
                yield row
    except BrokenProcessPool:
        suspects += [number for future, number in under_way.items() if not _finished(future)]
        yield from (future.result() for future in list(under_way) if _finished(future))
    finally:
        # after an interruption the workers end at once
        lifeline.close()
        pool.shutdown(cancel_futures=True)
        listener.close()


def _start(pool: concurrent.futures.ProcessPoolExecutor) -> None:
    """Wait for the first worker. Raises SolveError where workers cannot start."""
    try:
        with warnings.catch_warnings():
            # of threads of OpenBLAS, which ends and restarts them around a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            pool.submit(os.getpid).result()
    except BrokenProcessPool as error:
        raise SolveError(
            "the processes of the study ended while they started. A script that asks for workers begins their work "
            "behind the line if __name__ == '__main__':, since every process imports it; workers=0 starts none"
        ) from error


def _finished(future: "concurrent.futures.Future[StudyRow]") -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _begin_worker(runner: Runner, listener: "Connection", inherited: "Connection | None") -> None:
    """Prepare a worker: it leaves Ctrl-C to the first process, and ends with it, also if that is killed."""
    global _runner
    _runner = runner
    if inherited is not None:
        inherited.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(listener,), daemon=True).start()


def _end_with(listener: "Connection") -> None:
    """End this process when the first one closes its end of a pipe, on which nothing is sent."""
    with contextlib.suppress(EOFError, OSError):
        listener.recv()
    os._exit(1)


def _run(number: int, values: Sequence[Any]) -> StudyRow:
    assert _runner is not None
    return _runner(number, values)


# Runs of a study on workers of dask.distributed: of a scheduler that runs already, of this machine, or of Slurm.
#
# dask repeats the runs of a worker that is lost on the others. Source: docs.dask.org, Futures; jobqueue.dask.org.

CLUSTERS = ("local", "slurm")
# s; duration of the runs that a worker gets at a time, beside which the messages of dask take little.
PORTION = 0.5
# Memory of a Slurm job where dask's own configuration has none.
MEMORY = "2GB"

_one_run = threading.Lock()


def on_cluster(
    runner: Runner, runs: Runs, workers: int | None, scheduler: str | None = None, cluster: str | None = None
) -> Iterator[StudyRow]:
    """Rows of runs carried out by dask.

    scheduler : its address, as "tcp://host:8786". cluster : or "local" for processes of this machine, "slurm" for jobs
    of one core each, with queue, account, time limit and memory of dask's own configuration; then ``workers`` is their
    number, by default that of the cores. Raises ModelError for another cluster, ResultError where the packages are
    missing or the scheduler does not answer.
    """
    if cluster is not None and cluster not in CLUSTERS:
        raise ModelError(f"cluster: got {cluster!r}, must be one of {', '.join(map(repr, CLUSTERS))}")
    distributed = optional("distributed", "cluster", "dask.distributed is not installed", ResultError)
    with ExitStack() as stack:
        if cluster is not None:
            address: Any = stack.enter_context(started(cluster, workers or core_count()))
        else:
            address = scheduler
        try:
            client = stack.enter_context(distributed.Client(address))
        except (OSError, ValueError) as error:
            raise ResultError(f"scheduler {scheduler}: there is no answer ({error})") from error
        threads = [worker["nthreads"] for worker in client.scheduler_info().get("workers", {}).values()]
        if any(count > 1 for count in threads):
            warnings.warn(
                f"the workers have up to {max(threads)} threads, of which a study uses one: start them with "
                "dask worker --nworkers N --nthreads 1",
                FembWarning,
                stacklevel=2,
            )
        yield from _rows(client, distributed, runner, runs, workers)


def started(cluster: str, workers: int) -> Any:
    """A dask cluster of new workers with one thread each. Raises ResultError."""
    if cluster == "local":
        distributed = optional("distributed", "cluster", "dask.distributed is not installed", ResultError)
        with _lean_workers():
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                silence_logs=50,
                # Without an address dask takes port 8787, for which a second study beside this one would be warned.
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": ":0", "dashboard": False},
            )
    jobqueue = optional("dask_jobqueue", "cluster", "dask-jobqueue is not installed", ResultError)
    memory = importlib.import_module("dask").config.get("jobqueue.slurm.memory", None) or MEMORY
    jobs = jobqueue.SLURMCluster(cores=1, processes=1, memory=memory)
    jobs.scale(jobs=workers)
    return jobs


@contextmanager
def _lean_workers() -> Iterator[None]:
    """A context in which dask starts workers that hardly watch themselves; on Linux as forks of one process, which has
    loaded the modules of all."""
    words: dict[str, Any] = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
    forks = has_forks()
    if forks:
        words["distributed.worker.multiprocessing-method"] = "forkserver"
    with importlib.import_module("dask").config.set(words):
        if forks:
            context = importlib.import_module("distributed.utils").get_mp_context()
            context.set_forkserver_preload(["distributed", __name__])
        yield


def _rows(client: Any, distributed: Any, runner: Runner, runs: Runs, workers: int | None) -> Iterator[StudyRow]:
    """Rows of runs, of which workers get several at a time: as many as take them `PORTION`, fewer towards the end."""
    waiting, under_way = list(runs.items())[::-1], distributed.as_completed()
    portions: dict[Any, list[NumberedRun]] = {}
    count, seconds = max(workers or 0, len(client.scheduler_info().get("workers", {})), 1), inf

    def hand_out(portion: list[NumberedRun]) -> None:
        if portion:
            future = client.submit(_run_on_worker, runner, portion, pure=False, retries=2)
            portions[future.key] = portion
            under_way.add(future)

    def next_portion() -> list[NumberedRun]:
        size = max(1, min(int(PORTION / seconds), len(waiting) // (AHEAD * count)))
        return [waiting.pop() for _ in range(min(size, len(waiting)))]

    for _ in range(AHEAD * count):
        hand_out(next_portion())
    for future in under_way:
        portion = portions.pop(future.key)
        error = future.exception() if future.status == "error" else None
        if error is None:
            rows, taken = future.result()
            # the first runs of a worker also load kernels
            seconds = min(seconds, taken)
            hand_out(next_portion())
            yield from rows
        elif len(portion) > 1:
            # one of them ended the worker
            for run in portion:
                hand_out([run])
        else:
            row = lost(runner, portion[0][0])
            if not isinstance(error, distributed.scheduler.KilledWorker):
                row = row._replace(message=f"{type(error).__name__}: {error}")
            hand_out(next_portion())
            yield row


def _run_on_worker(runner: Runner, portion: Sequence[NumberedRun]) -> tuple[list[StudyRow], float]:
    """Rows of several runs, and the least CPU time (s) that one took."""
    rows, least = [], inf
    for run in portion:
        # a worker may have several threads; a run uses settings of the whole process
        with _one_run:
            begin = time.process_time()
            rows.append(runner(*run))
            least = min(least, time.process_time() - begin)
    return rows, least


def check_places(workers: int, scheduler: str | None, cluster: str | None) -> None:
    """Raise ModelError where it is not clear which processes are to carry out the runs."""
    if not whole_number(workers) or workers < 0:
        raise ModelError(f"workers: got {shown(workers)}, wanted a whole number of processes, 0 for this one")
    if scheduler is not None and cluster is not None:
        raise ModelError("scheduler and cluster: give one of the two")


def carried_out(
    runner: Runner, runs: Runs, workers: int, scheduler: str | None, cluster: str | None
) -> Iterator[StudyRow]:
    """The rows of runs as they are finished, from where they are carried out."""
    if not runs:
        return iter(())
    if scheduler is not None or cluster is not None:
        return on_cluster(runner, runs, workers or None, scheduler, cluster)
    return in_pool(runner, runs, workers) if workers else (runner(*run) for run in runs.items())

"""Where the runs of a study are carried out: in this process, or in processes of this machine.

Every way is a function of the runner and of the missing runs, which yields their rows as they are finished.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from femb.base.errors import SolveError
from femb.study.runner import Row, Runner

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Runs = Mapping[int, Sequence[Any]]
"""The values of the variables by the number of the run."""
# Runs that are handed out in advance for each worker, so that none waits.
AHEAD = 2
# Pools that broke while a run was under way, before it gets a process of its own.
MOST_BREAKS = 2
LOST = "the process of this run ended every time: it crashed, or was killed, as by the system for want of memory"

_runner: Runner | None = None


def in_process(runner: Runner, runs: Runs) -> Iterator[Row]:
    """Rows of runs carried out one after another in this process."""
    for number, values in runs.items():
        yield runner(number, values)


def in_pool(runner: Runner, runs: Runs, workers: int) -> Iterator[Row]:
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


def lost(runner: Runner, number: int) -> Row:
    """The row of a run whose process ends every time."""
    return Row(number, (float("nan"),) * len(runner.outputs), True, LOST)


def _one_pool(runner: Runner, runs: Runs, workers: int, suspects: list[int]) -> Iterator[Row]:
    """Rows of a pool until it ends or breaks; then ``suspects`` has the runs that were under way."""
    waiting = iter(list(runs.items()))
    context = multiprocessing.get_context("spawn")
    listener, lifeline = context.Pipe(duplex=False)
    arguments = (runner, listener)
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, initializer=_begin_worker, initargs=arguments)
    under_way: dict[concurrent.futures.Future[Row], int] = {}
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
        pool.submit(os.getpid).result()
    except BrokenProcessPool as error:
        raise SolveError(
            "the processes of the study ended while they started. A script that asks for workers begins their work "
            "behind the line if __name__ == '__main__':, since every process imports it; workers=0 starts none"
        ) from error


def _finished(future: "concurrent.futures.Future[Row]") -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _begin_worker(runner: Runner, listener: "Connection") -> None:
    """Prepare a worker: it leaves Ctrl-C to the first process, and ends with it, also if that is killed."""
    global _runner
    _runner = runner
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(listener,), daemon=True).start()


def _end_with(listener: "Connection") -> None:
    """End this process when the first one closes its end of a pipe, on which nothing is sent."""
    with contextlib.suppress(EOFError, OSError):
        listener.recv()
    os._exit(1)


def _run(number: int, values: Sequence[Any]) -> Row:
    assert _runner is not None
    return _runner(number, values)

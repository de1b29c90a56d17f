"""Parts of one computation at the same time, on the cores of this process.

Kernels run without Python's global lock, so that threads of one process work on the arrays of one model. Another thread
begins its part 10 to 50 us later, so that only large models are divided. The result is the same to the last bit for
every number of threads: each part is computed as it is by one thread, and parts are summed in a fixed order.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, wraps
from itertools import pairwise
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

# Least work that is divided: evaluations of elements, each at one state, or blocks of unknowns of all matrices, of some
# 0.2 us each. Of a quarter of it, one thread has done half before another begins.
DIVIDED_FROM = 4000

_limit: ContextVar[int | None] = ContextVar("thread limit", default=None)


def core_count() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count() -> int:
    """The number of threads of a large model: all cores, or at most as many as the variable FEMB_THREADS says."""
    limit = _limit.get()
    if limit is not None:
        return limit
    asked = os.environ.get("FEMB_THREADS", "")
    return max(1, min(int(asked), core_count())) if asked.isdigit() else core_count()


def has_forks() -> bool:
    """Whether a process can go on as two: elsewhere than on Linux, libraries may not bear it."""
    return sys.platform == "linux" and hasattr(os, "fork")


def can_fork() -> bool:
    """Whether this process can fork now: where other threads run, a fork would inherit their locks."""
    return has_forks() and threading.active_count() == 1


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """A context in which large models are computed by this number of threads."""
    token = _limit.set(count)
    try:
        yield
    finally:
        _limit.reset(token)


def divided(work: int) -> bool:
    """Whether so much work, in the units of ``DIVIDED_FROM``, is divided among threads."""
    return work >= DIVIDED_FROM and thread_count() > 1


def ranges(count: int, states: int, multiple: int = 1) -> list[slice]:
    """Contiguous ranges of elements for the threads; one range if that is little work.

    multiple : all ranges but the last one have a multiple of this number of elements.
    """
    work = count * states
    parts = min(thread_count(), 2 * work // DIVIDED_FROM) if divided(work) else 1
    units = -(-count // multiple)
    ends = [min(count, multiple * (units * k // parts)) for k in range(parts)] + [count]
    return [slice(first, last) for first, last in pairwise(ends)]


def concurrently(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results of the tasks, which other threads compute beside this one; raises the error of the first that fails.

    A task that no thread has begun when this one has finished its own is computed here, as it is on a busy machine.
    """
    first, *others = tasks
    futures = [_pool(os.getpid()).submit(task) for task in others]
    try:
        results = [first()]
        for task, future in zip(others, futures, strict=True):
            results.append(task() if future.cancel() else future.result())
        return results
    finally:
        for future in futures:
            future.cancel()
        wait(futures)


def one_after_another(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Carry out tasks as ``concurrently`` does, by this thread alone."""
    return [task() for task in tasks]


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of a process; a forked process has none of its parent's."""
    return ThreadPoolExecutor(max(1, core_count() - 1), "femb")


# One thread of dense linear algebra.
#
# OpenBLAS divides products of matrices of some tens of rows among all cores, and its threads wait actively for each
# other: on a busy machine they take many times the time of one thread.


# Rows of a matrix from which several threads are quicker, on an idle machine.
DENSE = 600


@cache
def _libraries() -> Any:
    """The loaded libraries of linear algebra, those of numpy and of scipy."""
    import scipy.linalg  # noqa: F401 - loads its library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which numpy and scipy compute with one thread; the earlier number holds again after it."""
    libraries = _libraries()
    if all(library.num_threads == 1 for library in libraries.lib_controllers):
        yield
        return
    with libraries.limit(limits=1):
        yield


def spared(
    rows_of: Callable[[Any], int], below: int = DENSE
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Methods that compute with one thread of dense linear algebra where ``rows_of`` an object are fewer."""

    def sparing(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(method)
        def computed(*values: Arguments.args, **words: Arguments.kwargs) -> Result:
            with one_blas_thread() if rows_of(values[0]) < below else nullcontext():
                return method(*values, **words)

        return computed

    return sparing

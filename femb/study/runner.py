"""Runs of a study: the model with the values of its variables, its analyses, and the workers that carry runs out."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from femb.base.errors import FembError, FembWarning, ModelError, ResultError, SolveError
from femb.base.options import Run
from femb.base.types import Floats
from femb.case import read_case
from femb.case.build import KnownItems
from femb.case.compose import override
from femb.linear.linearise import linearize, loop
from femb.linear.loop import Loop
from femb.linear.sampled_motion import part_of
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.numerics.threads import can_fork, core_count, has_forks, limited_threads, one_blas_thread
from femb.results.results import Results
from femb.run.simulate import simulate
from femb.run.static import StaticResults, static
from femb.run.static_derivatives import StaticSide
from femb.small_motions.beside import Neighbours
from femb.small_motions.eigenproblem import EigenProblem
from femb.study.outputs import ModeOutput, StudyOutput
from femb.study.study import Build
from femb.system.moving_ground import mass_properties
from femb.system.system import System
from femb.vibration.mode_sweep import SPARE
from femb.vibration.modes import Modes, modes, modes_of
from femb.vibration.solution import Solution, motion_of, solution

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


# Part of the duration of a run that a trial takes.
TRIAL = 1e-4
T = TypeVar("T")


class StudyRow(NamedTuple):
    """The outcome of one run: its number from 0, the outputs, whether it failed, and why, or notes on it.

    gradients : of a search that uses them, of each output by each variable, NaN where they are not needed.
    """

    run: int
    outputs: tuple[float, ...]
    failed: bool
    message: str
    gradients: Sequence[Sequence[float]] = ()


class Described(NamedTuple):
    """The model of a run and its options; text : of its case."""

    model: Model
    run: Run | None
    text: str


class LoopFamily(Protocol):
    """Loops of a case for all values of its parameters, as ``femb.Uncertain``."""

    @property
    def nominal(self) -> Mapping[str, float]:
        """The nominal values of the parameters by name."""

    @property
    def identity(self) -> list[Any]:
        """Text that tells it from other families of the case."""

    def loop(self, values: Mapping[str, float]) -> Loop:
        """The loop at values of parameters, the others nominal."""


@dataclass(frozen=True)
class Runner:
    """The data that every process of a study needs; can be pickled.

    source : path and text of the case file, or the function that makes the model, with ``run``. keys : the entries of
    each variable. factors : by entry, the number or numbers of the case that values of a relative variable multiply.
    folder : of the results of all runs, None to keep none. nominal : of a function, the values of the nominal case.
    form : of the loops, in place of models, and by the name of each variable what its values are times.
    known : of cases that hardly differ, what was read before; of its items a warning is given once.
    """

    source: tuple[Path, str] | Build
    run: Run | None
    overrides: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    factors: Mapping[str, float | Sequence[float]]
    outputs: tuple[StudyOutput, ...]
    folder: Path | None = None
    nominal: tuple[Any, ...] = ()
    form: tuple[LoopFamily, Mapping[str, float]] | None = None
    known: KnownItems | None = None

    def __call__(self, number: int, values: Sequence[Any]) -> StudyRow:
        """Carry out a run. Its errors, also those of functions of a case in Python, are part of the row."""
        folder = None if self.folder is None else self.folder / f"{number:06d}"
        return self.row(number, lambda: self.analyses(values, folder))

    def row(self, number: int, begun: "Callable[[], RunAnalyses]") -> StudyRow:
        """The row of a run whose analyses the function gives."""
        nothing = (float("nan"),) * len(self.outputs)
        try:
            with one_blas_thread(), limited_threads(1), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FembWarning)
                analyses = begun()
                outputs = tuple(float(output.value(analyses)) for output in self.outputs)
        except FembError as error:
            return StudyRow(number, nothing, True, str(error))
        except Exception as error:
            return StudyRow(number, nothing, True, f"{type(error).__name__}: {error}")
        said = [str(warning.message) for warning in caught if issubclass(warning.category, FembWarning)]
        return StudyRow(number, outputs, False, "; ".join(dict.fromkeys(filter(None, [analyses.message, *said]))))

    def analyses(self, values: Sequence[Any], folder: Path | None = None) -> "RunAnalyses":
        """The analyses of a run with these values. Raises ModelError where they give no model."""
        if self.form is not None:
            form, factors = self.form
            pairs = zip(factors.items(), values, strict=True)
            return FormAnalyses(form, {name: factor * value for (name, factor), value in pairs}, self)
        return self.analyses_of(self.described(values), folder)

    def analyses_of(self, described: "Described", folder: Path | None = None) -> "RunAnalyses":
        """The analyses of a run of this model."""
        counted = [output.mode for output in self.outputs if isinstance(output, ModeOutput)]
        return RunAnalyses(described, max(counted, default=1), folder, of=self)

    @cached_property
    def reference(self) -> "RunAnalyses":
        """The analyses of the nominal case: the case without variables, of a function that of the first run."""
        if self.form is not None:
            found: RunAnalyses = FormAnalyses(self.form[0], {}, self)
        elif callable(self.source):
            found = self.analyses(self.nominal)
        else:
            found = self.analyses_of(replace(self, keys=()).described(()))
        found.previous = found
        return found

    def described(self, values: Sequence[Any]) -> Described:
        """The model of a run and its options. Raises ModelError."""
        entries = [(key, value) for keys, value in zip(self.keys, values, strict=True) for key in keys]
        if callable(self.source):
            model = self.source(**dict(entries))
            if not isinstance(model, Model):
                raise ModelError(f"the function of the case returned {type(model).__name__}, wanted a femb.Model")
            return Described(model, self.run, "")
        texts = [override(key, self.scaled(key, value)) for key, value in entries]
        case = read_case(*self.source, (*self.overrides, *texts), known=self.known)
        return Described(case.model, case.run, case.text)

    def scaled(self, key: str, value: Any) -> Any:
        """The entry that a value of its variable sets."""
        if key not in self.factors:
            return value
        scaled: Floats = np.asarray(self.factors[key], dtype=float) * value
        return scaled.tolist()


@dataclass
class RunAnalyses:
    """The analyses of one run, each carried out on first use. ``count`` : of natural modes.

    motion : by which the motion in time is carried out; by default ``simulate``. differentiated : whether modes keep
    their matrices. sides : of the models of a parameter, what tells what differs; central : whether this is the nominal
    one of these.
    """

    described: Described
    count: int
    folder: Path | None
    found: dict[str, Results] = field(default_factory=dict)
    found_modes: dict[tuple[str | None, str, bool], Modes] = field(default_factory=dict)
    found_mass: tuple[float, Floats, Floats] | None = None
    found_linear: dict[tuple[object, ...], Any] = field(default_factory=dict)
    brief: bool = False
    of: Runner | None = field(default=None, repr=False)
    previous: "RunAnalyses | None" = field(default=None, repr=False)
    motion: Callable[[Model, Run], Results] | None = None
    differentiated: bool = False
    sides: Neighbours | None = None
    central: bool = False

    @property
    def reference(self) -> "RunAnalyses":
        assert self.of is not None
        return self.previous or self.of.reference

    @property
    def start(self) -> str:
        """The start of the case."""
        return self.described.run.start_word if self.described.run is not None else "as_given"

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self.found_linear:
            self.found_linear[key] = make()
        found: T = self.found_linear[key]
        return found

    def solution(self, held: str | None, start: str | None, damped: bool) -> Solution:
        model, begun, count = self.described.model, start or self.start, self.count + SPARE
        return self.once(
            ("modes", held, begun, damped),
            lambda: solution(model, count, held=held, start=begun, damped=damped, own_axes=True, at_most=True),
        )

    def small_motions(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        key = held, start or self.start, damped

        def make() -> EigenProblem:
            if ("modes", *key) in self.found_linear:
                return self.solution(*key).motion
            differing = self.sides.beside(*key).of(self.described.model) if self.sides is not None else None
            return differing or motion_of(self.described.model, *key, True)[1]

        if self.sides is not None and self.central:
            return self.sides.central(*key)
        return self.once(("motion", *key), make)

    def differing(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        key = held, start or self.start, damped
        assert self.sides is not None
        beside = self.sides.beside(*key)
        found = beside.central() if self.central else self.once(
            ("differing", *key), lambda: beside.of(self.described.model)
        )  # fmt: skip
        if found is None:
            raise ModelError("more than elements differs beside the value")
        return found

    def loop(self, start: str | None) -> Loop:
        return self.once(("loop", start), lambda: loop(self.described.model, start=start or self.start))

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> StateSpace:
        words: dict[str, Any] = {"inputs": inputs or None, "outputs": outputs or None, "closed": closed}
        model, begun = self.described.model, start or self.start
        return self.once(("space", start, inputs, outputs, closed), lambda: linearize(model, start=begun, **words))

    def static_side(self) -> StaticSide:
        return self.once(("static side",), lambda: StaticSide.of(self.described.model, self.start == "assembled"))

    def critical(self, number: int, factor: float) -> StaticResults:
        model, assemble = self.described.model, self.start == "assembled"
        return self.once(
            ("critical", number, factor), lambda: static(model, critical=number, factor=factor, assemble=assemble)
        )

    def results(self, analysis: str) -> Results:
        if analysis not in self.found:
            self.found[analysis] = self._static() if analysis == "static" else self._motion()
        return self.found[analysis]

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        start = start or self.start
        key = (held, start, damped)
        if key not in self.found_modes:
            if self.differentiated and held is None:
                found = self.solution(held, start, damped)
                self.found_modes[key] = modes_of(
                    found.first(min(self.count, len(found.eigenvalues))), self.count, held, None, damped
                )
            else:
                self.found_modes[key] = modes(self.described.model, self.count, held=held, start=start, damped=damped)
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.found_modes[key].write(self.folder / f"modes{len(self.found_modes)}.h5")
        return self.found_modes[key]

    def mass_properties(self) -> tuple[float, Floats, Floats]:
        if self.found_mass is None:
            assemble = self.described.run is not None and self.described.run.start == "assembled"
            self.found_mass = mass_properties(System(self.described.model, assemble=assemble))
        return self.found_mass

    @property
    def message(self) -> str:
        """Notes of the run, such as on its energy balance."""
        return "; ".join(dict.fromkeys(results.message for results in self.found.values() if results.message))

    @cached_property
    def options(self) -> Run:
        """The options of the motion; in a trial with its beginning only. Raises ModelError without any."""
        run = self.described.run
        if run is None:
            raise ModelError.at(("run",), "is missing; the outputs are of a motion, which needs a duration (s)")
        if not self.brief:
            return run
        duration = min(run.duration, max(TRIAL * run.duration, run.step or 0.0))
        return replace(run, duration=duration, output_interval=duration)

    def _motion(self) -> Results:
        if self.motion is not None:
            return self.motion(self.described.model, self.options)
        file, text = self._file("results.h5"), self.described.text
        return simulate(self.described.model, self.options, out=file, case_text=text, force=True)

    def _static(self) -> Results:
        assemble = self.described.run is not None and self.described.run.start == "assembled"
        file = self._file("static.h5")
        return static(self.described.model, assemble=assemble, out=file, case_text=self.described.text)

    def _file(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name


class FormAnalyses(RunAnalyses):
    """The analyses of one run of a form: loops, and their transfer functions. values : of its parameters by name."""

    def __init__(self, form: LoopFamily, values: Mapping[str, float], of: Runner) -> None:
        self.found, self.found_linear, self.of, self.previous = {}, {}, of, None
        self._form, self._values = form, values

    def __getattr__(self, name: str) -> Any:
        raise ResultError("a form has loops and their transfer functions alone: leave this output, or the form, out")

    def loop(self, start: str | None) -> Loop:
        if start is not None:
            raise ResultError(f"start: got {start!r}; a form has the start of its case: leave it out")
        return self.once(("loop",), lambda: self._form.loop(self._values))

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> StateSpace:
        of = self.loop(start)
        return of.closed(inputs or None, outputs or None) if closed else part_of(of.plant, inputs, outputs)


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


def in_process(runner: Runner, runs: Runs) -> Iterator[StudyRow]:
    """Rows of runs carried out one after another in this process."""
    for number, values in runs.items():
        yield runner(number, values)


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
        distributed = _package("distributed", "dask.distributed")
        with _lean_workers():
            return distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            )
    jobqueue = _package("dask_jobqueue", "dask-jobqueue")
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


def _package(module: str, name: str) -> Any:
    """An optional package. Raises ResultError if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ResultError(f"pip install 'femb[cluster]': {name} is not installed") from error


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

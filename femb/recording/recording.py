"""Recording of the output of an analysis in memory or in a file."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from femb.base.arrays import CHECKPOINT, NOTHING, Arrays, Block, joined
from femb.base.errors import FembError, ResultError, SolveError
from femb.base.memory import LAYOUT, layout_of, remembered
from femb.base.options import EVERYTHING, Output
from femb.base.progress import Reporter
from femb.base.types import Floats
from femb.base.values import without_collection
from femb.recording.evaluation import evaluated
from femb.recording.frames import Frames
from femb.recording.instants import Instants, Part
from femb.recording.named_state import named_state, names_of
from femb.recording.record import Recorder
from femb.recording.rounding import rounding_at_start
from femb.results.results import Results
from femb.results.storage.file import MemoryWriter, ResultWriter, Writer
from femb.results.storage.read import Earlier
from femb.system.system import System

# Output instants collected before their evaluation and their conversion to named arrays, which is cheaper for many at
# once; of large models fewer, with about so many velocities in all.
BLOCK, VELOCITIES = 1024, 1_000_000
# Longest time, s, that output instants for a file wait for further ones, and how many times that of the last writing.
PATIENCE, TIMES = 0.5, 10.0


class Recording:
    """A context that records output instants; an error that leaves it ends the results with the error's message.

    out : path of an HDF5 file, written during the run; the results are then read from it, and memory does not grow with
    the output. output : what is recorded. reason : why the method was chosen, if femb chose it. options : of the run,
    by name. earlier : the part of the run that this one continues. observe : called with the output instants that are
    written.
    message, statistics and arrays are recorded at the end. An error that leaves the context gets the results as
    ``error.results``.
    """

    @without_collection()
    def __init__(
        self,
        system: System,
        method: str,
        out: str | Path | None = None,
        case_text: str = "",
        output: Output = EVERYTHING,
        reason: str = "",
        options: Mapping[str, Any] = NOTHING,
        earlier: Earlier | None = None,
        observe: Callable[[Frames], object] | None = None,
    ) -> None:
        self._observe = observe
        self._recorder = Recorder(system, output)
        self._evaluated = self._recorder.selection.evaluation
        static, attributes = self._recorder.static(), self._recorder.attributes(case_text, method, options)
        if reason:
            attributes[""]["method_reason"] = reason
        if "audit" in attributes:
            with suppress(FembError):  # what the equations raise at the start, the first instant does
                self._recorder.audit_watch.rounding = rounding_at_start(system)
            attributes["audit"] |= self._recorder.audit_watch.rounding.words()
        if earlier is not None:
            earlier.check_model(static)
            earlier.recall(self._recorder, "recorder")
        names = names_of(system.layout).items() if options else ()
        static = static | {f"{CHECKPOINT}names/{part}": array for part, array in names}
        self._writer: Writer = MemoryWriter(static, attributes)
        if out is not None:
            kinds = {f"{item.table}/{item.name}": item.results for item in system.items}
            self._writer = ResultWriter(out, static, attributes, output.compression, earlier, kinds)
        self._block = min(BLOCK, 1 + VELOCITIES // (1 + system.n_v))
        # output instants collected, in all
        self._waiting = 0
        self._collected: list[Part] = []
        self._oldest = 0.0
        self._patience = PATIENCE
        # output instants with arrays of the analysis, the system that they are recorded by, and what is left out
        self._with: list[tuple[Part, Block, System | None, tuple[str, ...]]] = []
        self._live = out is not None
        # the first output instants are written at once where readers of a file are to know the names of the arrays, or
        # where they show which batches yield what was selected
        self._written = earlier is not None or not (self._live or output.select or output.exclude)
        # the state at the last output instant
        self._last: Arrays = earlier.part("last") if earlier is not None else NOTHING
        self._end: tuple[float, Floats, Floats, Floats] | None = None
        self.message = ""
        self.statistics: dict[str, Any] = {}
        self.arrays: dict[str, Any] = {}

    def add(
        self, frames: Part, more: Block = NOTHING, system: System | None = None, without: tuple[str, ...] = ()
    ) -> None:
        """Add consecutive output instants; with arrays of the analysis itself by their paths, as recorded by another
        ``system`` of the same model, and without the arrays whose paths begin with some words."""
        if more or system is not None:
            if self._collected or (self._with and self._with[-1][2:] != (system, without)):
                self._write()
            self._with.append((frames, more, system, without))
            if self._live or len(self._with) >= self._block:
                self._write_with()
            return
        if isinstance(frames, Instants) and (count := len(frames.time)) > self._block:
            # of many steps in one call
            for first in range(0, count, self._block):
                self.add(frames.part(slice(first, first + self._block)))
            return
        if not self._collected:
            self._oldest = time.monotonic()
        self._collected.append(frames)
        self._waiting += len(frames.time)
        if not self._written or self._waiting >= self._block:
            self._write()
        self.write_overdue()

    def _write_with(self) -> None:
        if not self._with:
            return
        parts, self._with = self._with, []
        *_, system, without = parts[0]
        block = self._recorder.block(evaluated([part[0] for part in parts]), system)
        block |= joined([part[1] for part in parts])
        self._writer.append({path: array for path, array in block.items() if not path.startswith(without)})

    def write_overdue(self) -> None:
        """Write output instants for a file that have waited for `PATIENCE`; a run calls this after every step."""
        if self._live and self._collected and (now := time.monotonic()) - self._oldest > self._patience:
            self._write()
            self._patience = max(PATIENCE, TIMES * (time.monotonic() - now))

    def keep(self, arrays: Arrays) -> None:
        """Write the output instants so far and a checkpoint after them, of the integration's ``arrays`` by path."""
        self._write()
        if self._end is not None:
            self._last = named_state(self._recorder.system, *self._end)
        memory = remembered(self._recorder) | {LAYOUT: np.array(layout_of(Recorder))}
        parts = {"recorder/": memory, "last/": self._last, "": arrays}
        kept = {f"{CHECKPOINT}{name}{path}": array for name, part in parts.items() for path, array in part.items()}
        self._writer.keep(kept)

    def audit_warning(self, rtol: float, finer: str) -> str:
        """A warning of audit quantities far beyond the tolerances so far; empty if there are none.
        finer : the option of which a smaller value makes steps finer."""
        self._write()
        return self._recorder.audit_watch.warning(rtol, finer)

    @property
    def largest_force(self) -> float:
        """The largest component of the forces recorded so far, N."""
        return self._recorder.audit_watch.largest_force

    def results(self) -> Results:
        """The results recorded so far."""
        return Results(*self._writer.content())

    def _write(self) -> None:
        self._write_with()
        if self._collected:
            try:
                self._append(self._evaluated(self._collected))
            except SolveError:
                # those before the one that cannot be evaluated
                while len(self._collected) > 1:
                    self._append(self._evaluated(self._collected[:1]), 1)
                raise

    @without_collection()
    def _append(self, frames: Frames, parts: int | None = None) -> None:
        block = self._recorder.block(frames)
        if self._observe is not None:
            self._observe(frames)
        self._end = float(frames.time[-1]), frames.q[-1], frames.v[-1], frames.coordinates[-1]
        del self._collected[:parts]
        self._waiting = sum(len(part.time) for part in self._collected)
        self._writer.take(block)
        self._written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = error
        try:
            try:
                self._write()
            except BaseException as problem:
                # The last output instants are lost; those written before remain.
                failure = failure or problem
            status, message = "complete", self.message
            if failure is not None:
                status, message = "failed", "interrupted" if isinstance(failure, KeyboardInterrupt) else str(failure)
            self._writer.finish(status, message, self.statistics, self._recorder.selection.of(dict(self.arrays)))
        except BaseException as problem:
            failure = failure or problem
        finally:
            self._writer.close()
        if failure is not None:
            with suppress(ResultError):
                failure.results = self.results()  # type: ignore[attr-defined]
            if failure is not error:
                raise failure


class Watch:
    """The reporter of a run that is recorded: it also calls `write_overdue`."""

    def __init__(self, recording: Recording, progress: Reporter | None) -> None:
        self._recording, self._progress = recording, progress

    def message(self, text: str) -> None:
        """Show what is being done."""
        if self._progress is not None:
            self._progress.message(text)

    def update(self, t: float) -> None:
        """The time reached, s."""
        self._recording.write_overdue()
        if self._progress is not None:
            self._progress.update(t)

"""Recording: output frames of an analysis on their way to memory and, if asked for, to a file."""

import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from femb.base.errors import ResultError
from femb.base.progress import Reporter
from femb.results.arrays import NOTHING
from femb.results.file import Block, MemoryWriter, ResultWriter
from femb.results.frames import Frames
from femb.results.record import Recorder
from femb.results.results import Results
from femb.system.system import System

# Output frames collected before they are turned into named arrays, which is cheaper for many at once.
BLOCK = 64
# Frames do not wait longer than this, s, for more to come.
PATIENCE = 0.5


class Recording:
    """A context in which frames are added; left by an error, the results up to there are whole, and say why.

    out : an HDF5 file that is made of what is written while it goes on; the results are then read from it, and memory
    does not grow with the frames. message, statistics and arrays are for the end of the file. An error that passes gets
    the results as ``error.results``.
    """

    def __init__(self, system: System, method: str, out: str | Path | None = None, case_text: str = "") -> None:
        self._recorder = Recorder(system)
        static, attributes = self._recorder.static(), self._recorder.attributes(case_text, method)
        self._writer = MemoryWriter(static, attributes) if out is None else ResultWriter(out, static, attributes)
        self._collected: list[Frames] = []
        self._oldest = 0.0
        self._written = False
        self.message = ""
        self.statistics: dict[str, Any] = {}
        self.arrays: dict[str, Any] = {}

    def add(
        self,
        frames: Frames,
        more: Block = NOTHING,
        system: System | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        """Take consecutive output instants; with arrays of the analysis itself by their paths, as recorded by another
        ``system`` of the same model, and without some arrays."""
        if more or system is not None:
            self._write()
            block = self._recorder.block(frames, system) | dict(more)
            self._writer.append({path: array for path, array in block.items() if path not in without})
            return
        if not self._collected:
            self._oldest = time.monotonic()
        self._collected.append(frames)
        # The first does not wait: with it the file says what there is to come.
        if not self._written or sum(len(each.time) for each in self._collected) >= BLOCK:
            self._write()
        self.wait_no_longer()

    def wait_no_longer(self) -> None:
        """Write the frames that have waited for some time; a run calls this after every step."""
        if self._collected and time.monotonic() - self._oldest > PATIENCE:
            self._write()

    def watching(self, progress: Reporter | None) -> "Watch":
        """A progress that calls `wait_no_longer` too."""
        return Watch(self, progress)

    def audit_warning(self, rtol: float) -> str:
        """What of the audit so far is far beyond the tolerances; empty if nothing is."""
        self._write()
        return self._recorder.audit_watch.warning(rtol)

    def results(self) -> Results:
        """What was recorded."""
        return Results(*self._writer.content())

    def _write(self) -> None:
        if self._collected:
            block = self._recorder.block(Frames.joined(self._collected))
            self._collected.clear()
            self._writer.append(block)
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
            except BaseException as own:
                # Frames are not looked for a second time; what was written before is there.
                failure = failure or own
            self._finish(failure)
        except BaseException as own:
            failure = failure or own
        finally:
            self._writer.close()
        if failure is not None:
            with suppress(ResultError):
                failure.results = self.results()  # type: ignore[attr-defined]
            if failure is not error:
                raise failure

    def _finish(self, error: BaseException | None) -> None:
        status, message = "complete", self.message
        if error is not None:
            status, message = "failed", "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        self._writer.finish(status, message, self.statistics, self.arrays)


class Watch:
    """The progress of a run that is recorded."""

    def __init__(self, recording: Recording, progress: Reporter | None) -> None:
        self._recording, self._progress = recording, progress

    def message(self, text: str) -> None:
        """Say what is being done."""
        if self._progress is not None:
            self._progress.message(text)

    def update(self, t: float) -> None:
        """The time reached, s."""
        self._recording.wait_no_longer()
        if self._progress is not None:
            self._progress.update(t)

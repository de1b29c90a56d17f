"""Recording: output frames of an analysis on their way to memory and, if asked for, to a file."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from femb.errors import SolveError
from femb.frames import Frames
from femb.record import Recorder
from femb.resultfile import MemoryWriter, ResultWriter
from femb.results import Results
from femb.system import System

# Output frames collected before they are turned into named arrays, which is cheaper for many at once.
BLOCK = 64


class Recording:
    """A context in which frames are added; left by an error, the results up to there are whole, and say why.

    out : an HDF5 file that is written while it goes on. message, statistics and arrays are for the end of the file.
    A SolveError that passes gets the results as ``error.results``.
    """

    def __init__(self, system: System, method: str, out: str | Path | None = None, case_text: str = "") -> None:
        self._recorder = Recorder(system)
        static, attributes = self._recorder.static(), self._recorder.attributes(case_text, method)
        self._memory = MemoryWriter(static, attributes)
        self._writers: list[Any] = (
            [self._memory] if out is None else [self._memory, ResultWriter(out, static, attributes)]
        )
        self._collected: list[Frames] = []
        self.message = ""
        self.statistics: dict[str, Any] = {}
        self.arrays: dict[str, Any] = {}

    def add(self, frames: Frames) -> None:
        """Take consecutive output instants."""
        self._collected.append(frames)
        if sum(len(each.time) for each in self._collected) >= BLOCK:
            self._write()

    def audit_warning(self, rtol: float) -> str:
        """What of the audit so far is far beyond the tolerances; empty if nothing is."""
        self._write()
        return self._recorder.audit_watch.warning(rtol)

    def results(self) -> Results:
        """What was recorded."""
        return self._memory.results()

    def _write(self) -> None:
        if self._collected:
            block = self._recorder.block(Frames.joined(self._collected))
            self._collected.clear()
            for writer in self._writers:
                writer.append(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status, message = "complete", self.message
        if error is not None:
            status, message = "failed", "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        try:
            self._write()
        except BaseException as failure:
            status, message = "failed", str(failure)
            raise
        finally:
            for writer in self._writers:
                writer.finish(status, message, self.statistics, self.arrays)
                writer.close()
        if isinstance(error, SolveError):
            error.results = self.results()  # type: ignore[attr-defined]

"""The contract of exporters: from `Results` to files that another program reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from femb.results.results import Results
from femb.results.view import INERTIAL


class Exporter(Protocol):
    """A function or object of `femb.export.EXPORTERS`.

    It writes files that the named programs read, with times in s and lengths in m. A failure, an interruption or a
    full disk leaves no part of a file, and earlier files as they were (`femb.export.files.writing` sees to that);
    files of the same names are replaced when all are whole. Modules import libraries other than numpy inside
    functions, so that the catalogue costs nothing to read. More options are keywords with defaults; the command line
    knows ``solids``.
    """

    def __call__(
        self,
        results: Results,
        folder: str | Path,
        *,
        frame: str = INERTIAL,
        every: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Write files to ``folder``, made if need be; returns those to open.

        frame : "inertial", the name of a body, or a beam's node as "NAME[NODE]"; the motion of bodies and beams is
        seen from it. every : write only every so many output times, from the first on. progress : called as
        ``progress(done, total)`` after every file or output time.

        Raises ResultError: nothing to write, an unknown frame, ``every`` below 1, a folder that cannot be written.
        """
        ...

"""The formats of exporters: from `Results` to files that other programs read; see docs/howto/extend.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from femb.export import catalogue
from femb.results.results import Results
from femb.results.view import INERTIAL

# The contract of exporters, which write `Results` as files for other programs.


class Exporter(Protocol):
    """A function or object of `femb.export.formats.EXPORTERS`.

    It writes files that the named programs read, with times in s and lengths in m. A failure, an interruption or a
    full disk leaves no incomplete file and no earlier file changed (use `femb.pictures.files.writing`); files of the
    same names are replaced when all are complete. Modules import libraries other than numpy inside functions, so that
    the import of the catalogue is fast. Further options are keywords with defaults; the command line knows ``solids``,
    ``items`` and ``what``, names, and ``at`` and ``times`` (s) of ``femb.pictures.files.chosen_times``.
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
        """Write files to ``folder``, which is created if missing; returns those to open.

        frame : "inertial", the name of a body, or a beam's node as "NAME[NODE]"; the motion of bodies and beams is
        relative to it. every : interval of the output times to write, from the first on. progress : called as
        ``progress(done, total)`` after every file or output time.

        Raises ResultError: nothing to write, an unknown frame, ``every`` below 1, a folder that cannot be written.
        """


EXPORTERS: dict[str, Exporter] = {
    name.removeprefix("export_"): value for name, value in vars(catalogue).items() if name.startswith("export_")
}
"""Exporters by the name of the format."""

"""Figures of `Results`: time histories and spectra, as matplotlib figures and as picture files.

    plot(results, "overview.png")
    plot(results, "tips.png", "tips")
    plot(results, "hinge.png", ["coordinates of hinge", "joints/hinge/torque"], times=(0.0, 2.0))
    figure(results, ["hub.euler_angles", "right.tip.deflection"])

A figure is a table of `Panel`, and a panel is data; only `femb.export.drawing` uses matplotlib. Named figures are in
`femb.export.plots.sheets`, quantities in `femb.export.plots.words`; `femb.export.plots.choice` interprets the texts of
``plot``.
"""

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from femb.base.arguments import names_of
from femb.base.errors import ResultError
from femb.base.values import shown
from femb.export.animation import animate
from femb.export.drawing import FREQUENCY, TIME, save, table
from femb.export.mode_picture import draw_modes
from femb.export.picture import picture
from femb.export.plots.choice import split
from femb.export.plots.frequency import RESPONSES, draw_linear
from femb.export.plots.request import Span, between, figures_of, request, rows, spectra
from femb.export.plots.sheets import FIGURES
from femb.export.plots.study import STUDY_FIGURES, default_figure
from femb.export.plots.words import WORDS
from femb.model.figure import INERTIAL, Figure
from femb.results.results import Results
from femb.results.spectrum import SpectrumKind
from femb.results.sweep import METHOD

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

__all__ = ["FIGURES", "WORDS", "Figure", "animate", "figure", "figures_of", "picture", "plot", "request", "rows"]

DRAWINGS: dict[str, Callable[..., "Drawn"]] = {
    "modes": draw_modes,
    **{name: partial(draw_linear, what=name) for name in RESPONSES},
}
"""Figures that are not histories: name -> function of results that draws it."""

ROW_LIMIT = 6  # rows that fit on one readable page
LONGEST = 50  # characters of the names in a title
SPECTRA = {"psd": "power spectral density", "amplitude": "amplitude spectrum"}


def plot(
    results: Results,
    path: str | Path,
    what: str | Sequence[str] | None = None,
    *,
    items: Sequence[str] | None = None,
    frame: str | None = None,
    times: Span | None = None,
    spectrum: SpectrumKind | None = None,
    dpi: int = 150,
) -> Path:
    """Draw results over time into a file; returns the path written.

    Parameters
    ----------
    results : a run with output times.
    path : path of the picture
        The suffix gives the format (png, svg, pdf), png without one. Its folder is created.
    what, items, frame, times, spectrum : as of ``femb.figure``.
    dpi : dots per inch; the figure is some 8 to 18 inches wide.

    Raises ResultError for an unknown name, for results without the quantities requested, and where the file cannot be
    written.
    """
    return save(_drawn(results, what, items, frame, times, spectrum), Path(path), dpi)


def figure(
    results: Results,
    what: str | Sequence[str] | None = None,
    *,
    items: Sequence[str] | None = None,
    frame: str | None = None,
    times: Span | None = None,
    spectrum: SpectrumKind | None = None,
    path: str | Path | None = None,
    dpi: int = 150,
) -> "Drawn":
    """The matplotlib figure of results over time; ``results.plot`` and ``femb.plot`` are made of it.

    Parameters
    ----------
    results : a run with output times.
    what : content of the figure, one text or several below one another; None is ``"overview"``, of modes ``"modes"``
        The name of a quantity, see ``Results.names``; a figure of the case, a name in `FIGURES`, `DRAWINGS` or `WORDS`,
        with ``" of ITEM, ITEM"`` for some items only, or the path of an array; see `femb.export.plots.choice`. Of a
        study a name in `STUDY_FIGURES`, with ``" of OUTPUT, OUTPUT"`` for some outputs only; by default the one that
        shows its design.
    items : patterns of the items to show, see `femb.export.plots.subject.Subject`; None for all.
    frame : frame that the motion is relative to, see `Results.in_frame`; None for that of the results.
    times : first and last instant, s; None for the first or last of the results.
    spectrum : "psd" or "amplitude" draws the spectra of the histories over the frequency in Hz, see `Results.spectrum`.
    path : of a picture file to write as well, see ``femb.plot``.
    dpi : dots per inch of the file.

    Raises ResultError for an unknown name, for results without the quantities requested, and where the file cannot be
    written.
    """
    drawn = _drawn(results, what, items, frame, times, spectrum)
    if path is not None:
        save(drawn, Path(path), dpi)
    return drawn


def _drawn(
    results: Results,
    what: str | Sequence[str] | None,
    items: Sequence[str] | None,
    frame: str | None,
    times: Span | None,
    spectrum: SpectrumKind | None,
) -> "Drawn":
    if spectrum is not None and (not isinstance(spectrum, str) or spectrum not in SPECTRA):
        raise ResultError(f"spectrum: got {shown(spectrum)}, wanted 'psd' or 'amplitude'")
    if what is not None and not isinstance(what, str):
        what = names_of("what", what, ResultError)
    if what is None and results.method in DRAWINGS:
        what = results.method
    if results.method == METHOD:
        word, names = split(what if isinstance(what, str) else (what or (default_figure(results),))[0])
        if word not in STUDY_FIGURES:
            raise ResultError(f"no figure {word!r} of a study; there are: {', '.join(STUDY_FIGURES)}")
        return STUDY_FIGURES[word](results, names)
    name = what if isinstance(what, str) else what[0] if what and len(what) == 1 else ""
    if name in DRAWINGS and name not in figures_of(results):
        return DRAWINGS[name](results)
    wanted = request(results, what, items, frame, times)
    shown_rows = rows(results, wanted)
    if not shown_rows:
        raise ResultError(
            f"these results have nothing to show in the figure {wanted.name!r}: {results!r}{_instead(results)}"
        )
    name = wanted.name if len(wanted.name) <= LONGEST else f"{wanted.what[0]} and {len(wanted.what) - 1} more"
    title = f"{_title(results)}: {name.replace('_', ' ')}"
    if spectrum is not None:
        title += f", {SPECTRA[spectrum]}"
    if wanted.frame != INERTIAL:
        title += f", seen from {wanted.frame}"
    if len(shown_rows) > ROW_LIMIT:
        title += f" (the first {ROW_LIMIT} of {len(shown_rows)})"
    time, shown_rows = results.time[between(results, wanted.times)], shown_rows[:ROW_LIMIT]
    if spectrum is not None:
        return table(*spectra(time, shown_rows, spectrum), title, FREQUENCY)
    # the times of statics count states
    return table(time, shown_rows, title, "state" if results.method == "static" else TIME)


def _instead(results: Results) -> str:
    """What to ask for of results that are no histories."""
    if all(f"linear/{name}" in results.arrays for name in "ABCD"):
        return f"; of a linear model ask for {' or '.join(RESPONSES)}: --what bode"
    return ""


def _title(results: Results) -> str:
    """The title of the model, or of the case, or ``"results"``."""
    if results.title:
        return results.title
    try:
        return str(tomllib.loads(results.case).get("title", "results"))
    except tomllib.TOMLDecodeError:
        return "results"

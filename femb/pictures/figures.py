"""Figures of `Results`: time histories and spectra, as matplotlib figures and as picture files.

    plot(results, "overview.png")
    plot(results, "tips.png", "tips")
    plot(results, "hinge.png", ["coordinates of hinge", "joints/hinge/torque"], times=(0.0, 2.0))
    figure(results, ["hub.euler_angles", "right.tip.deflection"])

A figure is a table of `Panel`, and a panel is data; only `femb.pictures.drawing` uses matplotlib. Named figures are in
`femb.pictures.sheets`, quantities in `femb.pictures.words`; `femb.pictures.choice` interprets the texts of
``plot``.
"""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats
from femb.base.values import check_frame, names_of, shown, span_of
from femb.model.model import INERTIAL, Figure
from femb.pictures.animation import animate
from femb.pictures.choice import SIDE_BY_SIDE, check_items, is_name, problem_of, rows_of, split
from femb.pictures.drawing import FREQUENCY, TIME, Panel, save, table
from femb.pictures.files import Span, between
from femb.pictures.frequency import RESPONSES, draw_linear
from femb.pictures.picture import draw_modes, picture
from femb.pictures.sheets import FIGURES
from femb.pictures.study import STUDY_FIGURES, default_figure
from femb.pictures.subject import Rows, Scales, Subject
from femb.pictures.words import words
from femb.results.names import named
from femb.results.results import Results, results_of
from femb.results.spectrum import SpectrumKind, spectrum_of, unit_of_spectrum
from femb.results.sweep import METHOD

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


# The request of a figure of histories: what it shows, of which items, seen from where, and its rows of panels.

# Values of a spectrum below this part of a panel's largest are rounding errors.
FLOOR = 1e-14


@dataclass(frozen=True)
class Request:
    """The arguments of a figure: the name in the title, texts to show below one another, items, frame, time span."""

    name: str
    what: Sequence[str]
    items: Sequence[str] = ()
    frame: str = INERTIAL
    times: Span = (None, None)


def request(
    results: Results,
    what: str | Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    frame: str | None = None,
    times: Span | None = None,
) -> Request:
    """The request of the arguments of `plot`, which take precedence over those of a figure of the case of that name."""
    items = None if items is None else names_of("items", items, ResultError)
    if frame is not None:
        check_frame(frame)
    texts = (what,) if isinstance(what, str) else tuple(what or ("overview",))
    figure = figures_of(results).get(texts[0]) if len(texts) == 1 else None
    first, last = (None, None) if times is None else span_of(times)
    if figure is None:
        return Request("; ".join(texts), texts, tuple(items or ()), frame or results.frame, (first, last))
    span = (None, None) if figure.times is None else (float(figure.times[0]), float(figure.times[1]))
    return Request(
        figure.name,
        figure.what,
        figure.items if items is None else tuple(items),
        frame or (results.frame if figure.frame == INERTIAL else figure.frame),
        (span[0] if first is None else first, span[1] if last is None else last),
    )


def rows(results: Results, figure: Request) -> Rows:
    """The rows of panels of a figure, at the instants it shows; may be empty."""
    of_case = figures_of(results)
    for text in figure.what:
        for part in text.split(SIDE_BY_SIDE):
            name, _ = split(part)
            if is_name(name) and name not in of_case:
                named(results, name)
                continue
            problem = None if "/" in name and ".." not in name else problem_of(name, of_case)
            if problem:
                raise ResultError(problem)
    if not results.time.size:
        return []
    seen = results if figure.frame == results.frame else results.in_frame(figure.frame)
    subject = Subject(seen, figure.items, Scales(results))
    check_items(subject)
    inside = between(results, figure.times)
    all_rows = [row for text in figure.what for row in rows_of(subject, text)]
    return [[replace(panel, values=panel.values[inside]) for panel in row] for row in all_rows if row]


def figures_of(results: Results) -> dict[str, Figure]:
    """The figures of the case of the results, by name."""
    text = str(results.attributes.get("", {}).get("figures", "{}"))
    try:
        return {name: Figure(name, **words) for name, words in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, ModelError) as error:
        raise ResultError(f"attribute figures of the results: {error}; wanted the figures of a case as JSON") from error


def spectra(time: Floats, rows: Rows, kind: SpectrumKind) -> tuple[Floats, Rows]:
    """Frequencies (F,) Hz from the first above zero, and the rows of panels of histories at ``time`` (T,) s as spectra.

    Raises ResultError: output times that are too few or not equally spaced.
    """
    frequency = time
    result: Rows = []
    for row in rows:
        panels = []
        for panel in row:
            frequency, values = spectrum_of(time, panel.values, kind, panel.title)
            values = values[1:]
            values = np.where(values > FLOOR * np.max(values, initial=0.0), values, 0.0)
            unit = unit_of_spectrum(panel.unit, kind)
            panels.append(replace(panel, values=values, unit=unit, log=True, marks=()))
        result.append(panels)
    return frequency[1:], result


__all__ = ["FIGURES", "Figure", "animate", "figure", "figures_of", "picture", "plot", "request", "rows", "words"]

DRAWINGS: dict[str, Callable[..., "Drawn"]] = {
    "modes": draw_modes,
    **{name: partial(draw_linear, what=name) for name in RESPONSES},
}
"""Figures that are not histories: name -> function of results that draws it."""

OVERVIEW = ("overview",)
ROW_LIMIT = 6  # rows that fit on one readable page
LONGEST = 50  # characters of the names in a title
SPECTRA = {"psd": "power spectral density", "amplitude": "amplitude spectrum"}


def plot(
    results: Results | str | Path,
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

    Parameters:
        results: a run with output times.
        path: of the picture. The suffix gives the format (png, svg, pdf), png without one. Its folder is created.
        what: as in ``femb.figure``.
        items: as in ``femb.figure``.
        frame: as in ``femb.figure``.
        times: as in ``femb.figure``.
        spectrum: as in ``femb.figure``.
        dpi: dots per inch; the figure is some 8 to 18 inches wide.

    Raises:
        ResultError: an unknown name, results without the quantities requested, a file that cannot be written.
    """
    return save(_drawn(results, what, items, frame, times, spectrum), Path(path), dpi)


def figure(
    results: Results | str | Path,
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

    Parameters:
        results: a run with output times.
        what: content of the figure, one text or several below one another; None is ``"overview"``, of modes
            ``"modes"``, of a linear model ``"bode"``. The name of a quantity, see ``Results.names``; a figure of the
            case, a name in `FIGURES`,
            `DRAWINGS` or of `femb.pictures.words`, with ``" of ITEM, ITEM"`` for some items only, or the path of an
            array; see `femb.pictures.choice`. Of a study a name in `STUDY_FIGURES`, with ``" of OUTPUT, OUTPUT"`` for
            some outputs only; by default the one that shows its design.
        items: patterns of the items to show, see `femb.pictures.subject.Subject`; None for all.
        frame: frame that the motion is relative to, see `Results.in_frame`; None for that of the results.
        times: first and last instant, s; None for the first or last of the results.
        spectrum: "psd" or "amplitude" draws the spectra of the histories over the frequency in Hz, see
            `Results.spectrum`.
        path: of a picture file to write as well, see ``femb.plot``.
        dpi: dots per inch of the file.

    Raises:
        ResultError: an unknown name, results without the quantities requested, a file that cannot be written.
    """
    drawn = _drawn(results, what, items, frame, times, spectrum)
    if path is not None:
        save(drawn, Path(path), dpi)
    return drawn


def _drawn(
    results: Results | str | Path,
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
    results = results_of(results)
    if not what and what != "":
        what = default_of(results)
    if results.method == METHOD:
        word, names = split(what if isinstance(what, str) else what[0])
        if word not in STUDY_FIGURES:
            raise ResultError(f"no figure {word!r} of a study; there are: {', '.join(STUDY_FIGURES)}")
        return STUDY_FIGURES[word](results, names)
    name = what if isinstance(what, str) else what[0] if what and len(what) == 1 else ""
    if name in DRAWINGS and name not in figures_of(results):
        return DRAWINGS[name](results)
    wanted = request(results, what, items, frame, times)
    shown_rows = rows(results, wanted)
    if not shown_rows:
        raise ResultError(f"these results have nothing to show in the figure {wanted.name!r}: {results!r}")
    short = len(wanted.name) <= LONGEST or len(wanted.what) == 1
    name = wanted.name if short else f"{wanted.what[0]} and {len(wanted.what) - 1} more"
    title = f"{_title(results)}: {name.replace('_', ' ')}"
    if spectrum is not None:
        title += f", {SPECTRA[spectrum]}"
    if wanted.frame != INERTIAL:
        title += f", seen from {wanted.frame}"
    if len(shown_rows) > ROW_LIMIT:
        title += f" (the first {ROW_LIMIT} of {len(shown_rows)})"
    time = results.time[between(results, wanted.times)]
    shown_rows, note = shown_rows[:ROW_LIMIT], ""
    if tuple(wanted.what) == OVERVIEW:  # what is asked for by name is shown as it is
        shown_rows, note = _moving(shown_rows)
    if spectrum is not None:
        return table(*spectra(time, shown_rows, spectrum), title, FREQUENCY, note)
    return table(time, shown_rows, title, results.counted or TIME, note)


def _moving(rows: Rows) -> tuple[Rows, str]:
    """The panels that are not zero throughout, and a line that names the others; all panels where all are zero."""
    moving = [[panel for panel in row if _moves(panel)] for row in rows]
    if not any(moving):
        return rows, ""
    still = [f"{panel.quantity} of {panel.title}" for row in rows for panel in row if not _moves(panel)]
    return [row for row in moving if row], f"zero to rounding: {', '.join(still)}" if still else ""


def _moves(panel: Panel) -> bool:
    return panel.samples is not None or bool(np.any(panel.values))


def default_of(results: Results) -> str:
    """The figure of results where none is asked for: of a run "overview"."""
    if results.method == METHOD:
        return default_figure(results)
    if results.method in DRAWINGS:
        return results.method
    return RESPONSES[0] if "linear/A" in results.arrays else OVERVIEW[0]


def _title(results: Results) -> str:
    """The title of the model, or of the case, or ``"results"``."""
    if results.title:
        return results.title
    try:
        return str(tomllib.loads(results.case).get("title", "results"))
    except tomllib.TOMLDecodeError:
        return "results"

"""Figures of `Results`: time histories as picture files.

    plot(results, "overview.png")
    plot(results, "tips.png", "tips")
    plot(results, "hinge.png", ["coordinates of hinge", "joints/hinge/torque"], times=(0.0, 2.0))

A figure is a table of `Panel`, and a panel is data; only `femb.export.drawing` uses matplotlib. Named figures are in
`femb.export.plots.sheets`, quantities in `femb.export.plots.words`; `femb.export.plots.choice` interprets the texts of
``plot``.
"""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.export.animation import animate
from femb.export.drawing import draw_table
from femb.export.mode_picture import draw_modes
from femb.export.picture import picture
from femb.export.plots.choice import SIDE_BY_SIDE, check_items, problem_of, rows_of, split
from femb.export.plots.frequency import RESPONSES, draw_linear
from femb.export.plots.rounding import Scales
from femb.export.plots.sheets import FIGURES
from femb.export.plots.study import STUDY_FIGURES, default_figure
from femb.export.plots.subject import Rows, Subject
from femb.export.plots.words import WORDS
from femb.model.figure import INERTIAL, Figure
from femb.results.results import Results
from femb.results.sweep import METHOD

__all__ = ["FIGURES", "WORDS", "Figure", "animate", "figures_of", "picture", "plot"]

Span = tuple[float | None, float | None]

DRAWINGS: dict[str, Callable[..., Path]] = {
    "modes": draw_modes,
    **{name: partial(draw_linear, what=name) for name in RESPONSES},
}
"""Figures that are not histories: name -> function of results, path and dpi that draws it."""

ROW_LIMIT = 6  # rows that fit on one readable page


def plot(
    results: Results,
    path: str | Path,
    what: str | Sequence[str] | None = None,
    *,
    items: Sequence[str] | None = None,
    frame: str | None = None,
    times: Span | None = None,
    dpi: int = 150,
) -> Path:
    """Draw results over time into a file; returns the path written.

    Parameters
    ----------
    results : a run with output times.
    path : path of the picture
        The suffix gives the format (png, svg, pdf), png without one. Its folder is created.
    what : content of the figure, one text or several below one another; None is ``"overview"``, of modes ``"modes"``
        A figure of the case, a name in `FIGURES`, `DRAWINGS` or `WORDS`, with ``" of ITEM, ITEM"`` for some items
        only, or the path of an array; see `femb.export.plots.choice`. Of a study a name in `STUDY_FIGURES`, with
        ``" of OUTPUT, OUTPUT"`` for some outputs only; by default the one that shows its design.
    items : patterns of the items to show, see `femb.export.plots.subject.Subject`; None for all.
    frame : frame that the motion is relative to, see `Results.in_frame`; None for that of the results.
    times : first and last instant, s; None for the first or last of the results.
    dpi : dots per inch; the figure is some 8 to 18 inches wide.

    Raises ResultError for an unknown name, for results without the quantities requested, and where the file cannot be
    written.
    """
    if what is None and results.method in DRAWINGS:
        what = results.method
    if results.method == METHOD:
        word, names = split(what if isinstance(what, str) else (what or (default_figure(results),))[0])
        if word not in STUDY_FIGURES:
            raise ResultError(f"no figure {word!r} of a study; there are: {', '.join(STUDY_FIGURES)}")
        return STUDY_FIGURES[word](results, path, names, dpi=dpi)
    name = what if isinstance(what, str) else what[0] if what and len(what) == 1 else ""
    if name in DRAWINGS and name not in figures_of(results):
        return DRAWINGS[name](results, path, dpi=dpi)
    figure = request(results, what, items, frame, times)
    shown = rows(results, figure)
    if not shown:
        raise ResultError(
            f"these results have nothing to show in the figure {figure.name!r}: {results!r}{_instead(results)}"
        )
    title = f"{_title(results)}: {figure.name.replace('_', ' ')}"
    if figure.frame != INERTIAL:
        title += f", seen from {figure.frame}"
    if len(shown) > ROW_LIMIT:
        title += f" (the first {ROW_LIMIT} of {len(shown)})"
    # the times of statics count states
    words = {"axis": "state"} if results.method == "static" else {}
    return draw_table(results.time[_between(results, figure.times)], shown[:ROW_LIMIT], title, Path(path), dpi, **words)


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
    texts = (what,) if isinstance(what, str) else tuple(what or ("overview",))
    figure = figures_of(results).get(texts[0]) if len(texts) == 1 else None
    first, last = times or (None, None)
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
            problem = None if "/" in name and ".." not in name else problem_of(name, of_case)
            if problem:
                raise ResultError(problem)
    if not results.time.size:
        return []
    seen = results if figure.frame == results.frame else results.in_frame(figure.frame)
    subject = Subject(seen, figure.items, Scales(results))
    check_items(subject)
    between = _between(results, figure.times)
    all_rows = [row for text in figure.what for row in rows_of(subject, text)]
    return [[replace(panel, values=panel.values[between]) for panel in row] for row in all_rows if row]


def figures_of(results: Results) -> dict[str, Figure]:
    """The figures of the case of the results, by name."""
    text = str(results.attributes.get("", {}).get("figures", "{}"))
    try:
        return {name: Figure(name, **words) for name, words in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, ModelError) as error:
        raise ResultError(f"attribute figures of the results: {error}; wanted the figures of a case as JSON") from error


def _instead(results: Results) -> str:
    """What to ask for of results that are no histories."""
    if all(f"linear/{name}" in results.arrays for name in "ABCD"):
        return f"; of a linear model ask for {' or '.join(RESPONSES)}: --what bode"
    return ""


def _between(results: Results, times: Span) -> np.ndarray:
    """Mask (T,) of the output times in a span; ResultError if there is none."""
    first, last = times
    time = results.time
    inside = np.ones(time.size, dtype=bool)
    if first is not None:
        inside &= time >= first - 1e-9 * abs(first)
    if last is not None:
        inside &= time <= last + 1e-9 * abs(last)
    if not inside.any() and time.size:
        raise ResultError(f"no output time from {first} to {last} s: the results go from {time[0]:g} to {time[-1]:g} s")
    return inside


def _title(results: Results) -> str:
    """The title of the model, or of the case, or ``"results"``."""
    if results.title:
        return results.title
    try:
        return str(tomllib.loads(results.case).get("title", "results"))
    except tomllib.TOMLDecodeError:
        return "results"

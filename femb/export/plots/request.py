"""The request of a figure of histories: what it shows, of which items, seen from where, and its rows of panels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from femb.base.arguments import check_text, names_of, span_of
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats
from femb.export.plots.choice import SIDE_BY_SIDE, check_items, is_name, problem_of, rows_of, split
from femb.export.plots.rounding import Scales
from femb.export.plots.subject import Rows, Subject
from femb.model.figure import INERTIAL, Figure
from femb.results.names import named
from femb.results.results import Results
from femb.results.spectrum import SpectrumKind, spectrum_of, unit_of_spectrum

Span = tuple[float | None, float | None]

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
        check_text("frame", frame, "the name of a body, or of a beam's node as 'NAME[NODE]'", ResultError)
    texts = (what,) if isinstance(what, str) else tuple(what or ("overview",))
    figure = figures_of(results).get(texts[0]) if len(texts) == 1 else None
    first, last = (None, None) if times is None else span_of("times", times, ResultError)
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


def between(results: Results, times: Span) -> np.ndarray:
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

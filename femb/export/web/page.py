"""The page: data, scripts, styles and libraries in one file of HTML."""

import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from femb.base.errors import ResultError
from femb.export.files import writing
from femb.export.web import modal, summary
from femb.export.web.frequency import Frequency
from femb.export.web.histories import histories_of
from femb.export.web.packing import Packing
from femb.export.web.scene import FRAMES, scene_of
from femb.results.results import Results

NO_RESULTS: Mapping[str, Results] = {}

FORMAT = 1  # of the data; see schema.json
SCRIPTS = (
    *("arrays", "colours", "beams", "carriers", "structure", "viewer", "player", "plots", "curves"),
    *("chart", "tables", "envelopes", "modes", "frequency", "study", "main"),
)
"""The scripts of the page, parts of one, in this order."""
FEWEST, MOST = 2, 20_000
UNFINISHED = ("running", "failed")  # runs of which a page also tells that there is no output time yet


def page_of(
    results: Results,
    *,
    name: str = "",
    frames: int = FRAMES,
    peaks: Sequence[Mapping[str, Any]] = (),
    envelopes: Sequence[Mapping[str, Any]] = (),
    frequency: Frequency | None = None,
    others: Mapping[str, Results] = NO_RESULTS,
) -> str:
    """The text of the page.

    name : of the result file. frames : largest number of output times of the animation. peaks, envelopes : rows of the
    peak-load table, and envelopes of beams, see schema.json. frequency : the responses of a linear model or a base
    shake. others : results by name, whose histories are drawn beside those of the same paths. Raises ResultError:
    results without anything to show.
    """
    if not FEWEST <= frames <= MOST:
        raise ResultError(f"frames is {frames}; an animation has {FEWEST} to {MOST} output times")
    packing = Packing()
    data: dict[str, Any] = {
        "format": FORMAT,
        "head": summary.head_of(results, name),
        "audit": summary.audit_of(results),
        "scene": scene_of(results, packing, frames),
        "histories": histories_of(results, packing),
        "peaks": list(peaks),
        "envelopes": list(envelopes),
        "modes": modal.modes_of(results),
        "participation": modal.participation_of(results),
        "static": summary.states_of(results),
        "buckling": _buckling(results, packing),
        "frequency": None if frequency is None else frequency.packed(packing),
        "study": summary.study_of(results),
        "case": results.case,
    }
    data["others"] = _others(others, data["histories"], packing)
    shown = results.time.size or data["study"] or data["frequency"] or data["peaks"]
    if not shown and results.status not in UNFINISHED:
        raise ResultError(
            "these results have neither output times nor loads, a linear model or the table of a study, so that a page "
            f"has nothing to show: {results!r}"
        )
    return _filled(data, packing.text())


def _buckling(results: Results, packing: Packing) -> dict[str, Any] | None:
    found = modal.buckling_of(results)
    if found is None:
        return None
    shown, rows, states = found
    return {"scene": scene_of(shown, packing, kind="buckling"), "modes": rows, "states": states}


def _others(others: Mapping[str, Results], own: dict[str, Any] | None, packing: Packing) -> list[dict[str, Any]]:
    """The histories of other runs of which the page has the same paths."""
    found = []
    for label, results in others.items():
        paths = {entry["path"] for entry in own["entries"]} if own else set()
        histories = histories_of(results, packing, paths)
        if histories is None:
            raise ResultError(
                f"{label}: has no history of the same name as the first results, so that the two cannot be compared"
            )
        found.append({"name": label, "histories": histories})
    return found


def write_page(text: str, path: str | Path) -> Path:
    """Write a page; its path. An error leaves an earlier file as it was. Raises ResultError."""
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ResultError(f"{path}: a report is a page for browsers; give a name that ends in .html")
    if path.is_dir():
        raise ResultError(f"{path}: cannot be written: it is a folder")
    with writing(path.parent) as drafts:
        drafts.new(path.name).write_text(text, encoding="utf-8")
    return path


def _filled(data: Mapping[str, Any], arrays: str) -> str:
    # In scripts only "<" can end the element.
    content = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": html.escape(str(data["head"]["title"])),
        "styles": _asset("libraries.min.css") + _asset("report.css"),
        "data": content,
        "arrays": arrays,
        "libraries": _asset("libraries.min.js"),
        "scripts": "\n".join(_asset(f"{name}.js") for name in SCRIPTS),
    }
    pieces = _asset("report.html").split("@@")  # texts and names of parts by turns
    return "".join(parts[piece] if odd else piece for odd, piece in ((k % 2, piece) for k, piece in enumerate(pieces)))


@cache
def _asset(name: str) -> str:
    return files("femb.export.web").joinpath(name).read_text(encoding="utf-8")

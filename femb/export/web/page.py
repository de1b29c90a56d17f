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
from femb.export.web import summary
from femb.export.web.histories import histories_of
from femb.export.web.packing import Packing
from femb.export.web.scene import FRAMES, scene_of
from femb.results.results import Results

FORMAT = 1  # of the data; see schema.json
SCRIPTS = ("arrays", "colours", "beams", "structure", "viewer", "player", "curves", "chart", "tables", "main")
"""The scripts of the page, parts of one, in this order."""
FEWEST, MOST = 2, 20_000
UNFINISHED = ("running", "failed")  # runs of which a page also tells that there is no output time yet


def page_of(results: Results, *, name: str = "", frames: int = FRAMES, peaks: Sequence[Mapping[str, Any]] = ()) -> str:
    """The text of the page.

    name : of the result file. frames : largest number of output times of the animation. peaks : rows of the peak-load
    table, see schema.json. Raises ResultError: results with neither motion nor a table of modes, states or runs.
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
        "modes": summary.modes_of(results),
        "static": summary.states_of(results),
        "study": summary.study_of(results),
        "case": results.case,
    }
    if not (results.time.size or data["study"]) and results.status not in UNFINISHED:
        raise ResultError(
            f"these results have neither output times nor the table of a study, so that a page has nothing to show: "
            f"{results!r}"
        )
    return _filled(data, packing.text())


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

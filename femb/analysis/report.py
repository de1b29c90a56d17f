"""Reports: one page of HTML for browsers with all that results contain, moving; in notebooks the same page inline."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from femb.analysis.report_frequency import frequency_of
from femb.analysis.report_loads import loads_of
from femb.base.errors import ResultError
from femb.export.web.page import page_of, write_page
from femb.export.web.scene import FRAMES
from femb.results.results import Results

NOTHING: Mapping[str, Any] = {}
HEIGHT = 820  # pixels of a page in a notebook


@dataclass(frozen=True, eq=False)
class Shown:
    """A page as notebooks show it: what `show` returns. page : its HTML. height : in pixels."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles and scripts do not meet those of the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:{self.height}px;border:0" '
            'sandbox="allow-scripts allow-downloads" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Shown: a page of {len(self.page) / 1e6:.2g} MB, for notebooks; femb.report writes it to a file>"


class Tabled(Protocol):
    """What has results to show: ``Modes`` and ``Sweep``."""

    def results(self) -> Results:
        """Its results."""
        ...


def report(
    results: Results | Tabled,
    path: str | Path,
    *,
    frames: int = FRAMES,
    name: str = "",
    beside: Mapping[str, Results | Tabled] = NOTHING,
) -> Path:
    """Write a page of HTML that shows results in any browser, without a network; its path.

    What was run and how, the audit in words, the moving structure, time histories, peak loads; modes, static states or
    the runs of a study, where the results are of these.

    Parameters
    ----------
    results : of a run, also of an unfinished one; of ``static``; ``Modes``, or the ``Sweep`` of a study.
    path : of the page, ending in ``.html``. Its folder is created.
    frames : largest number of output times of the animation; with very many parts there are fewer.
    name : of the results on the page, such as that of their file.
    beside : other runs by name; the plots of histories show them too, dashed.

    Raises ResultError: results with nothing to show or to compare, a page that cannot be written.
    """
    return write_page(_page(results, frames, name, beside), path)


def show(results: Results | Tabled, *, height: int = HEIGHT, frames: int = FRAMES) -> Shown:
    """The page of `report` for a notebook, which shows it inline where this is the last value of a cell.

    height : in pixels. frames : as of `report`. Raises ResultError: results with nothing to show.
    """
    if not 100 <= height <= 10_000:
        raise ResultError(f"height is {height} pixels; it must be between 100 and 10000")
    return Shown(_page(results, frames, ""), height)


def _page(shown: Results | Tabled, frames: int, name: str, beside: Mapping[str, Results | Tabled] = NOTHING) -> str:
    results = shown if isinstance(shown, Results) else shown.results()
    peaks, envelopes = loads_of(results)
    others = {label: other if isinstance(other, Results) else other.results() for label, other in beside.items()}
    words: dict[str, Any] = {
        "peaks": peaks,
        "envelopes": envelopes,
        "frequency": frequency_of(results),
        "others": others,
    }
    return page_of(results, name=name, frames=frames, **words)

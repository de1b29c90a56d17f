"""Peak loads and envelopes for reports: of a run, or those that ``femb loads`` has written."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from femb.analysis.peak_loads import NOISE, PeakLoad, peak_loads
from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.results import Results

WORDS = ("item", "load", "unit", "maximum", "time_of_maximum", "place_of_maximum", "minimum", "time_of_minimum",
         "place_of_minimum")  # fmt: skip
BEAMS = 100  # with envelopes on a page, at most
DIGITS = 5


def loads_of(results: Results) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the page's table of peak loads, and the envelopes of beams, see schema.json; empty without loads."""
    if "loads/peaks/item" in results.arrays:
        return _stored(results)
    if results.method == "modes":
        return [], []
    try:
        found = peak_loads(results)
    except ResultError:  # without loads, or without output times
        return [], []
    envelopes = [
        _envelope(name, each.position, each.loads, each.maximum, each.minimum)
        for name, each in list(found.envelopes.items())[:BEAMS]
    ]
    return _rows(found.peaks), envelopes


def _stored(results: Results) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those of loads.h5."""
    arrays = results.arrays
    columns = [arrays[f"loads/peaks/{word}"].tolist() for word in WORDS]
    peaks = [PeakLoad(**dict(zip(WORDS, values, strict=True))) for values in zip(*columns, strict=True)]
    envelopes = []
    paths = (
        path.removesuffix("/position")
        for path in arrays
        if path.startswith("loads/beams/") and path.endswith("/position")
    )
    for path in list(paths)[:BEAMS]:
        loads = list(zip(map(str, arrays[f"{path}/loads"]), map(str, arrays[f"{path}/units"]), strict=True))
        values = (np.asarray(arrays[f"{path}/{word}"], dtype=float) for word in ("maximum", "minimum"))
        envelopes.append(_envelope(path.removeprefix("loads/beams/"), arrays[f"{path}/position"], loads, *values))
    return _rows(peaks), envelopes


def _envelope(
    name: str, position: Floats, loads: Sequence[tuple[str, str]], maximum: Floats, minimum: Floats
) -> dict[str, Any]:
    """An envelope with the loads that act."""
    acting = [
        k for k in range(len(loads)) if np.any(np.nan_to_num(maximum[:, k])) or np.any(np.nan_to_num(minimum[:, k]))
    ]
    return {
        "beam": name,
        "position": _numbers(position),
        "loads": [
            {
                "load": loads[k][0],
                "unit": loads[k][1],
                "maximum": _numbers(maximum[:, k]),
                "minimum": _numbers(minimum[:, k]),
            }
            for k in acting
        ],
    }


def _numbers(values: Floats) -> list[float | None]:
    return [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in values]


def _rows(peaks: Sequence[PeakLoad]) -> list[dict[str, Any]]:
    """Rows of the page's table; loads that are rounding errors, as in the table of ``femb loads``, as zero."""
    sizes: dict[str, float] = {}
    for peak in peaks:
        sizes[peak.unit] = max(sizes.get(peak.unit, 0.0), peak.largest)
    rows = [asdict(peak) for peak in peaks]
    for row in rows:
        for word in ("maximum", "minimum"):
            if not np.isfinite(row[word]):
                row[word] = None
            elif abs(row[word]) <= NOISE * sizes[row["unit"]]:
                row[word] = 0.0
    return rows

"""Reports: one page of HTML for browsers with all that results contain, moving; in notebooks the same page inline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from femb.base.errors import ResultError
from femb.base.html import Shown
from femb.base.types import Complexes, Floats
from femb.base.values import numbered, without_rounding
from femb.linear.norms import gramian
from femb.linear.peak_loads import NOISE, WORDS, PeakLoad, peak_loads
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import RIGID, Flow, resolving, transfers
from femb.reporting.frequency import Frequency, number
from femb.reporting.page import page_of, write_page
from femb.reporting.scene import FRAMES
from femb.results.results import Results, results_of

# Frequency responses for reports: those of linear models, and those that base shakes have recorded.

MOST = 4000  # frequencies of a response
IN_BAND = 8  # frequencies in a half-power band
HANKEL = 400  # largest number of states of which Hankel singular values are computed
STABLE = 1e-9  # of the largest pole: a real part below this is one of damping
STEPS, SETTLED = 500, 6.0  # times of a step response, and time constants of the slowest pole that it lasts
MARGINS = (
    ("phase_margins", "crossovers", "phase margin (deg)"),
    ("delay_margins", "crossovers", "delay margin (s)"),
    ("gain_margins", "phase_crossovers", "gain margin (factor)"),
)


def frequency_of(results: Results) -> Frequency | None:
    """The responses in results of ``femb linearize`` and ``femb shake``; None of others."""
    if "linear/A" in results.arrays:
        return _linear(StateSpace.of_results(results), results)
    if "shake/real" in results.arrays:
        return _shake(results)
    return None


def _linear(space: StateSpace, results: Results) -> Frequency:
    poles, space = space.eigenvalues(), space.in_modes()
    poles = poles[np.isfinite(poles)]  # delays of a sampled model have theirs at minus infinity
    last = None if space.dt is None else 0.5 / space.dt
    frequencies = resolving(poles, last=last, in_band=IN_BAND) if len(poles) else np.geomspace(0.01, last or 100.0, 200)
    if len(frequencies) > MOST:
        frequencies = frequencies[:: -(-len(frequencies) // MOST)]
    rigid = int(np.sum(np.abs(poles) <= RIGID * np.max(np.abs(poles), initial=0.0)))
    gains = None if rigid or not len(poles) else space.transfer(0.0).real
    counts = ", ".join(numbered(len(getattr(space, f"{name}s")), name) for name in ("state", "input", "output"))
    stable = "unstable" if np.any(poles.real > 1e-6 * np.max(np.abs(poles), initial=0.0)) else "no unstable pole"
    note = f"{counts}; {stable}" + (f"; {rigid} poles at zero, of rigid motions" if rigid else "")
    note += "" if space.dt is None else f"; sampled every {space.dt:.6g} s"
    note += f"; about unsteady motion: {space.unsteady}" if space.unsteady else ""
    return Frequency(
        frequencies, transfers(space.A, space.B, space.C, space.D, frequencies, space.dt), space.outputs, space.inputs,
        poles=poles, gains=gains, hankel=_hankel(space, poles), note=note, units=space.units,
        margins=_margins(results), step=_step(space, results.arrays.get("linear/poles_real")),
    )  # fmt: skip


def _margins(results: Results) -> list[dict[str, Any]]:
    """The margins of a control loop: channel, kind, value and frequency (Hz) of each; none of other models."""
    rows: list[tuple[str, str, float, float]] = []
    for k, channel in enumerate(map(str, results.arrays.get("linear/channels", ())), 1):
        of = {word: results.arrays[f"linear/margins_{k}_{word}"] for words in MARGINS for word in words[:2]}
        for word, at, kind in MARGINS:
            rows += [(channel, kind, value, omega) for value, omega in zip(of[word], of[at], strict=True)]
        omega, height = results.arrays[f"linear/margins_{k}_sensitivity"]
        rows.append((channel, "peak of the sensitivity", height, omega))
    return [
        {"channel": channel, "kind": kind, "value": number(value), "frequency": number(omega / (2.0 * np.pi))}
        for channel, kind, value, omega in rows
    ]


def _step(space: StateSpace, decays: Floats | None) -> tuple[Floats, Floats] | None:
    """Times (t,) s and outputs (t, p, m) after unit steps of the inputs of a loop; None of others, and unstable ones.

    decays : real parts of the poles that its outputs see, 1/s.
    """
    if decays is None or not len(decays) or np.max(decays) >= 0.0:
        return None
    h, (n, m) = SETTLED / float(-np.max(decays)) / STEPS, space.B.shape
    if space.dt is None:
        P, Q = Flow(space.A, space.B)(h)
    else:
        every = int(np.ceil(h / space.dt))
        block = np.block([[space.A, space.B], [np.zeros((m, n)), np.eye(m)]])
        whole, h = np.linalg.matrix_power(block, every), every * space.dt
        P, Q = whole[:n, :n], whole[:n, n:]
    x = [np.zeros(space.B.shape)]
    for _ in range(STEPS):
        x.append(P @ x[-1] + Q)
    return h * np.arange(STEPS + 1.0), space.C @ np.array(x) + space.D


def _hankel(space: StateSpace, poles: Complexes) -> Floats | None:
    """(n,) Hankel singular values; None of a model that is large, or whose motion does not decay."""
    size = float(np.max(np.abs(poles), initial=0.0))
    if not 0 < len(poles) <= HANKEL or np.any(poles.real > -STABLE * size) or not len(space.outputs):
        return None
    reached, seen = gramian(space.A, space.B, space.dt), gramian(space.A.T, space.C.T, space.dt)
    squares = np.sort(np.abs(np.linalg.eigvals(reached @ seen)))[::-1]
    return np.asarray(np.sqrt(squares))


def _shake(results: Results) -> Frequency:
    arrays = {path.removeprefix("shake/"): array for path, array in results.arrays.items()}
    outputs = [str(name) for name in arrays["outputs"]]
    # older files have no units
    units = [
        str(unit) or name for unit, name in zip(arrays.get("output_units", [""] * len(outputs)), outputs, strict=True)
    ]
    columns = {}
    for word in ("peak", "peak_frequency", "rms", "miles"):
        if word in arrays:
            values = np.asarray(arrays[word], dtype=float)
            sizes = [
                max(abs(x) for x, u in zip(np.nan_to_num(values), units, strict=True) if u == unit) for unit in units
            ]
            columns[word] = values if word == "peak_frequency" else without_rounding(values, sizes)
    rows = [
        {"output": name, "unit": "" if unit in ("-", name) else unit}
        | {word: float(values[k]) if np.isfinite(values[k]) else None for word, values in columns.items()}
        for k, (name, unit) in enumerate(zip(outputs, units, strict=True))
    ]
    for row in rows:
        if not row["peak"] and "miles" in row:
            row["miles"] = None
    random = "density" in arrays
    return Frequency(
        np.asarray(arrays["frequencies"], dtype=float),
        (arrays["real"] + 1j * arrays["imaginary"])[:, :, None],
        outputs,
        [str(name) for name in arrays["inputs"]],
        densities=np.asarray(arrays["output_density"], dtype=float) if random else None,
        shaken=rows,
        note="random shake of the base" if random else "sine on the base, of unit acceleration",
    )


# Peak loads and envelopes for reports: of a run, or those that ``femb loads`` has written.

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
    """The peak loads of loads.h5."""
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
    rows = [peak.row() for peak in peaks]
    for row in rows:
        for word in ("maximum", "minimum"):
            if not np.isfinite(row[word]):
                row[word] = None
            elif abs(row[word]) <= NOISE * sizes[row["unit"]]:
                row[word] = 0.0
    return rows


NOTHING: Mapping[str, Any] = {}
HEIGHT = 820  # pixels of a page in a notebook


@runtime_checkable
class HasTable(Protocol):
    """A table with results to show: ``Modes`` and ``Sweep``."""

    def results(self) -> Results:
        """Its results."""
        ...


def report(
    results: Results | HasTable | str | Path,
    path: str | Path,
    *,
    frames: int = FRAMES,
    name: str = "",
    beside: Mapping[str, Results | HasTable | str | Path] = NOTHING,
) -> Path:
    """Write a page of HTML that shows results in any browser, without a network; its path.

    What was run and how, the audit in words, the moving structure, time histories, peak loads; modes, static states or
    the runs of a study, where the results are of these.

    Parameters:
        results: of a run, also of an unfinished one; of ``static``; ``Modes``, or the ``Sweep`` of a study.
        path: of the page, ending in ``.html``. Its folder is created.
        frames: largest number of output times of the animation; with very many parts there are fewer.
        name: of the results on the page, such as that of their file.
        beside: other runs by name, whose histories are shown too, dashed; of studies, maps and other figures.

    Raises:
        ResultError: results with nothing to show or to compare, a page that cannot be written.
    """
    return write_page(_page(results, frames, name, beside), path)


def show(results: Results | HasTable | str | Path, *, height: int = HEIGHT, frames: int = FRAMES) -> Shown:
    """The page of ``report`` for a notebook. It stands inline where this is the last value of a cell.

    Parameters:
        results: as in `report`.
        height: in pixels.
        frames: as in `report`.

    Raises:
        ResultError: results with nothing to show.
    """
    if not 100 <= height <= 10_000:
        raise ResultError(f"height is {height} pixels; it must be between 100 and 10000")
    return Shown(_page(results, frames, ""), height)


def _page(
    shown: Results | HasTable | str | Path,
    frames: int,
    name: str,
    beside: Mapping[str, Results | HasTable | str | Path] = NOTHING,
) -> str:
    results = _results(shown)
    peaks, envelopes = loads_of(results)
    return page_of(
        results, name=name, frames=frames, peaks=peaks, envelopes=envelopes, frequency=frequency_of(results),
        others={label: _results(other) for label, other in beside.items()},
    )  # fmt: skip


def _results(shown: Results | HasTable | str | Path) -> Results:
    """Results, those of a table, or those of a file."""
    if isinstance(shown, HasTable) and not isinstance(shown, type):
        return shown.results()
    return results_of(shown)  # type: ignore[arg-type]

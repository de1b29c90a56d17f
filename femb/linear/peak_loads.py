"""Peak loads of a run: the largest and smallest value of every load, when and where; envelopes of beams and shells.

Root loads of appendages, loads and stresses of beams and shells, reactions, forces of springs. Source:
docs/howto/loads.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.arrays import listing
from femb.base.errors import ResultError
from femb.base.files import write_table
from femb.base.html import Tabled
from femb.base.quantity import IN_PLANE, Group
from femb.base.types import Bools, Floats
from femb.base.values import names_of, span_of
from femb.elements.beam.results import BeamResults, section_loads
from femb.elements.shell.results import ShellResults, failure_index_at, surface_stress_at, von_mises
from femb.results.array_file import Arrays, write_arrays
from femb.results.names import fits_item
from femb.results.results import Results, results_of

SECTION_LOADS = (
    ("axial force", "N"),
    ("shear force y", "N"),
    ("shear force z", "N"),
    ("torsional moment", "N m"),
    ("bending moment y", "N m"),
    ("bending moment z", "N m"),
)
# A value below this part of the largest of its unit is shown as zero in the table: an error of rounding or tolerance.
NOISE = 1e-7
UNITS = {"Pa": (1e-6, "MPa")}


@dataclass(frozen=True)
class PeakLoad:
    """Extremes of one load over time and place.

    item : such as "beams/boom". load : such as "axial force". unit : of maximum and minimum. times : s, of statics the
    state. places : along a beam, such as "0.5 m"; else empty. curves (2, T) : the largest value of all places, and -1
    times the smallest, over time.
    """

    item: str
    load: str
    unit: str
    maximum: float
    time_of_maximum: float
    place_of_maximum: str
    minimum: float
    time_of_minimum: float
    place_of_minimum: str
    curves: Floats = field(default_factory=lambda: np.zeros((2, 0)), compare=False, repr=False, kw_only=True)

    def row(self) -> dict[str, Any]:
        """Its names, numbers and places by their words, as in tables."""
        return {word: getattr(self, word) for word in WORDS}

    @property
    def largest(self) -> float:
        """The greater of the magnitudes of maximum and minimum."""
        return max(abs(self.maximum), abs(self.minimum))


WORDS = tuple(each.name for each in fields(PeakLoad) if each.name != "curves")
"""Columns of tables of peak loads."""


@dataclass(frozen=True, eq=False)
class Envelope:
    """Envelopes at m places: start, middle and end of every element of a beam, or the middles of elements of a shell.

    position : (m,) m along the undeformed beam from its start; (m, 3) m at the start, inertial axes, of a shell.
    maximum, minimum (m, c) : of the c ``loads`` (name and unit of each), with their times (m, c), s. curves (2, T, c) :
    as of a ``PeakLoad``.
    """

    position: Floats
    loads: tuple[tuple[str, str], ...]
    maximum: Floats
    time_of_maximum: Floats
    minimum: Floats
    time_of_minimum: Floats
    curves: Floats

    @classmethod
    def of(
        cls, position: Floats, loads: Sequence[tuple[str, str]], upper: Floats, lower: Floats, time: Floats
    ) -> "Envelope":
        """The envelopes of the largest and smallest values (T, m, c) at the places, over the times (T,)."""
        tops, bottoms = np.argmax(upper, axis=0), np.argmin(lower, axis=0)
        high, low, curves = np.max(upper, axis=0), np.min(lower, axis=0), [upper.max(axis=1), -lower.min(axis=1)]
        return cls(position, tuple(loads), high, time[tops], low, time[bottoms], np.stack(curves))

    def peaks(self, path: str, places: Sequence[str]) -> "Iterator[PeakLoad]":
        """The largest and smallest value of each load, of the item at ``path``, with the name of its place."""
        for c, (load, unit) in enumerate(self.loads):
            ends: list[Any] = []
            for values, times, k in (
                (self.maximum, self.time_of_maximum, int(np.argmax(self.maximum[:, c]))),
                (self.minimum, self.time_of_minimum, int(np.argmin(self.minimum[:, c]))),
            ):
                ends += [float(values[k, c]), float(times[k, c]), places[k]]
            yield PeakLoad(path, load, unit, *ends, curves=self.curves[:, :, c])


@dataclass(frozen=True, eq=False)
class PeakLoads(Tabled):
    """The peak loads of a run: its title, peaks, envelopes of beams and of shells by name, time_unit "s", or "" where
    times count; notes on items by path, as the point of a torque."""

    title: str
    peaks: tuple[PeakLoad, ...]
    envelopes: dict[str, Envelope]
    time_unit: str = "s"
    shells: dict[str, Envelope] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def table(self) -> str:
        sizes: dict[str, float] = {}
        for peak in self.peaks:
            sizes[peak.unit] = max(sizes.get(peak.unit, 0.0), peak.largest)
        when = f"at {self.time_unit}"
        places = (len(place) for peak in self.peaks for place in (peak.place_of_maximum, peak.place_of_minimum))
        wide = max(10, 2 + max(places, default=0))
        ends = (f"{word:>13}{when:>10}{'place':>{wide}}" for word in ("maximum", "minimum"))
        head = f"{'load':24}{'unit':>5}{''.join(ends)}"
        lines, item = [self.title] if self.title else [], ""
        for peak in self.peaks:
            if peak.item != item:
                item = peak.item
                lines += ["", item + self.notes.get(item, ""), head]
            factor, unit = UNITS.get(peak.unit, (1.0, peak.unit))
            line = f"{peak.load:24}{unit:>5}"
            for value, time, place in (
                (peak.maximum, peak.time_of_maximum, peak.place_of_maximum),
                (peak.minimum, peak.time_of_minimum, peak.place_of_minimum),
            ):
                if abs(value) > NOISE * sizes[peak.unit]:
                    line += f"{factor * value:13.5g}{time:10.5g}{place:>{wide}}"
                else:
                    line += f"{0:13}{'':{10 + wide}}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def write(self, path: str | Path) -> Path:
        """Write the peaks to a .csv, or peaks and envelopes to a .npz or a results file .h5, group loads; its path.

        Raises ResultError.
        """
        path = Path(path)
        if path.suffix != ".csv":
            return write_arrays(path, self._arrays(), (".npz", ".h5"), group="loads", more=", or .csv for the table")
        return write_table(path, WORDS, (peak.row().values() for peak in self.peaks))

    def _arrays(self) -> Arrays:
        arrays: dict[str, Floats | tuple[str, ...]] = {"title": (self.title,)} if self.title else {}
        for word in WORDS:
            values = tuple(getattr(peak, word) for peak in self.peaks)
            arrays[f"peaks/{word}"] = np.array(values) if PeakLoad.__annotations__[word] is float else values
        found = {f"beams/{name}": each for name, each in self.envelopes.items()}
        for path, envelope in (found | {f"shells/{name}": each for name, each in self.shells.items()}).items():
            arrays[f"{path}/loads"] = tuple(load for load, _ in envelope.loads)
            arrays[f"{path}/units"] = tuple(unit for _, unit in envelope.loads)
            for word in ("position", "maximum", "time_of_maximum", "minimum", "time_of_minimum"):
                arrays[f"{path}/{word}"] = getattr(envelope, word)
        return arrays


def peak_loads(
    results: Results | str | Path, items: Sequence[str] = (), times: tuple[float | None, float | None] = (None, None)
) -> PeakLoads:
    """The peak loads of a run, and envelopes of its beams and shells.

    Parameters:
        results: of the run.
        items: names as "boom" or "beams/boom", with * and ? as wildcards; by default all.
        times: first and last instant, s.

    Raises:
        ResultError: an item that the results do not contain, no output time in the span, results without loads.
    """
    results = results_of(results)
    time, (first, last) = results.time, span_of(times)
    inside = (time >= (-np.inf if first is None else first)) & (time <= (np.inf if last is None else last))
    if not time.size:
        raise ResultError(f"these results have no output times, so that they have no peak loads: {results!r}")
    if not np.any(inside):
        raise ResultError(f"no output time from {first} to {last} s: {results!r}")
    groups: list[Group] = [*results.appendages.values(), *results.beams.values(), *results.shells.values()]
    groups += [*results.joints.values(), *results.springs.values()]
    for pattern in names_of("items", items, ResultError):
        if not any(fits_item(group, (pattern,)) for group in groups):
            raise ResultError(f"no loads of {pattern!r}; there are: {listing({group.path: None for group in groups})}")
    chosen = [group for group in groups if not items or fits_item(group, items)]
    envelopes = {
        group.name: _envelope(group, time, inside)
        for group in chosen
        if isinstance(group, BeamResults) and "midpoint_force" in group
    }
    shells = {
        group.name: _of_shell(group, time, inside)
        for group in chosen
        if isinstance(group, ShellResults) and "bending_moment" in group
    }
    peaks = [peak for group in chosen for peak in _peaks(group, time, inside, envelopes, shells)]
    if not peaks:
        raise ResultError(f"these results have no appendages, beams, shells, joints or springs: {results!r}")
    notes = {f"beams/{name}": ", without stresses" for name in envelopes if "stress_section" not in results.beams[name]}
    for root in (each for each in results.appendages.values() if "point" in each):
        at = ", ".join(f"{x + 0.0:.5g}" for x in np.round(root.point, 12).tolist())
        notes[root.path] = f", on {root.parent}, torque about ({at}) m of it"
    counted = "state" if results.method == "static" else "s"
    return PeakLoads(results.title, tuple(peaks), envelopes, counted, shells, notes)


def _peaks(
    group: Group, time: Floats, inside: Bools, envelopes: dict[str, Envelope], shells: dict[str, Envelope]
) -> Iterator[PeakLoad]:
    if isinstance(group, BeamResults):
        if group.name in envelopes:
            envelope = envelopes[group.name]
            yield from envelope.peaks(group.path, [f"{x:.5g} m" for x in envelope.position.tolist()])
        return
    if isinstance(group, ShellResults):
        if group.name in shells:
            surface = shells[group.name]
            yield from surface.peaks(group.path, [f"element {k}" for k in range(len(surface.position))])
        return
    if "force" not in group:
        return
    loads: list[tuple[str, str]] = []
    columns: list[Floats] = []
    if group["force"].ndim == 1:  # of a spring
        loads.append(("torque", "N m") if "angle" in group else ("force", "N"))
        columns.append(group["force"])
    else:
        for word, unit in (("force", "N"), ("torque", "N m")):
            values = group[word] if word in group else np.zeros((0, 0))
            loads += [(f"{word} {axis}", unit) for axis in "xyz"[: values.shape[-1]]]
            columns += list(values.T[: len("xyz")])
            if values.shape[-1] == 3:
                loads.append((f"{word}, magnitude", unit))
                columns.append(np.linalg.norm(values, axis=-1))
    history = np.stack(columns, axis=-1)[inside, None]
    yield from Envelope.of(np.zeros(1), loads, history, history, time[inside]).peaks(group.path, [""])


def _envelope(beam: BeamResults, time: Floats, inside: Bools) -> Envelope:
    """The envelopes of a beam over the chosen instants."""
    time = time[inside]
    loads = section_loads(beam)[inside]
    names, upper = list(SECTION_LOADS), [loads]
    lower = upper
    if "stress_section" in beam:
        axial = beam.axial_stress[inside]
        others = [np.max(beam.von_mises[inside], axis=-1, keepdims=True)]
        words = ["axial stress", "von Mises stress"]
        if not np.isnan(beam.stress_section[..., 3]).any():
            others.insert(0, beam.shear_stress[inside][..., None])
            words.insert(1, "torsional shear stress")
        upper = [loads, np.max(axial, axis=-1, keepdims=True), *others]
        lower = [loads, np.min(axial, axis=-1, keepdims=True), *others]
        names += [(word, "Pa") for word in words]
    lengths = beam.element_length
    starts = np.cumsum(lengths) - lengths
    position = (starts[:, None] + lengths[:, None] * np.array([0.0, 0.5, 1.0])).ravel()
    high, low = (np.concatenate(parts, axis=-1).reshape(len(time), len(position), -1) for parts in (upper, lower))
    return Envelope.of(position, names, high, low, time)


def _of_shell(shell: ShellResults, time: Floats, inside: Bools) -> Envelope:
    """The envelopes of a shell over the chosen instants: of its resultants, and of its stresses and failure indices at
    the side and in the ply where they are largest and smallest."""
    chosen, time = np.flatnonzero(inside), time[inside]
    words = (("membrane force", "N/m", "membrane_force"), ("moment", "N", "bending_moment"))
    upper = [shell[word][chosen] for *_, word in words] + [shell["shear_force"][chosen]]
    names = [(f"{word} {axes}", unit) for word, unit, _ in words for axes in IN_PLANE]
    names += [("shear force 1", "N/m"), ("shear force 2", "N/m")]
    lower = list(upper)
    if "ply_recovery" in shell:
        stress = surface_stress_at(shell, chosen)
        mises = np.max(von_mises(stress), axis=2)[..., None]
        upper += [np.max(stress, axis=2), mises]
        lower += [np.min(stress, axis=2), mises]
        names += [*((f"surface stress {axes}", "Pa") for axes in IN_PLANE), ("von Mises stress", "Pa")]
        if "ply_strengths" in shell:
            index = np.nanmax(failure_index_at(shell, chosen), axis=(2, 3))[..., None]
            upper.append(index)
            lower.append(index)
            names.append(("failure index", "-"))
    corners = [shell[word].astype(np.int64) for word in ("quadrilaterals", "triangles")]
    middles = [shell["reference_position"][cells].mean(axis=1) for cells in corners if len(cells)]
    high, low = np.concatenate(upper, axis=-1), np.concatenate(lower, axis=-1)
    return Envelope.of(np.concatenate(middles), names, high, low, time)

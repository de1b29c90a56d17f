"""The time histories of a page: the recorded quantities by name, with labels and units."""

import json
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from femb.base.quantity import Group
from femb.base.types import Floats
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.reporting.packing import FINE, Packing
from femb.results.results import Results

ROWS, FEWEST = 2000, 500  # largest number of output times, and with very many quantities
VALUES = 600_000  # numbers of all histories; quantities beyond are left out, in the order of `_groups`
AXES = {3: "xyz", 4: "0123"}
OF_NODES = ("position", "velocity", "deflection", "displacement", "acceleration", "angular_velocity")
SECTION = ("section_force", "section_moment", "strain")
ANGLES = "euler_angles"
OF_COORDINATES = ("coordinates", "rates", "accelerations")
OF_MOTION = ("velocity", "angular_velocity", "acceleration", "angular_acceleration", "rate", "rates", "accelerations")


def histories_of(results: Results, packing: Packing, paths: Container[str] | None = None) -> dict[str, Any] | None:
    """The histories of results; None without any. ``left_out`` counts quantities for which there is no room.

    paths : of the histories, by default all. Of static states, rates that are zero are left out.
    """
    if not results.time.size or results.method == "modes":
        return None
    still = results.method == "static"
    found = [
        entry
        for entry in quantities_of(results)
        if (paths is None or entry[0] in paths)
        and not (still and entry[0].rpartition("/")[2] in OF_MOTION and not np.any(entry[3]))
    ]
    columns = sum(len(labels) for _, _, labels, _ in found)
    every = -(-results.time.size // max(FEWEST, min(ROWS, VALUES // max(1, columns))))
    rows = np.unique([*range(0, results.time.size, every), results.time.size - 1])
    entries, room, left_out = [], VALUES, 0
    for path, unit, labels, values in found:
        values = values[rows].reshape(len(rows), -1)
        if not values.size or values.dtype.kind not in "fiu" or not np.any(np.isfinite(values)):
            continue
        if values.size > room:
            left_out += 1
            continue
        room -= values.size
        packed = packing.add(values.astype(float), FINE)
        largest = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
        entries.append({"path": path, "unit": unit, "labels": list(labels), "largest": largest, "values": packed})
    if not entries:
        return None
    times = packing.add(results.time[rows], FINE + 8)
    label = "state" if results.method == "static" else "time (s)"
    return {"times": times, "every": every, "axis": label, "entries": entries, "left_out": left_out}


def quantities_of(results: Results) -> Iterator[tuple[str, str, Sequence[str], Floats]]:
    """Path, unit, labels of the c components and values (T, c), of the most looked at first."""
    for group in _groups(results):
        if isinstance(group, BeamResults):
            yield from _of_beam(group)
            continue
        if group.attributes.get("fixed"):
            continue
        if isinstance(group, BodyResults) and "quaternion" in group:
            yield f"{group.path}/{ANGLES}", "deg", list("xyz"), np.degrees(group.euler_angles())
        kinds = type(group).quantities()
        for name in group.arrays:
            path = f"{group.path}/{name}"
            if path not in results.series:
                continue
            array = results.series[path]
            if array.ndim > 2:
                continue
            own, names = group.columns_of(name)
            unit = _unit(group, own) if name in kinds else ""
            labels = names if array.ndim == 2 and len(names) == array.shape[1] else _labels(group, array)
            if group.path.startswith("joints/") and name in OF_COORDINATES:
                unit = _unit_of_coordinates(unit, labels)
            yield path, unit if unit not in ("-", "own") else "", labels, array
    known = {*results.tables, "audit", "time"}
    for path, array in results.series.items():
        if path.split("/")[0] not in known and array.ndim <= 2:
            yield path, "", _numbered(array), array


def _groups(results: Results) -> list[Group]:
    """The groups of all items: bodies, joints, beams, and so on; the audit first."""
    groups = list(results.groups())
    order = ("audit", "bodies", "joints", "beams")
    return sorted(groups, key=lambda group: order.index(kind) if (kind := group.path.split("/")[0]) in order else 9)


def _of_beam(beam: BeamResults) -> Iterator[tuple[str, str, Sequence[str], Floats]]:
    """Of the first, middle and last node, and at both ends of the beam."""
    kinds = BeamResults.quantities()
    for name in OF_NODES:
        if name in beam or name in ("deflection", "displacement"):
            array = getattr(beam, name)
            last = array.shape[1] - 1
            nodes = sorted({0, last // 2, last}, reverse=True)
            for node in nodes[:-1] if name == "deflection" else nodes:
                yield f"{beam.path}[{node}]/{name}", kinds[name].unit, list("xyz"), array[:, node]
    for name in SECTION:
        if name in beam:
            array = beam[name]
            labels = list("xyz") if array.ndim == 4 else ["axial"]
            for place, values in (("start", array[:, 0, 0]), ("end", array[:, -1, 1])):
                unit = kinds[name].unit
                yield f"{beam.path}/{name} at {place}", "" if unit == "-" else unit, labels, values


def _unit(group: Group, unit: str) -> str:
    """Of a spring, motor or pull its own unit, in place of both that its kind may have."""
    along, _, about = unit.partition(" or ")
    if about and {"length", "angle"} & {*group.arrays}:
        return along if "length" in group else about
    return unit


def _unit_of_coordinates(unit: str, names: Sequence[str]) -> str:
    """The unit of the coordinates of a joint, if all are angles or all are strokes."""
    along, _, about = unit.partition(" or ")
    angles = {name.endswith("angle") for name in names}
    return unit if len(angles) != 1 or not about else about if angles == {True} else along


def _labels(group: Group, array: Floats) -> Sequence[str]:
    names = group.attributes.get("names")
    if array.ndim == 2 and names is not None:
        listed = json.loads(str(names))
        if len(listed) == array.shape[1]:
            return [str(name) for name in listed]
    return _numbered(array)


def _numbered(array: Floats) -> Sequence[str]:
    """Names of components: axes, or numbers."""
    if array.ndim == 1:
        return [""]
    return list(AXES.get(array.shape[1], "")) or [str(k) for k in range(array.shape[1])]

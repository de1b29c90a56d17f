"""Mesh files for ParaView and its like: one VTU file an output time and a PVD collection of them.

The only module that knows meshio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from femb.errors import ResultError
from femb.export.parts import Part, State, parts_of
from femb.export.view import INERTIAL, View
from femb.results import Results
from femb.types import Floats

FIELDS = {"strain": (), "section_force": (3,), "section_moment": (3,)}
"""Fields of beams and their components; bodies have zeros there, since VTU wants a value everywhere."""


def export_vtu(
    results: Results,
    folder: str | Path,
    *,
    frame: str = INERTIAL,
    solids: bool = True,
    every: int = 1,
    subdivisions: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the motion as meshes; returns the collections to open, ``lines.pvd`` and ``solids.pvd``.

    Parameters
    ----------
    results : a run with bodies or beams.
    folder : path
        Made if need be. Receives ``lines_0000.vtu`` ... (beams as polylines, bodies as points), and
        with ``solids`` also ``solids_0000.vtu`` ... (beams as swept sections, bodies by their shape).
    frame : ``"inertial"`` or the name of a body
        Coordinates are relative to that frame and in its axes.
    every : write only every so many output times.
    subdivisions : pieces an element is drawn with.
    progress : called as ``progress(done, total)`` after every file.

    Point data: ``displacement`` (m, from the first output time) and ``velocity`` (m/s), both of the
    coordinates as exported; ``strain``; ``section_force`` (N) and ``section_moment`` (N m) in
    section axes. Cell data: ``element``, and ``component``, a number that ``legend.json`` explains.
    Raises ResultError where there is nothing to draw or the folder cannot be written.
    """
    instants = chosen_times(results, every)
    if subdivisions < 1:
        raise ResultError(f"subdivisions is {subdivisions}; an element is drawn with 1 or more")
    view = View.of(results, frame)
    folder = Path(folder)
    names = ["lines", "solids"] if solids else ["lines"]
    total = len(names) * len(instants)
    digits = max(4, len(str(len(instants) - 1)))
    collections = []
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(names):
            parts = parts_of(results, name == "solids", subdivisions)
            if not parts:
                raise ResultError("these results have neither bodies nor beams, so there is no mesh to export")
            files = [f"{name}_{place:0{digits}d}.vtu" for place in range(len(instants))]
            for place, mesh in enumerate(_meshes(parts, view, instants)):
                _write(folder / files[place], *mesh)
                if progress is not None:
                    progress(number * len(instants) + place + 1, total)
            collections.append(folder / f"{name}.pvd")
            _write_collection(collections[-1], results.time[instants], files)
        _write_legend(folder / "legend.json", parts, frame)
    return collections


def chosen_times(results: Results, every: int) -> list[int]:
    """Indices of every so many output times; ResultError where that leaves none."""
    if every < 1:
        raise ResultError(f"every is {every}; it must be 1 (all output times) or more")
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to export")
    return list(range(0, results.time.size, every))


Mesh = tuple[Floats, list[tuple[str, np.ndarray]], dict[str, Floats], dict[str, list[np.ndarray]]]


def _meshes(parts: Sequence[Part], view: View, instants: Sequence[int]) -> Iterator[Mesh]:
    """Points, cells, point data and cell data at each instant."""
    first = [part.state(0) for part in parts]
    counts = [len(state.points) for state in first]
    offsets = np.cumsum([0, *counts[:-1]])
    cells = [(part.cell_type, part.cells + offset) for part, offset in zip(parts, offsets, strict=True)]
    cell_data = {
        "component": [np.full(len(part.cells), number) for number, part in enumerate(parts)],
        "element": [part.element for part in parts],
    }
    fields = [name for name in FIELDS if any(name in state.fields for state in first)]
    start = view.points(0, np.concatenate([state.points for state in first]))
    for k in instants:
        states = [part.state(k) for part in parts]
        inertial = np.concatenate([state.points for state in states])
        velocities = np.concatenate([state.velocities for state in states])
        points = view.points(k, inertial)
        point_data = {"displacement": points - start, "velocity": view.velocities(k, inertial, velocities)}
        for name in fields:
            point_data[name] = np.concatenate([_field(state, name) for state in states])
        yield points, cells, point_data, cell_data


def _field(state: State, name: str) -> Floats:
    return state.fields[name] if name in state.fields else np.zeros((len(state.points), *FIELDS[name]))


def _write(
    path: Path,
    points: Floats,
    cells: list[tuple[str, np.ndarray]],
    point_data: dict[str, Floats],
    cell_data: dict[str, list[np.ndarray]],
) -> None:
    import meshio

    meshio.write(path, meshio.Mesh(points, cells, point_data, cell_data), file_format="vtu", binary=True)


def _write_collection(path: Path, times: Floats, files: Sequence[str]) -> None:
    """A PVD file: the VTU files by time. meshio has none, and it is a few lines of XML."""
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1")
    collection = ElementTree.SubElement(root, "Collection")
    for time, file in zip(times, files, strict=True):
        ElementTree.SubElement(collection, "DataSet", timestep=repr(float(time)), part="0", file=file)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _write_legend(path: Path, parts: Sequence[Part], frame: str) -> None:
    components = [{"component": i, "kind": part.kind, "name": part.name} for i, part in enumerate(parts)]
    path.write_text(json.dumps({"frame": frame, "components": components}, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResultError(
            f"{folder}: the meshes cannot be written there ({error}). Check the folder's permissions and "
            "the free space, or choose another folder"
        ) from error

"""Scenes: the items of `Results` as one mesh per output time, for ParaView and similar programs; by meshio.

Files are VTU with PVD collections, or XDMF time series.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.pictures.files import Drafts, Span, chosen_times, writing
from femb.pictures.fittings import LinePart, SymbolPart, lines_of, symbols_of
from femb.pictures.parts import Part, PartState, parts_of
from femb.pictures.picture import extent_of
from femb.results.results import Results, results_of
from femb.results.storage.hdf5 import ForgivingFile
from femb.results.view import INERTIAL, View

FIELDS: Mapping[str, tuple[int, ...]] = {
    "strain": (),
    "section_force": (3,),
    "section_moment": (3,),
    "deflection": (3,),
    "acceleration": (3,),
    "membrane_force": (3,),
    "stress_behind": (3,),
    "stress_in_front": (3,),
    "bending_moment": (3,),
    "shear_force": (3,),
    "stress": (6,),
    "von_mises": (),
}
"""Fields and their components; parts without one have NaN, since a mesh needs a value at every point."""


@dataclass(frozen=True)
class Mesh:
    """A scene at one output time: ``points`` (P, 3) m, ``cells`` as (meshio's type, corners (c, k)) per
    part, data by name at the points, (P,) to (P, 4), and at the cells, one (c,) or (c, 3) per part, constant or not."""

    points: Floats
    cells: list[tuple[str, Ints]]
    point_data: dict[str, Floats]
    constant: dict[str, list[Ints]]
    cell_data: dict[str, list[Floats]]


@dataclass(frozen=True)
class Scene:
    """Parts at some output times, relative to the frame of a view; named ``"lines"`` or ``"solids"``.

    start (P, 3) m : the points from which displacements count.
    """

    name: str
    parts: Sequence[Part]
    view: View
    instants: Sequence[int]
    start: Floats

    @classmethod
    def of(cls, name: str, results: Results, frame: str, subdivisions: int, instants: Sequence[int]) -> Self:
        """The scene of all parts of results, with springs and ropes; as solids also with wheels, tanks, thrusters and
        sensors."""
        begin = results.undisplaced
        seen = View.of(begin, frame)
        extent = extent_of(begin, seen, [0]) or 1.0

        def parts(of: Results) -> list[Part]:
            found = [*parts_of(of, name == "solids", subdivisions), *map(LinePart, lines_of(of, extent))]
            return [*found, *map(SymbolPart, symbols_of(of, extent))] if name == "solids" else found

        start = seen.points(0, np.concatenate([part.state(0).points for part in parts(begin)]))
        return cls(name, parts(results), View.of(results, frame), instants, start)

    def meshes(self) -> Iterator[Mesh]:
        """The mesh at each instant."""
        first = [part.state(0) for part in self.parts]
        counts = [len(state.points) for state in first]
        offsets = np.cumsum([0, *counts[:-1]])
        cells = [(part.cell_type, part.cells + offset) for part, offset in zip(self.parts, offsets, strict=True)]
        constant = {
            "component": [np.full(len(part.cells), number) for number, part in enumerate(self.parts)],
            "element": [part.element for part in self.parts],
        }
        fields = [name for name in FIELDS if any(name in state.fields for state in first)]
        of_elements = {name: each.shape[1:] for part in self.parts for name, each in part.of_elements(0).items()}
        for k in self.instants:
            states = [part.state(k) for part in self.parts]
            inertial = np.concatenate([state.points for state in states])
            velocities = np.concatenate([state.velocities for state in states])
            quaternions = np.concatenate([state.quaternions for state in states])
            points = self.view.points(k, inertial)
            point_data = {
                "displacement": points - self.start,
                "velocity": self.view.velocities(k, inertial, velocities),
                "quaternion": self.view.quaternions(k, quaternions),
            }
            for name in fields:
                point_data[name] = np.concatenate([_field(state, name) for state in states])
            values = [part.of_elements(k) for part in self.parts]
            cell_data = {
                name: [_of_cells(part, own, name, shape) for part, own in zip(self.parts, values, strict=True)]
                for name, shape in of_elements.items()
            }
            yield Mesh(points, cells, point_data, constant, cell_data)

    def legend(self, frame: str) -> str:
        """The text of ``legend.json``: kind and name of every number in the cell data ``component``."""
        components = [{"component": i, "kind": part.kind, "name": part.name} for i, part in enumerate(self.parts)]
        return json.dumps({"frame": frame, "components": components}, indent=2) + "\n"


WriteScene = Callable[[Scene, Floats, Drafts, Callable[[], None]], str]
"""Writes a scene at output times (t,) s, calls the function after each, and returns the name of the file to open."""


class SceneExporter:
    """An exporter of scenes: ``lines`` and ``solids``, by ``write``, and ``legend.json``."""

    def __init__(self, write: WriteScene, text: str) -> None:
        self._write = write
        self.__doc__ = f"{text}\n\n{inspect.getdoc(type(self).__call__)}"

    def __call__(
        self,
        results: Results | str | Path,
        folder: str | Path,
        *,
        frame: str = INERTIAL,
        solids: bool = True,
        every: int = 1,
        at: float | None = None,
        times: Span = (None, None),
        subdivisions: int = 8,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Write the motion of the items; returns the files to open.

        Point data: ``displacement`` (m, from the first output time, of modes from the state about which they vibrate),
        ``velocity`` (m/s) and ``quaternion`` (body or section to the frame, scalar first), all relative to the frame;
        ``strain``; ``section_force`` (N) and ``section_moment`` (N m) in section axes; ``deflection`` (m) in the axes
        of the body the beam is clamped to, and ``acceleration`` (m/s2, of a beam that of its centre line) in inertial
        axes, for any frame; of shells also ``membrane_force``, ``bending_moment`` and ``shear_force`` (N/m, N), and
        ``stress_behind`` and ``stress_in_front`` of the normal (Pa; 11, 22, 12), the means of the elements at a node in
        material axes; of flexible bodies with stresses ``stress`` (Pa; xx, yy, zz, xy, yz, zx, body axes) and
        ``von_mises``. Cell data: ``element``, and ``component``, a number that ``legend.json`` explains; of beams
        ``axial_stress_start``, ``shear_stress_middle``, ``von_mises_end`` ..., of shells all quantities of the
        elements, such as ``membrane_force``, ``temperature``, ``wrinkling``, ``surface_stress_behind`` and
        ``failure_index_in_front``: of recovery points and plies those largest in size. Parts without a field have NaN.

        Parameters:
            results: a run with bodies or beams.
            folder: path, created if missing.
            frame: ``"inertial"``, the name of a body, or a beam's node as ``"NAME[NODE]"``; coordinates are relative to
                that frame and in its axes.
            solids: whether to write also beams as swept sections and bodies with their shapes.
            every: interval of the output times to write.
            at: instant (s) to write alone; the output time that is nearest to it is taken.
            times: first and last instant, s; None for those of the results.
            subdivisions: number of line segments per element.
            progress: called as ``progress(done, total)`` after every output time.

        Raises:
            ResultError: nothing to draw, or a folder that cannot be written.
        """
        results, folder = results_of(results), Path(folder)
        instants = chosen_times(results, every, at, times)
        if subdivisions < 1:
            raise ResultError(f"subdivisions is {subdivisions}; an element is drawn with 1 or more")
        if not results.bodies and not results.beams and not results.shells:
            raise ResultError("these results have neither bodies nor beams nor shells, so there is no mesh to export")
        names = ["lines", "solids"] if solids else ["lines"]
        scenes = [Scene.of(name, results, frame, subdivisions, instants) for name in names]
        done = count()

        def advance() -> None:
            if progress is not None:
                progress(next(done) + 1, len(scenes) * len(instants))

        with writing(folder) as drafts:
            files = [folder / self._write(scene, results.time[instants], drafts, advance) for scene in scenes]
            drafts.new("legend.json").write_text(scenes[-1].legend(frame), encoding="utf-8")
        return files


def _field(state: PartState, name: str) -> Floats:
    return state.fields[name] if name in state.fields else np.full((len(state.points), *FIELDS[name]), np.nan)


def _of_cells(part: Part, values: Mapping[str, Floats], name: str, shape: tuple[int, ...]) -> Floats:
    return values[name][part.element] if name in values else np.full((len(part.cells), *shape), np.nan)


def _write_scene(scene: Scene, times: Floats, drafts: Drafts, advance: Callable[[], None]) -> str:
    import meshio

    digits = max(4, len(str(len(times) - 1)))
    files = [f"{scene.name}_{k:0{digits}d}.vtu" for k in range(len(times))]
    for file, mesh in zip(files, scene.meshes(), strict=True):
        content = meshio.Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.constant | mesh.cell_data)
        meshio.write(drafts.new(file), content, file_format="vtu", binary=True)
        advance()
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1")
    collection = ElementTree.SubElement(root, "Collection")
    for time, file in zip(times, files, strict=True):
        ElementTree.SubElement(collection, "DataSet", timestep=repr(float(time)), part="0", file=file)
    ElementTree.indent(root)
    path = drafts.new(f"{scene.name}.pvd")
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path.name


export_vtu = SceneExporter(
    _write_scene,
    """Write the motion as meshes; returns the collections to open, ``lines.pvd`` and ``solids.pvd``.

    They list ``lines_0000.vtu`` ... (beams as polylines, bodies as points) and, with ``solids``, ``solids_0000.vtu``
    ... (beams as swept sections, bodies by their shape).""",
)


# XDMF time series: one small text file and one HDF5 file per scene, for all output times; written by meshio.

XDMF_NUMBERS = {
    "line": 2, "triangle": 4, "quad": 5, "tetra": 6, "pyramid": 7, "wedge": 8, "hexahedron": 9, "triangle6": 36,
    "quad8": 37, "tetra10": 38, "wedge15": 40, "hexahedron20": 48, "hexahedron27": 50,
}  # fmt: skip
"""XDMF's number of a cell type in a mixed topology."""


def _write_series(scene: Scene, times: Floats, drafts: Drafts, advance: Callable[[], None]) -> str:
    """Write ``NAME.xdmf`` and ``NAME.h5`` with methods of meshio's TimeSeriesWriter, which itself has one geometry for
    all times, writes the HDF5 file to the working folder and fails on lines among other cells."""
    import h5py
    from meshio.xdmf import TimeSeriesWriter

    arrays, path = drafts.new(f"{scene.name}.h5"), drafts.new(f"{scene.name}.xdmf")
    writer: Any = TimeSeriesWriter(path)
    writer.h5_filename = arrays.name
    constant: list[ElementTree.Element] = []
    # HDF5 ends the process on a full disk, so that errors must not reach it.
    with ForgivingFile(arrays) as file, h5py.File(file, "w") as writer.h5_file:
        for time, mesh in zip(times, scene.meshes(), strict=True):
            grid = ElementTree.SubElement(writer.collection, "Grid", Name=scene.name, GridType="Uniform")
            ElementTree.SubElement(grid, "Time", Value=repr(float(time)))
            # Each grid refers to the constant arrays, so that a reader needs no XInclude.
            constant = constant or _write_constant(writer, mesh)
            grid.extend(deepcopy(constant))
            writer.points(grid, mesh.points)
            # Quaternions become ``NAME_scalar`` and ``NAME_vector``.
            writer.point_data(_without_quaternions(mesh.point_data), grid)
            writer.cell_data(mesh.cell_data, grid)
            if file.error is not None:
                break
            advance()
    if file.error is not None:
        raise file.error
    writer.__exit__(None, None, None)
    return path.name


def _write_constant(writer: Any, mesh: Mesh) -> list[ElementTree.Element]:
    """Write the arrays of cells, which do not change with time; the elements that refer to them."""
    topology = _mixed_topology(mesh.cells)
    count = sum(len(corners) for _, corners in mesh.cells)
    element = ElementTree.Element("Topology", TopologyType="Mixed", NumberOfElements=str(count))
    item = ElementTree.SubElement(
        element, "DataItem", DataType="Int", Dimensions=str(topology.size), Format="HDF", Precision="8"
    )
    item.text = writer.numpy_to_xml_string(topology)
    holder = ElementTree.Element("Grid")
    writer.cell_data(mesh.constant, holder)
    return [element, *holder]


def _mixed_topology(cells: Sequence[tuple[str, Ints]]) -> Ints:
    """All cells in one row: the number of the type, for lines the number of points, and the corners.

    A point becomes a line of zero length, since readers differ in how they read points among other cells.
    """
    rows = []
    for kind, corners in cells:
        if kind == "vertex":
            kind, corners = "line", np.repeat(corners, 2, axis=1)
        if kind not in XDMF_NUMBERS:
            raise ResultError(f"XDMF has no cells of type {kind!r}; export VTU, or leave these cells out of the body")
        head = [XDMF_NUMBERS[kind], 2] if kind == "line" else [XDMF_NUMBERS[kind]]
        rows.append(np.concatenate([np.tile(head, (len(corners), 1)), corners], axis=1).reshape(-1))
    return np.concatenate(rows).astype(np.int64)


def _without_quaternions(data: dict[str, Floats]) -> dict[str, Floats]:
    """Quaternions split into scalars and vectors, since meshio's XDMF has no arrays of four components."""
    result: dict[str, Floats] = {}
    for name, values in data.items():
        if values.shape[1:] == (4,):
            result[f"{name}_scalar"] = np.ascontiguousarray(values[:, 0])
            result[f"{name}_vector"] = np.ascontiguousarray(values[:, 1:])
        else:
            result[name] = values
    return result


export_xdmf = SceneExporter(
    _write_series,
    """Write the motion as time series; returns the files to open, ``lines.xdmf`` and ``solids.xdmf``.

    ``lines.h5`` and ``solids.h5`` contain their arrays and must stay in the same folder. ``quaternion`` is split into
    ``quaternion_scalar`` and ``quaternion_vector``, and points are lines of zero length. The geometry is given at every
    time: do not warp it by the displacement.""",
)

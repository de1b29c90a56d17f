"""Mesh files for ParaView and its like, through meshio: VTU files and their PVD collections here, and the
time series that `femb.export.xdmf` writes.

The only module that knows meshio.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from xml.etree import ElementTree

import numpy as np

from femb.base.types import Floats, Ints
from femb.export.files import writing
from femb.export.scene import Mesh, scenes_of
from femb.results.results import Results
from femb.results.view import INERTIAL

XDMF_NUMBERS = {"line": 2, "triangle": 4, "wedge": 8}
"""XDMF's number of a cell type in a mixed topology."""


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
    frame : ``"inertial"``, the name of a body, or a beam's node as ``"NAME[NODE]"``
        Coordinates are relative to that frame and in its axes.
    every : write only every so many output times.
    subdivisions : pieces an element is drawn with.
    progress : called as ``progress(done, total)`` after every file.

    Point data: ``displacement`` (m, from the first output time), ``velocity`` (m/s) and ``quaternion``
    (body or section to the frame, scalar first), all of what is exported, seen in the frame; ``strain``;
    ``section_force`` (N) and ``section_moment`` (N m) in section axes; ``deflection`` (m) in the axes of
    the body the beam is clamped to, and ``acceleration`` (m/s2, of a beam that of its centre line) in inertial
    axes, whatever the frame. Cell data: ``element``, and ``component``, a number
    that ``legend.json`` explains. Raises ResultError where there is nothing to draw or the folder cannot
    be written.
    """
    folder = Path(folder)
    scenes = scenes_of(results, frame, solids, every, subdivisions)
    total = sum(len(scene.instants) for scene in scenes)
    digits = max(4, len(str(len(scenes[0].instants) - 1)))
    collections, done = [], 0
    with writing(folder):
        for scene in scenes:
            files = [f"{scene.name}_{place:0{digits}d}.vtu" for place in range(len(scene.instants))]
            for file, mesh in zip(files, scene.meshes(), strict=True):
                _write(folder / file, mesh)
                done += 1
                if progress is not None:
                    progress(done, total)
            collections.append(folder / f"{scene.name}.pvd")
            _write_collection(collections[-1], results.time[scene.instants], files)
        scenes[-1].write_legend(folder, frame)
    return collections


def _write(path: Path, mesh: Mesh) -> None:
    import meshio

    whole = meshio.Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data)
    meshio.write(path, whole, file_format="vtu", binary=True)


def _write_collection(path: Path, times: Floats, files: Sequence[str]) -> None:
    """A PVD file: the VTU files by time. meshio has none, and it is a few lines of XML."""
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1")
    collection = ElementTree.SubElement(root, "Collection")
    for time, file in zip(times, files, strict=True):
        ElementTree.SubElement(collection, "DataSet", timestep=repr(float(time)), part="0", file=file)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


class XdmfSeries:
    """A time series of meshes with the same cells: ``path`` (.xdmf) and the HDF5 file of its arrays beside it.

    Written by the parts of meshio's TimeSeriesWriter, which as a whole has one geometry for all times, puts the
    HDF5 file into the working folder and fails on lines among other cells. Use it as a context; both files are
    there once it is left, and a failure leaves earlier ones as they were.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.arrays = path.with_suffix(".h5")
        self._draft = self.arrays.with_name(f".{self.arrays.name}.{os.getpid()}.part")
        self._constant: list[ElementTree.Element] = []

    def __enter__(self) -> Self:
        import h5py
        from meshio.xdmf import TimeSeriesWriter

        self._writer: Any = TimeSeriesWriter(self.path)
        self._writer.h5_filename = self.arrays.name
        # A file of its own without a lock, moved into place at the end: a viewer that has the old one open, or a
        # file system that cannot lock, is no obstacle.
        self._writer.h5_file = h5py.File(self._draft, "w", locking=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._writer.h5_file.close()
            if error is None:
                self._draft.replace(self.arrays)
                self._writer.__exit__(None, None, None)
        finally:
            self._draft.unlink(missing_ok=True)

    def append(self, time: float, mesh: Mesh) -> None:
        """Write the mesh at a time in s. Quaternions, (P, 4) data, become ``NAME_scalar`` and ``NAME_vector``."""
        writer = self._writer
        grid = ElementTree.SubElement(writer.collection, "Grid", Name=self.path.stem, GridType="Uniform")
        ElementTree.SubElement(grid, "Time", Value=repr(float(time)))
        if not self._constant:
            self._write_constant(mesh)
        # Each grid names the arrays that do not change, so that a reader needs no XInclude.
        grid.extend(deepcopy(self._constant))
        writer.points(grid, mesh.points)
        writer.point_data(_without_quaternions(mesh.point_data), grid)

    def _write_constant(self, mesh: Mesh) -> None:
        topology = _mixed_topology(mesh.cells)
        count = sum(len(corners) for _, corners in mesh.cells)
        element = ElementTree.Element("Topology", TopologyType="Mixed", NumberOfElements=str(count))
        item = ElementTree.SubElement(
            element, "DataItem", DataType="Int", Dimensions=str(topology.size), Format="HDF", Precision="8"
        )
        item.text = self._writer.numpy_to_xml_string(topology)
        holder = ElementTree.Element("Grid")
        self._writer.cell_data(mesh.cell_data, holder)
        self._constant = [element, *holder]


def _mixed_topology(cells: Sequence[tuple[str, Ints]]) -> Ints:
    """All cells in one row: the number of the type, for lines how many points they have, and the corners.

    A point becomes a line of no length: readers do not agree on how points stand among other cells.
    """
    rows = []
    for kind, corners in cells:
        if kind == "vertex":
            kind, corners = "line", np.repeat(corners, 2, axis=1)
        head = [XDMF_NUMBERS[kind], 2] if kind == "line" else [XDMF_NUMBERS[kind]]
        rows.append(np.concatenate([np.tile(head, (len(corners), 1)), corners], axis=1).reshape(-1))
    return np.concatenate(rows).astype(np.int64)


def _without_quaternions(data: dict[str, Floats]) -> dict[str, Floats]:
    """meshio's XDMF has scalars, vectors and tensors, but nothing of four components."""
    parted: dict[str, Floats] = {}
    for name, values in data.items():
        if values.shape[1:] == (4,):
            parted[f"{name}_scalar"] = np.ascontiguousarray(values[:, 0])
            parted[f"{name}_vector"] = np.ascontiguousarray(values[:, 1:])
        else:
            parted[name] = values
    return parted

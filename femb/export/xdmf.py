"""XDMF time series: one small text file and one HDF5 file per scene, for all output times; written by meshio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from xml.etree import ElementTree

import numpy as np

from femb.base.types import Floats, Ints
from femb.export.files import Drafts
from femb.export.scene import Mesh, Scene, SceneExporter
from femb.results.openfile import ForgivingFile

XDMF_NUMBERS = {"line": 2, "triangle": 4, "wedge": 8}
"""XDMF's number of a cell type in a mixed topology."""


def _write_scene(scene: Scene, times: Floats, drafts: Drafts, advance: Callable[[], None]) -> str:
    drafts.new(f"{scene.name}.h5")
    with XdmfSeries(drafts.new(f"{scene.name}.xdmf")) as series:
        for time, mesh in zip(times, scene.meshes(), strict=True):
            series.append(float(time), mesh)
            advance()
    return f"{scene.name}.xdmf"


class XdmfSeries:
    """A time series of meshes with the same cells: ``path`` (.xdmf) and an HDF5 file of its arrays in the same folder.

    Uses methods of meshio's TimeSeriesWriter, which itself has one geometry for all times, writes the HDF5 file to the
    working folder and fails on lines among other cells. Use it as a context.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._constant: list[ElementTree.Element] = []

    def __enter__(self) -> Self:
        import h5py
        from meshio.xdmf import TimeSeriesWriter

        self._writer: Any = TimeSeriesWriter(self.path)
        arrays = self.path.with_suffix(".h5")
        self._writer.h5_filename = arrays.name
        # HDF5 ends the process on a full disk, so that errors must not reach it.
        self._file = ForgivingFile(arrays)
        self._writer.h5_file = h5py.File(self._file, "w")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.h5_file.close()
        self._file.close()
        if error is None:
            self._check()
            self._writer.__exit__(None, None, None)

    def _check(self) -> None:
        """Raise OSError where the arrays could not be written."""
        if self._file.error is not None:
            raise self._file.error

    def append(self, time: float, mesh: Mesh) -> None:
        """Write the mesh at a time in s. Quaternions, (P, 4) data, become ``NAME_scalar`` and ``NAME_vector``."""
        self._check()
        writer = self._writer
        grid = ElementTree.SubElement(writer.collection, "Grid", Name=self.path.stem, GridType="Uniform")
        ElementTree.SubElement(grid, "Time", Value=repr(float(time)))
        if not self._constant:
            self._write_constant(mesh)
        # Each grid refers to the constant arrays, so that a reader needs no XInclude.
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
    """All cells in one row: the number of the type, for lines the number of points, and the corners.

    A point becomes a line of zero length, since readers differ in how they read points among other cells.
    """
    rows = []
    for kind, corners in cells:
        if kind == "vertex":
            kind, corners = "line", np.repeat(corners, 2, axis=1)
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
    _write_scene,
    """Write the motion as time series; returns the files to open, ``lines.xdmf`` and ``solids.xdmf``.

    ``lines.h5`` and ``solids.h5`` contain their arrays and must stay in the same folder. ``quaternion`` is split into
    ``quaternion_scalar`` and ``quaternion_vector``, and points are lines of zero length. The geometry is given at every
    time: do not warp it by the displacement.""",
)

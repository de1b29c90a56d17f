"""Scenes as VTU files with PVD collections, or as XDMF time series, for ParaView and similar programs; by meshio."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any
from xml.etree import ElementTree

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.pictures.files import Drafts
from femb.pictures.scene import Mesh, Scene, SceneExporter
from femb.results.storage.hdf5 import ForgivingFile


def _write_scene(scene: Scene, times: Floats, drafts: Drafts, advance: Callable[[], None]) -> str:
    import meshio

    digits = max(4, len(str(len(times) - 1)))
    files = [f"{scene.name}_{k:0{digits}d}.vtu" for k in range(len(times))]
    for file, mesh in zip(files, scene.meshes(), strict=True):
        content = meshio.Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data)
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
    writer.cell_data(mesh.cell_data, holder)
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

"""Meshes of solids through meshio: Gmsh, Abaqus, NASTRAN, VTU and its other formats, with their node sets."""

from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.fem.model import FeModel
from femb.analysis.fem.solids import NODES, Material, solid_model
from femb.base.errors import ModelError, ResultError
from femb.base.types import Ints


def read_mesh(path: str | Path, material: Material, unit: float = 1.0) -> FeModel:
    """A solid of one material from the mesh in a file.

    unit : length of the mesh's unit, m: 0.001 for millimetres. Node sets are those of the file, and the nodes of its
    named cell sets and Gmsh's physical groups; nodes are numbered from 1 in the order of the file.
    Raises ModelError: no volume; ResultError: a file that cannot be read.
    """
    import meshio

    if not Path(path).is_file():
        raise ResultError(f"{path}: there is no such file")
    try:
        mesh = meshio.read(path)
    except (meshio.ReadError, OSError, KeyError, ValueError, IndexError, SystemExit) as error:
        raise ResultError(f"{path}: cannot be read as a mesh ({error or 'unknown format'})") from error
    cells: dict[str, Ints] = {}
    for block in mesh.cells:
        if len(block.data):
            known = cells.get(block.type)
            cells[block.type] = block.data if known is None else np.vstack([known, block.data])
    try:
        return solid_model(_three(mesh.points) * unit, cells, material, node_sets=node_sets(mesh))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _three(points: Any) -> Any:
    return np.column_stack([points, np.zeros((len(points), 3 - points.shape[1]))])


def node_sets(mesh: Any) -> dict[str, Ints]:
    """Rows of nodes by the names of point sets, cell sets and physical groups."""
    sets = {str(name): np.asarray(rows, dtype=np.int64) for name, rows in mesh.point_sets.items()}
    for name, parts in mesh.cell_sets.items():
        found = [
            block.data[np.asarray(part, dtype=np.int64)].ravel()
            for block, part in zip(mesh.cells, parts, strict=False)
            if part is not None and len(part)
        ]
        if found and not str(name).startswith("gmsh:"):
            sets.setdefault(str(name), np.unique(np.concatenate(found)))
    groups = mesh.cell_data.get("gmsh:physical")
    for name, (tag, dimension) in mesh.field_data.items() if groups is not None else ():
        found = [
            block.data[np.asarray(tags) == tag].ravel()
            for block, tags in zip(mesh.cells, groups, strict=True)
            if block.dim == dimension
        ]
        found = [each for each in found if len(each)]
        if found:
            sets.setdefault(str(name), np.unique(np.concatenate(found)))
    return sets


__all__ = ["NODES", "node_sets", "read_mesh"]

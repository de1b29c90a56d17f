"""Meshes of solids through meshio: Gmsh, Abaqus, NASTRAN, VTU and its other formats, with their node sets."""

import contextlib
import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.fem.model import FeModel
from femb.analysis.fem.solids import NODES, Material, solid_model
from femb.base.array_files import reading_foreign
from femb.base.errors import FembWarning, ModelError, ResultError
from femb.base.types import Floats, Ints


def read_mesh(
    path: str | Path, material: Material | None, unit: float = 1.0, materials: Mapping[str, Material] | None = None
) -> FeModel:
    """A solid from the mesh in a file.

    material : of all cells that ``materials`` does not name by their cell set or physical group. unit : length of the
    mesh's unit, m: 0.001 for millimetres. Node sets are those of the file, and the nodes of its named cell sets and
    Gmsh's physical groups; nodes are numbered from 1 in the order of the file. Raises ModelError: no volume, cells of
    no or of two materials; ResultError: a file that cannot be read.
    """
    import meshio

    if not Path(path).is_file():
        raise ResultError(f"{path}: there is no such file")
    if not 0.0 < unit < np.inf:
        raise ModelError(f"unit: got {unit:g} m, must be greater than 0")
    said = io.StringIO()
    with reading_foreign(path, "a mesh"), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        mesh = meshio.read(path)
    if said.getvalue().strip():
        warnings.warn(f"{path}: meshio says: {' '.join(said.getvalue().split())}", FembWarning)
    cells: dict[str, Ints] = {}
    with reading_foreign(path, "a mesh"):
        points = _three(np.asarray(mesh.points, dtype=float))
        for block in mesh.cells:
            if len(block.data) and block.type in NODES:
                known, data = cells.get(block.type), np.asarray(block.data, dtype=np.int64)
                cells[block.type] = data if known is None else np.vstack([known, data])
            elif len(block.data):
                cells.setdefault(block.type, np.zeros((1, 1), dtype=np.int64))
        sets, groups = node_sets(mesh), cell_sets(mesh) if materials or material is None else {}
    try:
        _check_nodes(points, cells, sets)
        own = _materials(groups, cells, material, materials or {})
        return solid_model(points * unit, cells, own, node_sets=sets)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _check_nodes(points: Floats, cells: Mapping[str, Ints], sets: Mapping[str, Ints]) -> None:
    """Raise ModelError for cells and sets of nodes that are not there, and places that are no numbers."""
    for what, rows in ((f"{kind} cells", each) for kind, each in cells.items() if kind in NODES):
        if rows.min() < 0 or rows.max() >= len(points):
            raise ModelError(f"mesh: the {what} name nodes that are not among the {len(points)} nodes")
        if not np.isfinite(points[rows]).all():
            raise ModelError(f"mesh: the {what} have nodes whose places are not finite")
    for name, rows in sets.items():
        if len(rows) and (rows.min() < 0 or rows.max() >= len(points)):
            raise ModelError(f"mesh: the set {name!r} names nodes that are not among the {len(points)} nodes")


def _materials(
    sets: Mapping[str, Mapping[str, Ints]],
    cells: Mapping[str, Ints],
    material: Material | None,
    named: Mapping[str, Material],
) -> Material | dict[str, list[Material]]:
    """The material of every cell by type, or of all."""
    if not named and material is not None:
        return material
    own: dict[str, list[Material | None]] = {kind: [None] * len(each) for kind, each in cells.items() if kind in NODES}
    for name, each in named.items():
        if name not in sets:
            raise ModelError(f"materials: {name!r} is no cell set of the mesh, which has {', '.join(sets) or 'none'}")
        for kind, rows in sets[name].items():
            for row in rows if kind in own else ():
                known = own[kind][row]
                if known is not None and known != each:
                    raise ModelError(f"materials: cell {row + 1} of the {kind} cells is in {name!r} and another set")
                own[kind][row] = each
    found: dict[str, list[Material]] = {}
    for kind, given in own.items():
        found[kind] = [each or material for each in given if (each or material) is not None]  # type: ignore[misc]
        if len(found[kind]) < len(given):
            raise ModelError(
                f"materials: {len(given) - len(found[kind])} of the {len(given)} {kind} cells are in none of the sets "
                f"{', '.join(named) or '(none)'}: name theirs too, or give a material for all others"
            )
    return found


def cell_sets(mesh: Any) -> dict[str, dict[str, Ints]]:
    """Rows of cells, among all of their type in the order of the file, by the names of cell sets and groups."""
    count: dict[str, int] = {}
    first = []
    for block in mesh.cells:
        first.append(count.get(block.type, 0))
        count[block.type] = first[-1] + len(block.data)
    parts: list[tuple[str, int, Ints]] = []
    for name, lists in mesh.cell_sets.items():
        if not str(name).startswith("gmsh:"):
            chosen = [np.asarray([] if part is None else part, dtype=np.int64) for part in lists]
            parts += [(str(name), k, rows) for k, rows in enumerate(chosen)]
    groups = mesh.cell_data.get("gmsh:physical")
    for name, (tag, dimension) in mesh.field_data.items() if groups is not None else ():
        for k, (block, tags) in enumerate(zip(mesh.cells, groups, strict=True)):
            if block.dim == dimension:
                parts.append((str(name), k, np.flatnonzero(np.asarray(tags) == tag)))
    sets: dict[str, dict[str, Ints]] = {}
    for name, k, rows in parts:
        if len(rows):
            kind, own = mesh.cells[k].type, sets.setdefault(name, {})
            own[kind] = np.union1d(own.get(kind, np.zeros(0, dtype=np.int64)), rows + first[k])
    return sets


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


__all__ = ["NODES", "cell_sets", "node_sets", "read_mesh"]

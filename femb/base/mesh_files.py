"""Meshes in files, through meshio: Gmsh, Abaqus, NASTRAN, VTU and its other formats, with their sets."""

import contextlib
import io
import re
import warnings
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.array_files import check_file, reading_foreign
from femb.base.bulk_data import is_bulk_data, left_out
from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats, Ints

# Nodes of a plane are within this part of the size of the mesh.
PLANE = 1e-6


@dataclass(frozen=True, eq=False)
class MeshFile:
    """points (N, 3) in the unit of the file. cells : rows of points by type, as in meshio, of the types that were asked
    for, in the order of the file; others : the types of all other cells. node_sets : rows of points by the names of
    point sets, cell sets and Gmsh's physical groups. cell_sets : rows of ``cells`` by the names of cell sets and
    groups, and by type. numbers (N,) : of the points in the file, where sets may be lists of them; or None."""

    points: Floats
    cells: Mapping[str, Ints]
    others: tuple[str, ...]
    node_sets: Mapping[str, Ints]
    cell_sets: Mapping[str, Mapping[str, Ints]]
    numbers: Ints | None = None

    def check_nodes(self) -> None:
        """Raise ModelError for cells and sets of nodes that are not there, and places that are no numbers."""
        count = len(self.points)
        for what, rows in ((f"{kind} cells", each) for kind, each in self.cells.items()):
            if rows.min() < 0 or rows.max() >= count:
                raise ModelError(f"mesh: the {what} name nodes that are not among the {count} nodes")
            if not np.isfinite(self.points[rows]).all():
                raise ModelError(f"mesh: the {what} have nodes whose places are not finite")
        for name, rows in self.node_sets.items():
            if len(rows) and (rows.min() < 0 or rows.max() >= count):
                raise ModelError(f"mesh: the set {name!r} names nodes that are not among the {count} nodes")


def read_mesh_file(path: str | Path, kinds: Container[str]) -> MeshFile:
    """The mesh in a file, with the cells of some ``kinds``, as meshio names them. Warns of what meshio says.

    Raises ResultError: a file that cannot be read.
    """
    check_file(path, "a mesh")
    numbers, left = None, tuple[str, ...]()
    said = io.StringIO()
    with reading_foreign(path, "a mesh"), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        if Path(path).suffix.lower() == ".cdb":
            from femb.base.cdb_files import read_cdb

            points, numbers, cells, left, known, sets = read_cdb(path)
        else:
            import meshio

            mesh = meshio.read(path)
            points, sets = _three(np.asarray(mesh.points, dtype=float)), _cell_sets(mesh)
            blocks = dict[str, list[Ints]]()
            for block in mesh.cells:
                if len(block.data):
                    blocks.setdefault(block.type, []).append(np.asarray(block.data, dtype=np.int64))
            cells = {kind: np.vstack(own) for kind, own in blocks.items()}
            known = {str(name): np.asarray(rows, dtype=np.int64) for name, rows in mesh.point_sets.items()}
        of_cells = {name: np.unique(np.concatenate([cells[kind][rows].ravel() for kind, rows in own.items()]))
                    for name, own in sets.items()}  # fmt: skip
    if said.getvalue().strip():
        warnings.warn(f"{path}: meshio says: {' '.join(said.getvalue().split())}", FembWarning)
    if is_bulk_data(path) and (without := left_out(path)):
        warnings.warn(f"{path}: {without}", FembWarning)
    others = (*left, *(kind for kind in cells if kind not in kinds))
    if left and len(others) < len(left) + len(cells):
        warnings.warn(f"{path}: left out: elements of {', '.join(left)}", FembWarning)
    chosen = {kind: rows for kind, rows in cells.items() if kind in kinds}
    return MeshFile(points, chosen, others, {**of_cells, **known}, sets, numbers)


def nodes_on_plane(text: str, nodes: Floats) -> Ints | None:
    """Rows of the nodes (N, 3) that are on a plane, such as "x=0.5"; None where the text is no plane.

    Raises ModelError: the place is no number, or no node is there.
    """
    plane = re.fullmatch(r"([xyz])\s*=\s*(\S+)", text)
    if plane is None:
        return None
    try:
        value = float(plane[2])
    except ValueError:
        raise ModelError(f"got the plane {text!r}, wanted a number behind the equals sign, as in x=0.5") from None
    along = nodes[:, "xyz".index(plane[1])]
    found = np.flatnonzero(np.abs(along - value) <= PLANE * np.linalg.norm(np.ptp(nodes, axis=0)))
    if not len(found):
        nearest = along[np.argmin(np.abs(along - value))]
        raise ModelError(f"no node is on the plane {text}; the nearest is at {plane[1]}={nearest:g} m")
    return found


def _cell_sets(mesh: Any) -> dict[str, dict[str, Ints]]:
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

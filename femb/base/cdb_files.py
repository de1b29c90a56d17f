"""Meshes in archives of Ansys, .cdb: nodes, elements and components.

Source: Ansys Mechanical APDL Programmer's Reference, NBLOCK, EBLOCK and CMBLOCK.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from femb.base.array_files import content_of
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints

# Types of elements.
HEXAHEDRA, TETRAHEDRA, WALLS = (45, 70, 95, 185, 186), (92, 187, 285), (43, 63, 93, 181, 281)
# Kind with more nodes, corners and nodes in the middle of sides, of those of a hexahedron or of a wall.
SHAPES = {
    "hexahedron": ("hexahedron20", [*range(8)], [*range(8, 20)]),
    "wedge": ("wedge15", [0, 1, 2, 4, 5, 6], [8, 9, 11, 12, 13, 15, 16, 17, 18]),
    "pyramid": ("pyramid13", [0, 1, 2, 3, 4], [8, 9, 10, 11, 16, 17, 18, 19]),
    "tetra": ("tetra10", [0, 1, 2, 4], [8, 9, 11, 16, 17, 18]),
    "quad": ("quad8", [*range(4)], [4, 5, 6, 7]),
    "triangle": ("triangle6", [0, 1, 2], [4, 5, 7]),
}
Sets = dict[str, dict[str, Ints]]


def read_cdb(path: str | Path) -> tuple[Floats, Ints, dict[str, Ints], tuple[str, ...], dict[str, Ints], Sets]:
    """Points (N, 3) with their numbers, cells by kind as of meshio, types of other elements; sets of nodes, and of
    cells by kind: components, "material 1" and so on. Raises ModelError: sides of which some have a node alone."""
    lines = iter(content_of(Path(path)).decode("utf-8", errors="replace").splitlines())
    types, points, others, sets = dict[int, int](), dict[int, list[float]](), dict[int, None](), dict[str, list[int]]()
    cells, owners = dict[str, list[list[int]]](), dict[str, list[list[int]]]()
    for line in lines:
        head = [each.strip() for each in line.split("!")[0].upper().split(",")]
        if head[0] == "ET":
            types[int(head[1])] = int(re.findall(r"\d+$", head[2])[0])
        elif head[0] == "ETBLOCK":
            types |= {row[0]: row[1] for row in _table(lines)}
        elif head[0] == "NBLOCK":
            form = next(lines)
            widths = [int(width) for n, width in re.findall(r"(\d)[iI](\d+)", form) for _ in range(int(n))]
            size = int(re.findall(r"[eE](\d+)", form)[0])
            for text in _until(lines):
                at = [text[k : k + size].strip() for k in range(sum(widths), sum(widths) + 3 * size, size)]
                points[int(text[: widths[0]])] = [float(each or 0.0) for each in at]
        elif head[0] == "EBLOCK" and head[2] == "SOLID":
            table = _table(lines)
            for row in table:
                while len(row) < 11 + row[8]:
                    row += next(table)
                kind = types.get(row[1], 0)
                if kind not in (*HEXAHEDRA, *TETRAHEDRA, *WALLS):
                    others[kind] = None
                    continue
                name, nodes = _cell(kind, row[11 : 11 + row[8]], row[10])
                cells.setdefault(name, []).append(nodes)
                owners.setdefault(name, []).append([row[10], row[0]])
        elif head[0] == "CMBLOCK":
            given, width = list[int](), int(re.findall(r"[iI](\d+)", next(lines))[0])
            while len(given) < int(head[3]):
                given += _whole(next(lines), width)
            own = [k for a, b in pairwise([0, *given]) for k in (range(a + 1, 1 - b) if b < 0 else [b])]
            sets[f"{head[2][:4]} {head[1]}"] = own
    place = {number: k for k, number in enumerate(points)}
    arrays = {kind: np.array([[place.get(k, -1) for k in nodes] for nodes in own]) for kind, own in cells.items()}
    cell_sets: Sets = {}
    for shape, listed in owners.items():
        rows = np.array(listed)
        parts = {f"material {k}": rows[:, 1] == k for k in np.unique(rows[:, 1])}
        parts |= {name[5:]: np.isin(rows[:, 0], own) for name, own in sets.items() if name.startswith("ELEM")}
        for name, inside in parts.items():
            cell_sets.setdefault(name, {})[shape] = np.flatnonzero(inside)
    node_sets = {
        name[5:]: np.array([place.get(k, -1) for k in own]) for name, own in sets.items() if name[:4] == "NODE"
    }
    where = np.array(list(points.values())).reshape(-1, 3)
    return where, np.array(list(points)), arrays, tuple(f"type {kind}" for kind in sorted(others)), node_sets, cell_sets


def _cell(kind: int, given: list[int], number: int) -> tuple[str, list[int]]:
    """The kind of meshio of an element, and its nodes: corners that are one make others of a hexahedron or a wall."""
    if kind in TETRAHEDRA:
        return ("tetra10" if len(given) == 10 else "tetra"), given
    same = [a == b for a, b in pairwise(given[:8])]
    if kind in WALLS:
        name = "triangle" if same[2] else "quad"
    elif all(same[4:7]):
        name = "tetra" if same[2] else "pyramid"
    else:
        name = "wedge" if same[2] and same[6] else "hexahedron"
    whole, corners, middles = SHAPES[name]
    rest = [given[k] for k in middles if k < len(given)]
    if any(rest) and not all(rest):
        raise ModelError(f"mesh: element {number} has nodes in the middle of some sides alone")
    return (whole if any(rest) else name), [given[k] for k in corners] + (rest if any(rest) else [])


def _until(lines: Iterator[str]) -> Iterator[str]:
    """Lines up to the end of a block."""
    for line in lines:
        if line.strip() == "-1" or line.upper().startswith("N,"):
            return
        yield line


def _whole(line: str, width: int) -> list[int]:
    return [int(line[k : k + width]) for k in range(0, len(line.rstrip()), width)]


def _table(lines: Iterator[str]) -> Iterator[list[int]]:
    """Whole numbers of the lines of a block, behind its format."""
    width = int(re.findall(r"[iI](\d+)", next(lines))[0])
    return (_whole(line, width) for line in _until(lines))

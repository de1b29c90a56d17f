"""Meshed solids that several tests reduce."""

import numpy as np

from femb.fem.solid_shapes import NODES
from femb.fem.solids import SolidMaterial, solid_model

ALUMINIUM = SolidMaterial(7e10, 0.3, 2700.0)
SIZE = (1.0, 0.06, 0.04)


def brick_mesh(counts=(8, 2, 2), size=SIZE, kind="hexahedron27"):
    """Nodes and cells of a block from x = 0 on, centred in y and z."""
    lines = [np.linspace(0.0, length, 2 * n + 1) for length, n in zip(size, counts, strict=True)]
    nodes = np.stack(np.meshgrid(lines[0], lines[1] - size[1] / 2, lines[2] - size[2] / 2, indexing="ij"), axis=-1)
    corners = np.stack(np.meshgrid(*(2 * np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    bricks = corners + np.array([["0h1".index(c) for c in place] for place in NODES["hexahedron27"][1]])
    if kind.startswith("hexahedron"):
        cells = bricks[:, : len(NODES[kind][1])]
    else:  # six tetrahedra of each brick, along a diagonal
        ways = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)]
        cells = []
        for corner in corners[:, 0]:
            for even, way in enumerate(ways):
                ends = [corner]
                for axis in way:
                    ends.append(ends[-1] + 2 * np.eye(3, dtype=int)[axis])
                a, b, c, d = ends if even < 3 else (ends[0], ends[2], ends[1], ends[3])
                middle = [(p + q) // 2 for p, q in ((a, b), (b, c), (a, c), (a, d), (b, d), (c, d))]
                cells.append([a, b, c, d, *middle])
        cells = np.array(cells)[:, : len(NODES[kind][1])]
    i, j, k = np.moveaxis(cells, -1, 0)
    return nodes.reshape(-1, 3), {kind: (i * len(lines[1]) + j) * len(lines[2]) + k}


def bar(counts=(8, 2, 2), kind="hexahedron27"):
    """The bar 1 x 0.06 x 0.04 m of aluminium with the node sets root and tip."""
    nodes, cells = brick_mesh(counts, kind=kind)
    used = np.unique(cells[kind])
    sets = {name: used[nodes[used, 0] == x] for name, x in (("root", 0.0), ("tip", 1.0))}
    return solid_model(nodes, cells, ALUMINIUM, node_sets=sets)

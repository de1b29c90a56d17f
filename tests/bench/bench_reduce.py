"""What the reduction of a meshed solid to 30 modes costs: a panel of 100,000 nodes with geometric stiffening."""

import resource
import sys
import time

import numpy as np

from femb.fem import MeshInterface, reduce_model
from femb.fem.reduction import Keep
from femb.fem.solids import Material, solid_model

BOUND = 60.0  # s
MEMORY = 4.0  # GB


def panel(counts: tuple[int, int, int]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Nodes and tetrahedra of 10 nodes of a panel 2 x 0.7 x 0.03 m: six in each of so many bricks."""
    lines = [np.linspace(0.0, length, 2 * n + 1) for length, n in zip((2.0, 0.7, 0.03), counts, strict=True)]
    nodes = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    corners = np.stack(np.meshgrid(*(2 * np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    cells = []
    for even, way in enumerate(((0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0))):
        a, b, c, d = np.cumsum([np.zeros(3, dtype=int), *(2 * np.eye(3, dtype=int)[axis] for axis in way)], axis=0)
        b, c = (b, c) if even < 3 else (c, b)
        places = [a, b, c, d, *((p + q) // 2 for p, q in ((a, b), (b, c), (a, c), (a, d), (b, d), (c, d)))]
        i, j, k = np.moveaxis(corners + np.array(places), -1, 0)
        cells.append((i * len(lines[1]) + j) * len(lines[2]) + k)
    return nodes.reshape(-1, 3), {"tetra10": np.vstack(cells)}


def main() -> None:
    """Print times and the memory of the process, of the given numbers of bricks or of 100 x 35 x 3."""
    counts = tuple(map(int, sys.argv[1:4])) if len(sys.argv) > 3 else (100, 35, 3)
    nodes, cells = panel(counts)
    start, used = time.perf_counter(), time.process_time()
    model = solid_model(nodes, cells, Material(7e10, 0.3, 2700.0))
    assembled = time.perf_counter() - start
    root = np.flatnonzero((nodes[:, 0] == 0.0) & (np.abs(nodes[:, 1] - 0.35) < 0.1))
    tip = np.flatnonzero((nodes[:, 0] == 2.0) & (np.abs(nodes[:, 1] - 0.35) < 0.1))
    found = reduce_model(model, [MeshInterface("root", root), MeshInterface("tip", tip)], Keep(30), pictures=False)
    wall, used = time.perf_counter() - start, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{len(nodes)} nodes: assembled in {assembled:.3g} s, {wall:.3g} s in all, {used:.3g} s of CPU, "
        f"{memory:.2g} GB, {found.free[0]:.6g} to {found.free[29]:.6g} Hz, bounds {BOUND} s and {MEMORY} GB"
    )


if __name__ == "__main__":
    main()

"""What the reduction of a panel of 100,000 nodes to 30 modes costs, with geometric stiffening: solids, and shells.

``python tests/bench/bench_reduce.py 56 19 3`` takes a panel of so many bricks, and with the word ``scipy`` compares the
factors and the modes of the panel held at one end with those of scipy's splu and eigsh. ``bench_reduce.py shells``, or
``shells 270 94``, takes the panel of so many quadrilaterals, its edges being the interfaces.
"""

import resource
import sys
import time
from contextlib import contextmanager

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from femb.fem import MeshInterface, reduce_model
from femb.fem.model import FeModel
from femb.fem.reduction import Keep, Reduction
from femb.fem.solids import SolidMaterial, solid_model
from femb.numerics.fronts import Multifrontal, dissection
from femb.numerics.lanczos import largest_eigenvalues

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


@contextmanager
def timed(what: str):
    start = time.process_time()
    yield
    print(f"{what:36s} {time.process_time() - start:6.2f} s of CPU", flush=True)


def beside_scipy(model: FeModel, count: int = 30) -> None:
    """Print times and entries of factors, and times of modes, by femb and by scipy."""
    own = np.flatnonzero(model.nodes[model.node_of, 0] > 0.0)
    K, M = (matrix.tocsc()[own][:, own].tocsc() for matrix in (model.stiffness, model.mass))
    with timed("dissection"):
        blocks = dissection(K, model.nodes[model.node_of[own]])
    with timed("fronts"):
        factors = Multifrontal.of(K, blocks)
    print(f"entries {factors.entries:.4g}")
    with timed("block Lanczos"):
        values, _ = largest_eigenvalues(factors.solve, M, count)
    with timed("eigsh, solving by the fronts"):
        inverse = LinearOperator(
            K.shape, lambda b: factors.solve(b.reshape(len(own), -1)).reshape(b.shape), dtype=float
        )
        others = eigsh(K, count, M=M, sigma=0.0, OPinv=inverse, v0=np.ones(len(own)), return_eigenvectors=False)
    print(f"largest difference of a frequency {np.max(np.abs(np.sqrt(np.sort(others)[:count] * values) - 1.0)):.1e}")
    order = np.concatenate(blocks)
    words = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    for name, matrix, rule in (
        ("splu, minimum degree", K, "MMD_AT_PLUS_A"),
        ("splu, dissection", K[order][:, order].tocsc(), "NATURAL"),
    ):
        with timed(name):
            found = splu(matrix, permc_spec=rule, **words)
        print(f"entries {found.nnz / 2:.4g} and as many of the other factor")


def shells(n: int, m: int) -> None:
    """Print the time and the memory of a panel of shells."""
    import femb
    from femb.fem.beams import appendage_model

    def described(*elements: int) -> femb.Model:
        model, corners = femb.Model(), [[0, 0, 0], [2, 0, 0], [2, 0.7, 0], [0, 0.7, 0]]
        model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
        metal, attach = femb.Material(7e10, 7e10 / 2.6, 2700.0), {"edge4": "hub"}
        words = {"thickness": 0.03, "material": metal, "attach": attach, "points": {"tip": "edge2"}}
        model.add(femb.Shell("panel", elements, corners, **words))
        return model

    tip = {"tip": "bodies.panel.tip"}
    femb.fem.reduce_beams(described(8, 3), "hub", tip, 4)  # compiles
    start, used = time.perf_counter(), time.process_time()
    model, ties = appendage_model(described(n, m), "hub", tip)
    assembled = time.perf_counter() - start
    found = reduce_model(model, ties, Keep(30), pictures=False)
    report(f"{(n + 1) * (m + 1)} nodes", start, used, assembled, found)


def report(what: str, start: float, used: float, assembled: float, found: Reduction) -> None:
    wall, used = time.perf_counter() - start, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{what}: assembled in {assembled:.3g} s, {wall:.3g} s in all, {used:.3g} s of CPU, "
        f"{memory:.2g} GB, {found.free[0]:.6g} to {found.free[29]:.6g} Hz, bounds {BOUND} s and {MEMORY} GB"
    )


def main() -> None:
    """Print times and the memory of the process, of the given numbers of bricks or of 100 x 35 x 3."""
    if "shells" in sys.argv:
        return shells(*(map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (534, 186)))
    counts = tuple(map(int, sys.argv[1:4])) if len(sys.argv) > 3 else (100, 35, 3)
    nodes, cells = panel(counts)
    start, used = time.perf_counter(), time.process_time()
    model = solid_model(nodes, cells, SolidMaterial(7e10, 0.3, 2700.0))
    assembled = time.perf_counter() - start
    if sys.argv[-1] == "scipy":
        return beside_scipy(model)
    root = np.flatnonzero((nodes[:, 0] == 0.0) & (np.abs(nodes[:, 1] - 0.35) < 0.1))
    tip = np.flatnonzero((nodes[:, 0] == 2.0) & (np.abs(nodes[:, 1] - 0.35) < 0.1))
    found = reduce_model(model, [MeshInterface("root", root), MeshInterface("tip", tip)], Keep(30), pictures=False)
    report(f"{len(nodes)} nodes", start, used, assembled, found)


if __name__ == "__main__":
    main()

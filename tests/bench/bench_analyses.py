"""What analyses of large models cost: ``python bench_analyses.py [static] [modes] [net [30]]``.

static : cantilevers of 10 to 10,000 elements bent by a force in 10 load steps. modes : the 20 lowest modes of a free
hub with 100 booms, 1,000 and 10,000 elements in all. net : the factorisation of a net of 30 x 30 nodes beside SuperLU
with the best of its orders for symmetric patterns (minimum degree of A^T + A, diagonal pivots) and the default.
"""

import resource
import statistics
import sys
import time

import numpy as np
from bench_models import boom
from scipy.sparse.linalg import splu

import femb
from femb import Attachment, Beam, Ground, Load, Model, RigidBody, modes, static

STATIC_BOUND = 3.0  # s, of 1000 elements
MODES_BOUND, MEMORY = 10.0, 1.0  # s and GB, of 10,000 elements
SIDE, NET_BOUND = 0.2, 3.0
UP = (0.0, 1.0, 0.0)


def cantilever(elements: int) -> Model:
    """A boom of 20 m with a force across its tip, which bends it by more than half of its length."""
    model = Model()
    model.add(Beam("boom", boom(), 20.0, elements, start=Ground().at(direction=(1, 0, 0))))
    model.add(Load("tip", beam="boom", force=(0, 500.0, 300.0)))
    return model


def measure_static() -> None:
    """Print CPU time and iterations."""
    static(cantilever(2), steps=1)  # compiles
    for elements in (10, 100, 1000, 10000):
        start = time.process_time()
        results = static(cantilever(elements), steps=10)
        used = time.process_time() - start
        bound = f", bound {STATIC_BOUND} s" if elements == 1000 else ""
        print(f"{elements:6d} elements: {used:.3g} s, {results.statistics['newton_iterations']} iterations{bound}")


def satellite(elements: int) -> Model:
    """A hub with 100 booms of different lengths, in all directions, with so many elements each."""
    model = Model()
    section = boom()
    model.add(RigidBody("hub", mass=2000.0, inertia=(900.0, 800.0, 1000.0)))
    for k, angle in enumerate(2.399963 * np.arange(100)):  # the golden angle
        z = (k + 0.5) / 50.0 - 1.0
        r = np.sqrt(1.0 - z * z)
        out = (r * np.cos(angle), r * np.sin(angle), z)
        model.add(Beam(f"boom{k}", section, 5.0 + 0.05 * k, elements, start=Attachment("hub", direction=out)))
    return model


def measure_modes() -> None:
    """Print times and the memory of the process."""
    modes(satellite(1), 2)  # compiles
    for elements in (10, 100):
        model = satellite(elements)
        wall, used = time.perf_counter(), time.process_time()
        result = modes(model, 20)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        bound = f", bounds {MODES_BOUND} s and {MEMORY} GB" if elements == 100 else ""
        print(
            f"{100 * elements:6d} elements: {wall:.3g} s, {used:.3g} s of CPU, {memory:.2g} GB, "
            f"{result.frequencies[0]:.6g} to {result.frequencies[-1]:.6g} Hz{bound}"
        )


def net(n: int) -> femb.Model:
    """A hub at the corner of a net of n x n nodes; beams along x, and single elements between them along y."""
    model = femb.Model("net")
    model.add(femb.Section("wire", shape={"circle": 5e-3}, material="aluminium 6061-T6"))
    hub = model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    length, across = SIDE * (n - 1), {"direction": (0.0, 0.0, 1.0), "up": UP}
    model.add(femb.Beam("edge", "wire", length, n - 1, start=hub.at(direction=(0, 1, 0), up=(0, 0, 1))))
    model.add(femb.Beam("row 0", "wire", length, n - 1, start=hub.at(direction=(1, 0, 0), up=(0, 0, 1))))
    for i in range(1, n):
        start = femb.Attachment(beam="edge", node=i, **across)
        model.add(femb.Beam(f"row {i}", "wire", length, n - 1, start=start))
    for j in range(1, n):
        for i in range(n - 1):
            start = femb.Attachment(beam=f"row {i}", node=j, direction=(0.0, 0.0, -1.0), up=UP)
            end = femb.Attachment(beam=f"row {i + 1}", node=j)
            model.add(femb.Beam(f"link {i} {j}", "wire", SIDE, 1, start=start, end=end))
    return model


def median(function, repetitions: int = 7) -> float:
    """CPU time of a call, ms."""
    times = []
    for _ in range(repetitions):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return 1e3 * statistics.median(times)


def measure_net(n: int = 30) -> None:
    """Print CPU times of factorisations and their ratio."""
    system = femb.System(net(n))
    solver, inputs = system.solver, system.inputs_at(0.0, system.q0, system.v0)
    data = solver.shifted(*system.matrices(inputs, system.q0, system.v0), 1e3)
    matrix = solver.pattern.to_csc(data).tocsc()
    matrix.eliminate_zeros()
    solver.factorise(data.copy())
    own = median(lambda: solver.factorise(data.copy()))
    symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.1, "options": {"SymmetricMode": True}}
    peers = {"SuperLU, minimum degree": symmetric, "SuperLU, default": {}}
    print(f"net of {n} x {n} nodes, {system.n_v} unknowns: factorisation {own:.1f} ms")
    ratios = []
    for name, options in peers.items():
        peer = median(lambda options=options: splu(matrix, **options))
        ratios.append(own / peer)
        print(f"  {name}: {peer:.1f} ms, ratio {own / peer:.2f}")
    print(f"  beside the best: {max(ratios):.2f}, bound {NET_BOUND:g}")


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if not word.isdigit()]
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for name, measure in (("static", measure_static), ("modes", measure_modes)):
        if name in chosen or not chosen:
            measure()
    if "net" in chosen or not chosen:
        measure_net(*numbers)

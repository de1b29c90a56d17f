"""What the factorisation of a net of beams costs, beside SuperLU: ``python bench_net.py [30]``, a net of 30 x 30 nodes.

SuperLU gets the best of its orders for symmetric patterns (minimum degree of A^T + A, diagonal pivots) and the default.
"""

import statistics
import sys
import time

from scipy.sparse.linalg import splu

import femb

SIDE, BOUND = 0.2, 3.0
UP = (0.0, 1.0, 0.0)


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


def main(n: int) -> None:
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
    print(f"  beside the best: {max(ratios):.2f}, bound {BOUND:g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)

"""What an element costs: force, and force with mass and iteration tangent; and what a matrix costs, against SuperLU."""

import numpy as np
from bench_models import bent, best, chain, satellite
from oracles.alone import Alone
from scipy.sparse.linalg import splu

from femb import ExactBeam
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.system.system import System

SIZES = (4, 100, 5000)


def main() -> None:
    rows = []
    print(f"{'elements':>8} {'unknowns':>8} {'force':>9} {'+ mass, tangent':>16} {'factor':>9} {'solve':>9}", end="")
    print(f" {'factor+solve':>13} {'splu':>9} {'splu / ours':>12}      (us an element)")
    for elements in SIZES:
        system = System(satellite() if elements == 4 else chain(elements))
        q, v = bent(system)
        batch = next(each for each in system.batches if isinstance(each, BeamBatch))
        u, a, out = np.zeros((1, system.n_u)), np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
        data = np.zeros((3, system.pattern.size))
        force = best(lambda: Alone(system, batch).residual(u, q[None], v[None], a, out))  # noqa: B023
        tangent = best(lambda: Alone(system, batch).matrices(u[0], q, v, *data))  # noqa: B023
        mass, damping, stiffness = system.matrices(u[0], q, v)
        matrix = 1e6 * mass + 1e3 * damping + stiffness
        x = np.ones(system.n_v)
        copy = best(matrix.copy)
        factor = best(lambda: system.solver.factorise(matrix.copy())) - copy  # noqa: B023
        factors = system.solver.factorise(matrix.copy())
        solve = best(lambda: factors.solve(x.copy()))  # noqa: B023
        sparse = system.pattern.to_csc(matrix)
        orderings = ("COLAMD", "MMD_AT_PLUS_A")
        superlu = min(best(lambda o=o: splu(sparse, permc_spec=o).solve(x), repeats=3) for o in orderings)  # noqa: B023
        residual = np.max(np.abs(sparse @ factors.solve(x.copy()) - x))
        assert residual < 1e-4, residual
        rows.append((elements, force, force + tangent, factor, solve, factor + solve, superlu))
        us = [1e6 * t / elements for t in rows[-1][1:]]
        print(
            f"{elements:8d} {system.n_v:8d} {us[0]:9.2f} {us[1]:16.2f} {us[2]:9.2f} {us[3]:9.2f} {us[4]:13.2f}"
            f" {us[5]:9.2f} {superlu / (factor + solve):12.1f}"
        )
    compare_kinds()
    table = np.array(rows)
    names = ("force", "force, mass, tangent", "factor", "solve", "factor and solve", "splu")
    print("growth from 100 to 5000 elements, exponent of their number (1 is linear):")
    for name, column in zip(names, table.T[1:], strict=True):
        exponent = np.polyfit(np.log(table[1:, 0]), np.log(column[1:]), 1)[0]
        print(f"  {name:22s} {exponent:.3f}")


def compare_kinds(elements: int = 500) -> None:
    """Print the times of the exact beam beside those of the quaternion beam, in turns."""
    times = np.full((2, 3), np.inf)
    systems = [System(chain(elements)), System(chain(elements, ExactBeam))]
    for _ in range(3):
        for k, (system, kind) in enumerate(zip(systems, (BeamBatch, ExactBatch), strict=True)):
            q, v = bent(system)
            batch = next(each for each in system.batches if isinstance(each, kind))
            u, a, out = np.zeros((1, system.n_u)), np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
            data = np.zeros((3, system.pattern.size))
            calls = (
                lambda: Alone(system, batch).residual(u, q[None], v[None], a, out),  # noqa: B023
                lambda: Alone(system, batch).matrices(u[0], q, v, *data),  # noqa: B023
                lambda: Alone(system, batch).tangent(u[0], q, v, a[0], *data[1:]),  # noqa: B023
            )
            times[k] = np.minimum(times[k], [1e6 * best(call) / elements for call in calls])
    print(f"\n{elements} elements on nodes, us an element:   force   mass and tangent   exact tangents")
    for word, row in zip(("quaternion", "exact", "ratio"), (*times, times[1] / times[0]), strict=True):
        print(f"{word:>32} {row[0]:12.2f} {row[1]:18.2f} {row[2]:16.2f}")
    print()


if __name__ == "__main__":
    main()

"""What a flexible body with 20 modes costs, against ten beam elements: force, mass and tangent, and a step of a run."""

import sys
from pathlib import Path

import numpy as np
from bench_models import best

sys.path.insert(0, str(Path(__file__).parents[1]))  # for oracles

from oracles.alone import Alone
from oracles.modal_beam import BeamModel

import femb
from femb import elements as e
from femb.elements.beam.batch import BeamBatch
from femb.elements.modal.batch import ModalBatch
from femb.system.system import System


def model(flexible: bool) -> femb.Model:
    """A hub with a boom of 2 m."""
    found = femb.Model("boom")
    hub = found.add(e.RigidBody("hub", mass=20.0, inertia=1.0, angular_velocity=(0.1, 0.2, 0.3)))
    section = e.Section("tube", 2.5e-3, (5.2e-7, 5.2e-7), 8.8e-7, 2800.0, 7.17e8, 7.17e8 / 2.68)
    start = hub.at((0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    if not flexible:
        found.add(e.Beam("boom", section, 2.0, 10, start=start))
        return found
    EA, GJ, *EI = np.diag(section.stiffness())
    body = BeamModel(2.0, 10, section.line_mass(), EA, GJ, tuple(EI), tuple(section.inertia())).reduced(20)
    found.add(e.FlexibleBody("boom", body, start=start))
    return found


def main() -> None:
    times = []
    for flexible, kind in ((False, BeamBatch), (True, ModalBatch)):
        system = System(model(flexible))
        batch = next(each for each in system.batches if isinstance(each, kind))
        rng = np.random.default_rng(0)
        q, v = system.q0 + 1e-3 * rng.standard_normal(system.n_q), 1e-2 * rng.standard_normal(system.n_v)
        system.normalise(q)
        u, a, out = np.zeros((1, system.n_u)), np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
        data = np.zeros((3, system.pattern.size))
        force = best(lambda: Alone(system, batch).residual(u, q[None], v[None], a, out))  # noqa: B023
        matrices = best(lambda: Alone(system, batch).matrices(u[0], q, v, *data))  # noqa: B023
        tangent = best(lambda: Alone(system, batch).tangent(u[0], q, v, a[0], *data[1:]))  # noqa: B023
        full = 1e6 * system.matrices(u[0], q, v)[0] + 1e3 * system.matrices(u[0], q, v)[1]
        full = full + system.matrices(u[0], q, v)[2]
        copy = best(full.copy)
        factor = best(lambda: system.solver.factorise(full.copy())) - copy  # noqa: B023
        times.append([system.n_v, *(1e6 * t for t in (force, matrices, tangent, factor))])
        name = "20 modes" if flexible else "10 elements"
        print(
            f"{name:12s} unknowns {system.n_v:3d}  us: force {times[-1][1]:7.1f}  matrices {times[-1][2]:7.1f}", end=""
        )
        print(f"  exact tangent {times[-1][3]:7.1f}  factor {times[-1][4]:7.1f}")
    ratio = np.array(times[1][1:]) / np.array(times[0][1:])
    print("modal / beams:", " ".join(f"{x:.2f}" for x in ratio))


if __name__ == "__main__":
    main()

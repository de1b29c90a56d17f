"""Ensembles against separate runs: satellites of two booms with scattered mass and stiffness, in one process.

Both record the same quantities at the same instants; the ratio is CPU of separate ``femb.simulate`` calls, models
included, over that of one ``femb.simulate_ensemble``, per member; medians of interleaved repetitions. The difference is
the largest of the tip deflection between the two, relative to its largest value.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from bench_models import boom
from bench_sweep import SHORT, STUDY

from femb import Beam, ExactBeam, Load, Model, RigidBody, Section, simulate, simulate_ensemble, sweep
from femb.profiles import Versine
from femb.study.outputs import history
from femb.study.study import read_study

TIP = "beams.right.-1.deflection.z"
SELECTED = ("beams/right/deflection", "bodies/hub/angular_velocity")
RUN: dict[str, Any] = {"duration": 10.0, "method": "radau", "output_interval": 0.1}
SEPARATE, REPEATED = 20, 3


def scattered(elements: int, number: int, kind: type[Beam] | type[ExactBeam] = Beam) -> Model:
    """Satellite ``number`` of a random sample: stiffness by 30 %, masses by 20 %."""
    stiffness, mass, density = 1.0 + np.random.default_rng(number).uniform(-1.0, 1.0, 3) * (0.3, 0.2, 0.2)
    nominal = boom()
    section = Section(
        "boom",
        area=2.5e-3,
        second_moments=(5.2e-7, 5.2e-7),
        torsion_constant=1.04e-6,
        density=density * nominal.density,
        youngs_modulus=stiffness * nominal.youngs_modulus,
        shear_modulus=stiffness * nominal.shear_modulus,
    )
    model = Model("satellite")
    hub = model.add(RigidBody("hub", mass=22.4 * mass, inertia=0.149 * mass, euler_rates=(0.1, 0.1, 0.1)))
    for name, x in (("right", 1), ("left", -1)):
        start = hub.at((0.1 * x, 0, 0), direction=(x, 0, 0))
        model.add(kind(name, section=section, length=2.0, elements=elements, start=start))
    model.add(Load("slew", body="hub", torque=(0, 15.0, 0), frame="body", profile=Versine(1.0)))
    return model


def cpu(function: Any) -> tuple[float, Any]:
    """CPU time (s) of a call, and its result."""
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result


def compared(
    members: int, elements: int, rtol: float, select: tuple[str, ...], kind: type[Beam] | type[ExactBeam] = Beam
) -> Iterator[str]:
    """CPU of separate runs and of an ensemble, ms per member, their ratio, and the largest difference."""
    options = RUN | {"rtol": rtol, "output": {"select": select}}
    numbers = range(members)
    apart, joined = [], []
    for repeat in range(REPEATED + 1):
        chosen = range(min(SEPARATE, members))
        taken, runs = cpu(lambda chosen=chosen: [simulate(scattered(elements, k, kind), **options) for k in chosen])
        together, ensemble = cpu(lambda: simulate_ensemble((scattered(elements, k, kind) for k in numbers), **options))
        if repeat:  # the first loads kernels
            apart.append(taken / len(chosen))
            joined.append(together / members)
    ratio = statistics.median(a / b for a, b in zip(apart, joined, strict=True))
    own, same = np.array([history(run, TIP).values for run in runs]), ensemble.history(TIP)[1][: len(runs)]
    steps = [run.statistics["steps"] for run in runs], {r.statistics["steps"] for r in ensemble.results}
    of = f"{elements} {'exact ' if kind is ExactBeam else ''}elements a boom"
    yield f"{members:4} members, {of}, rtol {rtol:.0e}, {'two quantities' if select else 'all'}: "
    yield f"separate {1e3 * statistics.median(apart):.1f} ms, together {1e3 * statistics.median(joined):.1f} ms, "
    yield f"ratio {ratio:.2f}; difference {np.max(np.abs(own - same)) / np.max(np.abs(own)):.1e}, "
    yield f"steps {min(steps[0])} to {max(steps[0])}, together {max(steps[1])}, {ensemble.failed.sum()} failed\n"


def study(runs: int = 50) -> str:
    """CPU of the runs of the study of scattered booms, one by one and together, ms per run, and their ratio."""
    described = replace(read_study(STUDY, SHORT), runs=runs)
    pairs = [(cpu(lambda: sweep(described))[0], cpu(lambda: sweep(described, together=True))[0]) for _ in range(2)]
    apart, joined = pairs[-1]  # the first loads kernels
    return f"study: one by one {1e3 * apart / runs:.1f} ms, together {1e3 * joined / runs:.1f} ms, {apart / joined:.2f}"


if __name__ == "__main__":
    print(study(), flush=True)
    count = int(sys.argv[1]) if sys.argv[1:] else 500
    cases: list[tuple[Any, ...]] = [(2, 1e-6, SELECTED), (2, 1e-6, ()), (2, 1e-4, SELECTED), (4, 1e-6, SELECTED)]
    cases += [(8, 1e-6, SELECTED), (2, 1e-6, SELECTED, ExactBeam), (8, 1e-6, SELECTED, ExactBeam)]
    for case in cases:
        print("".join(compared(count, *case)), end="", flush=True)

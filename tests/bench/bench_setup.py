"""What a run costs beside its steps: ``python -m tests.bench.bench_setup [small] [--page]``, from the checkout.

Before the first step: CPU time of the description, of the system, and of all with a run of 1 ns.

The model is described anew each time, in a process that has made others of its shape, as in sweeps. The run contains
formulation, stepper, recorder, its first step, two output times and the results. With ``--page`` the figures go to
docs/performance.json and its page. With ``small``, runs of 1 ms with two output times and static paths of one load
step, with the description of the model.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import femb
from femb.vibration.completion import system_of

from . import p1_satellite, p2_chain, p4_statics, p6_mechanisms
from .harness import MOTION
from .page import DATA, setup_table, write_page

DURATION, SMALL = 1e-9, 1e-3
RUNS, WARM = 40, 4


def models() -> dict[str, tuple[Callable[[], femb.Model], dict[str, Any]]]:
    """Each model, and the options of its run."""
    tree = {"method": "rk", "formulation": "reduced"}
    chains = {f"chain P2 of {n}": (partial(p2_chain.model, n), tree) for n in (10, 50, 200)}
    return {"satellite P1, N = 2": (partial(p1_satellite.model, 2), {})} | chains


def measured(runs: int = RUNS, warm: int = WARM) -> dict[str, dict[str, float]]:
    """The least of runs in turn, ms: other programs of the machine only add to it."""
    taken: dict[str, list[tuple[float, float, float]]] = {}
    words: dict[str, Any] = {"duration": DURATION, "output_interval": DURATION, "output": MOTION}
    for k in range(warm + runs):
        for name, (make, options) in models().items():
            start = time.process_time()
            model = make()
            described = time.process_time()
            system_of(model, False)
            equations = time.process_time()
            femb.simulate(model, **words, **options)
            end = time.process_time()
            if k >= warm:
                # a run makes its own system
                whole = described - start + end - equations
                taken.setdefault(name, []).append((described - start, equations - described, whole))
    found = {name: [1e3 * min(each) for each in zip(*rows, strict=True)] for name, rows in taken.items()}
    return {name: dict(zip(("description", "system", "whole"), rows, strict=True)) for name, rows in found.items()}


def rigid_body() -> None:
    """A free rigid body."""
    model = femb.Model("body")
    model.add(femb.RigidBody("body", mass=1.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0.1, 0.2, 0.3)))
    femb.simulate(model, duration=SMALL, output_interval=SMALL, output=MOTION, method="rk")


def satellite() -> None:
    """P1 with two elements in each boom."""
    model = p1_satellite.model(2)
    femb.simulate(model, duration=SMALL, output_interval=SMALL, output=MOTION, rtol=1e-5)


def small_runs() -> dict[str, Callable[[], object]]:
    """Each run by what it is of."""
    words = {"duration": SMALL, "output_interval": SMALL}
    return {
        "rigid body": rigid_body,
        "P1 satellite, N = 2": satellite,
        "P2 chain of 10 rods": partial(p2_chain.by_femb, 10, 1e-4, **words),
        "P4 roll-up, 4 elements": partial(p4_statics.femb_roll, 4, 1),
        "P4 bend, 4 elements": partial(p4_statics.femb_bend, 4, 1),
        "A01 pendulum": partial(p6_mechanisms.by_femb, p6_mechanisms.pendulum, "bob", 1e-5, method="rk", **words),
    }


def measure_small() -> None:
    for name, run in small_runs().items():
        taken = []
        for _ in range(WARM + RUNS):
            start = time.process_time()
            run()
            taken.append(1e3 * (time.process_time() - start))
        taken = taken[WARM:]
        print(f"{name:24}: least {min(taken):5.2f}, median {statistics.median(taken):5.2f} ms of {RUNS} runs")


def main(words: list[str]) -> None:
    if "small" in words:
        measure_small()
        return
    found = measured()
    print(setup_table({"setup": found}))
    if "--page" in words:
        data = json.loads(DATA.read_text(encoding="utf-8")) | {"setup": found}
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        write_page(data)


if __name__ == "__main__":
    main(sys.argv[1:])

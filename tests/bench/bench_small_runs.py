"""What a small run costs: CPU time of runs of 1 ms with two output times and of static paths of one load step, with the
description of the model. Started from the checkout: ``python -m tests.bench.bench_small_runs``."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import femb

from . import p1_satellite, p2_chain, p4_statics, p6_mechanisms
from .harness import MOTION

DURATION = 1e-3
RUNS, WARM = 40, 4


def rigid_body() -> None:
    """A free rigid body."""
    model = femb.Model("body")
    model.add(femb.RigidBody("body", mass=1.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0.1, 0.2, 0.3)))
    femb.simulate(model, duration=DURATION, output_interval=DURATION, output=MOTION, method="rk")


def satellite() -> None:
    """P1 with two elements in each boom."""
    model = p1_satellite.model(2)
    femb.simulate(model, duration=DURATION, output_interval=DURATION, output=MOTION, rtol=1e-5)


def small_runs() -> dict[str, Callable[[], object]]:
    """Each run by what it is of."""
    words = {"duration": DURATION, "output_interval": DURATION}
    return {
        "rigid body": rigid_body,
        "P1 satellite, N = 2": satellite,
        "P2 chain of 10 rods": partial(p2_chain.by_femb, 10, 1e-4, **words),
        "P4 roll-up, 4 elements": partial(p4_statics.femb_roll, 4, 1),
        "P4 bend, 4 elements": partial(p4_statics.femb_bend, 4, 1),
        "A01 pendulum": partial(p6_mechanisms.by_femb, p6_mechanisms.pendulum, "bob", 1e-5, method="rk", **words),
    }


def main() -> None:
    for name, run in small_runs().items():
        taken = []
        for _ in range(WARM + RUNS):
            start = time.process_time()
            run()
            taken.append(1e3 * (time.process_time() - start))
        taken = taken[WARM:]
        print(f"{name:24}: least {min(taken):5.2f}, median {statistics.median(taken):5.2f} ms of {RUNS} runs")


if __name__ == "__main__":
    main()

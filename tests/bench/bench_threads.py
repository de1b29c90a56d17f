"""What threads save, in parts of steps and in steps of chains of exact elements that are loaded at both ends.

One thread and two are measured in turn. The wall times mean something on idle cores alone: on a busy machine the second
thread waits for its core.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import femb
from femb import Run
from femb.numerics.threads import limited_threads
from femb.steppers import make_stepper
from femb.system.system import System

DURATION, REPETITIONS, CALLS = 0.05, 12, 200
ATOL = femb.Tolerances(1e-4, 1e-3, 1e-5)
METHODS: dict[str, dict[str, Any]] = {
    "radau": {"rtol": 1e-2},
    "generalized-alpha": {"rtol": 1e-3, "method": "generalized-alpha", "spectral_radius": 0.9, "step": 1e-3},
}


def chain(elements: int) -> femb.Model:
    section = femb.Section(
        "boom", axial_stiffness=1.8e8, shear_stiffness=(5.6e7, 5.6e7), torsional_stiffness=2.8e4,
        bending_stiffness=(3.7e4, 3.7e4), mass_per_length=7.0, inertia_per_length=(2.9e-3, 1.5e-3, 1.5e-3),
    )  # fmt: skip
    model = femb.Model("chain")
    start = femb.Attachment(direction=(1, 0, 0))
    model.add(femb.ExactBeam("chain", section, 0.2 * elements, elements, start=start))
    model.add(femb.Load("first", beam="chain", node=0, force=(0.0, 100.0, 0.0)))
    model.add(femb.Load("last", beam="chain", node=-1, force=(0.0, 0.0, 100.0)))
    return model


def steps(system: System, threads: int, options: dict[str, Any]) -> tuple[float, float]:
    """Wall and CPU time of all steps."""
    with limited_threads(threads):
        stepper = make_stepper(system, Run(duration=DURATION, atol=ATOL, **options))
        wall, cpu = time.perf_counter(), time.process_time()
        while stepper.t < DURATION:
            stepper.step(DURATION)
        return time.perf_counter() - wall, time.process_time() - cpu


def parts(system: System) -> dict[str, list[Callable[[], object]]]:
    """The parts of a step of radau that are divided, by one thread and by two."""
    found: dict[str, list[Callable[[], object]]] = {"forces": [], "factors": [], "solutions": []}
    for threads in (1, 2):
        with limited_threads(threads):
            stepper: Any = make_stepper(system, Run(duration=DURATION, atol=ATOL, **METHODS["radau"]))
        step = stepper.step(DURATION)
        h = step.end - step.start

        def factorise(stepper: Any = stepper, h: float = h) -> None:
            stepper._factored_for = 0.0
            stepper._factorise(h)

        def solve(stepper: Any = stepper) -> None:
            stepper._real[:] = stepper._pair[:] = 1.0
            real, pair = stepper._factors
            stepper._each([partial(pair.solve, stepper._pair), partial(real.solve, stepper._real)])

        found["forces"].append(stepper._bound)
        found["factors"].append(factorise)
        found["solutions"].append(solve)
    return found


def taken(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    for elements in map(int, sys.argv[1:] or ("2000", "5000")):
        system = System(chain(elements))
        for name, functions in parts(system).items():
            one, two = np.min([[taken(each) for each in functions] for _ in range(CALLS)], axis=0)
            print(f"{elements:5d} elements, {name:17}: one thread {one:6.3f} ms, two {two:6.3f} ms ({two / one:.2f})")
        for method, options in METHODS.items():
            steps(system, 2, options)
            pairs = [[steps(system, threads, options) for threads in (1, 2)] for _ in range(REPETITIONS)]
            # repetitions, threads, wall and CPU time
            (wall_1, cpu_1), (wall_2, cpu_2) = (1e3 * np.min(pairs, axis=0)).tolist()
            print(
                f"{elements:5d} elements, {method:17}: one thread {wall_1:6.1f} ms, two {wall_2:6.1f} ms "
                f"({wall_2 / wall_1:.2f}); CPU time {cpu_1:6.1f} and {cpu_2:6.1f} ms; the least of {REPETITIONS} runs"
            )


if __name__ == "__main__":
    main()

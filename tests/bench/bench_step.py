"""What a step costs: the slewed satellite of 5 nodes, a driven arm, how much of it is Python, and long chains."""

import sys
import time
from typing import Any

from bench_models import chain, satellite, spun_arm
from numba.core.dispatcher import Dispatcher

from femb import Run
from femb.steppers import make_stepper
from femb.system.system import System


def stepped(model: Any, duration: float, **options: Any) -> Any:
    """Stepper after its run, without output, and the CPU time of its steps."""
    system = System(model)
    stepper = make_stepper(system, Run(duration=duration, **options))
    start = time.process_time()
    for limit in [*(t for t in system.breakpoints if 0.0 < t < duration), duration]:
        while stepper.t < limit:
            stepper.step(limit)
        stepper.restart()
    return stepper, time.process_time() - start


class Timed:
    """A compiled function that adds up the CPU time spent in it, called from Python."""

    total = 0.0
    calls = 0

    def __init__(self, function: Any) -> None:
        self.function, self.py_func = function, function.py_func
        # kernels that others call by address take part of their time
        self.address_for = getattr(function, "address_for", None)

    def __call__(self, *args: Any) -> Any:
        start = time.thread_time()
        result = self.function(*args)
        Timed.total += time.thread_time() - start
        Timed.calls += 1
        return result


def in_kernels(run: Any) -> tuple[Any, float, int]:
    """Result of a run, and the time and number of its calls of compiled functions."""
    replaced = []
    for module in [each for name, each in sys.modules.items() if name.startswith("femb")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                replaced.append((module, name, value))
                setattr(module, name, Timed(value))
    Timed.total, Timed.calls = 0.0, 0
    try:
        result = run()
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)
    return result, Timed.total, Timed.calls


def report(name: str, make: Any, duration: float, rtol: float, method: str) -> None:
    """How much of a step is Python."""

    def run() -> Any:
        return stepped(make(), duration, rtol=rtol, method=method)

    run()
    # pairs, since a shared machine may be slower when the other half is measured
    pairs = [(run()[1], *in_kernels(run)) for _ in range(20)]
    steps, calls = pairs[0][1][0].statistics.steps, pairs[0][3]
    plain, _, kernels, _ = sorted(pairs, key=lambda each: each[0] - each[2])[len(pairs) // 2]
    print(
        f"{name}: {steps} steps, {1e6 * plain / steps:.0f} us a step, kernels {1e6 * kernels / steps:.0f} us in "
        f"{calls / steps:.1f} calls, Python and numpy {1e6 * (plain - kernels) / steps:.0f} us "
        f"({100 * (1 - kernels / plain):.0f} %)"
    )


def main() -> None:
    for forced in (True, False):
        stepped(satellite(forced=forced), 10.0)
        for rtol in (1e-4, 1e-6, 1e-8):
            runs = [stepped(satellite(forced=forced), 10.0, rtol=rtol) for _ in range(7)]
            stepper, taken = min(runs, key=lambda each: each[1])
            s = stepper.statistics
            print(
                f"satellite {'forced' if forced else 'free':6} 10 s, rtol {rtol:.0e}: {taken:.4f} s, {s.steps} steps "
                f"({s.rejected} rejected), {1e6 * taken / s.steps:.0f} us a step, {s.newton_iterations} Newton "
                f"iterations, {s.jacobians} jacobians, {s.factorizations} factorisations"
            )

    explicit, taken = min(
        (stepped(satellite(), 0.1, method="rk", rtol=1e-6) for _ in range(7)), key=lambda each: each[1]
    )
    s = explicit.statistics
    print(
        f"satellite forced 0.1 s by rk: {s.steps} steps ({s.rejected} rejected), {1e6 * taken / s.steps:.0f} us a step"
    )

    # of other methods, the time of a case that some hundred steps take
    for name, make, rtol, durations in (
        ("satellite forced", satellite, 1e-6, (10.0, 2.0, 2.0)),
        ("driven arm of P3", spun_arm, 1e-3, (20.0, 20.0, 20.0)),
    ):
        for method, duration in zip(("radau", "generalized-alpha", "bdf"), durations, strict=True):
            report(f"{name}, {method}, {duration:g} s", make, duration, rtol, method)
    stepped(chain(2), 1e-3)  # so that what only a chain needs is compiled
    for elements in (100, 1000, 5000):
        system = System(chain(elements))
        stepper = make_stepper(system, Run(duration=0.05, rtol=1e-6, first_step=1e-3, max_step=1e-3))
        stepper._error = lambda *_: 1e-8  # steps of 1 ms whatever the axial waves do
        start = time.process_time()
        while stepper.t < 0.05:
            stepper.step(0.05)
        taken = time.process_time() - start
        s = stepper.statistics
        print(
            f"chain of {elements:5d}: {1e3 * taken / s.steps:8.2f} ms a step of 1 ms, {s.steps} steps ({s.rejected} "
            f"rejected), {s.newton_iterations / (s.steps + s.rejected):.1f} Newton iterations an attempt, "
            f"{s.jacobians} jacobians, {s.factorizations} factorisations, "
            f"{1e6 * taken / s.steps / elements:.1f} us a step and element"
        )


if __name__ == "__main__":
    main()

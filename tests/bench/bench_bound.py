"""What a step costs beside the arithmetic of its kernels: the satellite with exact arms, and a chain of 100 elements.

``python bench_bound.py`` prints, for each kernel of a Radau step, its calls a step, its time when its first call is
repeated alone, with its data in the cache, and the bound of its arithmetic; then the time of the whole step. The
difference between the step and its kernels is Python, numpy and waiting for memory.

Additions, multiplications, divisions and roots are counted exactly: a second process runs the kernels uncompiled
(NUMBA_DISABLE_JIT) on numbers that count. The bound divides them by the rate at which a compiled loop does additions
and multiplications of 64-bit numbers in 32 independent chains on the same core.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numba
import numpy as np
import operations

from femb import Run
from femb.steppers import make_stepper
from femb.system.system import System

# What is counted, by kernel; complex matrices take four times the operations of real ones.
COUNTED = ("forces", "tangents", "factor", "solve")
COMPLEX = 4.0
REPETITIONS = 11


def steps_of(system: System, run: Run) -> Any:
    """The stepper at the end of a run."""
    stepper = make_stepper(system, run)
    while stepper.t < run.duration:
        stepper.step(run.duration)
    return stepper


# Times


def kernels_of(system: System, run: Run) -> tuple[int, dict[tuple[str, bool, int], tuple[Any, Any, int]]]:
    """Number of steps, and for each kernel, with whether it is complex and its number of states: the function, copies
    of the arguments of its first call, and its number of calls. States are counted for forces alone."""
    found: dict[tuple[str, bool, int], tuple[Any, Any, int]] = {}

    def kept(kernel: Any) -> Any:
        def call(*args: Any) -> Any:
            arrays, name = [each for each in args if isinstance(each, np.ndarray)], kernel.py_func.__name__
            # the sum of the forces, (states, n_v), comes before their sections and rows
            states = len(arrays[-3]) if name == "forces" else 0
            key = name, any(np.iscomplexobj(each) for each in arrays), states
            if key not in found:
                copies = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
                found[key] = kernel, copies, 0
            found[key] = (*found[key][:2], found[key][2] + 1)
            return kernel(*args)

        return call

    replaced = [
        (module, name, value)
        for module in operations.modules()
        for name, value in list(vars(module).items())
        if hasattr(value, "py_func") and hasattr(value, "overloads")
    ]
    for module, name, value in replaced:
        setattr(module, name, kept(value))
    try:
        stepper = steps_of(system, run)
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)
    return stepper.statistics.steps, found


def shortest(call: Any, repetitions: int = 50) -> float:
    """The shortest time of a call, s."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


@numba.njit
def chains(x, count):
    """32 additions and multiplications in independent chains, ``count`` times."""
    for _ in range(count):
        for k in range(32):
            x[k] = x[k] * 0.999 + 1e-3


def rate() -> float:
    """Operations of this core a second."""
    x, count = np.ones(32), 20000
    chains(x, count)
    return 64.0 * count / shortest(lambda: chains(x, count), 50)


def main() -> None:
    words = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    text = subprocess.run(
        [sys.executable, operations.__file__], env=words, check=True, capture_output=True, text=True
    ).stdout
    counts, speed = json.loads(text.splitlines()[-1]), rate()
    print(f"this core: {speed / 1e9:.2f} operations a ns")
    for name, (system, run) in operations.problems().items():
        steps_of(system, run)
        steps, kernels = kernels_of(system, run)
        total, bound = 0.0, 0.0
        others: Counter[str] = Counter()
        print(f"{name}: {steps} steps")
        for (kernel, is_complex, states), (function, args, calls) in kernels.items():
            spent = shortest(lambda function=function, args=args: function(*args)) * calls / steps
            total += spent
            if kernel not in COUNTED:
                others["time"] += 1e6 * spent
                continue
            many = states if kernel == "forces" else COMPLEX if is_complex else 1.0
            done = counts[name][kernel] * many * calls / steps
            bound += done / speed
            kind = f"{kernel}{' complex' if is_complex else ''}{f', {states} states' if kernel == 'forces' else ''}"
            print(
                f"  {kind:20} {calls / steps:5.2f} calls a step, {1e6 * spent:7.1f} us, {done:9.0f} operations, "
                f"bound {1e6 * done / speed:6.1f} us"
            )
        whole = []
        for _ in range(REPETITIONS):
            begin = time.process_time()
            steps_of(system, run)
            whole.append((time.process_time() - begin) / steps)
        print(
            f"  other kernels {others['time']:.1f} us; all kernels alone {1e6 * total:.1f} us, bound of those "
            f"above {1e6 * bound:.1f} us"
        )
        print(f"  a step: at least {1e6 * min(whole):.1f} us, median {1e6 * sorted(whole)[REPETITIONS // 2]:.1f} us")


if __name__ == "__main__":
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    main()

"""What a control loop costs: a sampled run beside the same steps without a law, wheels as elements, stiff laws, and
Basilisk (package bsk, extra `bench`) on the spin of docs/theory/control_loop.md.

`python -m tests.bench.bench_control`, from the checkout; with ``period``, the breakdown of a period of the sampled run
alone. Control in Basilisk itself is the problem P7 of ``python -m tests.bench``.
"""

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import femb
from femb.numerics.compiler.bound_calls import Program, call_each
from femb.steppers.radau import HeldLoop
from tests.oracles.controlled_satellite import PERIOD, WHEELS, controlled_by_pd, satellite

DURATION, ROUNDS, BOUND = 600.0, 5, 1.4
REPEATED = 2000  # calls of a kernel that is timed
ACCURACY = 1e-9
# Steps that wheels as elements may take in 30 s: formulation, method, rtol.
SPINS = {
    ("velocity", "radau", 1e-6): 145,
    ("velocity", "radau", 1e-9): 786,
    ("velocity", "bdf", 1e-6): 297,
    ("velocity", "generalized-alpha", 1e-6): 442,
    ("velocity", "rk", 1e-9): 97,
    ("reduced", "radau", 1e-6): 269,
    ("reduced", "radau", 1e-9): 1364,
    ("reduced", "rk", 1e-9): 135,
    ("quaternion", "radau", 1e-6): 145,
}
TORQUES = np.array([(0.10, -0.05, 0.03, -0.08), (-0.04, 0.09, -0.10, 0.02), (0.0, 0.0, 0.0, 0.0)])
SPIN = {"angular_velocity": (0.01, -0.02, 0.03)}


class Held:
    """A torque held over 10 s each."""

    breakpoints = (10.0, 20.0)

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __call__(self, t: float) -> float:
        return float(self.values[int(t >= 10.0) + int(t >= 20.0)])


def timed(model: femb.Model, duration: float, **options: Any) -> tuple[float, femb.Results]:
    """CPU time (s) of a run, and its results."""
    start = time.process_time()
    results = femb.simulate(model, duration=duration, **options)
    return time.process_time() - start, results


def sampled() -> None:
    options = {"method": "radau", "rtol": 1e-6, "output_interval": 1.0}
    for law in (True, False):
        timed(controlled_by_pd(law), 5.0, **options)  # compiles
    times, counts = [], []
    for _ in range(ROUNDS):
        held, results = timed(controlled_by_pd(), DURATION, **options)
        free, _ = timed(
            controlled_by_pd(False, angular_velocity=(0.01, 2e-3, -3e-3)), DURATION, max_step=PERIOD, **options
        )
        times.append((held, free))
        counts = [results.statistics[word] for word in ("steps", "factorizations")]
    best, ratios = np.min(times, axis=0), [held / free for held, free in times]
    print(f"{DURATION:g} s at {1.0 / PERIOD:g} Hz: {best[0]:.2f} s of CPU time, with max_step alone {best[1]:.2f} s")
    print(f"ratio, median of {ROUNDS}: {np.median(ratios):.2f} (aim {BOUND}); steps {counts[0]}, ", end="")
    print(f"factorisations {counts[1]}, {100.0 * counts[1] / counts[0]:.2g} % of them (bound 1 %)", flush=True)


def period() -> None:
    """What a period takes, us: kernels alone, with data in the cache, the loop around them, and Python."""
    options: dict[str, Any] = {"method": "radau", "rtol": 1e-6}
    loops, spent, run = [], [], HeldLoop.run

    def timed_run(self: HeldLoop, *args: Any) -> Any:
        loops.append(self)
        start = time.process_time()
        found = run(self, *args)
        spent.append(time.process_time() - start)
        return found

    def made(program: Program) -> float:
        """CPU time (us) of the calls of a program."""
        entries, found = np.tile(program.put_together({}), (REPEATED, 1)), []
        for _ in range(ROUNDS):
            start = time.process_time()
            call_each(entries)
            found.append((time.process_time() - start) / REPEATED * 1e6)
        return min(found)

    for interval in (1.0, DURATION):  # compiles
        timed(controlled_by_pd(), 30.0, output_interval=min(interval, 30.0), **options)
    with_output = min(timed(controlled_by_pd(), DURATION, output_interval=1.0, **options)[0] for _ in range(ROUNDS))
    HeldLoop.run = timed_run  # type: ignore[method-assign]
    rounds = []
    for _ in range(ROUNDS):
        spent.clear()
        cpu = timed(controlled_by_pd(), DURATION, output_interval=DURATION, **options)[0]
        rounds.append((cpu, sum(spent)))
    HeldLoop.run = run  # type: ignore[method-assign]
    count = DURATION / PERIOD
    cpu, inside = (1e6 * x / count for x in min(rounds))
    names = ("trial step", "prediction after new commands", "coordinates of joints", "law, queue and commands")
    kernels = dict(zip(names, map(made, loops[-1].programs), strict=True))
    print("a period, us of CPU time")
    for name, each in kernels.items():
        print(f"{name:40} {each:6.1f}")
    rest = {"loop in compiled code, and its arrays": inside - sum(kernels.values()), "set-up and results": cpu - inside}
    for name, each in (rest | {"without output": cpu, "with output each second": 1e6 * with_output / count}).items():
        print(f"{name:40} {each:6.1f}")
    print(f"real-time factor {DURATION / with_output:.0f}")


def spin() -> femb.Model:
    """The satellite without friction and control; torques held over 10 s."""
    model = femb.Model("spin")
    for item in satellite(**SPIN).items():
        if isinstance(item, femb.Revolute):
            start = 0.002 if item.name == "left" else -0.001
            item = femb.Revolute(item.name, item.first, item.second, start=start)
        elif isinstance(item, femb.ReactionWheel):
            torque = Held(TORQUES[:, WHEELS.index(item.name)])
            words = {"axis": item.axis, "spin_inertia": item.spin_inertia, "speed": item.speed}
            item = femb.ReactionWheel(item.name, body="hub", torque=torque, **words)
        model.add(item)
    return model


def spun(formulation: str, method: str, rtol: float) -> tuple[float, int, np.ndarray]:
    """CPU time (s), steps, and at 30 s the rates of the hub, the angles of the panels and the speeds of the wheels."""
    options = {"formulation": formulation, "method": method, "rtol": rtol, "output_interval": 10.0}
    cpu, results = timed(spin(), 30.0, **options)
    rates = results.bodies["hub"].angular_velocity[-1]
    panels = [results.joints[name].coordinates[-1, 0] for name in ("left", "right")]
    return cpu, results.statistics["steps"], np.array([*rates, *panels, *(results.wheels[w].speed[-1] for w in WHEELS)])


def wheels() -> np.ndarray:
    """Print steps and errors; the motion at 30 s at a tight tolerance."""
    right = spun("velocity", "radau", 1e-11)[2]
    print("\nwheels as elements, 30 s: steps, bound, CPU s, error of the rates")
    for case, most in SPINS.items():
        spun(*case)  # compiles
        cpu, steps, found = spun(*case)
        error = np.abs(found - right)[:3].max()
        print(f"{case[0]:10} {case[1]:18} {case[2]:.0e} {steps:5} {most:5} {cpu:7.3f} {error:.1e}", flush=True)
    return right


def stiff() -> None:
    print("\nsteps of 20 s with a continuous law behind a filter of the time constant tau")
    for tau in (0.2, 2e-4, 2e-7):
        model = femb.Model("rotor")
        model.add(femb.RigidBody("hub", 10.0, (2.0, 2.0, 2.0), angular_velocity=(0.0, 0.0, 0.01)))
        model.add(femb.ReactionWheel("w", body="hub", axis=(0.0, 0.0, -1.0), spin_inertia=0.1))
        reads = ("bodies.hub.turn.z", "bodies.hub.angular_velocity.z")
        A, B, C = [[-1.0 / tau]], [[-2.0 / tau, -2.8 / tau]], [[1.0]]
        model.add(femb.LinearController("law", A=A, B=B, C=C, inputs=reads, outputs=("wheels.w.torque",)))
        cpu, results = timed(model, 20.0, method="radau", rtol=1e-6, output_interval=5.0)
        print(f"tau {tau:.0e} s: {results.statistics['steps']:4} steps, {cpu:.3f} s of CPU time", flush=True)


def basilisk(right: np.ndarray) -> None:
    if find_spec("Basilisk") is None:
        print("\nBasilisk is left out: it is not installed (extra bench)")
        return
    from .basilisk_peer import UNLIMITED, Craft

    print("\nBasilisk, RK4: step s, CPU s, error of the rates; femb, the fastest run above with at most that error")
    ours = {case: spun(*case) for case in SPINS}
    for step in (0.1, 0.05, 0.01, 0.005):
        start = time.process_time()
        craft = Craft(step, SPIN["angular_velocity"], np.zeros(3), (0.002, -0.001), UNLIMITED)
        craft.run(10.0, 20.0, 30.0, commands=TORQUES)
        used, found = time.process_time() - start, craft.motion()
        error = np.abs(found - right)[:3].max()
        good = [(cpu, case) for case, (cpu, _, each) in ours.items() if np.abs(each - right)[:3].max() <= error]
        cpu, case = min(good, default=(float("nan"), ("none",)))
        words = " ".join(map(str, case))
        print(f"{step:6g} {used:7.3f} {error:.1e}   femb {cpu:7.3f} {words}", flush=True)
    agreement = np.abs(found - right)
    print(f"agreement: rates {agreement[:3].max():.1e} rad/s, panels {agreement[3:5].max():.1e} rad, ", end="")
    print(f"wheels {agreement[5:].max():.1e} rad/s (aim {ACCURACY:g})")


if __name__ == "__main__":
    if sys.argv[1:] == ["period"]:
        period()
        sys.exit()
    sampled()
    found = wheels()
    stiff()
    basilisk(found)

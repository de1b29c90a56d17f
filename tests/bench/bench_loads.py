"""What fields of gravity and drag cost: CPU time of a run of the satellite with each, over that without."""

import statistics
import time

from bench_models import satellite

from femb import Drag, GravityGradient, Orbit, simulate

LOADS = {
    "none": [],
    "orbit": [Orbit("earth", position=(7e6, 0.0, 0.0), velocity=(0.0, 7546.0, 0.0))],
    "gravity gradient": [GravityGradient("earth", altitude=5e5)],
    "drag on both arms": [
        Drag(f"air_{arm}", arm, density=1e-3, width=0.05, coefficient=2.0, viscous=1e-3) for arm in ("left", "right")
    ],
}
ROUNDS = 7


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in LOADS}
    steps = {}
    for repeat in range(ROUNDS + 1):
        for name, loads in LOADS.items():
            model = satellite()
            for load in loads:
                model.add(load)
            start = time.process_time()
            results = simulate(model, method="radau", rtol=1e-6, duration=10.0, output_interval=10.0)
            steps[name] = results.statistics["steps"]
            if repeat:  # the first loads kernels
                taken[name].append(time.process_time() - start)
    without = taken["none"]
    for name, times in taken.items():
        ratio = statistics.median(a / b for a, b in zip(times, without, strict=True))
        print(f"{name:18}: {1e3 * statistics.median(times):5.0f} ms in {steps[name]} steps, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()

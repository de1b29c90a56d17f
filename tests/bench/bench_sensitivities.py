"""What derivatives of a run cost beside the run: the satellite with two arrays, of 156 and of some 1000 velocities.

Prints the CPU time of the run, and what ``femb.sensitivities`` by 1, 3, 10 and 30 parameters takes beyond it, in runs.
"""

import time
from pathlib import Path

import femb

CASE = Path(__file__).resolve().parents[2] / "cases" / "satellite_two_arrays.toml"
PANELS = [f"{side}_{k}" for side in ("left", "right") for k in (1, 2, 3)]
KEYS = [
    "springs.left_1.stiffness", "sections.yoke.youngs_modulus", "bodies.hub.mass", "sections.yoke.density",
    "sections.yoke.area", "loads.wheel.torque.0", *(f"bodies.hub.inertia.{k}" for k in range(3)),
    *(f"springs.{name}.damping" for name in PANELS), *(f"bodies.{name}.mass" for name in PANELS),
    *(f"springs.{name}.stiffness" for name in PANELS[1:]), *(f"bodies.{name}.inertia.1" for name in PANELS[:4]),
]  # fmt: skip
COUNTS = 1, 3, 10, 30
MODELS = {"156 velocities": [], "1000 velocities": [f"beams.{side}_yoke.elements=76" for side in ("left", "right")]}


def cpu(function, *args, **words):
    """The CPU time (s) of a call."""
    start = time.process_time()
    function(*args, **words)
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    for title, overrides in MODELS.items():
        case = femb.load_case(CASE, overrides)
        of = "final of=bodies.hub.angular_velocity.x"
        femb.simulate(case.model, case.run)
        femb.sensitivities(CASE, of, KEYS[:1], overrides=overrides)
        runs, ratios = [], []
        for k in COUNTS:
            runs.append(min(cpu(femb.simulate, case.model, case.run) for _ in range(3)))
            ratios.append(cpu(femb.sensitivities, CASE, of, KEYS[:k], overrides=overrides) / runs[-1] - 1.0)
        parts = ", ".join(f"{k} parameters {ratio:.1f}" for k, ratio in zip(COUNTS, ratios, strict=True))
        print(f"{title}: run {min(runs):.3f} s; beyond it, in runs: {parts}", flush=True)


if __name__ == "__main__":
    main()

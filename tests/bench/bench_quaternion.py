"""What the quaternion form costs beside the velocity form: CPU time of a run in each, alternately, and their ratio."""

import time
from dataclasses import replace
from pathlib import Path

from femb import load_case, simulate

CASES = Path(__file__).resolve().parents[2] / "cases"
# How long the cases run with implicit and with explicit steps, s.
STRETCHES = {"satellite_forced": (10.0, 0.02), "rigid_body_free": (2.0, 2.0), "slider_crank_rigid": (0.2, 0.2)}
FORMULATIONS = ("velocity", "quaternion")
BOUND = 3.0
ROUNDS = 7


def run(name, method, formulation):
    """CPU time (s) of a run, and how many steps it took."""
    case = load_case(CASES / f"{name}.toml")
    duration = STRETCHES[name][method == "rk"]
    options = {"method": method, "formulation": formulation, "duration": duration, "output_interval": duration / 10}
    start = time.process_time()
    results = simulate(case.model, replace(case.run, **options))
    return time.process_time() - start, results.statistics["steps"]


def main() -> None:
    print(f"CPU time of a run, least of {ROUNDS}, and the quaternion form's over the velocity form's (bound {BOUND:g})")
    print(f"{'case':20} {'method':6} {'velocity':>16} {'quaternion':>16} {'ratio':>6}")
    for name in STRETCHES:
        for method in ("rk", "radau", "bdf"):
            for formulation in FORMULATIONS:
                run(name, method, formulation)  # compiles
            rounds = [[run(name, method, formulation) for formulation in FORMULATIONS] for _ in range(ROUNDS)]
            times = [min(each[k][0] for each in rounds) for k in range(2)]
            cells = [f"{1e3 * t:7.1f} ms /{rounds[0][k][1]:5}" for k, t in enumerate(times)]
            print(f"{name:20} {method:6} {cells[0]:>16} {cells[1]:>16} {times[1] / times[0]:6.2f}", flush=True)


if __name__ == "__main__":
    main()

"""What output costs: CPU time of runs with 2, 100 and 1000 output times, beside a bound of 1.3 times that with 2.

All quantities, and the motion alone.
"""

import time
from pathlib import Path
from runpy import run_path

from bench_models import chain, satellite

from femb import load_case, simulate

CASES = Path(__file__).resolve().parents[2] / "cases"
BOUND = 1.3
ROUNDS = 5
OUTPUTS = (2, 100, 1000)


def main() -> None:
    tree, windows = load_case(CASES / "thompson_connected.toml"), run_path(str(CASES / "iftomm_a02_four_bar.py"))
    runs = {
        "satellite, 5 nodes, radau": (satellite(), {"duration": 10.0, "method": "radau"}),
        "satellite, 5 nodes, rk": (satellite(), {"duration": 0.1, "method": "rk"}),
        "tree, reduced, rk": (tree.model, {"duration": 2.0, "method": "rk", "formulation": "reduced"}),
        "40 windows of A02, rk": (windows["build"](40), {"duration": 4.0, "method": "rk"}),
        "chain of 100, radau": (chain(100), {"duration": 0.02, "method": "radau", "max_step": 1e-3}),
    }
    for name, (model, words) in runs.items():
        for motion_only in (False, True):
            taken: dict[int, list[float]] = {count: [] for count in OUTPUTS}
            for _ in range(ROUNDS):
                for count in OUTPUTS:
                    start = time.process_time()
                    times = {"output_interval": words["duration"] / (count - 1), "output": {"motion_only": motion_only}}
                    results = simulate(model, rtol=1e-6, **times, **words)
                    taken[count].append(time.process_time() - start)
            best = {count: min(times) for count, times in taken.items()}
            ratios = ", ".join(f"{best[count] / best[2]:.2f} with {count}" for count in OUTPUTS[1:])
            print(
                f"{name:26}{'motion' if motion_only else 'all':7}: {1e3 * best[2]:6.0f} ms in "
                f"{results.statistics['steps']} steps with 2 output times; over that {ratios} (bound {BOUND}); "
                f"{1e6 * (best[1000] - best[2]) / 998:.0f} us an output time"
            )


if __name__ == "__main__":
    main()

"""What stands before the first step: CPU time of the description, of the system, and of all with a run of 1 ns.

The model is described anew each time, in a process that has made others of its shape, as in sweeps. The run contains
formulation, stepper, recorder, its first step, two output times and the results. ``python -m tests.bench.bench_setup``,
from the checkout; with ``--page`` the figures go to docs/performance.json and its page.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import femb
from femb.vibration.completion import system_of

from . import p1_satellite, p2_chain
from .harness import MOTION
from .page import DATA, setup_table, write_page

DURATION = 1e-9
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


def main(words: list[str]) -> None:
    found = measured()
    print(setup_table({"setup": found}))
    if "--page" in words:
        data = json.loads(DATA.read_text(encoding="utf-8")) | {"setup": found}
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        write_page(data)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What the rates of a chain in momenta cost by the energy matrix and by recursion, from 2 to 500 segments.

With Pinocchio (extra ``bench``), in this interpreter or that of PINOCCHIO, its articulated-body accelerations of the
same chain stand beside them, and are compared.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from bench_models import best

from femb.formulations.hamiltonian import HamiltonianForm, TreeBuilder
from femb.formulations.hamiltonian.reference import energy_matrix

SIZES = (1, 2, 3, 4, 6, 10, 20, 50, 100, 200, 500)
STATES = 8


def chain(segments):
    """Uniform links of 1 kg and 1 m on hinges about y and z in turn."""
    builder = TreeBuilder(gravity=(0, 0, -9.81))
    parent = None
    for k in range(segments):
        parent = builder.add(
            f"s{k}",
            parent,
            hinge="yz"[k % 2],
            mass=1.0,
            inertia=(1e-3, 1 / 12, 1 / 12),
            center_of_mass=(0.5, 0, 0),
            at=(1.0 if k else 0.0, 0, 0),
        )
    return builder.build()


def state(segments):
    """Coordinates and rates, the same in every run."""
    rng = np.random.default_rng(segments)
    return rng.uniform(-0.5, 0.5, segments), 0.1 * rng.standard_normal(segments)


def peers():
    """Pinocchio's accelerations and times by number of segments; empty without it."""
    interpreter = os.environ.get("PINOCCHIO") or (sys.executable if find_spec("pinocchio") else None)
    if interpreter is None:
        return {}, "-"
    script = Path(__file__).with_name("pinocchio_chain.py")
    cases = [dict(zip(("q", "rate"), map(list, state(n)), strict=True)) for n in SIZES]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [interpreter, script],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    answer = json.loads(done.stdout)
    return dict(zip(SIZES, answer["answers"], strict=True)), answer["version"]


def main() -> None:
    theirs, version = peers()
    print(f"us a call; in brackets us a state of {STATES} at once; Pinocchio {version}")
    header = ("segments", "dense", "recursive", "a segment", "acceleration", "pinocchio", "difference")
    print(" ".join(f"{word:>16}" for word in header))
    cheapest = 0
    for n in SIZES:
        tree = chain(n)
        q, rate = state(n)
        cost: dict[str, tuple[float, float]] = {}
        for method in ("dense", "recursive"):
            form = HamiltonianForm(tree, method=method)
            y = form.state(q, rate)
            one, many = y[None], np.repeat(y[None], STATES, 0)
            cost[method] = 1e6 * best(lambda: form.rates(0.0, one)), 1e6 / STATES * best(lambda: form.rates(0.0, many))  # noqa: B023
        if cost["dense"][1] < cost["recursive"][1]:
            cheapest = n
        acceleration = 1e6 * best(lambda: form.accelerations(0.0, y))  # noqa: B023
        row = [
            f"{n:16d}",
            *(f"{a:8.2f}{f'({b:.2f})':>8}" for a, b in cost.values()),
            f"{cost['recursive'][1] / n:16.3f}",
        ]
        row.append(f"{acceleration:16.1f}")
        if theirs:
            got, wanted = form.accelerations(0.0, y).second, np.array(theirs[n]["acceleration"])
            row += [f"{1e6 * theirs[n]['time']:16.2f}", f"{np.abs(got - wanted).max() / np.abs(wanted).max():16.1e}"]
        print(" ".join(row))
        if n == 50:
            assert cost["recursive"][1] < n, "more than 1 us a segment at 50"
    print(f"the energy matrix is the cheaper way up to {cheapest} segments (0: never)")
    for n in (10, 30):  # as it is written in the source
        tree, (q, _) = chain(n), state(n)
        cost = 1e3 * best(lambda: energy_matrix(tree, q))  # noqa: B023
        print(f"energy matrix of {n} segments by the source's recursion in numpy: {cost:.2f} ms")


if __name__ == "__main__":
    main()

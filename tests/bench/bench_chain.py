"""What the rates of a chain in momenta cost by recursion, and its energy matrix, from 1 to 500 segments.

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

from femb import Ground, JointEnd, Model, Revolute, RigidBody
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.system.system import System

sys.path.append(str(Path(__file__).resolve().parents[1]))
from oracles.energy_matrix import energy_matrix

SIZES = (1, 2, 3, 4, 6, 10, 20, 50, 100, 200, 500)
STATES = 8


def chain(segments):
    """Uniform links of 1 kg and 1 m on hinges about y and z in turn."""
    model = Model("chain", gravity=(0, 0, -9.81))
    model.add(Ground())
    end, x = "ground", (1.0, 0.0, 0.0)
    for k in range(segments):
        axis, at = (0.0, float(k % 2 == 0), float(k % 2)), (1.0 if k else 0.0, 0.0, 0.0)
        model.add(RigidBody(f"s{k}", 1.0, (1e-3, 1 / 12, 1 / 12), center_of_mass=(0.5, 0, 0)))
        first = JointEnd(end, at=at, axis=axis, reference=x)
        model.add(Revolute(f"j{k}", first, JointEnd(f"s{k}", axis=axis, reference=x)))
        end = f"s{k}"
    return MomentumForm(System(model))


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
    print(f"us a call of one state; in brackets us a state of {STATES} at once; Pinocchio {version}")
    header = ("segments", "rates", "a segment", "energy matrix", "acceleration", "pinocchio", "difference")
    print(" ".join(f"{word:>16}" for word in header))
    for n in SIZES:
        form = chain(n)
        q, rate = state(n)
        v = form.momentum_equations.momenta(q, rate, np.zeros(6))
        no_loads, motion = form.momentum_equations.no_loads, form.momentum_equations.motion(q, v)
        one, many = ((np.repeat(q[None], s, 0), np.repeat(v[None], s, 0)) for s in (1, STATES))
        single = 1e6 * best(lambda: form.momentum_equations.rates(*one, no_loads))  # noqa: B023
        cost = 1e6 / STATES * best(lambda: form.momentum_equations.rates(*many, no_loads))  # noqa: B023
        matrix = 1e6 * best(lambda: motion.energy_matrix)  # noqa: B023
        zero = np.zeros(n)
        acceleration = 1e6 * best(lambda: form.momentum_equations.accelerations(q, v, no_loads, zero))  # noqa: B023
        row = [f"{n:16d}", f"{single:8.2f}{f'({cost:.2f})':>8}", f"{cost / n:16.3f}", f"{matrix:16.2f}"]
        row.append(f"{acceleration:16.1f}")
        if theirs:
            got = form.momentum_equations.accelerations(q, v, no_loads, zero).second
            wanted = np.array(theirs[n]["acceleration"])
            row += [f"{1e6 * theirs[n]['time']:16.2f}", f"{np.abs(got - wanted).max() / np.abs(wanted).max():16.1e}"]
        print(" ".join(row))
        if n == 50:
            assert cost < n, "more than 1 us a segment at 50"
    for n in (10, 30):  # as it is written in the source
        tree, (q, _) = chain(n).tree, state(n)
        cost = 1e3 * best(lambda: energy_matrix(tree, q))  # noqa: B023
        print(f"energy matrix of {n} segments by the source's recursion in numpy: {cost:.2f} ms")


if __name__ == "__main__":
    main()

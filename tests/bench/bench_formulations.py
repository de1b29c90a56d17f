"""What one evaluation of q' and v' costs in each formulation, on chains of rods on universal joints."""

import importlib.util
from pathlib import Path

import numpy as np
from bench_models import best

from femb.formulations import make_formulation
from femb.system.system import System

SIZES = (2, 5, 10, 20, 50, 100)
FORMULATIONS = ("velocity", "reduced", "hamiltonian")
CASE = Path(__file__).resolve().parents[2] / "cases" / "chain_universal.py"


def chain(segments):
    """The System of the case chain_universal with so many rods."""
    spec = importlib.util.spec_from_file_location("chain_universal", CASE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return System(module.build(segments))


def evaluation(form):
    """What an explicit stage asks of a form, at its start."""
    q, v = form.q0, form.v0

    def evaluate():
        u = form.inputs_at(0.0, q, v)
        form.rates(q[None], v[None])
        change, multipliers = form.forward(u, q, v)
        form.budget_rates(u[None], q[None], v[None], multipliers[None])
        return change

    return evaluate


def main() -> None:
    print("us an evaluation")
    print(" ".join(f"{word:>12}" for word in ("rods", *FORMULATIONS)))
    for n in SIZES:
        system = chain(n)
        forms = [make_formulation(system, name) for name in FORMULATIONS]
        costs = [1e6 * best(evaluation(form)) for form in forms]
        print(f"{n:12d} " + " ".join(f"{cost:12.0f}" for cost in costs))
        assert np.all(np.isfinite(costs))


if __name__ == "__main__":
    main()

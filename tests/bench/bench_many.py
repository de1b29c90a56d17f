"""What many bodies cost: chains and trees of hinged rods, 1 s of motion with default results, in a process of its own.

Rods of 0.1 m on hinges about y and z in turn, as in ``p2_chain``; a chain hangs from the ground after each ten rods.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import femb

from .p2_chain import LENGTH, MASS, MOMENTS, axis

# The rod before each; -1 for the ground.
BEFORE: dict[str, Callable[[int], int]] = {
    "tree": lambda k: (k - 1) // 2,
    "tens": lambda k: k - 1 if k % 10 else -1,
}


def model(kind: str, rods: int) -> femb.Model:
    """Rods that fork, or in chains of ten."""
    found = femb.Model(kind, gravity=(0.0, 2.0, -9.6))
    for k in range(rods):
        found.add(femb.RigidBody(f"b{k}", MASS, tuple(MOMENTS), center_of_mass=(0.5 * LENGTH, 0, 0)))
        words: Any = {"axis": tuple(axis(k)), "reference": (1.0, 0.0, 0.0)}
        before = BEFORE[kind](k)
        on = ("ground", (0.0, 0.0, 0.0)) if before < 0 else (f"b{before}", (LENGTH, 0.0, 0.0))
        first = femb.JointEnd(on[0], at=on[1], **words)
        found.add(femb.Revolute(f"j{k}", first, femb.JointEnd(f"b{k}", **words)))
    return found


def main(kind: str, rods: int, formulation: str, method: str) -> None:
    """Print the CPU time of the description and of the run, of its steps, and the largest memory."""
    start = time.process_time()
    built = model(kind, rods)
    described = time.process_time()
    results = femb.simulate(built, duration=1.0, rtol=1e-6, formulation=formulation, method=method)
    taken, found = time.process_time() - described, results.statistics
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{kind} of {rods}, {formulation}, {method}: description {described - start:.2g} s, run {taken:.3g} s, "
        f"{found['steps']} steps, {found['evaluations']} evaluations, {len(results.time)} output times, {memory:.0f} MB"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:5])

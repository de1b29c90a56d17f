"""What many bodies cost: chains, trees and nets of rods, and chains of flexible panels, in 1 s of motion with default
results, each in a process of its own.

Rods of 0.1 m on hinges about y and z in turn, as in ``p2_chain``. A net is a square of rods with ball joints at its
crossings, held at a corner; a panel is a tube of 1 m reduced to two interfaces and two modes, ten in each chain.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import femb

from .harness import MOTION
from .p2_chain import LENGTH, MASS, MOMENTS, axis

sys.path.insert(0, str(Path(__file__).parents[1]))  # for oracles

# The rod before each; -1 for the ground.
BEFORE: dict[str, Callable[[int], int]] = {
    "chain": lambda k: k - 1,
    "tree": lambda k: (k - 1) // 2,
    "tens": lambda k: k - 1 if k % 10 else -1,
}
GRAVITY = (0.0, 2.0, -9.6)


def rods(kind: str, count: int) -> femb.Model:
    """Rods that fork, in one chain, or in chains of ten."""
    found = femb.Model(kind, gravity=GRAVITY)
    for k in range(count):
        found.add(femb.RigidBody(f"b{k}", MASS, tuple(MOMENTS), center_of_mass=(0.5 * LENGTH, 0, 0)))
        words: Any = {"axis": tuple(axis(k)), "reference": (1.0, 0.0, 0.0)}
        before = BEFORE[kind](k)
        on = ("ground", (0.0, 0.0, 0.0)) if before < 0 else (f"b{before}", (LENGTH, 0.0, 0.0))
        first = femb.JointEnd(on[0], at=on[1], **words)
        found.add(femb.Revolute(f"j{k}", first, femb.JointEnd(f"b{k}", **words)))
    return found


def net(count: int) -> femb.Model:
    """A square net of some so many rods, at rest in the horizontal plane."""
    side = round(0.5 * (1.0 + (1.0 + 2.0 * count) ** 0.5))
    found = femb.Model("net", gravity=GRAVITY)
    at: dict[tuple[int, int], tuple[str, tuple[float, float, float]]] = {(0, 0): ("ground", (0.0, 0.0, 0.0))}

    def edges() -> Iterator[tuple[tuple[int, int], tuple[int, int], float]]:
        for i in range(side):
            for j in range(side):
                if i < side - 1:
                    yield (i, j), (i + 1, j), 0.0
                if j < side - 1:
                    yield (i, j), (i, j + 1), 90.0

    for k, (start, end, turn) in enumerate(edges()):
        place = (LENGTH * start[0], LENGTH * start[1], 0.0)
        words: Any = {"euler_angles": (0.0, 0.0, np.radians(turn)), "position": place}
        found.add(femb.RigidBody(f"b{k}", MASS, tuple(MOMENTS), center_of_mass=(0.5 * LENGTH, 0, 0), **words))
        for node, own in ((start, (0.0, 0.0, 0.0)), (end, (LENGTH, 0.0, 0.0))):
            if node in at:
                other = femb.JointEnd(at[node][0], at=at[node][1])
                found.add(femb.Spherical(f"j{k}_{own[0]:g}", other, femb.JointEnd(f"b{k}", at=own)))
            else:
                at[node] = f"b{k}", own
    return found


def panels(count: int) -> femb.Model:
    """Flexible bodies with two interfaces and two modes on hinges."""
    from oracles.modal_beam import BeamModel

    body = BeamModel(1.0, 4, 0.7, 7e5, 1e3, (2e3, 2e3), (1e-4, 5e-5, 5e-5)).reduced(2, tip=True)
    found = femb.Model("panels", gravity=GRAVITY)
    for k in range(count):
        words: Any = {"axis": tuple(axis(k)), "reference": (1.0, 0.0, 0.0)}
        found.add(femb.FlexibleBody(f"b{k}", body))
        first = femb.JointEnd(f"b{k - 1}.tip" if k % 10 else "ground", **words)
        found.add(femb.Revolute(f"j{k}", first, femb.JointEnd(f"b{k}", **words)))
    return found


def model(kind: str, count: int) -> femb.Model:
    """So many bodies of a kind."""
    return {"net": net, "panels": panels}[kind](count) if kind not in BEFORE else rods(kind, count)


def main(kind: str, count: int, formulation: str, method: str) -> None:
    """Print the CPU time of the description and of the run, of its steps, and the largest memory."""
    words: Any = {"rtol": 1e-6, "formulation": formulation, "method": method}
    femb.simulate(model(kind, 20), duration=0.01, **words)  # kernels
    start = time.process_time()
    built = model(kind, count)
    described = time.process_time()
    femb.simulate(built, duration=1e-9, output=MOTION, **words)
    set_up = time.process_time()
    results = femb.simulate(built, duration=1.0, **words)
    taken, found = time.process_time() - set_up, results.statistics
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{kind} of {count}, {formulation}, {method}: description {described - start:.2g} s, "
        f"set-up {set_up - described:.2g} s, run {taken:.3g} s, "
        f"{found['steps']} steps, {found['evaluations']} evaluations, {len(results.time)} output times, {memory:.0f} MB"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:5])

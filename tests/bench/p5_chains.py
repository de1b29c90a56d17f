"""P5: a free straight chain of 0.2 m elements, pushed across at both ends, 50 ms; beside Exudyn's beams.

``python -m tests.bench.p5_chains PROGRAM ELEMENTS`` runs radau, generalized-alpha, beam or cable alone, for its memory.
"""

import resource
import sys
import time
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import femb

from .beams import AREA, INERTIA, MASS, YOUNG, exudyn_section, section
from .harness import FEMB, MOTION_OF_BEAMS, Contender, Problem, without_subnormals

LENGTH, PUSH, DURATION, STEP = 0.2, 100.0, 0.05, 1e-3
BEAM, CABLE = "Exudyn, 3-D exact beam", "Exudyn, 3-D cable"
SIZES = (100, 1000, 5000)
NEWTON = 1e-6, 1e-4, 1e-3
LONGEST = 200  # elements of the reference: the waves of 50 ms do not come back from the other end of longer chains


def by_femb(elements: int, rtol: float, duration: float = DURATION, finer: int = 1, **options: Any) -> np.ndarray:
    """Both ends at the end, (2, 3) m, from where they were."""
    model = femb.Model("chain")
    start = femb.Attachment(direction=(1, 0, 0))
    model.add(femb.ExactBeam("chain", section(), LENGTH * elements, elements * finer, start=start))
    model.add(femb.Load("first", beam="chain", node=0, force=(0.0, PUSH, 0.0)))
    model.add(femb.Load("last", beam="chain", node=-1, force=(0.0, 0.0, PUSH)))
    # of what is compared; the waves along the chain, of 1e-4 m, are not resolved further
    words = {"output_interval": duration / 50, "atol": femb.Tolerances(1e-4, 1e-3, 1e-5)} | options
    results = femb.simulate(model, duration=duration, rtol=rtol, output=MOTION_OF_BEAMS, **words)
    found = results.beams["chain"].position[-1]
    return found[[0, -1]] - [[0.0, 0.0, 0.0], [LENGTH * elements, 0.0, 0.0]]


def exudyn_chain(
    elements: int, cable: bool, step: float, duration: float = DURATION, newton: float = 1e-3
) -> np.ndarray:
    """The same by either of its beams, generalised-alpha of spectral radius 1. newton : tolerance of its iteration.

    Its solutions fade along the chain; as subnormal numbers they take it up to ten times as long.
    """
    from .exudyn_peer import Peer, exu, items

    peer, of_beam, nodes = Peer(), exudyn_section(exu), []
    for k in range(elements + 1):
        place = [LENGTH * k, 0.0, 0.0]
        slope = items.NodePointSlope1(referenceCoordinates=[*place, 1.0, 0.0, 0.0]) if cable else None
        nodes.append(peer.add(slope) if cable else peer.rigid_node(place))
    for pair in pairwise(nodes):
        if cable:
            words = {"massPerLength": MASS, "bendingStiffness": YOUNG * INERTIA, "axialStiffness": YOUNG * AREA}
            peer.add(items.ObjectANCFCable(nodeNumbers=list(pair), length=LENGTH, **words))
        else:
            peer.add(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=LENGTH, sectionData=of_beam))
    for node, force in ((nodes[0], [0.0, PUSH, 0.0]), (nodes[-1], [0.0, 0.0, PUSH])):
        mark = peer.add(items.MarkerNodePosition(nodeNumber=node))
        peer.add(items.Force(markerNumber=mark, loadVector=force))
    sensors = peer.watch(nodes[0], nodes[-1])
    peer.system.Assemble()
    settings = peer.settings(duration, step, duration / 50, newton=(newton, newton))
    with without_subnormals():
        peer.run(settings)
    ends = np.array([peer.history(sensors[k])[-1] for k in (0, 1)])
    return ends - [[0.0, 0.0, 0.0], [LENGTH * elements, 0.0, 0.0]]


def contenders(elements: int, quick: bool) -> list[Contender]:
    duration = 5e-3 if quick else DURATION
    rtols = {100: (1e-2, 1e-3), 1000: (1e-2, 1e-3)}.get(elements, (1e-2,))
    steps = {100: (1e-3, 5e-4), 1000: (1e-3, 5e-4)}.get(elements, (1e-3,))
    alpha = {"method": "generalized-alpha", "spectral_radius": 0.9}
    found = [
        Contender(FEMB, f"exact, radau {rtol:.0e}", partial(by_femb, elements, rtol, duration))
        for rtol in (rtols[:1] if quick else rtols)
    ]
    for h in steps[:1] if quick else steps:
        run = partial(by_femb, elements, 1e-3, duration, step=h, **alpha)
        found.append(Contender(FEMB, f"exact, generalized-alpha h = {h:g}", run))
    for name, cable in ((BEAM, False), (CABLE, True)):
        # the loosest that keeps the error is among these
        for h in steps[:1] if quick else steps:
            for newton in NEWTON[-1:] if quick or elements > 1000 else NEWTON:
                run = partial(exudyn_chain, elements, cable, h, duration, newton)
                found.append(Contender(name, f"h = {h:g}, Newton {newton:.0e}", run))
    return found


def problems() -> list[Problem]:
    return [
        Problem(
            f"p5_{elements}",
            f"P5 free chain of {elements} elements, 50 ms",
            "error of the ends' positions at the end, m",
            partial(contenders, elements),
            partial(by_femb, min(elements, LONGEST), 1e-3, finer=2, atol=femb.Tolerances()),
            notes="reference: twice as many elements, rtol = 1e-3, good to some 2e-6",
            size=0.01,
        )
        for elements in SIZES
    ]


def alone(program: str, elements: int) -> None:
    """Run one program once in this process, and print its CPU time and the peak of its memory."""
    runs = {
        "radau": partial(by_femb, elements, 1e-2),
        "generalized-alpha": partial(
            by_femb, elements, 1e-3, method="generalized-alpha", spectral_radius=0.9, step=STEP
        ),
        "beam": partial(exudyn_chain, elements, False, STEP),
        "cable": partial(exudyn_chain, elements, True, STEP),
    }
    start = time.process_time()
    runs[program]()
    used, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(f"{program}, {elements} elements: {used:.2f} s CPU time, peak of memory {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    alone(sys.argv[1], int(sys.argv[2]))

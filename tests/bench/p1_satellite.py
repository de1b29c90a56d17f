"""P1: a free hub with two arms of 2 m that turns slowly and is slewed by a pulse of torque, 10 s."""

from itertools import pairwise
from typing import Any

import numpy as np

import femb
from femb.profiles import Versine

from .beams import exudyn_section, section
from .harness import FEMB, MOTION_OF_BEAMS, Contender, Problem, Target

DURATION, EVERY = 10.0, 10  # every tenth of 1001 output times counts
RATE = 0.1
EXUDYN = "Exudyn, 3-D exact beam"
# Relative and absolute tolerances of its Newton iteration. With smaller ones its short steps fail, with larger ones
# they are less accurate.
COARSE, FINE = (1e-7, 1e-7), (1e-8, 1e-6)


def model(elements: int) -> femb.Model:
    """Arms of exact beams, which shear as Exudyn's do."""
    found = femb.Model("satellite")
    hub = found.add(femb.RigidBody("hub", mass=22.4, inertia=0.149, angular_velocity=(RATE, RATE, RATE)))
    boom = section()
    for name, x in (("right", 1), ("left", -1)):
        start = femb.Attachment("hub", at=(0.1 * x, 0, 0), direction=(x, 0, 0))
        found.add(femb.ExactBeam(name, boom, 2.0, elements, start=start))
    found.add(femb.Load("slew", body=hub.name, torque=(0, 15.0, 0), frame="body", profile=Versine(1.0)))
    return found


def by_femb(elements: int, rtol: float, duration: float = DURATION, **options: Any) -> np.ndarray:
    """Positions of the right tip."""
    options.setdefault("output_interval", DURATION / 1000)
    found = femb.simulate(model(elements), duration=duration, rtol=rtol, output=MOTION_OF_BEAMS, **options)
    return found.beams["right"].position[::EVERY, -1]


def by_exudyn(elements: int, step: float, newton: tuple[float, float], duration: float = DURATION) -> np.ndarray:
    """Positions of the right tip; all nodes are recorded. newton : relative and absolute tolerance."""
    from .exudyn_peer import Peer, exu, items

    peer, spin = Peer(), np.full(3, RATE)

    def node(x: float) -> int:
        return peer.rigid_node((x, 0, 0), np.cross(spin, (x, 0, 0)), spin)

    hub = node(0.0)
    body = peer.add(items.ObjectRigidBody(mass=22.4, inertia=[0.149] * 3 + [0.0] * 3, nodeNumber=hub))
    sensors = peer.watch(hub)
    length, of_beam = 2.0 / elements, exudyn_section(exu)
    for side in (-1, 1):
        nodes = [node(side * (0.1 + length * k)) for k in range(elements + 1)]
        along = nodes[::side]
        for pair in pairwise(along):
            peer.add(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=length, sectionData=of_beam))
        face = peer.add(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.1 * side, 0, 0]))
        root = peer.add(items.MarkerNodeRigid(nodeNumber=nodes[0]))
        peer.add(items.GenericJoint(markerNumbers=[face, root]))
        sensors += peer.watch(*nodes)
    centre = peer.add(items.MarkerNodeRigid(nodeNumber=hub))

    def torque(_: Any, t: float, load: Any) -> list[float]:
        return [0.0, 7.5 * (1.0 - np.cos(2.0 * np.pi * t)) if t < 1.0 else 0.0, 0.0]

    peer.add(items.Torque(markerNumber=centre, bodyFixed=True, loadVector=[0, 7.5, 0], loadVectorUserFunction=torque))
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, DURATION / 1000, newton=newton))
    return peer.history(sensors[-1])[::EVERY]


def contenders(quick: bool) -> list[Contender]:
    if quick:
        return [
            Contender(FEMB, "exact, N = 2, radau 1e-5", lambda: by_femb(2, 1e-5, 1.0)),
            Contender(EXUDYN, "N = 2, h = 1e-2", lambda: by_exudyn(2, 1e-2, COARSE, 1.0)),
        ]
    found = [
        Contender(FEMB, f"exact, N = {n}, radau {rtol:.0e}", lambda n=n, rtol=rtol: by_femb(n, rtol))
        for n, rtol in (
            (1, 1e-5),
            (2, 3e-5),
            (2, 2e-5),
            (2, 1e-5),
            (2, 5e-6),
            (2, 1e-6),
            (2, 1e-7),
            (4, 1e-6),
            (4, 1e-7),
        )
    ]
    runs = [
        (2, 1e-2, COARSE),
        (4, 1e-2, COARSE),
        (8, 1e-2, COARSE),
        (8, 2e-3, COARSE),
        (4, 5e-4, FINE),
        (8, 5e-4, FINE),
    ]
    return found + [
        Contender(EXUDYN, f"N = {n}, h = {h:g}", lambda n=n, h=h, tol=tol: by_exudyn(n, h, tol)) for n, h, tol in runs
    ]


def reference() -> np.ndarray:
    return by_femb(8, 1e-9)


def problems() -> list[Problem]:
    levels = ((20.0, 3e-5), (40.0, 3e-6), (50.0, 3e-7))
    return [
        Problem(
            "p1",
            "P1 satellite with two arms, 10 s",
            "largest error of the tip's position, m",
            contenders,
            reference,
            tuple(Target(EXUDYN, ratio, level) for ratio, level in levels),
            notes="reference: 8 exact elements an arm, rtol = 1e-9",
        )
    ]

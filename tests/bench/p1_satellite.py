"""P1: a free hub with two arms of 2 m that turns slowly and is slewed by a pulse of torque, 10 s.

The position of a tip is compared, and its deflection of at most 0.2 mm, of which the position tells little.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import femb
from femb.profiles import Versine

from .beams import exudyn_section, section
from .harness import FEMB, MOTION, MOTION_OF_BEAMS, Contender, Problem

DURATION, EVERY = 10.0, 10  # every tenth of 1001 output times counts
RATE = 0.1
EXUDYN = "Exudyn, 3-D exact beam"
# Relative and absolute tolerance of its Newton iteration, whose criterion is the increment.
NEWTON = 1e-8, 1e-10
LARGEST = 2e-4  # deflection, m


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


def by_femb(elements: int, rtol: float, duration: float = DURATION, what: str = "position", **more: Any) -> np.ndarray:
    """The position, or the deflection, of the right tip; of all nodes the same is recorded."""
    output = MOTION_OF_BEAMS if what == "position" else MOTION
    options: Any = {"output_interval": DURATION / 1000, "output": output} | more
    found = femb.simulate(model(elements), duration=duration, rtol=rtol, **options)
    return getattr(found.beams["right"], what)[::EVERY, -1]


def by_exudyn(elements: int, step: float, duration: float = DURATION, what: str = "position") -> np.ndarray:
    """The same, of the right tip alone; deflections by the pose of the hub."""
    from .exudyn_peer import Peer, exu, items

    peer, spin = Peer(), np.full(3, RATE)

    def node(x: float) -> int:
        return peer.rigid_node((x, 0, 0), np.cross(spin, (x, 0, 0)), spin)

    hub = node(0.0)
    body = peer.add(items.ObjectRigidBody(mass=22.4, inertia=[0.149] * 3 + [0.0] * 3, nodeNumber=hub))
    length, of_beam = 2.0 / elements, exudyn_section(exu)
    for side in (-1, 1):
        nodes = [node(side * (0.1 + length * k)) for k in range(elements + 1)]
        along = nodes[::side]
        for pair in pairwise(along):
            peer.add(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=length, sectionData=of_beam))
        face = peer.add(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.1 * side, 0, 0]))
        root = peer.add(items.MarkerNodeRigid(nodeNumber=nodes[0]))
        peer.add(items.GenericJoint(markerNumbers=[face, root]))
    (tip,) = peer.watch(nodes[-1])
    centre = peer.add(items.MarkerNodeRigid(nodeNumber=hub))

    def torque(_: Any, t: float, load: Any) -> list[float]:
        return [0.0, 7.5 * (1.0 - np.cos(2.0 * np.pi * t)) if t < 1.0 else 0.0, 0.0]

    peer.add(items.Torque(markerNumber=centre, bodyFixed=True, loadVector=[0, 7.5, 0], loadVectorUserFunction=torque))
    if what == "deflection":
        (of_hub,) = peer.watch(hub)
        words: Any = {"storeInternal": True, "outputVariableType": exu.OutputVariableType.RotationMatrix}
        turn = peer.add(items.SensorNode(nodeNumber=hub, **words))
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, DURATION / 1000, newton=NEWTON, increments=True, once=True))
    position = peer.history(tip)[::EVERY]
    if what == "position":
        return position
    axes = peer.history(turn)[::EVERY].reshape(-1, 3, 3)
    return np.einsum("tij,ti->tj", axes, position - peer.history(of_hub)[::EVERY]) - [2.1, 0.0, 0.0]


def contenders(what: str, quick: bool) -> list[Contender]:
    duration = 1.0 if quick else DURATION
    mine = ((1, 1e-5), (2, 3e-5), (2, 2e-5), (2, 1e-5), (2, 5e-6), (2, 1e-6), (2, 1e-7), (4, 1e-6), (4, 1e-7))
    theirs = ((2, 1e-2), (4, 1e-2), (8, 1e-2), (4, 2e-3), (8, 2e-3), (8, 5e-4))
    if what == "deflection":
        mine = ((1, 1e-4), (1, 1e-5), (2, 1e-4), (2, 1e-5), (2, 1e-6), (4, 1e-5), (4, 1e-6), (4, 1e-7))
        theirs = ((2, 1e-2), (4, 1e-2), (8, 1e-2), (16, 1e-2), (8, 2e-3), (16, 2e-3))
    found = []
    for n, rtol in ((2, 1e-5),) if quick else mine:
        run = partial(by_femb, n, rtol, duration, what)
        found.append(Contender(FEMB, f"exact, N = {n}, radau {rtol:.0e}", run))
    for n, h in ((2, 1e-2),) if quick else theirs:
        found.append(Contender(EXUDYN, f"N = {n}, h = {h:g}", partial(by_exudyn, n, h, duration, what)))
    return found


def problems() -> list[Problem]:
    return [
        Problem(
            key,
            title,
            f"largest error of the tip's {what}, m",
            partial(contenders, what),
            partial(by_femb, 8, 1e-9, what=what),
            notes="reference: 8 exact elements an arm, rtol = 1e-9",
            size=size,
        )
        for key, title, what, size in (
            ("p1_position", "P1 satellite with two arms, 10 s, position", "position", 1.0),
            ("p1_deflection", "P1 satellite with two arms, 10 s, deflection", "deflection", LARGEST),
        )
    ]

"""P3: the arm of Simo and Vu-Quoc, driven to 6 rad/s in 15 s, 20 s in all; beside Exudyn's beams."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import femb

from .beams import exudyn_section
from .bench_models import AXIAL, BENDING, LENGTH, MASS, SHEAR, SPIN, TORSION, angle, spun_arm
from .harness import FEMB, MOTION_OF_BEAMS, Contender, Problem

DURATION = 20.0
OUTPUTS, EVERY = 1000, 25
BEAM, PLANE, CABLE = "Exudyn, 3-D exact beam", "Exudyn, 2-D exact beam", "Exudyn, 2-D cubic cable"


def by_femb(elements: int, rtol: float, duration: float = DURATION, **options: Any) -> np.ndarray:
    """Positions of the tip at 40 times."""
    words = {"output_interval": DURATION / OUTPUTS} | options
    found = femb.simulate(spun_arm(elements), duration=duration, rtol=rtol, output=MOTION_OF_BEAMS, **words)
    return found.beams["arm"].position[::EVERY, -1]


def drive(peer: Any, node: int, coordinates: int) -> None:
    """Hold a node of the plane, its angle as the driver says."""
    from .exudyn_peer import items

    ground = peer.add(items.NodePointGround())
    fixed = peer.add(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    for k in range(coordinates):
        mark = peer.add(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=k))
        words: Any = {}
        if k == 2:
            words = {
                "offsetUserFunction": lambda m, t, i, o: angle(t)[0],
                "offsetUserFunction_t": lambda m, t, i, o: angle(t)[1],
            }
        peer.add(items.CoordinateConstraint(markerNumbers=[fixed, mark], **words))


def exudyn_beam(elements: int, step: float, duration: float = DURATION) -> np.ndarray:
    """The 3-D exact beam on a hub in the plane whose angle is prescribed."""
    from .exudyn_peer import Peer, exu, items

    peer, length = Peer(), LENGTH / elements
    stiffness = [AXIAL, SHEAR, SHEAR, TORSION, BENDING, BENDING]
    section = exudyn_section(exu, stiffness, MASS, SPIN)
    nodes = [peer.rigid_node((length * k, 0.0, 0.0)) for k in range(elements + 1)]
    for pair in pairwise(nodes):
        peer.add(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=length, sectionData=section))
    hub = peer.add(items.NodeRigidBody2D(referenceCoordinates=[0.0, 0.0, 0.0]))
    peer.add(items.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=1.0, nodeNumber=hub))
    drive(peer, hub, 3)
    one = peer.add(items.MarkerNodeRigid(nodeNumber=hub))
    other = peer.add(items.MarkerNodeRigid(nodeNumber=nodes[0]))
    peer.add(items.GenericJoint(markerNumbers=[one, other]))
    (sensor,) = peer.watch(nodes[-1])
    peer.system.Assemble()
    # without numerical damping its Newton iteration fails after some 10 s
    peer.run(peer.settings(duration, step, DURATION / OUTPUTS, newton=(1e-6, 1e-6), radius=0.95))
    return peer.history(sensor)[::EVERY]


def exudyn_plane(elements: int, step: float, duration: float = DURATION) -> np.ndarray:
    """The 2-D exact beam, whose first node is driven."""
    from .exudyn_peer import Peer, items

    peer, length = Peer(), LENGTH / elements
    nodes = [peer.add(items.NodeRigidBody2D(referenceCoordinates=[length * k, 0.0, 0.0])) for k in range(elements + 1)]
    words = {
        "massPerLength": MASS, "crossSectionInertia": SPIN[2], "bendingStiffness": BENDING,
        "axialStiffness": AXIAL, "shearStiffness": SHEAR,
    }  # fmt: skip
    for pair in pairwise(nodes):
        peer.add(items.ObjectBeamGeometricallyExact2D(nodeNumbers=list(pair), length=length, **words))
    drive(peer, nodes[0], 3)
    (sensor,) = peer.watch(nodes[-1])
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, DURATION / OUTPUTS, newton=(1e-6, 1e-6), radius=0.95, once=True))
    return peer.history(sensor)[::EVERY]


def exudyn_cable(elements: int, step: float, radius: float, duration: float = DURATION) -> np.ndarray:
    """The cubic 2-D cable, whose slopes at the root are those of the driven angle: (T, 3)."""
    from .exudyn_peer import Peer, items

    peer, length = Peer(), LENGTH / elements
    nodes = [
        peer.add(items.NodePoint2DSlope1(referenceCoordinates=[length * k, 0.0, 1.0, 0.0])) for k in range(elements + 1)
    ]
    words = {"physicsMassPerLength": MASS, "physicsBendingStiffness": BENDING, "physicsAxialStiffness": AXIAL}
    for pair in pairwise(nodes):
        peer.add(items.Cable2D(physicsLength=length, nodeNumbers=list(pair), **words))
    ground = peer.add(items.NodePointGround())
    fixed = peer.add(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    slopes: Any = {
        2: {
            "offsetUserFunction": lambda m, t, i, o: np.cos(angle(t)[0]) - 1.0,
            "offsetUserFunction_t": lambda m, t, i, o: -np.sin(angle(t)[0]) * angle(t)[1],
        },
        3: {
            "offsetUserFunction": lambda m, t, i, o: np.sin(angle(t)[0]),
            "offsetUserFunction_t": lambda m, t, i, o: np.cos(angle(t)[0]) * angle(t)[1],
        },
    }
    for k in range(4):
        mark = peer.add(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        peer.add(items.CoordinateConstraint(markerNumbers=[fixed, mark], **slopes.get(k, {})))
    (sensor,) = peer.watch(nodes[-1])
    peer.system.Assemble()
    # its trapezoidal rule, radius 1, does not converge to the motion
    words = {"newton": (1e-6, 1e-6), "radius": radius, "once": True}
    peer.run(peer.settings(duration, step, DURATION / OUTPUTS, **words))
    return peer.history(sensor)[::EVERY]


def contenders(quick: bool) -> list[Contender]:
    if quick:
        return [
            Contender(FEMB, "exact, N = 4, radau 1e-4", partial(by_femb, 4, 1e-4, 1.0)),
            Contender(BEAM, "N = 4, h = 5e-3", partial(exudyn_beam, 4, 5e-3, 1.0)),
            Contender(PLANE, "N = 4, h = 5e-3", partial(exudyn_plane, 4, 5e-3, 1.0)),
            Contender(CABLE, "N = 4, h = 5e-3", partial(exudyn_cable, 4, 5e-3, 0.95, 1.0)),
        ]
    runs = (
        (2, 3e-3),
        (2, 2e-3),
        (2, 1e-3),
        (4, 2e-3),
        (4, 1e-3),
        (5, 1e-3),
        (8, 1e-4),
        (8, 5e-5),
        (10, 5e-5),
        (8, 1e-5),
        (8, 1e-6),
    )
    found = [Contender(FEMB, f"exact, N = {n}, radau {rtol:.0e}", partial(by_femb, n, rtol)) for n, rtol in runs]
    settings = ((8, 1e-2), (8, 5e-3), (16, 5e-3), (32, 5e-3))
    found += [Contender(BEAM, f"N = {n}, h = {h:g}", partial(exudyn_beam, n, h)) for n, h in settings]
    planes = ((8, 1e-2), (16, 1e-2), (16, 5e-3), (32, 5e-3))
    found += [Contender(PLANE, f"N = {n}, h = {h:g}", partial(exudyn_plane, n, h)) for n, h in planes]
    cables = ((8, 1e-2, 0.95), (8, 5e-3, 0.95), (8, 5e-3, 0.9), (8, 2e-3, 0.95), (16, 2e-3, 0.95))
    return found + [
        Contender(CABLE, f"N = {n}, h = {h:g}, radius {radius:g}", partial(exudyn_cable, n, h, radius))
        for n, h, radius in cables
    ]


def problems() -> list[Problem]:
    return [
        Problem(
            "p3", "P3 spin-up of Simo and Vu-Quoc, 20 s", "largest error of the tip's position, m", contenders,
            partial(by_femb, 16, 1e-7), notes="reference: 16 exact elements, rtol = 1e-7", size=10.0,
        ),
    ]  # fmt: skip

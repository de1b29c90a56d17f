"""P4: statics at large rotation: a cantilever rolled up by a moment, and the 45-degree bend; beside Exudyn's beams."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import femb

from .beams import exudyn_section
from .harness import FEMB, Contender, FailedError, Problem

EXUDYN = "Exudyn, 3-D exact beam"
X = (1.0, 0.0, 0.0)
RADIUS, FORCE = 100.0, 600.0
LOAD_STEPS = 1, 3
# EA, GA, GA, GJ, EI, EI
ROLL = (1e4, 1e4, 1e4, 2.0, 2.0, 2.0)
BEND = (1e7, 5e6, 5e6, 5e6 / 6.0, 1e7 / 12.0, 1e7 / 12.0)


def rod(stiffness: Any) -> femb.Section:
    """A section by its stiffnesses."""
    axial, y, z, torsion, *bending = stiffness
    return femb.Section(
        "rod", axial_stiffness=axial, shear_stiffness=(y, z), torsional_stiffness=torsion,
        bending_stiffness=tuple(bending), mass_per_length=1.0, inertia_per_length=(2e-3, 1e-3, 1e-3),
    )  # fmt: skip


def femb_roll(elements: int, steps: int) -> np.ndarray:
    """The tip under the moment of a full circle."""
    model = femb.Model("roll-up")
    start = femb.Attachment(body="ground", direction=X)
    model.add(femb.ExactBeam("b", rod(ROLL), 1.0, elements, start=start))
    model.add(femb.Load("M", beam="b", torque=(0.0, 0.0, 4.0 * np.pi)))
    return femb.static(model, steps=steps).beams["b"].position[-1, -1:]


def femb_bend(elements: int, steps: int) -> np.ndarray:
    """The tip of the bend."""
    model = femb.Model("45-degree bend")
    start, path = femb.Attachment(body="ground", direction=X), femb.Path(radius=RADIUS, angle=np.pi / 4)
    model.add(femb.ExactBeam("b", rod(BEND), None, elements, start=start, path=path))
    model.add(femb.Load("P", beam="b", force=(0.0, 0.0, FORCE)))
    return femb.static(model, steps=steps).beams["b"].position[-1, -1:]


def exudyn_line(
    places: np.ndarray, angles: np.ndarray, stiffness: Any, length: float, steps: int, load: Any
) -> np.ndarray:
    """The tip of a cantilever through places (n + 1, 3) whose axes are turned by angles about z."""
    from .exudyn_peer import Peer, exu, items

    peer, section = Peer(), exudyn_section(exu, stiffness, 1.0, (2e-3, 1e-3, 1e-3))
    nodes = [
        peer.rigid_node(place, turn=(np.cos(0.5 * a), 0.0, 0.0, np.sin(0.5 * a)))
        for place, a in zip(places, angles, strict=True)
    ]
    for pair in pairwise(nodes):
        peer.add(items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=length, sectionData=section))
    ground = peer.add(items.ObjectGround())
    root = peer.add(items.MarkerBodyRigid(bodyNumber=ground, localPosition=list(places[0])))
    peer.add(items.GenericJoint(markerNumbers=[root, peer.add(items.MarkerNodeRigid(nodeNumber=nodes[0]))]))
    tip = peer.add(items.MarkerNodeRigid(nodeNumber=nodes[-1]))
    peer.add(getattr(items, load[0])(markerNumber=tip, loadVector=list(load[1])))
    sensors = peer.watch(*nodes)
    peer.system.Assemble()
    settings = peer.settings(1.0, 1.0, 0.0)
    settings.staticSolver.numberOfLoadSteps = steps
    settings.staticSolver.verboseMode = 0
    settings.staticSolver.newton.relativeTolerance = 1e-10
    settings.staticSolver.newton.absoluteTolerance = 1e-8
    try:
        peer.system.SolveStatic(settings)
    except Exception as error:
        raise FailedError("its Newton iteration did not converge") from error
    return peer.history(sensors[-1])[-1:]


def exudyn_roll(elements: int, steps: int) -> np.ndarray:
    """Its strains are constant in an element, which is exact here."""
    places = np.linspace([0.0, 0.0, 0.0], X, elements + 1)
    load = "Torque", (0.0, 0.0, 4.0 * np.pi)
    return exudyn_line(places, np.zeros(elements + 1), ROLL, 1.0 / elements, steps, load)


def exudyn_bend(elements: int, steps: int) -> np.ndarray:
    """Nodes on the arc with the axes of its tangent; the reference strain is that of the arc."""
    angles = np.linspace(0.0, np.pi / 4, elements + 1)
    places = RADIUS * np.column_stack([np.sin(angles), 1.0 - np.cos(angles), np.zeros(elements + 1)])
    load = "Force", (0.0, 0.0, FORCE)
    return exudyn_line(places, angles, BEND, RADIUS * np.pi / 4 / elements, steps, load)


def contenders(mine: Any, theirs: Any, meshes: tuple[int, ...], quick: bool) -> list[Contender]:
    """Both with the same meshes, which are compared one by one, and the same load steps, of which each has its best."""
    found = []
    for n in meshes[:1] if quick else meshes:
        like = f"{n} elements"
        for k in LOAD_STEPS:
            steps = f"{like}, {k} load step{'s' * (k > 1)}"
            found.append(Contender(FEMB, f"exact, {steps}", partial(mine, n, k), like))
            found.append(Contender(EXUDYN, steps, partial(theirs, n, k), like))
    return found


def problems() -> list[Problem]:
    tip = "error of the tip, m"
    return [
        Problem(
            "p4_roll", "P4 roll-up by an end moment", tip, partial(contenders, femb_roll, exudyn_roll, (4, 8)),
            lambda: np.zeros((1, 3)), notes="reference: the closed form",
        ),
        Problem(
            "p4_bend", "P4 45-degree bend, 600", tip, partial(contenders, femb_bend, exudyn_bend, (8, 16, 32)),
            lambda: np.array([[47.15044, 15.68480, 53.47486]]), notes="reference: the sheared rod by shooting, to 1e-5",
            size=100.0,
        ),
    ]  # fmt: skip

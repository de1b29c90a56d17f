"""P6: problems A01, A02 with N = 40 and A04 of the IFToMM library of computational benchmarks."""

import importlib.util
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import femb

from .harness import FEMB, MOTION, Contender, Problem

CASES = Path(__file__).resolve().parents[2] / "cases"
GRAVITY = 9.81
EXUDYN = "Exudyn"
EXACT = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}
TIMES = 1000


def case(name: str) -> Any:
    """A case in Python as a module."""
    spec: Any = importlib.util.spec_from_file_location(name, CASES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_femb(model: Any, body: str, rtol: float, duration: float, **options: Any) -> np.ndarray:
    """The position of a body at the end, (1, 3) m."""
    options.setdefault("output_interval", duration / TIMES)
    atol = femb.Tolerances(0.1 * rtol, 0.1 * rtol)
    return (
        femb.simulate(model(), duration=duration, rtol=rtol, atol=atol, output=MOTION, **options)
        .bodies[body]
        .position[-1:]
    )


# A01


def pendulum() -> femb.Model:
    """A point on a massless rod."""
    return femb.load_case(CASES / "iftomm_a01_pendulum.toml").model


def swing() -> np.ndarray:
    """By its angle."""
    found = solve_ivp(lambda t, y: [y[1], -GRAVITY * np.cos(y[0])], (0.0, 10.0), [np.pi, 0.0], **EXACT)
    return np.array([[np.cos(found.y[0, -1]), np.sin(found.y[0, -1]), 0.0]])


def exudyn_pendulum(step: float, duration: float = 10.0) -> np.ndarray:
    """A point and a distance, by the trapezoidal rule."""
    from .exudyn_peer import Peer, items

    peer = Peer()
    node = peer.add(items.NodePoint(referenceCoordinates=[-1.0, 0.0, 0.0]))
    mass = peer.add(items.ObjectMassPoint(physicsMass=1.0, nodeNumber=node))
    ground = peer.add(items.ObjectGround())
    marks = [peer.add(items.MarkerBodyPosition(bodyNumber=each)) for each in (ground, mass)]
    peer.add(items.DistanceConstraint(markerNumbers=marks, distance=1.0))
    peer.add(items.Force(markerNumber=marks[1], loadVector=[0.0, -GRAVITY, 0.0]))
    sensor = peer.watch(node)[0]
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, duration / TIMES, sparse=False), "TrapezoidalIndex2")
    return peer.history(sensor)[-1:]


# A02


WINDOWS, A02_TIME = 40, 20.0


def windows() -> femb.Model:
    return case("iftomm_a02_four_bar").build(WINDOWS)


def in_line() -> np.ndarray:
    """The middle of the first rod by the one equation of motion, ((N + 1)/3 + N) th'' + (3 N + 1)/2 g cos th = 0."""
    inertia, weight = (WINDOWS + 1) / 3.0 + WINDOWS, GRAVITY * (3.0 * WINDOWS + 1.0) / 2.0
    y0 = [0.5 * np.pi, -1.0]
    found = solve_ivp(lambda t, y: [y[1], -weight / inertia * np.cos(y[0])], (0.0, A02_TIME), y0, **EXACT)
    return 0.5 * np.array([[np.cos(found.y[0, -1]), np.sin(found.y[0, -1]), 0.0]])


def exudyn_windows(step: float, duration: float = A02_TIME) -> np.ndarray:
    """Bodies in the plane on plane hinges, three coordinates each; the trapezoidal rule fails where all rods are in
    line."""
    from .exudyn_peer import Peer, items

    peer = Peer()
    ground = peer.add(items.ObjectGround())
    weight = [0.0, -GRAVITY, 0.0]

    def rod(x: float, y: float, angle: float, velocity: list[float]) -> tuple[int, int]:
        node = peer.add(items.NodeRigidBody2D(referenceCoordinates=[x, y, angle], initialVelocities=velocity))
        body = peer.add(items.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=1.0 / 12.0, nodeNumber=node))
        peer.add(items.Force(markerNumber=peer.add(items.MarkerBodyPosition(bodyNumber=body)), loadVector=weight))
        return node, body

    def hinge(first: int, at: list[float], second: int, there: float) -> None:
        one = peer.add(items.MarkerBodyPosition(bodyNumber=first, localPosition=at))
        other = peer.add(items.MarkerBodyPosition(bodyNumber=second, localPosition=[there, 0.0, 0.0]))
        peer.add(items.RevoluteJoint2D(markerNumbers=[one, other]))

    rods = [rod(k, 0.5, 0.5 * np.pi, [0.5, 0.0, -1.0]) for k in range(WINDOWS + 1)]
    couplers = [rod(k + 0.5, 1.0, 0.0, [1.0, 0.0, 0.0]) for k in range(WINDOWS)]
    for k, (_, body) in enumerate(rods):
        hinge(ground, [float(k), 0.0, 0.0], body, -0.5)
    for k, (_, body) in enumerate(couplers):
        hinge(rods[k][1], [0.5, 0.0, 0.0], body, -0.5)
        hinge(rods[k + 1][1], [0.5, 0.0, 0.0], body, 0.5)
    sensors = peer.watch(*(node for node, _ in rods + couplers))
    peer.system.Assemble()
    settings = peer.settings(duration, step, duration / TIMES, radius=0.9)
    # near a singular configuration its Newton iteration fails with any shorter step: it has to pass over it
    settings.timeIntegration.adaptiveStep = False
    peer.run(settings)
    return peer.history(sensors[0])[-1:]


# A04


A04_TIME = 10.0


def bricard() -> femb.Model:
    return case("iftomm_a04_bricard").build()


def exudyn_bricard(step: float, duration: float = A04_TIME) -> np.ndarray:
    """Five bodies and six hinges, of whose 30 rows one depends on the others; the trapezoidal rule fails."""
    from .exudyn_peer import Peer, items

    peer, found = Peer(), case("iftomm_a04_bricard")
    corners, side = found.CORNERS, found.SIDE
    across, along = (1.0 + side**2) / 12.0, side**2 / 6.0
    bodies, nodes = [peer.add(items.ObjectGround())], []
    for k in range(5):
        start, end = corners[k], corners[k + 1]
        moments = np.where(start != end, along, across)
        nodes.append(peer.rigid_node(0.5 * (start + end)))
        bodies.append(peer.add(items.ObjectRigidBody(mass=1.0, inertia=[*moments, 0, 0, 0], nodeNumber=nodes[-1])))
        mass = peer.add(items.MarkerBodyMass(bodyNumber=bodies[-1]))
        peer.add(items.LoadMassProportional(markerNumber=mass, loadVector=[0.0, -GRAVITY, 0.0]))
    for k in range(6):
        before, after = corners[k] - corners[k - 1], corners[(k + 1) % 6] - corners[k]
        axis = np.cross(before, after)
        frame = np.column_stack([before, np.cross(axis, before), axis])
        first = corners[k] if k == 0 else 0.5 * before
        second = corners[k] if k == 5 else -0.5 * after
        marks = [
            peer.add(items.MarkerBodyRigid(bodyNumber=bodies[number], localPosition=list(at)))
            for number, at in ((k, first), ((k + 1) % 6, second))
        ]
        words = {"rotationMarker0": frame, "rotationMarker1": frame, "constrainedAxes": [1, 1, 1, 1, 1, 0]}
        peer.add(items.GenericJoint(markerNumbers=marks, **words))
    sensors = peer.watch(*nodes)
    peer.system.Assemble()
    words = {"redundant": True, "newton": (1e-6, 1e-6), "radius": 0.9}
    peer.run(peer.settings(duration, step, duration / TIMES, **words))
    return peer.history(sensors[2])[-1:]


def contenders_of(model: Any, body: str, duration: float, theirs: Any, settings: Any, steps: Any, quick: bool) -> Any:
    """Those of one mechanism. settings : of femb, (words, tolerances, options)."""
    if quick:
        words, (rtol, *_), options = settings[0]
        return [
            Contender(FEMB, f"{words} {rtol:.0e}", partial(by_femb, model, body, rtol, 0.2, **options)),
            Contender(EXUDYN, f"h = {steps[0]:g}", partial(theirs, 1e-3, 0.2)),
        ]
    found = []
    for words, tolerances, options in settings:
        for rtol in tolerances:
            found.append(
                Contender(FEMB, f"{words} {rtol:.0e}", partial(by_femb, model, body, rtol, duration, **options))
            )
    return found + [Contender(EXUDYN, f"h = {h:g}", partial(theirs, h)) for h in steps]


RK = {"method": "rk"}
TREE = {"method": "rk", "formulation": "reduced"}


def problems() -> list[Problem]:
    quantity = "error of a position at the end, m"
    three = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    a01 = [("rk", (1e-4, 1e-5, 1e-6, 1e-7), RK)]
    a02 = [("rk", (1e-4, 1e-6, 1e-7), RK)]
    a04 = [("rk", three, RK)]

    def tight() -> np.ndarray:
        return by_femb(bricard, "rod_3", 1e-13, A04_TIME, method="rk")

    rows = (
        (
            "a01", "P6 A01 pendulum, 10 s", pendulum, "bob", 10.0, exudyn_pendulum, a01, (4e-3, 8e-4, 4e-4), swing,
            "closed form",
        ),
        (
            "a02", "P6 A02, 40 windows, 20 s", windows, "rod_0", A02_TIME, exudyn_windows, a02, (1e-2, 1e-3), in_line,
            "closed form",
        ),
        (
            "a04", "P6 A04 Bricard, 10 s", bricard, "rod_3", A04_TIME, exudyn_bricard, a04, (4e-3, 2e-3), tight,
            "rk, rtol = 1e-13",
        ),
    )  # fmt: skip
    return [
        Problem(
            f"p6_{key}",
            title,
            quantity,
            lambda quick, row=(model, body, duration, theirs, settings, steps): contenders_of(*row, quick),
            reference,
            notes=f"reference: {words}",
        )
        for key, title, model, body, duration, theirs, settings, steps, reference, words in rows
    ]


def main() -> None:
    """Print the errors of A02 at nine tolerances about each of two: at one alone, the error is chance."""
    exact = in_line()
    for middle in (1e-4, 1e-5):
        found = []
        for rtol in middle * np.geomspace(0.6, 1.7, 9):
            position = by_femb(windows, "rod_0", float(rtol), A02_TIME, output_interval=A02_TIME, **RK)
            found.append(float(np.linalg.norm(position - exact)))
        mean = float(np.sqrt(np.mean(np.square(found))))
        print(f"rtol about {middle:.0e}: errors {min(found):.1e} to {max(found):.1e}, root mean square {mean:.1e}")


if __name__ == "__main__":
    main()

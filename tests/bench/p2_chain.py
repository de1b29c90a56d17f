"""P2: a hanging chain of rods on hinges about y and z in turn, beside Pinocchio, MuJoCo and Exudyn.

Rods of 0.1 m and 0.1 kg, square of 10 mm, at rest along x, gravity (0, 2, -9.6) m/s2.
"""

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import femb

from .harness import FEMB, MOTION, Contender, Problem

LENGTH, MASS, SIDE = 0.1, 0.1, 0.01
GRAVITY = (0.0, 2.0, -9.6)
MOMENTS = MASS / 12.0 * np.array([2.0 * SIDE**2, LENGTH**2 + SIDE**2, LENGTH**2 + SIDE**2])
TIMES = 200
DURATIONS = {10: 1.0, 50: 1.0, 200: 2.0}
PINOCCHIO, MUJOCO, TREE, REDUNDANT = "Pinocchio + DOP853", "MuJoCo, RK4", "Exudyn, tree", "Exudyn, redundant"
# Runs whose programs give the state at the end alone, and those with the motion at all output times.
END, OUTPUTS = "end state", f"{TIMES + 1} outputs"


def axis(k: int) -> np.ndarray:
    """Of hinge k."""
    return np.array([0.0, 1.0, 0.0] if k % 2 == 0 else [0.0, 0.0, 1.0])


def model(rods: int) -> femb.Model:
    """Of femb."""
    found, before, x = femb.Model("chain", gravity=GRAVITY), "ground", (1.0, 0.0, 0.0)
    for k in range(rods):
        found.add(femb.RigidBody(f"b{k}", MASS, tuple(MOMENTS), center_of_mass=(0.5 * LENGTH, 0, 0)))
        words: Any = {"axis": tuple(axis(k)), "reference": x}
        first = femb.JointEnd(before, at=(LENGTH if k else 0.0, 0.0, 0.0), **words)
        found.add(femb.Revolute(f"j{k}", first, femb.JointEnd(f"b{k}", **words)))
        before = f"b{k}"
    return found


def by_femb(rods: int, rtol: float, duration: float, **options: Any) -> np.ndarray:
    """The tip at the end, (1, 3) m."""
    words = {"method": "rk", "formulation": "reduced", "output_interval": duration / TIMES} | options
    body = femb.simulate(model(rods), duration=duration, rtol=rtol, output=MOTION, **words).bodies[f"b{rods - 1}"]
    axes = femb.numerics.rotations.rotation_matrix(body.quaternion[-1])
    return (body.position[-1] + LENGTH * axes[:, 0])[None]


def pinocchio_model(rods: int) -> Any:
    """Of Pinocchio, with a frame at the tip."""
    import pinocchio as pin

    found, joint = pin.Model(), 0
    found.gravity.linear = np.array(GRAVITY)
    inertia = pin.Inertia(MASS, np.array([0.5 * LENGTH, 0.0, 0.0]), np.diag(MOMENTS))
    for k in range(rods):
        kind = pin.JointModelRY() if k % 2 == 0 else pin.JointModelRZ()
        place = pin.SE3(np.eye(3), np.array([LENGTH if k else 0.0, 0.0, 0.0]))
        joint = found.addJoint(joint, kind, place, f"j{k}")
        found.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return found


def by_pinocchio(rods: int, rtol: float, duration: float, outputs: bool = False) -> np.ndarray:
    """Accelerations by the articulated-body algorithm, DOP853 of scipy; positions of all joints at the end, or at the
    output times."""
    import pinocchio as pin

    built = pinocchio_model(rods)
    data, effort = built.createData(), np.zeros(rods)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[rods:], pin.aba(built, data, y[:rods], y[rods:], effort)])

    times = np.linspace(0.0, duration, TIMES + 1) if outputs else None
    words: Any = {"method": "DOP853", "t_eval": times, "rtol": rtol, "atol": 0.1 * rtol}
    found = solve_ivp(rates, (0.0, duration), np.zeros(2 * rods), **words)
    tips = []
    for q in found.y[:rods].T if outputs else found.y[:rods, -1:].T:
        pin.forwardKinematics(built, data, q)
        last = data.oMi[rods]
        tips.append(last.translation + LENGTH * last.rotation[:, 0])
    return np.array(tips[-1:])


def by_mujoco(rods: int, step: float, duration: float) -> np.ndarray:
    """Its recursion in joint coordinates with RK4 of a fixed step."""
    import mujoco

    moments = " ".join(map(str, MOMENTS))
    body = (
        '<body pos="{}"><joint axis="{}"/><inertial mass="{}" pos="{} 0 0" diaginertia="{}"/>'
        '<site name="s{}" pos="{} 0 0"/>'
    )
    parts = [
        body.format("0 0 0" if k == 0 else f"{LENGTH} 0 0", "0 1 0" if k % 2 == 0 else "0 0 1", MASS, 0.5 * LENGTH,
                    moments, k, LENGTH)
        for k in range(rods)
    ]  # fmt: skip
    gravity = " ".join(map(str, GRAVITY))
    option = f'<option integrator="RK4" timestep="{step}" gravity="{gravity}"><flag contact="disable"/></option>'
    text = f"<mujoco>{option}<worldbody>{''.join(parts)}{'</body>' * rods}</worldbody></mujoco>"
    found = mujoco.MjModel.from_xml_string(text)
    state = mujoco.MjData(found)
    mujoco.mj_step(found, state, nstep=round(duration / step))
    mujoco.mj_kinematics(found, state)
    return np.array(state.site(f"s{rods - 1}").xpos)[None]


def exudyn_tree(rods: int, step: float, duration: float) -> np.ndarray:
    """Its kinematic tree, RK44."""
    from .exudyn_peer import Peer, exu, items

    peer = Peer()
    coordinates = peer.add(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * rods,
            initialCoordinates=[0.0] * rods,
            initialCoordinates_t=[0.0] * rods,
            numberOfODE2Coordinates=rods,
        )
    )
    kinds = [exu.JointType.RevoluteY if k % 2 == 0 else exu.JointType.RevoluteZ for k in range(rods)]
    lists = {word: exu.Vector3DList() for word in ("jointOffsets", "linkCOMs")}
    turns, inertias = exu.Matrix3DList(), exu.Matrix3DList()
    for k in range(rods):
        lists["jointOffsets"].Append([LENGTH if k else 0.0, 0.0, 0.0])
        lists["linkCOMs"].Append([0.5 * LENGTH, 0.0, 0.0])
        turns.Append(np.eye(3))
        inertias.Append(np.diag(MOMENTS))
    tree = peer.add(
        items.ObjectKinematicTree(
            nodeNumber=coordinates, jointTypes=kinds, linkParents=list(range(-1, rods - 1)), jointTransformations=turns,
            linkInertiasCOM=inertias, linkMasses=[MASS] * rods, gravity=list(GRAVITY), **lists,
        ),
    )  # fmt: skip
    words = {"storeInternal": True, "outputVariableType": exu.OutputVariableType.Position, "objectNumber": tree}
    tip = peer.add(items.SensorKinematicTree(linkNumber=rods - 1, localPosition=[LENGTH, 0.0, 0.0], **words))
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, duration / TIMES), "RK44")
    return peer.history(tip)[-1:]


def exudyn_redundant(rods: int, step: float, duration: float) -> np.ndarray:
    """Bodies and revolute joints, generalised-alpha of spectral radius 0.9, as 1 needs more Newton iterations."""
    from .exudyn_peer import Peer, items

    peer = Peer()
    before, place = peer.add(items.ObjectGround()), [0.0, 0.0, 0.0]
    for k in range(rods):
        node = peer.rigid_node(((k + 0.5) * LENGTH, 0.0, 0.0))
        body = peer.add(items.ObjectRigidBody(mass=MASS, inertia=[*MOMENTS, 0, 0, 0], nodeNumber=node))
        mass = peer.add(items.MarkerBodyMass(bodyNumber=body))
        peer.add(items.LoadMassProportional(markerNumber=mass, loadVector=list(GRAVITY)))
        one = peer.add(items.MarkerBodyRigid(bodyNumber=before, localPosition=place))
        other = peer.add(items.MarkerBodyRigid(bodyNumber=body, localPosition=[-0.5 * LENGTH, 0.0, 0.0]))
        free = [1, 1, 1, *(1.0 - axis(k)).astype(int).tolist()]
        peer.add(items.GenericJoint(markerNumbers=[one, other], constrainedAxes=free))
        before, place = body, [0.5 * LENGTH, 0.0, 0.0]
    sensor = peer.add(
        items.SensorBody(bodyNumber=before, localPosition=place, storeInternal=True, outputVariableType=position_type())
    )
    peer.system.Assemble()
    peer.run(peer.settings(duration, step, duration / TIMES, radius=0.9))
    return peer.history(sensor)[-1:]


def position_type() -> Any:
    """Exudyn's word for a position."""
    from .exudyn_peer import POSITION

    return POSITION


def contenders(rods: int, quick: bool) -> list[Contender]:
    duration = 0.1 if quick else DURATIONS[rods]
    rtols = (1e-6,) if quick else (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    tighter = () if quick else (1e-9, 1e-10, 1e-11)
    found = []
    for like in (END, OUTPUTS):
        interval = {"output_interval": duration} if like == END else {}
        for rtol in (*rtols, *tighter):
            run = partial(by_femb, rods, rtol, duration, **interval)
            found.append(Contender(FEMB, f"reduced, rk {rtol:.0e}", run, like))
        for rtol in rtols:
            run = partial(by_pinocchio, rods, rtol, duration, like == OUTPUTS)
            found.append(Contender(PINOCCHIO, f"rtol {rtol:.0e}, {like}", run, like))
    if find_spec("mujoco"):
        for h in (4e-3,) if quick else (4e-3, 2e-3, 1e-3):
            found.append(Contender(MUJOCO, f"h = {h:g}, {END}", partial(by_mujoco, rods, h, duration), END))
    trees = {10: (4e-3, 2e-3), 50: (4e-3, 2e-3), 200: ()}[rods]
    bodies = {10: (1e-3,), 50: (1e-3,), 200: ()}[rods]
    found += [Contender(TREE, f"h = {h:g}, RK44", partial(exudyn_tree, rods, h, duration), OUTPUTS) for h in trees]
    runs = [(h, partial(exudyn_redundant, rods, h, duration)) for h in bodies]
    return found + [Contender(REDUNDANT, f"h = {h:g}", run, OUTPUTS) for h, run in runs]


def problems() -> list[Problem]:
    return [
        Problem(
            f"p2_{rods}",
            f"P2 chain of {rods} rods, {duration:g} s",
            "error of the tip's position at the end, m",
            partial(contenders, rods),
            partial(by_pinocchio, rods, 1e-13, duration),
            notes="reference: Pinocchio with DOP853, rtol = 1e-13",
        )
        for rods, duration in DURATIONS.items()
    ]

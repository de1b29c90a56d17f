"""Random satellites with their control loop, and copies of them whose physics is the same.

Each is a satellite of ``oracles/satellites.py`` with wheels at speed, a star tracker and a gyro on mounts at random, a
filter, a law of attitude, and by turns a tank, a control-moment gyro, heat, a latch, an orbit with its gradient of
gravity and a magnetic field, and a wheel that is a rotor. Copies are made of the items alone, so that nothing here
knows how they are computed.
"""

from copy import copy
from dataclasses import replace

import numpy as np
from oracles.satellites import inertia, satellite, turn_of, unit
from seeds import SEED

import femb
from femb import elements as e
from femb.numerics import rotations

PERIOD = 0.1  # s, of the law
WHEELS = ("w0", "w1", "w2")


def generated(number, *, law=True, latch=None, orbit=False, hot=True, spin=0.0):
    """A free satellite.

    law : with its loop. latch : s, when the hinge of some latches. orbit : some feel the gradient of gravity and have a
    torquer in the field of a dipole. hot : the boom of some is heated. spin : rad/s, about the axis of largest inertia,
    with the wheels at rest.
    """
    rng = np.random.default_rng([SEED, number])
    heat = 5.0 if hot and number % 5 == 3 else 0.0
    model = satellite(number + 1000 * (SEED - 1), modal=number % 2 == 0, heat=heat)
    frame = rotations.rotation_matrix(unit(rng, 4))
    for k, name in enumerate(WHEELS):
        rotor = {"mass": 0.4, "transverse_inertia": 0.008} if k == number % 4 else {}
        speed = rng.uniform(-300.0, 300.0) * (spin == 0.0)
        place = {"at": 0.1 * rng.standard_normal(3), "axis": frame[:, k]}
        model.add(e.ReactionWheel(name, "hub", spin_inertia=0.01, speed=speed, **place, **rotor))
    if number % 4 == 1:
        model.add(e.SloshingTank("tank", 0.5, 0.2, 0.3, 2.0, body="hub", at=0.2 * rng.standard_normal(3),
                                 axis=unit(rng), damping_ratio=0.02, model="spring"))  # fmt: skip
    if number % 4 == 3:
        axes = {"axis": frame[:, 0], "gimbal_axis": frame[:, 1], "at": 0.1 * rng.standard_normal(3)}
        gimbal = {"gimbal_mass": 1.0, "gimbal_inertia": inertia(rng, 0.05)}
        speed = 0.0 if spin else 200.0
        model.add(e.ControlMomentGyro("cmg", "hub", spin_inertia=0.01, speed=speed, **axes, **gimbal))
        model.add(e.JointSpringDamper("cmg", "cmg_gimbal", stiffness=20.0, damping=0.1))
    if latch is not None and number % 3 == 1:
        model.add(e.Latch("latch", "hinge", time=latch))
    if orbit and number % 3 == 2:
        normal = unit(rng)
        radial = np.cross(normal, unit(rng))
        model.add(e.GravityGradient("orbit", rate=1e-3, radial=radial, normal=normal))
        model.add(e.DipoleField("field"))
        model.add(e.MagneticTorquer("torquer", body="hub", axis=unit(rng), dipole=20.0))
    if spin:
        hub = replace(model.bodies["hub"], **turn_of(model, spin))
        model = changed(model, {("bodies", "hub"): hub})
    if law:
        mounts = unit(rng, 4), unit(rng, 4)
        delay = float(rng.choice([0.0, 0.03, PERIOD]))
        model.add(e.StarTracker("tracker", body="hub", period=PERIOD, delay=delay, axes=mounts[0]))
        model.add(e.Gyro("gyro", body="hub", period=PERIOD, axes=mounts[1]))
        words = {"attitude": "sensors.tracker", "rate": "sensors.gyro"}
        if number % 2:
            filtered = e.FilterController("f", "sensors.gyro", filter="low_pass", frequency=3.0, period=PERIOD)
            model.add(filtered)
            words["rate"] = "controllers.f"
        words["reference"] = femb.AttitudeReference(model.bodies["hub"].quaternion)
        gain = rng.uniform(0.1, 0.3) * (inertia(rng, 1.0) + 30.0 * np.eye(3)) * 0.1
        model.add(e.PDController("law", proportional=gain, derivative=2.0 * gain, wheels=WHEELS, period=PERIOD,
                                 **words))  # fmt: skip
    return model


def turned(R, vector):
    """A vector in other axes; one that is not given stays so."""
    return vector if vector is None else R @ np.asarray(vector)


def changed(model, items):
    """A copy of a model with other ``items``, by (table, name)."""
    other = copy(model)
    other.tables = {table: dict(of_table) for table, of_table in model.tables.items()}
    for (table, name), item in items.items():
        assert name in other.tables[table]
        other.tables[table][name] = item
    return other


def moved(model, turn, shift):
    """The same satellite at another place, in another attitude: its reference turns with it."""
    R, items = rotations.rotation_matrix(turn), {}
    for name, body in model.tables["bodies"].items():
        if not isinstance(body, e.RigidBody) or body.position is None:
            continue
        items["bodies", name] = replace(
            body,
            position=shift + R @ body.position,
            quaternion=rotations.multiply(np.asarray(turn), np.asarray(body.quaternion)),
            velocity=turned(R, body.velocity),
        )
    for name, law in model.tables.get("controllers", {}).items():
        if isinstance(law, e.PDController):
            reference = femb.AttitudeReference(items["bodies", "hub"].quaternion)
            items["controllers", name] = replace(law, reference=reference)
    for name, gradient in model.tables.get("loads", {}).items():
        if isinstance(gradient, e.GravityGradient):
            items["loads", name] = replace(gradient, radial=R @ gradient.radial, normal=R @ gradient.normal)
    return changed(model, items)


def turn_of_copy(model, rng):
    """(4,) a random rotation; about the axis of the Earth where a model has its field."""
    turn = unit(rng, 4)
    return np.array([turn[0], 0.0, 0.0, np.linalg.norm(turn[1:])]) if model.tables.get("fields") else turn


def reordered(model, rng):
    """The same items, written in another order; laws stay in the order in which one reads the other."""
    other = copy(model)
    other.tables = {}
    for table, items in model.tables.items():
        names = list(items)
        if table != "controllers":
            rng.shuffle(names)
        other.tables[table] = {name: items[name] for name in names}
    return other


def in_other_axes(model, turn):
    """The panel on the hinge described in axes of its own that are turned in it."""
    panel, hinge, S = model.bodies["panel"], model.joints["hinge"], rotations.rotation_matrix(turn)
    body = replace(
        panel,
        inertia=S.T @ panel.inertia @ S,
        center_of_mass=turned(S.T, panel.center_of_mass),
        quaternion=rotations.multiply(np.asarray(panel.quaternion), np.asarray(turn)),
        angular_velocity=turned(S.T, panel.angular_velocity),
    )
    first = replace(hinge.first, at=S.T @ hinge.first.at, axis=S.T @ hinge.first.axis)
    return changed(model, {("bodies", "panel"): body, ("joints", "hinge"): replace(hinge, first=first)})

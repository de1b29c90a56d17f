"""The reference satellite of docs/theory/control_loop.md: two panels on hinges, four wheels, and its laws."""

import numpy as np

from femb import JointEnd, JointSpringDamper, LinearLaw, Model, PDController, ReactionWheel, Revolute, RigidBody

INERTIA = np.array([[300.0, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]])  # kg m2, wheels locked
LOCKED = np.array([2073.0 + 1.0 / 3.0, 263.0 + 1.0 / 3.0, 2136.0 + 2.0 / 3.0])  # kg m2, of the whole
SPIN, SPEED, VISCOUS, COULOMB = 0.08, 100.0, 1e-4, 2e-3  # kg m2, rad/s, N m s/rad, N m
TILT, AZIMUTHS = np.arctan(np.sqrt(0.5)), np.radians([45.0, 135.0, 225.0, 315.0])
AXES = np.array([[np.cos(TILT) * np.cos(a), np.cos(TILT) * np.sin(a), np.sin(TILT)] for a in AZIMUTHS])
BANDWIDTH = 0.15  # rad/s
SPEEDS = SPEED * np.array([1.0, -1.0, 1.0, -1.0])
WHEELS = [f"w{k + 1}" for k in range(4)]
PERIOD = 0.1  # s


def satellite(wheels="elements", viscous=VISCOUS, **hub):
    """The model; wheels : "elements", as "bodies" on hinges, of the mass of nothing but their spin, or None; hub :
    changes of it."""
    model = Model("controlled satellite")
    inertia, own = INERTIA.copy(), 0.75 * SPIN
    if wheels == "bodies":
        for axis in AXES:
            inertia -= own * np.eye(3) + (SPIN - own) * np.outer(axis, axis)
    mass = 500.0 - 4e-3 if wheels == "bodies" else 500.0
    model.add(RigidBody("hub", mass=mass, inertia=inertia, **hub))
    for name, y in (("left", 1.0), ("right", -1.0)):
        middle = (0.0, -5.0 * y, 0.0)
        model.add(RigidBody(name, mass=20.0, inertia=(166.666667, 6.666667, 173.333333)))
        ends = JointEnd("hub", at=(0, y, 0), axis=(1, 0, 0)), JointEnd(name, at=middle, axis=(1, 0, 0))
        model.add(Revolute(name, *ends))
        model.add(JointSpringDamper(f"{name}_spring", name, stiffness=1650.0, damping=10.5))
    for name, axis, speed in zip(WHEELS, AXES, SPEEDS, strict=True) if wheels else ():
        if wheels == "elements":
            words = {"viscous": viscous, "coulomb": COULOMB, "transition_speed": 0.5, "max_torque": 0.2}
            model.add(ReactionWheel(name, body="hub", axis=axis, spin_inertia=SPIN, speed=speed, **words))
            continue
        model.add(RigidBody(name, mass=1e-3, inertia=(own, own, SPIN)))
        model.add(Revolute(name, JointEnd("hub", axis=axis), JointEnd(name, axis=(0, 0, 1)), rates=speed))
        model.add(JointSpringDamper(f"{name}_friction", name, stiffness=0.0, damping=viscous))
    return model


def attitude_law(integral=False, delay=PERIOD, period=PERIOD, wheels="elements"):
    """The PD law, or PID, to wheels by the pseudo-inverse, or to the hub's torque."""
    three, none = np.eye(3), np.zeros((3, 3))
    gains = np.hstack([np.diag(LOCKED * BANDWIDTH**2), np.diag(1.4 * BANDWIDTH * LOCKED)])
    # the torque on the hub by motors is the reverse of that on wheels
    allocation = -np.linalg.pinv(AXES.T) if wheels else three
    word = {"elements": "wheels.{}.torque", "bodies": "joints.{}.angle.force"}.get(wheels, "")
    outputs = [word.format(name) for name in WHEELS] if wheels else [f"bodies.hub.torque.{x}" for x in "xyz"]
    n = 3 if integral else 0
    A, B = np.eye(n), (np.hstack([period * three, none]) if integral else np.zeros((0, 6)))
    C = -np.diag(0.1 * BANDWIDTH**3 * LOCKED) if integral else np.zeros((3, 0))
    return LinearLaw(
        "attitude", A, B, allocation @ C, -allocation @ gains, period=period, delay=delay,
        inputs=[f"bodies.hub.{word}.{x}" for word in ("turn", "angular_velocity") for x in "xyz"], outputs=outputs,
        allocation=allocation, channels=[f"attitude.{x}" for x in "xyz"],
    )  # fmt: skip


def controlled_by_pd(law=True, turn=0.02, **hub):
    """The satellite, turned about (1, 1, 1) by an angle (rad), with its pd law or without."""
    part = np.sin(0.5 * turn) / np.sqrt(3.0)
    model = satellite(quaternion=(np.cos(0.5 * turn), part, part, part), **hub)
    if law:
        gains = {"proportional": LOCKED * BANDWIDTH**2, "derivative": 1.4 * BANDWIDTH * LOCKED}
        words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": WHEELS}
        model.add(PDController("pd", period=PERIOD, delay=PERIOD, **words, **gains))
    return model

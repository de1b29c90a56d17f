"""Wind turbine: a tower on a rotary spring, a nacelle with yaw, a free rotor, and three blades with flap hinges.

Source: Thompson, AIAA 2011-6277, section VI, wind turbine; own parameters of the 5 MW class. Look at the tower's two
angles and the flap of the blades, which gravity excites once per revolution.
"""

import numpy as np

import femb
from femb.elements import JointEnd, JointSpringDamper, Revolute, RigidBody, Universal

BLADES = 3
SPEED = 1.267  # rad/s
# Start values of the blades, rad and rad/s.
FLAP, FLAP_RATE = (0.05, 0.02, 0.08), (0.1, -0.1, 0.0)

run = {
    "duration": 5.0,
    "output_interval": 0.025,
    "formulation": "reduced",
    "method": "rk",
    "rtol": 1e-12,
    "atol": {"position": 1e-13, "quaternion": 1e-13},
}


def build() -> femb.Model:
    """The z axis points up; the rotor is upwind, along -x."""
    model = femb.Model("Thompson: wind turbine", gravity=(0.0, 0.0, -9.81))
    tower, side = 224364874.99999997, 1093750.0
    model.add(RigidBody("tower", 3.5e5, (tower, tower, side), shape={"cylinder": [2.5, 87.6]}))
    model.add(RigidBody("nacelle", 2.4e5, (1.5e6, 2.6e6, 2.6e6), shape={"box": [14.0, 4.0, 4.0]}))
    model.add(RigidBody("hub", 5.68e4, (1.16e5, 8e4, 8e4), shape={"sphere": 1.5}))
    foot = JointEnd("ground", axis=(1, 0, 0), reference=(0, 1, 0))
    root = JointEnd("tower", at=(0, 0, -43.8), axis=(0, 1, 0), reference=(1, 0, 0))
    model.add(Universal("foot", foot, root, start=(-0.003, 0.005), rates=(0.0, 0.0)))
    top = JointEnd("tower", at=(0, 0, 43.8), axis=(0, 0, 1))
    model.add(Revolute("yaw", top, JointEnd("nacelle", at=(-1.9, 0, -1.75)), start=0.02, rates=0.01))
    shaft = JointEnd("nacelle", at=(-6.9, 0, 0.65), axis=(1, 0, 0))
    model.add(Revolute("shaft", shaft, JointEnd("hub"), start=0.3, rates=SPEED + 0.02))
    model.add(JointSpringDamper("side", "foot", "first_angle", stiffness=1.45e10, damping=1.2e8))
    model.add(JointSpringDamper("fore", "foot", "second_angle", stiffness=1.45e10, damping=1e8))
    model.add(JointSpringDamper("yaw", "yaw", stiffness=9e8, damping=1.9e7))
    for k in range(BLADES):
        blade(model, k, 2.0 * np.pi * k / BLADES)
    model.add(
        femb.Figure(
            "overview",
            ["coordinates of foot | coordinates of yaw", "coordinates of blade_* | rates of shaft", "energy"],
        )
    )
    return model


def blade(model: femb.Model, k: int, azimuth: float) -> None:
    """A blade along z of its mount, with flap about y."""
    c, s = np.cos(azimuth), np.sin(azimuth)
    name = f"blade_{k + 1}"
    model.add(RigidBody(name, 1.77e4, (4.36e6, 4.36e6, 3e4), shape={"box": [1.0, 3.0, 41.0]}))
    at_hub = JointEnd("hub", at=(0.0, -1.5 * s, 1.5 * c), axis=(0.0, c, s), reference=(1, 0, 0))
    at_blade = JointEnd(name, at=(0, 0, -20.5), axis=(0, 1, 0), reference=(1, 0, 0))
    model.add(Revolute(name, at_hub, at_blade, start=FLAP[k], rates=FLAP_RATE[k]))
    model.add(JointSpringDamper(f"flap_{k + 1}", name, stiffness=2.3e8, damping=1e6))

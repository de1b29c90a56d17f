"""Rotorcraft: a fuselage on six struts, a free hub, and n blades with flap and lag hinges.

Source: Thompson, AIAA 2011-6277, section VI, rotorcraft; own parameters of realistic magnitude. Look at the
angles of the blades, and the angle of the hub, which counts its revolutions.
"""

import numpy as np

import femb
from femb.elements import JointEnd, JointSpringDamper, Revolute, RigidBody, SpringDamper, SpringEnd, Universal

BLADES = 4
SPEED = 32.0  # rad/s
# Start values of the blades, rad and rad/s: lag, flap, and their rates; they repeat after four blades.
LAG, FLAP = (0.03, -0.02, 0.01, 0.02), (0.02, 0.04, -0.03, 0.01)
LAG_RATE, FLAP_RATE = (0.2, 0.1, -0.4, 0.3), (-0.3, 0.2, 0.1, -0.2)

run = {
    "duration": 1.0,
    "output_interval": 0.005,
    "formulation": "reduced",
    "method": "rk",
    "rtol": 1e-12,
    "atol": {"position": 1e-13, "quaternion": 1e-13},
}


def build(blades: int = BLADES) -> femb.Model:
    """The z axis points down; no gravity, no aerodynamic loads."""
    model = femb.Model(f"Thompson: rotorcraft with {blades} blades")
    model.add(
        RigidBody(
            "fuselage",
            2000.0,
            [[1500.0, 0.0, -400.0], [0.0, 6000.0, 0.0], [-400.0, 0.0, 5500.0]],
            position=(0.01, -0.02, 0.005),
            euler_sequence="zyx",
            euler_angles=(0.015, -0.02, 0.01),
            velocity=(0.0, 0.0, 0.0),
            angular_velocity=(0.0, 0.0, 0.0),
            shape={"box": [5.0, 1.6, 1.6]},
        )
    )
    model.add(RigidBody("hub", 150.0, (20.0, 20.0, 35.0), shape={"cylinder": [0.25, 0.3]}))
    mast = JointEnd("fuselage", at=(0.1, 0.0, -1.3), axis=(0, 0, 1))
    model.add(Revolute("mast", mast, JointEnd("hub"), rates=SPEED + 0.5))
    for k in range(blades):
        blade(model, k, 2.0 * np.pi * k / blades)
    for k in range(6):
        strut(model, k)
    model.add(
        femb.Figure(
            "overview",
            [
                "coordinates.first_angle of blade_* | coordinates.second_angle of blade_*",
                "rates of mast | euler_angles of fuselage",
                "length of strut_* | force of strut_*",
            ],
        )
    )
    return model


def blade(model: femb.Model, k: int, azimuth: float) -> None:
    """A blade along x of its mount, with flap about y, then lag about z."""
    c, s = np.cos(azimuth), np.sin(azimuth)
    name = f"blade_{k + 1}"
    model.add(RigidBody(name, 45.0, (0.324, 93.912, 93.912), shape={"box": [5.0, 0.3, 0.03]}))
    at_hub = JointEnd("hub", at=(0.25 * c, 0.25 * s, -0.1), axis=(-s, c, 0.0), reference=(0, 0, 1))
    at_blade = JointEnd(name, at=(-2.5, 0, 0), axis=(0, 0, 1), reference=(0, 1, 0))
    start, rates = (FLAP[k % 4], LAG[k % 4]), (FLAP_RATE[k % 4], LAG_RATE[k % 4])
    model.add(Universal(name, at_hub, at_blade, start=start, rates=rates))
    model.add(JointSpringDamper(f"flap_{k + 1}", name, "first_angle", stiffness=2000.0, damping=150.0))
    model.add(JointSpringDamper(f"lag_{k + 1}", name, "second_angle", stiffness=8000.0, damping=500.0))


def strut(model: femb.Model, k: int) -> None:
    """A strut of three pairs, each from a corner of the fuselage to the ground; unstretched in the middle position."""
    corner = 0.2 + np.pi / 6.0 + 2.0 * np.pi / 3.0 * (k // 2)
    foot = corner + np.pi / 6.0 * (2 * (k % 2) - 1)
    at = np.array([0.9 * np.cos(corner), 0.9 * np.sin(corner), 0.8])
    ground = np.array([1.6 * np.cos(foot), 1.6 * np.sin(foot), 2.2])
    ends = SpringEnd("fuselage", at=at), SpringEnd(anchor=ground)
    length = float(np.linalg.norm(ground - at))
    model.add(SpringDamper(f"strut_{k + 1}", *ends, stiffness=2e5, damping=3e3, free_length=length))

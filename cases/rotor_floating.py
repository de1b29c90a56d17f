"""Rotor in free flight: a fuselage with a rotating hub, and blades with flap and lag hinges with springs.

Purpose   A tree with a free base and universal joints: fast rotation of the hub, slow motion of the whole system.
Source    Own.
Look at   The momenta in the audit, which are constant; the flap angles, which oscillate at the flap frequency.
"""

import numpy as np

import femb
from femb.elements import JointEnd, JointSpringDamper, Revolute, RigidBody, Universal

N = 3
OMEGA = 30.0  # rad/s, of the hub relative to the fuselage
OFFSET, RADIUS = 0.3, 4.0  # m: from the rotor axis to the hinges; length of a blade
BLADE = 25.0  # kg

run = {
    "duration": 2.0,
    "output_interval": 0.01,
    "method": "rk",
    "formulation": "hamiltonian",
    "rtol": 1e-10,
    "atol": {"position": 1e-11, "quaternion": 1e-11},
}


def build(blades: int = N) -> femb.Model:
    """At the start the blades rotate with the hub, each with a different flap angle."""
    model = femb.Model(f"Rotor with {blades} blades in free flight")
    words = {"position": (0, 0, 0), "angular_velocity": (0.05, 0.1, 0.0), "shape": {"box": [3.0, 1.0, 1.0]}}
    model.add(RigidBody("fuselage", mass=600.0, inertia=(200.0, 900.0, 800.0), center_of_mass=(0.1, 0, -0.2), **words))
    model.add(RigidBody("hub", mass=30.0, inertia=(1.0, 1.0, 1.8), shape={"cylinder": [OFFSET, 0.2]}))
    mast = JointEnd("fuselage", at=(0, 0, 1.0), axis=(0, 0, 1))
    model.add(Revolute("mast", mast, JointEnd("hub"), rates=OMEGA))
    across = BLADE * RADIUS**2 / 12.0
    for k in range(blades):
        azimuth = 2.0 * np.pi * k / blades
        out = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        name = f"blade_{k + 1}"
        middle = (0.5 * RADIUS, 0.0, 0.0)
        box = {"box": [RADIUS, 0.25, 0.03]}
        model.add(RigidBody(name, mass=BLADE, inertia=(0.15, across, across + 0.15), center_of_mass=middle, shape=box))
        # lag about z, then flap about -y of the blade, positive upwards
        first = JointEnd("hub", at=OFFSET * out, axis=(0, 0, 1), reference=np.cross(out, (0, 0, 1)))
        second = JointEnd(name, axis=(0, -1, 0), reference=(0, 0, 1))
        hinge = f"hinge_{k + 1}"
        model.add(Universal(hinge, first, second, start=(0.0, 0.02 * (k + 1)), rates=(0.0, 0.0)))
        model.add(JointSpringDamper(f"lag_{k + 1}", hinge, "first_angle", stiffness=4e3))
        model.add(JointSpringDamper(f"flap_{k + 1}", hinge, "second_angle", stiffness=500.0))
    model.add(
        femb.Figure(
            "overview",
            [
                "coordinates.first_angle of hinge_* | coordinates.second_angle of hinge_*",
                "rates of mast | euler_angles of fuselage",
                "energy",
                "momentum",
            ],
        )
    )
    return model

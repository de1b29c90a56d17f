"""Solar array: three rigid panels deploy from a free satellite on hinges with springs, which latch when they are open.

Purpose   Latches in hinge coordinates: three latch-ups with conservation of momentum and recorded energy losses.
Source    Own.
Look at   The angles of the hinges, the events with the energy loss of each latch, and the momenta in the audit.
"""

import numpy as np

import femb
from femb.elements import JointEnd, JointSpringDamper, Latch, Revolute, RigidBody

FOLDED = np.radians(178.0)  # between adjacent panels; the first is at a right angle to its deployed position
LENGTH, WIDTH, HALF = 1.2, 1.0, 0.4  # m: of a panel; half the width of the satellite
PANEL = 4.0  # kg

run = {
    "duration": 40.0,
    "output_interval": 0.05,
    "method": "rk",
    "formulation": "hamiltonian",
    "rtol": 1e-10,
    "atol": {"position": 1e-11, "quaternion": 1e-11},
}


def build() -> femb.Model:
    """The satellite at rest with stowed panels and free hinges."""
    model = femb.Model("Deployment of an array of three panels")
    box = {"box": [2 * HALF, 2 * HALF, 2 * HALF]}
    model.add(RigidBody("satellite", mass=120.0, inertia=(14.0, 12.0, 13.0), position=(0, 0, 0), shape=box))
    inertia = PANEL / 12.0 * np.array([WIDTH**2, LENGTH**2, LENGTH**2 + WIDTH**2])
    before = JointEnd("satellite", at=(HALF, 0, 0), axis=(0, 1, 0), reference=(1, 0, 0))
    for k, fold in enumerate((-0.5 * np.pi, FOLDED, -FOLDED), start=1):
        name, hinge = f"panel_{k}", f"hinge_{k}"
        shape = {"box": [LENGTH, WIDTH, 0.02]}
        model.add(RigidBody(name, mass=PANEL, inertia=inertia, center_of_mass=(0.5 * LENGTH, 0, 0), shape=shape))
        model.add(Revolute(hinge, before, JointEnd(name, axis=(0, 1, 0), reference=(1, 0, 0)), start=fold))
        # preload: the spring still has a moment at the latch angle
        free = -0.5 * np.sign(fold)
        model.add(JointSpringDamper(hinge, hinge, stiffness=0.12, damping=0.15, free=free))
        model.add(Latch(hinge, hinge, at=0.0))
        before = JointEnd(name, at=(LENGTH, 0, 0), axis=(0, 1, 0), reference=(1, 0, 0))
    model.add(femb.Figure("overview", ["latches", "energy", "momentum"]))
    return model

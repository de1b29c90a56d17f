"""Solar array that deploys from a satellite which reaction wheels hold: three panels on hinges that latch.

Purpose   Attitude control through a deployment: latches that engage in a sampled loop, and momentum that wheels take.
Source    Own satellite, wheels of the size of Honeywell's HR 12 (12 N m s, 0.2 N m); such deployments: O. Wallrapp and
          S. Wiedemann, Multibody System Dynamics 7 (2002) 101-125.
Look at   Turn of the satellite, speed of the wheel about y, and momentum and energy in the audit through three latches.
"""

import numpy as np

import femb
from femb.elements import JointEnd, JointSpringDamper, Latch, PDController, ReactionWheel, Revolute, RigidBody

FOLDED = np.radians(178.0)  # between adjacent panels; the first is at a right angle to its deployed position
LENGTH, WIDTH, HALF = 1.2, 1.0, 0.4  # m: of a panel; half the width of the satellite
PANEL = 4.0  # kg
DEPLOYED = np.array([15.0, 77.8, 79.8])  # kg m2: of everything, with the array open, about its mass centre
BANDWIDTH = 0.25  # rad/s

run = {"duration": 60.0, "output_interval": 0.1, "rtol": 1e-7}


def build(held: bool = True, max_torque: float = 0.2) -> femb.Model:
    """The satellite at rest with stowed panels; ``held`` by wheels of a largest torque (N m), or free."""
    model = femb.Model("Deployment of an array under attitude control")
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
    for name, axis in zip("xyz", np.eye(3), strict=True):
        # 12 N m s at 6000 rpm
        model.add(ReactionWheel(name, body="satellite", axis=axis, spin_inertia=0.0191, max_torque=max_torque))
    if held:
        gains = {"proportional": BANDWIDTH**2 * DEPLOYED, "derivative": 1.4 * BANDWIDTH * DEPLOYED}
        clock = {"wheels": ("x", "y", "z"), "period": 0.1, "delay": 0.05}
        model.add(PDController("attitude", attitude="bodies.satellite", rate="bodies.satellite", **gains, **clock))
    attitude = "error of attitude" if held else "angular_velocity of satellite"
    model.add(femb.Figure("overview", ["latches", attitude, "wheels/y/speed", "energy", "momentum"]))
    return model

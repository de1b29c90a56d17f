"""Deployment: two wings of three flexible panels deploy on hinges with springs and latches.

Purpose   The complete deployment in one run: stowed, large motion of six hinges, six latch-ups, vibration.
Source    Own.
Look at   The angles of the hinges, the torque at the root of a wing at each latch-up, and the momenta in the audit:
          the satellite starts at rest, and no external load acts on it.
"""

import numpy as np

import femb
from femb.elements import Attachment, JointEnd, Latch, Revolute

FOLDED = np.radians(178.0)  # between adjacent panels; the first is at a right angle to its deployed position
LENGTH, HINGE = 1.0, 0.5  # m: of a panel; from the middle of the hub to the root hinges
AXIS = (0.0, 1.0, 0.0)  # of a hinge in a panel: perpendicular to its length, in its plane

run = {"duration": 30.0, "output_interval": 0.02, "method": "radau", "rtol": 1e-6}


def build(elements: int = 2) -> femb.Model:
    """The satellite at rest with stowed wings and free hinges."""
    model = femb.Model("Deployment of two wings of three panels")
    panel = femb.Section(
        "panel",
        axial_stiffness=2e7,
        torsional_stiffness=1500.0,
        bending_stiffness=(2000.0, 2e5),
        mass_per_length=3.0,
        inertia_per_length=(0.26, 0.01, 0.25),
        damping=2e-3,
        shape={"rectangle": [1.0, 0.02]},
    )
    model.add(femb.RigidBody("hub", 300.0, (50.0, 50.0, 50.0), position=(0, 0, 0), shape={"box": [1.0, 1.0, 1.0]}))
    for name, side in (("right", 1.0), ("left", -1.0)):
        wing(model, panel, name, side, elements)
    model.add(
        femb.Figure(
            "overview",
            [
                "latches",
                "displacement of right_3[-1] | displacement of left_3[-1]",
                "torque of right_hinge_1 | torque of left_hinge_1",
                "momentum",
            ],
            frame="hub",
        )
    )
    return model


def wing(model: femb.Model, panel: femb.Section, name: str, side: float, elements: int) -> None:
    """A wing that deploys along ``side`` times x, with hinges along z."""
    at, heading = np.array([HINGE * side, 0.0, 0.0]), 0.0 if side > 0.0 else np.pi
    before = JointEnd("hub", at=at, axis=(0, 0, 1), reference=(side, 0, 0))
    for k, fold in enumerate((0.5 * np.pi, -FOLDED, FOLDED), start=1):
        heading += side * fold
        along = np.array([np.cos(heading), np.sin(heading), 0.0])
        beam = femb.Beam(f"{name}_{k}", panel, LENGTH, elements, start=Attachment(at=at, direction=along, up=(0, 0, 1)))
        model.add(beam)
        hinge = f"{name}_hinge_{k}"
        model.add(Revolute(hinge, before, JointEnd(beam=beam.name, node=0, axis=AXIS, reference=(1, 0, 0))))
        # preload: the spring still has a moment at the latch angle
        free = -np.sign(side * fold) * 0.5
        model.add(femb.JointSpringDamper(hinge, joint=hinge, stiffness=0.15, damping=0.2, free=free))
        model.add(Latch(hinge, hinge, at=0.0))
        before = JointEnd(beam=beam.name, node=-1, axis=AXIS, reference=(1, 0, 0))
        at = at + LENGTH * along

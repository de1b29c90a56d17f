"""Windows of four-bar linkages in a row: problem A02 of the IFToMM library of computational benchmarks.

N windows side by side consist of N + 1 upright rods on pins and N couplers, all of 1 m and 1 kg. About ten times in
10 s all rods are in line; in this configuration a parallelogram could become an antiparallelogram.
"""

import numpy as np

import femb
from femb.elements import Ground, JointEnd, Revolute, RigidBody

N = 40
UPRIGHT = np.sqrt(0.5)
AXIS = (0.0, 0.0, 1.0)
SIDE = 0.1  # m, of the rods' square section

run = {
    "duration": 10.0,
    "output_interval": 0.05,
    "method": "rk",
    "rtol": 1e-10,
    "atol": {"position": 1e-11, "quaternion": 1e-11},
}


def rod(model: femb.Model, name: str, centre: tuple[float, float], upright: bool) -> RigidBody:
    """A uniform slender rod along its body's x axis."""
    moments = (SIDE**2 / 6.0, 1.0 / 12.0, 1.0 / 12.0)  # of a slender rod about its middle
    quaternion = (UPRIGHT, 0.0, 0.0, UPRIGHT) if upright else (1.0, 0.0, 0.0, 0.0)
    shape = {"box": [1.0, SIDE / 2.0, SIDE / 2.0]}
    return model.add(RigidBody(name, 1.0, moments, position=(*centre, 0.0), quaternion=quaternion, shape=shape))


def build(windows: int = N) -> femb.Model:
    """Upright rods; their upper ends start at 1 m/s along x."""
    model = femb.Model(f"IFToMM A02: {windows} windows of four-bar linkages", gravity=(0.0, -9.81, 0.0))
    for k in range(windows + 1):
        rod(model, f"rod_{k}", (k, 0.5), upright=True)
        foot = Ground().at((k, 0.0, 0.0), direction=AXIS)
        model.add(
            Revolute(f"pin_{k}", foot, JointEnd(body=f"rod_{k}", at=(-0.5, 0, 0)), rates=-1.0 if k == 0 else None)
        )
    for k in range(windows):
        rod(model, f"coupler_{k}", (k + 0.5, 1.0), upright=False)
        for word, rod_name, end in (("left", f"rod_{k}", -0.5), ("right", f"rod_{k + 1}", 0.5)):
            first = JointEnd(body=rod_name, at=(0.5, 0, 0), axis=AXIS)
            model.add(Revolute(f"{word}_{k}", first, JointEnd(body=f"coupler_{k}", at=(end, 0, 0))))
    model.add(femb.Figure("overview", ["coordinates of pin_0 | rates of pin_0", "force of pin_0", "energy"]))
    return model

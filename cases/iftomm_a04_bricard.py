"""Bricard's mechanism: problem A04 of the IFToMM library of computational benchmarks.

A ring of six hinges and five rods of 1 m and 1 kg (the sixth is the ground) along edges of a cube. It has 30 constraint
rows for 30 velocities and nevertheless one degree of freedom: in every configuration one row depends on the others.
"""

import numpy as np

import femb
from femb.elements import Ground, JointEnd, Revolute, RigidBody

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
SIDE = 0.1  # m, of the rods' square section

run = {
    "duration": 10.0,
    "output_interval": 0.02,
    "method": "rk",
    "rtol": 1e-11,
    "atol": {"position": 1e-13, "quaternion": 1e-13},
}


def build() -> femb.Model:
    """At rest; gravity along -y sets it in motion."""
    model = femb.Model("IFToMM A04: Bricard's mechanism", gravity=(0.0, -9.81, 0.0))
    across, along = (1.0 + SIDE**2) / 12.0, SIDE**2 / 6.0
    for k in range(5):
        start, end = CORNERS[k], CORNERS[k + 1]
        moments = np.where(start != end, along, across)
        size = [float(x) for x in np.where(start != end, 1.0, SIDE)]
        model.add(RigidBody(f"rod_{k + 1}", 1.0, moments, position=0.5 * (start + end), shape={"box": size}))
    for k in range(6):
        corner = CORNERS[k]
        before, after = corner - CORNERS[k - 1], CORNERS[(k + 1) % 6] - corner
        axis = np.cross(before, after)
        first = Ground().at(corner, axis) if k == 0 else JointEnd(f"rod_{k}", at=0.5 * before, axis=axis)
        second = Ground().at(corner) if k == 5 else JointEnd(f"rod_{k + 1}", at=-0.5 * after)
        model.add(Revolute(f"hinge_{k + 1}", first, second))
    model.add(femb.Figure("overview", ["coordinates", "rates", "energy"]))
    return model

"""Chain: rods connected by universal joints, released at an angle; the first rod has a sideways speed.

Purpose   A chain of any number of links, to compare formulations and their computing time.
Source    Own.
Look at   The energy in the audit, and the joint angles, which are the same in any formulation.
"""

import femb
from femb.elements import Ground, JointEnd, RigidBody, Universal

N = 5
LENGTH, SIDE = 0.5, 0.1  # m, of a rod of square section; its mass is 1 kg

run = {
    "duration": 2.0,
    "output_interval": 0.01,
    "method": "rk",
    "formulation": "hamiltonian",
    "rtol": 1e-10,
    "atol": {"position": 1e-11, "quaternion": 1e-11},
}


def build(segments: int = N) -> femb.Model:
    """A straight chain; each joint rotates about x of the rod above, then about y of the rod below."""
    model = femb.Model(f"Chain of {segments} rods on universal joints", gravity=(0.0, 0.0, -9.81))
    model.add(Ground())
    across = (LENGTH**2 + SIDE**2) / 12.0
    end = JointEnd("ground", axis=(1, 0, 0), reference=(0, 1, 0))
    for k in range(1, segments + 1):
        name = f"rod_{k}"
        rod = RigidBody(
            name,
            mass=1.0,
            inertia=(across, across, SIDE**2 / 6.0),
            center_of_mass=(0, 0, -0.5 * LENGTH),
            shape={"box": [SIDE, SIDE, LENGTH]},
        )
        model.add(rod)
        start, rates = ((0.8, 0.0), (0.0, 1.5)) if k == 1 else ((0.0, 0.0), (0.0, 0.0))
        below = JointEnd(name, axis=(0, 1, 0), reference=(1, 0, 0))
        model.add(Universal(f"joint_{k}", end, below, start=start, rates=rates))
        end = JointEnd(name, at=(0, 0, -LENGTH), axis=(1, 0, 0), reference=(0, 1, 0))
    model.add(
        femb.Figure(
            "overview", ["coordinates", "rates.first_angle | rates.second_angle", "force of joint_1 | energy_error"]
        )
    )
    return model

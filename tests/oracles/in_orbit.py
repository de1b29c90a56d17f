"""Structures of every kind on an orbit, and the resultant of its field on them."""

import numpy as np
from models import of_parts, sections_like
from oracles.alone import Alone
from oracles.modal_example import Particles

from femb import Attachment, Beam, Orbit, PointMass, RigidBody
from femb.elements import ExactBeam, FlexibleBody
from femb.numerics import rotations
from femb.system.system import System

MU, RADIUS = 3.986004418e14, 7e6
SPEED = np.sqrt(MU / RADIUS)
RATE = SPEED / RADIUS
CIRCULAR = Orbit("earth", position=(RADIUS, 0.0, 0.0), velocity=(0.0, SPEED, 0.0))


def model_of(*items, orbit=CIRCULAR):
    return of_parts(*(*items, orbit))


tube = sections_like("tube", 1e-4, (2e-9, 1e-9), 3e-9, 1600.0, 1e11, 4e10)


def resultant(system, q, orbit=CIRCULAR, t=0.0):
    """Force and moment (6,) of the field about the frame's origin, in a state."""
    u, still = system.inputs_at(t, q, 0.0 * system.v0)[None], np.zeros((1, system.n_v))
    (batch,) = (batch for batch in system.batches if type(batch).__name__ == "OrbitBatch")
    out = np.zeros((1, system.n_v))
    Alone(system, batch).residual(u, q[None], still, still, out)
    return -system.rigid_velocities(q) @ out[0]


def bent(item, orbit=CIRCULAR):
    """A hub with an item, in some attitude and shape."""
    hub = RigidBody(
        "hub", 20.0, (2.0, 3.0, 1.5), center_of_mass=(0.2, -0.1, 0.3), position=(3.0, -5.0, 4.0),
        quaternion=rotations.exponential(np.array([0.4, -0.9, 1.3])),
    )  # fmt: skip
    system = System(model_of(hub, item(hub), orbit=orbit))
    shift = 0.05 * np.random.default_rng(1).standard_normal((1, system.n_v))
    q = system.q0 + system.rates(system.q0[None], shift)[0]
    system.normalise(q)
    return system, q


ITEMS = {
    "body": lambda hub: PointMass("tip", 2.0, on=hub.at((0.0, 5.0, 1.0))),
    "beam": lambda hub: Beam(
        "boom", tube(), 4.0, 3, start=hub.at((0.3, 0.0, 0.1), direction=(1, 2, 0)), curvature=(0.1, 0.2, 0.0)
    ),
    "exact beam": lambda hub: ExactBeam(
        "boom", tube(), length=4.0, elements=3, start=hub.at((0.3, 0.0, 0.1), direction=(1, 2, 0))
    ),
    "flexible body": lambda hub: FlexibleBody(
        "panel", Particles(interfaces=2).reduced(consistent=True), start=Attachment("hub", (0.2, 0.0, 0.1))
    ),
}

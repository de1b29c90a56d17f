"""Structures whose stiff, undamped vibrations are far faster than their motion."""

import numpy as np
from models import stiff

from femb import Attachment, Beam, Load, Model, PointMass, RigidBody, Section
from femb.profiles import Versine


class Triangle:
    """From 0 to 1 at 2.5 s, and back to 0 at 5 s."""

    breakpoints = (2.5, 5.0)

    def __call__(self, t: float) -> float:
        return max(0.0, 1.0 - abs(t / 2.5 - 1.0))


def flying_beam(elements: int = 32) -> Model:
    """The free beam of Simo and Vu-Quoc (1988) without shear: 10 m, pushed and turned at one end for 5 s."""
    section = stiff(1e4, 500.0, (500.0, 500.0), 1.0, (20.0, 10.0, 10.0), "rod")
    model = Model("flying beam")
    start = Attachment(at=(6.0, 0.0, 0.0), direction=(-0.6, 0.8, 0.0))
    model.add(Beam("beam", section=section, length=10.0, elements=elements, start=start))
    push = {"force": (20.0, 0.0, 0.0), "torque": (0.0, -100.0, -200.0)}
    model.add(Load("push", beam="beam", node=0, profile=Triangle(), **push))
    return model


def wire_satellite(elements: int = 8) -> Model:
    """A hub with four wires of 50 m at 3 rpm, which start unstretched, and a pulse of torque of 2 s."""
    section = Section("wire", 1e-6, (8e-14, 8e-14), 1.6e-13, 8000.0, 1e11, 4e10)
    model = Model("wires")
    spin = (0.0, 0.0, 3.0 * 2.0 * np.pi / 60.0)
    hub = model.add(RigidBody("hub", mass=50.0, inertia=(20, 20, 30), angular_velocity=spin))
    for k in range(4):
        out = np.array([np.cos(0.5 * np.pi * k), np.sin(0.5 * np.pi * k), 0.0])
        name, start = f"wire{k}", hub.at(0.5 * out, direction=out)
        wire = model.add(Beam(name, section=section, length=50.0, elements=elements, start=start))
        model.add(PointMass(f"tip{k}", mass=0.1, on=wire.node(-1)))
    model.add(Load("pulse", body="hub", torque=(0.2, 0.0, 0.2), profile=Versine(2.0)))
    return model

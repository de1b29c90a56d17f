"""The models the benchmarks share, and how they measure."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb import Attachment, Beam, ExactBeam, JointDriver, JointEnd, Load, Model, Revolute, RigidBody, Section

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where scripts are started from this folder
from models import boom, satellite

__all__ = ["SpinUp", "angle", "bent", "best", "boom", "chain", "satellite", "spun_arm"]


def chain(elements, kind=Beam):
    """A free beam of 0.2 m elements, pushed across at both ends."""
    model = Model("chain")
    start = Attachment(direction=(1, 0, 0))
    model.add(kind("chain", section=boom(), length=0.2 * elements, elements=elements, start=start))
    for node, force in ((0, (0, 100.0, 0)), (-1, (0, 0, 100.0))):
        model.add(Load(f"push{node}", beam="chain", node=node, force=force))
    return model


# The arm of Simo and Vu-Quoc, driven to 6 rad/s in 15 s.
LENGTH, MASS, SPIN = 10.0, 1.2, (1.2e-3, 6e-4, 6e-4)
AXIAL, SHEAR, TORSION, BENDING = 2.8e7, 1e7, 1e4, 1.4e4
RATE, RISE = 6.0, 15.0


def angle(t: float) -> tuple[float, float, float]:
    """The driven angle, its rate and its acceleration."""
    turns = 2.0 * np.pi / RISE
    if t >= RISE:
        return RATE * (t - 0.5 * RISE), RATE, 0.0
    phi = RATE / RISE * (0.5 * t**2 + (np.cos(turns * t) - 1.0) / turns**2)
    return phi, RATE / RISE * (t - np.sin(turns * t) / turns), RATE / RISE * (1.0 - np.cos(turns * t))


@dataclass(frozen=True)
class SpinUp:
    """The motion of the driver."""

    breakpoints: tuple[float, ...] = (RISE,)

    def __call__(self, t: float) -> float:
        return angle(t)[0]

    def derivatives(self, t: float) -> tuple[float, float, float]:
        return angle(t)


def spun_arm(elements=8):
    """An exact beam on a driven hinge, in the plane."""
    z, x = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    section = Section(
        "arm", axial_stiffness=AXIAL, shear_stiffness=(SHEAR, SHEAR), torsional_stiffness=TORSION,
        bending_stiffness=(BENDING, BENDING), mass_per_length=MASS, inertia_per_length=SPIN,
    )  # fmt: skip
    model = Model("spin-up")
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(Revolute("hinge", JointEnd("ground", axis=z), JointEnd("hub", axis=z)))
    model.add(ExactBeam("arm", section, LENGTH, elements, start=Attachment("hub", direction=x)))
    model.add(JointDriver("motor", "hinge", SpinUp()))
    return model


def bent(system, size=1e-3):
    """q, v of a state somewhat bent and moving, the same in every run."""
    rng = np.random.default_rng(0)
    change = size * rng.standard_normal((1, system.n_v))
    change[:, system.layout.internal_v] *= 0.01
    q = system.q0 + system.rates(system.q0[None], change)[0]
    system.normalise(q)
    return q, system.v0 + size * rng.standard_normal(system.n_v)


def best(function, repeats=7, least=0.02):
    """Shortest CPU time of a call, s, over repeated batches of at least ``least`` s."""
    function()
    start = time.process_time()
    function()
    count = max(1, int(least / max(time.process_time() - start, 1e-7)))
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            function()
        times.append((time.process_time() - start) / count)
    return min(times)

"""P7: a hub with two hinged panels and four wheels, held by a pd law at 10 Hz for 600 s, that starts 0.02 rad off.

Output is at each second; the rates of the hub in the first minute, in which they are large, are compared. The law of
Basilisk is -K sigma - P omega with modified Rodrigues parameters sigma; femb's has twice the vector part of the
quaternion in place of 4 sigma. The difference of both motions, some 1e-8 rad/s, is that of two tight runs of femb, one
with Basilisk's law as a function in Python, and is added to Basilisk's.
"""

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import femb
from tests.oracles.controlled_satellite import AXES, PERIOD, SPEEDS, SPIN, WHEELS, satellite

from .harness import FEMB, MOTION, Contender, Problem

DURATION, INTERVAL, COMPARED, TURN, MOST = 600.0, 1.0, 61, 0.02, 0.2  # s, s, -, rad, N m
K, P = 160.0, 400.0  # N m, N m s
BASILISK = "Basilisk, RK4"
TIGHT: Any = {"method": "rk", "rtol": 1e-12, "max_step": PERIOD / 4}


def model(rodrigues: bool = False) -> femb.Model:
    """The satellite with wheels without friction and femb's law, or with Basilisk's as a function."""
    part, found = np.sin(0.5 * TURN) / np.sqrt(3.0), femb.Model("controlled satellite")
    for item in satellite(wheels=None, quaternion=(np.cos(0.5 * TURN), part, part, part)).items():
        found.add(item)
    for name, axis, speed in zip(WHEELS, AXES, SPEEDS, strict=True):
        wheel = femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=SPIN, speed=speed, max_torque=MOST)
        found.add(wheel)
    if not rodrigues:
        gains = {"proportional": K / 4.0, "derivative": P}
        law = femb.PDController("pd", period=PERIOD, attitude="bodies.hub", rate="bodies.hub", wheels=WHEELS, **gains)
        found.add(law)
        return found
    shares = -np.linalg.pinv(AXES.T)

    def torques(t: float, y: np.ndarray, x: None) -> np.ndarray:
        return shares @ (-K * y[1:4] / (1.0 + y[0]) - P * y[4:])

    reads = ("bodies.hub.attitude", "bodies.hub.angular_velocity")
    sets = tuple(f"wheels.{name}.torque" for name in WHEELS)
    found.add(femb.SampledController("pd", period=PERIOD, function=torques, inputs=reads, outputs=sets))
    return found


def by_femb(duration: float = DURATION, rodrigues: bool = False, **options: Any) -> np.ndarray:
    """(k, 3) the rates of the hub, rad/s."""
    words = {"output_interval": INTERVAL, "output": MOTION} | options
    return femb.simulate(model(rodrigues), duration=duration, **words).bodies["hub"].angular_velocity[:COMPARED]


def by_basilisk(step: float, duration: float, of_laws: np.ndarray) -> np.ndarray:
    """The same; of_laws : what is added."""
    from .basilisk_peer import Craft

    attitude = np.full(3, np.tan(0.25 * TURN) / np.sqrt(3.0))
    craft = Craft(step, np.zeros(3), attitude, (0.0, 0.0), MOST)
    craft.control(K, P, MOST)
    recorder = craft.recorded(INTERVAL)
    craft.run(duration)
    return np.array(recorder.omega_BN_B)[:COMPARED] + of_laws


def contenders(quick: bool) -> list[Contender]:
    duration = 5.0 if quick else DURATION
    found = [
        Contender(FEMB, f"radau {rtol:.0e}", partial(by_femb, duration, method="radau", rtol=rtol))
        for rtol in ((1e-6,) if quick else (1e-6, 1e-9, 1e-10, 5e-11))
    ]
    if find_spec("Basilisk") is None:
        return found
    of_laws = by_femb(duration, **TIGHT) - by_femb(duration, rodrigues=True, **TIGHT)
    for step in (0.1,) if quick else (0.1, 0.05, 0.025, 0.02, 0.01):
        found.append(Contender(BASILISK, f"h = {step:g} s", partial(by_basilisk, step, duration, of_laws)))
    return found


def problems() -> list[Problem]:
    return [
        Problem(
            "p7_control",
            "P7 attitude control at 10 Hz, two panels, four wheels, 600 s",
            "largest error of the hub's rates, rad/s",
            contenders,
            partial(by_femb, **TIGHT),
            notes="reference: rk, rtol = 1e-12, steps of 0.025 s",
            size=1e-3,
        )
    ]

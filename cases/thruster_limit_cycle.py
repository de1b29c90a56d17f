"""Limit cycle: thrusters hold a satellite within a dead band, by one least pulse at each edge.

Purpose   A dead-band law with thrusters, whose switches end steps; what a flexible appendage does to the cycle.
Source    Own satellite; such cycles: M. J. Sidi, Spacecraft Dynamics and Control, 1997, chapter 9. Force and least
          impulse are those of 1 N hydrazine thrusters (ArianeGroup: 0.01 to 0.043 N s, 220 s).
Look at   Turn and rate in their plane, and the count of pulses, with and without panels.
"""

import numpy as np
from numpy.typing import NDArray

import femb
from femb.elements import (
    AttitudeSensor,
    Gyro,
    JointEnd,
    JointSpringDamper,
    Revolute,
    RigidBody,
    SampledController,
    Thruster,
)

Numbers = NDArray[np.float64]

BAND = 1e-3  # rad, to each side
PULSE = 0.02  # s
INERTIA = 1000.0  # kg m2 about x, of everything
FORCE, ARM = 1.0, 0.5  # N, m: two thrusters are a couple of 1 N m
RATE = FORCE * ARM * PULSE / INERTIA  # rad/s: half of what a pulse of a couple changes
PERIOD = 0.292  # s between samples, of which 685 are half a cycle
PHASE = 0.136  # s, of the first one, so that there is one at 100 s, at the edge

run = {"duration": 900.0, "output_interval": 0.5, "atol": {"time": 1.0}}  # rates to 1e-7 rad/s


def build(panels: bool = False, wait: float = 0.0) -> femb.Model:
    """The satellite in the middle of its band.

    panels : whether three quarters of its inertia are in two panels on hinges. wait : s, after a pulse, in which none
    follows.
    """

    def dead_band(t: float, y: Numbers, x: Numbers) -> tuple[list[float], list[float]]:
        """On-times (s) of the thrusters, and the instant of the last pulse: at the sample nearest to an edge, and
        beyond."""
        turn, rate = 2.0 * np.sign(y[0]) * y[1], y[4]
        ahead = (turn + 0.5 * PERIOD * rate) * (t > x[0] + wait)
        plus, minus = PULSE * (ahead < -BAND), PULSE * (ahead > BAND)
        return [plus, plus, minus, minus], [t if plus or minus else x[0]]

    model = femb.Model("Limit cycle of thrusters")
    inertia = (240.0, 200.0, 250.0) if panels else (INERTIA, 600.0, 900.0)
    start = {"angular_velocity": (RATE, 0.0, 0.0), "shape": {"box": [1.2, 2.0, 1.2]}}
    model.add(RigidBody("hub", mass=400.0, inertia=inertia, **start))
    for name, y in (("left", 1.0), ("right", -1.0)) if panels else ():
        shape = {"box": [2.0, 6.0, 0.02]}
        own = {"center_of_mass": (0.0, 3.0 * y, 0.0), "angular_velocity": (RATE, 0.0, 0.0), "shape": shape}
        model.add(RigidBody(name, mass=20.0, inertia=(60.0, 7.0, 66.0), **own))
        hinge = JointEnd("hub", at=(0, y, 0), axis=(1, 0, 0)), JointEnd(name, axis=(1, 0, 0))
        model.add(Revolute(name, *hinge))
        # clamped at 0.25 Hz, with the satellite free at 0.5 Hz, 0.5 %
        model.add(JointSpringDamper(name, name, stiffness=592.2, damping=0.942))
    outputs = []
    for sign, word in ((1.0, "plus"), (-1.0, "minus")):
        for y in (ARM, -ARM):
            name = f"{word}_{'left' if y > 0 else 'right'}"
            at, direction = (0.0, y, 0.0), (0.0, 0.0, sign * np.sign(y))
            valve = {"minimum_pulse": PULSE, "specific_impulse": 220.0}
            model.add(Thruster(name, FORCE, direction, body="hub", at=at, **valve))
            outputs.append(f"thrusters.{name}.on_time")
    model.add(AttitudeSensor("attitude", body="hub"))
    model.add(Gyro("gyro", body="hub"))
    signals = ("sensors.attitude", "sensors.gyro")
    clock = {"period": PERIOD, "phase": PHASE, "state": [-100.0]}
    model.add(SampledController("dead_band", dead_band, inputs=signals, outputs=tuple(outputs), **clock))
    model.add(
        femb.Figure(
            "overview",
            ["angular_velocity of hub", "pulses of plus_left, minus_left", "propellant of plus_left, minus_left"],
        )
    )
    return model

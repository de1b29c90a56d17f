"""A four-bar mechanism in space, held by more rows than it needs."""

import numpy as np

from femb import Model, RigidBody
from femb.elements import JointEnd, Revolute

BARS = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}


def four_bar():
    """Four revolute joints in space hold a plane mechanism: 20 rows of rank 17."""
    angle, base = 1.1, np.array([0.9, 0.0])
    pin = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    gap = base - pin
    distance = np.hypot(*gap)
    at_pin = np.arccos((0.8**2 + distance**2 - 0.6**2) / (2 * 0.8 * distance))
    turn = np.arctan2(gap[1], gap[0]) + at_pin
    top = pin + 0.8 * np.array([np.cos(turn), np.sin(turn)])
    last = np.arctan2(*(top - base)[::-1])
    model = Model("four-bar", gravity=(0.0, -9.81, 2.0))
    for (name, length), each, at in zip(BARS.items(), (angle, turn, last), (np.zeros(2), pin, base), strict=True):
        mass = 2.0 * length
        moment = mass * length**2 / 12.0
        middle = at + 0.5 * length * np.array([np.cos(each), np.sin(each)])
        words = {"position": (*middle, 0.0), "euler_angles": (0.0, 0.0, each)}
        model.add(RigidBody(name, mass=mass, inertia=(1e-3, moment, moment), **words))

    def end(name, sign, axis=None):
        return JointEnd(name, at=(0.5 * sign * BARS[name], 0.0, 0.0), axis=axis)

    z = (0.0, 0.0, 1.0)
    model.add(Revolute("ground_crank", JointEnd("ground", axis=z), end("crank", -1), rates=3.0))
    model.add(Revolute("crank_coupler", end("crank", 1, z), end("coupler", -1)))
    model.add(Revolute("coupler_rocker", end("coupler", 1, z), end("rocker", 1)))
    model.add(Revolute("ground_rocker", JointEnd("ground", at=(0.9, 0.0, 0.0), axis=z), end("rocker", -1)))
    return model

"""Calls with an argument left out or replaced by nonsense: refused by name, or run. No traceback, no hang.

A call that Python itself refuses, for an argument that is missing or unknown, is none of femb's.
"""

import inspect

import numpy as np
import pytest
from fuzz.mutations import NUMBERS, VALUES, first_step, limited
from fuzz.test_case_files import common
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from seeds import SEED

import femb
from femb import profiles
from femb.base.options import Tolerances

BAR = {"area": 1e-3, "second_moments": (1e-7, 1e-7), "torsion_constant": 1e-7, "density": 2700.0,
       "youngs_modulus": 7e10, "shear_modulus": 2.6e10}  # fmt: skip
GROUND, HUB, TIP = femb.Place("ground"), femb.Place("hub", at=(0.1, 0, 0)), femb.Place(beam="boom", node=-1)
PIN = {"first": femb.JointEnd("hub", axis=(0, 0, 1)), "second": femb.JointEnd("other", at=(-0.5, 0, 0))}
ENDS = {"start": femb.SpringEnd("hub"), "end": femb.SpringEnd(anchor=(3, 2, 1))}
AXES = {"start": femb.SpringEnd("hub"), "end": femb.SpringEnd("ground")}
RISE, STILL = profiles.SmoothStep(duration=1.0), profiles.Constant(0.5)
# Arguments with which each call is right, in a model of a hub with a boom and a wheel.
CALLS = {
    femb.RigidBody: {"name": "extra", "mass": 1.0, "inertia": (1.0, 1.0, 1.0), "velocity": (0, 1, 0)},
    femb.PointMass: {"name": "extra", "mass": 1.0, "on": TIP},
    femb.Ground: {"name": "mast", "position": (1, 0, 0)},
    femb.Section: {"name": "other", **BAR},
    femb.Beam: {"name": "mast", "section": "bar", "length": 1.0, "elements": 2, "curvature": (0, 0, 0.1),
                "start": femb.Attachment("hub", direction=(0, 0, 1))},
    femb.Attachment: {"body": "hub", "at": (0, 1, 0), "direction": (1, 0, 0)},
    femb.Path: {"points": [(0, 0, 0), (1, 0, 0), (2, 1, 0)]},
    femb.Place: {"beam": "boom", "node": 1, "at": (0, 0, 1)},
    femb.Load: {"name": "push", "body": "hub", "force": (1, 2, 3), "frame": "body", "profile": profiles.Versine(1.0)},
    femb.AerodynamicLoad: {"name": "air", "body": "hub", "force_by_velocity": np.eye(3)},
    femb.DistributedLoad: {"name": "weight", "beam": "boom", "force": (0, 0, 1)},
    femb.ThermalLoad: {"name": "sun", "beam": "boom", "strain": (1e-4, 0, 0, 0)},
    femb.Pull: {"name": "rope", **ENDS, "force": 1.0},
    femb.SpringDamper: {"name": "spring", **ENDS, "stiffness": 2.0, "damping": 0.1},
    femb.TorsionSpringDamper: {"name": "spring", **AXES, "axis": (0, 0, 1), "stiffness": 2.0},
    femb.EulerSpringDamper: {"name": "spring", **AXES, "stiffness": 2.0},
    femb.Revolute: {"name": "pin", **PIN, "start": 0.1},
    femb.Universal: {"name": "pin", **PIN},
    femb.Fixed: {"name": "pin", **PIN},
    femb.Distance: {"name": "rod", "first": HUB, "second": femb.Place("wheel"), "length": 0.5},
    femb.Perpendicular: {"name": "square", **PIN, "angle": 1.0},
    femb.PointOnPlane: {"name": "plane", **PIN},
    femb.PositionDriver: {"name": "lift", "first": GROUND, "second": femb.Place("wheel"), "z": RISE},
    femb.DistanceDriver: {"name": "strut", "first": HUB, "second": femb.Place("wheel"), "motion": STILL},
    femb.OrientationDriver: {"name": "turn", "first": GROUND, "second": femb.Place("wheel"), "first_angle": RISE},
    femb.JointDriver: {"name": "motor", "joint": "axle", "motion": RISE},
    femb.JointMotor: {"name": "motor", "joint": "axle", "force": 1.0},
    femb.JointSpringDamper: {"name": "spring", "joint": "axle", "stiffness": 1.0},
    femb.JointFriction: {"name": "friction", "joint": "axle", "coulomb": 1.0, "transition_rate": 0.1},
    femb.JointStops: {"name": "stops", "joint": "axle", "stiffness": 10.0, "upper": 1.0},
    femb.Model: {"title": "model", "gravity": (0, 0, 1)},
    femb.Run: {"duration": 0.1, "output_interval": 0.01, "method": "radau", "rtol": 1e-6},
    Tolerances: {"position": 1e-6},
    femb.simulate: {"duration": 1e-3, "method": "radau", "out": None, "events": ()},
    profiles.Table: {"times": [0, 1], "values": [0, 1]},
    profiles.Spline: {"times": [0, 1], "values": [0, 1]},
    profiles.Polynomial: {"coefficients": [0, 1]},
    profiles.Sine: {"frequency": 1.0},
    profiles.Step: {"start": 0.5},
}  # fmt: skip
NAMES = {call.__name__: call for call in CALLS}
MORE = [None, *NUMBERS, *VALUES, lambda *_: 1.0, object(), np.zeros((3, 3)), np.eye(3), np.array(1.0),
        np.array([1 + 1j, 0, 0]), b"x", (1, 2, 3), {1, 2}, HUB, TIP, PIN["first"], ENDS["end"], RISE, float, range(3),
        femb.Attachment("hub"), "wheel", "axle", "bar", "boom", "body", -(10**30)]  # fmt: skip


def model(**words):
    made = femb.Model(**words)
    made.add(femb.Section("bar", **BAR))
    hub = made.add(femb.RigidBody("hub", mass=2.0, inertia=0.1))
    made.add(femb.Beam("boom", "bar", 1.0, 1, start=hub.at((0, 0.1, 0), direction=(0, 1, 0))))
    wheel = made.add(femb.RigidBody("wheel", mass=1.0, inertia=0.1, position=(0.6, 0, 0)))
    made.add(femb.RigidBody("other", mass=1.0, inertia=0.1))
    axle = femb.JointEnd("hub", at=(0.6, 0, 0), axis=(1, 0, 0))
    made.add(femb.Revolute("axle", axle, femb.JointEnd(wheel.name)))
    return made


def used(call, words):
    """What a call makes, used."""
    run = femb.Run(duration=0.1)
    if call is femb.Model:
        first_step(model(**words), run)
    elif call is femb.Run:
        first_step(model(), femb.Run(**words))
    elif call is femb.simulate:
        femb.simulate(model(), **words)
    else:
        item, made = call(**words), model()
        if call is femb.Attachment:
            item = femb.Beam("mast", "bar", 1.0, 1, start=item)
        elif call is femb.Path:
            item = femb.Beam("mast", "bar", None, 2, start=femb.Attachment("hub"), path=item)
        elif call is femb.Place:
            item = femb.PointMass("extra", mass=1.0, on=item)
        elif call is Tolerances:
            return first_step(made, femb.Run(duration=0.1, atol=item))
        elif call.__module__ == "femb.profiles":
            item = femb.Load("push", body="hub", force=(1, 0, 0), profile=item)
        made.add(item)
        first_step(made, run)
    return None


def tried(name, changed):
    call = NAMES[name]
    words = dict(CALLS[call])
    known = [each for each in inspect.signature(call).parameters if each not in ("options", "progress", "case_text")]
    if call is femb.simulate:
        known = [
            each for each in inspect.signature(femb.Run).parameters if each not in ("duration", "max_steps")
        ] + known
        known = [each for each in known if each not in ("out", "model", "step", "max_step", "first_step")]
    for which, what in changed:
        words[known[which % len(known)]] = MORE[what % len(MORE)]
    with limited():
        used(call, words)


@pytest.mark.parametrize("name", NAMES)
def test_the_calls_are_understood(name):
    with limited():
        used(NAMES[name], dict(CALLS[NAMES[name]]))


@pytest.mark.parametrize("name", NAMES)
def test_none_means_the_default_or_is_refused(name):
    call = NAMES[name]
    if call is femb.simulate:
        return  # its arguments are those of Run
    for word in inspect.signature(call).parameters:
        with limited():
            call(**{**CALLS[call], word: None})


numbers = st.integers(0, 10**4)
changes = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=2)


@seed(1)
@settings(common, max_examples=50)
@given(st.sampled_from(sorted(NAMES)), changes)
def test_some(name, changed):
    tried(name, changed)


@pytest.mark.slow
def test_many():
    @seed(SEED)
    @settings(common, max_examples=1000)
    @given(st.sampled_from(sorted(NAMES)), changes)
    def many(name, changed):
        tried(name, changed)

    many()

"""Calls with an argument left out or replaced by nonsense: refused by name, or run. No traceback, no hang.

A call that Python itself refuses, for an argument that is missing or unknown, is none of femb's.
"""

import functools
import inspect
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fuzz.mutations import NUMBERS, VALUES, first_step, limited
from fuzz.test_case_files import common
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from oracles.modal_example import Particles
from seeds import SEED, TRIES

import femb
from femb import profiles
from femb.base.options import Tolerances
from femb.elements import registry
from femb.vibration.completion import check_figures_of, completed

BAR = {"area": 1e-3, "second_moments": (1e-7, 1e-7), "torsion_constant": 1e-7, "density": 2700.0,
       "youngs_modulus": 7e10, "shear_modulus": 2.6e10}  # fmt: skip
GROUND, HUB, TIP = femb.Place("ground"), femb.Place("hub", at=(0.1, 0, 0)), femb.Place(beam="boom", node=-1)
PIN = {"first": femb.JointEnd("hub", axis=(0, 0, 1)), "second": femb.JointEnd("other", at=(-0.5, 0, 0))}
ENDS = {"start": femb.SpringEnd("hub"), "end": femb.SpringEnd(anchor=(3, 2, 1))}
AXES = {"start": femb.SpringEnd("hub"), "end": femb.SpringEnd("ground")}
AXLE, THREAD, CROSS = (femb.JointCoordinate(joint) for joint in ("axle", "thread", "cross"))
RISE, STILL = profiles.SmoothStep(duration=1.0), profiles.Constant(0.5)
PUSH = str(Path(__file__).with_name("push.csv"))
PLY = {"thickness": 1e-4, "angle": 0.3, "youngs_moduli": (1.3e11, 9e9), "shear_modulus": 5e9, "poissons_ratio": 0.3,
       "density": 1600.0}  # fmt: skip
BODY = replace(
    Particles(interfaces=2, modes=2).reduced(), load_names=("push",), load_force=[(0, 0, 1)], load_torque=[(0, 0, 0)],
    load_modal=np.ones((1, 8)),
)  # fmt: skip
# Arguments with which each call is right, in a model of a hub with a boom and a wheel.
CALLS = {
    femb.RigidBody: {"name": "extra", "mass": 1.0, "inertia": (1.0, 1.0, 1.0), "velocity": (0, 1, 0)},
    femb.PointMass: {"name": "extra", "mass": 1.0, "on": TIP},
    femb.Ground: {"name": "mast", "position": (1, 0, 0)},
    femb.Section: {"name": "other", **BAR},
    femb.Material: {"youngs_modulus": 7e10, "shear_modulus": 2.6e10, "density": 2700.0, "expansion": 2e-5},
    femb.Ply: PLY,
    femb.ExactBeam: {"name": "mast", "section": "thick", "length": 1.0, "elements": 2, "curvature": (0, 0, 0.1),
                     "start": femb.Attachment("hub", direction=(0, 0, 1))},
    femb.FlexibleBody: {"name": "plate", "file": BODY, "modes": 1, "damping_ratio": 0.01, "coupling": "constant",
                        "start": femb.Attachment("hub", at=(0, 0, 0.5))},
    femb.Beam: {"name": "mast", "section": "bar", "length": 1.0, "elements": 2, "curvature": (0, 0, 0.1),
                "start": femb.Attachment("hub", direction=(0, 0, 1))},
    femb.Attachment: {"body": "hub", "at": (0, 1, 0), "direction": (1, 0, 0)},
    femb.Path: {"points": [(0, 0, 0), (1, 0, 0), (2, 1, 0)]},
    femb.Place: {"beam": "boom", "node": 1, "at": (0, 0, 1)},
    femb.Load: {"name": "push", "body": "hub", "force": (1, 2, 3), "frame": "body", "profile": profiles.Versine(1.0)},
    femb.Shell: {"name": "panel", "elements": (2, 2), "corners": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
                 "thickness": 1e-3, "material": "aluminium 6061-T6", "attach": {"edge4": "hub"}},
    femb.HingeLine: {"name": "fold", "first": {"body": "hub"}, "second": {"shell": "panel", "edge": "edge2"},
                     "stiffness": 3.0},
    femb.SurfaceLoad: {"name": "light", "shell": "panel", "pressure": 1e-5},
    femb.ModalLoad: {"name": "push", "body": "plate", "size": 2.0},
    femb.AerodynamicLoad: {"name": "air", "body": "hub", "force_by_velocity": np.eye(3)},
    femb.DistributedLoad: {"name": "weight", "beam": "boom", "force": (0, 0, 1)},
    femb.Drag: {"name": "wind", "beam": "boom", "density": 1.2, "width": 0.1, "coefficient": 1.0},
    femb.GravityGradient: {"name": "earth", "rate": 1e-3},
    femb.Orbit: {"name": "earth", "position": (7e6, 0, 0), "velocity": (0, 7500.0, 0)},
    femb.ThermalLoad: {"name": "sun", "beam": "boom", "strain": (1e-4, 0, 0, 0)},
    femb.Pull: {"name": "rope", **ENDS, "force": 1.0},
    femb.SpringDamper: {"name": "spring", **ENDS, "stiffness": 2.0, "damping": 0.1},
    femb.TorsionSpringDamper: {"name": "spring", **AXES, "axis": (0, 0, 1), "stiffness": 2.0},
    femb.EulerSpringDamper: {"name": "spring", **AXES, "stiffness": 2.0},
    femb.Bearing: {"name": "bearing", "shaft": femb.SpringEnd("hub"), "axis": (0, 0, 1), "kxx": 10.0, "cyy": 0.1},
    femb.Rotor: {"name": "rotor", "speed": 100.0, "axis": (0, 0, 1), "bodies": ("hub",)},
    femb.Unbalance: {"size": 1e-3, "body": "hub"},
    femb.Revolute: {"name": "pin", **PIN, "start": 0.1},
    femb.Universal: {"name": "pin", **PIN},
    femb.Spherical: {"name": "pin", **PIN},
    femb.Cylindrical: {"name": "pin", **PIN, "start": (0.1, 0.2)},
    femb.Prismatic: {"name": "pin", **PIN, "start": 0.1},
    femb.Planar: {"name": "pin", **PIN},
    femb.Parallel: {"name": "pin", **PIN},
    femb.PointOnLine: {"name": "pin", **PIN},
    femb.Components: {"name": "pin", **PIN, "directions": [(1, 0, 0), (0, 1, 0)]},
    femb.Fixed: {"name": "pin", **PIN},
    femb.Distance: {"name": "rod", "first": HUB, "second": femb.Place("other"), "length": 0.5},
    femb.Perpendicular: {"name": "square", **PIN, "angle": 1.0},
    femb.PointOnPlane: {"name": "plane", **PIN},
    femb.PositionDriver: {"name": "lift", "first": GROUND, "second": femb.Place("wheel"), "z": RISE},
    femb.DistanceDriver: {"name": "strut", "first": HUB, "second": femb.Place("other"), "motion": STILL},
    femb.OrientationDriver: {"name": "turn", "first": GROUND, "second": femb.Place("wheel"), "first_angle": RISE},
    femb.JointDriver: {"name": "motor", "joint": "axle", "motion": RISE},
    femb.DriveHarmonic: {"order": 4.0, "torque": 0.1, "phase": 0.2},
    femb.StepperMotor: {"name": "motor", "joint": "axle", "holding_torque": 1.0, "teeth": 5.0, "motion": RISE,
                        "step": 0.01, "step_rate": 100.0},
    femb.JointMotor: {"name": "motor", "joint": "axle", "force": 1.0},
    femb.JointSpringDamper: {"name": "spring", "joint": "axle", "stiffness": 1.0},
    femb.JointFriction: {"name": "friction", "joint": "axle", "coulomb": 1.0, "transition_rate": 0.1},
    femb.JointStops: {"name": "stops", "joint": "axle", "stiffness": 10.0, "upper": 1.0},
    femb.JointCurve: {"name": "tape", "joint": "axle", "coordinates": [0.0, 0.1, 1.0], "forces": [0.0, 1.0, 0.5],
                      "damping": 0.1},
    femb.Snap: {"at": 0.5, "back": 0.1, "coordinates": [0.0, 1.0], "forces": [0.1, 0.1]},
    femb.Latch: {"name": "lock", "joint": "axle", "at": 0.1, "direction": 1},
    femb.JointCoordinate: {"joint": "axle", "coordinate": "angle"},
    femb.Gear: {"name": "gear", "first": AXLE, "second": CROSS, "ratio": -0.5},
    femb.Rack: {"name": "rack", "first": AXLE, "second": THREAD, "radius": 0.1},
    femb.Screw: {"name": "screw", "first": THREAD, "second": THREAD, "pitch": 0.01},
    femb.Worm: {"name": "worm", "first": AXLE, "second": CROSS, "teeth": 40.0, "starts": 2.0},
    femb.Differential: {"name": "sum", "first": AXLE, "second": THREAD, "carrier": CROSS},
    femb.Planetary: {"name": "train", "sun": AXLE, "ring": THREAD, "carrier": CROSS, "teeth": (20.0, 60.0)},
    femb.Coupling: {"name": "sum", "coordinates": [AXLE, CROSS], "factors": (1.0, 2.0)},
    femb.TableCoupling: {"name": "cam", "first": AXLE, "second": THREAD, "coordinates": (0.0, 1.0, 2.0),
                         "values": (0.0, 0.1, 0.0), "periodic": True},
    femb.FunctionCoupling: {"name": "cam", "first": AXLE, "second": THREAD, "function": lambda c: (c, 1.0, 0.0)},
    femb.ReactionWheel: {"name": "rotor", "body": "hub", "axis": (0, 1, 0), "spin_inertia": 0.01, "speed": 10.0,
                         "viscous": 1e-4, "max_torque": 0.1},
    femb.ControlMomentGyro: {"name": "gyro", "body": "hub", "axis": (0, 0, 1), "spin_inertia": 0.01, "speed": 10.0,
                             "gimbal_axis": (1, 0, 0), "gimbal_mass": 1.0, "gimbal_inertia": (0.02, 0.02, 0.02)},
    femb.Thruster: {"name": "jet", "body": "hub", "direction": (1, 0, 0), "force": 1.0, "pulses": [[0.01, 0.02]]},
    femb.MagneticTorquer: {"name": "rod", "body": "hub", "axis": (1, 0, 0), "dipole": 1.0},
    femb.UniformField: {"name": "coil", "field": (1e-5, 0, 0)},
    femb.DipoleField: {"name": "earth", "tilt": 0.1},
    femb.Atmosphere: {"name": "air", "density": 1e-12, "altitude": 5e5, "scale_height": 6e4},
    femb.SolarPressure: {"name": "light", "body": "hub", "area": 1.0, "normal": (0, 0, 1), "sun": (0, 0, 1)},
    femb.PlateDrag: {"name": "air", "body": "hub", "area": 1.0, "normal": (0, 0, 1), "density": 1e-3},
    femb.SloshingTank: {"name": "fuel", "body": "hub", "mass": 0.2, "radius": 0.1, "depth": 0.1, "gravity": 1.0},
    femb.AttitudeSensor: {"name": "attitude", "body": "hub", "noise": 1e-5, "period": 0.05},
    femb.StarTracker: {"name": "tracker", "body": "hub", "noise": 1e-5, "roll_noise": 1e-4, "period": 0.05},
    femb.Gyro: {"name": "gyro", "body": "hub", "angle_random_walk": 1e-6, "correlation_time": 10.0, "period": 0.05},
    femb.Accelerometer: {"name": "felt", "beam": "boom", "node": -1, "range": 10.0, "period": 0.05},
    femb.PositionSensor: {"name": "place", "body": "other", "relative_to": "hub", "period": 0.05},
    femb.SunSensor: {"name": "sun", "body": "hub", "sun": (1, 0, 0), "period": 0.05},
    femb.Magnetometer: {"name": "field", "body": "hub", "period": 0.05},
    femb.Encoder: {"name": "angle", "joint": "axle", "quantum": 1e-3, "period": 0.05},
    femb.Tachometer: {"name": "rate", "wheel": "flywheel", "delay": 0.01, "period": 0.05},
    femb.WheelSpeedSensor: {"name": "speed", "wheel": "flywheel", "scale": 2.0, "period": 0.05},
    femb.StrainGauge: {"name": "gauge", "beam": "boom", "station": 0.2, "point": (0.01, 0.0), "period": 0.05},
    femb.AttitudeReference: {"axis": (0, 0, 1), "angle": RISE},
    femb.PDController: {"name": "pd", "attitude": "bodies.hub", "rate": "bodies.hub", "bandwidth": 1.0,
                        "outputs": "loads.torquer.torque", "period": 0.05, "delay": 0.01},
    femb.PIDController: {"name": "pid", "input": "joints.axle.angle", "rate": "joints.axle.angle rate",
                         "proportional": 1.0, "integral": 0.1, "setpoint": RISE, "outputs": "loads.drive.force",
                         "period": 0.05},
    femb.LinearController: {"name": "law", "A": [[-1.0]], "B": [[1.0]], "C": [[0.1]], "D": [[0.0]],
                            "inputs": "bodies.hub.turn.x", "outputs": "wheels.flywheel.torque", "state": [0.1]},
    femb.FilterController: {"name": "low", "input": "bodies.hub.angular_velocity", "frequency": 1.0, "period": 0.05},
    femb.SampledController: {"name": "own", "function": lambda t, y, x: (-0.1 * y, x),
                             "inputs": "bodies.hub.angular_velocity", "outputs": "loads.torquer.torque",
                             "state": [0.0], "period": 0.05},
    femb.ModalDamping: {"name": "damping", "held": "hub", "ratio": 0.01, "modes": 2, "appendage": "boom"},
    femb.Figure: {"name": "tips", "what": ["tips", "hub.euler_angles"], "items": ["boom"], "times": (0, 1)},
    femb.Event: {"name": "zero", "function": lambda t, state: t - 5e-4, "direction": 1},
    femb.Airload: {"force": np.ones(3), "torque": np.zeros(3), "by_velocity": np.zeros((6, 3)),
                   "by_angular_velocity": np.zeros((6, 3))},
    femb.Output: {"select": ["hub", "*.position"], "exclude": ["boom"], "precision": "float32", "motion_only": True},
    femb.StartState: {"results": "earlier.h5"},
    femb.Model: {"title": "model", "gravity": (0, 0, 1)},
    femb.Run: {"duration": 0.1, "output_interval": 0.01, "method": "radau", "rtol": 1e-6},
    Tolerances: {"position": 1e-6},
    femb.simulate: {"duration": 1e-3, "method": "radau", "out": None, "events": ()},
    profiles.Table: {"times": [0, 1], "values": [0, 1]},
    profiles.Spline: {"times": [0, 1], "values": [0, 1]},
    profiles.Polynomial: {"coefficients": [0, 1]},
    profiles.Sine: {"frequency": 1.0},
    profiles.Step: {"start": 0.5},
    profiles.Constant: {"value": 2.0},
    profiles.Exponential: {"time_constant": 1.0, "start": 0.1},
    profiles.SmoothStep: {"duration": 1.0, "after": 0.3},
    profiles.Versine: {"duration": 1.0},
    profiles.BangBang: {"duration": 1.0, "coast": 0.2},
    profiles.Sum: {"terms": [profiles.Sine(frequency=1.0), profiles.Versine(1.0)], "factors": [1.0, -0.5]},
    profiles.Slew: {"after": 1.0, "max_acceleration": 2.0, "max_rate": 0.5},
    profiles.Shaped: {"profile": profiles.Versine(0.5), "times": [0.0, 0.3], "amplitudes": [0.5, 0.5]},
    profiles.ZV: {"profile": profiles.Versine(0.5), "frequencies": [1.0], "damping": 0.01},
    profiles.ZVD: {"profile": profiles.Versine(0.5), "frequencies": [1.0, 2.0], "damping": [0.01, 0.02]},
    profiles.ZVDD: {"profile": profiles.Versine(0.5), "frequencies": [1.0]},
    profiles.EI: {"profile": profiles.Versine(0.5), "frequencies": [1.0], "tolerance": 0.1},
    profiles.Integral: {"rate": profiles.Versine(0.5), "initial": 0.1},
    profiles.Repeat: {"profile": profiles.Versine(0.5), "period": 1.0, "count": 3},
}  # fmt: skip
NAMES = {call.__name__: call for call in CALLS}
# The same classes in other words: profiles from files, sections by shape and by ply.
OTHERS = {
    "Table of a file": (profiles.Table, {"file": PUSH, "column": "value"}),
    "Spline of a file": (profiles.Spline, {"file": PUSH, "column": 2, "slopes": (0.0, 0.1)}),
    "Section by shape": (femb.Section, {"name": "other", "shape": {"tube": [0.02, 0.001]},
                                        "material": "aluminium 6061-T6", "non_structural_mass": 0.05}),
    "Section by ply": (femb.Section, {"name": "other", "shape": {"tube": [0.02, 2e-4]},
                                      "plies": [femb.Ply(**PLY), femb.Ply(**{**PLY, "angle": -0.3})]}),
    "Section by matrix": (femb.Section, {"name": "other", "stiffness_matrix": np.eye(4), "mass_matrix": np.eye(6),
                                         "damping": 0.01}),
    "ExactBeam of sections": (femb.ExactBeam, {"name": "mast", "sections": ["thick", "thick"], "stations": (0.0, 1.0),
                                               "length": 1.0, "elements": 2,
                                               "start": femb.Attachment("hub", direction=(0, 0, 1))}),
}  # fmt: skip
WAYS = {name: (call, words) for call, words in CALLS.items() for name in [call.__name__]} | OTHERS
MORE = [None, *NUMBERS, *VALUES, lambda *_: 1.0, object(), np.zeros((3, 3)), np.eye(3), np.array(1.0),
        np.array([1 + 1j, 0, 0]), b"x", (1, 2, 3), {1, 2}, HUB, TIP, PIN["first"], ENDS["end"], RISE, float, range(3),
        femb.Attachment("hub"), "wheel", "axle", "bar", "boom", "body", -(10**30), PUSH, BODY, femb.Ply(**PLY), [RISE],
        [RISE, 3], {"tube": [1, 2]}, {"circle": 1e-3}, "steel 304", ["thick", "bar"], "10 mm",
        femb.Place("boom")]  # fmt: skip


def model(**words):
    made = femb.Model(**words)
    made.add(femb.Section("bar", **BAR))
    made.add(femb.Section("thick", **BAR, shear_stiffness=(1e6, 1e6)))
    hub = made.add(femb.RigidBody("hub", mass=2.0, inertia=0.1))
    made.add(femb.Beam("boom", "bar", 1.0, 1, start=hub.at((0, 0.1, 0), direction=(0, 1, 0))))
    wheel = made.add(femb.RigidBody("wheel", mass=1.0, inertia=0.1, position=(0.6, 0, 0)))
    made.add(femb.RigidBody("other", mass=1.0, inertia=0.1))
    axle = femb.JointEnd("hub", at=(0.6, 0, 0), axis=(1, 0, 0))
    made.add(femb.Revolute("axle", axle, femb.JointEnd(wheel.name)))
    made.add(femb.ReactionWheel("flywheel", "hub", axis=(0, 0, 1), spin_inertia=0.01))
    made.add(femb.Load("torquer", "hub", torque=(0, 0, 0), frame="body"))
    made.add(femb.JointMotor(name="drive", joint="axle", force=0.0))
    made.add(femb.UniformField("field", field=(1e-5, 0, 0)))
    return made


@functools.cache
def earlier():
    """The results of a run of the model."""
    path = Path(tempfile.mkdtemp()) / "earlier.h5"
    femb.simulate(model(), duration=1e-3, out=path)
    return path


def used(call, words):
    """What a call makes, used."""
    # lengths that the start need not have
    run = femb.Run(duration=0.1, start="assembled" if call in (femb.Distance, femb.DistanceDriver) else "as_given")
    if call is femb.Model:
        return first_step(model(**words), run)
    if call is femb.Run:
        return first_step(model(), femb.Run(**words))
    if call is femb.simulate:
        return femb.simulate(model(), **words)
    if call is femb.StartState and isinstance(words["results"], str) and words["results"] == "earlier.h5":
        words["results"] = str(earlier())
    item, made = call(**words), model()
    if call is Tolerances:
        return first_step(made, femb.Run(duration=0.1, atol=item))
    if call is femb.StartState:
        return first_step(made, femb.Run(duration=0.1, start=item))
    if call is femb.Output:
        return femb.simulate(made, duration=1e-3, output_interval=2.5e-4, output=item)
    if call is femb.Event:
        return femb.simulate(made, duration=1e-3, events=(item,))
    if call is femb.Attachment:
        item = femb.Beam("mast", "bar", 1.0, 1, start=item)
    elif call is femb.AttitudeReference:
        item = femb.PDController("pd", attitude="bodies.hub", outputs="loads.torquer.torque", period=0.05,
                                 proportional=1.0, reference=item)  # fmt: skip
    elif call in (femb.SurfaceLoad, femb.HingeLine):
        made.add(femb.Shell(**CALLS[femb.Shell]))
    elif call is femb.ModalLoad:
        made.add(femb.FlexibleBody(**CALLS[femb.FlexibleBody]))
    elif call is femb.Atmosphere:
        made.add(femb.Orbit(**CALLS[femb.Orbit]))
    elif call is femb.DipoleField:
        made.add(femb.GravityGradient("gradient", rate=1e-3))
    elif call is femb.Path:
        item = femb.Beam("mast", "bar", None, 2, start=femb.Attachment("hub"), path=item)
    elif call is femb.Place:
        item = femb.PointMass("extra", mass=1.0, on=item)
    elif call is femb.Material:
        item = femb.Section("other", shape={"circle": 0.01}, material=item)
    elif call is femb.Unbalance:
        item = femb.Rotor("rotor", 10.0, (0, 0, 1), bodies=("hub",), unbalances=[item])
    elif call is femb.DriveHarmonic:
        item = femb.StepperMotor(
            name="motor", joint="axle", holding_torque=1.0, teeth=5.0, motion=RISE, harmonics=[item]
        )
    elif call is femb.JointCoordinate:
        item = femb.Gear("gear", item, CROSS, ratio=2.0)
    elif call is femb.Snap:
        item = femb.JointCurve("tape", "axle", coordinates=[0.0, 1.0], forces=[0.2, 0.2], snaps=[item])
    elif call is femb.Ply:
        item = femb.Section("other", shape={"tube": [0.05, 1e-4]}, plies=[item])
    elif call is femb.Airload:
        air = item
        item = femb.AerodynamicLoad("air", body="hub", law=lambda *_: air)
    elif call.__module__ in ("femb.profiles", "femb.base.profile", "femb.base.shaper"):
        item = femb.Load("push", body="hub", force=(1, 0, 0), profile=item)
    if item.table == "couplings":
        made.add(femb.Cylindrical("thread", **PIN))
        made.add(femb.RigidBody("third", mass=1.0, inertia=0.1))
        made.add(femb.Universal("cross", femb.JointEnd("hub", axis=(0, 0, 1)), femb.JointEnd("third")))
    made.add(item)
    if isinstance(item, femb.Section):
        made.add(femb.Beam("mast", item.name, 1.0, 1, start=femb.Attachment("hub", direction=(0, 0, 1))))
    check_figures_of(made)
    first_step(completed(made), run)
    return repr(item)


def tried(name, changed):
    call, words = WAYS[name]
    words = dict(words)
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


def test_every_class_that_users_make_is_tried():
    made = {kind for kind in registry.kinds() if kind.in_case_files} | set(profiles.PROFILES.values())
    assert {kind.__name__ for kind in made} <= set(NAMES)


@pytest.mark.parametrize("name", WAYS)
def test_the_calls_are_understood(name):
    call, words = WAYS[name]
    used(call, dict(words))


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
@given(st.sampled_from(sorted(WAYS)), changes)
def test_some(name, changed):
    tried(name, changed)


@pytest.mark.slow
def test_many():
    @seed(SEED)
    @settings(common, max_examples=TRIES)
    @given(st.sampled_from(sorted(WAYS)), changes)
    def many(name, changed):
        tried(name, changed)

    many()

"""Derivatives of extreme values of runs are those between output times, which move with the parameters."""

import cmath
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import femb
from femb.study.extremes import extreme

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
PAGE = importlib.import_module("validation_sensitivities")
MASS, STIFFNESS, DAMPING, RATE = 2.0, 50.0, 1.5, 0.8
BLOCK = f"""
[bodies.block]
mass = {MASS}
inertia = 1.0
[joints.rail]
kind = "prismatic"
first = {{ body = "ground", axis = [1, 0, 0] }}
second = {{ body = "block" }}
rates = [{RATE}]
[springs.s]
kind = "joint"
joint = "rail"
stiffness = {STIFFNESS}
damping = {DAMPING}
[run]
duration = 1.0
rtol = 1e-10
output_interval = 0.05
"""


def first_peak(k, c):
    """The largest way: that of x = v/d exp(-s t) sin(d t), at tan(d t) = d/s."""
    s, w = 0.5 * c / MASS, cmath.sqrt(k / MASS)
    d = cmath.sqrt(w * w - s * s)
    return RATE / w * cmath.exp(-s / d * cmath.atan(d / s))


@pytest.mark.parametrize("sign", [pytest.param(1.0, marks=pytest.mark.slow), -1.0])
def test_peaks_between_output_times(tmp_path, sign):
    case = tmp_path / "block.toml"
    case.write_text(BLOCK.replace(f"rates = [{RATE}]", f"rates = [{sign * RATE}]"))
    of = {"peak": {"kind": "peak", "of": "joints.rail.stroke"}}
    of["top"] = {"kind": "max" if sign > 0.0 else "min", "of": "joints.rail.stroke"}
    found = femb.sensitivities(case, of, ["springs.s.stiffness", "springs.s.damping"])
    step = 1e-30
    exact = [first_peak(STIFFNESS + 1j * step, DAMPING), first_peak(STIFFNESS, DAMPING + 1j * step)]
    exact = np.array([each.imag / step for each in exact])
    # those at the output time beside the peak are 1e-2 off
    np.testing.assert_allclose(found.derivatives, [exact, sign * exact], rtol=1e-7)


def of(curve, time, corners=()):
    """The place of the largest value of a curve."""
    return extreme(time, curve(time)[None], np.array(corners), lambda t: curve(t)[None])


def test_weights_give_the_extreme_value_of_a_sine():
    time = np.linspace(0.0, 1.0, 21)
    found = of(lambda t: np.sin(4.0 * t - 0.3), time)
    assert found.weights @ np.sin(4.0 * found.times - 0.3) == pytest.approx(1.0, abs=1e-12)


def test_a_constant_has_weights_of_one():
    time = np.linspace(0.0, 1.0, 9)
    found = of(np.ones_like, time)
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.corner == -1


def test_corners_are_between_pieces():
    """The largest value of a tooth is that before its edge, which is not seen from the other side."""
    found = of(lambda t: np.where(t < 0.43, t * t, 0.1), np.linspace(0.0, 1.0, 6), (0.7, 0.43))
    assert (found.corner, found.times.max() < 0.43) == (1, True)
    assert found.slope == pytest.approx(0.86)
    assert found.weights @ found.times**2 == pytest.approx(0.43**2)


def waves(t, small):
    """Two sines with largest values about 0.433 s and 0.567 s of nearly one size, a smaller one between."""
    return np.cos(15.0 * np.pi * (t - 0.5)) * (-1.0 + small * (t - 0.5))


@pytest.mark.parametrize("interval", [0.05, 0.02, 0.01, 0.005])
@pytest.mark.parametrize("small", [3e-3, -3e-3])
def test_the_larger_of_two_peaks_is_found(interval, small):
    """Some output times are nearer to the smaller one, which was taken."""
    time = np.arange(0.38, 0.6201, interval) + 0.0031
    found = of(lambda t: waves(t, small), time)
    assert (np.mean(found.times) < 0.5) == (small > 0.0)
    assert found.rivals == ()


@pytest.mark.parametrize(("tilt", "rivals"), [(1e-5, 1), (3e-4, 0)])
def test_peaks_of_one_size_are_rivals(tilt, rivals):
    found = of(lambda t: waves(t, tilt), np.arange(0.38, 0.6201, 0.01))
    assert len(found.rivals) == rivals


# By spring, damper, mass and arm: the rate before the latch, of docs/theory/sensitivities.md's anchors; it is negative.
RATES = {"spring": 3.0034965046, "damper": -0.42559794371, "mass": -0.021128453353, "arm": 0.50330644323}


@pytest.mark.parametrize("words", [[], pytest.param(["run.method=rk"], marks=pytest.mark.slow)])
def test_the_peak_before_a_latch(tmp_path, words):
    """It was that of the output time before, 0.02 to 0.1 s earlier, by twice the size."""
    table = PAGE.MOTIONS["panel with a latch"]
    case = tmp_path / "case.toml"
    case.write_text(table.case)
    of = {
        "peak": {"kind": "peak", "of": "joints.hinge.angle rate"},
        "low": {"kind": "min", "of": "joints.hinge.angle rate"},
    }
    words = ["run.output_interval=0.1", "run.rtol=1e-10", *words]
    found = femb.sensitivities(case, of, {name: table.by[name] for name in RATES}, overrides=words)
    wanted = np.array(list(RATES.values()))
    off = np.abs(found.derivatives - [wanted, -wanted])
    assert np.all(off < 1e-6 * np.max(np.abs(wanted)))
    assert np.all(off < 3.0 * found.errors + 1e-9)


SLIDE = """
[bodies.block]
mass = 5.0
inertia = 1.0
[joints.slide]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "block" }
start = 0.02
rates = [0.0]
"""
PD = """
[loads.push]
kind = "motor"
joint = "slide"
force = 0.0
[controllers.hold]
kind = "pid"
input = "joints.slide.stroke"
rate = "joints.slide.stroke rate"
proportional = 80.0
derivative = 12.0
period = 0.1
outputs = ["loads.push.force"]
"""
STOP = """
[loads.push]
kind = "motor"
joint = "slide"
force = -1.0
[springs.stop]
kind = "stops"
joint = "slide"
lower = 0.0
stiffness = 2e4
exponent = 1.0
"""
TABLE = """
[loads.push]
kind = "motor"
joint = "slide"
force = 1.0
profile = { shape = "table", times = [0.0, 0.33, 0.5, 2.0], values = [0.0, 0.5, -0.6, 0.0] }
"""
OF_RATE, FORCE = "joints.slide.stroke rate", "springs.stop.force"


def sampled(mass, proportional, derivative, period):
    """The rates at the samples, between which the force is held."""
    x, v = 0.02, 0.0
    for _ in range(10):
        a = -(proportional * x + derivative * v) / mass
        x, v = x + period * v + 0.5 * period**2 * a, v + period * a
        yield v


def bounced(mass, stiffness, force):
    """The largest force of a stop on a block that falls into it from 0.02 m."""
    push = -force
    energy = push * 0.02
    return push + cmath.sqrt(push * push + 2.0 * stiffness * energy) + 0.0 * mass


def accelerated(mass, time, value):
    return value / mass + 0.0 * time


@pytest.mark.parametrize(
    ("text", "of", "keys", "exact"),
    [
        (
            PD, ("peak", OF_RATE),
            ["bodies.block.mass", "controllers.hold.proportional", "controllers.hold.derivative",
             "controllers.hold.period"],
            lambda *p: -min(sampled(*p), key=lambda v: complex(v).real),
        ),
        (STOP, ("peak", FORCE), ["bodies.block.mass", "springs.stop.stiffness", "loads.push.force"], bounced),
        (
            TABLE, ("max", "joints.slide.stroke acceleration"),
            ["bodies.block.mass", "loads.push.profile.times.1", "loads.push.profile.values.1"], accelerated,
        ),
    ],
)  # fmt: skip
def test_peaks_at_samples_stops_and_corners(tmp_path, text, of, keys, exact):
    """Those at output times beside them were up to twice the size."""
    case = tmp_path / "case.toml"
    case.write_text(SLIDE + text + '[run]\nduration = 0.7\nrtol = 1e-9\noutput_interval = 0.07\nmethod = "radau"\n')
    found = femb.sensitivities(case, {"peak": {"kind": of[0], "of": of[1]}}, keys)
    values = [complex(x) for x in found.nominal]
    wanted = [exact(*values[:k], x + 1e-30j, *values[k + 1 :]).imag * 1e30 for k, x in enumerate(values)]
    off = np.abs(found.derivatives[0] - wanted) * np.abs(found.nominal)
    size = np.max(np.abs(wanted * found.nominal))
    assert np.all(off < 1e-7 * size)
    assert np.all(off < 3.0 * found.errors[0] * np.abs(found.nominal) + 1e-9 * size)


def test_the_error_has_the_interpolation(tmp_path):
    """Of coarse steps, between whose ends the motion is a polynomial of the method."""
    case = tmp_path / "block.toml"
    case.write_text(
        BLOCK.replace("rtol = 1e-10", "rtol = 1e-4").replace("output_interval = 0.05", "output_interval = 0.2")
    )
    found = femb.sensitivities(case, {"peak": {"kind": "peak", "of": "joints.rail.stroke"}}, ["springs.s.stiffness"])
    off = abs(found.derivatives[0, 0] - first_peak(STIFFNESS + 1e-30j, DAMPING).imag * 1e30)
    assert off < found.errors[0, 0] < 0.1 * abs(found.derivatives[0, 0])


FORCED = """
[bodies.block]
mass = 1.0
inertia = 1.0
[joints.slide]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "block" }
rates = [1.9]
[springs.s]
kind = "joint"
joint = "slide"
[loads.push]
kind = "motor"
joint = "slide"
force = -2.4
profile = { shape = "sine", frequency = FREQUENCY }
[run]
duration = 3.0
rtol = 1e-9
"""


def forced(t, m, k):
    """The way of the block: of two sines, with peaks near 0.81 s and 2.33 s."""
    w, a = cmath.sqrt(k / m), -2.4 / (k - 9.0 * m)
    return (1.9 - 3.0 * a) / w * np.sin(w * t) + a * np.sin(3.0 * t)


@pytest.mark.parametrize("interval", [0.1, 0.01])
@pytest.mark.parametrize(("stiffness", "equal"), [(0.9997, False), (1.0003, False), (1.0 - 1e-6, True)])
def test_the_peak_by_samples_is_the_smaller_one(tmp_path, interval, stiffness, equal):
    """That of 0.9997 N/m was taken 0.04 % below the largest one, with another derivative and an error that hid it."""
    case = tmp_path / "case.toml"
    case.write_text(FORCED.replace("FREQUENCY", repr(1.5 / np.pi)))
    words = [f"run.output_interval={interval}", f"springs.s.stiffness={stiffness}"]
    of = {
        "peak": {"kind": "peak", "of": "joints.slide.stroke"},
        "load": {"kind": "peak_load", "item": "s", "load": "force"},
    }
    found = femb.sensitivities(case, of, ["bodies.block.mass", "springs.s.stiffness"], overrides=words)
    places = []
    for rough in (0.813, 2.328):
        time = rough + np.linspace(-1e-3, 1e-3, 200001)
        places.append(time[np.argmax(forced(time, 1.0, stiffness).real)])
    wanted = [
        [forced(t, *p).imag * 1e30 for p in ((1.0 + 1e-30j, stiffness), (1.0, stiffness + 1e-30j))] for t in places
    ]
    largest = int(forced(places[1], 1.0, stiffness).real > forced(places[0], 1.0, stiffness).real)
    off = np.min([np.abs(found.derivatives[0] - each) for each in (wanted if equal else [wanted[largest]])], axis=0)
    assert np.all(off < 1e-6)
    apart = np.abs(np.subtract(*wanted))
    np.testing.assert_allclose(found.errors[0] > 0.9 * apart, equal)
    # of the spring k x
    of_force = stiffness * found.derivatives[0] + [0.0, forced(places[largest], 1.0, stiffness).real]
    np.testing.assert_allclose(np.abs(found.derivatives[1]), np.abs(of_force), atol=1e-5)

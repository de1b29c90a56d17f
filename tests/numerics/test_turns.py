"""Three turns about any axes: against the twelve sequences, composed turns, rates by differences, Thompson's lock."""

import numpy as np
import pytest
from models import refuses

import femb
from femb import Model, ModelError, OrientationDriver, Place, RigidBody, simulate
from femb.case import load_case
from femb.numerics import euler, rotations
from femb.profiles import SmoothStep
from femb.system.system import System

SKEW = np.array([[1.0, 0.2, -0.1], [0.3, 1.0, 0.4], [-0.2, 0.5, 1.0]])
CROSSED = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])  # the second across the others


def angles(axes, rng, count=30):
    low, high = femb.thompson.lock_angles(axes)
    middle = low + (high - low) * rng.uniform(0.02, 0.98, count)
    return np.column_stack([rng.uniform(-3, 3, count), middle, rng.uniform(-3, 3, count)])


@pytest.mark.parametrize("sequence", euler.SEQUENCES)
def test_frame_axes_are_a_sequence(sequence):
    axes = np.eye(3)[["xyz".index(letter) for letter in sequence]]
    rng = np.random.default_rng(2)
    p, omega = rotations.normalise(rng.standard_normal((30, 4))), rng.standard_normal((30, 3))
    np.testing.assert_allclose(euler.to_euler(p, axes), euler.to_euler(p, sequence), atol=1e-12)
    np.testing.assert_allclose(euler.gimbal_distance(p, axes), euler.gimbal_distance(p, sequence), atol=1e-12)
    np.testing.assert_allclose(euler.euler_rates(p, omega, axes), euler.euler_rates(p, omega, sequence), rtol=1e-9)
    assert femb.thompson.lock_angles(axes) == pytest.approx(femb.thompson.lock_angles(sequence), abs=1e-15)


@pytest.mark.parametrize("axes", [SKEW, CROSSED], ids=["skew", "crossed"])
def test_there_and_back(axes):
    given = angles(axes, np.random.default_rng(3))
    p = euler.from_euler(given, axes)
    np.testing.assert_allclose(euler.to_euler(p, axes), given, atol=1e-11)
    u, v, w = axes
    turns = (rotations.exponential(a * e / np.linalg.norm(e)) for a, e in zip(given[0], (u, v, w), strict=True))
    first, second, third = turns
    composed = rotations.multiply(rotations.multiply(first, second), third)
    np.testing.assert_allclose(rotations.rotation_matrix(p[0]), rotations.rotation_matrix(composed), atol=1e-14)


@pytest.mark.parametrize("axes", [SKEW, CROSSED], ids=["skew", "crossed"])
def test_rates(axes):
    """omega = [g1 g2 g3] rates is what the quaternion turns with, and is solved for the rates."""
    rng = np.random.default_rng(4)
    for given in angles(axes, rng, 5):
        rate, h = rng.standard_normal(3), 1e-5
        before, after = (euler.from_euler(given + e * rate, axes) for e in (-h, h))
        omega = rotations.logarithm(rotations.multiply(rotations.conjugate(before), after)) / (2.0 * h)
        np.testing.assert_allclose(euler.omega_from_euler_rates(given, rate, axes), omega, atol=1e-8)
        got = euler.euler_rates(euler.from_euler(given, axes), omega, axes)
        np.testing.assert_allclose(got, rate, rtol=1e-6, atol=1e-6)


def test_lock_is_where_the_source_has_it():
    """beta = atan2(w . (v x u), w . (v x (v x u))), where the three axes are in one plane; half a turn away too."""
    u, v, w = SKEW / np.linalg.norm(SKEW, axis=1, keepdims=True)
    low, high = femb.thompson.lock_angles(SKEW)
    beta = np.arctan2(w @ np.cross(v, u), w @ np.cross(v, np.cross(v, u)))
    assert min(abs(beta - low), abs(beta - high)) < 1e-14
    assert high - low == pytest.approx(np.pi, abs=1e-15)
    for middle in (low, high):
        assert abs(np.linalg.det(euler.euler_axes(np.array([0.3, middle, -0.7]), SKEW))) < 1e-14
        assert euler.gimbal_distance(euler.from_euler(np.array([0.3, middle, -0.7]), SKEW), SKEW) < 1e-7
    for middle in (low + 0.1, high - 0.1, high + 0.1):
        assert abs(np.linalg.det(euler.euler_axes(np.array([0.3, middle, -0.7]), SKEW))) > 0.05


def test_at_lock_the_attitude_and_the_rates_that_there_are_come_back():
    u = CROSSED[0] / np.linalg.norm(CROSSED[0])
    low, _ = femb.thompson.lock_angles(CROSSED)
    p = euler.from_euler(np.array([0.4, low, 0.3]), CROSSED)
    found = euler.to_euler(p, CROSSED)
    apart = rotations.multiply(rotations.conjugate(p), euler.from_euler(found, CROSSED))
    assert np.linalg.norm(rotations.logarithm(apart)) < 1e-7
    omega = rotations.rotate_back(p, u)
    rates = euler.euler_rates(p, omega, CROSSED)
    np.testing.assert_allclose(euler.omega_from_euler_rates(found, rates, CROSSED), omega, atol=1e-7)


def test_attitudes_out_of_reach_are_refused():
    u, _, w = SKEW / np.linalg.norm(SKEW, axis=1, keepdims=True)
    half = rotations.from_axis_angle(np.cross(w, u), np.arccos(u @ w))  # turns the third axis onto the first
    refuses("no three turns about these axes reach", euler.to_euler, half, SKEW)
    refuses("two turns in a row are about one axis", femb.thompson.lock_angles, [[1, 0, 0], [2, 0, 0], [0, 1, 0]])


CASE = """
[bodies.top]
mass = 1.0
inertia = [0.1, 0.2, 0.25]
euler_sequence = [[1, 0.2, -0.1], [0.3, 1, 0.4], [-0.2, 0.5, 1]]
euler_angles = [0.3, 0.2, -0.4]
euler_rates = [1.0, 2.0, 3.0]

[run]
duration = 0.5
"""


def test_a_body_starts_by_them(tmp_path):
    """From a case file, and the results are asked for the same angles."""
    (tmp_path / "top.toml").write_text(CASE)
    case = load_case(tmp_path / "top.toml")
    results = simulate(case.model, duration=0.02, output_interval=0.01, rtol=1e-9)
    body = results.bodies["top"]
    np.testing.assert_allclose(body.euler_angles(SKEW)[0], [0.3, 0.2, -0.4], atol=1e-12)
    np.testing.assert_allclose(body.euler_rates(SKEW)[0], [1, 2, 3], atol=1e-11)
    slope = (body.euler_angles(SKEW)[2] - body.euler_angles(SKEW)[0]) / 0.02
    np.testing.assert_allclose(slope, body.euler_rates(SKEW)[1], rtol=1e-2)
    bad = CASE.replace("[0.3, 1, 0.4]", "[2, 0.4, -0.2]")
    (tmp_path / "bad.toml").write_text(bad)
    with pytest.raises(ModelError, match=r"bad.toml:5: bodies.top.euler_sequence: .*two turns in a row are about one"):
        load_case(tmp_path / "bad.toml")


def test_a_driver_turns_about_them():
    """Attitude and rate are those of the three turns, the acceleration their derivative."""
    model = Model("turned")
    model.add(RigidBody("top", mass=1.0, inertia=(0.1, 0.2, 0.25)))
    rise = [SmoothStep(duration=1.0, after=after) for after in (0.5, -0.3, 0.8)]
    model.add(OrientationDriver("turn", Place("ground"), Place("top"), *rise, sequence=SKEW))
    driver = System(model, assemble=True).layout.drivers["turn"]
    t, h = 0.4, 1e-4
    given = np.array([each(t) for each in rise])
    value = driver.inputs[0].function(t)
    np.testing.assert_allclose(value[:4], euler.from_euler(given, SKEW), atol=1e-15)
    rates = np.array([each.derivatives(t)[1] for each in rise])
    np.testing.assert_allclose(value[4:7], euler.omega_from_euler_rates(given, rates, SKEW), atol=1e-14)
    change = driver.inputs[0].function(t + h)[4:7] - driver.inputs[0].function(t - h)[4:7]
    np.testing.assert_allclose(value[7:], change / (2.0 * h), atol=1e-6)

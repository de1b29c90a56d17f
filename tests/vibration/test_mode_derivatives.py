"""Derivatives of frequencies and damping ratios of modes, where few elements or none have matrices of their own."""

import numpy as np
import pytest

import femb
from femb.study.sensitivity import sensitivities
from femb.vibration.solution import solution

RATIO = {"ratio": {"kind": "damping_ratio", "mode": 1}}
PANEL = """
title = "A panel on a hinge with a spring and a damper, in orbit"
[bodies.hub]
mass = 50.0
inertia = [3.0, 4.0, 5.0]
[bodies.panel]
mass = 2.0
inertia = [0.2, 0.1, 0.3]
center_of_mass = [0.0, 0.5, 0.0]
[joints.hinge]
first = { body = "hub", at = [0.0, 0.5, 0.0], axis = [1, 0, 0] }
second = { body = "panel" }
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 5.0
damping = 0.05
[loads.orbit]
kind = "gravity_gradient"
altitude = 500e3
radial = [0, 0, 1]
normal = [0, 1, 0]
origin = [0, 0, 0]
[run]
duration = 1.0
"""


def ratio_of_panel(mass):
    """c / (2 sqrt(k J)) with the inertia J of the turn of one about the other, on paper."""
    reduced = 50.0 * mass / (50.0 + mass)
    M = np.diag([3.0, 0.2]) + reduced * 0.25
    hinge = np.array([1.0, -1.0])
    return 0.05 / 2.0 * np.sqrt(hinge @ np.linalg.solve(M, hinge) / 5.0)


def test_a_damping_ratio_in_orbit_by_a_mass(tmp_path):
    """Gravity about an origin acts on no body by its displacement at rest, and has no elements."""
    (path := tmp_path / "panel.toml").write_text(PANEL)
    found = sensitivities(path, RATIO, ["bodies.panel.mass"])
    assert found.values[0] == pytest.approx(ratio_of_panel(2.0), rel=1e-6)
    slope = (ratio_of_panel(2.001) - ratio_of_panel(1.999)) / 0.002
    assert found.derivatives[0, 0] == pytest.approx(slope, rel=1e-6)


GYRO = """
title = "A gyro on two cardan joints whose springs are strained at the start"
[bodies.arm]
mass = 1.5
inertia = 0.4
center_of_mass = [0.1, -0.2, 0.05]
[bodies.mount]
mass = 1.6
inertia = 0.4
center_of_mass = [0.2, 0.15, 0]
[joints.shoulder]
kind = "universal"
first = { body = "ground", axis = [0, 0, 1], reference = [1, 0, 0] }
second = { body = "arm", at = [0.25, 0.15, 0.3], axis = [1, 0, 0], reference = [0, 1, 0] }
[joints.elbow]
kind = "universal"
first = { body = "arm", at = [-0.3, -0.2, 0.3], axis = [0, 1, 0.5], reference = [1, 0, 0] }
second = { body = "mount", at = [-0.2, -0.3, 0.25], axis = [1, 0, 0], reference = [0, 1, 0] }
[springs.s1]
kind = "joint"
joint = "shoulder"
coordinate = "first_angle"
stiffness = 35.0
damping = 0.05
[springs.s2]
kind = "joint"
joint = "shoulder"
coordinate = "second_angle"
stiffness = 35.0
damping = 0.06
[springs.e1]
kind = "joint"
joint = "elbow"
coordinate = "first_angle"
stiffness = 34.0
damping = 0.17
free = 0.3
[springs.e2]
kind = "joint"
joint = "elbow"
coordinate = "second_angle"
stiffness = 31.0
damping = 0.14
free = -0.3
[wheels.gyro]
kind = "control_moment"
body = "mount"
axis = [0, 0, 1]
spin_inertia = 0.05
speed = 50.0
gimbal_axis = [1, 0, 0]
gimbal_mass = 0.5
gimbal_inertia = [0.05, 0.06, 0.07]
[run]
duration = 1.0
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_a_damping_ratio_beside_a_free_gimbal_of_strained_springs(tmp_path):
    """Springs that are strained at the start have no symmetric stiffness: shapes keep what they have of the gimbal."""

    def ratio(mass):
        (path := tmp_path / f"{mass}.toml").write_text(GYRO.replace("mass = 1.6", f"mass = {mass}"))
        return femb.modes(path, 2, damped=True).damping[0]

    (path := tmp_path / "gyro.toml").write_text(GYRO)
    found = sensitivities(path, RATIO, ["bodies.mount.mass"])
    slope = (ratio(1.601) - ratio(1.599)) / 0.002
    assert found.derivatives[0, 0] == pytest.approx(slope, rel=1e-6)


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_a_damped_shape_beside_a_free_gimbal_moves_by_no_moment_about_it(tmp_path):
    """About the axis of the gimbal only the gyro turns it: the power of all forces of the mode on it is zero."""
    (path := tmp_path / "gyro.toml").write_text(GYRO)
    found = solution(femb.load_case(path), 2, damped=True)
    motion, free = found.motion, found.free.shapes
    for value, shape in zip(found.eigenvalues, found.shapes.T, strict=True):
        inertia, drag = value**2 * motion.momenta(shape), value * motion.damping_times(shape)
        terms = np.array([free.T @ each for each in (inertia, drag, motion.times(motion.stiffness, shape))])
        assert np.all(np.abs(terms.sum(axis=0)) <= 1e-9 * np.abs(terms).max())


def square(moment=4e-9):
    """A cantilever of a square section, whose axes are turned by 0.6 rad; one of its moments."""
    model = femb.Model("square")
    model.add(femb.Section("s", 1e-4, (moment, 4e-9), 6e-9, 2700.0, 7e10, 2.7e10))
    start = femb.Attachment("ground", direction=(1.0, 0.0, 0.0), up=(0.0, np.sin(0.6), np.cos(0.6)))
    model.add(femb.Beam("b", "s", length=2.0, elements=2, start=start))
    return model


def test_of_two_equal_frequencies_a_moment_of_inertia_raises_one():
    """f is as sqrt(I): f/(2 I) of the second, nothing of the first."""
    outputs = {f"f{k}": {"kind": "natural_frequency", "mode": k} for k in (1, 2)}
    found = sensitivities(square, outputs, ["moment"])
    slope = found.values[0] / (2.0 * 4e-9)
    np.testing.assert_allclose(found.derivatives[:, 0], [0.0, slope], rtol=2e-3, atol=2e-3 * slope)

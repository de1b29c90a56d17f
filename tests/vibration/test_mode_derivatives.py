"""Derivatives of frequencies and damping ratios of modes, where few elements or none have matrices of their own."""

import numpy as np
import pytest

from femb.study.sensitivity import sensitivities

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

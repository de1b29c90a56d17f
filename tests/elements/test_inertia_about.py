"""Inertia given about another point: Steiner's theorem, and what no body has."""

import dataclasses

import numpy as np
import pytest

import femb

BAR = {"mass": 2.0, "center_of_mass": (0.5, 0.0, 0.0)}  # a thin bar of 1 m along x


def test_a_bar_about_its_end():
    end = femb.RigidBody("bar", inertia=(1e-3, 2.0 / 3.0, 2.0 / 3.0), inertia_about=(0, 0, 0), **BAR)
    np.testing.assert_allclose(end.inertia, np.diag([1e-3, 1.0 / 6.0, 1.0 / 6.0]), rtol=1e-14, atol=1e-15)
    again = dataclasses.replace(end, mass=2.0)
    np.testing.assert_array_equal(again.inertia, end.inertia)


def test_about_a_point_in_space():
    """The sum over eight points of mass, about any point."""
    rng = np.random.default_rng(1)
    points, about = rng.normal(size=(8, 3)), rng.normal(size=3)

    def inertia(point):
        return sum((d @ d) * np.eye(3) - np.outer(d, d) for d in points - point)

    body = femb.RigidBody(
        "cloud", mass=8.0, inertia=inertia(about), center_of_mass=points.mean(axis=0), inertia_about=about
    )
    np.testing.assert_allclose(body.inertia, inertia(points.mean(axis=0)), rtol=1e-12, atol=1e-12)


def test_too_small_about_the_mass_centre():
    with pytest.raises(femb.ModelError, match="about the mass centre: all must be greater than 0"):
        femb.RigidBody("bar", inertia=0.1, inertia_about=(0, 0, 0), **BAR)

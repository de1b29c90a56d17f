"""Gravity of an oblate body, and paths about it: derivatives, Kepler's motion, integration by scipy, splines."""

import numpy as np
import pytest
from models import refuses
from scipy.integrate import solve_ivp

from femb.numerics import orbits
from femb.numerics.paths import Central, DisturbedPath, GivenPath, KeplerPath, keeping

MU, RADIUS, J2 = 3.986004418e14, 6378137.0, 1.08262668e-3
POLE = np.array([0.36, 0.48, 0.8])
EARTH = Central(MU, 1.5 * J2 * MU * RADIUS**2, POLE)
# an oblateness that is none in any digit: a path by collocation
ROUND = Central(MU, 1e-30)


def start(eccentricity, periapsis=7e6):
    return orbits.of_elements(MU, periapsis / (1.0 - eccentricity), eccentricity, 0.9, 1.0, 2.0, 0.3)


def potential(position):
    """Of the central body and its second zonal harmonic, by its definition."""
    r = np.linalg.norm(position)
    sine = position @ POLE / r
    return MU / r * (1.0 - J2 * (RADIUS / r) ** 2 * 0.5 * (3.0 * sine**2 - 1.0))


def test_gravity_is_the_slope_of_the_potential_and_has_its_own():
    at, h = np.array([3e6, -5e6, 4e6]), 10.0
    ends = [(at + h * axis, at - h * axis) for axis in np.eye(3)]
    slope = [(potential(a) - potential(b)) / (2.0 * h) for a, b in ends]
    # of oblateness alone, beside a part of 8 m/s2
    np.testing.assert_allclose(EARTH.gravity(at), slope, rtol=0.0, atol=1e-7)
    assert np.linalg.norm(EARTH.gravity(at) - ROUND.gravity(at)) > 5e-3
    by_place = np.stack([(EARTH.gravity(a) - EARTH.gravity(b)) / (2.0 * h) for a, b in ends], axis=1)
    np.testing.assert_allclose(EARTH.gradient(at), by_place, rtol=0.0, atol=1e-15)
    both = Central(np.array([MU, MU]), np.array([0.0, EARTH.oblate]), np.stack([POLE, POLE]))
    for k, one in enumerate((Central(MU), EARTH)):
        np.testing.assert_allclose(both.gradient(np.stack([at, at]))[k], one.gradient(at), rtol=1e-15)
    point = np.array([100.0, -2000.0, 300.0])
    np.testing.assert_allclose(
        EARTH.tide(at, point), EARTH.gravity(at + point) - EARTH.gravity(at), rtol=0.0, atol=1e-14
    )


@pytest.mark.parametrize("eccentricity", [0.0, 0.6, 0.95])
def test_collocation_is_keplers_motion_about_a_round_body(eccentricity):
    """Through several periapses, forward and back, in any order of instants."""
    kepler, path = KeplerPath(MU, *start(eccentricity)), DisturbedPath(ROUND, *start(eccentricity))
    period = orbits.period(MU, *start(eccentricity))
    for t in (2.3 * period, 0.0, 0.37 * period, -0.6 * period):
        for found, wanted, tolerance in zip(path(t), kepler(t), (1e-4, 1e-7, 1e-10), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance)
    late = DisturbedPath(ROUND, *start(eccentricity))
    np.testing.assert_array_equal(late(0.37 * period)[0], path(0.37 * period)[0])


def test_a_path_about_an_oblate_body_is_that_of_another_integrator():
    path, end = DisturbedPath(EARTH, *start(0.1)), 20000.0
    found = solve_ivp(
        lambda t, y: np.concatenate([y[3:], EARTH.gravity(y[:3])]), (0.0, end), np.concatenate(start(0.1)),
        method="DOP853", rtol=1e-13, atol=1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(path(end)[0], found.y[:3, -1], rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(path(end)[1], found.y[3:, -1], rtol=0.0, atol=1e-7)


def test_the_plane_turns_by_the_closed_form():
    """Of first order: the rate of the node is -3/2 n J2 (R/a)^2 cos i, in the mean over revolutions."""
    axis, inclination = 7.2e6, 1.2
    central = Central(MU, EARTH.oblate)
    path = DisturbedPath(central, *orbits.of_elements(MU, axis, 0.0, inclination, 0.0, 0.0, 0.0))
    rate = np.sqrt(MU / axis**3)
    momenta = [np.cross(*path(t)[:2]) for t in 2.0 * np.pi / rate * np.array([0.0, 10.0])]
    nodes = [np.arctan2(h[0], -h[1]) for h in momenta]
    wanted = -1.5 * J2 * (RADIUS / axis) ** 2 * np.cos(inclination) * 20.0 * np.pi
    np.testing.assert_allclose(nodes[1] - nodes[0], wanted, rtol=5.0 * J2)


def test_a_spline_through_points():
    """Of degree 5: the error of a value falls by 2^6, of its acceleration by 2^4, in the middle; it ends with them."""
    path, errors = KeplerPath(MU, *start(0.05)), []
    for step in (120.0, 60.0):
        times = np.arange(0.0, 4801.0, step)
        given = keeping(GivenPath(times, np.array([path(t)[0] for t in times])))
        at = 2400.0 + 0.37 * step
        errors.append([np.linalg.norm(a - b) for a, b in zip(given(at), path(at), strict=True)])
        np.testing.assert_allclose(given(4800.0)[0], path(4800.0)[0], rtol=0.0, atol=1e-8)
        for t in (-1e-3, 4800.001):
            refuses(r"but the table is from 0 to 4800 s", given, t, error=ValueError)
    assert errors[0][0] / errors[1][0] == pytest.approx(64.0, rel=0.2)
    assert errors[0][2] / errors[1][2] == pytest.approx(16.0, rel=0.2)
    assert errors[1][2] < 1e-5

"""Kepler orbits: invariants, the differential equation, and the way back."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from femb.numerics import orbits as kepler

MU = 3.986004418e14
START = np.array([7e6, 1e5, -2e5])
ORBITS = {
    "circle": np.array([0.0, 7.5e3, 0.0]),
    "ellipse": np.array([300.0, 9.2e3, 1e3]),
    "fall": np.array([-200.0, 900.0, 100.0]),
    "parabola": np.sqrt(2.0 * MU / np.linalg.norm(START)) * np.array([0.0, 0.6, 0.8]),
    "hyperbola": np.array([-3e3, 1.2e4, 100.0]),
}


@pytest.mark.parametrize("name", ORBITS)
def test_energy_angular_momentum_and_return(name):
    velocity = ORBITS[name]
    for t in (1e-3, 1.0, 500.0, 5e3, -3e3, 4e4):
        at, speed = kepler.motion(MU, START, velocity, t)
        distance = np.linalg.norm(at)
        energy = 0.5 * speed @ speed - MU / distance - 0.5 * velocity @ velocity + MU / np.linalg.norm(START)
        assert abs(energy) < 1e-13 * MU / min(distance, 7e6)
        np.testing.assert_allclose(
            np.cross(at, speed), np.cross(START, velocity), rtol=0.0, atol=3e-13 * distance * np.linalg.norm(speed)
        )
        back = kepler.motion(MU, at, speed, -t)[0]
        np.testing.assert_allclose(back, START, rtol=0.0, atol=2e-12 * (7e6 + abs(t) * np.linalg.norm(speed)))


@pytest.mark.parametrize("name", ORBITS)
def test_against_integration(name):
    y0 = np.concatenate([START, ORBITS[name]])

    def rates(t, y):
        return np.concatenate([y[3:], -MU * y[:3] / np.linalg.norm(y[:3]) ** 3])

    wanted = solve_ivp(rates, (0.0, 600.0), y0, method="DOP853", rtol=1e-13, atol=1e-6).y[:, -1]
    at, speed = kepler.motion(MU, START, ORBITS[name], 600.0)
    np.testing.assert_allclose(at, wanted[:3], rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(speed, wanted[3:], rtol=0.0, atol=1e-7)


def test_period():
    period = kepler.period(MU, START, ORBITS["ellipse"])
    np.testing.assert_allclose(kepler.motion(MU, START, ORBITS["ellipse"], period)[0], START, rtol=0.0, atol=1e-6)
    assert kepler.period(MU, START, ORBITS["hyperbola"]) == np.inf

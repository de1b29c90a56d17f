"""The limit loads of Lee's frame by shooting with the exact rod, independent of femb's elements."""

import importlib.util

import numpy as np
import pytest
from checkout import ROOT
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve, minimize_scalar

AXIAL, BENDING, LEG = 4320.0, 1440.0, 120.0
# Of the unknowns angle at the foot (rad), force of the left leg along x and y, and load (kN): the length of the path.
WEIGHTS = np.array([3.0, 1.0, 1.0, 1.0])
STEP = 0.05


def rates(s, y, force):
    """Of place, angle and moment along an extensible rod without shear, under a constant force."""
    c, n = np.cos(y[2]), np.sin(y[2])
    stretch = 1.0 + (force[0] * c + force[1] * n) / AXIAL
    return [stretch * c, stretch * n, y[3] / BENDING, -stretch * (force[1] * c - force[0] * n)]


def misfit(unknowns):
    """Of the hinge at the end of the horizontal leg: place (2,) and moment."""
    angle, *force, load = unknowns
    y, force = np.array([0.0, 0.0, 0.5 * np.pi + angle, 0.0]), np.array(force)
    for length, turn, added in ((LEG, -0.5 * np.pi, 0.0), (0.2 * LEG, 0.0, load), (0.8 * LEG, 0.0, 0.0)):
        y = solve_ivp(rates, (0.0, length), y, "DOP853", args=(force,), rtol=1e-12, atol=1e-12).y[:, -1]
        y[2] += turn
        force += (0.0, added)
    return y[0] - LEG, y[1] - LEG, 0.1 * y[3]


def along(start, direction, distance):
    """The state of the path in the plane across a direction, so far from a state."""

    def equations(z):
        return [*misfit(z), 50.0 * ((z - start) * WEIGHTS @ direction - distance)]

    found, details, *_ = fsolve(equations, start + distance * direction / WEIGHTS, xtol=1e-12, full_output=True)
    assert np.max(np.abs(details["fvec"])) < 1e-6
    return found


def direction_of(a, b):
    difference = (b - a) * WEIGHTS
    return difference / np.linalg.norm(difference)


def limit_loads():
    states = [np.zeros(4), fsolve(lambda z: [*misfit(z), z[3] - 0.05], [0.0, 0.0, -0.02, 0.05], xtol=1e-12)]
    found = []
    while len(found) < 2:
        states.append(along(states[-1], direction_of(states[-2], states[-1]), STEP))
        a, b, c = states[-3:]
        if (b[3] - a[3]) * (c[3] - b[3]) < 0.0:
            sign, direction = np.sign(b[3] - a[3]), direction_of(a, c)

            def height(distance, start=b, direction=direction, sign=sign):
                return -sign * along(start, direction, distance)[3]

            found.append(-sign * minimize_scalar(height, bracket=(-STEP, 0.0, STEP), tol=1e-7).fun)
    return found


@pytest.mark.slow
def test_limit_loads_by_shooting():
    spec = importlib.util.spec_from_file_location("validation_statics", ROOT / "docs" / "validation_statics.py")
    statics = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(statics)
    np.testing.assert_allclose(limit_loads(), [statics.LEE["largest"], statics.LEE["least"]], rtol=1e-9)

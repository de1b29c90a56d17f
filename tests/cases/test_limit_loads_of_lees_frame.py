"""The limit loads of Lee's frame by shooting with the exact rod, independent of femb's elements."""

import importlib.util

import numba
import numpy as np
import pytest
from checkout import ROOT
from scipy.optimize import fsolve, minimize_scalar

AXIAL, BENDING, LEG = 4320.0, 1440.0, 120.0
# Of the unknowns angle at the foot (rad), force of the left leg along x and y, and load (kN): the length of the path.
WEIGHTS = np.array([3.0, 1.0, 1.0, 1.0])
STEP = 0.05


@numba.njit
def end_of(x, y, angle, moment, length, force, steps=1000):
    """Place, angle and moment at the end of an extensible rod without shear, under a constant force; by equal steps of
    fourth order, of which 500 give the same limit loads to ten digits."""
    h = length / steps
    for _ in range(steps):
        sums, a, m = np.zeros(4), angle, moment
        for weight, part in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)):
            c, n = np.cos(a), np.sin(a)
            stretch = 1.0 + (force[0] * c + force[1] * n) / AXIAL
            bend, turn = m / BENDING, -stretch * (force[1] * c - force[0] * n)
            sums += weight / 6.0 * np.array([stretch * c, stretch * n, bend, turn])
            a, m = angle + part * h * bend, moment + part * h * turn
        x, y, angle, moment = x + h * sums[0], y + h * sums[1], angle + h * sums[2], moment + h * sums[3]
    return x, y, angle, moment


def misfit(unknowns):
    """Of the hinge at the end of the horizontal leg: place (2,) and moment."""
    angle, *force, load = unknowns
    at, force = (0.0, 0.0, 0.5 * np.pi + angle, 0.0), np.array(force)
    for length, turn, added in ((LEG, -0.5 * np.pi, 0.0), (0.2 * LEG, 0.0, load), (0.8 * LEG, 0.0, 0.0)):
        x, y, angle, moment = end_of(*at, length, force)
        at = x, y, angle + turn, moment
        force += (0.0, added)
    return at[0] - LEG, at[1] - LEG, 0.1 * at[3]


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

"""Optimisation by moving asymptotes: the numbers of its paper, and a closed form of many variables."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from femb.numerics.moving_asymptotes import moving_asymptotes


def least(cost, within, slopes, start, low, high):
    """Of a linear cost, the optimum with within(x) >= 0 between bounds, and the number of designs."""
    size, designs = high - low, set()

    def at(z):
        designs.add(z.tobytes())
        return low + z * size

    found = minimize(
        lambda z: float(cost @ at(z)), (start - low) / size, jac=lambda z: cost * size, method=moving_asymptotes,
        bounds=Bounds(np.zeros(len(cost)), np.ones(len(cost))), options={"tolerance": 1e-9},
        constraints={"fun": lambda z: within(at(z)), "jac": lambda z: slopes(at(z)) * size},
    )  # fmt: skip
    return at(found.x), len(designs)


def test_the_cantilever_of_svanberg():
    """Int. J. Numer. Meth. Engng. 24 (1987) 359: five sections with the least weight under a deflection."""
    c = np.array([61.0, 37.0, 19.0, 7.0, 1.0])
    cost, low, high = np.full(5, 0.0624), np.full(5, 1.0), np.full(5, 10.0)
    x, designs = least(
        cost, lambda x: np.array([1.0 - c @ x**-3.0]), lambda x: (3.0 * c * x**-4.0)[None], np.full(5, 5.0), low, high
    )
    np.testing.assert_allclose(x, [6.016, 5.309, 4.494, 3.502, 2.153], atol=2e-3)
    assert cost @ x == pytest.approx(1.340, abs=5e-4)
    assert c @ x**-3.0 == pytest.approx(1.0, abs=1e-7)
    assert designs <= 40


def test_two_hundred_variables_with_a_bound_that_holds():
    """Least sum x with sum c/x <= 1: x = sqrt(c) s, s = sum sqrt(c) of the free ones over what the others leave."""
    c = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    low, high = np.full(200, 1.0), np.full(200, 1e3)
    high[:20] = 150.0
    x, designs = least(
        np.ones(200), lambda x: np.array([1.0 - c @ (1.0 / x)]), lambda x: (c / x**2)[None], 0.4 * high, low, high
    )
    held = np.arange(200) < 20
    s = np.sum(np.sqrt(c[~held])) / (1.0 - np.sum(c[held] / 150.0))
    np.testing.assert_allclose(x, np.where(held, 150.0, np.sqrt(c) * s), rtol=2e-4)
    assert np.sum(x) == pytest.approx(20 * 150.0 + s * np.sum(np.sqrt(c[~held])), rel=1e-7)
    assert designs <= 60

"""Newton's iteration of the analyses: order of convergence, its limit on rotations, the line search, why it stops."""

import numpy as np
import pytest

from femb.numerics.newton import LARGEST_ROTATION, Stop, largest, newton


def solve(x, f, slope, **options):
    """Newton's iteration for f(x) = 0 componentwise, with all iterates."""
    path = [x]

    def retract(x, c, part):
        path.append(x + part * c)
        return path[-1]

    words = {"iterations": 30, "residual_size": largest, **options}
    end = newton(x, f, lambda it: -it.residual / slope(it.x), retract, lambda it: it.within(1e-14, 1e-13), **words)
    return end, np.array(path)


def test_order_of_convergence():
    """sqrt(2): the number of correct digits doubles; a state is converged before a step, and counted so."""
    end, path = solve(np.array([1.5]), lambda x: x * x - 2.0, lambda x: 2.0 * x)
    errors = np.abs(path[:, 0] - np.sqrt(2.0))
    # e' = e^2 / (2 x)
    np.testing.assert_allclose(errors[1:3], errors[:2] ** 2 / (2.0 * path[:2, 0]), rtol=1e-3)
    assert end.converged
    assert end.count == len(path) - 1 == 4
    assert end.x[0] == pytest.approx(np.sqrt(2.0), abs=1e-15)


def test_steps_are_judged_too():
    """By the size of its last step, which it still makes; the residual is that of the state before."""
    end = newton(
        np.array([1.5]), lambda x: x * x - 2.0, lambda it: -it.residual / (2.0 * it.x), lambda x, c, part: x + part * c,
        lambda it: it.within(1e-5), iterations=30, step_size=lambda x, c, part, new: largest(new - x),
    )  # fmt: skip
    assert end.converged
    assert end.size < 1e-5
    assert abs(end.x[0] - np.sqrt(2.0)) < end.size**2
    assert largest(end.residual) > largest(end.x**2 - 2.0)


def test_rotations_are_limited():
    """One component of two is a rotation; both are shortened alike, as long as it is too large."""
    goal = np.array([1.0, 10.0])
    end, path = solve(np.zeros(2), lambda x: x - goal, np.ones_like, rotations=np.array([0]))
    steps = np.diff(path, axis=0)
    np.testing.assert_allclose(steps[:3, 0], LARGEST_ROTATION)
    np.testing.assert_allclose(steps[:, 1], 10.0 * steps[:, 0])
    assert end.count == 4
    np.testing.assert_allclose(end.x, goal)


def test_line_search():
    """arctan: from afar whole corrections diverge, parts of them converge."""
    words = {"line_search": lambda r: float(np.linalg.norm(r))}
    f, slope = np.arctan, lambda x: 1.0 / (1.0 + x * x)
    far, _ = solve(np.array([20.0]), f, slope, iterations=4)
    assert not far.converged
    end, _ = solve(np.array([20.0]), f, slope, **words)
    assert end.converged
    assert abs(end.x[0]) < 1e-13
    # without a zero there is nothing to go to
    end, _ = solve(np.array([0.1]), lambda x: x * x + 1.0, lambda x: 2.0 * x, **words)
    assert end.stopped is Stop.NO_DECREASE


def test_why_it_stops():
    endless, path = solve(np.array([2.0]), lambda x: x, lambda x: -np.ones(1), iterations=5)
    assert endless.stopped is Stop.ITERATIONS
    assert endless.count == len(path) - 1 == 5
    assert endless.x[0] == 2.0**6
    with np.errstate(invalid="ignore", divide="ignore"):
        for start in (0.0, np.nan):
            assert solve(np.array([start]), lambda x: x * x - 2.0, lambda x: 2.0 * x)[0].stopped is Stop.NOT_FINITE


def test_damping_is_asked_for_again():
    """A correction may refuse; the state stays until it gives one."""
    asked = []

    def correction(it):
        asked.append(float(it.x[0]))
        return None if len(asked) < 3 else -it.residual

    end = newton(
        np.array([1.0]), lambda x: x, correction, lambda x, c, part: x + c, lambda it: it.within(0.0),
        iterations=9, residual_size=largest,
    )  # fmt: skip
    assert asked == [1.0, 1.0, 1.0]
    assert end.converged
    assert end.count == 3

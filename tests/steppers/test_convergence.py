"""When an iteration is said to have converged: corrections of a geometric series, whose rest is known."""

import itertools

import numpy as np
import pytest

from femb.steppers import step_kernels
from femb.steppers.step_program import Convergence

TOLERANCE = 1e-3


def judged(ratio, **words):
    """Number of corrections 1, r, r^2, ... after which an iteration ends, and whether it has converged."""
    limits, memory = np.array(Convergence(TOLERANCE, **{"iterations": float("inf"), **words})), np.zeros(5)
    for k in itertools.count():
        outcome = step_kernels.judged(limits, memory, ratio**k)
        if outcome != step_kernels.GOES_ON:
            return k + 1, outcome == step_kernels.CONVERGED


@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.6, 0.9])
def test_it_ends_where_the_rest_of_the_series_is_within_the_tolerance(ratio):
    count, converged = judged(ratio)
    rests = [ratio**k / (1.0 - ratio) for k in (count - 1, count)]
    assert converged
    assert rests[1] <= TOLERANCE < rests[0]


@pytest.mark.parametrize("ratio", [0.3, 0.6, 0.9])
def test_it_fails_at_once_where_the_corrections_that_are_left_cannot_do(ratio):
    """The rest with the last correction, r^(n - 1) / (1 - r), decides at the second one."""
    most = next(n for n in itertools.count(2) if ratio ** (n - 1) / (1.0 - ratio) <= TOLERANCE)
    assert judged(ratio, iterations=most)[1]
    assert judged(ratio, iterations=most - 1) == (2, False)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_corrections_that_do_not_decrease_do_not_converge(ratio):
    assert judged(ratio) == (2, False)


def test_small_corrections_with_matrices_of_another_contact_must_fall_by_half():
    """They are small because the matrices are too stiff, and say nothing of the error."""
    for ratio, converged in ((0.3, True), (0.6, False)):
        assert judged(ratio, doubted=1.0)[1] is converged
    assert judged(0.6, doubted=0.1)[1] is False


def test_corrections_of_rounding_tell_nothing_of_matrices():
    """An iteration whose start is its solution ends at once, also with matrices that may be of another contact."""
    memory = np.zeros(5)
    limits = np.array(Convergence(TOLERANCE, float("inf"), doubted=1e-6))
    assert step_kernels.judged(limits, memory, 1e-40) == step_kernels.CONVERGED

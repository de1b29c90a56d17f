"""Reduction over ranges: section 4 of the theory's numbers, of a hub with a beam of twenty cubic elements."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from femb.linear.modal_form import SecondOrderModel
from femb.robust.reduction import shapes_of

ELEMENTS, LENGTH, DENSITY, EI = 20, 10.0, 2.0, 4000.0


def model_at(stiffness, spring, tip):
    """A hub of 300 kg m2 on one turn, a beam rooted at 1 m by a spring, by three normalised parameters."""
    h, n = LENGTH / ELEMENTS, 2 * ELEMENTS + 2
    k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                  [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]) / h**3  # fmt: skip
    m = np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                  [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]) * DENSITY * h / 420  # fmt: skip
    K, M = np.zeros((2, n, n))
    for e in range(ELEMENTS):
        part = slice(2 * e, 2 * e + 4)
        K[part, part] += EI * (1.0 + 0.3 * stiffness * (4 <= e < 8)) * k
        M[part, part] += m
    M[-2, -2] += 1.0 + tip
    # w = x theta + relative deflection, of which the root keeps its turn alone
    rigid = np.array([[1.0 + h * e, 1.0][i] for e in range(ELEMENTS + 1) for i in range(2)])
    T = np.column_stack([rigid, np.eye(n)[:, 1:]])
    K[1, 1] += 1e5 * (1.0 + 0.5 * spring)
    K = np.pad(K[1:, 1:], ((1, 0), (1, 0)))
    M = T.T @ M @ T
    M[0, 0] += 300.0
    F, rows = np.eye(n)[:, :1], np.eye(n)[:1]
    names = tuple(map(str, range(n)))
    return SecondOrderModel(names, M, 0.0 * M, K, F, rows, 0.0 * rows, 0.0 * rows, np.zeros((1, 1)))


def frequencies(model):
    return np.sqrt(eigh(model.stiffness, model.mass, eigvals_only=True)[1:4])


def errors(shapes):
    """The largest relative ones of three frequencies at corners and random points."""
    rng = np.random.default_rng(2)
    points = [*np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T, *rng.uniform(-1, 1, (40, 3))]
    names = tuple(map(str, range(shapes.shape[1])))
    pairs = [(frequencies(model_at(*d).along(shapes, names)), frequencies(model_at(*d))) for d in points]
    return np.max([np.abs(found / wanted - 1.0) for found, wanted in pairs], axis=0)


def test_modes_with_their_derivatives_stay_valid_and_more_modes_do_not():
    middle = model_at(0.0, 0.0, 0.0)
    assert frequencies(middle) == pytest.approx([2.73035921, 9.62276821, 25.84579305], rel=1e-8)
    beside = [model_at(*d) for d in np.eye(3)]
    shapes, band = shapes_of([(middle, beside)], 3)
    assert band == pytest.approx(25.84579305, rel=1e-8)
    assert shapes.shape[1] <= 14
    assert np.max(errors(shapes)) < 1e-5
    nominal, _ = shapes_of([(middle, [])], 20)
    assert nominal.shape[1] > 20
    assert np.min(errors(nominal)) > 1e-3


def test_modes_that_a_rate_alone_shows_are_kept():
    middle = model_at(0.0, 0.0, 0.0)
    of_rates = replace(middle, forces=0.0 * middle.forces, rate=middle.position, position=0.0 * middle.position)
    assert shapes_of([(of_rates, [])], 3)[1] == pytest.approx(25.84579305, rel=1e-8)

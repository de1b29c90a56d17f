"""Designs: what every run of a study sets."""

import numpy as np
import pytest
from scipy import stats

from femb.study.variables import Lognormal, Normal, Range, Uniform, Values, rows_of, saltelli, unit_points


def test_a_grid_counts_like_digits_the_last_variable_fastest():
    rows = rows_of("grid", [Values(name="a", values=[1, 2]), Range(name="b", first=0, last=1, count=3)], None, 0)
    assert rows == [(1, 0.0), (1, 0.5), (1, 1.0), (2, 0.0), (2, 0.5), (2, 1.0)]


def test_a_list_takes_values_side_by_side():
    words = Values(name="b", values=["x", [1, 0, 0], True])
    spaced = Range(name="a", first=1, last=100, count=3, spacing="logarithmic")
    assert rows_of("list", [spaced, words], None, 0) == [
        (pytest.approx(1.0), "x"),
        (pytest.approx(10.0), [1, 0, 0]),
        (pytest.approx(100.0), True),
    ]


def test_a_latin_hypercube_has_one_point_in_every_stratum_of_every_variable():
    points = unit_points("latin-hypercube", 3, 40, 5)
    for column in points.T:
        assert sorted(np.floor(40 * column)) == list(range(40))


def test_a_sobol_sequence_is_balanced():
    """Every box of the volume 1/64 whose sides are powers of two has one of 64 points."""
    points = unit_points("sobol", 2, 64, 2)
    for bits in range(7):
        boxes = {(int(x * 2**bits), int(y * 2 ** (6 - bits))) for x, y in points}
        assert len(boxes) == 64


@pytest.mark.parametrize("design", ["random", "latin-hypercube", "sobol", "saltelli"])
def test_the_seed_decides_the_points(design):
    variables = [Normal(name="a", mean=0, standard_deviation=1), Uniform(name="b", low=2, high=3)]
    rows = rows_of(design, variables, 8, 1)
    assert rows == rows_of(design, variables, 8, 1)
    assert rows != rows_of(design, variables, 8, 2)
    assert len(rows) == (32 if design == "saltelli" else 8)


def test_saltelli_samples_exchange_one_variable_at_a_time():
    points = np.random.default_rng(0).random((5, 6))
    A, B, *mixed = saltelli(points).reshape(5, 5, 3)
    assert len(mixed) == 3
    for k, each in enumerate(mixed):
        np.testing.assert_array_equal(each[:, k], B[:, k])
        np.testing.assert_array_equal(np.delete(each, k, axis=1), np.delete(A, k, axis=1))


def test_quantiles_are_those_of_the_distributions():
    u = np.linspace(0.01, 0.99, 41)
    known = {
        Uniform(name="a", low=-1, high=3): stats.uniform(-1, 4),
        Normal(name="a", mean=5, standard_deviation=2): stats.norm(5, 2),
        Normal(name="a", mean=5, standard_deviation=2, low=4, high=9): stats.truncnorm(-0.5, 2, 5, 2),
        Normal(name="a", mean=5, standard_deviation=2, high=4): stats.truncnorm(-np.inf, -0.5, 5, 2),
    }
    for variable, distribution in known.items():
        np.testing.assert_allclose(variable.quantile(u), distribution.ppf(u), rtol=1e-12, err_msg=str(variable))


def test_a_lognormal_variable_has_the_mean_and_the_deviation_given():
    u = (np.arange(200_000) + 0.5) / 200_000
    values = np.array(Lognormal(name="a", mean=3.0, standard_deviation=0.6).quantile(u))
    assert np.mean(values) == pytest.approx(3.0, rel=1e-4)
    assert np.std(values) == pytest.approx(0.6, rel=1e-3)
    assert stats.skew(np.log(values)) == pytest.approx(0.0, abs=1e-3)
    bounded = Lognormal(name="a", mean=3.0, standard_deviation=0.6, low=2.5).quantile(u)
    assert 2.5 < min(bounded) < 2.501


def test_values_are_equally_probable():
    drawn = Values(name="a", values=["x", "y", "z"]).quantile((np.arange(300) + 0.5) / 300)
    assert [drawn.count(word) for word in "xyz"] == [100, 100, 100]

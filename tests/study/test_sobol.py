"""Sobol indices of the Ishigami function, in closed form and by scipy; with failed runs.

Source: T. Ishigami and T. Homma, An importance quantification technique in uncertainty analysis, ISUMA 1990.
"""

import numpy as np
import pytest
import scipy
from models import refuses

from femb import ResultError, Sweep, sobol_indices
from femb.study.variables import Uniform, rows_of

NAMES = ("x", "y", "z")
A, B = 7.0, 0.1


def ishigami(x):
    return np.sin(x[0]) + A * np.sin(x[1]) ** 2 + B * x[2] ** 4 * np.sin(x[0])


@pytest.fixture(scope="module")
def table():
    variables = [Uniform(name=name, low=-np.pi, high=np.pi) for name in NAMES]
    x = np.array(rows_of("saltelli", variables, 1024, 4)).T
    columns = {name: column.tolist() for name, column in zip(NAMES, x, strict=True)}
    nothing = np.zeros(x.shape[1], bool)
    return Sweep(columns, {"f": ishigami(x)}, nothing, [""] * x.shape[1], design="saltelli", samples=1024)


def exact():
    first = 0.5 * (1.0 + B * np.pi**4 / 5.0) ** 2
    both = B**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = first + A**2 / 8.0 + both
    return np.array([first, A**2 / 8.0, 0.0]) / variance, np.array([first + both, A**2 / 8.0, both]) / variance


def test_indices_are_those_of_the_function(table):
    found = sobol_indices(table, "f")
    first, total = exact()
    np.testing.assert_allclose(found.first, first, atol=0.03)
    np.testing.assert_allclose(found.total, total, atol=0.03)
    assert np.all(found.first_interval[:, 0] <= found.first)
    assert np.all(found.first <= found.first_interval[:, 1])
    assert np.all(np.diff(found.total_interval) < 0.2)
    assert found.samples == 1024
    for name, row in zip(found.variables, found.table().splitlines()[2:], strict=True):
        k = found.variables.index(name)
        spans = (each[k].tolist() for each in (found.first_interval, found.total_interval))
        texts = [f"{low:.3f} to {high:.3f}" for low, high in spans]
        assert row.split() == f"{name} {found.first[k]:.3f} {texts[0]} {found.total[k]:.3f} {texts[1]}".split()


def test_indices_of_complete_samples_are_those_of_scipy(table):
    values = table["f"].reshape(5, 1, 1024)
    known = scipy.stats.sobol_indices(func={"f_A": values[0], "f_B": values[1], "f_AB": values[2:]}, n=1024)
    found = sobol_indices(table, "f")
    np.testing.assert_allclose(found.first, known.first_order, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.total, known.total_order, rtol=1e-10, atol=1e-12)


def test_samples_with_a_failed_run_are_left_out(table):
    values = table["f"].copy()
    values[[3, 1030, 4000]] = np.nan
    holes = Sweep(table.variables, {"f": values}, np.isnan(values), table.messages, design="saltelli", samples=1024)
    found = sobol_indices(holes, "f")
    assert found.samples == 1021
    np.testing.assert_allclose(found.total, sobol_indices(table, "f").total, atol=0.01)


def test_other_studies_have_no_indices(table):
    with pytest.raises(ResultError, match="need the design 'saltelli', got 'grid'"):
        sobol_indices(Sweep({}, {"f": np.zeros(3)}, np.zeros(3, bool), [""] * 3), "f")
    refuses("no output 'g'", sobol_indices, table, "g", error=ResultError)
    same = Sweep(table.variables, {"f": np.ones(5120)}, table.failed, table.messages, design="saltelli")
    refuses("it is the same in all runs", sobol_indices, same, "f", error=ResultError)

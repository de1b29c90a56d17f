"""Cases of membranes in tension: their frequencies and states beside closed forms."""

import numpy as np
import pytest
from checkout import CASES, ROOT
from oracles.page_tables import is_printed, rows_of
from scipy.optimize import brentq

import femb

PAGES = ROOT / "docs" / "cases"
# Of rollout_blanket: N m2, kg/m, kg/m, kg, m, kg m2 and N.
EI, MU, BLANKET, TIP, LENGTH, BAR = 2 * 6e10 * 2.45e-8, 2 * 7.85e-5 * 1600.0, 1.6, 1.5, 6.0, 1e-3
TENSION = 80.0 / (1.0 + 2.5e9 * 2e-4 * 1.6 / (2 * 6e10 * 7.85e-5))


def column_and_string(f):
    """The determinant of a column under the tension and of the string at its tip, at a frequency (Hz)."""
    w2, a = (2.0 * np.pi * f) ** 2, TENSION / EI
    b = MU * w2 / EI
    p, s = (np.sqrt(sign * 0.5 * a + np.sqrt(0.25 * a * a + b)) for sign in (-1.0, 1.0))
    ch, sh, co, si = np.cosh(p * LENGTH), np.sinh(p * LENGTH), np.cos(s * LENGTH), np.sin(s * LENGTH)
    # deflections without displacement and slope at the root, and their derivatives
    even = np.array([ch - co, p * sh + s * si, p**2 * ch + s**2 * co, p**3 * sh - s**3 * si])
    odd = np.array([sh / p - si / s, ch - co, p * sh + s * si, p**2 * ch + s**2 * co])
    k = np.sqrt(w2 * BLANKET / TENSION)
    rows = [
        [EI * w[2] - BAR * w2 * w[1], EI * w[3] + TENSION * w[1] + (TIP * w2 - TENSION * k / np.tan(k * LENGTH)) * w[0]]
        for w in (even, odd)
    ]
    return np.linalg.det(rows) * np.sin(k * LENGTH)


def frequencies_of_column_and_string(count):
    grid = np.linspace(0.05, 2.0, 400)
    values = [column_and_string(f) for f in grid]
    found = [brentq(column_and_string, *grid[k : k + 2]) for k in range(399) if values[k] * values[k + 1] < 0.0]
    return np.array(found[:count])


def bending(elements):
    """Frequencies of the motions out of the plane that are alike on both booms, hub held."""
    overrides = [f"shells.blanket.elements=[{elements}, {elements // 3}]"]
    found = femb.modes(
        femb.load_case(CASES / "rollout_blanket.toml", overrides).model, 12, held="hub", start="equilibrium"
    )
    shares = found.appendages[0].fractions
    return found.frequencies[np.abs(shares[:, 4]) > 1e-5][:3]


@pytest.mark.slow
def test_blanket_and_booms_vibrate_as_column_and_string():
    exact, found = frequencies_of_column_and_string(3), bending(12)
    assert np.all(found > exact)
    np.testing.assert_allclose(found, exact, rtol=0.013)
    table = list(rows_of(PAGES / "rollout_blanket.md", "Column and string").values())
    for cells, values in zip(table, zip(found, exact, strict=True), strict=True):
        assert is_printed(cells[0], values[0]), (cells, values)
        assert is_printed(cells[2], values[1]), (cells, values)


def test_frequencies_of_the_free_satellite_are_those_of_the_page():
    found = femb.modes(femb.load_case(CASES / "rollout_blanket.toml").model, 5, start="equilibrium").frequencies
    text = (PAGES / "rollout_blanket.md").read_text()
    for value in found[[0, 1, 4]]:
        assert f"{value:.3f}" in text


@pytest.mark.slow
def test_a_finer_blanket_is_nearer():
    found = bending(24)
    for cells, value in zip(rows_of(PAGES / "rollout_blanket.md", "Column and string").values(), found, strict=True):
        assert is_printed(cells[1], value), (cells, value)
    np.testing.assert_allclose(found, frequencies_of_column_and_string(3), rtol=0.004)


@pytest.mark.slow
def test_booms_take_their_share_of_the_tension():
    found = femb.static(femb.load_case(CASES / "rollout_blanket.toml").model).shells["blanket"]
    np.testing.assert_allclose(1.6 * found.membrane_force[0, :, 0], TENSION, rtol=1e-5)


SAILS = ("north_east", "north_west", "south_west", "south_east")


def sail(tension=0.02, elements=4):
    words = [f"shells.{name}.pretension=[{tension}, {tension}, 0]" for name in SAILS]
    words += [f"shells.{name}.elements=[{elements}, {elements}]" for name in SAILS]
    return femb.load_case(CASES / "solar_sail.toml", words).model


@pytest.mark.slow
def test_frequencies_of_a_sail_go_with_the_root_of_its_tension():
    first, second = (femb.modes(sail(N), 8, held="hub", start="equilibrium").frequencies for N in (0.02, 0.04))
    np.testing.assert_allclose(second / first, np.sqrt(2.0), rtol=1e-3)
    # the four membranes are alike
    np.testing.assert_allclose(first.reshape(2, 4), first.reshape(2, 4)[:, :1] * np.ones(4), rtol=1e-3)
    table = list(rows_of(PAGES / "solar_sail.md", "The film at rest").values())
    for k, cells in enumerate(table):
        values = first[4 * k : 4 * k + 4].mean(), second[4 * k : 4 * k + 4].mean()
        assert all(map(is_printed, cells, [*values, values[1] / values[0]])), (cells, values)


@pytest.mark.slow
def test_a_sail_at_rest_carries_no_compression():
    found = femb.static(sail())
    shells = [found.shells[name] for name in SAILS]
    for shell in shells:
        first, second, shear = shell.membrane_force[0].T
        least = 0.5 * (first + second) - np.hypot(0.5 * (first - second), shear)
        assert least.min() > -1e-2 * first.max()
        np.testing.assert_array_equal(np.bincount(shell.wrinkling[0].astype(int)), [8, 8])
    # all on the booms: their tips are pulled in by the corners of two membranes
    pull = [-found.beams[f"{name}_boom"].section_force[0, -1, 0, 0] for name in ("east", "north", "west", "south")]
    np.testing.assert_allclose(pull, pull[0], rtol=1e-3)
    assert pull[0] == pytest.approx(0.0329, rel=2e-3)


@pytest.mark.slow
def test_a_finer_sail_is_softer():
    found = femb.modes(sail(elements=6), 8, held="hub", start="equilibrium").frequencies
    assert is_printed("0.0719", found[:4].mean())
    assert is_printed("0.1034", found[4:].mean())


@pytest.mark.slow
def test_the_manoeuvre_turns_the_sail_as_its_inertia_says():
    from shared_runs import results_of

    found = results_of("solar_sail")
    angle = found.bodies["hub"].euler_angles()[found.time > 19.0, 0]
    inertia = 0.2 + 11.0449
    np.testing.assert_allclose(np.degrees(angle.mean()), np.degrees(0.03 * 15.0 / inertia), rtol=5e-3)

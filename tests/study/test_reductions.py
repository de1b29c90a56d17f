"""Reductions of histories with known results."""

import numpy as np
import pytest

from femb.study.linear_outputs import OUTPUTS

TIME = np.linspace(0.0, 20.0, 2001)


def reduced(kind, time, x, **fields):
    return OUTPUTS[kind](name="output", of="quantity", **fields).reduced(time, x)


def test_means_of_a_sine_over_whole_periods():
    x = 3.0 + 2.0 * np.sin(np.pi * TIME)
    assert reduced("mean", TIME, x) == pytest.approx(3.0, abs=1e-12)
    assert reduced("rms", TIME, x) == pytest.approx(np.sqrt(9.0 + 2.0), rel=1e-6)


def test_means_weigh_uneven_times():
    time = np.array([0.0, 1.0, 1.5, 4.0])
    assert reduced("mean", time, 2.0 * time) == pytest.approx(4.0)


def test_settling_time_of_an_exponential():
    x = 5.0 + 2.0 * np.exp(-0.7 * TIME)
    wanted = np.log(2.0 / 0.1) / 0.7
    assert reduced("settling_time", TIME, x, target=5.0, tolerance=0.1) == pytest.approx(wanted, abs=1e-5)
    assert reduced("settling_time", TIME, x, target=5.0, band=0.05) == pytest.approx(wanted, abs=1e-5)
    assert np.isnan(reduced("settling_time", TIME, x, target=5.0, tolerance=1e-9))
    assert reduced("settling_time", TIME, x, target=5.0, tolerance=3.0) == 0.0
    assert reduced("settling_time", TIME, x, target=5.0, tolerance=0.1, hold=15.0) == pytest.approx(wanted, abs=1e-5)
    assert np.isnan(reduced("settling_time", TIME, x, target=5.0, tolerance=0.1, hold=16.0))


def test_a_vibration_that_ends_in_its_band_has_not_settled():
    x = np.sin(np.pi * TIME / 3.0)  # ends 0.5 s after a peak of magnitude one
    passed = 19.5 + 3.0 / np.pi * np.arccos(0.95)
    assert reduced("settling_time", TIME, x, target=0.0, tolerance=0.95, hold=0.0) == pytest.approx(passed, abs=1e-4)
    assert np.isnan(reduced("settling_time", TIME, x, target=0.0, tolerance=0.95))


def test_a_decaying_vibration_settles_after_its_last_peak_above_the_band():
    x = np.exp(-0.3 * TIME) * np.cos(np.pi * TIME)
    peaks = np.arange(1.0, 20.0)
    last = peaks[np.exp(-0.3 * peaks) > 0.06][-1]
    found = reduced("settling_time", TIME, x, target=0.0, tolerance=0.06)
    assert last < found < last + 0.5
    # until half a period later it may still be on its way through the band
    for end, settles in ((found + 0.9, False), (found + 1.4, True)):
        part = end >= TIME
        assert np.isfinite(reduced("settling_time", TIME[part], x[part], target=0.0, tolerance=0.06)) == settles


@pytest.mark.parametrize("frequency", [0.5, 1.234, 7.7])
def test_first_frequency_of_a_decaying_vibration(frequency):
    x = np.exp(-0.1 * TIME) * np.cos(2 * np.pi * frequency * TIME) + 0.3 * TIME - 2.0
    x += 0.6 * np.cos(2 * np.pi * 3.1 * frequency * TIME + 1.0)
    assert reduced("first_frequency", TIME, x) == pytest.approx(frequency, abs=0.02 / 20.0)


def test_nothing_vibrates_on_a_straight_line():
    assert np.isnan(reduced("first_frequency", TIME, 1.0 + TIME))
    assert reduced("peak_time", TIME, -np.abs(TIME - 3.0)) == 20.0

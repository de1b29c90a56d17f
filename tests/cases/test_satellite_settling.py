"""The study of docs/cases/satellite_settling.md with fewer satellites."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES

from femb import load_case, modes, simulate, sweep
from femb.study.study import read_study

pytestmark = pytest.mark.slow
STUDY = CASES / "studies" / "satellite_settling.toml"


@pytest.fixture(scope="module")
def few():
    return sweep(replace(read_study(STUDY), runs=40), workers=2)


def test_settling_times_are_those_of_the_page(few):
    """Medians and shares of 1000 satellites, within three standard errors of 40."""
    assert not few.failed.any()
    times = np.where(np.isnan(few["settling_time"]), 16.0, few["settling_time"])
    assert np.mean(times > 11.2) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(40))
    assert np.mean(np.isnan(few["settling_time"])) == pytest.approx(0.123, abs=3 * 0.33 / np.sqrt(40))
    assert np.median(few["vibration"]) == pytest.approx(0.0074, rel=0.3)
    # what vibrates more settles later, and what is damped more settles earlier
    assert np.corrcoef(times, np.log(few["vibration"]))[0, 1] > 0.7
    assert np.corrcoef(times, few["damping"])[0, 1] < -0.3


def test_frequencies_are_those_of_a_natural_mode(few):
    """Of each satellite, with the exact modes of its own booms."""
    study = read_study(STUDY)
    keys = [variable.keys for variable in study.variables.values()]
    nominal = {"youngs_modulus": 7.0e10, "shear_modulus": 2.6e10, "damping": 1.5e-3}
    for k in range(0, 40, 8):
        values = [few[name][k] for name in few.variables]
        entries = [
            f"{key}={value * nominal[key.rpartition('.')[2]]!r}"
            for names, value in zip(keys, values, strict=True)
            for key in names
        ]
        case = load_case(CASES / "satellite_settling.toml", entries)
        frequencies = modes(case.model, 4).frequencies
        assert np.min(np.abs(frequencies - few["frequency"][k])) < 0.02
        single = simulate(case.model, case.run).bodies["hub"].angular_velocity[:, 1]
        assert few["vibration"][k] == pytest.approx(np.max(np.abs(single[140:])), rel=1e-9)

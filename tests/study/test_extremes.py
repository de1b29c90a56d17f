"""Derivatives of extreme values of runs are those between output times, which move with the parameters."""

import cmath

import numpy as np
import pytest

import femb
from femb.study.run_outputs import weights_at_peak

MASS, STIFFNESS, DAMPING, RATE = 2.0, 50.0, 1.5, 0.8
BLOCK = f"""
[bodies.block]
mass = {MASS}
inertia = 1.0
[joints.rail]
kind = "prismatic"
first = {{ body = "ground", axis = [1, 0, 0] }}
second = {{ body = "block" }}
rates = [{RATE}]
[springs.s]
kind = "joint"
joint = "rail"
stiffness = {STIFFNESS}
damping = {DAMPING}
[run]
duration = 1.0
rtol = 1e-10
output_interval = 0.05
"""


def first_peak(k, c):
    """The largest way: that of x = v/d exp(-s t) sin(d t), at tan(d t) = d/s."""
    s, w = 0.5 * c / MASS, cmath.sqrt(k / MASS)
    d = cmath.sqrt(w * w - s * s)
    return RATE / w * cmath.exp(-s / d * cmath.atan(d / s))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_peaks_between_output_times(tmp_path, sign):
    case = tmp_path / "block.toml"
    case.write_text(BLOCK.replace(f"rates = [{RATE}]", f"rates = [{sign * RATE}]"))
    of = {"peak": {"kind": "peak", "of": "joints.rail.stroke"}}
    of["top"] = {"kind": "max" if sign > 0.0 else "min", "of": "joints.rail.stroke"}
    found = femb.sensitivities(case, of, ["springs.s.stiffness", "springs.s.damping"])
    step = 1e-30
    exact = [first_peak(STIFFNESS + 1j * step, DAMPING), first_peak(STIFFNESS, DAMPING + 1j * step)]
    exact = np.array([each.imag / step for each in exact])
    # of the polynomial through times of which 25 are in a period; those at the output time beside the peak are 1e-2 off
    np.testing.assert_allclose(found.derivatives, [exact, sign * exact], rtol=2e-4)


def test_a_corner_is_no_peak_between_output_times():
    time = np.linspace(0.0, 1.0, 21)
    for x in (1.0 - np.abs(time - 0.5), np.where(time <= 0.5, time, 0.2), np.minimum(time, 0.4)):
        places, weights = weights_at_peak(time, x, int(np.argmax(x)))
        assert places.tolist() == [int(np.argmax(x))]
        assert weights.tolist() == [1.0]


def test_a_constant_has_the_weight_of_its_place():
    assert weights_at_peak(np.linspace(0.0, 1.0, 9), np.ones(9), 4)[1].tolist() == [1.0]


def test_weights_give_the_extreme_value_of_a_sine():
    time = np.linspace(0.0, 1.0, 21)
    x = np.sin(4.0 * time - 0.3)
    places, weights = weights_at_peak(time, x, int(np.argmax(x)))
    assert weights @ x[places] == pytest.approx(1.0, abs=1e-6)

"""Realisations of filters against their transfer functions, sampled laws, and what a linear law refuses."""

import numpy as np
import pytest
from models import refusals, refuses

from femb.elements.control.linear_law import LinearLaw, Realisation, lead_lag, low_pass, notch

POINTS = [0.3j, 2.0j, 1.0 + 5.0j, -0.2 + 0.7j]
W, Z, DEPTH, ZERO, POLE = 1.7, 0.4, 0.1, 0.8, 6.0
FILTERS = {
    "low-pass": (low_pass(W, Z), lambda s: W**2 / (s**2 + 2 * Z * W * s + W**2)),
    "notch": (notch(W, Z, DEPTH), lambda s: (s**2 + 2 * Z * DEPTH * W * s + W**2) / (s**2 + 2 * Z * W * s + W**2)),
    "lead": (lead_lag(ZERO, POLE), lambda s: (1 + s / ZERO) / (1 + s / POLE)),
    "lag of first order": (lead_lag(np.inf, POLE), lambda s: 1 / (1 + s / POLE)),
}


@pytest.mark.parametrize("word", FILTERS)
def test_realisations(word):
    law, wanted = FILTERS[word]
    for s in POINTS:
        assert law.transfer(s)[0, 0] == pytest.approx(wanted(s), rel=2e-15)


@pytest.mark.parametrize("word", FILTERS)
def test_tustin_is_the_rule_and_exact_at_a_frequency(word):
    law, wanted = FILTERS[word]
    period, at = 0.1, 4.0
    plain, exact = law.tustin(period), law.tustin(period, at)
    z = np.exp(1j * at * period)
    assert exact.transfer(z)[0, 0] == pytest.approx(wanted(1j * at), rel=1e-14)
    for s in POINTS:
        z = np.exp(s * period)
        assert plain.transfer(z)[0, 0] == pytest.approx(wanted(2.0 / period * (z - 1) / (z + 1)), rel=1e-13)


def test_filters_side_by_side():
    law, wanted = FILTERS["notch"]
    s = POINTS[1]
    np.testing.assert_allclose(law.on_each(2).transfer(s), np.eye(2) * wanted(s), rtol=1e-14)


LAW = {"A": [], "B": [], "C": [], "D": [[2.0]], "inputs": ["wheels.w1.speed"], "outputs": ["wheels.w1.torque"]}


def test_linear_law():
    law = LinearLaw("pd", **LAW, period=0.1, phase=0.02, delay=0.15)
    assert law.A.shape == (0, 0)
    assert law.B.shape == (0, 1)
    assert law.states == ()
    assert law.realisation.transfer(1.0) == 2.0
    assert LinearLaw("lag", *lead_lag(1.0, 2.0), inputs=["y"], outputs=["u"]).states == ("controllers.lag.state 1",)


test_refused_laws = refusals(
    lambda words: LinearLaw("pd", **LAW | words),
    ({"D": [[1.0, 2.0]]}, r"controllers.pd: D: got shape \(1, 2\), wanted \(1, 1\)"),
    ({"D": [[np.nan]]}, "controllers.pd: D: .*must be finite"),
    ({"D": [["x"]]}, "controllers.pd: D: got .*wanted numbers"),
    ({"period": 0.0}, "controllers.pd: period: got 0.0, wanted a number above 0"),
    ({"period": 0.1, "delay": -0.1}, "controllers.pd: delay: got -0.1, wanted seconds, 0 or more"),
    ({"delay": 0.1}, "controllers.pd: phase and delay are of samples"),
    ({"outputs": ["u", "u"], "D": [[1.0], [1.0]]}, "controllers.pd: outputs: 'u' is there twice"),
    ({"inputs": "y"}, "controllers.pd: inputs: got 'y', wanted a list of names"),
)


def test_refused_filters():
    for function, words, message in (
        (low_pass, (0.0,), "low-pass: frequency: got 0.0, wanted a number above 0"),
        (notch, (1.0, -0.1), "notch: damping"),
        (notch, (1.0, 0.1, -1.0), "notch: depth"),
        (lead_lag, (1.0, np.inf), "lead-lag: pole"),
        (low_pass(1.0).tustin, (0.1, 40.0), "tustin: exact_at: got 40.0, wanted from 0 to below 31.4"),
        (low_pass(1.0).tustin, (-1.0,), "tustin: period"),
    ):
        refuses(message, function, *words)
    one = np.ones((1, 1))
    refuses("tustin: the law has a pole at 20 1/s", Realisation(20.0 * one, one, one, one).tustin, 0.1)

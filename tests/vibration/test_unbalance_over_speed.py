"""Unbalance response over the speed: peaks between the speeds, what nothing damps, and unstable rotors."""

import numpy as np
import pytest
from models import of_parts

import femb
from femb.linear import rotor_speeds

Z = (0.0, 0.0, 1.0)
MASS, STIFFNESS, OFFSET = 2.0, 200.0, 1e-3
NATURAL = np.sqrt(STIFFNESS / MASS)
OUTPUT = ["bodies.disc.position"]


def disc(**coefficients):
    """A disc with its mass centre at OFFSET from the axis, in one bearing, held against tilts."""
    end, ground = femb.SpringEnd("disc"), femb.SpringEnd("ground")
    model = of_parts(femb.RigidBody("disc", MASS, (0.1, 0.1, 0.15)))
    for k in range(2):
        model.add(femb.TorsionSpringDamper(f"tilt{k}", end, ground, axis=np.eye(3)[k], stiffness=400.0, damping=1.0))
    rotor = {"rotor": "r"} if "speeds" in coefficients else {}
    model.add(femb.Bearing("b", end, axis=Z, **{"kxx": STIFFNESS, "kzz": 1e3, "czz": 1.0}, **rotor, **coefficients))
    model.add(femb.Rotor("r", 5.0, Z, bodies=("disc",), unbalances=[femb.Unbalance(MASS * OFFSET, body="disc")]))
    return model


@pytest.mark.parametrize("ratio", [1e-5, 1e-3, 0.2])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_peak_between_the_speeds(ratio, sense):
    """e/(2 z sqrt(1 - z^2)) at W = w/sqrt(1 - 2 z^2), with the phase of the response there."""
    model = disc(cxx=2.0 * ratio * np.sqrt(STIFFNESS * MASS))
    found = femb.unbalance_response(model, sense * np.linspace(1.0, 30.0, 8), OUTPUT)
    assert len(found.speeds) == 8
    speed = NATURAL / np.sqrt(1.0 - 2.0 * ratio**2)
    for peak, name in zip(found.peaks, "xy", strict=True):
        assert peak["output"].endswith(name)
        np.testing.assert_allclose(peak["amplitude"], OFFSET / (2.0 * ratio * np.sqrt(1.0 - ratio**2)), rtol=1e-6)
        np.testing.assert_allclose(peak["speed"], sense * speed, rtol=1e-4 * ratio)
    assert f"{speed * 30.0 / np.pi:.6g}" in found.table()


def test_what_nothing_damps_has_no_peak():
    found = femb.unbalance_response(disc(), np.linspace(1.0, 30.0, 8), OUTPUT)
    assert [peak["amplitude"] for peak in found.peaks] == [np.inf, np.inf]
    np.testing.assert_allclose([peak["speed"] for peak in found.peaks], NATURAL, rtol=1e-9)
    assert "unbounded" in found.table()


def test_a_bearing_with_a_table_has_the_stiffness_of_each_speed():
    """m e W^2/(k - m W^2 + i c W) with k over W, and the peak where k falls to m W^2."""
    given, kxx, c = np.array([5.0, 30.0]), np.array([800.0, 300.0]), 0.05
    speeds = np.array([2.0, 10.0, 20.0, 29.0, 40.0])
    found = femb.unbalance_response(disc_with(speeds=given, kxx=kxx, cxx=c), speeds, OUTPUT)
    k = np.interp(speeds, given, kxx)
    wanted = MASS * OFFSET * speeds**2 / (k - MASS * speeds**2 + 1j * c * speeds)
    np.testing.assert_allclose(found.values[:, 0], wanted, rtol=1e-9)
    fine = np.linspace(16.5, 17.1, 200001)
    amplitude = MASS * OFFSET * fine**2 / np.abs(np.interp(fine, given, kxx) - MASS * fine**2 + 1j * c * fine)
    np.testing.assert_allclose(found.peaks[0]["amplitude"], np.max(amplitude), rtol=1e-8)
    np.testing.assert_allclose(found.peaks[0]["speed"], fine[np.argmax(amplitude)], rtol=1e-5)


def disc_with(kxx=STIFFNESS, **coefficients):
    model = disc(cxx=1.0)
    bearing = model.springs["b"]
    model.remove(bearing)
    rotor = {"rotor": "r"} if "speeds" in coefficients else {}
    model.add(femb.Bearing("b", bearing.shaft, axis=Z, kxx=kxx, kzz=1e3, czz=1.0, **rotor, **coefficients))
    return model


@pytest.mark.slow
def test_an_unstable_rotor_says_from_which_speed():
    """m z'' + c z' + (k - i q) z = 0 grows where q > c sqrt(k/m): here q = 0.5 W."""
    c, slope = 0.79, 0.5
    table = {"speeds": [0.0, 100.0], "kxy": [0.0, 100.0 * slope], "kyx": [0.0, -100.0 * slope]}
    found = femb.unbalance_response(disc_with(cxx=c, **table), np.linspace(2.0, 60.0, 30), OUTPUT)
    (unstable,) = found.unstable
    onset = c * NATURAL / slope
    np.testing.assert_allclose([unstable.first, unstable.last], [onset, 60.0], rtol=1e-4)
    assert found.steady == [speed < onset for speed in found.speeds.tolist()]
    assert "mode 1, forward, 1.5" in unstable.mode
    assert unstable.text() in found.table()
    stable = femb.unbalance_response(disc_with(cxx=c, **table), np.linspace(2.0, 0.99 * onset, 30), OUTPUT)
    assert not stable.unstable
    assert all(stable.steady)


def test_many_speeds_take_no_more_models(monkeypatch):
    """One of the largest speed, and one for each number that changes with it."""
    calls = []
    real = rotor_speeds.linearize
    monkeypatch.setattr(rotor_speeds, "linearize", lambda *given, **words: calls.append(1) or real(*given, **words))
    femb.unbalance_response(disc(cxx=1.0), np.linspace(1.0, 30.0, 60), OUTPUT)
    assert len(calls) == 2


@pytest.mark.slow
def test_eigenvalues_of_many_states_are_the_slowest_of_all(monkeypatch):
    """The onset of instability, c sqrt(k/m) = q, with few eigenvalues as with all, and without damping none."""
    table = {"speeds": [0.0, 100.0], "kxy": [0.0, 50.0], "kyx": [0.0, -50.0]}
    monkeypatch.setattr(rotor_speeds, "DENSE", 4)
    monkeypatch.setattr(rotor_speeds, "SLOWEST", 8)
    (unstable,) = femb.unbalance_response(disc_with(cxx=0.79, **table), np.linspace(2.0, 60.0, 30), OUTPUT).unstable
    np.testing.assert_allclose(unstable.first, 0.79 * NATURAL / 0.5, rtol=1e-4)
    assert not femb.unbalance_response(disc(), np.linspace(1.0, 30.0, 8), OUTPUT).unstable

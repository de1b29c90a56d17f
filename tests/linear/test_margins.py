"""Margins at the ends of the frequency axis, and which of several counts: by closed forms and python-control."""

from dataclasses import replace

import numpy as np
import pytest

import femb
from femb import LinearLaw, StateSpace
from femb.linear.margins import OpenedLoop, disk_margin, margins_of
from femb.linear.norms import peak_gain
from femb.linear.sampled_motion import Fundamental, fundamental

# An inverted pendulum: J a'' = m g l a + torque.
J, MGL, KP, KD = 2.1, 19.62, 60.0, 12.0


def pendulum():
    A = np.array([[0.0, 1.0], [MGL / J, 0.0]])
    return StateSpace(A, [[0.0], [1.0 / J]], np.eye(2), np.zeros((2, 1)), ("a", "w"), ("torque",), ("angle", "rate"))


def law(period=None, ki=0.0, gain=1.0, delay=0.0):
    """KP + KD s + ki/s."""
    D = [[-gain * KP, -gain * KD]]
    words = {"period": period, "delay": delay, "inputs": ("angle", "rate"), "outputs": ("torque",)}
    if not ki:
        return LinearLaw("pd", [], [], [], D, **words)
    own = ([[0.0]], [[1.0, 0.0]]) if period is None else ([[1.0]], [[period, 0.0]])
    return LinearLaw("pid", *own, [[-gain * ki]], D, **words)


@pytest.mark.parametrize("period", [None, 0.02])
def test_the_low_gain_margin_of_an_unstable_plant_is_at_zero_frequency(period):
    """L(0) = -KP / (m g l): a smaller gain does not hold the pendulum up."""
    (margins,) = femb.loop(pendulum(), [law(period)]).margins()
    assert margins.phase_crossovers[0] == 0.0
    assert margins.gain_margin[0] == pytest.approx(MGL / KP, rel=1e-12)
    for factor, stable in ((1.001, True), (0.999, False)):
        assert femb.loop(pendulum(), [law(period, gain=factor * MGL / KP)]).stable == stable


@pytest.mark.parametrize("period", [None, 0.02])
def test_an_integrator_takes_the_low_gain_margin_away_from_zero_frequency(period):
    """L(0) is infinite then, and the margin is where the integral and the rate balance."""
    (margins,) = femb.loop(pendulum(), [law(period, ki=5.0)]).margins()
    assert np.all(margins.phase_crossovers > 0.1)
    low = margins.gain_margin[0]
    for factor, stable in ((1.001, True), (0.999, False)):
        assert femb.loop(pendulum(), [law(period, ki=5.0, gain=factor * low)]).stable == stable
    if period is None:
        control = pytest.importorskip("control")
        s = control.tf([1.0, 0.0], [1.0])
        wanted = control.stability_margins((KP + KD * s + 5.0 / s) / (J * s * s - MGL), returnall=True)
        assert low == pytest.approx(wanted[0][0], rel=1e-9)


def test_a_free_body_bears_any_smaller_gain():
    """Two integrators: |L| grows without end at zero frequency."""
    plant = replace(pendulum(), A=np.array([[0.0, 1.0], [0.0, 0.0]]))
    for period in (None, 0.02):
        (margins,) = femb.loop(plant, [law(period)]).margins()
        assert margins.gain_margin[0] == 0.0
        assert np.all(margins.phase_crossovers > 0.0)


@pytest.mark.parametrize("period", [None, 5.0])
def test_the_low_gain_margin_of_a_satellite_that_gravity_gradient_turns_over(period):
    """In pitch the gradient turns by 3 n^2 (yaw - roll inertia) a, n from the gravity of the Earth at 7,178.137 km."""
    model, n = femb.Model("on its side"), np.sqrt(398600.4418e9 / 7178137.0**3)
    model.add(femb.RigidBody("hub", 100.0, (60.0, 150.0, 120.0), angular_velocity=(0.0, -n, 0.0)))
    model.add(femb.elements.GravityGradient("gravity", altitude=800e3, radial=(0, 0, -1), normal=(0, -1, 0)))
    gradient = 3.0 * n**2 * 60.0
    kp = gradient / 0.147
    turn, rate, torque = "bodies.hub.turn.y", "bodies.hub.angular_velocity.y", "bodies.hub.torque.y"
    pitch = LinearLaw(
        "pitch", [], [], [], [[-kp, -1.4 * np.sqrt(150.0 * kp)]], period, inputs=(turn, rate), outputs=(torque,)
    )
    plant = femb.linearize(model, inputs=["bodies.hub.torque"], outputs=[turn, rate])
    (margins,) = femb.loop(plant, [pitch]).margins()
    assert margins.gain_margin[0] == pytest.approx(0.147, rel=1e-6)


def test_the_least_distance_may_be_at_zero_frequency():
    """With KP hardly above m g l the loop is nearest to -1 there."""
    loop = femb.loop(pendulum(), [law(gain=1.1 * MGL / KP)])
    (margins,) = loop.margins()
    assert (margins.distance, margins.at) == (pytest.approx(0.1, rel=1e-9), 0.0)
    assert "0 rad/s           0 Hz  peak of the sensitivity 10" in loop.table()


@pytest.mark.parametrize("period", [None, 0.02])
def test_disk_margins_and_gains_that_fall_count_zero_frequency(period):
    """L(0) = -1.1: the gain may be divided by 1.1, and 2 |(1 + L)/(1 - L)| is 0.2/2.1."""
    loop = femb.loop(pendulum(), [law(period, gain=1.1 * MGL / KP)])
    (margins,) = loop.margins()
    assert margins.gain_factor == pytest.approx(1.1, rel=1e-12)
    disk = disk_margin(loop.opened("torque"), margins.frequencies, margins.values)
    assert disk == (pytest.approx(0.2 / 2.1, rel=1e-11), 0.0)


def test_disk_margins_count_half_the_rate():
    """The gain is five per cent below the one with which a pole is at z = -1."""
    T = 0.02
    (full,) = femb.loop(pendulum(), [law(T)]).margins()
    loop = femb.loop(pendulum(), [law(T, gain=0.95 * full.gain_margin[1])])
    (margins,) = loop.margins()
    assert margins.gain_factor == pytest.approx(1.0 / 0.95, rel=1e-9)
    found = disk_margin(loop.opened("torque"), margins.frequencies, margins.values)
    assert found == (pytest.approx(0.1 / 1.95, rel=1e-9), pytest.approx(np.pi / T))


def test_what_passes_directly_has_its_margins_at_infinity():
    """L = -0.8 + 0.3/(s + 1) closes to (s + 2.5)/(5 (s + 1)) of 1 + L: with a gain above 1.25 its zero is positive."""
    loop = OpenedLoop(-np.eye(1), np.eye(1), np.array([[-0.3]]), np.array([[0.8]]), None)
    margins = margins_of("u", loop)
    assert margins.gain_factor == margins.gain_margin[1] == pytest.approx(1.25, rel=1e-12)
    assert (margins.sensitivity, margins.at) == (pytest.approx(5.0, rel=1e-12), np.inf)
    assert disk_margin(loop, margins.frequencies, margins.values)[0] == pytest.approx(0.4 / 1.8, rel=1e-12)


def test_the_sensitivity_of_a_loop_that_only_damps_is_one():
    """Of L = 2/(s + 1) |1 + L| falls to one, at infinity."""
    plant = StateSpace([[-1.0]], [[1.0]], [[1.0]], [[0.0]], ("x",), ("u",), ("y",))
    (margins,) = femb.loop(plant, [LinearLaw("damper", [], [], [], [[-2.0]], inputs=("y",), outputs=("u",))]).margins()
    assert (margins.sensitivity, margins.at) == (1.0, np.inf)


def test_the_gain_margin_at_half_the_rate_is_that_of_the_sampled_plant():
    """L(-1) of held commands, from the exact sampled matrices; beyond it a pole z passes through -1."""
    T, mu = 0.02, np.sqrt(MGL / J)
    c, s = np.cosh(mu * T), np.sinh(mu * T)
    P, Q = np.array([[c, s / mu], [mu * s, c]]), np.array([(c - 1.0) / mu**2, s / mu]) / J
    at_half = KP * np.array([1.0, KD / KP]) @ np.linalg.solve(-np.eye(2) - P, Q)
    (margins,) = femb.loop(pendulum(), [law(T)]).margins()
    assert margins.phase_crossovers[-1] == pytest.approx(np.pi / T, rel=1e-12)
    assert margins.gain_margin[1] == pytest.approx(-1.0 / at_half, rel=1e-10)
    for factor, stable in ((0.999, True), (1.001, False)):
        assert femb.loop(pendulum(), [law(T, gain=factor * margins.gain_margin[1])]).stable == stable


def test_the_phase_margin_is_that_of_the_least_size():
    """Of several crossovers, some of which lack phase the other way round."""
    found = femb.loop(pendulum(), [law()]).margins()[0]
    several = replace(found, phase_margins=np.array([63.0, -128.0, 52.6, -70.0]))
    assert several.phase_margin == 52.6
    assert replace(found, phase_margins=np.array([63.0, -28.0, 52.6])).phase_margin == -28.0


@pytest.mark.slow
def test_the_largest_delay_of_more_than_twenty_periods():
    """Of a slow loop with quick samples: that of the continuous law, less half the period that samples hold."""
    fast = femb.loop(pendulum(), [law(0.002)])
    assert fast.largest_delay() == (np.inf, pytest.approx(np.nan, nan_ok=True))
    delay, omega = fast.largest_delay(limit=0.4)
    (margins,) = femb.loop(pendulum(), [law()]).margins()
    assert delay > 20 * 0.002
    # also between the last quarter of a period and the limit
    assert fast.largest_delay(limit=1.0001 * delay)[0] == pytest.approx(delay, rel=1e-9)
    assert delay == pytest.approx(margins.delay_margin - 0.001, rel=1e-4)
    assert omega == pytest.approx(margins.crossovers[0], rel=1e-3)
    for factor, stable in ((0.99, True), (1.01, False)):
        assert fast.delayed(factor * delay).stable == stable


def test_one_frequency_has_all_digits_beside_scales_of_inputs():
    """1/(s^2 (s + 8)) with a state of other scale."""
    for part in np.linspace(0.9, 1.1, 41):
        A = np.array([[0.0, 1e-8, 0.0], [0.0, 0.0, part], [0.0, 0.0, -8.0]])
        found = OpenedLoop(A, np.array([[0.0], [0.0], [1.0]]), np.array([[1e8, 0.0, 0.0]]), np.zeros((1, 1)), None)
        for omega in (0.2258, 3.0):
            wanted = -part / ((1j * omega) ** 2 * (1j * omega + 8.0))
            assert abs(found.one(omega) / wanted - 1.0) < 1e-13


def test_the_peak_gain_has_its_frequency_to_many_digits():
    """wn^2/(s^2 + 2 z wn s + wn^2) has its peak 1/(2 z sqrt(1 - z^2)) at wn sqrt(1 - 2 z^2)."""
    for z in (0.01, 0.1, 0.5):
        A = np.array([[0.0, 3.0], [-3.0, -6.0 * z]])
        space = StateSpace(A, np.array([[0.0], [3.0]]), np.eye(1, 2), np.zeros((1, 1)), ("x", "v"), ("u",), ("y",))
        found = peak_gain(space)
        assert found.omega == pytest.approx(3.0 * np.sqrt(1.0 - 2.0 * z * z), rel=1e-11)
        assert found.gain == pytest.approx(0.5 / (z * np.sqrt(1.0 - z * z)), rel=1e-13)


def test_two_rates_beside_the_alias_of_an_integrator():
    """The attitude at each second sample, the rate at each: at half the rate, an alias of the double integrator, L is
    real and near there smooth. Beside 1e16 its rounding was above one."""
    h, J, kp, kd = 0.1, 2.0, 0.3, 1.2
    A, B = np.array([[1.0, 2.0 * h], [0.0, 1.0]]), np.array([[1.5 * h, 0.5 * h], [1.0, 1.0]]) * h / J
    C, D = -np.array([[kp, kd], [kp, kd]]), -np.array([[0.0, 0.0], [kd * h / J, 0.0]])
    opened = OpenedLoop(A, B, C, D, h)
    near = opened(np.pi / h * (1.0 - 10.0 ** -np.arange(4.0, 16.0)))
    # of the rate alone, kd h/J / (z - 1) at z = -1, and the part that the held attitude leaves of itself
    assert -0.05 < near[-1].real < -0.01
    np.testing.assert_allclose(near, near[0].real, rtol=1e-3)
    assert [x for x in opened.grid() if abs(opened(np.array([x]))[0]) > 0.5 and x > 10.0] == []


def test_the_part_at_a_frequency_is_the_same_by_one_matrix_of_all_frequencies():
    """Of a plant with a double integrator, vibrations with and without damping, and laws of two periods and phases."""
    A = np.zeros((6, 6))
    A[0, 1] = A[2, 3] = A[4, 5] = 1.0
    A[3, 2:4], A[5, 4] = [-4.0, -0.04], -49.0
    B = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 0.0], [0.3, 0.1], [0.0, 0.0], [0.2, 1.0]])
    C = np.array([[1.0, 0.0, 1.0, 0.0, 0.2, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0, 0.2]])
    states = tuple(f"x{k}" for k in range(6))
    plant = femb.StateSpace(A, B, C, np.zeros((2, 2)), states, ("u", "d"), ("y", "r"))
    laws = [
        femb.LinearLaw("filter", [[0.7]], [[0.3]], [[0.5]], [[0.5]], 0.05, 0.02, inputs=["r"], outputs=["f"]),
        femb.LinearLaw("law", [[1.0]], [[0.01, 0.0]], [[-0.1]], [[-0.5, -1.4]], 0.1, 0.01, 0.13, inputs=["y", "f"],
                       outputs=["u"]),
    ]  # fmt: skip
    part, entering = Fundamental(plant, laws, [0, 1]), np.array([0.0, 1.0 + 0.5j])
    for omega in (1e-3, 0.3, 2.0, 6.9, 7.0, 7.0 + 1e-9, 20.0 * np.pi, 200.0):
        wanted = fundamental(plant, laws, omega, entering, [0, 1])
        np.testing.assert_allclose(part(omega, entering), wanted, rtol=1e-9)

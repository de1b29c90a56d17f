"""The numbers that starters state: what femb computes of them, and closed forms."""

import re

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from femb import load_case, mode_sweep, modes, simulate
from femb.cli import library

HUB_HELD = {"held": "hub"}


def stated(kind):
    """The numbers that the head of a starter states, by their words."""
    head = (library.STARTERS / f"{kind}.toml").read_text().partition("\n\n")[0]
    found = re.findall(r"^#   (.+): ([\d.]+) \S+$", head.partition("Numbers to expect")[2], re.MULTILINE)
    return {words: float(value) for words, value in found}


@pytest.fixture
def starter(tmp_path):
    def load(kind, *overrides):
        if not (file := tmp_path / f"{kind}.toml").exists():
            library.copy(library.starters()[kind], file)
        return load_case(file, overrides)

    return load


def close(value, to):
    """Whether they agree to the digits that starters state."""
    return value == pytest.approx(to, rel=1.5e-3)


def rotating_blade(speed, stiffness, length, mass, hub, lag):
    """Hz of the first bending of a rotating cantilever, by Ritz's method with polynomials x^2 ... x^9.

    (EI w'')'' - (T w')' - m (omega^2 + Omega^2 of lag) w = 0, T = m Omega^2 ((R + L)^2 - (R + x)^2) / 2.
    Source: R. L. Bielawa, Rotary Wing Structural Dynamics and Aeroelasticity, rotating beams.
    """
    points, weights = np.polynomial.legendre.leggauss(20)
    s, powers = 0.5 * (points + 1.0), np.arange(2, 10)[:, None]
    w, slope, curvature = s**powers, powers * s ** (powers - 1), powers * (powers - 1) * s ** (powers - 2)
    dx = 0.5 * length * weights
    tension = 0.5 * mass * speed**2 * ((hub + length) ** 2 - (hub + length * s) ** 2)
    M = (w * mass * dx) @ w.T
    K = (curvature * stiffness * dx) @ curvature.T / length**4 + (slope * tension * dx) @ slope.T / length**2
    squares = eigh(K - lag * speed**2 * M, M, eigvals_only=True)
    return np.sqrt(squares[0]) / (2.0 * np.pi)


def blade_modes(case):
    """Hz of the first flap and lag of the three blades, which are mode 1 and mode 4."""
    return modes(case.model, 6, held="hub", start="equilibrium").frequencies[[0, 3]]


def test_the_blades_of_the_rotor_flap_and_lag(starter):
    numbers = stated("rotor")
    for speed in (0.0, 10.0, 20.0):
        flap, lag = blade_modes(starter("rotor", f"bodies.hub.angular_velocity=[0, 0, {speed}]"))
        # a section has rotary inertia, of a chord of 0.4 m for the lag
        assert flap == pytest.approx(rotating_blade(speed, 9e2, 3.0, 1.5, 0.3, lag=0), rel=2e-3)
        assert lag == pytest.approx(rotating_blade(speed, 9e3, 3.0, 1.5, 0.3, lag=1), rel=1e-2)
        at = "at rest" if speed == 0.0 else f"at {speed:.0f} rad/s"
        assert close(flap, numbers[f"first flap {at}"])
        assert f"first lag {at}" not in numbers or close(lag, numbers[f"first lag {at}"])


def test_slopes_of_flap_and_lag_differ_by_one(starter):
    """Southwell: of a blade that is as stiff in both planes, omega^2 of flap is that of lag and Omega^2 more."""
    words = ("bending_stiffness=[9e2, 9e2]", "inertia_per_length=[2e-6, 1e-6, 1e-6]", "axial_stiffness=1e10")
    round_blade, speed = [f"sections.blade.{each}" for each in words], 20.0
    lag, flap = blade_modes(starter("rotor", *round_blade, f"bodies.hub.angular_velocity=[0, 0, {speed}]"))
    assert (2.0 * np.pi) ** 2 * (flap**2 - lag**2) / speed**2 == pytest.approx(1.0, rel=1e-5)


@pytest.mark.slow
def test_modes_of_equal_blades_have_one_name(starter):
    """Of three modes of one frequency any mix is a mode; each is named by the blade that moves most in it."""
    swept = mode_sweep(
        lambda speed: starter("rotor", f"bodies.hub.angular_velocity.2={speed}").model,
        [0.0, 10.0, 20.0], 6, held="hub", start="equilibrium",
    )  # fmt: skip
    assert swept.labels == ("flap 1",) * 3 + ("lag 1",) * 3


def test_the_booms_of_the_satellite(starter):
    """A cantilever with a mass at its end, and the impulse of the slew over the inertia."""
    case, numbers, length, tip = starter("satellite"), stated("satellite"), 5.0, 0.5
    section = case.model.sections["boom"]
    mass, stiffness = section.line_mass(), section.stiffness()[2, 2]
    ratio = tip / (mass * length)

    def equation(k):
        return 1.0 + np.cos(k) * np.cosh(k) + ratio * k * (np.cos(k) * np.sinh(k) - np.sin(k) * np.cosh(k))

    frequency = brentq(equation, 0.5, 1.9) ** 2 / length**2 * np.sqrt(stiffness / mass) / (2.0 * np.pi)
    found = modes(case.model, 1, **HUB_HELD).frequencies[0]
    assert found == pytest.approx(frequency, rel=2e-3)
    assert close(found, numbers["first bending with the hub held"])
    inertia = 20.0 + 2.0 * (tip * 5.5**2 + mass * (5.5**3 - 0.5**3) / 3.0)
    results = simulate(case.model, case.run)
    angle = results["hub.euler_angles"][:, 2]
    after = results.time >= 1.0
    rate = np.polyfit(results.time[after], angle[after], 1)[0]
    assert rate == pytest.approx(1.0 / inertia, rel=2e-2)
    assert rate == pytest.approx(numbers["mean rate after the slew"], rel=2e-2)


def test_the_folds_of_an_array(starter):
    """Three rigid panels of 1.5 m on hinges of 500 N m/rad: a chain of three angles."""
    lower = np.tril(np.ones((3, 3)))  # angles of panels from those of hinges
    centres = 1.5 * (np.tril(np.ones((3, 3)), -1) + 0.5 * np.eye(3)) @ lower
    mass = 6.0 * centres.T @ centres + 1.125 * lower.T @ lower
    chain = np.sqrt(eigh(500.0 * np.eye(3), mass, eigvals_only=True)) / (2.0 * np.pi)
    numbers = stated("array")
    found = modes(starter("array").model, 6, **HUB_HELD).frequencies[::2]
    assert found == pytest.approx(chain, rel=1e-5)
    assert close(found[0], numbers["first fold of an array"])
    assert close(found[1], numbers["second fold"])


@pytest.mark.slow
def test_the_slider_of_the_mechanism(starter):
    """x = r cos(phi) + sqrt(l^2 - r^2 sin^2(phi)) of a rigid rod."""
    case, numbers = starter("mechanism", "run.rtol=1e-5"), stated("mechanism")
    results = simulate(case.model, case.run)
    position, velocity = results["slider.position"][:, 0], results["slider.velocity"][:, 0]
    phi = 10.0 * results.time
    rigid = 0.15 * np.cos(phi) + np.sqrt(0.3**2 - (0.15 * np.sin(phi)) ** 2)
    assert position == pytest.approx(rigid, abs=1e-4)
    assert close(np.ptp(position), numbers["stroke of the slider"])
    assert close(np.abs(velocity).max(), numbers["its largest speed"])


@pytest.mark.slow
def test_the_turn_of_the_panel(starter):
    """Two pulses of 10 N m s, 3 s apart, over the inertia about the common mass centre; and its table of modes."""
    case, numbers = starter("panel"), stated("panel")
    # of the panel: docs/cases/panel_wing.md
    arm, mass, hub = np.array([1.5, -0.3, 0.0]), 4.8, 200.0
    parts = np.diag([50.0 + 0.25616, 60.0 + 1.60016, 55.0 + 1.856])
    inertia = parts + hub * mass / (hub + mass) * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    turn = np.degrees(np.linalg.norm(np.linalg.solve(inertia, [0.0, 30.0, 0.0])))
    results = simulate(case.model, case.run)
    end = np.degrees(2.0 * np.arccos(abs(results["hub.quaternion"][-1, 0])))
    assert end == pytest.approx(turn, rel=1e-4)
    assert end == pytest.approx(numbers["turn of the slew"], rel=2e-3)
    assert close(modes(case.model, 1, **HUB_HELD).frequencies[0], 4.0192)
    assert close(4.0192, numbers["first bending of the panel with the hub held"])


def test_every_starter_states_numbers():
    assert all(len(stated(kind)) >= 2 for kind in library.starters())

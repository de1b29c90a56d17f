"""Impacts on stiff springs and stops against closed forms: the bounce is followed, and its energy kept."""

import numpy as np
import pytest
from checkout import CASES

import femb.steppers.energy as energy
from femb import Model, PointMass, RigidBody, SolveError
from femb.analysis.simulate import simulate
from femb.case import load_case
from femb.elements import JointEnd, JointStops, Prismatic, SpringDamper, SpringEnd

SPEED = 1.0
# Of the energy of the motion, what a method with a tolerance of 1e-6 a step may lose in a bounce.
KEPT = {"radau": 1e-4, "bdf": 4e-3, "generalized-alpha": 1e-3}
every_implicit = pytest.mark.parametrize("method", KEPT)


def pair(stiffness, gap, contact=True):
    """Two bodies of 1 kg that meet at the relative speed 1 m/s after ``gap`` metres."""

    def push(length, rate):
        depth = 1.0 - length
        return (-stiffness * depth, stiffness, 0.0) if depth > 0.0 else (0.0, 0.0, 0.0)

    model = Model("pair")
    model.add(PointMass("a", mass=1.0, velocity=(0.5 * SPEED, 0, 0)))
    model.add(PointMass("b", mass=1.0, position=(1.0 + gap, 0, 0), velocity=(-0.5 * SPEED, 0, 0)))
    law = {"force": push} if contact else {"stiffness": stiffness}
    model.add(SpringDamper("s", SpringEnd(body="a"), SpringEnd(body="b"), free_length=1.0, **law))
    return model


def stopped(stiffness, gap, exponent=1.0):
    """A body of 1 kg that meets a stop after ``gap`` metres at 1 m/s."""
    model = Model("stopped")
    model.add(RigidBody("b", mass=1.0, inertia=1.0, velocity=(SPEED, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(JointStops("stop", joint="rail", stiffness=stiffness, upper=gap, exponent=exponent))
    return model


def relative_speed(results):
    return results.bodies["b"].velocity[:, 0] - results.bodies["a"].velocity[:, 0]


@every_implicit
@pytest.mark.parametrize("stiffness", [1e4, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("gap", [0.0, 0.08439622365618363, 0.3236414718572226])
def test_two_bodies_bounce(method, stiffness, gap):
    """They part at the speed at which they met, after half a period of the spring."""
    results = simulate(pair(stiffness, gap), duration=1.0, output_interval=0.1, method=method)
    start = results.audit.kinetic_energy[0]
    assert np.abs(results.audit.energy_error).max() < KEPT[method] * start
    assert relative_speed(results)[-1] == pytest.approx(SPEED, rel=KEPT[method])
    half_period = np.pi / np.sqrt(2.0 * stiffness)
    length = results.bodies["b"].position[-1, 0] - results.bodies["a"].position[-1, 0]
    wanted = 1.0 + SPEED * (1.0 - gap - half_period)
    assert length == pytest.approx(wanted, abs=2.0 * KEPT[method])


@every_implicit
def test_depth_of_a_stiff_impact(method):
    """v sqrt(m/2k) = 0.707 um for 1e12 N/m."""
    period = 2.0 * np.pi / np.sqrt(2e12)
    results = simulate(
        pair(1e12, 0.0, contact=False), duration=period, output_interval=period / 100, method=method, rtol=1e-7
    )
    length = results.bodies["b"].position[:, 0] - results.bodies["a"].position[:, 0]
    assert 1.0 - length.min() == pytest.approx(np.sqrt(0.5e-12), rel=5.0 * KEPT[method])
    assert np.abs(results.audit.energy_error).max() < 2.0 * KEPT[method] * results.audit.kinetic_energy[0]


@every_implicit
@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("gap", [0.09194610662472416, 0.5832120936610475, 0.7119484445764166])
def test_stops_give_back_the_energy(method, exponent, gap):
    results = simulate(stopped(1e12, gap, exponent), duration=1.0, output_interval=0.1, method=method)
    assert np.abs(results.audit.energy_error).max() < KEPT[method] * results.audit.kinetic_energy[0]
    assert results.bodies["b"].velocity[-1, 0] == pytest.approx(-SPEED, rel=KEPT[method])


@every_implicit
def test_a_stiff_vibration_with_the_energy_of_the_motion_is_followed(method):
    """A spring of 1e12 N/m that never lets go: 2.3e5 periods in a second, which no long step may pass over."""
    with pytest.raises(SolveError, match=r"max_steps = 300 steps.*(velocity x)") as caught:
        simulate(pair(1e12, 0.0, contact=False), duration=1.0, method=method, max_steps=300)
    results = caught.value.results
    assert np.abs(results.audit.energy_error).max() < 10.0 * KEPT[method] * results.audit.kinetic_energy[0]


@pytest.mark.parametrize("name", ["satellite_free", "satellite_forced"])
def test_a_vibration_without_energy_costs_no_steps(name, monkeypatch):
    """Booms of metal vibrate along their axes at 50,000 rad/s, and with a millionth of the energy: they are damped."""
    case = load_case(CASES / f"{name}.toml")
    steps = simulate(case.model, case.run).statistics["steps"]
    monkeypatch.setattr(energy.EnergyWatch, "keeps", lambda *arguments: True)
    assert steps == simulate(case.model, case.run).statistics["steps"] < 100

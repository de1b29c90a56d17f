"""Impacts on stiff springs and stops against closed forms: the bounce is followed, and its energy kept."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow, slow_but

import femb.steppers.variable_step as energy
from femb import Load, Model, PointMass, RigidBody, Run, SolveError
from femb.base.memory import recall, remembered
from femb.case import load_case
from femb.elements import JointEnd, JointStops, Prismatic, Revolute, SpringDamper, SpringEnd
from femb.run.simulate import simulate
from femb.steppers import make_stepper
from femb.system.system import System

SPEED = 1.0
# Of the energy of the motion, what a method with a tolerance of 1e-6 a step may lose in a bounce. Generalized-alpha
# loses 1100 times its tolerance, from 1e-5 to 1e-8.
KEPT = {"radau": 1e-4, "bdf": 4e-3, "generalized-alpha": 1.2e-3}
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
@pytest.mark.parametrize("stiffness", slow_but([1e4, 1e12], [1e4, 1e8, 1e10, 1e12]))
@pytest.mark.parametrize("gap", slow_but([0.0, 0.3236414718572226], [0.0, 0.08439622365618363, 0.3236414718572226]))
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
@pytest.mark.parametrize("gap", [0.09194610662472416, slow(0.5832120936610475), slow(0.7119484445764166)])
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


@pytest.mark.parametrize("method", ["generalized-alpha", "bdf"])
def test_the_vibration_that_keeps_steps_short_is_named_with_its_frequency(method):
    """sqrt(2 k / m) / (2 pi) of two equal masses, before the run ends; with what passes over it."""
    shown, frequency = [], np.sqrt(2e12) / (2.0 * np.pi)
    progress = SimpleNamespace(message=shown.append, update=lambda t: None)
    with pytest.raises(SolveError, match=f"max_steps = 1100 steps: .* keeps the steps of {method}") as caught:
        simulate(pair(1e12, 0.0, contact=False), duration=1.0, method=method, max_steps=1100, progress=progress)
    found = re.search(r"a vibration of (\S+) Hz \((a|b): velocity x\).*method = 'radau'", str(caught.value))
    assert float(found[1]) == pytest.approx(frequency, rel=0.01)
    assert any(found[0] in text for text in shown)


@pytest.mark.parametrize("name", ["satellite_free", "satellite_forced"])
def test_a_vibration_without_energy_costs_no_steps(name, monkeypatch):
    """Booms of metal vibrate along their axes at 50,000 rad/s, and with a millionth of the energy: they are damped."""
    case = load_case(CASES / f"{name}.toml")
    steps = simulate(case.model, case.run).statistics["steps"]
    monkeypatch.setattr(energy.EnergyWatch, "is_balanced", lambda *arguments: True)
    assert steps == simulate(case.model, case.run).statistics["steps"] < 100


# First contact is landed on


def step_ends(model, method, duration=1.0, **options):
    """Ends of all steps."""
    stepper = make_stepper(System(model), Run(duration=duration, method=method, **options))
    ends = []
    while stepper.t < duration:
        ends.append(stepper.step(duration).end)
        assert ends[-1] == stepper.t
    return np.array(ends), stepper


def landed(ends, t, within=1e-12):
    return np.abs(ends - t).min() < within


@pytest.mark.parametrize("method", [*KEPT, "rk"])
@pytest.mark.parametrize("stiffness", [1e4, 1e8])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_step_ends_at_first_contact(method, stiffness, exponent):
    """A body on a slider that moves at constant speed, in the closed form t = gap / speed."""
    gap = 0.5832120936610475
    ends, stepper = step_ends(stopped(stiffness, gap, exponent), method)
    assert landed(ends, gap / SPEED)
    assert stepper.v[0] == pytest.approx(-SPEED, rel=KEPT.get(method, 2e-4))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_a_step_ends_where_a_contact_ends_also_in_a_stepper_with_its_memory(method):
    """After half a period of a linear stop; a stepper with the memory of another makes the same steps, bit by bit."""
    gap, stiffness = 0.25, 100.0
    system, options = System(stopped(stiffness, gap)), Run(duration=1.0, method=method, rtol=1e-6)
    stepper, ends = make_stepper(system, options), []
    while stepper.t < 1.0:
        other = make_stepper(system, options)
        recall(other, remembered(stepper))
        ends.append(stepper.step(1.0).end)
        assert other.step(1.0).end == ends[-1]
        np.testing.assert_array_equal(other.v, stepper.v)
    assert landed(np.array(ends), gap / SPEED + np.pi / np.sqrt(stiffness), within=1e-6)


@pytest.mark.parametrize("method", [*KEPT, "rk"])
def test_each_contact_is_landed_on_also_where_openings_are_not(method):
    """A body between two stops, five times there and back: each gap that closes ends a step, though a multistep method
    passes over those that open."""
    gap, stiffness = 0.1, 1e6
    model = Model("between")
    model.add(RigidBody("b", mass=1.0, inertia=1.0, velocity=(SPEED, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(JointStops("stop", joint="rail", stiffness=stiffness, upper=gap, lower=-gap))
    stepper = make_stepper(System(model), Run(duration=1.0, method=method, rtol=1e-6))
    places = []
    while stepper.t < 1.0:
        stepper.step(1.0)
        place, speed = stepper.q[0], stepper.v[0]
        if abs(abs(place) - gap) < 1e-11 and place * speed > 0.0 and places[-1:] != [np.sign(place)]:
            places.append(np.sign(place))
    assert places == [1.0, -1.0, 1.0, -1.0, 1.0]


@pytest.mark.parametrize("method", ["radau", "generalized-alpha", "rk"])
def test_a_step_ends_at_the_contact_of_a_falling_body(method):
    """t = sqrt(2 height / g), which methods meet that are exact for a constant acceleration."""
    model = Model("falling", gravity=(-9.81, 0, 0))
    model.add(RigidBody("b", mass=1.0, inertia=1.0))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(JointStops("floor", joint="rail", stiffness=1e8, lower=-0.3))
    ends, _ = step_ends(model, method, duration=0.3)
    assert landed(ends, np.sqrt(0.6 / 9.81))


@pytest.mark.parametrize("method", ["radau", "rk"])
def test_a_stop_met_and_left_within_a_step_is_not_missed(method):
    """The gap 20 (t - 0.42) (t - 0.48) (1 + 5 t) closes between the stages of one step from 0 to 1, and opens again."""
    model = Model("dip")
    first, speed = 20.0 * 0.2016, 20.0 * 0.108
    model.add(RigidBody("b", mass=1.0, inertia=1.0, velocity=(-speed, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(Load("push", body="b", force=(1.0, 0, 0), profile=lambda t: 20.0 * (7.0 - 30.0 * t)))
    model.add(JointStops("stop", joint="rail", stiffness=1e11, upper=first))
    options = {"first_step": 1.0, "rtol": 1e-4}
    ends, stepper = step_ends(model, method, **options)
    assert landed(ends, 0.42)
    # the stop has thrown it back at the speed that it came with
    rest = 1.0 - 0.42
    v = -20.0 * (0.42 - 0.48) * (1.0 + 5.0 * 0.42)
    free = 20.0 * (7.0 * rest - 15.0 * (1.0 - 0.42**2))
    assert stepper.v[0] == pytest.approx(-v + free, abs=0.03)


@pytest.mark.parametrize("method", [*KEPT, "rk"])
def test_a_stop_beyond_a_turn(method):
    """Its gap is counted with the turns."""
    model = Model("wheel")
    model.add(RigidBody("b", mass=1.0, inertia=1.0, angular_velocity=(0, 0, 2.0)))
    model.add(Revolute("pin", JointEnd("ground", axis=(0, 0, 1)), JointEnd("b", axis=(0, 0, 1))))
    model.add(JointStops("stop", joint="pin", stiffness=1e6, exponent=1.0, upper=7.0, lower=-1.0))
    results = simulate(model, duration=4.0, output_interval=0.01, method=method)
    angle = results.springs["stop"].angle
    assert angle.max() == pytest.approx(7.0, abs=0.02)
    # impulses of half a period of the contact turn it around
    assert angle[-1] == pytest.approx(7.0 - 2.0 * (0.5 - np.pi / 1e3), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [{"method": "gauss"}, {"method": "rk", "tableau": "rk4"}])
def test_fixed_steps_pass_over_a_contact(method):
    """Their length is what was asked for."""
    ends, _ = step_ends(stopped(1e4, 0.55555, 1.5), step=0.002, **method)
    np.testing.assert_allclose(ends, 0.002 * np.arange(1, 501), rtol=1e-12)


def test_gaps_and_their_rates():
    system = System(stopped(1e4, 0.5))
    q, v = system.q0[None], system.v0[None]
    later = q + 1e-3 * system.rates(q, v)
    (gap, rate), (gap_later, _) = system.gaps(q, v), system.gaps(later, v)
    np.testing.assert_allclose((gap, rate), ([[0.5]], [[-SPEED]]), atol=1e-15)
    np.testing.assert_allclose(gap_later, gap + 1e-3 * rate, atol=1e-15)
    assert not System(pair(1e4, 0.5)).has_gaps

"""The slew of a stage with a tank: the frequency in flight in closed form, and what the torques leave."""

import numpy as np
from checkout import CASES
from shared_runs import results_of

import femb

BANG_BANG = 'loads.slew.profile={shape="bang_bang",duration=22.07}'


def frequency_in_flight(tank, mass, inertia, gravity):
    """rad/s, of a hub of this mass and inertia, with the tank on its z axis, under a thrust that turns with it."""
    m, place = tank.moving_masses[0], tank.at[2]
    rest = tank.mass - m
    at_rest = place - m * tank.places[0] / rest
    M = mass + rest
    centre = rest * at_rest / M
    J = inertia + mass * centre**2 + rest * (at_rest - centre) ** 2
    z, k = place + tank.places[0] - centre, m * tank.frequencies[0] ** 2
    return np.sqrt(k * (1.0 / m + 1.0 / M) + z * (z * k + m * gravity) / J)


def left(*overrides):
    """The amplitude after the slew, m."""
    results = results_of("slosh_slew", *overrides)
    return 0.5 * np.ptp(results.tanks["fuel"].displacement[results.time > 27.5, 0, 0])


def test_the_frequency_in_flight():
    model = femb.load_case(CASES / "slosh_slew.toml", ["loads.slew.torque=[0,0,0]"]).model
    wanted = frequency_in_flight(model.tanks["fuel"], 1500.0, 900.0, 0.5)
    found = np.linalg.eigvals(femb.linearize(model).A)
    np.testing.assert_allclose(np.sort(np.abs(found))[-4:], wanted, rtol=1e-9)
    (shaped,) = model.loads["slew"].profile.frequencies
    assert abs(2.0 * np.pi * shaped / wanted - 1.0) < 1e-5


def test_the_shaped_slew_leaves_no_sloshing():
    """A fraction of the rest of the unshaped torque, which is four times the displacement under a steady one."""
    tank = femb.load_case(CASES / "slosh_slew.toml").model.tanks["fuel"]
    omega = frequency_in_flight(tank, 1500.0, 900.0, 0.5)
    bare = left(BANG_BANG)
    assert left() < 1e-4 * bare
    steady = 0.5 * 4.17 / 943.812 * 2.0 * 0.566212 / omega**2
    # less the decay after each of the three jumps, until the end of the slew and half of the time that is looked at
    assert 0.75 < bare / (4.0 * steady) < 1.0


def test_pendulum_and_spring_move_alike():
    """But for the acceleration of the turn, which adds to that of the thrust."""
    both = [
        results_of("slosh_slew", *words).tanks["fuel"].displacement for words in ((), ('tanks.fuel.model="spring"',))
    ]
    np.testing.assert_allclose(both[0][..., :2], both[1][..., :2], rtol=0.0, atol=5e-6)
    assert abs(np.abs(both[0][..., 0]).max() - 1.2351e-3) < 1e-7

"""Default tolerances of models in orbit: the attitude of a body after a revolution, and the steps that it costs."""

import numpy as np
import pytest
from models import boom, of_parts

import femb
from femb.numerics import rotations


def satellite(seed, turn=(0.0, 0.0, 0.0)):
    """At rest in some attitude, turned by small angles (rad) about its axes, with three plates in air."""
    rng = np.random.default_rng(seed)
    attitude = rotations.multiply(rng.standard_normal(4), (1.0, *(0.5 * np.array(turn))))
    hub = femb.RigidBody("hub", 100.0, 40.0, quaternion=attitude / np.linalg.norm(attitude))
    orbit = femb.Orbit("earth", semi_major_axis=6.678e6 + 2e5 * rng.random(), inclination=0.9)
    plates = [
        femb.PlateDrag(
            f"plate{k}", 2.0, rng.standard_normal(3), body="hub", at=0.1 * rng.standard_normal(3), density=1e-11,
            two_sided=True,
        )
        for k in range(3)
    ]  # fmt: skip
    return of_parts(hub, orbit, *plates)


def after_a_revolution(model, **words):
    period = model.loads["earth"].period
    results = femb.simulate(model, duration=period, output_interval=period, **words)
    return results.bodies["hub"].quaternion[-1], results.statistics["steps"]


def angle(found, exact):
    """Angle (rad) between two attitudes that are close."""
    return 2.0 * np.linalg.norm(found - np.sign(found @ exact) * exact)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 4])
def test_the_attitude_does_not_drift_by_the_tolerance_of_its_rate(seed):
    """Errors of 1e-5 rad/s, not controlled, would add up to 1e-3 rad in a revolution.

    Air that turns a satellite away from its attitude multiplies an error at the start by 20 to 110; what the steps add
    is of the size of rtol at the start, whatever the satellite.
    """
    found, steps = after_a_revolution(satellite(seed))
    tight = {"rtol": 1e-7, "atol": 1e-10}
    exact, _ = after_a_revolution(satellite(seed), **tight)
    turns = [after_a_revolution(satellite(seed, turn), **tight)[0] for turn in 1e-4 * np.eye(3)]
    growth = max(angle(turned, exact) for turned in turns) / 1e-4
    assert angle(found, exact) < 1e-6 * growth
    assert steps < 260


def test_only_single_bodies_in_orbit_have_the_time_of_the_orbit():
    """A body on the ground, and a hub with a boom, whose vibrations its rate follows, keep the tolerance of all."""
    atol, rtol = femb.Tolerances(), 1e-6

    def of_rates(model):
        return femb.System(model).error_scale(rtol, atol)[1][2]

    alone = satellite(0)
    period = alone.loads["earth"].period
    wanted = 1e-7 / (period / 600.0)
    lengths = np.sqrt(0.5 * 3.0 * 40.0 / 100.0), 1.0
    np.testing.assert_allclose(of_rates(alone), np.multiply(wanted, lengths), rtol=1e-12)
    with_boom = satellite(0)
    with_boom.add(femb.Beam("boom", boom(), 2.0, 1, start=with_boom.bodies["hub"].at((0, 0, 0), direction=(1, 0, 0))))
    np.testing.assert_allclose(of_rates(with_boom)[:4], 1e-7 / 0.01, rtol=1e-12)
    np.testing.assert_allclose(of_rates(of_parts(femb.RigidBody("hub", 1.0, 1.0))), 1e-7 / 0.01, rtol=1e-12)

"""Default tolerances of models in orbit: the attitude of a body after a revolution, and the steps that it costs."""

import numpy as np
import pytest
from models import boom, of_parts

import femb


def satellite(seed, **words):
    """At rest in some attitude, with three plates in air."""
    rng = np.random.default_rng(seed)
    attitude = rng.standard_normal(4)
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


@pytest.mark.parametrize("seed", [0, 4])
def test_the_attitude_does_not_drift_by_the_tolerance_of_its_rate(seed):
    """Errors of 1e-5 rad/s, not controlled, add up to 1e-3 rad in a revolution; those here to 0.2e-4 and 1.4e-4."""
    found, steps = after_a_revolution(satellite(seed))
    exact, _ = after_a_revolution(satellite(seed), rtol=1e-9, atol=1e-12)
    assert 2.0 * np.linalg.norm(found - np.sign(found @ exact) * exact) < 2e-4
    assert steps < 250


def test_only_single_bodies_in_orbit_have_the_time_of_the_orbit():
    """A body on the ground, and a hub with a boom, whose vibrations its rate follows, keep the tolerance of all."""
    atol, rtol = femb.Tolerances(), 1e-6

    def of_rates(model):
        return femb.System(model).error_scale(rtol, atol)[1][2]

    alone = satellite(0)
    period = alone.loads["earth"].period
    np.testing.assert_allclose(of_rates(alone), 1e-7 / (period / 600.0), rtol=1e-12)
    with_boom = satellite(0)
    with_boom.add(femb.Beam("boom", boom(), 2.0, 1, start=with_boom.bodies["hub"].at((0, 0, 0), direction=(1, 0, 0))))
    np.testing.assert_allclose(of_rates(with_boom)[:4], 1e-7 / 0.01, rtol=1e-12)
    np.testing.assert_allclose(of_rates(of_parts(femb.RigidBody("hub", 1.0, 1.0))), 1e-7 / 0.01, rtol=1e-12)

"""Vibrations above a frequency are damped on request, and the motion below it is kept to the tolerance."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow
from oracles.stiff_motion import flying_beam, wire_satellite

from femb import FembWarning, Model, RigidBody, load_case, simulate
from femb.elements import JointEnd, JointStops, PointMass, Prismatic, SpringDamper, SpringEnd

# The slow mass swings 0.5 m at 1 Hz; the fast one vibrates by 5 mm at 200 Hz.
SLOW, SWING = 2.0 * np.pi, 0.5
FAST, STROKE = 400.0 * np.pi, 5e-3
with_filter = pytest.mark.parametrize("method", ["radau", "generalized-alpha"])


def two_masses():
    """Two masses of 1 kg on springs to the ground, without damping, released from their strokes."""
    model = Model("two masses")
    for name, at, omega, stroke in (("slow", 0.0, SLOW, SWING), ("fast", 1.0, FAST, STROKE)):
        model.add(PointMass(name, mass=1.0, position=(at + 1.0 + stroke, at, 0)))
        ends = SpringEnd(body="ground", at=(at, at, 0)), SpringEnd(body=name)
        model.add(SpringDamper(f"spring {name}", *ends, stiffness=omega**2, free_length=1.0))
    return model


def run(method, duration=1.0, **options):
    """At an rtol of 1e-6."""
    return simulate(two_masses(), duration=duration, output_interval=0.1 * duration, method=method, **options)


@pytest.mark.parametrize(("method", "options"), [("radau", {}), ("generalized-alpha", {"spectral_radius": 0.3})])
def test_a_fast_vibration_is_damped_and_a_slow_one_kept(method, options):
    """The energy taken away is that of the fast spring; the slow mass moves as its closed form."""
    kept = run(method, filter=10.0, **options)
    slow = kept.bodies["slow"].position[:, 0] - 1.0
    error = np.abs(slow - SWING * np.cos(SLOW * kept.time)).max()
    part = {"radau": 1e-5, "generalized-alpha": 1e-3}[method]
    assert error < part * SWING
    stored = 0.5 * (FAST * STROKE) ** 2
    assert -kept.audit.energy_error[-1] == pytest.approx(stored, rel=part)
    assert np.abs(kept.bodies["fast"].position[-1] - (2.0, 1.0, 0.0)).max() < 1e-6
    assert kept.statistics["filter"] == 10.0
    assert 0.5 * error < kept.statistics["kept_error"] < 1e-3 * SWING


def test_a_filter_takes_a_twentieth_of_the_steps():
    followed, kept = run("radau", 0.2), run("radau", 0.2, filter=10.0)
    assert 20 * kept.statistics["steps"] < followed.statistics["steps"]


def test_a_filter_above_all_vibrations_changes_nothing():
    followed, kept = run("radau", 0.05), run("radau", 0.05, filter=1e6)
    for name in ("slow", "fast"):
        np.testing.assert_allclose(kept.bodies[name].position, followed.bodies[name].position, atol=2e-7)
    assert kept.statistics["steps"] == pytest.approx(followed.statistics["steps"], rel=0.02)


@with_filter
@pytest.mark.parametrize("stiffness", [1e4, 1e12])
def test_an_impact_is_followed_all_the_same(method, stiffness):
    """A stop is stiffer than any filter, and the body leaves it with the speed at which it came."""
    model = Model("stopped")
    model.add(RigidBody("b", mass=1.0, inertia=1.0, velocity=(1.0, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(JointStops("stop", joint="rail", stiffness=stiffness, upper=0.3))
    results = simulate(model, duration=1.0, output_interval=0.1, method=method, filter=1.0)
    assert results.bodies["b"].velocity[-1, 0] == pytest.approx(-1.0, rel=2e-3)


@pytest.mark.parametrize("formulation", [slow("quaternion"), "reduced"])
def test_every_formulation_takes_a_filter(formulation):
    case = load_case(CASES / "satellite_forced.toml", ["run.duration=1.0", "run.output_interval=0.1", "run.filter=2.0"])
    one, other = (simulate(case.model, replace(case.run, formulation=each)) for each in ("velocity", formulation))
    assert abs(one.statistics["steps"] - other.statistics["steps"]) <= 2
    np.testing.assert_allclose(other.beams["right"].position, one.beams["right"].position, rtol=0.0, atol=1e-6)


def test_a_method_without_a_filter_says_so():
    with pytest.warns(FembWarning, match="run.filter: 20.0 has no effect, method 'bdf' does not use it"):
        results = run("bdf", 0.01, filter=20.0)
    assert "filter" not in results.statistics


@pytest.mark.slow
@pytest.mark.parametrize(("model", "duration", "frequency"), [(flying_beam(), 4.0, 3.0), (wire_satellite(), 30.0, 1.0)])
def test_long_structures_take_a_twentieth_of_the_steps(model, duration, frequency):
    """At 1e-4 of the way that their points go, against the motion with all vibrations."""
    options = {"duration": duration, "output_interval": 0.02 * duration}
    followed = simulate(model, **options)
    kept = simulate(model, rtol=1e-5, filter=frequency, **options)
    assert 20 * kept.statistics["steps"] < followed.statistics["steps"]
    for name, beam in followed.beams.items():
        way = np.linalg.norm(beam.position - beam.position[0], axis=-1).max()
        assert np.linalg.norm(kept.beams[name].position - beam.position, axis=-1).max() < 1e-4 * way
    lost = kept.audit.energy_error[-1]
    assert -1e-3 * kept.audit.kinetic_energy.max() < lost <= 0.0

"""Vibrations above a frequency are damped on request, and the motion below it is kept to the tolerance."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from checkout import CASES
from long_runs import slow
from models import of_parts
from oracles.stiff_motion import flying_beam, wire_satellite

from femb import FembWarning, Model, RigidBody, Run, Section, Tolerances, load_case, modes, simulate
from femb.base.memory import recall, remembered
from femb.elements import (
    Attachment,
    Beam,
    JointEnd,
    JointSpringDamper,
    JointStops,
    Latch,
    PointMass,
    Prismatic,
    Revolute,
    SpringDamper,
    SpringEnd,
)
from femb.formulations import make_formulation
from femb.run.method_choice import with_method
from femb.run.overview import overview
from femb.steppers.low_pass import LowPass
from femb.steppers.radau import Radau
from femb.system.system import System

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


@pytest.mark.slow
@pytest.mark.parametrize(("method", "options"), [("radau", {}), ("generalized-alpha", {"spectral_radius": 0.3})])
def test_a_fast_vibration_is_damped_and_a_slow_one_kept(method, options):
    """The energy taken away is that of the fast spring; the slow mass moves as its closed form."""
    kept = run(method, filter=10.0, **options)
    slow = kept.bodies["slow"].position[:, 0] - 1.0
    error = np.abs(slow - SWING * np.cos(SLOW * kept.time)).max()
    part = {"radau": 1e-5, "generalized-alpha": 1e-3}[method]
    assert error < part * SWING
    stored = 0.5 * (FAST * STROKE) ** 2
    assert kept.statistics["damped"] - kept.audit.energy_error[-1] == pytest.approx(stored, rel=part)
    assert kept.audit.work[-1] == pytest.approx(-kept.statistics["damped"], rel=1e-9)
    assert np.abs(kept.bodies["fast"].position[-1] - (2.0, 1.0, 0.0)).max() < 1e-6
    assert kept.statistics["filter"] == 10.0
    assert 0.5 * error < kept.statistics["kept_error"] < 1e-3 * SWING


@pytest.mark.slow
def test_a_filter_takes_a_twentieth_of_the_steps():
    followed, kept = run("radau", 0.2), run("radau", 0.2, filter=10.0)
    assert 20 * kept.statistics["steps"] < followed.statistics["steps"]


@pytest.mark.slow
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


# Impacts


def antennas(names="ab", elements=2):
    """A free satellite with thin antennas without damping, folded on hinges with springs; each latches when it is
    straight."""
    tape = Section("tape", shape={"rectangle": [6e-3, 2e-4]}, material="stainless steel 304")
    model = Model("antennas")
    model.add(RigidBody("hub", 1.3, 2.2e-3))
    for name, turn in zip(names, np.arange(len(names)) * 2.0 * np.pi / len(names), strict=True):
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        axis = np.cross((0, 0, 1), out)
        at = 0.05 * out + (0, 0, 0.05)
        model.add(Beam(name, tape, 0.17, elements, start=Attachment(at=at, direction=(0, 0, -1), up=axis)))
        beam = JointEnd(beam=name, node=0, axis=(0, 1, 0), reference=(1, 0, 0))
        model.add(Revolute(name, JointEnd("hub", at=at, axis=axis, reference=out), beam))
        model.add(JointSpringDamper(name, joint=name, stiffness=5e-5, free=-0.3))
        model.add(Latch(name, name, at=0.0))
    return model


@pytest.mark.parametrize("formulation", ["velocity", "quaternion"])
def test_vibrations_above_the_frequency_are_taken_out_mode_by_mode(formulation):
    """Of a mode of the frequency g a part remains: the chance of at most 4 successes of 8, each of g^4/(f^4 + g^4)."""
    tape = Section("tape", shape={"rectangle": [6e-3, 2e-4]}, material="stainless steel 304")
    hub = RigidBody("hub", 0.05, 1e-5)
    model = of_parts(hub, Beam("a", tape, 0.17, 3, start=hub.at((0.02, 0, 0), direction=(1, 0, 0))))
    found = modes(model, count=14)
    system = System(model)
    form = make_formulation(system, formulation)
    frequency = 100.0
    low_pass = LowPass(frequency, form.error_scale(1e-6, Tolerances())[0])
    for g, shape in zip(found.frequencies, found.shapes.T, strict=True):
        ratio = (g / frequency) ** 4
        kept = scipy.stats.binom.cdf(4, 8, ratio / (1.0 + ratio))
        v = 1e-3 * shape.real / np.abs(shape).max()
        q, w = form.from_system(system.q0, v)
        after, lost = low_pass.quieted(form, 0.0, q, w, 1.0)
        after = form.to_system(q[None], after[None])[1][0]
        np.testing.assert_allclose(after, kept * v, rtol=0.0, atol=1e-9)
        energy = 0.5 * v @ system.mass_matrix(system.q0) @ v
        assert lost == pytest.approx((1.0 - kept**2) * energy, rel=1e-4, abs=1e-12 * energy)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol", "steps"), [("radau", 1e-6, 400), slow(("generalized-alpha", 1e-5, 1500))])
def test_what_a_latch_excites_above_the_frequency_is_gone(method, rtol, steps):
    """Its energy is part of the work, so that the balance holds; the momentum stays zero."""
    model = antennas()
    results = simulate(model, duration=1.0, output_interval=0.01, method=method, filter=20.0, rtol=rtol)
    audit, statistics = results.audit, results.statistics
    assert sorted(event.name for event in results.events) == ["latches.a", "latches.b"]
    stored = audit.potential_energy[0]
    assert statistics["damped"] > 1e-3 * stored
    assert np.abs(audit.energy_error).max() < 3e-3 * stored
    # most of the motion's energy is in the vibration at 5.5 Hz, which is kept
    last = slice(-15, None)
    assert audit.kinetic_energy[last].max() > 0.8 * stored
    # N m s and N s, of some 1e-3 of each antenna
    assert np.abs(audit.angular_momentum).max() < 1e-2 * rtol
    assert np.abs(audit.linear_momentum).max() < 1e-2 * rtol
    assert statistics["steps"] < steps


@pytest.mark.slow
@pytest.mark.parametrize(("frequency", "rtol"), [(20.0, 1e-6), (60.0, 1e-4), slow((20.0, 1e-8)), slow((150.0, 1e-6))])
def test_check_says_how_many_steps_a_latch_takes(frequency, rtol):
    """Within the factor of 2.5 that is stated, and how many a filter takes at what the output can show."""
    model, options = antennas(), {"duration": 1.0, "output_interval": 0.01, "filter": frequency, "rtol": rtol}
    taken = simulate(model, method="radau", **options).statistics["steps"]
    line = next(line for line in overview(model, Run(method="radau", **options)).lines if line.startswith("steps"))
    expected = float(line.split()[2].replace(",", ""))
    assert taken / 2.5 < expected < 2.5 * taken
    assert ("run.filter = 50, the highest that 0.01 s between outputs show" in line) == (frequency > 50.0)


def test_the_time_up_to_which_vibrations_are_damped_is_part_of_a_checkpoint():
    run = Run(duration=1.0, filter=20.0)
    first, second = (Radau(System(two_masses()), run) for _ in range(2))
    q, v = first.q, first.v + 1.0
    first.jump(0.0, q, v, first.work)
    kept = remembered(first)
    assert kept["_low_pass/until"] == pytest.approx(5.0 / 20.0)
    recall(second, kept)
    assert remembered(second)["_low_pass/until"] == kept["_low_pass/until"]


@pytest.mark.slow
def test_four_antennas_of_a_satellite_take_few_steps():
    """Their axial vibrations reach 130 kHz, and all is followed in 84,000 steps."""
    model = antennas("abcd", 3)
    kept = simulate(model, duration=3.0, output_interval=0.01, filter=20.0)
    assert kept.statistics["steps"] < 1500
    # few steps fail: without new matrices Newton's iteration is given time for what no step resolves
    assert kept.statistics["rejected"] < 0.25 * kept.statistics["steps"]
    assert kept.statistics["damped"] < 0.06 * kept.audit.potential_energy[0]
    auto = with_method(System(model), Run(duration=3.0, output_interval=0.01, method="auto"))
    assert auto[0].filter == pytest.approx(500.0 / 3.0)
    assert "as is what a latch excites" in auto[1]


def test_a_method_without_a_filter_says_so():
    with pytest.warns(FembWarning, match="run.filter: 20.0 has no effect, method 'bdf' does not use it"):
        results = run("bdf", 0.01, filter=20.0)
    assert "filter" not in results.statistics


@pytest.mark.slow
def test_a_beam_that_flies_and_bends_far_loses_no_slow_motion():
    """A filter takes nothing out where the slow motion makes Newton's iteration fail: errors follow the tolerance."""
    model, options = flying_beam(), {"duration": 8.0, "output_interval": 0.5, "filter": 3.0}
    coarse, fine = (simulate(model, rtol=rtol, **options).beams["beam"].position for rtol in (1e-4, 1e-6))
    way = np.linalg.norm(fine - fine[0], axis=-1).max()
    assert np.linalg.norm(coarse - fine, axis=-1).max() < 1e-5 * way


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

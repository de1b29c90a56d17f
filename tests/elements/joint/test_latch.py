"""Latches: hinges that lock at an angle or a time, and let go; momentum through the impulse, and where energy went."""

import numpy as np
import pytest
from models import panel_on_hub, refusals, refuses

from femb.base.options import Tolerances
from femb.elements import Attachment, Beam, Ground, JointEnd, Latch, Prismatic, Revolute, RigidBody, Section, Universal
from femb.model.model import Model
from femb.results.results import Results
from femb.run.events import Event, switched
from femb.run.simulate import simulate
from femb.system.system import System

METHODS = ["radau", "bdf", "rk", "generalized-alpha"]


def run(model, method="radau", duration=2.0, rtol=1e-9, **options):
    tolerances = Tolerances(rtol, rtol, rtol)
    return simulate(
        model, duration=duration, method=method, rtol=rtol, atol=tolerances, output_interval=0.02, **options
    )


@pytest.mark.parametrize("method", METHODS)
def test_locks_at_an_angle(method):
    """The hinge stops where it was to; momentum goes through the impulse; the energy lost is what the audit books."""
    loose = {"bdf": 1e-7, "generalized-alpha": 1e-7}
    results = run(panel_on_hub(at=0.25), method, rtol=loose.get(method, 1e-9))
    (time,) = results.arrays["events/latches.lock/time"]
    (loss,) = results.arrays["events/latches.lock/energy_loss"]
    t, joint, audit = results.time, results.joints["hinge"], results.audit
    angle, rate = joint.coordinates[:, 0], joint.rates[:, 0]
    after = t > time
    np.testing.assert_allclose(angle[after], 0.25, atol=1e-9)
    np.testing.assert_allclose(rate[after], 0.0, atol=1e-10)
    assert np.all(rate[~after] > 0.5)
    for momentum in (audit.linear_momentum, audit.angular_momentum):
        drift = {"radau": 1e-7, "rk": 1e-6, "bdf": 1e-4, "generalized-alpha": 2e-3}[
            method
        ]  # of the interpolation between the longest steps
        assert np.max(np.abs(momentum - momentum[0])) < drift * np.max(np.abs(momentum[0]))
    kinetic = audit.kinetic_energy
    assert loss > 0.0
    last, first = np.flatnonzero(~after)[-1], np.flatnonzero(after)[0]
    assert kinetic[last] - kinetic[first] == pytest.approx(
        loss, rel={"bdf": 1e-6, "generalized-alpha": 1e-5}.get(method, 1e-8)
    )
    assert np.max(np.abs(audit.energy_error)) < (1e-5 if method in loose else 1e-8)


def test_impulse_keeps_momentum_and_takes_the_relative_motion():
    """Against the plane textbook case: two rotors on one axis end at the mean rate weighted with their inertias."""
    model = Model()
    model.add(RigidBody("rotor", 1.0, (1.0, 1.0, 2.0), position=(0, 0, 0)))
    model.add(Revolute("axle", Ground().at(direction=(0, 0, 1)), JointEnd(body="rotor"), rates=1.0))
    model.add(RigidBody("disc", 1.0, (2.0, 2.0, 3.0), position=(0, 0, 0.0)))
    model.add(Revolute("clutch", JointEnd(body="rotor", axis=(0, 0, 1)), JointEnd(body="disc"), rates=3.0))
    model.add(Latch("grip", "clutch", time=0.5))
    results = run(model, duration=1.0)
    rates = results.bodies["disc"].angular_velocity[:, 2], results.bodies["rotor"].angular_velocity[:, 2]
    np.testing.assert_allclose([each[0] for each in rates], [4.0, 1.0], rtol=1e-12)
    mean = (2.0 * 1.0 + 3.0 * 4.0) / 5.0
    np.testing.assert_allclose([each[-1] for each in rates], [mean, mean], rtol=1e-10)
    (loss,) = results.arrays["events/latches.grip/energy_loss"]
    assert loss == pytest.approx(0.5 * (2.0 * 3.0 / 5.0) * 3.0**2, rel=1e-10)
    assert results.arrays["events/latches.grip/time"] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_release(method):
    """A slider held at its place falls from the time on at which it is let go, and not before; no energy is lost."""
    model = Model(gravity=(0, 0, -9.81))
    model.add(RigidBody("block", 2.0, 0.1, position=(0, 0, 3.0)))
    model.add(Prismatic("rail", Ground().at((0, 0, 3.0), direction=(0, 0, 1)), JointEnd(body="block")))
    model.add(Latch("catch", "rail", time=0.4, engaged=True))
    results = run(model, method, duration=1.0, rtol=1e-8)
    t = results.time
    fall = np.where(t > 0.4, 0.5 * 9.81 * (t - 0.4) ** 2, 0.0)
    np.testing.assert_allclose(results.bodies["block"].position[:, 2], 3.0 - fall, atol=1e-6)
    force = results.joints["rail"].force[:, 2]
    np.testing.assert_allclose(force[t < 0.39], 2.0 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(force[t > 0.41], 0.0, atol=1e-9)
    assert results.arrays["events/latches.catch/energy_loss"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("word", "at"), [("first_angle", 0.4), ("second_angle", -0.3)])
def test_either_angle_of_a_universal_joint(word, at):
    """One angle is held where it was reached, the other goes on; momentum and energy are accounted for."""
    model = Model()
    model.add(RigidBody("hub", 40.0, (3.0, 4.0, 5.0), position=(0, 0, 0), angular_velocity=(0.02, 0.01, -0.03)))
    model.add(RigidBody("arm", 5.0, (0.2, 0.5, 0.6), center_of_mass=(0.5, 0, 0)))
    first, second = JointEnd(body="hub", at=(0.5, 0, 0), axis=(0, 0, 1)), JointEnd(body="arm", axis=(0, 1, 0))
    model.add(Universal("cardan", first, second, rates=(1.0, -0.8)))
    model.add(Latch("lock", "cardan", word, at=at))
    results = run(model, duration=1.0)
    (time,) = results.arrays["events/latches.lock/time"]
    angles, audit = results.joints["cardan"].coordinates, results.audit
    held, other = (0, 1) if word == "first_angle" else (1, 0)
    after = results.time > time
    assert 0.2 < time < 0.8
    np.testing.assert_allclose(angles[after, held], at, atol=1e-9)
    assert np.all(np.abs(np.diff(angles[after, other])) > 1e-3)
    assert np.abs(audit.angular_momentum - audit.angular_momentum[0]).max() < 1e-7
    assert results.arrays["events/latches.lock/energy_loss"][0] > 0.01
    assert np.abs(audit.energy_error).max() < 1e-8
    assert audit.constraint_position.max() < 1e-10


def test_at_any_scalar_and_in_the_file(tmp_path):
    """A latch on a function of the state, beside an event of the user's; both are in the file."""
    model = panel_on_hub(when=lambda t, state: state.bodies["panel"].angular_velocity[2] - 0.9)
    model.tables["latches"].clear()
    model.add(Latch("lock", "hinge", when=lambda t, state: state.joints["hinge"].coordinates[0] - 0.1))
    seen = Event("half way", lambda t, state: state.joints["hinge"].coordinates[0] + 0.2, terminal=False)
    results = run(model, out=tmp_path / "r.h5", events=(seen,))
    read = Results.read(tmp_path / "r.h5")
    assert 0.0 < read.arrays["events/half way/time"][0] < read.arrays["events/latches.lock/time"][0]
    np.testing.assert_array_equal(read.arrays["events/latches.lock/time"], results.arrays["events/latches.lock/time"])
    np.testing.assert_allclose(read.joints["hinge"].coordinates[-1], 0.1, atol=1e-9)


test_wrong_latches = refusals(
    lambda words: Latch("lock", **words),
    ({"joint": "hinge"}, "wanted one of at, time and when"),
    ({"joint": "hinge", "at": 1.0, "time": 1.0}, "got at and time"),
    ({"joint": "hinge", "at": 1.0, "direction": 2}, "must be -1, 0 or 1"),
)


def test_unknown_joint_and_coordinate():
    model = panel_on_hub(at=1.0)
    model.add(Latch("other", "door", at=1.0))
    refuses("got 'door', which is not in the model; joints: 'hinge'", run, model)
    model = panel_on_hub(at=1.0)
    model.add(Latch("other", "hinge", "stroke", at=1.0))
    refuses("got 'stroke'; the coordinates of joint 'hinge' are: angle", run, model)


def test_momentum_and_energy_through_the_jump():
    """Momenta do not change in it, to rounding, and the energy lost is that of the velocities taken away."""
    system = System(panel_on_hub(at=0.25))
    q, v = system.q0, system.v0
    switch = switched(system, system.layout.updates, 0.0, q, v)
    other, q_after, v_after, (loss,) = switch.form, switch.q, switch.v, switch.losses
    before, after = (system.energy_momentum(q[None], each[None])[0] for each in (v, v_after))
    np.testing.assert_array_equal(q_after, q)
    np.testing.assert_allclose(after[2:], before[2:], rtol=0.0, atol=1e-13)
    taken = v - v_after
    assert loss == pytest.approx(0.5 * taken @ (system.mass_matrix(q) @ taken), rel=1e-12)
    assert loss == pytest.approx(before[0] - after[0], rel=1e-12)
    assert loss > 0.01
    assert switch.jumps
    assert other.discrete["latches.lock.engaged"] == 1.0
    assert system.discrete["latches.lock.engaged"] == 0.0


def test_latches_at_one_instant_switch_together():
    """Mirrored panels lock at the same instant, and the satellite stays as symmetric as it was."""
    model = Model()
    model.add(RigidBody("hub", 40.0, (3.0, 4.0, 5.0), position=(0, 0, 0)))
    for name, side in (("right", 1.0), ("left", -1.0)):
        model.add(RigidBody(name, 5.0, (0.2, 0.5, 0.6), center_of_mass=(0.5, 0, 0)))
        first = JointEnd(body="hub", at=(0.5 * side, 0, 0), axis=(0, 0, side), reference=(side, 0, 0))
        second = JointEnd(body=name, axis=(0, 0, side), reference=(1, 0, 0))
        model.add(Revolute(name, first, second, start=-1.0, rates=1.0))
        model.add(Latch(name, name, at=0.0))
    results = run(model, duration=2.0)
    times = [results.arrays[f"events/latches.{name}/time"] for name in ("right", "left")]
    np.testing.assert_array_equal(*times)
    np.testing.assert_allclose(results.bodies["hub"].quaternion[:, 0], 1.0, atol=1e-12)
    for name in ("right", "left"):
        np.testing.assert_allclose(results.joints[name].coordinates[-1], 0.0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_latch_on_a_damped_tube(method):
    """A body with a tube swings down under its weight and latches at default tolerances. The strain rates of the tube
    jump, and decay within 1e-8 s: steps resolve that and grow again. The latch takes the motion of the body and of the
    tube next to it, which is less with more elements; the rest decays in the tube, and the same energy is left."""
    losses, energies = [], []
    tube = Section("tube", shape={"tube": [0.01, 0.001]}, material="aluminium 6061-T6", damping=1e-3)
    for elements in (3, 6):
        model = Model(gravity=(0.0, 0.0, -9.81))
        body = model.add(RigidBody("b", 1.0, 0.05))
        model.add(Revolute("j", JointEnd("ground", axis=(0, 1, 0)), body.at((0, 0, 0.5)), start=1.0))
        start = Attachment("b", at=(0.0, 0.0, -0.5), direction=(0.0, 0.0, -1.0))
        model.add(Beam("l", tube, 1.0, elements, start=start))
        model.add(Latch("k", "j", at=-0.5, direction=-1))
        results = simulate(model, duration=0.71, method=method)
        assert results.arrays["events/latches.k/time"] == pytest.approx([0.677681], abs=2e-6)
        losses.append(results.arrays["events/latches.k/energy_loss"][0])
        energies.append(results.audit.kinetic_energy[-1] + results.audit.potential_energy[-1])
        assert np.max(np.abs(results.audit.energy_error)) < 5e-5 * losses[-1]
        assert np.ptp(results.joints["j"].coordinates[results.time > 0.68]) < 1e-9
    per_length = 2700.0 * np.pi * (0.01**2 - 0.009**2)
    fallen = 9.81 * (np.cos(0.5) - np.cos(1.0)) * (0.5 + 1.5 * per_length)
    of_body = 0.05 + 0.5**2
    alone = fallen * of_body / (of_body + per_length * 7.0 / 3.0)
    assert losses[0] == pytest.approx(1.1507, rel=1e-4)
    assert alone < losses[1] < losses[0] < 1.06 * alone
    assert energies[1] == pytest.approx(energies[0], rel=1e-4)

"""Stepper motors: the law, steps towards a motion, ripple, lost steps, audit, linear models, messages."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

import femb
from femb import (
    DriveHarmonic,
    JointEnd,
    JointFriction,
    JointStops,
    ModelError,
    Prismatic,
    Revolute,
    RigidBody,
    StepperMotor,
)
from femb.layout.protocols import LimitsSteps
from femb.linear import linearize
from femb.profiles import Constant, Polynomial, SmoothStep
from femb.system.system import System

INERTIA = 0.5  # kg m2
TIGHT = {"rtol": 1e-9, "atol": {"position": 1e-11}}


def rotor(*items, kind=Revolute, **words):
    model = femb.Model("rotor")
    model.add(RigidBody("rotor", mass=1.0, inertia=INERTIA, **words))
    model.add(kind("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("rotor")))
    for item in items:
        model.add(item)
    return model


def motor(**words):
    given = {"holding_torque": 2.0, "teeth": 50.0, "motion": Constant(0.0)} | words
    return StepperMotor(name="drive", joint="hinge", **given)


def simulated(model, duration, **words):
    return femb.simulate(model, duration=duration, **({"output_interval": duration / 200} | TIGHT | words))


def test_free_swing_is_that_of_a_pendulum():
    """Of a step at a rotor at rest: an elliptic integral, for half of the largest angle that keeps the step."""
    swing = 0.5 * np.pi / 50.0
    results = simulated(rotor(motor(motion=Constant(swing))), 1.0, output_interval=1e-3)
    stiffness = 2.0 * 50.0
    period = 4.0 * ellipk(np.sin(0.25 * np.pi) ** 2) / np.sqrt(stiffness / INERTIA)
    angle = results.joints["hinge"].coordinates[:, 0]
    assert angle.max() == pytest.approx(2.0 * swing, rel=1e-4)
    early = results.time < 0.75 * period
    assert results.time[early][np.argmax(angle[early])] == pytest.approx(0.5 * period, abs=2e-3)
    np.testing.assert_allclose(results.loads["drive"].force, 2.0 * np.sin(50.0 * (swing - angle)), atol=1e-12)
    np.testing.assert_array_equal(results.loads["drive"].target, swing)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "reduced", "hamiltonian"])
def test_energy_is_audited_with_ripple_and_damping(formulation):
    ripple = [DriveHarmonic(200.0, torque=0.1, phase=0.4), DriveHarmonic(50.0, angle=1e-3)]
    drive = motor(motion=Polynomial((0.0, 0.3)), damping=0.2, harmonics=ripple)
    method = "rk" if formulation == "hamiltonian" else "radau"
    audit = simulated(rotor(drive), 1.0, formulation=formulation, method=method).audit
    assert np.abs(audit.work).max() > 1e-3
    assert np.abs(audit.energy_error).max() < 1e-8


def test_it_follows_in_steps_at_its_clock():
    """The target is the multiple of the step that is nearest to the motion at the last sample."""
    step, rate = np.radians(0.45), 20.0
    motion = SmoothStep(duration=2.0, start=0.1, before=0.013, after=0.1)
    results = simulated(
        rotor(motor(motion=motion, step=step, step_rate=rate, damping=2.0)), 2.5, output_interval=0.0123
    )
    samples = np.floor(results.time * rate) / rate
    wanted = [step * round(motion(max(t, 0.0)) / step) for t in samples]
    np.testing.assert_allclose(results.loads["drive"].target[1:], wanted[1:], rtol=1e-14)
    assert abs(results.joints["hinge"].coordinates[-1, 0] - 0.1) < 0.5 * step + 1e-4


def test_a_fast_motion_is_followed_at_the_largest_rate_and_back():
    step, rate = 0.01, 10.0
    motion = SmoothStep(duration=0.2, before=0.0, after=0.1)
    results = simulated(rotor(motor(motion=motion, step=step, step_rate=rate, damping=3.0)), 2.0)
    target = results.loads["drive"].target
    assert np.max(np.diff(target)) <= step + 1e-12
    ramp = (results.time > 0.45) & (results.time < 0.95)
    np.testing.assert_allclose(target[ramp], step * np.ceil(results.time[ramp] * rate - 1e-9), atol=step + 1e-12)
    assert target[-1] == pytest.approx(0.1, rel=1e-14)


def test_few_steps_of_integration_where_nothing_moves():
    """Samples at which no step is due cost nothing."""
    still = motor(motion=Constant(0.2), step=0.2, step_rate=1000.0, damping=3.0)
    results = femb.simulate(rotor(still), duration=5.0, method="radau")
    assert results.statistics["steps"] < 300
    assert results.loads["drive"].target[-1] == pytest.approx(0.2)


@pytest.mark.slow
def test_ripple_at_constant_rate():
    """A torque of the angle, h periods a turn, at the rate w: I c'' + d c' + k c = -T sin(h w t), below resonance and
    above it."""
    damping, torque = 4.0, 1e-4
    for order, speed in ((200.0, 0.02), (200.0, 0.2)):
        drive = motor(motion=Polynomial((0.0, speed)), damping=damping, harmonics=[DriveHarmonic(order, torque=torque)])
        # it begins at the rate of the motion, so that it vibrates by the ripple alone
        model = rotor(drive, angular_velocity=(0, 0, speed))
        end = 10.0
        # the ripple is hardly above the tolerances
        period = 2.0 * np.pi / (order * speed)
        results = simulated(model, end, output_interval=0.01, max_step=period / 20.0)
        off = results.joints["hinge"].coordinates[:, 0] - speed * results.time
        stiffness = 2.0 * 50.0 * np.sqrt(1.0 - (0.5 * damping * speed) ** 2)  # of the lag by damping
        last = results.time > end - 2.0 * period
        omega = order * speed
        wanted = torque / abs(stiffness - INERTIA * omega**2 + 1j * damping * omega)
        phase = omega * results.time[last]
        waves = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=1)
        found = np.linalg.lstsq(waves, off[last], rcond=None)[0]
        assert np.hypot(*found[:2]) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.slow
def test_beyond_its_holding_torque_it_loses_steps():
    held = simulated(rotor(motor(damping=5.0), femb.JointMotor("load", "hinge", force=1.5)), 4.0)
    assert held.joints["hinge"].coordinates[-1, 0] == pytest.approx(np.arcsin(0.75) / 50.0, rel=1e-3)
    slipped = simulated(rotor(motor(damping=0.5), femb.JointMotor("load", "hinge", force=2.2)), 4.0)
    assert slipped.joints["hinge"].coordinates[-1, 0] > 2.0 * np.pi / 50.0


@pytest.mark.slow
def test_friction_and_play_are_items_of_their_own():
    """A gear with play behind the motor: the load lies on one side of it, then on the other."""
    play, load = 0.02, 0.3
    seal = JointFriction("seal", "hinge", coulomb=0.05, transition_rate=1e-3)
    model = rotor(motor(motion=Constant(0.0), damping=1.0), seal)
    model.add(RigidBody("load", mass=1.0, inertia=1.0))
    model.add(Revolute("gear", JointEnd("rotor", axis=(0, 0, 1)), JointEnd("load")))
    model.add(
        JointStops("play", "gear", lower=-0.5 * play, upper=0.5 * play, stiffness=1e4, exponent=1.0, damping=20.0)
    )
    model.add(femb.Load("push", body="load", torque=(0, 0, load), profile=lambda t: 1.0 if t < 6.0 else -1.0))
    results = femb.simulate(model, duration=12.0, output_interval=0.1, method="radau")
    gear = results.joints["gear"].coordinates[:, 0]
    before = int(np.searchsorted(results.time, 5.9))
    assert gear[before] == pytest.approx(0.5 * play + load / 1e4, rel=1e-2)
    assert gear[-1] == pytest.approx(-0.5 * play - load / 1e4, rel=1e-2)


def test_longest_step_is_an_eighth_of_the_period_of_the_ripple():
    model = rotor(motor(harmonics=[DriveHarmonic(200.0, torque=1e-3)]), angular_velocity=(0, 0, 0.3))
    system = System(model)
    assert system.limits_steps
    (batch,) = (each for each in system.batches if isinstance(each, LimitsSteps))
    assert batch.longest_step(system.q0, system.v0) == pytest.approx(2.0 * np.pi / (8.0 * 200.0 * 0.3), rel=1e-12)
    assert batch.longest_step(system.q0, 0.0 * system.v0) == np.inf
    assert not System(rotor(motor())).limits_steps


def test_linear_models_have_its_target_as_input():
    """Between steps, too: the transfer from the target to the angle is k/(k + i w d - I w2)."""
    ripple = [DriveHarmonic(50.0, angle=1e-3, phase=0.2), DriveHarmonic(200.0, torque=0.01, phase=0.5 * np.pi)]
    for words in ({}, {"step": 0.01, "step_rate": 10.0}):
        model = rotor(motor(damping=0.4, **words))
        space = linearize(model, inputs=["loads.drive.angle"], outputs=["joints.hinge.angle"])
        w = 3.0
        wanted = 100.0 / (100.0 + 1j * w * 0.4 - INERTIA * w**2)
        assert space.transfer(1j * w)[0, 0] == pytest.approx(wanted, rel=1e-9)
    # with errors of the target and the torque, from the law at the equilibrium
    space = linearize(
        rotor(motor(harmonics=ripple)),
        inputs=["loads.drive.angle"],
        outputs=["joints.hinge.angle"],
        start="equilibrium",
    )
    target = 1e-3 * np.sin(0.2)

    def torque(c):
        return 2.0 * np.sin(50.0 * (target - c)) - 0.01 * np.sin(200.0 * c + 0.5 * np.pi)

    c = brentq(torque, -0.01, 0.01)
    stiffness = 100.0 * np.cos(50.0 * (target - c))
    total = stiffness + 0.01 * 200.0 * np.cos(200.0 * c + 0.5 * np.pi)
    static = stiffness * (1.0 + 0.05 * np.cos(0.2)) / total
    assert space.transfer(0.0)[0, 0] == pytest.approx(static, rel=1e-8)


def test_commands_add_to_the_motion():
    drive = motor(step=0.01, step_rate=10.0)
    at_start = {"target": 0.0, "command": 0.0, "next": 9.0}
    words = {f"loads.drive.{word}": np.array(value) for word, value in at_start.items()}
    changed = drive.commanded("angle", np.array([0.026]), 0.73, words)
    assert changed == {"loads.drive.command": 0.026, "loads.drive.next": pytest.approx(0.8)}
    assert drive.commanded("angle", np.array([0.026]), 0.8, words)["loads.drive.next"] == pytest.approx(0.9)
    stepped = drive._stepped(0.8, None, words | {"loads.drive.command": np.array(0.026)})
    assert stepped == {"loads.drive.target": pytest.approx(0.01), "loads.drive.next": pytest.approx(0.9)}
    smooth = motor().commanded("angle", np.array([0.3]), 0.0, {})
    assert smooth == {"loads.drive.command": 0.3, "loads.drive.target": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("step", [None, 0.01])
def test_a_sampled_controller_commands_it(step):
    """A square wave of 2.5 s: the target follows at once, or by a step of 0.01 rad at every tenth of a second."""
    words = {} if step is None else {"step": step, "step_rate": 10.0}
    model = rotor(motor(damping=3.0, **words))

    def law(t, inputs, state):
        return 0.05 if (t % 5.0) < 2.5 else -0.05

    outputs = {"inputs": ["joints.hinge.angle"], "outputs": ["loads.drive.angle"]}
    model.add(femb.SampledController("law", law, period=0.5, **outputs))
    results = femb.simulate(model, duration=5.0, output_interval=0.0517)
    t, target = results.time, results.loads["drive"].target
    if step is None:
        np.testing.assert_array_equal(target[1:], np.where(t[1:] < 2.5, 0.05, -0.05))
        return
    up = step * np.clip(np.floor(t * 10.0), 0, 5)
    down = 0.05 - step * np.clip(np.floor((t - 2.5) * 10.0), 0, 10)
    np.testing.assert_allclose(target, np.where(t < 2.5, up, down), atol=1e-12)


@pytest.mark.slow
def test_an_extended_run_goes_on_with_its_steps(tmp_path):
    words = {"output_interval": 0.05, "method": "radau"}
    ripple = [DriveHarmonic(200.0, torque=0.02)]
    motion = SmoothStep(duration=2.0, after=0.3)

    def driven():
        return rotor(motor(motion=motion, step=0.005, step_rate=7.0, damping=2.0, harmonics=ripple))

    whole = femb.simulate(driven(), duration=3.0, **words)
    femb.simulate(driven(), duration=1.0, out=tmp_path / "run.h5", **words)
    more = femb.simulate(driven(), duration=1.0, out=tmp_path / "run.h5", extend=2.0, **words)
    np.testing.assert_array_equal(more.loads["drive"].target, whole.loads["drive"].target)
    np.testing.assert_allclose(more.joints["hinge"].coordinates, whole.joints["hinge"].coordinates, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: motor(step=0.1), "loads.drive.step_rate: is missing beside 'step'"),
        (lambda: motor(step_rate=10.0), "loads.drive.step: is missing beside 'step_rate'"),
        (lambda: motor(holding_torque=0.0), "loads.drive.holding_torque"),
        (lambda: motor(harmonics=[3.0]), "loads.drive.harmonics"),
        (lambda: motor(motion=3.0), "loads.drive.motion"),
        (lambda: DriveHarmonic(4.0), "harmonic.torque: neither torque nor angle is given"),
        (lambda: DriveHarmonic(0.0, torque=1.0), "harmonic.order"),
        (lambda: System(rotor(motor(), kind=Prismatic)), "got the stroke 'stroke' of 'hinge', wanted an angle: none"),
    ],
)
def test_refused(make, message):
    with pytest.raises(ModelError) as refused:
        make()
    assert message in str(refused.value)

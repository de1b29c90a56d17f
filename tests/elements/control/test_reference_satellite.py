"""The reference satellite with its attitude law, against an independent program (docs/theory/control_loop.md)."""

import numpy as np
import pytest
from long_runs import slow_but
from oracles.controlled_satellite import BANDWIDTH, LOCKED, WHEELS, satellite

import femb

GAINS = {
    "proportional": LOCKED * BANDWIDTH**2, "derivative": 1.4 * BANDWIDTH * LOCKED, "wheels": WHEELS, "period": 0.1,
    "delay": 0.1,
}  # fmt: skip
TRUE = {"attitude": "bodies.hub", "rate": "bodies.hub"}
TIGHT = {"method": "radau", "rtol": 1e-10, "atol": {"quaternion": 1e-12}, "output_interval": 0.5}


def turned(angle, axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    return {"quaternion": (np.cos(0.5 * angle), *np.sin(0.5 * angle) * unit)}


def state(results, t):
    """Vector part of the quaternion and angular velocity at a time, speeds of the wheels, angles of the panels."""
    k, hub = round(t / 0.5), results.bodies["hub"]
    speeds = [results.wheels[name].speed[k] for name in WHEELS]
    angles = [results.joints[name].coordinates[k, 0] for name in ("left", "right")]
    return hub.quaternion[k, 1:], hub.angular_velocity[k], np.array(speeds), np.array(angles)


PD = {
    1: (
        [0.005722690611, 0.005748710690, 0.005749515690],
        [-1.919186539e-5, -1.113253608e-4, -1.069569627e-4],
        [102.098965523, -99.299156733, 99.755405929, -97.601350376],
        8.17197719e-5,
    ),
    10: (
        [0.003362314794, 0.003496935958, 0.003329996251],
        [-7.67719746e-4, -7.50805005e-4, -7.69113363e-4],
        [116.453060257, -96.482104419, 96.885067631, -81.344532059],
        -4.50240234e-6,
    ),
    60: (
        [1.131783345e-5, 1.297062208e-5, 1.079383205e-5],
        [-6.6553228e-8, 3.83486300e-7, 7.3746531e-8],
        [90.654340889, -90.657161803, 90.653098171, -90.653733520],
        2.38002322e-7,
    ),
}


@pytest.fixture(scope="module")
def regulated():
    model = satellite(**turned(0.02, (1, 1, 1)))
    model.add(femb.PDController("attitude", **TRUE, **GAINS))
    return femb.simulate(model, duration=60.0, **TIGHT)


@pytest.mark.parametrize("t", [1, 10, 60])
def test_pd(regulated, t):
    quaternion, omega, speeds, angles = state(regulated, t)
    wanted = PD[t]
    np.testing.assert_allclose(quaternion, wanted[0], atol=1e-10)
    np.testing.assert_allclose(omega, wanted[1], atol=1e-10)
    np.testing.assert_allclose(speeds, wanted[2], rtol=1e-8)
    np.testing.assert_allclose(angles, wanted[3], atol=1e-10)


def test_balances(regulated):
    """The motors' work and friction are in the balance; no torque acts from outside."""
    audit = regulated.audit
    assert np.abs(audit.energy_error).max() < 1e-8 * audit.kinetic_energy.max()
    change = audit.angular_momentum - audit.angular_momentum[0]
    # an inertia of 2e3 kg m2 and a tolerance of the rates of 1e-10 rad/s
    assert np.abs(change).max() < 2e-7


@pytest.mark.slow
def test_pid_against_an_outside_torque():
    model = satellite(**turned(0.02, (1, 1, 1)))
    model.add(femb.Load("drag", body="hub", torque=(0.01, -0.005, 0.008), frame="body"))
    model.add(femb.PIDController("attitude", **TRUE, **GAINS, integral=0.1 * BANDWIDTH**3 * LOCKED))
    quaternion, omega, _, _ = state(femb.simulate(model, duration=60.0, **TIGHT), 60)
    np.testing.assert_allclose(quaternion, [-2.1121307e-4, -5.01524737e-4, -2.20291623e-4], atol=1e-10)
    np.testing.assert_allclose(omega, [1.178433745e-5, 2.183090175e-5, 1.205838064e-5], atol=1e-10)


def test_wheels_at_their_limits():
    model = satellite(**turned(0.3, (0, 0, 1)))
    model.add(femb.PDController("attitude", **TRUE, **GAINS))
    results = femb.simulate(model, duration=30.0, **(TIGHT | {"output_interval": 0.1}))
    quaternion, omega = results.bodies["hub"].quaternion[-1, 1:], results.bodies["hub"].angular_velocity[-1]
    np.testing.assert_allclose(quaternion, [-2.928437e-4, 6.92305753e-4, 0.102099437785], atol=2e-10)
    np.testing.assert_allclose(omega, [-2.491111133e-5, 9.686073446e-5, -6.344731459658e-3], atol=2e-10)
    # the command of the last sample acts after the end
    assert np.count_nonzero(np.abs(results.controllers["attitude"].output[:-1]) > 0.2) == 1196
    assert sum(results.wheels[name].clips[-1] for name in WHEELS) == 1196


def test_noise():
    model = satellite()
    model.seed = 2026
    model.add(femb.AttitudeSensor("tracker", body="hub", noise=1e-5))
    walk = {"angle_random_walk": 2e-6, "rate_random_walk": 1e-8, "bias": 1e-6}
    model.add(femb.Gyro("gyro", body="hub", **walk))
    model.add(femb.PDController("attitude", attitude="sensors.tracker", rate="sensors.gyro", **GAINS))
    results = femb.simulate(model, duration=60.0, **TIGHT)
    wanted = {
        10: ([-3.930355340e-7, -1.723160063e-6, -8.054297600e-6], [-1.443083902e-6, -8.591869758e-7, -1.927945822e-6]),
        60: ([-4.261476193e-6, -5.158060220e-6, -2.631030994e-6], [-2.308439637e-6, -1.120756197e-6, 2.836460224e-7]),
    }  # fmt: skip
    for t, (vector, rate) in wanted.items():
        quaternion, omega, _, _ = state(results, t)
        np.testing.assert_allclose(quaternion, vector, atol=1e-11)
        np.testing.assert_allclose(omega, rate, atol=1e-11)


def behind_a_filter(tau):
    """The satellite without wheels in a spin; a continuous law about x through a filter of a time constant."""
    model = satellite(None, angular_velocity=(0.01, 0.002, -0.003))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    words = {"inputs": ("bodies.hub.turn.x", "bodies.hub.angular_velocity.x"), "outputs": ("loads.torquer.torque",)}
    gains = [[-46.65 / tau, -435.4 / tau]]
    model.add(femb.LinearController("pd", A=[[-1.0 / tau]], B=gains, C=[[1.0], [0.0], [0.0]], **words))
    return model


def test_poles_behind_a_filter():
    poles = femb.linearize(behind_a_filter(0.2), at_rest=True).eigenvalues()
    for wanted in (-0.10720907 + 0.11048872j, -0.43452962 + 4.39940110j, -4.02189761):
        assert np.min(np.abs(poles - wanted)) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("method", "error"), slow_but([("radau", 2.8e-10)], [("radau", 2.8e-10), ("bdf", 1.7e-7)]))
def test_a_faster_filter_costs_no_steps(method, error):
    """Beside an explicit method, which the filter of 0.2 s does not trouble."""

    def run(tau, method, rtol):
        return femb.simulate(behind_a_filter(tau), duration=20.0, output_interval=20.0, method=method, rtol=rtol)

    right = run(0.2, "rk", 1e-10).bodies["hub"].angular_velocity[-1]
    slow, *fast = (run(tau, method, 1e-6) for tau in (0.2, 2e-4, 2e-7))
    assert np.abs(slow.bodies["hub"].angular_velocity[-1] - right).max() < error
    for each in fast:
        assert each.statistics["steps"] <= 1.1 * slow.statistics["steps"]


# Limit cycles of a rounded angle: the x axis of the satellite alone

STEP = 1e-4  # rad


def rounded(rates, duration):
    """The angle (k,) of a rigid body about one axis, held by the pd law on its rounded angle, at the outputs."""
    inertia, w = LOCKED[0], BANDWIDTH
    model = femb.Model("rounded")
    model.add(femb.RigidBody("body", 100.0, (inertia, 1.0e3, 1.5e3)))
    ends = femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("body", axis=(1, 0, 0))
    model.add(femb.Revolute("hinge", *ends, start=8e-4))
    model.add(femb.JointMotor("motor", "hinge", force=0.0))
    model.add(femb.Encoder("angle", joint="hinge", quantum=STEP, rounding="round"))
    gains = -inertia * w**2, -1.4 * w * inertia

    def law(t, y, x):
        rate = y[1] if rates == "exact" else (y[0] - x[0]) / 0.1
        return np.array([gains[0] * y[0] + gains[1] * rate]), y[:1]

    words = {"inputs": ["sensors.angle", "joints.hinge.angle rate"], "outputs": ["loads.motor.force"]}
    model.add(femb.SampledController("law", law, period=0.1, delay=0.1, state=(8e-4,), **words))
    options = {"method": "radau", "rtol": 1e-6, "output_interval": 1.0}
    return femb.simulate(model, duration=duration, **options).joints["hinge"].coordinates[:, 0]


@pytest.mark.slow
def test_a_rounded_angle_with_exact_rates_comes_to_rest():
    angle = rounded("exact", 120.0)
    assert np.abs(angle[-30:]).max() <= 0.5 * STEP
    assert np.ptp(angle[-20:]) < 0.01 * STEP


@pytest.mark.slow
def test_a_rounded_angle_with_rates_of_its_differences_drifts_in_a_band():
    """Between both edges of the step for ever, 0.5005 of it; the period depends on the start."""
    angle = rounded("differences", 2400.0)[300:]
    assert np.abs(angle).max() < 0.5015 * STEP
    assert angle.max() > 0.499 * STEP
    assert angle.min() < -0.499 * STEP
    rises = np.flatnonzero((angle[:-1] < 0.0) & (angle[1:] >= 0.0))
    assert len(rises) >= 2
    assert np.all((np.diff(rises) > 800.0) & (np.diff(rises) < 1000.0))

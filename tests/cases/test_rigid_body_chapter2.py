"""The rod on springs of the thesis's chapter 2: landmarks of its three cases, found by three other formulations."""

import re
from functools import cache

import numpy as np
import pytest
from checkout import CASES

from femb import load_case, simulate
from femb.layout.connections import SingularityError
from femb.numerics.euler import euler_rates, gimbal_distance
from femb.system.system import System

pytestmark = pytest.mark.slow

AT_REST = "bodies.rod.euler_rates=[0, 0, 0]"
MOVING = "bodies.rod.euler_rates=[1, 10, 1]"
TIGHT = ("run.rtol=1e-12", "run.atol={ position = 1e-12, quaternion = 1e-12 }")


def case(name, *overrides):
    return load_case(CASES / f"rigid_body_{name}.toml", overrides)


@cache
def run(name, *overrides):
    loaded = case(name, *overrides)
    return simulate(loaded.model, loaded.run)


@cache
def singularity(*options):
    """The error in which the second case ends."""
    with pytest.raises(SingularityError) as error:
        run("dual_euler_torque", *options)
    return error.value


def middle_angle(results):
    return results.bodies["rod"].euler_angles()[:, 1]


# Supports


def test_lengths_of_the_supports():
    """Thesis (24), with the displacements alpha and beta of the rod's ends."""
    system = System(case("free").model)
    batch = next(each for each in system.batches if type(each).__name__ == "SpringBatch")
    rng = np.random.default_rng(0)
    q = np.concatenate([0.3 * rng.standard_normal(3), rng.standard_normal(4)])
    system.normalise(q)
    w, x, y, z = q[3:]
    third = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * x * x - 2 * y * y])
    alpha, beta = (q[:3] + side * 0.15 * (third - [0, 0, 1]) for side in (-1.0, 1.0))
    wanted = [
        np.hypot(np.hypot(1 + alpha[0], alpha[1]), alpha[2]),
        np.hypot(np.hypot(1 + beta[0], beta[1]), beta[2]),
        np.hypot(np.hypot(1 + alpha[1], alpha[0]), alpha[2]),
        np.hypot(np.hypot(1 + beta[1], beta[0]), beta[2]),
    ]
    names = ["x1", "x2", "y1", "y2"]
    assert list(case("free").model.springs) == names
    np.testing.assert_allclose([batch.lengths(k, q, np.zeros(6))[0] for k in range(4)], wanted, rtol=1e-14)
    energy = system.energy_momentum(q[None], np.zeros((1, 6)))[0, 1]
    assert energy == pytest.approx(0.05 * np.sum((np.array(wanted) - 1.0) ** 2), rel=1e-13)


def test_start_is_free_of_force():
    system = System(case("free", AT_REST).model)
    assert np.abs(system.acceleration(np.zeros(0), system.q0, system.v0)).max() < 1e-14
    assert system.energy_momentum(system.q0[None], system.v0[None])[0, 1] == 0.0


# Case 1


@pytest.mark.parametrize("method", ["rk", "radau"])
def test_free_motion(method):
    # Radau needs more digits of tolerance for the same error.
    results = run("free", *TIGHT, "run.output_interval=1e-3", f"run.method={method}")
    angle = middle_angle(results)
    assert angle.min() == pytest.approx(-1.485080, abs=2e-5)  # of a peak between two outputs
    assert results.time[angle.argmin()] == pytest.approx(0.515166, abs=1e-3)
    assert angle.max() == pytest.approx(1.499365, abs=2e-5)
    assert results.time[angle.argmax()] == pytest.approx(0.907180, abs=1e-3)
    energy = results.audit.kinetic_energy + results.audit.potential_energy
    assert energy[0] == pytest.approx(0.365178524, abs=1e-12)
    assert energy[-1] == pytest.approx(0.0054896969956, abs=1e-11)
    assert np.abs(results.audit.energy_error).max() < 1e-10
    assert np.linalg.norm(results.bodies["rod"].angular_velocity, axis=1).max() < 10.1015


@pytest.mark.parametrize(("time", "angle"), [(0.515166, -1.485080), (0.907180, 1.499365)])
def test_extrema_of_the_middle_angle(time, angle):
    body = run("free", *TIGHT, f"run.duration={time}", f"run.output_interval={time}").bodies["rod"]
    assert body.euler_angles()[-1, 1] == pytest.approx(angle, abs=6e-7)
    _, rate, third = euler_rates(body.quaternion[-1], body.angular_velocity[-1])
    assert abs(rate) < 2e-3  # its rate there is some 1400 rad/s2, the time known to half a microsecond
    if time > 0.9:
        assert third == pytest.approx(-103.33, abs=0.005)


# Case 2


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        (("run.method=rk", "run.rtol=1e-6"), 1e-6),
        (("run.method=radau", "run.rtol=1e-6"), 1e-6),
        (("run.method=rk",), 2e-9),
        (("run.method=rk", *TIGHT), 1e-9),
        (("run.method=radau", *TIGHT), 1e-9),
    ],
)
def test_time_of_the_singularity(options, tolerance):
    error = singularity(*options)
    assert re.search(r"loads\.spin: body 'rod'.*0\.16160", str(error))
    assert error.time == pytest.approx(0.161600415, abs=tolerance)
    results = error.results
    assert results.status == "failed"
    assert results.time[-1] == pytest.approx(0.161588613, abs=3e-7)  # |cos phi| = 1e-4 and up to a hundredth more
    np.testing.assert_allclose(results.time[:-1], 1e-3 * np.arange(162), atol=1e-12)


def test_crossing_of_a_thousandth():
    results = run("dual_euler_torque", *TIGHT, "run.duration=0.161482399", "run.output_interval=0.161482399")
    body = results.bodies["rod"]
    assert gimbal_distance(body.quaternion[-1]) == pytest.approx(1e-3, abs=1e-8)
    third = euler_rates(body.quaternion[-1], body.angular_velocity[-1])[2]
    assert third == pytest.approx(10.0, abs=0.25)
    assert np.abs(results.audit.energy_error).max() < 1e-10


def test_torque_stays_finite_on_the_way():
    body = singularity("run.method=rk", *TIGHT).results.bodies["rod"]
    distance = gimbal_distance(body.quaternion[-1])
    third = euler_rates(body.quaternion[-1], body.angular_velocity[-1])[2]
    assert abs(0.1 - 0.01 * third) / distance == pytest.approx(1.961, abs=1e-3)
    np.testing.assert_allclose(body.angular_velocity[-1], [6.40, 5.55, 27.67], atol=0.01)


@pytest.mark.parametrize(("method", "duration"), [("rk", 10.0), ("radau", 2.0)])
def test_from_rest_there_is_no_singularity(method, duration):
    results = run("dual_euler_torque", AT_REST, f"run.duration={duration}", f"run.method={method}")
    assert results.status == "complete"
    angle = middle_angle(results)
    assert np.cos(angle).min() > 0.999
    assert np.abs(angle).max() < 0.0438325


def test_without_damping_it_is_missed():
    results = run("dual_euler_torque", "loads.spin.damping=0", "run.duration=0.4")
    assert np.cos(middle_angle(results)).min() == pytest.approx(0.1432, abs=1e-3)


@pytest.mark.parametrize(
    ("override", "time"),
    [
        ("loads.spin.damping=[0, 0, 0.0101]", 0.161650),
        ("loads.spin.torque=[0, 0, 0.101]", 0.161515),
        ("loads.spin.torque=[0, 0, 0]", 0.176394),
        ("loads.spin.damping=[0, 0, 0.005]", 0.158490),
        ("bodies.rod.center_of_mass=[0, 0, 0]", 0.161621),
        ("loads.spin.damping=[0.01, 0.01, 0.01]", 0.181314),
    ],
)
def test_sensitivity_of_the_time(override, time):
    """Rolling damping alone, too, draws the free motion into the singularity, as the source remarks."""
    assert singularity(override).time == pytest.approx(time, abs=1e-6)


# Case 3


def test_spin_up():
    """omega_3 rises as that of a body held in bearings."""
    results = run("body_torque", "run.duration=1.0", *TIGHT)
    inertia = case("body_torque").model.bodies["rod"].inertia
    effective = 1.0 / np.linalg.inv(inertia)[2, 2]
    assert effective == pytest.approx(2.79965e-4, rel=1e-5)
    wanted = 10.0 * (1.0 - np.exp(-0.01 * results.time / effective))
    assert np.abs(results.bodies["rod"].angular_velocity[:, 2] - wanted).max() < 0.0077


def test_body_torque_from_rest():
    results = run("body_torque", *TIGHT)
    spin = results.bodies["rod"].angular_velocity[:, 2]
    assert spin[-1] == pytest.approx(9.992954968, abs=1e-9)
    assert spin.max() == pytest.approx(9.993238, abs=1e-6)
    assert np.abs(middle_angle(results)).max() == pytest.approx(0.043841, abs=1e-6)
    assert np.abs(results.audit.energy_error).max() < 1e-10


@pytest.mark.parametrize(("interval", "bound"), [(1e-3, 6e-4), (1e-4, 1e-5)])
def test_body_torque_on_a_moving_start(interval, bound):
    """bound : of the least distance, to which half an interval adds."""
    results = run("body_torque", MOVING, *TIGHT, f"run.output_interval={interval}")
    assert results.status == "complete"
    distance = gimbal_distance(results.bodies["rod"].quaternion)
    assert distance.min() == pytest.approx(0.02574, abs=bound)
    assert results.time[distance.argmin()] == pytest.approx(9.0563, abs=0.5 * interval + 1e-4)
    assert np.abs(results.audit.energy_error).max() < 1e-10

"""Noise of sensors: numbers by counter, and the walk of a gyro's bias."""

import numpy as np
import pytest
from long_runs import slow_but
from matplotlib.text import Text
from models import of_parts

import femb
from femb.elements.control.sensor import noise_key, normals
from femb.elements.control.sensors import walk
from femb.numerics import rotations

# docs/theory/control_loop.md, section 2: seed 7, sensor "gyro"
FIRST = [-1.03079429, 0.39065646, -0.51920257, -1.54228817]
SIXTH = [0.66573723, 0.49989319, 0.56892738, 0.02966183]


def test_numbers():
    key = noise_key(7, "gyro")
    np.testing.assert_allclose(normals(key, 0, 4), FIRST, atol=5e-9)
    np.testing.assert_allclose(normals(key, 5, 4), SIXTH, atol=5e-9)


def test_statistics():
    key, other = noise_key(3, "a"), noise_key(3, "b")
    numbers = np.concatenate([normals(key, k, 12) for k in range(10_000)])
    assert abs(numbers.mean()) < 3.0 / np.sqrt(numbers.size)
    assert abs(numbers.std() - 1.0) < 3.0 / np.sqrt(2.0 * numbers.size)
    assert abs((numbers**4).mean() - 3.0) < 3.0 * np.sqrt(96.0 / numbers.size)
    assert abs((numbers[1:] * numbers[:-1]).mean()) < 3.0 / np.sqrt(numbers.size)
    beside = np.concatenate([normals(other, k, 12) for k in range(10_000)])
    assert abs((numbers * beside).mean()) < 3.0 / np.sqrt(numbers.size)


def allan(rate, period, count):
    """Allan deviation of a rate over ``count`` samples."""
    means = rate[: len(rate) // count * count].reshape(-1, count).mean(axis=1)
    return np.sqrt(0.5 * np.mean(np.diff(means) ** 2))


@pytest.mark.parametrize(("samples", "longest"), [(20_000, 10), pytest.param(200_000, 1000, marks=pytest.mark.slow)])
def test_allan_deviation(samples, longest):
    """N and K of a gyro, from its samples: sqrt(N^2/t + K^2 t/3)."""
    N, K, T = 2e-5, 3e-6, 0.1
    key, bias = noise_key(1, "gyro"), np.zeros(3)
    end, mean, decay, share = walk(K, None, T)
    rate = np.empty((samples, 3))
    for k in range(len(rate)):
        first, second, white = normals(key, k, 9).reshape(3, 3)
        rate[k] = share * bias + mean[0] * first + mean[1] * second + N / np.sqrt(T) * white
        bias = decay * bias + end * first
    for count in [each for each in (1, 10, 100, 1000) if each <= longest]:
        t = count * T
        got = np.sqrt(np.mean([allan(each, T, count) ** 2 for each in rate.T]))
        np.testing.assert_allclose(got, np.sqrt(N**2 / t + K**2 * t / 3.0), rtol=0.05)


@pytest.mark.parametrize("correlation", [None, 3.0])
def test_walk_over_two_halves(correlation):
    """The walk over a period is that of two halves: covariance of end and mean."""

    def covariance(T):
        end, mean, decay, share = walk(0.7, correlation, T)
        Q = np.array([[end, 0.0], mean])
        return Q @ Q.T, decay, share

    whole, decay, share = covariance(0.8)
    half, decay_2, share_2 = covariance(0.4)
    # state (bias at the end, integral of it); mean = integral / T
    F = np.array([[decay_2, 0.0], [share_2 * 0.4, 1.0]])
    scale = np.diag([1.0, 0.4])
    twice = F @ (scale @ half @ scale) @ F.T + scale @ half @ scale
    np.testing.assert_allclose(np.diag([1.0, 0.8]) @ whole @ np.diag([1.0, 0.8]), twice, rtol=1e-10)
    np.testing.assert_allclose(decay, decay_2**2, rtol=1e-14)
    np.testing.assert_allclose(share * 0.8, 0.4 * share_2 * (1.0 + decay_2), rtol=1e-12)


def turning(*sensors, rate=(0.1, -0.2, 0.3)):
    return of_parts(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), angular_velocity=rate), *sensors, seed=5)


def test_sensors_of_rotation():
    """Attitude and rate of a body that turns steadily; in axes of their own; a mean over the period."""
    axes = rotations.normalise(np.array([0.9, 0.1, -0.3, 0.2]))
    rate = np.array([0.1, -0.2, 0.3])
    run = {"period": 0.5}
    model = turning(
        femb.AttitudeSensor("tracker", body="hub", axes=axes, **run),
        femb.Gyro("gyro", body="hub", axes=axes, **run),
        femb.Gyro("mean", body="hub", integrating=True, **run),
        femb.Gyro("late", body="hub", delay=0.7, scale=3.0, range=0.5, **run),
    )
    results = femb.simulate(model, duration=5.0, output_interval=0.25, rtol=1e-10)
    sensors, at = results.sensors, {name: group.value for name, group in results.sensors.items()}
    R = rotations.rotation_matrix(axes)
    np.testing.assert_allclose(at["gyro"][3:], np.tile(R.T @ rate, (18, 1)), atol=1e-9)
    np.testing.assert_allclose(at["mean"][4:], np.tile(rate, (17, 1)), atol=1e-8)
    # the range ends on both sides; the first value arrives 0.7 s after the sample at 0, before it is that of the start
    np.testing.assert_allclose(at["late"][1:], np.tile([0.3, -0.5, 0.5], (20, 1)), atol=1e-9)
    # a value at an output instant is that of the last sample before it
    times = sensors["tracker"].time
    assert times[1] == 0.0
    assert times[2] == 0.0
    assert times[3] == 0.5
    body = rotations.multiply(rotations.exponential(np.outer(times, rate)), np.broadcast_to(axes, (len(times), 4)))
    body *= np.sign(body[:, :1])
    np.testing.assert_allclose(at["tracker"][1:], body[1:], atol=1e-8)


def test_noise_of_sensors_is_reproduced():
    """The order of sensors and their number change nothing; another seed does."""

    def values(*names, seed=5):
        model = femb.Model(seed=seed)
        model.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), angular_velocity=(0.1, 0.0, 0.0)))
        for name in names:
            model.add(femb.Gyro(name, body="hub", period=0.5, angle_random_walk=1e-3, rate_random_walk=1e-4))
        results = femb.simulate(model, duration=5.0, output_interval=0.5)
        return results.sensors["b"].value

    one = values("a", "b")
    assert np.array_equal(one, values("b", "a", "c"))
    assert not np.array_equal(one, values("a", "b", seed=6))


def test_deviation_and_bias_of_the_noise_of_a_sensor():
    """Of 600 numbers the deviation is right to 3 %, the mean to 0.04 deviations: four times these are asserted."""
    noise, bias = 2e-3, (0.1, -0.2, 0.3)
    model = turning(femb.Accelerometer("a", body="hub", period=0.01, noise=noise, bias=bias))
    group = femb.simulate(model, duration=2.0, output_interval=2.0).sensors["a"]
    error = group.sample_value - group.sample_true - bias
    assert len(error) >= 200
    assert abs(error.std() / noise - 1.0) < 0.12
    assert abs(error.mean()) < 0.16 * noise


def test_accelerometer():
    """Specific force: upwards at rest on the ground, none in free fall, with the centripetal part off the axis."""
    at = (0.3, 0.0, 0.0)
    for hinged in (True, False):
        model = femb.Model(gravity=(0.0, 0.0, -9.81))
        model.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0)))
        if hinged:
            model.add(femb.Fixed("f", femb.JointEnd(body="ground"), femb.JointEnd(body="hub")))
        model.add(femb.Accelerometer("a", body="hub", at=at, period=0.1))
        values = femb.simulate(model, duration=0.5, output_interval=0.1).sensors["a"].value
        np.testing.assert_allclose(values[2:], np.tile([0.0, 0.0, 9.81 * hinged], (4, 1)), atol=1e-9)
    spinning = turning(femb.Accelerometer("a", body="hub", at=at, period=0.1), rate=(0.0, 0.0, 2.0))
    values = femb.simulate(spinning, duration=0.5, output_interval=0.1).sensors["a"].value
    np.testing.assert_allclose(values[2:], np.tile([-4.0 * 0.3, 0.0, 0.0], (4, 1)), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("rounding", slow_but(["floor"], ["floor", "round"]))
def test_quantum_of_an_encoder(rounding):
    """The mean error of a floor is half a quantum; the deviation of both is quantum/sqrt(12)."""
    quantum = 1e-3
    model = femb.Model()
    model.add(femb.RigidBody("arm", 1.0, (1.0, 1.0, 1.0), angular_velocity=(0.0, 0.0, 0.77713)))
    model.add(femb.Revolute("hinge", femb.JointEnd(body="ground", axis=(0.0, 0.0, 1.0)), femb.JointEnd(body="arm")))
    model.add(femb.Encoder("e", joint="hinge", quantum=quantum, rounding=rounding, period=0.01))
    group = femb.simulate(model, duration=20.0, output_interval=0.01).sensors["e"]
    error = (group.value - group.true)[1:, 0]
    np.testing.assert_allclose(error.mean(), -0.5 * quantum if rounding == "floor" else 0.0, atol=0.03 * quantum)
    np.testing.assert_allclose(error.std(), quantum / np.sqrt(12.0), rtol=0.03)
    assert group.true[-1, 0] > 2.0 * np.pi  # unwrapped


def test_units_of_values_are_those_of_the_sensor(tmp_path):
    """In results, figures and tables: of an encoder rad, of a gyro rad/s; commands have their own names."""
    model = turning(femb.Gyro("gyro", body="hub", period=0.5), rate=(0.0, 0.0, 0.3))
    model.add(femb.Revolute("hinge", femb.JointEnd(body="ground", axis=(0, 0, 1)), femb.JointEnd(body="hub")))
    model.add(femb.Encoder("encoder", joint="hinge", period=0.5))
    model.add(femb.JointMotor("motor", joint="hinge", force=0.0))
    law = {"inputs": "sensors.encoder", "outputs": "loads.motor.force", "period": 0.5}
    model.add(femb.LinearController("law", D=[[-1.0]], **law))
    results = femb.simulate(model, duration=1.0, output_interval=0.5)
    assert results.sensors["encoder"].columns_of("value") == ("rad", ())
    assert results.sensors["gyro"].columns_of("value") == ("rad/s", ("x", "y", "z"))
    assert results.controllers["law"].columns_of("output") == ("N m or N", ("loads.motor.force",))
    femb.export_csv(results, tmp_path)
    assert "time [s],sensor_time [s],value_x [rad/s],value_y [rad/s]" in (tmp_path / "sensor_gyro.csv").read_text()
    assert "value_0 [rad]" in (tmp_path / "sensor_encoder.csv").read_text()
    assert "output_loads.motor.force" in (tmp_path / "controller_law.csv").read_text()
    figure = results.plot("sensors/gyro/value")
    assert any("rad/s" in text.get_text() for text in figure.findobj(Text))

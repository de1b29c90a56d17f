"""Pointing errors by windows: closed forms of a vibration and of white noise, roads that agree, messages."""

import numpy as np
import pytest
from models import of_parts, refuses
from shared_runs import said

import femb
from femb.base.errors import ResultError
from femb.numerics import rotations
from femb.results.pointing import Pointing


def errors(values, step=0.01, name="e"):
    return Pointing(name, "rad", step * np.arange(len(values)), np.reshape(values, (len(values), -1)), ())


@pytest.mark.parametrize("window", [0.5, 1.3, 4.0])
def test_a_vibration(window):
    """The mean over a window falls like a sine cardinal, and what is left within it follows from Parseval."""
    rate = 2.0 * np.pi * 0.7317
    found = errors(0.3 * np.sin(rate * 0.001 * np.arange(400_000)), 0.001)
    share = np.sin(0.5 * rate * window) / (0.5 * rate * window)
    assert found.rms("absolute") == pytest.approx(0.3 / np.sqrt(2.0), rel=1e-3)
    assert found.rms("mean", window) == pytest.approx(0.3 * abs(share) / np.sqrt(2.0), rel=0.03)
    assert found.rms("relative", window) == pytest.approx(0.3 * np.sqrt((1.0 - share**2) / 2.0), rel=0.01)


def test_white_noise():
    """99.7 % of one component are within 2.97 deviations; a mean of n samples has a deviation of 1/sqrt(n)."""
    noise = np.random.default_rng(0).standard_normal((200_000, 1))
    found = errors(noise)
    assert found.at_percent("absolute") == pytest.approx(2.9677, rel=0.02)
    assert found.rms("mean", 1.0) == pytest.approx(0.1, rel=0.03)
    assert found.rms("relative", 1.0) == pytest.approx(np.sqrt(0.99), rel=0.01)


def test_windows_follow_each_other_from_the_start_and_from_half_a_window():
    """Of 0, 1, ..., 9 by fours: the means 1.5 and 5.5, from half a window 3.5 and 7.5; what is left over counts not."""
    found = errors(np.arange(10.0))
    np.testing.assert_allclose(found.sizes("mean", 0.04), [1.5, 5.5, 3.5, 7.5])
    np.testing.assert_allclose(found.sizes("relative", 0.04), np.tile([1.5, 0.5, 0.5, 1.5], 4))
    np.testing.assert_allclose(found.sizes("mean", 0.05), [2.0, 7.0, 4.0])


def test_windows_and_instants_where_none_are_given():
    """Of a hub that moves with 1 m/s: twelve windows from four output times to a third of the time, from ``first`` on,
    which counts; half of the errors are below the place in the middle."""
    model = of_parts(femb.RigidBody("hub", 1.0, (1.0, 1.0, 1.0), velocity=(1.0, 0.0, 0.0)))
    run = femb.simulate(model, duration=3.0, output_interval=0.125)
    found = femb.pointing(run, "bodies.hub.position", first=1.0)
    assert found.time[[0, -1]] == pytest.approx([1.0, 3.0])
    assert len(found.windows) == 12
    assert found.windows[0] == pytest.approx(0.5)
    assert found.windows[-1] == pytest.approx(2.0 / 3.0)
    assert found.at_percent("absolute", percent=50.0) == pytest.approx(2.0, rel=1e-6)


def regulated(seed=1):
    model = femb.Model(seed=seed)
    model.add(femb.RigidBody("hub", 10.0, (10.0, 12.0, 14.0)))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    model.add(femb.StarTracker("tracker", body="hub", noise=1e-4, roll_noise=5e-4, axes=(0.6, 0.8, 0.0, 0.0)))
    law = {"bandwidth": 1.0, "outputs": "loads.torquer.torque", "period": 0.1}
    slew = femb.profiles.SmoothStep(duration=1.0, after=0.1)
    reference = femb.AttitudeReference((0.8, 0.0, 0.6, 0.0), (0, 0, 1), slew)
    model.add(femb.PDController("law", attitude="sensors.tracker", rate="bodies.hub", reference=reference, **law))
    return model


@pytest.mark.slow
def test_the_true_error_of_a_law(tmp_path):
    """It is that of the body, in its axes, without the noise of the tracker; by all roads alike."""
    path = tmp_path / "results.h5"
    words = {"duration": 10.0, "output_interval": 0.05}
    results = femb.simulate(regulated(), out=path, **words)
    error = results.controllers["law"].error
    assert error.shape == (len(results.time), 3)
    q = results.bodies["hub"].quaternion[-1]
    base, slew = np.array([0.8, 0.0, 0.6, 0.0]), np.array([np.cos(0.05), 0.0, 0.0, np.sin(0.05)])
    wanted = rotations.multiply(base, slew)
    difference = rotations.multiply(rotations.conjugate(wanted), q)
    np.testing.assert_allclose(error[-1], 2.0 * difference[1:] * np.sign(difference[0]), atol=1e-12)

    found = femb.pointing(results, "controllers.law.error", windows=(0.5, 2.0), first=5.0)
    assert found.unit == "rad"
    assert 0.0 < found.rms("relative", 0.5) < found.rms("relative", 2.0) < 1e-2
    run = said("pointing", path, "--of", "controllers.law.error", "--window", "0.5", "--window", "2", "--first", "5")
    without = said("pointing", path, "--of", "controllers.law.error", "--window", "2", "--out", path.parent / "b")
    assert without.rstrip().endswith("b.png")
    assert (path.parent / "b.png").exists()
    assert found.table() in run
    assert (tmp_path / "pointing.png").exists()
    blur = {"kind": "pointing", "of": "controllers.law.error", "measure": "relative", "window": 0.5, "first": 5.0}
    study = femb.Study(regulated, {"seed": {"values": [1, 2, 3]}}, {"blur": blur}, run=words)
    blur = femb.sweep(study, workers=1)["blur"]
    assert blur[0] == pytest.approx(found.at_percent("relative", 0.5), rel=1e-12)
    assert len(set(blur)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"of": "bodies.hub.turned"}, "turned"),
        ({"of": "controllers.law.error"}, "; the turn of a body is bodies.hub.euler_angles"),
        ({"of": "bodies.hub.angular_velocity", "windows": (50.0,)}, "wanted one from"),
        ({"of": "bodies.hub.angular_velocity", "first": 9.9}, "wanted more than 12"),
    ],
)
def test_messages(words, message):
    model = of_parts(femb.RigidBody("hub", 1.0, 1.0, angular_velocity=(0.1, 0.0, 0.0)))
    results = femb.simulate(model, duration=10.0, output_interval=0.1)
    refuses(message, femb.pointing, results, **words, error=ResultError)

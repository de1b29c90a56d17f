"""Signals of control loops: samples as series of their own, roles of signals, the figure and the page."""

import numpy as np
import pytest
from models import of_parts
from oracles.report_page import ReportPage

import femb
from femb.results.loop_signals import loop_signals

PERIOD, DELAY, STIFFNESS, RATE = 0.1, 0.15, 3.0, 2.0


def model(delay=0.0):
    """A hub whose attitude a sampled law holds with three wheels, from a noisy sensor that may have a delay."""
    wheels = [
        femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.05, max_torque=0.5)
        for name, axis in zip("xyz", np.eye(3), strict=True)
    ]
    return of_parts(
        femb.RigidBody("hub", mass=10.0, inertia=(2.0, 3.0, 4.0), euler_angles=(0.3, 0.1, -0.2)),
        *wheels,
        femb.AttitudeSensor("tracker", body="hub", noise=1e-3, delay=delay),
        femb.PDController(
            "law", attitude="sensors.tracker", rate="bodies.hub", wheels=("x", "y", "z"),
            proportional=STIFFNESS, derivative=RATE, period=PERIOD, delay=DELAY,
        ),
    )  # fmt: skip


def run(output_interval, delay=0.0, **options):
    return femb.simulate(model(delay), duration=1.0, output_interval=output_interval, rtol=1e-8, **options)


def test_samples_do_not_depend_on_the_output_times():
    """Of a run with four outputs, and of one with an output just after each sample, where the last sample shows."""
    coarse, fine = run(0.25), run(0.05)
    sensor, law = coarse.sensors["tracker"], coarse.controllers["law"]
    np.testing.assert_allclose(sensor.sample_time, PERIOD * np.arange(10), atol=1e-12)
    np.testing.assert_array_equal(law.sample_time, sensor.sample_time)
    inside = fine.sensors["tracker"].value[1::2]
    np.testing.assert_allclose(sensor.sample_value, inside, atol=1e-7)
    np.testing.assert_allclose(sensor.sample_true, fine.sensors["tracker"].true[1::2], atol=1e-7)
    np.testing.assert_allclose(law.sample_output, fine.controllers["law"].output[1::2], atol=1e-6)
    error = 2.0 * sensor.sample_value[:, 1:] * np.sign(sensor.sample_value[:, :1])
    rest = law.sample_output - STIFFNESS * error
    assert np.abs(rest[0]).max() < 1e-12  # at rest the rate adds nothing, and the wheels turn the other way
    assert np.abs(rest[3]).max() > 1e-3


def test_a_delayed_value_is_among_the_samples_when_it_is_measured():
    plain, late = run(0.25), run(0.25, delay=0.25)
    first = [results.sensors["tracker"] for results in (plain, late)]
    np.testing.assert_array_equal(first[0].sample_value[0], first[1].sample_value[0])
    # nothing has arrived at 0.25 s: the value is the attitude at the start, without noise
    np.testing.assert_allclose(first[1].value[1], first[0].sample_true[0], rtol=1e-15)
    assert np.abs(first[1].value[1] - first[0].sample_value[0]).max() > 1e-5


@pytest.mark.slow
def test_samples_are_in_the_file_and_go_on_after_a_run_is_extended(tmp_path):
    file = tmp_path / "results.h5"
    whole = run(0.25)
    femb.simulate(model(), duration=0.5, output_interval=0.25, rtol=1e-8, out=file)
    femb.simulate(model(), duration=0.5, output_interval=0.25, rtol=1e-8, out=file, extend=0.5)
    read = femb.Results.read(file).sensors["tracker"]
    np.testing.assert_allclose(read.sample_time, whole.sensors["tracker"].sample_time, atol=1e-12)
    np.testing.assert_allclose(read.sample_value, whole.sensors["tracker"].sample_value, atol=1e-7)
    assert read.columns_of("sample_value") == ("-", ("w", "x", "y", "z"))


def test_roles_units_and_names_of_signals():
    found = {(signal.role, signal.path): signal for signal in loop_signals(run(0.25))}
    assert ("reference", "controllers/law/reference") in found
    error, command = found["error", "controllers/law/error"], found["command", "controllers/law/output"]
    assert (error.unit, command.unit) == ("rad", "N m")
    assert command.components == ("wheels.x.torque", "wheels.y.torque", "wheels.z.torque")
    measured, true = found["measured", "sensors/tracker/value"], found["true", "sensors/tracker/true"]
    assert measured.samples.shape == true.samples.shape == (10, 4)
    assert 0.0 < np.abs(measured.samples - true.samples).max() < 5e-3
    assert ("true", "bodies/hub/angular_velocity") in found
    clips = found["clips", "wheels/x/clips"].values[-1, 0]
    given = np.abs(run(0.25).controllers["law"].sample_output[:, 0])
    # commands that act after 1 s are not counted yet
    assert clips == np.sum(given[:9] > 0.5)
    assert found["acting", "wheels/x/torque"].values.max() == pytest.approx(0.5)


def test_the_figure_draws_steps_and_the_page_has_a_table(tmp_path):
    results = run(0.25)
    drawn = femb.figure(results, "loop", path=tmp_path / "loop.svg")
    assert drawn is not None
    text = (tmp_path / "loop.svg").read_text()
    assert "law: measured tracker" in text or (tmp_path / "loop.svg").stat().st_size > 20_000
    page = ReportPage(femb.report(results, tmp_path / "report.html"))
    rows = {(row["role"], row["path"]): row for row in page.data["loops"]}
    command = rows["command", "controllers/law/output"]
    np.testing.assert_allclose(command["last"], results.controllers["law"].output[-1], rtol=1e-3)
    assert command["unit"] == "N m"
    paths = {entry["path"] for entry in page.data["histories"]["entries"]}
    assert {path for _, path in rows} <= paths

"""A run from the model to its results: names and shapes, output times, the file, and how a run may end."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from checkout import ROOT
from models import boom, refusals, refuses

import femb
from femb.profiles import Versine
from femb.run.time_loop import Event

X = (1.0, 0.0, 0.0)


def satellite(push=None):
    """One of everything: a hub, beams attached at either end, ground with a mast, point masses, and loads."""
    section = boom()
    model = femb.Model("satellite")
    shape = {"box": [0.2, 0.2, 0.2]}
    hub = model.add(femb.RigidBody("hub", mass=22.4, inertia=0.149, euler_rates=(0.1, 0.2, 0.3), shape=shape))
    right = hub.at((0.1, 0, 0), direction=X)
    beam = model.add(femb.Beam("right", section=section, length=2.0, elements=3, start=right))
    model.add(femb.Beam("left", section=section, length=2.0, elements=1, end=hub.at((-0.1, 0, 0), direction=X)))
    model.add(
        femb.Beam(
            "mast", section=section, length=1.0, elements=2, start=femb.Ground().at((0, 9, 0), direction=(0, 0, 1))
        )
    )
    model.add(femb.PointMass("dust", mass=1.0, position=(0, 0, 5), velocity=(0, 0, 1)))
    model.add(femb.PointMass("tip", mass=0.5, on=beam.node(-1)))
    model.add(femb.Load("slew", body="hub", torque=push or (0, 15.0, 0), frame="body", profile=Versine(0.5)))
    return model


def oscillator(force=None):
    model = femb.Model("oscillator")
    model.add(femb.PointMass("m", mass=2.0, position=(0.4, 0, 0)))
    model.add(femb.Load("spring", body="m", force=force or (lambda t, state: -50.0 * state.bodies["m"].position)))
    return model


# What a run gives


def test_names_and_shapes():
    results = femb.simulate(satellite(), duration=0.6, output_interval=0.1, rtol=1e-5)
    count = 7
    assert results.time.shape == (count,)
    assert (results.status, results.message, results.method) == ("complete", "", "radau")
    assert {"hub", "dust"} <= set(results.bodies)
    assert "tip" not in results.bodies  # it has no motion of its own
    assert set(results.beams) == {"right", "left", "mast"}
    for name in ("hub", "dust"):
        body = results.bodies[name]
        for word, width in (("position", 3), ("quaternion", 4), ("velocity", 3), ("angular_velocity", 3)):
            assert getattr(body, word).shape == (count, width)
    for name, e in (("right", 3), ("left", 1), ("mast", 2)):
        beam = results.beams[name]
        for word, shape in {
            "position": (e + 1, 3),
            "quaternion": (e + 1, 4),
            "velocity": (e + 1, 3),
            "angular_velocity": (e + 1, 3),
            "rotation": (e + 1, 4),
            "strain": (e, 2),
            "section_force": (e, 2, 3),
            "section_moment": (e, 2, 3),
        }.items():
            assert getattr(beam, word).shape == (count, *shape)
        assert beam.reference_position.shape == (e + 1, 3)
        assert beam.element_length.shape == (e,)
    for word in ("kinetic_energy", "potential_energy", "work", "energy_error", "quaternion_norm"):
        assert getattr(results.audit, word).shape == (count,)
    for word in ("constraint_position", "constraint_velocity"):
        np.testing.assert_array_equal(getattr(results.audit, word), np.zeros(count))
    for word in ("linear_momentum", "angular_momentum"):
        assert getattr(results.audit, word).shape == (count, 3)
    wanted = {"steps", "rejected", "evaluations", "jacobians", "factorizations", "newton_iterations"}
    assert wanted | {"wall_time", "cpu_time"} <= set(results.statistics)
    assert results.bodies["hub"].shape == {"box": [0.2, 0.2, 0.2]}
    assert all(np.all(np.isfinite(array)) for array in results.arrays.values())


@pytest.mark.slow
def test_results_agree_with_each_other():
    """Positions at ends and bodies, velocities with differences of positions, section forces with the motion."""
    results = femb.simulate(satellite(), duration=0.6, output_interval=0.001, rtol=1e-7)
    hub, right, left = results.bodies["hub"], results.beams["right"], results.beams["left"]
    from femb.numerics import rotations

    for beam, node, at in ((right, 0, 0.1), (left, -1, -0.1)):
        root = hub.position + rotations.rotate(hub.quaternion, np.array([at, 0, 0]))
        np.testing.assert_allclose(beam.position[:, node], root, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(beam.angular_velocity[:, node], hub.angular_velocity, rtol=0.0, atol=1e-13)
    for position, velocity in ((hub.position, hub.velocity), (right.position, right.velocity)):
        differences = (position[2:] - position[:-2]) / 0.002
        # axial waves of the unstressed start, 1e-7 m and shorter than 1 ms, are in the velocities
        np.testing.assert_allclose(velocity[1:-1], differences, rtol=0.0, atol=2e-4)
    dust = results.bodies["dust"]
    np.testing.assert_allclose(dust.position[:, 2], 5.0 + results.time, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(right.rotation[0, :, 0], 1.0)
    # bending at the root turns the arm: moment about the hub's y by half of what the torque leaves the hub
    k = int(np.argmin(np.abs(results.time - 0.25)))
    omega = hub.angular_velocity
    accelerations = (omega[k + 1] - omega[k - 1]) / 0.002
    assert 0.149 * accelerations[1] < 0.1  # of 15 N m, nearly all goes into the arms
    roots = [right.section_moment[k, 0, 0, 1], -left.section_moment[k, 0, 1, 1]]
    shear = [right.section_force[k, 0, 0, 2], left.section_force[k, 0, 1, 2]]
    about_y = roots[0] + roots[1] - 0.1 * (shear[0] + shear[1])
    assert abs(about_y) == pytest.approx(15.0, abs=0.2)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"duration": 0.3, "output_interval": 0.1}, [0.0, 0.1, 0.2, 0.3]),
        ({"duration": 0.35, "output_interval": 0.1}, [0.0, 0.1, 0.2, 0.3, 0.35]),
        ({"duration": 0.3, "output_interval": 0.3}, [0.0, 0.3]),
        ({"duration": 0.7, "output_interval": 0.1}, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ({"duration": 2.0}, np.linspace(0.0, 2.0, 1001)),
    ],
)
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_output_times(options, wanted, method):
    results = femb.simulate(oscillator(), method=method, rtol=1e-8, **options)
    np.testing.assert_allclose(results.time, wanted, rtol=0.0, atol=1e-15)
    assert results.time[-1] == options["duration"]
    np.testing.assert_allclose(
        results.bodies["m"].position[:, 0], 0.4 * np.cos(5.0 * results.time), rtol=0.0, atol=1e-6
    )


def test_output_does_not_change_the_motion():
    """Steps are chosen by the tolerance alone; outputs are interpolated."""
    few = femb.simulate(satellite(), duration=0.6, output_interval=0.3)
    many = femb.simulate(satellite(), duration=0.6, output_interval=0.003)
    assert few.statistics["steps"] == many.statistics["steps"]
    # the same but for the rounding of one interpolation or many at once
    np.testing.assert_allclose(few.beams["right"].position[-1], many.beams["right"].position[-1], rtol=0, atol=1e-15)


def test_the_same_run_twice_is_the_same():
    one, other = (femb.simulate(satellite(), duration=0.4, output_interval=0.1) for _ in range(2))
    for path in one.arrays:
        np.testing.assert_array_equal(one.arrays[path], other.arrays[path])


# The file


@pytest.mark.slow
def test_file_equals_memory(tmp_path):
    path = tmp_path / "results.h5"
    results = femb.simulate(satellite(), duration=0.6, output_interval=0.005, out=path, case_text="title = 'x'")
    read = femb.Results.read(path)
    assert set(read.arrays) == set(results.arrays)
    for name, array in results.arrays.items():
        np.testing.assert_array_equal(read.arrays[name], array)
    for word in ("status", "message", "method", "case"):
        assert getattr(read, word) == getattr(results, word)
    assert read.case == "title = 'x'"
    assert dict(read.statistics) == dict(results.statistics)
    assert read.bodies["hub"].shape == {"box": [0.2, 0.2, 0.2]}


SLOW_RUN = """
import signal, sys, time
# what a shell starts in the background ignores interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
from run.test_simulate import satellite
from femb import simulate
from femb.elements import Load

def drag(t, state):
    if t > 0.3:
        time.sleep(0.002)
    return -0.1 * state.bodies["hub"].velocity

model = satellite()
model.add(Load("drag", body="hub", force=drag))
simulate(model, duration=1000.0, output_interval=0.001, out={out!r})
"""


def started(tmp_path):
    """A long run in a process of its own, once its file has more than a block of outputs."""
    out = tmp_path / "results.h5"
    code = SLOW_RUN.format(tests=str(ROOT / "tests"), out=str(out))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    limit = time.monotonic() + 120.0
    while time.monotonic() < limit:
        time.sleep(0.05)
        if process.poll() is not None:
            pytest.fail(process.stderr.read().decode())
        # No reading may fail: what the file says is whole at every instant.
        if out.with_name("results.h5.part").exists() and len(femb.Results.read(out).time) > 300:
            return process, out
    process.kill()
    pytest.fail("no results after two minutes")


@pytest.mark.slow  # tests/faults kills shorter runs at any time
def test_killed_run_leaves_readable_results(tmp_path):
    process, out = started(tmp_path)
    process.kill()
    process.wait()
    process.stderr.close()
    results = femb.Results.read(out)
    assert results.status == "running"
    assert len(results.time) > 300
    for array in results.series.values():
        assert len(array) == len(results.time)
    whole = femb.simulate(satellite(), duration=0.3, output_interval=0.001)
    np.testing.assert_allclose(
        results.beams["right"].position[:200], whole.beams["right"].position[:200], rtol=0.0, atol=1e-5
    )
    results.write(out)
    with h5py.File(out) as file:
        assert file.attrs["status"] == "running"
        assert file["time"].shape == results.time.shape


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs signals")
@pytest.mark.slow  # tests/faults interrupts a command
def test_interrupted_process(tmp_path):
    process, out = started(tmp_path)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    finally:
        process.kill()
    error = process.stderr.read().decode()
    process.stderr.close()
    assert "KeyboardInterrupt" in error
    results = femb.Results.read(out)
    assert (results.status, results.message) == ("failed", "interrupted")
    assert results.statistics["steps"] > 0


# How a run may end


class Interrupt:
    """Progress that interrupts at an instant."""

    def __init__(self, at, error=KeyboardInterrupt):
        self.at, self.error, self.messages = at, error, []

    def message(self, text):
        self.messages.append(text)

    def update(self, t):
        if t >= self.at:
            raise self.error


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("disk on fire")])
def test_interrupted_run(tmp_path, error):
    path = tmp_path / "results.h5"
    kind = error if isinstance(error, type) else type(error)
    with pytest.raises(kind):
        femb.simulate(satellite(), duration=5.0, output_interval=0.01, out=path, progress=Interrupt(0.5, error))
    results = femb.Results.read(path)
    assert os.listdir(tmp_path) == ["results.h5"]
    assert results.status == "failed"
    assert results.message == ("interrupted" if kind is KeyboardInterrupt else "disk on fire")
    assert 0.49 <= results.time[-1] < 5.0
    assert results.statistics["steps"] > 10


def test_progress():
    class Seen:
        def __init__(self):
            self.times = []

        def message(self, text):
            pass

        def update(self, t):
            self.times.append(t)

    seen = Seen()
    results = femb.simulate(oscillator(), duration=1.0, output_interval=0.1, progress=seen)
    assert len(seen.times) == results.statistics["steps"]
    assert np.all(np.diff(seen.times) > 0)
    assert seen.times[-1] == 1.0


def failing(t, state):
    return [float("nan") if t > 0.5 else -50.0 * state.bodies["m"].position[0], 0.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_failed_run_keeps_what_it_has(tmp_path, method):
    """In the file and in ``error.results``, which are the same; up to the instant the message names."""
    path = tmp_path / "results.h5"
    with pytest.raises(femb.SolveError, match=r"stopped at t = 0\.5 s.*loads\.spring\.force") as caught:
        femb.simulate(oscillator(failing), duration=5.0, output_interval=0.01, out=path, method=method)
    kept = caught.value.results
    assert kept.status == "failed"
    assert kept.message == str(caught.value)
    assert kept.time[-1] == pytest.approx(0.5, abs=0.011)
    assert kept.statistics["rejected"] > 0
    np.testing.assert_allclose(kept.bodies["m"].position[:, 0], 0.4 * np.cos(5.0 * kept.time), rtol=0.0, atol=1e-5)
    read = femb.Results.read(path)
    assert (read.status, read.message) == ("failed", kept.message)
    for name, array in kept.arrays.items():
        np.testing.assert_array_equal(read.arrays[name], array)


def test_max_steps():
    with pytest.raises(femb.SolveError, match="max_steps = 5 steps") as caught:
        femb.simulate(satellite(), duration=5.0, output_interval=0.001, max_steps=5)
    assert caught.value.results.statistics["steps"] == 5
    assert caught.value.results.time[-1] > 0.0


def test_error_of_the_user_comes_through():
    """An exception in a load is the cause of one that names the item and the time; the results until then are kept."""

    def broken(t, state):
        if t > 0.5:
            raise ZeroDivisionError("mine")
        return [0.0, 0.0, 0.0]

    message = r"loads\.spring\.force: raised ZeroDivisionError at t = 0\.5 s: mine"
    with pytest.raises(femb.SolveError, match=message) as caught:
        femb.simulate(oscillator(broken), duration=1.0, output_interval=0.1)
    cause = caught.value.__cause__
    assert cause is not None
    assert isinstance(cause.__cause__, ZeroDivisionError)
    np.testing.assert_allclose(caught.value.results.time[:6], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], atol=1e-9)


@pytest.mark.slow
def test_event_ends_the_run(tmp_path):
    path = tmp_path / "results.h5"
    crossing = Event("crossing", lambda t, state: state.bodies["m"].position[0])
    results = femb.simulate(oscillator(), duration=5.0, output_interval=0.1, rtol=1e-9, events=(crossing,), out=path)
    assert (results.status, results.message) == ("complete", "stopped by event 'crossing'")
    assert results.time[-1] == pytest.approx(np.pi / 10.0, abs=1e-7)
    np.testing.assert_allclose(results.time[:-1], [0.0, 0.1, 0.2, 0.3], atol=1e-15)
    assert femb.Results.read(path).message == results.message


def test_a_run_that_cannot_start_leaves_an_old_file_alone(tmp_path):
    path = tmp_path / "results.h5"
    femb.simulate(oscillator(), duration=0.1, output_interval=0.1, out=path)
    before = path.read_bytes()
    model = oscillator()
    model.add(femb.Load("nowhere", body="n", force=(1, 0, 0)))
    refuses(r"loads\.nowhere\.body: got 'n'", femb.simulate, model, duration=0.1, out=path)
    assert path.read_bytes() == before


# Options


def test_run_or_options():
    run = femb.Run(duration=0.2, output_interval=0.1, method="rk")
    assert femb.simulate(oscillator(), run).method == "rk"
    refuses("got a run and the options rtol: give one of the two", femb.simulate, oscillator(), run, rtol=1e-3)


test_bad_options = refusals(
    lambda options: femb.simulate(oscillator(), **options), ({"duration": 0.0}, "duration"),
    ({"duration": 1.0, "method": "euler"}, "method"), ({"duration": 1.0, "rtol": 1.5}, "rtol"),
    ({"duration": 1.0, "method": "rk", "tableau": "rk4"}, "step: is missing"),
    ({"duration": 1.0, "start": "soon"}, "start"), ({"duration": float("inf")}, "duration"),
)  # fmt: skip

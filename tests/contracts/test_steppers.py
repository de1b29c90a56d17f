"""The contract of steppers over every entry of the catalogue: members, order, dense output, restart, jump, events.

Problems with closed forms: a torque-free top with an axis of symmetry, which nutates, and a mass under a force that
jumps. What is special to a method has tests of its own.
"""

import re
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest
from added_files import with_added
from checkout import ROOT
from long_runs import slow_but
from models import steps_to

import femb
from femb.base.memory import recall, remembered
from femb.base.options import AUTO, METHODS, STEPPERS, TABLEAUX, Method, Run, Tolerances
from femb.elements import Load, PointMass, RigidBody
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.numerics import rotations
from femb.profiles import Step
from femb.recording.evaluation import evaluated
from femb.run.time_loop import Event, RunSummary, integrate
from femb.steppers import make_stepper, methods_of, needs
from femb.steppers.contract import Stepper
from femb.system.system import System

TIGHT = Tolerances(1e-10, 1e-10, 1e-10, time=1.0)
ORDERS = {"radau": 5, "bdf": 2, "generalized-alpha": 2, "gauss": 4, "dop853": 8, "rk4": 4}
every_stepper = pytest.mark.parametrize("name", STEPPERS)


def run(name, duration, h=None, **options):
    """A run by one stepper; with error control unless it has a fixed step."""
    method = {"method": STEPPERS[name].method}
    if method["method"] == "rk":
        method["tableau"] = name
    if name in ("gauss", "rk4"):
        return Run(duration=duration, step=h or 0.01, **method)
    return Run(duration=duration, **method, **{"rtol": 1e-8, "atol": TIGHT, "max_step": h, "first_step": h, **options})


# A symmetric top without forces: A = 1, C = 2


SPIN = np.array([0.6, 0.0, 1.1])


def top():
    model = femb.Model("top")
    model.add(RigidBody("top", mass=1.0, inertia=(1.0, 1.0, 2.0), angular_velocity=SPIN, velocity=(0.3, -0.1, 0.2)))
    return System(model)


def attitude(t):
    """Quaternion and angular velocity in body axes: a turn about the momentum, then one back about the axis."""
    L = np.array([1.0, 1.0, 2.0]) * SPIN
    precession, own = L, np.array([0.0, 0.0, SPIN[2] - L[2]])
    first, second = rotations.exponential(precession * t), rotations.exponential(own * t)
    p = rotations.multiply(first, second)
    return p, rotations.rotate_back(second, SPIN)


@every_stepper
def test_continues_from_its_memory(name):
    """A new stepper with the memory of another one makes the same steps, to the last bit."""
    options = run(name, 50.0)
    first, second = (make_stepper(top(), options) for _ in range(2))
    for _ in range(4):
        first.step(50.0)
    recall(second, remembered(first))
    for _ in range(3):
        a, b = first.step(50.0), second.step(50.0)
        assert (a.start, a.end) == (b.start, b.end)
        at = np.linspace(a.start, a.end, 4)
        for x, y in zip((*a(at), a.accelerations(at)), (*b(at), b.accelerations(at)), strict=True):
            np.testing.assert_array_equal(x, y)
    assert first.statistics == second.statistics


def test_the_closed_form_of_the_top():
    p, omega = attitude(0.7)
    assert p @ p == pytest.approx(1.0)
    # momentum is kept
    np.testing.assert_allclose(
        rotations.rotate(p, np.array([1.0, 1.0, 2.0]) * omega), np.array([1.0, 1.0, 2.0]) * SPIN, atol=1e-14
    )


# Members and the catalogue


@every_stepper
def test_members(name):
    system, options = top(), run(name, 1.0, 0.01)
    stepper = make_stepper(system, options)
    for base in Stepper.__mro__:
        for word in [*vars(base), *vars(base).get("__annotations__", {})]:
            assert word.startswith("_") or hasattr(stepper, word), word
    assert stepper.form is system
    assert stepper.run is options
    assert (stepper.t, stepper.statistics.steps) == (0.0, 0)
    np.testing.assert_array_equal(stepper.work, np.zeros(system.budget.size))
    np.testing.assert_array_equal(stepper.q, system.q0)
    np.testing.assert_array_equal(stepper.v, system.v0)
    assert stepper.error_v is None or stepper.error_v.shape == (system.n_v,)


def test_catalogue():
    assert {needs(entry) for entry in STEPPERS.values()} == {Formulation, ImplicitFormulation}
    # what type checkers are told
    assert set(get_args(Method)) == {*METHODS, AUTO}
    assert set(TABLEAUX) == {"dop853", "rk4"}
    options = {field.name for field in fields(Run)}
    assert all(set(entry.options) <= options for entry in STEPPERS.values())
    assert methods_of(top()) == METHODS


def test_a_formulation_without_matrices_is_refused():
    form = femb.thompson.relative_kinematics(top().model)
    assert methods_of(form) == ("rk", "gauss")
    with pytest.raises(femb.ModelError, match="RelativeKinematics is integrated by method 'rk' or 'gauss', got method"):
        make_stepper(form, Run(duration=1.0, method="radau"))


# Accuracy


COUNTS = {"radau": (10, 20), "generalized-alpha": (100, 200), "gauss": (16, 32), "dop853": (3, 5), "rk4": (16, 32)}


def end_error(stepper, end):
    steps_to(stepper, end)
    p, omega = attitude(end)
    return max(np.max(np.abs(stepper.q[3:] - p)), np.max(np.abs(stepper.v[3:] - omega)))


@pytest.mark.parametrize("name", COUNTS)
def test_order(name, monkeypatch):
    """The error at the end, with steps of one length, falls as the order says."""
    end, errors = 2.0, []
    monkeypatch.setattr("femb.steppers.radau_stages.MAX_ITERATIONS", 60)
    for count in COUNTS[name]:
        stepper = make_stepper(top(), run(name, end, end / count))
        assert stepper.order == ORDERS[name]
        # the largest step is always taken, and its equations are solved well
        monkeypatch.setattr(stepper, "_error", lambda *_: 1e-8, raising=False)
        stepper.tolerance = 1e-5
        errors.append(end_error(stepper, end))
        assert stepper.statistics.steps == count
    assert errors[1] > 1e-12  # above rounding
    assert np.log(errors[0] / errors[1]) / np.log(COUNTS[name][1] / COUNTS[name][0]) > ORDERS[name] - 0.3


def test_order_of_bdf():
    """Its steps begin with order 1 and grow: with order 2 the error falls as the square of their number."""
    end, errors, counts = 2.0, [], []
    for rtol in (1e-5, 1e-8):
        stepper = make_stepper(
            top(), run("bdf", end, rtol=rtol, atol=Tolerances(rtol, rtol, rtol, time=1.0), max_order=2)
        )
        errors.append(end_error(stepper, end))
        counts.append(stepper.statistics.steps)
    assert stepper.order == 2
    assert np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0]) > ORDERS["bdf"] - 0.3


@every_stepper
def test_dense_output(name):
    """It meets both ends of every step, keeps quaternions of unit length, and is of some accuracy inside."""
    system, end = top(), 1.0
    stepper = make_stepper(system, run(name, end))
    q, v, work = stepper.q.copy(), stepper.v.copy(), 0.0
    count = 0
    while stepper.t < end:
        step = stepper.step(end)
        assert step.end == stepper.t
        times = np.array([step.start, 0.5 * (step.start + step.end), step.end])
        found = step(times)
        np.testing.assert_allclose(found[0][0], q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found[1][0], v, rtol=0.0, atol=1e-9)
        q, v, work = stepper.q.copy(), stepper.v.copy(), stepper.work
        np.testing.assert_allclose(found[0][2], q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found[1][2], v, rtol=0.0, atol=1e-9)
        assert found[2][2] == pytest.approx(work, abs=1e-12)
        np.testing.assert_allclose(np.sum(found[0][:, 3:] ** 2, axis=1), 1.0, atol=1e-13)
        p, omega = attitude(times[1])
        np.testing.assert_allclose(found[0][1, 3:], p, atol=2e-5)
        np.testing.assert_allclose(found[1][1, 3:], omega, atol=2e-5)
        accelerations = step.accelerations(times)
        assert accelerations.shape == (3, system.n_v)
        count += 1
    # of the equations, to the accuracy of the motion
    u = system.inputs_at(end, q, v)
    np.testing.assert_allclose(accelerations[-1], system.acceleration(u, q, v), atol=1e-3)
    assert stepper.statistics.steps == count


# Stretches


def pushed():
    """A mass of 2 kg under a force of 2 N that is 6 N from 0.4 s on, along x."""
    model = femb.Model("pushed")
    model.add(PointMass("m", mass=2.0, velocity=(0.5, 0.0, 0.0)))
    model.add(Load("push", body="m", force=(2.0, 0.0, 0.0)))
    model.add(Load("more", body="m", force=(4.0, 0.0, 0.0), profile=Step(0.4)))
    return System(model)


@every_stepper
def test_steps_end_at_limits(name):
    """Never beyond, and exactly there in the end."""
    stepper = make_stepper(pushed(), run(name, 1.0, 0.03))
    for limit in (0.1, 0.1 + 1e-6, 0.35):
        while stepper.t < limit:
            start = stepper.t
            step = stepper.step(limit)
            assert step.start == start < step.end == stepper.t <= limit
        assert stepper.t == limit


@every_stepper
def test_restart_after_a_jump(name):
    """Steps land on the jump, take the force from the left up to it and from the right after it: no error is made."""
    system = pushed()
    stepper = make_stepper(system, run(name, 1.0))
    assert system.breakpoints == [0.4]
    frames = evaluated(list(integrate(system, stepper, np.array([0.0, 0.4, 1.0]), RunSummary([]))))
    np.testing.assert_allclose(frames.q[:, 0], [0.0, 0.28, 1.36], atol=1e-7)
    np.testing.assert_allclose(frames.v[:, 0], [0.5, 0.9, 2.7], atol=1e-7)
    np.testing.assert_allclose(system.budget.total(frames.work), [0.0, 0.56, 7.04], atol=1e-6)
    # the impulse along x: 2 N, and 4 N more from 0.4 s on
    np.testing.assert_allclose(frames.work[:, 0], [0.0, 0.8, 4.4], atol=1e-6)
    # accelerations at the jump are those after it
    np.testing.assert_allclose(frames.a[:, 0], [1.0, 3.0, 3.0], atol=1e-6)


@every_stepper
def test_jump(name):
    """Back to an instant inside the last step, with another velocity and work, and on from there."""
    system = pushed()
    stepper = make_stepper(system, run(name, 1.0, 0.05))
    steps = steps_to(stepper, 0.2)
    t = 0.5 * (steps[-1].start + steps[-1].end)
    q, _, _ = steps[-1](np.array([t]))
    x = 0.5 * t + 0.5 * t * t
    assert q[0, 0] == pytest.approx(x, abs=1e-7)
    done = stepper.statistics.steps
    budget = system.budget
    stepper.jump(t, q[0].copy(), np.array([-1.0, 0.5, 0.0]), budget.jumped(budget.none(), 3.0))
    assert (stepper.t, budget.total(stepper.work)) == (t, 3.0)
    np.testing.assert_array_equal(stepper.q, q[0])
    np.testing.assert_array_equal(stepper.v, [-1.0, 0.5, 0.0])
    steps_to(stepper, 0.4)
    rest = 0.4 - t
    np.testing.assert_allclose(stepper.q, [x - rest + 0.5 * rest**2, 0.5 * rest, 0.0], atol=1e-7)
    np.testing.assert_allclose(stepper.v, [-1.0 + rest, 0.5, 0.0], atol=1e-7)
    assert budget.total(stepper.work) == pytest.approx(3.0 + (rest - 1.0) ** 2 - 1.0, abs=1e-7)
    assert stepper.statistics.steps > done


@every_stepper
def test_events(name):
    """A zero inside a step is found by the dense output; a terminal event ends the run there."""
    system, outcome = pushed(), RunSummary([])
    events = (
        Event("passed", lambda t, state: state.bodies["m"].position[0] - 0.1, terminal=False),
        Event("there", lambda t, state: state.bodies["m"].position[0] - 0.3),
    )
    stepper = make_stepper(system, run(name, 1.0))
    frames = list(integrate(system, stepper, np.array([0.0, 1.0]), outcome, events))
    times = [-0.5 + np.sqrt(0.25 + 0.2), 0.4 + (-0.9 + np.sqrt(0.81 + 0.12)) / 3.0]
    assert [each.name for each in outcome.events] == ["passed", "there"]
    np.testing.assert_allclose([each.time for each in outcome.events], times, atol=1e-7)
    assert outcome.stopped_by == "there"
    assert frames[-1].time[-1] == outcome.events[-1].time
    assert frames[-1].q[-1, 0] == pytest.approx(0.3, abs=1e-7)


@every_stepper
def test_another_discrete_state_is_read_in_the_next_step(name):
    """The driver replaces the formulation between steps."""
    system = pushed()
    stepper = make_stepper(system, run(name, 1.0, 0.05))
    stepper.step(1.0)
    other = system.with_discrete(system.discrete)
    asked = []
    other.inputs_at = lambda t, q, v: asked.append(t) or system.inputs_at(t, q, v)
    other.inputs_along = lambda times, *states: asked.extend(times) or system.inputs_along(times, *states)
    stepper.form = other
    start = stepper.t
    stepper.step(1.0)
    # the first may be the instant that a step begins at, and its end is looked at from the left
    assert asked
    assert all(start <= t < stepper.t for t in asked)


@pytest.mark.parametrize("name", ["rk4", "gauss", "dop853"])
@pytest.mark.parametrize("speeds", slow_but(["body"], ["fixed", "body", "angles"]))
def test_explicit_steppers_integrate_relative_coordinates(name, speeds):
    form = femb.thompson.relative_kinematics(top().model, speeds)
    stepper = make_stepper(form, run(name, 0.5, 0.02))
    frames = list(integrate(form, stepper, np.array([0.0, 0.123, 0.5]), RunSummary([])))
    p, omega = attitude(0.123)
    got = frames[-1] if len(frames[-1].time) > 1 else frames[1]
    np.testing.assert_allclose(got.q[0, 3:], p, atol=1e-6)
    np.testing.assert_allclose(got.v[0, 3:], omega, atol=1e-6)


USE = """
import femb
model = femb.Model("thrown")
model.add(femb.PointMass("m", mass=2.0, velocity=(1.0, 0.0, 0.0)))
model.add(femb.Load("push", body="m", force=lambda t, state: (4.0 * t, 0.0, 0.0)))
results = femb.simulate(model, duration=1.0, method="heun", step=0.01)
assert results.statistics["steps"] == 100
assert abs(results.bodies["m"].position[-1, 0] - (1.0 + 1.0 / 3.0)) < 1e-4
try:
    femb.Run(duration=1.0, method="heun")
except femb.ModelError as error:
    assert "heun has no error control and needs a fixed step" in str(error)
"""


def test_adding_a_stepper_is_one_file_and_one_line(tmp_path):
    """As docs/howto/extend.md says."""
    text = (ROOT / "docs" / "howto" / "extend.md").read_text()
    stepper, catalogue = (tmp_path / "femb" / name for name in ("steppers/heun.py", "base/options.py"))
    for path in (stepper, catalogue):
        path.parent.mkdir(parents=True)
    stepper.write_text(re.findall(r"```python title=femb/steppers/heun.py\n(.*?)```", text, re.S)[0])
    (line,) = re.findall(r"```diff title=femb/base/options.py\n STEPPERS = {\n\+(.*?\n)```", text, re.S)
    before = (ROOT / "femb" / "base" / "options.py").read_text()
    catalogue.write_text(before.replace("STEPPERS = {\n", "STEPPERS = {\n" + line))
    with_added(tmp_path, "-c", USE)

"""Output evaluated for many instants together: the same, to the last bit, as one instant or one step at a time."""

from dataclasses import fields, replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but
from models import satellite

from femb import Load, Model, PointMass, Prismatic, RigidBody, simulate
from femb.base.errors import SolveError
from femb.case import load_case
from femb.elements import JointEnd, JointStops
from femb.formulations import make_formulation
from femb.recording import evaluation
from femb.recording.evaluation import evaluated
from femb.recording.frames import Frames
from femb.recording.instants import InStep, in_steps
from femb.recording.record import Recorder
from femb.run.start import started
from femb.run.time_loop import RunSummary, integrate
from femb.steppers import make_stepper
from femb.steppers.dense import hermite_motion
from femb.vibration.completion import system_of

# Aerodynamic loads are products of matrices by a BLAS, which rounds them by their number of rows; what is
# unbalanced (N) is a difference of forces, and rounds by their size.
ROUNDED = {"thompson_aircraft": 1e-11}


def single(part):
    """Frames, or instants one by one; together where a step has nodes, which those between them follow."""
    if isinstance(part, Frames):
        return [part]
    if isinstance(part, InStep):
        if in_steps([part]).with_nodes:
            return [part]
        return [replace(part, time=part.time[k : k + 1]) for k in range(len(part.time))]
    return [part.part(slice(k, k + 1)) for k in range(len(part.time))]


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["satellite_forced", "four_bar_misaligned", "thompson_connected"],
        sorted(path.stem for path in CASES.glob("*.toml")),
    ),
)
def test_many_instants_are_evaluated_as_each_alone(name):
    """All that is recorded, by the method of the case."""
    case = load_case(CASES / f"{name}.toml")
    run = case.run
    system = started(system_of(case.model, run.start == "assembled"), run)
    form = make_formulation(system, run.formulation)
    times = np.linspace(0.0, 0.02 * run.duration, 25)
    parts = list(integrate(form, make_stepper(form, run), times, RunSummary([])))
    together, alone = (evaluated(parts), Frames.joined([evaluated([one]) for part in parts for one in single(part)]))
    for field in (each for each in fields(Frames) if each.name != "through"):
        values = getattr(alone, field.name)
        atol = ROUNDED.get(name, 0.0) * np.max(np.abs(values), initial=1.0)
        np.testing.assert_allclose(getattr(together, field.name), values, rtol=0.0, atol=atol, err_msg=field.name)
    recorder = Recorder(system)
    wanted = [recorder.block(alone.part(slice(k, k + 1))) for k in range(len(times))]
    for path, values in Recorder(system).block(together).items():
        parts_of_it = np.concatenate([block[path] for block in wanted])
        size = np.max(np.abs(parts_of_it), initial=1.0 if name in ROUNDED else 0.0)
        atol = max(1e-13, ROUNDED.get(name, 0.0)) * size
        np.testing.assert_allclose(values, parts_of_it, rtol=0.0, atol=atol, err_msg=path)


def test_instants_before_one_that_cannot_be_evaluated_are_kept():
    """A force that fails at one output time, between the steps."""

    def force(t):
        if t == 0.55:
            raise ValueError("no force")
        return np.sin(t)

    model = Model("pushed")
    model.add(PointMass("m", mass=2.0, position=(0, 0, 0)))
    model.add(Load("push", body="m", force=(4.0, 0, 0), profile=force))
    with pytest.raises(SolveError, match="no force") as caught:
        simulate(model, duration=1.0, output_interval=0.05)
    results = caught.value.results
    assert results.status == "failed"
    np.testing.assert_allclose(results.time, np.arange(11) * 0.05, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(results.bodies["m"].acceleration[:, 0], 2.0 * np.sin(results.time), atol=1e-9)


def test_states_inside_steps_are_interpolated_together(monkeypatch):
    """Not step by step, as for one that asks each step for its velocities."""
    calls = []

    def counted(steps, times):
        calls.append(len(steps))
        return hermite_motion(steps, times)

    monkeypatch.setattr("femb.recording.instants.hermite_motion", counted)
    simulate(satellite(), duration=1.0, output_interval=0.01, method="radau")
    assert len(calls) <= 2
    assert sum(calls) > 5


@pytest.mark.parametrize("formulation", ["velocity", "reduced"])
def test_instants_between_nodes_are_as_if_corrected_alone(formulation):
    """A slewed satellite at 1001 times and at 21 of these: most steps have nodes in the one, none in the other."""
    words = {"duration": 4.0, "method": "radau", "rtol": 1e-5, "formulation": formulation}
    many, few = (simulate(satellite(), output_interval=interval, **words) for interval in (0.004, 0.2))
    for name in ("right", "left"):
        words = "section_force", "section_moment", "midpoint_moment", "deflection", "position", "acceleration"
        for word in words:
            between, alone = many.beams[name][word][::50], few.beams[name][word]
            # polynomials through inertial positions would strain a boom by twenty times the force of its root
            np.testing.assert_allclose(between, alone, rtol=0.0, atol=1e-5 * np.abs(alone).max(), err_msg=word)
    for word in ("force", "torque"):
        between, alone = many.appendages["right"][word][::50], few.appendages["right"][word]
        np.testing.assert_allclose(between, alone, rtol=0.0, atol=1e-5 * np.abs(alone).max(), err_msg=word)
    assert many.audit.force_balance[::50].max() < 1.1 * few.audit.force_balance.max()


@pytest.mark.parametrize("name", ["satellite_forced", "satellite_two_arrays"])
def test_errors_between_nodes_are_those_of_instants_alone(name):
    """Against a run with a thousandth of the tolerance, at times between nodes in one run, alone in another."""
    case = load_case(CASES / f"{name}.toml")
    run = replace(case.run, duration=1.0, method="radau", rtol=1e-4)
    many, few, fine = (
        simulate(case.model, replace(run, output_interval=run.duration / count, rtol=rtol)).arrays
        for count, rtol in ((400, run.rtol), (20, run.rtol), (20, 1e-3 * run.rtol))
    )

    def error(word, found):
        wanted = {path: array for path, array in fine.items() if path.endswith(f"/{word}") and len(array) == 21}
        size = max(np.abs(array).max() for array in wanted.values())
        return max(np.abs(found(path) - array).max() for path, array in wanted.items()) / size

    for word in ("position", "acceleration", "section_force", "section_moment", "force", "torque", "kinetic_energy"):
        between, alone = error(word, lambda path: many[path][::20]), error(word, few.__getitem__)
        assert between < 1.003 * alone + 1e-9, f"{word}: {between:.2e}, alone {alone:.2e}"


@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha"])
def test_accelerations_that_no_polynomial_follows(method):
    """A ripple of the force of nine periods in a step, which the tolerance does not see: a = F/m at every instant."""

    def force(t):
        return 4.0 * (1.0 + 0.01 * np.sin(700.0 * t))

    model = Model("rippled")
    model.add(PointMass("m", mass=2.0, position=(0, 0, 0)))
    model.add(Load("push", body="m", force=(1.0, 0, 0), profile=force))
    results = simulate(model, duration=1.0, output_interval=1e-3, method=method, rtol=1e-3)
    assert results.statistics["steps"] < 20
    wanted = np.array([force(t) for t in results.time]) / 2.0
    np.testing.assert_allclose(results.bodies["m"].acceleration[:, 0], wanted, rtol=1e-12, atol=0.0)


@pytest.mark.slow
def test_instants_between_nodes_keep_to_joints(monkeypatch):
    """Panels that unfold on hinges at booms: at 401 times and at 21 of these, gaps are those of rounding."""
    case, calls = load_case(CASES / "satellite_two_arrays.toml"), []

    def counted(steps, space):
        calls.append(len(steps))
        return nodes(steps, space)

    nodes = evaluation._nodes
    monkeypatch.setattr("femb.recording.evaluation._nodes", counted)
    run = replace(case.run, duration=2.0)
    many, few = (simulate(case.model, replace(run, output_interval=interval)) for interval in (0.005, 0.1))
    assert sum(calls) > 10
    assert many.audit.constraint_position.max() < 1e-12
    assert many.audit.constraint_velocity.max() < 2e-11
    for group, word in (("joints", "force"), ("joints", "coordinates"), ("beams", "section_moment")):
        for name, alone in getattr(few, group).items():
            wanted = alone[word]
            np.testing.assert_allclose(
                getattr(many, group)[name][word][::20], wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max(), err_msg=name
            )


def test_no_polynomial_leads_through_a_jump_of_stiffness():
    """Fixed steps pass over the moment at which a body meets a stop: there each instant is corrected alone."""
    model = Model("stopped")
    model.add(RigidBody("b", mass=1.0, inertia=1.0, velocity=(1.0, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("b", axis=(1, 0, 0))))
    model.add(JointStops("stop", joint="rail", stiffness=1e4, upper=0.055))
    words = {"duration": 0.1, "method": "generalized-alpha", "step": 0.01}
    many, few = (simulate(model, output_interval=interval, **words) for interval in (0.0005, 0.005))
    np.testing.assert_array_equal(many.bodies["b"].acceleration[::10], few.bodies["b"].acceleration)
    assert np.ptp(few.bodies["b"].acceleration) > 10.0

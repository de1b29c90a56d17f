"""FMUs, run by FMPy: against scipy, the state space and the nonlinear simulation."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy
from models import hub, of_parts, refuses, slender_boom
from scipy.linalg import expm

import femb
from femb import Load, linearize, simulate
from femb.base.errors import ResultError
from femb.handover import write_fmu
from femb.handover.files import HandOver
from femb.linear import StateSpace
from femb.profiles import Step

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
pytest.importorskip("pythonfmu", reason="pythonfmu, the extra fmu, is not installed")

STEP = 0.02


def oscillator():
    A = np.array([[0.0, 1.0], [-4.0, -0.1]])
    return StateSpace(
        A, np.array([[0.0], [1.0]]), np.array([[1.0, 0.0], [-4.0, -0.1]]), np.array([[0.0], [1.0]]),
        ("joints.a.angle", "joints.a.angle rate"), ("loads.w",), ("joints.a.angle", "beams.b.-1.acceleration"),
    )  # fmt: skip


def run(path, inputs, **words):
    """Outputs (T, p) of an FMU, with inputs (T, m) held over each step."""
    names = [variable.name for variable in fmpy.read_model_description(str(path)).modelVariables]
    time = STEP * np.arange(len(inputs))
    table = np.array(
        [(t, *row) for t, row in zip(time, inputs, strict=True)],
        dtype=[("time", float), *((name, float) for name in names[: inputs.shape[1]])],
    )
    found = fmpy.simulate_fmu(str(path), stop_time=time[-1], step_size=STEP, output_interval=STEP, input=table, **words)
    return np.array([found[name] for name in found.dtype.names[1:]]).T


@pytest.mark.slow
def test_against_scipy(tmp_path):
    space, u = oscillator(), np.where(np.arange(201) < 50, 1.0, 0.0)[:, None]
    path = write_fmu(space, tmp_path / "oscillator.fmu")
    _, wanted, _ = scipy.signal.lsim((space.A, space.B, space.C, space.D), u, STEP * np.arange(201), interp=False)
    found = run(path, u)
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], atol=1e-12)
    # the second output takes the input of the step that ends
    np.testing.assert_allclose(found[1:, 1], (wanted[:, 1] - u[:, 0])[1:] + u[:-1, 0], atol=1e-12)


def test_a_slow_vibration_beside_fast_ones_keeps_its_digits(tmp_path):
    """Of a thin panel the fastest vibration is a million times as fast as the first, and damped by 1e8 1/s."""
    slow, fast = np.array([[0.0, 1.0], [-1.0, -0.02]]), np.array([[0.0, 1.0], [-1e12, -1e8]])
    A, B = np.zeros((4, 4)), np.array([[0.0], [1.0], [0.0], [1.0]])
    A[:2, :2], A[2:, 2:] = slow, fast
    names = ("slow", "slow rate", "fast", "fast rate")
    space = StateSpace(A, B, np.eye(4)[:1], np.zeros((1, 1)), names, ("loads.w",), ("slow",))
    found = run(write_fmu(space, tmp_path / "panel.fmu"), np.ones((101, 1)))[:, 0]
    # x = 1 - e^(-d t) (cos w t + d/w sin w t) under a unit force
    d, w, t = 0.01, np.sqrt(1.0 - 1e-4), STEP * np.arange(101)
    np.testing.assert_allclose(found, 1.0 - np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t)), atol=1e-9)


def test_initial_states_are_parameters(tmp_path):
    path = write_fmu(oscillator(), tmp_path / "oscillator.fmu")
    found = run(path, np.zeros((101, 1)), start_values={"start.joints.a.angle": 0.3})
    wanted = [(expm(oscillator().A * t) @ [0.3, 0.0])[0] for t in STEP * np.arange(101)]
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-12)


def test_names_and_description_are_valid(tmp_path):
    validation = pytest.importorskip("fmpy.validation")
    space = replace(oscillator(), units={"loads.w": "N m", "joints.a.angle": "rad"})
    path = write_fmu(space, tmp_path / "2 arrays.fmu", step=0.5)
    assert validation.validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    names = [variable.name for variable in description.modelVariables]
    assert names[:3] == ["loads.w", "joints.a.angle", "beams.b._1.acceleration"]
    assert names[3:] == ["start.joints.a.angle", "start.joints.a.angle_rate"]
    assert description.modelVariables[2].description == "beams.b.-1.acceleration"
    assert description.defaultExperiment.stepSize == "0.5"
    assert [variable.unit for variable in description.modelVariables] == ["N m", "rad", None, None, None]
    assert [unit.name for unit in description.unitDefinitions] == ["N m", "rad"]
    assert "_2_arrays_slave" not in sys.modules


@pytest.mark.slow
def test_a_small_pulse_against_the_simulation(tmp_path):
    model = of_parts(hub(), slender_boom(elements=4))
    model.add(Load("wheel", body="hub", torque=(0.0, 5e-3, 0.0), profile=Step(duration=0.5)))
    words = ("bodies.hub.angular_velocity", "beams.boom.-1.position")
    path = write_fmu(linearize(model, outputs=words), tmp_path / "boom.fmu")
    found = run(path, np.where(np.arange(101) < 25, 1.0, 0.0)[:, None])
    whole = simulate(model, duration=2.0, output_interval=STEP)
    spin, tip = whole.bodies["hub"].angular_velocity, whole.beams["boom"].position[:, -1]
    np.testing.assert_allclose(found[:, :3], spin, atol=2e-4 * np.max(np.abs(spin)))
    np.testing.assert_allclose(found[:, 5], tip[:, 2], atol=2e-4 * np.max(np.abs(tip[:, 2])))


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e3])
def test_exponential(size):
    from femb.handover.fmu_slave import exponential_less_one

    A = size * np.random.default_rng(1).standard_normal((6, 6))
    A = A - A.T if size > 1.0 else A
    np.testing.assert_allclose(np.eye(6) + exponential_less_one(A), expm(A), atol=1e-12 * max(1.0, size))


def test_a_state_is_kept_and_restored(tmp_path):
    """As optimisers and co-simulation masters do that repeat a step."""
    path = write_fmu(oscillator(), tmp_path / "oscillator.fmu")
    description = fmpy.read_model_description(str(path))
    folder = fmpy.extract(str(path), tmp_path / "unzipped")
    unit = fmpy.instantiate_fmu(folder, description)
    references = {variable.name: variable.valueReference for variable in description.modelVariables}
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    unit.setReal([references["loads.w"]], [1.0])
    unit.doStep(0.0, 0.1)
    kept = unit.getFMUState()
    first = unit.getReal([references["joints.a.angle"]])
    unit.doStep(0.1, 0.3)
    unit.setFMUState(kept)
    assert unit.getReal([references["joints.a.angle"]]) == first
    unit.freeFMUState(kept)
    unit.terminate()
    unit.freeInstance()


def test_a_wrong_suffix_and_a_missing_package(tmp_path, monkeypatch):
    refuses(r"must be \.fmu", write_fmu, oscillator(), tmp_path / "a.zip", error=ResultError)
    monkeypatch.setitem(sys.modules, "pythonfmu.builder", None)
    refuses(r"^pip install 'femb\[fmu\]': ", write_fmu, oscillator(), tmp_path / "a.fmu")


@pytest.mark.parametrize("torque", [0.0, 1.0])
def test_an_fmu_about_a_motion_that_is_not_steady_says_so(tmp_path, torque, recwarn):
    hinge = femb.Revolute("h", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("arm"))
    model = of_parts(femb.RigidBody("arm", 1.0, 1.0), hinge, femb.Load("push", body="arm", torque=(0, 0, torque)))
    HandOver(model, outputs=["joints.h.angle"]).fmu(tmp_path)
    said = [str(each.message) for each in recwarn if "unsteady motion" in str(each.message)]
    assert len(said) == bool(torque)
    assert not said or "fmu: linear about unsteady motion, and right for an instant" in said[0]

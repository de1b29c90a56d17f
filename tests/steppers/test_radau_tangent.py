"""The tangent of Radau's steps: against runs of the same steps beside the value, which share nothing with it."""

import numpy as np
import pytest

import femb
from femb.results.names import named
from femb.run.replay import RecordedRun

BOOM = """
gravity = [0.0, 0.0, -1.0]
[sections.tube]
area = 1e-4
second_moments = [1e-8, 2e-8]
torsion_constant = 3e-8
density = 2000.0
youngs_modulus = 7e10
shear_modulus = 2.7e10
damping = 0.01
[bodies.hub]
mass = 20.0
inertia = [2.0, 2.5, 3.0]
angular_velocity = [0.2, 0.3, 0.5]
[beams.boom]
section = "tube"
length = 2.0
elements = 2
start = { body = "hub", at = [0.3, 0, 0], direction = [1, 0, 0] }
[bodies.tip]
mass = 1.5
inertia = [0.1, 0.15, 0.2]
position = [2.5, 0.0, 0.0]
[joints.hinge]
kind = "revolute"
first = { beam = "boom", node = -1, axis = [0, 1, 0] }
second = { body = "tip", at = [-0.2, 0, 0], axis = [0, 1, 0] }
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 5.0
damping = 0.2
[loads.push]
body = "hub"
torque = [0.0, 1.0, 0.5]
profile = { shape = "step", start = 0.0, duration = 0.31 }
[run]
duration = 0.6
output_interval = 0.15
method = "radau"
start = "assembled"
rtol = 1e-7
"""
# Rounding of the numbers that are compared, by their names: forces are large stiffnesses times small strains.
NUMBERS = {
    "hub.angular_velocity.y": 2e-13,
    "hub.euler_angles.z": 1e-14,
    "hub.position.z": 1e-14,
    "tip.position.x": 3e-14,
    "joints.hinge.coordinates.angle": 1e-14,
    "joints.hinge.force.x": 1e-8,
    "audit.work": 1e-14,
}
KEYS = {
    "bodies.tip.mass": 1.5,
    "springs.hinge.stiffness": 5.0,
    "sections.tube.youngs_modulus": 7e10,
    "loads.push.torque.2": 0.5,
    "bodies.hub.angular_velocity.1": 0.3,
    "gravity.2": -1.0,
    "beams.boom.length": 2.0,
}
STEP = 1e-4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("boom") / "case.toml"
    path.write_text(BOOM)
    case = femb.load_case(path)
    recorded = RecordedRun(case.model, case.run)
    return path, recorded, recorded.tangents(recorded.results.time)


def column_by(run, key, step=STEP):
    """The motions beside the value of a key, its models, and their distance from it."""
    path, _, tangents = run
    h = step * abs(KEYS[key])
    models = tuple(femb.load_case(path, [f"{key}={KEYS[key] + s * h!r}"]).model for s in (1.0, -1.0))
    return tangents.add(models, (h, -h)), models, h


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_the_motion_beside_the_value_is_that_of_the_same_steps(run, key):
    """To 1e-8 of the largest, at all output times: inside steps, at their ends, and where an input jumps."""
    slopes = []
    for step in (STEP, 0.5 * STEP):
        column, models, h = column_by(run, key, step)
        own = [column.results(model, s * h) for model, s in zip(models, (1.0, -1.0), strict=True)]
        replayed = [run[1].of(model) for model in models]
        for a, b in (own, replayed):
            slopes.append({name: (named(a, name).values - named(b, name).values) / (2.0 * h) for name in NUMBERS})
    for name, rounding in NUMBERS.items():
        found, wanted = ((4.0 * slopes[k + 2][name] - slopes[k][name]) / 3.0 for k in range(2))
        size = max(np.abs(wanted).max(), np.abs(named(own[0], name).values).max() / abs(KEYS[key]))
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-8 * size + 2.0 * rounding / h, err_msg=name)


def test_equations_are_linear_in_stiffness_and_not_in_length(run):
    linear = {key: column_by(run, key)[0].linear for key in ("springs.hinge.stiffness", "beams.boom.length")}
    assert linear == {"springs.hinge.stiffness": True, "beams.boom.length": False}


@pytest.mark.slow
def test_steps_of_twice_the_length_change_derivatives_by_what_the_tolerance_leaves(run):
    column, models, h = column_by(run, "bodies.tip.mass")
    coarse, part = run[1].by_other_steps(run[1].results.time)
    assert part == 1.0 / 7.0
    assert len(run[1].results.time) == len(coarse.times)
    assert 0.4 < len(coarse.steps) / len(column.of.steps) < 0.7
    slopes = []
    for each in (column, coarse.add(models, (h, -h))):
        sides = zip(models, (h, -h), strict=True)
        ends = [named(each.results(*side), "hub.angular_velocity.y").values[-1] for side in sides]
        slopes.append((ends[0] - ends[1]) / (2.0 * h))
    assert 0.0 < abs(slopes[1] / slopes[0] - 1.0) < 1e-4

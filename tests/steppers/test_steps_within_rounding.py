"""Steps whose solution is known to rounding before the first iteration, and times that differ by rounding alone."""

import numpy as np
import pytest

from femb import (
    Gear,
    JointCoordinate,
    JointEnd,
    JointMotor,
    JointStops,
    Model,
    Prismatic,
    Revolute,
    RigidBody,
    SolveError,
    simulate,
)

FORMS = pytest.mark.parametrize("form", ["velocity", "reduced"])
METHODS = pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
START, RATE, TORQUE, INERTIA = 0.2, 0.4, 1.0, 0.3


def driven(*items):
    """A body that a constant torque turns, and a stop that it does not reach."""
    model = Model("driven", gravity=(0, 0, 0))
    model.add(RigidBody("a", mass=1.0, inertia=INERTIA))
    model.add(Revolute("j", JointEnd("ground", axis=(0, 1, 0)), JointEnd("a"), start=START, rates=RATE))
    model.add(JointMotor("m", joint="j", force=TORQUE))
    for item in (JointStops("s", joint="j", upper=1e3, stiffness=500.0), *items):
        model.add(item)
    return model


def follows_the_closed_form(results, inertia=INERTIA, rtol=1e-5):
    t, joint = results.time, results.joints["j"]
    a = TORQUE / inertia
    np.testing.assert_allclose(joint.coordinates[-1, 0], START + RATE * t[-1] + 0.5 * a * t[-1] ** 2, rtol=rtol)
    np.testing.assert_allclose(joint.rates[-1, 0], RATE + a * t[-1], rtol=rtol)


@FORMS
@METHODS
def test_a_constant_torque_beside_a_stop_accelerates_uniformly(form, method):
    results = simulate(driven(), duration=1.0, formulation=form, method=method, max_steps=1000)
    follows_the_closed_form(results)


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("method", ["generalized-alpha", "gauss"])
def test_fixed_steps_beside_a_stop_keep_their_length(form, method):
    results = simulate(driven(), duration=1.0, formulation=form, method=method, step=0.01, max_steps=1000)
    follows_the_closed_form(results)
    assert results.statistics["steps"] == 100


@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
def test_rounding_does_not_count_against_matrices_that_are_new(rtol):
    """With a gear corrections of rounding have a size; matrices formed at the start of the step are not doubted."""
    model = driven(
        RigidBody("b", mass=2.0, inertia=0.2, center_of_mass=(0.2, 0, 0)),
        Revolute("k", JointEnd("ground", at=(0, 0, 1), axis=(0, -1, 0)), JointEnd("b"), start=-0.1, rates=-0.5 * RATE),
        Gear("g", JointCoordinate("j"), JointCoordinate("k"), ratio=-0.5),
        JointStops("t", joint="k", lower=-1e3, stiffness=500.0),
    )
    words = {"formulation": "reduced", "method": "generalized-alpha", "rtol": rtol, "max_steps": 2000}
    results = simulate(model, duration=1.0, **words)
    follows_the_closed_form(results, INERTIA + 0.25 * (0.2 + 2.0 * 0.2**2))
    assert results.statistics["rejected"] < 0.2 * results.statistics["steps"] + 5


@FORMS
@METHODS
@pytest.mark.parametrize("ulps", [1, 8, 30, 1000])
def test_a_contact_within_rounding_of_the_end(form, method, ulps):
    """The body meets the stop a few ulp before the end of the run: no step goes from there."""
    model = Model("meets", gravity=(0, 0, 0))
    model.add(RigidBody("a", mass=1.0, inertia=INERTIA))
    model.add(Prismatic("j", JointEnd("ground", axis=(0, 1, 0)), JointEnd("a"), rates=1.0))
    model.add(JointStops("s", joint="j", upper=1.0 - ulps * 2.0**-53, stiffness=500.0))
    results = simulate(model, duration=1.0, formulation=form, method=method, output_interval=0.25)
    np.testing.assert_array_equal(results.time, [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(results.joints["j"].coordinates[:, 0], results.time, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "form", "error"),
    [("rk", "velocity", 2e-6), ("rk", "quaternion", 3e-5), ("generalized-alpha", "velocity", 1e-6)],
)
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("base", ["ground", "b"])
def test_joints_count_turns(method, form, error, rtol, base):
    """Rotations of these methods are nearly exact: the angle that a joint counts limits the length of their steps."""
    angles, exact = spun(base, method=method, formulation=form, rtol=rtol)
    np.testing.assert_allclose(angles, exact, atol=max(20.0 * rtol, error))


def spun(base, **options):
    """Angles (k,) of a joint whose motor turns a body against another, by a run and exactly."""
    model = Model("spins", gravity=(0, 0, 0))
    for name in ("a", "b"):
        model.add(RigidBody(name, mass=1.0, inertia=INERTIA))
    model.add(Revolute("j", JointEnd(base, axis=(0, 1, 0)), JointEnd("a"), start=START, rates=4.0))
    model.add(JointMotor("m", joint="j", force=TORQUE))
    results = simulate(model, duration=5.0, output_interval=0.1, **options)
    t, a = results.time, TORQUE / INERTIA * (1.0 if base == "ground" else 2.0)
    return results.joints["j"].coordinates[:, 0], START + 4.0 * t + 0.5 * a * t**2


@pytest.mark.parametrize("form", ["velocity", "quaternion"])
@pytest.mark.parametrize("base", ["ground", "b"])
def test_joints_count_turns_at_loose_tolerances(form, base):
    """Radau's error of 100 rad is below the tolerance asked for, a lost turn is not."""
    angles, exact = spun(base, method="radau", formulation=form, rtol=1e-2)
    np.testing.assert_allclose(angles, exact, atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["velocity", "quaternion"])
def test_fixed_steps_in_which_joints_would_lose_turns_are_refused(form):
    angles, exact = spun("b", method="generalized-alpha", formulation=form, step=0.02)
    np.testing.assert_allclose(angles, exact, atol=0.3)
    with pytest.raises(SolveError, match=r"step 0\.1 s at t = .* s is too long: 'a' makes more than a quarter"):
        spun("b", method="generalized-alpha", formulation=form, step=0.1)

"""Runs to an accuracy: positions are right to what was asked, few steps do, and the estimate tells the truth."""

import numpy as np
import pytest
from checkout import CASES
from models import of_parts

from femb import (
    Attachment,
    Beam,
    Load,
    ModelError,
    PointMass,
    RigidBody,
    Run,
    Section,
    SpringDamper,
    SpringEnd,
    load_case,
    simulate,
)
from femb.base.options import DEFAULT_RTOL, Tolerances

# of the cantilever, by closed form (first root of cos x cosh x = -1)
TUBE = Section("tube", shape={"tube": [0.02, 0.001]}, material="aluminium 6061-T6")
TWO_PERIODS = 2.0 / 9.74691443


def cantilever():
    """Undamped, under a sudden transverse force at its end."""
    start = Attachment(body="ground", direction=(1, 0, 0))
    beam = Beam("boom", section="tube", length=2.0, elements=4, start=start)
    return of_parts(TUBE, beam, Load("push", beam="boom", force=(0, 0, 5.0)))


def error_of(results, reference):
    """The largest error of a position relative to the largest way of its beam."""
    p, exact = (np.asarray(each.beams["boom"].position) for each in (results, reference))
    way = np.linalg.norm(exact - exact[0], axis=2).max()
    return np.linalg.norm(p - exact, axis=2).max() / way


@pytest.fixture(scope="module")
def reference():
    return simulate(cantilever(), duration=TWO_PERIODS, output_interval=TWO_PERIODS / 200, rtol=1e-6)


@pytest.mark.parametrize(
    ("accuracy", "most"), [(1e-2, 75), (1e-3, 300), (1e-4, 1800), pytest.param(1e-5, 7500, marks=pytest.mark.slow)]
)
def test_a_sudden_load_takes_the_steps_that_radau_needs(reference, accuracy, most):
    """At most 1.5 times the steps by the stability function of Radau IIA on the modes of this cantilever."""
    found = simulate(cantilever(), duration=TWO_PERIODS, output_interval=TWO_PERIODS / 200, accuracy=accuracy)
    error, estimate = error_of(found, reference), found.statistics["accuracy"]
    assert found.statistics["steps"] <= most
    assert error <= accuracy
    assert error <= 5.0 * estimate
    # what is damped is the work of nothing else: the balance of energy holds with it
    largest = np.max(found.audit["potential_energy"])
    assert 0.0 < found.statistics["damped"] < 0.05 * largest
    assert np.abs(found.audit["energy_error"]).max() < 0.01 * largest


def test_bodies_are_right_by_their_own_way():
    """A mass of 1 kg swings a micrometre beside one that swings a metre: both are right to 1e-3 by closed form."""
    parts = [PointMass("near", mass=1.0, position=(1.0 + 1e-3, 0, 0)), PointMass("far", mass=1.0, position=(2.0, 1, 0))]
    for name, at in (("near", 0.0), ("far", 1.0)):
        ends = SpringEnd(body="ground", at=(0, at, 0)), SpringEnd(body=name)
        parts.append(SpringDamper(f"spring {name}", *ends, stiffness=25.0, free_length=1.0))
    found = simulate(of_parts(*parts), duration=2.0, output_interval=0.02, accuracy=1e-3)
    for name, swing in (("near", 1e-3), ("far", 1.0)):
        exact = 1.0 + swing * np.cos(5.0 * found.time)
        assert np.abs(found.bodies[name].position[:, 0] - exact).max() < 1e-3 * 2.0 * swing
    assert found.statistics["accuracy"] < 1e-3


def test_turns_of_a_body_that_stays_in_place():
    """Euler's precession of a free symmetric body, whose centre rests."""
    body = RigidBody("top", mass=1.0, inertia=(2.0, 2.0, 1.0), angular_velocity=(0.3, 0, 1.0))
    exact = simulate(of_parts(body), duration=10.0, output_interval=0.1, rtol=1e-11).bodies["top"].quaternion
    found = simulate(of_parts(body), duration=10.0, output_interval=0.1, accuracy=1e-4).bodies["top"].quaternion
    assert np.linalg.norm(found - exact, axis=1).max() < 1e-4 * np.linalg.norm(exact - exact[0], axis=1).max()


def test_a_run_too_rough_for_its_forces_is_told_to_take_a_smaller_accuracy():
    """At an error of half of its way the cantilever's forces are not resolved; rtol is no option of such a run."""
    message = simulate(cantilever(), duration=TWO_PERIODS, output_interval=TWO_PERIODS / 200, accuracy=0.5).message
    assert message.startswith("the steps did not resolve the forces: ")
    assert message.endswith(": compare with a smaller accuracy")


def test_a_run_to_an_accuracy_is_the_same_again_when_resumed(tmp_path):
    """The scales come from runs from the start, whatever of the run exists."""
    options = {"duration": 0.1, "output_interval": 0.01, "accuracy": 1e-2}
    whole = simulate(cantilever(), **options)
    first = simulate(cantilever(), out=tmp_path / "first.h5", **options)
    again = simulate(cantilever(), out=tmp_path / "first.h5", extend=0.05, **options)
    np.testing.assert_array_equal(whole.beams["boom"].position, first.beams["boom"].position)
    assert again.time[-1] == pytest.approx(0.15)


@pytest.mark.slow
def test_loops_with_states_of_first_order():
    """A satellite in its control loop, with filtered sensors and wheels: as at the default tolerance."""
    case = load_case(CASES / "pointing_budget.toml")
    exact = simulate(case.model, duration=2.0, output_interval=0.1).bodies["hub"].quaternion
    found = simulate(case.model, duration=2.0, output_interval=0.1, accuracy=1e-3)
    error = np.linalg.norm(found.bodies["hub"].quaternion - exact, axis=1).max()
    assert error < 1e-3 * np.linalg.norm(exact - exact[0], axis=1).max()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rtol": 1e-5}, "run.accuracy: is given beside rtol, in place of which it stands"),
        ({"atol": Tolerances(position=1e-3)}, "run.accuracy: is given beside atol"),
        ({"filter": 10.0}, "run.accuracy: is given beside filter"),
        ({"method": "bdf"}, "run.accuracy: is kept by method 'radau' or 'auto', got method 'bdf'"),
        ({"formulation": "reduced"}, "run.accuracy: needs formulation 'velocity', got 'reduced'"),
        ({"accuracy": 2.0}, "run.accuracy: got 2.0, must be from 1e-09 to below 1"),
    ],
)
def test_what_accuracy_does_not_go_with_is_refused(options, said):
    with pytest.raises(ModelError, match=said):
        Run(**{"duration": 1.0, "accuracy": 1e-3} | options)


def test_a_tolerance_of_its_default_is_refused_too(tmp_path):
    with pytest.raises(ModelError, match=r"run\.accuracy: is given beside rtol"):
        simulate(cantilever(), duration=1.0, accuracy=1e-3, rtol=1e-6)
    case = tmp_path / "case.toml"
    case.write_text("[bodies.b]\nmass = 1.0\ninertia = [1, 1, 1]\n[run]\nduration = 1\naccuracy = 1e-3\nrtol = 1e-6\n")
    with pytest.raises(ModelError, match=r"case\.toml:6: run\.accuracy: is given beside rtol"):
        load_case(case)


def test_what_is_set_stands_in_place_of_what_a_case_has(tmp_path):
    path = CASES / "satellite_hinged_panel.toml"
    run = load_case(path, ["run.accuracy=1e-3"]).run
    assert (run.accuracy, run.rtol, run.atol) == (1e-3, DEFAULT_RTOL, Tolerances())
    assert load_case(path).run.rtol != DEFAULT_RTOL
    with pytest.raises(ModelError, match="is given beside rtol"):
        load_case(path, ["run.accuracy=1e-3", "run.rtol=1e-5"])
    assert simulate(path, accuracy=1e-2, duration=10.0).statistics["accuracy"] < 1e-2
    case = tmp_path / "case.toml"
    case.write_text("[bodies.b]\nmass = 1.0\ninertia = [1, 1, 1]\n[run]\nduration = 1\naccuracy = 1e-3\n")
    assert load_case(case, ["run.rtol=1e-4"]).run.accuracy is None


def test_auto_says_so():
    body = RigidBody("b", mass=1.0, inertia=(1, 1, 1), velocity=(1, 0, 0))
    found = simulate(of_parts(body), duration=1.0, method="auto", accuracy=1e-3)
    assert found.method_reason.startswith("radau: L-stable, for the accuracy of positions")

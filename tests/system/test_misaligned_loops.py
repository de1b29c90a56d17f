"""A loop of revolute joints with parallel axes moves; with one axis tilted it is locked, however small the tilt.

Rows that depend on the others to the tolerance of a step are left out: what is counted at the start, velocities that
are given, linear models and every method agree on that tolerance, and say what they take.
"""

import numpy as np
import pytest

import femb
from femb.run.simulate import summary
from femb.system.degrees_of_freedom import freedom
from femb.system.system import System

MOVES, LOCKED = (0.0, 1e-8, 1e-6), (1e-4, 1e-2)
METHODS = ("radau", "bdf", "rk", "generalized-alpha")
DURATION, RTOL = 0.3, 1e-5


def linkage(tilt, **first):
    """A four-bar linkage that falls; ``tilt`` : angle (rad) of the axis of its last joint."""
    model = femb.Model("linkage", gravity=(0.0, -9.81, 0.0))
    points = np.array([(0.0, 0.0, 0.0), (0.1, 0.3, 0.0), (0.7, 0.5, 0.0), (0.8, 0.0, 0.0)])
    middle = {"ground": np.zeros(3)}
    for k, name in enumerate("abc"):
        middle[name] = points[k : k + 2].mean(axis=0)
        model.add(femb.RigidBody(name, mass=1.0, inertia=0.02, position=middle[name]))
    for k, pair in enumerate((("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground"))):
        axis = (0.0, -np.sin(tilt), np.cos(tilt)) if k == 3 else (0.0, 0.0, 1.0)
        ends = (femb.JointEnd(name, at=points[k] - middle[name], axis=axis) for name in pair)
        model.add(femb.Revolute(f"j{k}", *ends, **(first if k == 0 else {})))
    return model


def fall(tilt, method):
    results = femb.simulate(linkage(tilt), duration=DURATION, output_interval=0.1, rtol=RTOL, method=method)
    return results, results.joints["j0"].coordinates[-1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_what_is_counted_is_what_every_method_does(method):
    parallel = fall(0.0, method)[1]
    assert parallel < -0.2
    for tilt in MOVES:
        system = System(linkage(tilt))
        assert freedom(system, system.q0).degrees == 1
        np.testing.assert_allclose(fall(tilt, method)[1], parallel, rtol=RTOL)
    forces = []
    for tilt in LOCKED:
        system = System(linkage(tilt))
        assert freedom(system, system.q0).degrees == 0
        results, angle = fall(tilt, method)
        assert abs(angle) < 1e-6
        forces.append(np.abs(results.joints["j0"].force[-1]).max() * tilt)
    # the moment out of the plane that holds it grows like one over the tilt
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_loop_that_opens_before_it_is_locked_is_named(method):
    with pytest.raises(femb.SolveError, match=r"equations of joints\.j0, .* joints\.j3 depend on each other to"):
        fall(1e-5, method)


@pytest.mark.slow
def test_given_rates_and_small_motions_agree():
    for tilt in MOVES:
        assert abs(System(linkage(tilt, rates=1.0)).v0).max() == pytest.approx(1.0)
        assert femb.linearize(linkage(tilt)).A.shape == (2, 2)
    for tilt in LOCKED:
        with pytest.raises(femb.ModelError, match="the start velocities that are given would open it"):
            System(linkage(tilt, rates=1.0))
        assert femb.linearize(linkage(tilt)).A.shape == (0, 0)
    with pytest.raises(femb.ModelError, match="lock the loop if its axes should be aligned"):
        System(linkage(1e-4, rates=1.0))


@pytest.mark.parametrize("tilt", [*MOVES, *LOCKED])
def test_a_driven_loop_is_followed_where_it_moves(tilt):
    model = linkage(tilt)
    model.add(femb.JointDriver("drive", "j0", motion=lambda t: (0.1 * t * t, 0.2 * t, 0.2)))
    if tilt in MOVES:
        results = femb.inverse(model, duration=DURATION, output_interval=0.1)
        assert results.joints["j0"].coordinates[-1, 0] == pytest.approx(0.1 * DURATION**2, rel=1e-9)
        return
    with pytest.raises(femb.SolveError, match="the accelerations that drivers prescribe contradict"):
        femb.inverse(model, duration=DURATION, output_interval=0.1)


def test_modes_of_nearly_dependent_rows():
    """A spring at the joint: its frequency does not change by a small tilt."""
    wanted = [sprung(tilt) for tilt in MOVES]
    np.testing.assert_allclose(wanted[1:], wanted[0], rtol=1e-6)


def sprung(tilt):
    model = linkage(tilt)
    model.gravity = (0.0, 0.0, 0.0)
    model.add(femb.JointSpringDamper("spring", "j0", stiffness=100.0))
    return femb.modes(model).frequencies[0]


@pytest.mark.slow
def test_check_and_run_say_it():
    assert "depend on each other to" not in summary(linkage(0.0))
    for tilt, words in ((1e-6, "they count as dependent"), (1e-4, "they hold, and lock")):
        assert f": {words}" in summary(linkage(tilt))
    assert "they count as dependent" in fall(1e-6, "radau")[0].attributes[""]["message"]
    assert "depend on each other" not in fall(0.0, "radau")[0].attributes[""]["message"]


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_a_loop_of_micrometres_is_that_of_metres(size):
    """Inertias by the fifth power of the size, the spring by its cube: the frequency is by one over the size."""
    model = femb.Model("linkage", gravity=(0.0, 0.0, 0.0))
    points = size * np.array([(0.0, 0.0, 0.0), (0.1, 0.3, 0.0), (0.7, 0.5, 0.0), (0.8, 0.0, 0.0)])
    middle = {"ground": np.zeros(3)}
    for k, name in enumerate("abc"):
        middle[name] = points[k : k + 2].mean(axis=0)
        model.add(femb.RigidBody(name, mass=size**3, inertia=0.02 * size**5, position=middle[name]))
    for k, pair in enumerate((("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground"))):
        ends = (femb.JointEnd(name, at=points[k] - middle[name], axis=(0.0, 0.0, 1.0)) for name in pair)
        model.add(femb.Revolute(f"j{k}", *ends))
    model.add(femb.JointSpringDamper("spring", "j0", stiffness=100.0 * size**3))
    system = System(model)
    count = freedom(system, system.q0)
    assert (count.degrees, count.nearly) == (1, ())
    space = femb.linearize(model)
    assert space.A.shape == (2, 2)
    assert np.abs(space.eigenvalues()) * size == pytest.approx(2 * np.pi * sprung(0.0), rel=1e-6)
    model.add(femb.JointDriver("drive", "j0", motion=lambda t: (0.1 * t * t, 0.2 * t, 0.2)))
    results = femb.inverse(model, duration=0.1, output_interval=0.05)
    assert results.joints["j0"].coordinates[-1, 0] == pytest.approx(0.1 * 0.1**2, rel=1e-6)

"""Rigid bodies and joints in one compiled call: the equations, projections and runs of single calls."""

from itertools import pairwise

import numpy as np
import pytest

import femb
from femb.elements import Ground, JointEnd, Load, PointMass, Revolute, RigidBody, Spherical
from femb.numerics.rotations import multiply, rotate
from femb.recording import evaluation
from femb.steppers.runge_kutta import Dop853
from femb.system.rigid_bodies import RigidBodies
from femb.system.system import System

Z = (0.0, 0.0, 1.0)


def four_bar(tilt=0.0, pin=Revolute):
    """A closed loop with dependent rows, turned about x by ``tilt`` (rad), and a point mass on a rod beside it."""
    turn = (np.cos(0.5 * tilt), np.sin(0.5 * tilt), 0.0, 0.0)
    model = femb.Model("four-bar linkage", gravity=tuple(rotate(turn, (0.3, -9.81, 0.0))))
    ends = [(0.0, 0.0), (0.2, 0.6), (0.9, 0.8), (1.0, 0.0)]
    for k, (a, b) in enumerate(pairwise(ends)):
        middle, along = 0.5 * np.add(a, b), np.subtract(b, a)
        angle = 0.5 * np.arctan2(along[1], along[0])
        model.add(
            RigidBody(
                f"rod_{k}", 1.0 + k, (0.02, 0.1, 0.1), position=tuple(rotate(turn, (*middle, 0.0))),
                center_of_mass=(0.02, 0.01, 0.0), quaternion=multiply(turn, (np.cos(angle), 0.0, 0.0, np.sin(angle))),
            )
        )  # fmt: skip
    half = [0.5 * np.hypot(*np.subtract(b, a)) for a, b in pairwise(ends)]
    axis = rotate(turn, Z)
    model.add(
        Revolute("left", Ground().at((0, 0, 0), direction=axis), JointEnd("rod_0", at=(-half[0], 0, 0)), rates=2.0)
    )
    for k in (0, 1):
        first = JointEnd(f"rod_{k}", at=(half[k], 0, 0), axis=Z if pin is Revolute else None)
        model.add(pin(f"pin_{k}", first, JointEnd(f"rod_{k + 1}", at=(-half[k + 1], 0, 0))))
    model.add(Revolute("right", JointEnd("rod_2", at=(half[2], 0, 0), axis=Z), Ground().at((1, 0, 0), direction=axis)))
    model.add(PointMass("bob", 0.5, position=(-1.0, 0.0, 0.0)))
    model.add(femb.elements.Distance("thread", JointEnd("ground"), JointEnd("bob")))
    return model


@pytest.fixture(scope="module")
def system():
    """In a plane whose normal is no inertial axis: all unknowns stay."""
    return System(four_bar(tilt=0.3), assemble=True)


def moved(system, velocities=slice(None)):
    """A state slightly off the constraints, in some velocities."""
    rng, change = np.random.default_rng(1), np.zeros((2, system.n_v))
    change[:, velocities] = rng.standard_normal((2, system.n_v))[:, velocities]
    return system.retract(system.q0, 1e-5 * change[0]), system.v0 + 1e-4 * change[1]


@pytest.mark.parametrize("tilt", [0.0, 0.5 * np.pi])
def test_velocities_out_of_a_plane_are_left_out(tilt):
    """Of a loop in the plane three velocities a rod and two rows a pin stay; they give the motion of all."""
    system = System(four_bar(tilt), assemble=True)
    kept = system.rigid.kept
    assert (len(kept.velocities), len(kept.rows)) == (3 * 3 + 3, 4 * 2 + 1)
    assert (system.n_v, system.n_c) == (3 * 6 + 3, 4 * 5 + 1)
    assert np.abs(system.v0[kept.dropped]).max() < 1e-14
    q, v = moved(system, kept.velocities)
    y, K = np.concatenate([q, v, [0.0]]), np.empty((1, len(q) + len(v) + 1))
    system.stages(np.zeros((1, 1)), 0, 1, 0.0, y, K)
    wanted = system.acceleration(np.zeros(0), q, v)
    np.testing.assert_allclose(K[0, system.n_q : -1], wanted, rtol=0.0, atol=1e-10)
    for mine, wanted in zip(system.rigid.projected(system, q, v), plain_projection(system, q, v), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=0.0, atol=1e-11)


def test_a_state_out_of_its_plane_is_projected_with_all_rows():
    system = System(four_bar(), assemble=True)
    q, v = moved(system)
    assert system.rigid.projected(system, q, v) is None
    q, v = system.projected(np.zeros(0), q, v)
    assert np.abs(system.position_residual(np.zeros(0), q, v)).max() < 1e-12


def test_rods_that_may_leave_the_plane_keep_all_velocities():
    kept = System(four_bar(pin=Spherical), assemble=True).rigid.kept
    assert len(kept.velocities) == 3 + 6 + 3 + 3  # the coupler may spin about its length
    assert len(kept.rows) == 2 * 2 + 2 * 3 + 1


def test_a_slider_stays_in_the_plane_of_its_crank():
    model = femb.Model("slider-crank", gravity=(0.0, -9.81, 0.0))
    for name, x in (("crank", 0.5), ("rod", 1.5)):
        model.add(RigidBody(name, 1.0, (0.02, 0.1, 0.1), position=(x, 0.0, 0.0)))
    model.add(RigidBody("slider", 1.0, (0.1, 0.1, 0.1), position=(2.0, 0.0, 0.0)))
    for name, first, second in (
        ("foot", JointEnd("ground", axis=Z), JointEnd("crank", at=(-0.5, 0, 0))),
        ("knee", JointEnd("crank", at=(0.5, 0, 0), axis=Z), JointEnd("rod", at=(-0.5, 0, 0))),
        ("wrist", JointEnd("rod", at=(0.5, 0, 0), axis=Z), JointEnd("slider")),
    ):
        model.add(Revolute(name, first, second))
    model.add(femb.elements.Prismatic("guide", JointEnd("ground", axis=(1.0, 0.0, 0.0)), JointEnd("slider")))
    kept = System(model, assemble=True).rigid.kept
    assert (len(kept.velocities), len(kept.rows)) == (2 * 3 + 1, 3 * 2)


def plain_projection(system, q, v):
    """By single calls, with all rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RigidBodies, "projected", lambda *_: None)
        return system.projected(np.zeros(0), q, v)


def test_rates_are_those_of_the_equations(system):
    q, v = moved(system)
    y, K = np.concatenate([q, v, [0.0]]), np.empty((1, len(q) + len(v) + 1))
    system.stages(np.zeros((1, 1)), 0, 1, 0.0, y, K)
    n_q = system.n_q
    np.testing.assert_allclose(K[0, n_q:-1], system.acceleration(np.zeros(0), q, v), rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(K[0, :n_q], system.rates(q[None], v[None])[0])
    assert K[0, -1] == 0.0


def test_projections_are_those_of_single_calls(system):
    q, v = moved(system)
    got = system.rigid.projected(system, q, v)
    for mine, wanted in zip(got, plain_projection(system, q, v), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=0.0, atol=1e-11)
    assert np.abs(system.position_residual(np.zeros(0), *got)).max() < 1e-12


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_runs_are_those_of_single_stages(monkeypatch, tilt):
    options = {"method": "rk", "start": "assembled", "duration": 0.4, "output_interval": 0.1, "rtol": 1e-8}
    got = femb.simulate(four_bar(tilt), **options)
    monkeypatch.setattr(System, "has_stages", False)
    monkeypatch.setattr(RigidBodies, "projected", lambda *_: None)
    wanted = femb.simulate(four_bar(tilt), **options)
    assert got.statistics["steps"] == wanted.statistics["steps"] > 3
    assert got.statistics["evaluations"] == wanted.statistics["evaluations"]
    for body in ("rod_1", "bob"):
        np.testing.assert_allclose(got.bodies[body].position, wanted.bodies[body].position, rtol=0.0, atol=1e-10)


def test_another_weight_and_other_elements(system):
    q, v = moved(system)
    light = system.with_gravity(np.zeros(3))
    y, K = np.concatenate([q, v, [0.0]]), np.empty((1, len(q) + len(v) + 1))
    light.stages(np.zeros((1, 1)), 0, 1, 0.0, y, K)
    wanted = light.acceleration(np.zeros(0), q, v)
    np.testing.assert_allclose(K[0, system.n_q : -1], wanted, rtol=0.0, atol=1e-10)
    model = four_bar()
    model.add(Load("push", body="rod_1", force=(1.0, 0.0, 0.0)))
    assert system.has_stages
    assert not System(model, assemble=True).has_stages


def test_many_steps_are_those_of_single_ones(monkeypatch):
    """The same motion, output and counts, whether a step is a call or many are; with revolutions of a joint."""
    run = {"duration": 2.0, "output_interval": 0.02, "method": "rk", "rtol": 1e-7}
    model = femb.Model("pendulum on a wheel", gravity=(0.0, -9.81, 0.0))
    model.add(RigidBody("wheel", 2.0, (0.1, 0.1, 0.2)))
    model.add(Revolute("axle", JointEnd("ground", axis=Z), JointEnd("wheel"), rates=9.0))
    model.add(RigidBody("rod", 1.0, (0.02, 0.1, 0.1), position=(0.5, 0.0, 0.0)))
    model.add(Revolute("pin", JointEnd("wheel", at=(0.3, 0, 0), axis=Z), JointEnd("rod", at=(-0.2, 0, 0))))
    many = femb.simulate(model, **run)
    monkeypatch.setattr(Dop853, "steps", lambda *_: None)
    single = femb.simulate(model, **run)
    assert many.statistics["steps"] == single.statistics["steps"] > 10
    assert many.statistics["evaluations"] == single.statistics["evaluations"]
    assert np.ptp(many.joints["axle"].coordinates) > 2.0 * np.pi
    for name in ("axle", "pin"):
        got, wanted = many.joints[name], single.joints[name]
        np.testing.assert_allclose(got.coordinates, wanted.coordinates, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(got.force, wanted.force, rtol=0.0, atol=1e-7)


@pytest.mark.slow
def test_output_of_rigid_bodies_needs_no_iteration_matrices(monkeypatch):
    """Without stiffness and damping nothing is corrected but the gaps of joints: the output is that of the matrices."""
    words = {"duration": 0.3, "method": "radau", "rtol": 1e-6, "output_interval": 0.002}
    monkeypatch.setattr(System, "without_stiffness", False)
    expected = femb.simulate(four_bar(pin=Spherical), **words)
    monkeypatch.undo()
    assert System(four_bar()).without_stiffness
    monkeypatch.setattr(evaluation, "matrices_each", None)
    found = femb.simulate(four_bar(pin=Spherical), **words)
    for path, array in expected.series.items():
        np.testing.assert_allclose(found.series[path], array, rtol=1e-9, atol=1e-9, err_msg=path)
    sprung = four_bar()
    sprung.add(femb.SpringDamper("spring", femb.SpringEnd("rod_0"), femb.SpringEnd("rod_2"), stiffness=10.0))
    assert not System(sprung).without_stiffness

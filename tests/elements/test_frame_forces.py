"""Forces that are one traced function, against an element with kernels of its own and a closed form."""

from itertools import combinations

import numpy as np
import pytest

import femb
from femb.elements.frame_forces import FrameForces
from femb.elements.frame_index import frame_starts
from femb.elements.spring.batch import SpringBatch
from femb.layout.differences import tangent_by_differences
from femb.layout.element import Input
from femb.layout.evaluation import Evaluation
from femb.numerics.compiler.duals import cross, dot, joined, norm
from femb.numerics.compiler.traced import traced
from femb.system.system import System

START, END, STIFFNESS, DAMPING, FREE = (0.2, -0.1, 0.4), (-0.3, 0.5, 0.1), 70.0, 4.0, 0.6


def arm(row, one, two):
    """The vector between two points, and its rate."""
    s, t = row[:3], row[3:6]
    d = two.r + two.R @ t - one.r - one.R @ s
    return d, two.v + two.R @ cross(two.omega, t) - one.v - one.R @ cross(one.omega, s)


@traced
def strut(row, inputs, one, two):
    d, rate = arm(row, one, two)
    f = (row[6] * (norm(d) - row[8]) + row[7] * dot(d, rate) / norm(d)) / norm(d) * d
    return joined(f, cross(row[:3], one.R.T @ f)), joined(-f, -cross(row[3:6], two.R.T @ f))


@traced
def stored(row, inputs, one, two):
    stretch = norm(arm(row, one, two)[0]) - row[8]
    return 0.5 * row[6] * stretch * stretch


class Struts(FrameForces):
    force, potential = strut, stored


@traced
def driven(row, inputs, body):
    return inputs[0] * row


class Driven(FrameForces):
    force = driven


@pytest.fixture
def system():
    model = femb.Model("two")
    model.add(femb.RigidBody("a", mass=2.0, inertia=(1.0, 2.0, 2.5)))
    model.add(femb.RigidBody("b", mass=3.0, inertia=(1.0, 2.0, 2.5), position=(0.5, 1.0, -0.2)))
    ends = {"start": femb.SpringEnd(body="a", at=START), "end": femb.SpringEnd(body="b", at=END)}
    model.add(femb.SpringDamper("s", **ends, stiffness=STIFFNESS, damping=DAMPING, free_length=FREE))
    return System(model)


@pytest.mark.slow
def test_a_spring_of_one_function_is_the_spring(system):
    frames = [(system.layout.bodies["a"], system.layout.bodies["b"])]
    mine = Struts(system.layout, frames, [(*START, *END, STIFFNESS, DAMPING, FREE)])
    mine.first_input = 0
    mine.allocate(system.pattern)
    (spring,) = (each for each in system.batches if isinstance(each, SpringBatch))
    rng = np.random.default_rng(3)
    q, v, u = system.q0 + 0.2 * rng.random((2, system.n_q)), rng.random((2, system.n_v)), np.zeros((2, system.n_u))
    for batch in (mine, spring):
        of, D, K, energies = (
            Evaluation([batch], system.pattern),
            *np.zeros((2, 2, system.pattern.size)),
            np.zeros((2, 8)),
        )
        of.add_tangents(u, q, v, np.zeros_like(v), D, K)
        of.add_energies(u, q, v, energies)
        found = [of.residual(u, q, v, np.zeros_like(v)), D, K, energies]
        if batch is mine:
            wanted = found
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-13 * np.max(np.abs(other)))


def test_a_force_of_its_input_alone_follows_it_and_has_no_tangent(system):
    batch = Driven(system.layout, [(system.layout.bodies["b"],)], [(1.0, 2.0, 3.0)], [Input(1, np.sin)])
    batch.first_input = 0
    batch.allocate(system.pattern)
    of, v = Evaluation([batch], system.pattern), system.v0[None]
    residual = of.residual(np.array([[2.0]]), system.q0[None], v, v)
    np.testing.assert_array_equal(residual[0, 6:9], [-2.0, -4.0, -6.0])
    assert not of.tangent(np.array([2.0]), system.q0, v[0], v[0])[1].any()


def end_of(frame, at):
    return frame.r + frame.R @ at, frame.v + frame.R @ cross(frame.omega, at)


@traced
def rope(row, inputs, one, eye, two):
    """From a point of the first body over an eye on the second to a point of the third."""
    frames, points = (one, eye, two), (row[:3], row[3:6], row[6:9])
    (a, va), (e, ve), (b, vb) = map(end_of, frames, points)
    to_a, to_b = (a - e) / norm(a - e), (b - e) / norm(b - e)
    tension = row[9] * (norm(a - e) + norm(b - e) - row[11]) + row[10] * (dot(to_a, va - ve) + dot(to_b, vb - ve))
    forces = -tension * to_a, tension * (to_a + to_b), -tension * to_b
    return tuple(joined(f, cross(s, each.R.T @ f)) for f, s, each in zip(forces, points, frames, strict=True))


class Ropes(FrameForces):
    force = rope


@pytest.mark.slow
def test_a_rope_over_an_eye_acts_on_three_bodies():
    """Its forces and their moments are in balance, and its tangent is that of their differences."""
    model, names = femb.Model("three"), ("a", "eye", "b")
    for name, place in zip(names, ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (2.0, 0.2, 0.3)), strict=True):
        model.add(femb.RigidBody(name, mass=2.0, inertia=(1.0, 2.0, 2.5), position=place))
    for one, two in combinations(names, 2):  # for the places of the blocks
        ends = femb.SpringEnd(body=one), femb.SpringEnd(body=two)
        model.add(femb.SpringDamper(f"{one} {two}", *ends, stiffness=1.0, free_length=1.0))
    system = System(model)
    bodies = tuple(system.layout.bodies[name] for name in names)
    batch = Ropes(system.layout, [bodies], [(0.1, 0, 0, 0, 0.2, 0, 0, 0, 0.3, 20.0, 0.5, 2.0)])
    batch.first_input = 0
    batch.allocate(system.pattern)
    rng = np.random.default_rng(5)
    q, v, none = system.q0 + 0.1 * rng.random((1, system.n_q)), rng.random((1, system.n_v)), np.zeros((1, system.n_v))
    system.normalise(q)
    of, u = Evaluation([batch], system.pattern), np.zeros((1, system.n_u))
    residual = of.residual(u, q, v, none)
    motions = system.rigid_velocities(q[0])
    assert np.abs(residual).max() > 1.0
    np.testing.assert_allclose(motions @ residual[0], 0.0, atol=1e-13)
    D, K, by_D, by_K = np.zeros((4, 1, system.pattern.size))
    of.add_tangents(u, q, v, none, D, K)
    starts = frame_starts(batch.index, 3)
    by = tangent_by_differences(batch, starts, 6 * (3,), system.layout)
    by.kernel(*system.pattern.offsets(starts), u, q, v, none, by_D, by_K)
    np.testing.assert_allclose(D, by_D, atol=1e-8)
    np.testing.assert_allclose(K, by_K, atol=1e-7)


@traced
def at_point(row, inputs, body):
    """A force (3,) and a torque (3,) at a point: of inertial axes, and in those of the body."""
    f, m = row[:3], row[3:6]
    held = joined(f, cross(row[12:], body.R.T @ f) + body.R.T @ m)
    follower = joined(body.R @ row[6:9], cross(row[12:], row[6:9]) + row[9:12])
    return held + follower


class AtPoint(FrameForces):
    force = at_point


def test_the_tangent_of_forces_at_points_is_that_of_duals():
    """That of ``elements/load/batch.py`` is by hand."""
    numbers = np.random.default_rng(5).standard_normal((5, 3))
    model = femb.Model("one")
    model.add(femb.RigidBody("b", mass=3.0, inertia=(1.0, 2.0, 2.5), position=(0.5, 1.0, -0.2)))
    for name, frame, (force, torque) in (("held", "inertial", numbers[:2]), ("follower", "body", numbers[2:4])):
        model.add(femb.Load(name, body="b", at=numbers[4], force=force, torque=torque, frame=frame))
    system = System(model)
    mine = AtPoint(system.layout, [(system.layout.bodies["b"],)], [numbers.ravel()])
    mine.first_input = 0
    mine.allocate(system.pattern)
    loads = [each for each in system.batches if type(each).__name__ == "LoadBatch"]
    rng = np.random.default_rng(3)
    u, q, v = system.inputs_at(0.0, system.q0, system.v0), system.q0 + 0.2 * rng.random(system.n_q), system.v0
    system.normalise(q)
    found = [Evaluation(each, system.pattern) for each in ([mine], loads)]
    for of in ("residual", "tangent"):
        state = (u, q, v, 0.0 * v) if of == "tangent" else tuple(x[None] for x in (u, q, v, 0.0 * v))
        one, other = (np.asarray(getattr(each, of)(*state)) for each in found)
        assert np.max(np.abs(other)) > 0.1
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-14 * np.max(np.abs(other)))

"""Constraint rows of many joints, which kernels evaluate by parts: values, forces and memory."""

import tracemalloc

import numpy as np

from femb import JointEnd, Model, Revolute, RigidBody
from femb.elements.joint import constraint_kernels as kernels
from femb.system.system import System

HINGES = 30  # of five rows: more than two parts


def hinged():
    """A chain of rods, and five states off its constraints."""
    model, before = Model("chain"), "ground"
    for k in range(HINGES):
        axis = (0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)
        model.add(RigidBody(f"b{k}", mass=0.1, inertia=1e-4, center_of_mass=(0.05, 0, 0)))
        first = JointEnd(before, at=(0.1 if k else 0.0, 0, 0), axis=axis)
        model.add(Revolute(f"j{k}", first, JointEnd(f"b{k}", axis=axis)))
        before = f"b{k}"
    system, rng = System(model), np.random.default_rng(3)
    q = system.q0 + 0.1 * rng.standard_normal((5, system.n_q))
    for each in q:
        system.normalise(each)
    v, multipliers = rng.standard_normal((5, system.n_v)), rng.standard_normal((5, system.n_c))
    return system, np.zeros((5, system.n_u)), q, v, multipliers


def test_rows_do_not_depend_on_the_others_or_on_other_states():
    system, u, q, v, _ = hinged()
    rows = system.constraint_set
    assert len(rows.index) > 2 * kernels.TOGETHER
    position, gamma = system.constraints(u, q, v)
    for k in range(0, len(rows.index), 7):
        one, c = rows.some([k]), rows.index[k, 6]
        for s in range(5):
            alone = np.zeros((2, 1, system.n_c))
            kernels.constraints(*one, u[s : s + 1], q[s : s + 1], v[s : s + 1], rows.fixed, *alone)
            np.testing.assert_array_equal(alone[:, 0, c], [position[s, c], gamma[s, c]])


def test_rates_and_forces_are_those_of_the_jacobian():
    system, u, q, v, multipliers = hinged()
    force, rates = np.zeros_like(v), np.empty_like(multipliers)
    system.constraint_set.constraint_force(u, q, v, multipliers, force, rates)
    for s in range(5):
        J = system.jacobian(u[s], q[s])
        np.testing.assert_allclose(rates[s], J @ v[s], atol=1e-13)
        np.testing.assert_allclose(force[s], J.T @ multipliers[s], atol=1e-13)


def test_second_rates_are_the_differences_of_rates():
    """Along a motion with constant accelerations, of coordinates beyond the first part."""
    system, _, q, v, _ = hinged()
    coordinates, a, h = system.coordinates_of_joints, np.ones_like(v), 1e-5
    found = coordinates.accelerations(q, v, a)

    def rates(t):
        moved = q + t * system.rates(q, v)
        for each in moved:
            system.normalise(each)
        return coordinates.motion(moved, v + t * a)[1]

    np.testing.assert_allclose(found, (rates(h) - rates(-h)) / (2.0 * h), rtol=1e-6, atol=1e-6)


def test_evaluations_leave_no_memory_behind():
    system, u, q, v, multipliers = hinged()
    rows, force, rates = system.constraint_set, np.zeros_like(v), np.empty_like(multipliers)
    data, gaps = np.zeros((5, system.pattern.size)), np.empty((2, 5, system.n_c))

    def evaluate():
        rows.constraint_force(u, q, v, multipliers, force, rates)
        rows.constraints(u, q, v, *gaps)
        rows.add_jacobians(u, q, v, data, *gaps)
        system.coordinates_of_joints.accelerations(q, v, v)

    evaluate()
    tracemalloc.start()
    try:
        evaluate()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            evaluate()
        assert tracemalloc.get_traced_memory()[0] - before < 10_000  # one call takes ten times as much
    finally:
        tracemalloc.stop()

"""Joint trees: their coordinates meet the constraints of the System, and their velocities are their rates."""

import numpy as np
import pytest
from models import refuses
from oracles.random_trees import KINDS, random_model, random_state

from femb import Ground, Model, RigidBody
from femb.elements import Distance, JointEnd, Revolute
from femb.formulations.joint_tree import JointTree, Root
from femb.numerics import kinematics
from femb.system.system import System

EACH = [pytest.param((kind,), id=kind.kind) for kind in KINDS]


def tree_of(seed, bodies=4, kinds=KINDS, ground=True, root=None):
    rng = np.random.default_rng(seed)
    system = System(random_model(rng, bodies, kinds, ground), assemble=True)
    return JointTree(system, root=root), rng


@pytest.mark.parametrize("kinds", [*EACH, pytest.param(KINDS, id="all")])
@pytest.mark.parametrize("ground", [True, False])
def test_coordinates_meet_the_constraints(kinds, ground):
    """At any coordinates and speeds, J v = 0 and Phi = 0; and both are found back from what they give."""
    tree, rng = tree_of(len(kinds[0].kind), 4 if len(kinds) == 1 else 30, kinds, ground)
    system = tree.system
    assert tree.n_u == system.n_v - system.n_c
    q, u = random_state(tree, rng)
    Q, V = tree.to_system(q[None], u[None])
    inputs = np.zeros((1, system.n_u))
    position, rates = system.constraints(inputs, Q, V)[0], system.constraint_rates(inputs, Q, V)
    assert np.max(np.abs(position)) < 1e-13 * max(1.0, np.max(np.abs(Q)))
    assert np.max(np.abs(rates)) < 1e-13 * np.max(np.abs(V), initial=1.0)
    np.testing.assert_allclose(tree.speeds_at(q, V[0]), u, atol=1e-11)
    again = tree.to_system(tree.coordinates_at(Q[0])[None], u[None])[0]
    np.testing.assert_allclose(again, Q, atol=1e-12)


@pytest.mark.parametrize("ground", [True, False])
def test_the_start_is_that_of_the_system(ground):
    """Signs of quaternions among it."""
    for seed in range(5):
        tree, _ = tree_of(seed, 6, ground=ground)
        start = tree.coordinates_at(tree.system.q0)
        Q = tree.to_system(start[None], np.zeros((1, tree.n_u)))[0][0]
        np.testing.assert_allclose(Q, tree.system.q0, atol=1e-11)


ROOTS = [Root(), Root("center_of_mass"), Root((0.3, -0.2, 0.5)), Root("center_of_mass", "body"), Root(velocity="body")]


@pytest.mark.parametrize("root", ROOTS, ids=str)
def test_velocities_are_the_rates_of_positions(root):
    """And T', B' those of T, B: by differences of order 6 along the motion."""
    tree, rng = tree_of(3, 8, ground=False, root=root)
    q, u = random_state(tree, rng)
    rate = np.empty((1, tree.n_q))
    kinematics.rates(tree.coordinates, q[None], u[None], rate)
    Q, V, _, T_rate, B, B_rate = tree.sweep(q[None], u[None])
    if root.velocity == "body":
        free = tree.frames[0]
        rate[0, free.q.start : free.q.start + 3] = B[0, 0, :3, :3] @ u[free.u][:3]

    def moved(h):
        x = q + h * rate[0]
        kinematics.normalise(tree.coordinates[2], x)
        return tree.sweep(x[None], u[None])

    def slope(which, h=1e-3):
        terms = [w * (moved(k * h)[which] - moved(-k * h)[which]) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
        return sum(terms) / (60.0 * h)

    np.testing.assert_allclose(tree.system.tangents(Q[0], slope(0)), V, atol=1e-10)
    np.testing.assert_allclose(slope(2), T_rate, atol=1e-10)
    np.testing.assert_allclose(slope(4), B_rate, atol=1e-10)


def test_a_chosen_body_is_the_root():
    tree, _ = tree_of(1, 5, ground=False, root=Root(body="b3"))
    assert tree.frames[0].frame == tree.layout.bodies["b3"]
    refuses("'b9', which is not in the model", tree_of, 1, 5, ground=False, root=Root(body="b9"))
    for wrong in ({"point": "middle"}, {"point": (1, 2)}, {"velocity": "world"}):
        refuses("root: ", Root, **wrong)


def four_bar(closing=Revolute):
    model = Model()
    ground = model.add(Ground())
    bars = [model.add(RigidBody(name, mass=1.0, inertia=1.0, position=(k, 0, 0))) for k, name in enumerate("abc")]
    ends = [ground, *bars, ground]
    for k in range(4):
        x = [0.5 + k - (0.0 if each is ground else bars.index(each)) for each in (ends[k], ends[k + 1])]
        axes = {} if k == 3 and closing is Distance else {"axis": (0, 0, 1)}
        first, second = JointEnd(ends[k].name, at=(x[0], 0, 0), **axes), JointEnd(ends[k + 1].name, at=(x[1], 0, 0))
        if closing is Distance and k == 3:
            second = JointEnd(ground.name, at=(x[1], 1, 0))
        model.add((closing if k == 3 else Revolute)(f"pin{k}", first, second))
    return System(model)


def test_loops_and_rods_are_refused_by_name():
    refuses(r"trees of joints: (joints.pin\d,? ?){4}close", JointTree, four_bar())
    refuses("close a loop", JointTree, four_bar(Distance))
    model = Model()
    model.add(RigidBody("bob", mass=1.0, inertia=1.0))
    model.add(Distance("rod", JointEnd("ground", at=(0, 0, 1)), JointEnd("bob")))
    refuses(r"run.formulation: 'reduced'.*joints.rod \(distance\)", JointTree, System(model))

"""Charts of random joint trees: how poses, velocities and accelerations change with coordinates and speeds."""

import numpy as np
import pytest
from oracles.finite_differences import slope
from oracles.random_trees import random_model, random_state

from femb.formulations.joint_tree import JointTree, Root
from femb.linear.chart import frames_chart
from femb.linear.second_order import closed_chart, second_order, tree_chart
from femb.numerics import kinematics, rotations
from femb.small_motions.point import OperatingPoint
from femb.system.system import System

ROOTS = (Root(), Root(velocity="body"), Root(velocity="body", point=(0.1, 0.2, 0.3)), Root(point=(0.1, -0.2, 0.3)))


def moved(point, tree, q, dp):
    """Coordinates after the change dp of a chart: turns of balls, displacements of roots in their axes."""
    step, rates = dp.copy(), np.zeros((1, tree.n_q))
    for each in tree.frames:
        if each.joint is None:
            i, line = point.system.layout.frame_q[each.frame] + 3, slice(each.u.start, each.u.start + 3)
            step[line] = rotations.rotate(point.q[i : i + 4], dp[line])
    kinematics.rates(tree.coordinates, q[None], step[None], rates)
    out = q + rates[0]
    kinematics.normalise(tree.coordinates[2], out)
    return out


def motion(tree, q, u, rate):
    """Q, V and the accelerations at rates of the speeds, by the matrices of the tree's own sweep.

    u, rate : with the velocities of roots in their own axes, which those of the tree need not be.
    """
    u, rate = u.copy(), rate.copy()
    for each in tree.frames:
        if each.joint is None and not each.body_velocity:
            line, turn = slice(each.u.start, each.u.start + 3), slice(each.u.start + 3, each.u.stop)
            rate[line] = rotations.rotate(q[each.angles], rate[line] + np.cross(u[turn], u[line]))
            u[line] = rotations.rotate(q[each.angles], u[line])
    Q, V, T, T1, B, B1 = (each[0] for each in tree.sweep(q[None], u[None]))
    a, v, out = np.zeros((len(tree.frames), 6)), np.zeros((len(tree.frames), 6)), np.zeros(tree.system.n_v)
    for k, each in enumerate(tree.frames):
        n, j = each.u.stop - each.u.start, tree.layout.frame_v[each.frame]
        v[k], a[k] = B[k, :, :n] @ u[each.u], B[k, :, :n] @ rate[each.u] + B1[k, :, :n] @ u[each.u]
        if each.parent >= 0:
            a[k] += T[k] @ a[each.parent] + T1[k] @ v[each.parent]
            v[k] += T[k] @ v[each.parent]
        out[j : j + 6] = a[k]
    return Q, V, out


@pytest.mark.slow
@pytest.mark.parametrize("ground", [True, False])
@pytest.mark.parametrize("root", ROOTS, ids=range(4))
def test_chart(root, ground):
    """(3) to (5) of trees of six bodies by any joints, either way round, at random motion under gravity."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        system = System(random_model(rng, 6, ground=ground))
        tree = JointTree(system, root=root)
        q, u = random_state(tree, rng)
        Q, V = (each[0] for each in tree.to_system(q[None], u[None]))
        point = OperatingPoint.of(system.at(Q), Q, V)
        chart = tree_chart(point, tree)
        q, rate = tree.coordinates_at(Q), chart.rates
        for each in tree.frames:
            if each.joint is None and not each.body_velocity:
                line = slice(each.u.start, each.u.start + 3)
                u[line] = rotations.rotate_back(q[each.angles], u[line])
        np.testing.assert_allclose(motion(tree, q, u, rate)[2], point.a, atol=1e-11 * np.abs(point.a).max())
        for k, e in enumerate(np.eye(tree.n_u)):
            by_p = [slope(lambda s: motion(tree, moved(point, tree, q, s * e), u, rate)[i]) for i in range(3)]  # noqa: B023
            by_w = [slope(lambda s: motion(tree, q, u + s * e, rate)[i]) for i in range(3)]  # noqa: B023
            by_p[0] = system.tangents(Q, by_p[0][None])[0]
            pairs = [(chart.H, by_p[0]), (chart.eta_p, by_p[1]), (chart.alpha_p, by_p[2])]
            pairs += [(chart.H, by_w[1]), (chart.alpha_w, by_w[2])]
            for matrix, wanted in pairs:
                scale = 1.0 + np.abs(wanted).max()
                np.testing.assert_allclose(matrix[:, k], wanted, rtol=0.0, atol=1e-10 * scale)
            # finite changes go the same way
            found = chart.retract(1e-6 * e, 0.0 * e)
            np.testing.assert_allclose(system.tangents(Q, (found[0] - Q)[None])[0], 1e-6 * chart.H[:, k], atol=1e-10)
            np.testing.assert_allclose(found[1] - V, 1e-6 * chart.eta_p[:, k], atol=1e-10 * (1.0 + np.abs(V).max()))


def accelerations(point, chart):
    """Changes (n_v, P) of all accelerations with coordinates and with speeds, by the equations of small motions."""
    equations, P = second_order(point, chart), chart.free
    by_p, by_w = (np.linalg.solve(equations.mass[:, :P], each) for each in (equations.stiffness, equations.damping))
    return chart.alpha_p - chart.H @ by_p, chart.alpha_w - chart.H @ by_w


@pytest.mark.parametrize("size", [0.0, 1.0])
@pytest.mark.parametrize("ground", [True, False])
def test_charts_of_different_coordinates_agree(ground, size):
    """Joints as constraints on all frames give the same small motions as the coordinates of the tree; at rest and not.

    Two derivations share the tangents of the elements and nothing else: one sweeps along the tree, the other
    differentiates the rows of the constraints, with their reactions.
    """
    for seed in range(4):
        rng = np.random.default_rng(seed)
        system = System(random_model(rng, 5, ground=ground))
        tree = JointTree(system)
        q, u = random_state(tree, rng, size)
        Q, V = (each[0] for each in tree.to_system(q[None], u[None]))
        point = OperatingPoint.of(system.at(Q), Q, V)
        one = tree_chart(point, tree)
        wanted = accelerations(point, one)
        scale = max(1.0, *(np.abs(each).max() for each in wanted))
        other = closed_chart(point, frames_chart(point))
        assert other.free == one.free
        # the same motion in both: H p and the velocities
        T = np.linalg.lstsq(other.H, one.H, rcond=None)[0]
        T1 = np.linalg.lstsq(other.H, one.eta_p - other.eta_p @ T, rcond=None)[0]
        np.testing.assert_allclose(other.H @ T, one.H, atol=1e-12)
        by_p, by_w = accelerations(point, other)
        np.testing.assert_allclose(by_p @ T + by_w @ T1, wanted[0], rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_allclose(by_w @ T, wanted[1], rtol=0.0, atol=1e-11 * scale)

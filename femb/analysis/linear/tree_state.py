"""States of a joint tree in the coordinates of its chart: velocities of roots in their own axes, finite changes."""

from typing import Any

import numpy as np

from femb.analysis.linear.point import OperatingPoint
from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import BALL
from femb.numerics import kinematics, rotations


def is_root(each: Any) -> bool:
    """Whether a frame is a free root with axes, in which its velocity is taken here."""
    return each.joint is None and each.turn == BALL


def in_own_axes(tree: Any, point: OperatingPoint, u: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
    """Speeds and their rates with velocities of free roots in their own axes, and G (n_u, n_u) to those of the tree."""
    u, rate, G = u.copy(), rate.copy(), np.eye(tree.n_u)
    for each in tree.frames:
        if is_root(each) and not each.body_velocity:
            i, j = point.system.layout.frame_q[each.frame] + 3, point.system.layout.frame_v[each.frame] + 3
            R = rotations.rotation_matrix(rotations.normalise(point.q[i : i + 4]))
            line = slice(each.u.start, each.u.start + 3)
            G[line, line] = R
            u[line] = R.T @ u[line]
            rate[line] = R.T @ rate[line] - np.cross(point.v[j : j + 3], u[line])
    return u, rate, G


def moved(
    point: OperatingPoint, tree: Any, q: Floats, u: Floats, order: list[int], p: Floats, w: Floats
) -> tuple[Floats, Floats]:
    """The state of the System after changes of coordinates and speeds; u, w with velocities in roots' own axes."""
    step, speeds, rates = np.zeros(tree.n_u), u.copy(), np.zeros((1, tree.n_q))
    step[order] = p
    speeds[order] += w
    roots = [each for each in tree.frames if is_root(each)]
    for each in roots:
        i, line = point.system.layout.frame_q[each.frame] + 3, slice(each.u.start, each.u.start + 3)
        step[line] = rotations.rotate(rotations.normalise(point.q[i : i + 4]), step[line])
    kinematics.rates(*tree.coordinates, q[None], step[None], rates)
    found = q + rates[0]
    kinematics.normalise(tree.coordinates[2], found)
    for each in roots:
        if not each.body_velocity:
            # a root's quaternion is its attitude: it hangs on the inertial axes
            line = slice(each.u.start, each.u.start + 3)
            speeds[line] = rotations.rotate(found[each.angles], speeds[line])
    Q, V = tree.configuration(found[None], speeds[None])
    return Q[0], V[0]


def speeds_in_own_axes(point: OperatingPoint, tree: Any, Q: Floats, V: Floats) -> Floats:
    """Speeds (n_u,) of a tree at a state of the System, those of free roots in their own axes."""
    other = OperatingPoint(point.system, point.t, point.u, Q, V, 0.0 * V, point.multipliers)
    return in_own_axes(tree, other, tree.speeds_at(tree.coordinates_at(Q), V), np.zeros(tree.n_u))[0]


def apart(point: OperatingPoint, tree: Any, q: Floats, u: Floats, free: list[int], Q: Floats, V: Floats) -> Floats:
    """Changes (2 P,) of the free coordinates and speeds from the point, at q and u, to a state of the System."""
    after = tree.coordinates_at(Q)
    p = np.zeros(tree.n_u)
    p[tree.coordinates[1]] = (after - q)[tree.coordinates[0]]
    speeds = speeds_in_own_axes(point, tree, Q, V)
    for each in tree.frames:
        line, turn = slice(each.u.start, each.u.start + len(each.strokes)), each.u.start + len(each.strokes)
        if each.turn == BALL:
            back = rotations.conjugate(q[each.angles])
            p[turn : each.u.stop] = rotations.logarithm(rotations.multiply(back, after[each.angles]))
        else:
            p[turn : each.u.stop] -= 2.0 * np.pi * np.round(p[turn : each.u.stop] / (2.0 * np.pi))
        if is_root(each):
            p[line] = rotations.rotate_back(q[each.angles], p[line])
    return np.concatenate([p[free], (speeds - u)[free]])

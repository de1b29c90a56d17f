"""Motion of frames relative to each other, and its interpolation.

In a structure that turns, the poses of its frames relative to one of them hardly change. A polynomial in time through
them keeps small strains; one through inertial positions cuts the corners of the arcs. Structures move relative to each
other as joints let them: polynomials through the pose of one in the axes of the other, at the point of the joint, keep
to hinges, slides, balls and clamps, since what these hold is constant.

links : of ``links_of``. A relative position and its rate are along the axes of the frame before, a relative angular
velocity is along the axes of the frame itself. Source: docs/theory/integration.md, section 8.
"""

from collections import deque
from typing import TypeAlias

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.connections import groups_of
from femb.layout.layout import Layout
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.kinematics import normalise
from femb.numerics.vector3 import cross, hamilton, hamilton_into, rotate, rotate_back, rotation

# Chebyshev's nodes in a step, as passed parts of it. Polynomials through them are of degree five, as between the ends.
NODES = 6
PLACES: Floats = 0.5 - 0.5 * np.cos((np.arange(NODES) + 0.5) * np.pi / NODES)

Links: TypeAlias = tuple[Ints, Floats]
"""Frames after those that they are relative to: indices (L, 5) in q and v of the frame, in q and v of the one before,
negative for the ground, and whether the frame has axes; and the points (L, 3) m in its axes whose positions count."""


def links_of(layout: Layout) -> Links:
    """The frames of each structure after one of them, and this one after what a joint connects it with."""
    fixed = frozenset(np.flatnonzero(layout.freedom == 0).tolist())
    groups = groups_of(layout, joined=False, without=fixed)
    group_of = {k: number for number, group in enumerate(groups) for k in group}
    joints: dict[int, list[tuple[int, int, Floats]]] = {}
    for joint in layout.joints.values():
        for one, other in ((joint.first, joint.second), (joint.second, joint.first)):
            if layout.freedom[other.frame] == 6 and layout.freedom[one.frame] in (0, 6):
                ends = one.frame, other.frame, other.offset
                joints.setdefault(group_of.get(one.frame, -1), []).append(ends)
    links: list[tuple[int, int, Floats]] = []
    origin, reached = np.zeros(3), {-1}

    def reach(number: int, first: int) -> None:
        reached.add(number)
        links.extend((k, first, origin) for k in groups[number] if k != first)
        waiting.append(number)

    waiting = deque([-1])
    for number, group in enumerate([[], *groups], -1):
        with_axes = [k for k in group if layout.freedom[k] == 6]
        if number not in reached and with_axes:
            reach(number, with_axes[0])
        while waiting:
            for before, after, point in joints.get(waiting.popleft(), ()):
                if group_of[after] not in reached:
                    links.append((after, before, point))
                    reach(group_of[after], after)
    frame, before_it = np.array([link[:2] for link in links], dtype=np.int64).reshape(-1, 2).T
    moving = layout.freedom[before_it] > 0
    places = [np.where(moving, of[before_it], -1) for of in (layout.frame_q, layout.frame_v)]
    indices = np.stack([layout.frame_q[frame], layout.frame_v[frame], *places, layout.freedom[frame] == 6], axis=1)
    return indices, np.array([link[2] for link in links]).reshape(-1, 3)


def keep_to_joints(layout: Layout) -> bool:
    """Whether the constraints, if any, are those of joints in a tree whose relative motions between two that satisfy
    them do so too; two angles of one joint, as with a universal joint, do not."""
    joints = layout.joints.values()
    two_angles = any(sum(coordinate.is_angle for coordinate in joint.coordinates) == 2 for joint in joints)
    return not (two_angles or layout.has_loops) and sum(len(joint.rows) for joint in joints) == layout.n_c


@inlined
def motion_before(links, m, q, v, R, r, rate, w):
    """Axes R, position r, velocity ``rate`` and angular velocity w of the frame that link m is after."""
    i, j = links[m, 2], links[m, 3]
    for k in range(3):
        r[k] = q[i + k] if i >= 0 else 0.0
        rate[k] = v[j + k] if i >= 0 else 0.0
        w[k] = v[j + 3 + k] if i >= 0 else 0.0
        for a in range(3):
            R[k, a] = 1.0 if k == a else 0.0
    if i >= 0:
        rotation(q[i + 3 : i + 7], R)


@inlined
def add_point(sign, point, p, w, R, x, y, r, rate):
    """Add sign times the way and the velocity of a point of a frame relative to its origin to r and rate (3,)."""
    rotation(p, R)
    rotate(R, point, x)
    for k in range(3):
        r[k] += sign * x[k]
    cross(w, point, y)
    rotate(R, y, x)
    for k in range(3):
        rate[k] += sign * x[k]


@kernel
def to_relative(links, points, q, v):
    """Turn the poses and velocities of the linked frames into relative ones, in q (k, n_q) and v (k, n_v)."""
    R, S, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((6, 3))
    r, rate, w, x, y, z = work[0], work[1], work[2], work[3], work[4], work[5]
    for s in range(q.shape[0]):
        # the frame before is absolute until its turn comes
        for m in range(links.shape[0] - 1, -1, -1):
            i, j = links[m, 0], links[m, 1]
            position, velocity = q[s, i : i + 3], v[s, j : j + 3]
            motion_before(links, m, q[s], v[s], R, r, rate, w)
            if links[m, 4]:
                add_point(1.0, points[m], q[s, i + 3 : i + 7], v[s, j + 3 : j + 6], S, x, y, position, velocity)
            for k in range(3):
                x[k], y[k] = position[k] - r[k], velocity[k] - rate[k]
            rotate_back(R, x, position)
            rotate_back(R, y, velocity)
            cross(w, position, z)
            for k in range(3):
                velocity[k] -= z[k]
            first = links[m, 2]
            if links[m, 4] and first >= 0:
                p, own = q[s, first + 3 : first + 7], q[s, i + 3 : i + 7]
                own[0], own[1], own[2], own[3] = hamilton(p[0], -p[1], -p[2], -p[3], own[0], own[1], own[2], own[3])
                rotation(own, R)
                rotate_back(R, w, x)
                for k in range(3):
                    v[s, j + 3 + k] -= x[k]


@kernel
def turn(quaternion_q, first_v, before, after, x):
    """Turn the vectors of frames in x (m, s, n) from the attitudes ``before`` to those ``after``, (m or 1, s, n_q).

    quaternion_q, first_v (F,) : the quaternions of the frames in q, and the vectors, in inertial axes, in x.
    """
    R, y, z = np.empty((3, 3)), np.empty(3), np.empty(3)
    for a in range(x.shape[0]):
        i, j = min(a, before.shape[0] - 1), min(a, after.shape[0] - 1)
        for s in range(x.shape[1]):
            for k in range(first_v.size):
                o, p = first_v[k], quaternion_q[k]
                for m in range(3):
                    y[m] = x[a, s, o + m]
                rotation(before[i, s, p : p + 4], R)
                rotate_back(R, y, z)
                rotation(after[j, s, p : p + 4], R)
                rotate(R, z, y)
                for m in range(3):
                    x[a, s, o + m] = y[m]


@inlined
def from_relative(links, points, q, v, R, S, work):
    """Turn the relative poses and velocities in q (n_q,), v (n_v,) into absolute ones; R, S (3, 3), work (5, 3)."""
    r, rate, w, x, y = work[0], work[1], work[2], work[3], work[4]
    for m in range(links.shape[0]):
        i, j = links[m, 0], links[m, 1]
        position, velocity = q[i : i + 3], v[j : j + 3]
        motion_before(links, m, q, v, R, r, rate, w)
        cross(w, position, y)
        for k in range(3):
            y[k] += velocity[k]
        rotate(R, position, x)
        for k in range(3):
            position[k] = r[k] + x[k]
        rotate(R, y, x)
        for k in range(3):
            velocity[k] = rate[k] + x[k]
        if links[m, 4]:
            own, first = q[i + 3 : i + 7], links[m, 2]
            if first >= 0:
                rotation(own, S)
                rotate_back(S, w, x)
                for k in range(3):
                    v[j + 3 + k] += x[k]
                hamilton_into(q[first + 3 : first + 7], own, own)
            add_point(-1.0, points[m], own, v[j + 3 : j + 6], S, x, y, position, velocity)


@kernel
def absolute_motion(links, points, quaternion_q, q, v):
    """Turn interpolated relative poses and velocities in q (k, n_q), v (k, n_v) into absolute ones.

    quaternion_q : as in ``femb.numerics.kinematics``.
    """
    R, S, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((5, 3))
    for i in range(q.shape[0]):
        normalise(quaternion_q, q[i])
        from_relative(links, points, q[i], v[i], R, S, work)


@kernel
def to_relative_accelerations(links, q, a):
    """Turn accelerations a (k, n_v) of the linked frames into those relative to the frames before, in axes of these.

    q (k, n_q) : absolute.
    """
    R, x = np.empty((3, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for m in range(links.shape[0] - 1, -1, -1):
            own, i, j = links[m, 1], links[m, 2], links[m, 3]
            if i >= 0:
                rotation(q[s, i + 3 : i + 7], R)
                for k in range(3):
                    x[k] = a[s, own + k] - a[s, j + k]
                rotate_back(R, x, a[s, own : own + 3])


@kernel
def absolute_accelerations(links, q, a):
    """The reverse of ``to_relative_accelerations``."""
    R, x = np.empty((3, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for m in range(links.shape[0]):
            own, i, j = links[m, 1], links[m, 2], links[m, 3]
            if i >= 0:
                rotation(q[s, i + 3 : i + 7], R)
                rotate(R, a[s, own : own + 3], x)
                for k in range(3):
                    a[s, own + k] = a[s, j + k] + x[k]


# Polynomials in time through nodes.


@kernel
def weigh(places, of, passed, weights):
    """weights (k, m): of values at the places (s, m), of the polynomials with numbers ``of`` (k,) at passed (k,)."""
    for i in range(passed.size):
        own = places[of[i]]
        for a in range(own.size):
            w = 1.0
            for b in range(own.size):
                if b != a:
                    w *= (passed[i] - own[b]) / (own[a] - own[b])
            weights[i, a] = w


@kernel
def weighted(of, weights, values, out):
    """out (k, n): sums of the rows ``of`` (k, m) of values (., n), with weights (k, m)."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0.0
        for a in range(of.shape[1]):
            w, row = weights[i, a], of[i, a]
            if w != 0.0:
                for k in range(out.shape[1]):
                    out[i, k] += w * values[row, k]


def weights_at(places: Floats, of: Ints, passed: Floats) -> Floats:
    """Weights (k, m) of values at m of the places (s, m), by which ``summed`` gives polynomials at passed (k,).

    of (k,) : which of the s polynomials.
    """
    weights = np.empty((len(passed), places.shape[1]))
    weigh(places, of, passed, weights)
    return weights


def summed(of: Ints, weights: Floats, values: Floats) -> Floats:
    """(k, ...): sums of values (n, ...) at the nodes ``of`` (k, m), with weights (k, m)."""
    each = np.ascontiguousarray(values).reshape(len(values), -1)
    out = np.empty((len(of), each.shape[1]))
    weighted(of, weights, each, out)
    return out.reshape(len(out), *values.shape[1:])

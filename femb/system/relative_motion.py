"""Motion of frames relative to each other, and its interpolation.

In a structure that turns, the poses of its frames relative to one of them hardly change. A polynomial in time through
them keeps small strains; one through inertial positions cuts the corners of the arcs. Structures move relative to each
other as joints let them: polynomials through the pose of one in the axes of the other, at the point of the joint, keep
to hinges, slides, balls and clamps, since what these hold is constant.

links : of ``links_of``. A relative position and its rate are along the axes of the frame before, a relative angular
velocity is along the axes of the frame itself. Source: docs/theory/integration.md, section 8.
"""

from collections import deque
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.connections import groups_of
from femb.layout.layout import Layout
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.duals import Vector3, Vector4, cross
from femb.numerics.compiler.traced import V3, V4, put, traced
from femb.numerics.kinematics import normalise
from femb.numerics.vector3 import (
    MovingFrame,
    attitude,
    conjugate,
    in_axes,
    moving_frame,
    out_of_axes,
    quaternion_product,
    still,
    unturned,
)

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
def frame_before(link, q, v):
    """The motion of the frame that a link is after."""
    i, j, p, r, rate, omega = link[2], link[3], unturned(), still(), still(), still()
    if i >= 0:
        p, r, rate, omega = V4(q[i + 3 :]), V3(q[i:]), V3(v[j:]), V3(v[j + 3 :])
    return moving_frame(p, r, rate, omega)


@traced
def point_beside(p: Vector4, omega: Vector3, point: Vector3) -> Any:
    """The way and the velocity of a point of a frame relative to its origin."""
    R = attitude.run(p)
    return R @ point, R @ cross(omega, point)


@traced
def seen_from(of: MovingFrame, r: Vector3, v: Vector3) -> Any:
    """Position and velocity relative to a frame, along its axes."""
    place = of.R.T @ (r - of.r)
    return place, of.R.T @ (v - of.v) - cross(of.omega, place)


@traced
def seen_outside(of: MovingFrame, place: Vector3, rate: Vector3) -> Any:
    """The reverse of ``seen_from``."""
    return of.r + of.R @ place, of.v + of.R @ (rate + cross(of.omega, place))


@kernel
def to_relative(links, points, q, v):
    """Turn the poses and velocities of the linked frames into relative ones, in q (k, n_q) and v (k, n_v)."""
    for s in range(q.shape[0]):
        # the frame before is absolute until its turn comes
        for m in range(links.shape[0] - 1, -1, -1):
            i, j, first, before = links[m, 0], links[m, 1], links[m, 2], frame_before(links[m], q[s], v[s])
            r, rate = V3(q[s, i:]), V3(v[s, j:])
            if links[m, 4]:
                p, omega = V4(q[s, i + 3 :]), V3(v[s, j + 3 :])
                way, swept = point_beside(p, omega, V3(points[m]))
                r += way
                rate += swept
                if first >= 0:
                    p = quaternion_product(conjugate(V4(q[s, first + 3 :])), p)
                    put(p, q[s, i + 3 :])
                    put(omega - in_axes(p, before.omega), v[s, j + 3 :])
            r, rate = seen_from(before, r, rate)
            put(r, q[s, i:])
            put(rate, v[s, j:])


@kernel
def turn(quaternion_q, first_v, before, after, x):
    """Turn the vectors of frames in x (m, s, n) from the attitudes ``before`` to those ``after``, (m or 1, s, n_q).

    quaternion_q, first_v (F,) : the quaternions of the frames in q, and the vectors, in inertial axes, in x.
    """
    for a in range(x.shape[0]):
        i, j = min(a, before.shape[0] - 1), min(a, after.shape[0] - 1)
        for s in range(x.shape[1]):
            for k in range(first_v.size):
                vector, p = x[a, s, first_v[k] :], quaternion_q[k]
                own = in_axes(V4(before[i, s, p:]), V3(vector))
                put(out_of_axes(V4(after[j, s, p:]), own), vector)


@kernel
def absolute_motion(links, points, quaternion_q, q, v):
    """Turn interpolated relative poses and velocities in q (k, n_q), v (k, n_v) into absolute ones.

    quaternion_q : as in ``femb.numerics.kinematics``.
    """
    for s in range(q.shape[0]):
        normalise(quaternion_q, q[s])
        for m in range(links.shape[0]):
            i, j, first, before = links[m, 0], links[m, 1], links[m, 2], frame_before(links[m], q[s], v[s])
            r, rate = seen_outside(before, V3(q[s, i:]), V3(v[s, j:]))
            if links[m, 4]:
                p, omega = V4(q[s, i + 3 :]), V3(v[s, j + 3 :])
                if first >= 0:
                    omega += in_axes(p, before.omega)
                    p = quaternion_product(V4(q[s, first + 3 :]), p)
                    put(p, q[s, i + 3 :])
                    put(omega, v[s, j + 3 :])
                way, swept = point_beside(p, omega, V3(points[m]))
                r -= way
                rate -= swept
            put(r, q[s, i:])
            put(rate, v[s, j:])


@kernel
def to_relative_accelerations(links, q, a):
    """Turn accelerations a (k, n_v) of the linked frames into those relative to the frames before, in axes of these.

    q (k, n_q) : absolute.
    """
    for s in range(q.shape[0]):
        for m in range(links.shape[0] - 1, -1, -1):
            own, i, j = links[m, 1], links[m, 2], links[m, 3]
            if i >= 0:
                put(in_axes(V4(q[s, i + 3 :]), V3(a[s, own:]) - V3(a[s, j:])), a[s, own:])


@kernel
def absolute_accelerations(links, q, a):
    """The reverse of ``to_relative_accelerations``."""
    for s in range(q.shape[0]):
        for m in range(links.shape[0]):
            own, i, j = links[m, 1], links[m, 2], links[m, 3]
            if i >= 0:
                put(V3(a[s, j:]) + out_of_axes(V4(q[s, i + 3 :]), V3(a[s, own:])), a[s, own:])


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

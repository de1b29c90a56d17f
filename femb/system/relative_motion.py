"""Motion of frames relative to one of their structure, and its interpolation.

In a structure that turns, the poses of its frames relative to one of them hardly change. A polynomial in time through
them keeps small strains; one through inertial positions cuts the corners of the arcs.

links (L, 5) : of ``links_of``. A relative position is along the axes of the first frame, as is its rate; a relative
angular velocity is along the axes of the frame itself. Source: docs/theory/integration.md, section 8.
"""

import numpy as np

from femb.base.types import Ints
from femb.layout.connections import groups_of
from femb.layout.layout import Layout
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.kinematics import normalise
from femb.numerics.vector3 import cross, hamilton, hamilton_into, rotate, rotate_back, rotation


def links_of(layout: Layout) -> Ints:
    """(L, 5): the moving frames that elements connect with a first one, which has axes, but for that one.

    Indices in q and v of the frame and of the first one, and whether the frame has axes.
    """
    links: list[tuple[int, int]] = []
    fixed = frozenset(np.flatnonzero(layout.freedom == 0).tolist())
    for group in groups_of(layout, springs=False, rows=False, without=fixed):
        first = next((k for k in group if layout.freedom[k] == 6), None)
        if first is not None:
            links += [(k, first) for k in group if k != first]
    frame, first_of = np.array(links, dtype=np.int64).reshape(-1, 2).T
    places = layout.frame_q[frame], layout.frame_v[frame], layout.frame_q[first_of], layout.frame_v[first_of]
    return np.stack([*places, layout.freedom[frame] == 6], axis=1)


@kernel
def to_relative(links, q, v):
    """Turn the poses and velocities of the linked frames into relative ones, in q (k, n_q) and v (k, n_v)."""
    R, x, y, z = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
    for s in range(q.shape[0]):
        for m in range(links.shape[0]):
            i, j, first, speeds = links[m, 0], links[m, 1], links[m, 2], links[m, 3]
            p, w = q[s, first + 3 : first + 7], v[s, speeds + 3 : speeds + 6]
            rotation(p, R)
            for k in range(3):
                x[k] = q[s, i + k] - q[s, first + k]
            rotate_back(R, x, y)
            cross(w, y, z)
            for k in range(3):
                q[s, i + k] = y[k]
                x[k] = v[s, j + k] - v[s, speeds + k]
            rotate_back(R, x, y)
            for k in range(3):
                v[s, j + k] = y[k] - z[k]
            if links[m, 4]:
                own = q[s, i + 3 : i + 7]
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
def from_relative(links, q, v, R, x, y):
    """Turn the relative poses and velocities in q (n_q,), v (n_v,) into absolute ones; R (3, 3), x, y (3,) : work."""
    for m in range(links.shape[0]):
        i, j, first, speeds = links[m, 0], links[m, 1], links[m, 2], links[m, 3]
        p, w = q[first + 3 : first + 7], v[speeds + 3 : speeds + 6]
        if links[m, 4]:
            own = q[i + 3 : i + 7]
            rotation(own, R)
            rotate_back(R, w, x)
            for k in range(3):
                v[j + 3 + k] += x[k]
            hamilton_into(p, own, own)
        rotation(p, R)
        cross(w, q[i : i + 3], y)
        for k in range(3):
            y[k] += v[j + k]
        rotate(R, y, x)
        rotate(R, q[i : i + 3], y)
        for k in range(3):
            v[j + k] = v[speeds + k] + x[k]
            q[i + k] = q[first + k] + y[k]


@kernel
def between_nodes(links, quaternion_q, places, of_step, passed, nodes_q, nodes_v, weights, q, v):
    """q (k, n_q), v (k, n_v) of the polynomials through relative motions at the nodes of steps.

    places (m,) : of the nodes in a step. of_step, passed (k,) : number of the step and its passed part. nodes_q,
    nodes_v (m, s, .) : see ``to_relative``. weights (m,) : work. quaternion_q : as of ``femb.numerics.kinematics``.
    """
    R, x, y = np.empty((3, 3)), np.empty(3), np.empty(3)
    for i in range(passed.size):
        s = of_step[i]
        for a in range(places.size):
            w = 1.0
            for b in range(places.size):
                if b != a:
                    w *= (passed[i] - places[b]) / (places[a] - places[b])
            weights[a] = w
        for k in range(q.shape[1]):
            total = 0.0
            for a in range(places.size):
                total += weights[a] * nodes_q[a, s, k]
            q[i, k] = total
        for k in range(v.shape[1]):
            total = 0.0
            for a in range(places.size):
                total += weights[a] * nodes_v[a, s, k]
            v[i, k] = total
        normalise(quaternion_q, q[i])
        from_relative(links, q[i], v[i], R, x, y)

"""Kernels for q' = H(q) v: rates, velocities of given rates, unit quaternions and error norms.

coordinates : linear_q, linear_v, indices in q and v of coordinates whose rates are velocities (positions, strains);
quaternion_q, omega_v, of the first component of every quaternion in q and of its angular velocity in v.
"""

import math

from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import body_part, quaternion_times


@inlined
def count_of(coordinates):
    """The number n_q of coordinates."""
    return coordinates[0].size + 4 * coordinates[2].size


@kernel
def rates(coordinates, q, v, out):
    """out (s, n_q) = H(q) v for s states: p' = 1/2 p x (0, omega)."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for s in range(q.shape[0]):
        for k in range(linear_q.size):
            out[s, linear_q[k]] = v[s, linear_v[k]]
        for k in range(quaternion_q.size):
            i, j = quaternion_q[k], omega_v[k]
            out[s, i], out[s, i + 1], out[s, i + 2], out[s, i + 3] = quaternion_times(
                q[s, i], q[s, i + 1], q[s, i + 2], q[s, i + 3], 0.5 * v[s, j], 0.5 * v[s, j + 1], 0.5 * v[s, j + 2]
            )


@kernel
def tangents(coordinates, q, dq, out):
    """out (s, n_v): the velocities x with H(q) x = dq (s, n_q), for q (1 or s, n_q).

    The part of dq along a quaternion, a change of its length, is dropped.
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for s in range(dq.shape[0]):
        m = s if q.shape[0] > 1 else 0
        for k in range(linear_q.size):
            out[s, linear_v[k]] = dq[s, linear_q[k]]
        for k in range(quaternion_q.size):
            i, j = quaternion_q[k], omega_v[k]
            p0, p1, p2, p3 = q[m, i], q[m, i + 1], q[m, i + 2], q[m, i + 3]
            f = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
            a, b, c = body_part(p0, p1, p2, p3, dq[s, i], dq[s, i + 1], dq[s, i + 2], dq[s, i + 3])
            out[s, j], out[s, j + 1], out[s, j + 2] = f * a, f * b, f * c


@kernel
def normalise(quaternion_q, q):
    """Scale the quaternions in q (n_q,) to unit length, in place; returns the largest |p.p - 1| on entry."""
    worst = 0.0
    for k in range(quaternion_q.size):
        i = quaternion_q[k]
        s = q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]
        worst = max(worst, abs(s - 1.0))
        f = 1.0 / math.sqrt(s)
        for j in range(4):
            q[i + j] *= f
    return worst


@kernel
def normalise_each(quaternion_q, q):
    """``normalise`` of s states (s, n_q)."""
    worst = 0.0
    for s in range(q.shape[0]):
        worst = max(worst, normalise(quaternion_q, q[s]))
    return worst


@kernel
def error_norm(start, size, atol, rtol, error, x):
    """Largest of |error| / (atol + rtol |x|) over groups of components (a vector, a quaternion or a number).

    start, size (groups,) : first component and number of components of a group. Vector norms make the measure
    independent of the direction of the axes. NaN gives inf. The size of an angle is -1: its |x| is at most one radian,
    because counted revolutions must not loosen its tolerance.
    """
    worst = 0.0
    for k in range(start.size):
        e = 0.0
        y = 0.0
        for i in range(start[k], start[k] + abs(size[k])):
            e += error[i] * error[i]
            y += x[i] * x[i]
        if size[k] < 0:
            y = min(y, 1.0)
        ratio = math.sqrt(e) / (atol[k] + rtol * math.sqrt(y))
        if not ratio <= worst:
            worst = ratio if ratio > worst else math.inf
    return worst


# rad, of a frame in a step: joints count their turns where two frames turn by less than a half against each other.
MOST_TURNED = 0.5 * math.pi


@inlined
def turn(j, width, factor, h, v0, v1):
    """The turn (rad) of a frame in a step of length h (s) between velocities v0 and v1 (n_v,).

    j, width, factor : place in v of its rates of rotation, how many they are, and the angular velocity by their size.
    """
    first = last = 0.0
    for k in range(j, j + width):
        first += v0[k] * v0[k]
        last += v1[k] * v1[k]
    return 0.5 * factor * abs(h) * (math.sqrt(first) + math.sqrt(last))


@kernel_with_entry
def turned_too_far(turning, length, v0, v1):
    """The first place in v of a frame that turns by more than MOST_TURNED in a step, -1 for none.

    turning : the places, width and factor of ``turn``. length (1,) : of the step, s. v0, v1 (1, n_v) : at its ends.
    """
    places, width, factor = turning
    for j in places:
        if not turn(j, width, factor, length[0], v0[0], v1[0]) <= MOST_TURNED:
            return j
    return -1


@kernel_with_entry
def newton_tolerance(scale_q, scale_v, q, v, step, limits):
    """limits (groups,) : absolute tolerances of the velocities for Newton's iteration in a step (1,) of length h (s).

    ``error_norm`` takes them instead of the tolerances of velocities, with a relative tolerance of zero. An error x of
    a velocity causes an error h x of its coordinate: the limit is the smaller of the tolerance of the velocity at v and
    the tolerance of the coordinate at q over h. Groups of q and of v belong to the same frames.
    """
    start_q, size_q, atol_q, rtol = scale_q
    start, size, atol, _ = scale_v
    h = step[0]
    for k in range(start.size):
        x = 0.0
        y = 0.0
        for i in range(start_q[k], start_q[k] + abs(size_q[k])):
            x += q[i] * q[i]
        if size_q[k] < 0:
            x = min(x, 1.0)
        for i in range(start[k], start[k] + size[k]):
            y += v[i] * v[i]
        limits[k] = min(atol[k] + rtol * math.sqrt(y), (atol_q[k] + rtol * math.sqrt(x)) / h)

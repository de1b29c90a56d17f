"""Kernels of the motion of stations and of the deflection of beams at many output instants."""

import math

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import hamilton


@inlined
def turned(p0, p1, p2, p3, x, y, z):
    """The vector x, y, z turned by the unit quaternion p."""
    a, b, c = 2.0 * (p2 * z - p3 * y), 2.0 * (p3 * x - p1 * z), 2.0 * (p1 * y - p2 * x)
    return x + p0 * a + p2 * c - p3 * b, y + p0 * b + p3 * a - p1 * c, z + p0 * c + p1 * b - p2 * a


@kernel
def station_motions(stations, in_q, in_v, offset, rotation, q, v, position, quaternion, velocity, omega):
    """Motion (k, n, 3 or 4) of those stations (m,) of n whose frames have six degrees of freedom.

    in_q, in_v (m,) : the first index of the frame in q (k, n_q) and v (k, n_v). offset (m, 3), rotation (m, 4) : of the
    station in axes of its frame.
    """
    for s in range(q.shape[0]):
        for m in range(stations.size):
            o, i, j = stations[m], in_q[m], in_v[m]
            p0, p1, p2, p3 = q[s, i + 3], q[s, i + 4], q[s, i + 5], q[s, i + 6]
            x, y, z = offset[m, 0], offset[m, 1], offset[m, 2]
            w0, w1, w2 = v[s, j + 3], v[s, j + 4], v[s, j + 5]
            for k in range(3):
                position[s, o, k], velocity[s, o, k] = q[s, i + k], v[s, j + k]
            if x != 0.0 or y != 0.0 or z != 0.0:
                a, b, c = turned(p0, p1, p2, p3, x, y, z)
                position[s, o, 0] += a
                position[s, o, 1] += b
                position[s, o, 2] += c
                a, b, c = turned(p0, p1, p2, p3, w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x)
                velocity[s, o, 0] += a
                velocity[s, o, 1] += b
                velocity[s, o, 2] += c
            r0, r1, r2, r3 = rotation[m, 0], rotation[m, 1], rotation[m, 2], rotation[m, 3]
            if r0 != 1.0:
                p0, p1, p2, p3 = hamilton(p0, p1, p2, p3, r0, r1, r2, r3)
                w0, w1, w2 = turned(r0, -r1, -r2, -r3, w0, w1, w2)
            quaternion[s, o, 0], quaternion[s, o, 1], quaternion[s, o, 2], quaternion[s, o, 3] = p0, p1, p2, p3
            omega[s, o, 0], omega[s, o, 1], omega[s, o, 2] = w0, w1, w2


@kernel
def shape_changes(carrier, origin, axes, shape, reference, position, quaternion, rotation, deflection):
    """rotation (k, n, 4) from the reference quaternions (n, 4), and deflection (k, n, 3) in axes of the carriers.

    carrier (n,) : of each node, with positions origin (k, m, 3) and quaternions axes (k, m, 4) of any length. shape
    (n, 3) : the nodes without deflection, relative to their carrier and in its axes. position, quaternion : of the
    nodes at k instants.
    """
    for s in range(position.shape[0]):
        for n in range(carrier.size):
            m = carrier[n]
            a0, a1, a2, a3 = axes[s, m, 0], axes[s, m, 1], axes[s, m, 2], axes[s, m, 3]
            # a length that is not exactly one would scale the positions, and cause a false deflection
            f = 1.0 / math.sqrt(a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3)
            x = position[s, n, 0] - origin[s, m, 0]
            y = position[s, n, 1] - origin[s, m, 1]
            z = position[s, n, 2] - origin[s, m, 2]
            x, y, z = turned(f * a0, -f * a1, -f * a2, -f * a3, x, y, z)
            deflection[s, n, 0] = x - shape[n, 0]
            deflection[s, n, 1] = y - shape[n, 1]
            deflection[s, n, 2] = z - shape[n, 2]
            p0, p1, p2, p3 = hamilton(
                quaternion[s, n, 0], quaternion[s, n, 1], quaternion[s, n, 2], quaternion[s, n, 3],
                reference[n, 0], -reference[n, 1], -reference[n, 2], -reference[n, 3],
            )  # fmt: skip
            rotation[s, n, 0], rotation[s, n, 1], rotation[s, n, 2], rotation[s, n, 3] = p0, p1, p2, p3

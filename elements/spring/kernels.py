"""Kernels over springs and dashpots between two points.

    f = k (l - l0) + c l' + force,    l = |d|,    d = r_b - r_a,    n = d / l,    l' = n . d'

With d' = D v, the generalized force of the pair is -D^T n f.

index (n, 7) int: FIRST and SECOND, columns of the frames a and b (see ``femb.numerics.vector3``), and the first INPUT
or -1. data (n, 9): the points in their frames, k, c, l0. Inputs: force, and its derivatives by l and l'. fixed : poses
of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.
"""

import math

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import (
    HAS_AXES,
    IN_V,
    add_point_force,
    add_torque_tangent,
    dot,
    point_motion,
    rotate_back,
    scatter,
    times_skew,
)

FIRST, SECOND, INPUT = 0, 3, 6
FIRST_POINT, SECOND_POINT, STIFFNESS, DAMPING, FREE = slice(0, 3), slice(3, 6), 6, 7, 8

STARTS = np.array([0, 3, 6, 9])
SIZES = np.array([3, 3, 3, 3])


@inlined
def line(index, data, q, v, fixed, R, w, d, rate, n):
    """Length and its rate; sets R (2, 3, 3), w (2, 3) of the ends, d, its rate, and the direction n (zero if d = 0)."""
    work = np.empty((4, 3))
    point_motion(index, FIRST, data[FIRST_POINT], q, v, fixed, R[0], work[0], work[1], w[0])
    point_motion(index, SECOND, data[SECOND_POINT], q, v, fixed, R[1], work[2], work[3], w[1])
    for k in range(3):
        d[k] = work[2, k] - work[0, k]
        rate[k] = work[3, k] - work[1, k]
    length = math.sqrt(dot(d, d))
    for k in range(3):
        n[k] = d[k] / length if length > 0.0 else 0.0
    return length, dot(n, rate)


@kernel
def vectors(index, data, q, v, fixed, out, out_rate):
    """out, out_rate (s, n, 3): d and its rate."""
    R, w, n = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            line(index[k], data[k], q[s], v[s], fixed, R, w, out[s, k], out_rate[s, k], n)


@kernel
def forces(index, data, u, q, v, fixed, elastic, dissipative, out):
    """out (s, n_v) += D^T n f; elastic is a factor of the stiffness force, dissipative of the other forces."""
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((4, 3))
    d, rate, n, local = work[0], work[1], work[2], work[3]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, speed = line(index[k], data[k], q[s], v[s], fixed, R, w, d, rate, n)
            f = elastic * data[k, STIFFNESS] * (length - data[k, FREE]) + dissipative * data[k, DAMPING] * speed
            if index[k, INPUT] >= 0:
                f += dissipative * u[s, index[k, INPUT]]
            for e in range(2):
                j = index[k, 3 * e + IN_V]
                if j < 0:
                    continue
                side = f if e == 1 else -f
                if index[k, 3 * e + HAS_AXES]:
                    rotate_back(R[e], n, local)
                    add_point_force(side, n, local, data[k, 3 * e : 3 * e + 3], j, out[s])
                else:
                    for o in range(3):
                        out[s, j + o] += side * n[o]


@kernel
def energy(index, data, q, v, fixed, out):
    """out (s, 8) += k (l - l0)^2 / 2, as potential energy."""
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, _ = line(index[k], data[k], q[s], v[s], fixed, R, w, work[0], work[1], work[2])
            out[s, 1] += 0.5 * data[k, STIFFNESS] * (length - data[k, FREE]) ** 2


@kernel
def tangent(index, data, offset, stride, u, q, v, fixed, damping, stiffness):
    """Add d(D^T n f)/dv and d(D^T n f)/dq H to block data.

    dn = P dd / l with P = 1 - n n^T, and l' = n . d' changes by (P d' / l) . dd + n . (dd'), so that

        C = c D^T n n^T D,    K = D^T (k n n^T + c n (P d')^T / l + f P / l) D + c D^T n n^T E + change of the arms,

    where E is the change of d' with rotations at constant v: -+ R w~, w = omega x point.
    """
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((5, 3))
    d, rate, n, across, local = work[0], work[1], work[2], work[3], work[4]
    D, E = np.zeros((3, 12)), np.zeros((3, 12))
    C, K, middle = np.empty((12, 12)), np.empty((12, 12)), np.empty((3, 3))
    along, rotated_rate = np.empty(12), np.empty(12)
    for k in range(index.shape[0]):
        length, speed = line(index[k], data[k], q, v, fixed, R, w, d, rate, n)
        stiff, damp, first = data[k, STIFFNESS], data[k, DAMPING], index[k, INPUT]
        f = stiff * (length - data[k, FREE]) + damp * speed
        if first >= 0:
            f += u[first]
            stiff += u[first + 1]
            damp += u[first + 2]
        # limit of f / length at zero length, for springs without free length
        over = f / length if length > 0.0 else stiff
        for o in range(3):
            across[o] = (rate[o] - speed * n[o]) / length if length > 0.0 else 0.0
        for e in range(2):
            side = 1.0 if e == 1 else -1.0
            for o in range(3):
                D[o, 6 * e + o] = side
            times_skew(-side, R[e], data[k, 3 * e : 3 * e + 3], D[:, 6 * e + 3 : 6 * e + 6])
            times_skew(-side, R[e], w[e], E[:, 6 * e + 3 : 6 * e + 6])
        for o in range(3):
            for p in range(3):
                middle[o, p] = (stiff - over) * n[o] * n[p] + damp * n[o] * across[p]
            middle[o, o] += over
        for x in range(12):
            along[x] = n[0] * D[0, x] + n[1] * D[1, x] + n[2] * D[2, x]
            rotated_rate[x] = damp * (n[0] * E[0, x] + n[1] * E[1, x] + n[2] * E[2, x])
        for x in range(12):
            for y in range(12):
                C[x, y] = damp * along[x] * along[y]
                K[x, y] = along[x] * rotated_rate[y]
                for o in range(3):
                    K[x, y] += D[o, x] * (middle[o, 0] * D[0, y] + middle[o, 1] * D[1, y] + middle[o, 2] * D[2, y])
        for e in range(2):
            rotate_back(R[e], n, local)
            add_torque_tangent(f if e == 1 else -f, local, data[k, 3 * e : 3 * e + 3], 6 * e + 3, K)
        scatter(C, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness)

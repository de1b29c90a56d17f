"""Kernels over springs and dashpots between two points.

    f = k (l - l0) + c l' + force,    l = |d|,    d = r_b - r_a,    n = d / l,    l' = n . d'

With D = dd/d(motion), D v = d', the virtual work of the pair is that of the generalized force -D^T n f.

index (n, 8) int: of frame a in q (negative: fixed), in v (negative: fixed), 1 if it has axes; the same of frame b;
first input or -1, number of inputs. data (n, 9): points (3, 3) in their frames, k, c, l0. Inputs: force, and its
derivatives by l and l'. fixed : poses of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.
"""

import math

import numpy as np

from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import cross, dot, rotation, scatter, turn, turn_back

STARTS = np.array([0, 3, 6, 9])
SIZES = np.array([3, 3, 3, 3])


@inner
def end_motion(index, point, q, v, fixed, R, r, rate, w):
    """Position r, velocity ``rate`` (inertial axes), w = omega x point (frame axes) of one end; R its frame's axes."""
    i, j = index[0], index[1]
    w[:] = 0.0
    if i < 0:
        for k in range(3):
            r[k] = fixed[-1 - i, k]
        rotation(fixed[-1 - i, 3:7], R)
    else:
        for k in range(3):
            r[k] = q[i + k]
        if index[2]:
            rotation(q[i + 3 : i + 7], R)
        else:
            for k in range(3):
                for m in range(3):
                    R[k, m] = 1.0 if k == m else 0.0
    turn(R, point, rate)
    for k in range(3):
        r[k] += rate[k]
    rate[:] = 0.0
    if j >= 0:
        if index[2]:
            cross(v[j + 3 : j + 6], point, w)
            turn(R, w, rate)
        for k in range(3):
            rate[k] += v[j + k]


@inner
def line(index, data, q, v, fixed, R, w, d, rate, n):
    """Length and its rate; sets R (2, 3, 3), w (2, 3) of the ends, d, its rate and the direction n, zero where d is."""
    work = np.empty((4, 3))
    end_motion(index[0:3], data[0:3], q, v, fixed, R[0], work[0], work[1], w[0])
    end_motion(index[3:6], data[3:6], q, v, fixed, R[1], work[2], work[3], w[1])
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
    """out (s, n_v) += D^T n f; elastic and dissipative multiply the spring and the rest."""
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((5, 3))
    d, rate, n, local, torque = work[0], work[1], work[2], work[3], work[4]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, speed = line(index[k], data[k], q[s], v[s], fixed, R, w, d, rate, n)
            f = elastic * data[k, 6] * (length - data[k, 8]) + dissipative * data[k, 7] * speed
            if index[k, 6] >= 0:
                f += dissipative * u[s, index[k, 6]]
            for e in range(2):
                j = index[k, 3 * e + 1]
                if j < 0:
                    continue
                side = f if e == 1 else -f
                for o in range(3):
                    out[s, j + o] += side * n[o]
                if index[k, 3 * e + 2]:
                    turn_back(R[e], n, local)
                    cross(data[k, 3 * e : 3 * e + 3], local, torque)
                    for o in range(3):
                        out[s, j + 3 + o] += side * torque[o]


@kernel
def energy(index, data, q, v, fixed, out):
    """out (s, 8) += k (l - l0)^2 / 2, as potential energy."""
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, _ = line(index[k], data[k], q[s], v[s], fixed, R, w, work[0], work[1], work[2])
            out[s, 1] += 0.5 * data[k, 6] * (length - data[k, 8]) ** 2


@inner
def arms(R, point, side, A):
    """A (3, 3) = -side R point~: what a turn of the frame does to d."""
    x, y, z = side * point[0], side * point[1], side * point[2]
    for o in range(3):
        A[o, 0] = -R[o, 1] * z + R[o, 2] * y
        A[o, 1] = R[o, 0] * z - R[o, 2] * x
        A[o, 2] = -R[o, 0] * y + R[o, 1] * x


@kernel
def tangent(index, data, offset, stride, u, q, v, fixed, damping, stiffness):
    """Add d(D^T n f)/dv and d(D^T n f)/dq H to block data.

    dn = P dd / l with P = 1 - n n^T, and l' = n . d' changes by (P d' / l) . dd + n . (dd'), so that

        C = c D^T n n^T D,    K = D^T (k n n^T + c n (P d')^T / l + f P / l) D + c D^T n n^T E + turned arms,

    E being what a turn does to d' with v held: -+ R w~, w = omega x point.
    """
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((5, 3))
    d, rate, n, across, local = work[0], work[1], work[2], work[3], work[4]
    D, E = np.zeros((3, 12)), np.zeros((3, 12))
    C, K, middle = np.empty((12, 12)), np.empty((12, 12)), np.empty((3, 3))
    along, turned = np.empty(12), np.empty(12)
    for k in range(index.shape[0]):
        length, speed = line(index[k], data[k], q, v, fixed, R, w, d, rate, n)
        stiff, damp, free = data[k, 6], data[k, 7], data[k, 8]
        f = stiff * (length - free) + damp * speed
        if index[k, 6] >= 0:
            f += u[index[k, 6]]
            stiff += u[index[k, 6] + 1]
            damp += u[index[k, 6] + 2]
        # without free length, the force over the length is the stiffness down to zero
        over = f / length if length > 0.0 else stiff
        for o in range(3):
            across[o] = (rate[o] - speed * n[o]) / length if length > 0.0 else 0.0
        for e in range(2):
            side = 1.0 if e == 1 else -1.0
            for o in range(3):
                D[o, 6 * e + o] = side
            arms(R[e], data[k, 3 * e : 3 * e + 3], side, D[:, 6 * e + 3 : 6 * e + 6])
            arms(R[e], w[e], side, E[:, 6 * e + 3 : 6 * e + 6])
        for o in range(3):
            for p in range(3):
                middle[o, p] = (stiff - over) * n[o] * n[p] + damp * n[o] * across[p]
            middle[o, o] += over
        for x in range(12):
            along[x] = n[0] * D[0, x] + n[1] * D[1, x] + n[2] * D[2, x]
            turned[x] = damp * (n[0] * E[0, x] + n[1] * E[1, x] + n[2] * E[2, x])
        for x in range(12):
            for y in range(12):
                C[x, y] = damp * along[x] * along[y]
                K[x, y] = along[x] * turned[y]
                for o in range(3):
                    K[x, y] += D[o, x] * (middle[o, 0] * D[0, y] + middle[o, 1] * D[1, y] + middle[o, 2] * D[2, y])
        for e in range(2):
            # point x (R^T n f), as R^T turns back: +-(m point^T - (point . m) 1), m = R^T n f
            turn_back(R[e], n, local)
            side = f if e == 1 else -f
            for o in range(3):
                local[o] *= side
            inward = dot(data[k, 3 * e : 3 * e + 3], local)
            for o in range(3):
                for p in range(3):
                    K[6 * e + 3 + o, 6 * e + 3 + p] += local[o] * data[k, 3 * e + p]
                K[6 * e + 3 + o, 6 * e + 3 + o] -= inward
        scatter(C, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness)

"""Rates of coordinates and momenta for several states. Source: docs/theory/hamiltonian.md, sections 2 to 6.

A state is (q, p) for a base on the ground, (r, e, q, L, P, p) for a free base: position of its frame's origin,
quaternion, coordinates, angular momentum of the tree about the inertial origin, linear momentum, momenta of the hinges.
"""

import numpy as np

from femb.formulations.hamiltonian.columns import DAMPING, MASS, REST, STIFFNESS
from femb.formulations.hamiltonian.momentum_kernels import recursive_velocities
from femb.formulations.hamiltonian.sweep_kernels import motion_rate, poses, spatial_inertias, sum_outboard
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import rotation, times_quaternion


@kernel
def wrenches(data, gravity, load_rows, loads, R, hinge, c, W):
    """W (rows, 6): weight and loads of each segment about the common point, equation (12).

    load_rows (m,): the row that each load acts on. loads (m, 9): its point (segment axes, from the origin of the
    segment's frame), force and torque (inertial axes).
    """
    x, f, t = np.empty(3), np.empty(3), np.empty(3)
    for k in range(W.shape[0]):
        for i in range(3):
            f[i] = data[k, MASS] * gravity[i]
            W[k, 3 + i] = f[i]
        W[k, 0] = c[k, 1] * f[2] - c[k, 2] * f[1]
        W[k, 1] = c[k, 2] * f[0] - c[k, 0] * f[2]
        W[k, 2] = c[k, 0] * f[1] - c[k, 1] * f[0]
    for m in range(load_rows.shape[0]):
        k = load_rows[m]
        for i in range(3):
            x[i] = hinge[k, i] + R[k, i, 0] * loads[m, 0] + R[k, i, 1] * loads[m, 1] + R[k, i, 2] * loads[m, 2]
            f[i], t[i] = loads[m, 3 + i], loads[m, 6 + i]
            W[k, 3 + i] += f[i]
        W[k, 0] += t[0] + x[1] * f[2] - x[2] * f[1]
        W[k, 1] += t[1] + x[2] * f[0] - x[0] * f[2]
        W[k, 2] += t[2] + x[0] * f[1] - x[1] * f[0]


@inlined
def momentum_rates(parent, data, driven, q, rate, S, v, h, W, out):
    """out (n,) = p' of the hinges; on return W are the sums outboard. Equation (13)."""
    sum_outboard(parent, W)
    b = np.empty(6)
    for k in range(1, parent.size):
        if driven[k - 1]:
            out[k - 1] = 0.0
            continue
        motion_rate(S, v, k, b)
        total = -data[k, STIFFNESS] * (q[k - 1] - data[k, REST]) - data[k, DAMPING] * rate[k - 1]
        for i in range(6):
            total += h[k, i] * b[i] + S[k, i] * W[k, i]
        out[k - 1] = total


@kernel
def state_rates(parent, data, floating, only_speeds, driven, given, gravity, load_rows, loads, Y, rate, velocity, out):
    """Sets the rates out (s, n_y) of states Y (s, n_y), hinge rates (s, n) and segment velocities (s, rows, 6).

    given (s, n): rates of driven hinges. only_speeds: out is not set. Returns the segment with a zero pivot, or 0.
    """
    rows = parent.size
    n = rows - 1
    R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.empty((rows, 6))
    M, h, W, h0 = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.zeros(6)
    start = 7 if floating else 0
    p_start = start + n + (6 if floating else 0)
    for s in range(Y.shape[0]):
        q, p, v = Y[s, start : start + n], Y[s, p_start:], velocity[s]
        if floating:
            rotation(Y[s, 3:7], R[0])
            x, y, z = Y[s, 0], Y[s, 1], Y[s, 2]
            L = Y[s, start + n : p_start]
            h0[0] = L[0] - (y * L[5] - z * L[4])
            h0[1] = L[1] - (z * L[3] - x * L[5])
            h0[2] = L[2] - (x * L[4] - y * L[3])
            for i in range(3):
                h0[3 + i] = L[3 + i]
        else:
            for i in range(3):
                for j in range(3):
                    R[0, i, j] = 1.0 if i == j else 0.0
        poses(parent, data, q, R, hinge, c, S)
        spatial_inertias(data, R, c, M)
        failed = recursive_velocities(parent, floating, driven, given[s], S, M, p, h0, rate[s], v, h)
        if failed:
            return failed
        if only_speeds:
            continue
        wrenches(data, gravity, load_rows, loads, R, hinge, c, W)
        momentum_rates(parent, data, driven, q, rate[s], S, v, h, W, out[s, p_start:])
        for k in range(n):
            out[s, start + k] = rate[s, k]
        if floating:
            out[s, 3], out[s, 4], out[s, 5], out[s, 6] = times_quaternion(
                0.5 * v[0, 0], 0.5 * v[0, 1], 0.5 * v[0, 2], Y[s, 3], Y[s, 4], Y[s, 5], Y[s, 6]
            )
            for i in range(3):
                out[s, i] = v[0, 3 + i]
                out[s, p_start - 3 + i] = W[0, 3 + i]
            out[s, p_start - 6] = W[0, 0] + (y * W[0, 5] - z * W[0, 4])
            out[s, p_start - 5] = W[0, 1] + (z * W[0, 3] - x * W[0, 5])
            out[s, p_start - 4] = W[0, 2] + (x * W[0, 4] - y * W[0, 3])
    return 0

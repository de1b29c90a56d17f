"""Rates of coordinates and momenta for several states. Source: docs/theory/hamiltonian.md, sections 2 to 6.

A state is (q, p) for a base on the ground, (r, e, q, L, P, p) for a free base: position of its frame's origin,
quaternion, coordinates, angular momentum of the tree about the inertial origin, linear momentum, momenta of the hinges.
"""

import numpy as np

from femb.formulations.hamiltonian.columns import DAMPING, MASS, REST, STIFFNESS
from femb.formulations.hamiltonian.momentum_kernels import articulated
from femb.formulations.hamiltonian.sweep_kernels import convective_rates, poses, spatial_inertias
from femb.formulations.spatial_kernels import add_force
from femb.numerics.compile import inlined, kernel
from femb.numerics.stage_kernels import stage_state
from femb.numerics.vector3 import cross, rotate, rotation, times_quaternion


@kernel
def wrenches(data, gravity, load_rows, loads, R, hinge, c, W):
    """W (rows, 6): weight and loads of each segment about the common point, equation (12).

    load_rows (m,): the row that each load acts on. loads (m, 9): its point (segment axes, from the origin of the
    segment's frame), force and torque (inertial axes).
    """
    x, f = np.empty(3), np.empty(3)
    W[:] = 0.0
    for k in range(W.shape[0]):
        for i in range(3):
            f[i] = data[k, MASS] * gravity[i]
        add_force(c[k], f, W[k])
    for m in range(load_rows.shape[0]):
        k = load_rows[m]
        rotate(R[k], loads[m, :3], x)
        for i in range(3):
            x[i] += hinge[k, i]
            W[k, i] += loads[m, 6 + i]
        add_force(x, loads[m, 3:6], W[k])


@inlined
def momentum_rates(parent, data, driven, q, rate, S, v, h, W, out):
    """out (n,) = p' of the hinges; on return W are the sums outboard. Equation (13)."""
    convective_rates(S, v, h, out)
    for k in range(parent.size - 1, 0, -1):
        for i in range(6):
            W[parent[k], i] += W[k, i]
        if driven[k - 1]:
            out[k - 1] = 0.0
            continue
        total = out[k - 1] - data[k, STIFFNESS] * (q[k - 1] - data[k, REST]) - data[k, DAMPING] * rate[k - 1]
        for i in range(6):
            total += S[k, i] * W[k, i]
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
    bias, still, x = np.empty((rows, 6)), np.empty((0, 6)), np.empty(3)
    start = 7 if floating else 0
    p_start = start + n + (6 if floating else 0)
    for s in range(Y.shape[0]):
        q, p, v = Y[s, start : start + n], Y[s, p_start:], velocity[s]
        if floating:
            rotation(Y[s, 3:7], R[0])
            L, P = Y[s, p_start - 6 : p_start - 3], Y[s, p_start - 3 : p_start]
            cross(Y[s, :3], P, x)
            for i in range(3):
                h0[i], h0[3 + i] = L[i] - x[i], P[i]
        else:
            for i in range(3):
                for j in range(3):
                    R[0, i, j] = 1.0 if i == j else 0.0
        poses(parent, data, q, R, hinge, c, S)
        spatial_inertias(data, R, c, M)
        bias[:] = 0.0
        failed = articulated(parent, floating, driven, given[s], S, M, still, bias, p, h0, rate[s], v, h)
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
            cross(Y[s, :3], W[0, 3:], x)
            for i in range(3):
                out[s, i] = v[0, 3 + i]
                out[s, p_start - 6 + i], out[s, p_start - 3 + i] = W[0, i] + x[i], W[0, 3 + i]
    return 0


@kernel
def stage_rates(
    parent, data, floating, driven, given, gravity, load_rows, loads, A, first, last, h, y0, K, y
):  # fmt: skip
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, v, work).

    A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m]; K (stages, n_y) are the
    rates, y (n_y,) is the last of these states. The other arguments are those of ``state_rates``. Returns the segment
    with a zero pivot, or 0.
    """
    # a variable: for the constant False, state_rates would be compiled a second time
    n, rows, only_speeds = y0.size - 1, parent.size, last < first
    Y, out, rate, velocity = np.empty((1, n)), np.empty((1, n)), np.empty((1, rows - 1)), np.empty((1, rows, 6))
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        for i in range(n):
            Y[0, i] = y[i]
        failed = state_rates(
            parent, data, floating, only_speeds, driven, given, gravity, load_rows, loads, Y, rate, velocity, out
        )
        if failed:
            return failed
        for i in range(n):
            K[s, i] = out[0, i]
        K[s, n] = 0.0
        for k in range(1, rows):
            K[s, n] -= data[k, DAMPING] * rate[0, k - 1] * rate[0, k - 1]
    return 0

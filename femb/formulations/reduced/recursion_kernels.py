"""Rates of a tree of rigid bodies in independent speeds by an articulated recursion of cost O(n), for whole steps.

Every speed has a row, a hinge of one degree of freedom; row 0 is the ground. The three speeds of a spherical joint have
three rows at one point: their axes are those of the joint's second end, and rows between have no mass. Spatial vectors
are in inertial axes about one point for each tree: a free body's own point, or the first joint on the ground.

index (rows, 7) int: KIND; first index of the coordinate in q, of its speed in u; CARRIER, the row with which the axis
moves; for the last row of a spherical joint, rows about X, Y and Z. data (rows, N_COLUMNS) : as in
``femb.formulations.hamiltonian.columns``, but for a last row FIXED and COSINE are constant rotations before and after
that of the quaternion. Source: docs/theory/hamiltonian.md, section 7; docs/theory/reduced_order.md, section 4.
"""

import numpy as np

from femb.formulations.hamiltonian.columns import COSINE, DAMPING, FIXED, MASS, REST, STIFFNESS
from femb.formulations.hamiltonian.momentum_kernels import articulated, inertia_force
from femb.formulations.hamiltonian.sweep_kernels import base_pose, center_of, pose_of, spatial_inertias
from femb.formulations.spatial_kernels import add_cross
from femb.numerics.compile import inlined, kernel
from femb.numerics.dop853_kernels import (
    EVALUATIONS,
    INSTANTS,
    LENGTH,
    LOST,
    TIME,
    advance,
    copy_to,
    error_size,
    instants_until,
    interpolate,
    is_open,
    shortened,
    trial_length,
)
from femb.numerics.kinematics import normalise
from femb.numerics.stage_kernels import stage_state
from femb.numerics.vector3 import product, quaternion_times, rotation

# Kinds of rows: strokes of a free body move the point that the vectors refer to, which changes nothing.
HINGE, FREE_STROKE, BALL_INSIDE, BALL_LAST, BALL_LAST_BACKWARD = range(5)
KIND, IN_Q, IN_U, CARRIER, ABOUT_X = range(5)
# numba would compile a separate variant of the called kernel for a literal False.
FLOATING = np.False_


@inlined
def ball_pose(k, parent, index, data, q, R, hinge, c, S, C, X, Y):
    """Axes R[k] of the last row of a spherical joint, and the motions S of its three rows; C, X, Y (3, 3) : scratch."""
    backward, i = index[k, KIND] == BALL_LAST_BACKWARD, index[k, IN_Q]
    h = parent[index[k, ABOUT_X + 2]] if backward else parent[index[k, ABOUT_X]]
    product(R[h], data[k, FIXED : FIXED + 9].reshape(3, 3), X)
    rotation(q[i : i + 4], C)
    if backward:
        # the second end is at the parent, and C takes its components to those of the first
        for m in range(3):
            for n in range(m):
                C[m, n], C[n, m] = C[n, m], C[m, n]
    product(X, C, Y)
    product(Y, data[k, COSINE : COSINE + 9].reshape(3, 3), R[k])
    center_of(k, data, R, hinge, c)
    for m in range(3):
        row = index[k, ABOUT_X + m]
        for n in range(3):
            S[row, n] = -X[n, m] if backward else Y[n, m]
        for n in range(3):
            f, g = (n + 1) % 3, (n + 2) % 3
            S[row, 3 + n] = hinge[k, f] * S[row, g] - hinge[k, g] * S[row, f]


@inlined
def set_rates(index, q, u, second, out):
    """out (n_y,) = (q', u', power): q' of the coordinates, and u' of the rows' accelerations."""
    n_q = q.size
    for k in range(1, index.shape[0]):
        kind, i, j = index[k, KIND], index[k, IN_Q], index[k, IN_U]
        out[n_q + j] = second[k - 1]
        if kind in (HINGE, FREE_STROKE):
            out[i] = u[j]
        elif kind != BALL_INSIDE:
            j = index[index[k, ABOUT_X], IN_U]
            out[i], out[i + 1], out[i + 2], out[i + 3] = quaternion_times(
                q[i], q[i + 1], q[i + 2], q[i + 3], 0.5 * u[j], 0.5 * u[j + 1], 0.5 * u[j + 2]
            )


@kernel
def stage_rates(parent, index, data, gravity, applied, A, first, last, h, n_q, y0, K, y):
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, u, work).

    A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m]; K (stages, n_y) are the
    rates, y (n_y,) is the last of these states. applied (n_u,) : further generalized forces, constant. Returns the row
    with a zero pivot, or 0.
    """
    rows = parent.size
    R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.empty((rows, 6))
    M, v, a, f = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.empty((rows, 6))
    moving, bias, still = np.empty((rows, 6)), np.empty((rows, 6)), np.zeros(6)
    force, second, x, momentum = np.empty(rows - 1), np.zeros(rows - 1), np.zeros(rows), np.empty(6)
    driven, C, X, Y = np.zeros(rows - 1, dtype=np.bool_), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            R[0, i, j] = 1.0 if i == j else 0.0
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        q, u = y[:n_q], y[n_q : y0.size - 1]
        base_pose(data, R, hinge, c)
        power = 0.0
        for k in range(1, rows):
            kind, j = index[k, KIND], index[k, IN_U]
            angle = q[index[k, IN_Q]] if kind == HINGE else 0.0
            rate = 0.0 if kind == FREE_STROKE else u[j]
            pose_of(k, parent[k], data, angle, R, hinge, c, S)
            if kind in (BALL_LAST, BALL_LAST_BACKWARD):
                ball_pose(k, parent, index, data, q, R, hinge, c, S, C, X, Y)
            x[k] = rate
            resisting = data[k, DAMPING] * rate
            force[k - 1] = applied[j] - data[k, STIFFNESS] * (angle - data[k, REST]) - resisting
            power -= resisting * rate
        spatial_inertias(data, R, c, M)
        for i in range(6):
            v[0, i] = bias[0, i] = moving[0, i] = 0.0
        for k in range(1, rows):
            for i in range(6):
                v[k, i] = v[parent[k], i] + S[k, i] * x[k]
                moving[k, i] = 0.0
            inertia_force(M[k], v[k], momentum, bias[k])
            mass = data[k, MASS]
            for i in range(3):
                m, n = (i + 1) % 3, (i + 2) % 3
                bias[k, i] -= mass * (c[k, m] * gravity[n] - c[k, n] * gravity[m])
                bias[k, 3 + i] -= mass * gravity[i]
        for k in range(1, rows):
            add_cross(v[index[k, CARRIER]], S[k], x[k], moving[k])
        failed = articulated(parent, FLOATING, driven, second, S, M, moving, bias, force, still, second, a, f)
        if failed:
            return failed
        set_rates(index, q, u, second, K[s])
        K[s, y0.size - 1] = power
    return 0


@kernel
def steps(parent, index, data, gravity, applied, n_q, quaternion_q, loop):
    """Accepted steps of DOP853, as ``femb.numerics.dop853_kernels`` tells; ends before one that this loop cannot make.

    applied (n_u,), n_q : as in ``stage_rates``. quaternion_q : indices of quaternions.
    """
    coefficients, (scale_q, scale_v), bounds, clock, counts, (y, rate, K, y1, spare, fifth), output = loop
    A, E5, E3, _, _ = coefficients
    last = K.shape[0] - 4
    while is_open(bounds, clock, counts, output):
        t, h, rejections, error = clock[TIME], clock[LENGTH], 0, LOST
        copy_to(K[0], rate)
        while error > 1.0:
            if error < LOST:
                h = shortened(h, error)
                rejections += 1
            h = trial_length(bounds, t, h)
            if h == 0.0 or stage_rates(parent, index, data, gravity, applied, A, 1, last + 1, h, n_q, y, K, y1):
                return
            error = error_size(E5, E3, scale_q, scale_v, n_q, h, y, y1, K, fifth)
            if not error < LOST:
                return
        first = counts[INSTANTS]
        count = instants_until(bounds, output, first, t, h)
        if count > 0:
            if first + count > output[1].shape[0] or stage_rates(
                parent, index, data, gravity, applied, A, last + 1, last + 4, h, n_q, y, K, spare
            ):
                return
            interpolate(coefficients, bounds, output, n_q, first, count, t, h, y, y1, K)
            counts[INSTANTS] += count
            counts[EVALUATIONS] += 3
        counts[EVALUATIONS] += last * (1 + rejections)
        copy_to(rate, K[last])
        normalise(quaternion_q, y1[:n_q])
        advance(bounds, clock, counts, output, h, error, rejections, y, y1)

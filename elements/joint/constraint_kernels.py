"""Kernels over rows of constraints at states: forces, values, Jacobians, tangents, powers.

Rows, their index and data are those of ``femb.elements.joint.primitives``; rows with one ROW are terms of one equation.
"""

import numpy as np

from femb.elements.joint.primitives import (
    FOUND,
    GAMMA,
    IN_FORCE,
    INPUT,
    PHI,
    PHI_T,
    PRIMITIVE,
    ROW,
    SIZES,
    STARTS,
    STROKE,
    all_rows,
    rate_of,
    row_tangent,
    set_term,
)
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, lanes
from femb.numerics.vector3 import add_row_force, scatter


@inlined
def inactive(index, u):
    """Whether a row is not in force."""
    return index[IN_FORCE] >= 0 and u[index[IN_FORCE]] == 0.0


# Kernels of states take LANES of them at once, see ``femb.numerics.compiler.lanes``: their rows are the same.


# Rows that are evaluated before their results are used, which stay in the processor's cache until then.
TOGETHER = 64


@inlined
def take_states(u, q, v, first, out):
    """out (n_u + n_q + n_v, LANES): the states from ``first`` on; the last one fills the lanes left over."""
    n_u, n = u.shape[1], u.shape[1] + q.shape[1]
    for m in range(LANES):
        i = min(first + m, q.shape[0] - 1)
        for k in range(n_u):
            out[k, m] = u[i, k]
        for k in range(q.shape[1]):
            out[n_u + k, m] = q[i, k]
        for k in range(v.shape[1]):
            out[n + k, m] = v[i, k]


@inlined
def sizes_of(index, u, q, v):
    """Sizes of the work arrays for states in lanes and for rows that are evaluated together."""
    return (u.shape[1] + q.shape[1] + v.shape[1], LANES), (min(index.shape[0], TOGETHER), FOUND, LANES)


@inlined
def rows_of_states(index, data, first, u, q, v, fixed, here, found):
    """found (n, 15, LANES) of the rows at the states from ``first`` on, of which ``here`` is that of ``take_states``.

    data : of the rows and all that follow.
    """
    n_u, n = u.shape[1], u.shape[1] + q.shape[1]
    state = lanes(here)
    all_rows(index, data, state[:n_u], state[n_u:n], state[n:], fixed, lanes(found))
    for n in range(index.shape[0]):
        if index[n, PRIMITIVE] >= STROKE:
            for m in range(LANES):
                s = min(first + m, q.shape[0] - 1)
                set_term(n, index, data, u[s], v[s], found[n, :, m])


@inlined
def add_force(index, found, u, v, multipliers, force, rates):
    for n in range(index.shape[0]):
        c = index[n, ROW]
        if inactive(index[n], u):
            rates[c] = multipliers[c]
            continue
        rates[c] += rate_of(index[n], v, found[n]) + found[n, PHI_T]
        add_row_force(index[n], multipliers[c], found[n], force)


@kernel_with_entry
def constraint_force(index, data, u, q, v, fixed, multipliers, force, rates):
    """force (s, n_v) += J^T lambda, rates (s, n_c) = J v + Phi_t, or the multiplier for a row that is not in force."""
    size, sizes = sizes_of(index, u, q, v)
    here, found = np.empty(size), np.empty(sizes)
    rates[:] = 0.0
    for first in range(0, q.shape[0], LANES):
        take_states(u, q, v, first, here)
        for row in range(0, index.shape[0], TOGETHER):
            some = index[row : row + TOGETHER]
            rows_of_states(some, data[row:], first, u, q, v, fixed, here, found)
            for s in range(first, min(first + LANES, q.shape[0])):
                add_force(some, found[:, :, s - first], u[s], v[s], multipliers[s], force[s], rates[s])


@inlined
def add_terms(index, found, u, position, gamma):
    """Add Phi and gamma of one state."""
    for n in range(index.shape[0]):
        if not inactive(index[n], u):
            position[index[n, ROW]] += found[n, PHI]
            gamma[index[n, ROW]] += found[n, GAMMA]


@kernel
def constraints(index, data, u, q, v, fixed, position, gamma):
    """position (s, n_c) = Phi, and gamma (s, n_c)."""
    size, sizes = sizes_of(index, u, q, v)
    here, found = np.empty(size), np.empty(sizes)
    position[:], gamma[:] = 0.0, 0.0
    for first in range(0, q.shape[0], LANES):
        take_states(u, q, v, first, here)
        for row in range(0, index.shape[0], TOGETHER):
            some = index[row : row + TOGETHER]
            rows_of_states(some, data[row:], first, u, q, v, fixed, here, found)
            for s in range(first, min(first + LANES, q.shape[0])):
                add_terms(some, found[:, :, s - first], u[s], position[s], gamma[s])


@inlined
def add_jacobian(index, offset, stride, found, u, out):
    """Add J and J^T of one state to block data (size,)."""
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            out[offset[n, 4, 4]] += 1.0
            continue
        for g in range(4):
            if offset[n, 4, g] >= 0:
                for k in range(3):
                    out[offset[n, 4, g] + k] += found[n, 3 * g + k]
                    out[offset[n, g, 4] + k * stride[n, g, 4]] += found[n, 3 * g + k]


@kernel_with_entry
def jacobian(index, data, offset, stride, u, q, v, fixed, out, position, gamma):
    """Evaluate as ``constraints``; J and J^T are added to block data (s, size), to the diagonal one for a row not in
    force.
    """
    size, sizes = sizes_of(index, u, q, v)
    here, found = np.empty(size), np.empty(sizes)
    position[:], gamma[:] = 0.0, 0.0
    for first in range(0, q.shape[0], LANES):
        take_states(u, q, v, first, here)
        for row in range(0, index.shape[0], TOGETHER):
            some = index[row : row + TOGETHER]
            rows_of_states(some, data[row:], first, u, q, v, fixed, here, found)
            for s in range(first, min(first + LANES, q.shape[0])):
                add_terms(some, found[:, :, s - first], u[s], position[s], gamma[s])
                add_jacobian(some, offset[row:], stride[row:], found[:, :, s - first], u[s], out[s])


@kernel_with_entry
def constraint_power(index, data, u, q, v, fixed, multipliers, column, out):
    """out (s, n_w)[:, column] += lambda . Phi_t, the power of the inputs."""
    found = np.empty((1, FOUND))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if index[n, INPUT] >= 0 and not inactive(index[n], u[s]):
                all_rows(index[n : n + 1], data[n : n + 1], u[s], q[s], v[s], fixed, found)
                phi_t = found[0, PHI_T] if index[n, PRIMITIVE] < STROKE else -u[s, index[n, INPUT] + 1]
                out[s, column] += multipliers[s, index[n, ROW]] * phi_t


@kernel_with_entry
def constraint_tangent(index, data, offset, stride, u, q, v, fixed, multipliers, out):
    """Add d(J^T lambda)/dq H, and d(J v + Phi_t)/dq H in the rows of the multipliers, to block data."""
    K, T = np.empty((12, 12)), np.empty(12)
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            continue
        row_tangent(n, index, data, u, q, v, fixed, K, T)
        for h in range(4):
            if offset[n, 4, h] >= 0:
                for m in range(3):
                    out[offset[n, 4, h] + m] += T[3 * h + m] + rate_of(index[n], v, K[:, 3 * h + m])
        K *= multipliers[index[n, ROW]]
        scatter(K, STARTS, SIZES, offset[n], stride[n], out)


@kernel
def products(index, data, offset, stride, u, q, fixed, weights, out):
    """Add J^T W J, W = diag(weights), at one state to block data with the blocks between the frames of every row."""
    found, v = np.empty((index.shape[0], FOUND)), np.zeros(q.size)
    all_rows(index, data, u, q, v, fixed, found)
    for n in range(index.shape[0]):
        if not inactive(index[n], u):
            if index[n, PRIMITIVE] >= STROKE:
                set_term(n, index, data, u, v, found[n])
            J = found[n, :PHI]
            scatter(weights[index[n, ROW]] * J.reshape(-1, 1) * J, STARTS, SIZES, offset[n], stride[n], out)

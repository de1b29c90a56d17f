"""Kernels of the tangent of Radau's steps: k columns of derivatives at once, the last axis of all arrays."""

import numpy as np

from femb.elements.joint.primitives import ROW, row_tangent
from femb.numerics.block_kernels import solve_columns, subtract_product
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import body_part, quaternion_times

# Sweeps of quaternions in an iteration, as in the stepper.
SWEEPS = 2
# Corrections of a column that do not shrink, after which it is rounding.
STALLS = 3


@kernel_with_entry
def reaction_blocks(rows, frames, index, data, u, q, v, fixed, multipliers, blocks):
    """blocks (s, m, 12, 12): d(J^T lambda)/dq H of some rows (m,) of constraints between two frames whose block the
    matrices do not have; their own blocks are zero, as those of rows whose frames have one."""
    K, T = np.empty((12, 12)), np.empty(12)
    for s in range(q.shape[0]):
        for m in range(rows.size):
            n = rows[m]
            row_tangent(n, index, data, u[s], q[s], v[s], fixed, K, T)
            for i in range(12):
                for j in range(12):
                    across = (i < 6) != (j < 6) and frames[m, i // 3] >= 0 and frames[m, j // 3] >= 0
                    blocks[s, m, i, j] = multipliers[s, index[n, ROW]] * K[i, j] if across else 0.0


@inlined
def subtract_blocks(structure, data, n, c, w):
    """Subtract A x from y, which are x (n, c) and y (n, c) one after the other in w (2 n c,), for block data A."""
    start, _, diagonal, order, first, later, lower, upper = structure
    for step in range(order.size):
        b = order[step]
        o = start[b]
        m = start[b + 1] - o
        subtract_product(data, diagonal[b], m, m, w, o * c, (n + o) * c, c)
        for e in range(first[step], first[step + 1]):
            p = start[later[e]]
            k = start[later[e] + 1] - p
            subtract_product(data, lower[e], m, k, w, p * c, (n + o) * c, c)
            subtract_product(data, upper[e], k, m, w, o * c, (n + p) * c, c)


@inlined
def subtract_reactions(frames, blocks, n, c, w):
    """Subtract the products with blocks (m, 12, 12) between frames with velocities at frames (m, 4) from y in w."""
    for m in range(frames.shape[0]):
        for i in range(12):
            for j in range(12):
                if blocks[m, i, j] != 0.0:
                    row, column = frames[m, i // 3] + i % 3, frames[m, j // 3] + j % 3
                    for k in range(c):
                        w[(n + row) * c + k] -= blocks[m, i, j] * w[column * c + k]


@inlined
def put_tangents(coordinates, q, dq, c, w):
    """x in w: the small motions S (n_v, c) with H(q) S = dq (n_q, c)."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for k in range(linear_q.size):
        for j in range(c):
            w[linear_v[k] * c + j] = dq[linear_q[k], j]
    for k in range(quaternion_q.size):
        o, x = quaternion_q[k], omega_v[k] * c
        p0, p1, p2, p3 = q[o], q[o + 1], q[o + 2], q[o + 3]
        f = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        for j in range(c):
            a, b, d = body_part(p0, p1, p2, p3, dq[o, j], dq[o + 1, j], dq[o + 2, j], dq[o + 3, j])
            w[x + j], w[x + c + j], w[x + 2 * c + j] = f * a, f * b, f * d


@inlined
def put_rates(coordinates, q, c, w, dq):
    """dq (n_q, c) = H(q) S, of S in x of w."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for k in range(linear_q.size):
        for j in range(c):
            dq[linear_q[k], j] = w[linear_v[k] * c + j]
    for k in range(quaternion_q.size):
        o, x = quaternion_q[k], omega_v[k] * c
        for j in range(c):
            a, b, d = 0.5 * w[x + j], 0.5 * w[x + c + j], 0.5 * w[x + 2 * c + j]
            dq[o, j], dq[o + 1, j], dq[o + 2, j], dq[o + 3, j] = quaternion_times(
                q[o], q[o + 1], q[o + 2], q[o + 3], a, b, d
            )


@inlined
def move_coordinates(coordinates, A, h, Q, V, q, v, Z, dQ, rate):
    """dQ (3, n_q, c): the changes of Q = q + h A (H(Q) V), with V = v + Z; the quaternions by sweeps from dQ."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    c = q.shape[1]
    for i in range(3):
        a, b, d = h * A[i, 0], h * A[i, 1], h * A[i, 2]
        for k in range(linear_q.size):
            o, x = linear_q[k], linear_v[k]
            for j in range(c):
                dQ[i, o, j] = q[o, j] + (a + b + d) * v[x, j] + a * Z[0, x, j] + b * Z[1, x, j] + d * Z[2, x, j]
    for k in range(quaternion_q.size):
        o, x = quaternion_q[k], omega_v[k]
        for j in range(c):
            for _ in range(SWEEPS):
                for i in range(3):
                    p0, p1, p2, p3 = quaternion_times(
                        dQ[i, o, j], dQ[i, o + 1, j], dQ[i, o + 2, j], dQ[i, o + 3, j],
                        0.5 * V[i, x], 0.5 * V[i, x + 1], 0.5 * V[i, x + 2],
                    )  # fmt: skip
                    r0, r1, r2, r3 = quaternion_times(
                        Q[i, o], Q[i, o + 1], Q[i, o + 2], Q[i, o + 3],
                        0.5 * (v[x, j] + Z[i, x, j]), 0.5 * (v[x + 1, j] + Z[i, x + 1, j]),
                        0.5 * (v[x + 2, j] + Z[i, x + 2, j]),
                    )  # fmt: skip
                    rate[i, 0], rate[i, 1], rate[i, 2], rate[i, 3] = p0 + r0, p1 + r1, p2 + r2, p3 + r3
                for i in range(3):
                    for m in range(4):
                        total = A[i, 0] * rate[0, m] + A[i, 1] * rate[1, m] + A[i, 2] * rate[2, m]
                        dQ[i, o + m, j] = q[o + m, j] + h * total


@kernel
def solve_stages(
    coordinates, structure, matrices, reactions, factors, method, h, Q, V, G, q, v, Z, L, dQ, tolerance, most
):
    """Correct the derivatives Z (3, n_v, c), L (3, n_c, c) and dQ (3, n_q, c) of the stages of a step of length h (s)
    with coordinates Q (3, n_q) and velocities V (3, n_v), from a start with the derivatives q (n_q, c), v (n_v, c).

    matrices : mass, damping with J and J^T, stiffness (3, size), block data at the stages. reactions : those between
    ``frames``, and their blocks (3, m, 12, 12). factors : arguments of ``solve_columns`` of the real and of the complex
    system. G (3, n, c) : the partial derivatives of the equations. tolerance : of the correction that would come next,
    relative to the velocities. Returns the number of corrections, at most ``most``.
    """
    A, inverse, T, T_inverse = method
    mass, damping, stiffness = matrices
    frames, blocks = reactions
    of_real, of_pair = factors
    n_v, c = v.shape
    n = n_v + L.shape[1]
    w, rate = np.zeros((3, 2 * n * c)), np.empty((3, 4))
    before, stalls = np.zeros(c), np.zeros(c)
    real, pair = np.empty(n * c), np.empty(n * c, dtype=np.complex128)
    for done in range(most):
        move_coordinates(coordinates, A, h, Q, V, q, v, Z, dQ, rate)
        for i in range(3):
            x = w[i]
            for k in range(n):
                for j in range(c):
                    x[(n + k) * c + j] = -G[i, k, j]
            for k in range(n_v * c, n * c):
                x[k] = 0.0
            put_tangents(coordinates, Q[i], dQ[i], c, x)
            subtract_blocks(structure, stiffness[i], n, c, x)
            subtract_reactions(frames, blocks[i], n, c, x)
            for k in range(n_v):
                for j in range(c):
                    x[k * c + j] = (
                        inverse[i, 0] * Z[0, k, j] + inverse[i, 1] * Z[1, k, j] + inverse[i, 2] * Z[2, k, j]
                    ) / h
            subtract_blocks(structure, mass[i], n, c, x)
            for k in range(n_v):
                for j in range(c):
                    x[k * c + j] = v[k, j] + Z[i, k, j]
            for k in range(n_v, n):
                for j in range(c):
                    x[k * c + j] = L[i, k - n_v, j]
            subtract_blocks(structure, damping[i], n, c, x)
        for k in range(n * c):
            a, b, d = w[0, n * c + k], w[1, n * c + k], w[2, n * c + k]
            real[k] = T_inverse[0, 0] * a + T_inverse[0, 1] * b + T_inverse[0, 2] * d
            y = T_inverse[1, 0] * a + T_inverse[1, 1] * b + T_inverse[1, 2] * d
            pair[k] = complex(y, T_inverse[2, 0] * a + T_inverse[2, 1] * b + T_inverse[2, 2] * d)
        solve_columns(*of_real, c, real)
        solve_columns(*of_pair, c, pair)
        converged = True
        for j in range(c):
            change = size = 0.0
            for k in range(n):
                o = k * c + j
                for i in range(3):
                    x = T[i, 0] * real[o] + T[i, 1] * pair[o].real + T[i, 2] * pair[o].imag
                    if k < n_v:
                        Z[i, k, j] += x
                        change, size = max(change, abs(x)), max(size, abs(v[k, j] + Z[i, k, j]))
                    else:
                        L[i, k - n_v, j] += x
            # what is left is less than the next correction, of which the last two tell the size
            shrinks = change / before[j] if before[j] > 0.0 else 1.0
            # corrections that do not shrink are rounding, of derivatives that are nearly zero
            stalls[j] += 1.0 if done > 0 and shrinks > 0.9 else 0.0
            converged = converged and (stalls[j] >= STALLS or change * min(1.0, 2.0 * shrinks) <= tolerance * size)
            before[j] = change
        if converged:
            move_coordinates(coordinates, A, h, Q, V, q, v, Z, dQ, rate)
            return done + 1
    return most


@kernel
def project_end(
    coordinates, structure, damping, stiffness, of_real, Q, q, position, rates, dQ, dq, dv, tolerance, most
):
    """Set dq (n_q, c), and project dv (n_v, c), the derivatives of the end q (n_q,) of a step on the constraints, from
    those dQ (n_q, c) of the last stage Q (n_q,).

    damping, stiffness (size,) : J, and d(J v + Phi_t)/dq H, block data at the end. position, rates (n_c, c) : partial
    derivatives of Phi and of J v + Phi_t.
    """
    n_v, c = dv.shape
    n_c = position.shape[0]
    n = n_v + n_c
    w, S, x = np.zeros(2 * n * c), np.zeros(2 * n * c), np.empty(n * c)
    put_tangents(coordinates, Q, dQ, c, S)
    for closing in range(2):
        for _ in range(most if n_c > 0 else 0):
            for k in range(n_v):
                for j in range(c):
                    w[k * c + j] = S[k * c + j] if closing == 0 else dv[k, j]
            w[n * c :] = 0.0
            subtract_blocks(structure, damping, n, c, w)
            x[: n_v * c] = 0.0
            worst = True
            for j in range(c):
                gap = size = 0.0
                for k in range(n_v):
                    size = max(size, abs(w[k * c + j]))
                for k in range(n_c):
                    o = (n_v + k) * c + j
                    x[o] = w[n * c + o] - position[k, j] if closing == 0 else w[n * c + o] + S[n * c + o] - rates[k, j]
                    gap = max(gap, abs(x[o]))
                worst = worst and gap <= tolerance * size
            if worst:
                break
            solve_columns(*of_real, c, x)
            for k in range(n_v):
                for j in range(c):
                    if closing == 0:
                        S[k * c + j] += x[k * c + j]
                    else:
                        dv[k, j] += x[k * c + j]
        if closing == 0:
            put_rates(coordinates, q, c, S, dq)
            subtract_blocks(structure, stiffness, n, c, S)

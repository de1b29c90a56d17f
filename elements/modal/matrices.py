"""Kernels: mass matrix and exact tangents of a flexible body by the velocities of its frames and modes."""

import numpy as np

from femb.elements.modal.columns import (
    ACC,
    ALPHA,
    ARM_ACC,
    ARM_RATE,
    AT_REST,
    FRAME_OMEGA,
    IN_FRAME,
    OFF,
    OFFSET,
    OMEGA,
    THETA,
)  # fmt: skip
from femb.elements.modal.force import by_measured, less_gravity, station_forces
from femb.elements.modal.inertia import WIDTH, inner_force, moments
from femb.elements.modal.inner_matrices import by_positions, by_velocities, mass_matrix
from femb.elements.modal.motion import bent_coordinate, measured, station_motion, times_inverse_back
from femb.elements.modal.rates import measured_rows, rate_changes, strained_rows
from femb.elements.modal.small_matrices import (
    add_block,
    add_block_rows,
    add_half_turn_rate,
    add_product,
    skew,
    turn_rates,
)  # fmt: skip
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import product, rotate_back, scatter


@kernel
def matrices(
    index, stations, rests, rigid, linear, pairs, quad, psi2, q, v, a, fixed, gravity, starts, sizes, offset, stride,
    with_mass, with_tangent, mass, damping, stiffness,
):  # fmt: skip
    """Add the mass, d(residual)/dv and d(residual)/dq H at one state to block data.

    Returns 0, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, size = stations.shape[0], psi2.shape[1], linear.shape[0]
    first, p, z = 6 * (k - 1), 6 + size, 6 + n
    frames, axes, turns = np.empty((k, 3, 3)), np.empty((k, 3, 3)), np.empty((k, 3, 3))
    motion, relative, at_stations = np.empty((k, 8, 3)), np.empty((k, 9, 3)), np.empty((k, 2, 3))
    x, eta, body, each = np.empty((3, n)), np.empty((3, size)), np.empty((8, 6)), np.empty((size, WIDTH))
    work, wrench, N, f, acc = np.empty((6, 3)), np.empty((2, 3)), np.empty(size), np.empty(n), np.empty(3)
    blocks, rows, strained = np.empty((8, 3, 3)), np.empty((4, first, z)), np.empty((4, first + size - n, z))
    W, E_q, E_v, E_a, bends = rows[0], rows[1], rows[2], rows[3], psi2.shape[0] - (size - n)
    J, P_q, P_v, P_a = strained[0], strained[1], strained[2], strained[3]
    inner, between, M, C, K = np.empty((p, p)), np.empty((p, z)), np.zeros((z, z)), np.zeros((z, z)), np.zeros((z, z))

    station_motion(index, stations, rests, q, v, a, fixed, frames, axes, motion)
    bad = measured(index, stations, rests, axes, motion, q, v, a, psi2, relative, turns, x, eta)
    if bad > 0:
        return bad
    moments(rigid, linear, quad, eta, body, each)
    measured_rows(rests, axes, relative, turns, W, blocks)
    if with_tangent:
        rate_changes(motion, relative, turns, x, W, E_q, E_v, E_a, blocks, work)
    else:
        E_q[:, :], E_v[:, :], E_a[:, :] = 0.0, 0.0, 0.0
    strained_rows(psi2, x, W, E_q, E_v, E_a, J, P_q, P_v, P_a)

    mass_matrix(rigid[0], axes[0], pairs, body, each, blocks, inner)
    right_times(inner, J, first, between)
    left_times(J, between, first, M)
    if with_tangent:
        omega, alpha = motion[0, OMEGA], motion[0, ALPHA]
        less_gravity(axes[0], motion[0, ACC], gravity, work[0], acc)
        between[:, :] = 0.0
        times_changes(inner, P_v, first, between)
        left_times(J, between, first, C)
        between[:, :] = 0.0
        times_changes(inner, P_a, first, between)
        left_times(J, between, first, K)
        by_velocities(axes[0], pairs, quad, body, each, omega, work, blocks, inner)
        right_times(inner, J, first, between)
        left_times(J, between, first, C)
        between[:, :] = 0.0
        times_changes(inner, P_q, first, between)
        left_times(J, between, first, K)
        inner_force(rigid[0], pairs, eta, body, each, acc, omega, alpha, 1.0, 1.0, 1.0, work, wrench, N)
        by_positions(rigid[0], axes[0], pairs, quad, eta, body, each, acc, omega, alpha, wrench[0], work, blocks, inner)
        right_times(inner, J, first, between)
        left_times(J, between, first, K)
        by_measured(psi2, x, N, f)
        if psi2.shape[0]:
            inner[:, :] = 0.0
            for s in range(psi2.shape[0]):
                on = N[bent_coordinate(s, bends, n)]
                for i in range(n):
                    for j in range(n):
                        inner[6 + i, 6 + j] -= on * psi2[s, i, j]
            right_times(inner, W, first, between)
            left_times(W, between, first, K)
        turned_forces(rests, axes, relative, turns, W, f, blocks, work, K)
        station_forces(rests, axes, relative, turns, wrench, f, work, at_stations)
    for s in range(k):
        if stations[s, OFF] != 0.0:
            to_frame(stations[s], rests[s, IN_FRAME], frames[s], motion[s], at_stations[s], s, work, blocks, M, C, K)
    if with_mass:
        scatter(M, starts, sizes, offset, stride, mass)
    if with_tangent:
        scatter(C, starts, sizes, offset, stride, damping)
        scatter(K, starts, sizes, offset, stride, stiffness)
    return 0


@inlined
def right_times(A, J, first, out):
    """out (p, z) = A [1 0 0; J; 0 0 1; J], with the rows J of the coordinates that are no modes."""
    modes, z = first + 6, out.shape[1]
    for i in range(A.shape[0]):
        for j in range(6):
            out[i, j] = A[i, j]
        for j in range(6, modes):
            out[i, j] = 0.0
        for j in range(modes, out.shape[1]):
            out[i, j] = A[i, j]
        for k in range(J.shape[0]):
            x = A[i, 6 + k if k < first else z + k - first]
            if x != 0.0:
                for j in range(z):
                    out[i, j] += x * J[k, j]


@inlined
def left_times(J, A, first, out):
    """out (z, z) += [1 0 0; J; 0 0 1; J]^T A."""
    modes, z = first + 6, out.shape[1]
    for j in range(out.shape[1]):
        for i in range(6):
            out[i, j] += A[i, j]
        for i in range(modes, out.shape[0]):
            out[i, j] += A[i, j]
    for k in range(J.shape[0]):
        row = 6 + k if k < first else z + k - first
        for i in range(z):
            x = J[k, i]
            if x != 0.0:
                for j in range(z):
                    out[i, j] += x * A[row, j]


@inlined
def times_changes(A, changes, first, out):
    """out (p, z) += the columns of A for the coordinates that are no modes times ``changes``."""
    z = out.shape[1]
    for i in range(A.shape[0]):
        for k in range(changes.shape[0]):
            x = A[i, 6 + k if k < first else z + k - first]
            if x != 0.0:
                for j in range(out.shape[1]):
                    out[i, j] += x * changes[k, j]


@inlined
def turned_forces(rests, axes, relative, turns, W, f, blocks, work, K):
    """K += the change of the forces on the stations with their positions at constant f, equation (24)."""
    B, inverse, dB = blocks[0], blocks[1], blocks[2]
    z = K.shape[0]
    for s in range(1, rests.shape[0]):
        at = 6 * (s - 1)
        theta, force, torque = relative[s, THETA], f[at : at + 3], f[at + 3 : at + 6]
        skew(force, blocks[3])
        product(axes[0], blocks[3], blocks[4])
        add_block(1.0, blocks[4], K, 0, 3)
        add_block(-1.0, blocks[4], K, 6 * s, 3)
        add_block_rows(1.0, blocks[3], W, at, z, K, 3)
        turn_rates(theta, 1.0, B, inverse)
        times_inverse_back(theta, torque, work[0])
        dB[:, :] = 0.0
        add_half_turn_rate(theta, torque, dB)
        skew(torque, blocks[3])
        for i in range(3):
            for j in range(3):
                dB[i, j] += blocks[3][i, j]
        # -(-C g~ B + C dB) W_theta and A^T dB W_theta
        skew(work[0], blocks[3])
        product(blocks[3], B, blocks[4])
        for i in range(3):
            for j in range(3):
                blocks[4][i, j] -= dB[i, j]
        product(turns[s], blocks[4], blocks[5])
        add_block_rows(1.0, blocks[5], W, at + 3, z, K, 3)
        A = rests[s, AT_REST]
        blocks[6][:, :] = 0.0
        for i in range(3):
            for j in range(3):
                for m in range(3):
                    blocks[6][i, j] += A[m, i] * dB[m, j]
        add_block_rows(1.0, blocks[6], W, at + 3, z, K, 6 * s + 3)


@inlined
def to_frame(station, turned, frame, w, force, s, work, blocks, M, C, K):
    """Change the rows and columns of one station into those of its frame, at an offset d with other axes."""
    d, z, at = station[OFFSET : OFFSET + 3], K.shape[0], 6 * s
    # the velocity and acceleration of the station at constant velocities and accelerations of the frame
    skew(w[ARM_RATE], blocks[0])
    product(frame, blocks[0], blocks[1])  # -d(velocity)/d(rotation)
    skew(d, blocks[2])
    skew(w[FRAME_OMEGA], blocks[3])
    add_product(1.0, blocks[3], blocks[2], blocks[0])
    product(frame, blocks[0], blocks[3])  # -d(acceleration)/d(angular velocity)
    skew(w[ARM_ACC], blocks[0])
    product(frame, blocks[0], blocks[4])  # -d(acceleration)/d(rotation)
    product(frame, blocks[2], blocks[5])  # -d(position)/d(rotation)
    for i in range(z):
        for j in range(3):
            work[0, j], work[1, j], work[2, j] = 0.0, 0.0, 0.0
            for m in range(3):
                work[0, j] += M[i, at + 3 + m] * turned[j, m] - M[i, at + m] * blocks[5][m, j]
                work[1, j] += (
                    C[i, at + 3 + m] * turned[j, m] - C[i, at + m] * blocks[5][m, j] - M[i, at + m] * blocks[3][m, j]
                )
                work[2, j] += (
                    K[i, at + 3 + m] * turned[j, m] - K[i, at + m] * blocks[5][m, j]
                    - C[i, at + m] * blocks[1][m, j] - M[i, at + m] * blocks[4][m, j]
                )  # fmt: skip
        for j in range(3):
            M[i, at + 3 + j], C[i, at + 3 + j], K[i, at + 3 + j] = work[0, j], work[1, j], work[2, j]
    for i in range(z):
        for j in range(3):
            work[0, j], work[1, j], work[2, j] = 0.0, 0.0, 0.0
            for m in range(3):
                work[0, j] += turned[j, m] * M[at + 3 + m, i] - blocks[5][m, j] * M[at + m, i]
                work[1, j] += turned[j, m] * C[at + 3 + m, i] - blocks[5][m, j] * C[at + m, i]
                work[2, j] += turned[j, m] * K[at + 3 + m, i] - blocks[5][m, j] * K[at + m, i]
        for j in range(3):
            M[at + 3 + j, i], C[at + 3 + j, i], K[at + 3 + j, i] = work[0, j], work[1, j], work[2, j]
    # the arm of the force
    rotate_back(frame, force[0], work[0])
    skew(work[0], blocks[0])
    product(blocks[2], blocks[0], blocks[1])
    add_block(1.0, blocks[1], K, at + 3, at + 3)

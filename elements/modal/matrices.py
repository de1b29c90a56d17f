"""Kernels: mass matrix and exact tangents of a flexible body by the velocities of its frames and modes."""

import numpy as np

from femb.elements.modal.kernels import (
    ACC,
    ALPHA,
    ARM_ACC,
    ARM_RATE,
    AT_REST,
    C_RATE,
    CJ,
    DA,
    DAMPING,
    DV,
    FRAME_OMEGA,
    IN_FRAME,
    J2,
    J_RATE,
    JD,
    JJ,
    MASS,
    OFF,
    OFFSET,
    OMEGA,
    Q_FIRST,
    Q_SECOND,
    S2,
    S_RATE,
    SCALARS,
    SD,
    SJ,
    STIFFNESS,
    THETA,
    TURNED,
    TURNED_ALPHA,
    WIDTH,
    G,
    J,
    Q,
    S,
    X,
    Y,
    add_block,
    add_block_rows,
    add_diagonal,
    add_half_turn_rate,
    add_outer,
    add_product,
    bent_coordinate,
    by_measured,
    empty_motion,
    inner_force,
    less_gravity,
    measured,
    moments,
    six_times,
    six_to_matrix,
    skew,
    station_forces,
    times_inverse_back,
    turn_rates,
)
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import cross, dot, product, rotate, rotate_back, scatter

# Kernels: mass matrix and tangents of a body by the motion of its frame and its coordinates; (7), (9), (10).
#
# Rows: force, inertial axes; torque, body axes; forces on the coordinates. Columns: velocity of the origin, inertial
# axes; angular velocity or rotation, body axes; coordinates.


@inlined
def mass_matrix(of, at, body, each, blocks, out):
    """out (6 + n, 6 + n) = the mass matrix, equation (7). blocks (4, 3, 3) : workspace."""
    m, axes, pairs, n = of.rigid[0], at.axes[0], of.pairs, each.shape[0]
    out[:, :] = 0.0
    skew(body[S, :3], blocks[0])
    product(axes, blocks[0], blocks[1])
    six_to_matrix(body[J], blocks[2])
    add_block(1.0, blocks[2], out, 3, 3)
    for i in range(3):
        out[i, i] = m
        for j in range(3):
            out[i, 3 + j] = -blocks[1][i, j]
            out[3 + j, i] = -blocks[1][i, j]
    for k in range(n):
        s = each[k, SJ : SJ + 3]
        for i in range(3):
            out[i, 6 + k] = axes[i, 0] * s[0] + axes[i, 1] * s[1] + axes[i, 2] * s[2]
            out[3 + i, 6 + k] = each[k, CJ + i]
            out[6 + k, i], out[6 + k, 3 + i] = out[i, 6 + k], out[3 + i, 6 + k]
        for j in range(n):
            out[6 + k, 6 + j] = pairs[MASS, k, j]


@inlined
def by_velocities(of, at, body, each, work, blocks, out):
    """out (6 + n, 6 + n) = derivatives by velocities, equation (9)."""
    axes, pairs, quad, omega, n = at.axes[0], of.pairs, of.quad, at.motion[0, OMEGA], each.shape[0]
    out[:, :] = 0.0
    # -(omega x s)~ - omega~ s~ - 2 sdot~, and the torque
    cross(omega, body[S, :3], work[0])
    six_times(body[J], omega, work[1])
    for o in range(3):
        work[0, o] = -work[0, o] - 2.0 * body[S_RATE, o]
        work[1, o] = -work[1, o] - body[C_RATE, o]
    skew(work[0], blocks[0])
    skew(omega, blocks[1])
    skew(body[S, :3], blocks[2])
    add_product(-1.0, blocks[1], blocks[2], blocks[0])
    product(axes, blocks[0], blocks[3])
    add_block(1.0, blocks[3], out, 0, 3)
    skew(work[1], blocks[0])
    six_to_matrix(body[J], blocks[2])
    add_product(1.0, blocks[1], blocks[2], blocks[0])
    six_to_matrix(body[J_RATE], blocks[2])
    add_block(1.0, blocks[0], out, 3, 3)
    add_block(1.0, blocks[2], out, 3, 3)
    for k in range(n):
        e = each[k]
        cross(omega, e[SJ : SJ + 3], work[0])
        cross(omega, e[CJ : CJ + 3], work[1])
        six_times(e[JJ : JJ + 6], omega, work[2])
        for o in range(3):
            work[0, o] = 2.0 * (work[0, o] + e[SD + o])
            out[3 + o, 6 + k] = work[2, o] + e[Q_FIRST + o] + e[Q_SECOND + o] + work[1, o]
            out[6 + k, 3 + o] = e[Q_FIRST + o] - e[Q_SECOND + o] - work[2, o]
        rotate(axes, work[0], work[3])
        for o in range(3):
            out[o, 6 + k] = work[3, o]
        for j in range(n):
            out[6 + k, 6 + j] = pairs[DAMPING, k, j]
    for j in range(quad.shape[0]):
        for k in range(n):
            x = dot(omega, quad[k, j, Q : Q + 3]) - dot(omega, quad[j, k, Q : Q + 3])
            out[6 + j, 6 + k] += x


@inlined
def by_positions(of, at, body, each, acc, force, work, blocks, out):
    """out (6 + n, 6 + n) = derivatives by a rotation of the body and by the coordinates, equation (10).

    force (3,) : F_b, body axes.
    """
    m, axes, pairs, quad, eta, n = of.rigid[0], at.axes[0], of.pairs, of.quad, at.eta, each.shape[0]
    omega, alpha = at.motion[0, OMEGA], at.motion[0, ALPHA]
    out[:, :] = 0.0
    for o in range(3):
        work[0, o] = m * acc[o] - force[o]
    skew(work[0], blocks[0])
    product(axes, blocks[0], blocks[1])
    add_block(1.0, blocks[1], out, 0, 3)
    skew(acc, blocks[0])
    skew(body[S, :3], blocks[1])
    product(blocks[1], blocks[0], blocks[2])
    add_block(1.0, blocks[2], out, 3, 3)
    for k in range(n):
        e = each[k]
        s = e[SJ : SJ + 3]
        six_times(e[JJ : JJ + 6], omega, work[0])
        six_times(e[JD : JD + 6], omega, work[1])
        six_times(e[JJ : JJ + 6], alpha, work[2])
        cross(s, acc, work[3])
        for o in range(3):
            out[6 + k, 3 + o] = work[3, o]
            work[0, o] += e[Q_SECOND + o]
            work[3, o] += work[1, o] + work[2, o]
        cross(omega, work[0], work[1])
        for o in range(3):
            out[3 + o, 6 + k] = work[3, o] + work[1, o]
        cross(omega, s, work[0])
        for o in range(3):
            work[0, o] += 2.0 * e[SD + o]
        cross(omega, work[0], work[1])
        cross(alpha, s, work[2])
        for o in range(3):
            work[4, o] = work[1, o] + work[2, o]
        for j in range(n):
            out[6 + k, 6 + j] += pairs[STIFFNESS, k, j]
        for j in range(quad.shape[0]):
            # S2_jk etaddot_j and Q_kj etaddot_j; the rows of N
            pair = quad[k, j]
            six_times(pair[J2 : J2 + 6], omega, work[0])
            out[6 + k, 6 + j] += dot(pair[S2 : S2 + 3], acc) - 0.5 * dot(omega, work[0])
            out[6 + j, 6 + k] += dot(pair[Q : Q + 3], alpha)
            for o in range(3):
                work[4, o] += pair[S2 + o] * eta[2, j]
                out[3 + o, 6 + k] += pair[Q + o] * eta[2, j]
        rotate(axes, work[4], work[5])
        for o in range(3):
            out[o, 6 + k] = work[5, o]


# Kernels: the rows of the coordinates measured at interfaces by the motion of their stations; equations (14), (17).
#
# Columns: velocity, inertial axes, and angular velocity, axes of the station, of every station; then the modes.


@inlined
def measured_rows(of, at, W, blocks):
    """W (6 (k - 1), columns) : rates of the measured coordinates, equation (14); blocks (8, 3, 3): workspace."""
    rests, axes, relative, turns = of.rests, at.axes, at.relative, at.turns
    W[:, :] = 0.0
    B, inverse = blocks[0], blocks[1]
    for s in range(1, rests.shape[0]):
        row = 6 * (s - 1)
        w, A, C = relative[s], rests[s, AT_REST], turns[s]
        skew(w[X], blocks[2])
        add_block(1.0, blocks[2], W, row, 3)
        turn_rates(w[THETA], 1.0, B, inverse)
        for i in range(3):
            for j in range(3):
                W[row + i, j] = -axes[0, j, i]
                W[row + i, 6 * s + j] = axes[0, j, i]
                x, y = 0.0, 0.0
                for k in range(3):
                    x += inverse[i, k] * C[j, k]
                    y += inverse[i, k] * A[k, j]
                W[row + 3 + i, 3 + j] = -x
                W[row + 3 + i, 6 * s + 3 + j] = y


@inlined
def rate_changes(at, W, E_q, E_v, E_a, blocks, work):
    """Derivatives of the rates by displacements, E_q, and of the second rates by velocities, E_v, and displacements,
    E_a: equation (17), and (13) differentiated likewise. All as W; blocks (8, 3, 3), work (6, 3): workspace."""
    motion, relative, turns, x = at.motion, at.relative, at.turns, at.x
    columns = W.shape[1]
    E_q[:, :] = 0.0
    E_v[:, :] = 0.0
    E_a[:, :] = 0.0
    omega, alpha = motion[0, OMEGA], motion[0, ALPHA]
    B, inverse = blocks[0], blocks[1]
    for s in range(1, relative.shape[0]):
        row = 6 * (s - 1)
        w, C = relative[s], turns[s]
        turned, theta, rate = w[TURNED], w[THETA], x[1, row + 3 : row + 6]
        h, rest = w[SCALARS, 0], w[SCALARS, 1]
        # displacements
        skew(omega, blocks[2])
        skew(w[DV], blocks[3])
        add_block(1.0, blocks[3], E_q, row, 3)
        add_block_rows(-1.0, blocks[2], W, row, columns, E_q, row)
        cross(omega, w[X], work[0])
        for o in range(3):
            work[0, o] += 2.0 * x[1, row + o]
        skew(work[0], blocks[3])
        skew(w[X], blocks[4])
        add_product(1.0, blocks[2], blocks[4], blocks[3])
        add_block(1.0, blocks[3], E_v, row, 3)
        add_block_rows(-2.0, blocks[2], W, row, columns, E_v, row)
        skew(w[DA], blocks[3])
        add_block(1.0, blocks[3], E_a, row, 3)
        skew(alpha, blocks[3])
        add_product(1.0, blocks[2], blocks[2], blocks[3])
        add_block_rows(-1.0, blocks[3], W, row, columns, E_a, row)
        add_block_rows(-2.0, blocks[2], E_q, row, columns, E_a, row)
        # rotations
        turn_rates(theta, 1.0, B, inverse)
        skew(turned, blocks[2])
        product(inverse, blocks[2], blocks[3])
        product(blocks[3], B, blocks[4])  # B^-1 c~ B
        blocks[5][:, :] = 0.0
        add_half_turn_rate(theta, w[Y], blocks[5])
        for i in range(3):
            for j in range(3):
                blocks[5][i, j] -= blocks[4][i, j]
        add_block_rows(1.0, blocks[5], W, row + 3, columns, E_q, row + 3)
        # of the second rates by the rates: theta' theta^T/(2 (1 + tau)) + h 1
        blocks[5][:, :] = 0.0
        add_outer(0.5 / rest, rate, theta, blocks[5])
        add_diagonal(h, blocks[5])
        add_block_rows(1.0, blocks[5], E_q, row + 3, columns, E_a, row + 3)
        for i in range(3):
            for j in range(3):
                blocks[5][i, j] -= blocks[4][i, j]
        add_block_rows(1.0, blocks[5], W, row + 3, columns, E_v, row + 3)
        skew(w[Y], blocks[5])
        product(inverse, blocks[5], blocks[6])
        for i in range(3):
            for j in range(3):
                blocks[7][i, j] = C[j, i]
        product(blocks[6], blocks[7], blocks[4])
        add_block(1.0, blocks[4], E_v, row + 3, 3)
        # B^-1 (-e~ + c~ c~ + y~ c~) B, the change of B^-1 at constant g, and that of h
        skew(w[TURNED_ALPHA], blocks[4])
        for i in range(3):
            for j in range(3):
                blocks[4][i, j] = -blocks[4][i, j]
                blocks[5][i, j] += blocks[2][i, j]
        add_product(1.0, blocks[5], blocks[2], blocks[4])
        product(inverse, blocks[4], blocks[3])
        product(blocks[3], B, blocks[4])
        add_half_turn_rate(theta, w[G], blocks[4])
        add_outer(0.5 / rest, rate, rate, blocks[4])
        add_outer(-0.5 * h / rest, rate, theta, blocks[4])
        add_block_rows(1.0, blocks[4], W, row + 3, columns, E_a, row + 3)


@inlined
def strained_rows(psi2, x, W, E_q, E_v, E_a, J, P_q, P_v, P_a):
    """J, P_q, P_v, P_a : the same of the coordinates that move the mass but are no modes, equations (20), (21)."""
    first, columns = W.shape
    n = x.shape[1]
    bends = psi2.shape[0] - (J.shape[0] - first)
    for i in range(J.shape[0]):
        for j in range(columns):
            if i < first:
                J[i, j], P_q[i, j], P_v[i, j], P_a[i, j] = W[i, j], E_q[i, j], E_v[i, j], E_a[i, j]
            else:
                J[i, j], P_q[i, j], P_v[i, j], P_a[i, j] = 0.0, 0.0, 0.0, 0.0
    modes = 6 + first  # the first column of the modes
    for p in range(psi2.shape[0]):
        at = bent_coordinate(p, bends, first)
        for m in range(n):
            by, by_rate, by_acc = 0.0, 0.0, 0.0
            for o in range(n):
                by += psi2[p, m, o] * x[0, o]
                by_rate += psi2[p, m, o] * x[1, o]
                by_acc += psi2[p, m, o] * x[2, o]
            if m >= first:
                j = modes + m - first
                J[at, j] -= by
                P_q[at, j] -= by_rate
                P_v[at, j] -= 2.0 * by_rate
                P_a[at, j] -= by_acc
                continue
            for j in range(modes):
                J[at, j] -= by * W[m, j]
                P_q[at, j] -= by * E_q[m, j] + by_rate * W[m, j]
                P_v[at, j] -= by * E_v[m, j] + 2.0 * by_rate * W[m, j]
                P_a[at, j] -= by * E_a[m, j] + by_acc * W[m, j] + 2.0 * by_rate * E_q[m, j]


@inlined
def add_matrices(of, groups, with_mass, with_tangent, offset, stride, q, v, a, mass, damping, stiffness):
    """Add the mass, d(residual)/dv and d(residual)/dq H at every state to block data (s, size).

    groups : first rows and sizes (g,). Returns -1, or the number of an interface whose rotation relative to the root
    has reached half a turn.
    """
    k, n, size, (starts, sizes) = of.stations.shape[0], of.psi2.shape[1], of.linear.shape[0], groups
    first, p, z = 6 * (k - 1), 6 + size, 6 + n
    at, at_stations = empty_motion(of, np.empty((3, size))), np.empty((k, 2, 3))
    body, each = np.empty((8, 6)), np.empty((size, WIDTH))
    work, wrench, N, f, acc = np.empty((6, 3)), np.empty((2, 3)), np.empty(size), np.empty(n), np.empty(3)
    blocks, rows, strained = np.empty((8, 3, 3)), np.empty((4, first, z)), np.empty((4, first + size - n, z))
    W, E_q, E_v, E_a, bends = rows[0], rows[1], rows[2], rows[3], of.psi2.shape[0] - (size - n)
    J, P_q, P_v, P_a = strained[0], strained[1], strained[2], strained[3]
    inner, between, M, C, K = np.empty((p, p)), np.empty((p, z)), np.empty((z, z)), np.empty((z, z)), np.empty((z, z))
    every = np.ones(3)
    for state in range(q.shape[0]):
        bad = measured(of, q[state], v[state], a[state], at)
        if bad > 0:
            return bad
        moments(of, at.eta, body, each)
        M[:, :], C[:, :], K[:, :] = 0.0, 0.0, 0.0
        measured_rows(of, at, W, blocks)
        if with_tangent:
            rate_changes(at, W, E_q, E_v, E_a, blocks, work)
        else:
            E_q[:, :], E_v[:, :], E_a[:, :] = 0.0, 0.0, 0.0
        strained_rows(of.psi2, at.x, W, E_q, E_v, E_a, J, P_q, P_v, P_a)

        mass_matrix(of, at, body, each, blocks, inner)
        right_times(inner, J, first, between)
        left_times(J, between, first, M)
        if with_tangent:
            less_gravity(at.axes[0], at.motion[0, ACC], of.gravity, work[0], acc)
            between[:, :] = 0.0
            times_changes(inner, P_v, first, between)
            left_times(J, between, first, C)
            between[:, :] = 0.0
            times_changes(inner, P_a, first, between)
            left_times(J, between, first, K)
            by_velocities(of, at, body, each, work, blocks, inner)
            right_times(inner, J, first, between)
            left_times(J, between, first, C)
            between[:, :] = 0.0
            times_changes(inner, P_q, first, between)
            left_times(J, between, first, K)
            inner_force(of, at, body, each, acc, every, work, wrench, N)
            by_positions(of, at, body, each, acc, wrench[0], work, blocks, inner)
            right_times(inner, J, first, between)
            left_times(J, between, first, K)
            by_measured(of.psi2, at.x, N, f)
            if of.psi2.shape[0]:
                inner[:, :] = 0.0
                add_bends(of.psi2, N, bends, n, inner)
                right_times(inner, W, first, between)
                left_times(W, between, first, K)
            turned_forces(of, at, W, f, blocks, work, K)
            station_forces(of, at, wrench, f, work, at_stations)
        for s in range(k):
            if of.stations[s, OFF] != 0.0:
                to_frame(of, at, s, at_stations[s], work, blocks, M, C, K)
        if with_mass:
            scatter(M, starts, sizes, offset[0], stride[0], mass[state])
        if with_tangent:
            scatter(C, starts, sizes, offset[0], stride[0], damping[state])
            scatter(K, starts, sizes, offset[0], stride[0], stiffness[state])
    return -1


@kernel_with_entry
def matrices(of, groups, with_mass, with_tangent, offset, stride, q, v, a, mass, damping, stiffness):
    """``add_matrices``."""
    return add_matrices(of, groups, with_mass, with_tangent, offset, stride, q, v, a, mass, damping, stiffness)


@kernel_with_entry
def add_masses(of, groups, still, offset, stride, q, mass):
    """Add the mass at every state to block data (s, size); returns as ``matrices``. still (1, n) : velocities, zero."""
    for state in range(q.shape[0]):
        one, here = mass[state : state + 1], q[state : state + 1]
        bad = add_matrices(of, groups, True, False, offset, stride, here, still, still, one, one, one)
        if bad > 0:
            return bad
    return -1


@inlined
def add_bends(psi2, force, bends, n, inner):
    """inner (6 + n, 6 + n) -= the change of the forces on the measured coordinates (n,), by those on what bends."""
    for p in range(psi2.shape[0]):
        on = force[bent_coordinate(p, bends, n)]
        for i in range(n):
            for j in range(n):
                inner[6 + i, 6 + j] -= on * psi2[p, i, j]


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
def turned_forces(of, at, W, f, blocks, work, K):
    """K += the change of the forces on the stations with their positions at constant f, equation (16)."""
    rests, axes, relative, turns = of.rests, at.axes, at.relative, at.turns
    B, inverse, dB = blocks[0], blocks[1], blocks[2]
    z = K.shape[0]
    for s in range(1, rests.shape[0]):
        row = 6 * (s - 1)
        theta, force, torque = relative[s, THETA], f[row : row + 3], f[row + 3 : row + 6]
        skew(force, blocks[3])
        product(axes[0], blocks[3], blocks[4])
        add_block(1.0, blocks[4], K, 0, 3)
        add_block(-1.0, blocks[4], K, 6 * s, 3)
        add_block_rows(1.0, blocks[3], W, row, z, K, 3)
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
        add_block_rows(1.0, blocks[5], W, row + 3, z, K, 3)
        A = rests[s, AT_REST]
        blocks[6][:, :] = 0.0
        for i in range(3):
            for j in range(3):
                for m in range(3):
                    blocks[6][i, j] += A[m, i] * dB[m, j]
        add_block_rows(1.0, blocks[6], W, row + 3, z, K, 6 * s + 3)


@inlined
def to_frame(of, at, s, force, work, blocks, M, C, K):
    """Change the rows and columns of one station into those of its frame, at an offset d with other axes."""
    d, z, row = of.stations[s, OFFSET : OFFSET + 3], K.shape[0], 6 * s
    turned, frame, w = of.rests[s, IN_FRAME], at.frames[s], at.motion[s]
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
                work[0, j] += M[i, row + 3 + m] * turned[j, m] - M[i, row + m] * blocks[5][m, j]
                work[1, j] += (
                    C[i, row + 3 + m] * turned[j, m] - C[i, row + m] * blocks[5][m, j] - M[i, row + m] * blocks[3][m, j]
                )
                work[2, j] += (
                    K[i, row + 3 + m] * turned[j, m] - K[i, row + m] * blocks[5][m, j]
                    - C[i, row + m] * blocks[1][m, j] - M[i, row + m] * blocks[4][m, j]
                )  # fmt: skip
        for j in range(3):
            M[i, row + 3 + j], C[i, row + 3 + j], K[i, row + 3 + j] = work[0, j], work[1, j], work[2, j]
    for i in range(z):
        for j in range(3):
            work[0, j], work[1, j], work[2, j] = 0.0, 0.0, 0.0
            for m in range(3):
                work[0, j] += turned[j, m] * M[row + 3 + m, i] - blocks[5][m, j] * M[row + m, i]
                work[1, j] += turned[j, m] * C[row + 3 + m, i] - blocks[5][m, j] * C[row + m, i]
                work[2, j] += turned[j, m] * K[row + 3 + m, i] - blocks[5][m, j] * K[row + m, i]
        for j in range(3):
            M[row + 3 + j, i], C[row + 3 + j, i], K[row + 3 + j, i] = work[0, j], work[1, j], work[2, j]
    # the arm of the force
    rotate_back(frame, force[0], work[0])
    skew(work[0], blocks[0])
    product(blocks[2], blocks[0], blocks[1])
    add_block(1.0, blocks[1], K, row + 3, row + 3)

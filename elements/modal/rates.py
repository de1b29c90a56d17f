"""Kernels: the rows of the coordinates measured at interfaces by the motion of their stations; equations (22), (25).

Columns: velocity, inertial axes, and angular velocity, axes of the station, of every station; then the modes.
"""

from femb.elements.modal.columns import (
    ALPHA,
    AT_REST,
    DA,
    DV,
    OMEGA,
    SCALARS,
    THETA,
    TURNED,
    TURNED_ALPHA,
    G,
    X,
    Y,
)  # fmt: skip
from femb.elements.modal.motion import bent_coordinate
from femb.elements.modal.small_matrices import (
    add_block,
    add_block_rows,
    add_diagonal,
    add_half_turn_rate,
    add_outer,
    add_product,
    skew,
    turn_rates,
)  # fmt: skip
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, product


@inlined
def measured_rows(rests, axes, relative, turns, W, blocks):
    """W (6 (k - 1), columns) : rates of the measured coordinates, equation (22); blocks (8, 3, 3): workspace."""
    W[:, :] = 0.0
    B, inverse = blocks[0], blocks[1]
    for s in range(1, rests.shape[0]):
        at = 6 * (s - 1)
        w, A, C = relative[s], rests[s, AT_REST], turns[s]
        skew(w[X], blocks[2])
        add_block(1.0, blocks[2], W, at, 3)
        turn_rates(w[THETA], 1.0, B, inverse)
        for i in range(3):
            for j in range(3):
                W[at + i, j] = -axes[0, j, i]
                W[at + i, 6 * s + j] = axes[0, j, i]
                x, y = 0.0, 0.0
                for k in range(3):
                    x += inverse[i, k] * C[j, k]
                    y += inverse[i, k] * A[k, j]
                W[at + 3 + i, 3 + j] = -x
                W[at + 3 + i, 6 * s + 3 + j] = y


@inlined
def rate_changes(motion, relative, turns, x, W, E_q, E_v, E_a, blocks, work):
    """Derivatives of the rates by displacements, E_q, and of the second rates by velocities, E_v, and displacements,
    E_a: equation (25), and (21) differentiated likewise. All as W; blocks (8, 3, 3), work (6, 3): workspace."""
    columns = W.shape[1]
    E_q[:, :] = 0.0
    E_v[:, :] = 0.0
    E_a[:, :] = 0.0
    omega, alpha = motion[0, OMEGA], motion[0, ALPHA]
    B, inverse = blocks[0], blocks[1]
    for s in range(1, relative.shape[0]):
        at = 6 * (s - 1)
        w, C = relative[s], turns[s]
        turned, theta, rate = w[TURNED], w[THETA], x[1, at + 3 : at + 6]
        h, rest = w[SCALARS, 0], w[SCALARS, 1]
        # displacements
        skew(omega, blocks[2])
        skew(w[DV], blocks[3])
        add_block(1.0, blocks[3], E_q, at, 3)
        add_block_rows(-1.0, blocks[2], W, at, columns, E_q, at)
        cross(omega, w[X], work[0])
        for o in range(3):
            work[0, o] += 2.0 * x[1, at + o]
        skew(work[0], blocks[3])
        skew(w[X], blocks[4])
        add_product(1.0, blocks[2], blocks[4], blocks[3])
        add_block(1.0, blocks[3], E_v, at, 3)
        add_block_rows(-2.0, blocks[2], W, at, columns, E_v, at)
        skew(w[DA], blocks[3])
        add_block(1.0, blocks[3], E_a, at, 3)
        skew(alpha, blocks[3])
        add_product(1.0, blocks[2], blocks[2], blocks[3])
        add_block_rows(-1.0, blocks[3], W, at, columns, E_a, at)
        add_block_rows(-2.0, blocks[2], E_q, at, columns, E_a, at)
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
        add_block_rows(1.0, blocks[5], W, at + 3, columns, E_q, at + 3)
        # of the second rates by the rates: theta' theta^T/(2 (1 + tau)) + h 1
        blocks[5][:, :] = 0.0
        add_outer(0.5 / rest, rate, theta, blocks[5])
        add_diagonal(h, blocks[5])
        add_block_rows(1.0, blocks[5], E_q, at + 3, columns, E_a, at + 3)
        for i in range(3):
            for j in range(3):
                blocks[5][i, j] -= blocks[4][i, j]
        add_block_rows(1.0, blocks[5], W, at + 3, columns, E_v, at + 3)
        skew(w[Y], blocks[5])
        product(inverse, blocks[5], blocks[6])
        for i in range(3):
            for j in range(3):
                blocks[7][i, j] = C[j, i]
        product(blocks[6], blocks[7], blocks[4])
        add_block(1.0, blocks[4], E_v, at + 3, 3)
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
        add_block_rows(1.0, blocks[4], W, at + 3, columns, E_a, at + 3)


@inlined
def strained_rows(psi2, x, W, E_q, E_v, E_a, J, P_q, P_v, P_a):
    """J, P_q, P_v, P_a : the same of the coordinates that move the mass but are no modes, equations (29), (30)."""
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

"""Kernels: mass matrix and tangents of a body by the motion of its frame and its coordinates; (12), (14), (15).

Rows: force, inertial axes; torque, body axes; forces on the coordinates. Columns: velocity of the origin, inertial
axes; angular velocity or rotation, body axes; coordinates.
"""

from femb.elements.modal.columns import DAMPING, J2, MASS, S2, STIFFNESS, Q
from femb.elements.modal.inertia import (
    C_RATE,
    CJ,
    J_RATE,
    JD,
    JJ,
    Q_FIRST,
    Q_SECOND,
    S_RATE,
    SD,
    SJ,
    J,
    S,
)  # fmt: skip
from femb.elements.modal.small_matrices import add_block, add_product, six_times, six_to_matrix, skew
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, dot, product, rotate


@inlined
def mass_matrix(m, axes, pairs, body, each, blocks, out):
    """out (6 + n, 6 + n) = the mass matrix, equation (12). blocks (4, 3, 3) : workspace."""
    n = each.shape[0]
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
def by_velocities(axes, pairs, quad, body, each, omega, work, blocks, out):
    """out (6 + n, 6 + n) = derivatives by velocities, equation (14)."""
    n = each.shape[0]
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
def by_positions(m, axes, pairs, quad, eta, body, each, acc, omega, alpha, force, work, blocks, out):
    """out (6 + n, 6 + n) = derivatives by a rotation of the body and by the coordinates, equation (15).

    force (3,) : F_b, body axes.
    """
    n = each.shape[0]
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

"""Kernels: mass moments of the deformed body, and the force of inertia and elasticity; equations (6), (9) to (11)."""

import numpy as np

from femb.base.types import Floats
from femb.elements.modal.columns import C0, DAMPING, J1, J2, MASS, S1, S2, STIFFNESS, Q
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import cross, dot

# Kernels over 3 x 3 matrices, and blocks of them in larger ones.


@inlined
def skew(x, out):
    """out = x~."""
    out[0, 0], out[0, 1], out[0, 2] = 0.0, -x[2], x[1]
    out[1, 0], out[1, 1], out[1, 2] = x[2], 0.0, -x[0]
    out[2, 0], out[2, 1], out[2, 2] = -x[1], x[0], 0.0


@inlined
def add_product(factor, A, B, out):
    """out += factor A B; out may be neither."""
    for i in range(3):
        for j in range(3):
            out[i, j] += factor * (A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j])


@inlined
def add_outer(factor, a, b, out):
    """out += factor a b^T."""
    for i in range(3):
        for j in range(3):
            out[i, j] += factor * a[i] * b[j]


@inlined
def add_diagonal(factor, out):
    """out += factor 1."""
    for i in range(3):
        out[i, i] += factor


@inlined
def add_half_turn_rate(theta, y, out):
    """out += d(B^-1 y)/dtheta = -y~/2 + ((theta . y) 1 + theta y^T)/4; with -y~, d(B^-T y)/dtheta."""
    along = 0.25 * (theta[0] * y[0] + theta[1] * y[1] + theta[2] * y[2])
    for i in range(3):
        for j in range(3):
            out[i, j] += 0.25 * theta[i] * y[j]
        out[i, i] += along
    out[0, 1] += 0.5 * y[2]
    out[0, 2] -= 0.5 * y[1]
    out[1, 0] -= 0.5 * y[2]
    out[1, 2] += 0.5 * y[0]
    out[2, 0] += 0.5 * y[1]
    out[2, 1] -= 0.5 * y[0]


@inlined
def turn_rates(theta, sign, B, inverse):
    """B = (1 - theta~/2)/(1 + tau) and its inverse 1 + theta~/2 + theta theta^T/4, equation (16); sign 1.

    With sign -1, their transposes.
    """
    tau = 0.25 * (theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    skew(theta, B)
    for i in range(3):
        for j in range(3):
            half = 0.5 * sign * B[i, j]
            inverse[i, j] = half + 0.25 * theta[i] * theta[j]
            B[i, j] = -half / (1.0 + tau)
        inverse[i, i] += 1.0
        B[i, i] += 1.0 / (1.0 + tau)


@inlined
def add_block_rows(factor, A, rows, at, columns, out, row):
    """out[row : row + 3, :columns] += factor A rows[at : at + 3, :columns]."""
    for i in range(3):
        for k in range(3):
            x = factor * A[i, k]
            for j in range(columns):
                out[row + i, j] += x * rows[at + k, j]


@inlined
def add_block(factor, A, out, row, column):
    """out[row : row + 3, column : column + 3] += factor A."""
    for i in range(3):
        for j in range(3):
            out[row + i, column + j] += factor * A[i, j]


@inlined
def six_times(J, x, out):
    """out = J x for a symmetric J of six numbers."""
    out[0] = J[0] * x[0] + J[5] * x[1] + J[4] * x[2]
    out[1] = J[5] * x[0] + J[1] * x[1] + J[3] * x[2]
    out[2] = J[4] * x[0] + J[3] * x[1] + J[2] * x[2]


@inlined
def six_to_matrix(J, out):
    """out (3, 3) of six numbers."""
    out[0, 0], out[1, 1], out[2, 2] = J[0], J[1], J[2]
    out[1, 2], out[2, 1] = J[3], J[3]
    out[0, 2], out[2, 0] = J[4], J[4]
    out[0, 1], out[1, 0] = J[5], J[5]


# The moments of the body, rows of (8, 6): s, its rate, its second rate; J, its rate; the sums C etadot, C etaddot and
# Q etadot etadot.
S, S_RATE, S_ACC, J, J_RATE, C_RATE, C_ACC, Q_SUM = range(8)
# Vectors of every coordinate, columns of (n, 27): s_j, S2 etadot, C_j, sums of Q_kj etadot_k and of Q_jk etadot_k,
# J_j, J2 etadot.
SJ, SD, CJ, Q_FIRST, Q_SECOND, JJ, JD = 0, 3, 6, 9, 12, 15, 21
WIDTH = 27


@inlined
def moments(rigid, linear, quad, eta, body, each):
    """The moments ``body`` (8, 6), and those of every coordinate, ``each`` (n, 27), at eta (3, n); equation (6)."""
    n = linear.shape[0]
    for j in range(n):
        for o in range(3):
            each[j, SJ + o] = linear[j, S1 + o]
            each[j, SD + o] = 0.0
            each[j, CJ + o] = linear[j, C0 + o]
            each[j, Q_FIRST + o] = 0.0
            each[j, Q_SECOND + o] = 0.0
        for o in range(6):
            each[j, JJ + o] = linear[j, J1 + o]
            each[j, JD + o] = 0.0
    for j in range(quad.shape[0]):
        e = each[j]
        for k in range(n):
            x, y = eta[0, k], eta[1, k]
            pair = quad[j, k]
            for o in range(3):
                e[SJ + o] += pair[S2 + o] * x
                e[SD + o] += pair[S2 + o] * y
                e[Q_SECOND + o] += pair[Q + o] * y
                each[k, CJ + o] += pair[Q + o] * eta[0, j]
                each[k, Q_FIRST + o] += pair[Q + o] * eta[1, j]
            for o in range(6):
                e[JJ + o] += pair[J2 + o] * x
                e[JD + o] += pair[J2 + o] * y
    for o in range(6):
        body[S, o] = rigid[1 + o] if o < 3 else 0.0
        body[J, o] = rigid[4 + o]
        for row in (S_RATE, S_ACC, J_RATE, C_RATE, C_ACC, Q_SUM):
            body[row, o] = 0.0
    for j in range(n):
        x, y, z, e = eta[0, j], eta[1, j], eta[2, j], each[j]
        for o in range(3):
            body[S, o] += 0.5 * (linear[j, S1 + o] + e[SJ + o]) * x
            body[S_RATE, o] += e[SJ + o] * y
            body[S_ACC, o] += e[SJ + o] * z + e[SD + o] * y
            body[C_RATE, o] += e[CJ + o] * y
            body[C_ACC, o] += e[CJ + o] * z
            body[Q_SUM, o] += e[Q_FIRST + o] * y
        for o in range(6):
            body[J, o] += 0.5 * (linear[j, J1 + o] + e[JJ + o]) * x
            body[J_RATE, o] += e[JJ + o] * y


@inlined
def inner_force(m, pairs, eta, body, each, acc, omega, alpha, inertial, elastic, damped, work, wrench, N):
    """Force, torque about the origin, body axes (2, 3), and forces N (n,) on the coordinates; equations (9) to (11).

    acc : acceleration of the origin less gravity, body axes. inertial, elastic and damped are factors of the terms.
    work (6, 3).
    """
    s, momentum = body[S, :3], work[0]
    cross(omega, s, work[1])
    cross(omega, work[1], work[2])
    cross(omega, body[S_RATE, :3], work[3])
    cross(alpha, s, work[4])
    for o in range(3):
        wrench[0, o] = inertial * (m * acc[o] + work[4, o] + work[2, o] + 2.0 * work[3, o] + body[S_ACC, o])
    cross(s, acc, work[1])
    six_times(body[J], alpha, work[2])
    six_times(body[J_RATE], omega, work[3])
    six_times(body[J], omega, momentum)
    for o in range(3):
        momentum[o] += body[C_RATE, o]
    cross(omega, momentum, work[4])
    for o in range(3):
        wrench[1, o] = inertial * (work[1, o] + work[2, o] + work[3, o] + body[C_ACC, o] + body[Q_SUM, o] + work[4, o])
    for j in range(N.size):
        e = each[j]
        x = 0.0
        if inertial != 0.0:
            six_times(e[JJ : JJ + 6], omega, work[1])
            for o in range(3):
                x += e[SJ + o] * acc[o] + e[CJ + o] * alpha[o] + omega[o] * (e[Q_FIRST + o] - e[Q_SECOND + o])
            x -= 0.5 * dot(omega, work[1])
        for k in range(N.size):
            x += (
                inertial * pairs[MASS, j, k] * eta[2, k]
                + elastic * pairs[STIFFNESS, j, k] * eta[0, k]
                + damped * pairs[DAMPING, j, k] * eta[1, k]
            )
        N[j] = x


# Second moments B = int a b^T dm of vector fields, and the inertia and twist that are made of them.
#
# Source: docs/theory/modal_body.md, section 1.


def symmetric(a: Floats) -> Floats:
    """The symmetric part by the last two axes."""
    return np.asarray(0.5 * (a + np.swapaxes(a, -1, -2)))


def axial(B: Floats) -> Floats:
    """(..., 3): the vector (B_23 - B_32, B_31 - B_13, B_12 - B_21) of B (..., 3, 3)."""
    forward, back = B[..., [1, 2, 0], [2, 0, 1]], B[..., [2, 0, 1], [1, 2, 0]]
    return np.asarray(forward - back)


def inertia_of(P: Floats) -> Floats:
    """I(P) = tr(P) 1 - (P + P^T)/2 of P (..., 3, 3)."""
    return np.asarray(np.trace(P, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - symmetric(P))


def product_of(inertia: Floats, twist: Floats) -> Floats:
    """B (..., 3, 3) of 2 I(B) and ax(B)."""
    trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(0.25 * trace * np.eye(3) - 0.5 * inertia - 0.5 * np.cross(np.eye(3), twist[..., None, :]))

"""Kernels: mass moments of the deformed body, and the force of inertia and elasticity; equations (6), (9) to (11)."""

from femb.elements.modal.columns import C0, DAMPING, J1, J2, MASS, S1, S2, STIFFNESS, Q
from femb.elements.modal.small_matrices import six_times
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, dot

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

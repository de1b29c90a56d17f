"""Kernels of flexible bodies: inertia, motion of the interfaces, and the force on these and on the modes.

Source: docs/theory/modal_body.md, equations (2) to (15).
"""

from typing import NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import IN_Q, IN_V, add_point_force, cross, dot, rotate, rotate_back, rotation

# Columns of the arrays that the kernels of flexible bodies take.
#
# For a body with k interfaces, n coordinates and m modes: index (k + 1, 3) int: a row
# ``femb.elements.frame_index.frame_indices`` of the frame of each interface; last the first mode in q and in v.
# stations (k, 7): whether the interface is off its frame, its offset in the frame, its position at rest in the body
# frame. rests (k, 2, 3, 3): its axes in the frame, and at rest in the body frame. rigid (10,): mass, first moment,
# inertia at rest. linear (n, 12): S1, C0, J1. pairs (3, n, n): M, K, D. quad (n, n, 12): S2, Q, J2, or (0, 0, 12) for
# coupling "constant". psi2 (p, n, n), p = 3 (k - 1) or 0, and N - n more. Symmetric 3 x 3 matrices are six numbers:
# xx, yy, zz, yz, xz, xy.
#
# Coordinates: the kernels take the n that are measured, x, and N >= n that move the mass, eta: those that strain the
# body, and last the N - n amplitudes of displacements of second order. linear, pairs and quad are of the N. The last
# N - n matrices of psi2 give these amplitudes, the others the displacements of interfaces: eta_i = x_i - x psi2 x / 2.

OFF, OFFSET, POINT = 0, 1, 4
IN_FRAME, AT_REST = 0, 1
S1, C0, J1 = 0, 3, 6
MASS, STIFFNESS, DAMPING = 0, 1, 2
S2, Q, J2 = 0, 3, 6

# The motion of a station, rows of (8, 3): position, velocity and acceleration, inertial axes; angular velocity and
# acceleration in its axes; relative to the frame, in its axes: omega x d, the acceleration alpha x d + omega x
# (omega x d), omega.
R, RATE, ACC, OMEGA, ALPHA, ARM_RATE, ARM_ACC, FRAME_OMEGA = range(8)

# The relative motion of an interface, rows of (9, 3): x, theta; difference of velocities and of accelerations in body
# axes; y, c = C^T omega, e = C^T alpha, g of equation (13); h and 1 + tau, one number each.
X, THETA, DV, DA, Y, TURNED, TURNED_ALPHA, G, SCALARS = range(9)


class BodyArrays(NamedTuple):
    """A body, as kernels take it: its arrays, see above (places is index), fixed poses, and gravity (3,), m/s2."""

    places: Ints
    stations: Floats
    rests: Floats
    rigid: Floats
    linear: Floats
    pairs: Floats
    quad: Floats
    psi2: Floats
    fixed: Floats
    gravity: Floats


class BodyMotion(NamedTuple):
    """The motion of a body at a state: axes of the frames and of the stations, and C (k, 3, 3); motion of the stations
    and relative motion of the interfaces, see above; coordinates x (3, n) and eta (3, N) with two rates."""

    frames: Floats
    axes: Floats
    turns: Floats
    motion: Floats
    relative: Floats
    x: Floats
    eta: Floats


def six(matrix: Floats) -> Floats:
    """(..., 6) numbers of symmetric matrices (..., 3, 3)."""
    rows, columns = (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)
    packed: Floats = np.stack([matrix[..., i, j] for i, j in zip(rows, columns, strict=True)], axis=-1)
    return packed


# Kernels: mass moments of the deformed body, and the force of inertia and elasticity; equations (2), (4) to (6).

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
    """B = (1 - theta~/2)/(1 + tau) and its inverse 1 + theta~/2 + theta theta^T/4, equation (11); sign 1.

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
def moments(of, eta, body, each):
    """The moments ``body`` (8, 6), and those of every coordinate, ``each`` (n, 27), at eta (3, n); equation (2)."""
    rigid, linear, quad, n = of.rigid, of.linear, of.quad, of.linear.shape[0]
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
def inner_force(of, at, body, each, acc, factors, work, wrench, N):
    """Force, torque about the origin, body axes (2, 3), and forces N (n,) on the coordinates; equations (4) to (6).

    acc : acceleration of the origin less gravity, body axes. factors (3,) : of the terms of inertia, elasticity and
    damping. work (6, 3).
    """
    s, momentum, inertial, elastic, damped = body[S, :3], work[0], factors[0], factors[1], factors[2]
    m, pairs, eta, omega, alpha = of.rigid[0], of.pairs, at.eta, at.motion[0, OMEGA], at.motion[0, ALPHA]
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


# Kernels: the motion of the interfaces, and the coordinates of the body that follow; equations (11) to (13).

# Smallest 1 + tr C: the relative rotation of an interface stays below about 179 degrees.
LEAST_TRACE = 1e-4


@inlined
def empty_motion(of, eta):
    """Room for the motion of a body; eta (3, N) : that of its coordinates."""
    k, n = of.stations.shape[0], of.psi2.shape[1]
    axes, motion, relative = np.empty((3, k, 3, 3)), np.empty((k, 8, 3)), np.empty((k, 9, 3))
    return BodyMotion(axes[0], axes[1], axes[2], motion, relative, np.empty((3, n)), eta)


@inlined
def station_motion(of, q, v, a, at):
    """Axes of the frames, axes and motion of every station."""
    index, rests, fixed, frames, axes, motion = of.places, of.rests, of.fixed, at.frames, at.axes, at.motion
    for s in range(of.stations.shape[0]):
        i, j = index[s, IN_Q], index[s, IN_V]
        row, d, w = of.stations[s], of.stations[s, OFFSET : OFFSET + 3], motion[s]
        if i >= 0:
            rotation(q[i + 3 : i + 7], frames[s])
        else:
            rotation(fixed[-1 - i, 3:7], frames[s])
        for k in range(3):
            w[R, k] = q[i + k] if i >= 0 else fixed[-1 - i, k]
            w[RATE, k] = v[j + k] if j >= 0 else 0.0
            w[ACC, k] = a[j + k] if j >= 0 else 0.0
            w[OMEGA, k] = v[j + 3 + k] if j >= 0 else 0.0
            w[ALPHA, k] = a[j + 3 + k] if j >= 0 else 0.0
            w[FRAME_OMEGA, k] = w[OMEGA, k]
        if row[OFF] == 0.0:
            for k in range(3):
                w[ARM_RATE, k], w[ARM_ACC, k] = 0.0, 0.0
                for m in range(3):
                    axes[s, k, m] = frames[s, k, m]
            continue
        E = rests[s, IN_FRAME]
        cross(w[OMEGA], d, w[ARM_RATE])
        cross(w[ALPHA], d, w[ARM_ACC])
        ox, oy, oz = w[OMEGA, 0], w[OMEGA, 1], w[OMEGA, 2]
        bx, by, bz = w[ARM_RATE, 0], w[ARM_RATE, 1], w[ARM_RATE, 2]
        w[ARM_ACC, 0] += oy * bz - oz * by
        w[ARM_ACC, 1] += oz * bx - ox * bz
        w[ARM_ACC, 2] += ox * by - oy * bx
        F = frames[s]
        for k in range(3):
            w[R, k] += dot(F[k], d)
            w[RATE, k] += dot(F[k], w[ARM_RATE])
            w[ACC, k] += dot(F[k], w[ARM_ACC])
        ax, ay, az = w[ALPHA, 0], w[ALPHA, 1], w[ALPHA, 2]
        for k in range(3):
            w[OMEGA, k] = E[0, k] * ox + E[1, k] * oy + E[2, k] * oz
            w[ALPHA, k] = E[0, k] * ax + E[1, k] * ay + E[2, k] * az
            for m in range(3):
                axes[s, k, m] = F[k, 0] * E[0, m] + F[k, 1] * E[1, m] + F[k, 2] * E[2, m]


@inlined
def measured(of, q, v, a, at):
    """Set the motion of a body. Returns 0, or the number of an interface whose rotation relative to the root has
    reached half a turn."""
    station_motion(of, q, v, a, at)
    x, eta, psi2, k, n = at.x, at.eta, of.psi2, of.stations.shape[0], at.x.shape[1]
    first = 6 * (k - 1)
    i, j = of.places[k, IN_Q], of.places[k, IN_V]
    for m in range(n - first):
        x[0, first + m], x[1, first + m], x[2, first + m] = q[i + m], v[j + m], a[j + m]
    for s in range(1, k):
        if not interface_motion(of, at, s):
            return s
    for row in range(3):
        for m in range(eta.shape[1]):
            eta[row, m] = x[row, m] if m < n else 0.0
    bends = psi2.shape[0] - (eta.shape[1] - n)
    for p in range(psi2.shape[0]):
        at = bent_coordinate(p, bends, n)
        for m in range(n):
            bent, bent_rate = 0.0, 0.0
            for o in range(n):
                bent += psi2[p, m, o] * x[0, o]
                bent_rate += psi2[p, m, o] * x[1, o]
            eta[0, at] -= 0.5 * x[0, m] * bent
            eta[1, at] -= x[1, m] * bent
            eta[2, at] -= x[2, m] * bent + x[1, m] * bent_rate
    return 0


@inlined
def bent_coordinate(p, bends, n):
    """The coordinate that the matrix p of psi2 changes, of which the first ``bends`` are of interfaces."""
    return 6 * (p // 3) + p % 3 if p < bends else n + p - bends


@inlined
def interface_motion(of, at, s):
    """Relative displacement and rotation of one interface, and their first and second rates; equations (11), (12),
    (13). Returns whether the rotation is below half a turn."""
    A, axes, root, its_axes, its = of.rests[s, AT_REST], at.axes[0], at.motion[0], at.axes[s], at.motion[s]
    w, C, x, omega, alpha, row = at.relative[s], at.turns[s], at.x, root[OMEGA], root[ALPHA], 6 * (s - 1)
    for m in range(3):
        w[THETA, m], w[G, m], w[Y, m] = its[R, m] - root[R, m], its[RATE, m] - root[RATE, m], its[ACC, m] - root[ACC, m]
    rotate_back(axes, w[THETA], w[X])
    rotate_back(axes, w[G], w[DV])
    rotate_back(axes, w[Y], w[DA])
    # displacement: u, its rate dv - omega x x and its second rate
    cross(omega, w[X], w[TURNED])
    cross(omega, w[TURNED], w[G])
    cross(alpha, w[X], w[Y])
    for m in range(3):
        x[0, row + m] = w[X, m] - of.stations[s, POINT + m]
        x[1, row + m] = w[DV, m] - w[TURNED, m]
        x[2, row + m] = w[DA, m] - w[Y, m] - w[G, m]
    cross(omega, x[1, row : row + 3], w[G])
    for m in range(3):
        x[2, row + m] -= 2.0 * w[G, m]
    # rotation: C = R^T R_P A^T
    for m in range(3):
        for o in range(3):
            C[m, o] = 0.0
            for k in range(3):
                C[m, o] += (
                    axes[0, m] * its_axes[0, k] + axes[1, m] * its_axes[1, k] + axes[2, m] * its_axes[2, k]
                ) * A[o, k]
    trace = 1.0 + C[0, 0] + C[1, 1] + C[2, 2]
    if not trace > LEAST_TRACE:
        return False
    for m in range(3):
        o, k = (m + 1) % 3, (m + 2) % 3
        w[THETA, m] = 2.0 * (C[k, o] - C[o, k]) / trace
    theta = w[THETA]
    rotate(A, its[OMEGA], w[Y])
    rotate_back(C, omega, w[TURNED])
    rotate_back(C, alpha, w[TURNED_ALPHA])
    for m in range(3):
        w[Y, m] -= w[TURNED, m]
    times_inverse(theta, w[Y], x[1, row + 3 : row + 6])
    cross(w[Y], w[TURNED], w[SCALARS])
    rotate(A, its[ALPHA], w[G])
    for m in range(3):
        w[G, m] += w[SCALARS, m] - w[TURNED_ALPHA, m]
    times_inverse(theta, w[G], x[2, row + 3 : row + 6])
    rest = 1.0 + 0.25 * dot(theta, theta)
    h = 0.5 * dot(theta, x[1, row + 3 : row + 6]) / rest
    for m in range(3):
        x[0, row + 3 + m] = theta[m]
        x[2, row + 3 + m] += h * x[1, row + 3 + m]
    w[SCALARS, 0], w[SCALARS, 1] = h, rest
    return True


@inlined
def times_inverse(theta, y, out):
    """out = B^-1 y = y + theta x y/2 + theta (theta . y)/4."""
    along = 0.25 * dot(theta, y)
    out[0] = y[0] + 0.5 * (theta[1] * y[2] - theta[2] * y[1]) + along * theta[0]
    out[1] = y[1] + 0.5 * (theta[2] * y[0] - theta[0] * y[2]) + along * theta[1]
    out[2] = y[2] + 0.5 * (theta[0] * y[1] - theta[1] * y[0]) + along * theta[2]


@inlined
def times_inverse_back(theta, f, out):
    """out = B^-T f = f - theta x f/2 + theta (theta . f)/4."""
    along = 0.25 * dot(theta, f)
    out[0] = f[0] - 0.5 * (theta[1] * f[2] - theta[2] * f[1]) + along * theta[0]
    out[1] = f[1] - 0.5 * (theta[2] * f[0] - theta[0] * f[2]) + along * theta[1]
    out[2] = f[2] - 0.5 * (theta[0] * f[1] - theta[1] * f[0]) + along * theta[2]


@kernel_with_entry
def forces(of, q, v, a, factors, out):
    """out (s, n_v) += the residual, with factors (3,) of its terms of inertia, elasticity and damping.

    Returns -1, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, size = of.stations.shape[0], of.psi2.shape[1], of.linear.shape[0]
    at, at_stations = empty_motion(of, np.empty((3, size))), np.empty((k, 2, 3))
    body, each = np.empty((8, 6)), np.empty((size, WIDTH))
    work, wrench, N, f, acc = np.empty((6, 3)), np.empty((2, 3)), np.empty(size), np.empty(n), np.empty(3)
    for state in range(q.shape[0]):
        bad = measured(of, q[state], v[state], a[state], at)
        if bad > 0:
            return bad
        moments(of, at.eta, body, each)
        less_gravity(at.axes[0], at.motion[0, ACC], of.gravity, work[0], acc)
        inner_force(of, at, body, each, acc, factors, work, wrench, N)
        by_measured(of.psi2, at.x, N, f)
        station_forces(of, at, wrench, f, work, at_stations)
        add_to_frames(of, at, at_stations, 1.0, f, work, out[state])
    return -1


@inlined
def less_gravity(axes, acceleration, gravity, work, out):
    """out = R^T (acceleration - gravity)."""
    for o in range(3):
        work[o] = acceleration[o] - gravity[o]
    rotate_back(axes, work, out)


@inlined
def by_measured(psi2, x, N, f):
    """f (n,) on the measured coordinates x from N on those that move the mass, the transpose of equation (20)."""
    n = f.size
    bends = psi2.shape[0] - (N.size - n)
    for j in range(n):
        f[j] = N[j]
    for p in range(psi2.shape[0]):
        on = N[bent_coordinate(p, bends, n)]
        for j in range(n):
            bent = 0.0
            for o in range(n):
                bent += psi2[p, j, o] * x[0, o]
            f[j] -= on * bent


@inlined
def station_forces(of, at, wrench, f, work, out):
    """Forces, inertial axes, and torques, axes of the station, at every interface, (k, 2, 3); equation (15)."""
    rests, axes, relative, turns = of.rests, at.axes, at.relative, at.turns
    rotate(axes[0], wrench[0], out[0, 0])
    for o in range(3):
        out[0, 1, o] = wrench[1, o]
    for s in range(1, rests.shape[0]):
        row = 6 * (s - 1)
        force, theta = f[row : row + 3], relative[s, THETA]
        rotate(axes[0], force, out[s, 0])
        cross(relative[s, X], force, work[0])
        times_inverse_back(theta, f[row + 3 : row + 6], work[1])
        rotate(turns[s], work[1], work[2])
        rotate_back(rests[s, AT_REST], work[1], out[s, 1])
        for o in range(3):
            out[0, 0, o] -= out[s, 0, o]
            out[0, 1, o] -= work[0, o] + work[2, o]


@inlined
def add_to_frames(of, at, forces, sign, f, work, out):
    """Add forces and torques at the stations to those of their frames, and f (n,) to those of the modes, in out."""
    k = of.stations.shape[0]
    for s in range(k):
        j = of.places[s, IN_V]
        if j < 0:
            continue
        if of.stations[s, OFF] == 0.0:
            for o in range(3):
                out[j + o] += sign * forces[s, 0, o]
                out[j + 3 + o] += sign * forces[s, 1, o]
            continue
        rotate_back(at.frames[s], forces[s, 0], work[0])
        add_point_force(sign, forces[s, 0], work[0], of.stations[s, OFFSET : OFFSET + 3], j, out)
        rotate(of.rests[s, IN_FRAME], forces[s, 1], work[1])
        for o in range(3):
            out[j + 3 + o] += sign * work[1, o]
    j, first = of.places[k, IN_V], 6 * (k - 1)
    for o in range(f.size - first):
        out[j + o] += sign * f[first + o]

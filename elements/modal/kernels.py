"""Kernels of flexible bodies: inertia, motion of the interfaces, and the force on these and on the modes.

Source: docs/theory/modal_body.md, equations (2) to (15).
"""

from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    Vector3,
    Vector6,
    cross,
    dot,
    identity,
    matrix,
    outer,
    skew,
    vector,
)
from femb.numerics.compiler.traced import M3, V3, V6, add_to, put, traced
from femb.numerics.vector3 import IN_Q, IN_V, column, crossed, frame_at, still

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

# Blocks of three rows and columns in larger matrices, and the mathematics of rotations and symmetric matrices.


@inlined
def add_block_rows(A, rows, at, columns, out, row):
    """out[row : row + 3, :columns] += A rows[at : at + 3, :columns]."""
    for j in range(columns):
        x = A @ column(rows[at, j], rows[at + 1, j], rows[at + 2, j])
        out[row, j] += x[0]
        out[row + 1, j] += x[1]
        out[row + 2, j] += x[2]


@traced
def half_turn_rate(theta: Vector3, y: Vector3) -> Any:
    """d(B^-1 y)/dtheta = -y~/2 + ((theta . y) 1 + theta y^T)/4; with -y~, d(B^-T y)/dtheta."""
    return 0.25 * (dot(theta, y) * identity(3) + outer(theta, y)) - 0.5 * skew(y)


@traced
def turn_rates(theta: Vector3) -> Any:
    """B = (1 - theta~/2)/(1 + tau) and its inverse 1 + theta~/2 + theta theta^T/4, equation (11)."""
    half = 0.5 * skew(theta)
    return (identity(3) - half) / (1.0 + 0.25 * dot(theta, theta)), identity(3) + half + 0.25 * outer(theta, theta)


@traced
def full_matrix(J: Vector6) -> Any:
    """A symmetric matrix (3, 3) of its six numbers."""
    xx, yy, zz, yz, xz, xy = J
    return matrix((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


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
    each[:], body[:] = 0.0, 0.0
    for j in range(n):
        put(V3(linear[j, S1:]), each[j, SJ:])
        put(V3(linear[j, C0:]), each[j, CJ:])
        put(V6(linear[j, J1:]), each[j, JJ:])
    for j in range(quad.shape[0]):
        e = each[j]
        for k in range(n):
            x, y, pair, other = eta[0, k], eta[1, k], quad[j, k], each[k]
            s, twist, inertia = V3(pair[S2:]), V3(pair[Q:]), V6(pair[J2:])
            add_to(x * s, e[SJ:])
            add_to(y * s, e[SD:])
            add_to(y * twist, e[Q_SECOND:])
            add_to(eta[0, j] * twist, other[CJ:])
            add_to(eta[1, j] * twist, other[Q_FIRST:])
            add_to(x * inertia, e[JJ:])
            add_to(y * inertia, e[JD:])
    put(V3(rigid[1:]), body[S])
    put(V6(rigid[4:]), body[J])
    for j in range(n):
        x, y, z, e = eta[0, j], eta[1, j], eta[2, j], each[j]
        s, c, inertia = V3(e[SJ:]), V3(e[CJ:]), V6(e[JJ:])
        add_to((0.5 * x) * (V3(linear[j, S1:]) + s), body[S])
        add_to(y * s, body[S_RATE])
        add_to(z * s + y * V3(e[SD:]), body[S_ACC])
        add_to(y * c, body[C_RATE])
        add_to(z * c, body[C_ACC])
        add_to(y * V3(e[Q_FIRST:]), body[Q_SUM])
        add_to((0.5 * x) * (V6(linear[j, J1:]) + inertia), body[J])
        add_to(y * inertia, body[J_RATE])


class MassMoments(NamedTuple):
    """The moments of the body as vectors and matrices."""

    s: Vector3
    s_rate: Vector3
    s_acc: Vector3
    J: Matrix3
    J_rate: Matrix3
    c_rate: Vector3
    c_acc: Vector3
    q_sum: Vector3


@inlined
def moments_of(body):
    """The moments in an array (8, 6)."""
    J_now, J_then = full_matrix(V6(body[J])), full_matrix(V6(body[J_RATE]))
    s, rate, acc = V3(body[S]), V3(body[S_RATE]), V3(body[S_ACC])
    return MassMoments(s, rate, acc, J_now, J_then, V3(body[C_RATE]), V3(body[C_ACC]), V3(body[Q_SUM]))


@traced
def inertia_wrench(m: Number, of: MassMoments, omega: Vector3, alpha: Vector3, acc: Vector3) -> Any:
    """Force and torque about the origin, body axes, equations (4) and (5)."""
    force = m * acc + cross(alpha, of.s) + cross(omega, cross(omega, of.s) + 2.0 * of.s_rate) + of.s_acc
    of_rates = of.J_rate @ omega + of.c_acc + of.q_sum + cross(omega, of.J @ omega + of.c_rate)
    return force, cross(of.s, acc) + of.J @ alpha + of_rates


@inlined
def inner_force(of, at, body, each, acc, factors, wrench, N):
    """Force, torque about the origin, body axes (2, 3), and forces N (n,) on the coordinates; equations (4) to (6).

    acc : acceleration of the origin less gravity, body axes. factors (3,) : of the terms of inertia, elasticity and
    damping.
    """
    inertial, elastic, damped, pairs, eta = factors[0], factors[1], factors[2], of.pairs, at.eta
    omega, alpha = V3(at.motion[0, OMEGA]), V3(at.motion[0, ALPHA])
    force, torque = inertia_wrench(of.rigid[0], moments_of(body), omega, alpha, acc)
    put(inertial * force, wrench[0])
    put(inertial * torque, wrench[1])
    for j in range(N.size):
        e, x = each[j], 0.0
        if inertial != 0.0:
            twist = V3(e[Q_FIRST:]) - V3(e[Q_SECOND:]) - 0.5 * (full_matrix(V6(e[JJ:])) @ omega)
            x += V3(e[SJ:]) @ acc + V3(e[CJ:]) @ alpha + omega @ twist
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


class InterfaceMotion(NamedTuple):
    """Axes of a station, position, velocity and acceleration, inertial axes, and angular ones, its axes."""

    axes: Matrix3
    r: Vector3
    rate: Vector3
    acc: Vector3
    omega: Vector3
    alpha: Vector3


@traced
def turned_station(frame: InterfaceMotion, d: Vector3, E: Matrix3) -> Any:
    """The motion of a station at an offset d with axes E in a frame, and that of the offset relative to the frame."""
    rate = cross(frame.omega, d)
    acc = cross(frame.alpha, d) + cross(frame.omega, rate)
    r, v, a = (x + frame.axes @ y for x, y in zip(frame[1:4], (d, rate, acc), strict=True))
    return InterfaceMotion(frame.axes @ E, r, v, a, E.T @ frame.omega, E.T @ frame.alpha), rate, acc


@inlined
def station_motion(of, q, v, a, at):
    """Axes of the frames, axes and motion of every station."""
    for s in range(of.stations.shape[0]):
        j, w, row, acc, alpha = of.places[s, IN_V], at.motion[s], of.stations[s], still(), still()
        if j >= 0:
            acc, alpha = V3(a[j:]), V3(a[j + 3 :])
        frame = frame_at(of.places[s], 0, q, v, of.fixed)
        station, arm_rate, arm_acc = (
            InterfaceMotion(frame.R, frame.r, frame.v, acc, frame.omega, alpha),
            still(),
            still(),
        )
        if row[OFF] != 0.0:
            station, arm_rate, arm_acc = turned_station(station, V3(row[OFFSET:]), M3(of.rests[s, IN_FRAME]))
        put(frame.R, at.frames[s])
        put(frame.omega, w[FRAME_OMEGA])
        put(arm_rate, w[ARM_RATE])
        put(arm_acc, w[ARM_ACC])
        put(station.axes, at.axes[s])
        put(station.r, w[R])
        put(station.rate, w[RATE])
        put(station.acc, w[ACC])
        put(station.omega, w[OMEGA])
        put(station.alpha, w[ALPHA])


@inlined
def station_at(at, s):
    w = at.motion[s]
    return InterfaceMotion(M3(at.axes[s]), V3(w[R]), V3(w[RATE]), V3(w[ACC]), V3(w[OMEGA]), V3(w[ALPHA]))


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


@traced
def displacement(root: InterfaceMotion, its: InterfaceMotion) -> Any:
    """Position, difference of velocities and of accelerations in body axes, and the rates of the displacement u' = dv
    - omega x x and u''; equation (12)."""
    x, dv, da = (root.axes.T @ (y - y0) for y, y0 in zip(its[1:4], root[1:4], strict=True))
    turned = cross(root.omega, x)
    rate = dv - turned
    return x, dv, da, rate, da - cross(root.alpha, x) - cross(root.omega, turned + 2.0 * rate)


@traced
def relative_turn(root: InterfaceMotion, its: InterfaceMotion, A: Matrix3) -> Any:
    """C = R^T R_P A^T, and 1 + tr C."""
    C = root.axes.T @ its.axes @ A.T
    return C, 1.0 + C[0, 0] + C[1, 1] + C[2, 2]


@traced
def rotation_rates(root: InterfaceMotion, its: InterfaceMotion, A: Matrix3, C: Matrix3, trace: Number) -> Any:
    """theta, C^T omega, C^T alpha, y and g of equation (13), h and 1 + tau, and the rates of theta; equation (11)."""
    theta = (2.0 / trace) * vector(C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1])
    turned, turned_alpha = C.T @ root.omega, C.T @ root.alpha
    y = A @ its.omega - turned
    g = A @ its.alpha + cross(y, turned) - turned_alpha
    rest, rate = 1.0 + 0.25 * dot(theta, theta), times_inverse.run(theta, y)
    h = 0.5 * dot(theta, rate) / rest
    return theta, turned, turned_alpha, y, g, h, rest, rate, times_inverse.run(theta, g) + h * rate


@inlined
def interface_motion(of, at, s):
    """Relative displacement and rotation of one interface, and their first and second rates. Returns whether the
    rotation is below half a turn."""
    A, root, its, w, row = M3(of.rests[s, AT_REST]), station_at(at, 0), station_at(at, s), at.relative[s], 6 * (s - 1)
    x, dv, da, rate, acc = displacement(root, its)
    put(x, w[X])
    put(dv, w[DV])
    put(da, w[DA])
    put(x - V3(of.stations[s, POINT:]), at.x[0, row:])
    put(rate, at.x[1, row:])
    put(acc, at.x[2, row:])
    C, trace = relative_turn(root, its, A)
    put(C, at.turns[s])
    if not trace > LEAST_TRACE:
        return False
    theta, turned, turned_alpha, y, g, h, rest, rate, acc = rotation_rates(root, its, A, C, trace)
    put(theta, w[THETA])
    put(turned, w[TURNED])
    put(turned_alpha, w[TURNED_ALPHA])
    put(y, w[Y])
    put(g, w[G])
    w[SCALARS, 0], w[SCALARS, 1] = h, rest
    put(theta, at.x[0, row + 3 :])
    put(rate, at.x[1, row + 3 :])
    put(acc, at.x[2, row + 3 :])
    return True


@traced
def times_inverse(theta: Vector3, y: Vector3) -> Any:
    """B^-1 y."""
    return y + 0.5 * cross(theta, y) + (0.25 * dot(theta, y)) * theta


@traced
def times_inverse_back(theta: Vector3, f: Vector3) -> Any:
    """B^-T f."""
    return f - 0.5 * cross(theta, f) + (0.25 * dot(theta, f)) * theta


@kernel_with_entry
def forces(of, q, v, a, factors, out):
    """out (s, n_v) += the residual, with factors (3,) of its terms of inertia, elasticity and damping.

    Returns -1, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, size = of.stations.shape[0], of.psi2.shape[1], of.linear.shape[0]
    at, at_stations = empty_motion(of, np.empty((3, size))), np.empty((k, 2, 3))
    body, each = np.empty((8, 6)), np.empty((size, WIDTH))
    wrench, N, f = np.empty((2, 3)), np.empty(size), np.empty(n)
    for state in range(q.shape[0]):
        bad = measured(of, q[state], v[state], a[state], at)
        if bad > 0:
            return bad
        moments(of, at.eta, body, each)
        inner_force(of, at, body, each, less_gravity(of, at), factors, wrench, N)
        by_measured(of.psi2, at.x, N, f)
        station_forces(of, at, wrench, f, at_stations)
        add_to_frames(of, at, at_stations, 1.0, f, out[state])
    return -1


@inlined
def less_gravity(of, at):
    """The acceleration of the origin less gravity, body axes."""
    return M3(at.axes[0]).T @ (V3(at.motion[0, ACC]) - V3(of.gravity))


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
def station_forces(of, at, wrench, f, out):
    """Forces, inertial axes, and torques, axes of the station, at every interface, (k, 2, 3); equation (15)."""
    R, force, torque = M3(at.axes[0]), M3(at.axes[0]) @ V3(wrench[0]), V3(wrench[1])
    for s in range(1, of.rests.shape[0]):
        own, on, w = V3(f[6 * (s - 1) :]), V3(f[6 * (s - 1) + 3 :]), at.relative[s]
        on = times_inverse_back(V3(w[THETA]), on)
        put(R @ own, out[s, 0])
        put(M3(of.rests[s, AT_REST]).T @ on, out[s, 1])
        force -= R @ own
        torque -= crossed(V3(w[X]), own) + M3(at.turns[s]) @ on
    put(force, out[0, 0])
    put(torque, out[0, 1])


@inlined
def add_to_frames(of, at, forces, sign, f, out):
    """Add forces and torques at the stations to those of their frames, and f (n,) to those of the modes, in out."""
    k = of.stations.shape[0]
    for s in range(k):
        j, force, torque = of.places[s, IN_V], V3(forces[s, 0]), V3(forces[s, 1])
        if j < 0:
            continue
        if of.stations[s, OFF] != 0.0:
            torque = M3(of.rests[s, IN_FRAME]) @ torque
            torque += crossed(V3(of.stations[s, OFFSET:]), M3(at.frames[s]).T @ force)
        add_to(sign * force, out[j:])
        add_to(sign * torque, out[j + 3 :])
    j, first = of.places[k, IN_V], 6 * (k - 1)
    for o in range(f.size - first):
        out[j + o] += sign * f[first + o]

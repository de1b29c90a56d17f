"""Kernels: mass matrix and exact tangents of a flexible body by the velocities of its frames and modes."""

from typing import Any, NamedTuple

import numpy as np

from femb.elements.modal.kernels import (
    ALPHA,
    ARM_ACC,
    ARM_RATE,
    AT_REST,
    CJ,
    DA,
    DAMPING,
    DV,
    FRAME_OMEGA,
    IN_FRAME,
    J2,
    JD,
    JJ,
    MASS,
    OFF,
    OFFSET,
    OMEGA,
    Q_FIRST,
    Q_SECOND,
    S2,
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
    MassMoments,
    Q,
    S,
    X,
    Y,
    add_block_rows,
    bent_coordinate,
    by_measured,
    empty_motion,
    full_matrix,
    half_turn_rate,
    inner_force,
    less_gravity,
    measured,
    moments,
    moments_of,
    station_forces,
    times_inverse_back,
    turn_rates,
)
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, cross, identity, outer, skew
from femb.numerics.compiler.traced import M3, V3, V6, put, traced
from femb.numerics.vector3 import add_block, column, crossed, scatter, skewed

# Kernels: mass matrix and tangents of a body by the motion of its frame and its coordinates; (7), (9), (10).
#
# Rows: force, inertial axes; torque, body axes; forces on the coordinates. Columns: velocity of the origin, inertial
# axes; angular velocity or rotation, body axes; coordinates.


@inlined
def put_column(force, torque, out, k):
    """out[:6, k] = force and torque."""
    out[0, k], out[1, k], out[2, k] = force[0], force[1], force[2]
    out[3, k], out[4, k], out[5, k] = torque[0], torque[1], torque[2]


@inlined
def mass_matrix(of, at, body, each, out):
    """out (6 + n, 6 + n) = the mass matrix, equation (7)."""
    R, n = M3(at.axes[0]), each.shape[0]
    out[:, :] = 0.0
    coupling = -(R @ skewed(V3(body[S])))
    add_block(coupling, out, 0, 3)
    add_block(coupling.T, out, 3, 0)
    add_block(full_matrix(V6(body[J])), out, 3, 3)
    for i in range(3):
        out[i, i] = of.rigid[0]
    for k in range(n):
        force, torque, row = R @ V3(each[k, SJ:]), V3(each[k, CJ:]), out[6 + k]
        put_column(force, torque, out, 6 + k)
        put(force, row)
        put(torque, row[3:])
        for j in range(n):
            row[6 + j] = of.pairs[MASS, k, j]


@traced
def by_spin(of: MassMoments, omega: Vector3) -> Any:
    """Derivatives (3, 3) of force and torque, body axes, by the angular velocity: -(omega x s)~ - omega~ s~ - 2 sdot~,
    and the torque."""
    force = -skew(cross(omega, of.s) + 2.0 * of.s_rate) - skew(omega) @ skew(of.s)
    return force, skew(omega) @ of.J + of.J_rate - skew(of.J @ omega + of.c_rate)


@inlined
def by_velocities(of, at, body, each, out):
    """out (6 + n, 6 + n) = derivatives by velocities, equation (9)."""
    R, omega, quad, n = M3(at.axes[0]), V3(at.motion[0, OMEGA]), of.quad, each.shape[0]
    out[:, :] = 0.0
    force, torque = by_spin(moments_of(body), omega)
    add_block(R @ force, out, 0, 3)
    add_block(torque, out, 3, 3)
    for k in range(n):
        e, row = each[k], out[6 + k]
        spun, first, second = full_matrix(V6(e[JJ:])) @ omega, V3(e[Q_FIRST:]), V3(e[Q_SECOND:])
        force = 2.0 * (crossed(omega, V3(e[SJ:])) + V3(e[SD:]))
        put_column(R @ force, spun + first + second + crossed(omega, V3(e[CJ:])), out, 6 + k)
        put(first - second - spun, row[3:])
        for j in range(n):
            row[6 + j] = of.pairs[DAMPING, k, j]
    for j in range(quad.shape[0]):
        for k in range(n):
            out[6 + j, 6 + k] += omega @ (V3(quad[k, j, Q:]) - V3(quad[j, k, Q:]))


@inlined
def by_positions(of, at, body, each, acc, force, out):
    """out (6 + n, 6 + n) = derivatives by a rotation of the body and by the coordinates, equation (10).

    force (3,) : F_b, body axes.
    """
    R, pairs, quad, eta, n = M3(at.axes[0]), of.pairs, of.quad, at.eta, each.shape[0]
    omega, alpha = V3(at.motion[0, OMEGA]), V3(at.motion[0, ALPHA])
    out[:, :] = 0.0
    add_block(R @ skewed(of.rigid[0] * acc - V3(force)), out, 0, 3)
    add_block(skewed(V3(body[S])) @ skewed(acc), out, 3, 3)
    for k in range(n):
        e, row = each[k], out[6 + k]
        s, inertia = V3(e[SJ:]), full_matrix(V6(e[JJ:]))
        lever = crossed(s, acc)
        put(lever, row[3:])
        spun = crossed(omega, inertia @ omega + V3(e[Q_SECOND:]))
        on_body = lever + full_matrix(V6(e[JD:])) @ omega + inertia @ alpha + spun
        pull = crossed(omega, crossed(omega, s) + 2.0 * V3(e[SD:])) + crossed(alpha, s)
        for j in range(n):
            row[6 + j] += pairs[STIFFNESS, k, j]
        for j in range(quad.shape[0]):
            # S2_jk etaddot_j and Q_kj etaddot_j; the rows of N
            pair = quad[k, j]
            s, twist = V3(pair[S2:]), V3(pair[Q:])
            row[6 + j] += s @ acc - 0.5 * (omega @ (full_matrix(V6(pair[J2:])) @ omega))
            out[6 + j, 6 + k] += twist @ alpha
            pull += eta[2, j] * s
            on_body += eta[2, j] * twist
        put_column(R @ pull, on_body, out, 6 + k)


# Kernels: the rows of the coordinates measured at interfaces by the motion of their stations; equations (14), (17).
#
# Columns: velocity, inertial axes, and angular velocity, axes of the station, of every station; then the modes.


@inlined
def measured_rows(of, at, W):
    """W (6 (k - 1), columns) : rates of the measured coordinates, equation (14)."""
    back = M3(at.axes[0]).T
    W[:, :] = 0.0
    for s in range(1, of.rests.shape[0]):
        row, w = 6 * (s - 1), at.relative[s]
        _, inverse = turn_rates(V3(w[THETA]))
        add_block(-back, W, row, 0)
        add_block(skewed(V3(w[X])), W, row, 3)
        add_block(back, W, row, 6 * s)
        add_block(-(inverse @ M3(at.turns[s]).T), W, row + 3, 3)
        add_block(inverse @ M3(of.rests[s, AT_REST]), W, row + 3, 6 * s + 3)


@traced
def by_displacement(omega: Vector3, alpha: Vector3, x: Vector3, rate: Vector3) -> Any:
    """omega~, and derivatives of second rates of displacements by the velocity of the root and by displacements."""
    spin = skew(omega)
    return spin, skew(cross(omega, x) + 2.0 * rate) + spin @ skew(x), -skew(alpha) - spin @ spin


class InterfaceTurn(NamedTuple):
    """The rotation of an interface: theta and its rate, C^T omega, C^T alpha, y, g, and h and 1 + tau."""

    theta: Vector3
    rate: Vector3
    turned: Vector3
    turned_alpha: Vector3
    y: Vector3
    g: Vector3
    h: Number
    rest: Number


@traced
def by_rotation(of: InterfaceTurn, C: Matrix3) -> Any:
    """Derivatives (3, 3) of the rates of rotations by these, of the second rates by the rates, by the angular velocity
    of the root, and by rotations at constant rates; equation (17), and (13) differentiated likewise."""
    B, inverse = turn_rates.run(of.theta)
    t, y, part = skew(of.turned), skew(of.y), 0.5 / of.rest
    spun = inverse @ t @ B  # B^-1 c~ B
    # theta' theta^T/(2 (1 + tau)) + h 1
    by_rates = part * outer(of.rate, of.theta) + of.h * identity(3)
    # B^-1 (-e~ + c~ c~ + y~ c~) B, the change of B^-1 at constant g, and that of h
    at_rates = inverse @ ((y + t) @ t - skew(of.turned_alpha)) @ B + half_turn_rate.run(of.theta, of.g)
    of_h = part * (outer(of.rate, of.rate) - of.h * outer(of.rate, of.theta))
    by_root = inverse @ y @ C.T
    return half_turn_rate.run(of.theta, of.y) - spun, by_rates, by_rates - spun, by_root, at_rates + of_h


@inlined
def rate_changes(at, W, E_q, E_v, E_a):
    """Derivatives of the rates by displacements, E_q, and of the second rates by velocities, E_v, and displacements,
    E_a. All as W."""
    columns, omega, alpha = W.shape[1], V3(at.motion[0, OMEGA]), V3(at.motion[0, ALPHA])
    E_q[:, :] = 0.0
    E_v[:, :] = 0.0
    E_a[:, :] = 0.0
    for s in range(1, at.relative.shape[0]):
        row, w, theta_rate = 6 * (s - 1), at.relative[s], V3(at.x[1, 6 * s - 3 :])
        spin, by_velocity, by_place = by_displacement(omega, alpha, V3(w[X]), V3(at.x[1, row:]))
        add_block(skewed(V3(w[DV])), E_q, row, 3)
        add_block_rows(-spin, W, row, columns, E_q, row)
        add_block(by_velocity, E_v, row, 3)
        add_block_rows(-2.0 * spin, W, row, columns, E_v, row)
        add_block(skewed(V3(w[DA])), E_a, row, 3)
        add_block_rows(by_place, W, row, columns, E_a, row)
        add_block_rows(-2.0 * spin, E_q, row, columns, E_a, row)
        turn = InterfaceTurn(
            V3(w[THETA]), theta_rate, V3(w[TURNED]), V3(w[TURNED_ALPHA]), V3(w[Y]), V3(w[G]),
            w[SCALARS, 0], w[SCALARS, 1],
        )  # fmt: skip
        by_turn, by_rates, with_root, by_root, at_rates = by_rotation(turn, M3(at.turns[s]))
        row += 3
        add_block_rows(by_turn, W, row, columns, E_q, row)
        add_block_rows(by_rates, E_q, row, columns, E_a, row)
        add_block_rows(with_root, W, row, columns, E_v, row)
        add_block(by_root, E_v, row, 3)
        add_block_rows(at_rates, W, row, columns, E_a, row)


@inlined
def strained_rows(psi2, x, rows, strained):
    """strained (4, ...): the rows, W and those of ``rate_changes``, of the coordinates that move the mass but are no
    modes, equations (20), (21)."""
    W, E_q, E_v, E_a = rows[0], rows[1], rows[2], rows[3]
    J, P_q, P_v, P_a = strained[0], strained[1], strained[2], strained[3]
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
    wrench, N, f = np.empty((2, 3)), np.empty(size), np.empty(n)
    rows, strained = np.empty((4, first, z)), np.empty((4, first + size - n, z))
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
        measured_rows(of, at, W)
        if with_tangent:
            rate_changes(at, W, E_q, E_v, E_a)
        else:
            E_q[:, :], E_v[:, :], E_a[:, :] = 0.0, 0.0, 0.0
        strained_rows(of.psi2, at.x, rows, strained)

        mass_matrix(of, at, body, each, inner)
        right_times(inner, J, first, between)
        left_times(J, between, first, M)
        if with_tangent:
            acc = less_gravity(of, at)
            between[:, :] = 0.0
            times_changes(inner, P_v, first, between)
            left_times(J, between, first, C)
            between[:, :] = 0.0
            times_changes(inner, P_a, first, between)
            left_times(J, between, first, K)
            by_velocities(of, at, body, each, inner)
            right_times(inner, J, first, between)
            left_times(J, between, first, C)
            between[:, :] = 0.0
            times_changes(inner, P_q, first, between)
            left_times(J, between, first, K)
            inner_force(of, at, body, each, acc, every, wrench, N)
            by_positions(of, at, body, each, acc, wrench[0], inner)
            right_times(inner, J, first, between)
            left_times(J, between, first, K)
            by_measured(of.psi2, at.x, N, f)
            if of.psi2.shape[0]:
                inner[:, :] = 0.0
                add_bends(of.psi2, N, bends, n, inner)
                right_times(inner, W, first, between)
                left_times(W, between, first, K)
            turned_forces(of, at, W, f, K)
            station_forces(of, at, wrench, f, at_stations)
        for s in range(k):
            if of.stations[s, OFF] != 0.0:
                to_frame(of, at, s, at_stations[s], M, C, K)
        if with_mass:
            scatter(M, starts, sizes, offset[0], stride[0], mass[state])
        if with_tangent:
            scatter(C, starts, sizes, offset[0], stride[0], damping[state])
            scatter(K, starts, sizes, offset[0], stride[0], stiffness[state])
    return -1


@kernel_with_entry
def matrices(of, groups, with_mass, with_tangent, offset, stride, q, v, a, mass, damping, stiffness):
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


@traced
def by_turn_of(theta: Vector3, torque: Vector3) -> Any:
    """dB, the derivative of B^-T torque by theta, and g~ B - dB of g = B^-T torque."""
    dB = half_turn_rate.run(theta, torque) + skew(torque)
    return dB, skew(times_inverse_back.run(theta, torque)) @ turn_rates.run(theta)[0] - dB


@inlined
def turned_forces(of, at, W, f, K):
    """K += the change of the forces on the stations with their positions at constant f, equation (16)."""
    R, z = M3(at.axes[0]), K.shape[0]
    for s in range(1, of.rests.shape[0]):
        row = 6 * (s - 1)
        force = skewed(V3(f[row:]))
        add_block(R @ force, K, 0, 3)
        add_block(-(R @ force), K, 6 * s, 3)
        add_block_rows(force, W, row, z, K, 3)
        dB, on_root = by_turn_of(V3(at.relative[s, THETA]), V3(f[row + 3 :]))
        add_block_rows(M3(at.turns[s]) @ on_root, W, row + 3, z, K, 3)
        add_block_rows(M3(of.rests[s, AT_REST]).T @ dB, W, row + 3, z, K, 6 * s + 3)


@traced
def by_frame(R: Matrix3, d: Vector3, omega: Vector3, arm_rate: Vector3, arm_acc: Vector3) -> Any:
    """Minus the derivatives (3, 3) of a station's position, velocity and acceleration by the rotation of its frame, at
    constant velocities and accelerations of this, and of the acceleration by the angular velocity."""
    by_omega = skew(arm_rate) + skew(omega) @ skew(d)
    return R @ skew(d), R @ skew(arm_rate), R @ skew(arm_acc), R @ by_omega


@inlined
def to_frame(of, at, s, force, M, C, K):
    """Change the rows and columns of one station into those of its frame, at an offset d with other axes."""
    d, z, row, w = V3(of.stations[s, OFFSET:]), K.shape[0], 6 * s, at.motion[s]
    E, R = M3(of.rests[s, IN_FRAME]), M3(at.frames[s])
    place, rate, acc, by_omega = by_frame(R, d, V3(w[FRAME_OMEGA]), V3(w[ARM_RATE]), V3(w[ARM_ACC]))
    for i in range(z):
        m, c, k = V3(M[i, row:]), V3(C[i, row:]), V3(K[i, row:])
        put(E @ V3(M[i, row + 3 :]) - m @ place, M[i, row + 3 :])
        put(E @ V3(C[i, row + 3 :]) - c @ place - m @ by_omega, C[i, row + 3 :])
        put(E @ V3(K[i, row + 3 :]) - k @ place - c @ rate - m @ acc, K[i, row + 3 :])
    for i in range(z):
        for A in (M, C, K):
            turn = E @ column(A[row + 3, i], A[row + 4, i], A[row + 5, i])
            turn -= column(A[row, i], A[row + 1, i], A[row + 2, i]) @ place
            A[row + 3, i], A[row + 4, i], A[row + 5, i] = turn[0], turn[1], turn[2]
    # the arm of the force
    add_block(skewed(d) @ skewed(R.T @ V3(force[0])), K, row + 3, row + 3)

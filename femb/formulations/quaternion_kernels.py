"""Kernels of the form in quaternion coordinates: blocks of the velocity form transformed by omega = 2 rate_body(p) p'.

Arrays linear_q, linear_v, quaternion_q, omega_v are those of ``femb.numerics.kinematics``; n_q coordinates, n_v
velocities, n_p quaternions. rate_body(p)^T x is the product p (0, x). Source: docs/theory/quaternion_form.md, (5) to
(15).
"""

from femb.numerics.block_kernels import multiply
from femb.numerics.block_solve_kernels import solve
from femb.numerics.compile import kernel
from femb.numerics.vector3 import body_part, hamilton, quaternion_times


@kernel
def second_rates(linear_q, linear_v, quaternion_q, omega_v, q, dq, momentum, v, ratio, x, out):
    """out (n_q + n_c,): q'' and all multipliers from x (n,), v' and multipliers of joints, at one state.

    v, momentum (n,) : velocities and M v, for the multipliers of quaternions (7). ratio : p.p'' over p'.p', -1.
    """
    n_q, n_p, n_v = q.size, quaternion_q.size, v.size
    for k in range(linear_q.size):
        out[linear_q[k]] = x[linear_v[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        p0, p1, p2, p3 = q[i], q[i + 1], q[i + 2], q[i + 3]
        square = dq[i] * dq[i] + dq[i + 1] * dq[i + 1] + dq[i + 2] * dq[i + 2] + dq[i + 3] * dq[i + 3]
        radial = ratio * square / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        a, b, c = 0.5 * x[j], 0.5 * x[j + 1], 0.5 * x[j + 2]
        out[i], out[i + 1], out[i + 2], out[i + 3] = hamilton(p0, p1, p2, p3, radial, a, b, c)
        out[n_q + k] = v[j] * momentum[j] + v[j + 1] * momentum[j + 1] + v[j + 2] * momentum[j + 2]
    for k in range(n_v, x.size):
        out[n_q + n_p + k - n_v] = x[k]


@kernel
def pull_back(linear_q, linear_v, quaternion_q, omega_v, q, dq, v, momenta, multipliers, forces, out):
    """out (s, n_q + n_c): the residual in quaternion coordinates (8) at s states.

    forces (s, n) : residual of the velocity form. momenta (s, n) : M v. multipliers (s, n_c) : of the n_p quaternions,
    then of joints.
    """
    n_q, n_p, n_v = q.shape[1], quaternion_q.size, v.shape[1]
    for s in range(q.shape[0]):
        for k in range(linear_q.size):
            out[s, linear_q[k]] = forces[s, linear_v[k]]
        for k in range(n_p):
            i, j = quaternion_q[k], omega_v[k]
            p0, p1, p2, p3 = q[s, i], q[s, i + 1], q[s, i + 2], q[s, i + 3]
            spin = v[s, j] * momenta[s, j] + v[s, j + 1] * momenta[s, j + 1] + v[s, j + 2] * momenta[s, j + 2]
            f = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
            a, b, c = f * forces[s, j], f * forces[s, j + 1], f * forces[s, j + 2]
            radial = 2.0 * (multipliers[s, k] - spin)
            out[s, i], out[s, i + 1], out[s, i + 2], out[s, i + 3] = hamilton(p0, p1, p2, p3, radial, a, b, c)
            out[s, n_q + k] = 2.0 * (p0 * dq[s, i] + p1 * dq[s, i + 1] + p2 * dq[s, i + 2] + p3 * dq[s, i + 3])
        for k in range(n_v, forces.shape[1]):
            out[s, n_q + n_p + k - n_v] = forces[s, k]


# The iteration matrix, in the basis [p | rate_body(p)^T / 2] of each quaternion


@kernel
def add_change_of_map(runs, omega, mass, damping, stiffness):
    """Add to the tangent C omega~ / 2 + M omega.omega / 4 in the columns of angular velocities (15): the change of
    omega and of its rate with p, without the part of the rate that depends on accelerations.

    Block data; runs (r, 4) : the three columns of a frame's angular velocity in one block: offset of the first entry,
    stride from row to row, number of rows, and the frame.
    """
    for r in range(runs.shape[0]):
        w = omega[runs[r, 3]]
        square = 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        for i in range(runs[r, 2]):
            o = runs[r, 0] + i * runs[r, 1]
            a, b, c = 0.5 * damping[o], 0.5 * damping[o + 1], 0.5 * damping[o + 2]
            stiffness[o] += b * w[2] - c * w[1] + square * mass[o]
            stiffness[o + 1] += c * w[0] - a * w[2] + square * mass[o + 1]
            stiffness[o + 2] += a * w[1] - b * w[0] + square * mass[o + 2]


@kernel
def add_radial_change(runs, omega, factor, damping, data):
    """data += factor C omega omega^T in the columns of angular velocities (15), from the elimination of the length of
    each quaternion. Arguments as in ``add_change_of_map``."""
    for r in range(runs.shape[0]):
        w = omega[runs[r, 3]]
        for i in range(runs[r, 2]):
            o = runs[r, 0] + i * runs[r, 1]
            f = factor * (damping[o] * w[0] + damping[o + 1] * w[1] + damping[o + 2] * w[2])
            for m in range(3):
                data[o + m] += f * w[m]


@kernel
def solve_bordered(
    linear_q, linear_v, quaternion_q, omega_v, p, omega, spin,
    start, n_v, diagonal, order, first, later, lower, upper, factors, pivots, rank, diagonal_scale,
    mass, damping, reach, work, x,
):  # fmt: skip
    """Solve in place for x (n_q + n_c,), with each quaternion and its multiplier eliminated in its own block.

    p, omega, spin : of the basis. start to diagonal_scale : as ``femb.numerics.block_solve_kernels.solve`` takes them.
    mass, damping : block data of the velocity form. reach : change of p for a unit change of p', 1/mu in most methods.
    work (3, n), real or complex as x.
    """
    y, z, product = work[0], work[1], work[2]
    n_p = quaternion_q.size
    n_q = linear_q.size + 4 * n_p
    joints = n_q + n_p - n_v  # index of a row of joints here less its index in the velocity form
    for k in range(linear_q.size):
        y[linear_v[k]] = x[linear_q[k]]
    off_sphere = False
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        p0, p1, p2, p3 = p[k, 0], p[k, 1], p[k, 2], p[k, 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        a, b, c = body_part(p0, p1, p2, p3, x0, x1, x2, x3)
        y[j], y[j + 1], y[j + 2] = 0.5 * a, 0.5 * b, 0.5 * c
        # half of the radial force replaces the first component until the velocities are known
        x[i] = 0.5 * (p0 * x0 + p1 * x1 + p2 * x2 + p3 * x3)
        off_sphere = off_sphere or x[n_q + k] != 0.0
    for k in range(n_v, y.size):
        y[k] = x[k + joints]
    if off_sphere:
        for k in range(y.size):
            z[k] = 0.0
        for k in range(n_p):
            f = 0.5 * reach * x[n_q + k]
            for m in range(3):
                z[omega_v[k] + m] = f * omega[k, m]
        multiply(start, diagonal, order, first, later, lower, upper, damping, z, product)
        for k in range(y.size):
            y[k] += product[k]
    solve(start, n_v, diagonal, order, first, later, lower, upper, factors, pivots, rank, diagonal_scale, y)
    for k in range(linear_q.size):
        x[linear_q[k]] = y[linear_v[k]]
    for k in range(y.size):
        z[k] = y[k] if k < n_v else 0.0 * y[k]
    for k in range(n_v, y.size):
        x[k + joints] = y[k]
    for k in range(n_p):
        i, j, w = quaternion_q[k], omega_v[k], omega[k]
        a, b, c = y[j], y[j + 1], y[j + 2]
        half = x[i]
        radial = 0.5 * x[n_q + k] - 0.25 * reach * (w[0] * a + w[1] * b + w[2] * c)
        # change of omega by p' and, through the map, by p
        z[j] += reach * (0.5 * (w[1] * c - w[2] * b) - radial * w[0])
        z[j + 1] += reach * (0.5 * (w[2] * a - w[0] * c) - radial * w[1])
        z[j + 2] += reach * (0.5 * (w[0] * b - w[1] * a) - radial * w[2])
        x[i], x[i + 1], x[i + 2], x[i + 3] = hamilton(
            p[k, 0], p[k, 1], p[k, 2], p[k, 3], radial, 0.5 * a, 0.5 * b, 0.5 * c
        )
        x[n_q + k] = half + spin[k, 0] * z[j] + spin[k, 1] * z[j + 1] + spin[k, 2] * z[j + 2]
    multiply(start, diagonal, order, first, later, lower, upper, mass, z, product)
    for k in range(n_p):
        j = omega_v[k]
        x[n_q + k] += omega[k, 0] * product[j] + omega[k, 1] * product[j + 1] + omega[k, 2] * product[j + 2]


@kernel
def multiply_pulled(
    linear_q, linear_v, quaternion_q, omega_v, p, start, n_v, diagonal, order, first, later, lower, upper, data, work,
    x, out,
):  # fmt: skip
    """out (n_q + n_c,) = G^T A G x with the block data A of the velocity form, at unit quaternions p (n_p, 4).

    Rows and columns of the lengths of quaternions are excluded. work (2, n).
    """
    y, product = work[0], work[1]
    n_p = quaternion_q.size
    n_q = linear_q.size + 4 * n_p
    joints = n_q + n_p - n_v
    for k in range(linear_q.size):
        y[linear_v[k]] = x[linear_q[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = body_part(p[k, 0], p[k, 1], p[k, 2], p[k, 3], x[i], x[i + 1], x[i + 2], x[i + 3])
        y[j], y[j + 1], y[j + 2] = 2.0 * a, 2.0 * b, 2.0 * c
    for k in range(n_v, y.size):
        y[k] = x[k + joints]
    multiply(start, diagonal, order, first, later, lower, upper, data, y, product)
    for k in range(linear_q.size):
        out[linear_q[k]] = product[linear_v[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 2.0 * product[j], 2.0 * product[j + 1], 2.0 * product[j + 2]
        out[i], out[i + 1], out[i + 2], out[i + 3] = quaternion_times(p[k, 0], p[k, 1], p[k, 2], p[k, 3], a, b, c)
        out[n_q + k] = 0.0
    for k in range(n_v, y.size):
        out[k + joints] = product[k]

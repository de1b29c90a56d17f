"""Mass, damping and stiffness matrices of exact beam elements; arguments as in ``element_data``.

Source: docs/theory/exact_beam.md, sections 6 and 9.
"""

import numpy as np

from femb.elements.exact.deformation import (
    add_damping_change,
    add_damping_force,
    add_viscous_change,
    compliance,
    damping_matrix,
    gradient,
    map_derivative,
    rate_gradient,
    second_derivative,
    solve,
    strain,
    stress_force,
    viscous_matrix,
)
from femb.elements.exact.element_data import DAMPING, LENGTH, POINTS, QUADRATIC, SLOPE
from femb.elements.exact.force import (
    deformation_rate,
    element_coordinates,
    ends_force,
    ends_rates,
    folded,
    free_strain,
    gather_poses,
    gather_rates,
)
from femb.elements.exact.inertia import (
    add_inertia_tangents,
    has_mass_beside,
    inertia_numbers,
    mass_matrix,
    mass_matrix_beside,
)
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, choose, every, lanes
from femb.numerics.compiler.traced import M3, V3, put
from femb.numerics.vector3 import rotate, rotate_back, rotation

# Kernels of the derivatives of the elastic and damping forces of an element by the motion of its frames.
#
# Source: docs/theory/exact_beam.md, section 6.


@inlined
def add_curvature(theta, x, n, k0, k1, k2, HX):
    """HX (6, 6) += second derivatives of n_u . P(theta) x by theta, equation (15), in the block theta theta."""
    t = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    nt = n[0] * theta[0] + n[1] * theta[1] + n[2] * theta[2]
    tx = theta[0] * x[0] + theta[1] * x[1] + theta[2] * x[2]
    nx = n[0] * x[0] + n[1] * x[1] + n[2] * x[2]
    q = nt * tx - t * nx
    for i in range(3):
        a = n[i] * tx + x[i] * nt - 2.0 * theta[i] * nx
        for j in range(3):
            b = n[j] * tx + x[j] * nt - 2.0 * theta[j] * nx
            HX[3 + i, 3 + j] += (
                k0 * (n[i] * x[j] + x[i] * n[j])
                + 2.0 * k1 * (theta[i] * b + a * theta[j])
                + 4.0 * k2 * q * theta[i] * theta[j]
            )
        HX[3 + i, 3 + i] += 2.0 * k1 * q - 2.0 * k0 * nx


@inlined
def ends_stiffness(H, B, P, W, theta, x, n, f, moment, k0, k1, k2, HB, E, K9):
    """K9 (9, 9): derivatives of the forces on the ends by their motion: equations (15) and (16).

    H (6, 6) : on d. n (6,) : the whole force on d. f, moment (3,) : f and mu of equation (12). HB (6, 9), E (6, 6) :
    work arrays.
    """
    # U^T H U in the coordinates of B: K = B^T H B, and the change of U and D at constant n
    for i in range(6):
        for j in range(9):
            s = 0.0
            for k in range(6):
                s += H[i, k] * B[k, j]
            HB[i, j] = s
    for i in range(9):
        for j in range(9):
            s = 0.0
            for k in range(6):
                s += B[k, i] * HB[k, j]
            K9[i, j] = s
    # second derivatives of n_u . P x on (x, theta)
    E[:] = 0.0
    map_derivative(theta, n, -0.5, k0, k1, W)
    for i in range(3):
        for j in range(3):
            E[i, 3 + j] = W[i, j]
            E[3 + j, i] = W[i, j]
    add_curvature(theta, x, n, k0, k1, k2, E)
    # rows D = [1, x~, 0; 0, -P, P^T] in HB; then K9 += D^T E D
    for i in range(3):
        for j in range(3):
            HB[i, j] = 1.0 if i == j else 0.0
            HB[i, 6 + j] = 0.0
            HB[3 + i, j] = 0.0
            HB[3 + i, 3 + j] = -P[i, j]
            HB[3 + i, 6 + j] = P[j, i]
        HB[i, 3 + i] = 0.0
    HB[0, 4], HB[1, 3] = -x[2], x[2]
    HB[0, 5], HB[2, 3] = x[1], -x[1]
    HB[1, 5], HB[2, 4] = -x[0], x[0]
    for j in range(9):
        e0, e1, e2, e3, e4, e5 = HB[0, j], HB[1, j], HB[2, j], HB[3, j], HB[4, j], HB[5, j]
        for i in range(9):
            s = 0.0
            for k in range(6):
                y = E[k, 0] * e0 + E[k, 1] * e1 + E[k, 2] * e2 + E[k, 3] * e3 + E[k, 4] * e4 + E[k, 5] * e5
                s += HB[k, i] * y
            K9[i, j] += s
    # the directions rotate at constant f and mu: equation (16)
    K9[0, 4] += f[2]
    K9[1, 3] -= f[2]
    K9[0, 5] -= f[1]
    K9[2, 3] += f[1]
    K9[1, 5] += f[0]
    K9[2, 4] -= f[0]
    xf = x[0] * f[0] + x[1] * f[1] + x[2] * f[2]
    for i in range(3):
        for j in range(3):
            K9[3 + i, 3 + j] += x[i] * f[j]
        K9[3 + i, 3 + i] -= xf
    K9[3, 1] -= f[2]
    K9[4, 0] += f[2]
    K9[3, 2] += f[1]
    K9[5, 0] -= f[1]
    K9[4, 2] -= f[0]
    K9[5, 1] += f[0]
    for half, row, sign in ((-0.5, 3, -1.0), (0.5, 6, 1.0)):
        map_derivative(theta, moment, half, k0, k1, W)
        for i in range(3):
            for j in range(6):
                s = 0.0
                for k in range(3):
                    s += W[i, k] * HB[3 + k, 3 + j]
                K9[row + i, 3 + j] += sign * s


@inlined
def to_nodes(K9, R1, K):
    """K (12, 12) of the motions of both ends, inertial translations, from K9 by (v, omega_I, omega_II)."""
    # columns: v = R_I^T (r_II' - r_I')
    for i in range(9):
        row = 6 + i if i < 3 else (i if i < 6 else 3 + i)
        for j in range(3):
            s = K9[i, 0] * R1[j, 0] + K9[i, 1] * R1[j, 1] + K9[i, 2] * R1[j, 2]
            K[row, j] = -s
            K[row, 6 + j] = s
            K[row, 3 + j] = K9[i, 3 + j]
            K[row, 9 + j] = K9[i, 6 + j]
    # rows of the force: R_I f on end II, and its opposite on end I
    for j in range(12):
        a, b, c = K[6, j], K[7, j], K[8, j]
        for i in range(3):
            s = R1[i, 0] * a + R1[i, 1] * b + R1[i, 2] * c
            K[6 + i, j] = s
            K[i, j] = -s


@inlined
def columns_to_frames(ends, R, K):
    """Columns of K (12, 12) by the motion of the ends become those of the frames: section 6.4."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for i in range(12):
            t0, t1, t2 = K[i, o], K[i, o + 1], K[i, o + 2]
            m0, m1, m2 = K[i, o + 3], K[i, o + 4], K[i, o + 5]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[i, o + 3] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[i, o + 4] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[i, o + 5] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def rows_to_frames(ends, R, K):
    """Rows of K (12, 12) of the forces on the ends become those of the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for j in range(12):
            t0, t1, t2 = K[o, j], K[o + 1, j], K[o + 2, j]
            m0, m1, m2 = K[o + 3, j], K[o + 4, j], K[o + 5, j]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[o + 3, j] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[o + 4, j] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[o + 5, j] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def add_lever_damping(ends, R, omega, C, work, K):
    """Spin columns of K (12, 12) += C by the velocity of an offset end, times its change by the attitude of the frame.

    C (12, 12) : by the motions of the ends; K with columns of the frames. work (3,).
    """
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        Rn, o = R[2 * e], 6 * e
        b0, b1, b2 = ends[e, 1], ends[e, 2], ends[e, 3]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        x0, x1, x2 = w1 * b2 - w2 * b1, w2 * b0 - w0 * b2, w0 * b1 - w1 * b0
        for i in range(12):
            t0, t1, t2 = C[i, o], C[i, o + 1], C[i, o + 2]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            # -g x~ as a row is x cross g
            K[i, o + 3] += x1 * g2 - x2 * g1
            K[i, o + 4] += x2 * g0 - x0 * g2
            K[i, o + 5] += x0 * g1 - x1 * g0


@inlined
def add_offset_stiffness(ends, R, force, work, K):
    """K (12, 12) += the change of the torque of the end forces +-force (3,), inertial axes, about the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        sign, end, o = 2.0 * e - 1.0, ends[e], 6 * e + 3
        rotate_back(R[2 * e], force, work)
        along = sign * (end[1] * work[0] + end[2] * work[1] + end[3] * work[2])
        for i in range(3):
            for j in range(3):
                K[o + i, o + j] += sign * work[i] * end[1 + j]
            K[o + i, o + i] -= along


@inlined
def scatter_frames(local, offset, stride, data):
    """Add a matrix (12, 12) of two frames, in any layout, to block data."""
    for a in range(2):
        for b in range(2):
            base, step = offset[a, b], stride[a, b]
            if base >= 0:
                for k in range(6):
                    for m in range(6):
                        data[base + k * step + m] += local[6 * a + k, 6 * b + m]


@inlined
def element_tangent(
    poses, rates, ends, data, free, own, exact,
    p, R, r, small, six, mats, three, nine, B, HB, G, K9, C9, K, C,
):  # fmt: skip
    """K, C (12, 12): derivatives of elastic and damping forces by poses and velocities of the frames.

    poses (2, 7), rates (2, 6) : of the frames. own (6,) : a stress in place of that of the strain, or an array of nan.
    exact : whether K contains the change of the damping force with the pose, equation (17). The other arrays are work.
    Returns whether it is not folded.
    """
    d, sigma, w, y, n, rate = six[0], six[1], six[2], six[3], six[4], six[5]
    X, Ch, L6, work, H, E = mats[0], mats[1], mats[2], mats[3], mats[4], mats[5]
    P, W, W2 = three[0], three[1], three[2]
    k0, k1, k2, whole = element_coordinates(poses, ends, p, R, r, small, d, P, W)
    if not whole:
        return False
    theta, x, length, z = d[3:6], small[0], data[LENGTH], nine[0]
    gradient(x, P, W, B)
    compliance(data, d, X, Ch)
    if every(own[0] == own[0]):
        for i in range(6):
            sigma[i] = own[i]
    else:
        strain(data, d, free, sigma)
        solve(Ch, sigma)
        for i in range(6):
            sigma[i] /= length
    stress_force(data, d, sigma, w, y, n)
    second_derivative(data, X, Ch, sigma, y, L6, work, H)
    damping, scalar = not every(data[DAMPING] == 0.0), every(data[DAMPING] >= 0.0)
    if damping:
        ends_rates(rates, ends, R, r[2:4], small[2:6], z)
        deformation_rate(z, x, P, W, rate)
        add_damping_force(data, d, Ch, rate, six[6], w, y, six[7], n)
    m0, m1, m2 = ends_force(x, P, W, n, nine[1])
    small[1, 0], small[1, 1], small[1, 2] = m0, m1, m2
    ends_stiffness(H, B, P, W2, theta, x, n, nine[1, 0:3], small[1], k0, k1, k2, HB, E, K9)
    if damping:
        factor = data[DAMPING] / length
        if scalar:
            damping_matrix(factor, B, Ch, six[6], G, C9)
        else:
            viscous_matrix(data, d, Ch, B, six[6], w, y, six[7], G, C9)
        if exact:
            # HB are the rows D of equation (7) here
            rate_gradient(theta, x, P, k0, k1, k2, z, W2, three[3], three[4], HB, r[4:6], G)
            if scalar:
                add_damping_change(factor, data, d, rate, X, Ch, B, G, QUADRATIC, SLOPE, six[6], w, y, E, six[7], K9)
            else:
                add_viscous_change(
                    data, d, rate, X, Ch, B, G, QUADRATIC, SLOPE, six[6], w, y, six[7], E, work, H, K9,
                )  # fmt: skip
        to_nodes(C9, R[1], C)
    to_nodes(K9, R[1], K)
    columns_to_frames(ends, R, K)
    if damping:
        if exact:
            add_lever_damping(ends, R, r[2:4], C, small[3], K)
        columns_to_frames(ends, R, C)
        rows_to_frames(ends, R, C)
    rows_to_frames(ends, R, K)
    rotate(R[1], nine[1, 0:3], small[2])
    add_offset_stiffness(ends, R, small[2], small[3], K)
    return True


@inlined
def scatter_group(local, first, offset, stride, data):
    """Add matrices (12, 12, LANES) of the elements from ``first`` to block data."""
    for m in range(min(LANES, offset.shape[0] - first)):
        scatter_frames(local[:, :, m], offset[first + m], stride[first + m], data)


@kernel_with_entry
def tangents(
    index, kind, ends, data, own, shares, first_input, fixed, gravity, exact, offset, stride, u, q, v, a, damping,
    stiffness
):  # fmt: skip
    """Add damping and stiffness of all elements at s states to block data (s, size); returns a folded element, or -1.

    Groups of elements and states as in ``forces``. exact : whether inertia and damping forces are differentiated by
    the poses too; otherwise the matrices are those of Newton's iteration.
    """
    free, p = np.empty((6, LANES)), np.empty((3, 4, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 2, 6, LANES))
    R, r, small = lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((6, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    six, mats, nine = lanes(np.empty((8, 6, LANES))), lanes(np.empty((6, 6, 6, LANES))), lanes(np.empty((2, 9, LANES)))
    B, HB, G = lanes(np.empty((6, 9, LANES))), lanes(np.empty((6, 9, LANES))), lanes(np.empty((6, 9, LANES)))
    K9, C9 = lanes(np.empty((9, 9, LANES))), lanes(np.empty((9, 9, LANES)))
    K, C = np.empty((12, 12, LANES)), np.empty((12, 12, LANES))
    three, unit, changes = lanes(np.empty((5, 3, 3, LANES))), np.eye(12), lanes(np.empty((2, 6, 12, LANES)))
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row = g * LANES, lanes(data[kind[g]])
            end, w = lanes(ends[kind[g]]), lanes(rates[0])
            C[:] = 0.0
            gather_poses(index, first, q[s], fixed, poses)
            gather_rates(index, first, v[s], rates[0])
            free_strain(shares, g, u[s], first_input, free)
            if not element_tangent(
                lanes(poses), w, end, row, lanes(free), lanes(own[g]), exact,
                lanes(p), R, r, small, six, mats, three, nine, B, HB, G, K9, C9, lanes(K), lanes(C),
            ):  # fmt: skip
                return folded(first, p, min(LANES, index.shape[0] - first))
            if exact:
                gather_rates(index, first, a[s], rates[1])
                add_inertia_tangents(
                    row, R, lanes(poses), w, lanes(rates[1]), gravity, unit, changes, lanes(C), lanes(K)
                )
            scatter_group(C, first, offset, stride, damping[s])
            scatter_group(K, first, offset, stride, stiffness[s])
    return -1


@kernel_with_entry
def masses(index, kind, ends, data, fixed, offset, stride, q, mass):
    """Add the mass matrices of all elements at s states q (s, n_q) to block data (s, size)."""
    poses, R, M = np.empty((2, 7, LANES)), lanes(np.empty((4, 3, 3, LANES))), np.empty((12, 12, LANES))
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            row, pose = lanes(data[kind[g]]), lanes(poses)
            gather_poses(index, g * LANES, q[s], fixed, poses)
            rotation(pose[0, 3:7], R[0])
            rotation(pose[1, 3:7], R[2])
            of, axes = inertia_numbers(row[POINTS:]), (M3(R[0]), M3(R[2]))
            if has_mass_beside(row):
                put(mass_matrix_beside(of, row[LENGTH], axes, (V3(pose[0]), V3(pose[1]))), lanes(M))
            else:
                put(mass_matrix(of, axes), lanes(M))
            scatter_group(M, g * LANES, offset, stride, mass[s])


@kernel
def predicted_stresses(index, kind, ends, data, own, shares, first_input, fixed, u, q, x, out):
    """out (s, g, 6, LANES): stresses at s states, changed to first order by displacements x (s, n_v) of the frames.

    own (g, 6, LANES) : the stresses at which the change is taken, equation (19), or nan for those at the state. The
    other arguments are as in ``tangents``. Returns a folded element, or -1.
    """
    free, p = np.empty((6, LANES)), np.empty((3, 4, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 6, LANES))
    R, r, small = lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((24, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    six, mats, nine = lanes(np.empty((8, 6, LANES))), lanes(np.empty((6, 6, 6, LANES))), lanes(np.empty((2, 9, LANES)))
    three = lanes(np.empty((2, 3, 3, LANES)))
    P, W = three[0], three[1]
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            d, sigma, w, y, n, e, at = six[0], six[1], six[2], six[3], six[4], six[5], six[6]
            first, row, end = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            given, change = lanes(own[g]), lanes(out[s, g])
            gather_poses(index, first, q[s], fixed, poses)
            gather_rates(index, first, x[s], rates)
            _, _, _, whole = element_coordinates(lanes(poses), end, lanes(p), R, r, small, d, P, W)
            if not whole:
                return folded(first, p, min(LANES, index.shape[0] - first))
            compliance(row, d, mats[0], mats[1])
            free_strain(shares, g, u[s], first_input, free)
            strain(row, d, lanes(free), sigma)
            solve(mats[1], sigma)
            for i in range(6):
                sigma[i] /= row[LENGTH]
                at[i] = choose(given[0] == given[0], given[i], sigma[i])
            stress_force(row, d, at, w, y, n)
            second_derivative(row, mats[0], mats[1], at, y, mats[2], mats[3], mats[4])
            ends_rates(lanes(rates), end, R, r[2:4], small[2:6], nine[0])
            deformation_rate(nine[0], small[0], P, W, e)
            for i in range(6):
                change[i] = 0.0
                for j in range(6):
                    change[i] += mats[2, i, j] * e[j]
            solve(mats[1], change)
            for i in range(6):
                change[i] = sigma[i] + change[i] / row[LENGTH]
    return -1

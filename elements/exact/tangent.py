"""Mass, damping and stiffness matrices of exact beam elements; arguments as in ``columns``.

Source: docs/theory/exact_beam.md, sections 6 and 9.
"""

import numpy as np

from femb.elements.exact.columns import DAMPING, LENGTH, QUADRATIC, SLOPE
from femb.elements.exact.coordinates import gradient
from femb.elements.exact.damping import (
    add_damping_change,
    add_damping_force,
    add_viscous_change,
    damping_matrix,
    rate_gradient,
    viscous_matrix,
)
from femb.elements.exact.energy import compliance, second_derivative, solve, strain, stress_force
from femb.elements.exact.force import (
    deformation_rate,
    element_coordinates,
    ends_force,
    ends_rates,
    frame_accelerations,
)
from femb.elements.exact.frames import folded, gather_poses, gather_rates
from femb.elements.exact.inertia import add_mass, angular_momenta, point_accelerations, point_forces
from femb.elements.exact.inertia_tangent import add_inertia_tangent
from femb.elements.exact.stiffness import (
    add_lever_damping,
    add_offset_stiffness,
    columns_to_frames,
    ends_stiffness,
    rows_to_frames,
    to_nodes,
)
from femb.numerics.compile import inlined, kernel
from femb.numerics.lanes import LANES, choose, every, lanes
from femb.numerics.vector3 import rotate


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


@kernel
def tangents(
    index, kind, ends, data, free, own, q, v, a, fixed, gravity, exact, offset, stride, mass, damping, stiffness
):  # fmt: skip
    """Add mass, damping and stiffness of all elements at s states to block data (s, size); returns a folded element, or
    -1.

    Groups of elements and states as in ``forces``. exact : whether inertia and damping forces are
    differentiated by the poses too, and no mass is added; otherwise the matrices are those of Newton's iteration.
    """
    none, p = np.zeros((6, LANES)), np.empty((3, 4, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 2, 6, LANES))
    R, r, small = lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((24, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    six, mats, nine = lanes(np.empty((8, 6, LANES))), lanes(np.empty((6, 6, 6, LANES))), lanes(np.empty((2, 9, LANES)))
    B, HB, G = lanes(np.empty((6, 9, LANES))), lanes(np.empty((6, 9, LANES))), lanes(np.empty((6, 9, LANES)))
    K9, C9 = lanes(np.empty((9, 9, LANES))), lanes(np.empty((9, 9, LANES)))
    K, C, M = np.empty((12, 12, LANES)), np.empty((12, 12, LANES)), np.empty((12, 12, LANES))
    three, changes = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((2, 4, 3, 3, LANES)))
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row = g * LANES, lanes(data[kind[g]])
            end, w = lanes(ends[kind[g]]), lanes(rates[0])
            C[:] = 0.0
            gather_poses(index, first, q[s], fixed, poses)
            gather_rates(index, first, v[s], rates[0])
            if not element_tangent(
                lanes(poses), w, end, row, lanes(free[s, g] if free.size else none), lanes(own[g]), exact,
                lanes(p), R, r, small, six, mats, three, nine, B, HB, G, K9, C9, lanes(K), lanes(C),
            ):  # fmt: skip
                return folded(first, p, min(LANES, index.shape[0] - first))
            if exact:
                omega, alpha, acc, h = r[2:4], r[4:6], r[6:8], r[8:10]
                ends_rates(w, end, R, omega, small[2:6], nine[0])
                gather_rates(index, first, a[s], rates[1])
                frame_accelerations(lanes(rates[1]), gravity, alpha, acc)
                point_accelerations(row, R[0], R[2], omega, alpha, acc, r[12:16], r[16:20])
                point_forces(row, r[16:20], r[20:24])
                angular_momenta(row, omega, h)
                add_inertia_tangent(
                    row, R[0], R[2], omega, h, r[12:16], r[20:24], three[3], three[4], changes[0], changes[1],
                    lanes(C), lanes(K),
                )  # fmt: skip
            else:
                M[:] = 0.0
                add_mass(row, R[0], R[2], lanes(M))
                scatter_group(M, first, offset, stride, mass[s])
            scatter_group(C, first, offset, stride, damping[s])
            scatter_group(K, first, offset, stride, stiffness[s])
    return -1


@kernel
def masses(index, kind, ends, data, q, fixed, offset, stride, mass):
    """Add the mass matrices of all elements at s states q (s, n_q) to block data (s, size)."""
    poses, p, R = np.empty((2, 7, LANES)), lanes(np.empty((3, 4, LANES))), lanes(np.empty((4, 3, 3, LANES)))
    r, small, M = lanes(np.empty((24, 3, LANES))), lanes(np.empty((6, 3, LANES))), np.empty((12, 12, LANES))
    six, three = lanes(np.empty((8, 6, LANES))), lanes(np.empty((2, 3, 3, LANES)))
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            gather_poses(index, g * LANES, q[s], fixed, poses)
            element_coordinates(lanes(poses), lanes(ends[kind[g]]), p, R, r, small, six[0], three[0], three[1])
            M[:] = 0.0
            add_mass(lanes(data[kind[g]]), R[0], R[2], lanes(M))
            scatter_group(M, g * LANES, offset, stride, mass[s])


@kernel
def predicted_stresses(index, kind, ends, data, free, own, q, fixed, x, out):
    """out (s, g, 6, LANES): stresses at s states, changed to first order by displacements x (s, n_v) of the frames.

    own (g, 6, LANES) : the stresses at which the change is taken, equation (19), or nan for those at the state. Returns
    a folded element, or -1.
    """
    none, p = np.zeros((6, LANES)), np.empty((3, 4, LANES))
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
            strain(row, d, lanes(free[s, g] if free.size else none), sigma)
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

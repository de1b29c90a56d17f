"""Mass, damping and stiffness matrices of exact beam elements; arguments as in ``columns``.

Source: docs/theory/exact_beam.md, sections 6 and 9.
"""

import numpy as np

from femb.elements.exact.columns import DAMPING, LENGTH, MASS, QUADRATIC, SLOPE
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
from femb.numerics.vector3 import rotate


@inlined
def scatter_frames(local, offset, stride, data):
    """Add a matrix (12, 12) of two frames to block data."""
    for a in range(2):
        for b in range(2):
            base, step = offset[a, b], stride[a, b]
            if base >= 0:
                for k in range(6):
                    for m in range(6):
                        data[base + k * step + m] += local[6 * a + k, 6 * b + m]


@inlined
def element_tangent(
    index, ends, data, free, own, q, v, fixed, exact,
    p, R, r, small, six, mats, three, nine, B, HB, G, K9, C9, K, C,
):  # fmt: skip
    """K, C (12, 12): derivatives of elastic and damping forces by poses and velocities of the frames.

    own (6,) : a stress in place of that of the strain, or an array of nan. exact : whether K contains the change of
    the damping force with the pose, equation (17). The other arrays are work. Returns whether it is not folded.
    """
    d, sigma, w, y, n, rate = six[0], six[1], six[2], six[3], six[4], six[5]
    X, Ch, L6, work, H, E = mats[0], mats[1], mats[2], mats[3], mats[4], mats[5]
    P, W, W2 = three[0], three[1], three[2]
    k0, k1, k2, whole = element_coordinates(index, ends, q, fixed, p, R, r, small, d, P, W)
    if not whole:
        return False
    theta, x, length, z = d[3:6], small[0], data[LENGTH], nine[0]
    gradient(x, P, W, B)
    compliance(data, d, X, Ch)
    if own[0] == own[0]:
        for i in range(6):
            sigma[i] = own[i]
    else:
        strain(data, d, free, sigma)
        solve(Ch, sigma)
        for i in range(6):
            sigma[i] /= length
    stress_force(data, d, sigma, w, y, n)
    second_derivative(data, X, Ch, sigma, y, L6, work, H)
    damping, scalar = data[DAMPING] != 0.0, data[DAMPING] > 0.0
    if damping:
        ends_rates(index, ends, v, R, r[2:4], small[2:6], z)
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


@kernel
def tangents(index, ends, data, free, own, q, v, a, fixed, gravity, exact, offset, stride, mass, damping, stiffness):
    """Add mass, damping and stiffness of all elements at one state to block data; returns a folded element, or -1.

    exact : whether inertia and damping forces are differentiated by the poses too, and no mass is added; otherwise the
    matrices are those of Newton's iteration.
    """
    p, R, r, small = np.empty((2, 4)), np.empty((4, 3, 3)), np.empty((24, 3)), np.empty((6, 3))
    six, mats, nine, B = np.empty((8, 6)), np.empty((6, 6, 6)), np.empty((2, 9)), np.empty((6, 9))
    HB, G, K9, C9 = np.empty((6, 9)), np.empty((6, 9)), np.empty((9, 9)), np.empty((9, 9))
    K, C, M = np.empty((12, 12)), np.empty((12, 12)), np.empty((12, 12))
    three, poses = np.empty((5, 3, 3)), np.empty((2, 4, 3, 3))
    for k in range(index.shape[0]):
        C[:] = 0.0
        if not element_tangent(
            index[k], ends[k], data[k], free[k], own[k], q, v, fixed, exact,
            p, R, r, small, six, mats, three, nine, B, HB, G, K9, C9, K, C,
        ):  # fmt: skip
            return k
        if exact:
            omega, alpha, acc, h = r[2:4], r[4:6], r[6:8], r[8:10]
            ends_rates(index[k], ends[k], v, R, omega, small[2:6], nine[0])
            frame_accelerations(index[k], v, a, gravity, alpha, acc)
            point_accelerations(data[k], R[0], R[2], omega, alpha, acc, r[12:16], r[16:20])
            point_forces(data[k, MASS], r[16:20], r[20:24])
            angular_momenta(data[k], omega, h)
            add_inertia_tangent(
                data[k], R[0], R[2], omega, h, r[12:16], r[20:24], three[3], three[4], poses[0], poses[1], C, K,
            )  # fmt: skip
        else:
            M[:] = 0.0
            add_mass(data[k], R[0], R[2], M)
            scatter_frames(M, offset[k], stride[k], mass)
        scatter_frames(C, offset[k], stride[k], damping)
        scatter_frames(K, offset[k], stride[k], stiffness)
    return -1


@kernel
def masses(index, ends, data, q, fixed, offset, stride, mass):
    """Add the mass matrices of all elements at one state to block data."""
    p, R, r, small, M = np.empty((2, 4)), np.empty((4, 3, 3)), np.empty((24, 3)), np.empty((6, 3)), np.empty((12, 12))
    six, P, W = np.empty((8, 6)), np.empty((3, 3)), np.empty((3, 3))
    for k in range(index.shape[0]):
        element_coordinates(index[k], ends[k], q, fixed, p, R, r, small, six[0], P, W)
        M[:] = 0.0
        add_mass(data[k], R[0], R[2], M)
        scatter_frames(M, offset[k], stride[k], mass)


@kernel
def predicted_stresses(index, ends, data, free, own, q, fixed, x, out):
    """out (n, 6): stresses at one state, changed to first order by displacements x (n_v,) of the frames.

    own (n, 6) : the stresses at which the change is taken, equation (19), or nan for those at the state. Returns a
    folded element, or -1.
    """
    p, R, r, small = np.empty((2, 4)), np.empty((4, 3, 3)), np.empty((24, 3)), np.empty((6, 3))
    six, mats, nine = np.empty((8, 6)), np.empty((6, 6, 6)), np.empty((2, 9))
    P, W = np.empty((3, 3)), np.empty((3, 3))
    for k in range(index.shape[0]):
        d, sigma, w, y, n, e, at = six[0], six[1], six[2], six[3], six[4], six[5], six[6]
        _, _, _, whole = element_coordinates(index[k], ends[k], q, fixed, p, R, r, small, d, P, W)
        if not whole:
            return k
        compliance(data[k], d, mats[0], mats[1])
        strain(data[k], d, free[k], sigma)
        solve(mats[1], sigma)
        given = own[k, 0] == own[k, 0]
        for i in range(6):
            sigma[i] /= data[k, LENGTH]
            at[i] = own[k, i] if given else sigma[i]
        stress_force(data[k], d, at, w, y, n)
        second_derivative(data[k], mats[0], mats[1], at, y, mats[2], mats[3], mats[4])
        ends_rates(index[k], ends[k], x, R, r[2:4], small[2:6], nine[0])
        deformation_rate(nine[0], small[0], P, W, e)
        for i in range(6):
            out[k, i] = 0.0
            for j in range(6):
                out[k, i] += mats[2, i, j] * e[j]
        solve(mats[1], out[k])
        for i in range(6):
            out[k, i] = sigma[i] + out[k, i] / data[k, LENGTH]
    return -1

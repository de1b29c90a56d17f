"""Exact tangent of the beam element: the change of its residual with coordinates and velocities.

It adds to the iteration tangent of ``matrices`` the second derivatives of the strains, the change of the strain rates
with the coordinates, and the change of inertia and gyroscopic force. Second derivatives of the strains are computed for
the natural coordinates. The change of the inertia force is computed along 22 directions, by differentiation of each
line of ``inertia_force``. A leading d denotes the change along a direction:

    0 to 10     a motion of the ends at constant velocities and accelerations: chord (3), spin (3) and strain of
                end I, spin (3) and strain of end II, as in ``end_gradient``
    11 to 21    a change of the velocities of the ends, in the same order

Vectors have components in the axes of the first section. Therefore a vector y that is constant in inertial axes changes
by y x theta if these axes rotate by theta. Source: docs/theory/beam.md, section 4.
"""

import numpy as np

from femb.elements.beam.columns import LENGTH, TRUE
from femb.elements.beam.end_states import end_rates, end_states
from femb.elements.beam.ends import ends_motion
from femb.elements.beam.force import element_force
from femb.elements.beam.frame_matrices import arm_map, attachment_stiffness, expand, scatter_ends, to_frames
from femb.elements.beam.inertia import twist_rates
from femb.elements.beam.matrices import element_mass
from femb.elements.beam.natural import geometric_stiffness, natural_rates, shape_gradient
from femb.elements.beam.tangent_inertia import inertia_changes, inertia_tangent
from femb.elements.beam.tangent_motion import DIRECTIONS, END_MOTIONS, motion_changes, twist_changes
from femb.elements.beam.tangent_strain import strain_stiffness, twist_hessian
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import assign, cross, dot, rotate


@inlined
def add_arm(A, B, R, Rn, end, arm):
    """A (14, 14) += B times -(R1^T Rn arm~) in the rows of an end's translation and the columns of its spin."""
    P, o = np.empty((3, 3)), 7 * end
    arm_map(R, Rn, arm, P)
    for i in range(14):
        for j in range(3):
            A[i, o + 3 + j] += B[i, o] * P[0, j] + B[i, o + 1] * P[1, j] + B[i, o + 2] * P[2, j]


@inlined
def frame_matrix(R, ends, T):
    """T (14, 14): end velocities in the axes of the first section per velocity of the frames."""
    T[:] = 0.0
    for end in range(2):
        o = 7 * end
        attached = ends[end, 0] != 0.0
        for i in range(3):
            for j in range(3):
                T[o + i, o + j] = R[1, j, i]
                T[o + 3 + i, o + 3 + j] = ends[end, 4 + 3 * j + i] if attached else (1.0 if i == j else 0.0)
        if attached:
            arm_map(R[1], R[2 * end], ends[end, 1:4], T[o : o + 3, o + 3 : o + 6])
        T[o + 6, o + 6] = 1.0


@inlined
def attached_tangent(index, ends, R, v, a, T, f, M, C, K):
    """Transform K, C (14, 14) from the motion of the ends, axes of the first section, to the motion of the frames.

    M (14, 14) : mass for the motion of the ends. f (14,) : residual force on the ends. T : ``frame_matrix``.
    A rotation of a frame changes the velocity R (omega x d) of its end and the acceleration
    R (alpha x d + omega x (omega x d)); its angular velocity also changes this acceleration.
    """
    KF, CF = np.zeros((14, 14)), np.zeros((14, 14))
    for i in range(14):
        for j in range(14):
            for k in range(14):
                KF[i, j] += K[i, k] * T[k, j]
                CF[i, j] += C[i, k] * T[k, j]
    speed, centripetal, arm = np.empty(3), np.empty(3), np.empty(3)
    one = np.empty((3, 3))
    for end in range(2):
        j = index[2 + end]
        if ends[end, 0] == 0.0 or j < 0:
            continue
        d, omega = ends[end, 1:4], v[j + 3 : j + 6]
        Rn = R[2 * end]
        cross(omega, d, speed)
        cross(omega, speed, centripetal)
        cross(a[j + 3 : j + 6], d, arm)
        for i in range(3):
            arm[i] += centripetal[i]
        add_arm(KF, C, R[1], Rn, end, speed)
        add_arm(KF, M, R[1], Rn, end, arm)
        # the change of omega x (omega x d) with omega: -(omega x d)~ - omega~ d~, and omega~ d~ = d omega^T - (..) I
        add_arm(CF, M, R[1], Rn, end, speed)
        wd = dot(omega, d)
        for i in range(3):
            for k in range(3):
                one[i, k] = 0.0
                for m in range(3):
                    direct = d[m] * omega[k] - (wd if m == k else 0.0)
                    one[i, k] -= (Rn[0, m] * R[1, 0, i] + Rn[1, m] * R[1, 1, i] + Rn[2, m] * R[1, 2, i]) * direct
        o = 7 * end
        for i in range(14):
            for k in range(3):
                CF[i, o + 3 + k] += M[i, o] * one[0, k] + M[i, o + 1] * one[1, k] + M[i, o + 2] * one[2, k]
    K[:] = 0.0
    C[:] = 0.0
    for i in range(14):
        for j in range(14):
            for k in range(14):
                K[i, j] += T[k, i] * KF[k, j]
                C[i, j] += T[k, i] * CF[k, j]
    attachment_stiffness(f[0:3], f[7:10], ends, R, one, K)


@kernel
def tangent(index, ends, data, has_mass_offset, offset, stride, q, v, a, fixed, gravity, damping, stiffness):
    """Add the exact change of the residual of all elements with v, and with q' = H x, to block data.

    Returns -1, or the number of a folded element.
    """
    states, speeds, accelerations = np.empty((2, 8)), np.empty((2, 7)), np.empty((2, 7))
    R, small, vectors = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty((9, 4, 3))
    X, n, f11, f = np.empty(8), np.empty(8), np.empty(11), np.empty(14)
    e, E, psi, psi_X = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    S, B, Xd, dXd = np.empty((4, 8, 8)), np.empty((8, 11)), np.empty(8), np.empty((8, 11))
    K11, C11 = np.empty((11, 11)), np.empty((11, 11))
    K, C, M, T = np.empty((14, 14)), np.empty((14, 14)), np.empty((14, 14)), np.empty((14, 14))
    no_offset = np.zeros((2, 3, 3))  # frame map of ends without offsets
    G, centres = np.empty((2, 3, 3)), np.empty((2, 3, 14))
    x, spins, eps_rates = np.empty((4, 3)), np.empty((4, 3)), np.empty(2)
    changes, dl, dtwist = np.empty((5, DIRECTIONS, 4, 3)), np.empty((DIRECTIONS, 3)), np.empty((DIRECTIONS, 3))
    dx, dv, dx2, dspins, dF = changes[0], changes[1], changes[2], changes[3], changes[4]
    dM1, dforce = np.empty((DIRECTIONS, 3)), np.empty(DIRECTIONS)
    t, m, axes = np.empty(3), np.empty(3), np.empty((3, 3))
    spin_rows, column, work = np.empty((3, 11)), np.empty(14), np.empty((4, 3))
    for k in range(index.shape[0]):
        end_states(index[k], q, fixed, states)
        end_rates(index[k], v, speeds)
        end_rates(index[k], a, accelerations)
        whole = element_force(
            states, speeds, accelerations, ends[k], data[k], has_mass_offset, gravity, TRUE, TRUE, TRUE,
            R, small, vectors, X, n, f11, e, E, psi, psi_X, f,
        )  # fmt: skip
        if not whole:
            return k
        Q, length = R[4], data[k, LENGTH]
        omega1, omega2, alpha1, alpha2 = small[4], small[5], small[8], small[9]
        beta, gamma = small[10], small[11]
        rates, seconds, F = vectors[0], vectors[1], vectors[2]
        s1, s2 = X[3], length * (1.0 + states[1, 7])
        eps_rates[0], eps_rates[1] = speeds[0, 6], speeds[1, 6]
        for i in range(3):
            x[0, i], x[1, i], x[2, i], x[3, i] = 0.0, s1 if i == 0 else 0.0, X[i], X[4 + i]
        assign(omega1, spins[0])
        assign(alpha1, spins[2])
        rotate(Q, omega2, spins[1])
        rotate(Q, alpha2, spins[3])
        twist_rate, twist_second = twist_rates(Q, beta, omega1, spins[1], alpha1, spins[3])
        # changes along all directions
        changes[:] = 0.0
        dl[:] = 0.0
        dtwist[:] = 0.0
        dM1[:] = 0.0
        dforce[:] = 0.0
        motion_changes(
            Q, length, s1, s2, eps_rates, omega1, omega2, alpha1, alpha2, x, rates, seconds, spins,
            dx, dv, dx2, dspins, dl,
        )  # fmt: skip
        twist_changes(Q, beta, gamma, spins, dspins, dl, dtwist)
        # elastic and damping force
        shape_gradient(X, Q, beta, gamma, length, B)
        ends_motion(speeds, ends[k], R, small, f11)
        natural_rates(X, Q, beta, gamma, length, f11, Xd)
        dXd[:] = 0.0
        for j in range(END_MOTIONS):
            # rates d' = v_II - v_I + d x omega_I, G' likewise
            cross(dx[j, 2], omega1, t)
            cross(dx[j, 3], omega1, m)
            for i in range(3):
                dXd[i, j] = dv[j, 2, i] - dv[j, 0, i] + t[i]
                dXd[4 + i, j] = dv[j, 3, i] + m[i]
            dXd[7, j] = dtwist[j, 1]
        twist_hessian(X, S)
        K11[:] = 0.0
        C11[:] = 0.0
        strain_stiffness(X, data[k], B, psi, psi_X, S, e, E, Xd, dXd, K11, C11)
        geometric_stiffness(X, Q, beta, gamma, length, n, K11)
        K[:] = 0.0
        C[:] = 0.0
        expand(K11, K)
        expand(C11, C)
        # inertia force
        inertia_changes(
            X, data[k], has_mass_offset, spins, twist_rate, twist_second, rates, seconds,
            dx, dv, dx2, dspins, dtwist, dF, dM1, dforce,
        )  # fmt: skip
        inertia_tangent(Q, beta, gamma, length, s1, s2, F, dF, dM1, dforce, column, work, K, C)
        # from the motion of the ends to that of the frames
        if ends[k, 0, 0] != 0.0 or ends[k, 1, 0] != 0.0:
            element_mass(X, Q, beta, gamma, s2, data[k], has_mass_offset, axes, spin_rows, K11, G, centres, M)
            frame_matrix(R, ends[k], T)
            attached_tangent(index[k], ends[k], R, v, a, T, f, M, C, K)
        else:
            to_frames(K, R[1], no_offset, ends[k])
            to_frames(C, R[1], no_offset, ends[k])
        scatter_ends(C, offset[k], stride[k], damping)
        scatter_ends(K, offset[k], stride[k], stiffness)
    return -1

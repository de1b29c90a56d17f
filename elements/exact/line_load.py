"""Kernels over forces and moments along exact beam elements.

A row is one element under one load. At each of three Gauss points it has a force f and a moment c per length, in
inertial axes or in the axes of the section. Forces act on the four vectors of the inertia, moments on the natural
coordinates, both with the bubble that a linear curvature makes.

index, ends, data, free : arrays of ``element_data``, one row per load and element. kind (n,) int : INERTIAL or SECTION
axes. first (n,) int : input that multiplies the row. values (n, 3, 6) : f and c at the Gauss points.
Source: docs/theory/exact_beam.md, section 10.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.batch import SIZES, VELOCITIES, ExactBatch
from femb.elements.exact.deformation import (
    add_adjoint,
    coadjoint,
    compliance,
    gradient,
    rows_times_stress,
    second_derivative,
    solve,
    strain,
    stress_force,
)
from femb.elements.exact.element_data import LENGTH, QUADRATIC, REFERENCE
from femb.elements.exact.force import add_to_frames, element_coordinates, end_sections, ends_force, frame_poses
from femb.elements.exact.mean_rotation import mean_change, rotation_and_mean
from femb.elements.exact.tangent import (
    add_offset_stiffness,
    columns_to_frames,
    ends_stiffness,
    rows_to_frames,
    scatter_frames,
    to_nodes,
)
from femb.elements.load.line_load_batch import INERTIAL, SECTION, LineLoads
from femb.layout.terms import Force, Tangent
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import rotate, rotate_back


@inlined
def bubble(xi, length, y, E, turn_b, Eb, Ab):
    """Rotation turn_b (3,) of the section at xi beside that of the helix, with its Eb and Ab (3, 3): equation (27)."""
    for i in range(3):
        turn_b[i] = -6.0 * length * xi * (1.0 - xi) * y[3 + i]
    rotation_and_mean(turn_b, Eb, Ab)


@inlined
def local_vectors(R1, kind, values, weight, E, Eb, f, c, small):
    """f, c (3,): weighted force and moment at one point, axes of end I."""
    if kind == INERTIAL:
        rotate_back(R1, values[0:3], f)
        rotate_back(R1, values[3:6], c)
    else:
        rotate(Eb, values[0:3], small)
        rotate(E, small, f)
        rotate(Eb, values[3:6], small)
        rotate(E, small, c)
    for k in range(3):
        f[k] *= weight
        c[k] *= weight


@inlined
def share(m, xi):
    """The m-th of the four functions along the line of equation (20)."""
    if m == 0:
        return 1.0 - xi
    if m == 2:
        return xi
    return 0.5 * xi * (1.0 - xi) if m == 1 else -0.5 * xi * (1.0 - xi)


@inlined
def load_vector(m, ends, data, y):
    """y (3,): the m-th of the four vectors, for loads on the reference axis, axes of its frame."""
    end, o = ends[m // 2], REFERENCE
    for i in range(3):
        if m % 2 == 0:
            y[i] = end[1 + i]
        else:
            y[i] = end[4 + 3 * i] * data[o] + end[5 + 3 * i] * data[o + 1] + end[6 + 3 * i] * data[o + 2]


@inlined
def element_stress(data, free, d, X, C, sigma, w, y, n):
    """X, the factor C, the stress, and w, y, n of equation (11)."""
    compliance(data, d, X, C)
    strain(data, d, free, sigma)
    solve(C, sigma)
    for i in range(6):
        sigma[i] /= data[LENGTH]
    stress_force(data, d, sigma, w, y, n)


@inlined
def row_force(R1, data, kind, factor, values, d, X, C, sigma, y, E, A, Eb, Ab, small, e, F, n, h, moment):
    """Forces of a row, axes of end I: F (4, 3) on the four vectors, n (6,) on d, moment (3,) on end I.

    h (3,) : what the bubble does work on. small (4, 3), e (4, 6), E, A, Eb, Ab (3, 3) : work.
    """
    length, theta, f, c = data[LENGTH], d[3:6], small[0], small[1]
    F[:] = 0.0
    n[:] = 0.0
    h[:] = 0.0
    moment[:] = 0.0
    for i in range(3):
        xi = POINTS[i]
        for k in range(3):
            small[2, k] = xi * theta[k]
        rotation_and_mean(small[2], E, A)
        if kind == SECTION:
            bubble(xi, length, y, E, small[3], Eb, Ab)
        local_vectors(R1, kind, values[i], factor * length * WEIGHTS[i], E, Eb, f, c, small[2])
        for m in range(4):
            for k in range(3):
                F[m, k] += share(m, xi) * f[k]
        for k in range(3):
            moment[k] += c[k]
            for j in range(3):
                n[3 + k] += xi * A[j, k] * c[j]
                h[k] -= 6.0 * xi * (1.0 - xi) * E[j, k] * c[j]
    if h[0] != 0.0 or h[1] != 0.0 or h[2] != 0.0:
        # n += L Y^T (0, h) with Y, the change of y with d: Lambda^T eta - L S(sigma) Fq (0, h), eta = C^-1 X (0, h)
        eta, a = e[0], e[1]
        for i in range(6):
            eta[i] = X[i, 3] * h[0] + X[i, 4] * h[1] + X[i, 5] * h[2]
        solve(C, eta)
        bubble_argument(data, X, eta, h, a)
        coadjoint(y[0:3], y[3:6], eta, e[2])
        coadjoint(a[0:3], a[3:6], sigma, e[3])
        for i in range(6):
            n[i] += eta[i] + length * (e[2, i] + e[3, i])


@inlined
def bubble_argument(data, X, eta, h, a):
    """a (6,) = X^T eta - Fq (0, h)."""
    for i in range(6):
        o = QUADRATIC + 6 * i + 3
        a[i] = -(data[o] * h[0] + data[o + 1] * h[1] + data[o + 2] * h[2])
        for k in range(6):
            a[i] += X[k, i] * eta[k]


@inlined
def row_to_frames(ends, data, R, x, P, W, F, n, moment, g, small, f):
    """f (12,) += forces F, n and the moment of ``row_force`` on the frames; g (9,), small (6, 3) : work."""
    for m in range(4):
        o, frame = 6 * (m // 2), 2 * (m // 2)
        rotate(R[1], F[m], small[0])
        if m % 2 == 0:
            for i in range(3):
                f[o + i] += small[0, i]
        rotate_back(R[frame], small[0], small[1])
        load_vector(m, ends, data, small[2])
        f[o + 3] += small[2, 1] * small[1, 2] - small[2, 2] * small[1, 1]
        f[o + 4] += small[2, 2] * small[1, 0] - small[2, 0] * small[1, 2]
        f[o + 5] += small[2, 0] * small[1, 1] - small[2, 1] * small[1, 0]
    ends_force(x, P, W, n, g)
    for i in range(3):
        g[3 + i] += moment[i]
    add_to_frames(ends, R, g, small, f)


@inlined
def free_strain(shares, k, u, first_input, free):
    """free (6,) : the free strain of row k times its length; shares (l, n, 6) : by each of the inputs."""
    free[:] = 0.0
    for m in range(shares.shape[0]):
        for i in range(6):
            free[i] += u[first_input + m] * shares[m, k, i]


@kernel_with_entry
def line_forces(index, ends, data, shares, first_input, kind, first, values, fixed, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row with a folded element.
    """
    p, poses, R, r, small = np.empty((3, 4)), np.empty((2, 7)), np.empty((4, 3, 3)), np.empty((4, 3)), np.empty((6, 3))
    six, mats, three, work = np.empty((10, 6)), np.empty((2, 6, 6)), np.empty((6, 3, 3)), np.empty((6, 3))
    F, h, moment, g, f, free = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(9), np.empty(12), np.empty(6)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            d, P, W = six[0], three[0], three[1]
            frame_poses(index[k], q[s], fixed, poses)
            _, _, _, whole = element_coordinates(poses, ends[k], p, R, r, small, d, P, W)
            if not whole:
                return k
            free_strain(shares, k, u[s], first_input, free)
            element_stress(data[k], free, d, mats[0], mats[1], six[1], six[2], six[3], six[4])
            row_force(
                R[1], data[k], kind[k], -u[s, first[k]], values[k], d, mats[0], mats[1], six[1], six[3],
                three[2], three[3], three[4], three[5], work[0:4], six[6:10], F, six[5], h, moment,
            )  # fmt: skip
            f[:] = 0.0
            row_to_frames(ends[k], data[k], R, small[0], P, W, F, six[5], moment, g, work, f)
            for e in range(2):
                j = index[k, 2 + e]
                if j >= 0:
                    for i in range(6):
                        out[s, j + i] += f[6 * e + i]
            if section.shape[0] > 0:
                end_sections(ends[k], R, small, f, section[s, k])
    return -1


@inlined
def quadratic_times(data, h, out):
    """out (6,) = Fq (0, h)."""
    for i in range(6):
        o = QUADRATIC + 6 * i + 3
        out[i] = data[o] * h[0] + data[o + 1] * h[1] + data[o + 2] * h[2]


# Changes of what loads along exact beam elements depend on: the bubble, vectors that turn, and forces at points.
#
# Changes are along the motion z (9,) of the ends; other arguments as in ``line_load``. Source:
# docs/theory/exact_beam.md, section 10.


@inlined
def bubble_change(data, X, C, sigma, Lambda, column, work, Sd, Y):
    """Changes with d, (6, 6): Sd of the stress, (L C)^-1 Lambda, and Y of y, Fq S(sigma) + X^T Sd."""
    for i in range(6):
        for j in range(6):
            work[i, j] = data[QUADRATIC + 6 * i + j]
    rows_times_stress(work, sigma, Y)
    for j in range(6):
        for i in range(6):
            column[i] = Lambda[i, j] / data[LENGTH]
        solve(C, column)
        for i in range(6):
            Sd[i, j] = column[i]
            for k in range(6):
                Y[i, j] += X[k, i] * column[k]


@inlined
def bubble_force_change(data, X, sigma, y, eta, a, Sd, Y, dd, deta, dh, six, dn):
    """dn (6,) += change of the force of the bubble, eta + L (ad_y^T eta + ad_a^T sigma), with those of d, eta and h.

    six (4, 6) : work.
    """
    ds, dy, da, c, length = six[0], six[1], six[2], six[3], data[LENGTH]
    coadjoint(dd[0:3], dd[3:6], eta, c)  # S(eta) dd
    bubble_argument(data, X, deta, dh, da)
    for i in range(6):
        ds[i] = 0.0
        dy[i] = 0.0
        for j in range(6):
            ds[i] += Sd[i, j] * dd[j]
            dy[i] += Y[i, j] * dd[j]
            da[i] += data[QUADRATIC + 6 * i + j] * c[j]
        dn[i] += deta[i]
    coadjoint(y[0:3], y[3:6], deta, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(dy[0:3], dy[3:6], eta, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(da[0:3], da[3:6], sigma, c)
    for i in range(6):
        dn[i] += length * c[i]
    coadjoint(a[0:3], a[3:6], ds, c)
    for i in range(6):
        dn[i] += length * c[i]


@inlined
def spins(xi, length, follows, E, A, Ab, Y, B, D, T, Tb, S):
    """T (3, 9): rotation of the helix at xi beside end I. S (3, 9): of what a vector follows, beside end I.

    Tb (3, 3) : work.
    """
    for i in range(3):
        for j in range(9):
            T[i, j] = xi * (A[i, 0] * D[3, j] + A[i, 1] * D[4, j] + A[i, 2] * D[5, j])
            S[i, j] = T[i, j] if follows else 0.0
        if not follows:
            S[i, 3 + i] = -1.0
    if follows:
        factor = -6.0 * length * xi * (1.0 - xi)
        for i in range(3):
            for j in range(3):
                Tb[i, j] = factor * (E[i, 0] * Ab[0, j] + E[i, 1] * Ab[1, j] + E[i, 2] * Ab[2, j])
        for j in range(9):
            for k in range(3):
                s = 0.0
                for m in range(6):
                    s += Y[3 + k, m] * B[m, j]
                for i in range(3):
                    S[i, j] += Tb[i, k] * s


@inlined
def crossed(S, f, out):
    """out (3, 9) = S x f, columns of S times a vector."""
    for j in range(9):
        a, b, c = S[0, j], S[1, j], S[2, j]
        out[0, j] = b * f[2] - c * f[1]
        out[1, j] = c * f[0] - a * f[2]
        out[2, j] = a * f[1] - b * f[0]


@inlined
def point_rows(ends, data, R, dF, row, small, y, K):
    """K (12, 12) += rows on the frames of the changes dF (4, 3, 9), axes of end I, by the motions of the ends."""
    for m in range(4):
        o = 6 * (m // 2)
        Rf = R[2 * (m // 2)]
        load_vector(m, ends, data, y)
        for j in range(9):
            for i in range(3):
                row[i] = dF[m, i, j]
            rotate(R[1], row, small)
            rotate_back(Rf, small, row)
            c0 = y[1] * row[2] - y[2] * row[1]
            c1 = y[2] * row[0] - y[0] * row[2]
            c2 = y[0] * row[1] - y[1] * row[0]
            for i in range(3):
                c = c0 if i == 0 else (c1 if i == 1 else c2)
                if j >= 3:
                    column = j if j < 6 else j + 3
                    K[o + 3 + i, column] += c
                    if m % 2 == 0:
                        K[o + i, column] += small[i]
                else:
                    # v = R_I^T (r_II' - r_I')
                    for k in range(3):
                        K[o + 3 + i, 6 + k] += c * R[1, k, j]
                        K[o + 3 + i, k] -= c * R[1, k, j]
                        if m % 2 == 0:
                            K[o + i, 6 + k] += small[i] * R[1, k, j]
                            K[o + i, k] -= small[i] * R[1, k, j]


@inlined
def point_levers(ends, data, R, F, small, y, K):
    """K (12, 12) += the change of the torques about the frames with their own rotation: y~ (R^T F)~."""
    for m in range(4):
        o = 6 * (m // 2) + 3
        rotate(R[1], F[m], small[0])
        rotate_back(R[2 * (m // 2)], small[0], small[1])
        load_vector(m, ends, data, y)
        along = y[0] * small[1, 0] + y[1] * small[1, 1] + y[2] * small[1, 2]
        # y~ f~ = f y^T - (y . f) 1
        for i in range(3):
            for j in range(3):
                K[o + i, o + j] += small[1, i] * y[j]
            K[o + i, o + i] -= along


# Tangents of forces and moments along exact beam elements; arguments as in ``line_load``.
#
# Changes are along the motion z (9,) of the ends. A vector in the axes of end I that keeps its direction in space
# changes by minus the rotation of end I times it, one that follows its section by the rotation of the section beside
# end I times it. Source: docs/theory/exact_beam.md, section 10.


@kernel_with_entry
def line_tangent(index, ends, data, shares, first_input, kind, first, values, fixed, offset, stride, u, q, out):
    """Add the change of the residual force to block data (s, size).

    Returns -1, or the number of a row with a folded element.
    """
    p, poses, R, r, small = np.empty((3, 4)), np.empty((2, 7)), np.empty((4, 3, 3)), np.empty((4, 3)), np.empty((6, 3))
    six, mats, three, work = np.empty((9, 6)), np.empty((8, 6, 6)), np.empty((10, 3, 3)), np.empty((6, 3))
    F, h, moment, g = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(9)
    B, HB, D = np.empty((6, 9)), np.empty((6, 9)), np.zeros((6, 9))
    T, S, dc, dh, dM = np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9))
    dd, dn, free = np.empty(6), np.empty(6), np.empty(6)
    N, dF, K9 = np.empty((6, 9)), np.empty((4, 3, 9)), np.empty((9, 9))
    K, Kp = np.empty((12, 12)), np.empty((12, 12))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            d, P, W = six[0], three[0], three[1]
            frame_poses(index[k], q[s], fixed, poses)
            k0, k1, k2, whole = element_coordinates(poses, ends[k], p, R, r, small, d, P, W)
            if not whole:
                return k
            X, C, theta, x, length = mats[0], mats[1], d[3:6], small[0], data[k, LENGTH]
            sigma, w, y, n, factor = six[1], six[2], six[3], six[5], -u[s, first[k]]
            follows = kind[k] == SECTION
            free_strain(shares, k, u[s], first_input, free)
            element_stress(data[k], free, d, X, C, sigma, w, y, six[4])
            E, A, Eb, Ab = three[2], three[3], three[4], three[5]
            row_force(
                R[1],
                data[k],
                kind[k],
                factor,
                values[k],
                d,
                X,
                C,
                sigma,
                y,
                E,
                A,
                Eb,
                Ab,
                work[0:4],
                mats[6, 0:4],
                F,
                n,
                h,
                moment,
            )
            gradient(x, P, W, B)
            Y = mats[2]
            second_derivative(data[k], X, C, sigma, y, mats[3], mats[4], mats[5])
            bubble_change(data[k], X, C, sigma, mats[3], six[6], mats[4], mats[7], Y)
            for i in range(3):
                for j in range(3):
                    D[3 + i, 3 + j] = -P[i, j]
                    D[3 + i, 6 + j] = P[j, i]
            N[:] = 0.0
            dF[:] = 0.0
            dh[:] = 0.0
            dM[:] = 0.0
            moments = False
            for i in range(3):
                xi = POINTS[i]
                f, c, psi = work[0], work[1], work[2]
                for m in range(3):
                    psi[m] = xi * theta[m]
                rotation_and_mean(psi, E, A)
                if follows:
                    bubble(xi, length, y, E, work[3], Eb, Ab)
                local_vectors(R[1], kind[k], values[k, i], factor * length * WEIGHTS[i], E, Eb, f, c, work[4])
                spins(xi, length, follows, E, A, Ab, Y, B, D, T, three[6], S)
                if follows:
                    # seen from inertial axes: with the rotation of end I
                    for m in range(3):
                        S[m, 3 + m] += 1.0
                    crossed(S, f, dc)
                    for m in range(4):
                        for a in range(3):
                            for b in range(9):
                                dF[m, a, b] += share(m, xi) * dc[a, b]
                    for m in range(3):
                        S[m, 3 + m] -= 1.0
                if c[0] == 0.0 and c[1] == 0.0 and c[2] == 0.0:
                    continue
                moments = True
                mean_change(psi, c, three[7])
                crossed(S, c, dc)
                for b in range(9):
                    for a in range(3):
                        dM[a, b] += dc[a, b]
                        total = 0.0
                        for m in range(3):
                            total += xi * three[7, a, m] * D[3 + m, b] + A[m, a] * dc[m, b]
                        N[3 + a, b] += xi * total
                    # E^T (dc + c x T)
                    t0, t1, t2 = T[0, b], T[1, b], T[2, b]
                    e0 = dc[0, b] + c[1] * t2 - c[2] * t1
                    e1 = dc[1, b] + c[2] * t0 - c[0] * t2
                    e2 = dc[2, b] + c[0] * t1 - c[1] * t0
                    for a in range(3):
                        dh[a, b] -= 6.0 * xi * (1.0 - xi) * (E[0, a] * e0 + E[1, a] * e1 + E[2, a] * e2)
            K[:] = 0.0
            if moments:
                # eta = C^-1 X (0, h); its change: C^-1 (X (0, dh) + (ad_y_eta - ad_Fq(0, h) - X S(eta)) dd)
                eta, M6 = six[6], mats[4]
                for i in range(6):
                    eta[i] = X[i, 3] * h[0] + X[i, 4] * h[1] + X[i, 5] * h[2]
                solve(C, eta)
                rows_times_stress(X, eta, M6)
                for i in range(6):
                    six[7, i] = 0.0
                    for j in range(6):
                        M6[i, j] = -M6[i, j]
                        six[7, i] += X[j, i] * eta[j]
                add_adjoint(six[7], 1.0, M6)
                quadratic_times(data[k], h, six[7])
                add_adjoint(six[7], -1.0, M6)
                bubble_argument(data[k], X, eta, h, six[7])
                for b in range(9):
                    for i in range(6):
                        dd[i] = B[i, b]
                    for i in range(6):
                        total = X[i, 3] * dh[0, b] + X[i, 4] * dh[1, b] + X[i, 5] * dh[2, b]
                        for j in range(6):
                            total += M6[i, j] * dd[j]
                        six[8, i] = total
                        dn[i] = 0.0
                    solve(C, six[8])
                    for i in range(3):
                        work[5, i] = dh[i, b]
                    bubble_force_change(
                        data[k], X, sigma, y, eta, six[7], mats[7], Y, dd, six[8], work[5], mats[5, 0:4], dn
                    )
                    for i in range(6):
                        N[i, b] += dn[i]
                m0, m1, m2 = ends_force(x, P, W, n, g)
                small[1, 0], small[1, 1], small[1, 2] = m0, m1, m2
                mats[5, :, :] = 0.0
                ends_stiffness(mats[5], B, P, three[8], theta, x, n, g[0:3], small[1], k0, k1, k2, HB, mats[6], K9)
                for i in range(9):
                    for j in range(9):
                        for m in range(6):
                            K9[i, j] += B[m, i] * N[m, j]
                for i in range(3):
                    for j in range(9):
                        K9[3 + i, j] += dM[i, j]
                to_nodes(K9, R[1], K)
                rows_to_frames(ends[k], R, K)
            Kp[:] = 0.0
            point_rows(ends[k], data[k], R, dF, work[0], work[1], work[2], Kp)
            for i in range(12):
                for j in range(12):
                    K[i, j] += Kp[i, j]
            columns_to_frames(ends[k], R, K)
            point_levers(ends[k], data[k], R, F, work[0:2], work[2], K)
            if moments:
                rotate(R[1], g[0:3], small[2])
                add_offset_stiffness(ends[k], R, small[2], small[3], K)
            scatter_frames(K, offset[k], stride[k], out[s])
    return -1


class ExactLineLoadBatch(LineLoads):
    """The distributed loads on exact beams.

    of_beams : the batch of all their elements, for their arrays and their free strains.
    """

    beams = ExactBatch
    velocities = VELOCITIES
    sizes = SIZES

    def __init__(self, loads: list[Any], of_beams: ExactBatch) -> None:
        self.of_beams = of_beams
        self.index, self.ends, self.data = of_beams.index, of_beams.ends, of_beams.data
        self.in_model = np.arange(len(self.index))
        self.set_rows(loads, of_beams.slices)

    @property
    def _rows(self) -> tuple[Any, ...]:
        shares = np.ascontiguousarray(self.of_beams._shares[:, self.in_model])
        heat = shares, self.of_beams.first_input
        return self.index, self.ends, self.data, *heat, *self.loading, self.of_beams.fixed

    def check(self, folded: int) -> None:
        """Raise FoldedError for the row that a kernel returned, unless it is -1."""
        self.of_beams.check(int(self.in_model[folded]) if folded >= 0 else -1)

    def force(self, section: Floats) -> Force:
        return Force(line_forces, (*self._rows, section), "uq", check=self.check, slow=True)

    def tangents(self) -> list[Tangent]:
        return [Tangent(line_tangent, self._rows, self.starts, "uq", "k", check=self.check)]

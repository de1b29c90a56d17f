"""Tangents of forces and moments along exact beam elements; arguments as in ``line_load``.

Changes are along the motion z (9,) of the ends. A vector in the axes of end I that keeps its direction in space changes
by minus the rotation of end I times it, one that follows its section by the rotation of the section beside end I times
it. Source: docs/theory/exact_beam.md, section 10.
"""

import numpy as np

from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.columns import LENGTH
from femb.elements.exact.coordinates import gradient
from femb.elements.exact.energy import add_adjoint, rows_times_stress, second_derivative, solve
from femb.elements.exact.force import element_coordinates, ends_force
from femb.elements.exact.frames import frame_poses
from femb.elements.exact.line_load import (
    bubble,
    bubble_argument,
    element_stress,
    local_vectors,
    quadratic_times,
    rotation_and_mean,
    row_force,
    share,
)
from femb.elements.exact.line_load_changes import (
    bubble_change,
    bubble_force_change,
    crossed,
    mean_change,
    point_levers,
    point_rows,
    spins,
)
from femb.elements.exact.stiffness import (
    add_offset_stiffness,
    columns_to_frames,
    ends_stiffness,
    rows_to_frames,
    to_nodes,
)
from femb.elements.exact.tangent import scatter_frames
from femb.elements.load.line_load_kernels import SECTION
from femb.numerics.compile import kernel
from femb.numerics.vector3 import rotate


@kernel
def line_tangent(index, ends, data, free, kind, first, values, u, q, fixed, offset, stride, out):
    """Add the change of the residual force at one state to block data; free (n, 6).

    Returns -1, or the number of a row with a folded element.
    """
    p, poses, R, r, small = np.empty((3, 4)), np.empty((2, 7)), np.empty((4, 3, 3)), np.empty((4, 3)), np.empty((6, 3))
    six, mats, three, work = np.empty((9, 6)), np.empty((8, 6, 6)), np.empty((10, 3, 3)), np.empty((6, 3))
    F, h, moment, g = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(9)
    B, HB, D = np.empty((6, 9)), np.empty((6, 9)), np.zeros((6, 9))
    T, S, dc, dh, dM = np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9)), np.empty((3, 9))
    dd, dn = np.empty(6), np.empty(6)
    N, dF, K9 = np.empty((6, 9)), np.empty((4, 3, 9)), np.empty((9, 9))
    K, Kp = np.empty((12, 12)), np.empty((12, 12))
    for k in range(index.shape[0]):
        d, P, W = six[0], three[0], three[1]
        frame_poses(index[k], q, fixed, poses)
        k0, k1, k2, whole = element_coordinates(poses, ends[k], p, R, r, small, d, P, W)
        if not whole:
            return k
        X, C, theta, x, length = mats[0], mats[1], d[3:6], small[0], data[k, LENGTH]
        sigma, w, y, n, factor = six[1], six[2], six[3], six[5], -u[first[k]]
        follows = kind[k] == SECTION
        element_stress(data[k], free[k], d, X, C, sigma, w, y, six[4])
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
                    s = 0.0
                    for m in range(3):
                        s += xi * three[7, a, m] * D[3 + m, b] + A[m, a] * dc[m, b]
                    N[3 + a, b] += xi * s
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
                    s = X[i, 3] * dh[0, b] + X[i, 4] * dh[1, b] + X[i, 5] * dh[2, b]
                    for j in range(6):
                        s += M6[i, j] * dd[j]
                    six[8, i] = s
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
        scatter_frames(K, offset[k], stride[k], out)
    return -1

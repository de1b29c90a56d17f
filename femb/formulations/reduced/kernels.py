"""Kernels over a joint tree with v_i = T_i v_parent + B_i u_i: products with H2, its transpose and derivatives.

index : as in ``joint_tree_kernels``. T, B and their rates T1, B1 (s, n, 6, 6) at s states; F, V, A (s, n_v) in the
order of the System. Source: docs/theory/reduced_order.md, equations (8), (10) to (13).
"""

import numpy as np

from femb.formulations.joint_tree_kernels import (
    BACKWARD,
    BODY_VELOCITY,
    FIRST_U,
    FRAME_Q,
    FRAME_V,
    PARENT,
    ROTATION,
    SIZE,
    SPEEDS,
    SPHERICAL,
    STROKES,
    add_cross,
    shift_motion,
)
from femb.numerics.compiler.compile import kernel
from femb.numerics.vector3 import assign, rotate, rotate_back, rotation


@kernel
def apply_H2(index, T, T1, B, B1, V, u, ud, A):
    """A = H2 u' + H2' u, root to tips: A_i = T_i A_parent + B_i u'_i + T'_i V_parent + B'_i u_i."""
    for s in range(A.shape[0]):
        for k in range(index.shape[0]):
            h, j, row = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V]
            size, count = index[k, SIZE], index[k, SPEEDS]
            for m in range(size):
                total = 0.0
                for o in range(count):
                    total += B[s, k, m, o] * ud[s, j + o] + B1[s, k, m, o] * u[s, j + o]
                if h >= 0:
                    parent_row = index[h, FRAME_V]
                    for o in range(index[h, SIZE]):
                        total += T[s, k, m, o] * A[s, parent_row + o] + T1[s, k, m, o] * V[s, parent_row + o]
                A[s, row + m] = total


@kernel
def apply_H2_T(index, T, B, F, g):
    """g = H2^T F, tips to root; on return F contains for every frame the sum over its subtree."""
    for s in range(F.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, row, size = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V], index[k, SIZE]
            for o in range(index[k, SPEEDS]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * F[s, row + m]
                g[s, j + o] = total
            if h >= 0:
                parent_row = index[h, FRAME_V]
                for o in range(index[h, SIZE]):
                    for m in range(size):
                        F[s, parent_row + o] += T[s, k, m, o] * F[s, row + m]


@kernel
def apply_dH2_T(index, T, B, T1, B1, F, dF, g):
    """g = H2'^T f for s directions: F (1, n_v) as returned by ``apply_H2_T``, dF (s, n_v) zero on entry."""
    for s in range(g.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, row, size = index[k, PARENT], index[k, FIRST_U], index[k, FRAME_V], index[k, SIZE]
            for o in range(index[k, SPEEDS]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * dF[s, row + m] + B1[s, k, m, o] * F[0, row + m]
                g[s, j + o] = total
            if h >= 0:
                parent_row = index[h, FRAME_V]
                for o in range(index[h, SIZE]):
                    for m in range(size):
                        dF[s, parent_row + o] += T[s, k, m, o] * dF[s, row + m] + T1[s, k, m, o] * F[0, row + m]


@kernel
def fill(index, start, width, T, T1, B, B1, H, H1):
    """Rows of H2 and H2' at one state in flat arrays H, H1: those of frame k begin at start[k], with width[k] entries,
    one for each speed on the path from the root to the frame. T, T1, B, B1 (n, 6, 6)."""
    for k in range(index.shape[0]):
        h, count = index[k, PARENT], index[k, SPEEDS]
        inherited = width[k] - count
        for m in range(index[k, SIZE]):
            row = start[k] + m * width[k]
            for c in range(inherited):
                x = y = 0.0
                for o in range(index[h, SIZE]):
                    parent_row = start[h] + o * width[h] + c
                    x += T[k, m, o] * H[parent_row]
                    y += T1[k, m, o] * H[parent_row] + T[k, m, o] * H1[parent_row]
                H[row + c], H1[row + c] = x, y
            for c in range(count):
                H[row + inherited + c], H1[row + inherited + c] = B[k, m, c], B1[k, m, c]


@kernel
def composite(index, T, B, M, out):
    """out = H2^T M H2 at one state by the composite rigid body algorithm; T, B (n, 6, 6).

    M (n, 6, 6) : mass of every frame; on return the composite mass of its subtree.
    """
    F, G = np.empty((6, 6)), np.empty((6, 6))
    for k in range(index.shape[0] - 1, -1, -1):
        j, count, size = index[k, FIRST_U], index[k, SPEEDS], index[k, SIZE]
        for m in range(size):
            for c in range(count):
                F[m, c] = 0.0
                for o in range(size):
                    F[m, c] += M[k, m, o] * B[k, o, c]
        h, below = k, k
        while True:
            i = index[h, FIRST_U]
            for o in range(index[h, SPEEDS]):
                for c in range(count):
                    total = 0.0
                    for m in range(index[h, SIZE]):
                        total += B[h, m, o] * F[m, c]
                    out[i + o, j + c] = total
                    out[j + c, i + o] = total
            below, h = h, index[h, PARENT]
            if h < 0:
                break
            for o in range(index[h, SIZE]):
                for c in range(count):
                    G[o, c] = 0.0
                    for m in range(index[below, SIZE]):
                        G[o, c] += T[below, m, o] * F[m, c]
            for o in range(index[h, SIZE]):
                for c in range(count):
                    F[o, c] = G[o, c]
        h = index[k, PARENT]
        if h >= 0:
            for m in range(size):
                for o in range(index[h, SIZE]):
                    G[m, o] = 0.0
                    for n in range(size):
                        G[m, o] += M[k, m, n] * T[k, n, o]
            for m in range(index[h, SIZE]):
                for o in range(index[h, SIZE]):
                    for n in range(size):
                        M[h, m, o] += T[k, n, m] * G[n, o]


@kernel
def fill_changes(index, constant, start, width, Q, u, a, B, W, alpha):
    """W, alpha: columns D_j v and D_j v' at one state, v = H2 u and v' = H2 a + H2' u, at constant u and a; flat as
    in ``fill``.

    Q : coordinates of the System. B (n, 6, 6). constant (n,) : frames with zero derivatives; their entries are not set.
    Motions (6,) have an angular and a linear part in inertial axes, at the frame's origin: c the velocity, d its rate
    in the frame's axes, Y and Z the derivatives of c and d in the frame's axes by every speed on the path, P the
    rotation of the frame by that speed. Source: docs/theory/reduced_order.md, equations (23) to (27).
    """
    n, total = index.shape[0], 0
    first = np.zeros(n, dtype=np.int64)
    for k in range(n):
        first[k] = total
        total += width[k]
    P, Y, Z, C, D = np.zeros((total, 6)), np.zeros((total, 6)), np.zeros((total, 6)), np.zeros((n, 6)), np.zeros((n, 6))
    R, S, rho, x, F = np.zeros((3, 3)), np.zeros((6, 6)), np.zeros(3), np.zeros(3), np.zeros((7, 6))
    previous, previous_rate, J, omega, velocity, acceleration, out = F[0], F[1], F[2], F[3], F[4], F[5], F[6]
    for k in range(n):
        if constant[k]:
            continue
        h, at, size, j = index[k, PARENT], index[k, FRAME_Q], index[k, SIZE], index[k, FIRST_U]
        backward, strokes, count = index[k, BACKWARD], index[k, STROKES], index[k, SPEEDS]
        inherited, first_own = width[k] - count, first[k] + width[k] - count
        c, d = C[k], D[k]
        if h >= 0:
            for m in range(3):
                rho[m] = Q[at + m] - Q[index[h, FRAME_Q] + m]
            shift_motion(C[h], rho, c)
            shift_motion(D[h], rho, d)
            for o in range(inherited):
                assign(P[first[h] + o], P[first[k] + o])
                shift_motion(Y[first[h] + o], rho, Y[first[k] + o])
                shift_motion(Z[first[h] + o], rho, Z[first[k] + o])
        if size == 6:
            rotation(Q[at + 3 : at + 7], R)
        for o in range(count):
            for m in range(3):
                S[o, m], S[o, 3 + m] = 0.0, B[k, m, o]
            if o >= strokes:
                rotate(R, B[k, 3:6, o], S[o])
            assign(S[o, :3], P[first_own + o, :3])
        # the motions of the joint from the parent on: single columns, three of a spherical joint, or all in body axes
        done = 0
        while done < count:
            spherical = index[k, ROTATION] == SPHERICAL and (done == 0 if backward else done >= strokes)
            columns = count if index[k, BODY_VELOCITY] else 3 if spherical else 1
            o = count - done - columns if backward else done
            J[:] = 0.0
            for m in range(6):
                previous[m], previous_rate[m] = c[m], d[m]
                for e in range(o, o + columns):
                    J[m] += S[e, m] * u[j + e]
                    c[m] += S[e, m] * u[j + e]
                    d[m] += S[e, m] * a[j + e]
            add_cross(J, previous, -1.0, d)
            for e in range(inherited):
                add_cross(J, Y[first[k] + e], -1.0, Z[first[k] + e])
            for e in range(count):
                if (e >= o + columns) if backward else (e < o):
                    add_cross(J, Y[first_own + e], -1.0, Z[first_own + e])
                elif o <= e < o + columns:
                    if backward:
                        add_cross(S[e], c, -1.0, Y[first_own + e])
                        add_cross(S[e], d, -1.0, Z[first_own + e])
                    else:
                        add_cross(S[e], previous, -1.0, Y[first_own + e])
                        add_cross(S[e], previous_rate, -1.0, Z[first_own + e])
                        add_cross(J, Y[first_own + e], -1.0, Z[first_own + e])
            done += columns
        # derivatives of linear parts in inertial axes, of angular parts in the frame's axes
        acceleration[:] = 0.0
        for m in range(3):
            omega[m], velocity[3 + m], acceleration[3 + m] = c[m], c[3 + m], d[3 + m]
        add_cross(omega, velocity, 1.0, acceleration)
        for o in range(width[k]):
            p, y, z, entry = P[first[k] + o], Y[first[k] + o], Z[first[k] + o], start[k] + o
            assign(y, out)
            add_cross(p, velocity, 1.0, out)
            for m in range(3):
                W[entry + m * width[k]] = out[3 + m]
            assign(z, out)
            add_cross(p, acceleration, 1.0, out)
            add_cross(y, velocity, 1.0, out)
            add_cross(omega, y, 1.0, out)
            for m in range(3):
                alpha[entry + m * width[k]] = out[3 + m]
            if size == 6:
                rotate_back(R, y, x)
                rotate_back(R, z, out)
                for m in range(3):
                    W[entry + (3 + m) * width[k]], alpha[entry + (3 + m) * width[k]] = x[m], out[m]
            else:
                # a point mass has no axes
                for m in range(3):
                    p[m] = y[m] = z[m] = 0.0
                    y[3 + m], z[3 + m] = W[entry + m * width[k]], alpha[entry + m * width[k]]
        if size == 3:
            c[:3] = 0.0
            assign(acceleration, d)

"""Kernels over a joint tree with v_i = T_i v_parent + B_i u_i: products with H2 and its transpose, in one sweep each.

index : as in ``joint_tree_kernels``. T, B and their rates T1, B1 (s, n, 6, 6) of s states; F, V, A (s, n_v) in the
order of the System. Source: docs/theory/reduced_order.md, equations (8), (10) to (13).
"""

import numpy as np

from femb.formulations.joint_tree_kernels import BALL, TWO
from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import rotation, turn, turn_back


@kernel
def push(index, T, T1, B, B1, V, u, ud, A):  # type: ignore[no-untyped-def]
    """A = H2 u' + H2' u, root to tips: A_i = T_i A_parent + B_i u'_i + T'_i V_parent + B'_i u_i."""
    for s in range(A.shape[0]):
        for k in range(index.shape[0]):
            h, j, place, size, count = index[k, 0], index[k, 7], index[k, 2], index[k, 3], index[k, 12]
            for m in range(size):
                total = 0.0
                for o in range(count):
                    total += B[s, k, m, o] * ud[s, j + o] + B1[s, k, m, o] * u[s, j + o]
                if h >= 0:
                    above = index[h, 2]
                    for o in range(index[h, 3]):
                        total += T[s, k, m, o] * A[s, above + o] + T1[s, k, m, o] * V[s, above + o]
                A[s, place + m] = total


@kernel
def pull(index, T, B, F, g):  # type: ignore[no-untyped-def]
    """g = H2^T F, tips to root; F then holds for every frame the sum over what hangs on it."""
    for s in range(F.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, place, size = index[k, 0], index[k, 7], index[k, 2], index[k, 3]
            for o in range(index[k, 12]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * F[s, place + m]
                g[s, j + o] = total
            if h >= 0:
                above = index[h, 2]
                for o in range(index[h, 3]):
                    for m in range(size):
                        F[s, above + o] += T[s, k, m, o] * F[s, place + m]


@kernel
def pull_change(index, T, B, T1, B1, F, dF, g):  # type: ignore[no-untyped-def]
    """g = H2'^T f in directions s: F (1, n_v) as ``pull`` leaves it, dF (s, n_v) zero before."""
    for s in range(g.shape[0]):
        for k in range(index.shape[0] - 1, -1, -1):
            h, j, place, size = index[k, 0], index[k, 7], index[k, 2], index[k, 3]
            for o in range(index[k, 12]):
                total = 0.0
                for m in range(size):
                    total += B[s, k, m, o] * dF[s, place + m] + B1[s, k, m, o] * F[0, place + m]
                g[s, j + o] = total
            if h >= 0:
                above = index[h, 2]
                for o in range(index[h, 3]):
                    for m in range(size):
                        dF[s, above + o] += T[s, k, m, o] * dF[s, place + m] + T1[s, k, m, o] * F[0, place + m]


@kernel
def fill(index, start, width, T, T1, B, B1, H, H1):  # type: ignore[no-untyped-def]
    """Rows of H2 and H2' of one state, flat: of frame k from start[k] on, width[k] numbers a row, by columns of its
    path from the root, its own the last. T, T1, B, B1 (n, 6, 6)."""
    for k in range(index.shape[0]):
        h, count = index[k, 0], index[k, 12]
        inherited = width[k] - count
        for m in range(index[k, 3]):
            row = start[k] + m * width[k]
            for c in range(inherited):
                x = y = 0.0
                for o in range(index[h, 3]):
                    above = start[h] + o * width[h] + c
                    x += T[k, m, o] * H[above]
                    y += T1[k, m, o] * H[above] + T[k, m, o] * H1[above]
                H[row + c], H1[row + c] = x, y
            for c in range(count):
                H[row + inherited + c], H1[row + inherited + c] = B[k, m, c], B1[k, m, c]


@kernel
def composite(index, T, B, M, out):  # type: ignore[no-untyped-def]
    """out = H2^T M H2 of one state, with M (n, 6, 6) a block a frame, which then holds that of all that hangs on it.

    The composite rigid body algorithm: an entry costs what its two frames are apart. T, B (n, 6, 6).
    """
    F, G = np.empty((6, 6)), np.empty((6, 6))
    for k in range(index.shape[0] - 1, -1, -1):
        j, count, size = index[k, 7], index[k, 12], index[k, 3]
        for m in range(size):
            for c in range(count):
                F[m, c] = 0.0
                for o in range(size):
                    F[m, c] += M[k, m, o] * B[k, o, c]
        h, below = k, k
        while True:
            i = index[h, 7]
            for o in range(index[h, 12]):
                for c in range(count):
                    total = 0.0
                    for m in range(index[h, 3]):
                        total += B[h, m, o] * F[m, c]
                    out[i + o, j + c] = total
                    out[j + c, i + o] = total
            below, h = h, index[h, 0]
            if h < 0:
                break
            for o in range(index[h, 3]):
                for c in range(count):
                    G[o, c] = 0.0
                    for m in range(index[below, 3]):
                        G[o, c] += T[below, m, o] * F[m, c]
            for o in range(index[h, 3]):
                for c in range(count):
                    F[o, c] = G[o, c]
        h = index[k, 0]
        if h >= 0:
            for m in range(size):
                for o in range(index[h, 3]):
                    G[m, o] = 0.0
                    for n in range(size):
                        G[m, o] += M[k, m, n] * T[k, n, o]
            for m in range(index[h, 3]):
                for o in range(index[h, 3]):
                    for n in range(size):
                        M[h, m, o] += T[k, n, m] * G[n, o]


@inner
def add_cross(a, b, factor, out):  # type: ignore[no-untyped-def]
    """out += factor a x b; out may be neither a nor b."""
    out[0] += factor * (a[1] * b[2] - a[2] * b[1])
    out[1] += factor * (a[2] * b[0] - a[0] * b[2])
    out[2] += factor * (a[0] * b[1] - a[1] * b[0])


@kernel
def fill_changes(index, data, constant, start, width, Q, V, A, q, u, a, B, W, alpha):  # type: ignore[no-untyped-def]
    """Columns D_j v and D_j v' of one state, v = H2 u and v' = H2 a + H2' u, at constant u and a; flat, as by ``fill``.

    Q, V, A : coordinates, velocities and accelerations of the System. B (n, 6, 6). constant (n,) : frames without such
    changes, whose entries are left. Vectors are in inertial axes; ``X`` has, for every column of a frame, its turn, and
    the changes, relative to the frame's axes, of angular and linear velocity and of their rates.
    Source: docs/theory/reduced_order.md, section 10.
    """
    n = index.shape[0]
    first, total = np.zeros(n, dtype=np.int64), 0
    for k in range(n):
        first[k] = total
        total += width[k]
    X, omega, spin = np.zeros((total, 5, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    R, axes, slides = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    F = np.zeros((26, 3))
    none, rho, w, w1, c_a, c_l, d_a, d_l, s, p, p1 = F[0], F[1], F[2], F[3], F[4], F[5], F[6], F[7], F[8], F[9], F[10]
    slide, slide1, arm, arm1, joint, s1, lever = F[11], F[12], F[13], F[14], F[15], F[16], F[17]
    ds, ds1, dslide, dslide1, djoint, djoint1, k_a, k_l = F[18], F[19], F[20], F[21], F[22], F[23], F[24], F[25]
    for k in range(n):
        if constant[k]:
            continue
        h, at, place, size = index[k, 0], index[k, 1], index[k, 2], index[k, 3]
        kind, backward, i, j, strokes, count = (
            index[k, 4], index[k, 5], index[k, 6], index[k, 7], index[k, 11], index[k, 12],
        )  # fmt: skip
        carried = not backward and not index[k, 13]  # strokes are along axes of the parent
        F[:] = 0.0
        v, v1 = V[place : place + 3], A[place : place + 3]
        # the parent's motion at the frame's origin
        if h >= 0:
            above, above_v = index[h, 1], index[h, 2]
            for m in range(3):
                rho[m] = Q[at + m] - Q[above + m]
                c_a[m], d_a[m] = omega[h, m], spin[h, m]
                c_l[m], d_l[m] = V[above_v + m], A[above_v + m]
            add_cross(omega[h], V[above_v : above_v + 3], -1.0, d_l)
            add_cross(c_a, rho, 1.0, c_l)
            add_cross(d_a, rho, 1.0, d_l)
        # the joint: its turn s with the part p about axes of the parent, strokes, and the arm from the frame's origin
        if size == 6:
            rotation(Q[at + 3 : at + 7], R)
            turn(R, V[place + 3 : place + 6], w)
            turn(R, A[place + 3 : place + 6], w1)
            turn(R, data[k, 7:10], arm)
            for m in range(3):
                omega[k, m], spin[k, m] = w[m], w1[m]
        else:
            # a point has no axes: those of its parent take their place
            for m in range(3):
                w[m] = c_a[m]
        for o in range(strokes):
            for m in range(3):
                slides[o, m] = B[k, m, o]
                slide[m] += slides[o, m] * u[j + o]
                slide1[m] += slides[o, m] * a[j + o]
                if backward:
                    arm[m] -= slides[o, m] * q[i + o]
        for o in range(count - strokes):
            turn(R, B[k, 3:6, strokes + o], axes[o])
            fixed_above = (kind == BALL and backward) or (kind == TWO and o == (1 if backward else 0))
            for m in range(3):
                s[m] += axes[o, m] * u[j + strokes + o]
                s1[m] += axes[o, m] * a[j + strokes + o]
                if fixed_above:
                    p[m] += axes[o, m] * u[j + strokes + o]
                    p1[m] += axes[o, m] * a[j + strokes + o]
        add_cross(s, p, -1.0, s1)
        for m in range(3):
            joint[m] = slide[m]
            arm1[m] = -slide[m] if backward else 0.0
        add_cross(arm, s, 1.0, joint)
        inherited = width[k] - count
        for c in range(width[k]):
            change = X[first[k] + c]
            own = c - inherited
            if own < 0:
                up = X[first[h] + c]
                for m in range(3):
                    for o in range(5):
                        change[o, m] = up[o, m]
                    k_a[m], k_l[m] = up[1, m], up[2, m]
                add_cross(up[1], rho, 1.0, k_l)
                add_cross(up[3], rho, 1.0, change[4])
                for m in range(3):
                    change[2, m] = k_l[m]
            else:
                along, about = slides[own] if own < strokes else none, axes[own - strokes] if own >= strokes else none
                for m in range(3):
                    lever[m] = along[m]
                    for o in range(18, 26):
                        F[o, m] = 0.0
                add_cross(arm, about, 1.0, lever)
                # changes of s, of its rate, of the strokes' velocity and its rate
                add_cross(about, p, -1.0, ds)
                add_cross(about, p1, -1.0, ds1)
                add_cross(ds, p, -1.0, ds1)
                add_cross(s, ds, -1.0, ds1)
                if carried:
                    add_cross(about, slide, -1.0, dslide)
                    add_cross(about, slide1, -1.0, dslide1)
                    add_cross(ds, slide, -1.0, dslide1)
                    add_cross(s, dslide, -1.0, dslide1)
                for m in range(3):
                    djoint[m], djoint1[m] = dslide[m], dslide1[m]
                add_cross(arm, ds, 1.0, djoint)
                add_cross(arm1, ds, 1.0, djoint1)
                add_cross(arm, ds1, 1.0, djoint1)
                if backward:
                    add_cross(along, s, -1.0, djoint)
                    add_cross(along, s1, -1.0, djoint1)
                # what the parent gives, seen from the frame
                add_cross(about, c_a, -1.0, k_a)
                add_cross(about, c_l, -1.0, k_l)
                add_cross(lever, c_a, -1.0, k_l)
                for m in range(3):
                    change[0, m], change[1, m], change[2, m] = about[m], k_a[m] + ds[m], k_l[m] + djoint[m]
                    change[3, m], change[4, m] = ds1[m], djoint1[m]
                add_cross(about, d_a, -1.0, change[3])
                add_cross(about, d_l, -1.0, change[4])
                add_cross(lever, d_a, -1.0, change[4])
                add_cross(ds, c_a, -1.0, change[3])
                add_cross(ds, c_l, -1.0, change[4])
                add_cross(djoint, c_a, -1.0, change[4])
            add_cross(s, k_a, -1.0, change[3])
            add_cross(s, k_l, -1.0, change[4])
            add_cross(joint, k_a, -1.0, change[4])
            # in inertial axes, and the angular parts in the frame's
            for m in range(3):
                ds[m], ds1[m] = change[2, m], change[4, m]
            add_cross(change[0], v, 1.0, ds)
            add_cross(change[0], v1, 1.0, ds1)
            add_cross(change[1], v, 1.0, ds1)
            add_cross(w, change[2], 1.0, ds1)
            row, below = start[k] + c, start[k] + 3 * width[k] + c
            for m in range(3):
                W[row + m * width[k]], alpha[row + m * width[k]] = ds[m], ds1[m]
            if size == 6:
                turn_back(R, change[1], ds)
                turn_back(R, change[3], ds1)
                for m in range(3):
                    W[below + m * width[k]], alpha[below + m * width[k]] = ds[m], ds1[m]
            else:
                for m in range(3):
                    change[0, m] = change[1, m] = change[3, m] = 0.0
                    change[2, m], change[4, m] = ds[m], ds1[m]

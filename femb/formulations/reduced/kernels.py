"""Kernels over a joint tree with v_i = T_i v_parent + B_i u_i: products with H2 and its transpose, in one sweep each.

index : as in ``joint_tree_kernels``. T, B and their rates T1, B1 (s, n, 6, 6) of s states; F, V, A (s, n_v) in the
order of the System. Source: docs/theory/reduced_order.md, equations (8), (10) to (13).
"""

import numpy as np

from femb.numerics.compile import kernel


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

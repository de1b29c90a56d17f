"""Kernels over a joint tree: poses and velocities from root to tips, and the matrices T and B.

With A the axes and r the position of a frame, rho = r_i - r_parent, a the vector from r_i to the joint's end at the
frame, E the axes of the strokes, S u_turn the relative angular velocity in the frame's axes, and W = A_i S:

    v_i = v_parent - rho~ A_parent w_parent + E u_strokes + a~ W u_turn,      w_i = A_i^T A_parent w_parent + S u_turn

index (n, 14) int: PARENT, or -1-f for pose f of ``fixed``; first index of the frame in the System's q and v; number of
its velocities, 6 or 3; kind of ROTATION; 1 if the frame is at the joint's first end; first index of its coordinates and
speeds; 1 for each stroke x, y, z; numbers of strokes and of speeds; 1 if the speeds of strokes are in the frame's axes.
data (n, 18): offset and quaternion of the joint's end ABOVE, at the parent, then BELOW, at the frame; quaternion of Z.
Source: docs/theory/reduced_order.md, equations (5) to (9).
"""

import math

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import (
    cross,
    dot4,
    hamilton_into,
    pose,
    product,
    product_left_back,
    rotate,
    rotation,
    times_skew,
)

LOCKED, REVOLUTE, UNIVERSAL, SPHERICAL, POINT_MASS = range(5)
PARENT, FRAME_Q, FRAME_V, SIZE, ROTATION, BACKWARD, FIRST_Q, FIRST_U, STROKE_X = range(9)
STROKES, SPEEDS, BODY_VELOCITY = range(11, 14)
ABOVE, ABOVE_QUATERNION = slice(0, 3), slice(3, 7)
BELOW, BELOW_QUATERNION, ZERO = slice(7, 10), slice(10, 14), slice(14, 18)


@inlined
def relative(kind, Z, q, i, u, j, p, C, S, S1):
    """Quaternion p, axes C: second to first end; S and its rate S1 (3, 3), axes of the second end; for q[i:], u[j:]."""
    z = np.zeros(4)
    for m in range(3):
        for n in range(3):
            S[m, n], S1[m, n] = 0.0, 0.0
    for m in range(4):
        p[m] = q[i + m] if kind == SPHERICAL else Z[m]
    if kind == SPHERICAL:
        size = math.sqrt(dot4(p, p))
        for m in range(4):
            p[m] /= size
        for m in range(3):
            S[m, m] = 1.0
    elif kind == UNIVERSAL:
        z[0], z[3] = math.cos(0.5 * q[i + 1]), math.sin(0.5 * q[i + 1])
        hamilton_into(Z, z, p)
        S[2, 1] = 1.0
    if kind in (REVOLUTE, UNIVERSAL):
        z[0], z[3] = math.cos(0.5 * q[i]), math.sin(0.5 * q[i])
        hamilton_into(z, p, p)
    rotation(p, C)
    if kind in (REVOLUTE, UNIVERSAL):
        for m in range(3):
            S[m, 0] = C[2, m]
    if kind == UNIVERSAL:
        S1[0, 0], S1[1, 0] = u[j + 1] * S[1, 0], -u[j + 1] * S[0, 0]


@inlined
def reverse(C, u, j, S, S1):
    """S, S1 of the first end relative to the second, in the first's axes: -C S and its rate."""
    w, X, Y = np.zeros(3), np.empty((3, 3)), np.empty((3, 3))
    for m in range(3):
        for n in range(3):
            if S[m, n] != 0.0:
                w[m] += S[m, n] * u[j + n]
    times_skew(1.0, C, w, X)
    product(X, S, Y)
    product(C, S1, X)
    for m in range(3):
        for n in range(3):
            S1[m, n] = -X[m, n] - Y[m, n]
    product(C, S, X)
    for m in range(3):
        for n in range(3):
            S[m, n] = -X[m, n]


@inlined
def carried(factor, A, w, axes, out, rate, scratch):
    """out = factor A axes and its rate, factor A w~ axes, of axes (3, 3) fixed in a frame with the axes A."""
    times_skew(factor, A, w, scratch)
    product(scratch, axes, rate)
    product(A, axes, out)
    for m in range(3):
        for n in range(3):
            out[m, n] *= factor


@kernel_with_entry
def sweep(index, data, fixed, q, u, Q, V, T, T1, B, B1):
    """Q (s, n_q), V (s, n_v) of the System at s states; T, B and their rates T1, B1 (s, n, 6, 6), zero on entry.

    Arrays T, T1, B, B1 for fewer states end with those of the last one: where they are not wanted, one is enough.
    """
    n = index.shape[0]
    A, p, w = np.empty((n + 1, 3, 3)), np.empty((n + 1, 4)), np.zeros((n + 1, 3))
    r, v = np.empty((n + 1, 3)), np.zeros((n + 1, 3))
    M, F = np.empty((11, 3, 3)), np.empty((9, 3))
    # axes of the joint's ends and of its rotation; S; from the parent's axes to the frame's; E, W; and rates
    above_axes, below_axes, joint_axes, S, S1 = M[0], M[1], M[2], M[3], M[4]
    from_parent, scratch, E, E1, W, W1 = M[5], M[6], M[7], M[8], M[9], M[10]
    # strokes and their rates, a and its rate, rho and its rate, relative angular velocity; scratch
    d, d1, a, a1, rho, rho1, relative_omega, x, y = F[0], F[1], F[2], F[3], F[4], F[5], F[6], F[7], F[8]
    turned, at_joint, back, unit = np.empty(4), np.empty(4), np.empty(4), np.eye(3)
    above_at, below_at, below = data[:, ABOVE], data[:, BELOW], data[:, BELOW_QUATERNION]
    for s in range(q.shape[0]):
        at_s = min(s, T.shape[0] - 1)
        for k in range(n):
            h, kind, backward = index[k, PARENT], index[k, ROTATION], index[k, BACKWARD]
            i, j, strokes = index[k, FIRST_Q], index[k, FIRST_U], index[k, STROKES]
            rotational = index[k, SPEEDS] - strokes
            first = j + strokes
            if h < 0:
                pose(h, q[s], fixed, r[n], A[n])
                for m in range(4):
                    p[n, m] = fixed[-1 - h, 3 + m]
                h = n
            rotation(data[k, ABOVE_QUATERNION], above_axes)
            rotation(data[k, BELOW_QUATERNION], below_axes)
            relative(kind, data[k, ZERO], q[s], i + strokes, u[s], first, turned, joint_axes, S, S1)
            at = 0
            for m in range(3):
                d[m], d1[m] = 0.0, 0.0
                if index[k, STROKE_X + m]:
                    d[m], d1[m] = q[s, i + at], u[s, j + at]
                    at += 1
            if backward:
                reverse(joint_axes, u[s], first, S, S1)
            product(below_axes, S, W)
            product(below_axes, S1, W1)
            for m in range(3):
                relative_omega[m] = 0.0
                for o in range(3):
                    S[m, o], S1[m, o] = W[m, o], W1[m, o]
                    if o < rotational:
                        relative_omega[m] += S[m, o] * u[s, first + o]
            # attitude: p_k = p_h p_above (p_joint, or back) p_below*
            hamilton_into(p[h], data[k, ABOVE_QUATERNION], at_joint)
            for m in range(4):
                sign = 1.0 if m == 0 else -1.0
                back[m] = sign * below[k, m]
                turned[m] *= sign if backward else 1.0
            hamilton_into(turned, back, back)
            hamilton_into(at_joint, back, p[k])
            if kind == POINT_MASS:
                for m in range(4):
                    p[k, m] = 1.0 if m == 0 else 0.0
            rotation(p[k], A[k])
            product_left_back(A[k], A[h], from_parent)
            # position
            rotate(below_axes if backward else above_axes, d, x)
            for m in range(3):
                y[m] = above_at[k, m] + (0.0 if backward else x[m])
                x[m] = below_at[k, m] + (x[m] if backward else 0.0)
            rotate(A[h], y, rho)
            rotate(A[k], x, a)
            for m in range(3):
                rho[m] -= a[m]
                r[k, m] = r[h, m] + rho[m]
            # angular velocity, and the axes of strokes
            rotate(from_parent, w[h], w[k])
            for m in range(3):
                w[k, m] = w[k, m] + relative_omega[m] if kind != POINT_MASS else 0.0
            if backward:
                carried(-1.0, A[k], w[k], below_axes, E, E1, scratch)
            elif index[k, BODY_VELOCITY]:
                carried(1.0, A[k], w[k], unit, E, E1, scratch)
            else:
                carried(1.0, A[h], w[h], above_axes, E, E1, scratch)
            # a' = A (w x arm) + A D d'
            cross(w[k], x, y)
            if backward:
                rotate(below_axes, d1, rho1)
                for m in range(3):
                    y[m] += rho1[m]
            rotate(A[k], y, a1)
            carried(1.0, A[k], w[k], S, W, W1, scratch)
            product(A[k], S1, scratch)
            for m in range(3):
                for o in range(3):
                    W1[m, o] += scratch[m, o]
            # velocity
            rotate(A[h], w[h], x)
            cross(rho, x, y)
            at = 0
            for m in range(3):
                v[k, m] = v[h, m] - y[m]
            for o in range(3):
                if index[k, STROKE_X + o]:
                    for m in range(3):
                        v[k, m] += E[m, o] * u[s, j + at]
                        B[at_s, k, m, at], B1[at_s, k, m, at] = E[m, o], E1[m, o]
                    at += 1
            if rotational > 0:
                rotate(A[k], relative_omega, x)
                cross(a, x, y)
                for m in range(3):
                    v[k, m] += y[m]
                for o in range(rotational):
                    for m in range(3):
                        f, g = (m + 1) % 3, (m + 2) % 3
                        B[at_s, k, m, strokes + o] = a[f] * W[g, o] - a[g] * W[f, o]
                        x[m] = a1[f] * W[g, o] - a1[g] * W[f, o] + a[f] * W1[g, o] - a[g] * W1[f, o]
                        B1[at_s, k, m, strokes + o] = x[m]
                        B[at_s, k, 3 + m, strokes + o], B1[at_s, k, 3 + m, strokes + o] = S[m, o], S1[m, o]
            if h < n:
                times_skew(1.0, A[h], w[h], scratch)
                for m in range(3):
                    rho1[m] = v[k, m] - v[h, m]
                    T[at_s, k, m, m] = 1.0
                for m in range(3):
                    f, g = (m + 1) % 3, (m + 2) % 3
                    for o in range(3):
                        T[at_s, k, m, 3 + o] = rho[g] * A[h, f, o] - rho[f] * A[h, g, o]
                        T1[at_s, k, m, 3 + o] = rho1[g] * A[h, f, o] - rho1[f] * A[h, g, o]
                        T1[at_s, k, m, 3 + o] += rho[g] * scratch[f, o] - rho[f] * scratch[g, o]
                        if kind != POINT_MASS:
                            T[at_s, k, 3 + m, 3 + o] = from_parent[m, o]
                            T1[at_s, k, 3 + m, 3 + o] = (
                                relative_omega[g] * from_parent[f, o] - relative_omega[f] * from_parent[g, o]
                            )
            fq, fv = index[k, FRAME_Q], index[k, FRAME_V]
            for m in range(3):
                Q[s, fq + m], V[s, fv + m] = r[k, m], v[k, m]
            if index[k, SIZE] == 6:
                for m in range(4):
                    Q[s, fq + 3 + m] = p[k, m]
                for m in range(3):
                    V[s, fv + 3 + m] = w[k, m]


# Spatial vectors (6,) in kernels over trees: motions (omega, v), and forces and momenta (moment, force).


@inlined
def transform(M, x, out):
    """out = M x, with M (6, 6)."""
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += M[i, j] * x[j]
        out[i] = total


@inlined
def add_cross(a, b, factor, out):
    """out += factor a x b of motions, the rate of a motion b that moves with a; out must differ from a and b."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m] += factor * (a[f] * b[g] - a[g] * b[f])
        out[3 + m] += factor * (a[f] * b[3 + g] - a[g] * b[3 + f] + a[3 + f] * b[g] - a[3 + g] * b[f])


@inlined
def add_force(point, force, out):
    """out += the force (3,) at a point (3,)."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m] += point[f] * force[g] - point[g] * force[f]
        out[3 + m] += force[m]


@inlined
def shift_motion(x, rho, out):
    """out = the motion x at the point rho (3,)."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m], out[3 + m] = x[m], x[3 + m] + x[f] * rho[g] - x[g] * rho[f]

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

from typing import Any

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    Vector3,
    Vector4,
    Vector6,
    blocks,
    cos,
    cross,
    identity,
    joined,
    matrix,
    norm,
    sin,
    skew,
    vector,
    zeros_like,
)
from femb.numerics.compiler.traced import M3, V3, V4, put, traced
from femb.numerics.vector3 import attitude, conjugate, crossed, quaternion_product, still, unturned

LOCKED, REVOLUTE, UNIVERSAL, SPHERICAL, POINT_MASS = range(5)
PARENT, FRAME_Q, FRAME_V, SIZE, ROTATION, BACKWARD, FIRST_Q, FIRST_U, STROKE_X = range(9)
STROKES, SPEEDS, BODY_VELOCITY = range(11, 14)
ABOVE, ABOVE_QUATERNION = slice(0, 3), slice(3, 7)
BELOW, BELOW_QUATERNION, ZERO = slice(7, 10), slice(10, 14), slice(14, 18)


@traced
def turn_about_z(angle: Number) -> Any:
    """The quaternion of a rotation about the third axis."""
    return vector(cos(0.5 * angle), 0.0, 0.0, sin(0.5 * angle))


@traced
def of_length_one(p: Vector4) -> Any:
    """A quaternion of length one."""
    return p / norm(p)


@traced
def rotation_matrices(C: Matrix3, first: Number, second: Number, third: Number) -> Any:
    """S of rotations about the axis of the first end, axis z of the second one, and all three; each 1 or 0."""
    x, y, z = (first * each for each in C[2])
    return matrix((x + third, 0.0, 0.0), (y, third, 0.0), (z, second, third))


@traced
def universal_rate(C: Matrix3, rate: Number) -> Any:
    """The rate of S of a universal joint that turns by this rate about axis z of the second end."""
    x, y, _ = rate * C[2]
    return matrix((y, 0.0, 0.0), (-x, 0.0, 0.0), (0.0, 0.0, 0.0))


@inlined
def relative(kind, Z, q, i, rates):
    """Quaternion p, axes C: second to first end; S and its rate S1 (3, 3), axes of the second end; for q[i:]."""
    p = V4(Z)
    if kind == SPHERICAL:
        p = of_length_one(V4(q[i:]))
    if kind == UNIVERSAL:
        p = quaternion_product(p, turn_about_z(q[i + 1]))
    if kind in (REVOLUTE, UNIVERSAL):
        p = quaternion_product(turn_about_z(q[i]), p)
    C, turns = attitude(p), 1.0 if kind in (REVOLUTE, UNIVERSAL) else 0.0
    S = rotation_matrices(C, turns, 1.0 if kind == UNIVERSAL else 0.0, 1.0 if kind == SPHERICAL else 0.0)
    return p, C, S, universal_rate(C, rates[1] if kind == UNIVERSAL else 0.0)


@traced
def reverse(C: Matrix3, S: Matrix3, S1: Matrix3, rates: Vector3) -> Any:
    """S, S1 of the first end relative to the second, in the first's axes: -C S and its rate."""
    return -C @ S, -(C @ S1) - C @ skew(S @ rates) @ S


@traced
def carried(A: Matrix3, w: Vector3, axes: Matrix3) -> Any:
    """A axes and its rate, A w~ axes, of axes (3, 3) fixed in a frame with the axes A."""
    return A @ axes, A @ skew(w) @ axes


@traced
def placed_turns(a: Vector3, a1: Vector3, W: Matrix3, W1: Matrix3) -> Any:
    """a~ W and its rate."""
    return skew(a) @ W, skew(a1) @ W + skew(a) @ W1


@traced
def from_parent(rho: Vector3, rho1: Vector3, A: Matrix3, w: Vector3, turn: Matrix3, spin: Vector3) -> Any:
    """T and T' (6, 6); turn, spin : axes of the parent in those of the frame, and their rate; zero of a point mass."""
    by_turn, rate = -(skew(rho) @ A), -(skew(rho1) @ A) - skew(rho) @ A @ skew(w)
    none = zeros_like(A)
    return blocks((identity(3), by_turn), (none, turn)), blocks((none, rate), (none, -(skew(spin) @ turn)))


@traced
def unit_axes() -> Any:
    """Axes (3, 3) along those that they are in."""
    return identity(3)


@kernel_with_entry
def sweep(index, data, fixed, q, u, Q, V, T, T1, B, B1):
    """Q (s, n_q), V (s, n_v) of the System at s states; T, B and their rates T1, B1 (s, n, 6, 6), zero on entry.

    Arrays T, T1, B, B1 for fewer states end with those of the last one: where they are not wanted, one is enough.
    """
    n = index.shape[0]
    A, p, w = np.empty((n + 1, 3, 3)), np.empty((n + 1, 4)), np.zeros((n + 1, 3))
    r, v = np.empty((n + 1, 3)), np.zeros((n + 1, 3))
    # strokes, their rates and the rates of the rotation; E, a~ W and S with their rates
    F, M = np.empty((3, 3)), np.empty((6, 3, 3))
    for s in range(q.shape[0]):
        at_s = min(s, T.shape[0] - 1)
        for k in range(n):
            h, kind, backward = index[k, PARENT], index[k, ROTATION], index[k, BACKWARD]
            i, j, strokes = index[k, FIRST_Q], index[k, FIRST_U], index[k, STROKES]
            rotational, is_point = index[k, SPEEDS] - strokes, kind == POINT_MASS
            if h < 0:
                put(V3(fixed[-1 - h]), r[n])
                put(V4(fixed[-1 - h, 3:]), p[n])
                put(attitude(V4(p[n])), A[n])
                h = n
            at = 0
            for m in range(3):
                F[0, m], F[1, m], F[2, m] = 0.0, 0.0, 0.0
                if index[k, STROKE_X + m]:
                    F[0, m], F[1, m] = q[s, i + at], u[s, j + at]
                    at += 1
                if m < rotational:
                    F[2, m] = u[s, j + strokes + m]
            d, d1, rates, of_parent = V3(F[0]), V3(F[1]), V3(F[2]), M3(A[h])
            above, below = V4(data[k, ABOVE_QUATERNION]), V4(data[k, BELOW_QUATERNION])
            above_axes, below_axes = attitude(above), attitude(below)
            turn, C, S, S1 = relative(kind, data[k, ZERO], q[s], i + strokes, F[2])
            if backward:
                turn = conjugate(turn)
                S, S1 = reverse(C, S, S1, rates)
            S, S1 = below_axes @ S, below_axes @ S1
            spin = S @ rates  # in the frame's axes
            quaternion = quaternion_product(
                quaternion_product(V4(p[h]), above), quaternion_product(turn, conjugate(below))
            )
            put(unturned() if is_point else quaternion, p[k])
            put(attitude(V4(p[k])), A[k])
            own, w_h = M3(A[k]), V3(w[h])
            between = own.T @ of_parent
            # position; a : from the frame to the joint's end
            way, arm = V3(data[k, ABOVE]), V3(data[k, BELOW])
            if backward:
                arm += below_axes @ d
            else:
                way += above_axes @ d
            a = own @ arm
            rho = of_parent @ way - a
            put(V3(r[h]) + rho, r[k])
            # angular velocity, and the axes of strokes
            omega = still() if is_point else between @ w_h + spin
            put(omega, w[k])
            if backward:
                E, E1 = carried(own, omega, -below_axes)
            elif index[k, BODY_VELOCITY]:
                E, E1 = carried(own, omega, unit_axes())
            else:
                E, E1 = carried(of_parent, w_h, above_axes)
            # a' = A (w x arm) + A D d'
            arm_rate = crossed(omega, arm)
            if backward:
                arm_rate += below_axes @ d1
            W, W1 = carried(own, omega, S)
            X, X1 = placed_turns(a, own @ arm_rate, W, W1 + own @ S1)
            velocity = V3(v[h]) - crossed(rho, of_parent @ w_h) + E @ d1 + crossed(a, own @ spin)
            put(velocity, v[k])
            put(E, M[0])
            put(E1, M[1])
            put(X, M[2])
            put(X1, M[3])
            put(S, M[4])
            put(S1, M[5])
            at = 0
            for o in range(3):
                if index[k, STROKE_X + o]:
                    for m in range(3):
                        B[at_s, k, m, at], B1[at_s, k, m, at] = M[0, m, o], M[1, m, o]
                    at += 1
            for o in range(rotational):
                for m in range(3):
                    B[at_s, k, m, at + o], B1[at_s, k, m, at + o] = M[2, m, o], M[3, m, o]
                    B[at_s, k, 3 + m, at + o], B1[at_s, k, 3 + m, at + o] = M[4, m, o], M[5, m, o]
            if h < n:
                if is_point:
                    between, spin = 0.0 * between, still()
                by_parent, rate = from_parent(rho, velocity - V3(v[h]), of_parent, w_h, between, spin)
                put(by_parent, T[at_s, k])
                put(rate, T1[at_s, k])
            fq, fv = index[k, FRAME_Q], index[k, FRAME_V]
            put(V3(r[k]), Q[s, fq:])
            put(velocity, V[s, fv:])
            if index[k, SIZE] == 6:
                put(V4(p[k]), Q[s, fq + 3 :])
                put(omega, V[s, fv + 3 :])


# Spatial vectors (6,) in kernels over trees: motions (omega, v), and forces and momenta (moment, force).


@traced
def motionless() -> Any:
    """The motion that is zero."""
    return vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@traced
def motion_cross(a: Vector6, b: Vector6) -> Any:
    """a x b of motions, the rate of a motion b that moves with a."""
    return joined(cross(a[:3], b[:3]), cross(a[:3], b[3:]) + cross(a[3:], b[:3]))


@traced
def force_at(point: Vector3, force: Vector3) -> Any:
    """The force (6,) of a force at a point."""
    return joined(cross(point, force), force)


@traced
def motion_at(x: Vector6, rho: Vector3) -> Any:
    """The motion x at the point rho."""
    return joined(x[:3], x[3:] + cross(x[:3], rho))

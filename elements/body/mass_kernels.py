"""Kernels over rigid bodies and point masses: a mass, and an inertia about it, at an offset in a frame.

index (n, 2) int: index of the frame in q and in v. data (n, 13): MASS, offset (3) of the mass CENTER in frame axes,
INERTIA (9) about the mass centre in frame axes. Source: docs/theory/rigid_body.md.
"""

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotation, scatter, turn, turn_back

MASS, CENTER, INERTIA = 0, 1, 4

STARTS = np.array([0])
SIZES = np.array([6])


@inlined
def unpack(data, s, inertia):
    """Offset s (3,) and inertia (3, 3) from a row of data."""
    for i in range(3):
        s[i] = data[CENTER + i]
        for j in range(3):
            inertia[i, j] = data[INERTIA + 3 * i + j]


@kernel
def residual(index, data, q, v, a, gravity, out):
    """out (s, n_v) += inertia and gyroscopic force minus gravity."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((7, 3))
    s, acc, force, c1, c2, inertia_w, torque = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            m = data[k, MASS]
            unpack(data[k], s, inertia)
            rotation(q[state, i + 3 : i + 7], R)
            omega, alpha = v[state, j + 3 : j + 6], a[state, j + 3 : j + 6]
            # acceleration of the mass centre: r'' + R (alpha x s + omega x (omega x s))
            cross(omega, s, c1)
            cross(omega, c1, c2)
            cross(alpha, s, c1)
            for o in range(3):
                c1[o] += c2[o]
            turn(R, c1, acc)
            for o in range(3):
                force[o] = m * (a[state, j + o] + acc[o] - gravity[o])
                out[state, j + o] += force[o]
            turn_back(R, force, c1)
            cross(s, c1, torque)
            turn(inertia, omega, inertia_w)
            cross(omega, inertia_w, c2)
            turn(inertia, alpha, c1)
            for o in range(3):
                out[state, j + 3 + o] += torque[o] + c1[o] + c2[o]


@kernel
def mass(index, data, offset, stride, q, out):
    """Add the 6 x 6 mass matrices to block data."""
    R, A = np.empty((3, 3)), np.empty((6, 6))
    for k in range(index.shape[0]):
        m = data[k, MASS]
        s1, s2, s3 = data[k, CENTER], data[k, CENTER + 1], data[k, CENTER + 2]
        i = index[k, IN_Q]
        rotation(q[i + 3 : i + 7], R)
        ss = s1 * s1 + s2 * s2 + s3 * s3
        for i in range(3):
            for j in range(3):
                A[i, j] = m if i == j else 0.0
                A[3 + i, 3 + j] = data[k, INERTIA + 3 * i + j] - m * data[k, CENTER + i] * data[k, CENTER + j]
            A[3 + i, 3 + i] += m * ss
            # velocity of the mass centre: r' - R s~ omega
            a, b, c = R[i, 0], R[i, 1], R[i, 2]
            A[i, 3] = -m * (b * s3 - c * s2)
            A[i, 4] = -m * (c * s1 - a * s3)
            A[i, 5] = -m * (a * s2 - b * s1)
            for j in range(3):
                A[3 + j, i] = A[i, 3 + j]
        scatter(A, STARTS, SIZES, offset[k], stride[k], out)


@kernel
def tangent(index, data, offset, stride, q, v, a, gravity, damping, stiffness):
    """Add the exact d(residual)/dv and d(residual)/dq H to block data."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((8, 3))
    r, s, acc, c1, c2, jw, x, y = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    C, K = np.empty((6, 6)), np.empty((6, 6))
    for k in range(index.shape[0]):
        i, j = index[k, IN_Q], index[k, IN_V]
        m = data[k, MASS]
        unpack(data[k], s, inertia)
        rotation(q[i + 3 : i + 7], R)
        omega, alpha = v[j + 3 : j + 6], a[j + 3 : j + 6]
        cross(omega, s, c1)
        cross(omega, c1, c2)
        cross(alpha, s, acc)
        for o in range(3):
            acc[o] += c2[o]  # of the mass centre relative to the frame, frame axes
        turn(inertia, omega, jw)
        # specific force of the frame, r'' - g, in frame axes
        for o in range(3):
            x[o] = a[j + o] - gravity[o]
        turn_back(R, x, y)
        C[:] = 0.0
        K[:] = 0.0
        for col in range(3):
            # a unit angular velocity along the column
            x[:] = 0.0
            x[col] = 1.0
            # d(omega x (omega x s)) = col x (omega x s) + omega x (col x s)
            cross(x, c1, c2)
            for o in range(3):
                r[o] = c2[o]
            jw_col = inertia[:, col]
            g1 = omega[1] * jw_col[2] - omega[2] * jw_col[1] + x[1] * jw[2] - x[2] * jw[1]
            g2 = omega[2] * jw_col[0] - omega[0] * jw_col[2] + x[2] * jw[0] - x[0] * jw[2]
            g3 = omega[0] * jw_col[1] - omega[1] * jw_col[0] + x[0] * jw[1] - x[1] * jw[0]
            cross(x, s, c2)
            r[0] += omega[1] * c2[2] - omega[2] * c2[1]
            r[1] += omega[2] * c2[0] - omega[0] * c2[2]
            r[2] += omega[0] * c2[1] - omega[1] * c2[0]
            cross(s, r, c2)
            C[3, 3 + col] = m * c2[0] + g1
            C[4, 3 + col] = m * c2[1] + g2
            C[5, 3 + col] = m * c2[2] + g3
            for o in range(3):
                C[o, 3 + col] = m * (R[o, 0] * r[0] + R[o, 1] * r[1] + R[o, 2] * r[2])
            # a unit rotation about the column's axis: changes of R acc and of R^T (r'' - g)
            cross(x, acc, r)
            for o in range(3):
                K[o, 3 + col] = m * (R[o, 0] * r[0] + R[o, 1] * r[1] + R[o, 2] * r[2])
            cross(y, x, r)
            cross(s, r, c2)
            for o in range(3):
                K[3 + o, 3 + col] = m * c2[o]
        scatter(C, STARTS, SIZES, offset[k], stride[k], damping)
        scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness)


@kernel
def energy_momentum(index, data, q, v, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the inertial origin."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((7, 3))
    r, vel, c1, c2, spin, p, s = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            m = data[k, MASS]
            rotation(q[state, i + 3 : i + 7], R)
            omega = v[state, j + 3 : j + 6]
            unpack(data[k], s, inertia)
            cross(omega, s, c1)
            turn(R, c1, vel)
            turn(R, s, c2)
            for o in range(3):
                vel[o] += v[state, j + o]
                r[o] = q[state, i + o] + c2[o]
                p[o] = m * vel[o]
            turn(inertia, omega, c1)
            turn(R, c1, spin)
            cross(r, p, c2)
            out[state, 0] += 0.5 * dot(p, vel) + 0.5 * dot(omega, c1)
            out[state, 1] -= m * dot(gravity, r)
            for o in range(3):
                out[state, 2 + o] += p[o]
                out[state, 5 + o] += c2[o] + spin[o]

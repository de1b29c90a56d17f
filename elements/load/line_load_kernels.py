"""Kernels over forces and moments along beams.

A row is one element under one load. At each of the three strain points it has a force f and a moment c per length, in
inertial axes or in the axes of the section there, which then follow it. Their virtual work is that of the element's own
interpolation: the centreline moves as a cubic, the section turns with the tangent and by the twist angle.

index, ends, data : rows of ``beam_columns``, per row. kind (n,) int : 0 inertial axes, 1 section axes. first (n,) int :
input that multiplies the row. values (n, 3, 6) : f and c at the strain points. Vectors are in the axes of the first
section. Source: docs/theory/beam_loads.md, equations (6) to (12).
"""

import math

import numpy as np

from femb.elements.beam.columns import LENGTH
from femb.elements.beam.interpolation import section_at
from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, WEIGHTS, end_gradient, twist_angles, twist_directions
from femb.elements.load.along_beam_kernels import add_force, add_section_force, locate
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import turn, turn_back


@inlined
def spin_gradient(i, g, S, rows, W):
    """W (3, 8): spin of the section at strain point i against the first one, by the natural coordinates.

    The swing from e1 to the tangent t turns by t x t' - t (e1 x t) . t' / (1 + t1); psi adds t psi'. rows (4, 8) :
    gradients of ``twist_angles``.
    """
    t1, t2, t3 = S[0, 0], S[1, 0], S[2, 0]
    d = 1.0 / (1.0 + t1)
    for m in range(8):
        W[0, m], W[1, m], W[2, m] = t1 * rows[i, m], t2 * rows[i, m], t3 * rows[i, m]
    for k in range(3):
        for p in range(3 if k != 1 else 1):
            # r' depends on chord (k = 0), s (k = 1) and G (k = 2) along its component p
            m = p if k == 0 else (3 if k == 1 else 4 + p)
            n = HERMITE[i, 1] if k == 0 else (HERMITE[i, 0] if k == 1 else HERMITE[i, 2])
            along = S[p, 0]
            a = n / g * ((1.0 if p == 0 else 0.0) - along * t1)
            b = n / g * ((1.0 if p == 1 else 0.0) - along * t2)
            c = n / g * ((1.0 if p == 2 else 0.0) - along * t3)
            swing = d * (t3 * b - t2 * c)  # minus (e1 x t) . t' / (1 + t1)
            W[0, m] += t2 * c - t3 * b + t1 * swing
            W[1, m] += t3 * a - t1 * c + t2 * swing
            W[2, m] += t1 * b - t2 * a + t3 * swing


@inlined
def row_force(X, R, length, kind, factor, values, turned, rows, S, W, work, G, n, M1):
    """Forces on the centreline G (4, 3), conjugate to (r_I, g_I, r_II, g_II), on the natural coordinates n (8,) and,
    besides both, on the spin of end I M1 (3,)."""
    f, c = work[0], work[1]
    G[:] = 0.0
    n[:] = 0.0
    M1[:] = 0.0
    for i in range(3):
        g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], turned[i], S)
        weight = WEIGHTS[i] * length * factor
        local_vectors(R, kind, values[i], weight, S, f, c)
        for o in range(4):
            for k in range(3):
                G[o, k] += HERMITE_VALUES[i, o] * f[k]
        if c[0] != 0.0 or c[1] != 0.0 or c[2] != 0.0:
            spin_gradient(i, g, S, rows, W)
            for m in range(8):
                n[m] += W[0, m] * c[0] + W[1, m] * c[1] + W[2, m] * c[2]
            for k in range(3):
                M1[k] += c[k]


@inlined
def local_vectors(R, kind, values, weight, S, f, c):
    """f, c (3,): weighted force and moment at one point in the axes of the first section."""
    if kind == 0:
        turn_back(R[1], values[0:3], f)
        turn_back(R[1], values[3:6], c)
    else:
        turn(S, values[0:3], f)
        turn(S, values[3:6], c)
    for k in range(3):
        f[k] *= weight
        c[k] *= weight


@inlined
def ends_force(X, Q, beta, gamma, length, G, n, M1, work, f11, f):
    """f (14,) minus the force on the two ends, so that it is a residual: axes of the first section, spins in own."""
    s1 = X[3]
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    own = work[2]
    turn_back(Q, G[3], own)
    f11[:] = 0.0
    end_gradient(X, Q, beta, gamma, length, n, f11)
    for k in range(3):
        f[k] = f11[k] - G[0, k]
        f[3 + k] = -f11[3 + k] - M1[k]
        f[7 + k] = -f11[k] - G[2, k]
        f[10 + k] = -f11[7 + k]
    # a force on g = s e1 turns its section and strains it
    f[4] += s1 * G[1, 2]
    f[5] -= s1 * G[1, 1]
    f[6] = -f11[6] - length * G[1, 0]
    f[11] += s2 * own[2]
    f[12] -= s2 * own[1]
    f[13] = -f11[10] - length * own[0]


@kernel
def forces(index, ends, data, kind, first, values, u, q, fixed, sign, out, section):
    """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row whose element is folded.
    """
    R, r, X, work = np.empty((5, 3, 3)), np.empty((2, 3)), np.empty(8), np.empty((3, 3))
    beta, gamma, n, f11, f = np.empty(3), np.empty(3), np.empty(8), np.empty(11), np.empty(14)
    turned, rows, S, W = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((3, 8))
    G, M1 = np.empty((4, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, Q = data[k, LENGTH], R[4]
            locate(index[k], ends[k], data[k], q[s], fixed, r, R, X)
            if not twist_angles(X, turned, rows):
                return k
            twist_directions(Q, beta, gamma)
            row_force(X, R, length, kind[k], u[s, first[k]], values[k], turned, rows, S, W, work, G, n, M1)
            ends_force(X, Q, beta, gamma, length, G, n, M1, work, f11, f)
            add_force(index[k], ends[k], R, f, sign, work, out[s])
            if section.shape[0] > 0:
                add_section_force(R, f, sign, work, section[s, k])
    return -1

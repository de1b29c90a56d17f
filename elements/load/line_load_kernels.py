"""Kernels over forces and moments along beams.

A row is one element under one load. At each of the three strain points it has a force f and a moment c per length, in
inertial axes or in the axes of the section. Virtual displacements follow the interpolation of the element: the
centreline is a cubic, and the section rotates with the tangent and by the angle psi about it.

index, ends, data : arrays of ``femb.elements.beam.strain``, one row per load and element. kind (n,) int : INERTIAL or
SECTION axes. first (n,) int : input that multiplies the row. values (n, 3, 6) : f and c at the strain points. Vectors
have components in the axes of the first section. Source: docs/theory/beam_loads.md, equations (6) to (12).
"""

import math

import numpy as np

from femb.elements.beam.ends import element_shape
from femb.elements.beam.strain import (
    HERMITE,
    HERMITE_VALUES,
    LENGTH,
    WEIGHTS,
    end_states,
    ends_force,
    section_at,
    twist_angles,
)
from femb.elements.load.along_beam import add_force, add_section_force
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.vector3 import rotate, rotate_back

INERTIAL, SECTION = 0, 1


@inlined
def spin_gradient(i, g, S, psi_X, W):
    """W (3, 8): spin of the section at strain point i relative to the first section, per natural coordinate.

    The swing from e1 to the tangent t has the spin t x t' - t (e1 x t) . t' / (1 + t1); psi adds t psi'. psi_X (4, 8) :
    gradients of ``twist_angles``. Source: equation (9).
    """
    t1, t2, t3 = S[0, 0], S[1, 0], S[2, 0]
    d = 1.0 / (1.0 + t1)
    for m in range(8):
        W[0, m], W[1, m], W[2, m] = t1 * psi_X[i, m], t2 * psi_X[i, m], t3 * psi_X[i, m]
    for k in range(3):
        for p in range(3 if k != 1 else 1):
            # component p of r' depends on the chord (k = 0), on s (k = 1) and on G (k = 2)
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
def row_force(X, R, length, kind, factor, values, psi, psi_X, S, W, work, G, n, M1):
    """Residual forces of a row: G (4, 3), conjugate to (r_I, g_I, r_II, g_II); n (8,), conjugate to the natural
    coordinates; and M1 (3,), conjugate to the spin of end I."""
    f, c = work[0], work[1]
    G[:] = 0.0
    n[:] = 0.0
    M1[:] = 0.0
    for i in range(3):
        g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], psi[i], S)
        local_vectors(R, kind, values[i], -WEIGHTS[i] * length * factor, S, f, c)
        for o in range(4):
            for k in range(3):
                G[o, k] += HERMITE_VALUES[i, o] * f[k]
        if c[0] != 0.0 or c[1] != 0.0 or c[2] != 0.0:
            spin_gradient(i, g, S, psi_X, W)
            for m in range(8):
                n[m] += W[0, m] * c[0] + W[1, m] * c[1] + W[2, m] * c[2]
            for k in range(3):
                M1[k] += c[k]


@inlined
def local_vectors(R, kind, values, weight, S, f, c):
    """f, c (3,): weighted force and moment at one point in the axes of the first section."""
    if kind == INERTIAL:
        rotate_back(R[1], values[0:3], f)
        rotate_back(R[1], values[3:6], c)
    else:
        rotate(S, values[0:3], f)
        rotate(S, values[3:6], c)
    for k in range(3):
        f[k] *= weight
        c[k] *= weight


@kernel
def forces(index, ends, data, kind, first, values, u, q, fixed, sign, out, section):
    """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row with a folded element.
    """
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    n, f11, f = np.empty(8), np.empty(11), np.empty(14)
    psi, psi_X, S, W = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((3, 8))
    G, M1 = np.empty((4, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, Q = data[k, LENGTH], R[4]
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not twist_angles(X, psi, psi_X):
                return k
            row_force(X, R, length, kind[k], u[s, first[k]], values[k], psi, psi_X, S, W, work, G, n, M1)
            s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
            ends_force(X, Q, small[10], small[11], length, s2, n, G, M1, work[2], f11, f)
            add_force(index[k], ends[k], R, f, sign, work, out[s])
            if section.shape[0] > 0:
                add_section_force(R, f, sign, work, section[s, k])
    return -1

"""Consistent mass of the beam element: translation of the centreline, and spin of the sections at the strain points.

Vectors and integration as in ``femb.elements.beam.inertia``. Source: docs/theory/beam.md, equations (17) to (33).
"""

import math

from femb.elements.beam.inertia import HERMITE_MASS, section_axes
from femb.elements.beam.strain import HERMITE, POINTS
from femb.numerics.compile import inlined


@inlined
def rotary_rows(X, Q, beta, gamma, length, i, symmetric, t, m, n, rows):
    """rows (3, 11): spin of the section at strain point i about t, m, n per motion of the ends (see end_gradient)."""
    g = section_axes(X, i, symmetric, t, m, n)
    n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
    s1 = X[3]
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    d = 1.0 / (1.0 + t[0])
    x = POINTS[i]
    for row in range(3):
        if row == 0:
            p1, p2, p3 = 0.0, d * t[2] / g, -d * t[1] / g
        elif row == 1:
            p1, p2, p3 = -n[0] / g, -n[1] / g, -n[2] / g
        else:
            p1, p2, p3 = m[0] / g, m[1] / g, m[2] / g
        rows[row, 0], rows[row, 1], rows[row, 2] = n3 * p1, n3 * p2, n3 * p3
        rows[row, 3], rows[row, 4], rows[row, 5] = 0.0, -n2 * s1 * p3, n2 * s1 * p2
        rows[row, 6] = n2 * length * p1
        q1 = Q[0, 0] * p1 + Q[1, 0] * p2 + Q[2, 0] * p3
        q2 = Q[0, 1] * p1 + Q[1, 1] * p2 + Q[2, 1] * p3
        q3 = Q[0, 2] * p1 + Q[1, 2] * p2 + Q[2, 2] * p3
        rows[row, 7], rows[row, 8], rows[row, 9] = 0.0, -n4 * s2 * q3, n4 * s2 * q2
        rows[row, 10] = n4 * length * q1
    rows[0, 3] += 1.0 - x * beta[0]
    rows[0, 4] += d * t[1] - x * beta[1]
    rows[0, 5] += d * t[2] - x * beta[2]
    for k in range(3):
        rows[0, 7 + k] += x * gamma[k]


@inlined
def translation_mass(Q, s1, s2, length, mass, G, M):
    """M (14, 14) += mass of the centreline's translation, for the end velocities in the axes of the first section.

    The end velocities are r (3), spin (3, end axes) and strain rate of end I, then of end II. mass : of the element.
    G (2, 3, 3) : set to the rate of g of both ends per spin about y, spin about z and strain rate.
    """
    for i in range(3):
        G[0, i, 0] = -s1 if i == 2 else 0.0
        G[0, i, 1] = s1 if i == 1 else 0.0
        G[0, i, 2] = length if i == 0 else 0.0
        G[1, i, 0] = -s2 * Q[i, 2]
        G[1, i, 1] = s2 * Q[i, 1]
        G[1, i, 2] = length * Q[i, 0]
    for a in range(2):
        for b in range(2):
            m = mass * HERMITE_MASS[2 * a, 2 * b + 1]
            mg = mass * HERMITE_MASS[2 * a + 1, 2 * b + 1]
            for i in range(3):
                M[7 * a + i, 7 * b + i] += mass * HERMITE_MASS[2 * a, 2 * b]
                for j in range(3):
                    M[7 * a + i, 7 * b + 4 + j] += m * G[b, i, j]
                    M[7 * b + 4 + j, 7 * a + i] += m * G[b, i, j]
                    g = G[a, 0, i] * G[b, 0, j] + G[a, 1, i] * G[b, 1, j] + G[a, 2, i] * G[b, 2, j]
                    M[7 * a + 4 + i, 7 * b + 4 + j] += mg * g

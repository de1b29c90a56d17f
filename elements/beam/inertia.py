"""Mass and energy of the beam element, and the motion of its ends on which its inertia force depends.

Vectors and integration as in ``femb.elements.beam.rotary_inertia``. Source: docs/theory/beam.md, equations (17) to
(33).
"""

import math

import numpy as np

from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, POINTS, slope, swing
from femb.numerics.compiler.compile import inlined
from femb.numerics.orbits import cosine_and_sine
from femb.numerics.vector3 import cross, dot

# Additional terms of sections whose mass centre has an offset c = (0, c_y, c_z) from the reference axis, in section
# axes; kernels take c_y and c_z. Source: docs/theory/beam.md, equations (29) to (33).


@inlined
def value_at(i, x, out):
    """out (3,): the cubic with end values and derivatives x (4, 3) at strain point i."""
    for k in range(3):
        out[k] = 0.0
        for a in range(4):
            out[k] += HERMITE_VALUES[i, a] * x[a, k]


@inlined
def offset_mass(i, beside, axes, spin, G, V, H, M):
    """M (14, 14) += mass terms of the offset at strain point i, for the end velocities in the axes of section I.

    beside : the mass, cy and cz. spin (3, 11) : of ``rotary_rows``. G (2, 3, 3) : of ``translation_mass``. V, H (3, 14)
    : set to the velocity of the reference axis, and to that of the mass centre relative to it.
    """
    mass, cy, cz = beside
    V[:] = 0.0
    for j in range(3):
        for end in range(2):
            for k in range(3):
                V[j, 7 * end + k] = HERMITE_VALUES[i, 2 * end] * axes[j, k]
                g = axes[j, 0] * G[end, 0, k] + axes[j, 1] * G[end, 1, k] + axes[j, 2] * G[end, 2, k]
                V[j, 7 * end + 4 + k] = HERMITE_VALUES[i, 2 * end + 1] * g
    for k in range(11):
        column = 7 + k if k < 3 else (k if k < 7 else k + 3)
        H[0, column] = cz * spin[1, k] - cy * spin[2, k]
        H[1, column] = -cz * spin[0, k]
        H[2, column] = cy * spin[0, k]
    for j in range(3):
        for k in range(3):
            H[j, k] = -H[j, 7 + k]  # the chord is r_II - r_I
        for a in range(14):
            for b in range(14):
                M[a, b] += mass * (V[j, a] * H[j, b] + H[j, a] * V[j, b] + H[j, a] * H[j, b])


@inlined
def offset_energy(i, beside, axes, R1, w, motion, gravity, work, out):
    """Add the terms of the offset at strain point i to out (8,), energies and momenta as in ``energy_momentum``.

    beside : the mass, cy and cz. w (3,) : spin of the section, section axes. motion : x and its rates (4, 3), inertial
    axes. work : (6, 3).
    """
    (mass, cy, cz), (x0, x1) = beside, motion
    c, h, r, velocity, arm = work[0], work[1], work[2], work[3], work[4]
    for k in range(3):
        c[k] = 0.0
        h[k] = 0.0
        for o in range(3):
            # section axes, inertial components
            t, m, n = R1[k, o] * axes[0, o], R1[k, o] * axes[1, o], R1[k, o] * axes[2, o]
            c[k] += cy * m + cz * n
            h[k] += (w[1] * cz - w[2] * cy) * t - w[0] * cz * m + w[0] * cy * n
    value_at(i, x0, r)
    value_at(i, x1, velocity)
    out[1] -= mass * dot(gravity, c)
    out[0] += mass * (dot(velocity, h) + 0.5 * dot(h, h))
    for k in range(3):
        out[2 + k] += mass * h[k]
        velocity[k] += h[k]
    cross(r, h, arm)
    cross(c, velocity, work[5])
    for k in range(3):
        out[5 + k] += mass * (arm[k] + work[5, k])


# Integrals of the products of the cubic Hermite functions, and of the functions themselves.
HERMITE_MASS = (
    np.array(
        [[156.0, 22.0, 54.0, -13.0], [22.0, 4.0, 13.0, -3.0], [54.0, 13.0, 156.0, -22.0], [-13.0, -3.0, -22.0, 4.0]]
    )
    / 420.0
)
HERMITE_MEAN = np.array([1.0 / 2.0, 1.0 / 12.0, 1.0 / 2.0, -1.0 / 12.0])


@inlined
def centreline_rate(eps_rate, omega, s, length, out):
    """out (3,): rate of g = s e1, in the axes of its end; s = length (1 + eps)."""
    out[0] = length * eps_rate
    out[1] = s * omega[2]
    out[2] = -s * omega[1]


@inlined
def centreline_acceleration(eps_rate, eps_acc, omega, alpha, s, length, out):
    """out (3,): second rate of g = s e1, in the axes of its end; alpha is the angular acceleration."""
    out[0] = length * eps_acc - s * (omega[1] * omega[1] + omega[2] * omega[2])
    out[1] = 2.0 * length * eps_rate * omega[2] + s * (alpha[2] + omega[0] * omega[1])
    out[2] = -2.0 * length * eps_rate * omega[1] + s * (omega[0] * omega[2] - alpha[1])


@inlined
def section_axes(X, i, spin_symmetric, t, m, n):
    """Axes t, m, n (3,) of the section at strain point i; returns the length of r' there.

    The swung section is rotated by alpha times xi about t. The difference from ``section_at``, due to parallel
    transport, is of second order in the bend; the rates have a closed form. If the section's y and z inertia are equal
    (``spin_symmetric``), the rotation has no effect and is omitted.
    """
    t[0], t[1], t[2] = slope(HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], X)
    g = math.sqrt(dot(t, t))
    for k in range(3):
        t[k] /= g
    m[0], m[1], m[2], n[0], n[1], n[2] = swing(t[0], t[1], t[2])
    if not spin_symmetric:
        c, s = cosine_and_sine(POINTS[i] * X[7])
        for k in range(3):
            a, b = m[k], n[k]
            m[k] = c * a + s * b
            n[k] = c * b - s * a
    return g


@inlined
def twist_rates(Q, beta, omega1, w2, alpha1, a2):
    """Rate and second rate of the twist alpha; all vectors (3,) in the axes of the first section."""
    c = 1.0 / (1.0 + Q[0, 0])
    # l_I = e1 and l_II = Q[:, 0] rotate with their sections
    l2, l3 = Q[1, 0], Q[2, 0]
    rate = 0.0
    second = 0.0
    for k in range(3):
        rate += beta[k] * (w2[k] - omega1[k])
        second += beta[k] * (a2[k] - alpha1[k])
    s1 = w2[1] * l3 - w2[2] * l2
    s2 = omega1[2] + w2[2] * Q[0, 0] - w2[0] * l3
    s3 = -omega1[1] + w2[0] * l2 - w2[1] * Q[0, 0]
    c_rate = s1 + omega1[2] * l2 - omega1[1] * l3
    second += c * (s1 * (w2[0] - omega1[0]) + s2 * (w2[1] - omega1[1]) + s3 * (w2[2] - omega1[2]) - rate * c_rate)
    return rate, second


# Consistent mass of the beam element: translation of the centreline, and spin of the sections at the strain points.
#
# Vectors and integration as in ``femb.elements.beam.inertia``. Source: docs/theory/beam.md, equations (17) to (33).


@inlined
def rotary_rows(X, Q, twists, length, i, symmetric, axes, rows):
    """rows (3, 11): spin of the section at strain point i about its axes (3, 3) per motion of the ends (see
    end_gradient); twists : beta and gamma."""
    (beta, gamma), t, m, n = twists, axes[0], axes[1], axes[2]
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

"""Inertia force of the beam element.

The position of the centreline is linear in the four vectors x = (r_I, g_I, r_II, g_II), where g is the centreline
derivative at an end, with cubic functions of xi; its kinetic energy is integrated exactly. The rotary inertia is
integrated at the three strain points. All vectors have components in the axes of the element's first section; rates
are relative to inertial space. Source: docs/theory/beam.md, equations (17) to (33).
"""

import math

import numpy as np

from femb.elements.beam.interpolation import slope, swing
from femb.elements.beam.mass_axis import offset_force
from femb.elements.beam.strain import HERMITE, POINTS, WEIGHTS
from femb.numerics.circular import cosine_and_sine
from femb.numerics.compile import inlined
from femb.numerics.lanes import every
from femb.numerics.vector3 import dot, rotate

# Integrals of the products of the cubic Hermite functions, and of the functions themselves.
HERMITE_MASS = (
    np.array(
        [
            [156.0, 22.0, 54.0, -13.0],
            [22.0, 4.0, 13.0, -3.0],
            [54.0, 13.0, 156.0, -22.0],
            [-13.0, -3.0, -22.0, 4.0],
        ]
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


@inlined
def at_point(i, x, out):
    """out (3,): xi derivative, at strain point i, of the cubic with end values and derivatives x (4, 3)."""
    n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
    for k in range(3):
        out[k] = n3 * (x[2, k] - x[0, k]) + n2 * x[1, k] + n4 * x[3, k]


@inlined
def tangent_rates(t, g, ud, udd, td, tdd):
    """td, tdd (3,): rate and second rate of the tangent t of r' = g t, from those of r'.

    Returns the rate of g, t . udd and |td|^2.
    """
    along = dot(t, ud)
    for k in range(3):
        td[k] = (ud[k] - along * t[k]) / g
    along2 = dot(t, udd)
    speed2 = dot(td, td)
    for k in range(3):
        tdd[k] = (udd[k] - along2 * t[k] - 2.0 * along * td[k]) / g - speed2 * t[k]
    return along, along2, speed2


@inlined
def swing_spin(t, td, tdd, omega, alpha):
    """Spin of the swung section about t, [omega_I . (l + t) - (l x t) . tdot]/(1 + l . t) with l = e1, and its rate.

    Returns spin, rate, and the rates of numerator and denominator.
    """
    d = 1.0 / (1.0 + t[0])
    num = omega[0] * (1.0 + t[0]) + omega[1] * t[1] + omega[2] * t[2] + t[2] * td[1] - t[1] * td[2]
    spin = num * d
    # rate of l: (0, omega_3, -omega_2)
    num_rate = (
        alpha[0] * (1.0 + t[0])
        + alpha[1] * t[1]
        + alpha[2] * t[2]
        + dot(omega, td)
        + t[2] * tdd[1]
        - t[1] * tdd[2]
        - omega[2] * (t[2] * td[0] - t[0] * td[2])
        + omega[1] * (t[0] * td[1] - t[1] * td[0])
    )
    den_rate = omega[2] * t[1] - omega[1] * t[2] + td[0]
    return spin, (num_rate - spin * den_rate) * d, num_rate, den_rate


@inlined
def inertia_force(
    X, Q, beta, length, mass, inertia, has_mass_offset, cy, cz, omega1, omega2, alpha1, alpha2, v, x2, work, F, M1
):
    """Inertia force of an element, axes of its first section.

    mass : per length. inertia (3,) : per length about t, m, n through the mass centre, which is at (0, cy, cz).
    has_mass_offset : see ``columns``. omega, alpha (3,) : angular velocity and acceleration of the ends, end axes.
    v (4, 3), x2 (4, 3) : first and second rates of x = (r_I, g_I, r_II, g_II). work : (5, 4, 3).
    Adds to F (4, 3), conjugate to x, and to M1 (3,), conjugate to the spin of end I at fixed x; returns the force
    conjugate to the twist alpha.
    """
    for a in range(4):
        for b in range(4):
            f = mass * length * HERMITE_MASS[a, b]
            for k in range(3):
                F[a, k] += f * x2[b, k]
    symmetric = every(inertia[1] == inertia[2]) and every(cy == 0.0) and every(cz == 0.0)
    t, m, n, p = work[0, 0], work[0, 1], work[0, 2], work[0, 3]
    td, tdd, ud, udd = work[1, 0], work[1, 1], work[1, 2], work[1, 3]
    w2, a2 = work[2, 0], work[2, 1]
    w, w_rate, moment = work[3, 0], work[3, 1], work[3, 2]
    rotate(Q, omega2, w2)
    rotate(Q, alpha2, a2)
    twist_rate, twist_acc = twist_rates(Q, beta, omega1, w2, alpha1, a2)
    twist_force = 0.0
    for i in range(3):
        g = section_axes(X, i, symmetric, t, m, n)
        n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
        at_point(i, v, ud)
        at_point(i, x2, udd)
        tangent_rates(t, g, ud, udd, td, tdd)
        d = 1.0 / (1.0 + t[0])
        wt, wt_rate, _, _ = swing_spin(t, td, tdd, omega1, alpha1)
        wt += POINTS[i] * twist_rate
        wt_rate += POINTS[i] * twist_acc
        wm = -dot(n, td)
        wn = dot(m, td)
        wm_rate = wt * wn - dot(n, tdd)
        wn_rate = -wt * wm + dot(m, tdd)
        f = WEIGHTS[i] * length
        mt = f * (inertia[0] * wt_rate + (inertia[2] - inertia[1]) * wm * wn)
        mm = f * (inertia[1] * wm_rate + (inertia[0] - inertia[2]) * wt * wn)
        mn = f * (inertia[2] * wn_rate + (inertia[1] - inertia[0]) * wt * wm)
        if has_mass_offset:
            w[0], w[1], w[2] = wt, wm, wn
            w_rate[0], w_rate[1], w_rate[2] = wt_rate, wm_rate, wn_rate
            moment[0], moment[1], moment[2] = mt, mm, mn
            offset_force(i, f * mass, cy, cz, work[0], w, w_rate, x2, work[4], F, moment)
            mt, mm, mn = moment[0], moment[1], moment[2]
        for k in range(3):
            p[k] = (mn * m[k] - mm * n[k]) / g
        p[1] += mt * d * t[2] / g
        p[2] -= mt * d * t[1] / g
        for k in range(3):
            F[0, k] -= n3 * p[k]
            F[1, k] += n2 * p[k]
            F[2, k] += n3 * p[k]
            F[3, k] += n4 * p[k]
            M1[k] += mt * d * t[k]
        M1[0] += mt * d
        twist_force += POINTS[i] * mt
    return twist_force

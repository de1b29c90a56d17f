"""Strains of the quaternion Euler-Bernoulli beam element and their first derivatives.

All vectors have components in the axes of the element's first section (x along its tangent). Strains, gradient and
material stiffness are functions of the eight natural coordinates X (``femb.elements.beam.natural``).
Source: docs/theory/beam.md, equations (4) to (16).
"""

import math

import numpy as np

from femb.elements.beam.interpolation import FINE, cubics, integrals, slope, slopes
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import choose, every
from femb.numerics.orbits import cosine_and_sine

# Three Gauss points on [0, 1]: exact for the bending and axial energy of a nearly straight element, and the smallest
# number without a pattern of strains of zero energy (theory, section 2).
POINTS = 0.5 + 0.5 * np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0

# Points for the integral of the angle psi (``femb.elements.beam.interpolation``): eight for elements that are bent by
# about a degree at most, where they are as accurate as twenty. Both rules, one after the other:
FEW, SLIGHTLY_BENT = 8, 0.02
_RULES = [0.5 + 0.5 * np.polynomial.legendre.leggauss(FEW)[0], FINE]
TWIST_POINTS = np.concatenate(_RULES)
# Row k < 3 integrates from 0 to POINTS[k], the last row to 1.
TWIST_WEIGHTS = np.ascontiguousarray(np.hstack([integrals(x, np.append(POINTS, 1.0)) for x in _RULES]))

# Angle, and its derivative by xi, of the inner twist of one in the middle of the element (theory, equation (13d)).
INNER_ANGLES, INNER_SLOPES = 4.0 * POINTS * (1.0 - POINTS), 4.0 - 8.0 * POINTS

# The Hermite functions at the strain points, and their derivatives.
HERMITE_VALUES = cubics(POINTS)
HERMITE = slopes(POINTS)
TWIST_HERMITE = slopes(TWIST_POINTS)


@inlined
def twist_rule(X):
    """First and last + 1 of the TWIST_POINTS for an element of this shape."""
    limit = SLIGHTLY_BENT * SLIGHTLY_BENT * X[3] * X[3]
    for k in (1, 2, 5, 6):
        if not every(X[k] * X[k] < limit):
            return FEW, TWIST_POINTS.size
    return 0, FEW


@inlined
def twist_angles(X, psi, psi_X):
    """Angle psi of the section about the tangent, relative to the swung section of end I, at the strain points.

    psi (4,) and its gradient psi_X (4, 8): the first three rows at POINTS, equation (11), where the twist strain is
    uniform; the last is length times that strain. Returns 1, or 0 if the element is bent by 180 degrees.
    """
    c = 6.0 * (X[1] * X[6] - X[2] * X[5])
    # By parallel transport, dpsi/dxi = c f with f = xi^2 / (g (g + u1)). First the integrals of f and of its gradient.
    psi[:] = 0.0
    psi_X[:] = 0.0
    first, last = twist_rule(X)
    whole = choose(X[3] > 0.0, 1.0, 0.0)
    for j in range(first, last):
        x = TWIST_POINTS[j]
        n2, n3, n4 = TWIST_HERMITE[j, 0], TWIST_HERMITE[j, 1], TWIST_HERMITE[j, 2]
        u1, u2, u3 = slope(n2, n3, n4, X)
        g = math.sqrt(u1 * u1 + u2 * u2 + u3 * u3)
        swing = g + u1
        whole = choose(swing > 1e-3 * g, whole, 0.0)
        z = 1.0 / (g * swing)
        f = x * x * z
        # gradient of f with respect to u: -f (t/g + (t + e1)/swing)
        h = -f * z * z * swing * (g + swing)
        h1 = h * u1 - f * z * g
        h2 = h * u2
        h3 = h * u3
        for k in range(4):
            w = TWIST_WEIGHTS[k, j]
            w3, w4 = w * n3, w * n4
            psi[k] += w * f
            psi_X[k, 0] += w3 * h1
            psi_X[k, 1] += w3 * h2
            psi_X[k, 2] += w3 * h3
            psi_X[k, 3] += w * n2 * h1
            psi_X[k, 4] += w4 * h1
            psi_X[k, 5] += w4 * h2
            psi_X[k, 6] += w4 * h3
    if not every(whole != 0.0):
        return whole
    for k in range(4):
        f = 6.0 * psi[k]
        psi[k] *= c
        for m in range(7):
            psi_X[k, m] *= c
        psi_X[k, 1] += f * X[6]
        psi_X[k, 2] -= f * X[5]
        psi_X[k, 5] -= f * X[2]
        psi_X[k, 6] += f * X[1]
    # So far the angle of parallel transport. Add the uniform twist.
    twist = X[7] - psi[3]
    for k in range(3):
        psi[k] += POINTS[k] * twist
        for m in range(7):
            psi_X[k, m] -= POINTS[k] * psi_X[3, m]
        psi_X[k, 7] = POINTS[k]
    psi[3] = twist
    for m in range(7):
        psi_X[3, m] = -psi_X[3, m]
    psi_X[3, 7] = 1.0
    return whole


@kernel
def strains(X, length, source, psi, psi_X, e, E):
    """Strains e (3, 4) at POINTS (axial, twist, curvature about y and z) and their gradients E (3, 4, 8) with respect
    to X. source : true for curvatures per unstretched length squared, as in the thesis. psi (4,), psi_X (4, 8) : set as
    in ``twist_angles``. Returns 1, or 0 if the element is folded, where the interpolation is not defined.
    """
    whole = twist_angles(X, psi, psi_X)
    if not every(whole != 0.0):
        return whole
    per_length = 1.0 / length
    for i in range(3):
        n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
        m2, m3, m4 = HERMITE[i, 3], HERMITE[i, 4], HERMITE[i, 5]
        u1, u2, u3 = slope(n2, n3, n4, X)
        w1, w2, w3 = slope(m2, m3, m4, X)
        g = math.sqrt(u1 * u1 + u2 * u2 + u3 * u3)
        per_g = 1.0 / g
        t1, t2, t3 = u1 * per_g, u2 * per_g, u3 * per_g
        z = 1.0 / (g + u1)
        y2, y3 = u2 * z, u3 * z
        tw = t1 * w1 + t2 * w2 + t3 * w3
        s = w1 + tw
        b = w2 - y2 * s  # component of r'' along the swung y axis
        c = w3 - y3 * s  # and along the swung z axis
        scale = choose(source, per_length, per_g) * per_length
        cp, sp = cosine_and_sine(psi[i])
        k2 = scale * (sp * b - cp * c)
        k3 = scale * (cp * b + sp * c)
        e[i, 0] = g / length - 1.0
        e[i, 1] = psi[3] * per_length
        e[i, 2] = k2
        e[i, 3] = k3
        # Gradients with respect to u = r' and w = r'': of y2, y3 (by u), of s, then of b and c.
        a1, a2, a3 = z * (t1 + 1.0), z * t2, z * t3
        s1, s2, s3 = (w1 - tw * t1) * per_g, (w2 - tw * t2) * per_g, (w3 - tw * t3) * per_g
        b1, b2, b3 = s * y2 * a1 - y2 * s1, s * (y2 * a2 - z) - y2 * s2, s * y2 * a3 - y2 * s3
        c1, c2, c3 = s * y3 * a1 - y3 * s1, s * y3 * a2 - y3 * s2, s * (y3 * a3 - z) - y3 * s3
        d1, d2, d3 = -y2 * (t1 + 1.0), 1.0 - y2 * t2, -y2 * t3
        f1, f2, f3 = -y3 * (t1 + 1.0), -y3 * t2, 1.0 - y3 * t3
        by_g = choose(source, 0.0, per_g)
        for row in range(2, 4):
            if row == 2:
                p, r, k = scale * sp, -scale * cp, k2
                by_turn = k3
            else:
                p, r, k = scale * cp, scale * sp, k3
                by_turn = -k2
            ku1 = p * b1 + r * c1 - k * by_g * t1
            ku2 = p * b2 + r * c2 - k * by_g * t2
            ku3 = p * b3 + r * c3 - k * by_g * t3
            kw1 = p * d1 + r * f1
            kw2 = p * d2 + r * f2
            kw3 = p * d3 + r * f3
            E[i, row, 0] = n3 * ku1 + m3 * kw1
            E[i, row, 1] = n3 * ku2 + m3 * kw2
            E[i, row, 2] = n3 * ku3 + m3 * kw3
            E[i, row, 3] = n2 * ku1 + m2 * kw1
            E[i, row, 4] = n4 * ku1 + m4 * kw1
            E[i, row, 5] = n4 * ku2 + m4 * kw2
            E[i, row, 6] = n4 * ku3 + m4 * kw3
            E[i, row, 7] = 0.0
            for m in range(8):
                E[i, row, m] += by_turn * psi_X[i, m]
        t1, t2, t3 = t1 * per_length, t2 * per_length, t3 * per_length
        E[i, 0, 0] = n3 * t1
        E[i, 0, 1] = n3 * t2
        E[i, 0, 2] = n3 * t3
        E[i, 0, 3] = n2 * t1
        E[i, 0, 4] = n4 * t1
        E[i, 0, 5] = n4 * t2
        E[i, 0, 6] = n4 * t3
        E[i, 0, 7] = 0.0
        for m in range(8):
            E[i, 1, m] = psi_X[3, m] * per_length
    return whole

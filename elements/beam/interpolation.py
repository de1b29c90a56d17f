"""Interpolation inside a beam element: the centreline, and the axes of the section on it.

The centreline is the cubic between the ends' positions r and derivatives g, which are along the ends' sections. The
section at xi swings from the first one to the tangent t without turning about it, and then turns about t by psi(xi):

    psi = c I(xi) + xi (alpha - c I(1)),    I = integral of xi^2 / (g (g + u1)),    c = 6 (X1 X6 - X2 X5)

so that the twist strain is uniform; u = r', g = |u|, X the natural coordinates (``femb.elements.beam.strain``).
Source: docs/theory/beam.md, equations (4) to (11).
"""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics.compile import inlined, kernel


def cubics(x: Floats) -> Floats:
    """(n, 4) Hermite functions N1 to N4 at xi (n,): positions by (r_I, g_I, r_II, g_II)."""
    columns = [1 - 3 * x**2 + 2 * x**3, x * (1 - x) ** 2, 3 * x**2 - 2 * x**3, x**2 * (x - 1)]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def slopes(x: Floats) -> Floats:
    """(n, 6) columns N2', N3', N4', N2'', N3'', N4'' at xi (n,); N1 = 1 - N3."""
    columns = [1 - 4 * x + 3 * x**2, 6 * x - 6 * x**2, 3 * x**2 - 2 * x, 6 * x - 4, 6 - 12 * x, 6 * x - 2]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def integrals(x: Floats, upper: Floats) -> Floats:
    """Weights (k, n) at the points x (n,) of the integrals from 0 to upper (k,), exact for polynomials."""
    basis = [np.polynomial.Legendre.basis(k, domain=[0.0, 1.0]) for k in range(len(x))]
    values = np.stack([each(x) for each in basis], axis=1)
    primitives = np.stack([each.integ(lbnd=0.0)(upper) for each in basis], axis=1)
    return np.linalg.solve(values.T, primitives.T).T


# The integral I has no closed form. Twenty Gauss points keep the strain energy the same, to ten digits, when an element
# turned by 50 degrees is built from its other end.
FINE = 0.5 + 0.5 * np.polynomial.legendre.leggauss(20)[0]


def slope_formula(n2: Any, n3: Any, n4: Any, X: Any) -> tuple[Any, Any, Any]:
    """The components of r' in the axes of the first section; n2, n3, n4 : a row of ``slopes``."""
    return n3 * X[0] + n2 * X[3] + n4 * X[4], n3 * X[1] + n4 * X[5], n3 * X[2] + n4 * X[6]


def swing_formula(t1: Any, t2: Any, t3: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """The y and z axes, one after the other, of the section swung from the first one to the tangent t."""
    y2, y3 = t2 / (1.0 + t1), t3 / (1.0 + t1)
    return -t2, 1.0 - y2 * t2, -y2 * t3, -t3, -y3 * t2, 1.0 - y3 * t3


# Kernels take numbers; the functions themselves also take arrays.
slope, swing = inlined(slope_formula), inlined(swing_formula)


@inlined
def section_at(X, n2, n3, n4, psi, S):
    """S (3, 3): tangent, y and z axes, as columns, of the section where ``slopes`` are n2, n3, n4, turned by psi about
    its tangent; returns the length of r'."""
    u1, u2, u3 = slope(n2, n3, n4, X)
    g = math.sqrt(u1 * u1 + u2 * u2 + u3 * u3)
    t1, t2, t3 = u1 / g, u2 / g, u3 / g
    m1, m2, m3, n1, n2, n3 = swing(t1, t2, t3)
    c, s = math.cos(psi), math.sin(psi)
    S[0, 0], S[1, 0], S[2, 0] = t1, t2, t3
    S[0, 1], S[1, 1], S[2, 1] = c * m1 + s * n1, c * m2 + s * n2, c * m3 + s * n3
    S[0, 2], S[1, 2], S[2, 2] = c * n1 - s * m1, c * n2 - s * m2, c * n3 - s * m3
    return g


@kernel
def helix(turning, stretched, d, Q):
    """Chord d (3,) and turn Q (3, 3) of a beam of that length whose section turns by ``turning`` (3,) in all, evenly.

    Q is the exponential of the turn, d the integral of its first column along the beam.
    """
    a, b, c = turning[0], turning[1], turning[2]
    s = a * a + b * b + c * c
    if s < 1e-2:
        # sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3, to rounding
        f = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
        g = 0.5 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
        h = (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))) / 6.0
    else:
        x = math.sqrt(s)
        f, g, h = math.sin(x) / x, (1.0 - math.cos(x)) / s, (x - math.sin(x)) / (s * x)
    Q[0, 0], Q[0, 1], Q[0, 2] = 1.0 - g * (b * b + c * c), g * a * b - f * c, g * a * c + f * b
    Q[1, 0], Q[1, 1], Q[1, 2] = g * a * b + f * c, 1.0 - g * (a * a + c * c), g * b * c - f * a
    Q[2, 0], Q[2, 1], Q[2, 2] = g * a * c - f * b, g * b * c + f * a, 1.0 - g * (a * a + b * b)
    d[0] = stretched * (1.0 - h * (b * b + c * c))
    d[1] = stretched * (g * c + h * a * b)
    d[2] = stretched * (h * a * c - g * b)

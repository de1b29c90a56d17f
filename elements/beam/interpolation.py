"""Interpolation inside a beam element: the centreline, and the axes of the section on it.

The centreline is the cubic with the positions r and the derivatives g of the ends; g is along the x axis of the end's
section. The axes of the section at xi are those of the first section, rotated by the smallest rotation from e1 to the
tangent t (the swing) and then by psi(xi) about t:

    psi = c I(xi) + xi (alpha - c I(1)),    I = integral of xi^2 / (g (g + u1)),    c = 6 (X1 X6 - X2 X5)

so that the twist strain is uniform. u = r', g = |u|; X: the natural coordinates (``femb.elements.beam.strain``).
Source: docs/theory/beam.md, equations (4) to (11).
"""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.compile import inlined, kernel


def cubics(x: Floats) -> Floats:
    """(n, 4) Hermite functions N1 to N4 at xi (n,), the factors of r_I, g_I, r_II and g_II."""
    columns = [1 - 3 * x**2 + 2 * x**3, x * (1 - x) ** 2, 3 * x**2 - 2 * x**3, x**2 * (x - 1)]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def slopes(x: Floats) -> Floats:
    """(n, 6) columns N2', N3', N4', N2'', N3'', N4'' at xi (n,); N1 = 1 - N3."""
    columns = [1 - 4 * x + 3 * x**2, 6 * x - 6 * x**2, 3 * x**2 - 2 * x, 6 * x - 4, 6 - 12 * x, 6 * x - 2]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def integrals(x: Floats, upper: Floats) -> Floats:
    """Weights (k, n) at the points x (n,) of the integrals from 0 to upper (k,), exact for polynomials."""
    basis = [np.polynomial.Legendre.basis(k, domain=[0.0, 1.0]) for k in range(len(x))]
    values = np.stack([polynomial(x) for polynomial in basis], axis=1)
    primitives = np.stack([polynomial.integ(lbnd=0.0)(upper) for polynomial in basis], axis=1)
    return np.linalg.solve(values.T, primitives.T).T


# The integral I has no closed form. With twenty Gauss points the strain energy of an element bent by 50 degrees
# does not depend on the order of its ends, to ten digits.
FINE = 0.5 + 0.5 * np.polynomial.legendre.leggauss(20)[0]


def slope_formula(n2: Any, n3: Any, n4: Any, X: Any) -> tuple[Any, Any, Any]:
    """The components of r' in the axes of the first section; n2, n3, n4 : the first three columns of ``slopes``."""
    return n3 * X[0] + n2 * X[3] + n4 * X[4], n3 * X[1] + n4 * X[5], n3 * X[2] + n4 * X[6]


def swing_formula(t1: Any, t2: Any, t3: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """The components of the y axis, then of the z axis, of the first section after the swing to the tangent t."""
    y2, y3 = t2 / (1.0 + t1), t3 / (1.0 + t1)
    return -t2, 1.0 - y2 * t2, -y2 * t3, -t3, -y3 * t2, 1.0 - y3 * t3


# For kernels, which call them with numbers; the functions themselves also accept arrays.
slope, swing = inlined(slope_formula), inlined(swing_formula)


@inlined
def section_at(X, n2, n3, n4, psi, S):
    """S (3, 3): axes, as columns, of the section at a point with the ``slopes`` n2, n3, n4 and the angle psi; returns
    the length of r'."""
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
def helix(rotation, length, d, Q):
    """Chord d (3,) and end rotation Q (3, 3) of a beam of uniform curvature; rotation (3,) is curvature times length.

    Q is the exponential of the rotation vector, d the integral of its first column along the beam.
    """
    a, b, c = rotation[0], rotation[1], rotation[2]
    s = a * a + b * b + c * c
    if s < 1e-2:
        # power series of sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3, exact to rounding
        f = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
        g = 0.5 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
        h = (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))) / 6.0
    else:
        x = math.sqrt(s)
        f, g, h = math.sin(x) / x, (1.0 - math.cos(x)) / s, (x - math.sin(x)) / (s * x)
    Q[0, 0], Q[0, 1], Q[0, 2] = 1.0 - g * (b * b + c * c), g * a * b - f * c, g * a * c + f * b
    Q[1, 0], Q[1, 1], Q[1, 2] = g * a * b + f * c, 1.0 - g * (a * a + c * c), g * b * c - f * a
    Q[2, 0], Q[2, 1], Q[2, 2] = g * a * c - f * b, g * b * c + f * a, 1.0 - g * (a * a + b * b)
    d[0] = length * (1.0 - h * (b * b + c * c))
    d[1] = length * (g * c + h * a * b)
    d[2] = length * (h * a * c - g * b)

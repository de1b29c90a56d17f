"""Columns, natural coordinates, interpolation and strains of the quaternion Euler-Bernoulli beam element.

All vectors have components in the axes of the element's first section (x along its tangent). Strains, gradient and
material stiffness are functions of the eight natural coordinates X (``femb.elements.beam.strain``).
Source: docs/theory/beam.md, equations (4) to (16).
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, choose, every
from femb.numerics.orbits import arctangent, cosine_and_sine
from femb.numerics.vector3 import product_left_back, rotate_back

# Interpolation inside a beam element: the centreline, and the axes of the section on it.
#
# The centreline is the cubic with the positions r and the derivatives g of the ends; g is along the x axis of the
# end's section. The axes of the section at xi are those of the first section, rotated by the smallest rotation from e1
# to the tangent t (the swing) and then by psi(xi) about t:
#
#     psi = c I(xi) + xi (alpha - c I(1)),    I = integral of xi^2 / (g (g + u1)),    c = 6 (X1 X6 - X2 X5)
#
# so that the twist strain is uniform. u = r', g = |u|; X: the natural coordinates below.
# Source: docs/theory/beam.md, equations (4) to (11).


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


@lru_cache(maxsize=32)
def fine_integrals(upper: tuple[float, ...]) -> Floats:
    """(20, k) weights at FINE of the integrals from 0 to upper (k,): kept, since each picture asks for the same."""
    return integrals(FINE, np.array(upper)).T


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


# Three Gauss points on [0, 1]: exact for the bending and axial energy of a nearly straight element, and the smallest
# number without a pattern of strains of zero energy (theory, section 2).
POINTS = 0.5 + 0.5 * np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0

# Points for the integral of the angle psi: eight for elements that are bent by
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


# Natural coordinates of a beam element, and their derivatives with respect to the motion of its ends.
#
# The strains depend on the poses and strains of the ends only through eight *natural coordinates*, the shape of the
# element, with components in the axes of its first section (x along its tangent):
#
#     X = (d, s, G, alpha)      d (3) chord, s length of the centreline derivative at the first end, G (3) centreline
#                               derivative at the second end, alpha twist of the second section about the tangent
#
# The motion of the ends (11,) is chord rate (3) in the axes of end I, spin (3) and strain rate of end I, spin (3) and
# strain rate of end II, each spin in the axes of its section. Source: docs/theory/beam.md, equations (4) to (16).


@kernel
def natural_coordinates(r1, R1, eps1, r2, R2, eps2, length, Q, X):
    """Q (3, 3) = R1^T R2 and the natural coordinates X (8,) of an element with end poses (r, R) and strains."""
    product_left_back(R1, R2, Q)
    for i in range(3):
        X[i] = R1[0, i] * (r2[0] - r1[0]) + R1[1, i] * (r2[1] - r1[1]) + R1[2, i] * (r2[2] - r1[2])
        X[4 + i] = length * (1.0 + eps2) * Q[i, 0]
    X[3] = length * (1.0 + eps1)
    X[7] = 2.0 * arctangent(Q[2, 1] - Q[1, 2], 1.0 + Q[0, 0] + Q[1, 1] + Q[2, 2])


@inlined
def twist_directions(Q, beta, gamma):
    """beta, gamma (3,): rate of alpha = gamma . omega_II - beta . omega_I, each in the axes of its section."""
    c = 1.0 / (1.0 + Q[0, 0])
    beta[0] = 1.0
    gamma[0] = 1.0
    for i in range(1, 3):
        beta[i] = Q[i, 0] * c
        gamma[i] = Q[0, i] * c


@inlined
def natural_rates(X, Q, beta, gamma, length, motion, out):
    """out (8,) = B motion: rates of the natural coordinates for a motion (11,) of the ends, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    out[0] = motion[0] + X[1] * motion[5] - X[2] * motion[4]
    out[1] = motion[1] + X[2] * motion[3] - X[0] * motion[5]
    out[2] = motion[2] + X[0] * motion[4] - X[1] * motion[3]
    out[3] = length * motion[6]
    g1, g2, g3 = length * motion[10], s2 * motion[9], -s2 * motion[8]
    out[4] = Q[0, 0] * g1 + Q[0, 1] * g2 + Q[0, 2] * g3 + X[5] * motion[5] - X[6] * motion[4]
    out[5] = Q[1, 0] * g1 + Q[1, 1] * g2 + Q[1, 2] * g3 + X[6] * motion[3] - X[4] * motion[5]
    out[6] = Q[2, 0] * g1 + Q[2, 1] * g2 + Q[2, 2] * g3 + X[4] * motion[4] - X[5] * motion[3]
    out[7] = 0.0
    for k in range(3):
        out[7] += gamma[k] * motion[7 + k] - beta[k] * motion[3 + k]


@inlined
def end_gradient(X, Q, beta, gamma, length, n, out):
    """out (11,) = B^T n: force on the motion of the ends by n (8,) on the natural coordinates, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    for i in range(3):
        out[i] = n[i]
    # components of d and G change as the axes of end I rotate: n_d x d + n_G x G
    out[3] = n[1] * X[2] - n[2] * X[1] + n[5] * X[6] - n[6] * X[5] - n[7] * beta[0]
    out[4] = n[2] * X[0] - n[0] * X[2] + n[6] * X[4] - n[4] * X[6] - n[7] * beta[1]
    out[5] = n[0] * X[1] - n[1] * X[0] + n[4] * X[5] - n[5] * X[4] - n[7] * beta[2]
    out[6] = length * n[3]
    out[7] = n[7] * gamma[0]
    out[8] = n[7] * gamma[1] - s2 * (Q[0, 2] * n[4] + Q[1, 2] * n[5] + Q[2, 2] * n[6])
    out[9] = n[7] * gamma[2] + s2 * (Q[0, 1] * n[4] + Q[1, 1] * n[5] + Q[2, 1] * n[6])
    out[10] = length * (Q[0, 0] * n[4] + Q[1, 0] * n[5] + Q[2, 0] * n[6])


class BeamRows(NamedTuple):
    """All elements, as kernels take them, in groups of LANES (``femb.numerics.compiler.lanes``): places (n, 8), rows of
    ``index``, kind (g,), the rows of ends (kinds, 2, 13, LANES) and of data (kinds, 37, LANES). fixed : poses of fixed
    frames."""

    places: Ints
    kind: Ints
    ends: Floats
    data: Floats
    has_mass_offset: bool
    fixed: Floats
    gravity: Floats | None


class BentShape(NamedTuple):
    """Natural coordinates X (8,), Q (3, 3), the directions beta and gamma (3,), and the length of an element."""

    X: Any
    Q: Any
    beta: Any
    gamma: Any
    length: Any


@inlined
def ends_force(shape, s2, n, F, M1, work, f11, f):
    """f (14,): force on the two ends; forces in the axes of section I, moments in end axes.

    n (8,), F (4, 3), M1 (3,) : forces conjugate to the natural coordinates, to the positions and centreline derivatives
    (r_I, g_I, r_II, g_II), and to the spin of end I. s2 : length of g_II. work (3,), f11 (11,) : work arrays.
    """
    X, Q, beta, gamma, length = shape
    s1 = X[3]
    end_gradient(X, Q, beta, gamma, length, n, f11)
    for k in range(3):
        f[k] = F[0, k] - f11[k]
        f[3 + k] = f11[3 + k] + M1[k]
        f[7 + k] = F[2, k] + f11[k]
        f[10 + k] = f11[7 + k]
    # a force on g = s e1: moment s e1 x F and strain force length F_1
    rotate_back(Q, F[3], work)
    f[4] -= s1 * F[1, 2]
    f[5] += s1 * F[1, 1]
    f[6] = f11[6] + length * F[1, 0]
    f[11] -= s2 * work[2]
    f[12] += s2 * work[1]
    f[13] = f11[10] + length * work[0]


@inlined
def shape_gradient(X, Q, beta, gamma, length, B):
    """B (8, 11): gradient of the natural coordinates with respect to the motion of the ends, equation (15)."""
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    B[:] = 0.0
    for i in range(3):
        B[i, i] = 1.0
        B[7, 3 + i] = -beta[i]
        B[7, 7 + i] = gamma[i]
        B[4 + i, 8] = -s2 * Q[i, 2]
        B[4 + i, 9] = s2 * Q[i, 1]
        B[4 + i, 10] = length * Q[i, 0]
    for k in range(2):
        o = 4 * k
        B[o, 4], B[o, 5] = -X[o + 2], X[o + 1]
        B[o + 1, 3], B[o + 1, 5] = X[o + 2], -X[o]
        B[o + 2, 3], B[o + 2, 4] = -X[o + 1], X[o]
    B[3, 6] = length


@inlined
def geometric_stiffness(X, Q, beta, gamma, length, n, K):
    """K (11, 11) += the change of B^T n with the motion of the ends at constant n (8,): the geometric stiffness.

    Rows of the chord force are in inertial directions (they include the rotation of the axes of end I).
    """
    s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
    along = 0.0
    for i in range(3):
        along += n[i] * X[i] + n[4 + i] * X[4 + i]
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        # chord: force R1 n_d on its row, moment n_d x d on I
        K[i, 3 + j] += n[k]
        K[i, 3 + k] -= n[j]
        K[3 + i, j] -= n[k]
        K[3 + i, k] += n[j]
        # moments n_d x d and n_G x G on I: a~ b~ = b a^T - (a . b) I
        for m in range(3):
            K[3 + i, 3 + m] += X[i] * n[m] + X[4 + i] * n[4 + m]
        K[3 + i, 3 + i] -= along
        # change of the moment n_G x G with strain and spin of II, which change G by Q (length, s2 e3, -s2 e2)
        for m in range(3):
            column = 10 - m
            h = n[4 + j] * Q[k, m] - n[4 + k] * Q[j, m]
            h *= length if m == 0 else (s2 if m == 1 else -s2)
            K[3 + i, column] += h
            K[column, 3 + i] += h
    # moment s2 e1 x (Q^T n_G) on II, strain force length e1 . Q^T n_G; e1~ g~ = g e1^T - g1 I
    g1 = Q[0, 0] * n[4] + Q[1, 0] * n[5] + Q[2, 0] * n[6]
    g2 = Q[0, 1] * n[4] + Q[1, 1] * n[5] + Q[2, 1] * n[6]
    g3 = Q[0, 2] * n[4] + Q[1, 2] * n[5] + Q[2, 2] * n[6]
    K[8, 7] += s2 * g2
    K[9, 7] += s2 * g3
    K[8, 8] -= s2 * g1
    K[9, 9] -= s2 * g1
    K[10, 8] -= length * g3
    K[8, 10] -= length * g3
    K[10, 9] += length * g2
    K[9, 10] += length * g2
    # twist: moments -n_a beta on I and n_a gamma on II, where l_II in axes I changes by l~ spin_I - Q e1~ spin_II and
    # l_I in axes II likewise with Q^T
    c = n[7] / (1.0 + Q[0, 0])
    for end in range(2):
        o = 4 * end
        f = c if end == 0 else -c
        l2, l3 = (Q[1, 0], Q[2, 0]) if end == 0 else (Q[0, 1], Q[0, 2])
        d2, d3 = (beta[1], beta[2]) if end == 0 else (gamma[1], gamma[2])
        K[4 + o, 3 + o] -= f * l3
        K[5 + o, 3 + o] += f * l2
        K[4 + o, 4 + o] -= f * d2 * l3
        K[4 + o, 5 + o] += f * (Q[0, 0] + d2 * l2)
        K[5 + o, 4 + o] -= f * (Q[0, 0] + d3 * l3)
        K[5 + o, 5 + o] += f * d3 * l2
    for i in range(1, 3):
        K[3 + i, 8] += c * (Q[i, 2] - beta[i] * Q[0, 2])
        K[3 + i, 9] -= c * (Q[i, 1] - beta[i] * Q[0, 1])
        K[7 + i, 4] -= c * (Q[2, i] - gamma[i] * Q[2, 0])
        K[7 + i, 5] += c * (Q[1, i] - gamma[i] * Q[1, 0])


# Columns of the array arguments of the kernels over beam elements.
#
# The parameters of an element are rows of three arrays:
#
#     index (n, 8) int    index of both frames in q, of both frames in v, of both end strains in q, of both in v;
#                         a negative frame index i means row -1-i of ``fixed`` in q and a fixed frame in v
#     ends (n, 2, 13)     per end: 1 if it has an offset or a rotation, offset (3) in the frame, section axes (9) in it
#     data (n, 37)        length, mass and three inertias per length, damping, 1 for source strains, stiffness (16),
#                         offset (2) of the mass axis, reference strains (3 x 4)
#
# ``has_mass_offset`` is True if the mass axis of any section has an offset: without one its terms are not evaluated.
# Source: docs/theory/beam.md.

LENGTH, MASS, INERTIA, DAMPING, SOURCE, STIFFNESS, OFFSET, REFERENCE = 0, 1, 2, 5, 6, 7, 23, 25


# Coordinates of the ends of one beam element, or gathered for a group of LANES; arguments as above.
#
# states (2, 8) : position and quaternion of the frame of each end, and the strain of the end. rates (2, 7) : their
# rates, or second rates: velocity, angular velocity and strain rate.


@inlined
def end_states(index, q, fixed, states):
    """states (2, 8) of the ends of an element."""
    for e in range(2):
        j = index[e]
        for i in range(7):
            states[e, i] = q[j + i] if j >= 0 else fixed[-1 - j, i]
        states[e, 7] = q[index[4 + e]]


@inlined
def end_rates(index, v, rates):
    """rates (2, 7) of the ends, from velocities or accelerations v; zero for a fixed frame."""
    for e in range(2):
        j = index[2 + e]
        for i in range(6):
            rates[e, i] = v[j + i] if j >= 0 else 0.0
        rates[e, 6] = v[index[6 + e]]


@inlined
def gather_states(index, first, q, fixed, states):
    """states (2, 8, LANES) of the elements from ``first``; the last element fills the lanes left over."""
    for m in range(LANES):
        end_states(index[min(first + m, index.shape[0] - 1)], q, fixed, states[:, :, m])


@inlined
def gather_rates(index, first, v, rates):
    """rates (2, 7, LANES) of the same ends."""
    for m in range(LANES):
        end_rates(index[min(first + m, index.shape[0] - 1)], v, rates[:, :, m])

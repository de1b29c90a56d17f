"""The deformation of an element: natural coordinates, stress and damping, and the forces on its ends.

A text that is traced is force and tangent: the tangent is the same text with changes, along one motion of the ends at a
time. Source: docs/theory/exact_beam.md, sections 2 and 4 to 6.
"""

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

from femb.elements.exact.element_data import (
    DAMPING,
    LENGTH,
    MEAN,
    QUADRATIC,
    REFERENCE,
    SLOPE,
    VISCOUS_MEAN,
    VISCOUS_QUADRATIC,
    VISCOUS_SLOPE,
)
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.duals import Number, Vector3, Vector6, cross, dot, joined, lift, matrix, value
from femb.numerics.compiler.lanes import choose, every
from femb.numerics.compiler.traced import M6, V6, change, dual, put, reader, traced
from femb.numerics.orbits import arctangent_series
from femb.numerics.vector3 import hamilton

V9 = reader(9)
Vector9: TypeAlias = Annotated[Any, (9,)]
Symmetric6: TypeAlias = Annotated[Any, (6, 6), "symmetric"]
Definite6: TypeAlias = Annotated[Any, (6, 6), "positive definite"]

# The motion of an element's end II seen from its end I. Source: section 2.


class Chord(NamedTuple):
    """Way x from end I to end II and rotation vector theta, axes of end I, and k0, k1 of equation (4)."""

    x: Vector3
    theta: Vector3
    k0: Number
    k1: Number


def mapped(chord, y):
    """P y, with P of equation (4)."""
    return y - 0.5 * cross(chord.theta, y) + chord.k0 * cross(chord.theta, cross(chord.theta, y))


def mapped_back(chord, y):
    """P^T y."""
    return y + 0.5 * cross(chord.theta, y) + chord.k0 * cross(chord.theta, cross(chord.theta, y))


def turns_of(chord, spins):
    """The rate of theta by the angular velocities (6,) of both ends."""
    return mapped_back(chord, spins[3:]) - mapped(chord, spins[:3])


@traced
def shape_of(chord: Chord) -> Any:
    """d = (u, theta)."""
    return joined(mapped(chord, chord.x), chord.theta)


def with_angle(x, theta, k0, k1, k2):
    """The ``Chord`` of values k0, k1, k2 of equation (4)."""
    t = dot(theta, theta)
    return Chord(x, theta, lift(k0, (k1, t)), lift(k1, (k2, t)))


@traced
def moved_chord(chord: Chord, k2: Number, z: Vector9) -> Any:
    """A ``Chord`` that changes along the motion z = (v, omega_I, omega_II) of the ends."""
    x = dual.run(chord.x, z[:3] + cross(chord.x, z[3:6]))
    theta = dual.run(chord.theta, turns_of(chord, z[3:]))
    return with_angle(x, theta, chord.k0, chord.k1, k2)


@traced
def moved_rates(z: Vector9, motion: Vector9) -> Any:
    """Rates z of the ends, constant in inertial axes and in those of the ends, which change along their motion."""
    return joined(dual.run(z[:3], cross(z[:3], motion[3:6])), z[3:])


@traced
def shape_rate(chord: Chord, z: Vector9) -> Any:
    """The rate of d by the motion z of the ends, equation (7)."""
    x, theta = chord.x, chord.theta
    rate, along = z[:3] + cross(x, z[3:6]), turns_of(chord, z[3:])
    turned = 2.0 * chord.k1 * dot(theta, along) * cross(theta, cross(theta, x))
    turned = turned + chord.k0 * (cross(along, cross(theta, x)) + cross(theta, cross(along, x)))
    return joined(mapped(chord, rate) - 0.5 * cross(along, x) + turned, along)


@traced
def ends_force(chord: Chord, n: Vector6) -> Any:
    """The force f on end II and the moments on both ends, of the force n on d: equation (12)."""
    x, theta, n_u = chord.x, chord.theta, n[:3]
    # W^T n_u with W of equation (5)
    w = 2.0 * chord.k1 * (dot(theta, x) * theta - dot(theta, theta) * x) - 2.0 * chord.k0 * x
    turned = chord.k0 * (dot(theta, n_u) * x + dot(theta, x) * n_u) + dot(w, n_u) * theta - 0.5 * cross(x, n_u)
    m, f = n[3:] + turned, mapped_back(chord, n_u)
    return joined(f, -mapped_back(chord, m) - cross(x, f), mapped(chord, m))


@traced
def ends_change(chord: Chord, n: Vector6, z: Vector9) -> Any:
    """The change of ``ends_force`` along the motion z of the ends, in axes that do not turn with end I."""
    force = ends_force.run(chord, n)
    return change.run(force) + joined(cross(z[3:6], value(force[:3])), *6 * [0.0])


# The stress, its force on d, and its change. Source: sections 4 and 5.


class Compliance(NamedTuple):
    """Length of an element, and the three matrices (6, 6) of its compliance."""

    length: Number
    mean: Definite6
    quadratic: Definite6
    slope: Symmetric6


def adjoint(d, a):
    """ad_d a."""
    return joined(cross(d[3:], a[:3]) + cross(d[:3], a[3:]), cross(d[3:], a[3:]))


def coadjoint(d, s):
    """ad_d^T s."""
    return joined(cross(s[:3], d[3:]), cross(s[:3], d[:3]) + cross(s[3:], d[3:]))


def bubble_stress(by, d, sigma):
    """y of equation (11)."""
    return by.quadratic @ coadjoint(d, sigma) + by.slope @ sigma


@traced
def strained(by: Compliance, d: Vector6, sigma: Vector6) -> Any:
    """C sigma, with C of equation (11); of the viscous compliance equation (13b)."""
    return by.mean @ sigma + by.slope @ coadjoint(d, sigma) + adjoint(d, bubble_stress(by, d, sigma))


@traced
def compliance_at(by: Compliance, d: Vector6) -> Any:
    """The lower triangle of C of equation (11)."""
    X = by.slope + matrix(*(adjoint(d, row) for row in by.quadratic)).T
    C = by.mean + matrix(*(adjoint(d, row) for row in by.slope)).T + matrix(*(adjoint(d, row) for row in X))
    return matrix(*([C[i, j] if j <= i else 0.0 for j in range(6)] for i in range(6)))


@traced
def stress_force(by: Compliance, d: Vector6, sigma: Vector6) -> Any:
    """n_d of a stress: equation (11)."""
    return sigma + by.length * coadjoint(bubble_stress(by, d, sigma), sigma)


@traced
def linear_stress_force(by: Compliance, d: Vector6, sigma: Vector6, own: Vector6) -> Any:
    """n_d of a stress, linear about the stress ``own``: equation (19)."""
    y, c = bubble_stress(by, d, own), sigma - own
    return sigma + by.length * (coadjoint(y, sigma) + coadjoint(bubble_stress(by, d, c), own))


@traced
def stress_change(by: Compliance, chord: Chord, sigma: Vector6) -> Any:
    """C times the change of the stress, whose value is sigma, along a motion of the ends."""
    d = shape_of.run(chord)
    return change.run(d / by.length - strained.run(by, d, sigma))


@traced
def damping_change(by: Compliance, chord: Chord, z: Vector9, eta: Vector6) -> Any:
    """C times the change of eta = C^-1 d', likewise: equation (17)."""
    return change.run(shape_rate.run(chord, z) - strained.run(by, shape_of.run(chord), eta))


@traced
def viscous_change(by: Compliance, viscous: Compliance, d: Vector6, eta: Vector6, stress: Vector6) -> Any:
    """C times the change of the stress of damping by direction, from that of eta: equation (17b)."""
    return change.run(strained.run(viscous, d, eta) / by.length - strained.run(by, d, stress))


@inlined
def compliance_of(data):
    """The ``Compliance`` of an element."""
    return Compliance(data[LENGTH], M6(data[MEAN:]), M6(data[QUADRATIC:]), M6(data[SLOPE:]))


@inlined
def viscous_of(data):
    """The viscous ``Compliance`` of an element whose damping is by direction."""
    return Compliance(data[LENGTH], M6(data[VISCOUS_MEAN:]), M6(data[VISCOUS_QUADRATIC:]), M6(data[VISCOUS_SLOPE:]))


@inlined
def factorise(by, d, C):
    """C (6, 6) : the Cholesky factor of equation (11), a lower triangle with the inverse of its diagonal."""
    put(compliance_at(by, V6(d)), C)
    for j in range(6):
        x = C[j, j]
        for k in range(j):
            x -= C[j, k] * C[j, k]
        C[j, j] = 1.0 / math.sqrt(x)
        for i in range(j + 1, 6):
            y = C[i, j]
            for k in range(j):
                y -= C[i, k] * C[j, k]
            C[i, j] = y * C[j, j]


@inlined
def solve(C, x):
    """x <- C^-1 x, with the Cholesky factor."""
    for i in range(6):
        for k in range(i):
            x[i] -= C[i, k] * x[k]
        x[i] *= C[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= C[k, i] * x[k]
        x[i] *= C[i, i]


@inlined
def find_stress(data, C, d, free, heat, sigma):
    """sigma (6,) = C^-1 (d - d0 - heat free) / L, with the Cholesky factor; free (6,) : free strain, times L."""
    factor = 1.0 / data[LENGTH]
    for i in range(6):
        sigma[i] = factor * (d[i] - data[REFERENCE + i] - heat * free[i])
    solve(C, sigma)


@inlined
def damping_force(data, C, d, rate, n):
    """n (6,) : the damping force on d by its rate (6,), which becomes eta = C^-1 d'; equations (13) and (13b)."""
    solve(C, rate)
    factor = 1.0 / data[LENGTH]
    if every(data[DAMPING] >= 0.0):
        for i in range(6):
            n[i] = factor * data[DAMPING] * rate[i]
    else:
        put(strained(viscous_of(data), V6(d), V6(rate)), n)
        solve(C, n)
        for i in range(6):
            n[i] *= factor


# The rotation vector from the attitudes of both ends. Source: section 2.

# Below this mu_0 an element is folded.
FOLDED = 1e-3


@inlined
def end_attitude(pose, end, p):
    """p (4,): unit quaternion of an element's end, from the pose (7,) of its frame."""
    a, b, c, d = pose[3], pose[4], pose[5], pose[6]
    s = 1.0 / math.sqrt(a * a + b * b + c * c + d * d)
    a, b, c, d = a * s, b * s, c * s, d * s
    if not every(end[0] == 0.0):
        a, b, c, d = hamilton(a, b, c, d, end[13], end[14], end[15], end[16])
    p[0], p[1], p[2], p[3] = a, b, c, d


@inlined
def rotation_between(p, theta):
    """theta (3,): rotation vector from end I to end II, axes of both, equation (3).

    p (3, 4): quaternions of both ends, and that between them with p[2, 0] >= 0, which is set.
    """
    p1, p2, m = p[0], p[1], p[2]
    m[0], m[1], m[2], m[3] = hamilton(p1[0], -p1[1], -p1[2], -p1[3], p2[0], p2[1], p2[2], p2[3])
    sign = choose(m[0] < 0.0, -1.0, 1.0)
    for i in range(4):
        m[i] *= sign
    # |m_v| h is the tangent of |theta|/4, |theta|/8 and |theta|/16, whose angle is a series without branches
    s = m[1] * m[1] + m[2] * m[2] + m[3] * m[3]
    h = 1.0 / (1.0 + m[0])
    h = h / (1.0 + math.sqrt(1.0 + s * h * h))
    h = h / (1.0 + math.sqrt(1.0 + s * h * h))
    series = arctangent_series(s * h * h)
    for i in range(3):
        theta[i] = 16.0 * h * series * m[1 + i]


@inlined
def coefficients(t, m):
    """k0, k1, k2 of equation (4) and its derivatives by t = |theta|^2, m (4,) : the quaternion of theta."""
    k0, k1, k2 = series_of_coefficients(t)
    near = t < 1.0
    if every(near):
        return k0, k1, k2
    # sine and cotangent of half the angle; below 1 rad the terms cancel
    size, sine = math.sqrt(t), math.sqrt(m[1] * m[1] + m[2] * m[2] + m[3] * m[3])
    h, cotangent = 0.5 * size, m[0] / sine
    chi = cotangent - h / (sine * sine)
    f0 = (1.0 - h * cotangent) / t
    f1 = (-chi / (4.0 * size) - f0) / t
    f2 = (-(2.0 * h * cotangent - 2.0) / (16.0 * t * sine * sine) + chi / (8.0 * size * t) - 2.0 * f1) / t
    return choose(near, k0, f0), choose(near, k1, f1), choose(near, k2, f2)


# Numerators and denominators of the power series of k0 by t, the highest power first.
SERIES = (
    (236364091.0, 1693824136731743669452800000.0), (77683.0, 14101100039391805440000.0),
    (174611.0, 802857662698291200000.0), (43867.0, 5109094217170944000.0), (3617.0, 10670622842880000.0),
    (1.0, 74724249600.0), (691.0, 1307674368000.0), (1.0, 47900160.0), (1.0, 1209600.0), (1.0, 30240.0),
    (1.0, 720.0), (1.0, 12.0),
)  # fmt: skip
K0 = tuple(above / below for above, below in SERIES[1:])
K1 = tuple((11 - i) * above / below for i, (above, below) in enumerate(SERIES[:-1]))
K2 = tuple((11 - i) * (10 - i) * above / below for i, (above, below) in enumerate(SERIES[:-2]))


@inlined
def series_of_coefficients(t):
    """k0, k1, k2 to rounding for t below 1."""
    k0, k1, k2 = K0[1] + t * K0[0], K1[1] + t * K1[0], K2[1] + t * K2[0]
    for i in range(2, 11):
        k0 = K0[i] + t * k0
    for i in range(2, 11):
        k1 = K1[i] + t * k1
    for i in range(2, 10):
        k2 = K2[i] + t * k2
    return k0, k1, k2

"""Inertia force of the beam element, and its exact change: translation of the centreline, rotary inertia of sections.

The position of the centreline is linear in the four vectors x = (r_I, g_I, r_II, g_II), where g is the centreline
derivative at an end, with cubic functions of xi; its kinetic energy is integrated exactly. The rotary inertia is
integrated at the three strain points. A section is the swung one, rotated by alpha times xi about its tangent. The
difference from ``section_at``, due to parallel transport, is of second order in the bend; the rates have a closed
form. If the section's y and z inertia are equal, the rotation has no effect and is omitted.
The mass centre of a section at the point r of the reference axis, with angular velocity omega, has the velocity
r' + omega x c. Its terms are integrated at the strain points and left out if no section has an offset c. All vectors
have components in the axes of the element's first section; rates are relative to inertial space.
Source: docs/theory/beam.md, equations (17) to (33).
"""

from typing import Annotated, Any, NamedTuple

from femb.elements.beam.inertia import HERMITE_MASS
from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, INERTIA, LENGTH, MASS, OFFSET, POINTS, WEIGHTS
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.duals import (
    Matrix3,
    Matrix43,
    Number,
    SmallArray,
    Vector3,
    Vector4,
    cross,
    dot,
    matrix,
    outer,
    scaled,
    sqrt,
    vector,
)
from femb.numerics.compiler.lanes import every
from femb.numerics.compiler.traced import M43, V3, V4, add_to, change, dual, traced
from femb.numerics.orbits import cosine_and_sine
from femb.numerics.vector3 import column


class Point(NamedTuple):
    """A strain point: its place xi, the slopes N2', N3', N4' of the Hermite functions there, and their values (4,)."""

    xi: Number
    slopes: Vector3
    values: Vector4


class RotaryInertia(NamedTuple):
    """Inertia of a section times the weight of its point: J (3,) about t, m, n; its mass, whose centre is at c (3,)."""

    J: Vector3
    mass: Number
    c: Vector3


class EndMotion(NamedTuple):
    """Vectors x = (r_I, g_I, r_II, g_II) (4, 3) with both rates, angular velocity and acceleration of end I, and both
    rates of the twist."""

    x: Matrix43
    v: Matrix43
    x2: Matrix43
    omega: Vector3
    alpha: Vector3
    twist_rate: Number
    twist_second: Number


class SectionMotion(NamedTuple):
    """Slope u = r' at a point with both rates, second rate of r; spin of end I and twist there, and both rates."""

    u: Vector3
    ud: Vector3
    udd: Vector3
    rdd: Vector3
    omega: Vector3
    alpha: Vector3
    twist_rate: Number
    twist_second: Number


E1 = vector(1.0, 0.0, 0.0)


@traced
def ends_of(X: Annotated[Any, (8,)]) -> Any:
    """x of the natural coordinates X (8,), with r_I = 0."""
    return matrix((0.0, 0.0, 0.0), X[3] * E1, X[:3], X[4:7])


@traced
def slope_of(point: Point, x: Matrix43) -> Any:
    """xi derivative of the cubic with end values and derivatives x (4, 3)."""
    n2, n3, n4 = point.slopes
    return n3 * (x[2] - x[0]) + n2 * x[1] + n4 * x[3]


@traced
def motion_at(point: Point, ends: EndMotion) -> Any:
    u, ud, udd = (slope_of(point, x) for x in (ends.x, ends.v, ends.x2))
    twist_rate, twist_second = point.xi * ends.twist_rate, point.xi * ends.twist_second
    return SectionMotion(u, ud, udd, point.values @ ends.x2, ends.omega, ends.alpha, twist_rate, twist_second)


@traced
def translation(mass: Number, x2: Matrix43) -> Any:
    """Force on x (4, 3) of the centreline's translation; mass of the element."""
    return SmallArray((4, 4), HERMITE_MASS.ravel().tolist()) @ x2 * mass


@traced
def swung(t: Vector3, cos: Number, sin: Number) -> Any:
    """Axes t, m, n (3, 3) of a section, rows: the swing to the tangent t, then a rotation about it."""
    y, z = t[1] / (1.0 + t[0]), t[2] / (1.0 + t[0])
    m, n = vector(-t[1], 1.0 - y * t[1], -y * t[2]), vector(-t[2], -z * t[1], 1.0 - z * t[2])
    return matrix(t, cos * m + sin * n, cos * n - sin * m)


@traced
def section_spin(motion: SectionMotion, cos: Number, sin: Number) -> Any:
    """Axes A (3, 3) of a section, its spin w and the rate of w in them, |r'| and d = 1/(1 + t_x); equations (20) ff."""
    g = sqrt(dot(motion.u, motion.u))
    t = motion.u / g
    along = dot(t, motion.ud)
    td = (motion.ud - along * t) / g
    tdd = (motion.udd - dot(t, motion.udd) * t - 2.0 * along * td) / g - dot(td, td) * t
    A = swung(t, cos, sin)
    m, n, omega = A[1], A[2], motion.omega
    # spin of the swing about t, [omega . (e + t) - (e x t) . t']/(1 + e . t), and its rate
    d, e_rate = 1.0 / (1.0 + t[0]), cross(omega, E1)
    spin = (dot(omega, E1 + t) - dot(cross(E1, t), td)) * d
    rate = dot(motion.alpha, E1 + t) + dot(omega, td) - dot(cross(e_rate, t), td) - dot(cross(E1, t), tdd)
    spin_rate = (rate - spin * (dot(e_rate, t) + td[0])) * d
    wt, wm, wn = spin + motion.twist_rate, -dot(n, td), dot(m, td)
    w_rate = vector(spin_rate + motion.twist_second, wt * wn - dot(n, tdd), dot(m, tdd) - wt * wm)
    return A, vector(wt, wm, wn), w_rate, g, d


@traced
def moment_of(inertia: RotaryInertia, w: Vector3, w_rate: Vector3) -> Any:
    """J w' + w x J w, section axes."""
    return scaled(inertia.J, w_rate) + cross(w, scaled(inertia.J, w))


@traced
def shares(point: Point, A: Matrix3, moment: Vector3, g: Number, d: Number) -> Any:
    """Forces on x (4, 3), on the spin of end I (3,) and on the twist, of a moment about t, m, n; equation (27)."""
    t, m, n = A
    n2, n3, n4 = point.slopes
    p = (moment[2] * m - moment[1] * n + moment[0] * d * cross(t, E1)) / g
    return outer(vector(-n3, n2, n3, n4), p), moment[0] * d * (t + E1), point.xi * moment[0]


@traced
def section_force(point: Point, inertia: RotaryInertia, motion: SectionMotion, cos: Number, sin: Number) -> Any:
    """Forces of a section's rotary inertia, of ``shares``."""
    A, w, w_rate, g, d = section_spin(motion, cos, sin)
    return shares(point, A, moment_of(inertia, w, w_rate), g, d)


@traced
def offset_section_force(point: Point, inertia: RotaryInertia, motion: SectionMotion, cos: Number, sin: Number) -> Any:
    """``section_force`` of a section whose mass centre is beside the axis; equations (30) to (32)."""
    A, w, w_rate, g, d = section_spin(motion, cos, sin)
    c, mass = inertia.c, inertia.mass
    own = cross(w_rate, c) + cross(w, cross(w, c))
    moment = moment_of(inertia, w, w_rate) + mass * cross(c, own + A @ motion.rdd)
    F, about, twist = shares(point, A, moment, g, d)
    return F + outer(point.values, mass * (own @ A)), about, twist


@inlined
def is_symmetric(data):
    """Whether the rotation of sections about their tangent has no effect on their inertia force."""
    return (
        every(data[INERTIA + 1] == data[INERTIA + 2]) and every(data[OFFSET] == 0.0) and every(data[OFFSET + 1] == 0.0)
    )


@inlined
def section_at(i, data):
    """The strain point i, and the inertia there."""
    f = WEIGHTS[i] * data[LENGTH]
    inertia = RotaryInertia(f * V3(data[INERTIA:]), f * data[MASS], column(0.0, data[OFFSET], data[OFFSET + 1]))
    return Point(POINTS[i], V3(HERMITE[i]), V4(HERMITE_VALUES[i])), inertia


@inlined
def section_rotation(symmetric, angle):
    """Cosine and sine of the rotation of a section about its tangent; none where it has no effect."""
    if symmetric:
        return 1.0 + 0.0 * angle, 0.0 * angle
    return cosine_and_sine(angle)


class LineMotion(NamedTuple):
    """Motion of an element, axes of its first section: x, v, x2 (4, 3), (r_I, g_I, r_II, g_II) and both rates; spins
    (4, 3), angular velocities of both ends, angular accelerations of both; twist (3,), alpha and both rates."""

    x: Any
    v: Any
    x2: Any
    spins: Any
    twist: Any


class LineChanges(NamedTuple):
    """Changes along k directions of a ``LineMotion``, and tangent (k, 3) of that of end II; F (k, 4, 3), M1 (k, 3) and
    force (k,) : of the results of ``inertia_force``."""

    x: Any
    v: Any
    x2: Any
    spins: Any
    twist: Any
    tangent: Any
    F: Any
    M1: Any
    force: Any


@inlined
def motion_of_ends(at):
    """A ``LineMotion`` as the sections of the element take it."""
    return EndMotion(M43(at.x), M43(at.v), M43(at.x2), V3(at.spins[0]), V3(at.spins[2]), at.twist[1], at.twist[2])


@inlined
def inertia_force(motion, data, has_mass_offset, F, M1):
    """Inertia force of an element, axes of its first section; equations (17) to (33).

    has_mass_offset : see ``strain``.
    Adds to F (4, 3), conjugate to x, and to M1 (3,), conjugate to the spin of end I at fixed x; returns the force
    conjugate to the twist alpha.
    """
    ends, twist = motion_of_ends(motion), motion.twist
    symmetric, force = is_symmetric(data), 0.0
    add_to(translation(data[MASS] * data[LENGTH], ends.x2), F)
    for i in range(3):
        point, inertia = section_at(i, data)
        c, s = section_rotation(symmetric, point.xi * twist[0])
        if has_mass_offset:
            f, moment, on_twist = offset_section_force(point, inertia, motion_at(point, ends), c, s)
        else:
            f, moment, on_twist = section_force(point, inertia, motion_at(point, ends), c, s)
        add_to(f, F)
        add_to(moment, M1)
        force += on_twist
    return force


@inlined
def inertia_changes(motion, data, has_mass_offset, changes):
    """Set dF, dM1 and dforce of ``LineChanges``, of the results of ``inertia_force``, by adding to them."""
    dx, dv, dx2, dspins, dtwist = changes.x, changes.v, changes.x2, changes.spins, changes.twist
    dF, dM1, dforce = changes.F, changes.M1, changes.force
    ends, twist = motion_of_ends(motion), motion.twist
    symmetric = is_symmetric(data)
    turns = 0.0 if symmetric else 1.0
    for k in range(dx.shape[0]):
        add_to(translation(data[MASS] * data[LENGTH], M43(dx2[k])), dF[k])
    for i in range(3):
        point, inertia = section_at(i, data)
        c, s = section_rotation(symmetric, point.xi * twist[0])
        of_section = motion_at(point, ends)
        for k in range(dx.shape[0]):
            dends = EndMotion(
                M43(dx[k]), M43(dv[k]), M43(dx2[k]), V3(dspins[k, 0]), V3(dspins[k, 2]), dtwist[k, 1], dtwist[k, 2]
            )  # fmt: skip
            turn = turns * point.xi * dtwist[k, 0]
            changed = dual(of_section, motion_at(point, dends))
            if has_mass_offset:
                f, moment, on_twist = offset_section_force(
                    point, inertia, changed, dual(c, -turn * s), dual(s, turn * c)
                )
            else:
                f, moment, on_twist = section_force(point, inertia, changed, dual(c, -turn * s), dual(s, turn * c))
            add_to(change(f), dF[k])
            add_to(change(moment), dM1[k])
            dforce[k] += change(on_twist)

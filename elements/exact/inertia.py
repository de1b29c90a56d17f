"""Inertia of exact beam elements: the force, which is also differentiated, the mass matrix, energy and momenta.

The mass moves with four vectors that are fixed in the frames: the points k = 0 and 2 have a place, 1 and 3 none. Mass
beside the axis moves by three vectors more, z_i = t (l_i . s_i - e_i), the first with the bubbles of a linear curvature
and of a line of mass centres that is inclined, u. All of t, l, s and u are linear in ten points: the four, and k, c and
the slope of this line of both ends.
Source: docs/theory/exact_beam.md, section 9, equations (20) to (26).
"""

from math import prod
from typing import Annotated, Any, NamedTuple, TypeAlias

from femb.elements.exact.element_data import BESIDE, COLUMNS, LENGTH, MASSES, POINTS, PRODUCTS, ROTARY
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    SmallArray,
    Vector3,
    Vector6,
    cross,
    dot,
    joined,
    matrix,
    skew,
    vector,
)
from femb.numerics.compiler.lanes import every
from femb.numerics.compiler.traced import M3, V3, V6, change, dual, put, reader, traced

Numbers: TypeAlias = Annotated[Any, (COLUMNS - POINTS,)]
Axes: TypeAlias = tuple[Matrix3, Matrix3]
Vectors: TypeAlias = tuple[Vector3, Vector3]
Rates: TypeAlias = tuple[Vector6, Vector6]


class ElementInertia(NamedTuple):
    """Points (10, 3) in frame axes, inertias h (4, 4) of four, and of rotation J11, J12, J22 (3, 3). Of mass beside the
    axis: length, shares (3, 5) of z_i, and the products e_i (3,)."""

    points: Annotated[Any, (10, 3)]
    h: Annotated[Any, (4, 4)]
    J11: Matrix3
    J12: Matrix3
    J22: Matrix3
    length: Number
    beside: Annotated[Any, (3, 5)]
    products: Vector3


class EndsMotion(NamedTuple):
    """Pairs of both frames: axes R (3, 3); places (3,), their first rates, and their second ones less gravity, inertial
    axes; and angular velocities and accelerations (3,), own axes."""

    axes: Axes
    places: Vectors
    rates: Vectors
    acc: Vectors
    omega: Vectors
    alpha: Vectors


inertia_numbers = reader(COLUMNS - POINTS)
NOWHERE = (vector(0.0, 0.0, 0.0),) * 2
# The end of each point.
ENDS = (0, 0, 1, 1, 0, 0, 0, 1, 1, 1)


@inlined
def has_mass_beside(data):
    """Whether the mass of an element is beside its axis, so that ten points count in place of four."""
    return not every(data[BESIDE + 4] == 0.0)


def inertia_of(numbers, length):
    """The ``ElementInertia`` in the ``inertia_numbers`` of a row of data."""

    def part(first, *shape):
        return SmallArray(shape, numbers.items[first - POINTS :][: prod(shape)])

    J11, J12, J22 = (part(ROTARY + 9 * k, 3, 3) for k in range(3))
    beside, products = part(BESIDE, 3, 5), part(PRODUCTS, 3)
    return ElementInertia(part(POINTS, 10, 3), part(MASSES, 4, 4), J11, J12, J22, length, beside, products)


def motion_of(axes, places, rates, seconds, gravity):
    """The ``EndsMotion`` of both frames; rates, seconds : pairs (6,) of first and second rates."""
    acc = tuple(each[:3] - gravity for each in seconds)
    omega, alpha = (tuple(each[3:] for each in both) for both in (rates, seconds))
    return EndsMotion(axes, places, tuple(each[:3] for each in rates), acc, omega, alpha)


def points_of(at, of_points, of_places):
    """Every point R y, with what its place adds: a list of vectors, inertial axes."""
    turned = [at.axes[ENDS[k]] @ y for k, y in enumerate(of_points)]
    return [y + of_places[ENDS[k]] if k in (0, 2) else y for k, y in enumerate(turned)]


def accelerations(of, at, count):
    """Second rates of the first points: equation (24)."""
    turning: list[Any] = []
    for k in range(count):
        w, alpha, y = at.omega[ENDS[k]], at.alpha[ENDS[k]], of.points[k]
        turning.append(cross(alpha, y) + dot(w, y) * w - dot(w, w) * y)
    return points_of(at, turning, at.acc)


def momenta(of, rates):
    """Sums h x of vectors (4,)."""
    return [total(of.h[m, n] * rates[n] for n in range(4)) for m in range(4)]


def total(parts):
    """The sum of vectors."""
    first, *others = parts
    return sum(others, start=first)


def angular_momenta(of, omega):
    """Derivatives of the rotary energy by the angular velocities of both frames, own axes."""
    return of.J11 @ omega[0] + of.J12 @ omega[1], of.J12.T @ omega[0] + of.J22 @ omega[1]


def on_frames(of, at, F):
    """(12,): forces F of points, and those of rotary inertia, on the frames: equation (25)."""
    found: list[Any] = []
    rotary = zip(at.omega, angular_momenta(of, at.omega), angular_momenta(of, at.alpha), strict=True)
    for e, (w, h, g) in enumerate(rotary):
        own = [k for k in range(len(F)) if ENDS[k] == e]
        found += [F[2 * e], g + cross(w, h) + total(cross(of.points[k], at.axes[e].T @ F[k]) for k in own)]
    return joined(*found)


def force_on_axis(of, at):
    """(12,): force and torque, own axes, on both frames, of mass on the axis."""
    return on_frames(of, at, momenta(of, accelerations(of, at, 4)))


def force_beside(of, at):
    """(12,): that of mass beside the axis, with the forces on the z_i."""
    xdd = accelerations(of, at, 10)
    jets = jets_of(of, at, xdd)
    F, G = [*momenta(of, xdd), *[vector(0.0, 0.0, 0.0)] * 6], dict[str, Any]()
    for i, (a, b) in enumerate(FACTORS):
        zdd = displaced(of, jets, i)[2]
        f = of.beside[i, 4] * zdd + total(of.beside[i, n] * xdd[n] for n in range(4))
        F[:4] = [F[n] + of.beside[i, n] * zdd for n in range(4)]
        t, one, other = jets["t"][0], jets[a][0], jets[b][0]
        along = dot(f, t)
        added = ("t", (dot(one, other) - of.products[i]) * f), (a, along * other), (b, along * one), ("u", f)
        for name, part in added[: None if i == 0 else 3]:
            G[name] = G[name] + part if name in G else part
    # the transpose of ``bubble_vectors``
    s, bend = G["s"] + G["s0"], (0.5 / of.length) * G["t"]
    arms = 0.5 * G["k"], G["s0"], INCLINED * G["u"], 0.5 * G["k"], -G["s0"], -INCLINED * G["u"]
    parts = -s, bend - 0.5 * s, s, bend - 0.5 * s, *arms
    return on_frames(of, at, [one + other for one, other in zip(F, parts, strict=True)])


# Share of u in the bubble, and names of l_i and s_i of the three z_i.
INCLINED = 1.0 / 12.0
FACTORS = ("k", "s0"), ("t", "s"), ("t", "s0")


def bubble_vectors(of, x):
    """t, k, s, s_0 and u of the points, or of their rates those of these."""
    s = x[2] - x[0] - 0.5 * (x[1] + x[3])
    t, k, u = (0.5 / of.length) * (x[1] + x[3]), 0.5 * (x[4] + x[7]), INCLINED * (x[6] - x[9])
    return {"t": t, "k": k, "s": s, "s0": s + x[5] - x[8], "u": u}


def point_motions(of, at):
    """Places and rates of the points."""
    x = points_of(at, list(of.points), at.places)
    return x, points_of(at, [cross(at.omega[ENDS[k]], y) for k, y in enumerate(of.points)], at.rates)


def jets_of(of, at, xdd):
    """The bubble vectors by name, each with its first and second rate."""
    parts = [bubble_vectors(of, each) for each in (*point_motions(of, at), xdd)]
    return {name: [part[name] for part in parts] for name in parts[0]}


def displaced(of, jets, i):
    """z_i with its first and second rate."""
    (a, ad, add), (b, bd, bdd), (t, td, tdd) = (jets[name] for name in (*FACTORS[i], "t"))
    p, pd, pdd = dot(a, b) - of.products[i], dot(ad, b) + dot(a, bd), dot(add, b) + 2.0 * dot(ad, bd) + dot(a, bdd)
    z = p * t, p * td + pd * t, p * tdd + 2.0 * pd * td + pdd * t
    return z if i else [one + other for one, other in zip(z, jets["u"], strict=True)]


def energy_sums(of, at, gravity, beside):
    """Kinetic and potential energy, linear momentum, and angular momentum about the origin: (8,), equation (21)."""
    x, xd = (each[:4] for each in point_motions(of, at))
    p = momenta(of, xd)
    share = [of.h[m, 0] + of.h[m, 2] for m in range(4)]
    if beside:
        jets = jets_of(of, at, [vector(0.0, 0.0, 0.0)] * 10)
        for i in range(3):
            z, zd, _ = displaced(of, jets, i)
            own = of.beside[i, 4] * zd + total(of.beside[i, n] * xd[n] for n in range(4))
            p = [*(p[n] + of.beside[i, n] * zd for n in range(4)), *p[4:], own]
            x, xd, share = [*x, z], [*xd, zd], [*share, of.beside[i, 0] + of.beside[i, 2]]
    h = angular_momenta(of, at.omega)
    kinetic = total(dot(one, other) for one, other in zip((*p, *h), (*xd, *at.omega), strict=True))
    potential = total(m * dot(gravity, each) for m, each in zip(share, x, strict=True))
    angular = total(cross(each, one) for each, one in zip(x, p, strict=True))
    return joined(0.5 * kinetic, -potential, p[0] + p[2], angular + at.axes[0] @ h[0] + at.axes[1] @ h[1])


# Called by kernels: numbers of ``inertia_numbers``, pairs of axes, places, first and second rates of both frames, and
# gravity. Registers hold nothing that is not needed where arguments are rows, not records that a kernel makes.


@traced
def inertia_force(numbers: Numbers, axes: Axes, rates: Rates, seconds: Rates, gravity: Vector3) -> Any:
    return force_on_axis(inertia_of(numbers, 1.0), motion_of(axes, NOWHERE, rates, seconds, gravity))


@traced
def inertia_force_beside(
    numbers: Numbers, length: Number, axes: Axes, places: Vectors, rates: Rates, seconds: Rates, gravity: Vector3
) -> Any:
    return force_beside(inertia_of(numbers, length), motion_of(axes, places, rates, seconds, gravity))


@traced
def energy_momentum(numbers: Numbers, axes: Axes, places: Vectors, rates: Rates, gravity: Vector3) -> Any:
    """(8,): ``energy_sums`` of mass on the axis."""
    return energy_sums(inertia_of(numbers, 1.0), motion_of(axes, places, rates, rates, gravity), gravity, False)


@traced
def energy_momentum_beside(
    numbers: Numbers, length: Number, axes: Axes, places: Vectors, rates: Rates, gravity: Vector3
) -> Any:
    """(8,): ``energy_sums`` of mass beside the axis."""
    return energy_sums(inertia_of(numbers, length), motion_of(axes, places, rates, rates, gravity), gravity, True)


def forces_at_rest(of, axes, places, force):
    """The mass matrix, in rows the forces (12,) by unit accelerations of both frames at rest: equation (26)."""
    units = [joined(*(float(i == j) for i in range(12))) for j in range(12)]
    moved = [EndsMotion(axes, places, NOWHERE, (e[:3], e[6:9]), NOWHERE, (e[3:6], e[9:])) for e in units]
    return matrix(*(force(of, at) for at in moved))


@traced
def mass_matrix(numbers: Numbers, axes: Axes) -> Any:
    """The mass matrix (12, 12) of mass on the axis."""
    return forces_at_rest(inertia_of(numbers, 1.0), axes, NOWHERE, force_on_axis)


@traced
def mass_matrix_beside(numbers: Numbers, length: Number, axes: Axes, places: Vectors) -> Any:
    """That of mass beside the axis."""
    return forces_at_rest(inertia_of(numbers, length), axes, places, force_beside)


def turned(R, spin):
    """Axes with the change by a spin, own axes."""
    return dual.run(R, R @ skew(spin))


@traced
def spin_tangents(numbers: Numbers, axes: Axes, rates: Rates, seconds: Rates, gravity: Vector3) -> Any:
    """Rows (6, 12) of changes of the force on the axis by the spins of both frames: their rates, and their angles."""
    of, at = inertia_of(numbers, 1.0), motion_of(axes, NOWHERE, rates, seconds, gravity)
    found: Any = [], []
    for j in range(6):
        unit = joined(*(float(i == j % 3) for i in range(3)))
        for rows, word, by in zip(found, ("omega", "axes"), (dual.run, turned), strict=True):
            both = list(getattr(at, word))
            both[j // 3] = by(both[j // 3], unit)
            rows.append(change.run(force_on_axis(of, at._replace(**{word: tuple(both)}))))
    return matrix(*found[0]), matrix(*found[1])


@traced
def change_by_pose(
    numbers: Numbers,
    length: Number,
    axes: Axes,
    places: Vectors,
    rates: Rates,
    seconds: Rates,
    gravity: Vector3,
    motions: Rates,
) -> Any:
    """The change (12,) of ``force_beside`` by motions (6,) of both frames."""
    axes = tuple(turned(R, each[3:]) for R, each in zip(axes, motions, strict=True))
    places = tuple(dual.run(x, each[:3]) for x, each in zip(places, motions, strict=True))
    at = motion_of(axes, places, rates, seconds, gravity)
    return change.run(force_beside(inertia_of(numbers, length), at))


@traced
def change_by_rate(
    numbers: Numbers,
    length: Number,
    axes: Axes,
    places: Vectors,
    rates: Rates,
    seconds: Rates,
    gravity: Vector3,
    motions: Rates,
) -> Any:
    """The change (12,) of ``force_beside`` by changes (6,) of the rates of both frames."""
    rates = tuple(dual.run(x, each) for x, each in zip(rates, motions, strict=True))
    at = motion_of(axes, places, rates, seconds, gravity)
    return change.run(force_beside(inertia_of(numbers, length), at))


@inlined
def add_inertia_tangents(data, R, motion, gravity, unit, rows, C, K):
    """C, K (12, 12) += derivatives of the force by velocities and by poses at constant accelerations.

    R (4, 3, 3) : axes of ``Placed``. motion : ``FramesMotion``. unit (12, 12) : one. rows (2, 6, 12) : work.
    """
    velocities, accelerations, poses = motion.velocities, motion.accelerations, motion.poses
    axes, pull = (M3(R[0]), M3(R[2])), V3(gravity)
    rates, seconds = (V6(velocities[0]), V6(velocities[1])), (V6(accelerations[0]), V6(accelerations[1]))
    if not has_mass_beside(data):
        by_rate, by_pose = spin_tangents(inertia_numbers(data[POINTS:]), axes, rates, seconds, pull)
        put(by_rate, rows[0])
        put(by_pose, rows[1])
        for j in range(6):
            k = j + 3 if j < 3 else j + 6
            for i in range(12):
                C[i, k] += rows[0, j, i]
                K[i, k] += rows[1, j, i]
        return
    of, length, places = inertia_numbers(data[POINTS:]), data[LENGTH], (V3(poses[0]), V3(poses[1]))
    for j in range(12):
        e = V6(unit[j]), V6(unit[j, 6:])
        put(change_by_rate(of, length, axes, places, rates, seconds, pull, e), rows[0, 0])
        put(change_by_pose(of, length, axes, places, rates, seconds, pull, e), rows[1, 0])
        for i in range(12):
            C[i, j] += rows[0, 0, i]
            K[i, j] += rows[1, 0, i]

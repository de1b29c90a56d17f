"""Torsion springs and dashpots about one axis, or on three Euler angles, evaluated together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from femb.base.types import Floats
from femb.elements.load.euler_basis import NEAREST, axes_of, lock_vector, measure_of
from femb.elements.spring.batch import PairBatch, PairRow, law_of
from femb.layout.connections import Singularity
from femb.layout.element import Batch, Input, OutputRows, rows_of_law
from femb.layout.layout import Layout, Station
from femb.layout.state import motion_rows
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import LinearPoint, OutputStates
from femb.numerics import rotations
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    Vector3,
    Vector4,
    atan2,
    cross,
    dot,
    identity,
    joined,
    lift,
    matrix,
    norm,
    scaled,
    vector,
)
from femb.numerics.compiler.traced import V3, changes_along, of_one, put, put_changes, reader, traced, unit_changes
from femb.numerics.euler import euler_rates, to_euler
from femb.numerics.vector3 import (
    OF_TURNS,
    add_row_force,
    attitude,
    axes_at,
    quaternion_product,
    scatter_changes,
    still,
    turned,
)

# Kernels over torsion springs and dashpots between the axes of two frames.
#
# The rotation of station b relative to station a, p = p_a* p_b, has angles theta_m with rates h_m . w, where w is the
# angular velocity of b relative to a. With the moments n_m = k_m (theta_m - free_m) + c_m rate_m + torque_m, in axes of
# station b:
#
#     ONE_AXIS    one angle, about the axis f fixed in both stations: theta = 2 atan2(f . p, p_0),
#                 h = (p_0^2 f + p_0 f x p + (f . p) p) / (p_0^2 + (f . p)^2);          torque on b  -n h
#     CARDAN      three Euler angles x-y-z, h_m = g^m, the dual Euler basis (B^+):      torque on b  -sum n_m g^m
#     PROPER      the same of x-y-x
#     BENDING     three small angles x-y-z (B = 1), rate_m = b_m . w with b_m the axis
#                 of station b for rotation m of the sequence:                           torque on b  -sum n_m b_m
#
# and the opposite on a. The last is the derivative of k (theta - free)^2 / 2 only to first order. The axes of stations
# on Euler angles are those of the sequence, the third one also where it is not rotated about, and right-handed.
#
# index (n, 8) int: columns of the frames a and b (see ``femb.numerics.vector3``), first INPUT or -1, KIND. data
# (n, 20): quaternions (4, 4) of the stations in their frames, axis f (3), k (3), c (3), free (3). Inputs: torque, and
# its derivatives by angle and rate. fixed : poses of fixed frames.
# Source: docs/theory/rigid_body.md, section 5; Thompson, AIAA 2011-6277, generalized forces.

ONE_AXIS, CARDAN, PROPER, BENDING = range(4)
FIRST, SECOND, INPUT, KIND = 0, 3, 6, 7
FIRST_STATION, SECOND_STATION = slice(0, 4), slice(4, 8)
STIFFNESS, DAMPING, FREE = 11, 14, 17
# Directions of the tangent, in groups of four: the turn of b relative to a, axes of b, and w.
turn, spin = unit_changes(0, 4), unit_changes(4, 8)
DIRECTIONS = 8
changes_of, along_motions = reader(6, DIRECTIONS), changes_along(DIRECTIONS)


class TorsionSpring(NamedTuple):
    """Quaternions of both stations in their frames, axis f (3,), and of each angle stiffness, damping, free angle."""

    first: Vector4
    second: Vector4
    f: Vector3
    k: Vector3
    c: Vector3
    free: Vector3


row_of_data = reader(20)


@traced
def spring_of(row: Annotated[Any, (20,)]) -> Any:
    return TorsionSpring(row[:4], row[4:8], row[8:11], row[11:14], row[14:17], row[17:])


@traced
def relative_turn(spring: TorsionSpring, one: Vector4, two: Vector4) -> Any:
    """p (4,) of the quaternions of both frames."""
    a, b = quaternion_product.run(one, spring.first), quaternion_product.run(two, spring.second)
    return quaternion_product.run(vector(a[0], -a[1], -a[2], -a[3]), b)


@traced
def opposite(p: Vector4) -> Any:
    """The other quaternion of the same rotation."""
    return -p


@traced
def station_spins(spring: TorsionSpring, one: Vector3, two: Vector3) -> Any:
    """The angular velocities of both frames in the axes of their stations."""
    return attitude.run(spring.first).T @ one, attitude.run(spring.second).T @ two


@traced
def relative_spin(p: Vector4, one: Vector3, two: Vector3) -> Any:
    """w (3,) of those of ``station_spins``."""
    return two - attitude.run(p).T @ one


@traced
def twist(p: Vector4, f: Vector3) -> Any:
    """ONE_AXIS: theta (3,), of which the first counts, in [-pi, pi] for p_0 >= 0."""
    return vector(2.0 * atan2(dot(f, p[1:]), p[0]), 0.0, 0.0)


@traced
def twist_axis(p: Vector4, f: Vector3) -> Any:
    """ONE_AXIS: rows h_m (3, 3), of which the first counts."""
    x, y, zero = p[0], dot(f, p[1:]), (0.0, 0.0, 0.0)
    return matrix((x * x * f + x * cross(f, p[1:]) + y * p[1:]) / (x * x + y * y), zero, zero)


@traced
def cardan_angles(p: Vector4) -> Any:
    """CARDAN, BENDING: theta (3,), the outer ones in [-pi, pi]."""
    R = attitude.run(p)
    return vector(atan2(-R[1, 2], R[2, 2]), atan2(R[0, 2], norm(R[0, :2])), atan2(-R[0, 1], R[0, 0]))


@traced
def proper_angles(p: Vector4) -> Any:
    """PROPER: theta (3,), the outer ones in [-pi, pi]."""
    R = attitude.run(p)
    return vector(atan2(R[1, 0], -R[2, 0]), atan2(norm(R[0, 1:]), R[0, 0]), atan2(R[0, 1], R[0, 2]))


@traced
def dual_basis(p: Vector4, g3: Vector3, sign: Number) -> Any:
    """Rows g^m (3, 3), equation (7), of the third axis g_3 and the sign of g_3 x g_1 along g_2."""
    g1 = attitude.run(p)[0]
    x, s = cross(g3, g1), dot(g1, g3)
    square = dot(x, x)
    return matrix((g1 - s * g3) / square, (sign / norm(x)) * x, (g3 - s * g1) / square)


@traced
def cardan_basis(p: Vector4) -> Any:
    """CARDAN, BENDING: rows h_m (3, 3)."""
    return dual_basis.run(p, vector(0.0, 0.0, 1.0), 1.0)


@traced
def proper_basis(p: Vector4) -> Any:
    """PROPER: rows h_m (3, 3)."""
    return dual_basis.run(p, vector(1.0, 0.0, 0.0), -1.0)


@traced
def own_axes() -> Any:
    """BENDING: rows b_m (3, 3)."""
    return identity(3)


@traced
def torque(
    spring: TorsionSpring, theta: Vector3, b: Matrix3, w: Vector3, given: Vector3, elastic: Number, other: Number
) -> Any:
    """sum n_m b_m; given (3,) : the inputs, of one angle. elastic, other : factors of the stiffness and of the rest."""
    rate = b @ w
    n = elastic * scaled(spring.k, theta - spring.free) + other * scaled(spring.c, rate)
    force = other * (given[0] + lift(0.0, (given[1], theta[0]), (given[2], rate[0])))
    return b.T @ joined(n[0] + force, n[1:])


@traced
def on_frames(spring: TorsionSpring, p: Vector4, t: Vector3) -> Any:
    """Torques (6,) on both frames, own axes, of a torque on station b, its axes."""
    return joined(-(attitude.run(spring.first) @ (attitude.run(p) @ t)), attitude.run(spring.second) @ t)


@traced
def turns_of_b(spring: TorsionSpring, p: Vector4) -> Any:
    """Rows (3, 8): the turn of b relative to a along turns of both frames, own axes, in groups of four."""
    of_one, of_two = -(attitude.run(spring.first) @ attitude.run(p)).T, attitude.run(spring.second).T
    return matrix(*(joined(one, 0.0, two, 0.0) for one, two in zip(of_one, of_two, strict=True)))


@traced
def along_frames(changes: Annotated[Any, (6, DIRECTIONS)], phi: Vector3) -> Any:
    """The torques with their changes by the turn phi of b, and with those by w = phi, of a row of ``on_frames``."""
    return changes[:, :3] @ phi, changes[:, 4:7] @ phi


@traced
def elastic_energy(spring: TorsionSpring, theta: Vector3) -> Any:
    """sum k_m (theta_m - free_m)^2 / 2."""
    turn = theta - spring.free
    return 0.5 * dot(scaled(spring.k, turn), turn)


@inlined
def angles(kind, spring, p):
    """theta (3,)."""
    if kind == ONE_AXIS:
        return twist(p, spring.f)
    return proper_angles(p) if kind == PROPER else cardan_angles(p)


@inlined
def gradients(kind, spring, p):
    """h (3, 3): the rates of theta are h w."""
    if kind == ONE_AXIS:
        return twist_axis(p, spring.f)
    return proper_basis(p) if kind == PROPER else cardan_basis(p)


@inlined
def directions(kind, spring, p):
    """b (3, 3): rows, of the moments."""
    return own_axes() if kind == BENDING else gradients(kind, spring, p)


@inlined
def relative(spring, one, two):
    """p (4,) of the quaternions of both frames, with p_0 >= 0."""
    p = relative_turn(spring, one, two)
    return p if of_one(p[0]) >= 0.0 else opposite(p)


@inlined
def inputs_of(index, u):
    """The inputs (3,) of a spring, or zeros."""
    return V3(u[index[INPUT] :]) if index[INPUT] >= 0 else still()


@kernel_with_entry
def force(index, data, fixed, u, q, v, factors, out):
    """out (s, n_v) += moments on b minus those on a; factors (2,) : of the stiffness, and of the rest.

    The work of the BENDING spring is not the difference of a potential energy and counts as dissipative.
    """
    f = np.zeros(12)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring, kind = spring_of(row_of_data(data[k])), index[k, KIND]
            one, omega_one = axes_at(index[k], FIRST, q[s], v[s], fixed)
            two, omega_two = axes_at(index[k], SECOND, q[s], v[s], fixed)
            p = relative(spring, one, two)
            theta, b = angles(kind, spring, p), directions(kind, spring, p)
            elastic = factors[1] if kind == BENDING else factors[0]
            w = relative_spin(p, *station_spins(spring, omega_one, omega_two))
            t = torque(spring, theta, b, w, inputs_of(index[k], u[s]), elastic, factors[1])
            on_both = on_frames(spring, p, t)
            put(on_both[:3], f[3:])
            put(on_both[3:], f[9:])
            add_row_force(index[k], 1.0, f, out[s])


@kernel
def energy(index, data, fixed, q, v, out):
    """out (s, 8) += k (theta - free)^2 / 2, as potential energy, of all but BENDING springs."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if index[k, KIND] != BENDING:
                spring = spring_of(row_of_data(data[k]))
                one, _ = axes_at(index[k], FIRST, q[s], v[s], fixed)
                two, _ = axes_at(index[k], SECOND, q[s], v[s], fixed)
                theta = angles(index[k, KIND], spring, relative(spring, one, two))
                out[s, 1] += elastic_energy(spring, theta)


@kernel
def motions(index, data, fixed, q, v, p, w):
    """p (s, n, 4), w (s, n, 3): the rotation of b relative to a and its angular velocity, axes of station b."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring = spring_of(row_of_data(data[k]))
            one, omega_one = axes_at(index[k], FIRST, q[s], v[s], fixed)
            two, omega_two = axes_at(index[k], SECOND, q[s], v[s], fixed)
            of_b = relative_turn(spring, one, two)
            put(of_b, p[s, k])
            put(relative_spin(of_b, *station_spins(spring, omega_one, omega_two)), w[s, k])


@inlined
def varied(index, spring, q, v, fixed):
    """p, theta, b and w, with their changes along the directions of the tangent."""
    one, omega_one = axes_at(index, FIRST, q, v, fixed)
    two, omega_two = axes_at(index, SECOND, q, v, fixed)
    at, phi, kind = relative(spring, one, two), turn(still()), index[KIND]
    p = turned(at, phi)
    b = directions(kind, spring, p)
    h = gradients(kind, spring, at) if kind == BENDING else of_one(b)
    theta = angles(kind, spring, at) + h @ phi
    of_a, of_b = station_spins(spring, omega_one, omega_two)
    return p, theta, b, relative_spin(p, of_a, spin(of_b))


@kernel
def slopes(index, data, fixed, q, v, by_turn, rates, R):
    """Changes of the angles (n, 3, 4) by a turn of b relative to a, axes of station b, and of their rates (n, 3, 8) by
    this and by w; R (n, 3, 3) from b to a."""
    for k in range(index.shape[0]):
        p, theta, b, w = varied(index[k], spring_of(row_of_data(data[k])), q, v, fixed)
        put_changes(theta, by_turn[k])
        put_changes(b @ w, rates[k])
        put(attitude(of_one(p)), R[k])


@kernel_with_entry
def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of the torques by v, and by q H, at every state to block data (s, size)."""
    rows, motions = np.empty((6, DIRECTIONS)), np.empty((3, DIRECTIONS))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring = spring_of(row_of_data(data[k]))
            p, theta, b, w = varied(index[k], spring, q[s], v[s], fixed)
            t = torque(spring, theta, b, w, inputs_of(index[k], u[s]), 1.0, 1.0)
            put_changes(on_frames(spring, p, t), rows)
            put(turns_of_b(spring, of_one(p)), motions)
            by_turn, by_spin = along_frames(changes_of(rows), along_motions(still(), motions))
            put_changes(by_turn, rows)
            scatter_changes(rows, 0, OF_TURNS, offset[k], stride[k], stiffness[s])
            put_changes(by_spin, rows)
            scatter_changes(rows, 0, OF_TURNS, offset[k], stride[k], damping[s])


HALF_TURN_ADVICE = "its angle is not followed beyond half a turn"


@dataclass(frozen=True, kw_only=True)
class _SpringRow(PairRow):
    """One spring. law : a callable moment, if there is one. senses (k,) : of the recorded angles in those of kernels.

    vectors, motion : functions of the rotation (s, 4) of the end relative to the start, and of its angular velocity.
    They return the vectors (s, k, 2) that vanish at singularities, with rates; and angle and rate, (s,) or (s, 3).
    """

    vectors: Callable[[Floats, Floats], list[tuple[Floats, Floats]]]
    motion: Callable[[Floats, Floats], tuple[Floats, Floats]]
    law: Callable[[float, float], Any] | None = None
    senses: tuple[float, ...] = (1.0,)


def axis_row(spring: Any, layout: Layout) -> _SpringRow:
    """A spring about one axis. In the start pose, the station of the end has the axes of the start."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    frame = layout.frames[end.frame].quaternion
    aligned = rotations.multiply(rotations.conjugate(frame), layout.pose(start)[1])
    axis = spring.axis / np.linalg.norm(spring.axis)
    needs_angle = spring.stiffness > 0.0 or spring.torque is not None
    event = "its angle reaches half a turn" if needs_angle else "its ends have turned over about another axis"
    singularity = Singularity(NEAREST, f"springs.{spring.name}", event, "|cos(angle/2)|", HALF_TURN_ADVICE)

    def vectors(p: Floats, w: Floats) -> list[tuple[Floats, Floats]]:
        """p_0, zero at 180 degrees; for a dashpot also p . axis, so that rotations about the axis are not limited."""
        parts = [np.stack([x[..., 0], x[..., 1:] @ axis], axis=-1) for x in (p, rotations.quaternion_rate(p, w))]
        if needs_angle:
            for part in parts:
                part[..., 1] = 0.0
        return [(parts[0], parts[1])]

    def motion(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        x, y = p[..., 0], p[..., 1:] @ axis
        change = rotations.quaternion_rate(p, w)
        rate = 2.0 * (x * (change[..., 1:] @ axis) - y * change[..., 0]) / (x * x + y * y)
        sign = np.where(x >= 0.0, 1.0, -1.0)
        return 2.0 * np.arctan2(sign * y, sign * x), rate

    moments = [spring.stiffness, 0.0, 0.0, spring.damping, 0.0, 0.0, spring.free_angle, 0.0, 0.0]
    of = {"vectors": vectors, "motion": motion, "law": spring.torque}
    return _SpringRow([*start.rotation, *aligned, *axis, *moments], [ONE_AXIS], singularities=(singularity,), **of)


def euler_row(spring: Any, layout: Layout) -> _SpringRow:
    """A spring on the three Euler angles between its stations, which take the axes of its sequence."""
    first, last, sign = axes_of(spring.sequence)
    second, proper = "xyz".index(spring.sequence[1]), first == last
    third = np.cross(np.eye(3)[first], np.eye(3)[second])
    to_sequence = rotations.from_matrix(np.stack([np.eye(3)[first], np.eye(3)[second], third], axis=1))
    start, end = (rotations.multiply(layout.station(each).rotation, to_sequence) for each in (spring.start, spring.end))
    sequence, senses = ("xyx", (1.0, 1.0, 1.0)) if proper else ("xyz", (1.0, 1.0, sign))
    free = spring.free_angles
    if free is None:
        poses = [rotations.multiply(layout.pose(layout.station(e))[1], to_sequence) for e in (spring.start, spring.end)]
        free = senses * to_euler(rotations.multiply(rotations.conjugate(poses[0]), poses[1]), sequence)
    stiffness = np.broadcast_to(spring.stiffness, 3)
    stiff = [m for m in (0, 2) if stiffness[m] != 0.0]
    item = f"springs.{spring.name}"
    lock = f"its ends are at gimbal lock of the sequence {spring.sequence}"
    advice = "give a sequence that stays away from it"
    singularities = [Singularity(NEAREST, item, lock, measure_of(spring.sequence), advice)]
    for m in stiff:
        event = f"its {'first' if m == 0 else 'third'} angle reaches half a turn"
        singularities.append(Singularity(NEAREST, item, event, "2 |cos(angle/2)|", HALF_TURN_ADVICE))
    axis = np.eye(3)[0 if proper else 2]

    def vectors(p: Floats, w: Floats) -> list[tuple[Floats, Floats]]:
        """The vector that vanishes at gimbal lock, and (1 + cos, sin) of the outer angles with a stiffness."""
        angles, rates = to_euler(p, sequence), euler_rates(p, w, sequence)
        result = [lock_vector(0, axis, p, w)]
        for m in stiff:
            cos, sin, rate = np.cos(angles[..., m]), np.sin(angles[..., m]), rates[..., m]
            result.append((np.stack([1.0 + cos, sin], axis=-1), np.stack([-sin * rate, cos * rate], axis=-1)))
        return result

    def motion(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        return to_euler(p, sequence), euler_rates(p, w, sequence) if spring.frame == "dual_euler" else w

    kind = PROPER if proper else CARDAN if spring.frame == "dual_euler" else BENDING
    moments = [*stiffness, *np.broadcast_to(spring.damping, 3), *np.multiply(senses, free)]
    data, of = [*start, *end, 0.0, 0.0, 0.0, *moments], tuple(singularities)
    return _SpringRow(data, [kind], singularities=of, vectors=vectors, motion=motion, senses=senses)


class TorsionBatch(PairBatch):
    """Pairs of stations. A callable moment has three inputs: value, and derivatives with respect to angle and rate."""

    groups: ClassVar[list[int]] = [1, 3]  # moments act on rotations only

    rows: list[_SpringRow]  # type: ignore[assignment]

    def forces(self) -> list[Force]:
        return [Force(force, self.kept, parts=(ForcePart.ELASTIC, ForcePart.WORK))]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, self.kept, self.starts)]

    def energies(self) -> list[Energy]:
        return [Energy(energy, self.kept)]

    def row(self, k: int, layout: Layout) -> _SpringRow:
        spring = self.springs[k]
        row = (euler_row if spring.kind == "euler" else axis_row)(spring, layout)
        if row.law is None:
            return row
        return replace(row, given=Input.of_law(law_of(self.angle, k, row.law), f"{self.names[k]}.torque"))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        p, w = self._motions(frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, (spring, row) in enumerate(zip(self.springs, self.rows, strict=True)):
            angle, rate = row.motion(p[:, k], w[:, k])
            moments = np.reshape(self.data[k, STIFFNESS:], (3, 3))
            stiffness, damping, free = moments if self.index[k, KIND] != ONE_AXIS else moments[:, 0]
            force = stiffness * (angle - free) + damping * rate
            if self.index[k, INPUT] >= 0:
                force = force + frames.u[:, self.index[k, INPUT]]
            senses = row.senses if len(row.senses) > 1 else 1.0
            values = {"force": force, "angle": angle, "rate": rate}
            block |= {f"springs/{spring.name}/{word}": senses * value for word, value in values.items()}
        return block

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.names, ("force", "angle", "rate"))

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        """The rows on the turns and angular velocities of both stations; three on Euler angles."""
        k = self.names.index(item)
        of, senses = slice(k, k + 1), np.array(self.rows[k].senses)
        by_turn, rates, R = np.zeros((1, 3, 4)), np.zeros((1, 3, DIRECTIONS)), np.zeros((1, 3, 3))
        slopes(self.index[of], self.data[of], self.fixed, point.q, point.v, by_turn, rates, R)
        stations = [
            Station(end.frame, np.zeros(3), self.data[k, part])
            for end, part in zip(self.ends[k], (FIRST_STATION, SECOND_STATION), strict=True)
        ]

        def between(quantity: str) -> list[Floats]:
            """(3, n_v) of the motion of b relative to a in axes of b, by pose and velocity."""
            first, second = (motion_rows(point, station, quantity) for station in stations)
            return [of_b - R[0].T @ of_a for of_a, of_b in zip(first, second, strict=True)]

        motions = between("turn")[0], between("angular_velocity")[1]
        count, first = len(senses), int(self.index[k, INPUT])
        by_c, by_r, by_spin = (
            senses[:, None] * (each[0, :count, at : at + 3] @ motion)
            for each, at, motion in ((by_turn, 0, motions[0]), (rates, 0, motions[0]), (rates, 4, motions[1]))
        )
        moments = [self.data[k, place : place + count] for place in (STIFFNESS, DAMPING)]
        if first >= 0:
            moments = [part + point.u[first + 1 + k] for k, part in enumerate(moments)]
        given, components = [(first, 1.0)] if first >= 0 else [], () if count == 1 else ("x", "y", "z")
        slope = moments[0], moments[1]
        return rows_of_law(point, self, quantity, "rad", (by_c, by_r, by_spin), slope, given, components)

    def angle(self, k: int, q: Floats, v: Floats) -> tuple[float, float]:
        """Angle and rate of spring k about its axis at one state."""
        p, w = self._motions(q[None], v[None])
        angle, rate = self.rows[k].motion(p[0, k], w[0, k])
        return float(angle), float(rate)

    def _motions(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        count = len(self.index)
        p, w = np.empty((len(q), count, 4)), np.empty((len(q), count, 3))
        motions(*self.kept, q, v, p, w)
        return p, w

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, 2) that vanish at the singularities of the springs, and their rates."""
        p, w = self._motions(q, v)
        pairs = [pair for k, row in enumerate(self.rows) for pair in row.vectors(p[:, k], w[:, k])]
        return np.stack([y for y, _ in pairs], axis=1), np.stack([rate for _, rate in pairs], axis=1)

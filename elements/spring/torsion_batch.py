"""Torsion springs and dashpots about one axis, or on three Euler angles, evaluated together."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats
from femb.elements.load.euler_basis import NEAREST, axes_of, basis, basis_change, lock_vector, measure_of
from femb.elements.spring.batch import PairBatch, PairRow, law_of
from femb.layout.connections import Singularity
from femb.layout.element import Batch, Input, OutputRows, rows_of_law
from femb.layout.layout import Layout, Station
from femb.layout.state import motion_rows
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import LinearPoint, OutputStates
from femb.numerics import rotations
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.euler import euler_rates, to_euler
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_skew,
    assign,
    cross,
    dot,
    hamilton_into,
    product,
    rotate_back,
    rotation,
    scatter,
)

# Angles of torsion springs: the rotation between two stations, its angles and their rates.
#
# index (n, 12) int: columns of the frames a and b (see ``femb.numerics.vector3``), first INPUT or -1, KIND, the three
# axes of the sequence, number of ANGLES. data (n, 21): quaternions (4, 4) of the stations in their frames, axis f (3),
# k (3), c (3), free (3), SIGN of g_3 x g_1 along g_2. Formulas: ``femb.elements.spring.torsion_batch``.

ONE_AXIS, DUAL_EULER, BENDING = range(3)
INPUT, KIND, FIRST_AXIS, SECOND_AXIS, LAST_AXIS, ANGLES = range(6, 12)
FIRST_STATION, SECOND_STATION, AXIS = slice(0, 4), slice(4, 8), slice(8, 11)
STIFFNESS, DAMPING, FREE, SIGN = 11, 14, 17, 20  # three columns each, but one for SIGN


@inlined
def quaternion_of(i, q, fixed, station, p):
    """p (4,) of a station: quaternion of its frame times that of the station in the frame."""
    hamilton_into(q[i + 3 : i + 7] if i >= 0 else fixed[-1 - i, 3:7], station, p)


@inlined
def relative(index, data, q, v, fixed, p, R, w, z):
    """p (4,), R (3, 3): rotation of station b relative to a; w: its angular velocity, z: that of a; axes of b."""
    work, spin, S = np.empty((2, 4)), np.empty(3), np.empty((3, 3))
    a, b = work[0], work[1]
    quaternion_of(index[IN_Q], q, fixed, data[FIRST_STATION], a)
    quaternion_of(index[3 + IN_Q], q, fixed, data[SECOND_STATION], b)
    for k in range(1, 4):
        a[k] = -a[k]
    hamilton_into(a, b, p)
    z[:] = 0.0
    w[:] = 0.0
    if index[IN_V] >= 0:
        rotation(data[FIRST_STATION], S)
        rotate_back(S, v[index[IN_V] + 3 : index[IN_V] + 6], spin)
        rotation(p, R)
        rotate_back(R, spin, z)
    if index[3 + IN_V] >= 0:
        rotation(data[SECOND_STATION], S)
        rotate_back(S, v[index[3 + IN_V] + 3 : index[3 + IN_V] + 6], w)
    rotation(p, R)
    for k in range(3):
        w[k] -= z[k]


@kernel
def twist(p, f, h):
    """The angle about f, in [-pi, pi], and h (3,) with rate = h . w."""
    x, vector, y = p[0], p[1:4], dot(f, p[1:4])
    cross(f, vector, h)
    for o in range(3):
        h[o] = (x * x * f[o] + x * h[o] + y * vector[o]) / (x * x + y * y)
    return 2.0 * math.atan2(y, x) if x >= 0.0 else 2.0 * math.atan2(-y, -x)


@inlined
def twist_change(p, f, h, change):
    """change (3, 3): [:, k] is the rate of h for a unit spin of b about its axis k, p' = p (0, e_k)/2."""
    work = np.empty((5, 3))
    vector, dvector, unit, fxv, c = work[0], work[1], work[2], work[3], work[4]
    x, y = p[0], dot(f, p[1:4])
    for o in range(3):
        vector[o] = p[1 + o]
    cross(f, vector, fxv)
    square = x * x + y * y
    for k in range(3):
        unit[:] = 0.0
        unit[k] = 1.0
        cross(vector, unit, dvector)
        for o in range(3):
            dvector[o] = 0.5 * (x * unit[o] + dvector[o])
        dx, dy = -0.5 * vector[k], dot(f, dvector)
        cross(f, dvector, c)
        grown = 2.0 * (x * dx + y * dy)
        for o in range(3):
            top = 2.0 * x * dx * f[o] + dx * fxv[o] + x * c[o] + dy * vector[o] + y * dvector[o]
            change[o, k] = (top - grown * h[o]) / square


@inlined
def euler_angles(R, i, j, k, theta):
    """theta (3,) of the sequence with axes i, j, k: first and last in [-pi, pi]; see femb.numerics.euler."""
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    if i != k:
        theta[0] = math.atan2(-e * R[j, k], R[k, k])
        theta[1] = math.atan2(e * R[i, k], math.hypot(R[i, i], R[i, j]))
        theta[2] = math.atan2(-e * R[i, j], R[i, i])
    else:
        m = 3 - i - j
        theta[0] = math.atan2(R[j, i], -e * R[m, i])
        theta[1] = math.atan2(math.hypot(R[i, j], R[i, m]), R[i, i])
        theta[2] = math.atan2(R[i, j], e * R[i, m])


@inlined
def angles(index, data, p, R, w, theta, rate, h, b):
    """theta, rate (3,); h (3, 3): rows, h_m . w is the exact rate; b (3, 3): rows, directions of the moments."""
    kind = index[KIND]
    if kind == ONE_AXIS:
        theta[0] = twist(p, data[AXIS], h[0])
        for o in range(3):
            b[0, o] = h[0, o]
    else:
        i, j, k = index[FIRST_AXIS], index[SECOND_AXIS], index[LAST_AXIS]
        euler_angles(R, i, j, k, theta)
        last = np.zeros(3)
        last[k] = 1.0
        basis(R[i], last, data[SIGN], True, h)
        for m in range(3):
            for o in range(3):
                b[m, o] = h[m, o] if kind == DUAL_EULER else 0.0
        if kind == BENDING:
            b[0, i], b[1, j], b[2, k] = 1.0, 1.0, 1.0
    for m in range(index[ANGLES]):
        rate[m] = dot(b[m], w)


# Kernels over torsion springs and dashpots between the axes of two frames.
#
# The rotation of station b relative to station a, p = p_a* p_b, has angles theta_m with rates h_m . w, where w is the
# angular velocity of b relative to a. With the moments n_m = k_m (theta_m - free_m) + c_m rate_m + torque_m, in axes of
# station b:
#
#     ONE_AXIS    one angle, about the axis f fixed in both stations: theta = 2 atan2(f . p, p_0),
#                 h = (p_0^2 f + p_0 f x p + (f . p) p) / (p_0^2 + (f . p)^2);          torque on b  -n h
#     DUAL_EULER  three Euler angles, h_m = g^m, the dual Euler basis (B^+):            torque on b  -sum n_m g^m
#     BENDING     three small Euler angles (B = 1), rate_m = b_m . w with b_m the axis
#                 of station b for rotation m of the sequence:                           torque on b  -sum n_m b_m
#
# and the opposite on a. The first two are the derivative of k (theta - free)^2 / 2, the last only to first order.
#
# index, data : columns of ``femb.elements.spring.torsion_batch``. Inputs: torque, and its derivatives by angle and
# rate. fixed : poses of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.

STARTS = np.array([0, 3])
SIZES = np.array([3, 3])


@kernel_with_entry
def force(index, data, fixed, u, q, v, factors, out):
    """out (s, n_v) += moments on b minus those on a; factors (2,) : of the stiffness, and of the rest.

    The work of the BENDING spring is not the difference of a potential energy and counts as dissipative.
    """
    elastic, dissipative = factors[0], factors[1]
    p, work, R = np.empty(4), np.empty((6, 3)), np.empty((3, 3))
    w, z, theta, rate, t, local = work[0], work[1], work[2], work[3], work[4], work[5]
    h, b, S = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            relative(index[k], data[k], q[s], v[s], fixed, p, R, w, z)
            angles(index[k], data[k], p, R, w, theta, rate, h, b)
            spring = dissipative if index[k, KIND] == BENDING else elastic
            t[:] = 0.0
            for m in range(index[k, ANGLES]):
                n = spring * data[k, STIFFNESS + m] * (theta[m] - data[k, FREE + m])
                n += dissipative * data[k, DAMPING + m] * rate[m]
                if index[k, INPUT] >= 0:
                    n += dissipative * u[s, index[k, INPUT]]
                for o in range(3):
                    t[o] += n * b[m, o]
            for e in range(2):
                j = index[k, 3 * e + IN_V]
                if j < 0:
                    continue
                for o in range(3):
                    local[o] = -dot(R[o], t) if e == 0 else t[o]
                rotation(data[k, 4 * e : 4 * e + 4], S)
                for o in range(3):
                    out[s, j + 3 + o] += dot(S[o], local)


@kernel
def energy(index, data, fixed, q, v, out):
    """out (s, 8) += k (theta - free)^2 / 2, as potential energy, which a BENDING spring does not have."""
    p, work, R = np.empty(4), np.empty((4, 3)), np.empty((3, 3))
    h, b = np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if index[k, KIND] == BENDING:
                continue
            relative(index[k], data[k], q[s], v[s], fixed, p, R, work[0], work[1])
            angles(index[k], data[k], p, R, work[0], work[2], work[3], h, b)
            for m in range(index[k, ANGLES]):
                out[s, 1] += 0.5 * data[k, STIFFNESS + m] * (work[2, m] - data[k, FREE + m]) ** 2


@kernel
def motions(index, data, fixed, q, v, p, w):
    """p (s, n, 4), w (s, n, 3): the rotation of b relative to a and its angular velocity, axes of station b."""
    z, R = np.empty(3), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            relative(index[k], data[k], q[s], v[s], fixed, p[s, k], R, w[s, k], z)


@kernel
def slopes(index, data, fixed, q, v, by_turn, rate_by_turn, rate_by_spin, R):
    """Derivatives (n, 3, 3) of the angles by phi, and of the recorded rates by phi and by dw; R (n, 3, 3) from b to a.

    phi, dw : as in ``tangent``, whose rows these are.
    """
    p, w, z, last = np.empty(4), np.empty(3), np.empty(3), np.zeros(3)
    theta, rate, db = np.empty(3), np.empty(3), np.empty((3, 3, 3))
    for k in range(index.shape[0]):
        relative(index[k], data[k], q, v, fixed, p, R[k], w, z)
        angles(index[k], data[k], p, R[k], w, theta, rate, by_turn[k], rate_by_spin[k])
        db[:] = 0.0
        if index[k, KIND] == ONE_AXIS:
            twist_change(p, data[k, AXIS], by_turn[k, 0], db[0])
        elif index[k, KIND] == DUAL_EULER:
            last[:] = 0.0
            last[index[k, LAST_AXIS]] = 1.0
            basis_change(R[k, index[k, FIRST_AXIS]], last, data[k, SIGN], True, rate_by_spin[k], db)
        for m in range(index[k, ANGLES]):
            cross(z, rate_by_spin[k, m], rate_by_turn[k, m])
            for o in range(3):
                for x in range(3):
                    rate_by_turn[k, m, o] += w[x] * db[m, x, o]


@kernel_with_entry
def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of the torques by v, and by q H, at every state to block data (s, size).

    Let phi be a small rotation of b relative to a, in axes of b. Then h_m . w and theta_m change by h_m . phi, b_m by
    db_m phi, w by dw - z x phi, and the torque t = sum n_m b_m on b by T phi + C dw with

        C = sum c_m b_m b_m^T,    T = sum b_m (k_m h_m + c_m (z x b_m + db_m^T w))^T + n_m db_m;

    For the opposite torque on a, the change in axes of b is (T - t~) phi + C dw.
    """
    p, work, R = np.empty(4), np.empty((6, 3)), np.empty((3, 3))
    w, z, theta, rate, t, row = work[0], work[1], work[2], work[3], work[4], work[5]
    h, b, db = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3))
    T, C, A = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    U, S, last = np.empty((2, 3, 3)), np.empty((3, 3)), np.zeros(3)
    K6, C6, KU, CU = np.empty((6, 6)), np.empty((6, 6)), np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            kind, first = index[k, KIND], index[k, INPUT]
            relative(index[k], data[k], q[s], v[s], fixed, p, R, w, z)
            angles(index[k], data[k], p, R, w, theta, rate, h, b)
            db[:] = 0.0
            if kind == ONE_AXIS:
                twist_change(p, data[k, AXIS], h[0], db[0])
            elif kind == DUAL_EULER:
                last[:] = 0.0
                last[index[k, LAST_AXIS]] = 1.0
                basis_change(R[index[k, FIRST_AXIS]], last, data[k, SIGN], True, b, db)
            t[:] = 0.0
            T[:] = 0.0
            C[:] = 0.0
            for m in range(index[k, ANGLES]):
                stiff, damp = data[k, STIFFNESS + m], data[k, DAMPING + m]
                n = stiff * (theta[m] - data[k, FREE + m]) + damp * rate[m]
                if first >= 0:
                    n += u[s, first]
                    stiff += u[s, first + 1]
                    damp += u[s, first + 2]
                cross(z, b[m], row)
                for o in range(3):
                    row[o] += w[0] * db[m, 0, o] + w[1] * db[m, 1, o] + w[2] * db[m, 2, o]
                    row[o] = stiff * h[m, o] + damp * row[o]
                for o in range(3):
                    t[o] += n * b[m, o]
                    for x in range(3):
                        T[o, x] += b[m, o] * row[x] + n * db[m, o, x]
                        C[o, x] += damp * b[m, o] * b[m, x]
            # from axes of station b to those of the frames; the motion of a has the opposite sign
            rotation(data[k, FIRST_STATION], S)
            product(S, R, U[0])
            rotation(data[k, SECOND_STATION], U[1])
            for o in range(3):
                for x in range(3):
                    U[0, o, x] = -U[0, o, x]
            for e in range(2):
                for o in range(3):
                    assign(T[o], A[o])
                if e == 0:
                    for o in range(3):
                        row[o] = -t[o]
                    add_skew(1.0, row, A)
                product(U[e], A, KU)
                product(U[e], C, CU)
                for g in range(2):
                    for o in range(3):
                        for x in range(3):
                            K6[3 * e + o, 3 * g + x] = dot(KU[o], U[g, x])
                            C6[3 * e + o, 3 * g + x] = dot(CU[o], U[g, x])
            scatter(C6, STARTS, SIZES, offset[k], stride[k], damping[s])
            scatter(K6, STARTS, SIZES, offset[k], stride[k], stiffness[s])


HALF_TURN_ADVICE = "its angle is not followed beyond half a turn"


@dataclass(frozen=True, kw_only=True)
class _SpringRow(PairRow):
    """One spring. law : a callable moment, if there is one.

    vectors, motion : functions of the rotation (s, 4) of the end relative to the start, and of its angular velocity.
    They return the vectors (s, k, 2) that vanish at singularities, with rates; and angle and rate, (s,) or (s, 3).
    """

    vectors: Callable[[Floats, Floats], list[tuple[Floats, Floats]]]
    motion: Callable[[Floats, Floats], tuple[Floats, Floats]]
    law: Callable[[float, float], Any] | None = None


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
    data, index = [*start.rotation, *aligned, *axis, *moments, 0.0], [ONE_AXIS, 0, 0, 0, 1]
    of = {"vectors": vectors, "motion": motion, "law": spring.torque}
    return _SpringRow(data, index, singularities=(singularity,), **of)


def euler_row(spring: Any, layout: Layout) -> _SpringRow:
    """A spring on the three Euler angles between its stations."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    first, last, sign = axes_of(spring.sequence)
    second = "xyz".index(spring.sequence[1])
    free = spring.free_angles
    if free is None:
        relative = rotations.multiply(rotations.conjugate(layout.pose(start)[1]), layout.pose(end)[1])
        free = to_euler(relative, spring.sequence)
    stiffness = np.broadcast_to(spring.stiffness, 3)
    stiff = [m for m in (0, 2) if stiffness[m] != 0.0]
    item = f"springs.{spring.name}"
    lock = f"its ends are at gimbal lock of the sequence {spring.sequence}"
    advice = "give a sequence that stays away from it"
    singularities = [Singularity(NEAREST, item, lock, measure_of(spring.sequence), advice)]
    for m in stiff:
        event = f"its {'first' if m == 0 else 'third'} angle reaches half a turn"
        singularities.append(Singularity(NEAREST, item, event, "2 |cos(angle/2)|", HALF_TURN_ADVICE))
    axis = np.eye(3)[last]

    def vectors(p: Floats, w: Floats) -> list[tuple[Floats, Floats]]:
        """The vector that vanishes at gimbal lock, and (1 + cos, sin) of the outer angles with a stiffness."""
        angles, rates = to_euler(p, spring.sequence), euler_rates(p, w, spring.sequence)
        result = [lock_vector(first, axis, p, w)]
        for m in stiff:
            cos, sin, rate = np.cos(angles[..., m]), np.sin(angles[..., m]), rates[..., m]
            result.append((np.stack([1.0 + cos, sin], axis=-1), np.stack([-sin * rate, cos * rate], axis=-1)))
        return result

    def motion(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        along_axes = w[..., ["xyz".index(letter) for letter in spring.sequence]]
        rates = euler_rates(p, w, spring.sequence) if spring.frame == "dual_euler" else along_axes
        return to_euler(p, spring.sequence), rates

    kind = DUAL_EULER if spring.frame == "dual_euler" else BENDING
    moments = [*stiffness, *np.broadcast_to(spring.damping, 3), *free]
    data = [*start.rotation, *end.rotation, 0.0, 0.0, 0.0, *moments, sign]
    index = [kind, first, second, last, 3]
    return _SpringRow(data, index, singularities=tuple(singularities), vectors=vectors, motion=motion)


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
        """Moment, angle and rate of every spring; three each on Euler angles."""
        p, w = self._motions(frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, (spring, row) in enumerate(zip(self.springs, self.rows, strict=True)):
            angle, rate = row.motion(p[:, k], w[:, k])
            moments = np.reshape(self.data[k, STIFFNESS : FREE + 3], (3, 3))
            stiffness, damping, free = moments if self.index[k, KIND] != ONE_AXIS else moments[:, 0]
            force = stiffness * (angle - free) + damping * rate
            if self.index[k, INPUT] >= 0:
                force = force + frames.u[:, self.index[k, INPUT]]
            values = {"force": force, "angle": angle, "rate": rate}
            block |= {f"springs/{spring.name}/{word}": value for word, value in values.items()}
        return block

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.names, ("force", "angle", "rate"))

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        """The rows on the turns and angular velocities of both stations; three on Euler angles."""
        k = self.names.index(item)
        of = slice(k, k + 1)
        by_turn, rate_by_turn, rate_by_spin, R = np.zeros((4, 1, 3, 3))
        at = self.index[of], self.data[of], self.fixed, point.q, point.v
        slopes(*at, by_turn, rate_by_turn, rate_by_spin, R)
        stations = [
            Station(end.frame, np.zeros(3), self.data[k, part])
            for end, part in zip(self.ends[k], (FIRST_STATION, SECOND_STATION), strict=True)
        ]

        def between(quantity: str) -> list[Floats]:
            """(3, n_v) of the motion of b relative to a in axes of b, by pose and velocity."""
            first, second = (motion_rows(point, station, quantity) for station in stations)
            return [of_b - R[0].T @ of_a for of_a, of_b in zip(first, second, strict=True)]

        turn, spin = between("turn")[0], between("angular_velocity")[1]
        count, first = int(self.index[k, ANGLES]), int(self.index[k, INPUT])
        by_c, by_r, by_spin = (
            each[0, :count] @ x for each, x in ((by_turn, turn), (rate_by_turn, turn), (rate_by_spin, spin))
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
        h = np.empty(3)
        angle = twist(p[0, k], self.data[k, AXIS], h)
        return float(angle), float(h @ w[0, k])

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

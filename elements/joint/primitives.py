"""Primitive equations of which the rows of joints, drivers and couplings consist: values, rates, second derivatives.

Each is a line of the table below, a traced text, and a branch of ``put_row``, ``row_tangent`` and ``course_of_row``.
Source: docs/theory/constraints.md, equations (1) to (9) and (16) to (18).
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.duals import Vector3, Vector4, cross, dot, joined, lift, skew, sqrt, value, vector
from femb.numerics.compiler.traced import V3, V4, change, dual, put, put_changes, reader, traced, unit_changes
from femb.numerics.courses import Course
from femb.numerics.vector3 import (
    HAS_AXES,
    IN_V,
    OF_PAIR,
    MovingFrame,
    attitude,
    axes_at,
    column,
    conjugate,
    frame_at,
    in_group,
    quaternion_product,
    still,
    turned,
    turned_pair,
)

# A row is an equation between frame i and frame j. With s points and a, h directions fixed in the frames, e = A a, the
# distance d = r_j + A_j s_j - r_i - A_i s_i, and f, f', f'' its input and the derivatives, or zeros:
#
#     POINT        e.d - f           e = a_i, inertial
#     DISTANCE     (d.d - f^2)/2c    c the length at the start; without an input f = c
#     DOT1         e_i.e_j - f
#     DOT2         e_i.d - f
#     ORIENTATION  one component of vec(conj(p_d) conj(p_i) p_j); the input is p_d, omega_d, omega_d'
#     STROKE       factor k(c) - offset - f of c = e_i.d
#     TURN         factor k(c) - offset - f of c = atan2(h_i.b_j, e_i.e_j) with b over s_j, counted in turns
#
# Rows with the same ROW are terms of one equation, their sum: Phi, J and gamma of terms add up. In STROKE and TURN the
# factor is the CONSTANT, and k(c) is c; or, of the numbers c_0, k, k', k'' of a CURVE in the inputs, the value of their
# parabola at c; or that of a TABLE. An angle is within pi of the input LAST, or, without one, of f.
#
# index (n, 13) int: FIRST and SECOND, columns of the frames i and j (see ``femb.numerics.vector3``); the ROW; the
# PRIMITIVE; first INPUT; input that is 0 while the row is not IN_FORCE; LAST; first of a CURVE, each -1 for none; a
# TABLE, counted from the end of data, 0 for none. data (n + ., 17): s_i, a_i (p_d over a_i and h for ORIENTATION), h,
# s_j, a_j, a CONSTANT, the OFFSET; after all rows those of tables, see ``table_at``. J (12,) of a row is on (rdot_i,
# omega_i, rdot_j, omega_j). fixed : poses of fixed frames.

POINT, DISTANCE, DOT1, DOT2, ORIENTATION, STROKE, TURN = range(7)
FIRST, SECOND, ROW, PRIMITIVE, INPUT, IN_FORCE, LAST, CURVE, TABLE = 0, 3, 6, 7, 8, 9, 10, 11, 12
SIZE, NUMBERS = 13, 17
FIRST_POINT, FIRST_AXIS, FIRST_AXIS_2 = slice(0, 3), slice(3, 6), slice(6, 9)
SECOND_POINT, SECOND_AXIS = slice(9, 12), slice(12, 15)
CONSTANT, OFFSET = 15, 16
REVOLUTION = 2.0 * math.pi
QUATERNION = 3
# What is found of a row: J, Phi, Phi_t and gamma.
PHI, PHI_T, GAMMA, FOUND = 12, 13, 14, 15


row_at, orientation_input, units = reader(NUMBERS), reader(10), unit_changes(0, 4)
PARTS = np.eye(4)[1:]
STARTS, SIZES = np.array([0, 3, 6, 9]), np.array([3, 3, 3, 3])
Row: TypeAlias = Annotated[Any, (NUMBERS,)]
Motion: TypeAlias = Annotated[Any, (2,)]
Gradient: TypeAlias = Annotated[Any, (12,)]
MovingAxes: TypeAlias = tuple[Vector4, Vector3]


# The text of a primitive gives J, Phi and Phi_t of a row between two frames, for f and f' of its input. All else
# follows: gamma is a change in time, second derivatives are changes by poses.


def gradient(row: Any, one: MovingFrame, two: MovingFrame, x: Any) -> Any:
    """The gradient (12,) of x.d at constant x."""
    return joined(-x, cross(one.R.T @ x, row[FIRST_POINT]), x, cross(row[SECOND_POINT], two.R.T @ x))


def distance(row: Any, one: MovingFrame, two: MovingFrame) -> Any:
    """d."""
    return two.r + two.R @ row[SECOND_POINT] - one.r - one.R @ row[FIRST_POINT]


def gradient_of_turn(one: MovingFrame, two: MovingFrame, x: Any) -> Any:
    """The gradient (12,) of x.theta, a small rotation of the first frame relative to the second."""
    return joined(vector(0.0, 0.0, 0.0), one.R.T @ x, vector(0.0, 0.0, 0.0), -(two.R.T @ x))


@traced
def point(row: Row, one: MovingFrame, two: MovingFrame, f: Motion) -> Any:
    """POINT, equation (4)."""
    n = row[FIRST_AXIS]
    return gradient(row, one, two, n), dot(n, distance(row, one, two)) - f[0], -f[1]


@traced
def rod(row: Row, one: MovingFrame, two: MovingFrame, f: Motion) -> Any:
    """DISTANCE, equation (5)."""
    d, c = distance(row, one, two), row[CONSTANT]
    return gradient(row, one, two, d / c), (dot(d, d) - f[0] * f[0]) / (2.0 * c), -f[0] * f[1] / c


@traced
def angle(row: Row, one: MovingFrame, two: MovingFrame, f: Motion) -> Any:
    """DOT1, equation (6)."""
    e, a = one.R @ row[FIRST_AXIS], two.R @ row[SECOND_AXIS]
    return gradient_of_turn(one, two, cross(e, a)), dot(e, a) - row[CONSTANT] - f[0], -f[1]


@traced
def stroke(row: Row, one: MovingFrame, two: MovingFrame) -> Any:
    """c = e.d of a STROKE, and its gradient J (12,)."""
    e, arm = one.R @ row[FIRST_AXIS], two.R @ row[SECOND_POINT]
    d = two.r + arm - one.r
    J = joined(-e, one.R.T @ cross(e, d), e, two.R.T @ cross(arm, e))
    return dot(e, d) - dot(row[FIRST_AXIS], row[FIRST_POINT]), J


@traced
def offset(row: Row, one: MovingFrame, two: MovingFrame, f: Motion) -> Any:
    """DOT2, equation (7)."""
    c, J = stroke.run(row, one, two)
    return J, c - f[0], -f[1]


@traced
def turn(row: Row, one: MovingFrame, two: MovingFrame) -> Any:
    """S and C of a TURN, an angle atan2(S, C), and its gradient J (12,), equation (20)."""
    h, b = one.R @ row[FIRST_AXIS_2], two.R @ row[SECOND_POINT]
    e, a = one.R @ row[FIRST_AXIS], two.R @ row[SECOND_AXIS]
    S, C = dot(h, b), dot(e, a)
    return S, C, gradient_of_turn(one, two, (C * cross(h, b) - S * cross(e, a)) / (S * S + C * C))


@traced
def orientation(part: Vector4, p_i: Vector4, p_j: Vector4, p_d: Vector4, omega_d: Vector3) -> Any:
    """ORIENTATION, equation (9): the component of the attitude y along a unit vector ``part``."""
    size = sqrt(dot(p_i, p_i) * dot(p_j, p_j))
    y = quaternion_product.run(conjugate(p_d), quaternion_product.run(conjugate(p_i), p_j)) / size
    left = -0.5 * quaternion_product.run(part, conjugate(y))[1:]
    right, zero = 0.5 * quaternion_product.run(conjugate(y), part)[1:], vector(0.0, 0.0, 0.0)
    return joined(zero, attitude.run(p_d) @ left, zero, right), dot(part, y), dot(left, omega_d)


@traced
def rate_along(J: Gradient, one: MovingFrame, two: MovingFrame) -> Any:
    """J v."""
    return dot(J[6:9], two.v - one.v) + dot(J[3:6], one.omega) + dot(J[9:], two.omega)


@traced
def held_attitude(p_d: Vector4) -> Any:
    """The input of an ORIENTATION that stays."""
    return joined(p_d, vector(0.0, 0.0, 0.0), vector(0.0, 0.0, 0.0))


def in_time(frame: MovingFrame) -> MovingFrame:
    """A frame with its change in time."""
    return frame._replace(R=dual.run(frame.R, frame.R @ skew(frame.omega)), r=dual.run(frame.r, frame.v))


def turning(p: Any, omega: Any) -> Any:
    """A quaternion with its change in time."""
    return turned.run(p, dual.run(still.run(), omega))


def complete(J: Any, phi: Any, phi_t: Any, rate: Any) -> Any:
    """J, Phi, Phi_t and gamma (15,)."""
    return value(joined(J, phi, phi_t, -change.run(rate)))


def with_gamma(text: Any) -> Any:
    """Results of a row, by the text of its primitive; f (3,) : the input with two derivatives."""

    @traced
    def row(row: Row, one: MovingFrame, two: MovingFrame, f: Vector3) -> Any:
        one, two = in_time(one), in_time(two)
        J, phi, phi_t = text.run(row, one, two, dual.run(f[:2], f[1:]))
        return complete(J, phi, phi_t, rate_along.run(J, one, two) + phi_t)

    return row


def by_poses(text: Any) -> Any:
    """J of a row with its changes by the poses of both frames, ``turned_pair``."""

    @traced
    def varied(row: Row, one: MovingFrame, two: MovingFrame, f: Vector3, units: Vector3) -> Any:
        return text.run(row, *turned_pair(one, two, units), f[:2])[0]

    return varied


found_point, found_rod, found_angle, found_offset = map(with_gamma, (point, rod, angle, offset))
varied_point, varied_rod, varied_angle, varied_offset = map(by_poses, (point, rod, angle, offset))


@traced
def found_stroke(row: Row, one: MovingFrame, two: MovingFrame) -> Any:
    """``complete`` of the coordinate of a STROKE."""
    c, J = stroke.run(row, in_time(one), in_time(two))
    return complete(J, c, 0.0, rate_along.run(J, one, two))


@traced
def found_turn(row: Row, one: MovingFrame, two: MovingFrame) -> Any:
    """``complete`` of the coordinate of a TURN, with S and C in place of Phi and Phi_t."""
    S, C, J = turn.run(row, in_time(one), in_time(two))
    return complete(J, S, C, rate_along.run(J, one, two))


@traced
def found_orientation(part: Vector4, one: MovingAxes, two: MovingAxes, given: Annotated[Any, (10,)]) -> Any:
    """``complete`` of an ORIENTATION; given : p_d, omega_d, omega_d'. one, two : quaternions, angular velocities."""
    p_d, omega_d = turning(given[:4], given[4:7]), dual.run(given[4:7], given[7:])
    J, phi, phi_t = orientation.run(part, turning(*one), turning(*two), p_d, omega_d)
    return complete(J, phi, phi_t, dot(J[3:6], one[1]) + dot(J[9:], two[1]) + phi_t)


@traced
def varied_orientation(
    part: Vector4, one: MovingAxes, two: MovingAxes, given: Annotated[Any, (10,)], units: Vector3
) -> Any:
    """J and Phi_t of an ORIENTATION with their changes, as ``by_poses``."""
    p_i, p_j = (turned.run(p, in_group(still.run(), units, group)) for group, (p, _) in ((1, one), (2, two)))
    J, _, phi_t = orientation.run(part, p_i, p_j, given[:4], given[4:7])
    return joined(J, phi_t)


def resisting(c: Any, J: Any, one: MovingFrame, two: MovingFrame, N: Any) -> Any:
    """J^T N (12,); N (3,) : the force, and its derivatives by the coordinate c and by its rate."""
    return (N[0] + lift(0.0, (N[1], c), (N[2], rate_along.run(J, one, two)))) * J


@traced
def varied_stroke(row: Row, one: MovingFrame, two: MovingFrame, N: Vector3, units: Vector3) -> Any:
    """``resisting`` along a STROKE, with its changes ``by_poses``."""
    one, two = turned_pair(one, two, units)
    c, J = stroke.run(row, one, two)
    return resisting(c, J, one, two, N)


@traced
def varied_turn(row: Row, one: MovingFrame, two: MovingFrame, N: Vector3, units: Vector3) -> Any:
    """``resisting`` along a TURN, with its changes ``by_poses``."""
    one, two = turned_pair(one, two, units)
    S, C, J = turn.run(row, one, two)
    square = S * S + C * C
    return resisting(lift(0.0, (C / square, S), (-S / square, C)), J, one, two, N)


@inlined
def input_of(index, data, u):
    """The input of a row (3,) with two derivatives."""
    f = still()
    if index[INPUT] >= 0:
        f = V3(u[index[INPUT] :])
    elif index[PRIMITIVE] == DISTANCE:
        f = column(data[CONSTANT], 0.0, 0.0)
    return f


@inlined
def orientation_at(index, data, u, q, v, fixed):
    """Arguments of ``found_orientation`` of a row."""
    given = held_attitude(V4(data[QUATERNION:]))
    if index[INPUT] >= 0:
        given = orientation_input(u[index[INPUT] :])
    one, two = axes_at(index, FIRST, q, v, fixed), axes_at(index, SECOND, q, v, fixed)
    return V4(PARTS[int(data[CONSTANT])]), one, two, given


@inlined
def put_row(index, data, u, q, v, fixed, one, two, found):
    """Set found (15,) of a row between frames; of a STROKE or TURN what ``set_term`` completes."""
    kind, row = index[PRIMITIVE], row_at(data)
    if kind == ORIENTATION:
        put(found_orientation(*orientation_at(index, data, u, q, v, fixed)), found)
    elif kind == STROKE:
        put(found_stroke(row, one, two), found)
    elif kind == TURN:
        put(found_turn(row, one, two), found)
    else:
        f = input_of(index, data, u)
        if kind == POINT:
            put(found_point(row, one, two, f), found)
        elif kind == DISTANCE:
            put(found_rod(row, one, two, f), found)
        elif kind == DOT1:
            put(found_angle(row, one, two, f), found)
        else:
            put(found_offset(row, one, two, f), found)


@inlined
def other_frames(index, last):
    """Whether a row is between other frames than the one before it."""
    other = False
    for k in range(ROW):
        other |= index[k] != last[k]
    return other


@inlined
def all_rows(index, data, u, q, v, fixed, found):
    """Set found (n, 15) of rows at a state; those of a joint follow each other and share their frames."""
    for n in range(index.shape[0]):
        if n == 0 or other_frames(index[n], index[n - 1]):
            one, two = frame_at(index[n], FIRST, q, v, fixed), frame_at(index[n], SECOND, q, v, fixed)
        put_row(index[n], data[n], u, q, v, fixed, one, two, found[n])


@inlined
def rate_of(index, v, J):
    """J v of a row."""
    rate = 0.0
    for e in range(2):
        j = index[3 * e + IN_V]
        if j >= 0:
            for k in range(6 if index[3 * e + HAS_AXES] else 3):
                rate += J[6 * e + k] * v[j + k]
    return rate


@inlined
def piece_at(c, begin, end, tables):
    """The last of the rows ``begin`` to ``end`` - 1 of ``tables`` that begins, by its first column, at or before c."""
    while end - begin > 1:
        middle = (begin + end) // 2
        if c < tables[middle, 0]:
            end = middle
        else:
            begin = middle
    return begin


@kernel
def table_at(c, first, data):
    """Value and three derivatives at c of a table of cubic pieces in rows of data.

    Its first row has the number of pieces, where the first of a periodic one begins, the period or 0, and the rise in a
    period. Each piece has where it begins, and coefficients of powers of the distance from there.
    """
    rise, period = 0.0, data[first, 2]
    if period > 0.0:
        periods = math.floor((c - data[first, 1]) / period)
        c, rise = c - periods * period, periods * data[first, 3]
    n = piece_at(c, first + 1, first + 1 + int(data[first, 0]), data)
    x, b, d, e = c - data[n, 0], data[n, 2], data[n, 3], data[n, 4]
    slope, bend = b + x * (2.0 * d + 3.0 * x * e), 2.0 * d + 6.0 * x * e
    return rise + data[n, 1] + x * (b + x * (d + x * e)), slope, bend, 6.0 * e


@kernel
def law(n, index, data, u, c):
    """k(c) of row n, a STROKE or a TURN, and three derivatives; an angle c may lack turns."""
    near, curve, table = index[n, LAST] if index[n, LAST] >= 0 else index[n, INPUT], index[n, CURVE], index[n, TABLE]
    if index[n, PRIMITIVE] == TURN and near >= 0:
        c -= REVOLUTION * math.floor((c - u[near]) / REVOLUTION + 0.5)
    if curve >= 0:
        x, slope, bend = c - u[curve], u[curve + 2], u[curve + 3]
        return u[curve + 1] + x * (slope + 0.5 * x * bend), slope + x * bend, bend, 0.0
    if table > 0:
        return table_at(c, data.shape[0] - table, data)
    return c, 1.0, 0.0, 0.0


@inlined
def term(n, index, data, u, x, y):
    """Value of row n, a STROKE with the coordinate x or a TURN with atan2(x, y), and two derivatives by it."""
    factor, motion = data[n, CONSTANT], index[n, INPUT]
    value, slope, bend, _ = law(n, index, data, u, math.atan2(x, y) if index[n, PRIMITIVE] == TURN else x)
    return factor * value - data[n, OFFSET] - (u[motion] if motion >= 0 else 0.0), factor * slope, factor * bend


@inlined
def set_term(n, index, data, u, v, found):
    """Phi, Phi_t, J and gamma of row n, a STROKE or a TURN, in found (15,), from those of its coordinate."""
    rate, motion = rate_of(index[n], v, found), index[n, INPUT]
    found[PHI], slope, bend = term(n, index, data, u, found[PHI], found[PHI_T])
    found[PHI_T] = -u[motion + 1] if motion >= 0 else 0.0
    found[GAMMA] = slope * found[GAMMA] - bend * rate * rate + (u[motion + 2] if motion >= 0 else 0.0)
    for k in range(12):
        found[k] *= slope


@kernel
def row_tangent(n, index, data, u, q, v, fixed, K, T):
    """K (12, 12) = d(J^T)/dq H and T (12,) = d(Phi_t)/dq H of row n, on (rdot_i, omega_i, rdot_j, omega_j)."""
    kind, row, e, changes, N = index[n, PRIMITIVE], row_at(data[n]), units(still()), np.zeros((13, 12)), np.zeros(3)
    one, two = frame_at(index[n], FIRST, q, v, fixed), frame_at(index[n], SECOND, q, v, fixed)
    if kind == ORIENTATION:
        put_changes(varied_orientation(*orientation_at(index[n], data[n], u, q, v, fixed), e), changes)
    elif kind == STROKE:
        c, _ = stroke(row, one, two)
        _, N[0], N[1] = term(n, index, data, u, c, 1.0)
        put_changes(varied_stroke(row, one, two, V3(N), e), changes)
    elif kind == TURN:
        S, C, _ = turn(row, one, two)
        _, N[0], N[1] = term(n, index, data, u, S, C)
        put_changes(varied_turn(row, one, two, V3(N), e), changes)
    else:
        f = input_of(index[n], data[n], u)
        if kind == POINT:
            put_changes(varied_point(row, one, two, f, e), changes)
        elif kind == DISTANCE:
            put_changes(varied_rod(row, one, two, f, e), changes)
        elif kind == DOT1:
            put_changes(varied_angle(row, one, two, f, e), changes)
        else:
            put_changes(varied_offset(row, one, two, f, e), changes)
    for g in range(4):
        first, sign = OF_PAIR[g]
        for m in range(3):
            for k in range(12):
                K[k, 3 * g + m] = sign * changes[k, first + m]
            T[3 * g + m] = sign * changes[12, first + m]


# Rows in motions that change to first order, for linear models. Source: docs/theory/linearisation.md, section 2.


def course_of_row(row: Any, first: Any, second: Any, motion: Course | None, k: Callable[[float], Any]) -> Course | None:
    """Phi of a row of two frames with its rates; None of ORIENTATION, whose changes by pose are not written.

    first, second : the frames, which give the ``Course`` of an axis and of a point in their axes.
    row : a ``femb.elements.joint.constraint_set.ConstraintRow``. motion : that of its input. k : ``law`` of a STROKE or
    TURN, by the coordinate.
    """
    kind = row.primitive
    if kind == ORIENTATION:
        return None
    phi: Course
    if kind in (DOT1, TURN):
        phi = first.axis(row.first_axis).dot(second.axis(row.second_axis))
        if kind == TURN:
            phi = first.axis(row.first_axis_2).dot(second.axis(row.second_point)).angle(phi)
    else:
        d = second.point(row.second_point) - first.point(row.first_point)
        if kind == POINT:
            phi = d.along(row.first_axis)
        elif kind == DISTANCE:
            phi = d.dot(d).scaled(0.5 / row.constant)
            motion = None if motion is None else motion.dot(motion).scaled(0.5 / row.constant)
        else:
            phi = first.axis(row.first_axis).dot(d)
    if kind in (STROKE, TURN):
        phi = phi.function(k).scaled(row.constant)
    return phi if motion is None else phi - motion

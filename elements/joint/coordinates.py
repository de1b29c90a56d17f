"""Tables of rows and coordinates of joints, and the values, rates and gradients of coordinates at states of a system.

Source: docs/theory/constraints.md, equations (6), (7) and (10).
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import shown
from femb.elements.frame_index import indices_of_frames
from femb.elements.joint import primitives
from femb.elements.joint.constraint_kernels import TOGETHER, rows_of_states, sizes_of, take_states
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintTable, multipliers_of
from femb.elements.joint.primitives import (
    CONSTANT,
    FIRST,
    FIRST_AXIS,
    FIRST_AXIS_2,
    FIRST_POINT,
    GAMMA,
    PRIMITIVE,
    SECOND,
    SECOND_AXIS,
    SECOND_POINT,
    TURN,
    rate_along,
    rate_of,
    row_at,
    row_tangent,
    stroke,
    turn,
)
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.stacking import Shift, shifted
from femb.numerics import rotations
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES
from femb.numerics.compiler.traced import put
from femb.numerics.vector3 import HAS_AXES, IN_Q, IN_V, frame_at

# Tables of the rows and coordinates of joints: primitives, and the axes of the two ends between which they act.

X, Y, Z = range(3)
UNIT_VECTORS = np.eye(3)
# Rows: the primitive, then its axes of the first and of the second end.
SPHERICAL = (("point", X), ("point", Y), ("point", Z))
PARALLEL = (("dot1", X, Z), ("dot1", Y, Z))
LOCK = (("dot1", X, Y), ("dot1", Y, Z), ("dot1", Z, X))
LINE = (("dot2", X), ("dot2", Y))
PLANE = (("dot2", Z),)


def rotation_about_z(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint: its name and its definition.

    An angle is atan2(s e_i(a).e_j(b), e_i(c).e_j(d)), with axes e_i of the first and e_j of the second end, sign s,
    first (a, c) and second (b, d). A stroke is e_i(a).d, with first (a,) and d from the first to the second point.
    """

    name: str
    first: tuple[int, ...]
    second: tuple[int, ...] = ()
    sign: float = 1.0

    @property
    def spec(self) -> tuple[Any, ...]:
        """The row of a table that is the coordinate; ``sign`` is that of its fourth axis."""
        if not self.is_angle:
            return "stroke", *self.first
        return "turn", self.first[1], self.second[1], self.first[0], self.second[0]

    @property
    def is_angle(self) -> bool:
        """Whether it is an angle (rad) and not a length (m)."""
        return bool(self.second)

    def value(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> float:
        """The angle, rad within pi, or the stroke, m, at positions (3,) and quaternions (4,) of the joint's ends."""
        axes = rotations.rotation_matrix(first[1])
        if not self.is_angle:
            return float(axes[:, self.first[0]] @ (second[0] - first[0]))
        other = rotations.rotation_matrix(second[1])
        sine, cosine = (axes[:, i] @ other[:, j] for i, j in zip(self.first, self.second, strict=True))
        return float(np.arctan2(self.sign * sine, cosine))


def start_value(layout: Layout, joint: JointLayout, k: int) -> float:
    """Coordinate k of a joint at the start poses, rad or m: an angle with the revolutions of the given ``start``."""
    coordinate, start = joint.coordinates[k], joint.start[k]
    value: float = coordinate.value(layout.pose(joint.first), layout.pose(joint.second))
    if coordinate.is_angle and math.isfinite(start):
        value += 2.0 * math.pi * round((start - value) / (2.0 * math.pi))
    return value


ANGLE = Coordinate("angle", (Y, X), (X, X))
STROKE = Coordinate("stroke", (Z,))


@dataclass(frozen=True)
class Primitive:
    """The type of a row of a joint's table.

    code : its number in ``femb.elements.joint.primitives``. axes : those that its row of the table lists, by ``AXES``.
    words : its description in messages; {} stands for the letter of an axis.
    """

    code: int
    axes: tuple[str, ...] = ()
    words: str = ""


PRIMITIVES = {
    "point": Primitive(primitives.POINT, ("inertial",), "position {}"),
    "distance": Primitive(primitives.DISTANCE),
    "dot1": Primitive(primitives.DOT1, ("first_axis", "second_axis"), "axis {} across axis {}"),
    "dot2": Primitive(primitives.DOT2, ("first_axis",), "offset along axis {}"),
    "stroke": Primitive(primitives.STROKE, ("first_axis",)),
    "turn": Primitive(primitives.TURN, ("first_axis", "second_axis", "first_axis_2", "second_point")),
}
# Of axes, fields of a ``ConstraintRow``, columns in data, and whose they are: inertial, of the first or second end.
AXES: dict[str, tuple[str, slice, int]] = {
    "inertial": ("first_axis", FIRST_AXIS, 0),
    "first_axis": ("first_axis", FIRST_AXIS, 1),
    "first_axis_2": ("first_axis_2", FIRST_AXIS_2, 1),
    "second_point": ("second_point", SECOND_POINT, 2),
    "second_axis": ("second_axis", SECOND_AXIS, 2),
}


def make_row(
    layout: Layout, number: int, spec: tuple[Any, ...], first: Station, second: Station, constant: float, **more: Any
) -> ConstraintRow:
    """The row of a table entry ``spec`` between two stations with the axes of a joint."""
    primitive = PRIMITIVES[spec[0]]
    vectors = {"first_point": first.offset, "second_point": second.offset}
    axes = UNIT_VECTORS, first.axes, second.axes
    for word, axis in zip(primitive.axes, spec[1:], strict=True):
        field, _, end = AXES[word]
        vectors[field] = axes[end][:, axis]
    return ConstraintRow(number, primitive.code, first.frame, second.frame, constant=constant, **(vectors | more))


def coordinate_row(
    layout: Layout, number: int, joint: JointLayout, coordinate: Coordinate, factor: float = 1.0, **more: Any
) -> ConstraintRow:
    """The term of an equation with a factor of a coordinate, or of a function of it; ``more`` as in ConstraintRow.

    Source: equations (18) to (20).
    """
    row = make_row(layout, number, coordinate.spec, joint.first, joint.second, factor, **more)
    return row._replace(first_axis_2=coordinate.sign * row.first_axis_2)


@cache
def _table_of(specs: tuple[tuple[Any, ...], ...]) -> tuple[list[int], dict[str, tuple[list[int], list[int]]]]:
    """The codes of the primitives of a table, and by field the rows that have an axis there and the numbers of the
    axes."""
    axes: dict[str, tuple[list[int], list[int]]] = {}
    for k, (word, *numbers) in enumerate(specs):
        for field, number in zip(PRIMITIVES[word].axes, numbers, strict=True):
            rows, of_rows = axes.setdefault(field, ([], []))
            rows.append(k)
            of_rows.append(number)
    return [PRIMITIVES[word].code for word, *_ in specs], axes


def joint_table(
    layout: Layout, first: list[Station], second: list[Station], specs: Sequence[tuple[Any, ...]], numbers: Ints
) -> ConstraintTable:
    """The rows of ``make_row`` of n joints with the same table ``specs`` of k entries, joint by joint, as arrays.

    first, second : the n ends of the joints. numbers (n, k) : of the rows in the layout. Constants are zero.
    """
    n, k = len(first), len(specs)
    index: Ints = np.full((n, k, primitives.SIZE), -1, dtype=np.int64)
    index[:, :, primitives.TABLE] = 0
    data = np.zeros((n, k, primitives.NUMBERS))
    offset = np.array([end.offset for end in (*first, *second)]).reshape(2, n, 3)
    axes = UNIT_VECTORS[None], *np.array([end.axes for end in (*first, *second)]).reshape(2, n, 3, 3)
    for column, part, ends, place in (
        (FIRST, FIRST_POINT, first, offset[0]),
        (SECOND, SECOND_POINT, second, offset[1]),
    ):
        index[:, :, column : column + 3] = indices_of_frames(layout, [end.frame for end in ends])[:, None]
        data[:, :, part] = place[:, None]
    index[:, :, primitives.ROW] = multipliers_of(layout, numbers)
    codes, axes_of_rows = _table_of(tuple(specs))
    index[:, :, PRIMITIVE] = codes
    for field, (rows, which) in axes_of_rows.items():
        _, part, end = AXES[field]
        data[:, rows, part] = axes[end][:, :, which].transpose(0, 2, 1)
    sizes = primitives.SIZE, primitives.NUMBERS
    return ConstraintTable(numbers.ravel(), index.reshape(-1, sizes[0]), data.reshape(-1, sizes[1]))


def component_rows(
    numbers: list[int], first: Station, second: Station, axes: Iterable[Floats], frame: str
) -> list[ConstraintRow]:
    """Rows for the components, along axes (3,), of the vector between two stations; row k follows input k.

    frame : "inertial", or "first" for axes that are fixed in the frame of the first station.
    """
    primitive = primitives.DOT2 if frame == "first" else primitives.POINT
    parts: dict[str, Any] = {"first_point": first.offset, "second_point": second.offset}
    return [
        ConstraintRow(number, primitive, first.frame, second.frame, first_axis=axis, follows=k, **parts)
        for k, (number, axis) in enumerate(zip(numbers, axes, strict=True))
    ]


@cache
def row_words(spec: tuple[Any, ...]) -> str:
    """The description of a row, for messages."""
    word, *axes = spec
    if word == "component":
        return f"component {axes[0] + 1}"
    return PRIMITIVES[word].words.format(*("xyz"[axis] for axis in axes)) or str(word)


def table_problem(rows: Any, coordinates: Any) -> str:
    """Why the tables of a class of joints are none: wrong entries, and coordinates that rows hold where the axes of
    both ends are along each other; empty if nothing is wrong."""
    held = [np.zeros((0, 6))]
    for spec in rows:
        word, *axes = spec
        primitive = PRIMITIVES.get(word)
        if primitive is None or len(axes) != len(primitive.axes) or not all(each in (0, 1, 2) for each in axes):
            known = ", ".join(f"{each} of {len(PRIMITIVES[each].axes)} axes" for each in PRIMITIVES)
            return f"rows: got {shown(spec)}, wanted {known}; axes are X, Y, Z"
        held.append(_slope(word, *axes)[None])
    for coordinate in coordinates:
        if not all(each in (0, 1, 2) for each in (*coordinate.first, *coordinate.second)):
            return (
                f"coordinates: {coordinate.name}: got the axes {coordinate.first + coordinate.second}, wanted X, Y, Z"
            )
        sine = "dot1", coordinate.first[0], *coordinate.second[:1]
        along = _slope(*(sine if coordinate.is_angle else coordinate.spec))
        J = np.vstack(held)
        if np.any(along) and np.linalg.matrix_rank(np.vstack([J, along])) == np.linalg.matrix_rank(J):
            return f"coordinates: {coordinate.name!r} is held by the rows of the joint: leave it out, or a row"
    return ""


def _slope(word: str, *axes: int) -> Floats:
    """(6,) the derivative of an entry by a shift and a turn of the second end, where both ends have the same axes; zero
    where it follows from more."""
    slope, e = np.zeros(6), np.eye(3)
    if word in ("point", "dot2", "stroke"):
        slope[:3] = e[axes[0]]
    elif word == "dot1":
        slope[3:] = np.cross(e[axes[1]], e[axes[0]])
    return slope


# Kernels over coordinates of joints. index, data : a row STROKE or TURN for every coordinate.


@kernel_with_entry
def measure(index, data, q, v, fixed, values, rates, gradients):
    """Set values and rates (s, m), and, if wanted, gradients (s or 0, m, 12) on (rdot_i, omega_i, rdot_j, omega_j)."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            one, two = frame_at(index[k], FIRST, q[s], v[s], fixed), frame_at(index[k], SECOND, q[s], v[s], fixed)
            if index[k, PRIMITIVE] == TURN:
                S, C, J = turn(row_at(data[k]), one, two)
                values[s, k] = math.atan2(S, C)
            else:
                values[s, k], J = stroke(row_at(data[k]), one, two)
            rates[s, k] = rate_along(J, one, two)
            if gradients.shape[0] > 0:
                put(J, gradients[s, k])


@kernel
def second_rates(index, data, q, v, a, fixed, out):
    """Set the second rates J a - gamma, out (s, m), of coordinates at s states with v' = a (s, n_v)."""
    no_inputs = np.empty((q.shape[0], 0))
    size, sizes = sizes_of(index, no_inputs, q, v)
    here, found = np.empty(size), np.empty(sizes)
    for first in range(0, q.shape[0], LANES):
        take_states(no_inputs, q, v, first, here)
        for row in range(0, index.shape[0], TOGETHER):
            some = index[row : row + TOGETHER]
            rows_of_states(some, data[row:], first, no_inputs, q, v, fixed, here, found)
            for s in range(first, min(first + LANES, q.shape[0])):
                for k in range(some.shape[0]):
                    out[s, row + k] = rate_of(some[k], a[s], found[k, :, s - first]) - found[k, GAMMA, s - first]


@kernel_with_entry
def unwrap(is_angle, reference, values):
    """Add multiples of 2 pi to the angles in values (s, m), so that they are within pi of a reference (1 or s, m)."""
    for s in range(values.shape[0]):
        of = s if reference.shape[0] > 1 else 0
        for k in range(is_angle.size):
            if is_angle[k]:
                revolutions = round((reference[of, k] - values[s, k]) / (2.0 * math.pi))
                if revolutions != 0.0:
                    values[s, k] += 2.0 * math.pi * revolutions


class JointCoordinates:
    """All m coordinates of the joints of a layout, or of given ones, in the order of the joints; is_angle (m,) bool."""

    def __init__(self, layout: Layout, joints: Iterable[JointLayout] | None = None) -> None:
        every = layout.joints.values() if joints is None else joints
        tables, of_coordinates, starts = [], list[Coordinate](), list[Floats]()
        for coordinates, group in groupby(every, lambda joint: joint.coordinates):
            alike = list(group)
            of_coordinates += len(alike) * coordinates
            starts += [joint.start for joint in alike]
            if coordinates:
                ends = [joint.first for joint in alike], [joint.second for joint in alike]
                specs = [coordinate.spec for coordinate in coordinates]
                tables.append(joint_table(layout, *ends, specs, np.full((len(alike), len(specs)), -1)))
        self.count = len(of_coordinates)
        self.is_angle = np.array([coordinate.is_angle for coordinate in of_coordinates], dtype=bool)
        self.start = np.concatenate([np.zeros(0), *starts])
        self.index: Ints
        _, self.index, self.data, *_ = ConstraintTable.joined(tables) if tables else ConstraintTable.empty()
        self.data[:, CONSTANT] = 1.0
        self.data[:, FIRST_AXIS_2] *= np.array([[coordinate.sign] for coordinate in of_coordinates]).reshape(-1, 1)
        self.fixed = layout.fixed

    @staticmethod
    def stacked(parts: "Sequence[JointCoordinates]", shifts: Sequence[Shift], layout: Layout) -> "JointCoordinates":
        """The coordinates of several models; see ``femb.layout.stacking.Stackable``."""
        result = copy(parts[0])
        result.count, result.fixed = sum(each.count for each in parts), layout.fixed
        for word in ("is_angle", "data", "start"):
            setattr(result, word, np.concatenate([getattr(each, word) for each in parts]))
        in_q, in_v = ([first + place for first in (FIRST, SECOND)] for place in (IN_Q, IN_V))
        result.index = shifted([each.index for each in parts], shifts, in_q, in_v)
        return result

    def picked(self, numbers: Ints) -> "JointCoordinates":
        """The coordinates with these numbers, of which some may be repeated."""
        other = copy(self)
        other.count = len(numbers)
        for word in ("is_angle", "index", "data", "start"):
            setattr(other, word, getattr(self, word)[numbers])
        return other

    def measure(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Values, rates (s, m) and gradients (s, m, 12) on (rdot_i, omega_i, rdot_j, omega_j); angles within pi."""
        gradients = np.empty((len(q), self.count, 12))
        return *self._measured(q, v, gradients), gradients

    def motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Values and rates (s, m), as in ``measure``."""
        return self._measured(q, v, np.empty((0, self.count, 12)))

    def _measured(self, q: Floats, v: Floats, gradients: Floats) -> tuple[Floats, Floats]:
        values, rates = np.empty((2, len(q), self.count))
        if self.count:  # a model without joints does not compile these kernels
            measure(self.index, self.data, q, v, self.fixed, values, rates, gradients)
        return values, rates

    def at_start(self, q: Floats, n_v: int) -> Floats:
        """Values (m,) at the start q (n_q,): angles count from the given ``start`` of their joints."""
        values = self.motion(q[None], np.zeros((1, n_v)))[0][0]
        return self.unwrapped(values, np.where(np.isnan(self.start), values, self.start))

    def calls(self, q: Floats, v: Floats, reference: Floats, values: Floats) -> list[Bound]:
        """Kernels that set values (1, m) at a state q (1, n_q), v (1, n_v), unwrapped from a reference (1, m)."""
        rates, gradients = np.empty((1, self.count)), np.empty((0, self.count, 12))
        motion = Bound(measure, self.index, self.data, q, v, self.fixed, values, rates, gradients)
        return [motion, Bound(unwrap, self.is_angle, reference, values)]

    @cached_property
    def turning(self) -> Ints:
        """Places in v of the angular velocities of frames between which angles are."""
        ends = [self.index[self.is_angle][:, first + np.array([IN_V, HAS_AXES])] for first in (FIRST, SECOND)]
        places = [place[(place >= 0) & (has_axes == 1)] + 3 for place, has_axes in (end.T for end in ends)]
        # np.unique would load masked arrays
        return np.array(sorted(set(np.concatenate(places).tolist())), dtype=np.int64)

    def accelerations(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Second rates (s, m) at s states with v' = a."""
        result = np.zeros((len(q), self.count))
        if self.count:
            second_rates(self.index, self.data, q, v, a, self.fixed, result)
        return result

    def rows(self, number: int, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """(12,) derivatives of a coordinate, and of its rate at constant v, by the pose, at a state q (n_q,), v (n_v,).

        Columns are (r_i, rotation of frame i, r_j, rotation of frame j), rotations in the axes of the frames. The first
        is also the derivative J of the rate by the velocities.
        """
        one, K, T, rates = self.picked(np.array([number])), np.zeros((12, 12)), np.zeros(12), np.zeros(12)
        row_tangent(0, one.index, one.data, np.zeros(0), q, v, one.fixed, K, T)
        for k, first in enumerate((FIRST, SECOND)):
            place, freedom = one.index[0, first + IN_V], 6 if one.index[0, first + HAS_AXES] else 3
            if place >= 0:
                rates[6 * k : 6 * k + freedom] = v[place : place + freedom]
        return one.measure(q[None], v[None])[2][0, 0], rates @ K

    def unwrapped(self, values: Floats, reference: Floats) -> Floats:
        """Values with multiples of 2 pi added to the angles: within pi of a reference (m,) or (s, m)."""
        result = values.copy()
        if self.count:
            rows = (-1, self.count)
            unwrap(self.is_angle, reference.reshape(rows), result.reshape(rows))
        return result

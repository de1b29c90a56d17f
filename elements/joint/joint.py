"""Joints: two ends, axes, and of each kind a table of rows of constraint and its coordinates."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import POSITIVE, Coordinates, Floats, Ints, OneOf, Rows, Unit
from femb.base.values import TURN, frozen_array, shown
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintTable
from femb.elements.joint.coordinates import (
    ANGLE,
    LINE,
    LOCK,
    PARALLEL,
    PLANE,
    SPHERICAL,
    STROKE,
    UNIT_VECTORS,
    Coordinate,
    X,
    Y,
    Z,
    component_rows,
    joint_table,
    make_row,
    rotation_about_z,
    row_words,
    table_problem,
)
from femb.elements.joint.primitives import CONSTANT
from femb.elements.joint.records import REACTION, coordinate_force, coordinate_rows, joint_records, reaction_rows
from femb.elements.joint.results import JointResults
from femb.elements.marker import LEAST_SINE, JointEnd, Marker, Place, axes_of, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import ForceColumns, Input, OutputRows
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.state import RATE
from femb.layout.symmetry import EVERY, Surroundings, Symmetry, along_components, twists
from femb.layout.views import LinearPoint, ModelView, StartPoses
from femb.numerics import rotations
from femb.numerics.components import kept

# Of an angle in rad, and of a length in parts of it: typed numbers are rounded.
START_ERROR = 1e-3
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Joint(Item):
    """Base class of joints between two ends."""

    table: ClassVar[str] = "joints"
    results: ClassVar[type[Group]] = JointResults
    # synonyms of the kind in case files, from other programs and from the sources
    also: ClassVar[tuple[str, ...]] = ()
    acts_on_attitude: ClassVar[bool] = True
    rows: ClassVar[tuple[tuple[Any, ...], ...]]
    # what the first, or the second, end allows where it is fixed in space: translations along, turns about (capitals)
    # its axes, of any size and in any order
    leaves: ClassVar[tuple[str, str]] = ("", "")
    coordinates: ClassVar[tuple[Coordinate, ...]] = ()
    needs_axis: ClassVar[bool] = True

    name: str
    first: JointEnd
    """point of a body, the ground or a beam node; its axis and reference are the joint's z and x axis"""
    second: JointEnd
    """point of a body, the ground or a beam node; its axis and reference, by default from the start pose and the
    coordinates start, are the attitude of the joint in the second body"""
    start: Annotated[Coordinates, Unit("rad", stroke="m")] = None
    """the joint's coordinates at the start, by default zero; they place a body without a position"""
    rates: Annotated[Coordinates, Unit("rad/s", stroke="m/s")] = None
    """of the coordinates at the start; by default those of the bodies' velocities"""

    @classmethod
    def class_problem(cls) -> str:
        rows = getattr(cls, "rows", ())
        return super().class_problem() or ("" if isinstance(rows, property) else table_problem(rows, cls.coordinates))

    def check(self, check: Checks) -> None:
        check_markers(check, JointEnd, "first", "second")
        if self.needs_axis and isinstance(self.first, JointEnd) and self.first.axis is None:
            check.fail("first.axis", f"is missing: the axis of the {self.kind} joint, in the axes of {self.first.host}")
        for word in ("start", "rates"):
            self._check_coordinates(check, word)

    def doubts(self, model: ModelView) -> Iterator[str]:
        given = np.atleast_1d(self.start) if self.start is not None else ()
        for coordinate, value in zip(self.coordinates, given, strict=False):
            if coordinate.is_angle and abs(value) > TURN:
                yield f"joints.{self.name}.start: {value:g} rad is more than a turn; are these degrees?"

    @classmethod
    def own_angles(cls) -> dict[str, bool]:
        return {coordinate.name: coordinate.is_angle for coordinate in cls.coordinates}

    def _check_coordinates(self, check: Checks, word: str) -> None:
        if getattr(self, word) is None:
            return
        count, names = len(self.coordinates), ", ".join(coordinate.name for coordinate in self.coordinates)
        wanted = f"{count} finite number(s): {names}" if count else "nothing: the joint has no coordinates"
        numbers = check.array(word, lambda x: 0 < x.size == count and bool(np.isfinite(x).all()), wanted)
        if numbers is not None:
            object.__setattr__(self, word, np.atleast_1d(numbers))

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {("first",): self.first, ("second",): self.second}

    def constant(self, k: int, layout: Layout) -> float:
        """The constant of row k."""
        return 0.0

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Rows between its two frames. Raises ModelError for one and the same frame, or two fixed ones."""
        first, second = layout.station(self.first), layout.station(self.second)
        if first.frame == second.frame:
            raise ModelError.at((self.table, self.name, "second"), "is on the same frame as the first: nothing moves")
        if not layout.frames[first.frame].freedom and not layout.frames[second.frame].freedom:
            raise ModelError.at((self.table, self.name, "second"), "is as fixed as the first: nothing moves")
        if self._of_second is not None and self.second.reference is not None:
            axes = self._of_first, self._of_second
        else:
            axes = self._axes(layout.pose(first)[1], layout.pose(second)[1])
        ends = [
            Station(end.frame, end.offset, _turned_by(end.rotation, R))
            for end, R in zip((first, second), axes, strict=True)
        ]
        labels = [f"joints.{self.name}: {row_words(spec)}" for spec in self.rows]
        numbers = layout.add_rows(labels, first.frame, second.frame)
        first_coordinate = next(reversed(layout.joints.values())).part.stop if layout.joints else 0
        part = slice(first_coordinate, first_coordinate + len(self.coordinates))
        start = np.full(len(self.coordinates), np.nan) if self.start is None else self._start
        entry = JointLayout(ends[0], ends[1], numbers, self.coordinates, part, self._aligned_axes(), start)
        layout.joints[self.name] = entry
        if self.start is not None:
            self._check_start(layout, entry, model)

    def _check_start(self, layout: Layout, entry: JointLayout, model: ModelView) -> None:
        """Raise ModelError where ``start`` differs from the start pose, or should turn a body that is placed."""
        path = (self.table, self.name, "start")
        poses = [layout.pose(end) for end in (entry.first, entry.second)]
        for coordinate, given in zip(self.coordinates, self._start.tolist(), strict=True):
            there = coordinate.value(*poses)
            gap, unit, size = given - there, "m", max(abs(given), abs(there))
            if coordinate.is_angle:
                gap, unit, size = math.remainder(gap, 2.0 * math.pi), "rad", 1.0
            if abs(gap) > START_ERROR * size + ROUNDING:
                raise ModelError.at(
                    path,
                    f"got {given:.6g} {unit} for {coordinate.name!r}, but it is {there:.6g} {unit} where both ends are "
                    "placed already, by hand or by other joints: leave out this 'start', or the position of a body",
                )
        turned = self._placed_without_attitude(layout, entry, model)
        angles = [value for coordinate, value in zip(self.coordinates, self._start, strict=True) if coordinate.is_angle]
        if turned is not None and any(angles):
            raise ModelError.at(
                path,
                f"does not turn {turned!r}, which has a position of its own, but no attitude: leave out its position, "
                "which follows from 'start'; or give it 'euler_angles', at which the joint then has this start",
            )

    def _placed_without_attitude(self, layout: Layout, entry: JointLayout, model: ModelView) -> str | None:
        """The name of a moving body with a position and no attitude of its own beside a placed other end, where the
        zero of the joint follows from the start pose; None without one."""
        if self._of_second is not None and self.second.reference is not None:
            return None
        poses = {
            name: model.body(name).start_pose(model) for name in (self.first.body, self.second.body) if name is not None
        }
        if any(pose.position is None for pose in poses.values()):
            return None  # its joints place it
        moving = [end for end, station in ((self.second, entry.second), (self.first, entry.first))
                  if layout.frames[station.frame].freedom]  # fmt: skip
        name = moving[0].body
        return name if name is not None and poses[name].quaternion is None else None

    def relative(self) -> tuple[Floats, Floats]:
        """Offset (3,) and axes (3, 3) of the second end in the joint's axes at the coordinates ``start``."""
        offset, rotation = np.zeros(3), UNIT_VECTORS
        for coordinate, value in zip(self.coordinates, self._start, strict=True):
            if coordinate.is_angle:
                rotation = UNIT_VECTORS if self.start is None else rotation_about_z(value)
            else:
                offset[coordinate.first[0]] = value
        return offset, rotation

    @property
    def _start(self) -> Floats:
        return np.zeros(len(self.coordinates)) if self.start is None else self.start

    # Placement and equations both need the following three.

    @cached_property
    def _relative(self) -> tuple[Floats, Floats]:
        return self.relative()

    @cached_property
    def _of_first(self) -> Floats:
        """Axes (3, 3) of the joint in those of the first end's host."""
        return axes_of(self.first.axis if self.first.axis is not None else (0.0, 0.0, 1.0), self.first.reference)

    @cached_property
    def _of_second(self) -> Floats | None:
        """Axes (3, 3) of the joint in those of the second end's host, if that has an axis."""
        return None if self.second.axis is None else axes_of(self.second.axis, self.second.reference)

    def other_pose(
        self, first_known: bool, point: Floats, axes: Floats, given: Floats | None
    ) -> tuple[Floats, Floats] | None:
        """Position and quaternion of the body at the end of unknown pose; None if the joint does not determine them.

        first_known : whether the pose of the first end is known. point (3,), axes (4,) : position and quaternion of the
        known end, inertial. given (4,) : the quaternion of the body, if it is known.
        """
        unknown = self.second if first_known else self.first
        (offset, rotation), of_first = self._relative, self._of_first
        zero = self.at_zero(of_first)
        of_second = zero if self._of_second is None else self._of_second
        quaternion = given
        if quaternion is None:
            # A_second C_second = A_first C_first rotation
            parts = (of_first, rotation, of_second) if first_known else (of_second, rotation.T, of_first)
            quaternion = rotations.multiply(axes, _turn(*parts))
        end = point - rotations.rotate(quaternion, unknown.at)
        if any(offset.tolist()):
            distance = rotations.rotate(axes if first_known else quaternion, of_first @ offset)
            end += distance if first_known else -distance
        return end, quaternion

    def _aligned_axes(self) -> tuple[int, ...]:
        if LOCK[0] in self.rows and LOCK[1] in self.rows:
            return X, Y, Z
        return (Z,) if PARALLEL[0] in self.rows else ()

    def _axes(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """(3, 3) axes of the joint in the axes of both hosts, for the start quaternions of the hosts, which orient the
        second end about its axis."""
        of_first = self._of_first
        relative = rotations.rotation_matrix(rotations.multiply(rotations.conjugate(second), first)) @ of_first
        zero = relative @ self._relative[1]
        if self.second.axis is None:
            return of_first, zero
        z, x = self.second.axis / np.linalg.norm(self.second.axis), zero[:, 0]
        # At a rough start the zero direction may be along the axis. Then any direction perpendicular to it will do.
        return of_first, axes_of(z, x if np.linalg.norm(rotations.cross(z, x)) > LEAST_SINE else None)

    def at_zero(self, first: Floats) -> Floats:
        """Axes (3, 3) of the second end at zero angles, from those of the first, in the same axes."""
        return first

    def symmetry(self, around: Surroundings) -> Symmetry:
        # What the end that is fixed in space allows.
        entry = around.layout.joints[self.name]
        if not around.hold([entry.first.frame, entry.second.frame]):
            return EVERY
        of_first = entry.first.frame in around.fixed
        end, words = (entry.first, self.leaves[0]) if of_first else (entry.second, self.leaves[1])
        point, axes = around.pose(end)
        shifts, turns = ([k for k, word in enumerate(letters) if word in words] for letters in ("xyz", "XYZ"))
        return Symmetry.of(twists(axes.T[shifts], axes.T[turns], point))

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        entry = layout.joints[self.name]
        return [
            make_row(layout, number, spec, entry.first, entry.second, self.constant(k, layout))
            for k, (number, spec) in enumerate(zip(entry.rows, self.rows, strict=False))  # latches add row numbers
        ]

    @classmethod
    def constraint_table(cls, items: list[Any], layout: Layout) -> ConstraintTable:
        if cls.constraint_rows is not Joint.constraint_rows or cls.constraint_inputs is not Item.constraint_inputs:
            return super().constraint_table(items, layout)
        entries, count = [layout.joints[item.name] for item in items], len(cls.rows)
        numbers: Ints = np.array([entry.rows[:count] for entry in entries], dtype=np.int64)  # latches add rows
        ends = [entry.first for entry in entries], [entry.second for entry in entries]
        table = joint_table(layout, *ends, cls.rows, numbers)
        if cls.constant is not Joint.constant:
            constants = [item.constant(k, layout) for item in items for k in range(count)]
            table.data[:, CONSTANT] = constants
        return table

    # Linear models

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its coordinates and their rates, and its reaction on the second end."""
        names = [f"{coordinate.name}{rate}" for coordinate in self.coordinates for rate in ("", RATE)]
        return dict.fromkeys(names, True) | dict.fromkeys(REACTION, False)

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of a ``quantity`` at the ``point``: a coordinate or its rate, or the reaction."""
        entry = point.system.layout.joints[self.name]
        if quantity in REACTION:
            return reaction_rows(point, entry, quantity)
        return coordinate_rows(point, entry, quantity)

    def linear_forces(self, layout: Layout) -> tuple[str, ...]:
        """A force along each coordinate."""
        return tuple(f"{coordinate.name}.force" for coordinate in self.coordinates)

    def force_columns(self, point: LinearPoint, quantity: str) -> ForceColumns | None:
        """The column of a ``quantity`` at the ``point``: a force along a coordinate."""
        return coordinate_force(point, point.system.layout.joints[self.name], quantity)

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return tuple(coordinate.is_angle for coordinate in self.coordinates)

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return joint_records([item.name for item in items], system)


@kept
def _turn(first: Floats, between: Floats, second: Floats) -> Floats:
    """The quaternion of ``first between second^T``, of three rotations (3, 3); read-only."""
    return frozen_array(rotations.from_matrix(first @ between @ second.T))


@kept
def _turned_by(rotation: Floats, axes: Floats) -> Floats:
    """The quaternion of ``axes`` (3, 3) and then a ``rotation`` (4,); read-only."""
    return frozen_array(rotations.multiply(rotation, rotations.from_matrix(axes)))


# The kinds of joints, each defined by a table of rows and a table of coordinates.
#
# The axis of a joint is z. Source: docs/theory/constraints.md, section 4.


class Revolute(Joint):
    """A hinge: rotation about the axis."""

    kind = "revolute"
    also = ("hinge",)
    rows = SPHERICAL + PARALLEL
    leaves = ("Z", "Z")
    coordinates = (ANGLE,)


class Spherical(Joint):
    """A ball joint: the two points coincide."""

    kind = "spherical"
    also = ("ball",)
    rows = SPHERICAL
    leaves = ("XYZ", "XYZ")
    needs_axis = False
    acts_on_attitude = False


class _TwoAxes(Joint):
    """Base class of joints that constrain the angle between the z axes of both ends."""

    def relative(self) -> tuple[Floats, Floats]:
        first, second = self._start if self.coordinates else (0.0, 0.0)
        return np.zeros(3), rotation_about_z(first) @ self.at_zero(np.eye(3)) @ rotation_about_z(second)

    def at_zero(self, first: Floats) -> Floats:
        # z of the second end along x of the first, x of the second along z of the first
        result: Floats = first[:, [Z, Y, X]] * np.array([1.0, -1.0, 1.0])
        return result


class Universal(_TwoAxes):
    """A Cardan joint: rotation about the axis of the first end and about that of the second; both are perpendicular.
    By default the axis of the second end is along the reference of the first at the start.
    """

    kind = "universal"
    also = ("hooke", "cardan")
    rows = (*SPHERICAL, ("dot1", Z, Z))
    leaves = ("Z", "Z")
    coordinates = (Coordinate("first_angle", (Y, X), (Z, Z)), Coordinate("second_angle", (Z, Z), (Y, X), -1.0))


@dataclass(frozen=True, eq=False)
class Perpendicular(_TwoAxes):
    """A constant angle, by default a right angle, between the axes of the two ends; the points are free."""

    kind: ClassVar[str] = "perpendicular"
    also: ClassVar[tuple[str, ...]] = ("dot_1",)
    rows: ClassVar = (("dot1", Z, Z),)
    leaves: ClassVar = ("xyzZ", "xyzZ")

    angle: Annotated[float, Unit("rad")] = np.pi / 2
    """between the two axes, above 0 and below pi"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if "angle" not in check.bad:
            check.require("angle", 0.0 < self.angle < np.pi, "must be above 0 and below pi: else take 'parallel'")

    def constant(self, k: int, layout: Layout) -> float:
        return float(np.cos(self.angle)) if self.angle != np.pi / 2 else 0.0

    def at_zero(self, first: Floats) -> Floats:
        # As for a right angle, with the second end rotated about the common normal y.
        c, s = self.constant(0, None), np.sin(self.angle)  # type: ignore[arg-type]
        result: Floats = first @ np.array([[-c, 0.0, s], [0.0, -1.0, 0.0], [s, 0.0, c]])
        return result


class Parallel(Joint):
    """Parallel axes of both ends; the points are free."""

    kind = "parallel"
    rows = PARALLEL
    leaves = ("xyzZ", "xyzZ")
    coordinates = (ANGLE,)


class Cylindrical(Joint):
    """Rotation about the axis and translation along it."""

    kind = "cylindrical"
    rows = PARALLEL + LINE
    leaves = ("zZ", "zZ")
    coordinates = (ANGLE, STROKE)


class Prismatic(Joint):
    """Translation along the axis."""

    kind = "prismatic"
    also = ("translational",)
    rows = (*PARALLEL, *LINE, ("dot1", X, Y))
    leaves = ("z", "z")
    coordinates = (STROKE,)


class Planar(Joint):
    """Translation in the plane perpendicular to the axis and rotation about the axis."""

    kind = "planar"
    rows = PARALLEL + PLANE
    leaves = ("xyZ", "xyZ")
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)), ANGLE)


class OfPoint(Joint):
    """Base class of joints whose second end is a point."""

    def turns(self, marker: Marker) -> bool:
        """Whether ``marker`` is the first end, whose body has the axis; the second one is a point."""
        return marker is not self.second


class PointOnLine(OfPoint):
    """The second point is on the axis through the first point."""

    kind = "point_on_line"
    rows = LINE
    leaves = ("zZ", "XYZ")
    coordinates = (STROKE,)


class PointOnPlane(OfPoint):
    """The second point is in the plane through the first point, perpendicular to the axis."""

    kind = "point_on_plane"
    also = ("dot_2",)
    rows = PLANE
    leaves = ("xyZ", "XYZ")
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)))


class Fixed(Joint):
    """A weld: the second end is fixed relative to the first, as at the start or as given by its axes."""

    kind = "fixed"
    also = ("weld",)
    rows = SPHERICAL + LOCK
    needs_axis = False


@dataclass(frozen=True, eq=False)
class Distance(Joint):
    """A massless rod between two points, whose length is by default their distance at the start."""

    kind: ClassVar[str] = "distance"
    drawn: ClassVar[str] = "line"
    also: ClassVar[tuple[str, ...]] = ("rod", "double_spherical")
    rows: ClassVar = (("distance",),)
    leaves: ClassVar = ("XYZ", "XYZ")
    needs_axis: ClassVar[bool] = False
    acts_on_attitude: ClassVar[bool] = False

    length: Annotated[float | None, Unit("m"), POSITIVE] = None
    """with it and the axis of the first end, the second end starts along this axis, unless its body has a position"""

    def relative(self) -> tuple[Floats, Floats]:
        return np.array([0.0, 0.0, self.length or 0.0]), np.eye(3)

    def other_pose(
        self, first_known: bool, point: Floats, axes: Floats, given: Floats | None
    ) -> tuple[Floats, Floats] | None:
        """Pose of the other end, along the axis of the first end; without it, or without a length, a rod determines no
        direction.
        """
        if self.length is None or self.first.axis is None:
            return None
        return super().other_pose(first_known, point, axes, given)

    def constant(self, k: int, layout: Layout) -> float:
        """The length. Raises ModelError if it is not given and the ends coincide at the start."""
        if self.length is not None:
            return self.length
        entry = layout.joints[self.name]
        length = float(np.linalg.norm(layout.pose(entry.second)[0] - layout.pose(entry.first)[0]))
        if not length > 0.0:
            raise ModelError.at(("joints", self.name, "second"), "is at the first point: take 'spherical' for that")
        return length


# The joint of constant components of the vector between two points, along general directions.


@dataclass(frozen=True, eq=False)
class Components(Joint):
    """Constant components of the vector from the first to the second point along one to three directions.

    Reaction: the forces on the two points are equal and opposite along the directions. Their couple acts on the
    inertial frame, or on the first end in the frame "first".

    Raises ModelError: no direction, linearly dependent directions, a wrong number of values. Source:
    docs/theory/constraints.md, equations (4) and (7); Thompson, AIAA 2011-6277, section IV, X^T r = 0.
    """

    kind: ClassVar[str] = "components"
    needs_axis: ClassVar[bool] = False

    directions: Annotated[Rows, Unit("")] = None
    """one to three, linearly independent: (3,) or a list of them"""
    values: Annotated[Coordinates, Unit("m")] = None
    """the components along the unit vectors, by default those at the start"""
    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"
    """in which the directions are fixed: inertial, or that of the axes of the first end"""

    def check(self, check: Checks) -> None:
        super().check(check)
        wanted = "one to three directions of three numbers each, not in one plane"
        given = check.array("directions", lambda x: x.ndim in (1, 2) and x.shape[-1] == 3 and 1 <= x.size <= 9, wanted)
        if given is None:
            return
        rows = given.reshape(-1, 3)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.all(lengths > 0.0):
            check.fail("directions", f"got {shown(self.directions)}: a direction must not be zero")
            return
        if np.linalg.svd(rows / lengths, compute_uv=False)[-1] < 1e-6:
            check.fail("directions", f"got {shown(self.directions)}, wanted {wanted}")
            return
        object.__setattr__(self, "directions", frozen_array(rows / lengths))
        if self.values is not None:
            wanted = f"one a direction, {len(rows)} (m)"
            values = check.array("values", lambda x: x.size == len(rows) and bool(np.isfinite(x).all()), wanted)
            if values is not None:
                object.__setattr__(self, "values", frozen_array(np.ravel(values)))

    @property
    def acts_on_attitude(self) -> bool:  # type: ignore[override]
        """Whether the ends need axes."""
        return self.frame == "first"

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]
        """One row for every direction."""
        return tuple(("component", k) for k in range(len(self.directions)))

    def other_pose(self, *args: Any) -> None:
        """None, whatever ``args``: it does not determine the pose of a body."""

    def symmetry(self, around: Surroundings) -> Symmetry:
        first, second = around.layout.station(self.first), around.layout.station(self.second)
        return along_components(around, first, second, self.directions, self.frame)

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        rows = layout.joints[self.name].rows
        first, second = layout.station(self.first), layout.station(self.second)
        axes = self.directions @ first.axes.T if self.frame == "first" else self.directions
        return component_rows(rows, first, second, axes, self.frame)

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        (start, axes), (end, _) = layout.pose(layout.station(self.first)), layout.pose(layout.station(self.second))
        d = rotations.rotate_back(axes, end - start) if self.frame == "first" else end - start
        values = self.values if self.values is not None else self.directions @ d
        label = f"joints.{self.name}.values"
        return tuple(Input(3, lambda t, value=value: (value, 0.0, 0.0), label=label) for value in values.tolist())

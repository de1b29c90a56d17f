"""Base class of joints: two ends, axes, a table of rows of constraint, and coordinates."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group, Quantity
from femb.base.types import Coordinates, Floats, Unit
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.records import REACTION, coordinate_force, coordinate_rows, joint_records, reaction_rows
from femb.elements.joint.rows import LOCK, PARALLEL, Coordinate, X, Y, Z, make_row, row_words
from femb.elements.marker import LEAST_SINE, JointEnd, Place, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import ForceColumns, OutputRows
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.state import RATE
from femb.layout.views import LinearPoint, ModelView, StartPoses
from femb.numerics import formulas, rotations

# Axes of a joint from directions in a body.

# Cosine of the smallest angle between the joint's axis and the body axis that is its default reference.
LARGEST_COSINE = np.cos(np.radians(25.0))


def axes_of(axis: Any, reference: Any = None) -> Floats:
    """(3, 3) the joint's x, y and z axes as columns: z along ``axis``, x in the plane of ``axis`` and ``reference``."""
    z = np.asarray(axis, dtype=float)
    z = z / math.sqrt(z @ z)
    if reference is None:
        reference = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < LARGEST_COSINE else np.array([0.0, 1.0, 0.0])
    x = reference - z * (z @ reference)
    x = x / math.sqrt(x @ x)
    return np.array([x, formulas.cross(z.tolist(), x.tolist()), z]).T.copy()


# Of an angle in rad, and of a length in parts of it: typed numbers are rounded.
START_ERROR = 1e-3
ROUNDING = 1e-6


class JointResults(Group):
    """Reaction of a joint on its second body, and its c coordinates where it has any."""

    word: ClassVar[str] = "joint"

    force = Quantity(
        "(T, 3)", "N", "constraint reaction on the second end at its point, in the joint's axes at the first end"
    )
    torque = Quantity("(T, 3)", "N m", "in the same axes; about the point of the second end")
    coordinates = Quantity(
        "(T, c)",
        "m or rad",
        "in the order of the attribute `names` (JSON); angles count full revolutions",
        level="motion",
    )
    rates = Quantity("(T, c)", "m/s or rad/s", "of the coordinates", level="motion")
    accelerations = Quantity("(T, c)", "m/s2 or rad/s2", "of the coordinates")


@dataclass(frozen=True, eq=False)
class Joint(Item):
    """Base class of joints between two ends.

    first, second : points of bodies, the ground or beam nodes. axis and reference of the first end define the joint's z
    and x axis in the axes of its body. By default the axes of the second end are such that the start pose has the
    coordinates ``start``; if axis and reference are given there, they define the attitude of the joint in the second
    body.
    start : the joint's coordinates at the start (rad, m), by default zero. They determine the pose of a body without a
    given position. rates : their rates at the start (rad/s, m/s); by default those of the bodies' start velocities.
    """

    table: ClassVar[str] = "joints"
    results: ClassVar[type[Group]] = JointResults
    # synonyms of the kind in case files, from other programs and from the sources
    also: ClassVar[tuple[str, ...]] = ()
    acts_on_attitude: ClassVar[bool] = True
    rows: ClassVar[tuple[tuple[Any, ...], ...]]
    coordinates: ClassVar[tuple[Coordinate, ...]] = ()
    needs_axis: ClassVar[bool] = True

    name: str
    first: JointEnd
    second: JointEnd
    start: Annotated[Coordinates, Unit("rad", stroke="m")] = None
    rates: Annotated[Coordinates, Unit("rad/s", stroke="m/s")] = None

    def check(self, check: Checks) -> None:
        check_markers(check, JointEnd, "first", "second")
        if self.needs_axis and isinstance(self.first, JointEnd) and self.first.axis is None:
            check.fail("first.axis", f"is missing: the axis of the {self.kind} joint, in the axes of {self.first.host}")
        for word in ("start", "rates"):
            self._check_coordinates(check, word)

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
        """Its markers, by field."""
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
        ends = tuple(
            Station(end.frame, end.offset, rotations.multiply(end.rotation, rotations.from_matrix(R)))
            for end, R in zip((first, second), axes, strict=True)
        )
        numbers = [
            layout.add_row(f"joints.{self.name}: {row_words(spec)}", first.frame, second.frame) for spec in self.rows
        ]
        first_coordinate = next(reversed(layout.joints.values())).part.stop if layout.joints else 0
        part = slice(first_coordinate, first_coordinate + len(self.coordinates))
        entry = JointLayout(ends[0], ends[1], numbers, self.coordinates, part, self._aligned_axes())
        layout.joints[self.name] = entry
        if self.start is not None:
            self._check_start(layout, entry, model)

    def _check_start(self, layout: Layout, entry: JointLayout, model: ModelView) -> None:
        """Raise ModelError where ``start`` differs from the start pose, or should turn a body that is placed."""
        path = (self.table, self.name, "start")
        poses = [layout.pose(end) for end in (entry.first, entry.second)]
        for coordinate, given in zip(self.coordinates, self._start.tolist(), strict=True):
            found = coordinate.value(*poses)
            gap, unit, size = given - found, "m", max(abs(given), abs(found))
            if coordinate.is_angle:
                gap, unit, size = math.remainder(gap, 2.0 * math.pi), "rad", 1.0
            if abs(gap) > START_ERROR * size + ROUNDING:
                raise ModelError.at(
                    path,
                    f"got {given:.6g} {unit} for {coordinate.name!r}, but it is {found:.6g} {unit} where both ends are "
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
            name: model.body(name).start_pose() for name in (self.first.body, self.second.body) if name is not None
        }
        if any(pose.position is None for pose in poses.values()):
            return None  # its joints place it
        moving = [end for end, station in ((self.second, entry.second), (self.first, entry.first))
                  if layout.frames[station.frame].freedom]  # fmt: skip
        name = moving[0].body
        return name if name is not None and poses[name].quaternion is None else None

    def relative(self) -> tuple[Floats, Floats]:
        """Offset (3,) and axes (3, 3) of the second end in the joint's axes at the coordinates ``start``."""
        offset, rotation = np.zeros(3), np.eye(3)
        for coordinate, value in zip(self.coordinates, self._start, strict=True):
            if coordinate.is_angle:
                rotation = rotation_about_z(value)
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
        known end, inertial. given : the quaternion of the body, if it is known.
        """
        unknown = self.second if first_known else self.first
        (offset, rotation), of_first = self._relative, self._of_first
        zero = self.at_zero(of_first)
        of_second = zero if self._of_second is None else self._of_second
        # A_second C_second = A_first C_first rotation
        change = of_first @ rotation @ of_second.T if first_known else of_second @ rotation.T @ of_first.T
        quaternion = given if given is not None else rotations.multiply(axes, rotations.from_matrix(change))
        first_axes = axes if first_known else quaternion
        distance = rotations.rotate(first_axes, of_first @ offset)
        end = point + (distance if first_known else -distance)
        return end - rotations.rotate(quaternion, unknown.at), quaternion

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

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """The rows of its table."""
        entry = layout.joints[self.name]
        return [
            make_row(layout, number, spec, entry.first, entry.second, self.constant(k, layout))
            for k, (number, spec) in enumerate(zip(entry.rows, self.rows, strict=False))  # latches add row numbers
        ]

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

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return joint_records([item.name for item in items], system)


def rotation_about_z(angle: float) -> Floats:
    """(3, 3) rotation about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

"""What all joints share: two ends, axes, rows of constraint by a table, and coordinates."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Coordinates, Floats
from femb.base.values import as_numbers, shown
from femb.elements.item import Item
from femb.elements.joint.axes import axes_of
from femb.elements.joint.constraint_set import Row
from femb.elements.joint.records import joint_records
from femb.elements.joint.rows import LOCK, PARALLEL, Coordinate, X, Y, Z, make_row, row_words
from femb.elements.marker import LEAST_SINE, JointEnd, Place, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import JointLayout, Layout, Station
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class Joint(Item):
    """Base of all joints: the second end is tied to the first.

    first, second : places on bodies, the ground or beam nodes. axis and reference of the first end, in its body's axes,
    are the joint's z and x axis. Those of the second end are by default such that the start pose has the coordinates
    ``start``; given, they say how the joint sits in the second body.

    start : the joint's coordinates at the start (rad, m), by default zero. A body without a position of its own is put
    in its place by them.
    rates : their rates at the start (rad/s, m/s); by default what the start velocities of the bodies make them.
    """

    table: ClassVar[str] = "joints"
    kind: ClassVar[str]
    # other words for the same joint that case files may say, those of other programs and of the sources
    also: ClassVar[tuple[str, ...]] = ()
    acts_on_attitude: ClassVar[bool] = True
    rows: ClassVar[tuple[tuple[Any, ...], ...]]
    coordinates: ClassVar[tuple[Coordinate, ...]] = ()
    needs_axis: ClassVar[bool] = True

    name: str
    first: JointEnd
    second: JointEnd
    start: Coordinates = None
    rates: Coordinates = None

    def __post_init__(self) -> None:
        with Checks(self, "joints", self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Refuse what is wrong with the joint itself."""
        check_markers(check, JointEnd, "first", "second")
        if self.needs_axis and isinstance(self.first, JointEnd) and self.first.axis is None:
            check.fail("first.axis", f"is missing: the axis of the {self.kind} joint, in the axes of {self.first.host}")
        for word in ("start", "rates"):
            self._check_coordinates(check, word)

    def _check_coordinates(self, check: Checks, word: str) -> None:
        value = getattr(self, word)
        if value is None:
            return
        numbers, count = as_numbers(value), len(self.coordinates)
        if numbers is None or np.size(numbers) != count or not np.all(np.isfinite(numbers)) or not count:
            names = ", ".join(coordinate.name for coordinate in self.coordinates)
            wanted = f"{count} finite number(s): {names}" if count else "nothing: the joint has no coordinates"
            check.fail(word, f"got {shown(value)}, wanted {wanted}")
        else:
            object.__setattr__(self, word, np.atleast_1d(numbers))

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """The places it names, by field."""
        return {("first",): self.first, ("second",): self.second}

    def constant(self, k: int, layout: Layout) -> float:
        """Constant of row k."""
        return 0.0

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Rows between its two frames. Raises ModelError where they are one, or both fixed."""
        first, second = layout.station(self.first), layout.station(self.second)
        if first.frame == second.frame:
            raise ModelError.at((self.table, self.name, "second"), "is on the same frame as the first: nothing moves")
        if not layout.frames[first.frame].freedom and not layout.frames[second.frame].freedom:
            raise ModelError.at((self.table, self.name, "second"), "is as fixed as the first: nothing moves")
        axes = self.axes(layout.pose(first)[1], layout.pose(second)[1])
        ends = tuple(
            Station(each.frame, each.offset, rotations.multiply(each.rotation, rotations.from_matrix(turn)))
            for each, turn in zip((first, second), axes, strict=True)
        )
        numbers = [
            layout.add_row(f"joints.{self.name}: {row_words(spec)}", first.frame, second.frame) for spec in self.rows
        ]
        first_coordinate = next(reversed(layout.joints.values())).part.stop if layout.joints else 0
        part = slice(first_coordinate, first_coordinate + len(self.coordinates))
        layout.joints[self.name] = JointLayout(ends[0], ends[1], numbers, self.coordinates, part, self._same_way())

    def relative(self) -> tuple[Floats, Floats]:
        """Offset (3,) and axes (3, 3) of the second end in the joint's axes, where the coordinates are ``start``."""
        offset, turn = np.zeros(3), np.eye(3)
        for coordinate, value in zip(self.coordinates, self._start, strict=True):
            if coordinate.is_angle:
                turn = turn_about_z(value)
            else:
                offset[coordinate.first[0]] = value
        return offset, turn

    @property
    def _start(self) -> Floats:
        return np.zeros(len(self.coordinates)) if self.start is None else self.start

    def other_pose(
        self, first_known: bool, point: Floats, axes: Floats, given: Floats | None
    ) -> tuple[Floats, Floats] | None:
        """Position and quaternion of the body at the end that has no place yet; None where the joint gives none.

        point (3,), axes (4,) of the other end, inertial; given : the body's attitude, if that is known.
        """
        far = self.second if first_known else self.first
        offset, turn = self.relative()
        of_first = axes_of(self.first.axis if self.first.axis is not None else (0.0, 0.0, 1.0), self.first.reference)
        zero = self.at_zero(of_first)
        of_second = zero if self.second.axis is None else axes_of(self.second.axis, self.second.reference)
        # A_second C_second = A_first C_first turn
        change = of_first @ turn @ of_second.T if first_known else of_second @ turn.T @ of_first.T
        quaternion = given if given is not None else rotations.multiply(axes, rotations.from_matrix(change))
        first_axes = axes if first_known else quaternion
        away = rotations.rotate(first_axes, of_first @ offset)
        meeting = point + (away if first_known else -away)
        return meeting - rotations.rotate(quaternion, far.at), quaternion

    def _same_way(self) -> tuple[int, ...]:
        if LOCK[0] in self.rows and LOCK[1] in self.rows:
            return X, Y, Z
        return (Z,) if PARALLEL[0] in self.rows else ()

    def axes(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """(3, 3) axes of the joint in both ends' axes, for the ends' start quaternions (inertial)."""
        of_first = axes_of(self.first.axis if self.first.axis is not None else (0.0, 0.0, 1.0), self.first.reference)
        relative = rotations.rotation_matrix(rotations.multiply(rotations.conjugate(second), first)) @ of_first
        zero = relative @ self.relative()[1]
        if self.second.axis is None:
            return of_first, zero
        if self.second.reference is not None:
            return of_first, axes_of(self.second.axis, self.second.reference)
        z, x = self.second.axis / np.linalg.norm(self.second.axis), zero[:, 0]
        # Ends that are roughly placed may have the zero direction along the axis: then it is any across it.
        return of_first, axes_of(z, x if np.linalg.norm(np.cross(z, x)) > LEAST_SINE else None)

    def at_zero(self, first: Floats) -> Floats:
        """Axes (3, 3) of the second end where all angles are zero, for those of the first, in the same axes."""
        return first

    def constraint_rows(self, layout: Layout) -> list[Row]:
        """The rows as the kernels take them."""
        where = layout.joints[self.name]
        return [
            make_row(layout, number, spec, where.first, where.second, self.constant(k, layout))
            for k, (number, spec) in enumerate(zip(where.rows, self.rows, strict=False))  # latches add to the rows
        ]

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return joint_records([item.name for item in items], system)


def turn_about_z(angle: float) -> Floats:
    """(3, 3) rotation about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

"""The kinds of joints, each defined by a table of rows and a table of coordinates.

The axis of a joint is z. Source: docs/theory/constraints.md, section 4.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Floats, Unit
from femb.elements.joint.joint import Joint, rotation_about_z
from femb.elements.joint.rows import (
    ANGLE,
    LINE,
    LOCK,
    PARALLEL,
    PLANE,
    SPHERICAL,
    STROKE,
    Coordinate,
    X,
    Y,
    Z,
)
from femb.elements.marker import Marker
from femb.layout.layout import Layout


class Revolute(Joint):
    """A hinge: rotation about the axis."""

    kind = "revolute"
    also = ("hinge",)
    rows = SPHERICAL + PARALLEL
    coordinates = (ANGLE,)


class Spherical(Joint):
    """A ball joint: the two points coincide."""

    kind = "spherical"
    also = ("ball",)
    rows = SPHERICAL
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
    coordinates = (Coordinate("first_angle", (Y, X), (Z, Z)), Coordinate("second_angle", (Z, Z), (Y, X), -1.0))


@dataclass(frozen=True, eq=False)
class Perpendicular(_TwoAxes):
    """A constant angle, by default a right angle, between the axes of the two ends; the points are free.

    angle : rad, between the two axes, above 0 and below pi.
    """

    kind: ClassVar[str] = "perpendicular"
    also: ClassVar[tuple[str, ...]] = ("dot_1",)
    rows: ClassVar = (("dot1", Z, Z),)

    angle: Annotated[float, Unit("rad")] = np.pi / 2

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
    coordinates = (ANGLE,)


class Cylindrical(Joint):
    """Rotation about the axis and translation along it."""

    kind = "cylindrical"
    rows = PARALLEL + LINE
    coordinates = (ANGLE, STROKE)


class Prismatic(Joint):
    """Translation along the axis."""

    kind = "prismatic"
    also = ("translational",)
    rows = (*PARALLEL, *LINE, ("dot1", X, Y))
    coordinates = (STROKE,)


class Planar(Joint):
    """Translation in the plane perpendicular to the axis and rotation about the axis."""

    kind = "planar"
    rows = PARALLEL + PLANE
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)), ANGLE)


class PointOnLine(Joint):
    """The second point is on the axis through the first point."""

    kind = "point_on_line"
    rows = LINE
    coordinates = (STROKE,)

    def turns(self, marker: Marker) -> bool:
        """Whether ``marker`` is the first end, whose body has the axis; the second one is a point."""
        return marker is not self.second


class PointOnPlane(Joint):
    """The second point is in the plane through the first point, perpendicular to the axis."""

    kind = "point_on_plane"
    also = ("dot_2",)
    rows = PLANE
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)))

    def turns(self, marker: Marker) -> bool:
        """Whether ``marker`` is the first end, whose body has the axis; the second one is a point."""
        return marker is not self.second


class Fixed(Joint):
    """A weld: the second end is fixed relative to the first, as at the start or as given by its axes."""

    kind = "fixed"
    also = ("weld",)
    rows = SPHERICAL + LOCK
    needs_axis = False


@dataclass(frozen=True, eq=False)
class Distance(Joint):
    """A massless rod between two points: ``length`` (m) is by default their distance at the start.

    length : m. With it and the axis of the first end, the second end is along this axis at the start, unless its body
    has a position of its own.
    """

    kind: ClassVar[str] = "distance"
    also: ClassVar[tuple[str, ...]] = ("rod", "double_spherical")
    rows: ClassVar = (("distance",),)
    needs_axis: ClassVar[bool] = False
    acts_on_attitude: ClassVar[bool] = False

    length: Annotated[float | None, Unit("m")] = None

    def relative(self) -> tuple[Floats, Floats]:
        return np.array([0.0, 0.0, self.length or 0.0]), np.eye(3)

    def other_pose(
        self, first_known: bool, point: Floats, axes: Floats, given: Floats | None
    ) -> tuple[Floats, Floats] | None:
        """By the axis of the first end; without it, or without a length, a rod determines no direction."""
        if self.length is None or self.first.axis is None:
            return None
        return super().other_pose(first_known, point, axes, given)

    def check(self, check: Checks) -> None:
        super().check(check)
        check.positive("length")

    def constant(self, k: int, layout: Layout) -> float:
        """The length. Raises ModelError if it is not given and the ends coincide at the start."""
        if self.length is not None:
            return self.length
        entry = layout.joints[self.name]
        length = float(np.linalg.norm(layout.pose(entry.second)[0] - layout.pose(entry.first)[0]))
        if not length > 0.0:
            raise ModelError.at(("joints", self.name, "second"), "is at the first point: take 'spherical' for that")
        return length

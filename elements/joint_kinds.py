"""The catalogue of joints: each is a table of rows, and of the coordinates it leaves free.

Source: docs/theory/constraints.md, section 4; the axis of a joint is z.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.checks import Checks
from femb.elements.joint import (
    ANGLE,
    LINE,
    LOCK,
    PARALLEL,
    PLANE,
    SPHERICAL,
    STROKE,
    Coordinate,
    Joint,
    X,
    Y,
    Z,
    turn_about_z,
)
from femb.errors import ModelError
from femb.layout import Layout
from femb.types import Floats


class Revolute(Joint):
    """A hinge: turns about its axis."""

    kind = "revolute"
    rows = SPHERICAL + PARALLEL
    coordinates = (ANGLE,)


class Spherical(Joint):
    """A ball joint: the two points stay together."""

    kind = "spherical"
    rows = SPHERICAL
    needs_axis = False
    turns = False


class _TwoAxes(Joint):
    """An axis across another: the first end's z axis and the second end's z axis stay perpendicular."""

    def relative(self) -> tuple[Floats, Floats]:
        first, second = self._start if self.coordinates else (0.0, 0.0)
        return np.zeros(3), turn_about_z(first) @ self.at_zero(np.eye(3)) @ turn_about_z(second)

    def at_zero(self, first: Floats) -> Floats:
        # z of the second end along x of the first, x of the second along z of the first
        return first[:, [Z, Y, X]] * np.array([1.0, -1.0, 1.0])


class Universal(_TwoAxes):
    """A Cardan joint: turns about an axis of the first end, then about an axis of the second, which stay
    perpendicular. The second end's axis is by default along the first end's reference at the start.
    """

    kind = "universal"
    rows = (*SPHERICAL, ("dot1", Z, Z))
    coordinates = (Coordinate("first_angle", (Y, X), (Z, Z)), Coordinate("second_angle", (Z, Z), (Y, X), -1.0))


@dataclass(frozen=True, eq=False)
class Perpendicular(_TwoAxes):
    """An axis of the first end and one of the second keep an angle, by default a right one; the points are free.

    angle : rad, between the two axes, above 0 and below pi.
    """

    kind: ClassVar[str] = "perpendicular"
    rows: ClassVar = (("dot1", Z, Z),)

    angle: float = np.pi / 2

    def check(self, check: Checks) -> None:
        super().check(check)
        if "angle" not in check.bad:
            check.require("angle", 0.0 < self.angle < np.pi, "must be above 0 and below pi: else take 'parallel'")

    def constant(self, k: int, layout: Layout) -> float:
        return float(np.cos(self.angle)) if self.angle != np.pi / 2 else 0.0

    def at_zero(self, first: Floats) -> Floats:
        # As between right angles, and the second end turned about their common normal y.
        c, s = self.constant(0, None), np.sin(self.angle)  # type: ignore[arg-type]
        return first @ np.array([[-c, 0.0, s], [0.0, -1.0, 0.0], [s, 0.0, c]])


class Parallel(Joint):
    """The axes of both ends stay parallel; the points are free."""

    kind = "parallel"
    rows = PARALLEL
    coordinates = (ANGLE,)


class Cylindrical(Joint):
    """Turns about, and slides along, its axis."""

    kind = "cylindrical"
    rows = PARALLEL + LINE
    coordinates = (ANGLE, STROKE)


class Prismatic(Joint):
    """Slides along its axis."""

    kind = "prismatic"
    rows = (*PARALLEL, *LINE, ("dot1", X, Y))
    coordinates = (STROKE,)


class Planar(Joint):
    """Slides in the plane across its axis and turns about it."""

    kind = "planar"
    rows = PARALLEL + PLANE
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)), ANGLE)


class PointOnLine(Joint):
    """The second point stays on the axis through the first."""

    kind = "point_on_line"
    rows = LINE
    coordinates = (STROKE,)


class PointOnPlane(Joint):
    """The second point stays in the plane through the first and across the axis."""

    kind = "point_on_plane"
    rows = PLANE
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)))


class Fixed(Joint):
    """Holds the second end as it is at the start, or as its axes say: a weld."""

    kind = "fixed"
    rows = SPHERICAL + LOCK
    needs_axis = False


@dataclass(frozen=True, eq=False)
class Distance(Joint):
    """A massless rod between two points: ``length`` (m) is by default their distance at the start."""

    kind: ClassVar[str] = "distance"
    rows: ClassVar = (("distance",),)
    needs_axis: ClassVar[bool] = False
    turns: ClassVar[bool] = False

    length: float | None = None

    def other_pose(self, *args: Any) -> None:
        """A rod leaves the direction open."""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.positive("length")

    def constant(self, k: int, layout: Layout) -> float:
        """The length. Raises ModelError where it is not given and the ends start at one point."""
        if self.length is not None:
            return self.length
        where = layout.joints[self.name]
        length = float(np.linalg.norm(layout.pose(where.second)[0] - layout.pose(where.first)[0]))
        if not length > 0.0:
            raise ModelError.at(("joints", self.name, "second"), "is at the first point: take 'spherical' for that")
        return length


JOINTS = (
    Revolute,
    Spherical,
    Universal,
    Cylindrical,
    Prismatic,
    Planar,
    Fixed,
    Distance,
    Parallel,
    Perpendicular,
    PointOnLine,
    PointOnPlane,
)

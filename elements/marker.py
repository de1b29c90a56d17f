"""Markers: points with axes on a body, a beam node or the ground, for beams, joints, springs, loads and masses.

The axes of a joint follow from two directions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from femb.base.checks import Checks
from femb.base.html import Brief
from femb.base.types import Direction, Floats, Unit, Vector
from femb.base.values import shown
from femb.numerics import formulas
from femb.numerics.components import kept

# Smallest sine of the angle between two directions that define a plane.
LEAST_SINE = 1e-6
# Smallest length of a spring with a defined direction, relative to its free length or length at the start.
SHORTEST = 1e-6


class Hosted:
    """Base of descriptions with the fields of a point: ``body`` and ``at``, or ``beam``, ``node`` and ``at``."""

    body: str | None
    """name of a body, of "ground" or of an interface of a flexible body"""
    beam: str | None
    """in place of the body the name of a beam"""
    at: Any
    """the point, in axes of the body, or of the beam's section at the node"""
    node: int
    """of the beam, counted from the start, 0 to the number of elements; negative numbers count from the end"""


class Marker(Hosted, Brief):
    """Base of all markers: points of bodies or of beams, with axes where they need them.

    Subclasses add fields; ``directions`` names the two that orient the axes, if any. Methods add problems to check.
    """

    wanted: ClassVar[str]  # for messages
    directions: ClassVar[tuple[str, ...]] = ()
    along: ClassVar[str] = ""

    anchor: Vector | None = None

    @classmethod
    def of(cls, value: Any) -> Any:
        """``value`` as a marker of this class if it is a marker, such as the result of ``body.at``; else unchanged."""
        return value

    @property
    def host(self) -> str:
        """Its body, or its beam and node, for messages."""
        return repr(self.body) if self.body is not None else f"{self.beam!r}, node {self.node}"

    def report(self, check: Checks, *field: str) -> bool:
        """Add its problems to those of the item that contains it; return whether there are none.

        field : the item's field that contains it; left out if the item itself has the fields of the marker.
        """
        with Checks(self) as fields:
            self.check_host(fields)
            if (
                fields.bad.isdisjoint(("node", "body"))
                and self.node != -1
                and self.body is not None
                and self.beam is None
            ):
                fields.require("node", False, "but a body has no nodes: give beam and node, or body and at")
            if self.directions and fields.bad.isdisjoint(self.directions):
                self._check_directions(fields)
            problems = list(fields.problems)
            fields.problems.clear()
        for problem in problems:
            check.fail(".".join((*field, problem.item[-1])), problem.message)
        return not problems

    def check_host(self, check: Checks) -> None:
        """Report a marker without a host or with two."""
        if (self.body is None) == (self.beam is None):
            check.fail("body", f"got body = {self.body!r} and beam = {self.beam!r}, wanted one of the two")

    def _check_directions(self, check: Checks) -> None:
        # in Python numbers, for which numpy's calls take longer
        along, across = self.directions
        first, second = getattr(self, along), getattr(self, across)
        if first is None or second is None:
            return
        (x0, x1, x2), (y0, y1, y2) = x, y = first.tolist(), second.tolist()
        sine = _length((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0))
        if sine <= LEAST_SINE * _length(x) * _length(y):
            word = "up" if across == "across" else across
            check.fail("y_axis" if getattr(self, word) is None else word, self.along.format(shown(second)))


def _length(x: Sequence[float]) -> float:
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@dataclass(frozen=True, eq=False)
class Attachment(Marker):
    """The end of a beam: on a body, on a node of another beam, or free in space.

    Without body and beam the end is free, with ``at`` and ``direction`` in inertial axes. On a beam both are in the
    axes of the section.
    """

    wanted = "an Attachment such as hub.at((0.1, 0, 0))"
    directions = ("direction", "across")
    along = "got {}, must not be along direction"

    body: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    direction: Direction | None = None
    """the beam's tangent from its start towards its end, body axes; by default towards the other end"""
    up: Direction | None = None
    """another word for y_axis"""
    beam: str | None = None
    node: int = -1
    y_axis: Direction | None = None
    """the section's y axis is its part perpendicular to the tangent; by default the body's y axis, or z within 25
    degrees of the tangent"""

    @property
    def across(self) -> Floats | None:
        """The direction of the section's y axis, by either word; None by default."""
        return self.up if self.y_axis is None else self.y_axis

    @property
    def clamped(self) -> bool:
        """Whether it names a body or a beam."""
        return self.body is not None or self.beam is not None

    def check_host(self, check: Checks) -> None:
        """Report an end with two hosts; without a host the end is free."""
        if self.body is not None and self.beam is not None:
            check.fail("beam", "given beside body: an end of a beam is on one or the other")
        if self.up is not None and self.y_axis is not None:
            check.fail("up", "given beside y_axis, which is the same: give one of the two")

    def _check_directions(self, check: Checks) -> None:
        if check.bad.isdisjoint(("up", "y_axis")):
            super()._check_directions(check)


@dataclass(frozen=True, eq=False)
class Place(Marker):
    """A point of the model, rigid with a body or with the section of a beam's node."""

    wanted = "a Place, body.at(...) or beam.node(...)"

    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1

    @classmethod
    def of(cls, value: Any) -> Self | Any:
        """``value`` as a marker of this class if it is a marker, with directions if both have any; else unchanged."""
        if not isinstance(value, Marker) or type(value) is cls:
            return value
        directions = [getattr(value, word) for word in value.directions] if cls.directions else []
        return cls(value.body, value.beam, value.at, value.node, **dict(zip(cls.directions, directions, strict=False)))


@dataclass(frozen=True, eq=False)
class JointEnd(Place):
    """An end of a joint: a point with the axes of the joint, in the axes of ``at``."""

    wanted = "a JointEnd, body.at(...) or beam.node(...)"
    directions = ("axis", "reference")
    along = "is along the axis: it must show a direction across it"

    axis: Direction | None = None
    """the joint's z axis"""
    reference: Direction | None = None
    """the joint's x axis is its component perpendicular to axis; by default the body's x axis, or y within 25 degrees
    of axis"""


@dataclass(frozen=True, eq=False)
class SpringEnd(Place):
    """An end of a spring: a point of a body or of a beam, or a point in space.

    A point in space has no axes: an end of a torsion spring that is fixed in space is on body "ground".
    """

    wanted = "a SpringEnd, body.at(...) or beam.node(...)"

    anchor: Annotated[Vector | None, Unit("m")] = None
    """in place of these, a point in space, inertial axes"""

    def check_host(self, check: Checks) -> None:
        """Report an end without a host or with two."""
        check.exactly_one("body", "beam", "anchor")


def check_markers(check: Checks, kind: type[Marker], *fields: str) -> list[str]:
    """Convert fields of an item to markers of a class, report their problems, and return the fields without any."""
    valid = []
    for field in fields:
        value = kind.of(getattr(check.item, field))
        if not isinstance(value, kind):
            check.fail(field, f"got {shown(value)}, wanted {kind.wanted}")
            continue
        object.__setattr__(check.item, field, value)
        if value.report(check, field):
            valid.append(field)
    return valid


# Cosine of the smallest angle between the joint's axis and the body axis that is its default reference.
LARGEST_COSINE = np.cos(np.radians(25.0))


def axes_of(axis: Any, reference: Any = None) -> Floats:
    """(3, 3) the joint's x, y and z axes as columns: z along ``axis``, x in the plane of ``axis`` and ``reference``;
    read-only."""
    return _axes_of(np.asarray(axis, dtype=float), None if reference is None else np.asarray(reference, dtype=float))


@kept
def _axes_of(z: Floats, reference: Floats | None) -> Floats:
    z = z / math.sqrt(z @ z)
    if reference is None:
        reference = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < LARGEST_COSINE else np.array([0.0, 1.0, 0.0])
    x = reference - z * (z @ reference)
    x = x / math.sqrt(x @ x)
    axes = np.array([x, formulas.cross(z.tolist(), x.tolist()), z]).T.copy()
    axes.flags.writeable = False
    return axes

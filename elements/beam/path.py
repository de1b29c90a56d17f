"""Path of a beam: the curve that its undeformed centreline follows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from femb.base.brief import Brief
from femb.base.checks import Checks
from femb.base.types import Unit, Vector
from femb.base.values import frozen_array

# Smallest distance of successive points, relative to the total length.
SMALLEST_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Path(Brief):
    """The reference line of a beam, in one of these forms. All but ``curve`` define the beam's ``length``.

    points : at least two, m, in the axes of the host of the beam's start (of its end if the start is free; inertial
    axes if both are free), connected by a cubic spline. The beam begins at its attachment for any first point.
    kinks : straight pieces between the points, with corners, instead of the spline; every piece has one element or
    more.
    radius, angle : an arc (m, rad) towards the section's y axis.
    curve : in Python, a function ``s -> (3,)`` or ``s -> ((3,), (3,))`` of the length s (m) from the start: the point
    (axes as for points), and a direction whose component perpendicular to the tangent is the section's y axis.

    Without such a direction, the sections are in parallel transport along the line. The attachment then needs no
    ``direction``; its ``up`` applies.

    Raises ModelError: none or several of these forms, invalid or coincident points, a corner of 180 degrees.
    Source: docs/theory/beam.md, section 2.
    """

    points: Annotated[list[Vector] | None, Unit("m")] = None
    kinks: bool = False
    radius: Annotated[float | None, Unit("m")] = None
    angle: Annotated[float | None, Unit("rad")] = None
    curve: Callable[[float], Any] | None = None

    def __post_init__(self) -> None:
        with Checks(self, "path") as check:
            check.positive("radius", "angle")
            ways = [name for name in ("points", "radius", "curve") if getattr(self, name) is not None]
            if not ways:
                check.fail("points", "neither points, radius and angle nor a curve is given")
            for name in ways[1:]:
                check.fail(name, f"given beside {ways[0]!r}, which says the path too: give one of them")
            if (self.radius is None) != (self.angle is None):
                check.fail("angle" if self.angle is None else "radius", "is missing: an arc has a radius and an angle")
            if "kinks" not in check.bad and self.kinks and self.points is None:
                check.fail("kinks", "only points have corners")
            if self.curve is not None and not callable(self.curve):
                check.fail("curve", f"got {self.curve!r}, wanted a function of the length in Python")
            if self.points is not None:
                self._check_points(check)

    def _check_points(self, check: Checks) -> None:
        wanted = "at least two points of three numbers"
        points = check.array("points", lambda x: x.ndim == 2 and x.shape[1] == 3 and len(x) > 1, wanted)
        if points is None:
            return
        steps = np.diff(points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        if np.any(lengths <= SMALLEST_STEP * lengths.sum()):
            k = int(np.argmin(lengths))
            check.fail("points", f"numbers {k + 1} and {k + 2} are at one place: leave one out")
            return
        object.__setattr__(self, "points", frozen_array(points))
        cosines = np.sum(steps[1:] * steps[:-1], axis=1) / (lengths[1:] * lengths[:-1])
        if "kinks" not in check.bad and self.kinks and np.any(cosines < -1.0 + 1e-9):
            k = int(np.argmin(cosines))
            check.fail(
                "points", f"the beam turns back on itself at number {k + 2}: give that piece as a beam of its own"
            )

"""Path of a beam: the curve that its undeformed centreline follows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Vector
from femb.base.values import as_numbers, frozen_array, shown

# Successive points closer than this, relative to the whole, are one.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Path:
    """Where a beam goes, said in one of these ways. The beam's ``length`` follows, but for a function.

    points : at least two, m, in the axes of what the beam's start is on (of what its end is on if the start is on
    nothing, inertial axes if neither is); the beam begins at its attachment whatever the first point is. A smooth
    curve goes through them, a cubic spline. kinks : straight pieces between them with corners instead; every piece
    gets one element at least.
    radius, angle : an arc (m, rad) towards the section's y axis.
    curve : in Python, a function ``s -> (3,)`` or ``s -> ((3,), (3,))`` of the length s (m) from the start: the point
    (axes as for points), and a direction whose part perpendicular to the tangent is the section's y axis.

    The sections of points and curves without such a direction do not turn about the tangent. The direction of the
    attachment is not needed with points and curves, its ``up`` counts.

    Raises ModelError: nothing or more than one way given, points that are not points or coincide, a corner that
    turns back. Source: docs/theory/beam.md, section 2.
    """

    points: list[Vector] | None = None
    kinks: bool = False
    radius: float | None = None
    angle: float | None = None
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
        points = as_numbers(self.points)
        if points is None or points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
            check.fail("points", f"got {shown(self.points)}, wanted at least two points of three numbers")
            return
        if not np.all(np.isfinite(points)):
            check.fail("points", f"got {shown(self.points)}, every number must be finite")
            return
        steps = np.diff(points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        if np.any(lengths <= SAME * lengths.sum()):
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

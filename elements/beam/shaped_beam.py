"""Beams whose undeformed shape is straight, of uniform curvature, or along a path."""

from functools import cached_property

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Vector
from femb.elements.beam.line import LineItem
from femb.elements.beam.path import Path
from femb.elements.beam.shape import Shape, path_shape, uniform_shape
from femb.numerics import rotations

# Pieces of an element in which the rotation angle along a path is summed.
PIECES = 8
ADVICE = ", wanted less than 180 degrees: give it more elements"


class ShapedBeam(LineItem):
    """Base class of the kinds with these fields beside those of ``LineItem``:

    curvature : uniform twist and curvatures about the section's y and z axes of the undeformed beam, 1/m. path : Path
    of the undeformed beam, which gives its length unless it is a function of the length.
    """

    curvature: Vector | None = None
    path: Path | None = None

    def check_shape(self, check: Checks) -> None:
        """Report problems of the length, the curvature and the path."""
        path = self.path
        if path is None or not isinstance(path, Path):
            check.require("path", path is None, "wanted a Path")
            if self.length is None and (self.start is None or self.end is None or self.curvature is not None):
                check.fail(
                    "length", "is missing: give it, or, for a straight beam, start and end, from which it follows"
                )
            if self.curvature is not None and not {"length", "curvature", "elements"} & check.bad:
                turn = float(np.linalg.norm(self.curvature)) * (self.length or 0.0) / self.elements
                check.require("curvature", turn < np.pi, f"turns each element by {_degrees(turn)}{ADVICE}")
            return
        if self.curvature is not None:
            check.fail("curvature", "given beside 'path', which says the shape too: give one of them")
        if path.curve is None and self.length is not None:
            check.fail("length", "given beside 'path', from which it follows: leave it out")
        if path.curve is not None and self.length is None:
            check.fail("length", "is missing: the path is a function of the length up to this one")
        if path.kinks and path.points is not None and self.elements < len(path.points) - 1:
            check.require("elements", False, f"wanted at least {len(path.points) - 1}, one for each straight piece")
        if not check.bad:
            try:
                object.__setattr__(self, "length", self.shape.length)
                turn = self._largest_turn(path)
                check.require("elements", turn < np.pi, f"but the path turns one of them by {_degrees(turn)}{ADVICE}")
            except ValueError as error:
                check.fail("path.curve", str(error))
            except Exception as error:  # of a user's function
                check.fail("path.curve", f"fails: {type(error).__name__}: {error}")

    def _largest_turn(self, path: Path) -> float:
        """The largest rotation angle (rad) along an element on a smooth path, summed over small pieces."""
        if path.kinks:
            return 0.0
        if path.radius is not None and path.angle is not None:
            return path.angle / self.elements
        guide = self.start if self.start is not None else self.end
        refined = path_shape(path, self.length, self.elements * PIECES, None if guide is None else guide.up, False)
        turns = rotations.multiply(rotations.conjugate(refined.quaternions[:-1]), refined.quaternions[1:])
        return float(rotations.axis_angle(turns)[1].reshape(self.elements, PIECES).sum(axis=1).max())

    @cached_property
    def shape(self) -> Shape:
        """The shape of the undeformed beam."""
        if self.path is None:
            return uniform_shape(float(self.length or 0.0), self.elements, self.curvature)
        by_end = self.start is None or (not self.start.clamped and self.end is not None and self.end.clamped)
        guide = self.end if by_end else self.start
        return path_shape(self.path, self.length, self.elements, None if guide is None else guide.up, by_end)


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.0f} degrees"

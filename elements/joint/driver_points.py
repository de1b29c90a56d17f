"""Drivers of the distance of two points, or of components of the vector between them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import SolveError
from femb.base.types import Direction, Floats, OneOf, Unit
from femb.elements.joint.axes import axes_of
from femb.elements.joint.constraint_set import Row
from femb.elements.joint.driver import PlaceDriver, check_motion, motion_function, motion_input
from femb.elements.joint.rows import component_rows, make_row
from femb.elements.marker import JointEnd, Place
from femb.layout.element import Input
from femb.layout.layout import DriverLayout, Layout
from femb.profiles import Profile

DIRECTIONS = ("x", "y", "z")


class _BetweenPoints(PlaceDriver):
    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"

    @property
    def acts_on_attitude(self) -> bool:  # type: ignore[override]
        """Whether its markers need axes."""
        return self.frame == "first"


@dataclass(frozen=True, eq=False)
class DistanceDriver(_BetweenPoints):
    """A telescopic strut: the distance of two points follows a function of time.

    first, second : points of bodies, the ground or beam nodes. motion : of the distance, m, above 0 at all times.
    Force: N, positive if it pushes the points apart.

    Raises ModelError: a motion without two derivatives. Source: docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "distance"

    first: Place
    second: Place
    motion: Annotated[Profile | Callable[..., Any], Unit("m")]

    def check(self, check: Checks) -> None:
        super().check(check)
        check_motion(check, "motion")

    def components(self, layout: Layout) -> tuple[str, ...]:
        return ("distance",)

    def inputs(self) -> list[Input]:
        """The distance; SolveError in a run where it is not positive."""
        given = motion_input(self.name, "motion", self.motion)
        follow = motion_function(self.motion, given.label)

        def positive(t: float) -> Any:
            motion = follow(t)
            if motion[0] <= 0.0:
                raise SolveError(
                    f"{given.label}: got {motion[0]:.6g} m at t = {t:.6g} s: a distance must be greater than 0; where "
                    "the points meet, drive the components of their position"
                )
            return motion

        return [Input(3, positive, breakpoints=given.breakpoints, label=given.label)]

    def constraint_rows(self, layout: Layout) -> list[Row]:
        entry = layout.drivers[self.name]
        scale = float(entry.inputs[0].function(0.0)[0])
        return [make_row(layout, entry.rows[0], ("distance",), entry.first, entry.second, scale, follows=0)]

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """As of ``Driver``: the distance (T, 1) m, its rate, and the force (T, 1) N along the line."""
        value, rate, force = super().outputs(entry, motions, multipliers)
        # the row is (d.d - f^2)/2c with the distance c at the start
        return value, rate, force * value / float(entry.inputs[0].function(0.0)[0])


@dataclass(frozen=True, eq=False)
class PositionDriver(_BetweenPoints):
    """Components of the vector from one point to another follow functions of time.

    first, second : points of bodies, the ground or beam nodes. x, y, z : motions, m; a direction without one is free.
    frame : in which the directions are fixed, "inertial", or "first" for the axes of the first end. axis, reference :
    in this frame, the z axis, and a vector whose component perpendicular to it is the x axis; by default the axes of
    the frame.

    Force: N, on the second point along the same axes; the opposite force acts on the first point. The couple of the two
    forces acts on the inertial frame, or on the first body in the frame "first".

    Raises ModelError: no direction is driven, a motion without two derivatives, a reference along the axis. Source:
    docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "position"

    first: Place
    second: Place
    x: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    y: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    z: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"
    axis: Direction | None = None
    reference: Direction | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        if not {"axis", "reference"} & check.bad:
            # the checks of a joint end apply to these axes
            JointEnd("ground", axis=self.axis, reference=self.reference).report(check)
            if self.reference is not None and self.axis is None:
                check.fail("reference", "given without an axis: give both")
        for axis in self.driven:
            check_motion(check, axis)
        if not self.driven:
            check.fail("x", "no direction is driven: give one or more of x, y and z")

    @property
    def driven(self) -> tuple[str, ...]:
        """The directions that have a motion."""
        return tuple(axis for axis in DIRECTIONS if getattr(self, axis) is not None)

    def components(self, layout: Layout) -> tuple[str, ...]:
        return self.driven

    def inputs(self) -> list[Input]:
        return [motion_input(self.name, axis, getattr(self, axis)) for axis in self.driven]

    def constraint_rows(self, layout: Layout) -> list[Row]:
        entry = layout.drivers[self.name]
        axes = np.eye(3) if self.axis is None else axes_of(self.axis, self.reference)
        if self.frame == "first":
            axes = entry.first.axes @ axes
        driven = [axes[:, DIRECTIONS.index(axis)] for axis in self.driven]
        return component_rows(entry.rows, entry.first, entry.second, driven, self.frame)

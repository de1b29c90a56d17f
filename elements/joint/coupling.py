"""Couplings of joints: gears, racks, screws, worms, differentials, planetary gears, curves and functions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import NOT_NEGATIVE, OWN_UNITS, POSITIVE, Arguments, Floats, Numbers, Pair, Unit
from femb.base.values import as_numbers, frozen_array, shown
from femb.elements.joint.coordinates import start_value
from femb.elements.joint.primitives import table_at
from femb.elements.joint.relation import ANGULAR, STRAIGHT, JointCoordinate, Relation, Term
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses

# Angles count turns. Source: docs/theory/constraints.md, section 13.

# Step (rad or m) of differences of a function in Python, and the part by which they may differ from its derivative.
STEP, SAME_SLOPE = 1e-5, 1e-3


@dataclass(frozen=True, eq=False)
class Coupling(Relation):
    """A linear relation of coordinates of joints: the sum of factors times coordinates is constant.

    Angles count turns. Force: on each coordinate; the powers add up to zero. Raises ModelError: coordinates of unequal
    units, or named twice, a factor of zero, relations that depend on each other.
    """

    kind: ClassVar[str] = "linear"
    also: ClassVar[tuple[str, ...]] = ("mimic",)

    name: str
    coordinates: list[JointCoordinate]
    """of joints, two or more, all angles or all strokes"""
    factors: Annotated[Numbers, Unit("")]
    """one a coordinate"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if check.bad:
            return
        check.require("coordinates", len(self.coordinates) > 1, "wanted two or more")
        count, wanted = len(self.coordinates), "one a coordinate, none of them zero"
        numbers = check.array("factors", lambda x: x.ndim == 1 and len(x) == count and bool(x.all()), wanted)
        if numbers is not None:
            object.__setattr__(self, "factors", frozen_array(numbers))

    def terms(self) -> tuple[Term, ...]:
        names = [("coordinates", str(k + 1)) for k in range(len(self.coordinates))]
        return tuple(map(Term, names, self.coordinates, map(float, self.factors)))


class _OfTwo(Relation):
    """Base class of relations of two coordinates, in the fields first and second: second less ratio times first."""

    first: JointCoordinate
    second: JointCoordinate
    # whether they must be angles, or strokes; None for either
    kinds: ClassVar[tuple[bool | None, bool | None]] = (None, None)
    # the field that must not be zero
    not_zero: ClassVar[str | None] = None

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.not_zero is not None:
            check.require(self.not_zero, getattr(self, self.not_zero) != 0.0, "must not be zero")

    def ratio_of_two(self) -> float:
        """The rate of the second over that of the first."""
        raise NotImplementedError

    def terms(self) -> tuple[Term, ...]:
        first, second = self.kinds
        return (
            Term(("first",), self.first, -self.ratio_of_two(), is_angle=first),
            Term(("second",), self.second, 1.0, is_angle=second),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Thread(_OfTwo):
    """Base class of what slides on a thread: ``first`` turns it, and loses what friction takes."""

    lead_angle: Annotated[float | None, Unit("rad"), POSITIVE] = None
    """of the thread, of which the tangent is the advance in a turn over the circumference; it goes with friction"""
    friction_coefficient: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """mu of the thread, the tangent of the angle of friction p; with the lead angle g the efficiency of ``first`` is
    tan(g)/tan(g + p), and of ``second`` tan(g - p)/tan(g); for p above g it locks. It needs a stiffness"""
    transition_rate: Annotated[float, Unit("rad/s"), POSITIVE] = 1e-3
    """of ``first``, over which friction develops; below it the thread creeps"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if check.bad or not self.friction_coefficient:
            return
        check.require("friction_coefficient", self.stiffness is not None, "needs a 'stiffness', whose force it is of")
        if self.lead_angle is None:
            check.fail("lead_angle", "is missing: friction of a thread depends on it")
        else:
            sum_of_both = self.lead_angle + math.atan(self.friction_coefficient)
            check.require("lead_angle", sum_of_both < 0.5 * math.pi, "must be below pi/2 with the angle of friction")

    def friction(self) -> tuple[float, float, float]:
        return self.lead_angle or 1.0, math.atan(self.friction_coefficient), self.transition_rate


@dataclass(frozen=True, eq=False)
class Gear(_OfTwo):
    """A gear, or a belt: the second coordinate is ratio times the first, and a constant.

    Both joints begin on the body that carries the gear. Raises ModelError: none or both of ratio and teeth, a ratio of
    zero, coordinates of unequal units.
    """

    kind: ClassVar[str] = "gear"
    not_zero: ClassVar[str | None] = "ratio"

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one, of the same unit"""
    ratio: Annotated[float | None, Unit("")] = None
    """the rate of the second over that of the first"""
    teeth: Annotated[Pair | None, Unit("")] = None
    """in place of it, of the first and the second wheel: the ratio is -teeth[0]/teeth[1]; inner teeth have a
    negative number"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("ratio", "teeth")
        if self.teeth is not None and "teeth" not in check.bad:
            check.require("teeth", bool(np.all(self.teeth)), "must not be zero")

    def ratio_of_two(self) -> float:
        if self.ratio is not None:
            return self.ratio
        assert self.teeth is not None
        return -float(self.teeth[0]) / float(self.teeth[1])


@dataclass(frozen=True, eq=False)
class Rack(_OfTwo):
    """A rack and pinion, or a drum and cable: the stroke is radius times the angle, and a constant.

    Raises ModelError: a radius of zero, coordinates that are no angle and no stroke.
    """

    kind: ClassVar[str] = "rack"
    not_zero: ClassVar[str | None] = "radius"
    alike: ClassVar[bool] = False
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, STRAIGHT)

    name: str
    first: JointCoordinate
    """the angle"""
    second: JointCoordinate
    """the stroke"""
    radius: Annotated[float, Unit("m")]
    """of the pinion; negative where the stroke falls as the angle grows"""

    def ratio_of_two(self) -> float:
        return self.radius


@dataclass(frozen=True, eq=False)
class Screw(_Thread):
    """A screw: the stroke grows by the pitch in each turn; both may be coordinates of one cylindrical joint.

    Raises ModelError: a pitch of zero, coordinates that are no angle and no stroke.
    """

    kind: ClassVar[str] = "screw"
    not_zero: ClassVar[str | None] = "pitch"
    alike: ClassVar[bool] = False
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, STRAIGHT)

    name: str
    first: JointCoordinate
    """the angle"""
    second: JointCoordinate
    """the stroke"""
    pitch: Annotated[float, Unit("m")]
    """of a turn; negative of a left-hand thread"""

    def ratio_of_two(self) -> float:
        return self.pitch / (2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Worm(_Thread):
    """A worm and wheel: the wheel turns by starts/teeth of the worm.

    Raises ModelError: starts of zero, coordinates that are no angles.
    """

    kind: ClassVar[str] = "worm"
    not_zero: ClassVar[str | None] = "starts"
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, ANGULAR)

    name: str
    first: JointCoordinate
    """the angle of the worm"""
    second: JointCoordinate
    """that of the wheel"""
    teeth: Annotated[float, Unit(""), POSITIVE]
    """of the wheel"""
    starts: Annotated[float, Unit("")] = 1.0
    """threads of the worm; negative of a left-hand thread"""

    def ratio_of_two(self) -> float:
        return self.starts / self.teeth


@dataclass(frozen=True, eq=False)
class Differential(Relation):
    """A differential: the carrier turns by the mean of its two sides.

    Raises ModelError: coordinates of unequal units.
    """

    kind: ClassVar[str] = "differential"

    name: str
    first: JointCoordinate
    """the coordinate of one side"""
    second: JointCoordinate
    """that of the other side"""
    carrier: JointCoordinate
    """that of the carrier, of the same unit"""

    def terms(self) -> tuple[Term, ...]:
        factors = {"first": 1.0, "second": 1.0, "carrier": -2.0}
        return tuple(Term((word,), getattr(self, word), factor) for word, factor in factors.items())


@dataclass(frozen=True, eq=False)
class Planetary(Relation):
    """A planetary gear: teeth[0] sun + teeth[1] ring = (teeth[0] + teeth[1]) carrier, and a constant.

    The three joints begin on one body. Raises ModelError: teeth that are not above zero, coordinates that are no
    angles.
    """

    kind: ClassVar[str] = "planetary"

    name: str
    sun: JointCoordinate
    """the angle of the sun"""
    ring: JointCoordinate
    """that of the ring"""
    carrier: JointCoordinate
    """that of the carrier"""
    teeth: Annotated[Pair, Unit("")]
    """of the sun and of the ring"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if "teeth" not in check.bad:
            check.require("teeth", bool(np.all(np.asarray(self.teeth) > 0.0)), "must be above 0")

    def terms(self) -> tuple[Term, ...]:
        sun, ring = (float(each) for each in self.teeth)
        factors = {"sun": sun, "ring": ring, "carrier": -sun - ring}
        return tuple(Term((word,), getattr(self, word), factor, None, True) for word, factor in factors.items())


@dataclass(frozen=True, eq=False)
class TableCoupling(_OfTwo):
    """A curve through points: the second coordinate is a smooth function of the first, as with a cam.

    The curve is a cubic spline with continuous curvature, which is zero at its ends unless ``periodic``. Raises
    ModelError: coordinates that do not rise, fewer than three points.
    """

    kind: ClassVar[str] = "table"
    alike: ClassVar[bool] = False

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one"""
    coordinates: Annotated[Numbers, OWN_UNITS]
    """of the first, rising; rad or m"""
    values: Annotated[Numbers, Unit("rad", stroke="m")]
    """of the second, one a point; rad or m"""
    periodic: bool = False
    """whether the curve repeats beyond its last point, as with a cam; else it goes on straight"""

    def check(self, check: Checks) -> None:
        super().check(check)
        x, y = (
            check.array(word, lambda x: x.ndim == 1 and len(x) > 2 and bool(np.isfinite(x).all()), "three or more")
            for word in ("coordinates", "values")
        )
        if x is None or y is None:
            return
        check.require("coordinates", bool(np.all(np.diff(x) > 0.0)), "must rise from each to the next")
        check.require("values", len(x) == len(y), f"wanted {len(x)}, one a coordinate")
        for word, numbers in (("coordinates", x), ("values", y)):
            object.__setattr__(self, word, frozen_array(numbers))

    def terms(self) -> tuple[Term, ...]:
        pieces = self._pieces
        return (
            Term(("first",), self.first, -1.0, partial(_at_pieces, pieces), table=pieces),
            Term(("second",), self.second, 1.0),
        )

    @cached_property
    def _pieces(self) -> Floats:
        """Its cubic pieces as rows of ``primitives.table_at``; a curve that ends goes on straight."""
        from scipy.interpolate import CubicSpline  # for a faster start

        x, y = self.coordinates, self.values
        span, rise = float(x[-1] - x[0]), float(y[-1] - y[0])
        slope = rise / span if self.periodic else 0.0
        rest = y - slope * (x - x[0])
        if self.periodic:
            rest[-1] = rest[0]
        spline = CubicSpline(x, rest, bc_type="periodic" if self.periodic else "natural")
        coefficients = spline.c[::-1].T
        coefficients[:, 0] = y[:-1]
        coefficients[:, 1] += slope
        pieces = np.column_stack([x[:-1], coefficients])
        if not self.periodic:
            ends = [[at, value, spline(at, 1), 0.0, 0.0] for at, value in zip(x[[0, -1]], y[[0, -1]], strict=True)]
            pieces = np.vstack([ends[0], pieces, ends[1]])
        return np.vstack([[len(pieces), x[0], span if self.periodic else 0.0, rise, 0.0], pieces])


def _at_pieces(pieces: Floats, c: float) -> tuple[float, ...]:
    """Value and three derivatives at c of the pieces of a table."""
    found: tuple[float, ...] = table_at(c, 0, pieces)
    return found


@dataclass(frozen=True, eq=False)
class FunctionCoupling(_OfTwo):
    """The second coordinate is a function of the first, in Python.

    Raises ModelError: a function without derivatives, or with others than its own where the motion starts.
    """

    kind: ClassVar[str] = "python"
    alike: ClassVar[bool] = False

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one"""
    function: Annotated[Callable[..., Any], Arguments("of the first coordinate")] | None = None
    """in Python, of the first coordinate: it returns three numbers, the second coordinate and its first and second
    derivative by the first"""
    python: str | None = None
    """in a case file in its place, "FILE.py:NAME", read with --allow-code only"""

    def check(self, check: Checks) -> None:
        from femb.elements.control.function import check_python

        super().check(check)
        check.exactly_one("function", "python")
        check_python(check)

    @cached_property
    def _function(self) -> Callable[[float], Any]:
        from femb.elements.control.function import function_in

        path = (self.table, self.name, "python")
        return self.function if self.function is not None else function_in(str(self.python), path)

    def terms(self) -> tuple[Term, ...]:
        return Term(("first",), self.first, -1.0, self._checked), Term(("second",), self.second, 1.0)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        super().declare_dofs(layout, placement, model)
        joint, k, _ = self.coordinates_in(layout)[0]
        self._compare_derivatives(start_value(layout, joint, k))

    def _compare_derivatives(self, c: float) -> None:
        """Raise ModelError where a derivative at c is not between the differences of the number before it, but for as
        much as itself changes there."""
        below, at, above = (np.array(self._checked(c + step)) for step in (-STEP, 0.0, STEP))
        for k, word in ((1, "first"), (2, "second")):
            low, high = sorted([(at[k - 1] - below[k - 1]) / STEP, (above[k - 1] - at[k - 1]) / STEP])
            rounding = 1e-15 * max(abs(below[k - 1]), abs(above[k - 1])) / STEP
            room = SAME_SLOPE * max(abs(low), abs(high)) + np.ptp([below[k], at[k], above[k]]) + 10.0 * rounding
            if not low - room <= at[k] <= high + room:
                raise ModelError.at(
                    (self.table, self.name, "function"),
                    f"got {at[k]:.6g} as the {word} derivative at {c:.6g}, where differences give "
                    f"{0.5 * (low + high):.6g}: correct it, reactions and rates follow from it",
                )

    def _checked(self, c: float) -> tuple[float, float, float]:
        """The three numbers of the function. Raises ModelError."""
        found = self._function(c)
        numbers = as_numbers(found)
        if numbers is None or numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
            raise ModelError.at(
                (self.table, self.name, "function"),
                f"got {shown(found)} at {c:.6g}, wanted three finite numbers: the value and its first and second "
                "derivative",
            )
        value, first, second = numbers.tolist()
        return value, first, second

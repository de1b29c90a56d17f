"""A spring along a coordinate of a joint whose force is a curve, a table or a spline, and which may snap to others."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.profile import columns_of
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, Floats, Numbers, OneOf, Unit
from femb.base.values import shown
from femb.elements.joint.force import CURVE, JointForce
from femb.elements.joint.results import CurveResults
from femb.layout.discrete import Crossing, DiscreteState, Update
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses, StateView


@dataclass(frozen=True, eq=False)
class Curve:
    """A force over a coordinate in cubic pieces, and its integral.

    knots (n,) : rad or m, increasing. pieces (n + 1, 4) : coefficients of the force in the powers 0 to 3 of x, the
    first before the first knot, the last behind the last one; x is the distance from the knot where a piece begins, and
    of the first piece from the first knot. energies (n + 1,) : J, at x = 0 of each piece.
    Source: docs/theory/joint_forces.md, equations (12) and (13); of splines F. N. Fritsch and J. Butland, SIAM J. Sci.
    Stat. Comput. 5 (1984) 300-304.
    """

    knots: Floats
    pieces: Floats
    energies: Floats

    @classmethod
    def through(cls, coordinates: Any, forces: Any, interpolation: str) -> "Curve":
        """The curve through n points; before and behind them it goes on with its slope there. Its least energy at a
        point is zero."""
        coordinates, forces = np.array(coordinates, dtype=float), np.array(forces, dtype=float)
        h, chords = np.diff(coordinates), np.diff(forces) / np.diff(coordinates)
        pieces = np.zeros((len(coordinates) + 1, 4))
        pieces[1:, 0] = forces
        pieces[0, 0] = forces[0]
        if interpolation == "linear":
            pieces[1:-1, 1] = chords
            pieces[[0, -1], 1] = chords[[0, -1]]
        else:
            from scipy.interpolate import PchipInterpolator  # for a faster start

            pieces[1:-1] = PchipInterpolator(coordinates, forces).c[::-1].T
            _, b, d, e = pieces[-2]
            pieces[0, 1], pieces[-1, 1] = pieces[1, 1], b + h[-1] * (2.0 * d + h[-1] * 3.0 * e)
        areas = [float(np.polyval([*(a[::-1] / (4, 3, 2, 1)), 0.0], x)) for a, x in zip(pieces[1:-1], h, strict=True)]
        at_knots = np.concatenate([[0.0], np.cumsum(areas)])
        energies = np.concatenate([[0.0], at_knots]) - at_knots.min()
        return cls(coordinates, pieces, energies)

    def energy(self, c: float) -> float:
        """J, the integral of the force up to c."""
        k = int(np.searchsorted(self.knots, c, side="right"))
        x = c - self.knots[max(k - 1, 0)]
        return float(self.energies[k] + np.polyval([*(self.pieces[k, ::-1] / (4, 3, 2, 1)), 0.0], x))

    def raised(self, energy: float) -> "Curve":
        """The curve with so much more energy (J) everywhere, and with the same force."""
        return Curve(self.knots, self.pieces, self.energies + energy)


def check_points(item: Any, check: Checks) -> None:
    """Check ``coordinates`` and ``forces`` of a curve; set them from its file."""
    names = ("coordinates", "forces")
    for name in names:
        value = getattr(item, name)
        if value is None:
            object.__setattr__(item, name, ())
        elif not isinstance(value, list | tuple | np.ndarray) or np.ndim(np.asarray(value, dtype=object)) != 1:
            check.fail(name, f"got {shown(value)}, wanted a list of numbers")
    if check.bad & {*names}:
        return
    if item.file is not None and not {"file", "column"} & check.bad:
        try:
            columns = columns_of(item.file, item.column)
        except ModelError as error:
            check.fail("file", str(error))
            return
        for name, values in zip(names, columns, strict=True):
            if len(getattr(item, name)):
                check.fail(name, "given beside 'file', which has them: give one of them")
            object.__setattr__(item, name, values)
    for name in names:
        if name not in check.bad and not len(getattr(item, name)):
            check.fail(name, "is missing: give coordinates and forces, or a file")
    if check.bad:
        return
    check.numbers(*names)
    if check.bad:
        return
    rising = all(a < b for a, b in pairwise(item.coordinates))
    check.require("coordinates", rising, "must rise from each to the next")
    check.require("coordinates", len(item.coordinates) >= 2, "wanted at least 2")
    check.require("forces", len(item.forces) == len(item.coordinates), f"wanted {len(item.coordinates)}, one a point")


class CurvePoints:
    """Base of what has the points of a curve, which are lists or a file."""

    coordinates: Numbers
    """increasing"""
    forces: Numbers
    """one a point, positive where they resist an increase"""
    file: str | None
    """in place of both a table (.csv); its first column has the coordinates"""
    column: str | int
    """name or number (from 1) of the column of forces in the file"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Snap(CurvePoints, Description):
    """Another curve of a spring, to which it snaps over from its first curve, as a tape which folds.

    Raises ModelError: at equal to back, points that do not rise, one point only.
    """

    at: Annotated[float, Unit("rad", stroke="m")]
    """a spring that reaches it, on the way from ``back``, snaps over"""
    back: Annotated[float, Unit("rad", stroke="m")]
    """where it returns to the first curve"""
    coordinates: Annotated[Numbers, Unit("rad", stroke="m")] = ()
    forces: Annotated[Numbers, Unit("N m", stroke="N")] = ()
    file: str | None = None
    column: str | int = 2
    start: bool = False
    """whether the spring begins on this curve where the joint starts between back and at; beyond ``at`` it does"""

    def __post_init__(self) -> None:
        with Checks(self, "snap") as check:
            check_points(self, check)
            if not {"at", "back"} & check.bad:
                check.require("back", self.at != self.back, "must not be equal to at")

    @property
    def side(self) -> float:
        """1 if the spring snaps over at an increasing coordinate, else -1."""
        return 1.0 if self.at > self.back else -1.0

    def starts(self, c: float) -> bool:
        """Whether a spring whose joint starts at c begins on this curve."""
        return self.side * (c - self.at) > 0.0 or (self.start and self.side * (c - self.back) > 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointCurve(CurvePoints, JointForce):
    """Resists with a force that is a curve over the angle (rad) or the stroke (m), and damping dc/dt.

    Where the spring snaps, the integral of the difference of both curves from ``back`` to ``at`` is lost; it counts as
    negative work.

    Raises ModelError: points that do not rise, one point only, numbers below zero, a snap that would give energy.
    Source: docs/theory/joint_forces.md, equations (12) to (14).
    """

    kind: ClassVar[str] = "curve"
    results: ClassVar[type[Group]] = CurveResults
    batch: ClassVar[str] = "femb.elements.joint.force_batch:CurveBatch"
    law: ClassVar[int] = CURVE

    coordinates: Annotated[Numbers, Unit("rad", stroke="m")] = ()
    forces: Annotated[Numbers, Unit("N m", stroke="N")] = ()
    file: str | None = None
    column: str | int = 2
    interpolation: Annotated[str, OneOf(("spline", "linear"))] = "spline"
    """either "spline", cubic pieces that rise and fall only where the points do, or "linear"; outside, the force goes
    on with the slope of the end"""
    damping: Annotated[float, Unit("N m s/rad", stroke="N s/m"), NOT_NEGATIVE] = 0.0
    snaps: list[Snap] | None = None
    """other curves, to which the spring snaps over, for hysteresis"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check_points(self, check)
        for k, each in enumerate(() if check.bad else self.snaps or ()):
            lost = self.lost(k + 1, each.at)
            if lost < 0.0:
                check.fail_at(
                    ("snaps", str(k), "forces"),
                    f"give {-lost:.3g} J in a cycle from back to at and back; wanted forces that resist less than "
                    "those of the first curve",
                )

    def curves(self) -> list[Curve]:
        """Its first curve, and those to which it snaps, which have the energy of the first at ``back``."""
        first = Curve.through(self.coordinates, self.forces, self.interpolation)
        curves = [first]
        for each in self.snaps or ():
            other = Curve.through(each.coordinates, each.forces, self.interpolation)
            curves.append(other.raised(first.energy(each.back) - other.energy(each.back)))
        return curves

    def lost(self, number: int, c: float) -> float:
        """J, lost where it snaps at the coordinate c from its first curve to that with a number, from 1."""
        curves = self.curves()
        return curves[0].energy(c) - curves[number].energy(c)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple the two frames of its joint; the number of its curve, and the energy lost by snapping."""
        super().declare_dofs(layout, placement, model)
        label, number, snaps = f"springs.{self.name}", self.coordinate_number(layout), self.snaps or ()

        def at_start(coordinates: Floats) -> float:
            return float(next((k for k, each in enumerate(snaps, 1) if each.starts(float(coordinates[number]))), 0))

        snapped = layout.add_discrete(f"{label}.snapped", at_start)
        dissipated = layout.add_discrete(f"{label}.dissipated", 0.0)

        def add(k: int, snap: Snap) -> None:
            """Declare when the spring changes to the curve k, and back."""

            def switch(t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
                on, c = discrete[snapped] == k, float(state.coordinates[number])
                lost = self.lost(k, c) * (-1.0 if on else 1.0)
                return {snapped: 0.0 if on else float(k), dissipated: float(discrete[dissipated]) + lost}

            def crossing(discrete: DiscreteState) -> Crossing:
                on = discrete[snapped] == k
                return Crossing(number, snap.back, -snap.side) if on else Crossing(number, snap.at, snap.side)

            layout.add_update(
                Update(
                    label,
                    switch,
                    zero=lambda t, state, discrete: crossing(discrete).value(t, state),
                    direction=1,
                    crossing=crossing,
                    watched=lambda discrete: bool(discrete[snapped] in (0, k)),
                    order=2,
                    recorded=True,
                    loss=lambda before, after: float(after[dissipated] - before[dissipated]),
                )
            )

        for k, each in enumerate(snaps, 1):
            add(k, each)

    def numbers(self) -> list[float]:
        return [self.damping, 0.0, 0.0, 0.0, 0.0]

    def tables(self) -> list[Floats]:
        curves = self.curves()
        begins = [np.concatenate([each.knots[:1], each.knots]) for each in curves]
        return [
            np.column_stack([begin, each.pieces, each.energies]) for begin, each in zip(begins, curves, strict=True)
        ]

    def limits(self) -> list[tuple[float, float]]:
        if self.interpolation != "linear":
            return []
        return [(1.0, knot) for knot in sorted({float(x) for curve in self.curves() for x in curve.knots[1:-1]})]

    def inputs(self) -> Sequence[Input]:
        label = f"springs.{self.name}"
        return Input.of_array(f"{label}.snapped"), Input.of_array(f"{label}.dissipated", recorded_only=True)

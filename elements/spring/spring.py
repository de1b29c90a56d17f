"""Springs, dashpots and pulls between two ends, and the results of all springs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, Arguments, Direction, Floats, OneOf, Unit, Vector
from femb.elements.force_results import LoadResults, SpringResults
from femb.elements.item import Item
from femb.elements.marker import SHORTEST, Place, SpringEnd, check_markers
from femb.layout.layout import Layout, Station
from femb.layout.symmetry import AXES, EVERY, TRANSLATIONS, Surroundings, Symmetry, twists
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations
from femb.numerics.euler import gimbal_distance
from femb.numerics.turns import EulerSequence
from femb.profiles import Constant, Profile


@dataclass(frozen=True, eq=False)
class TwoEndItem(Item):
    """Base class of items between two ends."""

    results: ClassVar[type[Group]] = SpringResults
    of_angles: ClassVar[bool] = False  # whether it measures angles of its ends, not their distance

    name: str
    start: SpringEnd
    """on a body, the ground or a beam node, or a point in space"""
    end: SpringEnd
    """on a body, the ground or a beam node, or a point in space"""

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return (self.of_angles,)

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its markers, by field; an anchor is none."""
        return {word: end for word, end in self._ends.items() if end.anchor is None}

    @property
    def anchors(self) -> dict[tuple[str, ...], Floats]:
        return {word: np.asarray(end.anchor) for word, end in self._ends.items() if end.anchor is not None}

    @property
    def _ends(self) -> dict[tuple[str, ...], Place]:
        return {("start",): self.start, ("end",): self.end}

    def frames(self, layout: Layout) -> list[int]:
        return [layout.frame_of(self.start), layout.frame_of(self.end)]

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Rotations about the end that is fixed in space; of items that turn against axes, translations.
        fixed = [end for end in (self.start, self.end) if around.layout.frame_of(end) in around.fixed]
        if len(fixed) != 1:
            return EVERY
        if self.acts_on_attitude:
            return Symmetry.of(TRANSLATIONS)
        return Symmetry.of(twists(turns=AXES, point=around.pose(around.layout.station(fixed[0]))[0]))

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        coupled_stations(self, layout)


def check_ends(check: Checks, needs_axes: bool) -> None:
    """Report problems of the fields ``start`` and ``end``; needs_axes : whether it is a torsion spring."""
    for name in check_markers(check, SpringEnd, "start", "end"):
        end = getattr(check.item, name)
        if needs_axes and end.anchor is not None:
            check.fail(f"{name}.anchor", 'a point has no axes to turn against: give body = "ground"')
        elif needs_axes and np.any(end.at):
            check.fail(f"{name}.at", "a spring of angles acts on a body as a whole: leave it out")


def coupled_stations(spring: Any, layout: Layout) -> tuple[Station, Station]:
    """Stations of both ends, which it couples. Raises ModelError if they cannot move relative to each other."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    if start.frame == end.frame:
        raise ModelError.at(
            (spring.table, spring.name, "end"), "is fixed to the same frame as the start: nothing moves"
        )
    if not layout.frames[start.frame].freedom and not layout.frames[end.frame].freedom:
        raise ModelError.at((spring.table, spring.name, "end"), "is as fixed as the start: the spring moves nothing")
    layout.couple((start.frame, end.frame))
    return start, end


# Spring and dashpot between two points.


@dataclass(frozen=True, eq=False)
class SpringDamper(TwoEndItem):
    """A force along the line between two points: stiffness (length - free_length) + damping d(length)/dt, tension
    positive.

    A run ends if the two points coincide, unless free_length is zero and there is no callable. Only the stiffness
    stores energy.

    Raises ModelError: neither stiffness, damping nor force, numbers below zero, an end given twice or not at all, ends
    on one and the same frame, or that start at one point. Source: Choi, USC thesis 2014, equations (22) to (28);
    Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "point"
    drawn: ClassVar[str] = "line"
    batch: ClassVar[str] = "femb.elements.spring.batch:SpringBatch"

    stiffness: Annotated[float, Unit("N/m"), NOT_NEGATIVE] = 0.0
    damping: Annotated[float, Unit("N s/m"), NOT_NEGATIVE] = 0.0
    free_length: Annotated[float | None, Unit("m"), NOT_NEGATIVE] = None
    """by default the length at the start, of an assembled one that after assembly"""
    force: Annotated[Callable[[float, float], Any], Arguments("(length, rate) -> N")] | None = None
    """in Python, a callable ``(length, rate) -> N`` (tension positive) for an additional force; or ``-> (N, N/m, N
    s/m)`` with its derivatives by length and rate; Newton's iteration uses zeros for derivatives that are not given"""

    def check(self, check: Checks) -> None:
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.force is None:
            check.fail("stiffness", "neither stiffness nor damping is given")
        check_ends(check, needs_axes=False)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its direction is not defined at the start."""
        start, end = coupled_stations(self, layout)
        length = float(np.linalg.norm(layout.pose(end)[0] - layout.pose(start)[0]))
        if self.needs_direction(length) and length <= SHORTEST * (self.free_length or 0.0):
            raise ModelError.at(
                ("springs", self.name, "end"),
                "starts at the same point as the start, so that the spring has no direction: move one of the two, or "
                "give free_length = 0",
            )

    def rest_length(self, start_length: float) -> float:
        """The length (m) without elastic force, by default ``start_length``, m, that at the start."""
        return start_length if self.free_length is None else self.free_length

    def needs_direction(self, start_length: float) -> bool:
        """Whether the force is not defined for coincident ends, by the length ``start_length``, m, at the start."""
        return self.free_length is None or self.rest_length(start_length) > 0.0 or self.force is not None


# Pull: a given force along the line between two points, such as that of a cable on a winch.


@dataclass(frozen=True, eq=False)
class Pull(TwoEndItem):
    """A force along the line between two points: attractive if positive, repulsive if negative.

    A run ends if the two points coincide.

    Raises ModelError: a force that is not a number, an end given twice or not at all, ends on one and the same frame or
    that start at one point. Source: docs/theory/rigid_body.md, equation (8), with a given tension.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "pull"
    drawn: ClassVar[str] = "line"
    results: ClassVar[type[Group]] = LoadResults
    batch: ClassVar[str] = "femb.elements.spring.batch:PullBatch"

    force: Annotated[float, Unit("N")]
    """multiplied by the profile"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the force: a profile or any function of time"""

    def check(self, check: Checks) -> None:
        check_ends(check, needs_axes=False)

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: its two forces are opposite."""
        return ()

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its direction is not defined at the start."""
        start, end = coupled_stations(self, layout)
        if not np.any(layout.pose(end)[0] - layout.pose(start)[0]):
            raise ModelError.at(
                ("loads", self.name, "end"),
                "starts at the same point as the start, so that the pull has no direction: move one of the two",
            )


# Torsion spring and dashpot about one axis.


@dataclass(frozen=True, eq=False)
class TorsionSpringDamper(TwoEndItem):
    """A moment about an axis: stiffness (angle - free_angle) + damping d(angle)/dt, against the rotation of ``end``.

    The angle is the twist of the end about the axis, zero in the start pose. A run ends if it reaches 180 degrees,
    unless the spring is a pure dashpot.

    Raises ModelError: an axis of length zero, neither stiffness, damping nor torque, an end given twice or not at all.
    Source: Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "torsion"
    of_angles: ClassVar[bool] = True
    batch: ClassVar[str] = "femb.elements.spring.torsion_batch:TorsionBatch"
    acts_on_attitude: ClassVar[bool] = True

    axis: Direction
    """in axes of the start (section axes at a beam node)"""
    stiffness: Annotated[float, Unit("N m/rad"), NOT_NEGATIVE] = 0.0
    damping: Annotated[float, Unit("N m s/rad"), NOT_NEGATIVE] = 0.0
    free_angle: Annotated[float, Unit("rad")] = 0.0
    """where the moment is zero"""
    torque: Annotated[Callable[[float, float], Any], Arguments("(angle, rate) -> N m")] | None = None
    """in Python, a callable ``(angle, rate) -> N m`` for an additional torque, or ``-> (N m, N m/rad, N m s/rad)`` with
    its derivatives; Newton's iteration uses zeros for derivatives that are not given. Its energy counts as work"""

    def check(self, check: Checks) -> None:
        if "free_angle" not in check.bad:
            check.require("free_angle", abs(self.free_angle) < np.pi, "must be within half a turn, -pi to pi (rad)")
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.torque is None:
            check.fail("stiffness", "neither stiffness nor damping is given")
        check_ends(check, needs_axes=True)


# Torsion springs and dashpots on the three Euler angles between two frames.


@dataclass(frozen=True, eq=False)
class EulerSpringDamper(TwoEndItem):
    """Moments stiffness_m (angle_m - free_m) + damping_m rate_m against the Euler angles from ``start`` to ``end``.

    A run ends at gimbal lock (a distance of 1e-4 from it), and if an angle with a stiffness reaches 180 degrees.

    Raises ModelError: neither stiffness nor damping, numbers below zero, a start at gimbal lock, "body" with a sequence
    whose first axis is also its last. Source: Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "euler"
    of_angles: ClassVar[bool] = True
    batch: ClassVar[str] = "femb.elements.spring.torsion_batch:TorsionBatch"
    acts_on_attitude: ClassVar[bool] = True

    stiffness: Annotated[float | Vector, Unit("N m/rad"), NOT_NEGATIVE] = 0.0
    """of each angle"""
    damping: Annotated[float | Vector, Unit("N m s/rad"), NOT_NEGATIVE] = 0.0
    """of each angle"""
    free_angles: Annotated[Vector | None, Unit("rad")] = None
    """by default those at the start"""
    sequence: EulerSequence = "xyz"
    """of the angles, intrinsic, from the axes of the start to those of the end"""
    frame: Annotated[str, OneOf(("dual_euler", "body"))] = "dual_euler"
    """directions of the moments. "dual_euler": moment m does work on angle m alone, with the potential sum stiffness_m
    (angle_m - free_m)^2 / 2 (B^+ in the source). "body": along the axes of the end, with the relative angular velocity
    as rates (B = 1), for small angles: its energy counts as work"""

    def check(self, check: Checks) -> None:
        if not check.bad:
            if not np.any(self.stiffness) and not np.any(self.damping):
                check.fail("stiffness", "neither stiffness nor damping is given")
            if self.frame == "body":
                distinct = self.sequence[0] != self.sequence[2]
                check.require("sequence", distinct, "but frame = 'body' needs three different axes, such as 'xyz'")
        check_ends(check, needs_axes=True)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its angles are not defined at the start."""
        from femb.elements.load.euler_basis import NEAREST

        start, end = (layout.pose(station)[1] for station in coupled_stations(self, layout))
        if gimbal_distance(rotations.multiply(rotations.conjugate(start), end), self.sequence) < NEAREST:
            raise ModelError.at(
                ("springs", self.name, "sequence"),
                f"got {self.sequence!r}, at whose gimbal lock its ends start, where the angles are not defined: give "
                "another sequence",
            )

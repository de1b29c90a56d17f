"""Base class of springs and pulls between two ends, and the results of all springs."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group, Quantity
from femb.elements.item import Item
from femb.elements.marker import Place, SpringEnd, check_markers
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelView, StartPoses

# Smallest length of a spring with a defined direction, relative to its free length or length at the start.
SHORTEST = 1e-6


class SpringResults(Group):
    """Resistance of a spring, dashpot, friction or stop, and the motion against it; (T, 3) on Euler angles."""

    word: ClassVar[str] = "spring"

    force = Quantity(
        "(T,)",
        "N or N m",
        "resistance of a spring, dashpot, friction or stop: tension, or a force against an increase of the angle or "
        "stroke; (T, 3) for a spring on Euler angles, here and below",
    )
    length = Quantity("(T,)", "m", "distance of the two points, or stroke of the joint")
    angle = Quantity("(T,)", "rad", "of the torsion spring or of the joint, counting full revolutions")
    rate = Quantity(
        "(T,)",
        "m/s or rad/s",
        'of the length or the angle; for springs on Euler angles in `frame = "body"` the relative angular velocity '
        "along the axes",
    )


@dataclass(frozen=True, eq=False)
class TwoEndItem(Item):
    """Base class of items between two ends."""

    results: ClassVar[type[Group]] = SpringResults

    name: str
    start: SpringEnd
    end: SpringEnd

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its markers, by field; an anchor is none."""
        return {(word,): end for word, end in (("start", self.start), ("end", self.end)) if end.anchor is None}

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames."""
        coupled_stations(self, layout)


def check_ends(check: Checks, needs_axes: bool) -> None:
    """Report problems of the fields ``start`` and ``end``; needs_axes : whether it is a torsion spring."""
    for name in check_markers(check, SpringEnd, "start", "end"):
        end = getattr(check.item, name)
        if needs_axes and end.anchor is not None:
            check.fail(f"{name}.anchor", 'a point has no axes to turn against: give body = "ground"')
        elif needs_axes and np.any(end.at):
            check.fail(f"{name}.at", "a torsion spring acts on a body as a whole: leave it out")


def coupled_stations(spring: Any, layout: Layout) -> tuple[Station, Station]:
    """Stations of both ends, which it couples. Raises ModelError if they cannot move relative to each other."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    if start.frame == end.frame:
        raise ModelError.at(
            (spring.table, spring.name, "end"), "is fixed to the same frame as the start: nothing moves"
        )
    if not layout.frames[start.frame].freedom and not layout.frames[end.frame].freedom:
        raise ModelError.at((spring.table, spring.name, "end"), "is as fixed as the start: the spring moves nothing")
    layout.couple_by_spring((start.frame, end.frame))
    return start, end

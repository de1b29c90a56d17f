"""What all springs between two points share: their ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.elements.item import Item
from femb.elements.marker import Place, SpringEnd, check_markers
from femb.layout.layout import Layout, Station

# A spring this short, relative to its free or its start length, has no direction any more.
SHORTEST = 1e-6


@dataclass(frozen=True, eq=False)
class Pair(Item):
    """Base of the items between two ends."""

    name: str
    start: SpringEnd
    end: SpringEnd

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """The places it names, by field."""
        return {(word,): end for word, end in (("start", self.start), ("end", self.end)) if end.anchor is None}

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Couples its two frames."""
        coupled_stations(self, layout)


def check_ends(check: Checks, turning: bool) -> None:
    """Refuse what is wrong with the fields ``start`` and ``end``; ``turning`` if the spring needs axes there."""
    for name in check_markers(check, SpringEnd, "start", "end"):
        end = getattr(check.item, name)
        if turning and end.anchor is not None:
            check.fail(f"{name}.anchor", 'a point has no axes to turn against: give body = "ground"')
        elif turning and np.any(end.at):
            check.fail(f"{name}.at", "a torsion spring acts on a body as a whole: leave it out")


def coupled_stations(spring: Any, layout: Layout) -> tuple[Station, Station]:
    """Stations of both ends, coupled with each other. Raises ModelError where they cannot move against each other."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    if start.frame == end.frame:
        raise ModelError.at(
            (spring.table, spring.name, "end"), "is fixed to the same frame as the start: nothing moves"
        )
    if not layout.frames[start.frame].freedom and not layout.frames[end.frame].freedom:
        raise ModelError.at((spring.table, spring.name, "end"), "is as fixed as the start: the spring moves nothing")
    layout.couple_by_spring((start.frame, end.frame))
    return start, end

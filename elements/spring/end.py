"""End of a spring: on a body, on a beam node, or at a point fixed in inertial space."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Vector
from femb.elements.attachment import Attachment, Place
from femb.layout.layout import Layout, Station


@dataclass(frozen=True, eq=False)
class SpringEnd(Place):
    """``body`` and ``at`` (m, body axes), ``beam``, ``node`` and ``at`` (m, section axes), or ``anchor`` (m, inertial).

    An anchor is a point of space and has no axes for a torsion spring: those take the body "ground".
    """

    anchor: Vector | None = None

    def problems(self) -> list[tuple[str, str]]:
        """(field, message) of what is wrong, for the spring that owns the end."""
        found: list[tuple[str, str]] = []
        given = [word for word in ("body", "beam", "anchor") if getattr(self, word) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            found.append((given[1] if given else "body", f"got {got}, wanted one of body, beam and anchor"))
        check = Checks(self)
        with check:
            found += [(problem.item[-1], problem.message) for problem in check.problems]
            check.problems.clear()
        return found

    def station(self, layout: Layout) -> Station:
        """The end as a point of a frame."""
        if self.anchor is not None:
            return Station(layout.inertial_frame(), self.anchor)
        return layout.station(self)


def as_end(value: Any) -> Any:
    """A SpringEnd of what ``body.at`` and ``beam.node`` return; anything else as it is."""
    if isinstance(value, Attachment):
        return SpringEnd(value.body, value.beam, value.at, value.node)
    if isinstance(value, Place) and not isinstance(value, SpringEnd):
        return SpringEnd(value.body, value.beam, value.at, value.node)
    return value


def check_ends(check: Checks, turning: bool) -> None:
    """Refuse what is wrong with the fields ``start`` and ``end``; ``turning`` if the spring needs axes there."""
    for name in ("start", "end"):
        object.__setattr__(check.item, name, as_end(getattr(check.item, name)))
        value = getattr(check.item, name)
        if not isinstance(value, SpringEnd):
            check.fail(name, f"got {value!r}, wanted a SpringEnd, body.at(...) or beam.node(...)")
            continue
        problems = value.problems()
        for part, message in problems:
            check.fail(f"{name}.{part}", message)
        if turning and not problems:
            if value.anchor is not None:
                check.fail(f"{name}.anchor", 'a point has no axes to turn against: give body = "ground"')
            elif np.any(value.at):
                check.fail(f"{name}.at", "a torsion spring acts on a body as a whole: leave it out")


def lay_out_spring(spring: Any, layout: Layout) -> tuple[Station, Station]:
    """Stations of both ends, coupled with each other. Raises ModelError where they cannot move against each other."""
    from femb.base.errors import ModelError

    start, end = spring.start.station(layout), spring.end.station(layout)
    if start.frame == end.frame:
        raise ModelError.at(
            (spring.table, spring.name, "end"), "is fixed to the same frame as the start: nothing moves"
        )
    if not layout.frames[start.frame].freedom and not layout.frames[end.frame].freedom:
        raise ModelError.at((spring.table, spring.name, "end"), "is as fixed as the start: the spring moves nothing")
    layout.couple_by_spring((start.frame, end.frame))
    return start, end

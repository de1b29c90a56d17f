"""Where a thing is fixed: the end of a beam on a body, a load or a mass on a body or a beam node."""

from dataclasses import dataclass

import numpy as np

from femb.base.checks import Checks, shown
from femb.base.types import Vector


@dataclass(frozen=True, eq=False)
class Attachment:
    """The end of a beam: on a body, on a node of another beam, or free in space.

    body : its name; or beam and node (from the start, 0 to the number of elements, negative from the end), whose
    section axes then take the place of body axes. With neither, the end is free and ``at`` and ``direction`` are in
    inertial axes. at : m, body axes. direction : the beam's tangent from its start towards its end, in body axes; left
    out, it follows from the other end. up : the section's y axis is the part of ``up`` perpendicular to the tangent;
    by default ``up`` is the y axis of the body, or its z axis where the tangent is within 25 degrees of y.
    """

    body: str | None = None
    at: Vector = (0.0, 0.0, 0.0)
    direction: Vector | None = None
    up: Vector | None = None
    beam: str | None = None
    node: int = -1

    @property
    def clamped(self) -> bool:
        """Whether it is on something."""
        return self.body is not None or self.beam is not None

    @property
    def host(self) -> str:
        """What it is on, for messages."""
        return repr(self.body) if self.body is not None else f"{self.beam!r}, node {self.node}"

    def problems(self) -> list[tuple[str, str]]:
        """(field, message) of what is wrong, for the beam that owns the attachment."""
        found: list[tuple[str, str]] = []
        check = Checks(self)
        with check:
            for name in ("direction", "up"):
                value = getattr(self, name)
                if value is not None and name not in check.bad:
                    check.require(name, np.linalg.norm(value) > 0.0, "a direction must not be zero")
            if self.direction is not None and self.up is not None and not check.bad:
                cross = np.cross(self.direction, self.up)
                limit = 1e-6 * np.linalg.norm(self.direction) * np.linalg.norm(self.up)
                check.require("up", np.linalg.norm(cross) > limit, "must not be along direction")
            if self.body is not None and self.beam is not None:
                check.fail("beam", "given beside body: an end of a beam is on one or the other")
            _check_node(check)
            found = [(problem.item[-1], problem.message) for problem in check.problems]
            check.problems.clear()
        return found


@dataclass(frozen=True, eq=False)
class Place:
    """A point of the model: ``body`` and ``at`` (m, body axes), or ``beam`` and ``node`` and ``at`` (m, section axes).

    node counts from the start, 0 to the number of elements; negative numbers count from the end. A point ``at`` a
    distance from a node moves with the section there as if a rigid bracket held it.
    """

    body: str | None = None
    beam: str | None = None
    at: Vector = (0.0, 0.0, 0.0)
    node: int = -1

    def problems(self) -> list[tuple[str, str]]:
        """(field, message) of what is wrong, for the item that owns the place."""
        found: list[tuple[str, str]] = []
        if (self.body is None) == (self.beam is None):
            found.append(("body", f"got body = {self.body!r} and beam = {self.beam!r}, wanted one of the two"))
        check = Checks(self)
        with check:
            _check_node(check)
            found += [(problem.item[-1], problem.message) for problem in check.problems]
            check.problems.clear()
        return found


def _check_node(check: Checks) -> None:
    """Refuse a node of a body."""
    place = check.item
    if place.body is not None and place.beam is None and not {"body", "node"} & check.bad:
        check.require("node", place.node == -1, "but a body has no nodes: give beam and node, or body and at")


def check_on(check: Checks) -> None:
    """Refuse what is wrong with the fields body, beam, at and node of an item that is a place itself."""
    item = check.item
    if (item.body is None) == (item.beam is None):
        check.fail("body", f"got body = {item.body!r} and beam = {item.beam!r}, wanted one of the two")
    _check_node(check)


def check_place(check: Checks, name: str) -> None:
    """Refuse what is wrong with a field that holds a Place, or for the end of a beam an Attachment."""
    value = getattr(check.item, name)
    if value is None:
        return
    if not isinstance(value, Attachment | Place):
        check.fail(name, f"got {shown(value)}, wanted a Place, body.at(...) or beam.node(...)")
        return
    for part, message in value.problems():
        check.fail(f"{name}.{part}", message)

"""Placement: the start pose of every body and beam, from given poses, joints and clamps.

A body without a given pose takes it from the joints and beams that connect it to placed bodies; without any, it is at
the origin with the inertial axes.
"""

import heapq
from copy import copy
from typing import TypeVar

from femb.base.errors import ModelError, Problem
from femb.elements import FlexibleBody, Ground, Interface, PointMass
from femb.elements.beam.line import LineItem
from femb.elements.item import Item
from femb.model.beam_placement import place_beam, spanned
from femb.model.flexible_placement import place_flexible
from femb.model.model import Model
from femb.model.poses import Poses
from femb.numerics import rotations

AnyItem = TypeVar("AnyItem", bound=Item)


class Placement(Poses):
    """Start poses of all bodies and beams of a model.

    ``model`` : the model, in which beams between two points have their lengths. Raises ModelError where given poses
    contradict a beam's length or direction.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        if any(beam.spans for beam in model.beams.values()):
            self.model = copy(model)
            self.model.tables = {**model.tables, LineItem.table: dict(model.beams)}
        # numbers of the joints with an end on the body or the beam
        self._joints_on: dict[tuple[str | None, str | None], list[int]] = {}
        problems: list[Problem] = []
        self._place_given()
        todo = list(model.beams.values())
        flexible = [body for body in model.bodies.values() if isinstance(body, FlexibleBody)]
        while True:
            self._place_by_joints()
            if self._place_flexible(flexible) or self._place_beams(todo, problems):
                continue
            if flexible:
                # Nothing known touches a flexible body: it, or the body that carries it, goes to the origin.
                start = flexible[0].start
                name = flexible[0].name if start is None else str(start.body)
                self.bodies[name] = self.given_pose(name)
            elif todo:
                # No beam left touches a placed body: the first body at one of them goes to the origin.
                self._place_at_origin(todo)
            else:
                break
        if problems:
            raise ModelError(*problems)
        for name in model.bodies:
            if name not in self.bodies:
                self.bodies[name] = self.given_pose(name)

    def _place_flexible(self, todo: list[FlexibleBody]) -> bool:
        """Place the flexible bodies of the list that touch a placed body, which leave it; whether there were any."""
        placed = [body for body in todo if place_flexible(self, body)]
        for body in placed:
            todo.remove(body)
        return bool(placed)

    def _place_beams(self, todo: list[LineItem], problems: list[Problem]) -> bool:
        """Place the beams of the list with an end of known pose, which leave it; whether there were any."""
        placed = [beam for beam in todo if self._known(beam)]
        for beam in placed:
            try:
                if beam.spans:
                    self.model.tables[beam.table][beam.name] = spanned(self, beam)
                place_beam(self, self.model.beams[beam.name])
            except ModelError as error:
                problems += [problem for problem in error.problems if isinstance(problem, Problem)]
            todo.remove(beam)
        return bool(placed)

    def in_order(self, items: list[AnyItem]) -> list[AnyItem]:
        """Items of one table, sorted: a beam follows the beams that it is clamped to."""
        rank = {name: k for k, name in enumerate(self.beams)}
        return sorted(items, key=lambda item: rank[item.name] if item.table == "beams" else 0)

    def _place_given(self) -> None:
        for name, body in self.model.bodies.items():
            if body.start_pose().position is not None:
                self.bodies[name] = self.given_pose(name)
        used = {marker.body for item in self.model.items() for marker in item.markers.values()}
        if "ground" in used and "ground" not in self.bodies:
            self.bodies["ground"] = self.given_pose("ground")
        if self.bodies:
            return
        for name, body in self.model.bodies.items():
            carried = isinstance(body, FlexibleBody) and body.start is not None
            if not isinstance(body, PointMass | Interface) and not carried:
                self.bodies[name] = self.given_pose(name)
                return

    def _place_by_joints(self) -> None:
        """Set the poses of bodies without a position by their joints to placed bodies and beams.

        Repeated passes over the joints in their order; the queue has only joints with one placed end.
        """
        joints = list(self.model.tables["joints"].values())
        if not self._joints_on:
            for k, joint in enumerate(joints):
                for end in (joint.first, joint.second):
                    self._joints_on.setdefault((end.body, end.beam), []).append(k)
        waiting = [(0, k) for k, joint in enumerate(joints) if self.placed(joint.first) != self.placed(joint.second)]
        while waiting:
            sweep, k = heapq.heappop(waiting)
            joint = joints[k]
            known = [self.placed(end) for end in (joint.first, joint.second)]
            if known[0] == known[1]:
                continue
            near, far = (joint.first, joint.second) if known[0] else (joint.second, joint.first)
            if far.body is None or isinstance(self.model.body(far.body), Ground):
                continue
            at, axes = self.host(near)
            given = self.model.body(far.body).start_pose().quaternion
            pose = joint.other_pose(known[0], at + rotations.rotate(axes, near.at), axes, given)
            if pose is not None:
                self.bodies[far.body] = pose
                for other in self._joints_on[far.body, None]:
                    heapq.heappush(waiting, (sweep if other > k else sweep + 1, other))

    def _known(self, beam: LineItem) -> bool:
        known = [self.placed(end) for end in beam.attached if end is not None]
        return not known or (all(known) if beam.spans else any(known))

    def _place_at_origin(self, beams: list[LineItem]) -> None:
        for beam in beams:
            missing = [end for end in beam.attached if end is not None and not self.placed(end)]
            if beam.spans and len(missing) == 1:
                what = f"is missing, and nothing says where {missing[0].host} is: give one of the two"
                raise ModelError.at((beam.table, beam.name, "length"), what)
            for end in missing:
                if end.body is not None:
                    self.bodies[end.body] = self.given_pose(end.body)
                    return
        names = ", ".join(repr(beam.name) for beam in beams)
        raise ModelError.at(("beams",), f"the beams {names} are on each other only: one must be on a body, or free")

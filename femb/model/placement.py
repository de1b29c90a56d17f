"""Placement: the start pose of every body and beam, from what is given and what is clamped to what.

A body's pose is what its description says; what it does not say follows from the beams that reach it from placed
bodies, and failing that it is the origin and the inertial axes.
"""

import heapq
from typing import Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.elements import Attachment, Ground, PointMass
from femb.elements.beam.line import LineItem
from femb.elements.beam.shape import section_axes
from femb.model.model import Model
from femb.numerics import rotations

Pose = tuple[Floats, Floats]  # position (3,), quaternion (4,)


# Nearer to the inertial origin than this (m), the rounding of positions is below what constraints are held to.
NEAR = 1e3
# A model that is this many times as far away as it is large has positions of its own.
FAR = 10.0


class Placement:
    """Start poses: ``bodies[name]`` and, per beam, ``beams[name]`` the pose of its start.

    Positions are from the point ``origin`` (3,) m of inertial space. It is where positions are counted from unless the
    model is far away from there, and then the first position that is given: differences of positions, such as strains,
    would be lost in the rounding of numbers that are much larger.

    ``clamps[name]`` has, for each end on a body, the rotation from the body to the section.
    Raises ModelError where given poses contradict a beam's length or direction.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.origin = _origin(model)
        self.bodies: dict[str, Pose] = {}
        self.beams: dict[str, Pose] = {}
        self.clamps: dict[str, tuple[Floats | None, Floats | None]] = {}
        # numbers of the joints that have an end on a body or a beam
        self._joints_on: dict[tuple[str | None, str | None], list[int]] = {}
        problems: list[Problem] = []
        self._place_given()
        todo = list(model.beams.values())
        while True:
            self._place_by_joints()
            if not todo:
                break
            placed = [beam for beam in todo if self._known(beam)]
            if not placed:
                # Nothing of what is left touches a placed body: its first body goes to the origin.
                self._place_at_origin(todo)
                continue
            for beam in placed:
                try:
                    self._place_beam(beam)
                except ModelError as error:
                    problems += [each for each in error.problems if isinstance(each, Problem)]
                todo.remove(beam)
        if problems:
            raise ModelError(*problems)
        for name in model.bodies:
            if name not in self.bodies:
                self.bodies[name] = self._own_pose(name)

    def in_order(self, items: list[Any]) -> list[Any]:
        """Items of one table, a beam after those it is clamped to."""
        rank = {name: k for k, name in enumerate(self.beams)}
        return sorted(items, key=lambda item: rank[item.name] if item.table == "beams" else 0)

    def _own_pose(self, name: str) -> Pose:
        given = self.model.body(name).start_pose()
        position = (given.position if given.position is not None else np.zeros(3)) - self.origin
        quaternion = given.quaternion
        return position, quaternion if quaternion is not None else np.array([1.0, 0.0, 0.0, 0.0])

    def _place_given(self) -> None:
        for name, body in self.model.bodies.items():
            if body.start_pose().position is not None:
                self.bodies[name] = self._own_pose(name)
        used = {place.body for item in self.model.items() for place in item.places.values()}
        if "ground" in used and "ground" not in self.bodies:
            self.bodies["ground"] = self._own_pose("ground")
        if self.bodies:
            return
        for name, body in self.model.bodies.items():
            if not isinstance(body, PointMass):
                self.bodies[name] = self._own_pose(name)
                return

    def _place_by_joints(self) -> None:
        """Put bodies without a position where joints to placed bodies and beams want them.

        The joints are gone through in their order, again and again; only those are looked at that have come to have
        one end on what is placed.
        """
        joints = list(self.model.tables["joints"].values())
        if not self._joints_on:
            for k, joint in enumerate(joints):
                for end in (joint.first, joint.second):
                    self._joints_on.setdefault((end.body, end.beam), []).append(k)
        waiting = [(0, k) for k, joint in enumerate(joints) if self._placed(joint.first) != self._placed(joint.second)]
        while waiting:
            turn, k = heapq.heappop(waiting)
            joint = joints[k]
            known = [self._placed(end) for end in (joint.first, joint.second)]
            if known[0] == known[1]:
                continue
            near, far = (joint.first, joint.second) if known[0] else (joint.second, joint.first)
            if far.body is None or isinstance(self.model.body(far.body), Ground):
                continue
            at, axes = self._host(near)
            given = self.model.body(far.body).start_pose().quaternion
            pose = joint.other_pose(known[0], at + rotations.rotate(axes, near.at), axes, given)
            if pose is not None:
                self.bodies[far.body] = pose
                for other in self._joints_on[far.body, None]:
                    heapq.heappush(waiting, (turn if other > k else turn + 1, other))

    def _placed(self, end: Any) -> bool:
        """Whether what an end is on has its place."""
        return end is not None and (end.body in self.bodies or end.beam in self.beams)

    def _host(self, end: Any) -> Pose:
        """Pose of the body or the beam node that an end is on."""
        if end.body is not None:
            return self.bodies[end.body]
        at, axes = self.beams[str(end.beam)]
        positions, turns = self.model.beams[str(end.beam)].reference()
        return at + rotations.rotate(axes, positions[end.node]), rotations.multiply(axes, turns[end.node])

    def _known(self, beam: LineItem) -> bool:
        ends = [end for end in beam.attached if end is not None]
        return not ends or any(self._placed(end) for end in ends)

    def _place_at_origin(self, beams: list[LineItem]) -> None:
        for beam in beams:
            for end in beam.attached:
                if end is not None and end.body is not None:
                    self.bodies[end.body] = self._own_pose(end.body)
                    return
        names = ", ".join(repr(beam.name) for beam in beams)
        raise ModelError.at(("beams",), f"the beams {names} are on each other only: one must be on a body, or free")

    def _clamp_point(self, end: Attachment) -> Floats:
        position, quaternion = self._host(end)
        return position + rotations.rotate(quaternion, end.at)

    def _place_beam(self, beam: LineItem) -> None:
        start, end = beam.attached
        known_start, known_end = self._placed(start), self._placed(end)
        if known_start:
            at, axes = self._clamp_point(start), self._section_at(beam, start, known_end)
        elif known_end:
            at, axes = self._start_of(beam, self._clamp_point(end), self._section_at(beam, end, False))
        else:
            free: Any = beam.start or beam.end
            own = self._path_section(beam, free)
            at, axes = free.at - self.origin, own if own is not None else section_axes(free.direction, free.up)
            if beam.start is None or (own is None and beam.start.direction is None):
                at, axes = self._start_of(beam, at, axes)
        self.beams[beam.name] = (at, axes)
        positions, turns = beam.reference()
        tip, tip_axes = at + rotations.rotate(axes, positions[-1]), rotations.multiply(axes, turns[-1])
        if end is not None and end.body is not None and not known_end:
            self._place_body_at(beam, end, tip, tip_axes)
        elif start is not None and start.body is not None and not known_start:
            self._place_body_at(beam, start, at, axes)
        if end is not None:
            self._check_tip(beam, end, tip)
        for word, each, section in (("start", start, axes), ("end", end, tip_axes)):
            if each is not None:
                self._check_direction(beam, word, each, section)
        self.clamps[beam.name] = (self._clamp_rotation(start, axes), self._clamp_rotation(end, tip_axes))

    def _start_of(self, beam: LineItem, tip: Floats, tip_axes: Floats) -> Pose:
        """Pose of the start of a beam whose end has this pose."""
        positions, turns = beam.reference()
        axes = rotations.multiply(tip_axes, rotations.conjugate(turns[-1]))
        return tip - rotations.rotate(axes, positions[-1]), axes

    def _path_section(self, beam: LineItem, end: Attachment) -> Floats | None:
        """The section at one end of a beam whose path says it, in the axes in which the path is given."""
        first = beam.shape.first
        if first is None or end is beam.start:
            return first
        by_start = beam.start is not None and beam.start.clamped
        return None if by_start else rotations.multiply(first, beam.shape.quaternions[-1])

    def _section_at(self, beam: LineItem, end: Attachment, other_known: bool) -> Floats:
        """Section axes, inertial, by the attachment ``end``; by the two ends' points where it has no direction."""
        own = self._path_section(beam, end)
        if own is not None:
            return rotations.multiply(self._host(end)[1], own)
        if end.direction is not None:
            return rotations.multiply(self._host(end)[1], section_axes(end.direction, end.up))
        other = beam.attached[1] if end is beam.attached[0] else beam.attached[0]
        if self._placed(other) and beam.shape.straight:
            chord = self._clamp_point(beam.attached[1]) - self._clamp_point(beam.attached[0])
            if np.linalg.norm(chord) > 0.0:
                inward = rotations.rotate_back(self._host(end)[1], chord)
                return rotations.multiply(self._host(end)[1], section_axes(inward, end.up))
        if other is not None and other.direction is not None and not other.clamped:
            return section_axes(other.direction, other.up)
        word = "start" if end is beam.attached[0] else "end"
        raise ModelError.at(
            ("beams", beam.name, word, "direction"),
            f"is missing: the tangent of the beam from start to end, in the axes of {end.host}",
        )

    def _place_body_at(self, beam: LineItem, end: Attachment, point: Floats, axes: Floats) -> None:
        """Put a body so that its attachment point is at ``point`` and its attachment axes agree with the section."""
        name = str(end.body)
        quaternion = self.model.body(name).start_pose().quaternion
        clamp = self._path_section(beam, end)
        if clamp is None and end.direction is not None:
            clamp = section_axes(end.direction, end.up)
        if quaternion is None and clamp is not None:
            quaternion = rotations.multiply(axes, rotations.conjugate(clamp))
        if quaternion is None:
            quaternion = np.array([1.0, 0.0, 0.0, 0.0])
        self.bodies[name] = (point - rotations.rotate(quaternion, end.at), quaternion)

    def _clamp_rotation(self, end: Attachment | None, axes: Floats) -> Floats | None:
        if end is None:
            return None
        return rotations.multiply(rotations.conjugate(self._host(end)[1]), axes)

    def _check_tip(self, beam: LineItem, end: Attachment, tip: Floats) -> None:
        gap = self._clamp_point(end) - tip
        if np.linalg.norm(gap) > 1e-6 * beam.shape.length:
            raise ModelError.at(
                ("beams", beam.name, "end"),
                f"the beam ends at {_shown(self.origin + tip)} but its place on {end.host} is at "
                f"{_shown(self.origin + tip + gap)} m: "
                "check length, direction and the position of the body, or leave that position out",
            )

    def _check_direction(self, beam: LineItem, word: str, end: Attachment, axes: Floats) -> None:
        if end.direction is None:
            return
        x = rotations.rotate(axes, np.array([1.0, 0.0, 0.0]))
        given = rotations.rotate(self._host(end)[1], end.direction)
        if np.linalg.norm(np.cross(x, given)) > 1e-6 * np.linalg.norm(given) or x @ given < 0.0:
            raise ModelError.at(
                ("beams", beam.name, word, "direction"),
                f"got {_shown(given)} in inertial axes, but the beam {'leaves' if word == 'start' else 'arrives'} "
                f"along {_shown(x)}",
            )


def _origin(model: Model) -> Floats:
    """Where positions of a model are counted from, (3,) m."""
    poses = [(body, body.start_pose().position) for body in model.bodies.values()]
    fixed = [position for body, position in poses if position is not None and isinstance(body, Ground)]
    given = [position for body, position in poses if position is not None and not isinstance(body, Ground)]
    free = [(beam, end) for beam in model.beams.values() for end in (beam.start or beam.end,)]
    given += [end.at for beam, end in free if beam.attached == (None, None) and end is not None]
    points = np.array(given or fixed).reshape(-1, 3)
    if not len(points):
        return np.zeros(3)
    extent = float(np.max(np.linalg.norm(points - points[0], axis=1)))
    far = np.linalg.norm(points[0]) > max(NEAR, FAR * extent)
    return np.array(points[0]) if far else np.zeros(3)


def _shown(x: Floats) -> str:
    return "(" + ", ".join(f"{float(each):.6g}" for each in x) + ")"

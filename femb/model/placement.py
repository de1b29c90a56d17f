"""Placement: the start pose of every body and beam, from given poses, joints and clamps.

A body without a given pose takes it from the joints and beams that connect it to what is placed; without any, it is at
the origin with the inertial axes.
"""

import heapq
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.base.values import vector
from femb.elements import Attachment
from femb.elements.beam.line import LineItem
from femb.elements.beam.shape import section_axes
from femb.elements.item import Item, StartPose
from femb.elements.marker import Marker
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.components import norm

if TYPE_CHECKING:
    from femb.elements import FlexibleBody, Shell

# Poses of bodies and beams at the start, and the origin of positions.

Pose = tuple[Floats, Floats]  # position (3,), quaternion (4,)
# Within this distance of the inertial origin (m), the rounding of positions is below the tolerance of constraints.
NEAR = 1e3
# A model farther away than this multiple of its extent has an origin of its own.
FAR = 10.0


class Poses:
    """Known poses: ``bodies[name]``, and ``beams[name]``, the pose of the start of a beam.

    Positions are relative to ``origin`` (3,) m, inertial axes: zero, or the first given position of a model that is far
    away from the inertial origin. There, differences of positions, such as strains, would be lost in rounding.

    ``clamps[name]`` : for each end of a beam on a body, the rotation (quaternion) from the body to the section.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        # the ground always exists
        self.given = {"ground": StartPose()} | {name: body.start_pose(model) for name, body in model.bodies.items()}
        self.origin = _origin(model, self.given)
        self.bodies: dict[str, Pose] = {}
        self.beams: dict[str, Pose] = {}
        self.clamps: dict[str, tuple[Floats | None, Floats | None]] = {}

    def given_pose(self, name: str) -> Pose:
        """Pose in the description of a body; by default the inertial origin and axes."""
        given = self.given[name]
        position = (given.position if given.position is not None else np.zeros(3)) - self.origin
        quaternion = given.quaternion
        return position, quaternion if quaternion is not None else np.array([1.0, 0.0, 0.0, 0.0])

    def placed(self, end: Marker | None) -> bool:
        """Whether the pose of the body or beam at an end is known."""
        return end is not None and (end.body in self.bodies or end.beam in self.beams)

    def host(self, end: Marker) -> Pose:
        """Pose of the body or the beam node of an end."""
        if end.body is not None:
            return self.bodies[end.body]
        at, axes = self.beams[str(end.beam)]
        positions, orientations = self.model.beams[str(end.beam)].reference()
        return at + rotations.rotate(axes, positions[end.node]), rotations.multiply(axes, orientations[end.node])

    def clamp_point(self, end: Attachment) -> Floats:
        """Position of an attachment point, (3,) m."""
        position, quaternion = self.host(end)
        return position + rotations.rotate(quaternion, end.at)

    def check_point(
        self, path: tuple[str, ...], what: str, point: Floats, end: Attachment, size: float, advice: str
    ) -> None:
        """Raise ModelError unless a point (3,) of an item of that size (m) is where its attachment is."""
        gap = self.clamp_point(end) - point
        if norm(gap) > 1e-6 * size:
            at, wanted = vector(self.origin + point), vector(self.origin + point + gap)
            raise ModelError.at(path, f"{what} {at} but its place on {end.host} is at {wanted} m: {advice}")


def _origin(model: Model, start: Mapping[str, StartPose]) -> Floats:
    """The origin of the positions of a model, (3,) m, by the ``start`` of its bodies; see ``Poses``."""
    poses = [(body, start[name].position) for name, body in model.bodies.items()]
    fixed = [position for body, position in poses if position is not None and not body.moves]
    given = [position for body, position in poses if position is not None and body.moves]
    free = [(beam, end) for beam in model.beams.values() for end in (beam.start or beam.end,)]
    given += [end.at for beam, end in free if beam.attached == (None, None) and end is not None]
    points = np.array(given or fixed).reshape(-1, 3)
    if not len(points):
        return np.zeros(3)
    extent = float(np.max(np.linalg.norm(points - points[0], axis=1)))
    far = norm(points[0]) > max(NEAR, FAR * extent)
    return np.array(points[0]) if far else np.zeros(3)


# Start pose of one beam, by the clamp at one end, and of the body at the other end.


def place_beam(poses: Poses, beam: LineItem) -> None:
    """Set the pose and the clamps of a beam, and the pose of the body at its other end if that has none yet.

    Raises ModelError where given poses contradict the beam's length or direction.
    """
    start, end = beam.attached
    known_start, known_end = poses.placed(start), poses.placed(end)
    if known_start:
        at, axes = poses.clamp_point(start), _section_at(poses, beam, start, known_end)
    elif known_end:
        at, axes = _start_of(poses, beam, poses.clamp_point(end), _section_at(poses, beam, end, False))
    else:
        free: Any = beam.start or beam.end
        path_axes = _path_section(poses, beam, free)
        at, axes = (
            free.at - poses.origin,
            path_axes if path_axes is not None else section_axes(free.direction, free.across),
        )
        if beam.start is None or (path_axes is None and beam.start.direction is None):
            at, axes = _start_of(poses, beam, at, axes)
    poses.beams[beam.name] = (at, axes)
    positions, orientations = beam.reference()
    tip, tip_axes = at + rotations.rotate(axes, positions[-1]), rotations.multiply(axes, orientations[-1])
    if end is not None and end.body is not None and not known_end:
        _place_body_at(poses, beam, end, tip, tip_axes)
    elif start is not None and start.body is not None and not known_start:
        _place_body_at(poses, beam, start, at, axes)
    if end is not None:
        advice = "check length, direction and the position of the body, or leave that position out"
        poses.check_point((beam.table, beam.name, "end"), "the beam ends at", tip, end, beam.shape.length, advice)
    for word, attachment, section in (("start", start, axes), ("end", end, tip_axes)):
        if attachment is not None:
            _check_direction(poses, beam, word, attachment, section)
    poses.clamps[beam.name] = (_clamp_rotation(poses, start, axes), _clamp_rotation(poses, end, tip_axes))


def spanned(poses: Poses, beam: LineItem) -> LineItem:
    """A beam without a length, with that and the direction from its start to its end, whose poses must be known.

    Raises ModelError where the ends coincide, or a given direction is another one.
    """
    ends = {"start": beam.start, "end": beam.end}
    points = [
        poses.clamp_point(end) if end.clamped else end.at - poses.origin for end in ends.values() if end is not None
    ]
    chord = points[1] - points[0]
    length = norm(chord)
    if not length > 0.0:
        at = vector(poses.origin + points[0])
        raise ModelError.at((beam.table, beam.name, "end"), f"is at {at} m, where the start is: a beam needs a length")
    words: dict[str, Any] = {"length": length}
    for word, end in ends.items():
        if end is None:
            continue
        axes = poses.host(end)[1] if end.clamped else np.array([1.0, 0.0, 0.0, 0.0])
        own = rotations.rotate_back(axes, chord)
        if end.direction is None:
            words[word] = replace(end, direction=own)
        elif norm(rotations.cross(own, end.direction)) > 1e-6 * length * norm(end.direction) or (
            own @ end.direction < 0.0
        ):
            advice = f"but the end is in the direction {vector(own / length)} from the start: leave one of them out"
            raise ModelError.at((beam.table, beam.name, word, "direction"), f"got {vector(end.direction)}, {advice}")
    return replace(beam, **words)  # type: ignore[type-var]


def _start_of(poses: Poses, beam: LineItem, tip: Floats, tip_axes: Floats) -> Pose:
    """Pose of the start of a beam whose end has the pose ``tip``, ``tip_axes``."""
    positions, orientations = beam.reference()
    axes = rotations.multiply(tip_axes, rotations.conjugate(orientations[-1]))
    return tip - rotations.rotate(axes, positions[-1]), axes


def _path_section(poses: Poses, beam: LineItem, end: Attachment) -> Floats | None:
    """Section axes at one end of a beam, in the axes of its path, where the path gives them; else None."""
    first = beam.shape.first
    if first is None or end is beam.start:
        return first
    by_start = beam.start is not None and beam.start.clamped
    return None if by_start else rotations.multiply(first, beam.shape.quaternions[-1])


def _section_at(poses: Poses, beam: LineItem, end: Attachment, other_known: bool) -> Floats:
    """Section axes, inertial, by the attachment ``end``; by the points of both ends where it has no direction."""
    path_axes = _path_section(poses, beam, end)
    if path_axes is not None:
        return rotations.multiply(poses.host(end)[1], path_axes)
    if end.direction is not None:
        return rotations.multiply(poses.host(end)[1], section_axes(end.direction, end.across))
    other = beam.attached[1] if end is beam.attached[0] else beam.attached[0]
    if poses.placed(other) and beam.shape.straight:
        chord = poses.clamp_point(beam.attached[1]) - poses.clamp_point(beam.attached[0])
        if norm(chord) > 0.0:
            inward = rotations.rotate_back(poses.host(end)[1], chord)
            return rotations.multiply(poses.host(end)[1], section_axes(inward, end.across))
    if other is not None and other.direction is not None and not other.clamped:
        return section_axes(other.direction, other.across)
    word = "start" if end is beam.attached[0] else "end"
    raise ModelError.at(
        (beam.table, beam.name, word, "direction"),
        f"is missing: the tangent of the beam from start to end, in the axes of {end.host}",
    )


def _place_body_at(poses: Poses, beam: LineItem, end: Attachment, point: Floats, axes: Floats) -> None:
    """Set the pose of a body so that its attachment is at ``point`` with the axes of the section."""
    name = str(end.body)
    quaternion = poses.given[name].quaternion
    clamp_axes = _path_section(poses, beam, end)
    if clamp_axes is None and end.direction is not None:
        clamp_axes = section_axes(end.direction, end.across)
    if quaternion is None and clamp_axes is not None:
        quaternion = rotations.multiply(axes, rotations.conjugate(clamp_axes))
    if quaternion is None:
        quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    poses.bodies[name] = (point - rotations.rotate(quaternion, end.at), quaternion)


def _clamp_rotation(poses: Poses, end: Attachment | None, axes: Floats) -> Floats | None:
    if end is None:
        return None
    return rotations.multiply(rotations.conjugate(poses.host(end)[1]), axes)


def _check_direction(poses: Poses, beam: LineItem, word: str, end: Attachment, axes: Floats) -> None:
    if end.direction is None:
        return
    x = rotations.rotate(axes, np.array([1.0, 0.0, 0.0]))
    given = rotations.rotate(poses.host(end)[1], end.direction)
    if norm(rotations.cross(x, given)) > 1e-6 * norm(given) or x @ given < 0.0:
        raise ModelError.at(
            (beam.table, beam.name, word, "direction"),
            f"got {vector(given)} in inertial axes, but the beam {'leaves' if word == 'start' else 'arrives'} "
            f"along {vector(x)}",
        )


# Start poses of a flexible body, of its interfaces, and of the bodies that they are attached to.


def place_flexible(poses: Poses, body: "FlexibleBody") -> bool:
    """Set the poses of a body and of all its interfaces by one that is known; whether one is.

    Raises ModelError where the attached bodies contradict the undeformed body.
    """
    rest = {name: body.rest_pose(name) for name in body.reduced.interface_names}
    root = next(iter(rest))
    names = {root: body.name} | {name: item.name for name, item in body.free_interfaces.items()}
    known: Pose | None = None
    for name, pose in rest.items():
        end = body.attached.get(name)
        if end is not None and poses.placed(end):
            known = _after(_after(poses.host(end), (end.at, _axes(end))), _inverse(pose))
        elif end is None and names[name] in poses.bodies:
            known = _after(poses.bodies[names[name]], _inverse(pose))
        if known is not None:
            break
    if known is None:
        return False
    poses.bodies[body.name] = known
    for name, pose in rest.items():
        end, placed = body.attached.get(name), _after(known, pose)
        if end is None:
            poses.bodies[names[name]] = placed
        elif poses.placed(end):
            field = ("start",) if name == root else ("interfaces", name)
            path, size = (body.table, body.name, *field), float(np.max(np.linalg.norm(body.reduced.interfaces, axis=1)))
            advice = "check the position of the body, or leave it out"
            poses.check_point(path, "the undeformed interface is at", placed[0], end, max(size, 1e-3), advice)
        else:
            poses.bodies[str(end.body)] = _after(placed, _inverse((end.at, _axes(end))))
    return True


def _axes(end: Attachment) -> Floats:
    """Quaternion of the interface in the axes of the body that carries it."""
    if end.direction is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return section_axes(end.direction, end.across)


def _after(pose: Pose, relative: Pose) -> Pose:
    return pose[0] + rotations.rotate(pose[1], relative[0]), rotations.multiply(pose[1], relative[1])


def _inverse(pose: Pose) -> Pose:
    back = rotations.conjugate(pose[1])
    return -rotations.rotate(back, pose[0]), back


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
        # names of the shells, in the order in which they are placed
        self._shells: list[str] = []
        problems: list[Problem] = []
        self._place_given()
        todo = list(model.beams.values())
        flexible: list[Any] = [body for body in model.bodies.values() if body.has_interfaces]
        shells = list(model.shells.values())
        if not self.bodies:
            self._place_beams(todo, problems)
            self._place_first()
        while True:
            self._place_by_joints()
            if self._place_shells(shells) or self._place_flexible(flexible) or self._place_beams(todo, problems):
                continue
            if flexible:
                # Nothing known touches a flexible body: it, or the body that carries it, goes to the origin.
                carrier = flexible[0].carried_by
                name = flexible[0].name if carrier is None else str(carrier.body)
                self.bodies[name] = self.given_pose(name)
            elif todo:
                # No beam left touches a placed body: the first body at one of them goes to the origin.
                self._place_at_origin(todo)
            elif joined := [
                name for name in model.bodies if name not in self.bodies and (name, None) in self._joints_on
            ]:
                # A structure without a given position: its first body goes to the origin, the others follow by joints.
                self.bodies[joined[0]] = self.given_pose(joined[0])
            elif unknown := [str(shell.frame) for shell in shells if not self._has_frame(shell)]:
                # nothing says where the body is in whose axes a shell is given
                self.bodies[unknown[0]] = self.given_pose(unknown[0])
            elif shells:
                ring = ", ".join(shell.name for shell in shells)
                what = f"each of the shells {ring} is on an edge of another: one of them must be on none of the others"
                raise ModelError.at((shells[0].table, shells[0].name, "attach"), what)
            else:
                break
        if problems:
            raise ModelError(*problems)
        for name in model.bodies:
            if name not in self.bodies:
                self.bodies[name] = self.given_pose(name)

    def _place_flexible(self, todo: "list[FlexibleBody]") -> bool:
        """Place the flexible bodies of the list that touch a placed body, which leave it; whether there were any."""
        placed = [body for body in todo if place_flexible(self, body)]
        for body in placed:
            todo.remove(body)
        return bool(placed)

    def _has_frame(self, shell: "Shell") -> bool:
        return shell.frame is None or shell.frame in self.bodies

    def _place_shells(self, todo: "list[Shell]") -> bool:
        """Place the named points of the shells of the list whose frame is known and whose neighbours are placed, which
        leave it; whether there were any."""
        waiting = {shell.name for shell in todo}
        placed = [
            shell
            for shell in todo
            if self._has_frame(shell) and not waiting & {name for name, _ in shell.neighbours.values()}
        ]
        for shell in placed:
            here = -self.origin, np.array([1.0, 0.0, 0.0, 0.0])
            self.bodies |= shell.point_poses(here if shell.frame is None else self.bodies[shell.frame])
            self._shells.append(shell.name)
            todo.remove(shell)
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
        """Items of one table, sorted: a beam follows the beams that it is clamped to, a shell those on whose edges it
        is."""
        orders = {"beams": list(self.beams), "shells": self._shells}
        rank = {(table, name): k for table, names in orders.items() for k, name in enumerate(names)}
        return sorted(items, key=lambda item: rank.get((item.table, item.name), 0))

    def _place_given(self) -> None:
        for name, start in self.given.items():
            if start.position is not None:
                self.bodies[name] = self.given_pose(name)
        if "ground" not in self.bodies and any(
            marker.body == "ground" for item in self.model.items() for marker in item.markers.values()
        ):
            self.bodies["ground"] = self.given_pose("ground")

    def _place_first(self) -> None:
        """Set the pose of the first body of a model without any: by a joint with a free beam, or at the origin."""
        for name, body in self.model.bodies.items():
            if body.has_axes and body.in_case_files and body.carried_by is None:
                position, quaternion = self.given_pose(name)
                for joint in self.model.joints.values():
                    for near, far in ((joint.first, joint.second), (joint.second, joint.first)):
                        if far.body == name and near.beam in self.beams:
                            at, axes = self.host(near)
                            point = at + rotations.rotate(axes, near.at)
                            pose = joint.other_pose(near is joint.first, point, axes, quaternion)
                            position = position if pose is None else pose[0]
                self.bodies[name] = position, quaternion
                return

    def _place_by_joints(self) -> None:
        """Set the poses of bodies without a position by their joints to placed bodies and beams.

        Repeated passes over the joints in their order; the queue has only joints with one placed end.
        """
        joints = list(self.model.joints.values())
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
            body = None if far.body is None else self.model.body(far.body)
            if far.body is None or body is None or not body.moves:
                continue
            at, axes = self.host(near)
            given = self.given[far.body].quaternion
            pose = joint.other_pose(known[0], at + rotations.rotate(axes, near.at), axes, given)
            if pose is not None:
                self.bodies[far.body] = pose
                for other in self._joints_on[far.body, None]:
                    heapq.heappush(waiting, (sweep if other > k else sweep + 1, other))

    def _known(self, beam: LineItem) -> bool:
        """Whether a beam can be placed: an end is known, and, since a beam places no other, all that are on beams."""
        ends = [end for end in beam.attached if end is not None]
        known = [self.placed(end) for end in ends]
        if not all(on for end, on in zip(ends, known, strict=True) if end.beam is not None):
            return False
        return not known or (all(known) if beam.spans else any(known))

    def _place_at_origin(self, beams: list[LineItem]) -> None:
        for beam in beams:
            missing = [end for end in beam.attached if end is not None and not self.placed(end)]
            if beam.spans and len(missing) == 1:
                place = f" or bodies.{missing[0].body}.position" * (missing[0].body is not None)
                what = f"is missing, and nothing says where {missing[0].host} is: give the length{place}"
                raise ModelError.at((beam.table, beam.name, "length"), what)
            for end in missing:
                if end.body is not None:
                    self.bodies[end.body] = self.given_pose(end.body)
                    return
        names = ", ".join(repr(beam.name) for beam in beams)
        raise ModelError.at(("beams",), f"the beams {names} are on each other only: one must be on a body, or free")

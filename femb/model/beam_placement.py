"""Start pose of one beam, by the clamp at one end, and of the body at the other end."""

from dataclasses import replace
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import vector
from femb.elements import Attachment
from femb.elements.beam.line import LineItem
from femb.elements.beam.shape import section_axes
from femb.model.poses import Pose, Poses
from femb.numerics import rotations
from femb.numerics.components import norm


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
        at, axes = free.at - poses.origin, path_axes if path_axes is not None else section_axes(free.direction, free.up)
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
        poses.check_point(("beams", beam.name, "end"), "the beam ends at", tip, end, beam.shape.length, advice)
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
        raise ModelError.at(("beams", beam.name, "end"), f"is at {at} m, where the start is: a beam needs a length")
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
            raise ModelError.at(("beams", beam.name, word, "direction"), f"got {vector(end.direction)}, {advice}")
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
        return rotations.multiply(poses.host(end)[1], section_axes(end.direction, end.up))
    other = beam.attached[1] if end is beam.attached[0] else beam.attached[0]
    if poses.placed(other) and beam.shape.straight:
        chord = poses.clamp_point(beam.attached[1]) - poses.clamp_point(beam.attached[0])
        if norm(chord) > 0.0:
            inward = rotations.rotate_back(poses.host(end)[1], chord)
            return rotations.multiply(poses.host(end)[1], section_axes(inward, end.up))
    if other is not None and other.direction is not None and not other.clamped:
        return section_axes(other.direction, other.up)
    word = "start" if end is beam.attached[0] else "end"
    raise ModelError.at(
        ("beams", beam.name, word, "direction"),
        f"is missing: the tangent of the beam from start to end, in the axes of {end.host}",
    )


def _place_body_at(poses: Poses, beam: LineItem, end: Attachment, point: Floats, axes: Floats) -> None:
    """Set the pose of a body so that its attachment is at ``point`` with the axes of the section."""
    name = str(end.body)
    quaternion = poses.model.body(name).start_pose().quaternion
    clamp_axes = _path_section(poses, beam, end)
    if clamp_axes is None and end.direction is not None:
        clamp_axes = section_axes(end.direction, end.up)
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
            ("beams", beam.name, word, "direction"),
            f"got {vector(given)} in inertial axes, but the beam {'leaves' if word == 'start' else 'arrives'} "
            f"along {vector(x)}",
        )

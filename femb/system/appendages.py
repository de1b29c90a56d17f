"""Appendages: the parts that hang on a body or on the ground, each connected without it.

Source: docs/theory/modes.md, section 3, and docs/theory/loads.md, section 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from femb.base.types import Floats
from femb.elements.body.body import RigidBody
from femb.layout.connections import groups_of
from femb.layout.layout import Layout
from femb.model.model import Model

# Largest distance (m) of two points of attachment that count as one.
SAME_POINT = 1e-9


@dataclass(frozen=True, eq=False)
class Appendage:
    """Frames (f,) that are connected without the held ones, and the items that are on them, by table and name; or no
    frames, but the internal coordinates (m,) of a flexible body all of whose interfaces are on held ones."""

    name: str
    frames: tuple[int, ...]
    items: tuple[str, ...]
    internal: tuple[int, ...] = ()


def appendages_of(layout: Layout, model: Model, held: set[int]) -> list[Appendage]:
    """The appendages of the held frames, in the order of the model; each is named by the item that connects it."""
    groups = groups_of(layout, joined=True, without=held | points_in_space(layout))
    number = {frame: k for k, frames in enumerate(groups) for frame in frames}
    items: list[list[str]] = [[] for _ in groups]
    names: dict[int, str] = {}
    for path, frames in _frames_of_items(layout, model):
        for k in dict.fromkeys(number[frame] for frame in frames if frame in number):
            items[k].append(path)
    known = [set(paths) for paths in items]
    for item in model.items():
        if not held.isdisjoint(layout.frames_on(item)):
            for k in {number[frame] for frame in item.frames(layout) if frame in number}:
                if f"{item.table}.{item.name}" in known[k]:
                    names.setdefault(k, item.name)
    found = [
        Appendage(names.get(k, items[k][0].partition(".")[2]), tuple(frames), tuple(items[k]))
        for k, frames in enumerate(groups)
        if items[k]
    ]
    return found + [
        Appendage(name, (), (f"bodies.{name}",), tuple(body.modes))
        for name, body in layout.flexible_bodies.items()
        if held.issuperset(station.frame for station in body.stations.values())
    ]


def attachment(layout: Layout, model: Model, appendage: Appendage, root: int) -> Floats | None:
    """(3,) m where the appendage is on the root frame, in the axes of that; None where it is at several points."""
    points = []
    for path in appendage.items:
        table, _, name = path.partition(".")
        item = model.tables[table].get(name)
        for marker in item.markers.values() if item is not None else ():
            if layout.frame_of(marker) == root:
                points.append(layout.station(marker).offset)
    same = bool(points) and all((abs(point - points[0]) <= SAME_POINT).all() for point in points[1:])
    return points[0] if same else None


def points_in_space(layout: Layout) -> set[int]:
    """The fixed frame of points in space, if there are any: what is on them is loaded, but is no part of the ground."""
    return set() if layout.inertial is None else {layout.inertial}


def roots(layout: Layout, model: Model) -> list[tuple[int, ...]]:
    """The frames of the parent of each connected part: the ground, or its heaviest rigid body, the first of equals.

    Points in space connect nothing.
    """
    space = points_in_space(layout)
    fixed = tuple(k for k in layout.numbers.fixed_frames if k not in space)
    groups = groups_of(layout, joined=True, without=space)
    component = {frame: number for number, frames in enumerate(groups) for frame in frames}
    grounded = {component[k] for k in fixed}
    heaviest: dict[int, RigidBody] = {}
    for body in model.bodies.values():
        if isinstance(body, RigidBody):
            part = component[layout.bodies[body.name]]
            if part not in grounded and (part not in heaviest or body.mass > heaviest[part].mass):
                heaviest[part] = body
    moving: list[tuple[int, ...]] = [(layout.bodies[body.name],) for body in heaviest.values()]
    return [fixed, *moving] if fixed else moving


def _frames_of_items(layout: Layout, model: Model) -> Iterator[tuple[str, list[int]]]:
    """Path and frames of bodies, beams, shells, joints, lines of hinges and springs."""
    for name, frame in layout.bodies.items():
        yield f"bodies.{name}", [frame]
    for name, body in layout.flexible_bodies.items():
        if name not in layout.bodies:  # its root is on another
            yield f"bodies.{name}", [station.frame for station in body.stations.values()]
    for name, beam in layout.beams.items():
        yield f"beams.{name}", [station.frame for station in beam.stations]
    for name, shell in layout.shells.items():
        yield f"shells.{name}", shell.frames
    for name, joint in layout.joints.items():
        yield f"joints.{name}", [joint.first.frame, joint.second.frame]
    for name, line in layout.hinges.items():
        yield f"hinges.{name}", [end.frame for joint in line for end in (joint.first, joint.second)]
    for name, spring in model.springs.items():
        yield f"springs.{name}", sorted(layout.frames_on(spring))

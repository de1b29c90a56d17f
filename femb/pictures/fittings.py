"""Rods to where others attach, lines of springs and ropes, and symbols of wheels, thrusters, sensors and tanks.

Rods stand where an attachment is away from what it is on. Wheels are rings about their axis, thrusters cones whose
plume leaves against the force, sensors arrows along their boresight or axes, tanks the cylinder of their liquid at
rest. Symbols are seen through bodies.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from femb.base.arrays import NOTHING
from femb.base.quantity import Group
from femb.base.types import Floats, Ints
from femb.numerics import rotations
from femb.pictures import geometry
from femb.pictures.parts import Part, PartState, flexible_meshes
from femb.results.results import Results

LINE = "line"
SIDES = 6
THIN = 0.0036  # radius of rods and lines, as a fraction of the extent
SYMBOL, LEAST = 0.05, 0.02  # size of symbols and the smallest on a shape, as fractions of the extent
OF_SHAPE = 0.2  # size of symbols, as a fraction of the shape of what carries them
STILL = np.array([1.0, 0.0, 0.0, 0.0])
RING, ROUND = 24, 6  # sides of the ring of a wheel, and of its section


@dataclass(frozen=True)
class Host:
    """A body, or the section at a node of a beam."""

    group: Any
    node: int | None = None

    def pose(self, k: int | slice) -> tuple[Floats, Floats]:
        """Position (..., 3) and quaternion (..., 4) at output time k."""
        at = (k,) if self.node is None else (k, self.node)
        return self.group.position[at], self.group.quaternion[at]

    def carried(self, k: int, points: Floats) -> PartState:
        """Points (n, 3) m in its axes, as they move with it at output time k."""
        position, quaternion = self.pose(k)
        at = (k,) if self.node is None else (k, self.node)
        rates = np.cross(self.group.angular_velocity[at], points)
        return PartState(
            position + rotations.rotate(quaternion, points),
            self.group.velocity[at] + rotations.rotate(quaternion, rates),
            np.tile(quaternion, (len(points), 1)),
            NOTHING,
        )


@dataclass(frozen=True)
class Fitting:
    """A rod or a symbol of an item: triangles (j, 3) of points (n, 3) m in the axes of a host. word : of the item, as
    "wheel"; empty of a rod."""

    drawn: str
    word: str
    name: str
    host: Host
    points: Floats
    triangles: Ints

    @property
    def title(self) -> str:
        """The item in words."""
        return f"{self.word} {self.name}".strip()

    def at(self, k: int) -> Floats:
        """(n, 3) inertial points at output time k."""
        position, quaternion = self.host.pose(k)
        return position + rotations.rotate(quaternion, self.points)


@dataclass(frozen=True)
class FittingLine:
    """A line of an item through points (3,) m in the axes of hosts; of no host, in inertial axes."""

    word: str
    name: str
    ends: tuple[tuple[Host | None, Floats], ...]
    radius: float

    @property
    def triangles(self) -> Ints:
        """Triangles (j, 3) of the points `at` an output time."""
        return np.concatenate([2 * SIDES * k + _tube() for k in range(len(self.ends) - 1)])

    def at(self, k: int) -> Floats:
        """(n, 3) inertial corners of rods from point to point at output time k."""
        places = []
        for host, point in self.ends:
            position, quaternion = (np.zeros(3), STILL) if host is None else host.pose(k)
            places.append(position + rotations.rotate(quaternion, point))
        return np.concatenate([_rod(*both, self.radius) for both in pairwise(places)])

    def state(self, k: int) -> PartState:
        """Its points at output time k."""
        states = [
            PartState(point[None], np.zeros((1, 3)), STILL[None], NOTHING)
            if host is None
            else host.carried(k, point[None])
            for host, point in self.ends
        ]
        points, velocities, quaternions = (
            np.concatenate([getattr(state, word) for state in states])
            for word in ("points", "velocities", "quaternions")
        )
        return PartState(points, velocities, quaternions, NOTHING)


def rods_of(results: Results, extent: float) -> list[Fitting]:
    """Rods from bodies and beam nodes to points on them, outside of their shapes, at which others attach."""
    radius, found = THIN * extent, list[Fitting]()
    known: dict[tuple[str, int | None], list[Floats]] = {}
    for group in (*results.joints.values(), *results.beams.values(), *results.bodies.values(), *_drawn(results, LINE)):
        for end in group.attachments.values():
            host = _host(results, end)
            if host is None or (host.node is None and host.group.fixed):
                continue
            point, others = np.asarray(end["at"], dtype=float), known.setdefault((host.group.path, host.node), [])
            if _inside(host, point, radius) or any(np.allclose(point, other, atol=radius) for other in others):
                continue
            others.append(point)
            found.append(Fitting("rod", "", host.group.name, host, _rod(np.zeros(3), point, radius), _tube()))
    return found


def lines_of(results: Results, extent: float) -> list[FittingLine]:
    """Springs, pulls, rods and ropes between points."""
    found = []
    for group in _drawn(results, LINE):
        places = group.attachments.values()
        hosts = [_host(results, end) for end in places]
        if len(hosts) > 1 and all(host is not None or "anchor" in end for host, end in zip(hosts, places, strict=True)):
            points = [np.asarray(end["anchor"] if host is None else end["at"], dtype=float)
                      for host, end in zip(hosts, places, strict=True)]  # fmt: skip
            found.append(FittingLine(group.word, group.name, tuple(zip(hosts, points, strict=True)), THIN * extent))
    return found


def symbols_of(results: Results, extent: float) -> list[Fitting]:
    """Symbols of wheels, thrusters and sensors, by the size of the shape that carries them, and tanks."""
    shapes = {"ring": _ring, "cone": _cone, "arrow": _arrow}
    found = []
    for group in _drawn(results, *shapes, "drum"):
        drawn = group.attributes["drawn"]
        gimbal = results.bodies.get(f"{group.name}_gimbal") if drawn == "ring" else None
        for end in group.attachments.values():
            host = _host(results, end) if gimbal is None else Host(gimbal)
            if host is None:
                continue
            size = _size(host, extent)
            ways = [np.asarray(way, dtype=float) for way in end["along"]]
            parts = [_drum(way, end["size"]) if drawn == "drum" else shapes[drawn](way, size) for way in ways]
            starts = np.cumsum([0, *(len(points) for points, _ in parts[:-1])])
            points = (np.asarray(end["at"]) if gimbal is None else 0.0) + np.concatenate([each for each, _ in parts])
            faces = [start + each for start, (_, each) in zip(starts, parts, strict=True)]
            found.append(Fitting(drawn, group.word, group.name, host, points, np.concatenate(faces)))
    return found


def _drawn(results: Results, *words: str) -> Iterator[Group]:
    """The items that are shown in one of some ways."""
    for table in results.tables:
        yield from (group for group in results.of_table(table).values() if group.attributes.get("drawn") in words)


def _host(results: Results, end: Mapping[str, Any]) -> Host | None:
    """The host of a place; None where its motion is not recorded."""
    group: Any = results.bodies.get(end["body"]) if "body" in end else results.beams.get(end.get("beam", ""))
    return Host(group, end.get("node")) if group is not None and "position" in group and "quaternion" in group else None


def _inside(host: Host, point: Floats, radius: float) -> bool:
    """Whether a point is at the reference point, within the box around a shape, or on a flexible body."""
    if np.linalg.norm(point) <= radius:
        return True
    if host.node is not None:
        return False
    if not host.group.shape:
        return bool(flexible_meshes(host.group))
    corners = geometry.body_surface(host.group.shape)[0]
    return bool(np.all((point >= np.min(corners, axis=0) - radius) & (point <= np.max(corners, axis=0) + radius)))


def _size(host: Host, extent: float) -> float:
    shape = host.group.shape if host.node is None else None
    if not shape:
        return SYMBOL * extent
    return max(LEAST * extent, OF_SHAPE * float(np.max(np.ptp(geometry.body_surface(shape)[0], axis=0))))


def _across(along: Floats) -> Floats:
    """(2, 3): two unit vectors across a unit vector, right-handed."""
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(along, side)])


def _circle(along: Floats, sides: int) -> Floats:
    """(sides, 3) points of the unit circle about a unit vector."""
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ _across(along)


def _rod(first: Floats, second: Floats, radius: float) -> Floats:
    """(2 SIDES, 3) corners of a rod between two points; a point where they coincide."""
    away = second - first
    length = float(np.linalg.norm(away))
    ring = radius * _circle(away / length, SIDES) if length > 0.0 else np.zeros((SIDES, 3))
    return np.concatenate([first + ring, second + ring])


def _tube(sides: int = SIDES) -> Ints:
    """(2 sides, 3) outward triangles between a ring of points and the next one."""
    near = np.arange(sides)
    after = (near + 1) % sides
    return np.stack([near, after, after + sides, near, after + sides, near + sides], axis=1).reshape(-1, 3)


def _drum(along: Floats, size: Sequence[float]) -> tuple[Floats, Ints]:
    """A cylinder of a radius and a height (m) about a unit vector, around the origin."""
    points, faces = geometry.body_surface({"cylinder": size})
    return points @ np.concatenate([_across(along), along[None]]), faces


def _cone(along: Floats, size: float) -> tuple[Floats, Ints]:
    """A cone with its tip at the origin that opens against a unit vector."""
    base = -size * along + 0.3 * size * _circle(along, SIDES * 2)
    near = np.arange(len(base))
    after, tip, middle = (near + 1) % len(base), np.full(len(base), len(base)), np.full(len(base), len(base) + 1)
    points = np.concatenate([base, np.zeros((1, 3)), [-size * along]])
    return points, np.concatenate([np.stack([near, after, tip], 1), np.stack([after, near, middle], 1)])


def _arrow(along: Floats, size: float) -> tuple[Floats, Ints]:
    """An arrow from the origin along a unit vector."""
    tip, faces = _cone(along, 0.35 * size)
    shaft = _rod(np.zeros(3), 0.7 * size * along, 0.03 * size)
    return np.concatenate([shaft, size * along + tip]), np.concatenate([_tube(), len(shaft) + faces])


def _ring(along: Floats, size: float) -> tuple[Floats, Ints]:
    """A ring about a unit vector, and its axis."""
    radial = _circle(along, RING)
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    out, up = 0.45 * size + 0.05 * size * np.cos(angle), 0.05 * size * np.sin(angle)
    ring = (radial[:, None] * out[:, None] + up[:, None] * along).reshape(-1, 3)
    i, j = np.divmod(np.arange(RING * ROUND), ROUND)
    corner = [((i + a) % RING) * ROUND + (j + b) % ROUND for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    faces = np.concatenate(
        [np.stack([corner[0], corner[1], corner[2]], 1), np.stack([corner[0], corner[2], corner[3]], 1)]
    )
    axle = _rod(-0.3 * size * along, 0.3 * size * along, 0.03 * size)
    return np.concatenate([axle, ring]), np.concatenate([_tube(), len(axle) + faces])


class SymbolPart(Part):
    """A symbol as a part of a mesh."""

    cell_type = "triangle"

    def __init__(self, fitting: Fitting) -> None:
        self.kind, self.name = fitting.word, fitting.name
        self.fitting, self.cells = fitting, fitting.triangles
        self.element = np.zeros(len(self.cells), dtype=np.int64)

    def state(self, k: int) -> PartState:
        return self.fitting.host.carried(k, self.fitting.points)


class LinePart(Part):
    """A spring, a pull, a rod or a rope as a part of a mesh."""

    cell_type = "line"

    def __init__(self, line: FittingLine) -> None:
        self.kind, self.name, self.line = line.word, line.name, line
        self.cells = geometry.line_cells(1, len(line.ends) - 1)
        self.element = np.zeros(len(self.cells), dtype=np.int64)

    def state(self, k: int) -> PartState:
        return self.line.state(k)

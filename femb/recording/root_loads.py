"""Root loads: the force and the torque of every appendage on its parent, at output instants.

The parent is the ground, or of a part without ground its heaviest rigid body. What an appendage does to it is the sum
over all that connects the two: ends of beams, whose section forces contain their inertia and the loads along them;
interfaces of flexible bodies; joints, latches and drivers with their multipliers; springs, motors and pulls.
Source: docs/theory/loads.md, section 3.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.item import Item
from femb.elements.private_blocks import FieldOnElements
from femb.layout.element import Batch
from femb.layout.layout import Station
from femb.layout.protocols import HasInterfaces, LoadsInterfaces
from femb.layout.state import station_pose
from femb.numerics import rotations
from femb.recording.frames import Frames
from femb.system.appendages import Appendage, appendages_of, attachment, roots
from femb.system.system import System

Pose: TypeAlias = Callable[[], tuple[Floats, Floats]]
"""A function that gives position (k, 3) m and quaternion (k, 4) of a station."""

# What deforms between an appendage and its parent: the forces of its interfaces on the parent, with inertia.


@dataclass(frozen=True, eq=False)
class FlexibleRoot:
    """The elements of a batch with interfaces on the parent: their numbers, and the frames that carry them."""

    batch: HasInterfaces
    numbers: tuple[int, ...]
    frames: tuple[int, ...]

    def about(self, point: Floats, system: System, frames: Frames) -> tuple[Floats, Floats]:
        """Force and torque (k, 3) on the parent at k output instants, inertial axes, about a point (k, 3) m."""
        layout = system.layout
        each = self.batch.interface_forces(frames.q, frames.v, frames.a)
        for other in system.batches:
            if isinstance(other, FieldOnElements):
                each = each + other.field_part(self.batch, _interface_forces, frames.u, frames.q)
            if isinstance(other, LoadsInterfaces):
                other.add_interface_forces(self.batch, frames.u, frames.q, frames.v, each)
        force, torque = np.zeros_like(point), np.zeros_like(point)
        for number, frame in zip(self.numbers, self.frames, strict=True):
            position, quaternion = station_pose(layout, Station(frame), frames.q)
            own = each[:, number, :3]
            force = force + own
            torque = torque + rotations.rotate(quaternion, each[:, number, 3:]) + np.cross(position - point, own)
        return force, torque


def _interface_forces(batch: HasInterfaces, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
    return batch.interface_forces(q, v, a)


def flexible_roots(system: System, appendage: Appendage, held: set[int]) -> tuple[FlexibleRoot, ...]:
    """Batches whose elements deform in an appendage, with interfaces on held frames."""
    found = []
    for batch in system.batches:
        if not isinstance(batch, HasInterfaces):
            continue
        places = enumerate(batch.interfaces)
        on = [(k, frame) for k, (path, frame) in places if path in appendage.items and frame in held]
        if on:
            found.append(FlexibleRoot(batch, tuple(k for k, _ in on), tuple(frame for _, frame in on)))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Connector:
    """A batch of items without mass between an appendage and its parent, and where its inputs are in u.

    columns : indices in u (n_u,), or None for inputs of the discrete state.
    """

    batch: Batch
    columns: tuple[Any, ...]

    def inputs(self, system: System, frames: Frames) -> Floats:
        """The batch's own inputs (k, n) at k output instants."""
        parts: list[Floats] = [np.zeros((len(frames.time), 0))]
        for input_, columns in zip(self.batch.inputs, self.columns, strict=True):
            if columns is None:
                parts.append(input_.at_angles(system.discrete, frames.coordinates))
            else:
                parts.append(frames.u[:, columns])
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class RootPlace:
    """The place of an appendage on its parent.

    parent : name of the body, "ground" of fixed frames. station : the point and axes of its force and torque; its frame
    is negative for the inertial axes. ends : beams with the end that is on the parent, -1 or 0. rows : numbers of the
    constraint equations between the two. touched : the frames of the appendage with rows or connectors.
    """

    name: str
    parent: str
    appendage: Appendage
    station: Station
    ends: tuple[tuple[str, int], ...]
    rows: tuple[int, ...]
    touched: tuple[int, ...]
    connectors: Callable[[], tuple[Connector, ...]]
    flexible: tuple[FlexibleRoot, ...]


class RootLoads:
    """The root loads of all appendages of a system; of none where they are not ``wanted``."""

    def __init__(self, system: System, wanted: bool = True) -> None:
        self.system, self.roots = system, list[RootPlace]()
        if not wanted:
            return
        layout, model = system.layout, system.model
        parents = roots(layout, model)
        held = {frame for frames in parents for frame in frames}
        links = _Links(system, held)
        found = appendages_of(layout, model, held) if parents else []
        for name, body in layout.flexible_bodies.items():
            if {station.frame for station in body.stations.values()} <= held:  # its modes alone are no frames
                found.append(Appendage(name, (), (f"bodies.{name}",)))
        taken: set[str] = set()
        for appendage in found:
            root = _root(system, appendage, links, taken)
            if root is not None:
                self.roots.append(root)
                taken.add(root.name)

    def static(self) -> dict[str, Floats]:
        """The point of every root in the axes of its parent."""
        return {f"appendages/{root.name}/point": self._point(root) for root in self.roots}

    def attributes(self) -> dict[str, dict[str, Any]]:
        """The parent and the items of every appendage."""
        return {
            f"appendages/{root.name}": {"parent": root.parent, "items": json.dumps(root.appendage.items)}
            for root in self.roots
        }

    def series(self, frames: Frames, block: Mapping[str, Floats], system: System) -> dict[str, Floats]:
        """Force and torque (k, 3) of every appendage; block : section forces and moments of the beams."""
        result: dict[str, Floats] = {}
        for root in self.roots:
            if all(f"beams/{name}/section_force" in block for name, _ in root.ends):
                pose = cache(partial(self._pose, root, frames))
                loads = np.zeros((2, len(frames.time), 3))
                for name, end in root.ends:
                    loads += self._of_beam(root, pose, block, name, end, frames)
                if root.touched or root.flexible:
                    point, axes = pose()
                    acting = np.stack(self._connected(root, point, frames, system))
                    for body in root.flexible:
                        acting += body.about(point, system, frames)
                    loads += rotations.rotate_back(axes, acting)
                result |= {f"appendages/{root.name}/{word}": loads[k] for k, word in enumerate(("force", "torque"))}
        return result

    def _point(self, root: RootPlace) -> Floats:
        origin = self.system.layout.origin if root.station.frame < 0 else np.zeros(3)
        return root.station.offset + origin

    def _pose(self, root: RootPlace, frames: Frames) -> tuple[Floats, Floats]:
        """Position (k, 3) m, from the layout's origin, and quaternion (k, 4) of the root's station."""
        if root.station.frame < 0:
            count = len(frames.time)
            return np.tile(root.station.offset, (count, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        position, quaternion = station_pose(self.system.layout, root.station, frames.q)
        return position, rotations.normalise(quaternion)

    def _of_beam(
        self, root: RootPlace, pose: Pose, block: Mapping[str, Floats], name: str, end: int, frames: Frames
    ) -> Floats:
        """Force and torque (2, k, 3) of a beam on what its first (0) or last (-1) node is on, at the root, in its axes.

        pose : of the root. A node on the root's own frame has a constant place there.
        """
        station, at = self.system.layout.beams[name].stations[end], root.station
        if station.frame == at.frame:  # whose axes are those of the root
            arm, turn = station.offset - at.offset, station.rotation
        else:
            (point, axes), (position, quaternion) = pose(), station_pose(self.system.layout, station, frames.q)
            arm, turn = (
                rotations.rotate_back(axes, position - point),
                rotations.multiply(rotations.conjugate(axes), quaternion),
            )
        # on the start, the material beyond the face is the beam; on the end it is the parent
        sign = 1.0 if end == 0 else -1.0
        loads = np.stack([block[f"beams/{name}/{word}"][:, end, end] for word in ("section_force", "section_moment")])
        result = sign * rotations.rotate(turn, loads)
        result[1] += rotations.cross(arm, result[0])
        return result

    def _connected(self, root: RootPlace, point: Floats, frames: Frames, system: System) -> tuple[Floats, Floats]:
        """Force and torque (k, 3) about a point by what has no mass: opposite to that on the appendage's frames."""
        force, torque = np.zeros_like(point), np.zeros_like(point)
        out = np.zeros_like(frames.v)
        for connector in root.connectors():
            u = connector.inputs(system, frames)
            system.evaluation.of([connector.batch]).add_residual(u, frames.q, frames.v, frames.a, out)
        if root.rows:
            rows = list(root.rows)
            system.constraint_set.reaction_of(rows, frames.u, frames.q, frames.v, frames.multipliers, out)
        layout = system.layout
        for k in root.touched:
            frame, i, j = layout.frames[k], layout.frame_q[k], layout.frame_v[k]
            own = out[:, j : j + 3]
            force = force + own
            torque = torque + rotations.cross(frames.q[:, i : i + 3] - point, own)
            if frame.freedom == 6:
                torque = torque + rotations.rotate(frames.q[:, i + 3 : i + 7], out[:, j + 3 : j + 6])
        return force, torque


class _Links:
    """Rows of constraints and items without mass that have ends on held frames, by the frames at their other ends."""

    def __init__(self, system: System, held: set[int]) -> None:
        layout = system.layout
        self.held = held
        self.rows: dict[int, list[int]] = {}
        for k, row in enumerate(layout.rows):
            if not held.isdisjoint(row):
                for frame in set(row) - held:
                    self.rows.setdefault(frame, []).append(k)
        self.items: dict[int, list[Item]] = {}
        for item in system.items:
            if item.deforms:
                continue
            on = layout.frames_on(item)
            if item.joint_coordinates:
                joints = [layout.joints[name] for name, _ in item.joint_coordinates.values()]
                on = frozenset(end.frame for joint in joints for end in (joint.first, joint.second))
            if not held.isdisjoint(on):
                for frame in on - held:
                    self.items.setdefault(frame, []).append(item)


def _root(system: System, appendage: Appendage, links: _Links, taken: set[str]) -> RootPlace | None:
    """The root of an appendage; None if nothing connects it with the held frames."""
    layout, model, held = system.layout, system.model, links.held
    beams = [path.partition(".")[2] for path in appendage.items if path.startswith("beams.")]
    ends = tuple((name, end) for name in beams for end in (0, -1) if layout.beams[name].stations[end].frame in held)
    touched = tuple(frame for frame in appendage.frames if frame in links.rows or frame in links.items)
    rows = tuple(dict.fromkeys(k for frame in touched for k in links.rows.get(frame, ())))
    items = list({id(item): item for frame in touched for item in links.items.get(frame, ())}.values())
    flexible = flexible_roots(system, appendage, held)
    if not (ends or touched or flexible):
        return None
    on = {layout.beams[name].stations[end].frame for name, end in ends}
    on |= {k for number in rows for k in layout.rows[number] if k in held}
    on |= {frame for body in flexible for frame in body.frames}
    on |= {frame for item in items for frame in layout.frames_on(item)} & held
    names = {frame: name for name, frame in layout.bodies.items() if frame in on}
    station, parent = Station(-1, -layout.origin), "ground"
    if len(on) == 1:
        (frame,) = on
        offset = attachment(layout, model, appendage, frame)
        station, parent = Station(frame, np.zeros(3) if offset is None else offset), names.get(frame, parent)
    name = appendage.name
    while name in taken:
        name += "'"
    connectors = cache(partial(_connectors, system, items))  # many runs record no loads
    return RootPlace(name, parent, appendage, station, ends, rows, touched, connectors, flexible)


def _connectors(system: System, items: list[Item]) -> tuple[Connector, ...]:
    """The batches of items, and where their inputs are among those of the system."""
    places: dict[str, list[slice]] = {}
    for input_, part in system.inputs.parts:
        places.setdefault(input_.label, []).append(part)
    found = []
    for kind, group in groupby(items, lambda item: type(item)):
        for batch in kind.batches(list(group), system.layout, system.model):
            columns = tuple(None if each.of_discrete else places[each.label][0] for each in batch.inputs)
            found.append(Connector(batch, columns))
    return tuple(found)

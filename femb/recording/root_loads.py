"""Root loads: the force and the torque of every appendage on its parent, at output instants.

The parent is the ground, or of a part without ground its heaviest rigid body; points in space are no ground. What an
appendage does to it is the sum over all that connects the two: ends of beams, whose section forces contain their
inertia and the loads along them; interfaces of flexible bodies; joints, latches and drivers with their multipliers;
springs, motors and pulls, with all that controllers add to them.
Source: docs/theory/loads.md, section 3.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.item import Item
from femb.elements.private_blocks import FieldOnElements
from femb.layout.commands import TakesCommands, continuous_commands
from femb.layout.layout import Layout, Station
from femb.layout.protocols import HasInterfaces, LoadsInterfaces
from femb.layout.state import station_pose
from femb.numerics import rotations
from femb.recording.frames import Frames
from femb.system.appendages import Appendage, appendages_of, attachment, roots
from femb.system.known_motions import with_forces
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
class RootPlace:
    """The place of an appendage on its parent.

    parent : name of the body, "ground" of fixed frames. station : the point and axes of its force and torque; its frame
    is negative for the inertial axes. ends : beams with the end that is on the parent, -1 or 0. touched : frames of the
    appendage on which links act; none without links.
    """

    name: str
    parent: str
    appendage: Appendage
    station: Station
    ends: tuple[tuple[str, int], ...]
    touched: tuple[int, ...]
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
        self.links = links = _Links(system, held)
        taken: set[str] = set()
        for appendage in appendages_of(layout, model, held) if parents else []:
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
        linked = self.links.forces(system, frames) if any(root.touched for root in self.roots) else None
        for root in self.roots:
            if all(f"beams/{name}/section_force" in block for name, _ in root.ends):
                pose = cache(partial(self._pose, root, frames))
                loads = np.zeros((2, len(frames.time), 3))
                for name, end in root.ends:
                    loads += self._of_beam(root, pose, block, name, end, frames)
                if root.touched or root.flexible:
                    point, axes = pose()
                    acting = np.zeros((2, *point.shape))
                    if linked is not None and root.touched:
                        acting += _about(point, linked, root.touched, frames.q, system.layout)
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


def _about(point: Floats, forces: Floats, touched: tuple[int, ...], q: Floats, layout: Layout) -> Floats:
    """Force and torque (2, k, 3) about a point (k, 3) of generalized forces (k, n_v) on the frames ``touched``."""
    force, torque = result = np.zeros((2, *point.shape))
    for k in touched:
        frame, i, j = layout.frames[k], layout.frame_q[k], layout.frame_v[k]
        own = forces[:, j : j + 3]
        force += own
        torque += rotations.cross(q[:, i : i + 3] - point, own)
        if frame.freedom == 6:
            torque += rotations.rotate(q[:, i + 3 : i + 7], forces[:, j + 3 : j + 6])
    return result


class _Links:
    """Links without mass between held frames and others: rows of constraints, and forces of items.

    rows, items : by the frames at their other ends. Forces are those of the system's own batches, with all items of
    these: what acts within an appendage has no resultant there.
    """

    def __init__(self, system: System, held: set[int]) -> None:
        layout = system.layout
        self.held = held
        self.rows: dict[int, list[int]] = {}
        for k, row in enumerate(layout.rows):
            if not held.isdisjoint(row):
                for frame in set(row) - held:
                    self.rows.setdefault(frame, []).append(k)
        self.items: dict[int, list[Item]] = {}
        linked = set[int]()
        self.columns: dict[str, Floats] = {}  # of continuous commands
        forceful = with_forces(system)
        for item in (each for each in system.items if id(each) in forceful):
            on = item.between(layout)
            if not held.isdisjoint(on) and not held.issuperset(on):
                linked.add(id(item))
                for frame in on - held:
                    self.items.setdefault(frame, []).append(item)
                for word, command in item.commands(layout).items() if isinstance(item, TakesCommands) else ():
                    if command.columns is not None:
                        self.columns[f"{item.table}.{item.name}.{word}"] = command.columns
        owners = enumerate(system.items_of_batches)
        self.batches = [k for k, items in owners if not linked.isdisjoint(map(id, items))]
        acting = (item for k in self.batches for item in system.items_of_batches[k])
        self.touched = set(self.rows).union(*(item.between(layout) for item in acting))
        self.numbers = list(dict.fromkeys(k for rows in self.rows.values() for k in rows))

    def forces(self, system: System, frames: Frames) -> Floats:
        """The residual (k, n_v) of all links at k output instants: on the frames of appendages, opposite to the load on
        their parents."""
        out = np.zeros_like(frames.v)
        u, q, v = frames.u, frames.q, frames.v
        if self.batches:
            system.evaluation.of([system.batches[k] for k in self.batches]).add_residual(u, q, v, frames.a, out)
        for name, value in continuous_commands(system.batches, u, q, v).items() if self.columns else ():
            if name in self.columns:
                out -= value @ self.columns[name]
        if self.numbers:
            system.constraint_set.reaction_of(self.numbers, u, q, v, frames.multipliers, out)
        return out


def _root(system: System, appendage: Appendage, links: _Links, taken: set[str]) -> RootPlace | None:
    """The root of an appendage; None if nothing connects it with the held frames."""
    layout, model, held = system.layout, system.model, links.held
    beams = [path.partition(".")[2] for path in appendage.items if path.startswith("beams.")]
    ends = tuple((name, end) for name in beams for end in (0, -1) if layout.beams[name].stations[end].frame in held)
    linked = any(frame in links.rows or frame in links.items for frame in appendage.frames)
    touched = tuple(frame for frame in appendage.frames if linked and frame in links.touched)
    flexible = flexible_roots(system, appendage, held)
    if not (ends or touched or flexible):
        return None
    on = {layout.beams[name].stations[end].frame for name, end in ends}
    on |= {k for frame in touched for number in links.rows.get(frame, ()) for k in layout.rows[number] if k in held}
    on |= {frame for body in flexible for frame in body.frames}
    on |= {k for frame in touched for item in links.items.get(frame, ()) for k in item.between(layout) if k in held}
    names = {frame: name for name, frame in layout.bodies.items() if frame in on}
    station, parent = Station(-1, -layout.origin), "ground"
    if len(on) == 1:
        (frame,) = on
        offset = attachment(layout, model, appendage, frame)
        station, parent = Station(frame, np.zeros(3) if offset is None else offset), names.get(frame, parent)
    name = appendage.name
    while name in taken:
        name += "'"
    return RootPlace(name, parent, appendage, station, ends, touched, flexible)

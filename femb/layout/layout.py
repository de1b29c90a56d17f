"""Layout: names to frames, frames to slices of q and v, constraints to rows, and the blocks they are eliminated in.

A *frame* is a position and, unless it belongs to a point mass, axes; an *internal coordinate* is a scalar unknown of an
element (``femb.layout.internal``). Each moving frame is a *block* together with the internal coordinates that it owns;
one without owner is a block by itself. Elements couple blocks, and blocks are numbered along the branches of these
couplings. A *row* is one equation of constraint between two frames, with one multiplier; rows between the same two
frames are a block too, after all blocks of velocities (``femb.layout.rows``).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.element import Input
from femb.layout.internal import InternalCoordinate, InternalQuantity
from femb.layout.rows import RowBlocks
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class Frame:
    """A body or a beam node in its start pose; ``moving`` is 6 velocities, 3 for a point, 0 for the ground."""

    label: str
    position: Floats
    quaternion: Floats
    freedom: int = 6


@dataclass(frozen=True, eq=False)
class Station:
    """A point with axes carried by a frame: offset (3,) m in its axes, rotation (4,) frame to station."""

    frame: int
    offset: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))

    @property
    def on_frame(self) -> bool:
        """Whether the station is the frame itself."""
        return not self.offset.any() and bool(np.all(self.rotation == (1.0, 0.0, 0.0, 0.0)))

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) the station's axes as columns, in those of the frame."""
        return rotations.rotation_matrix(self.rotation)


@dataclass(frozen=True, eq=False)
class BeamLayout:
    """A beam's nodes as stations, and the numbers of its internal coordinates, by the word that states and results use.

    Of e elements, internal["strain"] (e, 2) are those of the axial strain at both ends of every element.
    """

    stations: list[Station]
    internal: dict[str, Ints] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        """The number of elements."""
        return len(self.stations) - 1


@dataclass(frozen=True, eq=False)
class JointLayout:
    """A joint's ends as stations whose axes are the joint's, the numbers of its rows, and its coordinates.

    part : where its coordinates are among those of all joints. same_way : axes of both ends that its rows keep
    parallel, but for their sense.
    """

    first: Station
    second: Station
    rows: list[int]
    coordinates: tuple[Any, ...]
    part: slice
    same_way: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LatchLayout:
    """A latch, the number of the joint coordinate it holds, and that of its row."""

    item: Any
    coordinate: int
    row: int


@dataclass(frozen=True, eq=False)
class DriverLayout:
    """A driver's two ends, the numbers of its rows and the inputs that they follow, and the names of the components of
    its force, one a row.

    coordinate : where the joint's coordinate that it drives is among those of all joints; -1 if it drives none.
    """

    first: Station
    second: Station
    rows: list[int]
    inputs: tuple[Input, ...]
    components: tuple[str, ...]
    coordinate: int = -1


class Layout:
    """Collects frames, internal coordinates, rows and couplings from the elements; ``finish`` numbers them.

    After ``finish``: n_q coordinates, n_v velocities, n_c rows; frame_q, frame_v (F,) offsets of every frame in q and
    v, or -1-i and -1 for the fixed frame ``fixed[i]``; internal_q, internal_v (S,) places of every internal coordinate;
    row_c (n_c,) place of every row among the multipliers; block_start (B+1,) of the blocks in v and, after it, the
    multipliers; edges, the coupled pairs of blocks; eliminated_after, for blocks of multipliers those that must be
    eliminated before; is_tree, whether couplings and constraints form trees; has_loops, whether constraints close
    loops.

    origin (3,) m : the point of inertial space that positions, those in q among them, are counted from; see Placement.
    What comes from a user, or goes to one, is from the inertial origin.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.internal: list[InternalCoordinate] = []
        self.couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.spring_couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.rows: list[tuple[int, int]] = []
        self.row_labels: list[str] = []
        self.bodies: dict[str, int] = {}
        self.beams: dict[str, BeamLayout] = {}
        self.joints: dict[str, JointLayout] = {}
        self.latches: list[LatchLayout] = []
        self.drivers: dict[str, DriverLayout] = {}
        self._shared: dict[tuple[InternalQuantity, int], int] = {}
        self._inertial: int | None = None
        self.origin: Floats = np.zeros(3)

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """A new frame in its start pose; freedom is 6, 3 (a point, without axes) or 0 (fixed)."""
        self.frames.append(Frame(label, position, quaternion, freedom))
        return len(self.frames) - 1

    def add_internal(
        self, label: str, quantity: InternalQuantity, owner: int | None, table: str, shared: bool = False
    ) -> int:
        """The number of a new internal coordinate; see ``InternalCoordinate``.

        owner : it is eliminated together with this frame; on its own if that is None or fixed. shared : all elements
        that ask for this quantity at this frame get the same coordinate.
        """
        if shared and owner is not None:
            known = self._shared.setdefault((quantity, owner), len(self.internal))
            if known < len(self.internal):
                return known
        moving = owner is not None and self.frames[owner].freedom > 0
        self.internal.append(InternalCoordinate(label, quantity, owner if moving else None, table))
        return len(self.internal) - 1

    def couple(self, frames: Iterable[int], internal: Iterable[int] = ()) -> None:
        """State that an element couples these frames and internal coordinates with each other."""
        self.couplings.append((tuple(frames), tuple(internal)))

    def couple_by_spring(self, frames: Iterable[int]) -> None:
        """State that a spring or dashpot couples these frames: they are not one structure for the start velocities."""
        self.spring_couplings.append((tuple(frames), ()))

    def add_row(self, label: str, first: int, second: int) -> int:
        """A new equation of constraint between two frames."""
        self.rows.append((first, second))
        self.row_labels.append(label)
        return len(self.rows) - 1

    def inertial_frame(self) -> int:
        """A fixed frame at the origin with the inertial axes, which is no body; made when it is first asked for."""
        if self._inertial is None:
            axes = np.array([1.0, 0.0, 0.0, 0.0])
            self._inertial = self.add_frame("the inertial frame", -self.origin, axes, freedom=0)
        return self._inertial

    def station(self, marker: Any) -> Station:
        """The station of a Marker: a point of a body, of inertial space, or of the section at a node of a beam."""
        if marker.anchor is not None:
            return Station(self.inertial_frame(), marker.anchor)
        if marker.body is not None:
            return Station(self.bodies[marker.body], marker.at)
        node = self.beams[marker.beam].stations[marker.node]
        return Station(node.frame, node.offset + rotations.rotate(node.rotation, marker.at), node.rotation)

    @property
    def extent(self) -> float:
        """Largest distance (m) of a frame from the origin that positions are counted from, at the start."""
        return max((float(np.linalg.norm(frame.position)) for frame in self.frames), default=0.0)

    def pose(self, station: Station) -> tuple[Floats, Floats]:
        """Start position and quaternion of a station."""
        frame = self.frames[station.frame]
        position = frame.position + rotations.rotate(frame.quaternion, station.offset)
        return position, rotations.multiply(frame.quaternion, station.rotation)

    def finish(self) -> None:
        """Number blocks, coordinates and velocities. Raises ModelError if nothing can move."""
        block_of_frame = np.full(len(self.frames), -1)
        members: list[tuple[int | None, list[int]]] = []
        for k, frame in enumerate(self.frames):
            if frame.freedom:
                block_of_frame[k] = len(members)
                members.append((k, []))
        block_of_internal = np.empty(len(self.internal), dtype=int)
        for k, each in enumerate(self.internal):
            if each.owner is None:
                block_of_internal[k] = len(members)
                members.append((None, [k]))
            else:
                block_of_internal[k] = block_of_frame[each.owner]
                members[block_of_frame[each.owner]][1].append(k)
        if not members:
            raise ModelError("the model has nothing that can move")
        pairs = set()
        for frames, internal in (*self.couplings, *self.spring_couplings):
            touched = {int(block_of_frame[f]) for f in frames if block_of_frame[f] >= 0}
            touched |= {int(block_of_internal[k]) for k in internal}
            pairs |= {(a, b) for a in touched for b in touched if a < b}
        held = [(int(block_of_frame[a]), int(block_of_frame[b])) for a, b in self.rows]
        joined = {(min(each), max(each)) for each in held if min(each) >= 0}
        order, closed = _tree_order(len(members), pairs | joined)
        place = np.empty(len(members) + 1, dtype=int)
        place[order] = np.arange(len(members))
        place[-1] = -1  # of the ground
        owners = [members[b][0] for b in order]
        freedom = [1 if owner is None else self.frames[owner].freedom for owner in owners]
        rows = RowBlocks([(int(place[a]), int(place[b])) for a, b in held], freedom)
        self.is_tree, self.has_loops = not closed and rows.is_tree, not rows.is_tree
        self.edges = [(int(place[a]), int(place[b])) for a, b in sorted(pairs)] + rows.edges
        self.eliminated_after = rows.after
        self._number([members[b] for b in order], rows.sizes)
        self.n_c, self.row_c = len(self.rows), rows.place

    def _number(self, members: list[tuple[int | None, list[int]]], row_sizes: Ints) -> None:
        self.frame_q: Ints = np.empty(len(self.frames), dtype=np.int64)
        self.frame_v: Ints = np.full(len(self.frames), -1, dtype=np.int64)
        self.internal_q: Ints = np.empty(len(self.internal), dtype=np.int64)
        self.internal_v: Ints = np.empty(len(self.internal), dtype=np.int64)
        fixed = [k for k, frame in enumerate(self.frames) if frame.freedom == 0]
        for row, k in enumerate(fixed):
            self.frame_q[k] = -1 - row
        poses = [np.append(self.frames[k].position, self.frames[k].quaternion) for k in fixed]
        self.fixed: Floats = np.array(poses).reshape(-1, 7) if poses else np.zeros((1, 7))
        n_q = n_v = 0
        starts = [0]
        for frame, internal in members:
            if frame is not None:
                self.frame_q[frame], self.frame_v[frame] = n_q, n_v
                freedom = self.frames[frame].freedom
                n_q, n_v = n_q + (7 if freedom == 6 else 3), n_v + freedom
            for k in internal:
                self.internal_q[k], self.internal_v[k] = n_q, n_v
                n_q, n_v = n_q + 1, n_v + 1
            starts.append(n_v)
        self.n_q, self.n_v = n_q, n_v
        self.block_start: Ints = np.concatenate([starts, n_v + np.cumsum(row_sizes)]).astype(np.int64)

    def start_coordinates(self) -> Floats:
        """q (n_q,) of the start poses, with internal coordinates of zero."""
        q = np.zeros(self.n_q)
        for k, frame in enumerate(self.frames):
            i = self.frame_q[k]
            if frame.freedom:
                q[i : i + 3] = frame.position
            if frame.freedom == 6:
                q[i + 3 : i + 7] = frame.quaternion
        return q

    def velocity_labels(self) -> list[str]:
        """What each velocity is, for messages: 'hub: velocity x', ..."""
        labels = [""] * self.n_v
        words = [f"{word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz"]
        for k, frame in enumerate(self.frames):
            for i in range(frame.freedom):
                labels[self.frame_v[k] + i] = f"{frame.label}: {words[i]}"
        for each, place in zip(self.internal, self.internal_v, strict=True):
            labels[place] = f"{each.label}: {each.quantity.name} rate"
        return labels


def _tree_order(count: int, pairs: set[tuple[int, int]]) -> tuple[list[int], bool]:
    """Blocks parent before child along branches, and whether the couplings close loops.

    The root of each tree is its block with most couplings: the hub of a satellite.
    """
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in sorted(pairs):
        neighbours[a].append(b)
        neighbours[b].append(a)
    seen = [False] * count
    order: list[int] = []
    tree_edges = 0
    for root in sorted(range(count), key=lambda b: -len(neighbours[b])):
        if seen[root]:
            continue
        stack = [(root, -1)]
        while stack:
            block, above = stack.pop()
            if seen[block]:
                continue
            seen[block] = True
            tree_edges += above >= 0
            order.append(block)
            stack += [(n, block) for n in reversed(neighbours[block]) if not seen[n]]
    return order, tree_edges != len(pairs)

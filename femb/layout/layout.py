"""Layout: numbers of named items, frames, coordinates and constraint rows, and their blocks in the matrices.

A *frame* is a position and, unless it belongs to a point mass, axes; an *internal coordinate* is a scalar unknown of an
element (``femb.layout.internal``). A moving frame and the internal coordinates that it owns form a *block*; an internal
coordinate without owner is a block. Elements couple blocks, and blocks are numbered along the branches of these
couplings. A *row* is one constraint equation between two frames, with one multiplier; rows between the same two
frames form a block too. Blocks of rows follow all blocks of velocities (``femb.layout.rows``).
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
    """A body or a beam node in its start pose: position (m) from ``Layout.origin``, quaternion frame to inertial.

    freedom : number of velocities: 6, 3 for a point, 0 for a fixed frame.
    """

    label: str
    position: Floats
    quaternion: Floats
    freedom: int = 6


@dataclass(frozen=True, eq=False)
class Station:
    """A point with axes fixed to a frame: offset (3,) m in the frame's axes, rotation (4,) station to frame."""

    frame: int
    offset: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))

    @property
    def on_frame(self) -> bool:
        """Whether the station coincides with the frame."""
        return not self.offset.any() and bool(np.all(self.rotation == (1.0, 0.0, 0.0, 0.0)))

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) the station's axes as columns, in the frame's axes."""
        return rotations.rotation_matrix(self.rotation)


@dataclass(frozen=True, eq=False)
class BeamLayout:
    """A beam's nodes as stations, and the numbers of its internal coordinates by their name in states and results.

    For e elements, internal["strain"] (e, 2) are the numbers of the axial strains at both ends of every element.
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

    part : slice of its coordinates in those of all joints. same_way : the axes that its rows keep parallel but that
    could point in opposite directions.
    """

    first: Station
    second: Station
    rows: list[int]
    coordinates: tuple[Any, ...]
    part: slice
    same_way: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LatchLayout:
    """A latch, the number of the joint coordinate that it locks, and the number of its row."""

    item: Any
    coordinate: int
    row: int


@dataclass(frozen=True, eq=False)
class DriverLayout:
    """A driver's two ends, the numbers of its rows, the inputs that prescribe their motion, and the names of the
    components of its force, one for each row.

    coordinate : number of the joint coordinate that it drives among those of all joints; -1 if it drives none.
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
    v, or -1-i and -1 for the fixed frame ``fixed[i]``; internal_q, internal_v (S,) indices of internal coordinates;
    row_c (n_c,) the multiplier of every row; block_start (B+1,) first index of every block in (v, multipliers); edges,
    the coupled pairs of blocks; eliminated_after, for every block of multipliers the blocks that must be eliminated
    before it; is_tree, whether couplings and constraints form trees; has_loops, whether constraints close loops.

    origin (3,) m : the inertial point from which positions, also those in q, are measured; see Placement. Input and
    output of users are measured from the inertial origin.
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
        """The number of a new frame in its start pose; freedom is 6, 3 (a point, without axes) or 0 (fixed)."""
        self.frames.append(Frame(label, position, quaternion, freedom))
        return len(self.frames) - 1

    def add_internal(
        self, label: str, quantity: InternalQuantity, owner: int | None, table: str, shared: bool = False
    ) -> int:
        """The number of a new internal coordinate; see ``InternalCoordinate``.

        owner : the frame with which it is eliminated; None or a fixed frame gives it a separate block. shared : all
        elements that request this quantity at this frame get the same coordinate.
        """
        if shared and owner is not None:
            known = self._shared.setdefault((quantity, owner), len(self.internal))
            if known < len(self.internal):
                return known
        moving = owner is not None and self.frames[owner].freedom > 0
        self.internal.append(InternalCoordinate(label, quantity, owner if moving else None, table))
        return len(self.internal) - 1

    def couple(self, frames: Iterable[int], internal: Iterable[int] = ()) -> None:
        """Declare that an element couples these frames and internal coordinates."""
        self.couplings.append((tuple(frames), tuple(internal)))

    def couple_by_spring(self, frames: Iterable[int]) -> None:
        """Declare that a spring or dashpot couples these frames: for start velocities they are separate structures."""
        self.spring_couplings.append((tuple(frames), ()))

    def add_row(self, label: str, first: int, second: int) -> int:
        """The number of a new constraint equation between two frames."""
        self.rows.append((first, second))
        self.row_labels.append(label)
        return len(self.rows) - 1

    def inertial_frame(self) -> int:
        """The number of the fixed frame at the inertial origin with inertial axes; the first call adds it."""
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
        """Largest distance (m) of a frame from ``origin`` at the start."""
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
        for k, coordinate in enumerate(self.internal):
            if coordinate.owner is None:
                block_of_internal[k] = len(members)
                members.append((None, [k]))
            else:
                block_of_internal[k] = block_of_frame[coordinate.owner]
                members[block_of_frame[coordinate.owner]][1].append(k)
        if not members:
            raise ModelError("the model has nothing that can move")
        pairs = set()
        for frames, internal in (*self.couplings, *self.spring_couplings):
            coupled = {int(block_of_frame[f]) for f in frames if block_of_frame[f] >= 0}
            coupled |= {int(block_of_internal[k]) for k in internal}
            pairs |= {(a, b) for a in coupled for b in coupled if a < b}
        constrained = [(int(block_of_frame[a]), int(block_of_frame[b])) for a, b in self.rows]
        joined = {(min(pair), max(pair)) for pair in constrained if min(pair) >= 0}
        order, closed = _tree_order(len(members), pairs | joined)
        number = np.empty(len(members) + 1, dtype=int)
        number[order] = np.arange(len(members))
        number[-1] = -1  # the ground
        owners = [members[b][0] for b in order]
        freedom = [1 if owner is None else self.frames[owner].freedom for owner in owners]
        rows = RowBlocks([(int(number[a]), int(number[b])) for a, b in constrained], freedom)
        self.is_tree, self.has_loops = not closed and rows.is_tree, not rows.is_tree
        self.edges = [(int(number[a]), int(number[b])) for a, b in sorted(pairs)] + rows.edges
        self.eliminated_after = rows.after
        self._number([members[b] for b in order], rows.sizes)
        self.n_c, self.row_c = len(self.rows), rows.index

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
        """Names (n_v,) of the velocities for messages: 'hub: velocity x', ..."""
        labels = [""] * self.n_v
        words = [f"{word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz"]
        for k, frame in enumerate(self.frames):
            for i in range(frame.freedom):
                labels[self.frame_v[k] + i] = f"{frame.label}: {words[i]}"
        for coordinate, index in zip(self.internal, self.internal_v, strict=True):
            labels[index] = f"{coordinate.label}: {coordinate.quantity.name} rate"
        return labels


def _tree_order(count: int, pairs: set[tuple[int, int]]) -> tuple[list[int], bool]:
    """Order of the blocks, parents before children, and whether the couplings close loops.

    The root of a tree is the block with most couplings, such as the hub of a satellite.
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

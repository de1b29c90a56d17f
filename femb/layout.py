"""Layout: names to frames, frames to slices of q and v, and the tree of blocks they are eliminated in.

A *frame* is a position and, unless it belongs to a point mass, axes; a *strain* is a scalar coordinate of a beam end.
Each moving frame is a *block* together with the strains that belong to it. Elements couple blocks; where
the couplings form trees, blocks are numbered parent before child, so that elimination runs backwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femb import rotations
from femb.errors import ModelError
from femb.types import Floats, Ints


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


@dataclass(frozen=True, eq=False)
class BeamLayout:
    """A beam's nodes as stations, and the strain number of both ends of every element (e, 2)."""

    stations: list[Station]
    strains: Ints


class Layout:
    """Collects frames, strains and couplings from the elements; ``finish`` numbers them.

    After ``finish``: frame_q, frame_v (F,) offsets of every frame in q and v, or -1-i and -1 for the fixed frame
    ``fixed[i]``; strain_q, strain_v (S,); block_start (B+1,) of the blocks in v; parent (B,), -1 for a root;
    edges, the coupled pairs of blocks (child, parent first); is_tree.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.strain_owner: list[int | None] = []
        self.strain_labels: list[str] = []
        self.couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.spring_couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.bodies: dict[str, int] = {}
        self.beams: dict[str, BeamLayout] = {}
        self.shared_strain: dict[int, int] = {}
        self._inertial: int | None = None

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """A new frame in its start pose; freedom is 6, 3 (a point, without axes) or 0 (fixed)."""
        self.frames.append(Frame(label, position, quaternion, freedom))
        return len(self.frames) - 1

    def add_strain(self, label: str, owner: int | None) -> int:
        """A new strain, eliminated together with the frame ``owner``, or on its own if that is fixed."""
        moving = owner is not None and self.frames[owner].freedom > 0
        self.strain_owner.append(owner if moving else None)
        self.strain_labels.append(label)
        return len(self.strain_owner) - 1

    def couple(self, frames: Iterable[int], strains: Iterable[int] = ()) -> None:
        """State that an element couples these frames and strains with each other."""
        self.couplings.append((tuple(frames), tuple(strains)))

    def couple_by_spring(self, frames: Iterable[int]) -> None:
        """State that a spring or dashpot couples these frames: they are not one structure for the start velocities."""
        self.spring_couplings.append((tuple(frames), ()))

    def inertial_frame(self) -> int:
        """A fixed frame at the origin with the inertial axes, which is no body; made when it is first asked for."""
        if self._inertial is None:
            axes = np.array([1.0, 0.0, 0.0, 0.0])
            self._inertial = self.add_frame("the inertial frame", np.zeros(3), axes, freedom=0)
        return self._inertial

    def station(self, place: Any) -> Station:
        """The station of a Place: a point of a body, or a node of a beam."""
        if place.body is not None:
            return Station(self.bodies[place.body], place.at)
        return self.beams[place.beam].stations[place.node]

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
        block_of_strain = np.empty(len(self.strain_owner), dtype=int)
        for k, owner in enumerate(self.strain_owner):
            if owner is None:
                block_of_strain[k] = len(members)
                members.append((None, [k]))
            else:
                block_of_strain[k] = block_of_frame[owner]
                members[block_of_frame[owner]][1].append(k)
        if not members:
            raise ModelError("the model has nothing that can move")
        pairs = set()
        for frames, strains in (*self.couplings, *self.spring_couplings):
            touched = {int(block_of_frame[f]) for f in frames if block_of_frame[f] >= 0}
            touched |= {int(block_of_strain[s]) for s in strains}
            pairs |= {(a, b) for a in touched for b in touched if a < b}
        order, parent, self.is_tree = _tree_order(len(members), pairs)
        place = np.empty(len(members), dtype=int)
        place[order] = np.arange(len(members))
        self.parent: Ints = np.array([-1 if parent[b] < 0 else place[parent[b]] for b in order])
        self.edges = sorted((max(place[a], place[b]), min(place[a], place[b])) for a, b in pairs)
        self._number([members[b] for b in order])

    def _number(self, members: list[tuple[int | None, list[int]]]) -> None:
        self.frame_q: Ints = np.empty(len(self.frames), dtype=np.int64)
        self.frame_v: Ints = np.full(len(self.frames), -1, dtype=np.int64)
        self.strain_q: Ints = np.empty(len(self.strain_owner), dtype=np.int64)
        self.strain_v: Ints = np.empty(len(self.strain_owner), dtype=np.int64)
        fixed = [k for k, frame in enumerate(self.frames) if frame.freedom == 0]
        for row, k in enumerate(fixed):
            self.frame_q[k] = -1 - row
        poses = [np.append(self.frames[k].position, self.frames[k].quaternion) for k in fixed]
        self.fixed: Floats = np.array(poses).reshape(-1, 7) if poses else np.zeros((1, 7))
        n_q = n_v = 0
        starts = [0]
        for frame, strains in members:
            if frame is not None:
                self.frame_q[frame], self.frame_v[frame] = n_q, n_v
                freedom = self.frames[frame].freedom
                n_q, n_v = n_q + (7 if freedom == 6 else 3), n_v + freedom
            for strain in strains:
                self.strain_q[strain], self.strain_v[strain] = n_q, n_v
                n_q, n_v = n_q + 1, n_v + 1
            starts.append(n_v)
        self.n_q, self.n_v = n_q, n_v
        self.block_start: Ints = np.array(starts, dtype=np.int64)

    def start_coordinates(self) -> Floats:
        """q (n_q,) of the start poses, with zero strains."""
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
        for k, label in enumerate(self.strain_labels):
            labels[self.strain_v[k]] = f"{label}: strain rate"
        return labels


def _tree_order(count: int, pairs: set[tuple[int, int]]) -> tuple[list[int], list[int], bool]:
    """Blocks parent before child along branches, each block's parent, and whether the couplings form trees.

    The root of each tree is its block with most couplings: the hub of a satellite.
    """
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in sorted(pairs):
        neighbours[a].append(b)
        neighbours[b].append(a)
    parent = [-1] * count
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
            parent[block] = above
            tree_edges += above >= 0
            order.append(block)
            stack += [(n, block) for n in reversed(neighbours[block]) if not seen[n]]
    return order, parent, tree_edges == len(pairs)

"""Layout: what the elements declare - named items, frames, internal coordinates, constraint rows and couplings."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import DEFAULT_RTOL, TOLERANCES, Tolerances
from femb.base.types import Bools, Floats, Ints
from femb.base.values import Keeper
from femb.layout.discrete import ANGLES, DiscreteArray, DiscreteState, Update
from femb.layout.element import Input
from femb.numerics import rotations
from femb.numerics.components import kept

# Internal coordinates: scalar unknowns of an element in addition to the positions and quaternions of frames.
#
# Examples are the axial strain at a node of a beam, the amplitude of a mode, the angle of a rotor inside a body.
# Layout, steppers and results number, integrate and name them and scale their errors; they need no other information.
#
# A *first-order state* z' = g(t, q, v, z, u) is a velocity whose coordinate no equation reads: the current of a motor,
# the output of a filter, the integral of an error, the speed of a wheel whose angle does not matter. Every method then
# integrates it at its own order. Source: docs/theory/states.md.

# The absolute tolerance of a run that applies, by the unit of the coordinate.
TOLERANCE = {"m": "position", "rad": "quaternion", "-": "strain"}


@dataclass(frozen=True)
class InternalQuantity:
    """The quantity of an internal coordinate: its name, as in "boom, node 1: strain", and its unit.

    unit : "m", "rad" or "-", with the tolerance of positions, of quaternions or of strains; of a first-order state any.
    tolerance : of a first-order state its absolute tolerance, in its unit, at the default relative tolerance of 1e-6;
    None for a coordinate. Raises ValueError.
    """

    name: str
    unit: str
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.tolerance is None:
            if self.unit not in TOLERANCE:
                raise ValueError(f"{self.name}: got the unit {self.unit!r}, wanted one of {', '.join(TOLERANCE)}")
        elif not 0.0 < self.tolerance < math.inf:
            raise ValueError(f"{self.name}: got the tolerance {self.tolerance!r}, must be above 0, in {self.unit}")

    @property
    def first_order(self) -> bool:
        """Whether it is a first-order state, whose value is a velocity and whose coordinate no equation reads."""
        return self.tolerance is not None

    @property
    def kind(self) -> str:
        """The field of ``femb.base.options.Tolerances`` that applies to a coordinate."""
        return TOLERANCE[self.unit]


@dataclass(frozen=True)
class InternalCoordinate:
    """One internal coordinate of an item.

    label : the name of the item and the position in it, such as "boom, node 1". quantity : its name and unit. owner :
    the moving frame whose block of the matrices contains it; None for a separate block. table : of the item.
    block : the number of the coordinate whose separate block contains it too; None for a block of its own.
    start, start_rate : at the start of the motion; of a first-order state ``start_rate`` is the value.
    """

    label: str
    quantity: InternalQuantity
    owner: int | None
    table: str
    block: int | None = None
    start: float = 0.0
    start_rate: float = 0.0

    @property
    def name(self) -> str:
        """Its name as a state of a linearisation: "boom, node 1.strain"."""
        return f"{self.label}.{self.quantity.name}"


# Blocks of constraint rows, and the earliest point at which each block of multipliers can be eliminated.
#
# A block of multipliers has a zero diagonal; eliminating the frame that it constrains makes it regular. The constraints
# form a graph of the frames and the ground. On a spanning tree every block of rows constrains the frame farther from
# the root and can be eliminated directly after it. A block that closes a loop constrains the remaining freedom of the
# loop, which may be none: it must follow all blocks of the loop.

GROUND = -1


class RowBlocks:
    """Blocks of rows between pairs of frame blocks (GROUND if fixed); freedom : velocities of every frame block.

    roots : frame blocks whose equations an analysis leaves out: eliminating these makes no multipliers regular.
    index (R,) of every row in the multipliers; sizes (K,) rows of every block; edges, the pairs (block of rows, frame
    block), with blocks of rows numbered after the frame blocks; after, by block of rows, the blocks to eliminate first.
    """

    def __init__(self, rows: list[tuple[int, int]], freedom: list[int], roots: Sequence[int] = ()) -> None:
        members: list[list[int]] = []
        pairs: list[tuple[int, int]] = []
        open_blocks: dict[tuple[int, int], int] = {}
        for row, (a, b) in enumerate(rows):
            pair = (min(a, b), max(a, b))
            limit = min(freedom[frame] for frame in pair if frame != GROUND)
            block = open_blocks.get(pair)
            if block is None or len(members[block]) == limit:
                # More rows than degrees of freedom between two frames: some depend on the others.
                block = open_blocks[pair] = len(members)
                members.append([])
                pairs.append(pair)
            members[block].append(row)
        self.sizes: Ints = np.array([len(member) for member in members], dtype=np.int64)
        self.index: Ints = np.empty(len(rows), dtype=np.int64)
        self.index[[row for member in members for row in member]] = np.arange(len(rows))
        count = len(freedom)
        self.edges = [(count + k, frame) for k, pair in enumerate(pairs) for frame in pair if frame != GROUND]
        self.after = self._after(pairs, count, roots)

    def _after(self, pairs: list[tuple[int, int]], count: int, roots: Sequence[int]) -> dict[int, set[int]]:
        parents = _spanning_tree(pairs, roots)
        tree = {block for _, block in parents.values() if block >= 0}
        self.is_tree = len(tree) == len(pairs)
        after = {count + block: {frame} for frame, (_, block) in parents.items() if block >= 0}
        for block, (a, b) in enumerate(pairs):
            if block not in tree:
                after[count + block] = _loop(parents, a, b, count)
        return after


def _spanning_tree(pairs: list[tuple[int, int]], roots: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Parent of every constrained frame block and the block of rows between them; (-2, -1) for a root.

    Roots are the ground and the given ones together, then the blocks with most constraints.
    """
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for block, (a, b) in enumerate(pairs):
        neighbours.setdefault(a, []).append((b, block))
        neighbours.setdefault(b, []).append((a, block))
    first = [frame for frame in (GROUND, *roots) if frame in neighbours]
    others = sorted(neighbours, key=lambda frame: -len(neighbours[frame]))
    parents: dict[int, tuple[int, int]] = {}
    for together in (first, *([frame] for frame in others)):
        queue = deque(frame for frame in together if frame not in parents)
        parents |= dict.fromkeys(queue, (-2, -1))
        while queue:
            frame = queue.popleft()
            for other, block in neighbours[frame]:
                if other not in parents:
                    parents[other] = (frame, block)
                    queue.append(other)
    return parents


def _loop(parents: dict[int, tuple[int, int]], a: int, b: int, count: int) -> set[int]:
    """Frame blocks and blocks of rows on the path from a to b in the tree."""
    result: set[int] = set()
    paths = []
    for frame in (a, b):
        path = [frame]
        while parents[path[-1]][0] != -2:
            path.append(parents[path[-1]][0])
        paths.append(path)
    first, second = paths
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    for path in paths:
        result |= {count + parents[frame][1] for frame in path[:-1]}
        result |= {frame for frame in path if frame != GROUND}
    return result


# Numbering of frames, internal coordinates and constraint rows, and their blocks in the matrices.
#
# A *frame* is a position and, unless it belongs to a point mass, axes; an *internal coordinate* is a scalar unknown of
# an element (``femb.layout.layout``). A moving frame and the internal coordinates that it owns form a *block*; an
# internal coordinate without owner is a block, or several of one element are. Elements couple blocks, and blocks are
# numbered along the branches of these couplings. In structures with loops, the internal coordinates of a frame with
# more than two of them are blocks of their own. A *row* is one constraint equation between two frames, with one
# multiplier; rows between the same two frames form a block too. Blocks of rows follow all blocks of velocities
# (``femb.layout.layout``).

# Internal coordinates in the block of a frame, in structures with loops; more of them are blocks of their own.
MOST_IN_A_BLOCK = 2
# The numberings of the last topologies are kept, with so many frames, internal coordinates and rows at most: those of
# larger ones take memory, and little of the time of a run.
KEPT, LARGEST_KEPT = 16, 10_000

Coupling: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Frames and internal coordinates that an element couples."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A body or a beam node in its start pose: position (m) from ``Layout.origin``, quaternion frame to inertial.

    freedom : number of velocities: 6, 3 for a point, 0 for a fixed frame.
    """

    label: str
    position: Floats
    quaternion: Floats
    freedom: int = 6


class Topology(NamedTuple):
    """The declared structure of a model, on which its numbering depends: models with the same one are numbered alike.

    freedom : of every frame. internal : owner and block of every internal coordinate. couplings, springs : the frames
    and internal coordinates that each element couples. rows : the two frames of every constraint equation. held :
    frames whose equations an analysis leaves out.
    """

    freedom: tuple[int, ...]
    internal: tuple[tuple[int | None, int | None], ...]
    couplings: tuple[Coupling, ...]
    springs: tuple[Coupling, ...]
    rows: tuple[tuple[int, int], ...]
    held: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of its frames, internal coordinates and rows."""
        return len(self.freedom) + len(self.internal) + len(self.rows)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbering of a topology, as described for ``Numbering``; nothing changes its arrays."""

    n_q: int
    n_v: int
    n_c: int
    freedom: Ints
    frame_q: Ints
    frame_v: Ints
    internal_q: Ints
    internal_v: Ints
    row_c: Ints
    block_start: Ints
    edges: list[tuple[int, int]]
    eliminated_after: dict[int, set[int]]
    is_tree: bool
    has_loops: bool
    fixed_frames: list[int]
    kept: bool = False  # whether it is that of all models with this topology


NUMBERS: Keeper[Numbers] = Keeper(KEPT)


def numbers_of(topology: Topology) -> Numbers:
    """The numbering of a topology; those of the last ones of moderate size are kept. Raises ModelError if nothing can
    move."""
    if topology.size > LARGEST_KEPT:
        return _numbered(topology)
    return NUMBERS.get(topology, lambda: replace(_numbered(topology), kept=True))


def _numbered(topology: Topology) -> Numbers:
    block_of_frame = np.full(len(topology.freedom), -1)
    members: list[tuple[int | None, list[int]]] = []
    for k, freedom in enumerate(topology.freedom):
        if freedom:
            block_of_frame[k] = len(members)
            members.append((k, []))
    pairs = _blocks(topology, members, block_of_frame, own=False)
    if not members:
        raise ModelError("the model has nothing that can move")
    of_frame = block_of_frame.tolist()
    constrained = [(of_frame[a], of_frame[b]) for a, b in topology.rows]
    joined = {(min(pair), max(pair)) for pair in constrained if min(pair) >= 0}
    order, closed = _tree_order(len(members), pairs | joined)
    if closed and max(len(internal) for _, internal in members) > MOST_IN_A_BLOCK:
        members = [(frame, []) for frame, _ in members if frame is not None]
        pairs = _blocks(topology, members, block_of_frame, own=True)
        order, _ = _tree_order(len(members), pairs | joined)
    number = [-1] * (len(members) + 1)  # the last is the ground
    for k, block in enumerate(order):
        number[block] = k
    owners = [members[b][0] for b in order]
    freedoms = [1 if owner is None else topology.freedom[owner] for owner in owners]
    roots = [number[of_frame[k]] for k in topology.held]
    rows = RowBlocks([(number[a], number[b]) for a, b in constrained], freedoms, roots)
    places = _places(topology, [members[b] for b in order], rows.sizes)
    return Numbers(
        **places,
        n_c=len(topology.rows),
        freedom=np.array(topology.freedom, dtype=np.int64),
        row_c=rows.index,
        edges=[(number[a], number[b]) for a, b in sorted(pairs)] + rows.edges,
        eliminated_after=rows.after,
        is_tree=not closed and rows.is_tree,
        has_loops=not rows.is_tree,
    )


def _blocks(
    topology: Topology, members: list[tuple[int | None, list[int]]], block_of_frame: Ints, own: bool
) -> set[tuple[int, int]]:
    """Add the internal coordinates to the blocks ``members``, also as new ones; the coupled pairs of blocks.

    own : the internal coordinates of a frame with many of them are blocks of their own. They are eliminated first,
    and then no longer widen the blocks that remain in a net of beams.
    """
    of_frame = block_of_frame.tolist()
    of_internal = [0] * len(topology.internal)
    owned = [0] * len(of_frame)
    for owner, _ in topology.internal:
        if owner is not None:
            owned[owner] += 1
    for k, (owner, block) in enumerate(topology.internal):
        if owner is None and block is not None:
            of_internal[k] = of_internal[block]
            members[of_internal[k]][1].append(k)
        elif owner is None or (own and owned[owner] > MOST_IN_A_BLOCK):
            of_internal[k] = len(members)
            members.append((None, [k]))
        else:
            of_internal[k] = of_frame[owner]
            members[of_frame[owner]][1].append(k)
    pairs: set[tuple[int, int]] = set()
    for frames, internal in (*topology.couplings, *topology.springs):
        coupled = {of_frame[f] for f in frames if of_frame[f] >= 0}
        coupled |= {of_internal[k] for k in internal}
        pairs.update(combinations(sorted(coupled), 2))
    return pairs


def _places(topology: Topology, members: list[tuple[int | None, list[int]]], row_sizes: Ints) -> dict[str, Any]:
    """The places of frames and internal coordinates in q and v, for blocks in their order."""
    frame_q: Ints = np.empty(len(topology.freedom), dtype=np.int64)
    frame_v: Ints = np.full(len(topology.freedom), -1, dtype=np.int64)
    internal_q, internal_v = np.empty((2, len(topology.internal)), dtype=np.int64)
    fixed = [k for k, freedom in enumerate(topology.freedom) if freedom == 0]
    frame_q[fixed] = -1 - np.arange(len(fixed))
    n_q = n_v = 0
    starts = [0]
    for frame, internal in members:
        if frame is not None:
            frame_q[frame], frame_v[frame] = n_q, n_v
            freedom = topology.freedom[frame]
            n_q, n_v = n_q + (7 if freedom == 6 else 3), n_v + freedom
        for k in internal:
            internal_q[k], internal_v[k] = n_q, n_v
            n_q, n_v = n_q + 1, n_v + 1
        starts.append(n_v)
    block_start: Ints = np.concatenate([starts, n_v + np.cumsum(row_sizes)]).astype(np.int64)
    return {
        **{"n_q": n_q, "n_v": n_v, "frame_q": frame_q, "frame_v": frame_v, "fixed_frames": fixed},
        **{"internal_q": internal_q, "internal_v": internal_v, "block_start": block_start},
    }


class Numbering:
    """Frames, internal coordinates, rows and couplings; ``finish`` numbers them.

    After ``finish``: n_q coordinates, n_v velocities, n_c rows; freedom (F,) of every frame; frame_q, frame_v (F,)
    offsets of every frame in q and v, or -1-i and -1 for the fixed frame ``fixed[i]``; internal_q, internal_v (S,)
    indices of internal coordinates; row_c (n_c,) the multiplier of every row; block_start (B+1,) first index of every
    block in (v, multipliers); edges, the coupled pairs of blocks; eliminated_after, for every block of multipliers the
    blocks that must be eliminated before it; is_tree, whether couplings and constraints form trees; has_loops, whether
    constraints close loops. They depend on the ``topology`` alone.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.internal: list[InternalCoordinate] = []
        self.couplings: list[Coupling] = []
        self.spring_couplings: list[Coupling] = []
        self.rows: list[tuple[int, int]] = []

    @property
    def topology(self) -> Topology:
        """The declared structure, without numbers and names."""
        return Topology(
            tuple([frame.freedom for frame in self.frames]),
            tuple([(coordinate.owner, coordinate.block) for coordinate in self.internal]),
            tuple(self.couplings),
            tuple(self.spring_couplings),
            tuple(self.rows),
            tuple(self.held_frames()),
        )

    def finish(self) -> None:
        """Number blocks, coordinates and velocities. Raises ModelError if nothing can move."""
        self.take(numbers_of(self.topology))

    def take(self, numbers: Numbers) -> None:
        """Take over a numbering of these frames, internal coordinates and rows."""
        self.numbers = numbers
        self.n_q, self.n_v, self.n_c = numbers.n_q, numbers.n_v, numbers.n_c
        self.freedom = numbers.freedom
        self.frame_q, self.frame_v, self.row_c = numbers.frame_q, numbers.frame_v, numbers.row_c
        self.internal_q, self.internal_v = numbers.internal_q, numbers.internal_v
        self.block_start, self.edges = numbers.block_start, numbers.edges
        self.eliminated_after = numbers.eliminated_after
        self.is_tree, self.has_loops = numbers.is_tree, numbers.has_loops
        self.fixed: Floats = np.zeros((max(1, len(numbers.fixed_frames)), 7))
        for row, k in zip(self.fixed, numbers.fixed_frames, strict=False):
            row[:3], row[3:] = self.frames[k].position, self.frames[k].quaternion

    def held_frames(self) -> list[int]:
        """Frames with velocities whose equations an analysis leaves out because they do not move; none by default."""
        return []

    def start_coordinates(self) -> Floats:
        """q (n_q,) of the start poses and of the internal coordinates."""
        q = np.zeros(self.n_q)
        q[self.internal_q] = [coordinate.start for coordinate in self.internal]
        for k, frame in enumerate(self.frames):
            i = self.frame_q[k]
            if frame.freedom:
                q[i : i + 3] = frame.position
            if frame.freedom == 6:
                q[i + 3 : i + 7] = frame.quaternion
        return q

    def start_velocities(self) -> Floats:
        """v (n_v,) at rest: zero but for the rates of internal coordinates and the values of first-order states."""
        v = np.zeros(self.n_v)
        v[self.internal_v] = [coordinate.start_rate for coordinate in self.internal]
        return v

    @cached_property
    def first_order_v(self) -> Ints:
        """Indices in v of the first-order states; their coordinates are at the same places of ``internal``."""
        states = [k for k, coordinate in enumerate(self.internal) if coordinate.quantity.first_order]
        return self.internal_v[states]

    @cached_property
    def first_order_names(self) -> tuple[str, ...]:
        """The names of the first-order states, in the order of ``first_order_v``."""
        return tuple(coordinate.name for coordinate in self.internal if coordinate.quantity.first_order)

    def velocity_labels(self) -> list[str]:
        """Names (n_v,) of the velocities for messages: 'hub: velocity x', ..."""
        labels = [""] * self.n_v
        words = [f"{word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz"]
        for k, frame in enumerate(self.frames):
            for i in range(frame.freedom):
                labels[self.frame_v[k] + i] = f"{frame.label}: {words[i]}"
        for coordinate, index in zip(self.internal, self.internal_v, strict=True):
            rate = "" if coordinate.quantity.first_order else " rate"
            labels[index] = f"{coordinate.label}: {coordinate.quantity.name}{rate}"
        return labels


def _tree_order(count: int, pairs: set[tuple[int, int]]) -> tuple[list[int], bool]:
    """Order of the blocks, parents before children, and whether the couplings close loops.

    The root of a tree is the block with most couplings, such as the hub of a satellite.
    """
    # the neighbours of all blocks in one list: thousands of lists would keep Python's garbage collection busy
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    ends = np.concatenate([ends, ends[:, ::-1]])
    neighbours = ends[np.lexsort(ends.T[::-1]), 1].tolist()
    degree = np.bincount(ends[:, 0], minlength=count)
    first = [0, *np.cumsum(degree).tolist()]
    seen = [False] * count
    order: list[int] = []
    tree_edges = 0
    for root in np.argsort(-degree, kind="stable").tolist():
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
            stack += [(n, block) for n in reversed(neighbours[first[block] : first[block + 1]]) if not seen[n]]
    return order, tree_edges != len(pairs)


# Of every station at a frame: one array for all, which nothing can write to.
_ORIGIN, _AXES = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
for _array in (_ORIGIN, _AXES):
    _array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Station:
    """A point with axes fixed to a frame: offset (3,) m in the frame's axes, rotation (4,) station to frame."""

    frame: int
    offset: Floats = field(default_factory=lambda: _ORIGIN)
    rotation: Floats = field(default_factory=lambda: _AXES)

    @property
    def on_frame(self) -> bool:
        """Whether the station coincides with the frame."""
        return not self.offset.any() and bool(np.all(self.rotation == (1.0, 0.0, 0.0, 0.0)))

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) the station's axes as columns, in the frame's axes; read-only."""
        return _axes_of(self.rotation)


@kept
def _axes_of(rotation: Floats) -> Floats:
    axes = rotations.rotation_matrix(rotation)
    axes.flags.writeable = False
    return axes


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

    def node(self, text: str) -> Station | None:
        """The station of a node by its number, from 0, or from -1 at the end; None where there is none."""
        count = len(self.stations)
        known = text.removeprefix("-").isdecimal() and -count <= int(text) < count
        return self.stations[int(text)] if known else None

    @property
    def frames_of_elements(self) -> Ints:
        """(e, 2) frames of the first and the last node of every element."""
        frames = np.array([station.frame for station in self.stations])
        return np.column_stack([frames[:-1], frames[1:]])


@dataclass(frozen=True, eq=False)
class ShellLayout:
    """A shell's nodes as stations, the nodes of its quadrilaterals (q, 4) and triangles (t, 3), and the frames that are
    its own: those of nodes that are on no other item."""

    stations: list[Station]
    quads: Ints
    triangles: Ints
    own: list[int]

    @property
    def frames(self) -> list[int]:
        """The frames of all nodes."""
        return [station.frame for station in self.stations]


@dataclass(frozen=True, eq=False)
class FlexibleLayout:
    """The interfaces of a flexible body as stations by name, and the numbers of its modes, which are one block."""

    stations: dict[str, Station]
    modes: list[int]


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
    """A latch, the number of the joint coordinate that it locks, and the number of its row.

    Its discrete states are ``on``, one while it is engaged, else zero, and ``at``, the coordinate that it keeps, rad or
    m.
    """

    item: Any
    coordinate: int
    row: int

    @property
    def on(self) -> str:
        """The name of the first."""
        return f"latches.{self.item.name}.engaged"

    @property
    def at(self) -> str:
        """The name of the second."""
        return f"latches.{self.item.name}.coordinate"

    def engaged(self, discrete: DiscreteState) -> bool:
        """Whether it is engaged."""
        return bool(discrete[self.on])


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


class Layout(Numbering):
    """Collects frames, internal coordinates, rows and couplings from the elements; ``finish`` numbers them.

    origin (3,) m : the inertial point at t = 0 from which positions, also those in q, are measured; see Placement.
    origin_velocity (3,) m/s : its velocity, relative to which velocities, also those in v, are measured; see
    ``femb.system.initial_state.shared_velocity``. Input and output of users are inertial; see ``to_inertial``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.row_labels: list[str] = []
        self.bodies: dict[str, int] = {}
        self.beams: dict[str, BeamLayout] = {}
        self.shells: dict[str, ShellLayout] = {}
        self.flexible_bodies: dict[str, FlexibleLayout] = {}
        self.joints: dict[str, JointLayout] = {}
        # the joints along lines of hinges, one at each node
        self.hinges: dict[str, list[JointLayout]] = {}
        self.latches: list[LatchLayout] = []
        self.discrete: dict[str, DiscreteArray] = {}
        self.updates: list[Update] = []
        self.drivers: dict[str, DriverLayout] = {}
        # by table and name: what users' functions see of an item that declares its quantities, from a State
        self.views: dict[str, dict[str, Callable[[Any], Any]]] = {}
        # by the system: the inertia (3, 3) of the model about its mass centre at the start, kg m2, inertial axes
        self.locked_inertia: Callable[[], Floats]
        self._shared: dict[tuple[InternalQuantity, int], int] = {}
        self._inertial: int | None = None
        self.origin: Floats = np.zeros(3)
        self.origin_velocity: Floats = np.zeros(3)

    def to_inertial(self, time: Floats, position: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Inertial position and velocity (k, ..., 3) from those relative to the origin at the instants time (k,)."""
        if not self.origin_velocity.any():
            return self.origin + position, self.origin_velocity + velocity
        path = np.reshape(time, (-1,) + (1,) * (position.ndim - 1)) * self.origin_velocity
        return self.origin + path + position, self.origin_velocity + velocity

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """The number of a new frame in its start pose; freedom is 6, 3 (a point, without axes) or 0 (fixed)."""
        self.frames.append(Frame(label, position, quaternion, freedom))
        return len(self.frames) - 1

    def add_internal(
        self,
        label: str,
        quantity: InternalQuantity,
        owner: int | None,
        table: str,
        shared: bool = False,
        block: int | None = None,
        start: float = 0.0,
        start_rate: float = 0.0,
    ) -> int:
        """The number of a new internal coordinate, or of a first-order state; see ``InternalCoordinate``.

        owner : the frame with which it is eliminated; None or a fixed frame gives it a separate block. shared : all
        elements that request this quantity at this frame get the same coordinate. block : the number of an earlier
        coordinate without owner; its separate block then contains this one too, at the next index. start, start_rate :
        at the start of the motion; of a first-order state ``start`` is its value.

        The batch of the item gives the row of its equation. That of a first-order state z' = g has z' = a[internal_v]
        with the mass 1 (or another), z = v[internal_v], and nothing by q[internal_q].
        """
        if quantity.first_order:
            start, start_rate = 0.0, start
        if shared and owner is not None:
            known = self._shared.setdefault((quantity, owner), len(self.internal))
            if known < len(self.internal):
                return known
        moving = owner is not None and self.frames[owner].freedom > 0
        owner = owner if moving else None
        self.internal.append(InternalCoordinate(label, quantity, owner, table, block, start, start_rate))
        return len(self.internal) - 1

    def add_discrete(self, name: str, start: Any, carried: bool = True) -> str:
        """The name of a new discrete state, such as "thrusters.t1.level"; see ``femb.layout.discrete``.

        start, carried : as of ``DiscreteArray``. Raises ValueError where there is one of this name, or it has a slash.
        """
        if name in self.discrete or name == ANGLES or "/" in name:
            raise ValueError(f"got the discrete state {name!r}, wanted a name that is new and has no '/'")
        self.discrete[name] = DiscreteArray(start, carried)
        return name

    def add_update(self, update: Update) -> None:
        """Declare when and how discrete states change; one with a period counts its samples. Raises ValueError."""
        if update.period is not None:
            if not (update.period > 0.0 and update.phase >= 0.0):
                raise ValueError(f"{update.label}: got the period {update.period} s and the phase {update.phase} s")
            self.add_discrete(update.count, 0.0, carried=False)
        self.updates.append(update)

    def internal_number(self, table: str, item: str, name: str) -> int:
        """The number of an internal coordinate of an item by its name. Raises KeyError, which says what there is."""
        of_item = {
            each.quantity.name: k for k, each in enumerate(self.internal) if (each.table, each.label) == (table, item)
        }
        if name not in of_item:
            raise KeyError(
                f"{table}.{item}: no internal coordinate {name!r}; there are: {', '.join(of_item) or 'none'}"
            )
        return of_item[name]

    def couple(self, frames: Iterable[int], internal: Iterable[int] = ()) -> None:
        """Declare that an element couples these frames and internal coordinates."""
        self.couplings.append((tuple(frames), tuple(internal)))

    def couple_by_spring(self, frames: Iterable[int]) -> None:
        """Declare that a spring or dashpot couples these frames: for start velocities they are separate structures."""
        self.spring_couplings.append((tuple(frames), ()))

    def add_rows(self, labels: Sequence[str], first: int, second: int) -> list[int]:
        """The numbers of new constraint equations between two frames."""
        count = len(self.rows)
        self.rows += [(first, second)] * len(labels)
        self.row_labels += labels
        return list(range(count, len(self.rows)))

    def add_row(self, label: str, first: int, second: int) -> int:
        """The number of a new constraint equation between two frames."""
        return self.add_rows([label], first, second)[0]

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
            return Station(self.bodies[marker.body], np.asarray(marker.at, dtype=float))
        node = self.beams[marker.beam].stations[marker.node]
        return Station(node.frame, node.offset + rotations.rotate(node.rotation, marker.at), node.rotation)

    def parts_of(self, name: str) -> list[str]:
        """The parts of a quantity's name between its dots; the name of a body may contain dots, as "boom.tip" does."""
        table, *parts = name.split(".")
        if table == "bodies":
            for k in range(len(parts), 1, -1):
                if ".".join(parts[:k]) in self.bodies:
                    return [table, ".".join(parts[:k]), *parts[k:]]
        return [table, *parts]

    def named_station(self, name: str) -> Station | None:
        """The station of "bodies.NAME", or of "beams.NAME.NODE" with a node from 0, or from -1 at the end, or None."""
        match self.parts_of(name):
            case ["bodies", body] if body in self.bodies:
                return Station(self.bodies[body])
            case ["beams", beam, node] if beam in self.beams:
                return self.beams[beam].node(node)
        return None

    def frame_of(self, marker: Any) -> int:
        """The number of the frame of a marker's station."""
        if marker.anchor is not None:
            return self.inertial_frame()
        if marker.body is not None:
            return self.bodies[marker.body]
        node: Station = self.beams[marker.beam].stations[marker.node]
        return node.frame

    def internal_tolerances(self, atol: Tolerances, rtol: float) -> tuple[Floats, Floats, Bools]:
        """Absolute tolerances (S,) of the internal coordinates and (S,) of their rates, and whether they are angles.

        That of the coordinate of a first-order state is infinite. Its own is for the default relative tolerance, with
        which it changes as those of coordinates do.
        """
        values = dict(zip(TOLERANCES, atol.values(rtol), strict=True))
        share = Tolerances().values(rtol)[0] / Tolerances().values(DEFAULT_RTOL)[0]
        quantities = [coordinate.quantity for coordinate in self.internal]
        of_q = [math.inf if each.first_order else values[each.kind] for each in quantities]
        of_v = [
            first / atol.time if each.tolerance is None else share * each.tolerance
            for each, first in zip(quantities, of_q, strict=True)
        ]
        angles = [each.unit == "rad" and not each.first_order for each in quantities]
        return np.array(of_q, dtype=float), np.array(of_v, dtype=float), np.array(angles, dtype=bool)

    @property
    def extent(self) -> float:
        """Largest distance (m) of a frame from ``origin`` at the start."""
        return max((math.sqrt(frame.position.dot(frame.position)) for frame in self.frames), default=0.0)

    def pose(self, station: Station) -> tuple[Floats, Floats]:
        """Start position and quaternion of a station."""
        frame = self.frames[station.frame]
        position = frame.position + rotations.rotate(frame.quaternion, station.offset)
        return position, rotations.multiply(frame.quaternion, station.rotation)

    def poses(self, stations: Sequence[Station]) -> tuple[Floats, Floats]:
        """Start positions (n, 3) and quaternions (n, 4) of n stations."""
        frames = [self.frames[station.frame] for station in stations]
        axes = np.array([frame.quaternion for frame in frames])
        arms = rotations.rotate(axes, np.array([station.offset for station in stations]))
        positions = np.array([frame.position for frame in frames]) + arms
        return positions, rotations.multiply(axes, np.array([station.rotation for station in stations]))


# Fixed frames among the moving ones: where their coordinates and velocities follow all others.


def unfixed_frames(index: Ints, n_q: int, n_v: int, in_q: list[int], in_v: list[int]) -> Ints:
    """A copy of index rows in which the fixed frame i has the place n_q + 7 i in q and n_v + 6 i in v.

    in_q, in_v : columns of indices of the same frames in q, which are -1-i for the fixed frame i, and in v.
    """
    result = index.copy()
    held = index[:, in_q] < 0
    number = -1 - index[:, in_q]
    result[:, in_q] = np.where(held, n_q + 7 * number, index[:, in_q])
    result[:, in_v] = np.where(held, n_v + 6 * number, index[:, in_v])
    return result

"""Numbering: internal coordinates, frames and constraint rows, and the order in which their blocks are eliminated."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Bools, Floats, Ints
from femb.base.values import Keeper

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
    """Blocks of rows between frame blocks (GROUND if fixed), a pair or more; freedom : velocities of every frame block.

    roots : frame blocks whose equations an analysis leaves out: eliminating these makes no multipliers regular.
    index (R,) of every row in the multipliers; sizes (K,) rows of every block; edges, the pairs (block of rows, frame
    block), with blocks of rows numbered after the frame blocks; after, by block of rows, the blocks to eliminate first.
    """

    def __init__(self, rows: list[tuple[int, ...]], freedom: list[int], roots: Sequence[int] = ()) -> None:
        members: list[list[int]] = []
        ends: list[tuple[int, ...]] = []
        open_blocks: dict[tuple[int, ...], int] = {}
        for row, frames in enumerate(rows):
            of_row = tuple(sorted(frames))
            limit = min(freedom[frame] for frame in of_row if frame != GROUND)
            block = open_blocks.get(of_row)
            if block is None or len(members[block]) == limit:
                # More rows than degrees of freedom between two frames: some depend on the others.
                block = open_blocks[of_row] = len(members)
                members.append([])
                ends.append(of_row)
            members[block].append(row)
        self.sizes: Ints = np.array([len(member) for member in members], dtype=np.int64)
        self.index: Ints = np.empty(len(rows), dtype=np.int64)
        self.index[[row for member in members for row in member]] = np.arange(len(rows))
        count = len(freedom)
        self.edges = [(count + k, frame) for k, frames in enumerate(ends) for frame in frames if frame != GROUND]
        self.after = self._after(ends, count, roots)

    def _after(self, ends: list[tuple[int, ...]], count: int, roots: Sequence[int]) -> dict[int, set[int]]:
        parents = _spanning_tree({block: frames for block, frames in enumerate(ends) if len(frames) == 2}, roots)
        tree = {block for _, block in parents.values() if block >= 0}
        self.is_tree = len(tree) == len(ends)
        after = {count + block: {frame} for frame, (_, block) in parents.items() if block >= 0}
        for block, (first, *others) in enumerate(ends):
            if block not in tree:
                after[count + block] = set().union(*(_loop(parents, first, other, count) for other in others))
        return after


def _spanning_tree(pairs: dict[int, tuple[int, ...]], roots: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Parent of every constrained frame block and the block of rows between them; (-2, -1) for a root.

    Roots are the ground and the given ones together, then the blocks with most constraints.
    """
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for block, (a, b) in pairs.items():
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
# an element (above). A moving frame and the internal coordinates that it owns form a *block*; an
# internal coordinate without owner is a block, or several of one element are. Elements couple blocks, and blocks are
# numbered along the branches of these couplings. In structures with loops, the internal coordinates of a frame with
# more than two of them are blocks of their own. A *row* is one constraint equation between two frames, or more, with
# one multiplier; rows between the same frames form a block too. Blocks of rows follow all blocks of velocities.

# Internal coordinates in the block of a frame, in structures with loops; more of them are blocks of their own.
MOST_IN_A_BLOCK = 2
# The numberings of the last topologies are kept, with so many frames, internal coordinates and rows at most: those of
# larger ones take memory, and little of the time of a run.
KEPT, LARGEST_KEPT = 16, 10_000

Coupling: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Frames and internal coordinates that an element couples."""


class Frame(NamedTuple):
    """A body or a beam node in its start pose: position (m) from ``Layout.origin``, quaternion frame to inertial.

    freedom : number of velocities: 6, 3 for a point, 0 for a fixed frame.
    """

    label: str
    position: Floats
    quaternion: Floats
    freedom: int = 6


class Topology(NamedTuple):
    """The declared structure of a model, on which its numbering depends: models with the same one are numbered alike.

    freedom : of every frame. internal : owner and block of every internal coordinate. couplings : the frames and
    internal coordinates that each element couples. structures : sets of frames, each of one structure. rows : the
    frames of every constraint equation. held : frames whose equations an analysis leaves out.
    """

    freedom: tuple[int, ...]
    internal: tuple[tuple[int | None, int | None], ...]
    couplings: tuple[Coupling, ...]
    structures: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]
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

    @cached_property
    def moving(self) -> Bools:
        """(F,) bool: whether a frame moves."""
        result: Bools = self.freedom > 0
        return result

    @cached_property
    def turning(self) -> Bools:
        """(F,) bool: whether a frame moves and has axes."""
        result: Bools = self.freedom == 6
        return result

    @cached_property
    def multipliers(self) -> Ints:
        """(n_c + 1,): the multiplier of every row, and at last -1 of no row."""
        return np.append(self.row_c, -1)

    @cached_property
    def coordinates(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Indices of positions and internal coordinates in q and v, of quaternions in q and angular velocities in v, as
        the kernels of ``femb.numerics.kinematics`` take them."""
        linear = (each[self.moving][:, None] + np.arange(3) for each in (self.frame_q, self.frame_v))
        of_q, of_v = (np.concatenate([each.ravel(), internal]) for each, internal in
                      zip(linear, (self.internal_q, self.internal_v), strict=True))  # fmt: skip
        return of_q, of_v, self.frame_q[self.turning] + 3, self.frame_v[self.turning] + 3

    @cached_property
    def groups(self) -> tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints]]:
        """Groups of components of q and of v for error norms: the first index of each position or velocity, of each
        quaternion or angular velocity, and the indices of internal coordinates."""
        _, _, quaternions, omegas = self.coordinates
        of_q = self.frame_q[self.moving], quaternions, self.internal_q
        return of_q, (self.frame_v[self.moving], omegas, self.internal_v)


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
    constrained = [tuple(of_frame[frame] for frame in frames) for frames in topology.rows]
    # of all frames of a row, as where its tangent is complete: the coordinates of both layouts are the same
    joined = {pair for row in constrained for pair in combinations(sorted({b for b in row if b >= 0}), 2)}
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
    rows = RowBlocks([tuple(number[block] for block in frames) for frames in constrained], freedoms, roots)
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
    for frames, internal in topology.couplings:
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
        self.structures: list[tuple[int, ...]] = []
        self.rows: list[tuple[int, ...]] = []

    @property
    def topology(self) -> Topology:
        """The declared structure, without numbers and names."""
        return Topology(
            tuple([frame.freedom for frame in self.frames]),
            tuple([(coordinate.owner, coordinate.block) for coordinate in self.internal]),
            tuple(self.couplings),
            tuple(self.structures),
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
        in_q, _, quaternions, _ = self.numbers.coordinates
        places = [frame.position for frame in self.frames if frame.freedom]
        q[in_q] = np.concatenate([*places, [coordinate.start for coordinate in self.internal]])
        turned = [frame.quaternion for frame in self.frames if frame.freedom == 6]
        q[quaternions[:, None] + np.arange(4)] = np.array(turned).reshape(-1, 4)
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

"""Numbering of frames, internal coordinates and constraint rows, and their blocks in the matrices.

A *frame* is a position and, unless it belongs to a point mass, axes; an *internal coordinate* is a scalar unknown of
an element (``femb.layout.internal``). A moving frame and the internal coordinates that it owns form a *block*; an
internal coordinate without owner is a block, or several of one element are. Elements couple blocks, and blocks are
numbered along the branches of these couplings. In structures with loops, the internal coordinates of a frame with more
than two of them are blocks of their own. A *row* is one constraint equation between two frames, with one multiplier;
rows between the same two frames form a block too. Blocks of rows follow all blocks of velocities
(``femb.layout.rows``).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.internal import InternalCoordinate
from femb.layout.rows import RowBlocks

# Internal coordinates in the block of a frame, in structures with loops; more of them are blocks of their own.
MOST_IN_A_BLOCK = 2


@dataclass(frozen=True, eq=False)
class Frame:
    """A body or a beam node in its start pose: position (m) from ``Layout.origin``, quaternion frame to inertial.

    freedom : number of velocities: 6, 3 for a point, 0 for a fixed frame.
    """

    label: str
    position: Floats
    quaternion: Floats
    freedom: int = 6


class Numbering:
    """Frames, internal coordinates, rows and couplings; ``finish`` numbers them.

    After ``finish``: n_q coordinates, n_v velocities, n_c rows; frame_q, frame_v (F,) offsets of every frame in q and
    v, or -1-i and -1 for the fixed frame ``fixed[i]``; internal_q, internal_v (S,) indices of internal coordinates;
    row_c (n_c,) the multiplier of every row; block_start (B+1,) first index of every block in (v, multipliers); edges,
    the coupled pairs of blocks; eliminated_after, for every block of multipliers the blocks that must be eliminated
    before it; is_tree, whether couplings and constraints form trees; has_loops, whether constraints close loops.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.internal: list[InternalCoordinate] = []
        self.couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.spring_couplings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.rows: list[tuple[int, int]] = []

    def finish(self) -> None:
        """Number blocks, coordinates and velocities. Raises ModelError if nothing can move."""
        block_of_frame = np.full(len(self.frames), -1)
        members: list[tuple[int | None, list[int]]] = []
        for k, frame in enumerate(self.frames):
            if frame.freedom:
                block_of_frame[k] = len(members)
                members.append((k, []))
        pairs = self._blocks(members, block_of_frame, own=False)
        if not members:
            raise ModelError("the model has nothing that can move")
        constrained = [(int(block_of_frame[a]), int(block_of_frame[b])) for a, b in self.rows]
        joined = {(min(pair), max(pair)) for pair in constrained if min(pair) >= 0}
        order, closed = _tree_order(len(members), pairs | joined)
        if closed and max(len(internal) for _, internal in members) > MOST_IN_A_BLOCK:
            members = [(frame, []) for frame, _ in members if frame is not None]
            pairs = self._blocks(members, block_of_frame, own=True)
            order, _ = _tree_order(len(members), pairs | joined)
        number = np.empty(len(members) + 1, dtype=int)
        number[order] = np.arange(len(members))
        number[-1] = -1  # the ground
        owners = [members[b][0] for b in order]
        freedom = [1 if owner is None else self.frames[owner].freedom for owner in owners]
        roots = [int(number[block_of_frame[k]]) for k in self.held_frames()]
        rows = RowBlocks([(int(number[a]), int(number[b])) for a, b in constrained], freedom, roots)
        self.is_tree, self.has_loops = not closed and rows.is_tree, not rows.is_tree
        self.edges = [(int(number[a]), int(number[b])) for a, b in sorted(pairs)] + rows.edges
        self.eliminated_after = rows.after
        self._number([members[b] for b in order], rows.sizes)
        self.n_c, self.row_c = len(self.rows), rows.index

    def _blocks(
        self, members: list[tuple[int | None, list[int]]], block_of_frame: Ints, own: bool
    ) -> set[tuple[int, int]]:
        """Add the internal coordinates to the blocks ``members``, also as new ones; the coupled pairs of blocks.

        own : the internal coordinates of a frame with many of them are blocks of their own. They are eliminated first,
        and then no longer widen the blocks that remain in a net of beams.
        """
        block_of_internal = np.empty(len(self.internal), dtype=int)
        owners = [coordinate.owner for coordinate in self.internal if coordinate.owner is not None]
        owned = np.bincount(np.array(owners, dtype=int), minlength=len(self.frames))
        for k, coordinate in enumerate(self.internal):
            if coordinate.owner is None and coordinate.block is not None:
                block_of_internal[k] = block_of_internal[coordinate.block]
                members[block_of_internal[k]][1].append(k)
            elif coordinate.owner is None or (own and owned[coordinate.owner] > MOST_IN_A_BLOCK):
                block_of_internal[k] = len(members)
                members.append((None, [k]))
            else:
                block_of_internal[k] = block_of_frame[coordinate.owner]
                members[block_of_frame[coordinate.owner]][1].append(k)
        of_frame, of_internal = block_of_frame.tolist(), block_of_internal.tolist()
        pairs: set[tuple[int, int]] = set()
        for frames, internal in (*self.couplings, *self.spring_couplings):
            coupled = {of_frame[f] for f in frames if of_frame[f] >= 0}
            coupled |= {of_internal[k] for k in internal}
            pairs.update(combinations(sorted(coupled), 2))
        return pairs

    def held_frames(self) -> list[int]:
        """Frames with velocities whose equations an analysis leaves out because they do not move; none by default."""
        return []

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

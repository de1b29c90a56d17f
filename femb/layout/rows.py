"""Blocks of constraint rows, and the earliest point at which each block of multipliers can be eliminated.

A block of multipliers has a zero diagonal; eliminating the frame that it constrains makes it regular. The constraints
form a graph of the frames and the ground. On a spanning tree every block of rows constrains the frame farther from the
root and can be eliminated directly after it. A block that closes a loop constrains the remaining freedom of the loop,
which may be none: it must follow all blocks of the loop.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from femb.base.types import Ints

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

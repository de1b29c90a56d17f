"""Rows of constraints in blocks, and when each block of their multipliers can be eliminated.

A block of multipliers has no diagonal; eliminating the frame that it holds gives it one. The constraints make a graph
of the frames, with the ground for one of them. On a spanning tree of it every block of rows belongs to the frame away
from the root, whose freedom it takes: the block can follow that frame at once. A block that closes a loop holds what
the rest of the loop leaves free, if that is anything: it must follow all of the loop.
"""

from collections import deque

import numpy as np

from femb.base.types import Ints

GROUND = -1


class RowBlocks:
    """Blocks for rows between pairs of frame blocks (GROUND if fixed), of frame blocks with these freedoms.

    place (R,) of every row among the multipliers; sizes (K,) rows a block; edges, the pairs (block of rows, frame
    block), where blocks of rows are numbered after the frame blocks; after, what each must be eliminated after.
    """

    def __init__(self, rows: list[tuple[int, int]], freedom: list[int]) -> None:
        members: list[list[int]] = []
        pairs: list[tuple[int, int]] = []
        filling: dict[tuple[int, int], int] = {}
        for row, (a, b) in enumerate(rows):
            pair = (min(a, b), max(a, b))
            limit = min(freedom[each] for each in pair if each != GROUND)
            block = filling.get(pair)
            if block is None or len(members[block]) == limit:
                # More rows than there is freedom between two frames: some depend on the others.
                block = filling[pair] = len(members)
                members.append([])
                pairs.append(pair)
            members[block].append(row)
        self.sizes: Ints = np.array([len(member) for member in members], dtype=np.int64)
        self.place: Ints = np.empty(len(rows), dtype=np.int64)
        self.place[[row for member in members for row in member]] = np.arange(len(rows))
        count = len(freedom)
        self.edges = [(count + k, each) for k, pair in enumerate(pairs) for each in pair if each != GROUND]
        self.after = self._after(pairs, count)

    def _after(self, pairs: list[tuple[int, int]], count: int) -> dict[int, set[int]]:
        above = _spanning_tree(pairs, count)
        tree = {block for _, block in above.values() if block >= 0}
        self.is_tree = len(tree) == len(pairs)
        after = {count + block: {frame} for frame, (_, block) in above.items() if block >= 0}
        for block, (a, b) in enumerate(pairs):
            if block not in tree:
                after[count + block] = _loop(above, a, b, count)
        return after


def _spanning_tree(pairs: list[tuple[int, int]], count: int) -> dict[int, tuple[int, int]]:
    """For every frame block in a constraint, the one above it and the block of rows between; (-2, -1) for a root.

    Roots are the ground, then the blocks with most constraints.
    """
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for block, (a, b) in enumerate(pairs):
        neighbours.setdefault(a, []).append((b, block))
        neighbours.setdefault(b, []).append((a, block))
    above: dict[int, tuple[int, int]] = {}
    for root in sorted(neighbours, key=lambda each: (each != GROUND, -len(neighbours[each]))):
        if root in above:
            continue
        above[root] = (-2, -1)
        queue = deque([root])
        while queue:
            each = queue.popleft()
            for other, block in neighbours[each]:
                if other not in above:
                    above[other] = (each, block)
                    queue.append(other)
    return above


def _loop(above: dict[int, tuple[int, int]], a: int, b: int, count: int) -> set[int]:
    """Frame blocks and blocks of rows on the way from a to b in the tree."""
    result: set[int] = set()
    ways = []
    for each in (a, b):
        way = [each]
        while above[way[-1]][0] != -2:
            way.append(above[way[-1]][0])
        ways.append(way)
    first, second = ways
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    for way in ways:
        result |= {count + above[each][1] for each in way[:-1]}
        result |= {each for each in way if each != GROUND}
    return result

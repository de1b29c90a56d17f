"""Elimination order of the blocks of the system matrices, and the fill-in.

Minimum degree ordering of the graph of blocks: a tree is eliminated from the leaves to the root without fill-in; a loop
adds a few blocks. A block of multipliers has a zero diagonal: it may only be eliminated after the blocks that change
this diagonal (``after``).

A. George, J. W. H. Liu, The evolution of the minimum degree ordering algorithm, SIAM Review 31 (1989) 1-19.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from femb.base.types import Ints


class Elimination:
    """order (B,) of the blocks; later[first[k] : first[k + 1]] : neighbours of the k-th, eliminated after it."""

    def __init__(self, count: int, edges: set[tuple[int, int]], after: dict[int, set[int]]) -> None:
        found = None if any(after.values()) else _of_forest(count, edges)
        order, later = found or _minimum_degree(count, edges, after)
        self.order: Ints = np.array(order, dtype=np.int64)
        self.first: Ints = np.concatenate([[0], np.cumsum([len(others) for others in later])]).astype(np.int64)
        self.later: Ints = np.array([n for others in later for n in others], dtype=np.int64)


def _of_forest(count: int, edges: set[tuple[int, int]]) -> tuple[list[int], list[tuple[int, ...]]] | None:
    """The order of ``_minimum_degree``, and the later neighbours, if the edges close no loop: no sets are needed."""
    degree, link = [0] * count, [0] * count
    for a, b in edges:
        degree[a] += 1
        degree[b] += 1
        # all neighbours in one number: that of the last one, after the others are taken out
        link[a] ^= b
        link[b] ^= a
    heap = [(degree[b], -b) for b in range(count) if degree[b] <= 1]
    heapify(heap)
    order: list[int] = []
    later: list[tuple[int, ...]] = []
    done = [False] * count
    while heap:
        neighbours, b = heappop(heap)
        b = -b
        if done[b] or neighbours != degree[b]:
            continue
        done[b] = True
        order.append(b)
        if not neighbours:
            later.append(())
            continue
        n = link[b]
        later.append((n,))
        link[n] ^= b
        degree[n] -= 1
        if degree[n] <= 1:
            heappush(heap, (degree[n], -n))
    return (order, later) if len(order) == count else None


def _minimum_degree(
    count: int, edges: set[tuple[int, int]], after: dict[int, set[int]]
) -> tuple[list[int], list[list[int]]]:
    """The blocks in their order, and the later neighbours of each."""
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    waiting = {block: set(others) for block, others in after.items() if others}
    waiting_for: dict[int, list[int]] = {}
    for block, others in waiting.items():
        for other in others:
            waiting_for.setdefault(other, []).append(block)
    heap: list[tuple[int, int]] = []
    for b in range(count):
        if b not in waiting:
            heappush(heap, (len(neighbours[b]), -b))
    order: list[int] = []
    later: list[list[int]] = []
    done = [False] * count
    while heap:
        degree, b = heappop(heap)
        b = -b
        if done[b] or degree != len(neighbours[b]):
            continue
        done[b] = True
        order.append(b)
        others = neighbours[b]
        later.append(sorted(others))
        for n in others:
            neighbours[n].discard(b)
        if len(others) > 1:
            for n in others:
                neighbours[n] |= others
                neighbours[n].discard(n)
        released = []
        for block in waiting_for.get(b, ()):
            waiting[block].discard(b)
            if not waiting[block]:
                del waiting[block]
                released.append(block)
        for n in (*others, *released):
            if n not in waiting:
                heappush(heap, (len(neighbours[n]), -n))
    return order, later

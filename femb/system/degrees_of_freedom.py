"""Degrees of freedom that constraints leave, and rows of constraints that depend on others.

Source: docs/theory/constraints.md, section 6.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Ints, Sparse
from femb.layout.layout import Layout
from femb.system.equations import Equations

# Singular values below this part of the largest belong to dependent rows.
RANK = 1e-9
# The least singular value of rows of unit length that are independent for certain.
INDEPENDENT_ROWS = 1e-6


@dataclass(frozen=True)
class Freedom:
    """What constraints leave: degrees of freedom, number of rows, labels of rows that depend on others, and of all rows
    that take part in such a dependence, whose multipliers rigid bodies leave open.

    Which of the rows that take part is called the dependent one is a choice.
    """

    degrees: int
    rows: int
    dependent: tuple[str, ...]
    undetermined: tuple[str, ...]


def freedom(system: Equations, q: Floats) -> Freedom:
    """Degrees of freedom at a state, by the rank of J (rows scaled to unit length), and its dependent rows.

    Source: docs/theory/constraints.md, section 6.
    """
    from scipy.linalg import qr, svd

    if not system.n_c:
        return Freedom(system.n_v, 0, (), ())
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = system.jacobian(u, q).tocsr()[system.layout.row_c]
    sizes = np.sqrt(np.asarray(J.multiply(J).sum(axis=1))).ravel()
    active = np.flatnonzero(sizes)
    blocks = _row_blocks(system.layout, J, sizes, active)
    loops = _in_loops(system.layout, blocks, active)
    dependent: list[int] = []
    undetermined: list[int] = []
    for rows in loops:
        # Rows that share no frame with others, even through others, depend on none of these.
        columns = np.unique(np.concatenate([J[[k]].indices for k in rows]))
        block = J[rows][:, columns].toarray() / sizes[rows, None]
        _, R, order = qr(block.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > RANK * diagonal[0]))
        if rank < len(rows):
            dependent += [rows[k] for k in order[rank:]]
            null = svd(block)[0][:, rank:]
            undetermined += [rows[k] for k in np.flatnonzero(np.linalg.norm(null, axis=1) > 1e-8)]
    labels = system.layout.row_labels
    named = (tuple(labels[k] for k in sorted(each)) for each in (dependent, undetermined))
    return Freedom(system.n_v - len(active) + len(dependent), len(active), *named)


def _row_blocks(layout: Layout, J: Sparse, sizes: Floats, active: Ints) -> dict[tuple[int, int], Floats]:
    """J of every row, scaled to unit length, on the velocities of each moving frame that it is between."""
    result = {}
    for row in active.tolist():
        start, stop = J.indptr[row], J.indptr[row + 1]
        columns, values = J.indices[start:stop], J.data[start:stop] / sizes[row]
        for frame in set(layout.rows[row]):
            first, freedom = int(layout.frame_v[frame]), layout.frames[frame].freedom
            if freedom:
                own = np.zeros(6)
                inside = (columns >= first) & (columns < first + freedom)
                own[columns[inside] - first] = values[inside]
                result[row, frame] = own
    return result


def _in_loops(layout: Layout, blocks: dict[tuple[int, int], Floats], active: Ints) -> list[list[int]]:
    """Rows that may depend on others, in groups that share no frame.

    Where the rows on a frame are independent in its velocities alone, no multipliers of theirs cancel each other: they
    take part in no dependence. Without them, the same may hold of the next frame: so trees are undone from their
    leaves, and what is left is in loops, or holds two frames twice.
    """
    on: dict[int, set[int]] = {}
    for row, frame in blocks:
        on.setdefault(frame, set()).add(row)
    left = set(active.tolist())
    queue = deque(sorted(on))
    while queue:
        frame = queue.popleft()
        rows = sorted(on[frame])
        if not 0 < len(rows) <= layout.frames[frame].freedom:
            continue
        own = np.array([blocks[row, frame] for row in rows])
        if np.linalg.svd(own, compute_uv=False)[-1] < INDEPENDENT_ROWS:
            continue
        left -= set(rows)
        for other in {each for row in rows for each in layout.rows[row] if each in on}:
            on[other] -= set(rows)
            queue.append(other)
    groups: list[list[int]] = []
    while left:
        group, frames = [left.pop()], set[int]()
        for row in group:
            for frame in set(layout.rows[row]) - frames:
                frames.add(frame)
                others = on.get(frame, set()) & left
                left -= others
                group += sorted(others)
        groups.append(sorted(group))
    return sorted(groups)


def check_pairs(system: Equations, q: Floats) -> None:
    """Refuse joints that hold the same two frames in the same way: each row between them must say something new."""
    layout = system.layout
    groups: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(layout.rows):
        groups.setdefault((min(pair), max(pair)), []).append(row)
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = None
    problems = []
    for pair, rows in groups.items():
        items = list(dict.fromkeys(layout.row_labels[row].partition(": ")[0] for row in rows))
        if len(items) < 2:
            continue
        J = system.jacobian(u, q).tocsr() if J is None else J
        block = J[layout.row_c[rows]].toarray()
        block = block[np.any(block, axis=1)]
        if np.linalg.matrix_rank(block, tol=RANK * np.linalg.norm(block)) < len(block):
            names = [layout.frames[frame].label for frame in pair]
            problems.append(
                Problem(
                    (*items[-1].split(".", 1),),
                    f"holds {names[0]!r} and {names[1]!r} as {' and '.join(items[:-1])} "
                    f"already {'does' if len(items) == 2 else 'do'}: leave one of them out, or take joints that leave "
                    "more free",
                )
            )
    if problems:
        raise ModelError(*problems)

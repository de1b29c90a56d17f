"""Number of degrees of freedom, and rows of constraints that depend on others.

Source: docs/theory/constraints.md, section 6.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Ints, Sparse
from femb.layout.layout import Layout
from femb.system.motion_equations import MotionEquations

# Singular values below this, relative to the largest, belong to dependent rows.
RANK = 1e-9
# Rows of unit length with a least singular value above this are independent.
INDEPENDENT_ROWS = 1e-6


@dataclass(frozen=True)
class Freedom:
    """Number of degrees of freedom and of rows, labels of dependent rows, and of rows whose multipliers are not unique.

    The latter are all rows of a linear dependence; the choice of the dependent one among them is arbitrary.
    """

    degrees: int
    rows: int
    dependent: tuple[str, ...]
    undetermined: tuple[str, ...]


def freedom(system: MotionEquations, q: Floats) -> Freedom:
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
        # Groups of rows have no frame in common, and are independent of each other.
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
    names = (tuple(labels[k] for k in sorted(rows)) for rows in (dependent, undetermined))
    return Freedom(system.n_v - len(active) + len(dependent), len(active), *names)


def _row_blocks(layout: Layout, J: Sparse, sizes: Floats, active: Ints) -> dict[tuple[int, int], Floats]:
    """Blocks by row and moving frame: J, scaled to unit length, on the velocities of the frame, padded to (6,)."""
    result = {}
    for row in active.tolist():
        start, stop = J.indptr[row], J.indptr[row + 1]
        columns, values = J.indices[start:stop], J.data[start:stop] / sizes[row]
        for frame in set(layout.rows[row]):
            first, freedom = int(layout.frame_v[frame]), layout.frames[frame].freedom
            if freedom:
                block = np.zeros(6)
                inside = (columns >= first) & (columns < first + freedom)
                block[columns[inside] - first] = values[inside]
                result[row, frame] = block
    return result


def _in_loops(layout: Layout, blocks: dict[tuple[int, int], Floats], active: Ints) -> list[list[int]]:
    """Rows that may depend on others, in groups without a common frame.

    Rows on a frame that are independent in its velocities alone take part in no dependence, since no combination of
    them cancels there. They are removed, frame by frame; this removes trees from their leaves. The remaining rows are
    in loops, or connect the same two frames.
    """
    on: dict[int, set[int]] = {}
    for row, frame in blocks:
        on.setdefault(frame, set()).add(row)
    remaining = set(active.tolist())
    queue = deque(sorted(on))
    while queue:
        frame = queue.popleft()
        rows = sorted(on[frame])
        if not 0 < len(rows) <= layout.frames[frame].freedom:
            continue
        block = np.array([blocks[row, frame] for row in rows])
        if np.linalg.svd(block, compute_uv=False)[-1] < INDEPENDENT_ROWS:
            continue
        remaining -= set(rows)
        for other in {other for row in rows for other in layout.rows[row] if other in on}:
            on[other] -= set(rows)
            queue.append(other)
    groups: list[list[int]] = []
    while remaining:
        group, frames = [remaining.pop()], set[int]()
        for row in group:
            for frame in set(layout.rows[row]) - frames:
                frames.add(frame)
                others = on.get(frame, set()) & remaining
                remaining -= others
                group += sorted(others)
        groups.append(sorted(group))
    return sorted(groups)


def check_pairs(system: MotionEquations, q: Floats) -> None:
    """Raise ModelError where several joints between the same two frames have dependent rows."""
    layout = system.layout
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, frames in enumerate(layout.rows):
        groups.setdefault(tuple(sorted(set(frames))), []).append(row)
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = None
    problems = []
    for frames, rows in groups.items():
        items = list(dict.fromkeys(layout.row_labels[row].partition(": ")[0] for row in rows))
        if len(items) < 2:
            continue
        J = system.jacobian(u, q).tocsr() if J is None else J
        block = J[layout.row_c[rows]].toarray()
        block = block[np.any(block, axis=1)]
        if np.linalg.matrix_rank(block, tol=RANK * np.linalg.norm(block)) < len(block):
            names = [repr(layout.frames[frame].label) for frame in frames]
            problems.append(
                Problem(
                    (*items[-1].split(".", 1),),
                    f"holds {' and '.join(names)} as {' and '.join(items[:-1])} "
                    f"already {'does' if len(items) == 2 else 'do'}: leave one of them out, or take joints that leave "
                    "more free",
                )
            )
    if problems:
        raise ModelError(*problems)

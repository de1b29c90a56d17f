"""Number of degrees of freedom, and rows of constraints that depend on others.

Source: docs/theory/constraints.md, section 6.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.base.values import listed
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.system.block_lu import NEARLY_DEPENDENT, SINE
from femb.system.constraints import OPEN, mass_factors
from femb.system.motion_equations import MotionEquations

# Singular values of rows of unit length: up to EXACT, of rows that depend on each other but for rounding; above NEARLY,
# of independent ones. PART : what a row of a dependence has at least, to be named.
EXACT, NEARLY, PART = 1e-9, NEARLY_DEPENDENT**0.5, 0.01


@dataclass(frozen=True)
class Freedom:
    """Number of degrees of freedom and of rows, labels of dependent rows, and of rows whose multipliers are not unique.

    The latter are all rows of a linear dependence; the choice of the dependent one among them is arbitrary. nearly :
    sentences on dependences that are not exact.
    """

    degrees: int
    rows: int
    dependent: tuple[str, ...]
    undetermined: tuple[str, ...]
    nearly: tuple[str, ...] = ()


def freedom(system: MotionEquations, q: Floats) -> Freedom:
    """Degrees of freedom at a state, by the rows that a step from it leaves out, and its dependent rows.

    Without a regular mass matrix, rows are counted by the rank of J (rows scaled to unit length).
    Source: docs/theory/constraints.md, section 6.
    """
    from scipy.linalg import qr, svd

    if not system.n_c:
        return Freedom(system.n_v, 0, (), ())
    layout, u = system.layout, system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = system.jacobian(u, q).tocsr()[layout.row_c]
    sizes = np.sqrt(np.asarray(J.multiply(J).sum(axis=1))).ravel()
    active = np.flatnonzero(sizes)
    J = J.multiply(1.0 / np.where(sizes, sizes, 1.0)[:, None]).tocsr()
    try:
        left_out = mass_factors(system, u, q).pivot_ratios()[layout.row_c] == 0.0
    except TrialError:
        left_out = None
    dependent: list[int] = []
    undetermined: list[int] = []
    nearly: list[str] = []
    for rows in _in_loops(layout, J, active):
        # Groups of rows have no frame in common, and are independent of each other.
        block = J[rows]
        columns = np.unique(block.indices)
        block = with_lengths(block[:, columns].toarray(), np.isin(columns, system.rotations))
        _, R, order = qr(block.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > SINE * diagonal[0] if left_out is None else ~left_out[rows]))
        if rank == len(rows) and diagonal[-1] > NEARLY:
            continue
        dependent += [rows[k] for k in order[rank:]]
        ways, least, _ = svd(block)
        undetermined += [rows[k] for k in np.flatnonzero(np.linalg.norm(ways[:, rank:], axis=1) > 1e-8)]
        for k, what in (
            (rank - 1, "they hold, and lock the loop if its axes should be aligned"),
            (rank, f"they count as dependent, and the loop moves as if aligned until a joint opens by {OPEN:g}"),
        ):
            if 0 <= k < len(least) and EXACT < least[k] < NEARLY:
                items = {layout.row_labels[rows[i]].partition(": ")[0] for i in np.flatnonzero(abs(ways[:, k]) > PART)}
                nearly.append(
                    f"equations of {listed(sorted(items))} depend on each other to {least[k]:.2g}: {what}; align the "
                    "axes, or use a spherical or universal joint where they should be free"
                )
    first, second = (tuple(layout.row_labels[k] for k in sorted(rows)) for rows in (dependent, undetermined))
    return Freedom(system.n_v - len(active) + len(dependent), len(active), first, second, tuple(nearly))


def with_lengths(J: Floats, rotations: Bools) -> Floats:
    """Rows of J (r, n) of unit length. Below a metre rotations, the marked columns, count by the longest arm: what
    depends on each other in metres does so in micrometres."""
    arms = np.abs(J[np.any(J[:, ~rotations], axis=1)][:, rotations])
    length = min(float(np.max(arms, initial=0.0)), 1.0) or 1.0
    scaled = np.where(rotations, J / length, J)
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(sizes, sizes, 1.0))


def rank_of_step(system: MotionEquations, u: Floats, q: Floats) -> int | None:
    """The rows of constraints that a step from a state keeps; None without a regular mass matrix."""
    J = system.jacobian(u, q).tocsr()[system.layout.row_c]
    try:
        kept = mass_factors(system, u, q).pivot_ratios()[system.layout.row_c] > 0.0
    except TrialError:
        return None
    return int(np.sum(kept & (np.asarray(abs(J).sum(axis=1)).ravel() > 0.0)))


def _in_loops(layout: Layout, J: Sparse, active: Ints) -> list[list[int]]:
    """Rows of unit length that may depend on others, in groups without a common frame.

    Rows on a frame that are independent in its velocities alone take part in no dependence, since no combination of
    them cancels there. They are removed, frame by frame; this removes trees from their leaves. The remaining rows are
    in loops, or connect the same two frames.
    """
    on: dict[int, set[int]] = {}
    for row in active.tolist():
        for frame in set(layout.rows[row]):
            if layout.frames[frame].freedom:
                on.setdefault(frame, set()).add(row)
    remaining = set(active.tolist())
    queue = deque(sorted(on))
    while queue:
        frame = queue.popleft()
        rows, first, freedom = sorted(on[frame]), int(layout.frame_v[frame]), layout.frames[frame].freedom
        if not 0 < len(rows) <= freedom:
            continue
        block = J[rows][:, first : first + freedom].toarray()
        if np.linalg.svd(block, compute_uv=False)[-1] < NEARLY:
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
        if np.linalg.matrix_rank(block, tol=EXACT * np.linalg.norm(block)) < len(block):
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

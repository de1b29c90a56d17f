"""Frames that joints keep in a plane: the velocities and the rows of constraints that are left for them.

A frame is planar with a normal n, an inertial axis, if joints lead to it from the ground that keep their second frame
at its distance along n, and an axis of it along n. Its three velocities out of the plane and their rates are zero,
whatever the forces are: they are left out of [M J^T; J 0]. So are the *odd* rows between planar frames, which vanish in
every motion in the plane; in a closed loop three of them depend on the others. Motions are those of the full matrix;
multipliers are known of the rows that stay. A slider is planar with two normals, and has one velocity.

Only directions that are exactly along n or in the plane at the start count; after each projection all rows are checked.
Source: docs/theory/constraints.md, section 6.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.base.values import Keeper, shallow_copy
from femb.elements.joint.primitives import (
    DOT1,
    DOT2,
    FIRST,
    FIRST_AXIS,
    IN_FORCE,
    INPUT,
    POINT,
    PRIMITIVE,
    ROW,
    SECOND,
    SECOND_AXIS,
)
from femb.layout.numbering import KEPT
from femb.numerics.rotations import rotation_matrix
from femb.numerics.vector3 import HAS_AXES, IN_Q, IN_V
from femb.system.block_lu import NEARLY_DEPENDENT
from femb.system.motion_equations import MotionEquations
from femb.system.pattern import Pattern

# Components of directions up to this are rounding; the sine of the least angle between two independent ones.
ALONG, INDEPENDENT = 1e-12, 0.1
GROUND = -1


@dataclass(frozen=True, eq=False)
class KeptUnknowns:
    """The unknowns that a solution keeps of those of a pattern.

    velocities (n_w,), dropped (n_v - n_w,) : indices in v; rows (n_r,) : multipliers. pattern : of these unknowns;
    gather (size,) : the place of each entry of its data in those of the full pattern, or -1 of fill-in that these have
    not; empty if all is kept.
    """

    velocities: Ints
    dropped: Ints
    rows: Ints
    pattern: Pattern
    gather: Ints

    @property
    def unknowns(self) -> Ints:
        """The kept unknowns among those of the full pattern."""
        return np.concatenate([self.velocities, self.rows + len(self.velocities) + len(self.dropped)])


def kept_unknowns(system: MotionEquations) -> KeptUnknowns:
    """The unknowns that the planes of a system with closed loops leave; all of those of others."""
    found = _in_planes(system) if system.layout.has_loops and not system.pattern.net else None
    if found is not None:
        return found
    none: Ints = np.zeros(0, dtype=np.int64)
    return KeptUnknowns(np.arange(system.n_v), none, np.arange(system.n_c), system.pattern, none)


def _in_planes(system: MotionEquations) -> KeptUnknowns | None:
    """The kept unknowns of a system with planar frames; None without any."""
    rows, nearly = RowsAtStart.of(system, ALONG), RowsAtStart.of(system, NEARLY_DEPENDENT**0.5)
    planes = _planes(rows)
    if not any(planes):
        return None
    keeps = np.ones(system.n_v, dtype=bool)
    kept_rows = np.ones(system.n_c, dtype=bool)
    for normal, turns in enumerate(planes):
        for start, turn in turns.items():
            keeps[start + normal] = False
            if turn >= 0:
                keeps[[start + 3 + k for k in range(3) if k != turn]] = False
        planar = np.isin(rows.ends, [GROUND, *turns]).all(axis=1)
        if np.any(planar & (rows.odd != nearly.odd)[:, normal]):
            return None  # the little that is left of such a row in the plane would lock it
        kept_rows[rows.index[planar & rows.odd[:, normal], ROW]] = False
    key = system.layout.numbers, keeps.tobytes(), kept_rows.tobytes()
    return KEPT_UNKNOWNS.get(key, lambda: _kept_unknowns(system, keeps, kept_rows))


def _kept_unknowns(system: MotionEquations, keeps: Bools, kept_rows: Bools) -> KeptUnknowns:
    """The unknowns of velocities (n_v,) and rows (n_c,) that are kept."""
    full, layout = system.pattern, shallow_copy(system.layout)
    kept: Ints = np.flatnonzero(np.concatenate([keeps, kept_rows]))
    sizes = np.bincount(full.block_of[kept], minlength=len(full.sizes))
    number = np.where(sizes > 0, np.cumsum(sizes > 0) - 1, -1).tolist()
    after = {
        number[block]: {number[other] for other in others if number[other] >= 0}
        for block, others in layout.eliminated_after.items()
        if number[block] >= 0
    }
    layout.take(
        replace(
            layout.numbers,
            n_v=int(keeps.sum()),
            n_c=int(kept_rows.sum()),
            block_start=np.concatenate([[0], np.cumsum(sizes[sizes > 0])]),
            edges=[(number[a], number[b]) for a, b in layout.edges if number[a] >= 0 and number[b] >= 0],
            eliminated_after=after,
            kept=False,
        )
    )
    pattern = Pattern(layout, filled=True)
    gather = full.places(*(kept[of] for of in pattern.rows_columns()))
    return KeptUnknowns(np.flatnonzero(keeps), np.flatnonzero(~keeps), np.flatnonzero(kept_rows), pattern, gather)


KEPT_UNKNOWNS: Keeper[KeptUnknowns] = Keeper(KEPT)


@dataclass(frozen=True, eq=False)
class RowsAtStart:
    """Rows of constraints at the start, and their symmetry in planes with the three normals.

    index : of the kernels. ends (n, 2) : the first velocities of the two frames, negative of fixed ones. attitudes (2,
    n, 3, 3) : of these. odd (n, 3) : whether a row vanishes in all motions in the plane. turning (n,) : whether it is
    one of directions. direction, owner (n, 3, 3), (n, 3) : of an odd one the direction in the plane, and its frame.
    flat (n, 3) : whether both directions are in the plane, so that the frames do not turn in it.
    """

    index: Ints
    ends: Ints
    attitudes: Floats
    odd: Bools
    turning: Bools
    direction: Floats
    owner: Ints
    flat: Bools

    @staticmethod
    def of(system: MotionEquations, rounding: float) -> "RowsAtStart":
        """The rows of a system; rounding : components of directions up to this are none."""
        rows, q = system.constraint_set, system.layout.start_coordinates()
        index, data = rows.index, rows.data[: len(rows.index)]
        attitudes = np.array([_attitudes(index[:, end : end + 3], q, rows.fixed) for end in (FIRST, SECOND)])
        kind, axis = index[:, PRIMITIVE], data[:, FIRST_AXIS]
        a = np.where((kind == POINT)[:, None], axis, np.einsum("nij,nj->ni", attitudes[0], axis))
        b = np.einsum("nij,nj->ni", attitudes[1], data[:, SECOND_AXIS])
        in_plane = [np.abs(x) <= rounding for x in (a, b)]
        along = [np.hypot(np.roll(x, 1, axis=1), np.roll(x, 2, axis=1)) <= rounding for x in (a, b)]
        free, turning = (index[:, INPUT] < 0) & (index[:, IN_FORCE] < 0), kind == DOT1
        of_turns = (along[0] & in_plane[1]) | (in_plane[0] & along[1])
        of_places = ((kind == POINT) | (kind == DOT2))[:, None] & along[0]
        ends = np.maximum(index[:, [FIRST + IN_V, SECOND + IN_V]], GROUND)
        return RowsAtStart(
            index,
            ends,
            attitudes,
            odd=free[:, None] & ((turning[:, None] & of_turns) | of_places),
            turning=turning,
            direction=np.where(in_plane[0][:, :, None], a[:, None], b[:, None]),
            owner=np.where(in_plane[0], ends[:, :1], ends[:, 1:]),
            flat=(free & turning)[:, None] & in_plane[0] & in_plane[1],
        )


def _attitudes(frames: Ints, q: Floats, fixed: Floats) -> Floats:
    """(n, 3, 3) attitudes at the start of the frames of index rows; unit matrices of points."""
    quaternions = np.zeros((len(frames), 4))
    quaternions[:, 0] = 1.0
    places = frames[:, IN_Q]
    still, turns = places < 0, (places >= 0) & (frames[:, HAS_AXES] > 0)
    quaternions[still] = fixed[-1 - places[still], 3:]
    quaternions[turns] = q[places[turns, None] + np.arange(3, 7)]
    return rotation_matrix(quaternions)


def _planes(rows: RowsAtStart) -> list[dict[int, int]]:
    """By normal the first velocities of its planar frames, with their axes along it, or -1 of points."""
    between: dict[tuple[int, int], list[int]] = {}
    for row, (a, b) in enumerate(rows.ends.tolist()):
        between.setdefault((a, b), []).append(row)
        between.setdefault((b, a), []).append(row)
    neighbours: dict[int, list[tuple[int, Ints]]] = {}
    for (a, b), found in between.items():
        neighbours.setdefault(a, []).append((b, np.array(found)))
    planes: list[dict[int, int]] = []
    for normal in range(3):
        planes.append({})
        queue = deque([GROUND])
        while queue:
            for other, some in neighbours.get(queue.popleft(), ()):
                if other == GROUND or other in planes[-1]:
                    continue
                end = int(rows.ends[some[0], 0] != other)
                turns = bool(rows.index[some[0], 3 * end + HAS_AXES])
                sizes = np.abs(rows.attitudes[end, some[0], normal])
                if (not turns or np.sort(sizes)[1] <= ALONG) and _hold(rows, some, normal, turns):
                    planes[-1][other] = int(np.argmax(sizes)) if turns else -1
                    queue.append(other)
    return planes


def _hold(rows: RowsAtStart, some: Ints, normal: int, turns: bool) -> bool:
    """Whether some rows between two frames keep the second one in the plane of the first, in every position.

    Two directions stay independent if they belong to one frame, or if the frames do not turn about the normal.
    """
    odd = some[rows.odd[some, normal]]
    of_turns = odd[rows.turning[odd]]
    if len(of_turns) == len(odd):
        return False
    if not turns:
        return True
    x, owner = np.delete(rows.direction[of_turns, normal], normal, axis=1), rows.owner[of_turns, normal]
    independent = np.abs(x[:, None, 0] * x[:, 1] - x[:, None, 1] * x[:, 0]) > INDEPENDENT
    return bool((independent & (rows.flat[some, normal].any() | (owner[:, None] == owner))).any())

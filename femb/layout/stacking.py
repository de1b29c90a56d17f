"""Stacking: the unknowns of several models numbered one after the other, as those of one model.

Nothing couples the models. The unknowns of model k are a slice of all of q and a slice of all of v, so that one call of
a kernel evaluates the elements of all models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from femb.base.types import Ints
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.numbering import Numbers


@dataclass(frozen=True)
class Shift:
    """The start of one model's unknowns among those of all: in q, in v, in the multipliers, in the coordinates of
    joints, in the inputs of the batches of one class, and in the poses of fixed frames."""

    q: int
    v: int
    fixed: int
    c: int = 0
    joints: int = 0
    inputs: int = 0

    def in_q(self, index: Ints) -> Ints:
        """Indices in all of q from those of the model, which are -1-i for the fixed frame i."""
        return np.where(index < 0, index - self.fixed, index + self.q)

    def in_v(self, index: Ints) -> Ints:
        """Indices in all of v from those of the model; negative for fixed frames."""
        return np.where(index < 0, index, index + self.v)


@runtime_checkable
class Stackable(Protocol):
    """A batch that can evaluate the elements of several models together."""

    @classmethod
    def stacked(cls, batches: Sequence[Any], shifts: Sequence[Shift], layout: Layout) -> Self:
        """One batch of the elements of batches of this class, each of a model; not yet allocated.

        shifts : of the model of each. layout : of all models. Records of the elements are those of the models' own.
        """


def stacked_layout(layouts: Sequence[Layout]) -> tuple[Layout, list[Shift]]:
    """A finished layout of the frames, internal coordinates, rows and joints of several layouts, and where each begins.

    Blocks of rows follow all blocks of velocities. Joints have the numbers of their layouts before their names, other
    items no names.
    """
    result = Layout()
    shifts: list[Shift] = []
    row_c: list[Ints] = []
    starts: list[Ints] = [np.zeros(1, dtype=np.int64)]
    starts_of_rows: list[Ints] = []
    n_q = n_v = n_c = fixed = joints = 0
    for number, layout in enumerate(layouts):
        shift, frames, rows = Shift(n_q, n_v, fixed, n_c, joints), len(result.frames), len(result.rows)
        shifts.append(shift)
        result.frames += layout.frames
        result.internal += layout.internal
        result.couplings += [(tuple(f + frames for f in coupled), ()) for coupled, _ in layout.couplings]
        result.structures += [tuple(f + frames for f in connected) for connected in layout.structures]
        result.rows += [tuple(f + frames for f in row) for row in layout.rows]
        result.row_labels += layout.row_labels
        for name, joint in layout.joints.items():
            result.joints[f"{number}.{name}"] = _moved(joint, frames, rows, joints)
            joints += len(joint.coordinates)
        row_c.append(layout.row_c + n_c)
        ends, last = layout.block_start[1:], int(np.searchsorted(layout.block_start, layout.n_v))
        starts.append(ends[:last] + n_v)
        starts_of_rows.append(ends[last:] - layout.n_v + n_c)
        n_q, n_v, n_c, fixed = n_q + layout.n_q, n_v + layout.n_v, n_c + layout.n_c, fixed + len(layout.fixed)
    pairs = list(zip(shifts, layouts, strict=True))
    result.take(
        Numbers(
            n_q=n_q,
            n_v=n_v,
            n_c=n_c,
            frame_q=np.concatenate([shift.in_q(layout.frame_q) for shift, layout in pairs]),
            frame_v=np.concatenate([shift.in_v(layout.frame_v) for shift, layout in pairs]),
            internal_q=np.concatenate([shift.in_q(layout.internal_q) for shift, layout in pairs]),
            internal_v=np.concatenate([shift.in_v(layout.internal_v) for shift, layout in pairs]),
            edges=[],
            eliminated_after={},
            freedom=np.concatenate([layout.freedom for layout in layouts]),
            row_c=np.concatenate(row_c),
            block_start=np.concatenate([*starts, *(n_v + each for each in starts_of_rows)]),
            is_tree=all(layout.is_tree for layout in layouts),
            has_loops=any(layout.has_loops for layout in layouts),
            fixed_frames=[],
        )
    )
    result.fixed = np.concatenate([layout.fixed for layout in layouts])
    result.gyration = max(each.gyration for each in layouts)
    result.slow_time = np.concatenate([np.broadcast_to(each.slow_time, len(each.frames)) for each in layouts])
    return result, shifts


def _moved(joint: JointLayout, frames: int, rows: int, coordinates: int) -> JointLayout:
    """A joint with its frames, rows and coordinates counted from these numbers on."""
    first, second = (Station(end.frame + frames, end.offset, end.rotation) for end in (joint.first, joint.second))
    part = slice(joint.part.start + coordinates, joint.part.stop + coordinates)
    return joint._replace(first=first, second=second, rows=[row + rows for row in joint.rows], part=part)


def starts_of(counts: Sequence[int]) -> Ints:
    """Where the things of each begin, of which it has so many."""
    result: Ints = np.cumsum([0, *counts[:-1]], dtype=np.int64)
    return result


def shifted(
    indices: Sequence[Ints], shifts: Sequence[Shift], in_q: list[int], in_v: list[int], inputs: Sequence[int] = ()
) -> Ints:
    """The rows (n, k) of index arrays, each of a model, with the indices of all models.

    in_q, in_v : columns of indices in q and in v. inputs : columns of input numbers of the batch, -1 for none.
    """
    result = []
    for index, shift in zip(indices, shifts, strict=True):
        moved = index.copy()
        moved[:, in_q], moved[:, in_v] = shift.in_q(index[:, in_q]), shift.in_v(index[:, in_v])
        for column in inputs:
            moved[:, column] += np.where(index[:, column] >= 0, shift.inputs, 0)
        result.append(moved)
    return np.concatenate(result)

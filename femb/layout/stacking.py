"""Stacking: the unknowns of several models numbered one after the other, as those of one model.

Nothing couples the models. The unknowns of model k are a slice of all of q and a slice of all of v, so that one call of
a kernel evaluates the elements of all models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from femb.base.types import Ints
from femb.layout.layout import Layout
from femb.layout.numbering import Numbers


@dataclass(frozen=True)
class Shift:
    """The start of one model's unknowns among those of all: in q, in v, in the inputs of the batches of one class,
    and in the poses of fixed frames."""

    q: int
    v: int
    fixed: int
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
    """A finished layout of the frames and internal coordinates of several layouts, and where each begins.

    Of layouts without rows of constraints. Items have no names in it.
    """
    result = Layout()
    shifts: list[Shift] = []
    in_q: list[tuple[Ints, Ints]] = []
    in_v: list[tuple[Ints, Ints]] = []
    starts: list[Ints] = [np.zeros(1, dtype=np.int64)]
    n_q = n_v = fixed = blocks = 0
    edges: list[tuple[int, int]] = []
    for layout in layouts:
        shift, frames = Shift(n_q, n_v, fixed), len(result.frames)
        shifts.append(shift)
        in_q.append((shift.in_q(layout.frame_q), shift.in_q(layout.internal_q)))
        in_v.append((shift.in_v(layout.frame_v), shift.in_v(layout.internal_v)))
        result.frames += layout.frames
        result.internal += layout.internal
        for all_, own in ((result.couplings, layout.couplings), (result.spring_couplings, layout.spring_couplings)):
            all_ += [(tuple(f + frames for f in coupled), ()) for coupled, _ in own]
        edges += [(a + blocks, b + blocks) for a, b in layout.edges]
        starts.append(layout.block_start[1:] + n_v)
        blocks += len(layout.block_start) - 1
        n_q, n_v, fixed = n_q + layout.n_q, n_v + layout.n_v, fixed + len(layout.fixed)
    frame_q, internal_q = (np.concatenate(parts) for parts in zip(*in_q, strict=True))
    frame_v, internal_v = (np.concatenate(parts) for parts in zip(*in_v, strict=True))
    result.take(
        Numbers(
            n_q=n_q,
            n_v=n_v,
            n_c=0,
            frame_q=frame_q,
            frame_v=frame_v,
            internal_q=internal_q,
            internal_v=internal_v,
            edges=edges,
            eliminated_after={},
            freedom=np.concatenate([layout.freedom for layout in layouts]),
            row_c=np.zeros(0, dtype=np.int64),
            block_start=np.concatenate(starts),
            is_tree=all(layout.is_tree for layout in layouts),
            has_loops=False,
            fixed_frames=[],
        )
    )
    result.fixed = np.concatenate([layout.fixed for layout in layouts])
    return result, shifts


def shifted(
    indices: Sequence[Ints], shifts: Sequence[Shift], in_q: list[int], in_v: list[int], first_input: int | None = None
) -> Ints:
    """The rows (n, k) of index arrays, each of a model, with the indices of all models.

    in_q, in_v : columns of indices in q and in v. first_input : column of input numbers of the batch, -1 for none.
    """
    result = []
    for index, shift in zip(indices, shifts, strict=True):
        moved = index.copy()
        moved[:, in_q], moved[:, in_v] = shift.in_q(index[:, in_q]), shift.in_v(index[:, in_v])
        if first_input is not None:
            moved[:, first_input] += np.where(index[:, first_input] >= 0, shift.inputs, 0)
        result.append(moved)
    return np.concatenate(result)

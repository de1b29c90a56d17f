"""Tangents of elements that give the forces alone: differences of the residual.

The derivatives of a batch's forces by the velocities, and by small motions of the frames and coordinates, are central
differences of order four, of all columns in one call of every kernel. An element with formulas of its own is faster and
exact to rounding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.private_blocks import PrivateBlocks
from femb.layout.terms import Tangent
from femb.numerics import rotations

# Places of the residuals of a difference, in steps, and their weights.
PLACES, WEIGHTS = np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
# Steps: of small values, and of others by their size, above what rounding of large positions takes.
LEAST, SHARE, ANGLE = 1e-5, 4e-9, 1e-4
NO_BLOCKS = PrivateBlocks(np.zeros((0, 1), dtype=np.int64), (1,))


def tangent_by_differences(batch: Any, starts: Ints, sizes: Sequence[int], layout: Layout) -> Tangent:
    """The derivatives of ``batch.forces()``, for elements that give no formulas of them.

    starts (e, groups) : the first velocity of each group of an element on which its forces depend, negative where it is
    fixed. sizes (groups,) : of the groups. layout : that of the model.
    """
    return Tangent(_Differences(batch, starts, tuple(sizes), layout), (), starts, "uqva")


def differences_of(
    batch: Batch, owners: Sequence[tuple[str, Sequence[int], Sequence[int]]], layout: Layout
) -> list[Tangent]:
    """The tangent of a batch that gives forces of the motion and no tangents; none where nothing of it moves.

    owners : of each item TABLE.NAME, the frames that it is on, and its internal coordinates. Raises ModelError: an item
    without any.
    """
    rows = []
    for label, frames, internal in owners:
        groups: dict[int, list[int]] = {6: [], 3: [], 1: layout.internal_v[list(internal)].tolist()}
        for frame in frames:
            if freedom := int(layout.freedom[frame]):
                groups[freedom].append(int(layout.frame_v[frame]))
        if not frames and not internal:
            raise ModelError(
                f"{label}: its batch gives forces that depend on the motion, and nothing says of what: give its class "
                "'markers', name its frames by layout.couple in 'declare_dofs', or give the batch 'tangents'"
            )
        rows.append(groups)
    sizes, columns = [], []
    for size in (6, 3, 1):
        for k in range(max(len(each[size]) for each in rows)):
            sizes.append(size)
            columns.append([each[size][k] if k < len(each[size]) else -1 for each in rows])
    if not sizes:
        return []
    return [tangent_by_differences(batch, np.ascontiguousarray(np.array(columns, dtype=np.int64).T), sizes, layout)]


class _Differences:
    def __init__(self, batch: Any, starts: Ints, sizes: tuple[int, ...], layout: Layout) -> None:
        self.batch = batch
        groups, within = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])
        places = np.where(starts[:, groups] >= 0, starts[:, groups] + within, -1)  # (e, n) velocities of the elements
        shape = len(places), len(groups), len(groups)
        rows, columns = np.broadcast_to(places[:, :, None], shape), np.broadcast_to(places[:, None, :], shape)
        element, i, j = np.nonzero((rows >= 0) & (columns >= 0))
        pairs = np.stack([rows[element, i, j], columns[element, i, j]], axis=1)
        # elements may share frames: every entry of the matrices once
        pairs, first = np.unique(pairs, axis=0, return_index=True)
        element, i, j = element[first], i[first], j[first]
        self.block, self.inside = (element, groups[i], groups[j]), (within[i], within[j])
        self.row, (self.columns, self.column) = pairs[:, 0], np.unique(pairs[:, 1], return_inverse=True)
        self.column = self.column.ravel()
        of_q, of_v, turned, turning = layout.numbers.coordinates
        self.coordinate = {int(k): int(i) for i, k in zip(of_q, of_v, strict=True)}
        self.turn = {int(k) + axis: (int(i), axis) for i, k in zip(turned, turning, strict=True) for axis in range(3)}

    def __call__(
        self, offset: Ints, stride: Ints, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats
    ) -> None:
        """Add d(residual)/dv and d(residual)/dq H at every state to block data (s, size)."""
        entries = offset[self.block] + self.inside[0] * stride[self.block] + self.inside[1]
        known = offset[self.block] >= 0
        for s in range(len(q)):
            state = u[s], q[s], v[s], a[s]
            for moved, matrix in (self._velocities(v[s]), damping), (self._positions(q[s]), stiffness):
                found = self._by(moved, *state)[self.column, self.row]
                if np.any(found[~known]):
                    raise ModelError(
                        f"{type(self.batch).__name__}: its forces depend on frames or coordinates that "
                        "layout.couple does not name together"
                    )
                matrix[s, entries[known]] += found[known]

    def _velocities(self, v: Floats) -> tuple[str, Floats, Floats]:
        """The array that changes, its values (c, 4, n) with each velocity changed, and the steps (c,)."""
        steps = np.maximum(LEAST, LEAST * np.abs(v[self.columns]))
        moved = np.tile(v, (len(steps), len(PLACES), 1))
        moved[np.arange(len(steps)), :, self.columns] += steps[:, None] * PLACES
        return "v", moved, steps

    def _positions(self, q: Floats) -> tuple[str, Floats, Floats]:
        """``_velocities`` for small motions along every velocity; those of a first-order state change nothing."""
        moved, steps = np.tile(q, (len(self.columns), len(PLACES), 1)), np.full(len(self.columns), ANGLE)
        for k, column in enumerate(self.columns.tolist()):
            if column in self.turn:
                i, axis = self.turn[column]
                turns = rotations.exponential(ANGLE * PLACES[:, None] * np.eye(3)[axis])
                moved[k, :, i : i + 4] = rotations.multiply(np.broadcast_to(q[i : i + 4], turns.shape), turns)
            else:
                i = self.coordinate[column]
                steps[k] = max(LEAST, SHARE * abs(q[i]))
                moved[k, :, i] += steps[k] * PLACES
        return "q", moved, steps

    def _by(self, changed: tuple[str, Floats, Floats], u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """(c, n_v) derivatives of the residual by each column."""
        name, values, steps = changed
        states = values.reshape(-1, values.shape[-1])
        inputs, q, v, a, out = (np.tile(each, (len(states), 1)) for each in (u, q, v, a, np.zeros(len(v))))
        q, v = (states, v) if name == "q" else (q, states)
        Evaluation([self.batch], NO_BLOCKS).add_residual(inputs, q, v, a, out)
        found: Floats = np.einsum("p,cpv->cv", WEIGHTS, out.reshape(len(steps), len(PLACES), -1)) / steps[:, None]
        return found

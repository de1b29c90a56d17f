"""Rows of constraints, evaluated together."""

from dataclasses import dataclass, field, replace

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.joint import constraint_kernels as kernels
from femb.elements.joint import constraint_tangent_kernels as tangents
from femb.elements.spring.batch import frame_places
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout

ZERO = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Row:
    """One row: its number in the layout, its primitive, and what that is made of (see ``constraint_kernels``).

    first, second : frames i and j. follows, in_force : places among the inputs of the batch, where it has them.
    """

    number: int
    primitive: int
    first: int
    second: int
    first_point: Floats = field(default_factory=lambda: ZERO)
    first_axis: Floats = field(default_factory=lambda: ZERO)
    first_axis_2: Floats = field(default_factory=lambda: ZERO)
    second_point: Floats = field(default_factory=lambda: ZERO)
    second_axis: Floats = field(default_factory=lambda: ZERO)
    constant: float = 0.0
    follows: int = -1
    in_force: int = -1


class ConstraintBatch(Batch):
    """Rows of any primitives."""

    joins = True

    def __init__(self, layout: Layout, rows: list[Row], inputs: tuple[Input, ...] = ()) -> None:
        self.layout, self.listed = layout, rows
        self.row_numbers = tuple(row.number for row in rows)
        self.inputs = inputs
        starts = np.concatenate([[0], np.cumsum([each.width for each in inputs])]).astype(int)
        index, self.data = self.tables(layout, rows)
        for column in (8, 9):
            index[:, column] = [starts[each] if each >= 0 else -1 for each in index[:, column]]
        self.local_index = index
        self.index = self.local_index
        self.fixed = layout.fixed

    @staticmethod
    def tables(layout: Layout, rows: list[Row]) -> tuple[Ints, Floats]:
        """index (n, 10) and data (n, 16) of rows, with inputs by their number."""
        index = [
            [
                *frame_places(layout, row.first),
                *frame_places(layout, row.second),
                int(layout.row_c[row.number]) if row.number >= 0 else -1,
                row.primitive,
                row.follows,
                row.in_force,
            ]
            for row in rows
        ]
        data = [
            [*row.first_point, *row.first_axis, *row.first_axis_2, *row.second_point, *row.second_axis, row.constant]
            for row in rows
        ]
        return np.array(index, dtype=np.int64).reshape(-1, 10), np.array(data, dtype=float).reshape(-1, 16)

    @staticmethod
    def joined(batches: list["ConstraintBatch"]) -> "ConstraintBatch":
        """One batch of all rows."""
        rows: list[Row] = []
        inputs: tuple[Input, ...] = ()
        for batch in batches:
            shift = len(inputs)
            rows += [
                replace(
                    row,
                    follows=row.follows + shift if row.follows >= 0 else -1,
                    in_force=row.in_force + shift if row.in_force >= 0 else -1,
                )
                for row in batch.listed
            ]
            inputs += batch.inputs
        return ConstraintBatch(batches[0].layout, rows, inputs)

    def couple(self, pattern: object) -> None:
        self.index = self.local_index.copy()
        inputs = self.index[:, 8:10]
        inputs[inputs >= 0] += self.first_input
        starts = []
        for column in (0, 3):
            place, axes = self.index[:, column + 1], self.index[:, column + 2] == 1
            starts += [place, np.where((place >= 0) & axes, place + 3, -1)]
        starts.append(pattern.n_v + self.index[:, 6])  # type: ignore[attr-defined]
        self.offset, self.stride = pattern.offsets(np.stack(starts, axis=1))  # type: ignore[attr-defined]

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        pass

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        pass

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        pass

    def hold(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats, rates: Floats) -> None:
        kernels.hold(self.index, self.data, u, q, v, self.fixed, multipliers, force, rates)

    def hold_by(self, numbers: list[int], u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats) -> None:
        some = [k for k, number in enumerate(self.row_numbers) if number in numbers]
        rates = np.empty_like(multipliers)
        kernels.hold(self.index[some], self.data[some], u, q, v, self.fixed, multipliers, force, rates)

    def constraints(self, u: Floats, q: Floats, v: Floats, position: Floats, gamma: Floats) -> None:
        kernels.constraints(self.index, self.data, u, q, v, self.fixed, position, gamma)

    def jacobian(self, u: Floats, q: Floats, data: Floats) -> None:
        places = self.offset, self.stride
        kernels.jacobian(self.index, self.data, *places, u, q, self._still(q), self.fixed, data)

    def hold_tangent(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, stiffness: Floats) -> None:
        places = self.offset, self.stride
        tangents.hold_tangent(self.index, self.data, *places, u, q, v, self.fixed, multipliers, stiffness)

    def drive(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, out: Floats) -> None:
        kernels.drive(self.index, self.data, u, q, v, self.fixed, multipliers, out)

    def _still(self, q: Floats) -> Floats:
        # J does not depend on v, and q is at least as long
        return np.zeros(len(q))

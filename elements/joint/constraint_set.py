"""Equations of constraint, evaluated together."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices, pair_starts, with_inputs
from femb.elements.joint import constraint_kernels as kernels
from femb.elements.joint import constraint_tangent_kernels as tangents
from femb.layout.element import Input
from femb.layout.layout import Layout

ZERO = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Row:
    """One row: its number in the layout, its primitive, and what that is made of (see ``constraint_kernels``).

    first, second : frames i and j. follows, in_force : places among the inputs of the set, where it has them.
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

    def shifted(self, count: int) -> "Row":
        """The row with its inputs numbered ``count`` higher."""
        follows, in_force = (each + count if each >= 0 else -1 for each in (self.follows, self.in_force))
        return replace(self, follows=follows, in_force=in_force)


class ConstraintSet:
    """All equations of constraint of a system: rows of any primitives, which follow ``inputs``.

    Arrays are those of ``femb.layout.element.Batch``; multipliers, rates, position and gamma (s, n_c). A set without
    rows adds nothing.
    """

    # first input in u, set by the system when it numbers the inputs
    first_input: int = 0

    def __init__(self, layout: Layout, rows: list[Row], inputs: tuple[Input, ...] = ()) -> None:
        self.rows, self.inputs = rows, inputs
        self.row_numbers = tuple(row.number for row in rows)
        starts = np.concatenate([[0], np.cumsum([input_.width for input_ in inputs])]).astype(int)
        index, self.data = self.tables(layout, rows)
        for column in (kernels.INPUT, kernels.IN_FORCE):
            index[:, column] = [starts[each] if each >= 0 else -1 for each in index[:, column]]
        self.local_index = index
        self.index = self.local_index
        self.fixed = layout.fixed

    @staticmethod
    def of(items: Iterable[Any], layout: Layout) -> "ConstraintSet":
        """The rows of all items (``femb.elements.item.Item``)."""
        rows: list[Row] = []
        inputs: tuple[Input, ...] = ()
        for item in items:
            rows += [row.shifted(len(inputs)) for row in item.constraint_rows(layout)]
            inputs += item.constraint_inputs(layout)
        return ConstraintSet(layout, rows, inputs)

    @staticmethod
    def tables(layout: Layout, rows: list[Row]) -> tuple[Ints, Floats]:
        """index (n, 10) and data (n, 16) of rows, with inputs by their number."""
        index = [
            [
                *frame_indices(layout, row.first),
                *frame_indices(layout, row.second),
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

    def allocate(self, pattern: Any) -> None:
        """Look up where the blocks of J and J^T are in the matrices."""
        self.index = with_inputs(self.local_index, self.first_input, kernels.INPUT, kernels.IN_FORCE)
        starts = np.column_stack([pair_starts(self.index), pattern.n_v + self.index[:, kernels.ROW]])
        self.offset, self.stride = pattern.offsets(starts)

    def constraint_force(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats, rates: Floats
    ) -> None:
        """force (s, n_v) += J^T lambda; rates (s, n_c) = J v + Phi_t."""
        if self.rows:
            kernels.hold(self.index, self.data, u, q, v, self.fixed, multipliers, force, rates)

    def reaction_of(
        self, numbers: list[int], u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats
    ) -> None:
        """force (s, n_v) += J^T lambda of some of the rows, by their numbers."""
        some = [k for k, number in enumerate(self.row_numbers) if number in numbers]
        rates = np.empty_like(multipliers)
        kernels.hold(self.index[some], self.data[some], u, q, v, self.fixed, multipliers, force, rates)

    def constraints(self, u: Floats, q: Floats, v: Floats, position: Floats, gamma: Floats) -> None:
        """position, gamma (s, n_c): Phi, and the right-hand side of J v' = gamma."""
        if self.rows:
            kernels.constraints(self.index, self.data, u, q, v, self.fixed, position, gamma)

    def jacobian(self, u: Floats, q: Floats, data: Floats) -> None:
        """Add J and J^T at one state to block data."""
        if self.rows:
            places = self.offset, self.stride
            kernels.jacobian(self.index, self.data, *places, u, q, self._still(q), self.fixed, data)

    def constraint_tangent(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, stiffness: Floats) -> None:
        """Add d(J^T lambda)/dq H and d(J v + Phi_t)/dq H at one state to block data."""
        if self.rows:
            places = self.offset, self.stride
            tangents.hold_tangent(self.index, self.data, *places, u, q, v, self.fixed, multipliers, stiffness)

    def constraint_power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, out: Floats) -> None:
        """out (s,) += lambda . Phi_t, the power of what drives the rows."""
        if self.rows:
            kernels.drive(self.index, self.data, u, q, v, self.fixed, multipliers, out)

    def _still(self, q: Floats) -> Floats:
        # J does not depend on v, and q is at least as long
        return np.zeros(len(q))

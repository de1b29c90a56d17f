"""Equations of constraint, evaluated together."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_starts, indices_of_frames, with_inputs
from femb.elements.joint import constraint_kernels as kernels
from femb.elements.joint import primitives
from femb.layout.discrete import ANGLES
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.views import BlockPattern
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.vector3 import IN_Q, IN_V

ZERO = np.zeros(3)
ZERO.flags.writeable = False
# Columns of inputs.
INPUTS = primitives.INPUT, primitives.IN_FORCE, primitives.LAST, primitives.CURVE


class ConstraintRow(NamedTuple):
    """One equation: its number in the layout, its primitive and the parameters of this (see ``primitives``).

    first, second : frames i and j. follows, in_force, last, curve : indices of inputs of the set, -1 for none. table :
    rows (m, 4) of a table. Rows with one number are terms of one equation.
    """

    number: int
    primitive: int
    first: int
    second: int
    first_point: Floats = ZERO
    first_axis: Floats = ZERO
    first_axis_2: Floats = ZERO
    second_point: Floats = ZERO
    second_axis: Floats = ZERO
    constant: float = 0.0
    offset: float = 0.0
    follows: int = -1
    in_force: int = -1
    last: int = -1
    curve: int = -1
    table: Floats | None = None

    def shifted(self, count: int) -> "ConstraintRow":
        """The row with ``count`` added to the indices of its inputs."""
        words = "follows", "in_force", "last", "curve"
        return self._replace(**{word: k + count for word in words if (k := getattr(self, word)) >= 0})


class ConstraintTable(NamedTuple):
    """Equations as tables: their numbers (n,) in the layout, indices (n, 13) and data (n, 17) of kernels, their inputs,
    of which the columns INPUTS are indices, and the data (m, 17) of tables, which follow those of all rows."""

    numbers: Ints
    indices: Ints
    data: Floats
    inputs: tuple[Input, ...] = ()
    tables: Floats = np.zeros((0, primitives.NUMBERS))

    @staticmethod
    def empty() -> "ConstraintTable":
        """No equations."""
        sizes = (0, primitives.SIZE), (0, primitives.NUMBERS)
        return ConstraintTable(np.zeros(0, dtype=np.int64), np.zeros(sizes[0], dtype=np.int64), np.zeros(sizes[1]))

    @staticmethod
    def of_rows(layout: Layout, rows: list[ConstraintRow], inputs: tuple[Input, ...] = ()) -> "ConstraintTable":
        """The table of rows."""
        if not rows:
            return ConstraintTable.empty()._replace(inputs=inputs)
        numbers, kinds, first, second, *others = zip(*rows, strict=True)
        vectors, (constants, offsets, follows, in_force, last, curve, tables) = others[:5], others[5:]
        ends = [indices_of_frames(layout, frames) for frames in (first, second)]
        sizes = np.array([0 if table is None else len(table) for table in tables])
        places = np.where(sizes > 0, np.cumsum(sizes[::-1])[::-1], 0)
        given = kinds, follows, in_force, last, curve, places
        index = np.column_stack([*ends, multipliers_of(layout, numbers), *given])
        parameters = [np.concatenate(vector).reshape(-1, 3) for vector in vectors]
        data = np.column_stack([*parameters, constants, offsets])
        wide = np.zeros((sizes.sum(), primitives.NUMBERS))
        wide[:, :5] = np.vstack([np.zeros((0, 5)), *(table for table in tables if table is not None)])
        return ConstraintTable(np.array(numbers), np.ascontiguousarray(index, dtype=np.int64), data, inputs, wide)

    @staticmethod
    def of_items(items: Iterable[Any], layout: Layout) -> "ConstraintTable":
        """The rows of items (``femb.elements.item.Item``), one after the other."""
        return ConstraintTable.of_rows(layout, *rows_of(items, layout))

    @staticmethod
    def joined(tables: "Sequence[ConstraintTable]") -> "ConstraintTable":
        """Tables one after the other."""
        if len(tables) == 1:
            return tables[0]
        parts, inputs = [], tuple[Input, ...]()
        for table in tables:
            parts.append(with_inputs(table.indices, len(inputs), *INPUTS))
            inputs += table.inputs
        after_tables(parts, [table.tables for table in tables])
        numbers, data, rows = (np.concatenate([table[k] for table in tables]) for k in (0, 2, 4))
        return ConstraintTable(numbers, np.concatenate(parts), data, inputs, rows)

    def placed(self) -> Ints:
        """The indices with the places of inputs among their values, in place of their numbers."""
        starts: Ints = np.cumsum([0, *(each.width for each in self.inputs)], dtype=np.int64)
        index = self.indices.copy()
        for column in INPUTS:
            index[:, column] = np.where(index[:, column] >= 0, starts[index[:, column]], -1)
        return index


def after_tables(indices: Sequence[Ints], tables: Sequence[Floats]) -> None:
    """Count TABLE, in each of these indices, from the end of all tables one after the other."""
    behind = 0
    for index, table in zip(reversed(indices), reversed(tables), strict=True):
        index[index[:, primitives.TABLE] > 0, primitives.TABLE] += behind
        behind += len(table)


def multipliers_of(layout: Layout, numbers: Any) -> Ints:
    """The multipliers of rows by their numbers in the layout; -1 of no row."""
    return layout.numbers.multipliers[np.asarray(numbers, dtype=np.int64)]


def rows_of(items: Iterable[Any], layout: Layout) -> tuple[list[ConstraintRow], tuple[Input, ...]]:
    """The rows of items (``femb.elements.item.Item``), and their inputs."""
    rows: list[ConstraintRow] = []
    inputs: tuple[Input, ...] = ()
    for item in items:
        of_item = item.constraint_rows(layout)
        rows += [row.shifted(len(inputs)) for row in of_item] if inputs else of_item
        inputs += item.constraint_inputs(layout)
    return rows, inputs


class ConstraintSet:
    """All equations of constraint of a system: rows of any primitive, and their ``inputs``.

    Arrays are those of ``femb.layout.element.Batch``; multipliers, rates, position and gamma (s, n_c). A set without
    rows adds nothing.
    """

    # first input in u, set by the system when it numbers the inputs
    first_input: int = 0

    def __init__(self, layout: Layout, table: ConstraintTable, items: Iterable[Any] = ()) -> None:
        self.inputs, self._layout, self._items = table.inputs, layout, tuple(items)
        self.row_numbers = tuple(table.numbers.tolist())
        self._places: dict[int, list[int]] = {}
        for k, number in enumerate(self.row_numbers):
            self._places.setdefault(number, []).append(k)
        self.data, self.tables = np.concatenate([table.data, table.tables]), table.tables
        self.local_index = table.placed()
        self.index = self.local_index
        self.fixed = layout.fixed

    @staticmethod
    def of(items: Iterable[Any], layout: Layout) -> "ConstraintSet":
        """The rows of all items (``femb.elements.item.Item``)."""
        items = tuple(items)
        tables = [kind.constraint_table(list(group), layout) for kind, group in groupby(items, lambda item: type(item))]
        some = [table for table in tables if table.numbers.size or table.inputs]
        return ConstraintSet(layout, ConstraintTable.joined(some) if some else ConstraintTable.empty(), items)

    @classmethod
    def stacked(cls, sets: "Sequence[ConstraintSet]", shifts: Sequence[Shift], layout: Layout) -> "ConstraintSet":
        """One set of the rows of sets, each of a model; see ``femb.layout.stacking.Stackable``."""
        result = cls(layout, ConstraintTable.empty())
        result.inputs = tuple(input_ for each in sets for input_ in each.inputs)
        result.tables = np.concatenate([each.tables for each in sets])
        result.data = np.concatenate([*(each.data[: len(each.index)] for each in sets), result.tables])
        frames = [primitives.FIRST, primitives.SECOND]
        tables = [each.local_index.copy() for each in sets]
        after_tables(tables, [each.tables for each in sets])
        in_q, in_v = ([column + place for column in frames] for place in (IN_Q, IN_V))
        index = shifted(tables, shifts, in_q, in_v, INPUTS)
        index[:, primitives.ROW] += np.repeat([shift.c for shift in shifts], [len(table) for table in tables])
        result.index = result.local_index = index
        # the numbers of rows are not needed: members' own sets record their reactions
        result.row_numbers = (-1,) * len(index)
        return result

    @property
    def has_terms(self) -> bool:
        """Whether equations are sums of several rows."""
        return any(len(places) > 1 for number, places in self._places.items() if number >= 0)

    @property
    def is_driven(self) -> bool:
        """Whether inputs of rows prescribe motions or hold coordinates, which takes power or loses energy."""
        return any(not (each.of_state or each.array == ANGLES) for each in self.inputs)

    @cached_property
    def rows(self) -> list[ConstraintRow]:
        """The rows one by one."""
        return rows_of(self._items, self._layout)[0]

    def allocate(self, pattern: BlockPattern) -> None:
        """Look up the positions of the blocks of J and J^T in the matrices."""
        self.index = with_inputs(self.local_index, self.first_input, *INPUTS)
        starts = np.column_stack([frame_starts(self.index), pattern.n_v + self.index[:, primitives.ROW]])
        self.offset, self.stride = pattern.offsets(starts)
        # number of multipliers
        self.count = int(self.index[:, primitives.ROW].max(initial=-1)) + 1

    def constraint_force(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats, rates: Floats
    ) -> None:
        """force (s, n_v) += J^T lambda; rates (s, n_c) = J v + Phi_t."""
        if self.row_numbers:
            kernels.constraint_force(self.index, self.data, u, q, v, self.fixed, multipliers, force, rates)

    def force_call(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats, rates: Floats
    ) -> Callable[[], object]:
        """``constraint_force`` of these arrays, whose entries change from call to call."""
        arguments = self.index, self.data, u, q, v, self.fixed, multipliers, force, rates
        return self._call(kernels.constraint_force, *arguments)

    def _call(self, kernel: Any, *arguments: Any) -> BoundSequence:
        """A kernel with these arrays; nothing without rows."""
        return BoundSequence([Bound(kernel, *arguments)] if self.row_numbers else [])

    def reaction_of(
        self, numbers: list[int], u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats
    ) -> None:
        """force (s, n_v) += J^T lambda of the rows with these numbers."""
        chosen = sorted(k for number in numbers for k in self._places.get(number, ()))
        rates = np.empty_like(multipliers)
        kernels.constraint_force(*self.some(chosen), u, q, v, self.fixed, multipliers, force, rates)

    def places_of(self, groups: Sequence[list[int]]) -> Ints:
        """(2, m): the groups of the rows with their numbers, and the places of these."""
        places = [(n, k) for n, group in enumerate(groups) for number in group for k in self._places.get(number, ())]
        return np.array(places, dtype=np.int64).reshape(-1, 2).T

    def some(self, chosen: Any) -> tuple[Ints, Floats]:
        """Index and data of some rows."""
        return self.index[chosen], np.concatenate([self.data[chosen], self.tables])

    def law(self, k: int, u: Floats) -> Callable[[float], Any]:
        """The function of the coordinate in row k, a STROKE or a TURN, with three derivatives."""
        return lambda c: primitives.law(k, self.index, self.data, u, c)

    def constraints(self, u: Floats, q: Floats, v: Floats, position: Floats, gamma: Floats) -> None:
        """position, gamma (s, n_c): Phi, and the right-hand side of J v' = gamma."""
        if self.row_numbers:
            kernels.constraints(self.index, self.data, u, q, v, self.fixed, position, gamma)

    def jacobian(self, u: Floats, q: Floats, data: Floats) -> None:
        """Add J and J^T at one state to block data."""
        if self.row_numbers:
            # J does not depend on v; q is at least as long
            position, gamma = np.empty((2, 1, self.count))
            self.add_jacobians(u[None], q[None], np.zeros((1, len(q))), data[None], position, gamma)

    def add_jacobians(self, u: Floats, q: Floats, v: Floats, data: Floats, position: Floats, gamma: Floats) -> None:
        """Add J and J^T at each of s states to block data (s, size); position, gamma : as in ``constraints``."""
        self.jacobian_call(u, q, v, data, position, gamma)()

    def jacobian_call(
        self, u: Floats, q: Floats, v: Floats, data: Floats, position: Floats, gamma: Floats
    ) -> Callable[[], object]:
        """``add_jacobians`` of these arrays, whose entries change from call to call."""
        blocks = self.index, self.data, self.offset, self.stride
        return self._call(kernels.jacobian, *blocks, u, q, v, self.fixed, data, position, gamma)

    def constraint_tangent(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, stiffness: Floats) -> None:
        """Add d(J^T lambda)/dq H and d(J v + Phi_t)/dq H at one state to block data."""
        if self.row_numbers:
            args = (self.index, self.data, self.offset, self.stride)
            kernels.constraint_tangent(*args, u, q, v, self.fixed, multipliers, stiffness)

    def tangent_call(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, stiffness: Floats
    ) -> Callable[[], object]:
        """``constraint_tangent`` of the state in these arrays, whose entries change."""
        blocks = self.index, self.data, self.offset, self.stride
        return self._call(kernels.constraint_tangent, *blocks, u, q, v, self.fixed, multipliers, stiffness)

    def products(self, u: Floats, q: Floats, weights: Floats, data: Floats) -> None:
        """Add J^T W J, with weights (n_c,), at one state to block data with the blocks between the frames of rows."""
        if self.row_numbers:
            kernels.products(self.index, self.data, self.offset, self.stride, u, q, self.fixed, weights, data)

    def matrices_call(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, damping: Floats, stiffness: Floats
    ) -> Callable[[], object]:
        """``jacobian`` and ``constraint_tangent`` of the state in these arrays (1, .), whose entries change."""
        if not self.row_numbers:
            return BoundSequence([])
        tangent = self.tangent_call(u[0], q[0], v[0], multipliers[0], stiffness[0])
        return BoundSequence([self.jacobian_call(u, q, v, damping, *np.empty((2, 1, self.count))), tangent])

    def power_call(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats, column: int, out: Floats
    ) -> Callable[[], object]:
        """The call that adds lambda . Phi_t, the power of the inputs of the rows, to a column of out (s, n_w)."""
        arguments = self.index, self.data, u, q, v, self.fixed, multipliers, column, out
        return self._call(kernels.constraint_power, *arguments)


class GroupReactions:
    """J^T lambda of the rows with the numbers of each of n groups, on one frame each.

    at (n,) : the index in v of that frame. All groups are evaluated in one call, each on frames of its own.
    """

    def __init__(self, rows: ConstraintSet, groups: Sequence[list[int]], at: Ints) -> None:
        self._fixed, self._count = rows.fixed, len(groups)
        group_of, chosen = rows.places_of(groups)
        index, self._data = rows.some(chosen)
        places = primitives.FIRST, primitives.SECOND
        ends = [np.column_stack([group_of, index[:, [k + IN_Q, k + IN_V]]]) for k in places]
        own, slot = np.unique(np.concatenate(ends), axis=0, return_inverse=True)
        for column, place in zip(places, np.split(slot.ravel(), 2), strict=True):
            moving = index[:, column + IN_V] >= 0
            index[:, column + IN_Q] = np.where(moving, 7 * place, index[:, column + IN_Q])
            index[:, column + IN_V] = np.where(moving, 6 * place, index[:, column + IN_V])
        self._index, (group, in_q, in_v) = index, own.T
        self._in_q, self._in_v = in_q[:, None] + np.arange(7), in_v[:, None] + np.arange(6)
        self._on: Ints = np.flatnonzero((in_v == at[group]) & (in_v >= 0))
        self._of: Ints = group[self._on]

    def at(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> Floats:
        """(s, n, 6) at s states."""
        result = np.zeros((len(q), self._count, 6))
        if not len(self._index):
            return result
        # a point has fewer coordinates than are taken, and the others are not read
        own_q, own_v = (
            np.ascontiguousarray(x[:, np.clip(places, 0, x.shape[1] - 1).ravel()])
            for x, places in ((q, self._in_q), (v, self._in_v))
        )
        force, rates = np.zeros_like(own_v), np.empty_like(multipliers)
        kernels.constraint_force(self._index, self._data, u, own_q, own_v, self._fixed, multipliers, force, rates)
        result[:, self._of] = force.reshape(len(q), -1, 6)[:, self._on]
        return result

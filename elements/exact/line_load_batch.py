"""Distributed loads on exact beams, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.exact.batch import NO_SECTION, VELOCITIES, ExactBatch
from femb.elements.exact.columns import LENGTH
from femb.elements.exact.line_load import line_forces
from femb.elements.exact.line_load_tangent import line_tangent
from femb.elements.load.line_load_rows import LineLoadRows
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.views import BlockPattern, OutputStates


class ExactLineLoadBatch(Batch):
    """A row for every element of the beam of every load; one input per load.

    beams : the batch of the elements, for their arrays and their free strains.
    """

    slow_to_compile = True

    def __init__(self, loads: list[Any], beams: ExactBatch) -> None:
        self.beams = beams
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        rows = LineLoadRows.of(loads, beams.slices, beams.data[:, LENGTH])
        self.rows: Ints = np.array(rows.elements, dtype=np.int64)
        self.index, self.ends, self.data = beams.index[self.rows], beams.ends[self.rows], beams.data[self.rows]
        self.values, self.kind, self._first = rows.values, rows.kind, rows.load

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, VELOCITIES])

    def _elements(self, u: Floats) -> tuple[Any, ...]:
        free = np.ascontiguousarray(self.beams.free(u)[:, self.rows])
        return self.index, self.ends, self.data, free, self.kind, self._first + self.first_input, self.values

    def _check(self, folded: int) -> None:
        self.beams.check(int(self.rows[folded]) if folded >= 0 else -1)

    def _force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        self._check(line_forces(*self._elements(u), u, q, self.beams.fixed, sign, out, section))

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self._force(u, q, 1.0, out, NO_SECTION)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        self._force(u, q, -1.0, out, NO_SECTION)

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if not isinstance(beams, ExactBatch):
            return
        section = np.zeros((len(q), len(self.index), 2, 6))
        self._force(u, q, 1.0, np.zeros_like(v), section)
        for k, row in enumerate(self.rows):
            out[:, row] += section[:, k]

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        index, ends, data, free, *loads = self._elements(u[None])
        places = (self.offset, self.stride, stiffness)
        self._check(line_tangent(index, ends, data, free[0], *loads, u, q, self.beams.fixed, *places))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The factor of every load, i.e. the value of its profile."""
        return load_factors(self, frames)

"""Distributed loads, evaluated together."""

from typing import Any

from femb.base.types import Floats
from femb.elements.beam.columns import LENGTH
from femb.elements.load import line_load_kernels as kernels
from femb.elements.load import line_load_tangent as tangents
from femb.elements.load.along_beam import AlongBeams
from femb.elements.load.line_load_rows import LineLoadRows
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView


class LineLoadBatch(AlongBeams):
    """A row for every element of the beam of every load; one input per load."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        rows = LineLoadRows.of(loads, self.slices, self.data[:, LENGTH])
        self.select(rows.elements)
        self.values, self.kind, self._first = rows.values, rows.kind, rows.load
        self._has_moments = bool(self.values[:, :, 3:].any())

    @property
    def _rows(self) -> tuple[Any, ...]:
        return (self.index, self.ends, self.data, self.kind, self._first + self.first_input, self.values)

    def force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        self.check(kernels.forces(*self._rows, u, q, self.fixed, sign, out, section))

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        args = (self.offset, self.stride, u, q, self.fixed, stiffness)
        self.check(tangents.turning_tangent(*self._rows, *args))

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        args = (self.offset, self.stride, u, q, self.fixed, stiffness)
        self.check(tangents.turning_tangent(*self._rows, *args))
        if self._has_moments:
            self.check(tangents.moment_tangent(*self._rows, *args))

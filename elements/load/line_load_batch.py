"""Distributed loads, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.columns import LENGTH
from femb.elements.beam.strain import POINTS
from femb.elements.load import line_load_kernels as kernels
from femb.elements.load import line_load_tangent as tangents
from femb.elements.load.along_beam import AlongBeams
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView


class LineLoadBatch(AlongBeams):
    """A row for every element of the beam of every load; one input per load."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        values: list[Floats] = []
        first: list[int] = []
        kind: list[int] = []
        rows: list[int] = []
        for k, load in enumerate(loads):
            elements = self.slices[load.beam]
            lengths = self.data[elements, LENGTH]
            s = (np.cumsum(lengths) - lengths)[:, None] + lengths[:, None] * POINTS
            values.append(load.values(s.ravel(), float(lengths.sum())).reshape(-1, 3, 6))
            first += [k] * len(lengths)
            kind += [kernels.SECTION if load.frame == "body" else kernels.INERTIAL] * len(lengths)
            rows += range(elements.start, elements.stop)
        self.select(rows)
        self.values: Floats = np.ascontiguousarray(np.concatenate(values))
        self.kind: Ints = np.array(kind, dtype=np.int64)
        self._first: Ints = np.array(first, dtype=np.int64)
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

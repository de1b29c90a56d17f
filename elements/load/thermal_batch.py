"""Thermal loads, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.columns import LENGTH, SOURCE
from femb.elements.beam.shape import uniform_shape
from femb.elements.load import thermal_kernels as kernels
from femb.elements.load.along_beam import AlongBeams
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.numerics.rotations import rotate_back


class ThermalBatch(AlongBeams):
    """The elements of all heated beams; one input per load.

    Elements of one beam with the same reference shape form a group with common thermal strains.
    """

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        groups: dict[tuple[Any, ...], int] = {}
        group: list[int] = []
        rows: list[int] = []
        shapes: list[tuple[Floats, Floats]] = []
        for name, elements in self.slices.items():
            for k in range(elements.start, elements.stop):
                length = float(self.data[k, LENGTH])
                curvature, offset = _shape(model.beams[name].shape, k - elements.start, length)
                key = (name, *np.round(np.concatenate([[length], curvature * length, offset]), 13))
                group.append(groups.setdefault(key, len(groups)))
                if group[-1] == len(rows):
                    rows.append(k)
                    shapes.append((curvature, offset))
        self.group: Ints = np.array(group, dtype=np.int64)
        self._curvatures: Floats = np.array([curvature for curvature, _ in shapes])
        self._chord_offsets: Floats = np.array([offset for _, offset in shapes])
        self._lengths, self._source = self.data[rows, LENGTH], self.data[rows, SOURCE]
        # free strain of every group per load, (loads, groups, 4)
        self._shares: Floats = np.zeros((len(loads), len(rows), 4))
        for i, load in enumerate(loads):
            share = load.free_strain(model.section_of(model.beams[load.beam]).expansion)
            for (name, *_), g in groups.items():
                if name == load.beam:
                    self._shares[i, g] = share

    def _strains(self, u: Floats) -> Floats:
        """Thermal strains (s, g, 3, 4)."""
        factors = u[:, self.first_input : self.first_input + len(self.inputs)]
        out = np.empty((len(u), len(self._lengths), 3, 4))
        free = np.ascontiguousarray(np.tensordot(factors, self._shares, 1))
        args = (free, self._lengths, self._curvatures, self._chord_offsets, self._source, out)
        folded = kernels.thermal_strains(*args)
        self.check(int(np.argmax(self.group == folded)) if folded >= 0 else -1)
        return out

    def force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        args = (self.index, self.ends, self.data, self.group, self._strains(u), q, self.fixed)
        self.check(kernels.forces(*args, sign, out, section))

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.check(kernels.iteration_tangent(*self._arguments(u), q, self.fixed, stiffness))

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        args = self._arguments(u)
        self.check(kernels.iteration_tangent(*args, q, self.fixed, stiffness))
        self.check(kernels.strain_tangent(*args, q, self.fixed, stiffness))

    def _arguments(self, u: Floats) -> tuple[Any, ...]:
        blocks = self.offset, self.stride
        return (self.index, self.ends, self.data, *blocks, self.group, self._strains(u[np.newaxis])[0])

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        args = (self.index, self.ends, self.data, self.group, self._strains(u), q, self.fixed)
        self.check(kernels.prestress_energy(*args, out))


def _shape(shape: Any, k: int, length: float) -> tuple[Floats, Floats]:
    """Mean curvature (3,) of an element, and its chord (3,) minus that of the helix of this curvature."""
    curvature = shape.curvature(k)
    (start, axes), (end, _) = shape.element(k)
    helix = uniform_shape(length, 1, curvature).positions[-1]
    return curvature, rotate_back(axes, end - start) - helix

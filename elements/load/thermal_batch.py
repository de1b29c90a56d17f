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
from femb.numerics.rotations import rotate_back


class ThermalBatch(AlongBeams):
    """The elements of all heated beams; one input a load.

    Elements of one beam with the same reference shape are a group: their thermal strains are the same.
    """

    def __init__(self, loads: list[Any], layout: Layout, model: Any) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        groups: dict[tuple[Any, ...], int] = {}
        group: list[int] = []
        rows: list[int] = []
        shapes: list[tuple[Floats, Floats]] = []
        for name, where in self.slices.items():
            for k in range(where.start, where.stop):
                length = float(self.data[k, LENGTH])
                curvature, off = _shape(model.beams[name].shape, k - where.start, length)
                key = (name, *np.round(np.concatenate([[length], curvature * length, off]), 13))
                group.append(groups.setdefault(key, len(groups)))
                if group[-1] == len(rows):
                    rows.append(k)
                    shapes.append((curvature, off))
        self.group: Ints = np.array(group, dtype=np.int64)
        self._curvatures: Floats = np.array([curvature for curvature, _ in shapes])
        self._off: Floats = np.array([off for _, off in shapes])
        self._lengths, self._source = self.data[rows, LENGTH], self.data[rows, SOURCE]
        # what each load adds to the free strain of each group, (loads, groups, 4)
        self._shares: Floats = np.zeros((len(loads), len(rows), 4))
        for i, load in enumerate(loads):
            share = load.free_strain(model.section_of(model.beams[load.beam]).expansion)
            for (name, *_), g in groups.items():
                if name == load.beam:
                    self._shares[i, g] = share

    def _strains(self, u: Floats) -> Floats:
        """Thermal strains (s, g, 3, 4)."""
        own = u[:, self.first_input : self.first_input + len(self.inputs)]
        out = np.empty((len(u), len(self._lengths), 3, 4))
        free = np.ascontiguousarray(np.tensordot(own, self._shares, 1))
        bad = kernels.thermal_strains(free, self._lengths, self._curvatures, self._off, self._source, out)
        self.check(int(np.argmax(self.group == bad)) if bad >= 0 else -1)
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
        places = self.offset, self.stride
        return (self.index, self.ends, self.data, *places, self.group, self._strains(u[np.newaxis])[0])

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        args = (self.index, self.ends, self.data, self.group, self._strains(u), q, self.fixed)
        self.check(kernels.stored(*args, out))


def _shape(shape: Any, k: int, length: float) -> tuple[Floats, Floats]:
    """Mean curvature (3,) of an element, and its chord (3,) less that of the helix of this curvature."""
    curvature = shape.curvature(k)
    (start, axes), (end, _) = shape.element(k)
    helix = uniform_shape(length, 1, curvature).positions[-1]
    return curvature, rotate_back(axes, end - start) - helix

"""Rigid bodies, point masses fixed to frames, and free point masses, evaluated together."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.body import mass_kernels
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.views import BlockPattern


class MassBatch(Batch):
    """Masses and inertias at offsets in moving frames with axes.

    entries : (frame, mass, offset of the mass centre in the frame (3,), inertia about the mass centre (3, 3)).
    """

    def __init__(self, layout: Layout, gravity: Floats, entries: list[tuple[int, float, Floats, Floats]]) -> None:
        frames = np.array([frame for frame, *_ in entries])
        self.index = np.stack([layout.frame_q[frames], layout.frame_v[frames]], axis=1)
        self.data = np.array([[m, *offset, *np.ravel(inertia)] for _, m, offset, inertia in entries])
        self.gravity: Floats = np.array(gravity)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.index = shifted([batch.index for batch in batches], shifts, [0], [1])
        result.data = np.concatenate([batch.data for batch in batches])
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, 1:2])

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        mass_kernels.residual(self.index, self.data, q, v, a, self.gravity, out)

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return partial(mass_kernels.residual, self.index, self.data, q, v, a, self.gravity, out)

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.mass(q, mass)

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.mass_each(q, mass)

    def mass(self, q: Floats, mass: Floats) -> None:
        self.mass_each(q[None], mass[None])

    def mass_each(self, q: Floats, mass: Floats) -> None:
        mass_kernels.mass(self.index, self.data, self.offset, self.stride, q, mass)

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        private = PrivateBlocks(self.index[:, 1:2], (6,))
        out = np.zeros(private.count * private.n**2)
        mass_kernels.mass(self.index, self.data, private.offset, private.stride, q[None], out[None])
        return [(private.indices, private.matrices(out))]

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest without gravity, where the residual is M a
        private = PrivateBlocks(self.index[:, 1:2], (6,))
        index = np.column_stack([self.index[:, 0], private.starts])
        elements = (index, self.data, private.offset, private.stride)

        def change(v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
            mass_kernels.tangent(*elements, q, v, a, np.zeros(3), damping, stiffness)

        return [(private.indices, private.by_columns(change))]

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        mass_kernels.tangent(self.index, self.data, self.offset, self.stride, q, v, a, self.gravity, damping, stiffness)

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        mass_kernels.energy_momentum(self.index, self.data, q, v, self.gravity, out)


class PointBatch(Batch):
    """Free point masses: three coordinates each, linear equations."""

    def __init__(self, layout: Layout, gravity: Floats, entries: list[tuple[int, float]]) -> None:
        frames = np.array([frame for frame, _ in entries])
        components = np.arange(3)
        self.in_q = (layout.frame_q[frames][:, None] + components).ravel()
        self.start_v = layout.frame_v[frames][:, None]
        self.in_v = (self.start_v + components).ravel()
        self.masses = np.repeat([m for _, m in entries], 3)
        self.gravity = np.array(gravity)
        # N, of all points
        self.weight: Floats = self.masses * np.tile(gravity, len(entries))

    def weighed(self, gravity: Floats) -> Self:
        other = super().weighed(gravity)
        other.weight = self.masses * np.tile(gravity, len(self.start_v))
        return other

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result, pairs = copy(batches[0]), list(zip(batches, shifts, strict=True))
        result.in_q = np.concatenate([shift.in_q(batch.in_q) for batch, shift in pairs])
        result.in_v = np.concatenate([shift.in_v(batch.in_v) for batch, shift in pairs])
        result.start_v = np.concatenate([shift.in_v(batch.start_v) for batch, shift in pairs])
        result.masses = np.concatenate([batch.masses for batch in batches])
        result.weight = np.concatenate([batch.weight for batch in batches])
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        offset, stride = pattern.offsets(self.start_v)
        # the three diagonal entries of every block
        self.entries = (offset[:, 0, 0, None] + (stride[:, 0, 0, None] + 1) * np.arange(3)).ravel()

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        out[:, self.in_v] += self.masses * a[:, self.in_v] - self.weight

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.mass(q, mass)

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.mass_each(q, mass)

    def mass(self, q: Floats, mass: Floats) -> None:
        mass[self.entries] += self.masses

    def mass_each(self, q: Floats, mass: Floats) -> None:
        mass[:, self.entries] += self.masses

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        places: Ints = self.in_v.reshape(-1, 3)
        return [(places, self.masses.reshape(-1, 3)[:, :, None] * np.eye(3))]

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        """Empty: the residual does not depend on position or velocity."""

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        r, speed = q[:, self.in_q], v[:, self.in_v]
        momentum = (self.masses * speed).reshape(len(q), -1, 3)
        out[:, 0] += 0.5 * np.sum(self.masses * speed**2, axis=1)
        out[:, 1] -= np.sum(self.weight * r, axis=1)
        out[:, 2:5] += momentum.sum(axis=1)
        out[:, 5:8] += np.cross(r.reshape(momentum.shape), momentum).sum(axis=1)

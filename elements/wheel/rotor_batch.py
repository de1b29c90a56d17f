"""Rotors at rest, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.frame_index import indices_of_frames
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import ModelView
from femb.numerics import rotations
from femb.numerics.compiler.compile import kernel, kernel_with_entry
from femb.numerics.vector3 import IN_Q, IN_V, cross, rotate, rotation

# Kernels over parts: index (n, 3), as in ``frame_indices``; data (n, 3): the angular momentum h in the part's axes.
#
#     residual torque  omega x h,    angular momentum  R h


@kernel_with_entry
def force(index, data, v, out):
    """out (s, n_v) += omega x h."""
    torque = np.empty(3)
    for s in range(v.shape[0]):
        for k in range(index.shape[0]):
            j = index[k, IN_V] + 3
            cross(v[s, j : j + 3], data[k], torque)
            for i in range(3):
                out[s, j + i] += torque[i]


@kernel_with_entry
def tangent(index, data, offset, stride, v, damping):
    """Add d(omega x h)/d omega = -h~ to block data (s, size)."""
    for s in range(v.shape[0]):
        for k in range(index.shape[0]):
            base, step, h = offset[k, 0, 0], stride[k, 0, 0], data[k]
            for i in range(3):
                a, b = (i + 1) % 3, (i + 2) % 3
                damping[s, base + a * step + b] += h[i]
                damping[s, base + b * step + a] -= h[i]


@kernel
def energy(index, data, q, out):
    """out (s, 8) += the angular momenta."""
    R, h = np.empty((3, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i = index[k, IN_Q]
            rotation(q[s, i + 3 : i + 7], R)
            rotate(R, data[k], h)
            for m in range(3):
                out[s, 5 + m] += h[m]


class RotorBatch(Batch):
    """Rotors at rest; a part has a row for each of its frames that move."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        found: dict[int, Floats] = {}
        for item in items:
            for station, momentum in item.momenta(layout, model):
                if layout.frames[station.frame].freedom:
                    h = rotations.rotate_back(layout.frames[station.frame].quaternion, momentum)
                    found[station.frame] = found.get(station.frame, 0.0) + h
        self.index = indices_of_frames(layout, list(found))
        self.data: Floats = np.array(list(found.values())).reshape(-1, 3)

    def forces(self) -> list[Force]:
        return [Force(force, (self.index, self.data), "v", ForcePart.INERTIA)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self.index, self.data), self.index[:, [IN_V]] + 3, "v", "d")]

    def energies(self) -> list[Energy]:
        return [Energy(energy, (self.index, self.data), "q")]

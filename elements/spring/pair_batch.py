"""Base class of batches of forces between two frames."""

from types import ModuleType
from typing import ClassVar

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices, pair_starts, with_inputs
from femb.layout.element import ForceBatch
from femb.layout.layout import Layout, Station
from femb.layout.views import BlockPattern

FIRST_INPUT = 6  # column of the index


class PairBatch(ForceBatch):
    """Forces between pairs of frames; ``kernels`` is a module with the kernels ``forces``, ``tangent`` and ``energy``.

    index (n, 7 or more) : both frames, the first input or -1, and further columns of the kernels. groups : the groups
    of velocities on which the forces act: 0, 1 translation and rotation of the first frame, 2, 3 of the second.
    """

    kernels: ClassVar[ModuleType]
    groups: ClassVar[list[int]] = [0, 1, 2, 3]

    def __init__(self, layout: Layout, index: list[list[int]], data: list[list[float]]) -> None:
        self.local_index: Ints = np.array(index, dtype=np.int64)
        self.index = self.local_index
        self.data: Floats = np.array(data, dtype=float)
        self.fixed = layout.fixed

    @staticmethod
    def index_row(layout: Layout, ends: list[Station], first: int) -> list[int]:
        """The first columns of the index."""
        return [*(k for end in ends for k in frame_indices(layout, end.frame)), first]

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, FIRST_INPUT)
        starts = pair_starts(self.index)[:, self.groups]
        self.offset, self.stride = pattern.offsets(starts)

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        self.kernels.forces(self.index, self.data, u, q, v, self.fixed, elastic, rest, out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        blocks = self.offset, self.stride
        self.kernels.tangent(self.index, self.data, *blocks, u, q, v, self.fixed, damping, stiffness)

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        self.kernels.energy(self.index, self.data, q, v, self.fixed, out)

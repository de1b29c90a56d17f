"""Forces along coordinates of joints, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import pair_starts, with_inputs
from femb.elements.joint import force_kernels as kernels
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, ForceBatch, Input
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, OutputStates


class JointForceBatch(ForceBatch):
    """Forces of all laws. The first inputs are the unwrapped coordinates at the last accepted state."""

    joins = True

    def __init__(self, layout: Layout, items: list[Any]) -> None:
        self.layout, self.items = layout, items
        numbers: Ints = np.array([item.coordinate_number(layout) for item in items], dtype=np.int64)
        self.numbers = numbers
        self.coordinates = JointCoordinates(layout).picked(numbers)
        inputs = [Input(len(items), lambda discrete: discrete.angles[numbers], of_discrete=True, label="joint angles")]
        index: list[list[int]] = []
        width = len(items)
        for k, item in enumerate(items):
            given = item.input()
            columns = (-1, 0) if given is None else (width, given.width)
            index.append([item.law, *columns, k, int(self.coordinates.is_angle[k])])
            if given is not None:
                inputs.append(given)
                width += given.width
        self.inputs = tuple(inputs)
        limits = [(k, *limit) for k, item in enumerate(items) for limit in item.limits()]
        rows, sense, values = np.array(limits, dtype=float).reshape(-1, 3).T
        self.limits = rows.astype(np.int64), sense, values
        self.local_index: Ints = np.array(index, dtype=np.int64)
        law, count = self.local_index[:, kernels.LAW], self.local_index[:, kernels.INPUTS]
        self.switches = bool(np.any(np.isin(law, (kernels.STOPS, kernels.FRICTION)) | (count == 3)))
        self.index = self.local_index
        self.data: Floats = np.array([item.numbers() for item in items], dtype=float)

    @staticmethod
    def joined(batches: list["JointForceBatch"]) -> "JointForceBatch":
        """One batch of all forces."""
        return JointForceBatch(batches[0].layout, [item for batch in batches for item in batch.items])

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, kernels.INPUT, kernels.LAST)
        self.offset, self.stride = pattern.offsets(pair_starts(self.coordinates.index[::2]))

    def measure(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Unwrapped coordinates and rates (s, n), gradients (s, n, 12), and results L (s, n, 5) of the laws."""
        values, rates, gradients = self.coordinates.measure(q, v)
        L = np.empty((*values.shape, 5))
        kernels.laws(self.index, self.data, u, values, rates, L)
        return values, rates, gradients, L

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        values, rates, _ = self.coordinates.measure(q, v)
        values = self.coordinates.unwrapped(values, discrete.angles[self.numbers])
        rows, sense, limits = self.limits
        return sense * (values[:, rows] - limits), sense * rates[:, rows]

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        _, _, gradients, L = self.measure(u, q, v)
        kernels.generalized_forces(self.coordinates.index, gradients, L, elastic, rest, out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        self.matrices_each(u[None], q[None], v[None], damping[None], damping[None], stiffness[None])

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        L, c = self.measure(u, q, v)[3], self.coordinates
        kernels.tangent(
            self.index, c.index, c.data, c.signs, self.offset, self.stride, q, v, c.fixed, L,
            damping, stiffness,
        )  # fmt: skip

    def potential_energy(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        out += np.sum(self.measure(u, q, v)[3][..., kernels.ENERGY], axis=1)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates, _, L = self.measure(frames.u, frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, item in enumerate(self.items):
            path = f"{item.table}/{item.name}"
            block[f"{path}/force"] = item.sense * (L[:, k, kernels.ELASTIC] + L[:, k, kernels.REST])
            block[f"{path}/{'angle' if self.coordinates.is_angle[k] else 'length'}"] = values[:, k]
            block[f"{path}/rate"] = rates[:, k]
        return block

"""Springs with curves along coordinates of joints, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import pair_starts
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.force_batch import (
    BY_COORDINATE,
    BY_RATE,
    ELASTIC,
    ENERGY,
    REST,
    CoordinateForceBatch,
)
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, LinearPoint, OutputStates
from femb.numerics.compiler.compile import kernel


@kernel
def curve_laws(first, own, starts, knots, pieces, energies, damping, u, values, rates, L):
    """L (s, n, 5) of the curves at ``values`` (s, n).

    first : index in u of the first of pairs, of which the first number is that of the curve that acts. own (n,) : the
    first curve of each spring among all c curves. starts (c + 1,) : of the knots of each curve; ``pieces`` (., 4) and
    ``energies`` have one entry more for every curve before. Source: docs/theory/joint_forces.md, equations (12), (13).
    """
    for s in range(values.shape[0]):
        for n in range(damping.size):
            curve = own[n] + int(u[s, first + 2 * n])
            low, high, c = starts[curve], starts[curve + 1], values[s, n]
            at, above = low, high
            while at < above:  # the number of knots at or before c
                middle = (at + above) // 2
                if c < knots[middle]:
                    above = middle
                else:
                    at = middle + 1
            piece = at + curve
            x = c - knots[max(at - 1, low)]
            a, b, d, e = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
            L[s, n, ELASTIC] = a + x * (b + x * (d + x * e))
            L[s, n, BY_COORDINATE] = b + x * (2.0 * d + x * 3.0 * e)
            L[s, n, ENERGY] = energies[piece] + x * (a + x * (b / 2.0 + x * (d / 3.0 + x * e / 4.0)))
            L[s, n, REST], L[s, n, BY_RATE] = damping[n] * rates[s, n], damping[n]


class CurveBatch(CoordinateForceBatch):
    """Springs with curves, evaluated together. The first inputs are the coordinates at the last accepted state."""

    def __init__(self, layout: Layout, items: list[Any]) -> None:
        self.items = items
        numbers: Ints = np.array([item.coordinate_number(layout) for item in items], dtype=np.int64)
        self.numbers = numbers
        self.coordinates = JointCoordinates(layout).picked(numbers)
        self.inputs = (Input.of_angles(numbers), *(each for item in items for each in item.inputs()))
        groups = [item.curves() for item in items]
        curves = [curve for group in groups for curve in group]
        self.own: Ints = np.cumsum([0, *map(len, groups[:-1])], dtype=np.int64)
        self.starts: Ints = np.cumsum([0, *(len(curve.knots) for curve in curves)], dtype=np.int64)
        self.knots = np.concatenate([curve.knots for curve in curves])
        self.pieces = np.concatenate([curve.pieces for curve in curves])
        self.energies = np.concatenate([curve.energies for curve in curves])
        self.damping = np.array([item.damping for item in items])
        self.switches = any(item.snaps or item.interpolation == "linear" for item in items)
        self._corners = self._slopes_jump()
        self.index = np.zeros((len(items), 5), dtype=np.int64)
        self.index[:, -1] = self.coordinates.is_angle  # all that the kernel of tangents reads

    def _slopes_jump(self) -> tuple[Ints, Floats]:
        """The springs and the coordinates where slopes of linear curves jump."""
        rows = [
            (k, knot)
            for k, item in enumerate(self.items)
            if item.interpolation == "linear"
            for knot in sorted({float(x) for curve in item.curves() for x in curve.knots[1:-1]})
        ]
        numbers, knots = np.array(rows, dtype=float).reshape(-1, 2).T
        return numbers.astype(np.int64), knots

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(pair_starts(self.coordinates.index[::2]))

    def measure(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Unwrapped coordinates and rates (s, n), gradients (s, n, 12), and results (s, n, 5) of the law."""
        values, rates, gradients = self.coordinates.measure(q, v)
        count = len(self.items)
        values = self.coordinates.unwrapped(values, u[:, self.first_input : self.first_input + count])
        L = np.empty((*values.shape, 5))
        curve_laws(
            self.first_input + count, self.own, self.starts, self.knots, self.pieces, self.energies, self.damping,
            u, values, rates, L,
        )  # fmt: skip
        return values, rates, gradients, L

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        return []

    def _dissipated(self, u: Floats) -> Floats:
        """(s,) J, lost by snapping since the start."""
        first = self.first_input + len(self.items) + 1
        total: Floats = u[:, first : first + 2 * len(self.items) : 2].sum(axis=1)
        return total

    def potential_energy(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """That of the curves with what was lost, which ``prestress_energy`` takes away as work of the snaps."""
        super().potential_energy(u, q, v, out)
        out += self._dissipated(u)

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        out -= self._dissipated(u)

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        values, rates, _ = self.coordinates.measure(q, v)
        values = self.coordinates.unwrapped(values, discrete.angles[self.numbers])
        rows, knots = self._corners
        return values[:, rows] - knots, rates[:, rows]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates, _, L = self.measure(frames.u, frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, item in enumerate(self.items):
            path = f"springs/{item.name}"
            block[f"{path}/force"] = L[:, k, ELASTIC] + L[:, k, REST]
            block[f"{path}/{'angle' if self.coordinates.is_angle[k] else 'length'}"] = values[:, k]
            block[f"{path}/rate"] = rates[:, k]
        return block

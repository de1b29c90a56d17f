"""Forces on one or two frames as one traced function; kernels, exact tangents and energies follow from its text.

The function takes the numbers of an element, its inputs, and each frame (``MovingFrame``), and gives the force on each:
(3,) in inertial axes, or (6,) with the torque in the axes of the frame; of two frames a tuple.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Ints
from femb.elements.frame_index import frame_indices, pair_starts, with_inputs
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Dual, joined, vector
from femb.numerics.compiler.traced import put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import add_row_force, frame_at, in_group, scatter_changes, still, turned_about

# index (n, 7) : columns of both frames, see ``femb.numerics.vector3``, and the first INPUT in u; the second frame of an
# element with one is at rest. data (n, .) : the numbers of an element.
SECOND, INPUT = 3, 6
# Places or velocities, turns or angular velocities, of both frames have four directions each; the residual is -force.
GROUPS = np.array([[0, -1], [4, -1], [8, -1], [12, -1]])
units = unit_changes(0, 4)


def _moved(frame: Any, units: Any, group: int, by_pose: bool) -> Any:
    """A frame with changes of its pose, or of its velocities."""
    first, second = (in_group(still.run(), units, each) for each in (group, group + 1))
    if by_pose:
        return frame._replace(r=frame.r + first, R=turned_about.run(frame.R, second))
    return frame._replace(v=frame.v + first, omega=frame.omega + second)


@cache
def _kernels(text: Any, potential: Any, frames: int, numbers: int, width: int) -> tuple[Any, ...]:
    """Kernels of force, tangent and energy; numbers, width : of the data and the inputs of an element."""
    row_at, given_at = reader(numbers), reader(width)

    @traced
    def forces(row: Any, given: Any, one: Any, two: Any) -> Any:
        found = text.run(row, given, *(one, two)[:frames])
        each = found if frames == 2 else (found, vector())
        return joined(*(joined(part, *(6 - len(part)) * [0.0]) for part in each))

    def varied(by_pose: bool) -> Any:
        @traced
        def result(row: Any, given: Any, one: Any, two: Any, units: Any) -> Any:
            none = Dual(
                0.0, 4 * len(units.items[0].changes) * (0.0,)
            )  # a force that depends on nothing has changes too
            found = forces.run(row, given, _moved(one, units, 0, by_pose), _moved(two, units, 2, by_pose))
            return found + vector(*12 * [none])

        return result

    by_velocity, by_pose = varied(False), varied(True)

    @traced
    def energy_of(row: Any, given: Any, one: Any, two: Any) -> Any:
        return potential.run(row, given, *(one, two)[:frames])

    @inlined
    def element(n, s, index, data, fixed, u, q, v):
        one, two = frame_at(index[n], 0, q[s], v[s], fixed), frame_at(index[n], SECOND, q[s], v[s], fixed)
        return row_at(data[n]), given_at(u[s, index[n, INPUT] :]), one, two

    @kernel_with_entry
    def force(index, data, fixed, u, q, v, out):
        J = np.empty(12)
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                put(forces(*element(n, s, index, data, fixed, u, q, v)), J)
                add_row_force(index[n], -1.0, J, out[s])

    @kernel_with_entry
    def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
        changes, e = np.empty((12, 16)), units(still())
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                at = element(n, s, index, data, fixed, u, q, v)
                put_changes(by_velocity(*at, e), changes)
                scatter_changes(changes, 0, GROUPS, offset[n], stride[n], damping[s])
                put_changes(by_pose(*at, e), changes)
                scatter_changes(changes, 0, GROUPS, offset[n], stride[n], stiffness[s])

    @kernel
    def energy(index, data, fixed, u, q, v, out):
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                out[s, 1] += energy_of(*element(n, s, index, data, fixed, u, q, v))

    return force, tangent, energy


class FrameForces(Batch):
    """Elements of one class, whose force on frames is the traced function ``force``. It has the potential energy
    ``potential``, a traced function of the same arguments, or none."""

    force: ClassVar[Any]
    potential: ClassVar[Any] = None

    def __init__(
        self, layout: Layout, frames: Sequence[tuple[int, ...]], rows: Any, inputs: Sequence[Input] = ()
    ) -> None:
        """frames, rows (n, .) : of each element its frames, one or two, and its numbers. inputs : those of each."""
        self.fixed, self.data, self.inputs = layout.fixed, np.array(rows, dtype=float), tuple(inputs)
        ends = [[frame_indices(layout, frame) for frame in each] for each in frames]
        width = sum(each.width for each in inputs) // len(rows)
        columns = [
            (*each[0], *(each[1] if len(each) == 2 else (each[0][0], -1, 0)), k * width) for k, each in enumerate(ends)
        ]
        self.local_index: Ints = np.array(columns, dtype=np.int64)
        self.kernels = _kernels(self.force, self.potential, len(frames[0]), self.data.shape[1], width)

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, INPUT)

    def forces(self) -> list[Force]:
        part = ForcePart.WORK if self.potential is None else ForcePart.ELASTIC
        return [Force(self.kernels[0], (self.index, self.data, self.fixed), part=part)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(self.kernels[1], (self.index, self.data, self.fixed), pair_starts(self.index))]

    def energies(self) -> list[Energy]:
        of = self.index, self.data, self.fixed
        return [] if self.potential is None else [Energy(self.kernels[2], of, "uqv")]

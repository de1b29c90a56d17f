"""Forces on one or more frames as one traced function; kernels, exact tangents and energies follow from its text.

The function takes the numbers of an element, its inputs, and each frame (``MovingFrame``), and gives the force on each:
(3,) in inertial axes, or (6,) with the torque in the axes of the frame; of several frames a tuple.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Ints
from femb.elements.frame_index import frame_indices, frame_starts, with_inputs
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Dual, joined, vector
from femb.numerics.compiler.traced import put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import HAS_AXES, IN_V, frame_at, in_group, scatter_changes, still, turned_about

# index (n, 3 f + 1) : columns of f frames, see ``femb.numerics.vector3``, and the first input in u. data (n, .) : the
# numbers of an element. Places or velocities, turns or angular velocities, of each frame have four directions each.
units = unit_changes(0, 4)


def _moved(frame: Any, units: Any, group: int, by_pose: bool) -> Any:
    """A frame with changes of its pose, or of its velocities."""
    first, second = (in_group(still.run(), units, each) for each in (group, group + 1))
    if by_pose:
        return frame._replace(r=frame.r + first, R=turned_about.run(frame.R, second))
    return frame._replace(v=frame.v + first, omega=frame.omega + second)


def _frames_at(count: int) -> Any:
    """The function that reads as many frames of an element, as a tuple."""
    last = 3 * (count - 1)
    if count == 1:

        @inlined
        def frames_at(index, q, v, fixed):
            return (frame_at(index, 0, q, v, fixed),)

        return frames_at
    before = _frames_at(count - 1)

    @inlined
    def more_at(index, q, v, fixed):
        return before(index, q, v, fixed) + (frame_at(index, last, q, v, fixed),)  # noqa: RUF005 - compiled

    return more_at


@cache
def _kernels(text: Any, potential: Any, count: int, numbers: int, width: int) -> tuple[Any, ...]:
    """Kernels of force, tangent and energy; count : of the frames. numbers, width : of the data and the inputs of an
    element."""
    row_at, given_at, frames_at, size = reader(numbers), reader(width), _frames_at(count), 6 * count
    # the residual is -force
    groups = np.array([[4 * group, -1] for group in range(2 * count)])

    @traced
    def forces(row: Any, given: Any, frames: Any) -> Any:
        found = text.run(row, given, *frames)
        each = found if count > 1 else (found,)
        return joined(*(joined(part, *(6 - len(part)) * [0.0]) for part in each))

    def varied(by_pose: bool) -> Any:
        @traced
        def result(row: Any, given: Any, frames: Any, units: Any) -> Any:
            # a force that depends on nothing has changes too
            none = Dual(0.0, 2 * count * len(units.items[0].changes) * (0.0,))
            moved = tuple(_moved(frame, units, 2 * k, by_pose) for k, frame in enumerate(frames))
            return forces.run(row, given, moved) + vector(*size * [none])

        return result

    by_velocity, by_pose = varied(False), varied(True)

    @inlined
    def element(n, s, index, data, fixed, u, q, v):
        return row_at(data[n]), given_at(u[s, index[n, -1] :]), frames_at(index[n], q[s], v[s], fixed)

    @kernel_with_entry
    def force(index, data, fixed, u, q, v, out):
        f = np.empty(size)
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                put(forces(*element(n, s, index, data, fixed, u, q, v)), f)
                for e in range(count):
                    j = index[n, 3 * e + IN_V]
                    if j >= 0:
                        for k in range(6 if index[n, 3 * e + HAS_AXES] else 3):
                            out[s, j + k] -= f[6 * e + k]

    @kernel_with_entry
    def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
        changes, e = np.empty((size, 8 * count)), units(still())
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                at = element(n, s, index, data, fixed, u, q, v)
                put_changes(by_velocity(*at, e), changes)
                scatter_changes(changes, 0, groups, offset[n], stride[n], damping[s])
                put_changes(by_pose(*at, e), changes)
                scatter_changes(changes, 0, groups, offset[n], stride[n], stiffness[s])

    @kernel
    def energy(index, data, fixed, u, q, v, out):
        for s in range(q.shape[0]):
            for n in range(index.shape[0]):
                row, given, frames = element(n, s, index, data, fixed, u, q, v)
                out[s, 1] += potential(row, given, *frames)

    return force, tangent, energy


class FrameForces(Batch):
    """Elements of one class, whose force on frames is the traced function ``force``. It has the potential energy
    ``potential``, a traced function of the same arguments, or none."""

    force: ClassVar[Any]
    potential: ClassVar[Any] = None

    def __init__(
        self, layout: Layout, frames: Sequence[tuple[int, ...]], rows: Any, inputs: Sequence[Input] = ()
    ) -> None:
        """frames, rows (n, .) : of each element its frames, as many of all, and its numbers. inputs : those of each."""
        self.fixed, self.data, self.inputs = layout.fixed, np.array(rows, dtype=float), tuple(inputs)
        ends = [[frame_indices(layout, frame) for frame in each] for each in frames]
        width = sum(each.width for each in inputs) // len(rows)
        first = width * np.arange(len(rows))
        self.local_index: Ints = np.column_stack([np.reshape(ends, (len(rows), -1)), first])
        self.kernels = _kernels(self.force, self.potential, len(frames[0]), self.data.shape[1], width)

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, -1)

    def forces(self) -> list[Force]:
        part = ForcePart.WORK if self.potential is None else ForcePart.ELASTIC
        return [Force(self.kernels[0], (self.index, self.data, self.fixed), part=part)]

    def tangents(self) -> list[Tangent]:
        return [
            Tangent(
                self.kernels[1], (self.index, self.data, self.fixed), frame_starts(self.index, len(self.index[0]) // 3)
            )
        ]

    def energies(self) -> list[Energy]:
        of = self.index, self.data, self.fixed
        return [] if self.potential is None else [Energy(self.kernels[2], of, "uqv")]

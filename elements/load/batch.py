"""Point loads, evaluated together: forces, and torques in four bases."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.types import Floats
from femb.elements.frame_index import with_inputs
from femb.elements.load import torque_kernels
from femb.elements.load.euler_basis import NEAREST, axes_of, lock_vector, measure_of
from femb.layout.commands import command_array, continuous_commands, with_commands
from femb.layout.connections import Singularity
from femb.layout.element import Batch, Input, breakpoints_of
from femb.layout.layout import Layout, Station
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Force, Tangent
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_point_force,
    add_torque_tangent,
    rotate,
    rotate_back,
    rotation,
    scatter,
    times_skew,
)

# Kernels over point forces.
#
# index (n, 5) int: index of the frame in q and in v, first INPUT, number of INPUTS, KIND: components in INERTIAL axes,
# in axes of the BODY, or on a POINT mass, which has no axes. data (n, 12): the point in the frame, MATRIX (9) from the
# inputs to the components.

INPUT, INPUTS, KIND = 2, 3, 4
AT, MATRIX = slice(0, 3), 3
INERTIAL, BODY, POINT = 0, 1, 2
STARTS = np.array([0])
SIZES = np.array([6])


@inlined
def components(index, data, u, F):
    for i in range(3):
        F[i] = 0.0
        for k in range(index[INPUTS]):
            F[i] += data[MATRIX + 3 * i + k] * u[index[INPUT] + k]


@kernel_with_entry
def forces(index, data, u, q, out):
    """out (s, n_v) -= the generalized forces."""
    R, w = np.empty((3, 3)), np.empty((2, 3))
    F, other = w[0], w[1]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, kind = index[k, IN_Q], index[k, IN_V], index[k, KIND]
            components(index[k], data[k], u[s], F)
            if kind == POINT:
                for o in range(3):
                    out[s, j + o] -= F[o]
                continue
            rotation(q[s, i + 3 : i + 7], R)
            if kind == BODY:
                rotate(R, F, other)
                add_point_force(-1.0, other, F, data[k, AT], j, out[s])
            else:
                rotate_back(R, F, other)
                add_point_force(-1.0, F, other, data[k, AT], j, out[s])


@kernel_with_entry
def tangent(index, data, offset, stride, u, q, out):
    """Add d(-force)/dq H to block data (s, size): the change of directions and arms with the frame."""
    R, w, A = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 6))
    F, local = w[0], w[1]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, kind = index[k, IN_Q], index[k, KIND]
            if kind == POINT:
                continue
            components(index[k], data[k], u[s], F)
            rotation(q[s, i + 3 : i + 7], R)
            A[:] = 0.0
            if kind == BODY:
                times_skew(1.0, R, F, A[:3, 3:])
            else:
                rotate_back(R, F, local)
                add_torque_tangent(-1.0, local, data[k, AT], 3, A)
            scatter(A, STARTS, SIZES, offset[k], stride[k], out[s])


BASES = {
    "inertial": torque_kernels.INERTIAL,
    "body": torque_kernels.BODY,
    "euler": torque_kernels.EULER,
    "dual_euler": torque_kernels.DUAL,
}


class LoadBatch(Batch):
    """Forces and torques at stations, each one input times a direction, or three inputs of a callable."""

    def __init__(self, loads: list[Any], layout: Layout) -> None:
        self.layout = layout
        # separate kernel for torques that are constant in their frame, without bases, damping or tangents
        self.table, self.torques, self.steady_torques = _LoadTable(5, 12), _LoadTable(6, 25), _LoadTable(4, 9)
        self.singularities: tuple[Singularity, ...] = ()
        self._locks: list[tuple[int, int, int, Floats]] = []
        self._recorded: list[_RecordedLoad] = []
        inputs: list[Input] = []
        self._width = 0
        for load in loads:
            station = layout.station(load.on)
            if load.force is not None:
                for source in self._inputs(load, "force", inputs):
                    self._force(load, station, source)
                    self._recorded.append(_RecordedLoad(load.name, "force", self.table, len(self.table.index) - 1))
            if load.torque is not None or load.damping is not None:
                axes = station.axes
                for source in self._inputs(load, "torque", inputs):
                    rows = self._torque(load, station, source)
                    self._recorded.append(_RecordedLoad(load.name, "torque", rows, len(rows.index) - 1, axes))
        self.inputs = tuple(inputs)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.table = _LoadTable.stacked([batch.table for batch in batches], shifts)
        result.torques = _LoadTable.stacked([batch.torques for batch in batches], shifts)
        result.steady_torques = _LoadTable.stacked([batch.steady_torques for batch in batches], shifts)
        result._recorded = []
        result.singularities = tuple(each for batch in batches for each in batch.singularities)
        result._locks = [
            (i + shift.q, j + shift.v, first, last)
            for batch, shift in zip(batches, shifts, strict=True)
            for i, j, first, last in batch._locks
        ]
        return result

    def _inputs(self, load: Any, word: str, inputs: list[Input]) -> list[tuple[Floats, int, int]]:
        """Matrix (3, 3) from the inputs to the components, first input and number of inputs; of the load's own value,
        and of its command, if it has one."""
        value, label, first = getattr(load, word), f"loads.{load.name}.{word}", self._width
        if value is None:
            return [(np.zeros((3, 3)), first, 0)]
        if callable(value):
            inputs.append(Input(3, value, of_state=True, breakpoints=breakpoints_of(value), label=label))
            self._width += 3
            return [(np.eye(3), first, 3)]
        command = command_array(label)
        if command not in self.layout.discrete:
            matrix = np.zeros((3, 3))
            matrix[:, 0] = value
            # the factor has a name of its own: ``label`` is the force or torque, as controllers set it
            inputs.append(Input.of_profile(load.profile, f"{label}.factor"))
            self._width += 1
            return [(matrix, first, 1)]
        # the components are inputs of linear models, since a command changes each of them
        unit, profile = ("N" if word == "force" else "N m"), load.profile
        inputs.append(
            Input(3, lambda t: value * profile(t), breakpoints=breakpoints_of(profile), label=label, unit=unit)
        )
        inputs.append(Input.of_array(command, 3))
        self._width += 6
        return [(np.eye(3), first, 3), (np.eye(3), first + 3, 3)]

    def _force(self, load: Any, station: Station, source: tuple[Floats, int, int]) -> None:
        matrix, first, count = source
        kind = BODY if load.frame == "body" else INERTIAL
        if load.frame == "body":
            # station axes, which differ from frame axes at a beam node
            matrix = station.axes @ matrix
        if self.layout.frames[station.frame].freedom == 3:
            kind = POINT
        frame = self.layout.frame_q[station.frame], self.layout.frame_v[station.frame]
        self.table.add([*frame, first, count, kind], [*station.offset, *matrix.ravel()])

    def _torque(self, load: Any, station: Station, source: tuple[Floats, int, int]) -> "_LoadTable":
        """Add a torque to a table; returns the table."""
        matrix, first, count = source
        axes = station.axes
        frame = self.layout.frame_q[station.frame], self.layout.frame_v[station.frame]
        if load.frame == "body" and load.damping is None:
            self.steady_torques.add([*frame, first, count], (axes @ matrix).ravel())
            return self.steady_torques
        first_axis, last_axis, sign = axes_of(load.sequence)
        last = axes[:, last_axis]
        damping = np.zeros(3) if load.damping is None else np.broadcast_to(load.damping, 3)
        self.torques.add(
            [*frame, first, count, BASES[load.frame], first_axis],
            [*matrix.ravel(), *damping, *axes.ravel(), *last, sign],
        )
        if load.ends_at_lock:
            self.singularities = (*self.singularities, _lock(load))
            self._locks.append((*frame, first_axis, last))
        return self.torques

    def allocate(self, pattern: BlockPattern) -> None:
        for rows in (self.table, self.torques, self.steady_torques):
            rows.set_inputs(self.first_input)

    def forces(self) -> list[Force]:
        return [
            Force(kernel, (rows.index, rows.data), reads)
            for kernel, rows, reads in (
                (forces, self.table, "uq"),
                (torque_kernels.torques, self.torques, "uqv"),
                (torque_kernels.steady_torques, self.steady_torques, "u"),
            )
            if len(rows.index)
        ]

    def tangents(self) -> list[Tangent]:
        return [
            Tangent(kernel, (rows.index, rows.data), rows.index[:, [IN_V]], reads, gives)
            for kernel, rows, reads, gives in (
                (tangent, self.table, "uq", "k"),
                (torque_kernels.tangent, self.torques, "uqv", "dk"),
            )
            if len(rows.index)
        ]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force (inertial axes) and torque (axes of the body or section) of every load, with its damping."""
        terms = {id(term.kept[0]): term for term in self.forces()}
        states, block = {"u": frames.u, "q": frames.q, "v": frames.v}, dict[str, Floats]()
        for load in self._recorded:
            term, out = terms[id(load.rows.index)], np.zeros_like(frames.v)
            row = (part[load.row : load.row + 1] for part in term.kept)
            term.kernel(*row, *(states[name] for name in term.reads), out)
            first = load.rows.index[load.row, IN_V] + (3 if load.word == "torque" else 0)
            values = out[:, first : first + 3]
            path, own = f"loads/{load.name}/{load.word}", values if load.axes is None else values @ load.axes
            block[path] = block.get(path, 0.0) - own
        return with_commands(block, continuous_commands(batches, frames.u, frames.q, frames.v))

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, 2) that vanish at gimbal lock, for every torque that is not defined there, and their rates."""
        pairs = [
            lock_vector(first, last, q[:, i + 3 : i + 7], v[:, j + 3 : j + 6]) for i, j, first, last in self._locks
        ]
        return np.stack([y for y, _ in pairs], axis=1), np.stack([rate for _, rate in pairs], axis=1)


def _lock(load: Any) -> Singularity:
    owner = f"body {load.body!r}" if load.body is not None else f"beam {load.beam!r}"
    grows = ", where the dual Euler basis grows without bound," if load.frame == "dual_euler" else ""
    return Singularity(
        NEAREST,
        f"loads.{load.name}",
        f"{owner} is at gimbal lock of the sequence {load.sequence}{grows}",
        measure_of(load.sequence),
        'give the torque in frame = "body", or in a sequence whose lock the motion does not come to',
    )


@dataclass(frozen=True)
class _RecordedLoad:
    """A force or torque of the results: its row, and for a torque the axes (3, 3) of its components in the frame."""

    name: str
    word: str
    rows: "_LoadTable"
    row: int
    axes: Floats | None = None


class _LoadTable:
    """Arrays of one kind of load: index (n, width) and data (n, length)."""

    def __init__(self, width: int, length: int) -> None:
        self.index = self.local_index = np.zeros((0, width), dtype=np.int64)
        self.data: Floats = np.zeros((0, length))

    def add(self, index: list[Any], data: Any) -> None:
        self.index = self.local_index = np.vstack([self.local_index, np.array([index], dtype=np.int64)])
        self.data = np.vstack([self.data, np.array([data], dtype=float)])

    @staticmethod
    def stacked(tables: "Sequence[_LoadTable]", shifts: Sequence[Shift]) -> "_LoadTable":
        """The table of the loads of several models."""
        result = copy(tables[0])
        index = shifted([table.local_index for table in tables], shifts, [IN_Q], [IN_V], [INPUT])
        result.index = result.local_index = index
        result.data = np.concatenate([table.data for table in tables])
        return result

    def set_inputs(self, first_input: int) -> None:
        self.index = with_inputs(self.local_index, first_input, INPUT)

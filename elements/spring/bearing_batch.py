"""Bearings, evaluated together."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from femb.base.types import Floats
from femb.elements.joint.curve import Curve
from femb.elements.spring.batch import DIRECTIONS, PairBatch, PairRow, ends_of, units, varied
from femb.layout.element import Batch, OutputRows
from femb.layout.layout import Layout
from femb.layout.stacking import Shift
from femb.layout.terms import Force, ForcePart, Tangent
from femb.layout.views import LinearPoint, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, cross, dot, joined, vector
from femb.numerics.compiler.traced import of_one, put, put_changes, reader, traced
from femb.numerics.vector3 import OF_PAIR, MovingFrame, add_row_force, scatter_changes, still

# Kernels over bearings. With the point p of the shaft and the centre b, in axes of the housing, and the axes A,
#
#     (x, y, z) = A^T (p - b),    f = K (x, y, z) + C (x', y', z'),    W = W_0 + z . (omega_2 - omega_1)
#
# index (n, 9) int: as in ``PairBatch``, then FIRST_ROW and ROWS of its table. data (n, 16): b, the shaft's point in its
# frame, A, W_0. table (., 41): the speed from which a row counts, and of each coefficient the powers 0 to 3 of the
# speed beyond it. Source: docs/theory/rigid_body.md, section 5.

FIRST_ROW, ROWS = 7, 8
MEASURES = {"displacement": "m", "force": "N"}
WORDS = ("kxx", "kxy", "kyx", "kyy", "kzz", "cxx", "cxy", "cyx", "cyy", "czz")
row_of_data, row_of_table = reader(16), reader(41)


class BearingData(NamedTuple):
    """Centre (3,) in the housing, point (3,) of the shaft, axes (3, 3) in the housing, and a speed that adds."""

    centre: Vector3
    point: Vector3
    axes: Matrix3
    speed: Number


@traced
def bearing_of(row: Annotated[Any, (16,)]) -> Any:
    return BearingData(row[:3], row[3:6], row[6:15].shaped(3, 3), row[15])


@traced
def speed_of(bearing: BearingData, one: MovingFrame, two: MovingFrame) -> Any:
    """The speed of the shaft about the axis, relative to the housing."""
    relative = one.R.T @ (two.R @ two.omega) - one.omega
    return bearing.speed + dot(bearing.axes[:, 2], relative)


@traced
def displaced(bearing: BearingData, one: MovingFrame, two: MovingFrame) -> Any:
    """Displacement (3,) of the shaft's point and its rate, bearing's axes, and the point in the housing."""
    arm = two.R @ bearing.point
    place = one.R.T @ (two.r + arm - one.r)
    rate = one.R.T @ (two.v + two.R @ cross(two.omega, bearing.point) - one.v) - cross(one.omega, place)
    return bearing.axes.T @ (place - bearing.centre), bearing.axes.T @ rate, place


@traced
def resistance(table: Annotated[Any, (41,)], speed: Number, x: Vector3, rate: Vector3) -> Any:
    """The force K x + C x' (3,) at a speed, bearing's axes."""
    s = speed - table[0]
    kxx, kxy, kyx, kyy, kzz, cxx, cxy, cyx, cyy, czz = (
        table[k] + s * (table[k + 1] + s * (table[k + 2] + s * table[k + 3])) for k in range(1, 41, 4)
    )
    return vector(
        kxx * x[0] + kxy * x[1] + cxx * rate[0] + cxy * rate[1],
        kyx * x[0] + kyy * x[1] + cyx * rate[0] + cyy * rate[1],
        kzz * x[2] + czz * rate[2],
    )


@traced
def measured(bearing: BearingData, table: Annotated[Any, (41,)], one: MovingFrame, two: MovingFrame) -> Any:
    """Displacement and force of the shaft on the bearing (6,), in its axes."""
    x, rate, _ = displaced.run(bearing, one, two)
    return joined(x, resistance.run(table, speed_of.run(bearing, one, two), x, rate))


@traced
def on_frames(bearing: BearingData, table: Annotated[Any, (41,)], one: MovingFrame, two: MovingFrame) -> Any:
    """Force, inertial axes, and torque, own axes, on both frames (12,), as a residual."""
    x, rate, place = displaced.run(bearing, one, two)
    N = bearing.axes @ resistance.run(table, speed_of.run(bearing, one, two), x, rate)
    force = one.R @ N
    return joined(-force, -cross(place, N), force, cross(bearing.point, two.R.T @ force))


@inlined
def row_at(index, tables, speed):
    """The row of the table that counts at a speed."""
    row = index[FIRST_ROW]
    for k in range(row + 1, row + index[ROWS]):
        if speed >= tables[k, 0]:
            row = k
    return row_of_table(tables[row])


@inlined
def bearing_at(index, data, tables, fixed, q, v):
    """A bearing, the row of its table that counts, and the motions of both frames."""
    bearing = bearing_of(row_of_data(data))
    one, two = ends_of(index, q, v, fixed)
    return bearing, row_at(index, tables, of_one(speed_of(bearing, one, two))), one, two


@kernel_with_entry
def force(index, data, tables, fixed, q, v, out):
    """out (s, n_v) += the resistance."""
    f = np.empty(12)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            bearing, table, one, two = bearing_at(index[k], data[k], tables, fixed, q[s], v[s])
            put(on_frames(bearing, table, one, two), f)
            add_row_force(index[k], 1.0, f, out[s])


@kernel_with_entry
def tangent(index, data, tables, fixed, offset, stride, q, v, damping, stiffness):
    """Add its derivatives by v, and by q times H, at every state to block data (s, size)."""
    rows, e = np.empty((12, DIRECTIONS)), units(still())
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            bearing, table, one, two = bearing_at(index[k], data[k], tables, fixed, q[s], v[s])
            put_changes(on_frames(bearing, table, *varied(one, two, e)), rows)
            scatter_changes(rows, 0, OF_PAIR, offset[k], stride[k], stiffness[s])
            scatter_changes(rows, 12, OF_PAIR, offset[k], stride[k], damping[s])


@kernel
def measures(index, data, tables, fixed, q, v, out):
    """out (s, n, 6) : displacements and forces of the shafts, in axes of the bearings."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            bearing, table, one, two = bearing_at(index[k], data[k], tables, fixed, q[s], v[s])
            put(measured(bearing, table, one, two), out[s, k])


@kernel
def measure_changes(index, data, tables, fixed, q, v, out):
    """out (n, 6, DIRECTIONS) : the changes of ``measures`` at one state q (n_q,), v (n_v,)."""
    e = units(still())
    for k in range(index.shape[0]):
        bearing, table, one, two = bearing_at(index[k], data[k], tables, fixed, q, v)
        put_changes(measured(bearing, table, *varied(one, two, e)), out[k])


def table_of(coefficients: dict[str, Any], speeds: Any) -> Floats:
    """(r, 41) rows of a table over ``speeds`` (n,), smooth cubics; coefficients are constant before and behind it."""
    if speeds is None:
        row = np.zeros((1, 41))
        row[0, 1::4] = [coefficients[word] for word in WORDS]
        return row
    rows = np.zeros((len(speeds) + 1, 41))
    rows[:, 0] = [speeds[0], *speeds]
    for k, word in enumerate(WORDS):
        values = np.broadcast_to(coefficients[word], len(speeds))
        rows[:, 4 * k + 1 : 4 * k + 5] = Curve.through(speeds, values, "spline").pieces
    rows[[0, -1]] = np.where(np.isin(np.arange(41) % 4, (2, 3, 0)) & (np.arange(41) > 0), 0.0, rows[[0, -1]])
    return rows


class BearingBatch(PairBatch):
    """Bearings; a table has a row before its first speed, and one from each speed on."""

    def __init__(self, springs: list[Any], layout: Layout, model: ModelView) -> None:
        self.model = model
        self.tables: Floats = np.zeros((0, 41))
        super().__init__(springs, layout, model)

    def row(self, k: int, layout: Layout) -> PairRow:
        item, shaft = self.springs[k], self.ends[k][1]
        table = table_of(item.coefficients, item.speeds)
        first, self.tables = len(self.tables), np.vstack([self.tables, table])
        centre, axes = item.centre(layout)
        numbers = [*centre, *shaft.offset, *axes.ravel(), item.speed_of(self.model)]
        return PairRow(numbers, [first, len(table)])

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = super().stacked(batches, shifts, layout)
        counts, rows = (
            [len(each) for each in lists] for lists in ([b.data for b in batches], [b.tables for b in batches])
        )
        result.tables = np.concatenate([batch.tables for batch in batches])
        result.index[:, FIRST_ROW] += np.repeat(np.cumsum([0, *rows[:-1]]), counts)
        return result

    @property
    def kept(self) -> Any:
        return self.index, self.data, self.tables, self.fixed

    def forces(self) -> list[Force]:
        return [Force(force, self.kept, "qv", ForcePart.WORK)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, self.kept, self.starts, "qv")]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        found = np.empty((len(frames.q), len(self.index), 6))
        measures(*self.kept, frames.q, frames.v, found)
        paths = [name.replace(".", "/", 1) for name in self.names]
        return {
            f"{path}/{word}": found[:, k, 3 * part : 3 * part + 3]
            for k, path in enumerate(paths)
            for part, word in enumerate(MEASURES)
        }

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.names, tuple(MEASURES))

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        k, part = self.names.index(item), 3 * list(MEASURES).index(quantity)
        changes, rows = np.empty((len(self.index), 6, DIRECTIONS)), np.zeros((2, 3, point.system.n_v))
        measure_changes(*self.kept, point.q, point.v, changes)
        for start, (first, sign) in zip(self.starts[k], OF_PAIR, strict=True):
            if start >= 0:
                for found, at in zip(rows, (first, first + 12), strict=True):
                    found[:, start : start + 3] = sign * changes[k, part : part + 3, at : at + 3]
        return OutputRows(MEASURES[quantity], pose=rows[0], velocity=rows[1])

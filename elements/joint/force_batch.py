"""Forces along coordinates of joints, evaluated together: springs, friction, stops, motors, curves and steppers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.frame_index import frame_starts, with_inputs
from femb.elements.joint.coordinates import JointCoordinates, measure
from femb.elements.joint.force import CURVE, FRICTION, MOTOR, SPRING, STEPPER, STOPS
from femb.elements.joint.primitives import (
    FIRST,
    PRIMITIVE,
    REVOLUTION,
    SECOND,
    SIZES,
    STARTS,
    TURN,
    piece_at,
    row_at,
    units,
    varied_stroke,
    varied_turn,
)
from femb.elements.joint.records import coordinate_rows, on_frames
from femb.layout.commands import continuous_commands, with_commands
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, Input, OutputRows, rows_of_law, unlike_inputs
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted, starts_of
from femb.layout.state import RATE
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern, LinearPoint, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.traced import V3, put_changes
from femb.numerics.vector3 import OF_PAIR, add_row_force, frame_at, scatter, scatter_changes, still

# Kernels over forces along coordinates of joints: springs, friction, end stops, motors, curves and steppers.
#
# With the coordinate c(q), its rate c' = J v and the gradient J (12,) on (rdot_i, omega_i, rdot_j, omega_j), a force N
# that resists an increase of c contributes to the residual and to the tangents
#
#     J^T N,    C = N_r J^T J,    K = J^T (N_c J + N_r v^T J') + N J',    J' = dJ/dq H (12, 12),
#
# where N_c and N_r are its derivatives with respect to c and c'. J is the exact gradient, also of an open joint.
#
# index (n, 7) int: LAW; first INPUT of the law or -1; number of these INPUTS; LAST, the input with the angle at the
# last accepted state or -1; IS_ANGLE, whether c is an angle; ACCOUNT, the number of that of the work; TABLE, the first
# of the tables of the law. data (n, 5): parameters of the law. Table k is the rows starts[k] to starts[k + 1] of
# ``tables`` (., 6). L (s, n, 5) : ELASTIC part of N, the REST, N_c, N_r, ENERGY. frames, rows, fixed :
# as in ``measure``. Source: docs/theory/joint_forces.md, equations (1) to (14).


class Laws(NamedTuple):
    """Forces along coordinates, as kernels take them: the arrays above; kinds is index."""

    frames: Ints
    rows: Floats
    fixed: Floats
    kinds: Ints
    data: Floats
    starts: Ints
    tables: Floats


LAW, INPUT, INPUTS, LAST, IS_ANGLE, ACCOUNT, TABLE = range(7)
ELASTIC, REST, BY_COORDINATE, BY_RATE, ENERGY = range(5)


@inlined
def curve(c, begin, end, tables, L):
    """Set the elastic part, its derivative and the energy of L (5,) by the curve with these rows of ``tables``.

    Of each cubic piece: the coordinate from which it counts, four coefficients, the energy there. The first piece and
    the last have no end. Source: docs/theory/joint_forces.md, equations (12), (13).
    """
    begin = piece_at(c, begin, end, tables)
    x, a, b, d, e = c - tables[begin, 0], tables[begin, 1], tables[begin, 2], tables[begin, 3], tables[begin, 4]
    L[ELASTIC] = a + x * (b + x * (d + x * e))
    L[BY_COORDINATE] = b + x * (2.0 * d + x * 3.0 * e)
    L[ENERGY] = tables[begin, 5] + x * (a + x * (b / 2.0 + x * (d / 3.0 + x * e / 4.0)))


@inlined
def stepper(c, given, data, begin, end, tables, L):
    """Set L (5,), but for damping, of a stepper motor at the angle c; given : its target without errors.

    Rows of ``tables`` are its harmonics: order, phase, torque, angle. Source: docs/theory/joint_forces.md, equations
    (10), (11).
    """
    target = given
    for k in range(begin, end):
        order, phase, torque = tables[k, 0], tables[k, 1], tables[k, 2]
        target += tables[k, 3] * math.sin(order * given + phase)
        sine, cosine = math.sin(order * c + phase), math.cos(order * c + phase)
        L[ELASTIC] += torque * sine
        L[BY_COORDINATE] += torque * order * cosine
        L[ENERGY] += torque / order * (1.0 - cosine)
    phase = data[1] * (c - target)
    L[REST] = data[0] * math.sin(phase)
    L[BY_COORDINATE] += data[0] * data[1] * math.cos(phase)


@kernel
def laws(of, u, values, rates, L):
    """Unwrap the angles in ``values`` (s, n), and set L (s, n, 5).

    Data: SPRING k, c, c_0; FRICTION T_c, T_s - T_c, v_t, v_S, viscous; STOPS lower, upper, k, exponent, damping;
    MOTOR none; CURVE damping; STEPPER torque, teeth, damping. Inputs: the force of a motor, or value and derivatives
    with respect to c and c' of a callable; of a CURVE the number of its table and the energy lost since the
    start; of a STEPPER two parts of the target. An angle without LAST is within half a turn of c_0 / 2.
    """
    index, data, starts, tables = of.kinds, of.data, of.starts, of.tables
    for s in range(values.shape[0]):
        for n in range(index.shape[0]):
            if index[n, IS_ANGLE]:
                near = u[s, index[n, LAST]] if index[n, LAST] >= 0 else 0.5 * data[n, 2]
                values[s, n] -= REVOLUTION * math.floor((values[s, n] - near) / REVOLUTION + 0.5)
            c, r, first, law, own = values[s, n], rates[s, n], index[n, INPUT], index[n, LAW], L[s, n]
            own[:] = 0.0
            if law == SPRING:
                k, free = data[n, 0], c - data[n, 2]
                own[ELASTIC], own[REST], own[ENERGY] = k * free, data[n, 1] * r, 0.5 * k * free * free
                own[BY_COORDINATE], own[BY_RATE] = k, data[n, 1]
            elif law == FRICTION:
                ratio, sign = r / data[n, 3], math.tanh(r / data[n, 2])
                fall = data[n, 1] * math.exp(-ratio * ratio)
                own[REST] = (data[n, 0] + fall) * sign + data[n, 4] * r
                own[BY_RATE] = (data[n, 0] + fall) * (1.0 - sign * sign) / data[n, 2] + data[n, 4]
                own[BY_RATE] -= 2.0 * ratio / data[n, 3] * fall * sign
            elif law == STOPS:
                side = 1.0 if c > data[n, 1] else (-1.0 if c < data[n, 0] else 0.0)
                if side != 0.0:
                    depth = c - data[n, 1] if side > 0.0 else data[n, 0] - c
                    k, power, y = data[n, 2], data[n, 3], data[n, 4] * side * r
                    root = math.sqrt(1.0 + y * y)
                    # y + root, positive and without cancellation
                    growth = y + root if y >= 0.0 else 1.0 / (root - y)
                    push = k * depth**power
                    own[ELASTIC], own[REST] = side * push, side * push * (growth - 1.0)
                    own[ENERGY] = push * depth / (power + 1.0)
                    own[BY_COORDINATE] = k * power * depth ** (power - 1.0) * growth
                    own[BY_RATE] = push * data[n, 4] * growth / root
            elif law == CURVE:
                table = index[n, TABLE] + int(u[s, first])
                curve(c, starts[table], starts[table + 1], tables, own)
                own[REST], own[BY_RATE] = data[n, 0] * r, data[n, 0]
                own[ENERGY] += u[s, first + 1]
            elif law == STEPPER:
                table = index[n, TABLE]
                stepper(c, u[s, first] + u[s, first + 1], data[n], starts[table], starts[table + 1], tables, own)
                own[REST] += data[n, 2] * r
                own[BY_RATE] = data[n, 2]
            if first >= 0 and law <= MOTOR:
                factor = -1.0 if law == MOTOR else 1.0
                own[REST] += factor * u[s, first]
                if index[n, INPUTS] == 3:
                    own[BY_COORDINATE] += factor * u[s, first + 1]
                    own[BY_RATE] += factor * u[s, first + 2]


@inlined
def laws_at(s, of, u, q, v, values, rates, gradients, L):
    """Set values, rates (1, n), gradients (1, n, 12) and L (1, n, 5) of ``laws`` at state s."""
    here = slice(s, s + 1)
    measure(of.frames, of.rows, q[here], v[here], of.fixed, values, rates, gradients)
    laws(of, u[here], values, rates, L)


@kernel_with_entry
def force(of, u, q, v, factors, out):
    """out (s, n_v) += J^T N; factors (1 + k,) : of the elastic parts, and of the rest of the forces of each account."""
    n = of.frames.shape[0]
    values, rates, gradients, L = np.empty((1, n)), np.empty((1, n)), np.empty((1, n, 12)), np.empty((1, n, 5))
    for s in range(q.shape[0]):
        laws_at(s, of, u, q, v, values, rates, gradients, L)
        for k in range(n):
            force = factors[0] * L[0, k, ELASTIC] + factors[1 + of.kinds[k, ACCOUNT]] * L[0, k, REST]
            add_row_force(of.frames[k], force, gradients[0, k], out[s])


@kernel
def energy(of, u, q, v, out):
    """out (s, 8) += potential energies; those of curves with what was lost since the start."""
    n = of.frames.shape[0]
    values, rates, gradients, L = np.empty((1, n)), np.empty((1, n)), np.empty((0, n, 12)), np.empty((1, n, 5))
    for s in range(q.shape[0]):
        laws_at(s, of, u, q, v, values, rates, gradients, L)
        out[s, 1] += np.sum(L[0, :, ENERGY])


@kernel_with_entry
def tangent(of, offset, stride, u, q, v, damping, stiffness):
    """Add C and K, equation (2), at every state to block data (s, size)."""
    frames, n, changes, E, N = of.frames, of.frames.shape[0], np.empty((12, 12)), np.empty((12, 12)), np.empty(3)
    values, rates, gradients, L = np.empty((1, n)), np.empty((1, n)), np.empty((1, n, 12)), np.empty((1, n, 5))
    for s in range(q.shape[0]):
        laws_at(s, of, u, q, v, values, rates, gradients, L)
        for n in range(frames.shape[0]):
            J, row, e = gradients[0, n], row_at(of.rows[n]), units(still())
            N[0], N[1], N[2] = L[0, n, ELASTIC] + L[0, n, REST], L[0, n, BY_COORDINATE], L[0, n, BY_RATE]
            one = frame_at(frames[n], FIRST, q[s], v[s], of.fixed)
            two = frame_at(frames[n], SECOND, q[s], v[s], of.fixed)
            if frames[n, PRIMITIVE] == TURN:
                put_changes(varied_turn(row, one, two, V3(N), e), changes)
            else:
                put_changes(varied_stroke(row, one, two, V3(N), e), changes)
            for k in range(12):
                for o in range(12):
                    E[k, o] = N[2] * J[k] * J[o]
            scatter(E, STARTS, SIZES, offset[n], stride[n], damping[s])
            scatter_changes(changes, 0, OF_PAIR, offset[n], stride[n], stiffness[s])


class CoordinateForceBatch(Batch):
    """Forces along coordinates of joints.

    items : one for each force. coordinates : those it acts on. index, data, starts, tables : as with the kernels.
    limits : rows, senses and coordinates at which the stiffness jumps. works : the parts of the work, by ACCOUNT. The
    first inputs are the coordinates at the last accepted state.
    """

    works: tuple[ForcePart, ...] = (ForcePart.WORK,)

    def __init__(self, items: list[Any], coordinates: JointCoordinates, numbers: Ints, inputs: Iterable[Input]) -> None:
        self.items, self.coordinates, self.numbers = items, coordinates, numbers
        self.inputs = (*([Input.of_angles(numbers)] if numbers.size else []), *inputs)
        self.index: Ints = np.zeros((coordinates.count, 7), dtype=np.int64)
        self.index[:, INPUT], self.index[:, IS_ANGLE] = -1, coordinates.is_angle
        self.index[:, LAST] = np.arange(coordinates.count) if numbers.size else -1
        self.local_index, self.data = self.index, np.zeros((coordinates.count, 5))
        self.starts, self.tables = np.zeros(1, dtype=np.int64), np.zeros((0, 6))
        self.limits = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        """One batch of several models; its inputs are all angles, then the others of one model after the other."""
        result = shallow_copy(batches[0])
        result.items = [item for batch in batches for item in batch.items]
        result.coordinates = JointCoordinates.stacked([batch.coordinates for batch in batches], shifts, layout)
        result.numbers = np.concatenate(
            [batch.numbers + shift.joints for batch, shift in zip(batches, shifts, strict=True)]
        )
        rows, senses, values = zip(*(batch.limits for batch in batches), strict=True)
        counts = [len(batch.index) for batch in batches]
        moved = [each + first for each, first in zip(rows, starts_of(counts), strict=True)]
        result.limits = np.concatenate(moved), np.concatenate(senses), np.concatenate(values)
        result.switches = any(batch.switches for batch in batches)
        index = shifted([batch.local_index for batch in batches], shifts, [], [], [INPUT])
        index[:, LAST] = np.arange(len(index)) if result.numbers.size else -1
        index[:, TABLE] += np.repeat(starts_of([len(batch.starts) - 1 for batch in batches]), counts)
        result.works = tuple(dict.fromkeys(part for batch in batches for part in batch.works))
        parts = [batch.works[k] for batch in batches for k in batch.index[:, ACCOUNT]]
        index[:, ACCOUNT] = [result.works.index(part) for part in parts]
        result.index = result.local_index = index
        result.data, result.tables = (
            np.concatenate([getattr(batch, word) for batch in batches]) for word in ("data", "tables")
        )
        result.starts = np.cumsum([0, *(size for batch in batches for size in np.diff(batch.starts))])
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, INPUT, LAST)

    @property
    def kept(self) -> tuple[Any, ...]:
        """The arrays that its kernels keep."""
        c = self.coordinates
        return (Laws(c.index, c.data, c.fixed, self.index, self.data, self.starts, self.tables),)

    def forces(self) -> list[Force]:
        return [Force(force, self.kept, parts=(ForcePart.ELASTIC, *self.works))]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, self.kept, frame_starts(self.coordinates.index))]

    def energies(self) -> list[Energy]:
        return [Energy(energy, self.kept, "uqv")]

    def results(self, u: Floats, values: Floats, rates: Floats) -> Floats:
        """The results L (s, n, 5) of the laws at coordinates, which it unwraps, and rates (s, n)."""
        L = np.empty((*values.shape, 5))
        laws(*self.kept, u, values, rates, L)
        return L

    def measure(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Unwrapped coordinates and rates (s, n), gradients (s, n, 12), and results L (s, n, 5) of the law."""
        values, rates, gradients = self.coordinates.measure(q, v)
        L = self.results(u, values, rates)
        return values, rates, gradients, L

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        angle = self.coordinates.is_angle
        return {
            path: unlike_inputs(self, path, "force", "angle" if angle[k] else "length", "rate")
            for k, path in enumerate(f"{item.table}.{item.name}" for item in self.items)
        }

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        """Index in u and derivative of force k by each value that it contains."""
        return []

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        rows, sense, limits = self.limits
        if not rows.size:
            return np.empty((len(q), 0)), np.empty((len(q), 0))
        values, rates = self.coordinates.motion(q, v)
        values = self.coordinates.unwrapped(values, discrete.angles[self.numbers])
        return sense * (values[:, rows] - limits), sense * rates[:, rows]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates = (x.take(self.numbers, axis=1) for x in (frames.coordinates, frames.coordinate_rates))
        L = self.results(frames.u, values, rates)
        block: dict[str, Floats] = {}
        for k, item in enumerate(self.items):
            path = f"{item.table}/{item.name}"
            # a motor and its command are two forces
            block[f"{path}/force"] = block.get(f"{path}/force", 0.0) + item.sense * (L[:, k, ELASTIC] + L[:, k, REST])
            block[f"{path}/{'angle' if self.coordinates.is_angle[k] else 'length'}"] = values[:, k]
            block[f"{path}/rate"] = rates[:, k]
        return with_commands(block, continuous_commands(batches, frames.u, frames.q, frames.v))

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        """Rows of the force in the sense in which it is recorded; a motor and its command are two forces. Raises
        ModelError: a continuous controller sets a part of the force."""
        if quantity == "force" and f"{item}.force" in continuous_commands(
            point.system.batches, point.u[None], point.q[None], point.v[None]
        ):
            raise ModelError("a continuous controller sets a part of this force: take the output of the controller")
        own = [k for k, each in enumerate(self.items) if f"{each.table}.{each.name}" == item]
        of, L = self.items[own[0]], self.measure(point.u[None], point.q[None], point.v[None])[3][0]
        joint, number = of.joint_and_index(point.system.layout)
        name = joint.coordinates[number].name
        value, rate = (coordinate_rows(point, joint, word) for word in (name, name + RATE))
        assert value is not None
        assert rate is not None
        slopes = of.sense * np.sum(L[own], axis=0)
        given = [(n, of.sense * factor) for k in own for n, factor in self.by_inputs(point, k)]
        changes = value.by_motion[0], *rate.by_motion
        return rows_of_law(
            point, self, quantity, value.unit, changes, (slopes[[BY_COORDINATE]], slopes[[BY_RATE]]), given
        )


def coordinates_of(items: list[Any], layout: Layout) -> tuple[JointCoordinates, Ints]:
    """The coordinates that items act on, and their numbers (n,) among those of all joints."""
    numbers: Ints = np.array([item.coordinate_number(layout) for item in items], dtype=np.int64)
    return JointCoordinates(layout).picked(numbers), numbers


class JointForceBatch(CoordinateForceBatch):
    """Forces of the laws of items, ``femb.elements.joint.force.JointForce``."""

    joins = True

    def __init__(self, items: list[Any], layout: Layout, model: ModelView | None = None) -> None:
        coordinates, numbers = coordinates_of(items, layout)
        inputs, columns = [], []
        width = len(items)
        for item, is_angle in zip(items, coordinates.is_angle, strict=True):
            # units of an angle, and of a length
            given = [replace(each, unit=each.unit.split(" or ")[0 if is_angle else -1]) for each in item.inputs()]
            count = sum(each.width for each in given)
            columns.append((width, count) if count else (-1, 0))
            inputs += given
            width += count
        super().__init__(items, coordinates, numbers, inputs)
        self.layout = layout
        rows, sense, values = np.array(
            [(k, *limit) for k, item in enumerate(items) for limit in item.limits()], dtype=float
        ).reshape(-1, 3).T  # fmt: skip
        self.limits = rows.astype(np.int64), sense, values
        accounts = list(dict.fromkeys(item.account() for item in items))
        self.works = tuple(ForcePart("work", name) for name in accounts)
        tables = [item.tables() for item in items]
        self.index[:, [INPUT, INPUTS]], self.index[:, TABLE] = columns, starts_of(list(map(len, tables)))
        for k, item in enumerate(items):
            self.index[k, [LAW, ACCOUNT]] = item.law, accounts.index(item.account())
        every = [table for of_item in tables for table in of_item]
        self.starts, self.tables = np.cumsum([0, *map(len, every)]), np.concatenate([self.tables, *every])
        self.data = np.array([item.numbers() for item in items], dtype=float)
        jumps = (self.index[:, LAW] == FRICTION) | (self.index[:, INPUTS] == 3)
        self.switches = bool(len(rows)) or bool(jumps.any())

    @staticmethod
    def joined(batches: list["JointForceBatch"]) -> "JointForceBatch":
        """One batch of all forces."""
        return JointForceBatch([item for batch in batches for item in batch.items], batches[0].layout)

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        if self.index[k, INPUT] < 0 or self.index[k, LAW] == CURVE:
            return []
        return [(int(self.index[k, INPUT]), -1.0 if self.index[k, LAW] == MOTOR else 1.0)]


class CurveBatch(JointForceBatch):
    """Springs with curves, evaluated together. Where one snaps, what was lost stays in its potential energy, from which
    ``prestress_energy`` takes it away as work of the snaps."""

    joins, prestress_account = False, ""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__(items, layout)
        self.switches |= any(item.snaps or item.interpolation == "linear" for item in items)

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        out -= u[:, self.index[:, INPUT] + 1].sum(axis=1)


# Steps of integration in a period of the fastest ripple of a stepper motor, at least.
STEPS_A_PERIOD = 8.0


class StepperBatch(JointForceBatch):
    """Stepper motors, evaluated together."""

    joins = False

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__(items, layout)
        self.limits_steps = any(item.harmonics for item in items)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = super().stacked(batches, shifts, layout)
        result.limits_steps = any(batch.limits_steps for batch in batches)
        return result

    def given(self, u: Floats) -> Floats:
        """(s, n) rad: targets without the errors of the motors."""
        first = self.index[:, INPUT]
        return np.asarray(u[:, first] + u[:, first + 1])

    def longest_step(self, q: Floats, v: Floats) -> float:
        orders = [max((each.order for each in item.harmonics or ()), default=0.0) for item in self.items]
        fastest = float(np.max(orders * np.abs(self.coordinates.motion(q[None], v[None])[1][0])))
        return 2.0 * math.pi / (STEPS_A_PERIOD * fastest) if fastest > 0.0 else math.inf

    def _by_target(self, u: Floats, values: Floats, number: int) -> float:
        """The derivative of a force by the target without errors, at the angles ``values`` (n,)."""
        item, given, slope = self.items[number], self.given(u[None])[:, number], 1.0
        for each in item.harmonics or ():
            slope += float(each.angle * each.order * np.cos(each.order * given[0] + each.phase))
        phase = item.teeth * (values[number] - item.with_errors(given)[0])
        return float(-item.holding_torque * item.teeth * np.cos(phase) * slope)

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        values = self.measure(point.u[None], point.q[None], point.v[None])[0][0]
        slope, first = self._by_target(point.u, values, k), int(self.index[k, INPUT])
        return [(first, slope), (first + 1, slope)]

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        values, _, gradients, _ = self.measure(u[None], q[None], v[None])
        number = int(np.searchsorted(self.index[:, INPUT], k, side="right")) - 1
        joint = self.items[number].joint_and_index(self.layout)[0]
        row: Floats = on_frames(self.layout, joint, gradients[0, number], len(v))[0]
        return self._by_target(u, values[0], number) * row

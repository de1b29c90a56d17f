"""Forces along coordinates of joints, evaluated together: springs, friction, stops, motors, curves and steppers."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.frame_index import pair_starts, with_inputs
from femb.elements.joint.constraint_kernels import (
    FRICTION,
    MOTOR,
    SPRING,
    STOPS,
    add_row_force,
    rate_of,
    row,
    row_tangent,
)
from femb.elements.joint.coordinates import JointCoordinates, measure
from femb.elements.joint.records import coordinate_rows
from femb.layout.commands import continuous_commands, with_commands
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, ForceBatch, Input, OutputRows, rows_of_law, unlike_inputs
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.state import RATE
from femb.layout.views import BlockPattern, LinearPoint, ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import scatter

# Kernels over forces along coordinates of joints: springs, friction, end stops and motors.
#
# With the coordinate c(q), its rate c' = J v and the gradient J (12,) on (rdot_i, omega_i, rdot_j, omega_j), a force N
# that resists an increase of c contributes to the residual and to the tangents
#
#     J^T N,    C = N_r J^T J,    K = J^T (N_c J + N_r v^T J') + N J',    J' = dJ/dq H (12, 12),
#
# where N_c and N_r are its derivatives with respect to c and c'. J is the exact gradient, also of an open joint.
#
# index (n, 5) int: LAW; first INPUT of the law or -1; number of these INPUTS; LAST, the input with the angle at the
# last accepted state; IS_ANGLE, whether c is an angle. data (n, 5): parameters of the law, see ``laws``. laws, L (s,
# n, 5): ELASTIC part of N, the REST, N_c, N_r, ENERGY. Source: docs/theory/joint_forces.md, equations (1) to (9).

LAW, INPUT, INPUTS, LAST, IS_ANGLE = range(5)
ELASTIC, REST, BY_COORDINATE, BY_RATE, ENERGY = range(5)
STARTS, SIZES = np.array([0, 3, 6, 9]), np.array([3, 3, 3, 3])
REVOLUTION = 2.0 * math.pi


@kernel
def laws(index, data, u, values, rates, L):
    """Unwrap the angles in ``values`` (s, n), and set L (s, n, 5).

    Data: SPRING k, c, c_0; FRICTION T_c, T_s - T_c, v_t, v_S, viscous; STOPS lower, upper, k, exponent, damping;
    MOTOR amplitude. Inputs: the value of a profile, or value and derivatives with respect to c and c' of a callable.
    """
    for s in range(values.shape[0]):
        for n in range(index.shape[0]):
            if index[n, IS_ANGLE]:
                values[s, n] -= REVOLUTION * math.floor((values[s, n] - u[s, index[n, LAST]]) / REVOLUTION + 0.5)
            c, r, first, law = values[s, n], rates[s, n], index[n, INPUT], index[n, LAW]
            elastic, rest, by_c, by_r, energy = 0.0, 0.0, 0.0, 0.0, 0.0
            if law == SPRING:
                k, free = data[n, 0], c - data[n, 2]
                elastic, rest, energy = k * free, data[n, 1] * r, 0.5 * k * free * free
                by_c, by_r = k, data[n, 1]
            elif law == FRICTION:
                ratio, sign = r / data[n, 3], math.tanh(r / data[n, 2])
                fall = data[n, 1] * math.exp(-ratio * ratio)
                rest = (data[n, 0] + fall) * sign + data[n, 4] * r
                by_r = (data[n, 0] + fall) * (1.0 - sign * sign) / data[n, 2] + data[n, 4]
                by_r -= 2.0 * ratio / data[n, 3] * fall * sign
            elif law == STOPS:
                side = 1.0 if c > data[n, 1] else (-1.0 if c < data[n, 0] else 0.0)
                if side != 0.0:
                    depth = c - data[n, 1] if side > 0.0 else data[n, 0] - c
                    k, power, y = data[n, 2], data[n, 3], data[n, 4] * side * r
                    root = math.sqrt(1.0 + y * y)
                    # y + root, positive and without cancellation
                    growth = y + root if y >= 0.0 else 1.0 / (root - y)
                    push = k * depth**power
                    elastic, rest, energy = side * push, side * push * (growth - 1.0), push * depth / (power + 1.0)
                    by_c, by_r = k * power * depth ** (power - 1.0) * growth, push * data[n, 4] * growth / root
            if first >= 0:
                factor = -data[n, 0] if law == MOTOR else 1.0
                rest += factor * u[s, first]
                if index[n, INPUTS] == 3:
                    by_c += factor * u[s, first + 1]
                    by_r += factor * u[s, first + 2]
            L[s, n, ELASTIC], L[s, n, REST], L[s, n, ENERGY] = elastic, rest, energy
            L[s, n, BY_COORDINATE], L[s, n, BY_RATE] = by_c, by_r


@kernel
def generalized_forces(frames, gradients, L, elastic, rest, out):
    """out (s, n_v) += J^T (elastic L_0 + rest L_1). frames : index rows of constraints, two for every coordinate."""
    for s in range(out.shape[0]):
        for n in range(L.shape[1]):
            force = elastic * L[s, n, ELASTIC] + rest * L[s, n, REST]
            add_row_force(frames[2 * n], force, gradients[s, n], out[s])


@inlined
def laws_at(s, frames, rows, is_angle, signs, fixed, index, data, u, q, v, values, rates, gradients, L):
    """Set values, rates (1, n), gradients (1, n, 12) and L (1, n, 5) of ``laws`` at state s.

    frames, rows, is_angle, signs, fixed : as of ``measure``.
    """
    of = slice(s, s + 1)
    measure(frames, rows, is_angle, signs, q[of], v[of], fixed, values, rates, gradients)
    laws(index, data, u[of], values, rates, L)


@kernel_with_entry
def law_forces(frames, rows, is_angle, signs, fixed, index, data, u, q, v, elastic, rest, out):
    """``generalized_forces`` of the laws of ``laws``."""
    n = is_angle.size
    values, rates, gradients, L = np.empty((1, n)), np.empty((1, n)), np.empty((1, n, 12)), np.empty((1, n, 5))
    for s in range(q.shape[0]):
        laws_at(s, frames, rows, is_angle, signs, fixed, index, data, u, q, v, values, rates, gradients, L)
        generalized_forces(frames, gradients, L, elastic, rest, out[s : s + 1])


@kernel_with_entry
def law_powers(frames, rows, is_angle, signs, fixed, index, data, columns, u, q, v, out):
    """out (s, k) += power of the forces without a potential, of each law in its column of ``columns`` (n,)."""
    n = is_angle.size
    values, rates, gradients, L = np.empty((1, n)), np.empty((1, n)), np.empty((1, n, 12)), np.empty((1, n, 5))
    for s in range(q.shape[0]):
        laws_at(s, frames, rows, is_angle, signs, fixed, index, data, u, q, v, values, rates, gradients, L)
        for k in range(n):
            out[s, columns[k]] -= L[0, k, REST] * rates[0, k]


@inlined
def coordinate_tangent(frames, rows, n, angle, sign, q, v, fixed, J, B, D, E, R, W):
    """J (12,) and D (12, 12) = dJ/dq H of coordinate n; B, E, R (3, 3, 3) and W (22, 4) : work arrays.

    An angle atan2(s S, C) has J = (s/w)(C J_S - S J_C), w = S^2 + C^2, and
    D = (s/w)(C D_S - S D_C + J_S J_C^T - J_C J_S^T) - (2/w) J (S J_S + C J_C)^T.
    """
    no_input, T = np.zeros(1), np.empty(12)
    x, _, _ = row(frames[2 * n], rows[2 * n], no_input, q, v, fixed, J, R, W)
    row_tangent(frames[2 * n], rows[2 * n], no_input, q, v, fixed, D, T)
    if not angle:
        return
    y, _, _ = row(frames[2 * n + 1], rows[2 * n + 1], no_input, q, v, fixed, B, R, W)
    row_tangent(frames[2 * n + 1], rows[2 * n + 1], no_input, q, v, fixed, E, T)
    w = 1.0 / (x * x + y * y)
    f = sign * w
    for k in range(12):
        gradient = f * (y * J[k] - x * B[k])
        for o in range(12):
            D[k, o] = f * (y * D[k, o] - x * E[k, o] + J[k] * B[o] - B[k] * J[o])
            D[k, o] -= 2.0 * w * gradient * (x * J[o] + y * B[o])
    for k in range(12):
        J[k] = f * (y * J[k] - x * B[k])


@kernel
def tangent(index, frames, rows, signs, offset, stride, q, v, fixed, L, damping, stiffness):
    """Add C and K at every state to block data (s, size)."""
    J, B = np.empty(12), np.empty(12)
    D, E, R, W = np.empty((12, 12)), np.empty((12, 12)), np.empty((3, 3, 3)), np.empty((22, 4))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            coordinate_tangent(frames, rows, n, index[n, IS_ANGLE], signs[n], q[s], v[s], fixed, J, B, D, E, R, W)
            force, by_c, by_r = L[s, n, ELASTIC] + L[s, n, REST], L[s, n, BY_COORDINATE], L[s, n, BY_RATE]
            for o in range(12):
                B[o] = by_c * J[o] + by_r * rate_of(frames[2 * n], v[s], D[:, o])
            for k in range(12):
                for o in range(12):
                    E[k, o] = by_r * J[k] * J[o]
                    D[k, o] = J[k] * B[o] + force * D[k, o]
            scatter(E, STARTS, SIZES, offset[n], stride[n], damping[s])
            scatter(D, STARTS, SIZES, offset[n], stride[n], stiffness[s])


class CoordinateForceBatch(ForceBatch):
    """Forces along coordinates of joints, by whatever law: ``set_laws`` has it.

    items : one for each force. coordinates : those it acts on. index (n, 5) : as of the kernels. limits : rows, senses
    and coordinates at which the stiffness jumps. The first inputs are the coordinates at the last accepted state.
    """

    def __init__(self, items: list[Any], coordinates: JointCoordinates, numbers: Ints, inputs: Iterable[Input]) -> None:
        self.items, self.coordinates, self.numbers = items, coordinates, numbers
        self.inputs = (*([Input.of_angles(numbers)] if numbers.size else []), *inputs)
        self.index: Ints = np.zeros((coordinates.count, 5), dtype=np.int64)
        self.index[:, IS_ANGLE] = coordinates.is_angle
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
        firsts = _starts([len(batch.items) for batch in batches])
        moved = [each + first for each, first in zip(rows, firsts, strict=True)]
        result.limits = np.concatenate(moved), np.concatenate(senses), np.concatenate(values)
        result.switches = any(batch.switches for batch in batches)
        result._stack(batches, shifts)
        return result

    def _stack(self, batches: Sequence[Self], shifts: Sequence[Shift]) -> None:
        """Take the parameters of the laws of batches, each of a model."""
        self.index = np.concatenate([batch.index for batch in batches])

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(pair_starts(self.coordinates.index[::2]))

    def set_laws(self, u: Floats, values: Floats, rates: Floats, L: Floats) -> None:
        """Set the results L (s, n, 5) of the law, which are zeros, at unwrapped coordinates and rates (s, n)."""
        raise NotImplementedError

    def unwrapped(self, u: Floats, values: Floats) -> Floats:
        """Coordinates (s, n) with full turns."""
        last = u[:, self.first_input : self.first_input + len(self.numbers)]
        return self.coordinates.unwrapped(values, last)

    def measure(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Unwrapped coordinates and rates (s, n), gradients (s, n, 12), and results L (s, n, 5) of the law."""
        values, rates, gradients = self.coordinates.measure(q, v)
        values, L = self.unwrapped(u, values), np.zeros((*values.shape, 5))
        self.set_laws(u, values, rates, L)
        return values, rates, gradients, L

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        _, _, gradients, L = self.measure(u, q, v)
        generalized_forces(self.coordinates.index, gradients, L, elastic, rest, out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        self.matrices_each(u[None], q[None], v[None], damping[None], damping[None], stiffness[None])

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        L, c = self.measure(u, q, v)[3], self.coordinates
        tangent(
            self.index, c.index, c.data, c.signs, self.offset, self.stride, q, v, c.fixed, L,
            damping, stiffness,
        )  # fmt: skip

    def potential_energy(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        out += np.sum(self.measure(u, q, v)[3][..., ENERGY], axis=1)

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
            return super().gaps(discrete, q, v)
        values, rates = self.coordinates.motion(q, v)
        values = self.coordinates.unwrapped(values, discrete.angles[self.numbers])
        return sense * (values[:, rows] - limits), sense * rates[:, rows]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates = (x.take(self.numbers, axis=1) for x in (frames.coordinates, frames.coordinate_rates))
        L = np.zeros((*values.shape, 5))
        self.set_laws(frames.u, values, rates, L)
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


def _starts(counts: Sequence[int]) -> Ints:
    """Where the things of each begin, of which it has so many."""
    result: Ints = np.cumsum([0, *counts[:-1]], dtype=np.int64)
    return result


class JointForceBatch(CoordinateForceBatch):
    """Forces of the laws of ``laws``."""

    joins = True

    def __init__(self, items: list[Any], layout: Layout, model: ModelView | None = None) -> None:
        coordinates, numbers = coordinates_of(items, layout)
        inputs, columns = [], []
        width = len(items)
        for item, is_angle in zip(items, coordinates.is_angle, strict=True):
            given = item.input()
            columns.append((-1, 0) if given is None else (width, given.width))
            if given is not None:
                units = given.unit.split(" or ")  # of an angle, and of a length
                inputs.append(replace(given, unit=units[0 if is_angle else -1]))
                width += given.width
        super().__init__(items, coordinates, numbers, inputs)
        self.layout = layout
        rows, sense, values = np.array(
            [(k, *limit) for k, item in enumerate(items) for limit in item.limits()], dtype=float
        ).reshape(-1, 3).T  # fmt: skip
        self.limits = rows.astype(np.int64), sense, values
        law = self.index[:, LAW] = [item.law for item in items]
        self.index[:, [INPUT, INPUTS]], self.index[:, LAST] = columns, np.arange(len(items))
        self.local_index = self.index
        self.switches = bool(np.any(np.isin(law, (STOPS, FRICTION)) | (self.index[:, INPUTS] == 3)))
        self.data: Floats = np.array([item.numbers() for item in items], dtype=float)

    @staticmethod
    def joined(batches: list["JointForceBatch"]) -> "JointForceBatch":
        """One batch of all forces."""
        return JointForceBatch([item for batch in batches for item in batch.items], batches[0].layout)

    def _stack(self, batches: Sequence[Self], shifts: Sequence[Shift]) -> None:
        self.index = self.local_index = shifted([batch.local_index for batch in batches], shifts, [], [], [INPUT])
        self.index[:, LAST] = np.arange(len(self.items))
        self.data = np.concatenate([batch.data for batch in batches])
        self.__dict__.pop("_columns", None)

    def accounts(self, own: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.account() for item in self.items))

    @cached_property
    def _columns(self) -> Ints:
        """(n,) the account of each of the laws."""
        accounts = self.accounts("")
        return np.array([accounts.index(item.account()) for item in self.items], dtype=np.int64)

    def add_powers(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        self.bound_powers(u, q, v, out)()

    def bound_powers(self, u: Floats, q: Floats, v: Floats, out: Floats) -> Callable[[], object]:
        return Bound(law_powers, *self._arguments, self._columns, u, q, v, out)

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.index = with_inputs(self.local_index, self.first_input, INPUT, LAST)

    def set_laws(self, u: Floats, values: Floats, rates: Floats, L: Floats) -> None:
        laws(self.index, self.data, u, values, rates, L)

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        law_forces(*self._arguments, u, q, v, elastic, rest, out)

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return Bound(law_forces, *self._arguments, u, q, v, 1.0, 1.0, out)

    @property
    def _arguments(self) -> tuple[Any, ...]:
        c = self.coordinates
        return c.index, c.data, c.is_angle, c.signs, c.fixed, self.index, self.data

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        factor = -float(self.data[k, 0]) if self.index[k, LAW] == MOTOR else 1.0
        return [(int(self.index[k, INPUT]), factor)] if self.index[k, INPUT] >= 0 else []


# Springs with curves along coordinates of joints, evaluated together.


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
    """Springs with curves, evaluated together."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__(items, *coordinates_of(items, layout), (each for item in items for each in item.inputs()))
        groups = [item.curves() for item in items]
        curves = [curve for group in groups for curve in group]
        self.own: Ints = np.cumsum([0, *map(len, groups[:-1])], dtype=np.int64)
        self.starts: Ints = np.cumsum([0, *(len(curve.knots) for curve in curves)], dtype=np.int64)
        self.knots = np.concatenate([curve.knots for curve in curves])
        self.pieces = np.concatenate([curve.pieces for curve in curves])
        self.work = np.concatenate([curve.energies for curve in curves])
        self.damping = np.array([item.damping for item in items])
        self.switches = any(item.snaps or item.interpolation == "linear" for item in items)
        corners = [
            (k, knot)
            for k, (item, group) in enumerate(zip(items, groups, strict=True))
            if item.interpolation == "linear"
            for knot in sorted({float(x) for curve in group for x in curve.knots[1:-1]})
        ]
        rows, knots = np.array(corners, dtype=float).reshape(-1, 2).T
        self.limits = rows.astype(np.int64), np.ones(len(rows)), knots

    def set_laws(self, u: Floats, values: Floats, rates: Floats, L: Floats) -> None:
        curve_laws(
            self.first_input + len(self.items), self.own, self.starts, self.knots, self.pieces, self.work,
            self.damping, u, values, rates, L,
        )  # fmt: skip

    def _stack(self, batches: Sequence[Self], shifts: Sequence[Shift]) -> None:
        super()._stack(batches, shifts)
        curves, knots = [len(batch.starts) - 1 for batch in batches], [len(batch.knots) for batch in batches]
        self.own = np.concatenate([batch.own + k for batch, k in zip(batches, _starts(curves), strict=True)])
        starts = [batch.starts[:-1] + k for batch, k in zip(batches, _starts(knots), strict=True)]
        self.starts = np.append(np.concatenate(starts), sum(knots))
        for word in ("knots", "pieces", "work", "damping"):
            setattr(self, word, np.concatenate([getattr(batch, word) for batch in batches]))

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


# Stepper motors of all joints, evaluated together.

# Steps of integration in a period of the fastest ripple, at least.
STEPS_A_PERIOD = 8.0


class StepperBatch(CoordinateForceBatch):
    """Stepper motors, evaluated together."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__(items, *coordinates_of(items, layout), (each for item in items for each in item.inputs()))
        self.orders = np.array([max((each.order for each in item.harmonics or ()), default=0.0) for item in items])
        self.limits_steps = bool(self.orders.any())

    def _stack(self, batches: Sequence[Self], shifts: Sequence[Shift]) -> None:
        super()._stack(batches, shifts)
        self.orders = np.concatenate([batch.orders for batch in batches])
        self.limits_steps = any(batch.limits_steps for batch in batches)

    def given(self, u: Floats) -> Floats:
        """(s, n) rad: targets without the errors of the motors."""
        at, count = self.first_input + len(self.items), len(self.items)
        total: Floats = u[:, at : at + 2 * count].reshape(len(u), count, 2).sum(axis=2)
        return total

    def set_laws(self, u: Floats, values: Floats, rates: Floats, L: Floats) -> None:
        """Source: docs/theory/joint_forces.md, equation (10)."""
        given = self.given(u)
        for k, item in enumerate(self.items):
            c, own = values[:, k], L[:, k]
            phase = item.teeth * (c - item.with_errors(given[:, k]))
            own[:, REST] = item.holding_torque * np.sin(phase) + item.damping * rates[:, k]
            own[:, BY_COORDINATE] = item.holding_torque * item.teeth * np.cos(phase)
            own[:, BY_RATE] = item.damping
            for each in item.harmonics or ():
                angle = each.order * c + each.phase
                own[:, ELASTIC] += each.torque * np.sin(angle)
                own[:, BY_COORDINATE] += each.torque * each.order * np.cos(angle)
                own[:, ENERGY] += each.torque / each.order * (1.0 - np.cos(angle))

    def longest_step(self, q: Floats, v: Floats) -> float:
        rates = np.abs(self.coordinates.motion(q[None], v[None])[1][0])
        fastest = float(np.max(self.orders * rates))
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
        slope, first = self._by_target(point.u, values, k), self.first_input + len(self.items) + 2 * k
        return [(first, slope), (first + 1, slope)]

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        values, _, gradients, L = self.measure(u[None], q[None], v[None])
        number = (k - self.first_input - len(self.items)) // 2
        L[:] = 0.0
        L[:, number, REST] = self._by_target(u, values[0], number)
        out = np.zeros((1, len(v)))
        generalized_forces(self.coordinates.index, gradients, L, 0.0, 1.0, out)
        return np.asarray(out[0])

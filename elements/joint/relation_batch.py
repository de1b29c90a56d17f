"""Springs along relations of joint coordinates: teeth that yield, with play and friction of threads."""

import math
from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_starts, with_inputs
from femb.elements.joint.constraint_set import INPUTS, ConstraintTable
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.primitives import FOUND, PHI, ROW, all_rows, rate_of, row_tangent, set_term
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import add_row_force, scatter

# Kernels over springs along relations x(c) of joint coordinates.
#
# With x, its rate x' and J_k of each term, a force N that resists x acts on coordinate k through J_k^T N. Friction of a
# thread adds e N to the first term, with e = tan(g + s p)/tan(g) - 1 and s = 1 where the first coordinate drives, else
# -1: s = sign(N) tanh(x_1'/w), x_1' the rate of its term. N is that of stops without exponent.
#
# The force of a relation: its ELASTIC part, the REST, derivatives by x and x', the ENERGY; e, its derivative by x_1'.
# Source: docs/theory/constraints.md, equations (19) and (20).

STIFFNESS, PLAY, DAMPING, LEAD, SLIDING, TRANSITION = range(6)
ELASTIC, REST, BY_X, BY_RATE, ENERGY, EXTRA, BY_FIRST, VALUES = range(8)


class RelationRows(NamedTuple):
    """Springs along relations.

    places, data : rows of terms as in ``primitives``, whose ROW is the number of the relation; those of a relation
    follow each other. fixed : poses of fixed frames. laws (r, 6) : stiffness, half of the play, damping; lead angle g,
    angle of friction p, and w.
    """

    places: Ints
    data: Floats
    fixed: Floats
    laws: Floats


@inlined
def terms_at(index, data, fixed, u, q, v, found, x, rates):
    """found (n, 15) of every term; x and x' of every relation, rates (n,) of every term."""
    x[:] = 0.0
    rates[:, 0] = 0.0
    all_rows(index, data, u, q, v, fixed, found)
    for n in range(index.shape[0]):
        own, number = found[n], index[n, ROW]
        set_term(n, index, data, u, v, own)
        rates[n, 1] = rate_of(index[n], v, own)
        x[number] += own[PHI]
        rates[number, 0] += rates[n, 1]


@inlined
def resistance(law, x, rate, of_first, out):
    """out (VALUES,) of the force of a relation; of_first : the rate of its first term."""
    out[:] = 0.0
    side = 1.0 if x >= law[PLAY] else (-1.0 if x <= -law[PLAY] else 0.0)
    if side == 0.0:
        return
    depth, k, y = side * x - law[PLAY], law[STIFFNESS], law[DAMPING] * side * rate
    root = math.sqrt(1.0 + y * y)
    growth = y + root if y >= 0.0 else 1.0 / (root - y)
    out[ELASTIC], out[REST], out[ENERGY] = side * k * depth, side * k * depth * (growth - 1.0), 0.5 * k * depth * depth
    out[BY_X], out[BY_RATE] = k * growth, k * depth * law[DAMPING] * growth / root
    if law[SLIDING] > 0.0:
        sense, lead = math.tanh(of_first / law[TRANSITION]), math.tan(law[LEAD])
        turned = math.tan(law[LEAD] + side * sense * law[SLIDING])
        out[EXTRA] = turned / lead - 1.0
        out[BY_FIRST] = (1.0 + turned * turned) * side * law[SLIDING] * (1.0 - sense * sense) / law[TRANSITION] / lead


@inlined
def is_first(index, n):
    """Whether row n is the first of its relation."""
    return n == 0 or index[n, ROW] != index[n - 1, ROW]


@kernel_with_entry
def force(of, u, q, v, factors, out):
    """out (s, n_v) += J^T N; factors (2,) : of the elastic part and of the rest."""
    index, data, fixed, laws = of
    found = np.empty((index.shape[0], FOUND))
    x, rates, L = np.empty(laws.shape[0]), np.empty((index.shape[0], 2)), np.empty(VALUES)
    for s in range(q.shape[0]):
        terms_at(index, data, fixed, u[s], q[s], v[s], found, x, rates)
        for n in range(index.shape[0]):
            number = index[n, ROW]
            if is_first(index, n):
                resistance(laws[number], x[number], rates[number, 0], rates[n, 1], L)
            rest = L[REST]
            if is_first(index, n):
                rest += L[EXTRA] * (L[ELASTIC] + L[REST])
            add_row_force(index[n], factors[0] * L[ELASTIC] + factors[1] * rest, found[n], out[s])


@kernel
def energy(of, u, q, v, out):
    """out (s, 8) += potential energies."""
    index, data, fixed, laws = of
    found = np.empty((index.shape[0], FOUND))
    x, rates, L = np.empty(laws.shape[0]), np.empty((index.shape[0], 2)), np.empty(VALUES)
    for s in range(q.shape[0]):
        terms_at(index, data, fixed, u[s], q[s], v[s], found, x, rates)
        for number in range(laws.shape[0]):
            resistance(laws[number], x[number], rates[number, 0], 0.0, L)
            out[s, 1] += L[ENERGY]


@kernel
def resistances(of, u, q, v, out):
    """Set out (s, n): the resistance to each coordinate of the terms."""
    index, data, fixed, laws = of
    found = np.empty((index.shape[0], FOUND))
    x, rates, L = np.empty(laws.shape[0]), np.empty((index.shape[0], 2)), np.empty(VALUES)
    for s in range(q.shape[0]):
        terms_at(index, data, fixed, u[s], q[s], v[s], found, x, rates)
        for n in range(index.shape[0]):
            number = index[n, ROW]
            if is_first(index, n):
                resistance(laws[number], x[number], rates[number, 0], rates[n, 1], L)
            out[s, n] = (L[ELASTIC] + L[REST]) * (1.0 + (L[EXTRA] if is_first(index, n) else 0.0))


@kernel_with_entry
def tangent(of, offset, stride, u, q, v, damping, stiffness):
    """Add C and K at every state to block data (s, size); a matrix has the terms of one relation side by side."""
    index, data, fixed, laws = of
    count, groups = index.shape[0], offset.shape[1]
    found, x, rates, L = np.empty((count, FOUND)), np.empty(laws.shape[0]), np.empty((count, 2)), np.empty(VALUES)
    C, K, T = np.empty((3 * groups, 3 * groups)), np.empty((3 * groups, 3 * groups)), np.empty(12)
    D, by_x, by_pose = np.empty((groups // 4, 12, 12)), np.empty(3 * groups), np.empty(3 * groups)
    starts, sizes = 3 * np.arange(groups), np.full(groups, 3)
    for s in range(q.shape[0]):
        terms_at(index, data, fixed, u[s], q[s], v[s], found, x, rates)
        first = 0
        while first < count:
            number, last = index[first, ROW], first
            while last < count and index[last, ROW] == number:
                last += 1
            resistance(laws[number], x[number], rates[number, 0], rates[first, 1], L)
            force = L[ELASTIC] + L[REST]
            C[:] = 0.0
            K[:] = 0.0
            for n in range(first, last):
                row_tangent(n, index, data, u[s], q[s], v[s], fixed, D[n - first], T)
                for i in range(12):
                    at = 12 * (n - first) + i
                    by_x[at], by_pose[at] = found[n, i], rate_of(index[n], v[s], D[n - first, :, i])
            for n in range(first, last):
                factor, at = 1.0 + (L[EXTRA] if n == first else 0.0), 12 * (n - first)
                for i in range(12):
                    J = found[n, i]
                    for k in range(12 * (last - first)):
                        C[at + i, k] += factor * J * L[BY_RATE] * by_x[k]
                        K[at + i, k] += factor * J * (L[BY_X] * by_x[k] + L[BY_RATE] * by_pose[k])
                    for k in range(12):
                        K[at + i, at + k] += factor * force * D[n - first, i, k]
                        if n == first:
                            C[i, k] += force * L[BY_FIRST] * J * by_x[k]
                            K[i, k] += force * L[BY_FIRST] * J * by_pose[k]
            scatter(C, starts, sizes, offset[number], stride[number], damping[s])
            scatter(K, starts, sizes, offset[number], stride[number], stiffness[s])
            first = last


class RelationBatch(Batch):
    """Springs along relations, ``femb.elements.joint.relation.Relation`` with a stiffness."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        self.items, self.layout = items, layout
        tables = [ConstraintTable.of_rows(layout, item.rows(layout), item.inputs(layout)) for item in items]
        for number, table in enumerate(tables):
            table.indices[:, ROW] = number
        joined = ConstraintTable.joined(tables)
        self.inputs: tuple[Input, ...] = joined.inputs
        self.local_index = self.index = joined.placed()
        self.data, self.fixed = np.concatenate([joined.data, joined.tables]), layout.fixed
        self.laws = np.array([self._law(item) for item in items])
        self.played = [k for k, item in enumerate(items) if item.backlash]
        self.switches = bool(self.played)

    def _law(self, item: Any) -> list[float]:
        lead, sliding, rate = item.friction()
        return [item.stiffness, 0.5 * item.backlash, item.damping, lead, sliding, abs(item.terms()[0].factor) * rate]

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, *INPUTS)

    @property
    def kept(self) -> RelationRows:
        """The record that its kernels keep."""
        return RelationRows(self.index, self.data, self.fixed, self.laws)

    def forces(self) -> list[Force]:
        return [Force(force, (self.kept,), parts=(ForcePart.ELASTIC, ForcePart.WORK))]

    def tangents(self) -> list[Tangent]:
        pairs, rows = frame_starts(self.index), self.index[:, ROW]
        starts: Ints = np.full((len(self.items), 4 * np.bincount(rows).max()), -1)
        for number in range(len(self.items)):
            own = pairs[rows == number].ravel()
            starts[number, : len(own)] = own
        return [Tangent(tangent, (self.kept,), starts)]

    def energies(self) -> list[Energy]:
        return [Energy(energy, (self.kept,), "uqv")]

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Both edges of the play of every relation that has some."""
        edges, rates = np.empty((2, len(q), 2 * len(self.played)))
        for k, number in enumerate(self.played):
            item = self.items[number]
            entry = self.layout.relations[item.name]
            numbers: Ints = np.array(entry.numbers, dtype=np.int64)
            coordinates = JointCoordinates(self.layout).picked(numbers)
            values, of_values = coordinates.motion(q, v)
            values = coordinates.unwrapped(values, discrete.angles[numbers])
            pairs = list(zip(item.terms(), values.T, of_values.T, strict=True))
            x = np.sum([term.at(c) for term, c, _ in pairs], axis=0) - entry.offset
            rate = np.sum([term.at(c, 1) * c1 for term, c, c1 in pairs], axis=0)
            for side, edge in enumerate((0.5 * item.backlash, -0.5 * item.backlash)):
                edges[:, 2 * k + side], rates[:, 2 * k + side] = x - edge, rate
        return edges, rates

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        out = np.empty((len(frames.q), len(self.index)))
        resistances(self.kept, frames.u, frames.q, frames.v, out)
        block = {}
        for number, item in enumerate(self.items):
            values = frames.coordinates[:, self.layout.relations[item.name].numbers]
            slopes = [term.at(c, 1) for term, c in zip(item.terms(), values.T, strict=True)]
            block[f"couplings/{item.name}/force"] = -out[:, self.index[:, ROW] == number] * np.stack(slopes, axis=1)
        return block

"""Derivatives of the steps of Radau's method by parameters: of those that were taken, for all parameters at once.

A step solves G(Z; y, p) = 0 for its stages Z from its start y. Then

    G_Z Z' = -(G_y y' + G_p),        Z' <- Z' - A^-1 (G_Z Z' + G_y y' + G_p)

with G_Z from the exact tangents at the stages, and A that of the middle stage, as Newton's iteration has it. G_p is the
difference of two systems at the stages. Ends of steps are projected on the constraints, whose derivatives are too.
Source: docs/theory/sensitivities.md, section 4.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.frame_index import frame_starts
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound, Program
from femb.steppers.contract import left_limit
from femb.steppers.dense import HermiteStep, Power
from femb.steppers.radau import FROM_ZERO, Radau, SolvedStep
from femb.steppers.radau_kernels import INVERSE, T_INVERSE, A, C, T, shift_matrices
from femb.steppers.radau_tangent_kernels import project_end, reaction_blocks, solve_stages
from femb.system.block_lu import Factorisation, LinearSolver
from femb.system.pair import SystemPair, moved
from femb.system.system import System

# Last correction of the stages, and gaps of constraints, relative to the velocities; and most corrections of each.
SOLVED, CLOSED, MOST, MOST_CLOSING = 1e-8, 1e-12, 40, 5
# Numbers of the derivatives at the stages of the steps that are treated at once.
NUMBERS = 4_000_000


# Part of a step after its start at which inputs have their values on the right.
RIGHT = 1e-12

# What a step has of its stages, as the equations take it.
STAGES = "inputs", "q", "v", "a", "multipliers"
End: TypeAlias = tuple[Floats, ...]
"""Derivatives of q, v, a, work and power at ends of steps."""


@dataclass(frozen=True, eq=False)
class StepChanges:
    """Derivatives of a step by one parameter.

    q, v, a, work (2, .) : of its ends. power (n_w,) : at its start. stages (3, n_v), powers (3, n_w) : accelerations
    and powers at its stages. discrete : of the discrete states by name. shift : of its instants.
    """

    q: Floats
    v: Floats
    a: Floats
    work: Floats
    power: Floats
    stages: Floats
    powers: Floats
    discrete: dict[str, Floats]
    shift: float

    def of(self, step: SolvedStep, system: System, part: float) -> HermiteStep:
        """The step moved by ``part`` of the parameter, in the system there."""
        base = step.step
        form = system.with_discrete(moved(base.form.system.discrete, self.discrete, part))
        q, v, a, work = (
            np.array([base.state0[k], base.state1[k]]) + part * change
            for k, change in enumerate((self.q, self.v, self.a, self.work))
        )
        form.normalise(q)
        power, later = base.state0[4], part * self.shift
        # where inputs may jump, after that
        begin = base.start + later + (RIGHT * step.length if step.begins else 0.0)
        start: Power = Radau.power_at(form, form.inputs_at(begin, q[0], v[0]), q[0], v[0])
        if not step.begins and not callable(power):
            start = power + part * self.power
        (inside, powers), (instants, accelerations) = base.stages, base.nodes or ((), ())
        known = np.array([*powers, base.state1[4]]) + part * self.powers
        nodes = np.add(instants, later), np.array([a[0], *(np.array(accelerations[1:]) + part * self.stages)])
        ends = (q[0], v[0], a[0], work[0], start), (q[1], v[1], a[1], work[1], known[2])
        return HermiteStep(form, base.start + later, base.end + later, *ends, (inside, known[:2]), nodes)


Jump: TypeAlias = Callable[[Sequence[SystemPair], End, list[StepChanges]], tuple[Sequence[SystemPair], End]]
"""See ``RadauTangent.along``."""


class RadauTangent:
    """The derivatives of given steps of one system by the parameters of ``pairs``."""

    def __init__(self, steps: Sequence[SolvedStep]) -> None:
        self.steps = steps
        self.system = system = steps[0].step.form.system
        solver: LinearSolver = system.solver
        self._matrices = mass, damping, stiffness = tuple(np.zeros((3, 3, system.pattern.size)))
        self._end = np.zeros((2, system.pattern.size))
        self._length = np.ones(1)
        sizes = system.n_u, system.n_q, system.n_v, system.n_v, system.n_c
        # inputs, q, v, a and multipliers at the stages; inputs, q and v at the end
        self._at = tuple(np.zeros((3, n)) for n in sizes)
        self._after = tuple(np.zeros((1, n)) for n in sizes[:3])
        u, q, v, a, _ = self._at
        factors = [Factorisation(solver, np.zeros(system.pattern.size, dtype=kind)) for kind in (float, complex)]
        self._factors = tuple(each.arguments for each in factors)
        middle = mass[1], damping[1], stiffness[1]
        self._prepare = Program([
            *(Bound(clear, each) for each in (*self._matrices, self._end)),
            *system.evaluation.mass_calls(q, mass),
            *system.evaluation.tangent_calls(u, q, v, a, damping, stiffness),
            *self._of_constraints(),
            Bound(shift_matrices, self._length, *middle, *(each.data for each in factors)),
            *(each.bound(solver) for each in factors),
        ])  # fmt: skip

    def _of_constraints(self) -> list[Callable[[], object]]:
        """The calls for J, and the derivatives of forces and rates of constraints, at the stages and at the end."""
        system, (_, damping, stiffness) = self.system, self._matrices
        constraints, n_c = system.constraint_set, system.n_c
        frames, blocks = np.zeros((0, 4), dtype=np.int64), np.zeros((3, 0, 12, 12))
        self._reactions = frames, blocks
        if not n_c:
            return []
        (u, q, v, _, multipliers), (u1, q1, v1) = self._at, self._after
        starts, spare = frame_starts(constraints.index), np.zeros((2, 3, n_c))
        lacks = (constraints.offset[:, 0, 2] < 0) & (starts[:, 0] >= 0) & (starts[:, 2] >= 0)
        rows = np.flatnonzero(lacks)
        frames, blocks = np.ascontiguousarray(starts[rows]), np.zeros((3, len(rows), 12, 12))
        self._reactions = frames, blocks
        tangent, arrays = constraints.tangent_call, (u, q, v, constraints.fixed, multipliers, blocks)
        return [
            constraints.jacobian_call(u, q, v, damping, spare[0], spare[1]),
            *(tangent(u[i], q[i], v[i], multipliers[i], stiffness[i]) for i in range(3)),
            constraints.jacobian_call(u1, q1, v1, self._end[:1], spare[0, :1], spare[1, :1]),
            tangent(u1[0], q1[0], v1[0], np.zeros(n_c), self._end[1]),
            Bound(reaction_blocks, rows, frames, constraints.index, constraints.data, *arrays),
        ]

    def along(
        self, pairs: Sequence[SystemPair], wanted: Collection[int], jumps: Mapping[int, Jump]
    ) -> dict[int, list[StepChanges]]:
        """The derivatives of the steps with the numbers ``wanted``, by the parameter of each pair.

        jumps : by the number of the step after them, what carries pairs and the end of the step before, whose
        derivatives it takes where they are wanted, over updates of discrete states.
        """
        found: dict[int, list[StepChanges]] = {}
        system, count, last = self.system, len(pairs), max(wanted, default=-1)
        starts = [pair.start for pair in pairs] if pairs else []
        if not starts:
            return found
        q, v = (np.ascontiguousarray(np.array(each).T) for each in zip(*starts, strict=True))
        end: End = q, v, np.zeros_like(v), *np.zeros((2, count, system.budget.size))
        Z, L = np.zeros((3, *v.shape)), np.zeros((3, system.n_c, count))
        length, portion = 1.0, max(1, NUMBERS // (3 * count * (3 * system.n_v + system.n_c + system.n_q)))
        limits = sorted({*range(0, last + 1, portion), *(k for k in jumps if k <= last), last + 1})
        for first, after in pairwise(limits):
            steps = self.steps[first:after]
            if first in jumps:
                pairs, end = jumps[first](pairs, end, found.get(first - 1, []))
            part = _Portion(pairs, steps)
            for k, step in enumerate(steps):
                if step.begins:
                    Z[:] = 0.0
                else:
                    Z[:] = _extrapolated(Z, step.length / length)
                start = (end[0], end[1]) if k == 0 else (part.q[k - 1], part.v[k - 1])
                self._solve(part, k, start, Z, L)
                length = step.length
            ends = part.ends(end)
            for k in range(len(steps)):
                if first + k in wanted:
                    found[first + k] = part.changes(k, ends)
            end = tuple(each[-1] for each in ends)
        return found

    def _solve(self, part: "_Portion", k: int, start: tuple[Floats, Floats], Z: Floats, L: Floats) -> None:
        """Solve for the derivatives of the step k of a portion, from those of its start; Z, L : first those near it."""
        step, system = part.steps[k], self.system
        for array, values in zip(self._at, (step.inputs, step.q, step.v, step.a, step.multipliers), strict=True):
            array[:] = values
        for array, values in zip(self._after, (step.inputs[2], *step.step.state1[:2]), strict=True):
            array[0] = values
        self._length[0] = step.length
        self._prepare()
        blocks = system.coordinates, system.solver.structure
        part.Q[k] = start[0]
        solve_stages(
            *blocks, self._matrices, self._reactions, self._factors, (A, INVERSE, T, T_INVERSE), step.length, step.q,
            step.v, part.equations[k], *start, Z, L, part.Q[k], SOLVED, MOST,
        )  # fmt: skip
        part.V[k], part.K[k], part.L[k] = start[1] + Z, (INVERSE @ Z.reshape(3, -1)).reshape(Z.shape) / step.length, L
        part.v[k] = part.V[k, 2]
        project_end(
            *blocks, *self._end, self._factors[0], step.q[2], step.step.state1[0], part.position[k], part.rates[k],
            part.Q[k, 2], part.q[k], part.v[k], CLOSED, MOST_CLOSING,
        )  # fmt: skip


class _Portion:
    """Consecutive steps with the derivatives of their m by k parameters.

    equations (m, 3, n, k), position and rates (m, n_c, k) : partial derivatives at the stages and the ends. Q (m, 3,
    n_q, k), V, K (m, 3, n_v, k), L (m, 3, n_c, k) : total ones of the stages. q (m, n_q, k), v (m, n_v, k) : of the
    ends.
    """

    def __init__(self, pairs: Sequence[SystemPair], steps: Sequence[SolvedStep]) -> None:
        self.pairs, self.steps = pairs, steps
        system, m, k = pairs[0].nominal, len(steps), len(pairs)
        n_q, n_v, n_c = system.n_q, system.n_v, system.n_c
        times, *self._at = at_stages(steps)
        inputs, *motion = self._at
        ends = [np.array([step.step.state1[i] for step in steps]) for i in range(2)]
        self.equations = np.empty((m, 3, n_v + n_c, k))
        self.position, self.rates = np.empty((2, m, n_c, k))
        self._inputs = [pair.inputs(times, inputs) for pair in pairs]
        for j, (pair, given) in enumerate(zip(pairs, self._inputs, strict=True)):
            self.equations[..., j] = pair.equations(given, *motion).reshape(m, 3, -1)
            self.position[..., j], self.rates[..., j] = pair.constraints([each[2::3] for each in given], *ends)
        self.Q, self.L = np.empty((m, 3, n_q, k)), np.empty((m, 3, n_c, k))
        self.V, self.K = np.empty((2, m, 3, n_v, k))
        self.q, self.v = np.empty((m, n_q, k)), np.empty((m, n_v, k))

    def ends(self, start: End) -> End:
        """Derivatives of q, v, a (m + 1, ., k), work and power (m + 1, k, n_w) at the start and the ends."""
        m = len(self.steps)
        self._powers = np.empty((m, 3, len(self.pairs), start[3].shape[1]))
        _, q, v, _, multipliers = self._at
        for j, (pair, given) in enumerate(zip(self.pairs, self._inputs, strict=True)):
            moves = [each[..., j].reshape(3 * m, -1) for each in (self.Q, self.V, self.L)]
            first, second = (
                side.budget_rates(u, *(x + part * move for x, move in zip((q, v, multipliers), moves, strict=True)))
                for side, part, u in zip(pair.sides, pair.places, given, strict=True)
            )
            self._powers[:, :, j] = ((first - second) / pair.distance).reshape(m, 3, -1)
        lengths = np.array([step.length for step in self.steps])
        work = np.einsum("m,i,mikw->mkw", lengths, A[2], self._powers)
        ends = zip(start, (self.q, self.v, self.K[:, 2], work, self._powers[:, 2]), strict=True)
        q, v, a, work, power = (np.concatenate([first[None], others]) for first, others in ends)
        return q, v, a, np.cumsum(work, axis=0), power

    def changes(self, k: int, ends: End) -> list[StepChanges]:
        """The derivatives of the step k, by parameter."""
        step, (q, v, a, work, power) = self.steps[k], (each[k : k + 2] for each in ends)
        K, powers = self.K[k], self._powers[k]
        if step.begins:
            a = np.stack([np.einsum("i,ijk", FROM_ZERO[0], self.V[k] - v[0]) / step.length, a[1]])
        return [
            StepChanges(
                q[..., j],
                v[..., j],
                a[..., j],
                work[:, j],
                power[0, j],
                K[..., j],
                powers[:, j],
                pair.discrete,
                pair.shift,
            )
            for j, pair in enumerate(self.pairs)
        ]


def at_stages(steps: Sequence[SolvedStep]) -> tuple[Any, ...]:
    """Instants of the stages of steps, and there inputs, q, v, a and multipliers."""
    times = []
    for each in steps:
        start, end = each.step.start, each.step.end
        times += [start + C[0] * each.length, start + C[1] * each.length, left_limit(end, start)]
    return times, *(np.concatenate([getattr(each, word) for each in steps]) for word in STAGES)


def _extrapolated(Z: Floats, ratio: float) -> Floats:
    """The stages of a step after one with the stages Z (3, ...), longer by this ratio."""
    powers = np.arange(1, 4)
    weights = ((1.0 + ratio * C[:, None]) ** powers - 1.0) @ FROM_ZERO
    found: Floats = (weights @ Z.reshape(3, -1)).reshape(Z.shape)
    return found

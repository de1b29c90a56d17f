"""Derivatives of the steps of implicit methods by parameters: of those that were taken, for all parameters at once.

A step solves G(Z; y, p) = 0 for its stages Z from its start y. Then

    G_Z Z' = -(G_y y' + G_p),        Z' <- Z' - A^-1 (G_Z Z' + G_y y' + G_p)

with G_Z from the exact tangents at the stages, and A that of the middle stage, as Newton's iteration has it. G_p is the
difference of two systems at the stages. Ends of steps are projected on the constraints, whose derivatives are too.
Source: docs/theory/sensitivities.md, section 4.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.elements.frame_index import frame_starts
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound, Program
from femb.steppers.contract import left_limit
from femb.steppers.dense import HermiteStep, Power, SolvedStep
from femb.steppers.radau import Radau
from femb.steppers.radau_tangent_kernels import project_end, reaction_blocks
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

    q, v, a, work (2, .) : of its ends. power (n_w,) : at its start. nodes (m, n_v), powers (s, n_w) : accelerations
    at its nodes, and powers at its stages. discrete : of the discrete states by name. shift : of its instants.
    """

    q: Floats
    v: Floats
    a: Floats
    work: Floats
    power: Floats
    nodes: Floats
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
        nodes = np.add(instants, later), np.array(accelerations) + part * self.nodes
        ends = (q[0], v[0], a[0], work[0], start), (q[1], v[1], a[1], work[1], known[-1])
        return HermiteStep(form, base.start + later, base.end + later, *ends, (inside, known[:-1]), nodes)


Jump: TypeAlias = Callable[[Sequence[SystemPair], End, list[StepChanges]], tuple[Sequence[SystemPair], End]]
"""See ``StepTangents.along``."""


class StepTangents(ABC):
    """The derivatives of given steps of one system by the parameters of ``pairs``.

    fractions : of a step at its stages, the last one its end. kinds : of the numbers of its factors. coarse : the part
    of the difference to steps of twice the length that they leave. restarts : whether intervals of steps may follow.
    """

    fractions: ClassVar[Sequence[float]]
    kinds: ClassVar[Sequence[type]]
    coarse: ClassVar[float]
    restarts: ClassVar[bool]

    def __init__(self, steps: Sequence[SolvedStep], run: Run) -> None:
        self.steps, stages = steps, len(steps[0].q)
        self.system = system = steps[0].step.form.system
        solver: LinearSolver = system.solver
        self._matrices = mass, damping, stiffness = tuple(np.zeros((3, stages, system.pattern.size)))
        self._end = np.zeros((2, system.pattern.size))
        self._length = np.ones(1)
        sizes = system.n_u, system.n_q, system.n_v, system.n_v, system.n_c
        # inputs, q, v, a and multipliers at the stages; inputs, q and v at the end
        self._at = tuple(np.zeros((stages, n)) for n in sizes)
        self._after = tuple(np.zeros((1, n)) for n in sizes[:3])
        u, q, v, a, _ = self._at
        factors = [Factorisation(solver, np.zeros(system.pattern.size, dtype=kind)) for kind in self.kinds]
        self._factors = tuple(each.arguments for each in factors)
        middle = mass[stages // 2], damping[stages // 2], stiffness[stages // 2]
        self._prepare = Program([
            *(Bound(clear, each) for each in (*self._matrices, self._end)),
            *system.evaluation.mass_calls(q, mass),
            *system.evaluation.tangent_calls(u, q, v, a, damping, stiffness),
            *self._of_constraints(),
            self._shift(middle, [each.data for each in factors]),
            *(each.bound(solver) for each in factors),
        ])  # fmt: skip

    @abstractmethod
    def _shift(self, matrices: tuple[Floats, Floats, Floats], out: list[np.ndarray]) -> Bound:
        """The kernel that forms the matrices of Newton's iteration from mass, damping and stiffness."""

    @abstractmethod
    def _begin(self, pairs: Sequence[SystemPair], q: Floats, v: Floats) -> End:
        """The start of the run, of whose coordinates and velocities these are the derivatives."""

    @abstractmethod
    def _solve(self, part: "Portion", k: int, start: tuple[Floats, Floats]) -> None:
        """Solve for the derivatives of the stages of step k of a portion, from those of q and v at its start."""

    @abstractmethod
    def work(self, lengths: Floats, powers: Floats, start: Floats) -> Floats:
        """(m, k, n_w) of m steps with these powers (m, s, k, n_w) at their stages, and at the start of the first."""

    @abstractmethod
    def nodes(self, part: "Portion", k: int, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        """Accelerations at the ends (2, n_v, k) and the nodes (m, n_v, k) of a step; v (n_v, k) : at its start, and a
        those of the ends that the steps have."""

    def _of_constraints(self) -> list[Callable[[], object]]:
        """The calls for J, and the derivatives of forces and rates of constraints, at the stages and at the end."""
        system, (_, damping, stiffness) = self.system, self._matrices
        constraints, n_c = system.constraint_set, system.n_c
        stages = len(self._at[0])
        frames, blocks = np.zeros((0, 4), dtype=np.int64), np.zeros((stages, 0, 12, 12))
        self._reactions = frames, blocks
        if not n_c:
            return []
        (u, q, v, _, multipliers), (u1, q1, v1) = self._at, self._after
        starts, spare = frame_starts(constraints.index), np.zeros((2, stages, n_c))
        lacks = (constraints.offset[:, 0, 2] < 0) & (starts[:, 0] >= 0) & (starts[:, 2] >= 0)
        rows = np.flatnonzero(lacks)
        frames, blocks = np.ascontiguousarray(starts[rows]), np.zeros((stages, len(rows), 12, 12))
        self._reactions = frames, blocks
        tangent, arrays = constraints.tangent_call, (u, q, v, constraints.fixed, multipliers, blocks)
        return [
            constraints.jacobian_call(u, q, v, damping, spare[0], spare[1]),
            *(tangent(u[i], q[i], v[i], multipliers[i], stiffness[i]) for i in range(stages)),
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
        end = self._begin(pairs, q, v)
        portion = max(1, NUMBERS // (3 * count * (3 * system.n_v + system.n_c + system.n_q)))
        limits = sorted({*range(0, last + 1, portion), *(k for k in jumps if k <= last), last + 1})
        for first, after in pairwise(limits):
            steps = self.steps[first:after]
            if first in jumps:
                pairs, end = jumps[first](pairs, end, found.get(first - 1, []))
            part = Portion(self, pairs, steps)
            for k in range(len(steps)):
                start = (end[0], end[1]) if k == 0 else (part.q[k - 1], part.v[k - 1])
                self._take(part, k, start)
            ends = part.ends(end)
            for k in range(len(steps)):
                if first + k in wanted:
                    found[first + k] = part.changes(k, ends)
            end = tuple(each[-1] for each in ends)
        return found

    def _take(self, part: "Portion", k: int, start: tuple[Floats, Floats]) -> None:
        """Find the derivatives of step k of a portion, and project its end."""
        step, system = part.steps[k], self.system
        for array, values in zip(self._at, (step.inputs, step.q, step.v, step.a, step.multipliers), strict=True):
            array[:] = values
        for array, values in zip(self._after, (step.inputs[-1], *step.step.state1[:2]), strict=True):
            array[0] = values
        self._length[0] = step.length
        self._prepare()
        self._solve(part, k, start)
        part.v[k] = part.V[k, -1]
        project_end(
            system.coordinates, system.solver.structure, *self._end, self._factors[0], step.q[-1],
            step.step.state1[0], part.position[k], part.rates[k], part.Q[k, -1], part.q[k], part.v[k], CLOSED,
            MOST_CLOSING,
        )  # fmt: skip


class Portion:
    """Consecutive steps with the derivatives of their m by k parameters.

    equations (m, s, n, k), position and rates (m, n_c, k) : partial derivatives at the stages and the ends. Q (m, s,
    n_q, k), V, K (m, s, n_v, k), L (m, s, n_c, k) : total ones of the stages. q (m, n_q, k), v (m, n_v, k) : of the
    ends.
    """

    def __init__(self, of: StepTangents, pairs: Sequence[SystemPair], steps: Sequence[SolvedStep]) -> None:
        self.of, self.pairs, self.steps, s = of, pairs, steps, len(steps[0].q)
        system, m, k = pairs[0].nominal, len(steps), len(pairs)
        n_q, n_v, n_c = system.n_q, system.n_v, system.n_c
        times, *self._at = at_stages(steps, of.fractions)
        inputs, *motion = self._at
        ends = [np.array([step.step.state1[i] for step in steps]) for i in range(2)]
        self.equations = np.empty((m, s, n_v + n_c, k))
        self.position, self.rates = np.empty((2, m, n_c, k))
        self._inputs = [pair.inputs(times, inputs) for pair in pairs]
        for j, (pair, given) in enumerate(zip(pairs, self._inputs, strict=True)):
            self.equations[..., j] = pair.equations(given, *motion).reshape(m, s, -1)
            self.position[..., j], self.rates[..., j] = pair.constraints([each[s - 1 :: s] for each in given], *ends)
        self.Q, self.L = np.empty((m, s, n_q, k)), np.empty((m, s, n_c, k))
        self.V, self.K = np.empty((2, m, s, n_v, k))
        self.q, self.v = np.empty((m, n_q, k)), np.empty((m, n_v, k))

    def ends(self, start: End) -> End:
        """Derivatives of q, v, a (m + 1, ., k), work and power (m + 1, k, n_w) at the start and the ends."""
        m, s = self.Q.shape[:2]
        self._powers = np.empty((m, s, len(self.pairs), start[3].shape[1]))
        _, q, v, _, multipliers = self._at
        for j, (pair, given) in enumerate(zip(self.pairs, self._inputs, strict=True)):
            moves = [each[..., j].reshape(s * m, -1) for each in (self.Q, self.V, self.L)]
            first, second = (
                side.budget_rates(u, *(x + part * move for x, move in zip((q, v, multipliers), moves, strict=True)))
                for side, part, u in zip(pair.sides, pair.places, given, strict=True)
            )
            self._powers[:, :, j] = ((first - second) / pair.distance).reshape(m, s, -1)
        lengths = np.array([step.length for step in self.steps])
        work = self.of.work(lengths, self._powers, start[4])
        ends = zip(start, (self.q, self.v, self.K[:, -1], work, self._powers[:, -1]), strict=True)
        q, v, a, work, power = (np.concatenate([first[None], others]) for first, others in ends)
        return q, v, a, np.cumsum(work, axis=0), power

    def changes(self, k: int, ends: End) -> list[StepChanges]:
        """The derivatives of the step k, by parameter."""
        q, v, a, work, power = (each[k : k + 2] for each in ends)
        a, nodes = self.of.nodes(self, k, v[0], a)
        powers = self._powers[k]
        return [
            StepChanges(
                q[..., j], v[..., j], a[..., j], work[:, j], power[0, j], nodes[..., j], powers[:, j], pair.discrete,
                pair.shift,
            )
            for j, pair in enumerate(self.pairs)
        ]  # fmt: skip


def at_stages(steps: Sequence[SolvedStep], fractions: Sequence[float]) -> tuple[Any, ...]:
    """Instants of the stages of steps, and there inputs, q, v, a and multipliers."""
    times = []
    for each in steps:
        start, end = each.step.start, each.step.end
        times += [*(start + c * each.length for c in fractions[:-1]), left_limit(end, start)]
    return times, *(np.concatenate([getattr(each, word) for each in steps]) for word in STAGES)

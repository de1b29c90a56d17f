"""The equations of a system, its rates and matrices, at states in given arrays, which a stepper evaluates again.

The arguments of the kernels and the arrays of the result, which no iteration changes, are put together once; an
evaluation then calls the kernels one after the other, or compiled code does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.layout.discrete import ANGLES
from femb.layout.element import Input
from femb.layout.protocols import LowRankStep
from femb.numerics import kinematics
from femb.numerics.block_kernels import clear, solve
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import kernel_with_entry
from femb.system.block_lu import Factorisation, SingularError
from femb.system.constraints import singular_mass
from femb.system.motion_equations import MotionEquations
from femb.system.pattern import StackedPattern


@kernel_with_entry
def join(force: Floats, rates: Floats, result: Floats) -> None:
    """Copy forces (s, n_v) and rates of constraints (s, n_c) to result (s, n_v + n_c)."""
    n_v = force.shape[1]
    for i in range(force.shape[0]):
        for k in range(n_v):
            result[i, k] = force[i, k]
        for k in range(rates.shape[1]):
            result[i, n_v + k] = rates[i, k]


@kernel_with_entry
def right_side(force: Floats, gamma: Floats, x: Floats) -> None:
    """x (n,): minus a force (1, n_v), then gamma (1, n_c)."""
    n_v = force.shape[1]
    for k in range(n_v):
        x[k] = -force[0, k]
    for k in range(gamma.shape[1]):
        x[n_v + k] = gamma[0, k]


@kernel_with_entry
def set_rates(coordinates: Any, q: Floats, v: Floats, x: Floats, q_rate: Floats, v_rate: Floats) -> None:
    """q_rate (1, n_q) = H(q) v, and v_rate (1, n_v) the first unknowns of x (n,)."""
    kinematics.rates(coordinates, q, v, q_rate)
    for k in range(v_rate.shape[1]):
        v_rate[0, k] = x[k]


class BoundEquations(BoundSequence):
    """``MotionEquations.equations`` of u, q, v, a and multipliers: arrays whose entries change between the calls.

    Each call overwrites ``result`` (s, n), and raises TrialError where the equations are not defined. switched : only
    the forces of what reads discrete states, (s, n_v).
    """

    def __init__(
        self, system: MotionEquations, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats,
        switched: bool = False,
    ) -> None:  # fmt: skip
        n_v, n_c = system.n_v, 0 if switched else system.n_c
        force, rates = np.zeros((len(v), n_v)), np.zeros((len(v), n_c))
        batches = [batch for batch in system.batches if not switched or any(map(_switches, batch.inputs))]
        parts = system.evaluation.of(batches).force_calls(u, q, v, a, force)
        self.result = force
        if n_c:
            self.result = np.empty((len(v), n_v + n_c))
            parts.append(system.constraint_set.force_call(u, q, v, multipliers, force, rates))
            parts.append(Bound(join, force, rates, self.result))
        super().__init__([Bound(clear, force), *parts])


def _switches(input_: Input) -> bool:
    """Whether an update of discrete states changes what equations read."""
    return input_.of_discrete and input_.array != ANGLES and not input_.recorded_only


class BoundRates(BoundSequence):
    """The rate of a state y = (q, v, work) (n,) of a system with inputs u (1, n_u), arrays whose entries change between
    the calls. Each overwrites ``rate`` (n,), to the last bit with that by ``forward_each`` and the budget.

    state : q (n_q,) and v (n_v,) in y. Raises TrialError.
    """

    def __init__(self, system: MotionEquations) -> None:
        n_q, n_v, n_c = system.n_q, system.n_v, system.n_c
        sizes = n_q, n_q + n_v
        self._system, self.u = system, np.zeros((1, system.n_u))
        self.y, self.rate = np.zeros((2, n_q + n_v + system.budget.size))
        q, v, _ = np.split(self.y[None], sizes, axis=1)
        self.state: tuple[Floats, Floats] = q[0], v[0]
        parts = np.split(self.rate[None], sizes, axis=1)
        data, still, force, (position, gamma) = (
            np.zeros((1, system.pattern.size)), np.zeros((1, n_v)), np.zeros((1, n_v)), np.zeros((2, 1, n_c))
        )  # fmt: skip
        x = np.zeros(n_v + n_c)
        factors = Factorisation(system.solver, data[0])
        calls: list[Callable[[], object]] = [Bound(clear, force), Bound(clear, data), Bound(clear, gamma)]
        calls += [
            *system.evaluation.force_calls(self.u, q, v, still, force),
            *system.evaluation.mass_calls(q, data),
            system.constraint_set.jacobian_call(self.u, q, v, data, position, gamma),
            factors.bound(system.solver),
            Bound(right_side, force, gamma, x),
            Bound(solve, *factors.arguments, x),
            Bound(set_rates, system.coordinates, q, v, x, *parts[:2]),
            system.budget.bound_rates(system, self.u, q, v, x[None, n_v:], parts[2]),
        ]
        super().__init__(calls)

    @staticmethod
    def serves(system: MotionEquations) -> bool:
        """Whether matrices of the system have one factorisation by blocks."""
        pattern = system.pattern
        return not pattern.net and not (isinstance(pattern, StackedPattern) and pattern.alike)

    def is_of(self, system: MotionEquations) -> bool:
        """Whether these are the rates of another discrete state of the same system too."""
        own = self._system
        same = own.evaluation is system.evaluation and own.constraint_set is system.constraint_set
        return same and own.solver is system.solver

    def __call__(self) -> None:
        try:
            super().__call__()
        except SingularError as error:
            raise singular_mass(self._system, error, *self.state) from error


class BoundMatrices(BoundSequence):
    """``MotionEquations.matrices`` of the state in u, q, v and multipliers: arrays (1, .) whose entries change between
    the calls, of a system without matrices of low rank.

    Each call overwrites ``arrays``: mass, damping and tangent, block data. Raises FoldedError.
    """

    @staticmethod
    def serves(system: MotionEquations) -> bool:
        """Whether no element may ask for a part of low rank."""
        return not any(isinstance(batch, LowRankStep) for batch in system.batches)

    def __init__(self, system: MotionEquations, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> None:
        data = np.zeros((3, system.pattern.size))
        parts = data[0:1], data[1:2], data[2:3]
        self.arrays: tuple[Floats, Floats, Floats] = data[0], data[1], data[2]
        calls: list[Callable[[], object]] = [Bound(clear, data)]
        calls += system.evaluation.step_calls(u, q, v, *parts)
        super().__init__([*calls, system.constraint_set.matrices_call(u, q, v, multipliers, *parts[1:])])

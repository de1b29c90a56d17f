"""Radau IIA of order 5 for second-order systems: stiffly accurate, L-stable, error controlled.

Stage equations, i = 1..3, with K_i = (1/h) sum_j (A^-1)_ij Z_j the derivative of the collocation polynomial:

    K^q_i = H(Q_i) V_i,        M(Q_i) K^v_i + h(Q_i, V_i) + f_el(Q_i) + J(Q_i)^T L_i - f(u_i, Q_i, V_i) = 0,
    J(Q_i) V_i + Phi_t = 0

Newton's unknowns are the velocities Z^v and the multipliers L (index 2; positions are projected on the constraints
after each step, docs/theory/constraints.md, section 5); the coordinates follow from the velocities by the first
equation, which is linear except for the quaternions and is iterated together with the velocities. A^-1 is transformed
to its real and its complex eigenvalue, so that each iteration solves one real and one complex system with the matrix
[mu M + C + K/mu, J^T; J, 0], mu = eigenvalue/h.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.8 (transformation, error estimate,
step-size control); the application to M v' = f with q' = H v is described in docs/theory/integration.md.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.layout.bound_updates import BoundUpdates
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.evaluation import Evaluation
from femb.layout.state import State
from femb.numerics.compiler.bound_calls import Program
from femb.steppers.contract import SMALLEST_STEP, AcceptedStep, BookedStatistics, HeldSteps, StepOutput
from femb.steppers.dense import End, HermiteStep, SolvedStep
from femb.steppers.held_kernels import FACTORED, ROW_HEAD, pass_steps
from femb.steppers.radau_kernels import MAX_FACTOR, RECOVERY, SLOW, A, C, add_work, step_factor
from femb.steppers.radau_stages import FIRST, SECOND, RadauEquations
from femb.steppers.step_kernels import WORTHWHILE
from femb.system.block_lu import DEPENDENT
from femb.system.system import System

# After Newton's iteration failed with fresh matrices: the next length to try and the longest one to step, as fractions
# of the one that failed. Half is tried after a step grown by more than the last number.
SHORTER, BELOW_FAILURE, GROWN = 0.75, 0.8, 1.3
MIN_FACTOR = 0.2
# From values at the stages to coefficients of their polynomial, of powers 1 to 3 (zero at the start).
FROM_ZERO = np.linalg.inv(C[:, None] ** np.arange(1, 4))


# Periods of a filter's frequency in a step for which the iteration fails, up to which vibrations above it hold it up. A
# longer step fails where the motion below it turns members far, and to damp what is above would be an error.
FOLLOWING = 0.02


class Radau(RadauEquations):
    """Variable-step Radau IIA(5); see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 5
    weights = A[2]
    # the loop over steps, and the terms of the system that it serves
    _held: "HeldLoop | None" = None
    _serves: tuple[Evaluation, bool] | None = None
    memory = (
        *RadauEquations.memory,
        *("_old_error", "_old_h", "_trend", "_ceiling", "_starting", "_replaced", "_dependent"),
    )

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self._old_error = self._old_h = 0.0
        self.restart()

    def restart(self) -> None:
        """Evaluate the start of a smooth interval; its first stages are not extrapolated."""
        self._evaluate()
        self._replaced = None
        self._allocate()
        self._begin()

    def resume(self) -> None:
        """Restart where the arrays keep their sizes; step length, matrices and factors are kept."""
        if self._replaced is None:
            self._replaced = self._u, self.a, self.multipliers
        self._u = self.form.inputs_at(self.t, self.q, self.v)
        self._begin()

    @property
    def power(self) -> Floats:
        """(n_w,) the rates of the budget at the present state."""
        return self._start_power() if self._replaced else self._power_there

    @power.setter
    def power(self, value: Floats) -> None:
        self._power_there = value

    @property
    def _start_power(self) -> Callable[[], Floats]:
        """The power at a state with new inputs, which only outputs inside its step ask for."""
        return self.power_at(self.form, self._u, self.q, self.v)

    @staticmethod
    def power_at(form: ImplicitFormulation, u: Floats, q: Floats, v: Floats) -> Callable[[], Floats]:
        """The function that gives the rates of the budget at one state."""
        return partial(_power, form, u, q, v)

    def _begin(self) -> None:
        self._trend.begin(self.v, self.a, self.multipliers)
        self._starting, self._fresh = True, False
        if not self.h:
            self.h = self._first_step()

    def _set(self, t: float, q: Floats, v: Floats, work: Floats, h: float = 0.0) -> None:
        """Restart as in ``ImplicitStepper``; the next step length does not depend on the last step and its error."""
        self._old_h = 0.0
        super()._set(t, q, v, work, h)

    def _first_step(self) -> float:
        """A hundredth of the time over which the state changes by its own size."""
        size, change = self._size_and_change(self.form.rates(self.q[None], self.v[None])[0], self.a)
        return float(min(0.01 * size / change if change > 0.0 else np.inf, 0.01 * self.run.duration))

    def step(self, limit: float) -> AcceptedStep:
        """One accepted step; raises SolveError where none can be made."""
        if self.form.n_c:
            self._reset_excluded()
        return super().step(limit)

    def _error(self, trial: float, h: float) -> float:
        """Norm of Hairer's filtered estimate; where it is above one, filtered once more.

        The first filter leaves an error of the size of the state in stiff components that are not in equilibrium
        with their forces; the second removes what an L-stable step will damp anyway.
        """
        norm, self._hidden = trial, self._program.unfiltered > 1.0
        # an array that each trial step overwrites
        self.error_v = self._error_v[0, : self.form.n_v] if norm < np.inf else self.v
        if self._low_pass and norm < np.inf:
            self._unfiltered[:] = self.error_v
            return self._kept_norm(self._low_pass)
        return norm

    def _factor(self, h: float, error: float) -> float:
        return float(step_factor(self._program.done, error, h, self._old_error, self._old_h))

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        if self._fresh and self._low_pass and h * self._low_pass.frequency < FOLLOWING:
            self._low_pass.damp_from(self.t)
        if self._fresh and self._low_pass and not self._exact:
            # without the stresses' part of the stiffness the iteration converges only where steps follow vibrations
            self._exact = True
        elif self._fresh:
            self._ceiling = BELOW_FAILURE * h
            h *= SHORTER if h < GROWN * self._old_h else 0.5
            self._old_h = 0.0
        self._matrices = None
        return h

    def _after_error(self, trial: float, h: float, error: float) -> float:
        if not self._fresh:
            self._matrices = None
        return h * max(MIN_FACTOR, self._factor(h, error))

    def _reached(self, trial: float, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        self._program.reach_end()
        q, v = (each[0].copy() for each in self._reached_state)
        powers = self._powers.copy()
        work = self.work.copy()
        add_work(h, self.weights, powers, work)
        v, work = self._damped(end, q, v, work)
        self._next = q, v, work, powers
        return q, v, work

    def _accept(self, trial: float, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        renew = self._program.rate > SLOW and self._program.done > 2
        factor = min(MAX_FACTOR, self._factor(h, error))
        self._old_error, self._old_h = max(error, 1e-4), h
        next_h = self._next_length(h, factor, cut, 1.0 if renew else WORTHWHILE)
        self.h = min(next_h, self._ceiling)
        self._ceiling *= RECOVERY
        form, (u, Q, _, K, L) = self.form, self._states
        if self._low_pass:
            self._reached_state[1][0] = self._next[1]
        self._program.look_ahead()
        a = self.start_rate(self._Z, h) if self._starting else self.a
        old = (self.q, self.v, a, self.work, self._start_power if self._replaced else self.power)
        begins, self._starting, self._replaced = self._starting, False, None
        start, v = self.t, self.v
        self.q, self.v, self.work, powers = self._next
        K = K.copy()
        self.t, self.power, self.a, self.multipliers = end, powers[2], K[2], L[2].copy()
        self._u = u[2].copy()
        self._fresh = False
        if self._dependent != DEPENDENT:
            self._dependent, self._factored_for = DEPENDENT, 0.0
        self._too_old = self._too_old or renew
        step = self.dense(form, (start, h, end), old, (self.q, self.v, self.work), powers, K)
        if self.solved is not None:
            # the prediction of the next step may have turned the velocities
            self.solved.append(SolvedStep(step, h, u.copy(), Q.copy(), v + self._Z, K, L.copy(), begins))
        return step

    def start_rate(self, Z: Floats, h: float) -> Floats:
        """Accelerations (n_v,) for the dense output at the start of a smooth interval, of which members out of
        equilibrium are not resolved: by the polynomial of v through (0, 0) and the stages Z (3, n_v)."""
        result: Floats = FROM_ZERO[0].dot(Z) / h
        return result

    @staticmethod
    def dense(
        form: ImplicitFormulation,
        span: tuple[float, float, float],
        old: End,
        new: tuple[Floats, Floats, Floats],
        powers: Floats,
        K: Floats,
    ) -> HermiteStep:
        """The dense output of a step. span : its start, length and end, s. old, new : its ends, the latter without the
        rates. powers (3, n_w), K (3, n_v) : rates of the budget and accelerations at the stages."""
        start, h, end = span
        q, v, work = new
        nodes = ((start, start + FIRST * h, start + SECOND * h, end), (old[2], K[0], K[1], K[2]))
        there = q, v, K[2], work, powers[2]
        return HermiteStep(form, start, end, old, there, ((FIRST, SECOND), powers[:2]), nodes)

    # Many steps in one call

    def held_steps(
        self, updates: BoundUpdates, end: float, same: float, times: Floats, most: float
    ) -> HeldSteps | None:
        """Many steps; see ``femb.steppers.contract.StepperOfHeld``."""
        system = self.form.system
        if self.record is not None or self.given is not None or self.solved is not None:
            return None
        if self.form is not system or self._low_pass or self._exact or isinstance(self.statistics, BookedStatistics):
            return None
        if self._held is None or not self._held.is_of(self, updates):
            if self._serves is None or self._serves[0] is not system.evaluation:
                self._serves = system.evaluation, serves(system)
            if not self._serves[1]:
                return None
            self._held = HeldLoop(self, updates)
        if not self._factors or not self.h or self._dependent != DEPENDENT or system.solver.excludes:
            return None
        return self._held.run(self, end, same, times, most)


class EqualSteps(Radau):
    """Steps of a given length, whatever their errors, whose end is a smooth function of the start.

    Shorter are those that end at a limit, or for which the iteration fails. What a step does not resolve is at rest at
    its end.
    """

    def __init__(self, form: ImplicitFormulation, run: Run, length: float) -> None:
        super().__init__(form, replace(run, method="radau", first_step=length, max_step=length))
        self.solved: list[SolvedStep] = []
        # without the stresses' part of the stiffness the iteration converges only where steps follow vibrations
        self._exact = True

    def _error(self, trial: float, h: float) -> float:
        return 0.0


def _power(form: ImplicitFormulation, u: Floats, q: Floats, v: Floats) -> Floats:
    """(n_w,) the rates of the budget at one state, with its multipliers."""
    multipliers = form.forward(u, q, v)[1]
    rates: Floats = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
    return rates


# Many steps with held inputs, and the updates of discrete states between them, in one call.
#
# The loop in compiled code takes the state of the stepper as arrays, and gives it back where a step or an update needs
# Python, which then makes it as if there were no loop: to the last bit the same.

# Most steps of a call, and of large models so many that they have so many numbers: Python shows progress, writes
# checkpoints and answers Ctrl-C between calls. Most numbers of the steps with output, and of samples.
MOST_STEPS, NUMBERS_OF_STEPS, MOST_NUMBERS = 500, 40_000, 200_000


def serves(system: System) -> bool:
    """Whether steps of a system may be made in a loop."""
    discrete, held = system.discrete, [each for each in system.inputs if each.of_discrete]
    return (
        system.inputs.only_held
        and all(each.array == ANGLES or discrete[each.array].size == each.width for each in held)
        and not any(each.of_discrete for each in system.constraint_set.inputs)
        and not (system.inputs_of_state or system.has_gaps or system.limits_steps or system.singular_batches)
    )


class HeldLoop:
    """The arrays of a loop over steps of a stepper, and over the updates of its discrete states.

    programs : of a trial step, of the prediction after new inputs, of coordinates of joints, and the updates.

    Those of the motion are overwritten by each call: ``clock`` and ``counts`` have the numbers of
    ``femb.steppers.held_kernels``, rows of the output one step with output times each.
    """

    def __init__(self, stepper: Radau, updates: BoundUpdates) -> None:
        system, program = stepper.form.system, stepper._program
        self.updates, self._program, self._evaluation = updates, program, system.evaluation
        arrays, n_v, n_c = updates.arrays, system.n_v, system.n_c
        angles, still = np.empty((2, 1, len(system.discrete.angles))), np.zeros((1, n_v))
        joints = system.coordinates_of_joints.calls(arrays.q[None], still, *angles) if system.has_angles else []
        before = np.empty_like(arrays.states)

        def view(discrete: DiscreteState, t: float, q: Floats, v: Floats) -> State:
            return system.with_discrete(discrete).state(t, q, v)

        self._joints, self._calls = Program(joints), updates.program(before, angles[0, 0], view)
        places, of_angles = [], []
        for input_, part in system.inputs.parts:
            if input_.joints:
                of_angles += [(number, part.start + k) for k, number in enumerate(input_.joints)]
            elif input_.array:
                first, acts = arrays.place(input_.array), not input_.recorded_only
                places += [(first + k, part.start + k, acts) for k in range(input_.width)]
        self._updates = (
            *updates.clocks(), np.array(places, dtype=np.int64).reshape(-1, 3),
            np.array(of_angles, dtype=np.int64).reshape(-1, 2),
        )  # fmt: skip
        self._angles, self._held, trend = angles[0], np.empty(system.n_u), stepper._trend
        self._u_before = np.empty(system.n_u)
        self._states = (
            arrays.states, before, self._angles, angles[1], arrays.t, self._held,
            (trend.lengths, trend.velocity, trend.slope, trend.multipliers, self._u_before),
            (stepper._before, stepper._estimate[0], stepper._real), stepper._weights,
        )  # fmt: skip
        U, _, _, K, L = stepper._states
        end_q, end_v = stepper._reached_state
        self._stepper = (
            stepper._length, program.numbers, stepper._state, U, stepper._Z, K, L, stepper._powers, stepper.weights,
            end_q[0], end_v[0],
        )  # fmt: skip
        n_w = system.budget.size
        self._clock, self._counts = np.zeros(10), np.zeros(11, dtype=np.int64)
        self._motion = (
            self._clock, self._counts, arrays.q, arrays.v, np.empty(n_w), np.empty(system.n_u), np.empty(n_v),
            np.empty(n_c), np.empty(n_w),
        )  # fmt: skip
        # of a row: u; q, v, work, power, a and Z at the start; q, v, work at the end; powers, K; discrete state, angles
        n_q, n_s, m = system.n_q, len(arrays.states), self._angles.size
        sizes = [ROW_HEAD, system.n_u, n_q, n_v, n_w, n_w, n_v, 3 * n_v, n_q, n_v, n_w, 3 * n_w, 3 * n_v, n_s, m]
        self._cuts, self._width = np.cumsum(sizes)[:-1], sum(sizes)

    def is_of(self, stepper: Radau, updates: BoundUpdates) -> bool:
        """Whether the arrays are still those of a stepper."""
        system = stepper.form.system
        return self.updates is updates and self._program is stepper._program and self._evaluation is system.evaluation

    def run(self, stepper: Radau, end: float, same: float, times: Floats, most: float) -> HeldSteps | None:
        """Make steps; see ``femb.steppers.contract.StepperOfHeld``."""
        form, updates, clock, counts = stepper.form, self.updates, self._clock, self._counts
        discrete, motion = form.system.discrete, self._motion
        updates.same = same
        updates.load(stepper.t, stepper.q, stepper.v, discrete)
        self._angles[0], self._held[:] = discrete.angles, form.system.discrete_inputs
        shortest = SMALLEST_STEP * math.ulp(end)
        clock[:] = (
            stepper.t, stepper.h, stepper._old_error, stepper._old_h, stepper._ceiling, stepper.max_step,
            stepper._factored_for, end, same, shortest,
        )  # fmt: skip
        replaced = stepper._replaced
        counts[:] = 0
        counts[-3:] = stepper._starting, replaced is not None, stepper._too_old
        motion[4][:], motion[5][:], motion[6][:], motion[7][:] = (
            stepper.work, stepper._u, stepper.a, stepper.multipliers,
        )  # fmt: skip
        if replaced is not None:
            self._u_before[:], motion[7][:] = replaced[0], replaced[2]
            motion[8][:] = 0.0
        else:
            motion[8][:] = stepper.power
        count = int(min(most, MOST_STEPS, 1 + NUMBERS_OF_STEPS // form.n_v))
        ends = np.full(count + 1, stepper.t)
        rows = np.empty((min(count, len(times), 1 + MOST_NUMBERS // self._width), self._width))
        size = len(updates.arrays.states)
        samples = np.empty((min(count, 1 + MOST_NUMBERS // max(size, 1)), size))
        due = np.zeros((len(samples) + 1, len(updates.updates)), dtype=bool)
        anew = stepper._refactor if stepper._bound_to is form.solver else Program([])
        self.programs = self._program.limited(*stepper._limits()), stepper.response, self._joints, self._calls
        entries = tuple([each.put_together({}) for each in (*self.programs, anew)])
        pass_steps(entries, self._updates, self._states, self._stepper, motion, (times, ends[1:], rows, samples, due))
        steps, evaluations, iterations, factored, _, kept, sampled, is_due, starting, is_replaced, too_old = (
            counts.tolist()
        )
        for call in self._calls.bound:
            error, call.error = call.error, None
            if error is not None and not isinstance(error, Exception):
                raise error
        if not steps:
            return None
        statistics = stepper.statistics
        statistics.steps += steps
        statistics.evaluations += evaluations
        statistics.newton_iterations += iterations
        statistics.factorizations += factored * len(stepper._factors)
        stepper._factored_for = float(clock[FACTORED])
        stepper.t, stepper.h, stepper._old_error, stepper._old_h, stepper._ceiling = clock[:5].tolist()
        stepper.q, stepper.v, stepper.work, stepper._u, stepper.a, multipliers, power = (x.copy() for x in motion[2:])
        stepper.multipliers = multipliers
        stepper.power, stepper._starting, stepper._too_old = power, bool(starting), bool(too_old)
        stepper._replaced = (self._u_before.copy(), stepper.a, multipliers) if is_replaced else None
        stepper._fresh, stepper.error_v = False, stepper._error_v[0, : form.n_v]
        output = self._output(stepper, rows[:kept], times)
        stepper.form = form.with_discrete(updates.present(discrete).with_angles(self._angles[0].copy()))
        return HeldSteps(ends[: steps + 1], output, samples[:sampled], due[:sampled], bool(is_due))

    def _output(self, stepper: Radau, rows: Floats, times: Floats) -> list[StepOutput]:
        """The steps with output, from their rows."""
        form, updates, first = stepper.form, self.updates, 0
        found: list[StepOutput] = []
        discrete, n_v, n_w = form.system.discrete, form.n_v, form.system.budget.size
        *parts, numbers, angles = np.split(rows, self._cuts, axis=1)
        tables = updates.tables(discrete, numbers)
        for k, (head, u, q, v, work, power, a, Z, q1, v1, work1, powers, K) in enumerate(zip(*parts, strict=True)):
            start, end, h, count, starting, replaced = head.tolist()
            arrays = {name: table[k] for name, table in tables.items()}
            here = form.with_discrete(discrete.with_arrays(arrays | {ANGLES: angles[k]}))
            here.system.discrete_inputs = u
            old = q, v, stepper.start_rate(Z.reshape(3, n_v), h) if starting else a, work
            rates = stepper.power_at(here, u, q, v) if replaced else power
            new = q1, v1, work1
            step = stepper.dense(here, (start, h, end), (*old, rates), new, powers.reshape(3, n_w), K.reshape(3, n_v))
            last = first + int(count)
            found.append((here, step, times[first:last]))
            first = last
        return found

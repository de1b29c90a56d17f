"""The base of implicit steppers with error control: start, matrices, Newton's rate of convergence, filter, energy."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, cast

import numpy as np

from femb.base.options import GivenScales, Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.layout.protocols import LowRankTangent
from femb.numerics.compiler.bound_calls import Bound, BoundSequence, Program
from femb.numerics.kinematics import turned_too_far
from femb.numerics.threads import one_after_another
from femb.steppers.contract import BookedStatistics, turned_too_fast
from femb.steppers.dense import SolvedStep
from femb.steppers.low_pass import AGAIN, HELD_UP, PASSES, ErrorFilter, FilterStatistics, LowPass
from femb.steppers.replay import TakenStep
from femb.steppers.step_kernels import last_state, right_hand_side, shift_matrix
from femb.steppers.step_program import BoundSolution, Convergence, Stages, StepProgram
from femb.steppers.variable_step import EnergyWatch, StepEnergy, VariableStep
from femb.system.block_lu import DEPENDENT, Factorisation, Factors, Matrix
from femb.system.bound_equations import BoundMatrices
from femb.system.constraints import bound_projection

# Where matrices were formed: the discrete state, and as arrays inputs, q, v, accelerations and multipliers.
FormedAt = tuple[Any, ...]

# Of steps that are taken again: the tolerance of Newton's iteration, relative to the usual one; relative corrections up
# to which those that do not decrease are rounding, in each try; and the largest number of them.
GIVEN, AT_REST, MOST = 1e-9, (1e-12, 1e-12, 1e-11, 1e-10), 60


class ImplicitStepper(VariableStep[ImplicitFormulation, float]):
    """A stepper that solves its equations by Newton's iteration with matrices of one state, reused over steps.

    The arrays of its steps, and the stages that are bound to them, are allocated at the start of a smooth interval.
    ``_solve`` writes the start of a step into them, prepares the matrices and runs the stages; ``_error`` judges the
    estimate, ``_reached`` takes the end, and ``_accept`` goes there. A solved step is the norm of its error.

    ``_states`` : inputs (s, n_u), coordinates, velocities, accelerations and multipliers at the s states of a step.
    ``_start`` : q (1, n_q) and v (1, n_v) at its start. ``_length`` (1,) : s.
    """

    # where accepted steps are noted with their stages, if at all
    solved: list[SolvedStep] | None = None
    # whether the step length after a jump is estimated anew; if not, it is at most the one planned before
    estimates_after_jump = True
    # of Newton's iteration, as a fraction of that of the step
    tolerance: float
    # the number of states at which the equations of a step are evaluated
    states: ClassVar[int] = 1
    # the part by which the length of a step, or the shift of its method, may differ from that of the factors
    same_length: ClassVar[float] = 0.0
    # factors of the matrices of a step, and the solver of the kernels that form them
    _factors: Sequence[Factors] = ()
    _bound_to: object = None
    # the batches and sizes for which arrays are allocated
    _allocated_for: object = None
    _sizes: tuple[int, ...] = ()
    _start: tuple[Floats, Floats]
    _length: Floats
    _program: StepProgram
    memory = (
        *VariableStep.memory,
        *("_exact", "_low_pass"),
        *("t", "q", "v", "work", "a", "multipliers", "power", "_u"),
        *("state_of_matrices", "_factored_for", "_fresh", "_too_old"),
    )

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.q, self.v, self.work = form.q0.copy(), form.v0.copy(), form.system.budget.none()
        self._matrices: tuple[Matrix, Matrix, Matrix] | None = None
        self._formed_at: FormedAt = ()
        # how the matrices of a step are factorised, which rows of constraints count as dependent
        self._each, self._dependent = one_after_another, DEPENDENT
        # the times (s) of the states of a step
        self._times: Sequence[float] = ()
        # whether the next step forms matrices anew, since those of the last one served it badly
        self._too_old = False
        # mu or h of the factorisation, zero for none; and whether the matrices are of the present step
        self._factored_for, self._fresh = 0.0, False
        # the coordinates at which matrices were formed, as kernels read them
        self._matrices_q = np.empty(form.n_q)
        self._bound_matrices: BoundMatrices | None = None
        # whether the error estimate is above the tolerance before it is filtered, and its value then
        self._hidden, self._unfiltered = False, np.zeros(form.n_v)
        self._initial_form = form
        # the part of the error that controls the steps, and whether Newton's iteration takes exact tangents
        self._low_pass: LowPass | None = None
        self._exact = False
        # energy (J) that a step takes away, where that is booked
        self._lost, self._step_energy = 0.0, StepEnergy()
        if isinstance(run.atol, GivenScales):
            self.statistics = BookedStatistics()
        if run.filter is not None and "filter" in run.stepper.options:
            self._low_pass = LowPass(run.filter, self.scale_q)
            self.statistics = FilterStatistics(filter=run.filter)

    @cached_property
    def _energy(self) -> EnergyWatch:
        """Relative to the start of the run; many runs have no step that needs it."""
        return EnergyWatch(self._initial_form, self.run)

    def _evaluate(self) -> None:
        """Inputs, accelerations, multipliers and power at the present state."""
        self._u = self.form.inputs_at(self.t, self.q, self.v)
        self.a, self.multipliers = self.form.forward(self._u, self.q, self.v)
        self.power = self._power(self._u, self.q, self.v, self.multipliers)

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from a state within the last step; a filter takes what is faster out of its velocities."""
        if self._low_pass is not None and isinstance(self.statistics, FilterStatistics):
            v, lost = self._low_pass.after_impact(self.form, t, q, v)
            self.statistics.damped += lost
            work = self.form.system.budget.jumped(work, -lost)
        self._set(t, q, v, work)

    def after_impact(self, form: Formulation, t: float, q: Floats, v: Floats) -> Floats:
        return v if self._low_pass is None else self._low_pass.quieted(form, t, q, v, 1.0)[0]

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart at a contact, whose impact is followed; when it is over, a filter damps what it has excited."""
        if self._low_pass is not None:
            self._low_pass.damp_from(t)
        self._set(t, q, v, work)

    def move(self, t: float, q: Floats, v: Floats, h: float) -> None:
        """Restart at another state; a filter goes on to damp what an impact before may have excited."""
        if self._low_pass is not None:
            self._low_pass.damp_from(t)
        self._set(t, q, v, self.work, h)

    def _set(self, t: float, q: Floats, v: Floats, work: Floats, h: float = 0.0) -> None:
        """Restart at a state with a step of h (s), of zero with an estimated one."""
        self.t, self.q, self.v, self.work = t, q, v, work
        if h or self.estimates_after_jump:
            self.h = h
        self._matrices, self._factored_for = None, 0.0
        self.restart()

    def _damped(self, end: float, q: Floats, v: Floats, work: Floats) -> tuple[Floats, Floats]:
        """Velocities and work at the end of a step after the filter has damped what is faster than it; in a run to an
        accuracy, the work has what the step itself has damped."""
        if self._low_pass is None:
            return v, self._booked(q, v, work) if isinstance(self.statistics, BookedStatistics) else work
        v, self._low_pass.lost = self._low_pass.damped(self.form, self.t, end, q, v)
        return v, self.form.system.budget.jumped(work, -self._low_pass.lost)

    def _booked(self, q: Floats, v: Floats, work: Floats) -> Floats:
        """Work at the end of a step with the energy that the step took away, which ``_lost`` is then."""
        self._lost = -self._step_energy.gained(self, q, v, work)[0]
        return self.form.system.budget.jumped(work, -self._lost)

    def _power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> Floats:
        rates: Floats = self.form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
        return rates

    def _size_and_change(self, rate: Floats, a: Floats) -> tuple[float, float]:
        """Norms of the state, at least one, and of its rates q' and v'."""
        zero = 0.0 * self.q, 0.0 * self.v
        return max(self._norm(self.q, self.v, *zero), 1.0), self._norm(rate, a, *zero)

    def _form_matrices(self, u: Floats, q: Floats, v: Floats) -> tuple[Matrix, Matrix, Matrix]:
        """Form the matrices M, C, K at a state; they are not factorised yet."""
        form = self.form
        self._matrices, self._factored_for = None, 0.0
        np.concatenate((u, q, v, self.a, self.multipliers), out=self._formed)
        self._formed_at = form.system.discrete, *self._formed_arrays
        if self._exact and form is form.system:
            matrices = form.system.exact_matrices(u, q, v, self.a, self.multipliers)
        elif self._bound_matrices is not None:
            self._form()
            matrices = self._bound_matrices.arrays
        else:
            matrices = form.matrices(u, q, v, self.multipliers)
        # another tuple tells that the arrays have other entries
        self._matrices, self._fresh = (*matrices,), True
        self.statistics.jacobians += 1
        return self._matrices

    def _bind_matrices(self) -> None:
        """Allocate the state at which matrices are formed, and bind the kernels that form them to it, if all have."""
        form = self.form
        sizes = len(self._u), form.n_q, form.n_v, form.n_v, form.n_c
        self._matrices, self._formed = None, np.zeros(sum(sizes))
        self._formed_arrays = tuple(np.split(self._formed, np.cumsum(sizes)[:-1]))
        u, q, v, _, multipliers = (each[None] for each in self._formed_arrays)
        self._matrices_q, system = q[0], form.system
        self._bound_matrices = system.bound_matrices(u, q, v, multipliers) if form is system else None
        self._form = Program([] if self._bound_matrices is None else [self._bound_matrices])

    @property
    def state_of_matrices(self) -> FormedAt:
        """The state at which the present matrices were formed; empty without any."""
        return self._formed_at if self._matrices is not None else ()

    @state_of_matrices.setter
    def state_of_matrices(self, value: FormedAt) -> None:
        self._formed_at, self._matrices = value, None

    def recalled(self) -> None:
        """Allocate the arrays of steps, and form and factorise the matrices again where they were formed, so that steps
        go on exactly as before."""
        self._allocated_for = None
        self._allocate()
        of_state = self.form, self.a, self.multipliers
        of_matrices = self._factored_for, self._fresh, replace(self.statistics)
        if self._formed_at:
            discrete, u, q, v, self.a, self.multipliers = self._formed_at
            self.form = self.form.with_discrete(DiscreteState(discrete))
            self._form_matrices(u, q, v)
            if of_matrices[0] > 0.0:
                self._factorise(of_matrices[0])
        self.form, self.a, self.multipliers = of_state
        self._factored_for, self._fresh, self.statistics = of_matrices

    # The stages of a step

    def _allocate(self) -> None:
        """Allocate the arrays of steps, whose sizes depend on the discrete state; those that fit are kept."""
        form, count = self.form, self.states
        n_q, n_v, n_c, frames = form.n_q, form.n_v, form.n_c, len(form.corotated_frames[1])
        sizes = len(self._u), n_q, n_v, n_v, n_c, frames
        if self._allocated_for is form.system.batches and sizes == self._sizes:
            return
        self._allocated_for, self._sizes = form.system.batches, sizes
        # the states, rotations of frames to them since the matrices were formed, and rates of the budget
        self._states = tuple(np.empty((count, size)) for size in sizes[:-1])
        self._rotations, self._powers = np.empty((count, frames, 4)), np.empty((count, form.system.budget.size))
        # the error estimate, in the first n_v of its velocities; mu and reach of the factors
        self._error_q, self._error_v, self._weights = np.empty((1, n_q)), np.empty((1, n_v + n_c)), np.empty(2)
        # that of velocities, and its norm, before it is filtered
        self._unfiltered, self._raw, self._factors = np.zeros(n_v), np.zeros(1), ()
        # the kernels that form factors and project by them, once these are known
        self._refactor, self._projection = Program([]), BoundSequence([])
        # the end of a step on the constraints
        self._reached_state = np.empty((1, n_q)), np.empty((1, n_v))
        self._copy_end = Bound(last_state, form.coordinates[2], *self._states[1:3], *self._reached_state)
        if self._low_pass:
            self._low_pass.filter = self._low_pass.of = None
        self._bind_matrices()
        self._allocate_start()
        at_ends = self._start[1], self._reached_state[1]
        self._turned = Bound(turned_too_far, form.turning, self._length, *at_ends, check=self._check_turns)
        self._program = StepProgram(self._bound_stages())

    @abstractmethod
    def _allocate_start(self) -> None:
        """Allocate what a step knows before its iteration."""

    @abstractmethod
    def _bound_stages(self) -> Stages:
        """The stages of a step, bound to its arrays."""

    @abstractmethod
    def _solutions(self) -> Sequence[tuple[BoundSolution, int]]:
        """The solutions of a step, and of which of its factors each is one."""

    @abstractmethod
    def _shifts(self, length: float) -> Sequence[tuple[complex, complex]]:
        """Weights mu of M and reach of K in the matrices of a step of this length or shift; those of errors first."""

    @abstractmethod
    def _bound_shift(self, matrices: tuple[Floats, Floats, Floats], factors: Sequence[Factorisation]) -> Bound:
        """The kernel that forms these matrices in the arrays of their factors."""

    @abstractmethod
    def _state_of_filter(self) -> tuple[Floats, Floats]:
        """Arrays of the coordinates at which ``run.filter`` takes an error, and of the rotations of frames to them."""

    @abstractmethod
    def _multiply_by(self, matrices: tuple[Matrix, Matrix, Matrix]) -> None:
        """Let errors be estimated with these matrices."""

    def _bound_equations(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, switched: bool = False
    ) -> tuple[Callable[[], object], Floats]:
        """The equations at states in given arrays, as a call, and the array of its result; see ``BoundEquations``."""
        form = self.form
        if form is form.system:
            bound = form.system.bound_equations(u, q, v, a, multipliers, switched=switched)
            return bound, bound.result
        result = np.empty((len(u), form.n_v + form.n_c))
        return (lambda: np.copyto(result, self.form.equations(u, q, v, a, multipliers))), result

    def _bound_filter(self, weights: Floats) -> ErrorFilter:
        scales, errors = (self.scale_q, self.scale_v), (self._error_q, self._error_v)
        return ErrorFilter(self.form, scales, weights, *self._state_of_filter(), self._start, *errors)

    def _bound_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, out: Floats) -> BoundSequence:
        """The call that sets out to the rates of the budget at states in given arrays."""
        system = self.form.system
        if self.form is system:
            return system.budget.bound_rates(system, u, q, v, multipliers, out)
        return BoundSequence([lambda: np.copyto(out, self.form.budget_rates(u, q, v, multipliers))])

    def _inputs_of_state(self) -> list[Callable[[], None]]:
        """The call that evaluates the inputs, where they depend on the state."""
        return [self._set_inputs] if self.form.inputs_of_state else []

    def _set_inputs(self) -> None:
        u, q, v, *_ = self._states
        for k, time in enumerate(self._times):
            u[k] = self.form.inputs_at(time, q[k], v[k])

    def _tried(
        self, times: Sequence[float], newton: Convergence, most: int, renewing: int = 0, repeats: int = 0
    ) -> float | None:
        """The norm of the error if the iteration of a prepared step with states at times (s) converges, else None.

        Raises TrialError and SingularError. newton, most, renewing, repeats : see ``StepProgram.run``.
        """
        form, program, (u, q, v, *_) = self.form, self._program, self._states
        self._times = times
        if self.given is not None:
            # to rounding, in as many iterations as that takes
            rounding = AT_REST[self._tries] / self.run.rtol
            newton, most = Convergence(GIVEN * self.tolerance, inf, 0.0, 0.0, inf, 0.0, rounding), MOST
        if form is form.system and not form.inputs_of_state:
            form.system.inputs_along(times, self.q, self.v, u)
        elif not form.inputs_of_state:
            for k, t in enumerate(times):
                u[k] = form.inputs_at(t, self.q, self.v)
        try:
            norm = program.run(newton, most, renewing, repeats)
        finally:
            self.statistics.evaluations += self.states * program.done
            self.statistics.newton_iterations += program.done
        if norm is not None and form.singular_batches:
            form.check_singularities(self.t, np.vstack([self.q, q]), np.vstack([self.v, v]))
        return norm

    def _take_apart(self) -> None:
        """Take up the calls of the stages anew, of which some have been replaced."""
        self._program.take_apart()

    def _check_turns(self, place: int) -> None:
        if place >= 0 and self.given is None:
            raise TrialError(turned_too_fast(self.form, place))

    def _project_anew(self, result: int | None = None) -> None:
        """Project the end of a step by other factors, unless the kernel has returned -1. Raises TrialError."""
        if result != -1:
            # matrices of a state too far away
            self._too_old = self._too_old or result is not None
            self._copy_end()
            q, v = (each[0] for each in self._reached_state)
            q[:], v[:] = self.form.projected(self._states[0][-1], q.copy(), v.copy(), self._factors[0])

    @property
    def has_tangent(self) -> bool:
        """Whether ``femb.steppers.step_tangent`` has the derivatives of steps of the method with this system."""
        system = self.form.system
        if self.form is not system or self._low_pass or isinstance(self.statistics, BookedStatistics):
            return False
        if system.inputs_of_state or system.has_gaps or system.singular_batches:
            return False
        return not system.pattern.net and not any(isinstance(batch, LowRankTangent) for batch in system.batches)

    # Factors

    def _prepare(self, length: float) -> None:
        """Form and factorise the matrices of a step, where those of the steps before do not serve it."""
        if self._too_old and not self._fresh:
            self._matrices, self._too_old = None, False
        self._factorise(length)

    def _factorise(self, length: float) -> None:
        """Factorise the matrices of a step, if that is to be done."""
        matrices = self._matrices or self._form_matrices(self._u, self.q, self.v)
        if bool(self._factors) and abs(length - self._factored_for) <= self.same_length * self._factored_for:
            return
        self._factored_for = 0.0  # in case of an error
        shifts = self._shifts(length)
        self._weights[:] = shifts[0][0].real, shifts[0][1].real
        if self._refactor.calls and self._bound_to is not self.form.solver:
            # other rows of constraints are excluded
            self._bind_factors()
        if self._refactor.calls and not self._exact and self._dependent == DEPENDENT:
            self._refactor()
        else:
            earlier = self._factors or (None,) * len(shifts)
            parts = list(zip(shifts, earlier, strict=True))
            self._factors = self._each([partial(self._factors_for, mu, old, reach) for (mu, reach), old in parts])
            for solution, number in self._solutions():
                solution.by(self._factors[number])
            self._multiply_by(matrices)
            kept = zip(self._factors, earlier, strict=True)
            if not all(new is old or (type(new) is type(old) and type(new) is not Factorisation) for new, old in kept):
                self._bind_factors()
        self._factored_for = length
        self.statistics.factorizations += len(self._factors)

    def _factors_for(self, mu: complex, earlier: Factors | None, reach: complex) -> Factors:
        """Factors of mu M + C + reach K, in the arrays of earlier ones of blocks, to which kernels are bound."""
        matrices, solver = self._matrices, cast(Any, self.form.solver)
        assert matrices is not None
        if type(earlier) is Factorisation and type(matrices[1]) is np.ndarray:
            solver.refactorise(earlier, matrices, mu, self._dependent, reach)
            return earlier
        factors: Factors = solver.factorise(solver.shifted(*matrices, mu, reach), self._dependent)
        return factors

    def _bind_factors(self) -> None:
        """Bind the kernels that factorise anew in the arrays of the factors, and project by them, if all have."""
        form, system, solver = self.form, self.form.system, self.form.system.solver
        blocks = [each for each in self._factors if isinstance(each, Factorisation)]
        self._bound_to, self._refactor, self._projection.calls = form.solver, Program([]), []
        if len(blocks) < len(self._factors):
            blocks = []
        if blocks and self._bound_matrices is not None and self._each is one_after_another:
            shift = self._bound_shift(self._bound_matrices.arrays, blocks)
            self._refactor = Program([shift, *(each.bound(solver) for each in blocks)])
        if blocks and form is system and system.n_c:
            ends = self._states[0][-1:], *self._reached_state
            self._projection.calls = [bound_projection(system, *ends, blocks[0], self._project_anew)]
        elif form is not system or system.n_c:
            self._projection.calls = [self._project_anew]
        self._take_apart()

    # Errors

    def _kept_norm(self, low_pass: LowPass) -> float:
        """Norm of the part of the error estimate that ``run.filter`` keeps, in place.

        Damping is asked for, and the energy of a step need not balance, unless an impact may take part in it.
        """
        self._hidden = self._hidden and (self.form.system.has_gaps or self.form.system.switches)
        pass_on = self._passes(low_pass)
        least = np.inf
        for _ in range(PASSES):
            norm = pass_on()
            # a negative stiffness, as under compression, amplifies an error
            if norm < least:
                least, low_pass.kept = norm, self._error_q[0].copy()
                self.error_v = self._error_v[0, : self.form.n_v].copy()
        for _ in range(AGAIN):
            norm = pass_on()
        if norm < HELD_UP * least:
            low_pass.damp_from(self.t)
        return least

    def _passes(self, low_pass: LowPass) -> ErrorFilter:
        """The filter of a run at the present step."""
        matrices, solver = self._matrices, cast(Any, self.form.solver)
        assert matrices is not None
        if low_pass.filter is None:
            weights = np.array([low_pass.mu, 1.0 / low_pass.mu])
            low_pass.filter = self._bound_filter(weights)
        if low_pass.of is not matrices:
            low_pass.of, factors = matrices, solver.factorise(solver.shifted(*matrices, low_pass.mu))
            low_pass.filter.solution.by(factors)
            low_pass.filter.of(matrices, solver, factors)
        return low_pass.filter

    def _complete(self, trial: float, h: float, end: float) -> bool:
        q, v, work = self._reached(trial, h, end)
        if self._hidden and not self._energy.is_balanced(self, q, v, work, self._unfiltered):
            return False
        if self._low_pass is not None and isinstance(self.statistics, FilterStatistics) and self.given is None:
            self.statistics.add(self._low_pass)
        if isinstance(self.statistics, BookedStatistics):
            self.statistics.damped += self._lost
        return True

    def _end_of_trial(self) -> tuple[Floats, Floats]:
        q, v = self._reached_state
        return q[0], v[0]

    def _follow(self, h: float, one: TakenStep) -> None:
        if self._low_pass is not None:
            self._low_pass.until = inf if one.damps else -inf

    def _damps(self) -> bool:
        return self._low_pass is not None and self.t < self._low_pass.until

    @abstractmethod
    def _reached(self, trial: float, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        """q (n_q,), v (n_v,) and work (J) at the end of a solved step, on the constraints. Raises TrialError."""


class OneStateStepper(ImplicitStepper):
    """An implicit stepper with Newton's iteration on the equations of one state, that at the end of the step."""

    @abstractmethod
    def _kernels(self) -> tuple[list[Bound], Bound, list[Bound], list[Bound]]:
        """The kernels of the state and the rotations before the first iteration; of a correction, which returns its
        size; of the error, none without an estimate; and of what follows the projection of the end."""

    def _bound_stages(self) -> Stages:
        form, (u, q, v, a, multipliers) = self.form, self._states
        self._x = np.empty(form.n_v + form.n_c)
        self._solution, self._filter = BoundSolution(self._x), self._bound_filter(self._weights)
        self._pass_on = Program([self._filter])
        equations, result = self._bound_equations(u, q, v, a, multipliers)
        start, finish, errors, ends = self._kernels()
        turned = Bound(right_hand_side, form.corotated_frames[1], self._rotations, result, self._x)
        return Stages(
            start,
            equations=[*self._inputs_of_state(), equations],
            correction=[turned, self._solution, finish],
            renew=[self._renew],
            errors=errors,
            # with ``run.filter``, Python passes the error on
            size=[] if self._low_pass or not errors else [self._filter],
            end=[
                self._copy_end,
                self._projection,
                self._turned,
                self._bound_rates(u, *self._reached_state, multipliers, self._powers),
                *ends,
            ],
        )

    def _renew(self) -> None:
        """Form the matrices anew at the present state of an iteration; only some methods do."""

    def _solutions(self) -> Sequence[tuple[BoundSolution, int]]:
        return (self._solution, 0), (self._filter.solution, 0)

    def _multiply_by(self, matrices: tuple[Matrix, Matrix, Matrix]) -> None:
        self._filter.of(matrices, self.form.solver, self._factors[0])

    def _take_apart(self) -> None:
        super()._take_apart()
        self._pass_on.take_apart()

    def _bound_shift(self, matrices: tuple[Floats, Floats, Floats], factors: Sequence[Factorisation]) -> Bound:
        return Bound(shift_matrix, self._weights, *matrices, factors[0].data)

    def _state_of_filter(self) -> tuple[Floats, Floats]:
        return self._states[1], self._rotations

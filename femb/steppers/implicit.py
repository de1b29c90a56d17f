"""The base of implicit steppers with error control: start, matrices, Newton's rate of convergence, filter, energy."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, expm1, inf, pi
from typing import Any, ClassVar, cast

import numpy as np

from femb.base.options import Run
from femb.base.types import ErrorScale, Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.layout.discrete import DiscreteState
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.steppers.contract import Statistics
from femb.steppers.radau_kernels import CONVERGED, frame_rotations, right_hand_side, rotate_frames, rotate_frames_back
from femb.steppers.step_program import NOTHING, BoundSolution, Call, Convergence, StepProgram
from femb.steppers.variable_step import EnergyWatch, T, VariableStep
from femb.system.block_lu import DEPENDENT, Factorisation, Factors, Matrix, Solver
from femb.system.velocity_coordinates import BoundMatrices

# Vibrations above a frequency are damped, not followed: the part of an error estimate that controls the steps.
#
# An implicit method damps vibrations that are faster than its steps. Undamped, small ones nevertheless keep the steps
# short, because the error estimate sees them as long as the steps resolve them. With ``run.filter``, a frequency f in
# Hz,
# the estimate e of coordinates and velocities passes four times through a step of length 1/mu of the linear equations,
#
#     mu (x - e_q) = H y,    mu M (y - e_v) + C y + K x = 0,    mu = 2 pi f,
#
# which weights the error of an undamped vibration of frequency g by 1/(1 + (g/f)^2)^4, and leaves that of rigid
# motions.
#
# Vibrations far above the tolerances, as those that an impact excites, would nevertheless be followed up to several
# times f, where the weight is small enough. They are taken out of the velocities by ``LowPass.quieted``: at once at an
# impact, and within a few periods of f where they hold up the steps, by their error or because Newton's iteration
# fails. Source: docs/theory/integration.md, section 9.

# How often an estimate passes the filter, and how often it passes it again to tell which vibrations are left in it.
PASSES, AGAIN = 4, 8
# An estimate that falls below this part when it passes again is one of vibrations above nine tenths of the frequency.
HELD_UP = 0.01
# Degree of the polynomial that tells the fast part of velocities, and the order of its zero at rigid motions.
DEGREE, ORDER = 8, 5
# Its coefficients from the power ORDER on: the chance of at least ORDER successes in DEGREE trials.
FAST = [(-1) ** (k - ORDER) * comb(k - 1, ORDER - 1) * comb(DEGREE, k) for k in range(ORDER, DEGREE + 1)]
# Rate at which fast velocities are damped, relative to 2 pi f: twice a vibration's own, and a little more.
DAMPING_RATE = 1.5
# Periods of f over which they are damped: after an impact, and after a step that they held up.
PERIODS = 5.0
# Number of components of a position in the groups of an ErrorScale.
POSITION = 3


@dataclass
class FilterStatistics(Statistics):
    """Counts of a run with a filter.

    filter : Hz. kept_error : sum over the steps of the largest local error of a position that the filter kept, m: the
    order of magnitude of the error of the motion, as long as errors do not grow by themselves; zero in coordinates
    without positions. damped : J, the energy of the vibrations that were taken out of the velocities; it is part of
    the work, and that of vibrations which only the steps damp is in the energy error.
    """

    filter: float = 0.0
    kept_error: float = 0.0
    damped: float = 0.0

    def add(self, low_pass: "LowPass") -> None:
        """Count an accepted step."""
        errors = low_pass.kept[low_pass.points]
        self.damped += low_pass.lost
        self.kept_error += float(np.sqrt(np.max(np.sum(errors**2, axis=1), initial=0.0)))


class LowPass:
    """The filter of a run: its factors; ``kept``, the estimate of q (n_q,) after it in the last step tried; and
    ``points`` (k, 3), the indices of positions in q. until : s, fast vibrations are damped in steps up to there. lost :
    their energy (J) in the last step."""

    memory: ClassVar[tuple[str, ...]] = ("until",)

    def __init__(self, frequency: float, scale_q: ErrorScale) -> None:
        self.frequency, self.mu, self.until = frequency, 2.0 * pi * frequency, -inf
        first, size, _, _ = scale_q
        self.points = first[size == POSITION][:, None] + np.arange(POSITION)
        self.kept: Floats = np.zeros(0)
        self.lost = 0.0
        self._of: object = None
        self._factors: Factors | None = None

    def factors(self, solver: Solver, matrices: tuple[Matrix, Matrix, Matrix]) -> Factors:
        """Factors of the step of length 1/mu, formed anew only for new matrices."""
        if self._factors is None or self._of is not matrices:
            self._factors, self._of = solver.factorise(solver.shifted(*matrices, self.mu)), matrices
        return self._factors

    def damp_from(self, t: float) -> None:
        """Damp fast vibrations for some periods of the frequency from the time t (s) on."""
        self.until = t + PERIODS / self.frequency

    def after_impact(self, form: Formulation, t: float, q: Floats, v: Floats) -> tuple[Floats, float]:
        """Velocities without the fast vibrations that an impact has excited, and their energy (J)."""
        self.damp_from(t)
        return self.quieted(form, t, q, v, 1.0)

    def damped(self, form: Formulation, start: float, end: float, q: Floats, v: Floats) -> tuple[Floats, float]:
        """Velocities at the end of a step (s) after the damping of fast vibrations in it, and the energy (J) that they
        lost. An impact goes on as long as a gap is closed; a function of the user may be one."""
        system = form.system
        if start >= self.until or any(input_.differentiated for input_ in system.inputs):
            return v, 0.0
        if system.has_gaps and np.any(system.gaps(*form.to_system(q[None], v[None]))[0] < 0.0):
            return v, 0.0
        return self.quieted(form, end, q, v, -expm1(-DAMPING_RATE * self.mu * (end - start)))

    def quieted(self, form: Formulation, t: float, q: Floats, v: Floats, share: float) -> tuple[Floats, float]:
        """Velocities (n_v,) at a state on the constraints, less a share of the vibrations above the frequency; and the
        energy (J) that they lose.

        Momentum and the rates of constraints are kept. The stiffness is that of members without stresses; velocities
        stay as they are where their kinetic energy would grow.

        Source: docs/theory/integration.md, equations (9) and (10).
        """
        system = form.system
        Q, V = (states[0] for states in form.to_system(q[None].copy(), v[None].copy()))
        u = system.inputs_at(t, Q, V)
        damping, stiffness, rows = np.zeros((3, system.pattern.size))
        still = np.zeros(system.n_v)
        for batch in system.batches:
            # stresses of unresolved axial vibrations would make a slow motion of a slender member look fast
            unstressed = batch.strained(Q, 0.0 * batch.own_strains(u, Q, still))
            unstressed.tangent(u, Q, still, still, damping, stiffness)
        system.constraint_set.jacobian(u, Q, rows)
        data = system.solver.shifted(system.mass_data(Q), rows, stiffness, 1j * self.mu, 1.0 / self.mu + 0.0j)
        factors = system.solver.factorise(data)

        def part(x: Floats) -> Floats:
            y = system.solver.multiply(stiffness, np.concatenate([x, np.zeros(system.n_c)])) / (self.mu + 0.0j)
            y[system.n_v :] = 0.0
            factors.solve(y)
            return y.real[: system.n_v]

        power = V
        for _ in range(ORDER):
            power = part(power)
        fast = FAST[-1] * power
        for coefficient in FAST[-2::-1]:
            fast = part(fast) + coefficient * power
        fast[system.layout.first_order_v] = 0.0
        slower = V - share * fast
        before, after = system.energy_momentum(np.stack([Q, Q]), np.stack([V, slower]))[:, 0]
        if not after <= before:
            return v, 0.0
        return form.from_system(Q, slower)[1], float(before - after)


# Where matrices were formed: the discrete state, and as arrays inputs, q, v, accelerations and multipliers.
FormedAt = tuple[Any, ...]


class ImplicitStepper(VariableStep[ImplicitFormulation, T]):
    """A stepper that solves its equations by Newton's iteration with matrices of one state, reused over steps."""

    # whether the step length after a jump is estimated anew; if not, it is at most the one planned before
    estimates_after_jump = True
    memory = (
        *VariableStep.memory,
        *("_exact", "_low_pass"),
        *("t", "q", "v", "work", "a", "multipliers", "power", "_u"),
        *("state_of_matrices", "_factored_for", "_fresh"),
    )

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.q, self.v, self.work = form.q0.copy(), form.v0.copy(), form.system.budget.none()
        self._matrices: tuple[Matrix, Matrix, Matrix] | None = None
        self._formed_at: FormedAt = ()
        self._factored: Factors | None = None
        # mu or h of the factorisation, zero for none; and whether the matrices are of the present step
        self._factored_for, self._fresh = 0.0, False
        # what kernels read of a step: its length (s) or the shift of the method (1/s), and where matrices were formed
        self._length, self._matrices_q = np.empty(1), np.empty(form.n_q)
        self._bound_matrices: BoundMatrices | None = None
        # whether the error estimate is above the tolerance before it is filtered, and its value then
        self._hidden, self._unfiltered = False, np.zeros(form.n_v)
        self._initial_form = form
        # the part of the error that controls the steps, and whether Newton's iteration takes exact tangents
        self._low_pass: LowPass | None = None
        self._exact = False
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

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart at a contact, whose impact is followed; when it is over, a filter damps what it has excited."""
        if self._low_pass is not None:
            self._low_pass.damp_from(t)
        self._set(t, q, v, work)

    def _set(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        self.t, self.q, self.v, self.work = t, q, v, work
        if self.estimates_after_jump:
            self.h = 0.0
        self._matrices, self._factored_for = None, 0.0
        self.restart()

    def _damped(self, end: float, q: Floats, v: Floats, work: Floats) -> tuple[Floats, Floats]:
        """Velocities and work at the end of a step after the filter has damped what is faster than it."""
        if self._low_pass is None:
            return v, work
        v, self._low_pass.lost = self._low_pass.damped(self.form, self.t, end, q, v)
        return v, self.form.system.budget.jumped(work, -self._low_pass.lost)

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
        self._form_at(u, q, v)
        if self._exact and form is form.system:
            matrices = form.system.exact_matrices(u, q, v, self.a, self.multipliers)
        elif self._bound_matrices is not None:
            self._bound_matrices()
            matrices = self._bound_matrices.arrays
        else:
            matrices = form.matrices(u, q, v, self.multipliers)
        return self._have_formed(matrices)

    def _bind_matrices(self) -> None:
        """Allocate the state at which matrices are formed, and bind the kernels that form them to it, if all have."""
        form = self.form
        sizes = len(self._u), form.n_q, form.n_v, form.n_v, form.n_c
        self._matrices, self._formed = None, np.zeros(sum(sizes))
        self._formed_arrays = tuple(np.split(self._formed, np.cumsum(sizes)[:-1]))
        u, q, v, _, multipliers = (each[None] for each in self._formed_arrays)
        self._matrices_q, system = q[0], form.system
        self._bound_matrices = system.bound_matrices(u, q, v, multipliers) if form is system else None

    def _form_at(self, u: Floats, q: Floats, v: Floats) -> None:
        """Let matrices be formed at this state."""
        self._matrices, self._factored_for = None, 0.0
        np.concatenate((u, q, v, self.a, self.multipliers), out=self._formed)
        self._formed_at = self.form.system.discrete, *self._formed_arrays

    def _have_formed(self, matrices: tuple[Matrix, Matrix, Matrix]) -> tuple[Matrix, Matrix, Matrix]:
        """Take matrices that were formed at the state of ``_form_at``."""
        # another tuple tells that the arrays have other entries
        self._matrices, self._fresh = (*matrices,), True
        self.statistics.jacobians += 1
        return self._matrices

    @property
    def state_of_matrices(self) -> FormedAt:
        """The state at which the present matrices were formed; empty without any."""
        return self._formed_at if self._matrices is not None else ()

    @state_of_matrices.setter
    def state_of_matrices(self, value: FormedAt) -> None:
        self._formed_at, self._matrices = value, None

    def recalled(self) -> None:
        """Form and factorise the matrices again where they were formed, so that steps go on exactly as before."""
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

    def _factors_for(
        self, mu: complex, earlier: Factors | None, dependent: float = DEPENDENT, reach: float | None = None
    ) -> Factors:
        """Factors of mu M + C + reach K, in the arrays of earlier ones of blocks, to which kernels are bound."""
        matrices, solver = self._matrices, cast(Any, self.form.solver)
        assert matrices is not None
        if type(earlier) is Factorisation and type(matrices[1]) is np.ndarray:
            solver.refactorise(earlier, matrices, mu, dependent, reach)
            return earlier
        factors: Factors = solver.factorise(solver.shifted(*matrices, mu, reach), dependent)
        return factors

    def _equations_of(
        self, set_inputs: Call, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, switched: bool = False
    ) -> tuple[Call, Floats]:
        """The equations at states in given arrays, as a call, and the array of its result; see ``BoundEquations``.

        set_inputs : called before, where an input depends on the state.
        """
        form = self.form
        if form is form.system:
            bound = form.system.bound_equations(u, q, v, a, multipliers, switched=switched)
            return BoundSequence([set_inputs, bound]) if form.inputs_of_state else bound, bound.result
        result = np.empty((len(u), form.n_v + form.n_c))

        def evaluate() -> None:
            if form.inputs_of_state:
                set_inputs()
            result[:] = self.form.equations(u, q, v, a, multipliers)

        return evaluate, result

    @abstractmethod
    def _factorise(self, length: float) -> None:
        """Factorise the iteration matrix for the step length or shift of a method, if that is to be done."""

    def _filtered(
        self,
        mu: float,
        error_q: Floats,
        error_v: Floats,
        q: Floats,
        rotations: Floats | None = None,
        factors: Factors | None = None,
        reach: float | None = None,
    ) -> tuple[Floats, Floats]:
        """An error filtered by a step to q: x, y with x = error_q + reach H y, mu M (y - error_v) + C y + K x = 0.

        rotations (F, 4) : of frames since the matrices were formed; None for no rotation. factors : of the iteration
        matrix for mu, by default the present one. reach : s, the weight of K in that matrix, by default 1/mu.
        """
        form, n_v = self.form, self.form.n_v
        mass, _, stiffness = self._matrices  # type: ignore[misc]
        free = np.zeros(form.n_c)
        in_v = np.concatenate([error_v, free])
        in_q = np.concatenate([form.tangents(q, error_q[None])[0], free])
        if rotations is not None:
            rotate_frames_back(rotations, form.corotated_frames[1], in_v)
            rotate_frames_back(rotations, form.corotated_frames[1], in_q)
        y = mu * form.solver.multiply(mass, in_v) - form.solver.multiply(stiffness, in_q)
        y[n_v:] = 0.0
        y = (factors or self._factored).solve(y)[:n_v]  # type: ignore[union-attr]
        if rotations is not None:
            rotate_frames(rotations, form.corotated_frames[1], y)
        return error_q + form.rates(q[None], y[None])[0] * (1.0 / mu if reach is None else reach), y

    def _kept_norm(self, low_pass: LowPass, error_q: Floats, error_v: Floats, rotations: Floats | None = None) -> float:
        """Norm of the part of an error estimate at the present state that ``run.filter`` keeps.

        Damping is asked for, and the energy of a step need not balance, unless an impact may take part in it.
        """
        self._hidden = self._hidden and (self.form.system.has_gaps or self.form.system.switches)
        factors = low_pass.factors(self.form.solver, self._matrices)  # type: ignore[arg-type]
        least = np.inf
        for _ in range(PASSES):
            error_q, error_v = self._filtered(low_pass.mu, error_q, error_v, self.q, rotations, factors)
            norm = self._norm(error_q, error_v, self.q, self.v)
            # a negative stiffness, as under compression, amplifies an error
            if norm < least:
                least, low_pass.kept, self.error_v = norm, error_q, error_v
        for _ in range(AGAIN):
            error_q, error_v = self._filtered(low_pass.mu, error_q, error_v, self.q, rotations, factors)
        if self._norm(error_q, error_v, self.q, self.v) < HELD_UP * least:
            low_pass.damp_from(self.t)
        return least

    def _complete(self, trial: T, h: float, end: float) -> bool:
        q, v, work = self._reached(trial, h, end)
        if self._hidden and not self._energy.is_balanced(self, q, v, work, self._unfiltered):
            return False
        if self._low_pass is not None and isinstance(self.statistics, FilterStatistics):
            self.statistics.add(self._low_pass)
        return True

    @abstractmethod
    def _reached(self, trial: T, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        """q (n_q,), v (n_v,) and work (J) at the end of a solved step, on the constraints. Raises TrialError."""


class OneStateStepper(ImplicitStepper[T]):
    """An implicit stepper with Newton's iteration on the equations of one state, that at the end of the step.

    ``_end``: inputs, q, v, accelerations and multipliers there, arrays (1, .) that the iteration overwrites.
    """

    _allocated_for: object = None
    _end: tuple[Floats, ...] = ()
    _program: StepProgram

    def _allocate(self) -> None:
        """Allocate the arrays of steps, whose sizes depend on the discrete state; those that fit are kept."""
        form = self.form
        sizes = (len(self._u), form.n_q, form.n_v, form.n_v, form.n_c)
        if self._allocated_for is form.system.batches and sizes == tuple(each.shape[1] for each in self._end):
            return
        self._allocated_for, self._factored = form.system.batches, None
        self._bind_matrices()
        self._end = u, q, v, a, multipliers = tuple(np.empty((1, size)) for size in sizes)
        # the correction, and the rotations of frames since the matrices were formed
        self._x, self._rotations = np.empty(form.n_v + form.n_c), np.empty((1, len(form.corotated_frames[1]), 4))
        self._allocate_start()
        self._solution = BoundSolution(self._x)
        equations, result = self._equations_of(self._set_inputs, u, q, v, a, multipliers)
        start, finish = self._kernels()
        turned = Bound(right_hand_side, form.corotated_frames[1], self._rotations, result, self._x)
        self._program = StepProgram([start], equations, [turned, self._solution, finish])

    def _set_inputs(self) -> None:
        """Evaluate the inputs at the end of the step, at the present state of the iteration."""
        u, q, v, *_ = self._end
        u[0] = self.form.inputs_at(self._time, q[0], v[0])

    @abstractmethod
    def _allocate_start(self) -> None:
        """Allocate what a step knows before its iteration."""

    @abstractmethod
    def _kernels(self) -> tuple[Bound, Bound]:
        """The kernels of the state and the rotations before the first iteration, and of a correction, which returns its
        size. They read the length of the step (s), or the shift of the method (1/s), in ``_length``."""

    def recalled(self) -> None:
        """Allocate the arrays of steps before matrices are formed again."""
        self._allocate()
        super().recalled()

    def _factorise_shifted(self, mu: float, reach: float | None = None) -> None:
        """Factorise mu M + C + reach K."""
        self._factored_for = 0.0  # in case of an error
        factors = self._factors_for(mu, self._factored, reach=reach)
        if factors is not self._factored:
            self._factored = factors
            self._solution.by(factors)
            self._program.take_apart()
        self.statistics.factorizations += 1

    def _iterated(self, h: float, t: float, most: int, newton: Convergence, forming: int = 0) -> bool:
        """Whether Newton's iteration converges for the state at t (s). Raises TrialError.

        h : the length of the step (s), or the shift of the method. forming : the number of iterations for which
        matrices are formed anew.
        """
        form, (u, q, v, *_) = self.form, self._end
        self._length[0], self._time = h, t
        if not form.inputs_of_state:
            u[0] = form.inputs_at(t, self.q, self.v)

        def renew() -> None:
            if form.inputs_of_state:
                self._set_inputs()
            self._form_matrices(u[0], q[0], v[0])
            self._factorise(h)
            newton.rate = 0.0
            frame_rotations(form.corotated_frames[0], self._matrices_q, q, self._rotations)

        if not self._program.tried and not forming:
            self._program.put_together({})
        try:
            return self._program.run(most, newton, NOTHING, forming, renew)[0] == CONVERGED
        finally:
            self.statistics.evaluations += newton.done
            self.statistics.newton_iterations += newton.done

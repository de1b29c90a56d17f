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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from femb.base.options import Run
from femb.base.types import Bools, Floats, Ints
from femb.formulations.contract import ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics import tableaux
from femb.numerics.block_kernels import multiply, solve
from femb.numerics.compiler.bound_calls import Bound, Known, program
from femb.numerics.kinematics import newton_tolerance
from femb.numerics.tableaux import RADAU_C
from femb.numerics.tableaux import RADAU_ESTIMATE as ESTIMATE
from femb.numerics.threads import concurrently, divided, one_after_another
from femb.steppers import implicit
from femb.steppers.contract import AcceptedStep, left_limit
from femb.steppers.dense import HermiteStep
from femb.steppers.implicit import RESTORING, Convergence, ImplicitStepper, StepProgram
from femb.steppers.radau_kernels import (
    CONVERGED,
    NEGLIGIBLE,
    UNDEFINED,
    estimate_force,
    estimate_size,
    find_trend,
    finish_iteration,
    frame_rotations,
    respond,
    rotate_frames,
    rotate_frames_back,
    start_estimate,
    start_stages,
    to_eigenvectors,
    try_step,
)
from femb.steppers.variable_step import WORTHWHILE
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, Factorisation, Factors, SingularError

# Prediction of the stages of an implicit Runge-Kutta step from the steps before it.
#
# The velocities follow a cubic through the last four ends of steps. Stages deviate from it, for one of two reasons. In
# stiff members their errors are of third order in the step length, those of the ends of fifth, and they are similar
# from step to step: the deviations of the last stages are added, times the cube of the ratio of the step lengths. Where
# the motion is smooth, the deviations are what the cubic misses, and grow beyond its nodes: they are extrapolated, and
# the prediction is the polynomial through the last stages. Each component takes what was nearer in the last step.
#
# Velocities of the frames of flexible members are those in axes of the frames: in a member that rotates they hardly
# change, while their inertial components turn with it. Without this, the first iteration of Newton's method would find
# the strains of an extrapolation along tangents. Multipliers follow the parabola through the last stages.

# From values at the stages to coefficients of their polynomial, of powers 0 to 2.
THROUGH_STAGES = np.linalg.inv(RADAU_C[:, None] ** np.arange(3))


@dataclass(eq=False, slots=True)
class Trend:
    """The data that stages are predicted from; see ``femb.steppers.radau.start_stages``.

    length, earlier : of the last step and of the one before, s; 0 for none. velocity, slope, bend, third (n_v,) : at
    its end; that of the chord of the step; second and third derivative. deviation (3, n_v) : of the stages of the step.
    growing (n_v,) : whether it is extrapolated, not repeated.
    multipliers (3, n_c) : coefficients of powers 0 to 2 of its fraction. turning_q (F,), turning_v (F, 2) : the frames
    whose velocities are in their own axes, as ``corotated_frames`` of a formulation.
    """

    length: float
    earlier: float
    velocity: Floats
    slope: Floats
    bend: Floats
    third: Floats
    deviation: Floats
    growing: Bools
    multipliers: Floats
    turning_q: Ints
    turning_v: Ints

    @classmethod
    def at_rest(cls, form: ImplicitFormulation) -> Self:
        """Without any motion."""
        corotated_q, corotated_v = form.corotated_frames
        rest, growing = np.zeros((7, form.n_v)), np.zeros(form.n_v, dtype=bool)
        turning = corotated_q[:0], corotated_v[:0]
        return cls(
            0.0, 0.0, rest[0], rest[1], rest[2], rest[3], rest[4:], growing, np.zeros((3, form.n_c)), *turning
        )  # fmt: skip

    def begun_at(self, v: Floats, a: Floats, multipliers: Floats) -> Self:
        """The prediction of a start at rest, that of constant inertial accelerations a (n_v,) and multipliers (n_c,)
        from velocities v.
        """
        of_multipliers = self.multipliers.copy()
        of_multipliers[0] = multipliers
        rest, turning = (self.bend, self.third, self.deviation, self.growing), (self.turning_q, self.turning_v)
        return type(self)(0.0, 0.0, v, a, *rest, of_multipliers, *turning)

    def after(
        self, form: ImplicitFormulation, h: float, old: tuple[Floats, Floats], new: tuple[Floats, Floats],
        stages: tuple[Floats, Floats, Floats], rotations: Floats,
    ) -> Self:  # fmt: skip
        """The trend after a step h from ``old`` to ``new``, each q (n_q,), v (n_v,).

        stages : changes of velocities (3, n_v), coordinates (3, n_q), multipliers (3, n_c). rotations (3, F, 4) is
        overwritten.
        """
        Z, Q, L = stages
        turning = form.corotated_frames
        velocity, slope, bend, third, *_ = found = np.empty((7, form.n_v))
        result = velocity, slope, bend, third, found[4:], np.empty(form.n_v, dtype=bool)
        before = self.length, self.earlier, self.velocity, self.slope, self.bend, self.third, self.deviation
        find_trend(*turning, RADAU_C, h, *before, *old, *new, Z, Q, rotations, *result)
        return type(self)(h, self.length, *result, THROUGH_STAGES.dot(L) if form.n_c else L, *turning)

    def as_arguments(self) -> tuple[float, float, Floats, Floats, Floats, Floats, Floats, Bools, Floats, Ints, Ints]:
        """The attributes, in their order."""
        of_motion = self.length, self.earlier, self.velocity, self.slope, self.bend, self.third, self.deviation
        return *of_motion, self.growing, self.multipliers, self.turning_q, self.turning_v


# The stage equations of Radau IIA(5), solved by simplified Newton iteration; see ``femb.steppers.radau``.
#
# E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8 (transformation, Newton's iteration).

C, A, INVERSE = tableaux.RADAU_C, tableaux.RADAU_A, tableaux.RADAU_INVERSE
# The nodes inside a step.
FIRST, SECOND, _ = C.tolist()
REAL, COMPLEX = tableaux.RADAU_REAL, tableaux.RADAU_COMPLEX
T, T_INVERSE = tableaux.RADAU_T, tableaux.RADAU_T_INVERSE

MAX_ITERATIONS = 7
# With a filter, and matrices of the step itself: vibrations that no step resolves are decades above the tolerance where
# an iteration begins, and more iterations cost less than shorter steps, which they would take without end.
MAX_WITH_FILTER = 14
# Tolerance of Newton's iteration, as a fraction of that of the step: the root of rtol, within these bounds. Residual
# moments have the same sign in every step and accumulate in the angular momentum.
SOLVED = 3e-4, 3e-3
# The second correction over the first one, above which Newton's iteration diverges.
DIVERGING = 1.0
# Steps whose lengths differ by this part have the same factors: those between samples differ in the last digits.
SAME_LENGTH = 1e-9
# A lower rate is not relied on: the first corrections also remove quadratic parts, which later ones do not have.
LEAST_RATE = 0.05
# Part of the tolerance of the step below which corrections that do not decrease are rounding.
ROUNDING = 0.05


@dataclass
class Stages:
    """A solved step: the inputs of its stages, number and rate of the iterations; the estimate of its error (error_q,
    error_v, norm), if that is known; then the state at its end."""

    u: Floats
    iterations: int
    rate: float
    estimate: tuple[Floats, Floats, float] | None = None
    q: Floats = field(init=False)
    v: Floats = field(init=False)
    work: Floats = field(init=False)
    power: Floats = field(init=False)


class RadauEquations(ImplicitStepper[Stages]):
    """The stage equations of Radau IIA(5) and their solution by simplified Newton iteration."""

    _allocated_for: tuple[Any, ...] | None = None
    _program: "TrialProgram | None" = None
    _factors: Sequence[Factors] = ()
    _trend_there: Trend
    _still: Trend
    # makes it from the stages of the last step, which the next one overwrites
    _trend_after: Callable[[], Trend] | None = None
    # inputs, accelerations and multipliers at the present state before inputs changed there; None if they have not
    _replaced: tuple[Floats, Floats, Floats] | None = None

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, float(np.clip(run.rtol**0.5, *SOLVED)))
        self._dependent, self._ceiling = DEPENDENT, np.inf
        # how the real and the complex matrix are factorised and solved with
        at_the_same_time = form is form.system and divided(2 * len(form.system.pattern.diagonal))
        self._each = concurrently if at_the_same_time else one_after_another

    def _allocate(self) -> None:
        """Allocate arrays for the steps of a smooth interval, in which the number of multipliers is constant; those of
        the last one are kept where they fit."""
        form = self.form
        n_q, n_v, n_c, frames = form.n_q, form.n_v, form.n_c, form.corotated_frames[0].size
        kept, self._allocated_for = self._allocated_for, (n_q, n_v, n_c, frames, len(self._u), form.system.batches)
        if kept is not None and kept[:-1] == self._allocated_for[:-1] and kept[-1] is form.system.batches:
            return
        self._program, self._still = None, Trend.at_rest(form)
        # Z, V, K, Q, L of the stages, rotations of frames to them, right-hand sides
        self._stages = (*np.empty((3, 3, n_v)), np.empty((3, n_q)), np.empty((3, n_c)))
        self._rotations = np.empty((3, frames, 4))
        self._real, self._pair = np.empty(n_v + n_c), np.empty(n_v + n_c, dtype=complex)
        _, V, K, Q, L = self._stages
        self._stage_inputs = u = np.empty((3, len(self._u)))
        self._bound = form.system.bound_equations(u, Q, V, K, L) if form is form.system else None
        # see start_estimate
        self._estimate = (np.empty((1, n_v)), np.empty((1, n_q)), np.zeros((1, n_v + n_c)), np.empty((1, frames, 4)))
        self._one_state = (np.empty((1, len(self._u))), np.empty((1, n_q)), np.empty((1, n_v)), np.empty((1, n_c)))
        one_u, one_q, one_v, one_l = self._one_state
        bind = form.system.bound_equations
        of_one = one_u, one_q, one_v, self._estimate[0], one_l
        self._bound_one = bind(*of_one) if form is form.system else None
        self._bound_switched = bind(*of_one, switched=True) if form is form.system else None
        # arguments of error_norm for Newton's corrections of velocities
        self._scale = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0)

    def _equations_at(self, u: Floats, q: Floats, v: Floats, a: Floats, switched: bool = False) -> Floats:
        """The equations (1, n) at u (n_u,), q (1, n_q), v (1, n_v) and the multipliers at the start of the step.

        a : the first array of ``_estimate``. switched : forces that do not read discrete states may be left out. Raises
        TrialError.
        """
        bound = self._bound_switched if switched else self._bound_one
        if bound is None or bound.batches is not self.form.system.batches:
            return self.form.equations(u[None], q, v, a, self.multipliers[None])
        for kept, values in zip(self._one_state, (u, q, v, self.multipliers), strict=True):
            kept[:] = values
        return bound().copy()  # the error estimate keeps its first result during the second evaluation

    @property
    def _trend(self) -> Trend:
        """The data of the prediction; after a step only where another one follows that no change of inputs precedes."""
        if self._trend_after is not None:
            self._trend_there, self._trend_after = self._trend_after(), None
        return self._trend_there

    @_trend.setter
    def _trend(self, value: Trend) -> None:
        self._trend_there, self._trend_after = value, None

    def _reset_trend(self) -> None:
        """Predict the next stages with constant accelerations and multipliers."""
        self._trend = self._still.begun_at(self.v, self.a, self.multipliers)

    def _reset_excluded(self) -> None:
        """Zero the multipliers of excluded rows: extrapolated, they would grow without bound."""
        form, system = self.form, self.form.system
        if form is system and system.solver.excludes and self.multipliers[system.solver.excluded_rows].any():
            a, self.multipliers = form.forward(self._u, self.q, self.v)
            if self._replaced:
                self._replaced = self._u, a, self.multipliers
            of_multipliers = np.zeros((3, form.n_c))
            of_multipliers[0] = self.multipliers
            self._trend = replace(self._trend, multipliers=of_multipliers)
            self._matrices = None

    def _factorise(self, h: float) -> None:
        mass, damping, stiffness = self._matrices or self._form_matrices(self._u, self.q, self.v)
        if abs(self._factored_for - h) <= SAME_LENGTH * h:
            return
        solver: Any = self.form.solver
        calls = self._trial_program
        if calls is not None and type(damping) is np.ndarray:
            self._factored_for = 0.0  # in case of an error
            for each, mu in zip(calls.factors, (REAL / h, COMPLEX / h), strict=True):
                solver.refactorise(each, (mass, damping, stiffness), mu, self._dependent)
            self._factored_for = h
            self.statistics.factorizations += 2
            return

        def factors(mu: complex) -> Factors:
            found: Factors = solver.factorise(solver.shifted(mass, damping, stiffness, mu), self._dependent)
            return found

        self._factors = self._each([partial(factors, REAL / h), partial(factors, COMPLEX / h)])
        self._factored_for = h
        self.statistics.factorizations += 2

    def _exclude_nearly_dependent(self) -> bool:
        """Exclude nearly dependent rows in this step; False where that has been tried, or matrices are reused.

        Within a step through a singular posture of a loop such a row changes its sign, and the matrices of one state do
        not represent it at others. Its extrapolated multiplier is accurate enough for one step.
        """
        if not self._fresh or not self.form.layout.has_loops or self._dependent != DEPENDENT:
            return False
        self._dependent, self._factored_for = NEARLY_DEPENDENT, 0.0
        return True

    def _solve(self, h: float, end: float) -> Stages | None:
        try:
            trial = self._newton(h, end)
            if trial is not None and self.form.singular_batches:
                Q, V = np.vstack([self.q, self._stages[3]]), np.vstack([self.v, self._stages[1]])
                self.form.check_singularities(self.t, Q, V)
        except (TrialError, SingularError):
            if not self._exclude_nearly_dependent():
                raise
            return self._solve(h, end)
        return self._solve(h, end) if trial is None and self._exclude_nearly_dependent() else trial

    def _newton(self, h: float, end: float) -> Stages | None:
        """The stage equations by Newton's iteration; None where it does not converge."""
        form = self.form
        self._factorise(h)
        t = self.t
        times = t + FIRST * h, t + SECOND * h, left_limit(end, t)
        reused = not self._fresh and form.system.switches
        doubted = NEGLIGIBLE * self.tolerance if reused else 0.0
        most = MAX_WITH_FILTER if self._low_pass and self._fresh else MAX_ITERATIONS
        newton = Convergence(self.tolerance, most, doubted, RESTORING, DIVERGING, LEAST_RATE, ROUNDING)
        if (calls := self._trial_program) is not None:
            return self._newton_in_one_call(calls, h, times, most, newton)
        if self._replaced is not None:
            self._respond(h)
        _, V, K, Q, L = stages = self._stages
        real, pair, rotations = self._real, self._pair, self._rotations
        of_real, of_pair = self._factors
        corotated_q, corotated_v = form.corotated_frames
        state = self.q, self.v
        of_method, trend = (C, A, INVERSE, h), self._trend.as_arguments()
        start_stages(*form.coordinates, corotated_q, self._matrices_q, *of_method, trend, *state, *stages, rotations)
        newton_tolerance(self.scale_q, self.scale_v, *state, h, self._scale[2])
        # what the iterations have in common, so that an iteration is a few calls of compiled functions
        u, of_state, bound = self._stage_inputs, form.inputs_of_state, self._bound
        if bound is not None and bound.batches is form.system.batches:
            residual: Callable[[], Floats] = bound
        else:
            residual = partial(form.equations, u, Q, V, K, L)
        finish = partial(
            finish_iteration, *form.coordinates, corotated_q, corotated_v, self._matrices_q, A, INVERSE, T, h,
            self._scale, *state, rotations, real, pair, *stages,
        )  # fmt: skip
        solve = partial(self._each, [partial(of_pair.solve, pair), partial(of_real.solve, real)])
        reached = newton.reached
        converged = None
        try:
            for count in range(most):
                if count == 0 or of_state:
                    for k, time in enumerate(times):
                        u[k] = form.inputs_at(time, Q[k], V[k])
                to_eigenvectors(T_INVERSE, rotations, corotated_v, residual(), real, pair)
                solve()
                converged = reached(finish())
                if converged is not None:
                    break
        finally:
            self.statistics.evaluations += 3 * newton.done
            self.statistics.newton_iterations += newton.done
        return Stages(u.copy(), newton.done, newton.rate) if converged else None

    def _respond(self, h: float) -> None:
        """Accelerations and multipliers after a change of inputs, which only predict the next stages.

        Their change is that of an implicit step h (s), in which stiff members are at rest already.
        """
        assert self._replaced is not None
        before, a, multipliers = self._replaced
        form, n_v, change, rotations, x = self.form, self.form.n_v, self._estimate[0], self._estimate[3], self._real
        corotated_q, corotated_v = form.corotated_frames
        q, v = self.q[None], self.v[None]
        self.multipliers = multipliers
        change.fill(0.0)
        try:
            x[:n_v] = self._equations_at(before, q, v, change, True)[0, :n_v]
            x[:n_v] -= self._equations_at(self._u, q, v, change, True)[0, :n_v]
        except TrialError:
            return  # the step will tell
        x[n_v:] = 0.0
        frame_rotations(corotated_q, self._matrices_q, q, rotations)
        rotate_frames_back(rotations[0], corotated_v, x)
        self._factors[0].solve(x)
        rotate_frames(rotations[0], corotated_v, x)
        self._trend.slope = a + REAL / h * x[:n_v]
        self._trend.multipliers[0] = self.multipliers = multipliers + x[n_v:]

    @property
    def _trial_program(self) -> "TrialProgram | None":
        """The kernels of a trial step for one call; None where an input of the state, an element or a part of low rank
        is evaluated by Python within a step, by several threads, and in the first steps of a run."""
        form, calls = self.form, self._program
        bound, one, switched = self._bound, self._bound_one, self._bound_switched
        if bound is None or one is None or switched is None or form.inputs_of_state:
            return None
        if bound.batches is not form.system.batches:
            return None
        if calls is not None and calls.factors is self._factors:
            return calls
        bindable = self._each is one_after_another and [*map(type, self._factors)] == [Factorisation, Factorisation]
        if (
            not bindable
            or self.statistics.steps < implicit.FIRST_STEPS
            or bound.compiled is None
            or one.compiled is None
            or switched.compiled is None
        ):
            return None
        self._program = TrialProgram(self, bound.compiled, one.compiled, switched.compiled)
        return self._program

    def _newton_in_one_call(
        self, calls: "TrialProgram", h: float, times: tuple[float, float, float], most: int, newton: Convergence
    ) -> Stages | None:
        """The stage equations and, unless singular configurations have to be looked for first, the error estimate."""
        form, u = self.form, self._stage_inputs
        for k, time in enumerate(times):
            u[k] = form.inputs_at(time, self.q, self.v)
        outcome, norm, evaluations = calls.run(self, h, most, newton)
        self.statistics.evaluations += 3 * newton.done
        self.statistics.newton_iterations += newton.done
        if outcome == UNDEFINED:
            self._bound()  # type: ignore[misc]  # raises the error that says why
        if outcome != CONVERGED:
            return None
        estimate = None
        if calls.estimates:
            self.statistics.evaluations += evaluations
            # as ``_filter`` where the equations are undefined
            estimate = (*calls.errors(), norm) if evaluations else (self.q, self.v, norm)
        return Stages(u.copy(), newton.done, newton.rate, estimate)


class TrialProgram(StepProgram):
    """The kernels of a trial step, bound to the arrays of a stepper, for one call; see ``try_step``.

    equations, equations_of_one, switched : ``BoundEquations.compiled`` of the stages and of one state, the last where
    discrete states change. factors : the real and the complex ones, in whose arrays the next matrices are factorised.
    estimates : whether it estimates the error.
    """

    def __init__(self, stepper: RadauEquations, equations: Any, equations_of_one: Any, switched: Any) -> None:
        form = stepper.form
        n_q, n_v, n_c = form.n_q, form.n_v, form.n_c
        self.factors: Any = stepper._factors
        of_real: Any
        of_pair: Any
        of_real, of_pair = self.factors
        solver: Any = form.solver
        self.estimates = not form.singular_batches
        self._n_v = n_v
        self._state = _, q, v, _ = stepper._one_state
        self._error_q, self._error_v = np.empty((1, n_q)), np.empty((1, n_v + n_c))
        self._trend = trend = (*np.empty((4, n_v)), np.empty((3, n_v)), np.empty(n_v, dtype=bool), np.empty((3, n_c)))
        stages, (_, rate, drift, rotations) = stepper._stages, stepper._estimate
        turning_q, turning_v = form.corotated_frames
        at_matrices, real, elastic = stepper._matrices_q, stepper._real, np.empty(n_v + n_c)
        scales = stepper.scale_q, stepper.scale_v
        frames = *form.coordinates, turning_q, turning_v
        # in axes that turn with frames, or without any before the first step of a smooth interval
        self._starts = [
            Bound(
                start_stages, *form.coordinates, turning_q, at_matrices, C, A, INVERSE, 0.0,
                (0.0, 0.0, *trend, turning_q[:count], turning_v[:count]), q[0], v[0], *stages, stepper._rotations,
            )
            for count in (0, len(turning_q))
        ]  # fmt: skip
        self._limits = Bound(newton_tolerance, *scales, q[0], v[0], 0.0, stepper._scale[2])
        right = Bound(to_eigenvectors, T_INVERSE, stepper._rotations, turning_v, equations[-1], real, stepper._pair)
        self._finish = Bound(
            finish_iteration, *frames, at_matrices, A, INVERSE, T, 0.0, stepper._scale, q[0], v[0], stepper._rotations,
            real, stepper._pair, *stages,
        )  # fmt: skip
        solutions = Bound(solve, *of_pair.arguments, stepper._pair), Bound(solve, *of_real.arguments, real)
        self._estimate = Bound(
            start_estimate, *frames, at_matrices, ESTIMATE, 0.0, q, q, v, stages[0], stages[3], *stepper._estimate
        )
        blocks = solver.structure[0], *solver.structure[2:]
        self._multiply = Bound(multiply, *blocks, of_real.data, drift[0], elastic)
        self._force = Bound(estimate_force, turning_v, n_v, rotations, 0.0, self._error_v, elastic)
        self._size = Bound(
            estimate_size, *form.coordinates, turning_v, *scales, 0.0, q, v, rotations, rate, self._error_v,
            self._error_q,
        )  # fmt: skip
        size = [self._multiply, self._force, Bound(solve, *of_real.arguments, self._error_v[0]), self._size]
        # kept, with the arrays, as long as their addresses
        self._calls = right, *solutions, size, stepper._bound, stepper._bound_one, stepper._bound_switched
        known: Known = {}
        # the state before a change of inputs is that of the trend, but for these
        self._before = np.empty(len(stepper._u))
        at_u, at_q, _, at_multipliers = self._state
        self._respond = Bound(
            respond, turning_q, turning_v, at_matrices, 0.0, at_u, at_q, stepper._estimate[0], at_multipliers, trend[1],
            trend[-1], rotations, self._before, real, switched, program(solutions[1:], known),
        )  # fmt: skip
        without, turning = self._starts
        of_starts = [without, self._limits], [turning, self._limits], [self._respond, without, self._limits]
        starts = [program(each, known) for each in of_starts]
        correction, before = program([right, *solutions, self._finish], known), program([self._estimate], known)
        after = program(size, known)
        if after is not None and not self.estimates:
            after = after[:0]
        self._kernels = *self._starts, self._respond, self._finish, self._estimate
        self._programs = [
            (start, equations, correction, before, equations_of_one, self._error_v, after) for start in starts
        ]

    def run(self, stepper: RadauEquations, h: float, most: int, newton: Convergence) -> tuple[int, float, int]:
        """Try a step h (s) from the state of the stepper; returns the outcome of ``try_step``."""
        replaced = stepper._replaced
        of_state = stepper._u, stepper.q, stepper.v, replaced[2] if replaced else stepper.multipliers
        for kept, values in zip(self._state, of_state, strict=True):
            kept[:] = values
        trend, mu = stepper._trend, REAL / h
        length, earlier, *values_of_trend, turning, _ = trend.as_arguments()
        for array, given in zip(self._trend, values_of_trend, strict=True):
            array[:] = given
        variant = 1 if turning.size else 0
        start = self._starts[variant]
        if replaced:
            variant = 2
            self._before[:], self._trend[1][:] = replaced[:2]
            self._respond.set("mu", mu)
        if self.points_anew(stepper._matrices_q):
            self._multiply.point("data", stepper._matrices[2])  # type: ignore[index]
        start.set("h", h)
        start.set("trend", length)
        start.set("trend", earlier, 1)
        for each in (self._limits, self._finish, self._estimate):
            each.set("h", h)
        for each in (self._force, self._size):
            each.set("mu", mu)
        memory = np.zeros(5)
        outcome: tuple[int, float, int] = try_step(*self._programs[variant], most, newton.limits, memory)
        if replaced:
            stepper.multipliers = self._state[3][0].copy()
        newton.memory[:] = memory.tolist()
        return outcome

    def errors(self) -> tuple[Floats, Floats]:
        """The errors of q (n_q,) and v (n_v,) of the last step that was tried."""
        return self._error_q[0].copy(), self._error_v[0, : self._n_v].copy()


# After Newton's iteration failed with fresh matrices: the next length to try and the longest one to step, as fractions
# of the one that failed, and the growth of the latter from step to step. Half is tried after a step grown by more than
# the last number.
SHORTER, BELOW_FAILURE, RECOVERY, GROWN = 0.75, 0.8, 1.05, 1.3
MIN_FACTOR, MAX_FACTOR = 0.2, 8.0
# Rate of convergence above which new matrices are formed for the next step.
SLOW = 0.02
# From values at the stages to coefficients of their polynomial, of powers 1 to 3 (zero at the start).
FROM_ZERO = np.linalg.inv(C[:, None] ** np.arange(1, 4))
# of the quadrature of a step
WEIGHTS = A[2]


class Radau(RadauEquations):
    """Variable-step Radau IIA(5); see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 5
    memory = (
        *RadauEquations.memory,
        *("_old_error", "_old_h", "_trend", "_ceiling", "_starting", "_replaced", "_dependent"),
    )

    def recalled(self) -> None:
        """Allocate the arrays of steps, whose sizes depend on the discrete state."""
        self._allocate()
        super().recalled()

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
        return partial(_power, self.form, self._u, self.q, self.v)

    def _begin(self) -> None:
        self._reset_trend()
        self._starting, self._fresh = True, False
        if not self.h:
            self.h = self._first_step()

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Land as in ``VariableStep``; the next step length does not depend on the error of the last step."""
        self._old_h = 0.0
        super().land(t, q, v, work)

    def _first_step(self) -> float:
        """A hundredth of the time over which the state changes by its own size."""
        size, change = self._size_and_change(self.form.rates(self.q[None], self.v[None])[0], self.a)
        return float(min(0.01 * size / change if change > 0.0 else np.inf, 0.01 * self.run.duration))

    def step(self, limit: float) -> AcceptedStep:
        """One accepted step; raises SolveError where none can be made."""
        if self.form.n_c:
            self._reset_excluded()
        return super().step(limit)

    def _error(self, trial: Stages, h: float) -> float:
        """Norm of Hairer's filtered estimate; where it is above one, filtered once more.

        The first filter leaves an error of the size of the state in stiff components that are not in equilibrium
        with their forces; the second removes what an L-stable step will damp anyway.
        """
        error_q, error_v, norm = trial.estimate or self._filter(self.q, self.v, h)
        self._hidden, self._unfiltered = norm > 1.0, error_v
        if self._low_pass and norm < np.inf:
            return self._kept_norm(self._low_pass, error_q, error_v, self._estimate[3][0])
        if 1.0 < norm < np.inf:
            _, error_v, norm = self._filter(self.q + error_q, self.v + error_v, h)
        self.error_v = error_v
        return norm

    def _filter(self, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats, float]:
        """Error estimate from forces at q, v: of coordinates, of velocities, and its norm."""
        form, mu = self.form, REAL / h
        corotated_q, corotated_v = form.corotated_frames
        coordinates, here = form.coordinates, (self.q[None], self.v[None])
        at = here if q is self.q else (q[None], v[None])
        Z, _, _, Q, _ = self._stages
        change, rate, drift, rotations = self._estimate
        start_estimate(
            *coordinates, corotated_q, corotated_v, self._matrices_q, ESTIMATE, h, here[0], *at, Z, Q, *self._estimate
        )
        try:
            force = self._equations_at(self._u, *at, change)
        except TrialError:
            return q, v, np.inf
        self.statistics.evaluations += 1
        elastic = form.solver.multiply(self._matrices[2], drift[0])  # type: ignore[index]
        estimate_force(corotated_v, form.n_v, rotations, mu, force, elastic)
        error_v = self._factors[0].solve(force[0])
        error_q = np.empty(rate.shape)
        scales = self.scale_q, self.scale_v
        norm = estimate_size(*coordinates, corotated_v, *scales, mu, *here, rotations, rate, error_v[None], error_q)
        return error_q[0], error_v[: form.n_v], norm

    def _factor(self, trial: Stages, h: float, error: float) -> float:
        """Step-size factor: Gustafsson's prediction from the last two steps, at most that of the last step."""
        # fewer iterations allow a longer step
        safety = 0.9 * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + trial.iterations)
        if error == 0.0:
            return safety * MAX_FACTOR
        factor = error**-0.25
        if self._old_h > 0.0 and error <= 1.0:
            factor = min(factor, factor * h / self._old_h * (self._old_error / error) ** 0.25)
        return float(safety * factor)

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        if self._fresh and self._low_pass:
            self._low_pass.damp_from(self.t)
        if self._fresh and self._low_pass and not self._exact:
            # without the stresses' part of the stiffness the iteration converges only where steps follow vibrations
            self._exact = True
        elif self._fresh:
            self._ceiling = BELOW_FAILURE * h
            h *= SHORTER if h < GROWN * self._old_h else 0.5
            self._old_h = 0.0
        self._form_matrices(self._u, self.q, self.v)
        return h

    def _after_error(self, trial: Stages, h: float, error: float) -> float:
        if not self._fresh:
            self._form_matrices(self._u, self.q, self.v)
        return h * max(MIN_FACTOR, self._factor(trial, h, error))

    def _reached(self, trial: Stages, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        _, V, _, Q, L = self._stages
        q = Q[2].copy()
        self.form.normalise(q)
        trial.q, trial.v = self.form.projected(trial.u[2], q, V[2].copy(), self._factors[0])
        trial.power = self.form.budget_rates(trial.u, Q, V, L)
        work = self.work + h * WEIGHTS.dot(trial.power)
        trial.v, trial.work = self._damped(end, trial.q, trial.v, work)
        return trial.q, trial.v, trial.work

    def _accept(self, trial: Stages, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        renew = trial.rate > SLOW and trial.iterations > 2
        factor = min(MAX_FACTOR, self._factor(trial, h, error))
        self._old_error, self._old_h = max(error, 1e-4), h
        next_h = self._next_length(h, factor, cut, 1.0 if renew else WORTHWHILE)
        self.h = min(next_h, self._ceiling)
        self._ceiling *= RECOVERY
        form = self.form
        Z, _, K, Q, L = self._stages
        before, after = (self.q, self.v), (trial.q, trial.v)
        self._trend_after = partial(self._trend.after, form, h, before, after, (Z, Q, L), self._rotations)
        # At the start of a smooth interval, members out of equilibrium have accelerations that the step does not
        # resolve: there the dense output takes those of the collocation polynomial of v through (0, 0) and the stages.
        a = FROM_ZERO[0].dot(Z) / h if self._starting else self.a
        old = (self.q, self.v, a, self.work, self._start_power if self._replaced else self.power)
        self._starting, self._replaced = False, None
        start = self.t
        self.t, self.q, self.v, self.work, self.power = end, trial.q, trial.v, trial.work, trial.power[2]
        K = K.copy()
        self.a, self.multipliers, self._u = K[2], L[2].copy(), trial.u[2]
        self._fresh = False
        if self._dependent != DEPENDENT:
            self._dependent, self._factored_for = DEPENDENT, 0.0
        if renew:
            self._matrices, self._factored_for = None, 0.0
        new = (self.q, self.v, self.a, self.work, self.power)
        nodes = ((start, start + FIRST * h, start + SECOND * h, end), (a, K[0], K[1], K[2]))
        return HermiteStep(form, start, end, old, new, ((FIRST, SECOND), trial.power[:2]), nodes)


def _power(form: ImplicitFormulation, u: Floats, q: Floats, v: Floats) -> Floats:
    """(n_w,) the rates of the budget at one state, with its multipliers."""
    multipliers = form.forward(u, q, v)[1]
    rates: Floats = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
    return rates

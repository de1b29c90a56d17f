"""The stage equations of Radau IIA(5), solved by simplified Newton iteration; see ``femb.steppers.radau``.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8 (transformation, Newton's iteration).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics import tableaux
from femb.numerics.kinematics import newton_tolerance
from femb.numerics.threads import concurrently, divided, one_after_another
from femb.steppers.contract import left_limit
from femb.steppers.implicit import NEGLIGIBLE, RESTORING, Convergence, ImplicitStepper
from femb.steppers.radau_kernels import finish_iteration, to_eigenvectors
from femb.steppers.stage_prediction import Trend
from femb.steppers.stage_prediction_kernels import start_stages
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, SingularError
from femb.system.linear_solver import Factors

C, A, INVERSE = tableaux.RADAU_C, tableaux.RADAU_A, tableaux.RADAU_INVERSE
# The nodes inside a step.
FIRST, SECOND, _ = C.tolist()
REAL, COMPLEX = tableaux.RADAU_REAL, tableaux.RADAU_COMPLEX
T, T_INVERSE = tableaux.RADAU_T, tableaux.RADAU_T_INVERSE

MAX_ITERATIONS = 7
# Tolerance of Newton's iteration, as a fraction of that of the step: the root of rtol, within these bounds. Residual
# moments have the same sign in every step and accumulate in the angular momentum.
SOLVED = 3e-4, 3e-3
# The second correction over the first one, above which Newton's iteration diverges.
DIVERGING = 1.0
# A lower rate is not relied on: the first corrections also remove quadratic parts, which later ones do not have.
LEAST_RATE = 0.05
# Part of the tolerance of the step below which corrections that do not decrease are rounding.
ROUNDING = 0.05


@dataclass
class Stages:
    """A solved step: the inputs of its stages, number and rate of the iterations; then the state at its end."""

    u: Floats
    iterations: int
    rate: float
    q: Floats = field(init=False)
    v: Floats = field(init=False)
    work: float = field(init=False)
    power: Floats = field(init=False)


class RadauEquations(ImplicitStepper[Stages]):
    """The stage equations of Radau IIA(5) and their solution by simplified Newton iteration."""

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, float(np.clip(run.rtol**0.5, *SOLVED)))
        self._dependent, self._ceiling = DEPENDENT, np.inf
        # how the real and the complex matrix are factorised and solved with
        at_the_same_time = form is form.system and divided(2 * len(form.system.pattern.diagonal))
        self._each = concurrently if at_the_same_time else one_after_another

    def _allocate(self) -> None:
        """Allocate arrays for the steps of a smooth interval, in which the number of multipliers is constant."""
        form = self.form
        n_q, n_v, n_c, frames = form.n_q, form.n_v, form.n_c, form.corotated_frames[0].size
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
        self._bound_one = bind(one_u, one_q, one_v, self._estimate[0], one_l) if form is form.system else None
        # arguments of error_norm for Newton's corrections of velocities
        self._scale = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0)

    def _equations_at(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The equations (1, n) at q (1, n_q), v (1, n_v) and the inputs and multipliers at the start of the step.

        a : the first array of ``_estimate``. Raises TrialError.
        """
        bound = self._bound_one
        if bound is None or bound.batches is not self.form.system.batches:
            return self.form.equations(self._u[None], q, v, a, self.multipliers[None])
        for kept, values in zip(self._one_state, (self._u, q, v, self.multipliers), strict=True):
            kept[:] = values
        return bound().copy()  # the error estimate keeps its first result during the second evaluation

    def _reset_trend(self) -> None:
        """Predict the next stages with constant accelerations and multipliers."""
        self._trend = Trend.at_start(self.form, self.v, self.a, self.multipliers)

    def _reset_excluded(self) -> None:
        """Zero the multipliers of excluded rows: extrapolated, they would grow without bound."""
        form, system = self.form, self.form.system
        if form is system and self.multipliers[system.solver.excluded_rows].any():
            self.multipliers = form.forward(self._u, self.q, self.v)[1]
            of_multipliers = np.zeros((3, form.n_c))
            of_multipliers[0] = self.multipliers
            self._trend = replace(self._trend, multipliers=of_multipliers)
            self._matrices = None

    def _factorise(self, h: float) -> None:
        mass, damping, stiffness = self._matrices or self._form_matrices(self._u, self.q, self.v)
        if self._factored_for == h:
            return
        solver = self.form.solver

        def factors(mu: complex) -> Factors:
            return solver.factorise(solver.shifted(mass, damping, stiffness, mu), self._dependent)

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
        _, V, K, Q, L = stages = self._stages
        real, pair, rotations = self._real, self._pair, self._rotations
        of_real, of_pair = self._factors
        corotated_q, corotated_v = form.corotated_frames
        state = self.q, self.v
        of_method, trend = (C, A, INVERSE, h), self._trend.as_arguments()
        start_stages(*form.coordinates, corotated_q, self._matrices_q, *of_method, trend, *state, *stages, rotations)
        newton_tolerance(self.scale_q, self.scale_v, *state, h, self._scale[2])
        reused = not self._fresh and form.system.switches
        doubted = NEGLIGIBLE * self.tolerance if reused else 0.0
        newton = Convergence(self.tolerance, MAX_ITERATIONS, doubted, RESTORING, DIVERGING, LEAST_RATE, ROUNDING)
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
            for count in range(MAX_ITERATIONS):
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

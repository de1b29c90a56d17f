"""The stage equations of Radau IIA(5): prediction of the stages, Newton's iteration and the error estimate.

See ``femb.steppers.radau`` for the equations. E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section
IV.8 (transformation, Newton's iteration).
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from femb.base.options import Run
from femb.base.types import Bools, Floats
from femb.formulations.contract import ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics import tableaux
from femb.numerics.compiler.bound_calls import Bound, Program
from femb.numerics.kinematics import newton_tolerance
from femb.numerics.threads import concurrently, divided, one_after_another
from femb.steppers.contract import left_limit
from femb.steppers.held_kernels import SAME_LENGTH
from femb.steppers.implicit import ImplicitStepper
from femb.steppers.radau_kernels import (
    MAX_ITERATIONS,
    add_errors,
    estimate_force,
    find_trend,
    finish_iteration,
    finish_response,
    shift_matrices,
    start_estimate,
    start_response,
    start_stages,
    take_difference,
    to_eigenvectors,
)
from femb.steppers.step_kernels import NEGLIGIBLE, finish_filter
from femb.steppers.step_program import RESTORING, BoundProduct, BoundSolution, Convergence, Stages
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, Factorisation, Matrix, SingularError

# The nodes inside a step.
FIRST, SECOND, _ = tableaux.RADAU_C.tolist()
REAL, COMPLEX = tableaux.RADAU_REAL, tableaux.RADAU_COMPLEX

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


class Trend(NamedTuple):
    """The data that stages are predicted from, in place; see ``start_stages`` and ``find_trend``.

    lengths (2,) : of the last step and of the one before, s; 0 for none. velocity, slope, bend, third (n_v,) : at its
    end; that of the chord of the step; second and third derivative; in axes of the frames, unless there was no step.
    deviation (3, n_v) : of the stages of the step. growing (n_v,) : whether it is extrapolated, not repeated.
    multipliers (3, n_c) : coefficients of powers 0 to 2 of its fraction.
    """

    lengths: Floats
    velocity: Floats
    slope: Floats
    bend: Floats
    third: Floats
    deviation: Floats
    growing: Bools
    multipliers: Floats

    @staticmethod
    def at_rest(n_v: int, n_c: int) -> "Trend":
        """Without any motion."""
        rest, growing = np.zeros((7, n_v)), np.zeros(n_v, dtype=bool)
        return Trend(np.zeros(2), rest[0], rest[1], rest[2], rest[3], rest[4:], growing, np.zeros((3, n_c)))

    def begin(self, v: Floats, a: Floats, multipliers: Floats) -> None:
        """Predict constant inertial accelerations a (n_v,) and multipliers (n_c,) from velocities v (n_v,)."""
        self.lengths[:], self.velocity[:], self.slope[:] = 0.0, v, a
        self.multipliers[1:], self.multipliers[0] = 0.0, multipliers


# With a filter, and matrices of the step itself: vibrations that no step resolves are decades above the tolerance where
# an iteration begins, and more iterations cost less than shorter steps, which they would take without end.
MAX_WITH_FILTER = 14
# Tolerance of Newton's iteration, as a fraction of that of the step: the root of rtol, within these bounds. Residual
# moments have the same sign in every step and accumulate in the angular momentum.
SOLVED = 3e-4, 3e-3
# The second correction over the first one, above which Newton's iteration diverges.
DIVERGING = 1.0
# A lower rate is not relied on: the first corrections also remove quadratic parts, which later ones do not have.
LEAST_RATE = 0.05
# Part of the tolerance of the step below which corrections that do not decrease are rounding.
ROUNDING = 0.05


class RadauEquations(ImplicitStepper):
    """The stage equations of Radau IIA(5) and their solution by simplified Newton iteration."""

    states, same_length = 3, SAME_LENGTH
    _trend: Trend
    # of ``_respond``, once inputs have changed
    _response: Program | None = None
    # inputs, accelerations and multipliers at the present state before inputs changed there; None if they have not
    _replaced: tuple[Floats, Floats, Floats] | None = None

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, float(np.clip(run.rtol**0.5, *SOLVED)))
        # the longest step after a failure, and the length of a step (s) as kernels read it
        self._ceiling, self._length = np.inf, np.empty(1)
        # how the real and the complex matrix are factorised and solved with
        at_the_same_time = form is form.system and divided(2 * len(form.system.pattern.diagonal))
        self._each = concurrently if at_the_same_time else one_after_another

    def _allocate_start(self) -> None:
        form = self.form
        n_u, n_q, n_v, n_c, n = len(self._u), form.n_q, form.n_v, form.n_c, form.n_v + form.n_c
        self._trend = Trend.at_rest(n_v, n_c)
        # the state of the error estimate: u, q, v and multipliers; q and v at the start of the step
        self._state = np.empty(n_u + n_q + n_v + n_c + n_q + n_v)
        parts = [part[None] for part in np.split(self._state, np.cumsum([n_u, n_q, n_v, n_c, n_q]))]
        self._at, self._start = parts[:4], (parts[4], parts[5])
        # the velocities of the stages less those at the start; see ``start_estimate``
        self._Z, self._estimate = np.empty((3, n_v)), (np.empty((1, n_v)), np.zeros((1, n)), self._rotations[:1].copy())
        # right-hand sides in eigenvectors of A^-1, that of the estimate, and its elastic part
        self._real, self._pair, self._before = np.empty(n), np.empty(n, dtype=complex), np.empty(n_u)
        self._of_stages = BoundSolution(self._real), BoundSolution(self._pair), BoundSolution(self._error_v[0])
        self._elastic, self._response = BoundProduct(self._estimate[1][0], np.empty(n)), None

    def _bound_stages(self) -> Stages:
        form, h, (q0, v0), trend = self.form, self._length, self._start, tuple(self._trend)
        inputs, Q, V, K, L = self._states
        stages = self._Z, V, K, Q, L
        change, drift, rotations = self._estimate
        u, q, v, multipliers = self._at
        real, pair, turns, error_q, error_v = self._real, self._pair, self._rotations, self._error_q, self._error_v
        _, turning_v = turning = form.corotated_frames
        coordinates, at_matrices = form.coordinates, self._matrices_q
        scale, scales = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0), (self.scale_q, self.scale_v)
        of_real, of_pair, of_error = self._of_stages
        elastic = self._elastic.y
        equations, residual = self._bound_equations(inputs, Q, V, K, L)
        of_one, force = self._bound_equations(u, q, v, change, multipliers)
        solutions = [of_pair, of_real]
        states = q0[0], v0[0], *(each[0] for each in self._reached_state)
        errors = [
            Bound(
                start_estimate, coordinates, turning, at_matrices, h, q0, q, v, stages, change, drift, rotations,
                error_q,
            ),
            of_one,
        ]  # fmt: skip
        return Stages(
            start=[
                Bound(start_stages, coordinates, turning, at_matrices, h, trend, q0[0], v0[0], stages, turns),
                Bound(newton_tolerance, *scales, q0[0], v0[0], h, scale[2]),
            ],
            equations=[*self._inputs_of_state(), equations],
            correction=[
                Bound(to_eigenvectors, turns, turning_v, residual, real, pair),
                *(solutions if self._each is one_after_another else [partial(self._each, solutions)]),
                Bound(
                    finish_iteration, coordinates, turning, at_matrices, h, scale, q0[0], v0[0], turns, real, pair,
                    stages,
                ),
            ],
            errors=errors,
            size=[
                self._elastic,
                Bound(estimate_force, turning_v, form.n_v, rotations, h, force, elastic, error_v),
                of_error,
                Bound(
                    finish_filter, coordinates, (turning_v, rotations), scales, self._weights, q0, q0, v0, error_q,
                    error_v,
                ),
            ],
            again=[Bound(add_errors, error_q, error_v, q, v, self._unfiltered), *errors],
            end=[self._copy_end, self._projection, self._turned, self._bound_rates(inputs, Q, V, L, self._powers)],
            ahead=[
                Bound(find_trend, turning, h, trend, *states, V, Q, L, turns, np.empty((2, form.n_v))),
            ],
            # a filter changes the end, and a singularity may reject it
            certain=not self._low_pass and not form.singular_batches,
        )  # fmt: skip

    def _bound_response(self) -> Program:
        """The kernels of ``_respond``, from the inputs ``_before`` to the present ones."""
        form, (u, q, v, multipliers), trend = self.form, self._at, self._trend
        change, _, rotations = self._estimate
        turning, x = form.corotated_frames, self._real
        switched, force = self._bound_equations(u, q, v, change, multipliers, switched=True)
        difference = Bound(take_difference, force[:, : form.n_v], u, self._before, x)
        return Program([
            switched, difference, switched, difference,
            Bound(start_response, turning, self._matrices_q, q, rotations, x),
            self._of_stages[0],
            Bound(finish_response, turning[1], self._length, rotations, x, trend.slope, multipliers, trend.multipliers),
        ])  # fmt: skip

    def recalled(self) -> None:
        trend = self._trend
        super().recalled()
        for kept, values in zip(self._trend, trend, strict=True):
            kept[:] = values

    def _reset_excluded(self) -> None:
        """Zero the multipliers of excluded rows: extrapolated, they would grow without bound."""
        form, system = self.form, self.form.system
        if form is system and system.solver.excludes and self.multipliers[system.solver.excluded_rows].any():
            a, self.multipliers = form.forward(self._u, self.q, self.v)
            if self._replaced:
                self._replaced = self._u, a, self.multipliers
            self._trend.multipliers[1:], self._trend.multipliers[0] = 0.0, self.multipliers
            self._matrices = None

    # Matrices

    def _solutions(self) -> Sequence[tuple[BoundSolution, int]]:
        return tuple(zip(self._of_stages, (0, 1, 0), strict=True))

    def _shifts(self, length: float) -> list[tuple[complex, complex]]:
        real, pair = REAL / length, COMPLEX / length
        return [(real, 1.0 / real), (pair, 1.0 / pair)]

    def _bound_shift(self, matrices: tuple[Floats, Floats, Floats], factors: Sequence[Factorisation]) -> Bound:
        return Bound(shift_matrices, self._length, *matrices, *(each.data for each in factors))

    def _state_of_filter(self) -> tuple[Floats, Floats]:
        return self._start[0], self._estimate[2]

    def _take_apart(self) -> None:
        super()._take_apart()
        if self._response is not None:
            self._response.take_apart()

    def _multiply_by(self, matrices: tuple[Matrix, Matrix, Matrix]) -> None:
        self._elastic.by(matrices[2], self.form.solver, type(self._factors[0]) is Factorisation)

    def _exclude_nearly_dependent(self) -> bool:
        """Exclude nearly dependent rows in this step; False where that has been tried, or matrices are reused.

        Within a step through a singular posture of a loop such a row changes its sign, and the matrices of one state do
        not represent it at others. Its extrapolated multiplier is accurate enough for one step.
        """
        if not self._fresh or not self.form.layout.has_loops or self._dependent != DEPENDENT:
            return False
        self._dependent, self._factored_for = NEARLY_DEPENDENT, 0.0
        return True

    # A trial step

    def _solve(self, h: float, end: float) -> float | None:
        try:
            trial = self._newton(h, end)
        except (TrialError, SingularError):
            if not self._exclude_nearly_dependent():
                raise
            return self._solve(h, end)
        return self._solve(h, end) if trial is None and self._exclude_nearly_dependent() else trial

    def _newton(self, h: float, end: float) -> float | None:
        """The norm of the error estimate after Newton's iteration; None where it does not converge."""
        self._length[0] = h
        multipliers = self._replaced[2] if self._replaced else self.multipliers
        np.concatenate((self._u, self.q, self.v, multipliers, self.q, self.v), out=self._state)
        if self._replaced:
            # by the factors of the step before, if there was one
            if not self._factors:
                self._prepare(h)
            self._respond(*self._replaced)
        self._prepare(h)
        times = self.t + FIRST * h, self.t + SECOND * h, left_limit(end, self.t)
        norm = self._tried(times, *self._limits())
        self.statistics.evaluations += self._program.estimates
        return norm

    def _limits(self) -> tuple[Convergence, int, int, int]:
        """Limits of the iteration and the estimate, as in ``StepProgram.limited``."""
        doubted = NEGLIGIBLE * self.tolerance if self.form.system.switches and not self._fresh else 0.0
        most = MAX_WITH_FILTER if (self._low_pass or self._exact) and self._fresh else MAX_ITERATIONS
        newton = Convergence(self.tolerance, most, doubted, RESTORING, DIVERGING, LEAST_RATE, ROUNDING)
        return newton, most, 0, 0 if self._low_pass else 1

    @property
    def response(self) -> Program:
        """The kernels of ``_respond``."""
        if self._response is None:
            self._response = self._bound_response()
        return self._response

    def _respond(self, before: Floats, a: Floats, multipliers: Floats) -> None:
        """Accelerations and multipliers after a change of inputs, which only predict the next stages.

        Their change is that of an implicit step, in which stiff members are at rest already. before, a, multipliers :
        inputs, accelerations and multipliers until then.
        """
        self._before[:], self._trend.slope[:] = before, a
        self._estimate[0].fill(0.0)
        self._real.fill(0.0)
        if not self.response.made():
            self._at[0][0] = self._u  # undefined equations, as the step will tell
        self.multipliers = self._at[3][0].copy()

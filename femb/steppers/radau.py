"""Radau IIA of order 5 for second-order systems: stiffly accurate, L-stable, error controlled.

Stage equations, i = 1..3, with K_i = (1/h) sum_j (A^-1)_ij Z_j the derivative of the collocation polynomial:

    K^q_i = H(Q_i) V_i,        M(Q_i) K^v_i + h(Q_i, V_i) + f_el(Q_i) + J(Q_i)^T L_i - f(u_i, Q_i, V_i) = 0,
    J(Q_i) V_i + Phi_t = 0

Newton's unknowns are the velocities Z^v and the multipliers L (index 2; positions are projected on the constraints
after each step, docs/theory/constraints.md, section 5); the coordinates follow from the velocities by the first
equation, which is linear but for the quaternions and is iterated along. A^-1 is brought to its real and its complex
eigenvalue, so that each iteration solves one real and one complex form with the matrix
[mu M + C + K/mu, J^T; J, 0], mu = eigenvalue/h.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.8 (transformation, error estimate,
step-size control); the application to M v' = f with q' = H v is described in docs/theory/integration.md.
"""

from math import isfinite

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm, solution_limits
from femb.steppers.contract import (
    ABOVE_TOLERANCE,
    TOO_STIFF,
    Statistics,
    Step,
    before,
    step_to,
    too_small,
)
from femb.steppers.dense import HermiteStep
from femb.steppers.diagnosis import step_failure
from femb.steppers.energy import NOT_KEPT, EnergyWatch
from femb.steppers.radau_kernels import (
    estimate_force,
    estimate_size,
    finish_iteration,
    start_estimate,
    start_stages,
    to_eigenvectors,
)
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, SingularError
from femb.system.linear_solver import Matrix

ROOT6 = 6.0**0.5
C = np.array([(4.0 - ROOT6) / 10.0, (4.0 + ROOT6) / 10.0, 1.0])
A = np.array(
    [
        [(88 - 7 * ROOT6) / 360, (296 - 169 * ROOT6) / 1800, (-2 + 3 * ROOT6) / 225],
        [(296 + 169 * ROOT6) / 1800, (88 + 7 * ROOT6) / 360, (-2 - 3 * ROOT6) / 225],
        [(16 - ROOT6) / 36, (16 + ROOT6) / 36, 1 / 9],
    ]
)
INVERSE = np.linalg.inv(A)
# Eigenvalues of A^-1, and the error estimate's weights.
REAL = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
COMPLEX = 3.0 + 0.5 * (3.0 ** (1.0 / 3.0) - 3.0 ** (2.0 / 3.0)) - 0.5j * (3.0 ** (5.0 / 6.0) + 3.0 ** (7.0 / 6.0))
ESTIMATE = np.array([-13.0 - 7.0 * ROOT6, -13.0 + 7.0 * ROOT6, -1.0]) / 3.0

MAX_ITERATIONS = 7
# Newton's remaining change, as a part of the tolerance of the step: the root of rtol, within bounds. What is left of a
# balance of moments has the same sign in step after step, so that an angular momentum sums it up.
SOLVED = 3e-4, 3e-3
NEGLIGIBLE = 1e-3
# Of the step at which Newton's iteration failed with fresh matrices: the longest to try next, and how it recovers.
BELOW_FAILURE, RECOVERY = 0.6, 1.1
MIN_FACTOR, MAX_FACTOR = 0.2, 8.0


def _eigenvectors() -> tuple[Floats, Floats]:
    """T and T^-1 with A^-1 = T diag(real, 2 x 2 block of the complex pair) T^-1."""
    values, vectors = np.linalg.eig(INVERSE)
    real = vectors[:, np.argmin(abs(values - REAL))].real
    pair = vectors[:, np.argmin(abs(values - COMPLEX))]
    # Left rows: w for the real value, Re and Im of those of the pair.
    T = np.stack([real, 2.0 * pair.real, -2.0 * pair.imag], axis=1)
    left = np.linalg.inv(np.stack([real, pair, pair.conj()], axis=1))
    return T, np.stack([left[0].real, left[1].real, left[1].imag])


T, T_INVERSE = _eigenvectors()
# Values at the stages to coefficients of the polynomial through them, of powers 1 to 3 (zero at the start), and 0 to 2.
FROM_ZERO = np.linalg.inv(C[:, None] ** np.arange(1, 4))
THROUGH_STAGES = np.linalg.inv(C[:, None] ** np.arange(3))


class Radau:
    """Variable-step Radau IIA(5); see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 5

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        self.form, self.run = form, run
        self.t, self.q, self.v, self.work = 0.0, form.q0.copy(), form.v0.copy(), 0.0
        self.statistics = Statistics()
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, float(np.clip(run.rtol**0.5, *SOLVED)))
        self.h = run.first_step or 0.0
        self.max_step = run.max_step or np.inf
        self._matrices: tuple[Matrix, Matrix, Matrix] | None = None
        self._factored_h, self._dependent = 0.0, DEPENDENT
        self._old_error = self._old_h = 0.0
        self._ceiling = np.inf
        self._energy, self._hidden = EnergyWatch(form, run), False
        self._once_filtered = np.zeros(form.n_v)
        self.error_v: Floats | None = None
        self.restart()

    def restart(self) -> None:
        """Evaluate the start of a smooth stretch; its first stages are not extrapolated."""
        self._u = self.form.inputs_at(self.t, self.q, self.v)
        self.a, self.multipliers = self.form.forward(self._u, self.q, self.v)
        self.power = self._power(self._u, self.q, self.v, self.multipliers)
        self._make_room()
        self._extrapolate_nothing()
        self._starting, self._fresh = True, False
        if not self.h:
            self.h = self._first_step()

    def _make_room(self) -> None:
        """Arrays for the steps of a stretch, over which the number of multipliers is the same."""
        form = self.form
        n_q, n_v, n_c, frames = form.n_q, form.n_v, form.n_c, form.corotated_frames[0].size
        # Z, V, K, Q, L of the stages, turns of frames to them, right-hand sides
        self._stages = (*np.empty((3, 3, n_v)), np.empty((3, n_q)), np.empty((3, n_c)))
        self._turns = np.empty((3, frames, 4))
        self._real, self._pair = np.empty(n_v + n_c), np.empty(n_v + n_c, dtype=complex)
        # see start_estimate
        self._estimate = (np.empty((1, n_v)), np.empty((1, n_q)), np.zeros((1, n_v + n_c)), np.empty((1, frames, 4)))
        # arguments of error_norm for what Newton's iteration leaves of velocities
        self._scale = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0)

    def _extrapolate_nothing(self) -> None:
        """Begin the next step along the acceleration, at the same multipliers."""
        along, same = np.zeros((3, self.form.n_v)), np.zeros((3, self.form.n_c))
        along[0], same[0] = self.a, self.multipliers
        self._polynomials = 1.0, along, same

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Start afresh from a state within the last step."""
        self.t, self.q, self.v, self.work, self.h = t, q, v, work, 0.0
        self._matrices, self._factored_h = None, 0.0
        self.restart()

    def _power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> float:
        return float(self.form.power(u[None], q[None], v[None], multipliers[None])[0])

    def _first_step(self) -> float:
        """A hundredth of the time over which the motion changes the state by itself."""
        rate = self.form.rates(self.q[None], self.v[None])[0]
        size = max(error_norm(*self.scale_q, self.q, 0.0 * self.q), error_norm(*self.scale_v, self.v, 0.0 * self.v))
        change = max(error_norm(*self.scale_q, rate, 0.0 * rate), error_norm(*self.scale_v, self.a, 0.0 * self.a))
        guess = 0.01 * max(size, 1.0) / change if change > 0.0 else np.inf
        return float(min(guess, 0.01 * self.run.duration))

    def step(self, limit: float) -> Step:
        """One accepted step; raises SolveError where none can be made."""
        rejected = False
        self._leave_out()
        h = min(self.h, self.max_step)
        cause: str | Exception = ABOVE_TOLERANCE
        while True:
            h = step_to(limit, self.t, h)
            if too_small(limit, h):
                raise step_failure(self, h, cause) from (cause if isinstance(cause, Exception) else None)
            end = limit if h == limit - self.t else self.t + h
            try:
                solved, iterations, rate = self._newton(h, end)
                cause = cause if solved else "Newton's iteration did not converge"
                if solved and self.form.watched:
                    self.form.watch(self.t, np.vstack([self.q, self._stages[3]]), np.vstack([self.v, self._stages[1]]))
            except (TrialError, SingularError) as problem:
                solved, cause = False, problem
            if not solved and self._fresh and self._leave_nearly_dependent():
                continue
            if not solved:
                self.statistics.rejected += 1
                if self._fresh:
                    self._ceiling = BELOW_FAILURE * h
                    h *= 0.5
                self._fresh_matrices()
                if not self.form.layout.has_loops:
                    self._extrapolate_nothing()
                continue
            error = self._error(h)
            safety = 0.9 * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + iterations)
            factor = self._factor(h, error)
            if error > 1.0:
                self.statistics.rejected += 1
                h *= max(MIN_FACTOR, safety * factor)
                rejected, cause = True, ABOVE_TOLERANCE
                if not self._fresh:
                    self._fresh_matrices()
                continue
            try:
                reached = self._projected()
            except TrialError as problem:
                self.statistics.rejected += 1
                h, rejected, cause = 0.5 * h, True, problem
                continue
            power = self.form.power(self._u_stages, *(self._stages[k] for k in (3, 1, 4)))
            work = self.work + h * float(A[2] @ power)
            if self._hidden and not self._energy.keeps(self, *reached, work, self._once_filtered):
                self.statistics.rejected += 1
                h, rejected, cause = 0.25 * h, True, NOT_KEPT
                continue
            self.statistics.steps += 1
            grow = min(MAX_FACTOR, safety * factor)
            if rejected:
                grow = min(1.0, grow)
            keep = rate > 1e-2 and iterations > 2
            self._old_error, self._old_h = max(error, 1e-4), h
            next_h = h if (not keep and 1.0 <= grow < 1.2) else h * grow
            if end == limit and h < self.h:
                # cut to land on the limit: the step after it may be as long as was planned
                next_h = max(next_h, self.h * min(1.0, grow))
            next_h = min(next_h, self._ceiling)
            self._ceiling *= RECOVERY
            return self._accept(h, end, next_h, reached, work, power, renew=keep)

    def _leave_out(self) -> None:
        """Take rows that are left out from now on to multipliers of zero: extrapolated, theirs would grow unchecked."""
        form, system = self.form, self.form.system
        if not form.n_c or form is not system:
            return
        if self.multipliers[system.solver.excluded_rows].any():
            self.multipliers = form.forward(self._u, self.q, self.v)[1]
            self._polynomials[2][:] = 0.0
            self._polynomials[2][0] = self.multipliers
            self._matrices = None

    # Newton

    def _fresh_matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        matrices = self._matrices = self.form.matrices(self._u, self.q, self.v, self.multipliers)
        self._matrices_q = self.q
        self.statistics.jacobians += 1
        self._fresh = True
        self._factored_h = 0.0
        return matrices

    def _factorise(self, h: float) -> None:
        mass, damping, stiffness = self._matrices or self._fresh_matrices()
        if self._factored_h == h:
            return
        solver = self.form.solver
        shifted = [solver.shifted(mass, damping, stiffness, mu) for mu in (REAL / h, COMPLEX / h)]
        self._factors = [solver.factorise(matrix, self._dependent) for matrix in shifted]
        self._factored_h = h
        self.statistics.factorizations += 2

    def _leave_nearly_dependent(self) -> bool:
        """For this step, leave out rows that nearly depend on others; false where that has been tried.

        Within a step through a singular posture of a loop such a row changes its sign, and matrices of one state say
        nothing of it in others. Its multiplier, extrapolated, holds it well enough for as long.
        """
        if not self.form.layout.has_loops or self._dependent != DEPENDENT:
            return False
        self._dependent, self._factored_h = NEARLY_DEPENDENT, 0.0
        return True

    def _newton(self, h: float, end: float) -> tuple[bool, int, float]:
        """Whether the stage equations converged, after how many iterations, and at which rate."""
        form = self.form
        self._factorise(h)
        t = self.t
        times = t + C[0] * h, t + C[1] * h, before(end, t)
        _, V, K, Q, L = stages = self._stages
        real, pair, turns = self._real, self._pair, self._turns
        of_real, of_pair = self._factors
        turned_q, turned_v = form.corotated_frames
        old_h, *polynomials = self._polynomials
        state = self.q, self.v
        start_stages(
            *form.coordinates, turned_q, self._matrices_q, C, A, INVERSE, h, h / old_h, *polynomials, *state,
            *stages, turns,
        )  # fmt: skip
        solution_limits(self.scale_q, self.scale_v, *state, h, self._scale[2])
        finish = (*form.coordinates, turned_v, A, INVERSE, T, h, self._scale, *state, turns, real, pair, *stages)
        u = None
        rate, previous = 0.0, 0.0
        kept = not self._fresh and form.system.switches
        for iteration in range(MAX_ITERATIONS):
            if u is None or form.inputs_of_state:
                u = np.array([form.inputs_at(times[i], Q[i], V[i]) for i in range(3)])
            residual = form.equations(u, Q, V, K, L)
            to_eigenvectors(T_INVERSE, turns, turned_v, residual, real, pair)
            of_real.solve(real)
            of_pair.solve(pair)
            size = finish_iteration(*finish)
            self.statistics.evaluations += 3
            self.statistics.newton_iterations += 1
            if not isfinite(size):
                return False, iteration, 1.0
            # of a change as small as this, rounding alone may be the half, and its rate says nothing
            done = size <= NEGLIGIBLE * self.tolerance
            if done and kept and size > 0.0:
                if iteration > 0 and size > TOO_STIFF * previous:
                    return False, iteration, 1.0
                done = iteration > 0
            elif iteration > 0 and not done:
                rate = size / previous if previous > 0.0 else 0.0
                left = MAX_ITERATIONS - 1 - iteration
                if rate >= 1.0 or rate**left / (1.0 - rate) * size > self.tolerance:
                    return False, iteration, rate
                done = rate / (1.0 - rate) * size < self.tolerance
            if done:
                self._u_stages = u
                return True, iteration + 1, rate
            previous = size
        return False, MAX_ITERATIONS, rate

    # Error and acceptance

    def _error(self, h: float) -> float:
        """Norm of Hairer's filtered estimate; where it is above one, filtered once more.

        The first filter leaves an error of the size of the state in stiff components that are not in equilibrium
        with their forces; the second removes what an L-stable step will damp anyway.
        """
        error_q, error_v, norm = self._filter(self.q, self.v, h)
        self._hidden, self._once_filtered = norm > 1.0, error_v
        if 1.0 < norm < np.inf:
            _, error_v, norm = self._filter(self.q + error_q, self.v + error_v, h)
        self.error_v = error_v
        return norm

    def _filter(self, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats, float]:
        """Estimate from forces at q, v: in coordinates, in velocities, and its norm."""
        form, mu = self.form, REAL / h
        turned_q, turned_v = form.corotated_frames
        coordinates, here, at = form.coordinates, (self.q[None], self.v[None]), (q[None], v[None])
        Z, _, _, Q, _ = self._stages
        change, rate, drift, turns = self._estimate
        start_estimate(
            *coordinates, turned_q, turned_v, self._matrices_q, ESTIMATE, h, here[0], *at, Z, Q, *self._estimate
        )
        try:
            force = form.equations(self._u[None], *at, change, self.multipliers[None])
        except TrialError:
            return q, v, np.inf
        self.statistics.evaluations += 1
        pull = form.solver.multiply(self._matrices[2], drift[0])  # type: ignore[index]
        estimate_force(turned_v, form.n_v, turns, mu, force, pull)
        error_v = self._factors[0].solve(force[0])
        error_q = np.empty_like(rate)
        scales = self.scale_q, self.scale_v
        norm = estimate_size(*coordinates, turned_v, *scales, mu, *here, turns, rate, error_v[None], error_q)
        return error_q[0], error_v[: form.n_v], norm

    def _factor(self, h: float, error: float) -> float:
        """Step-size factor: Gustafsson's prediction from the last two steps, or the plain one."""
        if error == 0.0:
            return MAX_FACTOR
        plain = error**-0.25
        if self._old_h > 0.0 and error <= 1.0:
            return float(min(plain, plain * h / self._old_h * (self._old_error / error) ** 0.25))
        return float(plain)

    def _projected(self) -> tuple[Floats, Floats]:
        """The end of a step with unit quaternions, on the constraints."""
        _, V, _, Q, _ = self._stages
        q = Q[2].copy()
        self.form.normalise(q)
        return self.form.projected(self._u_stages[2], q, V[2].copy(), self._factors[0])

    def _accept(
        self,
        h: float,
        end: float,
        next_h: float,
        reached: tuple[Floats, Floats],
        work: float,
        power: Floats,
        renew: bool,
    ) -> Step:
        form = self.form
        Z, _, K, _, L = self._stages
        # the collocation polynomial of v through (0, 0) and the stages
        motion = FROM_ZERO @ Z
        self._polynomials = h, motion, THROUGH_STAGES @ L if form.n_c else L
        # Members that start out of equilibrium have accelerations the step does not resolve: they would swing the dense
        # output, so that it takes the polynomial's own at the start of a stretch.
        a = motion[0] / h if self._starting else self.a
        self._starting = False
        old = (self.q, self.v, a, self.work, self.power)
        start = self.t
        self.t, (self.q, self.v), self.multipliers = end, reached, L[2].copy()
        self.a = K[2].copy()
        self.work = work
        self.power = float(power[2])
        self._u = self._u_stages[2]
        self._fresh = False
        self.h = next_h
        if self._dependent != DEPENDENT:
            self._dependent, self._factored_h = DEPENDENT, 0.0
        if renew:
            self._matrices = None
            self._factored_h = 0.0
        new = (self.q, self.v, self.a, self.work, self.power)
        nodes = (np.array([start, start + C[0] * h, start + C[1] * h, end]), np.concatenate([a[None], K]))
        return HermiteStep(form, start, end, old, new, (C[:2], power[:2]), nodes)

"""Generalized-alpha: second order, one implicit equation a step, damping of high frequencies by choice.

With the spectral radius rho at infinite frequency, alpha_m = (2 rho - 1)/(rho + 1), alpha_f = rho/(rho + 1),
gamma = 1/2 - alpha_m + alpha_f, beta = (gamma + 1/2)^2/4, and auxiliary accelerations A:

    (1 - alpha_m) A+ + alpha_m A = (1 - alpha_f) a+ + alpha_f a,        A = a(t + (alpha_m - alpha_f) h) + O(h^2)
    q+ = q exp(h v + h^2 ((1/2 - beta) A + beta A+)),        v+ = v + h ((1 - gamma) A + gamma A+)
    M a+ + h + f_el + J^T lambda - f = 0,        J v+ + Phi_t = 0

Newton's unknowns are the velocities, to which accelerations and coordinates are tied, and the multipliers, with the
iteration matrix [M/(gamma' h) + C + beta' h K/gamma', J^T; J, 0], beta' and gamma' being beta and gamma times
(1 - alpha_f)/(1 - alpha_m). Positions are projected on the constraints after each accepted step. Constraints are held
on velocities (index 2) and not on positions (index 3): with steps that change, index 3 left accelerations that jump by
the order of the jump in the step, which an error test answers with ever shorter steps (docs/theory/constraints.md,
section 6). The error is the distance to a predictor one order higher, filtered of what is stiffer than the step.

J. Chung, G. M. Hulbert, J. Appl. Mech. 60 (1993) 371-375; O. Bruls, A. Cardona, M. Arnold, Mech. Mach. Theory 48 (2012)
121-137 (on Lie groups); M. Arnold, O. Bruls, Multibody Syst. Dyn. 18 (2007) 185-202 (convergence with constraints).
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm
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
from femb.steppers.generalized_alpha_kernels import moved
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Factors, Matrix

MAX_ITERATIONS = 8
# Newton's remaining change as a part of the tolerance of the step, and what may be rounding.
SOLVED, NEGLIGIBLE = 0.01, 1e-5
# Matrices are formed anew for the next step once the iteration contracts more slowly than this.
SLOW = 0.2
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 3.0
# The step is kept where it could grow by less.
WORTHWHILE = 1.2
FILTERS = 2


@dataclass
class _Trial:
    q: Floats
    v: Floats
    a: Floats
    A: Floats
    multipliers: Floats
    u: Floats
    iterations: int


class GeneralizedAlpha:
    """Variable-step generalized-alpha; see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 2

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        self.form, self.run = form, run
        self.t, self.q, self.v, self.work = 0.0, form.q0.copy(), form.v0.copy(), 0.0
        self.statistics = Statistics()
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        rho = run.spectral_radius
        self.alpha_m, self.alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        self.gamma = 0.5 - self.alpha_m + self.alpha_f
        self.beta = 0.25 * (self.gamma + 0.5) ** 2
        share = (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
        self.gamma_a, self.beta_a = share * self.gamma, share * self.beta
        self.max_step = run.max_step or np.inf
        self.h = run.first_step or 0.0
        self._energy, self._hidden = EnergyWatch(form, run), False
        self._unfiltered = np.zeros(form.n_v)
        self.error_v: Floats | None = None
        self.restart()

    def restart(self) -> None:
        """Begin a smooth stretch with the accelerations of its start."""
        self._u = self.form.inputs_at(self.t, self.q, self.v)
        self.a, self.multipliers = self.form.forward(self._u, self.q, self.v)
        self.A = self.a.copy()
        # ends of the last steps of a smooth stretch and their accelerations, but not its start's, which may be out of
        # equilibrium
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=self.order)
        self.power = self._power(self._u, self.q, self.v, self.multipliers)
        self._slope: Floats | None = None
        self._A_h = 0.0
        self._matrices: tuple[Matrix, Matrix, Matrix] | None = None
        self._factored_h = 0.0
        if not self.h:
            self.h = self._first_step()

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Start afresh from a state within the last step."""
        self.t, self.q, self.v, self.work, self.h = t, q, v, work, 0.0
        self.restart()

    def _power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> float:
        return float(self.form.power(u[None], q[None], v[None], multipliers[None])[0])

    def _first_step(self) -> float:
        """A step over which the accelerations change velocities by about the root of the tolerance."""
        change = error_norm(*self.scale_v, self.a, 0.0 * self.v)
        rate = error_norm(*self.scale_q, self.form.rates(self.q[None], self.v[None])[0], 0.0 * self.q)
        size = max(error_norm(*self.scale_q, self.q, 0.0 * self.q), 1.0)
        return float(min(0.01 * self.run.duration, 0.1 * size ** (1.0 / 3.0) / max(change, rate, 1e-300) ** 0.5))

    def step(self, limit: float) -> Step:
        """One accepted step; raises SolveError where none can be made."""
        h, rejected = min(self.h, self.max_step), False
        cause: str | Exception = ABOVE_TOLERANCE
        while True:
            h = step_to(limit, self.t, h)
            if too_small(limit, h):
                raise step_failure(self, h, cause) from (cause if isinstance(cause, Exception) else None)
            end = limit if h == limit - self.t else self.t + h
            try:
                fresh = self._matrices is None
                trial = self._solve(h, end)
                if trial is not None:
                    q, v = self.form.projected(trial.u, trial.q, trial.v, self._factored)
                    if self.form.watched:
                        self.form.watch(self.t, np.stack([self.q, q]), np.stack([self.v, v]))
                cause = cause if trial else "Newton's iteration did not converge"
            except (TrialError, SingularError) as problem:
                trial, cause, fresh = None, problem, True
            if trial is None:
                self.statistics.rejected += 1
                self._matrices = None
                h *= 0.5 if fresh else 1.0
                continue
            error = self._error(trial, h)
            factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, max(MIN_FACTOR, SAFETY * error ** (-1.0 / 3.0)))
            if error <= 1.0:
                power = self._power(trial.u, q, v, trial.multipliers)
                work = self.work + 0.5 * h * (self.power + power)
                if not self._hidden or self._energy.keeps(self, q, v, work, self._unfiltered):
                    break
                self.statistics.rejected += 1
                h, rejected, cause = 0.25 * h, True, NOT_KEPT
                continue
            self.statistics.rejected += 1
            rejected, cause = True, ABOVE_TOLERANCE
            h *= min(factor, 0.9)
        self.statistics.steps += 1
        factor = min(factor, 1.0) if rejected else factor
        planned = self.h
        self.h = h if 1.0 <= factor < WORTHWHILE else h * factor
        if end == limit and h < planned:
            self.h = max(self.h, planned * min(1.0, factor))
        return self._accept(h, end, trial, (q, v, work, power))

    # Newton

    def _factorise(self, h: float) -> None:
        self._kept = self._matrices is not None
        if self._matrices is None:
            self._matrices = self.form.matrices(self._u, self.q, self.v, self.multipliers)
            self.statistics.jacobians += 1
            self._factored_h = 0.0
        if self._factored_h != h:
            solver = self.form.solver
            data = solver.shifted(*self._matrices, 1.0 / (self.gamma_a * h), self.beta_a * h / self.gamma_a)
            self._factored: Factors = solver.factorise(data)
            self._factored_h = h
            self.statistics.factorizations += 1

    def _solve(self, h: float, end: float) -> _Trial | None:
        """The step's equations by Newton's iteration; None where it does not converge."""
        form, n_v = self.form, self.form.n_v
        self._factorise(h)
        a, old_A = self.a, self.A
        if self._slope is not None:
            a = self.a + h * self._slope
            if h != self._A_h:
                # A stands for the acceleration at t + (alpha_m - alpha_f) h: it moves with the length of the step, or
                # the method would be of first order with steps that change
                self.a, self.multipliers = form.forward(self._u, self.q, self.v)
                self.A, self._A_h = self.a + (self.alpha_m - self.alpha_f) * h * self._slope, h
            old_A = self.A
        multipliers, t = self.multipliers, before(end, self.t)
        kept = self._kept and form.system.switches
        u, previous = None, 0.0
        for iteration in range(MAX_ITERATIONS):
            A = ((1.0 - self.alpha_f) * a + self.alpha_f * self.a - self.alpha_m * old_A) / (1.0 - self.alpha_m)
            v = self.v + h * ((1.0 - self.gamma) * old_A + self.gamma * A)
            q = np.empty_like(self.q)
            moved(*form.coordinates, self.q, h * self.v + h * h * ((0.5 - self.beta) * old_A + self.beta * A), q)
            if u is None or form.inputs_of_state:
                u = form.inputs_at(t, q, v)
            x = -form.equations(u[None], q[None], v[None], a[None], multipliers[None])[0]
            self.statistics.evaluations += 1
            self.statistics.newton_iterations += 1
            self._factored.solve(x)
            change = x[:n_v]
            a = a + change / (self.gamma_a * h)
            multipliers = multipliers + x[n_v:]
            size = error_norm(*self.scale_v, change, self.v)
            size = max(size, error_norm(*self.scale_q, form.rates(self.q[None], h * change[None])[0], self.q))
            if not np.isfinite(size):
                return None
            rate, previous = size / previous if previous > 0.0 else 1.0, size
            done = size <= NEGLIGIBLE
            if done and kept and size > 0.0:
                if iteration > 0 and rate > TOO_STIFF:
                    return None
                done = iteration > 0
            elif iteration > 0 and not done:
                if iteration > 1 and rate >= 1.0:
                    return None
                done = rate < 1.0 and rate / (1.0 - rate) * size <= SOLVED
            if done:
                A = ((1.0 - self.alpha_f) * a + self.alpha_f * self.a - self.alpha_m * old_A) / (1.0 - self.alpha_m)
                v = self.v + h * ((1.0 - self.gamma) * old_A + self.gamma * A)
                moved(*form.coordinates, self.q, h * self.v + h * h * ((0.5 - self.beta) * old_A + self.beta * A), q)
                self._slow = iteration > 0 and rate > SLOW
                return _Trial(q, v, a, A, multipliers, u, iteration + 1)
        return None

    # Error and acceptance

    def _error(self, trial: _Trial, h: float) -> float:
        """Norm of the distance to the predictor with the slope of the accelerations, filtered."""
        form = self.form
        slope = (trial.a - self.a) / h if self._slope is None else self._slope
        predicted = np.empty_like(self.q)
        moved(*form.coordinates, self.q, h * self.v + 0.5 * h * h * self.a + h**3 / 6.0 * slope, predicted)
        error_q, error_v = trial.q - predicted, trial.v - (self.v + h * self.a + 0.5 * h * h * slope)
        if self._slope is None:
            # the slope is the step's own: what is left of the difference is the method's
            error_q = error_q + h * h * (self.beta - 1.0 / 6.0) * form.rates(self.q[None], (trial.a - self.a)[None])[0]
        norm = max(error_norm(*self.scale_q, error_q, self.q), error_norm(*self.scale_v, error_v, self.v))
        self._hidden, self._unfiltered = not norm <= 1.0, error_v
        for _ in range(FILTERS):
            error_q, error_v = self._filter(error_q, error_v, h)
            norm = max(error_norm(*self.scale_q, error_q, self.q), error_norm(*self.scale_v, error_v, self.v))
            if norm <= 1.0:
                break
        self.error_v = error_v
        return float(norm)

    def _filter(self, error_q: Floats, error_v: Floats, h: float) -> tuple[Floats, Floats]:
        """What a step makes of an error: x, y with mu (x - error_q) = H y, mu M (y - error_v) + C y + K x = 0."""
        form, mu = self.form, 1.0 / (self.gamma_a * h)
        mass, _, stiffness = self._matrices  # type: ignore[misc]
        free = np.zeros(form.n_c)
        of_q = np.concatenate([form.tangents(self.q, error_q[None])[0], free])
        y = mu * form.solver.multiply(mass, np.concatenate([error_v, free]))
        y -= form.solver.multiply(stiffness, of_q)
        y[form.n_v :] = 0.0
        y = self._factored.solve(y)[: form.n_v]
        return error_q + form.rates(self.q[None], y[None])[0] / mu, y

    def _accept(self, h: float, end: float, trial: _Trial, reached: tuple[Floats, Floats, float, float]) -> Step:
        start, old = self.t, (self.q, self.v, self.a, self.work, self.power)
        q, v, self.work, self.power = reached
        self._slope, self._A_h = (trial.a - self.a) / h, h
        self.t, self.q, self.v, self.a, self.A = end, q, v, trial.a, trial.A
        self.multipliers, self._u = trial.multipliers, trial.u
        if self._slow:
            self._matrices = None
        self._ends.append((end, trial.a))
        nodes = ([t for t, _ in self._ends], [a for _, a in self._ends])
        new = (self.q, self.v, self.a, self.work, self.power)
        return HermiteStep(self.form, start, end, old, new, nodes=nodes)

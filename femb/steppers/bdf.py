"""Backward differentiation formulas for second-order systems: order 1 to 5, variable step and order.

With the derivative of the formula, K = mu d + slope (see ``bdf_history``), a step solves

    K^q = H(q) v,        M(q) K^v + h(q, v) + f_el(q) + J(q)^T lambda - f(u, q, v) = 0,        J(q) v + Phi_t = 0

at its end. Newton's unknowns are the velocities and the multipliers, which have no history and are not in the error
test; the coordinates are an explicit function of the velocities (quaternions too, see ``bdf_kernels``). The iteration
matrix [mu M + C + K/mu, J^T; J, 0] is formed at one state, kept while it serves, and turned along with the frames. The
solution is projected on the constraints before it joins the history, so that all differences know of it.

L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1-22: differences, errors, order.
E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8: when to end Newton's iteration.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm, solution_limits
from femb.steppers.bdf_history import ALPHA, ERROR, MAX_ORDER, History, PolynomialStep
from femb.steppers.bdf_kernels import correct, implicit_coordinates, normalise_history
from femb.steppers.contract import (
    ABOVE_TOLERANCE,
    TOO_STIFF,
    Statistics,
    Step,
    before,
    step_to,
    too_small,
)
from femb.steppers.diagnosis import step_failure
from femb.steppers.energy import NOT_KEPT, EnergyWatch
from femb.steppers.radau_kernels import frame_turns, turn_frames, turn_frames_back
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Factors, Matrix

MAX_ITERATIONS = 6
# Newton's remaining change, as a part of the tolerance of the step.
SOLVED = 0.01
# A change as small as this part of that may be rounding, and its rate says nothing.
NEGLIGIBLE = 1e-3
# Newton's second change over its first: up to the one a rate of convergence, from the other on divergence.
RESTORING, DIVERGING = 0.3, 2.0
# Iterations that form matrices when Newton's method is used in full.
FORMING = 3
# The iteration matrix serves while mu is within this part of the mu it was factorised for.
REFACTOR = 0.1
# Matrices are formed anew for the next step once the iteration contracts more slowly than this.
SLOW = 0.2
# How often an error estimate above the tolerance is filtered again, usually and in the first steps of a stretch; and
# the error of a step that passes only then.
FILTERS, FILTERS_AT_START, FIRST_STEPS = 2, 5, 4
PASSED = 0.5
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
# The step is lengthened by at least this factor, or not at all.
WORTHWHILE = 1.2
# Rejections of one step after which its history is given up.
MAX_REJECTED = 3


def default_max_order(form: Formulation) -> int:
    """2 where a vibration is undamped, else 5.

    From order 3 on the formulas are unstable near the imaginary axis, and undamped stiff vibrations pin the step.
    """
    return 2 if any(batch.undamped for batch in form.system.batches) else MAX_ORDER


@dataclass
class _Trial:
    """A solved step: what d the history advances by, the state at its end, the frames' turns since the matrices."""

    d: Floats
    q: Floats
    v: Floats
    a: Floats
    u: Floats
    multipliers: Floats
    power: float
    turns: Floats
    iterations: int


class Bdf:
    """Variable-step, variable-order BDF; see ``femb.steppers.contract`` for the meaning of its attributes."""

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        self.form, self.run = form, run
        self.t, self.q, self.v, self.work = 0.0, form.q0.copy(), form.v0.copy(), 0.0
        self.statistics = Statistics()
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, SOLVED)
        self.max_order = run.max_order or default_max_order(form)
        self.max_step = run.max_step or np.inf
        self.history = History(form.n_q + form.n_v + 1)
        self._matrices: tuple[Matrix, Matrix, Matrix] | None = None
        self._factored: Factors | None = None
        self._factored_mu = 0.0
        self._slow = False
        self._h = 0.0
        self._energy, self._hidden = EnergyWatch(form, run), False
        self.error_v: Floats | None = None
        self.restart()
        if run.first_step:
            self._h = run.first_step

    @property
    def order(self) -> int:
        """Order of the next step."""
        return self.history.order

    def restart(self) -> None:
        """Begin a smooth stretch with order 1 and a step that order can take."""
        self._u = self.form.inputs_at(self.t, self.q, self.v)
        self.a, self.multipliers = self.form.forward(self._u, self.q, self.v)
        self.power = self._power(self._u, self.q, self.v, self.multipliers)
        self._begin(self._h or 0.01 * self.run.duration)

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Start afresh from a state within the last step."""
        self.t, self.q, self.v, self.work, self._matrices = t, q, v, work, None
        self.restart()

    def _begin(self, longest: float) -> None:
        """Forget the history: order 1 and a step of at most ``longest``.

        The accelerations of stiff members answer to the last digits of their strains, so that they are filtered
        before they are extrapolated.
        """
        form = self.form
        self._form(self._u, self.q, self.v)
        self._factorise(ALPHA[1] / longest)
        a, turns = self.a, np.tile([1.0, 0.0, 0.0, 0.0], (len(form.corotated_frames[1]), 1))
        x = np.zeros(form.n_q)
        for _ in range(2):
            x, a = self._filter(x, a, self.q, turns)
        rate = form.rates(self.q[None], self.v[None])[0]
        self._h = min(longest, self._first_step(rate, a))
        self._settling = FIRST_STEPS
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=MAX_ORDER + 1)
        value = np.concatenate([self.q, self.v, [self.work]])
        self.history.begin(value, np.concatenate([rate, a, [self.power]]), self._h)

    def _power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> float:
        return float(self.form.power(u[None], q[None], v[None], multipliers[None])[0])

    def _norm(self, error_q: Floats, error_v: Floats, q: Floats, v: Floats) -> float:
        return float(max(error_norm(*self.scale_q, error_q, q), error_norm(*self.scale_v, error_v, v)))

    def _first_step(self, rate: Floats, a: Floats) -> float:
        """A step over which the motion, if it curves as it goes, departs from a line by about the tolerance."""
        size = max(self._norm(self.q, self.v, 0.0 * self.q, 0.0 * self.v), 1.0)
        change = self._norm(rate, a, 0.0 * self.q, 0.0 * self.v)
        return float(size**0.5 / change) if change > 0.0 else np.inf

    # A step

    def step(self, limit: float) -> Step:
        """One accepted step; raises SolveError where none can be made."""
        rejected = 0
        cause: str | Exception = ABOVE_TOLERANCE
        h = min(self._h, self.max_step)
        while True:
            h = step_to(limit, self.t, h)
            if too_small(limit, h):
                raise step_failure(self, h, cause) from (cause if isinstance(cause, Exception) else None)
            end = limit if h == limit - self.t else self.t + h
            self.history.change(h, self.order)
            try:
                trial = self._solve(h, end, full=False) or self._solve(h, end, full=True)
                cause = cause if trial else "Newton's iteration did not converge"
                if trial and self.form.watched:
                    self.form.watch(self.t, np.stack([self.q, trial.q]), np.stack([self.v, trial.v]))
            except (TrialError, SingularError) as problem:
                trial, cause = None, problem
            if trial is None:
                self.statistics.rejected += 1
                self._matrices = None
                h *= 0.5
                continue
            error = self._error(trial)
            if error <= 1.0:
                if not self._hidden or self._keeps_energy(trial):
                    break
                self.statistics.rejected += 1
                cause = NOT_KEPT
                self._begin(0.25 * h)
                h = self._h
                continue
            self.statistics.rejected += 1
            rejected, cause = rejected + 1, ABOVE_TOLERANCE
            h = self._retry(h, error, rejected, trial)
        self.statistics.steps += 1
        return self._accept(h, end, error, trial)

    def _retry(self, h: float, error: float, rejected: int, trial: _Trial) -> float:
        """The step to try after an error above the tolerance; lowers the order where that allows a longer one."""
        if rejected >= MAX_REJECTED and self.order > 1:
            self._begin(MIN_FACTOR * h)
            return self._h
        factor, k = self._growth(self.order, error, trial), self.order
        if k > 1:
            lower = self._growth(k - 1, self._error_of(k - 1, self.history.D[k] + trial.d, trial), trial)
            if lower > factor:
                factor, k = lower, k - 1
        h *= min(max(factor, MIN_FACTOR), 0.9)
        self.history.change(h, k)
        return h

    def _growth(self, order: int, error: float, trial: _Trial) -> float:
        """Factor to the step with which a method of this order would just meet the tolerance."""
        safety = SAFETY * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + trial.iterations)
        return safety * error ** (-1.0 / (order + 1)) if error > 0.0 else np.inf

    # Newton

    def _form(self, u: Floats, q: Floats, v: Floats) -> None:
        """Matrices at a state, to be factorised."""
        self._matrices = self.form.matrices(u, q, v, self.multipliers)
        self._matrices_q = q.copy()
        self._factored_mu, self._slow = 0.0, False
        self.statistics.jacobians += 1

    def _factorise(self, mu: float) -> None:
        if self._factored_mu > 0.0 and abs(mu / self._factored_mu - 1.0) <= REFACTOR:
            return
        mass, damping, stiffness = self._matrices  # type: ignore[misc]
        self._factored = self.form.solver.factorise(self.form.solver.shifted(mass, damping, stiffness, mu))
        self._factored_mu = mu
        self.statistics.factorizations += 1

    def _solve(self, h: float, end: float, full: bool) -> _Trial | None:
        """The step's equations by Newton's iteration, in full or with kept matrices; None where it does not converge.

        A prediction along tangents strains members that turn. Where the force of that strain is more than what holds
        the member's direction, the kept matrices, which know nothing of the force, let the first iteration turn the
        member and the second turn it back; or they diverge, and only matrices formed on the way converge.
        """
        form, n_q = self.form, self.form.n_q
        quaternion_q, places = form.corotated_frames
        mu = ALPHA[self.order] / h
        predicted, slope = self.history.predict()
        known = predicted[:n_q] - slope[:n_q] / mu
        v_predicted, v_slope = predicted[n_q:-1], slope[n_q:-1]
        d, v, a, q = np.zeros(form.n_v), v_predicted, v_slope, np.empty(n_q)
        implicit_coordinates(*form.coordinates, mu, known, v, q)
        if not full:
            if self._matrices is None or self._slow:
                self._form(self._u, self.q, self.v)
            self._factorise(mu)
        turns = np.empty((1, len(places), 4))
        scale = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0)
        solution_limits(self.scale_q, self.scale_v, self.q, self.v, 1.0 / mu, scale[2])
        t, u, previous, multipliers = before(end, self.t), None, 0.0, self.multipliers
        kept = not full and form.system.switches
        for iteration in range(MAX_ITERATIONS):
            if u is None or form.inputs_of_state:
                u = form.inputs_at(t, q, v)
            if full and iteration < FORMING:
                self._form(u, q, v)
                self._factorise(mu)
            if iteration == 0 or (full and iteration < FORMING):
                frame_turns(quaternion_q, self._matrices_q, q[None], turns)
            change = -form.equations(u[None], q[None], v[None], a[None], multipliers[None])[0]
            self.statistics.evaluations += 1
            self.statistics.newton_iterations += 1
            turn_frames_back(turns[0], places, change)
            self._factored.solve(change)  # type: ignore[union-attr]
            size = correct(turns[0], places, change, scale, self.v, d)
            v, a, multipliers = v_predicted + d, v_slope + mu * d, multipliers + change[form.n_v :]
            implicit_coordinates(*form.coordinates, mu, known, v, q)
            if not np.isfinite(size):
                return None
            rate, previous = size / previous if previous > 0.0 else 1.0, size
            if kept and 0.0 < size <= self.tolerance:
                if iteration == 0:
                    continue
                if rate > TOO_STIFF:
                    return None
            if size > NEGLIGIBLE * self.tolerance:
                if iteration == 0:
                    continue
                if iteration == 1 and rate > RESTORING:
                    if rate > DIVERGING and not full:
                        return None
                    if size > self.tolerance:
                        continue
                else:
                    left = MAX_ITERATIONS - 1 - iteration
                    if rate >= 1.0 or rate**left / (1.0 - rate) * size > self.tolerance:
                        return None
                    self._slow = rate > SLOW
                    if rate / (1.0 - rate) * size > self.tolerance:
                        continue
            q, v = self._projected(u, q, v)
            power = self._power(u, q, v, multipliers)
            d = np.concatenate([q - predicted[:n_q], v - v_predicted, [(power - slope[-1]) / mu]])
            return _Trial(d, q, v, a, u, multipliers, power, turns[0], iteration + 1)
        return None

    def _projected(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """A solution on the constraints, with quaternions as far off unit length as they are."""
        if not self.form.n_c:
            return q, v
        places = self.form.coordinates[2][:, None] + np.arange(4)
        lengths = np.sqrt(np.sum(q[places] ** 2, axis=1, keepdims=True))
        unit = q.copy()
        unit[places] /= lengths
        unit, v = self.form.projected(u, unit, v, self._factored)
        unit[places] *= lengths
        return unit, v

    # Error and acceptance

    def _error(self, trial: _Trial) -> float:
        """Norm of the error of a solved step.

        Filtered once, the estimate still holds changes of stiff components that are not in equilibrium with their
        forces, at the start of a stretch or after a change of the step. They last a step or two whatever the step,
        but as velocities they grow as it shrinks, so that a shorter step is no cure; filtering again is. A step that
        passes only then is no reason for a longer one.
        """
        error_q, error_v = self._estimate(self.order, trial.d, trial)
        norm = self._norm(error_q, error_v, self.q, self.v)
        n_q, raw = self.form.n_q, ERROR[self.order] * trial.d
        self._hidden = not self._norm(raw[:n_q], raw[n_q:-1], self.q, self.v) <= 1.0
        for _ in range(FILTERS_AT_START if self._settling else FILTERS):
            if norm <= 1.0:
                break
            error_q, error_v = self._filter(error_q, error_v, trial.q, trial.turns)
            norm = max(PASSED, self._norm(error_q, error_v, self.q, self.v))
        self.error_v = error_v
        return norm

    def _keeps_energy(self, trial: _Trial) -> bool:
        """Whether a solved step does; its work is that of the formula."""
        q = trial.q.copy()
        self.form.normalise(q)
        work = np.sum(self.history.D[: self.order + 1, -1]) + trial.d[-1]
        n_q = self.form.n_q
        return self._energy.keeps(self, q, trial.v, float(work), ERROR[self.order] * trial.d[n_q:-1])

    def _error_of(self, order: int, difference: Floats, trial: _Trial) -> float:
        """Norm of the error a step by another order would have had."""
        return self._norm(*self._estimate(order, difference, trial), self.q, self.v)

    def _estimate(self, order: int, difference: Floats, trial: _Trial) -> tuple[Floats, Floats]:
        """Error (q, v) of an order from the difference one above it, filtered.

        A difference holds all of a stiff component that moves faster than the step; the formula does not.
        """
        n_q = self.form.n_q
        error = ERROR[order] * difference
        return self._filter(error[:n_q], error[n_q:-1], trial.q, trial.turns)

    def _filter(self, error_q: Floats, error_v: Floats, q: Floats, turns: Floats) -> tuple[Floats, Floats]:
        """What a step to q makes of an error: x, y with mu (x - error_q) = H y, mu M (y - error_v) + C y + K x = 0."""
        form, mu = self.form, self._factored_mu
        places = form.corotated_frames[1]
        mass, _, stiffness = self._matrices  # type: ignore[misc]
        free = np.zeros(form.n_c)
        back_v = np.concatenate([error_v, free])
        back_q = np.concatenate([form.tangents(q, error_q[None])[0], free])
        turn_frames_back(turns, places, back_v)
        turn_frames_back(turns, places, back_q)
        y = mu * form.solver.multiply(mass, back_v) - form.solver.multiply(stiffness, back_q)
        y[form.n_v :] = 0.0
        y = self._factored.solve(y)[: form.n_v]  # type: ignore[union-attr]
        turn_frames(turns, places, y)
        return error_q + form.rates(q[None], y[None])[0] / mu, y

    def _plan(self, h: float, error: float, trial: _Trial) -> float:
        """Length of the next step, with its order set: the neighbour that allows the longest step."""
        history = self.history
        k = history.order
        if history.equal <= k:
            return h
        best, order = self._growth(k, error, trial), k
        present = best
        for other in (k - 1, k + 1):
            if 1 <= other <= self.max_order:
                growth = self._growth(other, self._error_of(other, history.D[other + 1], trial), trial)
                if growth > best:
                    best, order = growth, other
        if best < WORTHWHILE and present >= SAFETY:
            return h
        longer = min(h * min(best, MAX_FACTOR), self.max_step)
        history.change(longer, order)
        return longer

    def _accept(self, h: float, end: float, error: float, trial: _Trial) -> Step:
        form, history, n_q = self.form, self.history, self.form.n_q
        start = self.t
        history.advance(trial.d)
        normalise_history(form.coordinates[2], history.D)
        self.t, self.q, self.v = end, history.D[0, :n_q].copy(), history.D[0, n_q:-1].copy()
        self.a, self.work, self.power, self._u = trial.a, float(history.D[0, -1]), trial.power, trial.u
        self.multipliers = trial.multipliers
        self._settling = max(self._settling - 1, 0)
        # its start has accelerations out of equilibrium: a stretch has nodes from the end of its first step on
        self._ends.append((end, self.a))
        last = list(self._ends)[-(history.order + 1) :]
        nodes = ([t for t, _ in last], [a for _, a in last])
        step = PolynomialStep(form, start, end, history.D[: history.order + 1].copy(), nodes)
        self._h = self._plan(h, error, trial)
        return step

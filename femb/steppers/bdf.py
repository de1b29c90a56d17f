"""Backward differentiation formulas for second-order systems: order 1 to 5, variable step and order.

With the derivative of the formula, K = mu d + slope (see ``bdf_history``), a step solves

    K^q = H(q) v,        M(q) K^v + h(q, v) + f_el(q) + J(q)^T lambda - f(u, q, v) = 0,        J(q) v + Phi_t = 0

at its end. Newton's unknowns are the velocities and the multipliers, which have no history and are not in the error
test; the coordinates are an explicit function of the velocities (quaternions too, see ``bdf_kernels``). The iteration
matrix [mu M + C + K/mu, J^T; J, 0] is formed at one state, reused while the iteration converges well, and rotated with
the frames. The solution is projected on the constraints before it enters the history.

L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1-22: differences, errors, order.
E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8: when to end Newton's iteration.
"""

from collections import deque

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.steppers.bdf_equations import MAX_ITERATIONS, BdfEquations, Solution
from femb.steppers.bdf_history import ALPHA, ERROR, MAX_ORDER, PolynomialStep
from femb.steppers.bdf_kernels import normalise_history
from femb.steppers.contract import Step
from femb.steppers.variable_step import WORTHWHILE

# How often an error estimate above the tolerance is filtered again, usually and in the first steps of a smooth
# interval; and the error assigned to a step that passes only then.
FILTERS, FILTERS_AT_START, FIRST_STEPS = 2, 5, 4
PASSED = 0.5
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
# Rejections of one step after which the history is discarded.
MAX_REJECTED = 3


def default_max_order(form: Formulation) -> int:
    """The default of the highest order: 2 where a vibration is undamped, else 5.

    From order 3 on the formulas are unstable near the imaginary axis, and undamped stiff vibrations limit the step.
    """
    return 2 if any(batch.undamped for batch in form.system.batches) else MAX_ORDER


class Bdf(BdfEquations):
    """Variable-step, variable-order BDF; see ``femb.steppers.contract`` for the meaning of its attributes."""

    estimates_after_jump = False
    lands_on_openings = False
    memory = (*BdfEquations.memory, "history", "_ends", "_settling", "_slow")

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.max_order = run.max_order or default_max_order(form)
        self.h = 0.0
        self.restart()
        self.h = run.first_step or self.h

    def restart(self) -> None:
        """Begin a smooth interval with order 1 and a step length suited to it."""
        self._evaluate()
        self._begin(self.h or 0.01 * self.run.duration)

    def land(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """As in ``VariableStep``; the next step length is estimated anew."""
        self.h = 0.0
        super().land(t, q, v, work)

    def _begin(self, longest: float) -> None:
        """Discard the history: order 1 and a step of at most ``longest`` (s).

        The accelerations of stiff members are sensitive to rounding of their strains, so that they are filtered before
        they are extrapolated.
        """
        form = self.form
        self._form_matrices(self._u, self.q, self.v)
        self._factorise(ALPHA[1] / longest)
        x, a = np.zeros(form.n_q), self.a
        for _ in range(2):
            x, a = self._filtered(self._factored_for, x, a, self.q)
        rate = form.rates(self.q[None], self.v[None])[0]
        size, change = self._size_and_change(rate, a)
        # over this step the motion departs from a straight line by about the tolerance
        self.h = min(longest, float(size**0.5 / change) if change > 0.0 else np.inf)
        self._settling = FIRST_STEPS
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=MAX_ORDER + 1)
        value = np.concatenate([self.q, self.v, [self.work]])
        self.history.begin(value, np.concatenate([rate, a, [self.power]]), self.h)

    def _after_error(self, trial: Solution, h: float, error: float) -> float:
        """The step to try after an error above the tolerance; lowers the order where that allows a longer step."""
        if self._rejections >= MAX_REJECTED and self.order > 1:
            self._begin(MIN_FACTOR * h)
            return self.h
        factor, k = self._growth(self.order, error, trial), self.order
        if k > 1:
            lower = self._growth(k - 1, self._error_of(k - 1, self.history.D[k] + trial.d, trial), trial)
            if lower > factor:
                factor, k = lower, k - 1
        h *= min(max(factor, MIN_FACTOR), 0.9)
        self.history.change(h, k)
        return h

    def _growth(self, order: int, error: float, trial: Solution) -> float:
        """Step-size factor with which a method of this order would just meet the tolerance."""
        safety = SAFETY * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + trial.iterations)
        return safety * error ** (-1.0 / (order + 1)) if error > 0.0 else np.inf

    # Error and acceptance

    def _error(self, trial: Solution, h: float) -> float:
        """Norm of the error of a solved step.

        Filtered once, the estimate still contains stiff components that are not in equilibrium with their forces, at
        the start of a smooth interval or after a change of the step. They decay within a step or two of any length,
        and as velocities they are larger in shorter steps: filtering again removes them, a shorter step does not. A
        step that passes only then does not justify a longer one.
        """
        error_q, error_v = self._estimate(self.order, trial.d, trial)
        norm = self._norm(error_q, error_v, self.q, self.v)
        n_q, raw = self.form.n_q, ERROR[self.order] * trial.d
        self._hidden, self._unfiltered = not self._norm(raw[:n_q], raw[n_q:-1], self.q, self.v) <= 1.0, raw[n_q:-1]
        for _ in range(FILTERS_AT_START if self._settling else FILTERS):
            if norm <= 1.0:
                break
            error_q, error_v = self._filtered(self._factored_for, error_q, error_v, trial.q, trial.rotations)
            norm = max(PASSED, self._norm(error_q, error_v, self.q, self.v))
        self.error_v = error_v
        return norm

    def _complete(self, trial: Solution, h: float, end: float) -> bool:
        return not self._hidden or super()._complete(trial, h, end)

    def _reached(self, trial: Solution, h: float, end: float) -> tuple[Floats, Floats, float]:
        q = trial.q.copy()
        self.form.normalise(q)
        # the work as the formula integrates it
        return q, trial.v, float(np.sum(self.history.D[: self.order + 1, -1]) + trial.d[-1])

    def _after_impact(self, h: float) -> float:
        self._begin(0.25 * h)
        return self.h

    def _error_of(self, order: int, difference: Floats, trial: Solution) -> float:
        """Norm of the error of the same step at another order."""
        return self._norm(*self._estimate(order, difference, trial), self.q, self.v)

    def _estimate(self, order: int, difference: Floats, trial: Solution) -> tuple[Floats, Floats]:
        """Error (q, v) of an order from the difference one above it, filtered.

        A difference contains stiff components faster than the step in full; the formula damps them.
        """
        n_q = self.form.n_q
        error = ERROR[order] * difference
        return self._filtered(self._factored_for, error[:n_q], error[n_q:-1], trial.q, trial.rotations)

    def _plan(self, h: float, error: float, trial: Solution) -> float:
        """Length of the next step; sets its order to the present or a neighbour, whichever allows the longest step."""
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

    def _accept(self, trial: Solution, h: float, end: float, error: float, cut: bool) -> Step:
        form, history, n_q = self.form, self.history, self.form.n_q
        start = self.t
        history.advance(trial.d)
        normalise_history(form.coordinates[2], history.D)
        self.t, self.q, self.v = end, history.D[0, :n_q].copy(), history.D[0, n_q:-1].copy()
        self.a, self.work, self.power, self._u = trial.a, float(history.D[0, -1]), trial.power, trial.u
        self.multipliers = trial.multipliers
        self._settling = max(self._settling - 1, 0)
        # no node at the start of a smooth interval, whose accelerations may be out of equilibrium
        self._ends.append((end, self.a))
        last = list(self._ends)[-(history.order + 1) :]
        nodes = ([t for t, _ in last], [a for _, a in last])
        step = PolynomialStep(form, start, end, history.D[: history.order + 1].copy(), nodes)
        self.h = self._plan(h, error, trial)
        return step

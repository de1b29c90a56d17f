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

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.steppers.contract import AcceptedStep
from femb.steppers.dense import HermiteStep
from femb.steppers.radau_stages import FIRST, MAX_ITERATIONS, SECOND, A, C, RadauEquations
from femb.steppers.variable_step import WORTHWHILE
from femb.system.block_lu import DEPENDENT

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


# Periods of a filter's frequency in a step for which the iteration fails, up to which vibrations above it hold it up. A
# longer step fails where the motion below it turns members far, and to damp what is above would be an error.
FOLLOWING = 0.02


class Radau(RadauEquations):
    """Variable-step Radau IIA(5); see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 5
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
        return partial(_power, self.form, self._u, self.q, self.v)

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
        """Step-size factor: Gustafsson's prediction from the last two steps, at most that of the last step."""
        # fewer iterations allow a longer step
        safety = 0.9 * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + self._program.done)
        if error == 0.0:
            return safety * MAX_FACTOR
        factor = error**-0.25
        if self._old_h > 0.0 and error <= 1.0:
            factor = min(factor, factor * h / self._old_h * (self._old_error / error) ** 0.25)
        return float(safety * factor)

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
        v, work = self._damped(end, q, v, self.work + h * WEIGHTS.dot(powers))
        self._next = q, v, work, powers
        return q, v, work

    def _accept(self, trial: float, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        renew = self._program.rate > SLOW and self._program.done > 2
        factor = min(MAX_FACTOR, self._factor(h, error))
        self._old_error, self._old_h = max(error, 1e-4), h
        next_h = self._next_length(h, factor, cut, 1.0 if renew else WORTHWHILE)
        self.h = min(next_h, self._ceiling)
        self._ceiling *= RECOVERY
        form, (u, _, _, K, L) = self.form, self._states
        if self._low_pass:
            self._reached_state[1][0] = self._next[1]
        self._program.look_ahead()
        # At the start of a smooth interval, members out of equilibrium have accelerations that the step does not
        # resolve: there the dense output takes those of the collocation polynomial of v through (0, 0) and the stages.
        a = FROM_ZERO[0].dot(self._Z) / h if self._starting else self.a
        old = (self.q, self.v, a, self.work, self._start_power if self._replaced else self.power)
        self._starting, self._replaced = False, None
        start = self.t
        self.q, self.v, self.work, powers = self._next
        K = K.copy()
        self.t, self.power, self.a, self.multipliers = end, powers[2], K[2], L[2].copy()
        self._u = u[2].copy()
        self._fresh = False
        if self._dependent != DEPENDENT:
            self._dependent, self._factored_for = DEPENDENT, 0.0
        self._too_old = self._too_old or renew
        new = (self.q, self.v, self.a, self.work, self.power)
        nodes = ((start, start + FIRST * h, start + SECOND * h, end), (a, K[0], K[1], K[2]))
        return HermiteStep(form, start, end, old, new, ((FIRST, SECOND), powers[:2]), nodes)


class EqualSteps(Radau):
    """Steps of a given length, whatever their errors, whose end is a smooth function of the start.

    Shorter are those that end at a limit, or for which the iteration fails. stages : start and length (s) of each step,
    with q (3, n_q) and v (3, n_v) at its stages. What a step does not resolve is at rest at its end.
    """

    def __init__(self, form: ImplicitFormulation, run: Run, length: float) -> None:
        super().__init__(form, replace(run, method="radau", first_step=length, max_step=length))
        self.stages: list[tuple[float, float, Floats, Floats]] = []
        # without the stresses' part of the stiffness the iteration converges only where steps follow vibrations
        self._exact = True

    def _error(self, trial: float, h: float) -> float:
        return 0.0

    def _accept(self, trial: float, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        # the prediction of the next step may have turned the velocities
        q = self._states[1].copy()
        self.form.normalise(q)
        self.stages.append((self.t, h, q, self.v + self._Z))
        return super()._accept(trial, h, end, error, cut)


def _power(form: ImplicitFormulation, u: Floats, q: Floats, v: Floats) -> Floats:
    """(n_w,) the rates of the budget at one state, with its multipliers."""
    multipliers = form.forward(u, q, v)[1]
    rates: Floats = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
    return rates

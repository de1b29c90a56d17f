"""Generalized-alpha: second order, one implicit equation a step, damping of high frequencies by choice.

With the spectral radius rho at infinite frequency, alpha_m = (2 rho - 1)/(rho + 1), alpha_f = rho/(rho + 1),
gamma = 1/2 - alpha_m + alpha_f, beta = (gamma + 1/2)^2/4, and auxiliary accelerations A:

    (1 - alpha_m) A+ + alpha_m A = (1 - alpha_f) a+ + alpha_f a,        A = a(t + (alpha_m - alpha_f) h) + O(h^2)
    q+ = q exp(h v + h^2 ((1/2 - beta) A + beta A+)),        v+ = v + h ((1 - gamma) A + gamma A+)
    M a+ + h + f_el + J^T lambda - f = 0,        J v+ + Phi_t = 0

Newton's unknowns are the velocities, which determine accelerations and coordinates, and the multipliers, with the
iteration matrix [M/(gamma' h) + C + beta' h K/gamma', J^T; J, 0], beta' and gamma' being beta and gamma times
(1 - alpha_f)/(1 - alpha_m). Reused matrices rotate with the frames, as in ``femb.steppers.radau``: otherwise a stiff
member resists in its transverse direction as soon as it rotates, and the iteration fails. The accelerations are those
of the step's equations, never those that follow from the state alone: the remaining error of a strain, times the
stiffness, would go on as a vibration. Positions are projected on the constraints after each accepted step. Constraints
are imposed on velocities (index 2), not on positions (index 3): with variable steps, accelerations of index 3 jump
where the step changes, and the error test shortens the steps without end (docs/theory/constraints.md, section 6). The
error estimate is the difference to a formula one order higher, without the components that are stiffer than the step.

J. Chung, G. M. Hulbert, J. Appl. Mech. 60 (1993) 371-375; O. Bruls, A. Cardona, M. Arnold, Mech. Mach. Theory 48 (2012)
121-137 (on Lie groups); M. Arnold, O. Bruls, Multibody Syst. Dyn. 18 (2007) 185-202 (convergence with constraints).
"""

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.kinematics import error_norm, rates
from femb.numerics.vector3 import hamilton
from femb.steppers.contract import OF_LOW_ORDER, AcceptedStep, check_fixed_step, left_limit
from femb.steppers.dense import HermiteStep, Nodes, through_nodes
from femb.steppers.implicit import OneStateStepper
from femb.steppers.radau_kernels import NEGLIGIBLE, frame_rotations, rotate_frames
from femb.steppers.step_program import Convergence

# Kernels of the generalized-alpha stepper.


@kernel
def retract(linear_q, linear_v, quaternion_q, omega_v, q, x, out):
    """out (n_q,): the coordinates q after the displacement x (n_v,), with the exponential of its rotations."""
    for k in range(linear_q.size):
        out[linear_q[k]] = q[linear_q[k]] + x[linear_v[k]]
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 0.5 * x[j], 0.5 * x[j + 1], 0.5 * x[j + 2]
        angle = math.sqrt(a * a + b * b + c * c)
        f = math.sin(angle) / angle if angle > 1e-8 else 1.0 - angle * angle / 6.0
        out[i], out[i + 1], out[i + 2], out[i + 3] = hamilton(
            q[i], q[i + 1], q[i + 2], q[i + 3], math.cos(angle), f * a, f * b, f * c
        )


@inlined
def states(linear_q, linear_v, quaternion_q, omega_v, weights, h, q0, v0, a0, A0, a, q, v, A, x):
    """q, v and A at the end of a step h with the accelerations a (n_v,) there, from the state q0, v0, a0, A0.

    weights : alpha_m, alpha_f, gamma, beta. x (n_v,) : work.
    """
    alpha_m, alpha_f, gamma, beta = weights
    for k in range(a.size):
        A[k] = ((1.0 - alpha_f) * a[k] + alpha_f * a0[k] - alpha_m * A0[k]) / (1.0 - alpha_m)
        v[k] = v0[k] + h * ((1.0 - gamma) * A0[k] + gamma * A[k])
        x[k] = h * v0[k] + h * h * ((0.5 - beta) * A0[k] + beta * A[k])
    retract(linear_q, linear_v, quaternion_q, omega_v, q0, x, q)


@kernel_with_entry
def start_end(
    linear_q, linear_v, quaternion_q, omega_v, corotated_q, matrices_q, weights, step, q0, v0, a0, A0, a, q, v, A, work,
    rotations,
):  # fmt: skip
    """The state q (1, n_q), v (1, n_v), A (1, n_v) of ``states`` before the first iteration, and the rotations
    (1, F, 4) of frames to it from ``matrices_q`` (n_q,); a (1, n_v). step (1,) : its length, s. work : see
    ``finish_correction``."""
    h = step[0]
    states(linear_q, linear_v, quaternion_q, omega_v, weights, h, q0[0], v0, a0, A0, a[0], q[0], v[0], A[0], work[0][0])
    frame_rotations(corotated_q, matrices_q, q, rotations)


@kernel_with_entry
def finish_correction(
    linear_q, linear_v, quaternion_q, omega_v, corotated_v, scale_q, scale_v, weights, step, share, q0, v0, a0, A0,
    rotations, x, a, multipliers, work, q, v, A,
):  # fmt: skip
    """Apply a correction x (n,) of velocities and multipliers: a += x / (share h), and ``states``. Returns its norm.

    x is rotated to the end of the step first. q0 (1, n_q), v0 (n_v,) : the state at the start of the step. multipliers
    (1, n_c). work : (1, n_v) and (1, n_q).
    """
    rotate_frames(rotations[0], corotated_v, x)
    n_v, h = v0.size, step[0]
    change, rate = work
    for k in range(n_v):
        a[0, k] += x[k] / (share * h)
        change[0, k] = h * x[k]
    for k in range(n_v, x.size):
        multipliers[0, k - n_v] += x[k]
    rates(linear_q, linear_v, quaternion_q, omega_v, q0, change, rate)
    start, size, atol, rtol = scale_q
    norm = error_norm(start, size, atol, rtol, rate[0], q0[0])
    start, size, atol, rtol = scale_v
    norm = max(norm, error_norm(start, size, atol, rtol, x, v0))
    states(linear_q, linear_v, quaternion_q, omega_v, weights, h, q0[0], v0, a0, A0, a[0], q[0], v[0], A[0], change[0])
    return norm


MAX_ITERATIONS = 8
# Tolerance of Newton's iteration, as a fraction of that of the step.
SOLVED = 0.001
# Rate of convergence above which new matrices are formed for the next step.
SLOW = 0.2
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 3.0
FILTERS = 2
# Local errors of velocities count up to so many times, since the steps that follow integrate them; once in steps that
# are short for this part of the shortest time of interest, whose vibrations bring them back.
WEIGHT_OF_VELOCITIES, OF_TIME = 5.0, 0.01
# Times that differ by less than this part of a step are equal but for rounding.
SAME_TIME = 1e-6


@dataclass
class _AlphaTrial:
    """A solved step: the state at its end, before and after its projection on the constraints."""

    q: Floats
    v: Floats
    a: Floats
    A: Floats
    multipliers: Floats
    u: Floats
    end: tuple[Floats, Floats] = field(init=False)
    power: Floats = field(init=False)
    work: Floats = field(init=False)


class GeneralizedAlpha(OneStateStepper[_AlphaTrial]):
    """Variable-step generalized-alpha; see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 2
    share_of_longest = OF_LOW_ORDER
    memory = (*OneStateStepper.memory, "A", "_slope", "_slope_h", "_A_h", "_ends", "_from", "_stepped")

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        rho = run.spectral_radius
        self.alpha_m, self.alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        self.gamma = 0.5 - self.alpha_m + self.alpha_f
        self.beta = 0.25 * (self.gamma + 0.5) ** 2
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, SOLVED)
        # s, the length of all steps, without error control; None where the error estimate chooses it
        self.fixed = run.step
        if run.step is not None:
            self.h = self.max_step = run.step
        share = (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
        self.gamma_a, self.beta_a = share * self.gamma, share * self.beta
        # whether the state is the end of a step, with accelerations by the step's equations
        self._stepped = False
        self.restart()

    def _limit_steps(self) -> None:
        if self.fixed is None:
            super()._limit_steps()
        else:
            check_fixed_step(self, self.h)

    def restart(self) -> None:
        """Begin a smooth interval with the accelerations of its start.

        After a step, inputs may jump, and change the accelerations. Those of the steps' equations are changed by as
        much: the accelerations that follow from the state alone have the error of a small strain times the stiffness,
        which the next steps would take for a vibration, as they would one from step to step.
        """
        self._from = self.t
        if self._stepped:
            a, multipliers = through_nodes(self._nodes(), np.array([self.t]))[0], self.multipliers
            left = self.form.forward(self._u, self.q, self.v)
            self._evaluate()
            self.a, self.multipliers = a + (self.a - left[0]), multipliers + (self.multipliers - left[1])
            self.power = self._power(self._u, self.q, self.v, self.multipliers)
        else:
            self._evaluate()
        self._stepped = False
        self.A = self.a.copy()
        # ends of the last steps of the smooth interval and the accelerations there; not its start, where accelerations
        # may be out of equilibrium
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=self.order + 1)
        # slope of the accelerations over the last step, its length (s), and the length of a step for which A is
        self._slope: Floats | None = None
        self._slope_h = self._A_h = 0.0
        self._matrices = None
        self._allocate()
        if not self.h:
            self.h = self.fixed or self._first_step()

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from a state that is not the end of the last step."""
        self._stepped = False
        super().jump(t, q, v, work)

    def _time_after(self, h: float) -> float:
        """The time at the end of a step; fixed steps are counted, so that rounding does not accumulate."""
        count = round((self.t - self._from) / h)
        counted = h == self.fixed and abs(self._from + count * h - self.t) < SAME_TIME * h
        return self._from + (count + 1) * h if counted else self.t + h

    def _allocate_start(self) -> None:
        form = self.form
        # q, v, a and A at the start, A at the end, and work
        self._start, self._A_end = (np.empty((1, form.n_q)), *np.empty((3, form.n_v))), np.empty((1, form.n_v))
        self._work = np.empty((1, form.n_v)), np.empty((1, form.n_q))

    def _first_step(self) -> float:
        """A step over which the accelerations change velocities by about the root of the tolerance."""
        change = error_norm(*self.scale_v, self.a, 0.0 * self.v)
        rate = error_norm(*self.scale_q, self.form.rates(self.q[None], self.v[None])[0], 0.0 * self.q)
        size = max(error_norm(*self.scale_q, self.q, 0.0 * self.q), 1.0)
        return float(min(0.01 * self.run.duration, 0.1 * size ** (1.0 / 3.0) / max(change, rate, 1e-300) ** 0.5))

    # Newton

    def _factorise(self, h: float) -> None:
        self._fresh = False
        if self._matrices is None:
            self._form_matrices(self._u, self.q, self.v)
        if self._factored_for != h:
            self._factorise_shifted(*self._shift(h))
            self._factored_for = h

    def _shift(self, h: float) -> tuple[float, float]:
        """The weights of M and K in the iteration matrix of a step h (s)."""
        return 1.0 / (self.gamma_a * h), self.beta_a * h / self.gamma_a

    def _solve(self, h: float, end: float) -> _AlphaTrial | None:
        trial = self._newton(h, end)
        if trial is not None:
            q, v = trial.end = self.form.projected(trial.u, trial.q, trial.v, self._factored)
            if self.form.singular_batches:
                self.form.check_singularities(self.t, np.stack([self.q, q]), np.stack([self.v, v]))
        return trial

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        self._matrices = None
        if self._fresh and self._low_pass:
            self._low_pass.damp_from(self.t)
            if not self._exact:
                self._exact = True
                return h
        return h if not self._fresh and isinstance(cause, str) else super()._after_failure(h, cause)

    def _newton(self, h: float, end: float) -> _AlphaTrial | None:
        """The step's equations by Newton's iteration; None where it does not converge."""
        form = self.form
        self._factorise(h)
        a, old_A = self.a, self.A
        if self._slope is not None:
            a = self.a + h * self._slope
            if h != self._A_h:
                # A is the acceleration at t + (alpha_m - alpha_f) h: it changes with the length of the step, or the
                # method would be of first order with variable steps
                self.A, self._A_h = self.a + (self.alpha_m - self.alpha_f) * h * self._slope, h
            old_A = self.A
        u, q, v, at, multipliers = self._end
        for kept, values in zip(self._start, (self.q, self.v, self.a, old_A), strict=True):
            kept[:] = values
        at[0], multipliers[0], t = a, self.multipliers, left_limit(end, self.t)
        reused = not self._fresh and form.system.switches
        newton = Convergence(self.tolerance, np.inf, NEGLIGIBLE * self.tolerance if reused else 0.0, restoring=1.0)
        if not self._iterated(h, t, MAX_ITERATIONS, newton):
            return None
        self._slow = newton.done > 1 and newton.ratio > SLOW
        return _AlphaTrial(*(each[0].copy() for each in (q, v, at, self._A_end, multipliers, u)))

    def _kernels(self) -> tuple[Bound, Bound]:
        coordinates, (quaternion_q, corotated_v) = self.form.coordinates, self.form.corotated_frames
        _, q, v, a, multipliers = self._end
        weights, A, rotations = (self.alpha_m, self.alpha_f, self.gamma, self.beta), self._A_end, self._rotations
        of_step = weights, self._length
        start = Bound(
            start_end, *coordinates, quaternion_q, self._matrices_q, *of_step, *self._start, a, q, v, A, self._work,
            rotations,
        )  # fmt: skip
        finish = Bound(
            finish_correction, *coordinates, corotated_v, self.scale_q, self.scale_v, *of_step, self.gamma_a,
            *self._start, rotations, self._x, a, multipliers, self._work, q, v, A,
        )  # fmt: skip
        return start, finish

    # Error and acceptance

    def _error(self, trial: _AlphaTrial, h: float) -> float:
        """Norm of the filtered difference to the integrals of a parabola through accelerations at three ends of steps.

        In the first step of a smooth interval it is a line through two.
        """
        if self.fixed is not None:
            return 0.0
        form = self.form
        slope = (trial.a - self.a) / h
        curvature = 0.0 * slope if self._slope is None else (slope - self._slope) / (h + self._slope_h)
        way = h * self.v + h * h * (0.5 * self.a + h / 6.0 * slope - h * h / 12.0 * curvature)
        smooth = np.empty_like(self.q)
        retract(*form.coordinates, self.q, way, smooth)
        weight = 1.0 + (WEIGHT_OF_VELOCITIES - 1.0) * h / (h + OF_TIME * self.run.atol.time)
        error_q = trial.q - smooth
        error_v = trial.v - (self.v + h * (self.a + 0.5 * h * slope - h * h / 6.0 * curvature))
        error_v *= weight
        norm = self._norm(error_q, error_v, self.q, self.v)
        self._hidden, self._unfiltered = not norm <= 1.0, error_v
        if self._low_pass:
            return self._kept_norm(self._low_pass, error_q, error_v, self._rotations[0])
        mu, reach = self._shift(h)
        for _ in range(FILTERS):
            error_q, error_v = self._filtered(mu, error_q, error_v, self.q, self._rotations[0], reach=reach)
            norm = self._norm(error_q, error_v, self.q, self.v)
            if norm <= 1.0:
                break
        self.error_v = error_v
        return norm

    def _factor(self, error: float) -> float:
        """Step-size factor."""
        return MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, max(MIN_FACTOR, SAFETY * error ** (-1.0 / 3.0)))

    def _after_error(self, trial: _AlphaTrial, h: float, error: float) -> float:
        return h * min(self._factor(error), 0.9)

    def _reached(self, trial: _AlphaTrial, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        trial.power = self._power(trial.u, *trial.end, trial.multipliers)
        q, v = trial.end
        v, trial.work = self._damped(end, q, v, self.work + 0.5 * h * (self.power + trial.power))
        trial.end = q, v
        return q, v, trial.work

    def _accept(self, trial: _AlphaTrial, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        self.h = self.fixed or self._next_length(h, self._factor(error), cut)
        start, old = self.t, (self.q, self.v, self.a, self.work, self.power)
        self._slope, self._slope_h, self._A_h = (trial.a - self.a) / h, h, h
        self.t, (self.q, self.v), self.a, self.A = end, trial.end, trial.a, trial.A
        self.work, self.power, self.multipliers, self._u = trial.work, trial.power, trial.multipliers, trial.u
        self._stepped = True
        if self._slow:
            self._matrices = None
        self._ends.append((end, trial.a))
        new = (self.q, self.v, self.a, self.work, self.power)
        return HermiteStep(self.form, start, end, old, new, nodes=self._nodes())

    def _nodes(self) -> Nodes:
        """Instants and accelerations by which those between the steps are interpolated.

        Vibrations much faster than the steps change their sign from end to end; the means of steps do not contain them.
        """
        nodes = list(self._ends)
        if len(nodes) > self.order:
            nodes = [(0.5 * (t + s), 0.5 * (a + b)) for (t, a), (s, b) in pairwise(nodes)]
        return [t for t, _ in nodes], [a for _, a in nodes]

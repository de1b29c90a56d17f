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

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.kinematics import error_norm, rates
from femb.numerics.vector3 import hamilton
from femb.steppers.contract import OF_LOW_ORDER, AcceptedStep, check_fixed_step, left_limit
from femb.steppers.dense import HermiteStep, Nodes, SolvedStep, through_nodes
from femb.steppers.implicit import OneStateStepper
from femb.steppers.step_kernels import NEGLIGIBLE, frame_rotations, rotate_frames, size_of_error
from femb.steppers.step_program import Convergence

# Kernels of the generalized-alpha stepper.


@kernel
def retract(coordinates, q, x, out):
    """out (n_q,): the coordinates q after the displacement x (n_v,), with the exponential of its rotations."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
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
def states(coordinates, weights, h, start, a, q, v, A, x):
    """q, v and A at the end of a step h with the accelerations a (n_v,) there, from its start q0, v0, a0, A0.

    weights : alpha_m, alpha_f, gamma, beta. x (n_v,) : work.
    """
    alpha_m, alpha_f, gamma, beta = weights
    q0, v0, a0, A0 = start
    for k in range(a.size):
        A[k] = ((1.0 - alpha_f) * a[k] + alpha_f * a0[k] - alpha_m * A0[k]) / (1.0 - alpha_m)
        v[k] = v0[k] + h * ((1.0 - gamma) * A0[k] + gamma * A[k])
        x[k] = h * v0[k] + h * h * ((0.5 - beta) * A0[k] + beta * A[k])
    retract(coordinates, q0[0], x, q)


@kernel_with_entry
def start_end(coordinates, frames, weights, lengths, start, slope, end, work):
    """The end of ``states``, a, q, v, A (1, ...), before the first iteration, and the rotations of frames to it; a is
    extrapolated with this slope (n_v,). frames : ``corotated_q``, ``matrices_q`` (n_q,) from which they turn, and
    rotations (1, F, 4).

    lengths (3,) s : of the step; of the one for which A0 is; of the one with the slope. A0 is the acceleration at
    t + (alpha_m - alpha_f) h: it changes with the length of the step, or the method would be of first order with
    variable steps. work : see ``finish_correction``.
    """
    (_, _, a0, A0), (a, q, v, A), (corotated_q, matrices_q, rotations) = start, end, frames
    h = lengths[0]
    later = (weights[0] - weights[1]) * h
    for k in range(a0.size):
        if lengths[1] != h:
            A0[k] = a0[k] + later * slope[k]
        a[0, k] = a0[k] + h * slope[k]
    states(coordinates, weights, h, start, a[0], q[0], v[0], A[0], work[0][0])
    frame_rotations(corotated_q, matrices_q, q, rotations)


@kernel_with_entry
def finish_correction(coordinates, turning, scales, method, lengths, start, correction, work, end):
    """Apply a correction x (n,) of velocities and multipliers: a += x / (share h), and ``states``. Returns its norm.

    x is rotated to the end of the step first. turning : ``corotated_v``, and the rotations of frames. method : weights
    and share. start : q0 (1, n_q), v0, a0, A0 (n_v,). correction : x, and multipliers (1, n_c). work : (1, n_v) and
    (1, n_q). end : as in ``start_end``.
    """
    (corotated_v, rotations), (weights, share), (x, multipliers) = turning, method, correction
    (q0, v0, _, _), (a, q, v, A) = start, end
    rotate_frames(rotations[0], corotated_v, x)
    n_v, h = v0.size, lengths[0]
    change, rate = work
    for k in range(n_v):
        a[0, k] += x[k] / (share * h)
        change[0, k] = h * x[k]
    for k in range(n_v, x.size):
        multipliers[0, k - n_v] += x[k]
    rates(coordinates, q0, change, rate)
    norm = size_of_error(scales, q0[0], v0, rate[0], x)
    states(coordinates, weights, h, start, a[0], q[0], v[0], A[0], change[0])
    return norm


@kernel_with_entry
def find_errors(coordinates, scales, extra, lengths, start, slopes, end, way, turned, errors):
    """errors : error_q (1, n_q), error_v (1, n), which are q and v (1, ...) less the integrals of a parabola through
    accelerations at three ends of steps; of a line through two in the first step of a smooth interval.

    Then unfiltered (n_v,) and raw (1,), the errors of v and the norm before they are filtered. extra : more and short,
    errors of velocities are weighted with 1 + more h / (h + short). slopes : of the accelerations (n_v,), the last one,
    and that of the step, which is set. way (1, n_v) : work.
    turned (1,) : half the largest angle by which a frame turns, rad.
    """
    (more, short), (q0, v0, a0, _), (a, q, v, _), (last_slope, slope) = extra, start, end, slopes
    error_q, error_v, unfiltered, raw = errors
    h, before = lengths[0], lengths[2]
    weight = 1.0 + more * h / (h + short)
    for k in range(v0.size):
        s = (a[0, k] - a0[k]) / h
        c = (s - last_slope[k]) / (h + before) if before > 0.0 else 0.0
        way[0, k] = h * v0[k] + h * h * (0.5 * a0[k] + h / 6.0 * s - h * h / 12.0 * c)
        unfiltered[k] = weight * (v[0, k] - (v0[k] + h * (a0[k] + 0.5 * h * s - h * h / 6.0 * c)))
        slope[k], error_v[0, k] = s, unfiltered[k]
    retract(coordinates, q0[0], way[0], error_q[0])
    turned[0] = 0.0
    for j in coordinates[3]:
        turned[0] = max(turned[0], 0.5 * math.sqrt(way[0, j] ** 2 + way[0, j + 1] ** 2 + way[0, j + 2] ** 2))
    for k in range(error_q.shape[1]):
        error_q[0, k] = q[0, k] - error_q[0, k]
    raw[0] = size_of_error(scales, q0[0], v0, error_q[0], unfiltered)


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
# Rotations about an axis are exact in a step of any length. Interpolation has the error (angle / 2)^6 over this, and
# joints count their turns where each body makes less than a quarter of one in a step.
INTERPOLATED = 46080.0
# Times that differ by less than this part of a step are equal but for rounding.
SAME_TIME = 1e-6


def weights_of(rho: float) -> tuple[float, float, float, float, float, float]:
    """alpha_m, alpha_f, gamma, beta, gamma' and beta' of a spectral radius."""
    alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma, share = 0.5 - alpha_m + alpha_f, (1.0 - alpha_f) / (1.0 - alpha_m)
    beta = 0.25 * (gamma + 0.5) ** 2
    return alpha_m, alpha_f, gamma, beta, share * gamma, share * beta


class GeneralizedAlpha(OneStateStepper):
    """Variable-step generalized-alpha; see ``femb.steppers.contract`` for the meaning of its attributes."""

    order = 2
    share_of_longest = OF_LOW_ORDER
    memory = (*OneStateStepper.memory, "A", "_slope", "_slope_h", "_A_h", "_ends", "_means", "_from", "_stepped")

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        weights = weights_of(run.spectral_radius)
        self.alpha_m, self.alpha_f, self.gamma, self.beta, self.gamma_a, self.beta_a = weights
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, SOLVED)
        self._most_turned = min(math.pi / 4.0, (INTERPOLATED * run.rtol) ** (1.0 / 6.0))
        # s, the length of all steps, without error control; None where the error estimate chooses it
        self.fixed = run.step
        if run.step is not None:
            self.h = self.max_step = run.step
        # whether the state is the end of a step, with accelerations by the step's equations
        self._stepped = False
        self.restart()

    def _limit_steps(self) -> None:
        super()._limit_steps()
        if self.fixed is not None:
            self.max_step = self.fixed
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
        # ends of the last steps of the smooth interval and the accelerations there, and their means; not its start,
        # where accelerations may be out of equilibrium
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=self.order + 1)
        self._means: deque[tuple[float, Floats]] = deque(maxlen=self.order)
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

    def move(self, t: float, q: Floats, v: Floats, h: float) -> None:
        """Restart at another state; its accelerations are not those of the last step."""
        self._stepped = False
        super().move(t, q, v, h)

    def _time_after(self, h: float) -> float:
        """The time at the end of a step; fixed steps are counted, so that rounding does not accumulate."""
        count = round((self.t - self._from) / h)
        counted = h == self.fixed and abs(self._from + count * h - self.t) < SAME_TIME * h
        return self._from + (count + 1) * h if counted else self.t + h

    def _allocate_start(self) -> None:
        n_q, n_v = self.form.n_q, self.form.n_v
        # q, v, a and A at the start, the slope of the accelerations before; A at the end, the slope to there, and work
        self._at_start = np.empty(n_q + 4 * n_v)
        q, v, *rates = np.split(self._at_start, n_q + n_v * np.arange(4))
        self._start, self._rates = (q[None], v[None]), rates
        self._A_end, self._slope_to_end, self._no_slope = np.empty((1, n_v)), np.empty(n_v), np.zeros(n_v)
        self._lengths, self._way = np.empty(3), np.zeros(1)
        self._length = self._lengths[:1]
        self._work = np.empty((1, n_v)), np.empty((1, n_q))

    def _first_step(self) -> float:
        """A step over which the accelerations change velocities by about the root of the tolerance."""
        change = error_norm(*self.scale_v, self.a, 0.0 * self.v)
        rate = error_norm(*self.scale_q, self.form.rates(self.q[None], self.v[None])[0], 0.0 * self.q)
        size = max(error_norm(*self.scale_q, self.q, 0.0 * self.q), 1.0)
        return float(min(0.01 * self.run.duration, 0.1 * size ** (1.0 / 3.0) / max(change, rate, 1e-300) ** 0.5))

    # Newton

    def _shifts(self, length: float) -> list[tuple[complex, complex]]:
        return [(1.0 / (self.gamma_a * length), self.beta_a * length / self.gamma_a)]

    def _solve(self, h: float, end: float) -> float | None:
        slope = self._no_slope if self._slope is None else self._slope
        np.concatenate((self.q, self.v, self.a, self.A, slope), out=self._at_start)
        # but for rounding, as of steps that are taken again
        same = self._slope is None or abs(self._A_h - h) <= SAME_TIME * h
        self._lengths[:] = h, h if same else self._A_h, self._slope_h
        self._states[4][0] = self.multipliers
        self._prepare(h)
        doubted = NEGLIGIBLE * self.tolerance if self.form.system.switches and not self._fresh else 0.0
        newton = Convergence(self.tolerance, math.inf, doubted, restoring=1.0)
        repeats = 0 if self._low_pass else FILTERS - 1
        norm = self._tried((left_limit(end, self.t),), newton, MAX_ITERATIONS, repeats=repeats)
        if norm is not None:
            self._too_old = self._program.done > 1 and self._program.ratio > SLOW
        return norm

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        self._matrices = None
        if self._fresh and self._low_pass:
            self._low_pass.damp_from(self.t)
            if not self._exact:
                self._exact = True
                return h
        return h if not self._fresh and isinstance(cause, str) else super()._after_failure(h, cause)

    def _kernels(self) -> tuple[list[Bound], Bound, list[Bound], list[Bound]]:
        coordinates, (quaternion_q, corotated_v) = self.form.coordinates, self.form.corotated_frames
        _, q, v, a, multipliers = self._states
        (q0, (v0,)), (a0, A0, slope), scales = self._start, self._rates, (self.scale_q, self.scale_v)
        at_start, end, rotations, lengths = (q0, v0, a0, A0), (a, q, v, self._A_end), self._rotations, self._lengths
        weights = self.alpha_m, self.alpha_f, self.gamma, self.beta
        start = Bound(
            start_end, coordinates, (quaternion_q, self._matrices_q, rotations), weights, lengths, at_start, slope, end,
            self._work,
        )  # fmt: skip
        finish = Bound(
            finish_correction, coordinates, (corotated_v, rotations), scales, (weights, self.gamma_a), lengths,
            at_start, (self._x, multipliers), self._work, end,
        )  # fmt: skip
        of_weight = WEIGHT_OF_VELOCITIES - 1.0, OF_TIME * self.run.atol.rate_time
        errors = Bound(
            find_errors, coordinates, scales, of_weight, lengths, at_start, (slope, self._slope_to_end), end,
            self._work[0], self._way, (self._error_q, self._error_v, self._unfiltered, self._raw),
        )  # fmt: skip
        return [start], finish, [errors] if self.fixed is None else [], []

    # Error and acceptance

    def _error(self, trial: float, h: float) -> float:
        """Norm of the difference to the integrals of a parabola through accelerations, filtered once or twice."""
        if self.fixed is not None:
            return 0.0
        self._hidden = not self._raw[0] <= 1.0
        self.error_v = self._error_v[0, : self.form.n_v]
        norm = self._kept_norm(self._low_pass) if self._low_pass else trial
        return max(norm, float(self._way[0] / self._most_turned) ** 6)

    def _factor(self, error: float) -> float:
        return MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, max(MIN_FACTOR, SAFETY * error ** (-1.0 / 3.0)))

    def _after_error(self, trial: float, h: float, error: float) -> float:
        return h * min(self._factor(error), 0.9)

    def _reached(self, trial: float, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        self._program.reach_end()
        q, v = (each[0].copy() for each in self._reached_state)
        power = self._powers[0].copy()
        v, work = self._damped(end, q, v, self.work + 0.5 * h * (self.power + power))
        self._next = q, v, work, power
        return q, v, work

    def _accept(self, trial: float, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        self.h = self.fixed or self._next_length(h, self._factor(error), cut)
        start, old = self.t, (self.q, self.v, self.a, self.work, self.power)
        begins, states = self._slope is None, self._states
        u, _, _, a, multipliers = self._states
        a = a[0].copy()
        self._slope = self._slope_to_end.copy() if self.fixed is None else (a - self.a) / h
        self._slope_h = self._A_h = h
        self.t, self.a, self.A = end, a, self._A_end[0].copy()
        self.q, self.v, self.work, self.power = self._next
        self.multipliers, self._u = multipliers[0].copy(), u[0].copy()
        self._stepped, self._fresh = True, False
        if self._ends:
            before, last = self._ends[-1]
            self._means.append((0.5 * (before + end), 0.5 * (last + a)))
        self._ends.append((end, a))
        new = (self.q, self.v, a, self.work, self.power)
        step = HermiteStep(self.form, start, end, old, new, nodes=self._nodes())
        if self.solved is not None:
            u, q, v, a, multipliers = (each.copy() for each in states)
            self.solved.append(SolvedStep(step, h, u, q, v, a, multipliers, begins))
        return step

    def _nodes(self) -> Nodes:
        """Instants and accelerations by which those between the steps are interpolated.

        Vibrations much faster than the steps change their sign from end to end; the means of steps do not contain them.
        """
        nodes = self._means if len(self._ends) > self.order else self._ends
        return [t for t, _ in nodes], [a for _, a in nodes]

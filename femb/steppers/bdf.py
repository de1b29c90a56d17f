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

import math
from collections import deque
from typing import ClassVar

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.kinematics import error_norm, newton_tolerance
from femb.numerics.vector3 import hamilton
from femb.steppers.contract import OF_LOW_ORDER, AcceptedStep, left_limit
from femb.steppers.dense import Nodes, through_nodes
from femb.steppers.implicit import OneStateStepper
from femb.steppers.replay import TakenStep
from femb.steppers.step_kernels import RATE, WORTHWHILE, frame_rotations, rotate_frames, size_of_error
from femb.steppers.step_program import RESTORING, Convergence

# Backward differences of a multistep method in quasi-constant-step form.
#
# D_j = nabla^j y_n are the differences of the last values at equal distances h. When h changes, the interpolating
# polynomial is sampled at the new distance, so that the formulas of constant steps always apply:
#
#     predicted:   y = sum_{j=0..k} D_j
#     derivative:  y' = mu d + slope,   d = y_{n+1} - predicted,   slope = 1/h sum_{j=1..k} gamma_j D_j,   mu =
#     alpha_k/h
#
# with gamma_j = 1 + 1/2 + ... + 1/j and alpha_k = (1 - kappa_k) gamma_k. kappa = 0 gives the BDF, other kappa the NDF.
#
# L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1-22.

MAX_ORDER = 5
# The NDF of order 1 and 2 keep A-stability and save steps. From order 3 on they would narrow the sector of stability
# by six degrees and more, and lightly damped vibrations lie at its edge: plain BDF.
KAPPA = np.array([0.0, -0.1850, -1.0 / 9.0, 0.0, 0.0, 0.0])
GAMMA = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, MAX_ORDER + 1))])
ALPHA = (1.0 - KAPPA) * GAMMA
# Local error of order k: ERROR[k] times the difference of order k + 1.
ERROR = KAPPA * GAMMA + 1.0 / np.arange(1, MAX_ORDER + 2)


def resampling(order: int, ratio: float) -> Floats:
    """W (order + 1, order + 1): differences at distance ratio h are W times those at distance h."""
    i, j = np.arange(1, order + 1)[:, None], np.arange(1, order + 1)

    def values(step: float) -> Floats:
        # product over i of (i - 1 - step j)/i: the weight of D_i of the old distance at the instant -step j
        terms = np.zeros((order + 1, order + 1))
        terms[0] = 1.0
        terms[1:, 1:] = (i - 1 - step * j) / i
        return np.cumprod(terms, axis=0, dtype=float)

    return (values(ratio) @ values(1.0)).T


class BackwardDifferences:
    """Differences D (MAX_ORDER + 3, n) of y = (q, v, budget) with their step length h (s), and the order in use.

    Row order + 2 gives the error estimate of the next higher order, once ``equal`` (steps since h or the order changed)
    exceeds the order.
    """

    memory: ClassVar[tuple[str, ...]] = ("D", "h", "order", "equal")

    def __init__(self, n: int) -> None:
        self.D = np.zeros((MAX_ORDER + 3, n))
        self.h, self.order, self.equal = 0.0, 1, 0

    def begin(self, y: Floats, rate: Floats, h: float) -> None:
        """Begin at order 1 from the value y (n,) and its rate."""
        self.D[:] = 0.0
        self.D[0], self.D[1] = y, h * rate
        self.h, self.order, self.equal = h, 1, 0

    def change(self, h: float, order: int) -> None:
        """Set the step length h (s) and the order, which may be one above the present one."""
        if h != self.h:
            rows = slice(0, order + 1)
            self.D[rows] = resampling(order, h / self.h) @ self.D[rows]
        elif order == self.order:
            return
        self.h, self.order, self.equal = h, order, 0

    def advance(self, d: Floats) -> None:
        """Append the value that differs by d (n,) from the predicted one."""
        append(self.D, self.order, d)
        self.equal += 1


class PolynomialStep:
    """A Step interpolated by the polynomial of the formula, with its differences D (order + 1, n) at ``end``.

    nodes : ends of the last steps of the smooth interval, and the accelerations there.

    In measurements more accurate than quintic Hermite interpolation with the accelerations at the step's ends: in a
    long step accelerations are less accurate than velocities.
    """

    def __init__(self, form: Formulation, start: float, end: float, D: Floats, nodes: Nodes) -> None:
        self.form, self.start, self.end = form, start, end
        self._D, self._nodes = D, nodes

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        x = (np.asarray(times) - self.end) / (self.end - self.start)
        # weight of D_j: x (x + 1) ... (x + j - 1) / j!
        j = np.arange(1, len(self._D))
        factors = np.concatenate([np.ones((len(x), 1)), (x[:, None] + j - 1) / j], axis=1)
        y = np.cumprod(factors, axis=1) @ self._D
        n_q = self.form.n_q
        q, v = np.ascontiguousarray(y[:, :n_q]), np.ascontiguousarray(y[:, n_q : n_q + self.form.n_v])
        for row in q:
            self.form.normalise(row)
        return q, v, y[:, n_q + self.form.n_v :]

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return through_nodes(self._nodes, times)


# Kernels of the BDF stepper.


@inlined
def implicit_coordinates(coordinates, mu, known, v, q):
    """q (n_q,) with q = known + H(q) v / mu.

    For a quaternion this is p = c + p w with the vector w = omega/(2 mu): linear in p, and solved by
    p = c (1 + w)/(1 + w.w).
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    for k in range(linear_q.size):
        q[linear_q[k]] = known[linear_q[k]] + v[linear_v[k]] / mu
    f = 0.5 / mu
    for k in range(quaternion_q.size):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = f * v[j], f * v[j + 1], f * v[j + 2]
        s = 1.0 / (1.0 + a * a + b * b + c * c)
        q[i], q[i + 1], q[i + 2], q[i + 3] = hamilton(
            s * known[i], s * known[i + 1], s * known[i + 2], s * known[i + 3], 1.0, a, b, c
        )


@kernel_with_entry
def predict(D, gamma, numbers, predicted, slope):
    """predicted, slope (n,): of the next step, by the differences D. numbers (4,) : mu, 1/mu, order, h; see ``ALPHA``
    and ``GAMMA``."""
    order, h = int(numbers[2]), numbers[3]
    for k in range(predicted.size):
        predicted[k], slope[k] = D[0, k], 0.0
    for j in range(1, order + 1):
        for k in range(predicted.size):
            predicted[k] += D[j, k]
            slope[k] += gamma[j] * D[j, k]
    for k in range(predicted.size):
        slope[k] /= h


@kernel_with_entry
def start_end(coordinates, frames, numbers, predicted, slopes, known, d, end):
    """The state ``end``, q (1, n_q), v, a (1, n_v), before the first iteration, with d (n_v,) = 0, and the rotations of
    frames to it. frames : ``corotated_q``, ``matrices_q`` (n_q,) from which they turn, and rotations (1, F, 4).
    predicted, slopes : of q (n_q,) and of v (n_v,). known (n_q,) : of ``implicit_coordinates``."""
    (q_predicted, v_predicted), (q_slope, v_slope), (q, v, a) = predicted, slopes, end
    corotated_q, matrices_q, rotations = frames
    mu = numbers[0]
    for k in range(known.size):
        known[k] = q_predicted[k] - q_slope[k] / mu
    for k in range(d.size):
        d[k], v[0, k], a[0, k] = 0.0, v_predicted[k], v_slope[k]
    implicit_coordinates(coordinates, mu, known, v[0], q[0])
    frame_rotations(corotated_q, matrices_q, q, rotations)


@kernel_with_entry
def finish_correction(coordinates, turning, norm, numbers, predicted, x, d, end, multipliers):
    """Apply a correction x (n,) of velocities and multipliers (1, n_c): d (n_v,) += x, rotated to the end of the step,
    and the state q, v, a that follows. turning : ``corotated_v``, and the rotations of frames. predicted : ``known`` of
    ``implicit_coordinates``, velocities and their slope (n_v,). Returns the norm of x, by its scale and the velocities
    at which it is taken (n_v,)."""
    (corotated_v, rotations), (scale, reference) = turning, norm
    (known, v_predicted, v_slope), (q, v, a) = predicted, end
    rotate_frames(rotations[0], corotated_v, x)
    n_v, mu = d.size, numbers[0]
    for k in range(n_v):
        d[k] += x[k]
        v[0, k], a[0, k] = v_predicted[k] + d[k], v_slope[k] + mu * d[k]
    for k in range(n_v, x.size):
        multipliers[0, k - n_v] += x[k]
    implicit_coordinates(coordinates, mu, known, v[0], q[0])
    start, size, atol, rtol = scale
    return error_norm(start, size, atol, rtol, x, reference)


@kernel_with_entry
def find_errors(scales, constants, numbers, start, predicted, end, errors):
    """errors : error_q (1, n_q), error_v (1, n), constants[order] times the differences of the end from that predicted;
    unfiltered (n_v,), raw (1,), the errors of v and the norm before they are filtered. start, end : q, v (1, ...)."""
    (q0, v0), (q_predicted, v_predicted), (q, v) = start, predicted, end
    error_q, error_v, unfiltered, raw = errors
    constant = constants[int(numbers[2])]
    for k in range(q_predicted.size):
        error_q[0, k] = constant * (q[0, k] - q_predicted[k])
    for k in range(v_predicted.size):
        unfiltered[k] = error_v[0, k] = constant * (v[0, k] - v_predicted[k])
    raw[0] = size_of_error(scales, q0[0], v0[0], error_q[0], unfiltered)


@kernel_with_entry
def find_increment(quaternion_q, numbers, solved, q, v, power, predicted, slope, increment):
    """increment (n,): of the history, to q, v, power (1, ...) at the end; see ``BackwardDifferences.advance``.

    Quaternions in q, of unit length, take the lengths of those in ``solved`` (1, n_q).
    """
    n_q, n_v = q.size, v.size
    for k in range(n_q):
        increment[k] = q[0, k]
    for k in range(quaternion_q.size):
        i = quaternion_q[k]
        f = 0.0
        for m in range(i, i + 4):
            f += solved[0, m] * solved[0, m]
        f = math.sqrt(f)
        for m in range(i, i + 4):
            increment[m] *= f
    for k in range(n_q):
        increment[k] -= predicted[k]
    for k in range(n_v):
        increment[n_q + k] = v[0, k] - predicted[n_q + k]
    for k in range(power.size):
        increment[n_q + n_v + k] = (power[0, k] - slope[n_q + n_v + k]) / numbers[0]


@kernel
def append(D, order, d):
    """Append the value that differs by d (n,) from the predicted one to the differences D."""
    for k in range(d.size):
        D[order + 2, k] = d[k] - D[order + 1, k]
        D[order + 1, k] = d[k]
        for j in range(order, -1, -1):
            D[j, k] += D[j + 1, k]


@kernel
def normalise_history(quaternion_q, D):
    """Scale the quaternions of the last value D[0] to unit length, and all their differences by the same factor.

    p' = p (0, omega)/2 is linear in p, so that the scaled history is a solution of the same difference equations: the
    projection changes neither later attitudes nor the smoothness of the differences.
    """
    for k in range(quaternion_q.size):
        i = quaternion_q[k]
        s = 0.0
        for m in range(i, i + 4):
            s += D[0, m] * D[0, m]
        f = 1.0 / math.sqrt(s)
        for j in range(D.shape[0]):
            for m in range(i, i + 4):
                D[j, m] *= f


# The equations of a step of the backward differentiation formulas; see ``femb.steppers.bdf``.

MAX_ITERATIONS = 6
# Tolerance of Newton's iteration, as a fraction of that of the step.
SOLVED = 0.01
# The second correction over the first one, above which Newton's iteration diverges.
DIVERGING = 2.0
# Iterations in which the full Newton method forms new matrices.
FORMING = 3
# How often an error estimate above the tolerance is filtered again, usually and in the first steps of a smooth
# interval; and the error assigned to a step that passes only then.
FILTERS, FILTERS_AT_START, FIRST_STEPS = 2, 5, 4
PASSED = 0.5
# The factorisation is reused while mu differs by at most this fraction from the mu it was computed for.
REFACTOR = 0.1
# Rate of convergence above which new matrices are formed for the next step.
SLOW = 0.2


class BdfEquations(OneStateStepper):
    """The equations of a step and their solution by Newton's iteration, with reused matrices or in full."""

    share_of_longest, same_length = OF_LOW_ORDER, REFACTOR

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, SOLVED)
        self.history = BackwardDifferences(form.n_q + form.n_v + form.system.budget.size)
        self._in_v, self._in_work = slice(form.n_q, form.n_q + form.n_v), slice(form.n_q + form.n_v, None)
        self._iterations = 0
        # steps at the start of a smooth interval that are left
        self._settling = FIRST_STEPS

    @property
    def order(self) -> int:
        """Order of the next step."""
        return self.history.order

    def _allocate_start(self) -> None:
        n_q, n_v, n = self.form.n_q, self.form.n_v, self.history.D.shape[1]
        self._start = np.empty((1, n_q)), np.empty((1, n_v))
        # see ``predict``; predicted values and their slope, and the increment of the history
        self._length = np.empty(1)
        self._numbers, (self._predicted, self._slope, self._increment) = np.empty(4), np.empty((3, n))
        # the known part of q, and the correction of velocities
        self._known, self._d = np.empty(n_q), np.empty(n_v)
        self._limits = np.empty(len(self.scale_v[0]))

    def _shifts(self, length: float) -> list[tuple[complex, complex]]:
        return [(length, 1.0 / length)]

    def _solve(self, h: float, end: float) -> float | None:
        self.history.change(h, self.order)
        norm = self._newton(h, end, full=False)
        return self._newton(h, end, full=True) if norm is None else norm

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        self._matrices = None
        return 0.5 * h

    def _newton(self, h: float, end: float, full: bool) -> float | None:
        """The step's equations by Newton's iteration, full or with reused matrices; None where it does not converge.

        The prediction along tangents strains members that rotate. Reused matrices lack the geometric stiffness of this
        strain. Where it dominates the stiffness against rotation, the first iteration rotates the member and the second
        rotates it back, or the iteration diverges; matrices formed in each iteration converge.
        """
        mu = float(ALPHA[self.order]) / h
        self._numbers[:] = mu, 1.0 / mu, self.order, self.history.h
        self._length[0] = h
        (q, v), multipliers = self._start, self._states[4]
        q[0], v[0], multipliers[0] = self.q, self.v, self.multipliers
        if not full:
            self._prepare(mu)
        doubted = self.tolerance if not full and self.form.system.switches else 0.0
        newton = Convergence(self.tolerance, MAX_ITERATIONS, doubted, RESTORING, math.inf if full else DIVERGING)
        repeats = FILTERS_AT_START if self._settling else FILTERS
        norm = self._tried((left_limit(end, self.t),), newton, MAX_ITERATIONS, FORMING if full else 0, repeats)
        if norm is not None:
            self._too_old, self._iterations = self._program.rate > SLOW, self._program.done
        return norm

    def _renew(self) -> None:
        u, q, v, *_ = self._states
        if self.form.inputs_of_state:
            self._set_inputs()
        self._form_matrices(u[0], q[0], v[0])
        self._factorise(float(self._numbers[0]))
        self._program.numbers[RATE] = 0.0
        frame_rotations(self.form.corotated_frames[0], self._matrices_q, q, self._rotations)

    def _kernels(self) -> tuple[list[Bound], Bound, list[Bound], list[Bound]]:
        form, numbers, scales = self.form, self._numbers, (self.scale_q, self.scale_v)
        coordinates, (quaternion_q, corotated_v) = form.coordinates, form.corotated_frames
        _, q, v, a, multipliers = self._states
        (q0, v0), rotations, predicted, slope = self._start, self._rotations, self._predicted, self._slope
        of_predicted, of_slope = (
            tuple(np.split(each, [form.n_q, form.n_q + form.n_v])[:2]) for each in (predicted, slope)
        )
        known, d, scale = self._known, self._d, (*self.scale_v[:2], self._limits, 0.0)
        start = [
            Bound(predict, self.history.D, GAMMA, numbers, predicted, slope),
            Bound(newton_tolerance, *scales, q0[0], v0[0], numbers[1:], self._limits),
            Bound(
                start_end, coordinates, (quaternion_q, self._matrices_q, rotations), numbers, of_predicted, of_slope,
                known, d, (q, v, a),
            ),
        ]  # fmt: skip
        finish = Bound(
            finish_correction, coordinates, (corotated_v, rotations), (scale, v0[0]), numbers,
            (known, of_predicted[1], of_slope[1]), self._x, d, (q, v, a), multipliers,
        )  # fmt: skip
        of_errors = self._error_q, self._error_v, self._unfiltered, self._raw
        errors = Bound(find_errors, scales, ERROR, numbers, (q0, v0), of_predicted, (q, v), of_errors)
        of_history = self._powers, predicted, slope, self._increment
        increment = Bound(find_increment, coordinates[2], numbers, q, *self._reached_state, *of_history)
        return start, finish, [errors], [increment]


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
    memory = (*BdfEquations.memory, "history", "_ends", "_settling")

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

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Land as in ``VariableStep``; the next step length is estimated anew."""
        self.h = 0.0
        super().land(t, q, v, work)

    def _begin(self, longest: float) -> None:
        """Discard the history: order 1 and a step of at most ``longest`` (s).

        The accelerations of stiff members are sensitive to rounding of their strains, so that they are filtered before
        they are extrapolated.
        """
        form = self.form
        self._allocate()
        self._form_matrices(self._u, self.q, self.v)
        self._factorise(ALPHA[1] / longest)
        (q0, v0), q = self._start, self._states[1]
        q0[0], v0[0], q[0] = self.q, self.v, self.q
        frame_rotations(form.corotated_frames[0], self._matrices_q, q, self._rotations)
        self._error_q[0], self._error_v[0, : form.n_v] = 0.0, self.a
        for _ in range(2):
            self._pass_on.number()
        a = self._error_v[0, : form.n_v].copy()
        rate = form.rates(self.q[None], self.v[None])[0]
        size, change = self._size_and_change(rate, a)
        # over this step the motion departs from a straight line by about the tolerance
        self.h = min(longest, float(size**0.5 / change) if change > 0.0 else np.inf)
        self._settling = FIRST_STEPS
        self._ends: deque[tuple[float, Floats]] = deque(maxlen=MAX_ORDER + 1)
        value = np.concatenate([self.q, self.v, self.work])
        self.history.begin(value, np.concatenate([rate, a, self.power]), self.h)

    def _after_error(self, trial: float, h: float, error: float) -> float:
        """The step to try after an error above the tolerance; lowers the order where that allows a longer step."""
        if self._rejections >= MAX_REJECTED and self.order > 1:
            self._begin(MIN_FACTOR * h)
            return self.h
        factor, k = self._growth(self.order, error), self.order
        if k > 1:
            _, q, v, *_ = self._states
            motion = slice(self.form.n_q + self.form.n_v)
            difference = np.concatenate([q[0], v[0]]) - self._predicted[motion]
            lower = self._growth(k - 1, self._error_of(k - 1, self.history.D[k, motion] + difference))
            if lower > factor:
                factor, k = lower, k - 1
        h *= min(max(factor, MIN_FACTOR), 0.9)
        self.history.change(h, k)
        return h

    def _growth(self, order: int, error: float) -> float:
        """Step-size factor with which a method of this order would just meet the tolerance."""
        safety = SAFETY * (2 * MAX_ITERATIONS + 1) / (2 * MAX_ITERATIONS + self._iterations)
        return float(safety * error ** (-1.0 / (order + 1))) if error > 0.0 else math.inf

    # Error and acceptance

    def _error(self, trial: float, h: float) -> float:
        """Norm of the error of a solved step.

        Filtered once, the estimate still contains stiff components that are not in equilibrium with their forces, at
        the start of a smooth interval or after a change of the step. They decay within a step or two of any length,
        and as velocities they are larger in shorter steps: filtering again removes them, a shorter step does not. A
        step that passes only then does not justify a longer one.
        """
        self._hidden = not self._raw[0] <= 1.0
        self.error_v = self._error_v[0, : self.form.n_v].copy()
        return max(PASSED, trial) if self._program.unfiltered > 1.0 else trial

    def _order(self) -> int:
        return self.order

    def _follow(self, h: float, one: TakenStep) -> None:
        super()._follow(h, one)
        self.history.change(h, one.order)

    def _complete(self, trial: float, h: float, end: float) -> bool:
        self._program.reach_end()
        return not self._hidden or super()._complete(trial, h, end)

    def _reached(self, trial: float, h: float, end: float) -> tuple[Floats, Floats, Floats]:
        q, v = self._reached_state
        # the work as the formula integrates it
        work = self.history.D[: self.order + 1, self._in_work].sum(axis=0) + self._increment[self._in_work]
        return q[0].copy(), v[0].copy(), work

    def _after_impact(self, h: float) -> float:
        self._begin(0.25 * h)
        return self.h

    def _error_of(self, order: int, difference: Floats) -> float:
        """Norm of the error of the same step at another order, from the difference one above it, filtered.

        A difference contains stiff components faster than the step in full; the formula damps them.
        """
        n_q, n_v = self.form.n_q, self.form.n_v
        error = ERROR[order] * difference
        self._error_q[0], self._error_v[0, :n_v] = error[:n_q], error[self._in_v]
        return self._pass_on.number()

    def _plan(self, h: float, error: float) -> float:
        """Length of the next step; sets its order to the present or a neighbour, whichever allows the longest step."""
        history = self.history
        k = history.order
        if history.equal <= k:
            return h
        best, order = self._growth(k, error), k
        present = best
        for other in (k - 1, k + 1):
            if 1 <= other <= self.max_order:
                growth = self._growth(other, self._error_of(other, history.D[other + 1]))
                if growth > best:
                    best, order = growth, other
        if best < WORTHWHILE and present >= SAFETY:
            return h
        longer = min(h * min(best, MAX_FACTOR), self.max_step)
        history.change(longer, order)
        return longer

    def _accept(self, trial: float, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        form, history, n_q = self.form, self.history, self.form.n_q
        start, (u, _, _, a, multipliers) = self.t, self._states
        history.advance(self._increment)
        normalise_history(form.coordinates[2], history.D)
        D = history.D[: history.order + 1].copy()
        self.t, self.q, self.v, self.work = end, D[0, :n_q], D[0, self._in_v], D[0, self._in_work]
        self.a, self.power, self._u = a[0].copy(), self._powers[0].copy(), u[0].copy()
        self.multipliers = multipliers[0].copy()
        self._settling, self._fresh = max(self._settling - 1, 0), False
        # no node at the start of a smooth interval, whose accelerations may be out of equilibrium
        self._ends.append((end, self.a))
        last = list(self._ends)[-(history.order + 1) :]
        nodes = ([t for t, _ in last], [a for _, a in last])
        self.h = h if self.given is not None else self._plan(h, error)
        return PolynomialStep(form, start, end, D, nodes)

"""Explicit Runge-Kutta: DOP853 with error control, and the classical method of order 4 with a fixed step.

Accelerations come from the equations with the constraints on accelerations (index 1). Quaternions are projected to
unit length, positions and velocities on the constraints, after every accepted step, which leaves the order unchanged.
E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, sections II.1 and II.5 (error norms),
II.6 (dense output).
"""

import math

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.element import InputError, TrialError
from femb.numerics import tableaux as dop
from femb.numerics.kinematics import error_norm
from femb.steppers.contract import ABOVE_TOLERANCE, Statistics, Step, before, step_to, too_small
from femb.steppers.dense import End, HermiteStep
from femb.steppers.diagnosis import largest_frequency, step_failure

# The stages in order of time.
IN_TIME = np.argsort(dop.C[: dop.STAGES], kind="stable")
# The step times the frequency of an undamped vibration, above which rk4 lets it grow.
RK4_LIMIT = 2.0 * math.sqrt(2.0)
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0


class _Explicit:
    """State y = (q, v, work) in one array and its rate; what both methods share."""

    error_v: Floats | None = None

    def __init__(self, form: Formulation, run: Run) -> None:
        self.form, self.run = form, run
        self.n_q, self.n_v = form.n_q, form.n_v
        self.t = 0.0
        self.y = np.concatenate([form.q0, form.v0, [0.0]])
        self.statistics = Statistics()
        self.restart()

    @property
    def q(self) -> Floats:
        """Coordinates (n_q,)."""
        return self.y[: self.n_q]

    @property
    def v(self) -> Floats:
        """Velocities (n_v,)."""
        return self.y[self.n_q : -1]

    @property
    def work(self) -> float:
        """Work of loads and dampers since the start."""
        return float(self.y[-1])

    def restart(self) -> None:
        """Evaluate the rate with the inputs as they are from now on."""
        self.rate = self._rate(self.t, self.y)

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Start afresh from a state within the last step."""
        self.t, self.y = t, np.concatenate([q, v, [work]])
        self.restart()

    def _rate(self, t: float, y: Floats) -> Floats:
        form = self.form
        q, v = y[: self.n_q], y[self.n_q : -1]
        u = form.inputs_at(t, q, v)
        self.statistics.evaluations += 1
        rate = np.empty_like(y)
        rate[: self.n_q] = form.rates(q[None], v[None])[0]
        rate[self.n_q : -1], multipliers = form.forward(u, q, v)
        rate[-1] = form.power(u[None], q[None], v[None], multipliers[None])[0]
        return rate

    def _project(self, t: float, y: Floats) -> Floats:
        """y with unit quaternions and on the constraints, in place; returns its rate."""
        q, v = y[: self.n_q], y[self.n_q : -1]
        self.form.normalise(q)
        if self.form.n_c:
            u = self.form.inputs_at(t, q, v)
            y[: self.n_q], y[self.n_q : -1] = self.form.projected(u, q, v)
        return self._rate(t, y)

    def _watch(self, states: list[Floats], last: bool) -> None:
        """Show the states of a step to the form; ``last`` where no shorter one can be made."""
        y = np.array(states)
        q, v = np.ascontiguousarray(y[:, : self.n_q]), np.ascontiguousarray(y[:, self.n_q : -1])
        self.form.watch(self.t, q, v, last)

    def _state(self, y: Floats, rate: Floats) -> End:
        """(q, v, a, work, power) for the dense output."""
        return y[: self.n_q], y[self.n_q : -1], rate[self.n_q : -1], float(y[-1]), float(rate[-1])


class RungeKutta4(_Explicit):
    """The classical method of order 4 with the fixed step ``run.step``."""

    order = 4

    def step(self, limit: float) -> Step:
        """One step of the given length, shorter only to land on ``limit``; raises SolveError if it diverges."""
        left = limit - self.t
        length = float(self.run.step or self.run.duration)
        h = left if length >= left * (1.0 - 1e-9) else length
        start, y0, k1 = self.t, self.y, self.rate
        end = limit if h == left else start + h
        middle = start + 0.5 * h
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                k2 = self._rate(middle, y0 + 0.5 * h * k1)
                k3 = self._rate(middle, y0 + 0.5 * h * k2)
                k4 = self._rate(before(end, start), y0 + h * k3)
                y = y0 + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
            if not np.all(np.isfinite(y)):
                raise TrialError("the state is not finite")
            if self.form.watched:
                self._watch([y0, y0 + 0.5 * h * k1, y0 + 0.5 * h * k2, y0 + h * k3, y], last=True)
            rate = self._project(before(end, start), y)
        except TrialError as problem:
            said = f"rk4 stopped at t = {start:.6g} s with step {h:.6g} s ({problem})"
            if isinstance(problem, InputError):
                raise SolveError(said) from problem
            raise SolveError(f"{said}: {self._diverged(length)}") from problem
        self.t, self.y, self.rate = end, y, rate
        self.statistics.steps += 1
        return HermiteStep(self.form, start, end, self._state(y0, k1), self._state(y, self.rate))

    def _diverged(self, step: float) -> str:
        """Whether it did, by the limit of the step at the start, and what to do about it."""
        frequency = largest_frequency(self.form)
        limit = RK4_LIMIT / frequency if frequency > 0.0 else math.inf
        advice = 'try a smaller step, or method = "radau"'
        if limit < step:
            return (
                f"rk4 diverged, since its step is above the limit of {limit:.3g} s, 2.83 over the largest natural "
                f"frequency (rad/s) at the start; {advice}"
            )
        return f"rk4 diverged if its step is above 2.83 over the largest natural frequency (rad/s); {advice}"


class Dop853(_Explicit):
    """Dormand and Prince's method of order 8 with the error estimates of order 5 and 3, and dense output of order 7."""

    order = 8

    def __init__(self, form: Formulation, run: Run) -> None:
        super().__init__(form, run)
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        self.max_step = run.max_step or np.inf
        self.h = run.first_step or self._first_step()

    def _norm(self, error: Floats, y: Floats) -> float:
        of_q = error_norm(*self.scale_q, error[: self.n_q], y[: self.n_q])
        return float(max(of_q, error_norm(*self.scale_v, error[self.n_q : -1], y[self.n_q : -1])))

    def _first_step(self) -> float:
        """Hairer's starting step: a hundredth of the state's scale over its rate, then by the second derivative."""
        size, rate = self._norm(self.y, self.y), self._norm(self.rate, self.y)
        h = 1e-6 if size < 1e-5 or rate < 1e-5 else 0.01 * size / rate
        h = min(h, 0.1 * self.run.duration)
        try:
            second = self._norm(self._rate(h, self.y + h * self.rate) - self.rate, self.y) / h
        except TrialError:
            return float(h)
        top = max(rate, second)
        guess = max(1e-6, 1e-3 * h) if top <= 1e-15 else (0.01 / top) ** (1.0 / 8.0)
        return float(min(100.0 * h, guess))

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
                K = self._stages(h, end)
                y = self.y + h * (dop.B @ K[: dop.STAGES])
                K[dop.STAGES] = self._rate(before(end, self.t), y)
                if self.form.watched:
                    stages = self.y + h * (dop.A[: dop.STAGES, : dop.STAGES] @ K[: dop.STAGES])
                    self._watch([*stages[IN_TIME], y], last=False)
            except TrialError as problem:
                h, rejected, cause = 0.5 * h, True, problem
                self.statistics.rejected += 1
                continue
            error = self._error(K, h, y)
            if not np.isfinite(error) or error > 1.0:
                self.statistics.rejected += 1
                h *= max(MIN_FACTOR, SAFETY * error ** (-1.0 / 8.0)) if np.isfinite(error) else MIN_FACTOR
                rejected, cause = True, ABOVE_TOLERANCE
                continue
            factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, SAFETY * error ** (-1.0 / 8.0))
            factor = min(1.0, factor) if rejected else factor
            # a step cut to land on the limit says nothing against the one that was planned
            step = Dop853Step(self, self.t, end, self.y, y.copy(), K)
            try:
                rate = self._project(before(end, self.t), y) if self.form.n_c else K[dop.STAGES]
            except TrialError as problem:
                h, rejected, cause = 0.5 * h, True, problem
                self.statistics.rejected += 1
                continue
            self.form.normalise(y[: self.n_q])
            self.statistics.steps += 1
            self.h = max(h * factor, self.h if h < self.h and not rejected else 0.0)
            self.t, self.y, self.rate = end, y, rate
            return step

    def _stages(self, h: float, end: float) -> Floats:
        K = np.empty((dop.EXTENDED, self.y.size))
        K[0] = self.rate
        for s in range(1, dop.STAGES):
            t = before(end, self.t) if dop.C[s] == 1.0 else self.t + h * dop.C[s]
            K[s] = self._rate(t, self.y + h * (dop.A[s, :s] @ K[:s]))
        return K

    def _error(self, K: Floats, h: float, y: Floats) -> float:
        scale = np.maximum(np.abs(self.y), np.abs(y))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            estimate = h * (dop.E5 @ K[: dop.STAGES + 1])
            self.error_v = estimate[self.n_q : -1]
            fifth = self._norm(estimate, scale)
            third = self._norm(h * (dop.E3 @ K[: dop.STAGES + 1]), scale)
        if not fifth + third < math.inf:
            return math.inf
        return fifth**2 / math.hypot(fifth, 0.1 * third) if fifth > 0.0 else 0.0


class Dop853Step:
    """Dense output of order 7; its three further stages are evaluated when the step is first asked."""

    def __init__(self, stepper: Dop853, start: float, end: float, y0: Floats, y1: Floats, K: Floats) -> None:
        self.stepper, self.start, self.end = stepper, start, end
        self._y0, self._y1, self._K = y0, y1, K
        self._F: Floats | None = None

    def _prepare(self) -> Floats:
        h, K = self.end - self.start, self._K
        for s in range(dop.STAGES + 1, dop.EXTENDED):
            y = self._y0 + h * (dop.A[s, :s] @ K[:s])
            K[s] = self.stepper._rate(self.start + h * dop.C[s], y)
        change = self._y1 - self._y0
        first = [change, h * K[0] - change, 2.0 * change - h * (K[dop.STAGES] + K[0])]
        return np.concatenate([first, h * (dop.D @ K)])

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        y = self._values(times)[0]
        n_q = self.stepper.n_q
        for row in y:
            self.stepper.form.normalise(row[:n_q])
        return np.ascontiguousarray(y[:, :n_q]), np.ascontiguousarray(y[:, n_q:-1]), y[:, -1]

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return np.ascontiguousarray(self._values(times)[1][:, self.stepper.n_q : -1])

    def _values(self, times: Floats) -> tuple[Floats, Floats]:
        """y (s, n) and y' at times inside the step."""
        if self._F is None:
            self._F = self._prepare()
        h = self.end - self.start
        x = ((np.asarray(times) - self.start) / h)[:, None]
        y, slope = np.zeros((2, len(x), self._y0.size))
        for i, row in enumerate(self._F[::-1]):
            factor, sign = (x, 1.0) if i % 2 == 0 else (1.0 - x, -1.0)
            y, slope = (y + row) * factor, slope * factor + sign * (y + row)
        return y + self._y0, slope / h

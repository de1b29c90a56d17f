"""Explicit Runge-Kutta: DOP853 with error control, and the classical method of order 4 with a fixed step.

Accelerations come from the equations with the constraints on accelerations (index 1). Quaternions are projected to
unit length, positions and velocities on the constraints, after every accepted step, which leaves the order unchanged.
E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, sections II.1 and II.5 (error norms),
II.6 (dense output).
"""

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, TypeAlias, cast

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import NO_STAGES, Formulation, RatesOfState, WithBoundRates, WithStages, WithSteps
from femb.layout.element import InputError, TrialError
from femb.numerics import dop853 as dop
from femb.numerics.dop853_kernels import MAX_FACTOR, MIN_FACTOR, SAFETY, error_size
from femb.steppers.contract import AcceptedStep, PassedSteps, Statistics, check_fixed_step, lands, left_limit
from femb.steppers.dense import Dop853Step, End, HermiteStep, StepLoop
from femb.steppers.diagnosis import largest_frequency
from femb.steppers.stage_program import StageProgram
from femb.steppers.variable_step import VariableStep
from femb.system.bound_equations import BoundRates

# The base of explicit Runge-Kutta methods: the state as one array, its rate, stages, and projections.

Tableau: TypeAlias = tuple[Floats, Floats]
"""Coefficients A (stages, stages) of the rates in the states of a method, and their times C (stages,) in a step."""


class Explicit:
    """Base of explicit methods: the state y = (q, v, work) as one array, and its rate."""

    form: Formulation
    statistics: Statistics
    error_v: Floats | None = None
    memory: ClassVar[tuple[str, ...]] = ("t", "y", "rate", "statistics")
    _kept_program: StageProgram | None = None

    def recalled(self) -> None:
        """Take up the state of the memory."""
        self._go_to(self.t, self.y)

    @cached_property
    def _compiles(self) -> bool:
        """Whether the formulation, in any discrete state, may have its rates as one compiled function."""
        return isinstance(self.form, WithStages)

    @cached_property
    def _binds(self) -> bool:
        """Whether the formulation may have its rates by bound kernels."""
        return isinstance(self.form, WithBoundRates)

    @property
    def _program(self) -> StageProgram | None:
        """Stages of the present form as calls of kernels; None for forms with rates of their own."""
        form, system = self.form, self.form.system
        if form is system and (system.has_stages or not BoundRates.serves(system)):
            return None
        if self._kept_program is None or not self._kept_program.is_of(form):
            rates: RatesOfState | None = BoundRates(system) if form is system else None
            if self._binds:
                rates = cast(WithBoundRates, form).bound_rates()
            if rates is None:
                return None
            self._kept_program = StageProgram(rates)
        return self._kept_program

    def _go_to(self, t: float, y: Floats) -> None:
        """Set the time and the state y, with q (n_q,), v (n_v,) and the budget (n_w,) as its parts."""
        self.t, self.y = t, y
        self.n_q, last = self.form.n_q, self.form.n_q + self.form.n_v
        self._in_v, self._in_work = slice(self.n_q, last), slice(last, None)
        self.q, self.v, self.work = y[: self.n_q], y[self._in_v], y[self._in_work]

    def restart(self) -> None:
        """Evaluate the rate anew: inputs may jump here."""
        self.rate = self._rate(self.t, self.y)

    def resume(self) -> None:
        """Restart: there is nothing to keep."""
        self.restart()

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from a state within the last step."""
        self._go_to(t, np.concatenate([q, v, work]))
        self.restart()

    def _rate(self, t: float, y: Floats) -> Floats:
        rate: Floats = np.zeros(y.size)
        self._evaluate(NO_STAGES, 0, [t], 0.0, y, rate[None])
        return rate

    def _stages(
        self, tableau: Tableau, first: int, last: int, h: float, start: float, end: float, y0: Floats, K: Floats
    ) -> Floats:
        """Set rows ``first`` to ``last`` - 1 of the stages K of a step, start to end (s); returns the last state."""
        A, C = tableau
        times = [left_limit(end, start) if c == 1.0 else start + h * c for c in C[first:last].tolist()]
        return self._evaluate(A, first, times, h, y0, K)

    def _evaluate(self, A: Floats, first: int, times: list[float], h: float, y0: Floats, K: Floats) -> Floats:
        """Set the stages K at these times (s) from the first one on; returns the last state."""
        last = first + len(times)
        self.statistics.evaluations += len(times)
        if self._compiles and (form := cast(WithStages, self.form)).has_stages:
            return form.stages(A, first, last, h, y0, K)
        if (program := self._program) is not None:
            return program.stages(self.form, A, first, times, h, y0, K)
        for s, t in enumerate(times, first):
            y = y0 + h * (A[s, :s] @ K[:s])
            self._set_rate(t, y, K[s])
        return y

    def _set_rate(self, t: float, y: Floats, rate: Floats) -> None:
        """Set the rate (n,) of a state y at the time t (s), by the methods of the formulation."""
        form, q, v = self.form, y[: self.n_q], y[self._in_v]
        u = form.inputs_at(t, q, v)
        rate[: self.n_q] = form.rates(q[None], v[None])[0]
        rate[self._in_v], multipliers = form.forward(u, q, v)
        rate[self._in_work] = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]

    def _project(self, t: float, y: Floats) -> Floats:
        """y with unit quaternions and on the constraints, in place; returns its rate."""
        q, v = y[: self.n_q], y[self._in_v]
        self.form.normalise(q)
        if self.form.n_c:
            u = self.form.inputs_at(t, q, v)
            y[: self.n_q], y[self._in_v] = self.form.projected(u, q, v)
        return self._rate(t, y)

    def _check_singularities(self, states: list[Floats], last: bool) -> None:
        """Check the states of a step for singularities; ``last`` where no shorter step can be made."""
        y = np.array(states)
        q, v = np.ascontiguousarray(y[:, : self.n_q]), np.ascontiguousarray(y[:, self._in_v])
        self.form.check_singularities(self.t, q, v, last)

    def _state(self, y: Floats, rate: Floats) -> End:
        """(q, v, a, work, power) for the dense output."""
        return y[: self.n_q], y[self._in_v], rate[self._in_v], y[self._in_work], rate[self._in_work]


DORMAND_PRINCE = dop.A, dop.C
CLASSICAL = np.diag([0.5, 0.5, 1.0], -1), np.array([0.0, 0.5, 0.5, 1.0])
# The stages in order of time.
IN_TIME = np.argsort(dop.C[: dop.STAGES], kind="stable")
# Stability limit of rk4: the step times the frequency (rad/s) of an undamped vibration.
RK4_LIMIT = 2.0 * math.sqrt(2.0)


class RungeKutta4(Explicit):
    """The classical method of order 4 with the fixed step ``run.step``."""

    order = 4

    def __init__(self, form: Formulation, run: Run) -> None:
        self.form, self.run = form, run
        self.statistics = Statistics()
        self.jump(0.0, form.q0, form.v0, form.system.budget.none())

    def step(self, limit: float) -> AcceptedStep:
        """One step of the given length, shorter only to end at ``limit``; raises SolveError if it diverges."""
        remaining = limit - self.t
        length = float(self.run.step or self.run.duration)
        h = remaining if lands(length, remaining) else length
        check_fixed_step(self, h)
        start, y0, k1 = self.t, self.y, self.rate
        end = limit if h == remaining else start + h
        K = np.zeros((4, y0.size))
        K[0] = k1
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._stages(CLASSICAL, 1, 4, h, start, end, y0, K)
                _, k2, k3, k4 = K
                y = y0 + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
            if not np.all(np.isfinite(y)):
                raise TrialError("the state is not finite")
            if self.form.singular_batches:
                self._check_singularities([y0, y0 + 0.5 * h * k1, y0 + 0.5 * h * k2, y0 + h * k3, y], last=True)
            rate = self._project(left_limit(end, start), y)
        except TrialError as problem:
            text = f"rk4 stopped at t = {start:.6g} s with step {h:.6g} s ({problem})"
            if isinstance(problem, InputError):
                raise SolveError(text) from problem
            raise SolveError(f"{text}: {self._diverged(length)}") from problem
        self._go_to(end, y)
        self.rate = rate
        self.statistics.steps += 1
        return HermiteStep(self.form, start, end, self._state(y0, k1), self._state(y, self.rate))

    def _diverged(self, step: float) -> str:
        """A sentence on the stability limit of the step at the start of the run, with advice; step : s."""
        frequency = largest_frequency(self.form)
        limit = RK4_LIMIT / frequency if frequency > 0.0 else math.inf
        advice = 'try a smaller step, or method = "radau"'
        if limit < step:
            return (
                f"rk4 diverged, since its step is above the limit of {limit:.3g} s, 2.83 over the largest natural "
                f"frequency (rad/s) at the start; {advice}"
            )
        return f"rk4 diverged if its step is above 2.83 over the largest natural frequency (rad/s); {advice}"


@dataclass
class _Dop853Trial:
    """A step: its stages K, the state at its end, the rate there and the dense output."""

    K: Floats
    y: Floats
    rate: Floats = field(init=False)
    step: Dop853Step = field(init=False)


class Dop853(Explicit, VariableStep[Formulation, _Dop853Trial]):
    """Dormand and Prince's method of order 8 with the error estimates of order 5 and 3, and dense output of order 7."""

    order = 8
    memory = (*Explicit.memory, *VariableStep.memory)

    def __init__(self, form: Formulation, run: Run) -> None:
        super().__init__(form, run)
        self._norms = self.scale_q, self.scale_v, form.turning
        self.jump(0.0, form.q0, form.v0, form.system.budget.none())
        self.h = self.h or self._first_step()

    def _norm_of(self, error: Floats, y: Floats) -> float:
        return self._norm(error[: self.n_q], error[self._in_v], y[: self.n_q], y[self._in_v])

    def _first_step(self) -> float:
        """Hairer's starting step: a hundredth of the state's scale over its rate, then by the second derivative."""
        size, rate = self._norm_of(self.y, self.y), self._norm_of(self.rate, self.y)
        h = 1e-6 if size < 1e-5 or rate < 1e-5 else 0.01 * size / rate
        h = min(h, 0.1 * self.run.duration)
        try:
            second = self._norm_of(self._rate(h, self.y + h * self.rate) - self.rate, self.y) / h
        except TrialError:
            return float(h)
        top = max(rate, second)
        guess = max(1e-6, 1e-3 * h) if top <= 1e-15 else (0.01 / top) ** (1.0 / 8.0)
        return float(min(100.0 * h, guess))

    def _solve(self, h: float, end: float) -> _Dop853Trial:
        K = np.zeros((dop.EXTENDED, self.y.size))
        K[0] = self.rate
        y = self._stages(DORMAND_PRINCE, 1, dop.STAGES + 1, h, self.t, end, self.y, K)
        if self.form.singular_batches:
            stages = self.y + h * (dop.A[: dop.STAGES, : dop.STAGES] @ K[: dop.STAGES])
            self._check_singularities([*stages[IN_TIME], y], last=False)
        return _Dop853Trial(K, y)

    def _factor(self, error: float) -> float:
        return SAFETY * error ** (-1.0 / 8.0) if error > 0.0 else MAX_FACTOR

    def _after_error(self, trial: _Dop853Trial, h: float, error: float) -> float:
        return h * max(MIN_FACTOR, self._factor(error))

    def _complete(self, trial: _Dop853Trial, h: float, end: float) -> bool:
        y = trial.y
        more = partial(self._stages, DORMAND_PRINCE, dop.STAGES + 1, dop.EXTENDED, h, self.t, end)
        self._trial = y
        trial.step = Dop853Step(self.form, more, self.t, end, self.y, y.copy(), trial.K)
        trial.rate = self._project(left_limit(end, self.t), y) if self.form.n_c else trial.K[dop.STAGES]
        self.form.normalise(y[: self.n_q])
        return True

    def _end_of_trial(self) -> tuple[Floats, Floats]:
        return self._trial[: self.n_q], self._trial[self._in_v]

    def _accept(self, trial: _Dop853Trial, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        factor = min(MAX_FACTOR, self._factor(error))
        # a step shortened to end at the limit does not reduce the length that was planned
        planned = 0.0 if self._rejections or h >= self.h else self.h
        self.h = max(h * (min(1.0, factor) if self._rejections else factor), planned)
        self._go_to(end, trial.y)
        self.rate = trial.rate
        return trial.step

    def _error(self, trial: _Dop853Trial, h: float) -> float:
        estimate = np.empty_like(trial.y)
        self.error_v = estimate[self._in_v]
        return float(error_size((dop.E5, dop.E3), self._norms, self.n_q, h, self.y, trial.y, trial.K, estimate))

    def steps(self, limit: float, last: float, times: Floats, most: float) -> PassedSteps | None:
        """Many steps; see ``femb.steppers.contract.StepperOfMany``."""
        form = self.form
        if self._contacts is not None or self.given or self.record or not self._compiles_steps or form.singular_batches:
            return None
        if not cast(WithSteps, form).has_steps:
            return None
        loop = StepLoop(self.t, self.h, self.y, self.rate)
        passed = loop.run(form, self._norms, (limit, last, self.max_step), times, most, self.statistics)
        if passed is not None:
            self._go_to(loop.t, loop.y)
            self.h, self.rate, self.error_v = loop.h, loop.rate, loop.error[self._in_v]
        return passed

    @cached_property
    def _compiles_steps(self) -> bool:
        return isinstance(self.form, WithSteps)

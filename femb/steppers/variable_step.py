"""The base of steppers with error control: trial steps until one is accepted, and their lengths.

A method solves the equations of a step, estimates its error, and updates its state when the step is accepted; the loop,
the rejections and the causes of a failure are here. Source: docs/theory/integration.md, section 3.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf, sqrt, ulp
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from femb.base.options import Run
from femb.base.types import Bools, Floats
from femb.formulations.contract import Formulation
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm
from femb.steppers.contract import (
    ABOVE_TOLERANCE,
    AcceptedStep,
    F,
    Statistics,
    StepperState,
    located,
    longest_step,
    step_to,
    too_small,
)
from femb.steppers.diagnosis import step_failure
from femb.steppers.replay import GivenSteps, ReplayError, StepRecord, TakenStep
from femb.steppers.step_kernels import WORTHWHILE, next_length
from femb.system.block_lu import SingularError
from femb.system.constraints import mass_factors

# Location of contacts: a step ends where a gap closes or opens, and the next begins a smooth interval.
#
# The stiffness of an end stop changes abruptly where its gap (``HasGaps``) passes through zero. A step across that
# instant has the error of a method of low order, and is rejected until it is short. A step therefore ends before the
# instant predicted from the gap and its first two derivatives; its dense output, extrapolated a little, then gives the
# instant to rounding, the next step ends there, and the stepper restarts. A gap that closes within a step, even if it
# opens again, is detected in the dense output, and the step is repeated up to there. Source:
# docs/theory/integration.md, section 5.

# Intervals of a step at whose ends the gaps are evaluated.
SAMPLES = 8
# Extrapolation of the dense output, as a fraction of the step; fraction of the time to a predicted contact to step.
EXTRAPOLATION, APPROACH = 0.02, 0.99
# A gap that closes at less than this many times the absolute tolerance of velocities makes no impact.
SLOW = 10.0
# Contacts nearer than this many ulp of t are ignored.
NEAREST = 1000.0


class Landing(StepperState, Protocol):
    """The members of a stepper that ``Contacts`` uses."""

    record: StepRecord | None

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart at a contact."""


class Contacts:
    """Ends the steps of a stepper at the zeros of the gaps of its system.

    openings : whether also where a contact ends, or only where one begins. length : m, the size of its model.
    """

    memory: ClassVar[tuple[str, ...]] = ("_end", "_gaps", "_side", "_zero", "_passing")

    def __init__(self, run: Run, openings: bool, length: float) -> None:
        self._openings = openings
        self._slow = SLOW * run.atol.values(run.rtol, length)[0] / run.atol.rate_time
        # end of the last step, the gaps and their first two derivatives there, and their signs after it
        self._end: float | None = None
        self._gaps = np.zeros((3, 0))
        self._side = np.zeros(0)
        # the zero at which the next step ends, infinity for none, and the gaps that cross it
        self._zero, self._passing = inf, np.zeros(0, dtype=bool)

    def step(self, stepper: Landing, make: Callable[[float], AcceptedStep], limit: float) -> AcceptedStep:
        """One accepted step; make : function of a limit (s) that makes one. Raises SolveError."""
        start = stepper.t, stepper.q, stepper.v, stepper.work
        if stepper.t != self._end:
            self._begin(stepper)
        step = make(min(limit, self._aim(stepper.t, limit)))
        if step.end == self._zero:
            self._land(stepper)
            return step
        g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        self._zero, self._passing, side = self._first_zero(stepper.form, step, self._gaps[:2], np.stack([g, rate]))
        if self._zero < step.end:
            stepper.statistics.steps -= 1
            stepper.statistics.rejected += 1
            if stepper.record is not None:
                stepper.record.drop()
            with located(start[0]):
                stepper.land(*start)
            step = make(self._zero)
            if step.end == self._zero:
                self._land(stepper)
                return step
            g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        else:
            self._side = side
        self._end = step.end
        self._gaps = np.stack([g, rate, (rate - self._gaps[1]) / (step.end - step.start)])
        return step

    def _begin(self, stepper: Landing) -> None:
        """Evaluate the gaps at a state that no step has led to."""
        g, rate = _gaps(stepper.form, stepper.q, stepper.v)
        self._gaps, self._side = np.stack([g, rate, 0.0 * g]), np.where(g == 0.0, np.sign(rate), np.sign(g))
        self._zero = inf

    def _aim(self, t: float, limit: float) -> float:
        """Latest end of the next step: at a known zero, or before a predicted one."""
        near = NEAREST * ulp(limit)
        if t + near < self._zero < inf:
            return self._zero
        remaining = _time_to_zero(*(self._side * self._gaps)[:, self._openings | (self._side > 0.0)])
        return t + APPROACH * remaining if near < remaining else inf

    def _land(self, stepper: Landing) -> None:
        side = np.where(self._passing, -self._side, self._side)
        if stepper.record is not None:
            stepper.record.landed(self._passing)
        with located(stepper.t):
            stepper.land(stepper.t, stepper.q, stepper.v, stepper.work)
        self._begin(stepper)
        self._end, self._side = stepper.t, side

    def _first_zero(
        self, form: Formulation, step: AcceptedStep, start: Floats, end: Floats
    ) -> tuple[float, Bools, Floats]:
        """The first zero of gaps in a step or shortly after it; which gaps cross it; the signs at the step's end.

        start, end : the gaps and their rates (2, k) at the step's start and end.
        """
        from scipy.optimize import brentq

        side, h = self._side, step.end - step.start

        def signed_gaps(times: Floats) -> tuple[Floats, Floats]:
            g, rate = form.system.gaps(*form.to_system(*step(times)[:2]))
            return side * g, side * rate

        (g0, rate0), (g1, rate1) = side * start, side * end
        roots, at_end = np.full(len(side), inf), np.where(g1 < 0.0, -side, side)
        if np.all(np.minimum(g0, g1) > 2.0 * h * np.maximum(np.abs(rate0), np.abs(rate1))):
            return inf, roots < inf, at_end
        times = np.append(np.linspace(step.start, step.end, SAMPLES + 1), step.end + EXTRAPOLATION * h)
        g, rate = signed_gaps(times)
        extrema = _extrema(times, g, rate)
        if len(extrema):
            times = np.sort(np.append(times, extrema))
            g, rate = signed_gaps(times)
        for k in np.flatnonzero(self._openings | (side > 0.0)):
            for i in np.flatnonzero((g[:-1, k] > 0.0) & (g[1:, k] < 0.0)):
                t = brentq(lambda t, k=k: signed_gaps(np.array([t]))[0][0, k], times[i], times[i + 1], xtol=1e-300)
                if t > step.start + NEAREST * ulp(t) and -signed_gaps(np.array([t]))[1][0, k] > self._slow:
                    roots[k] = t
                    break
        first = float(np.min(roots, initial=inf))
        return first, roots <= first, at_end


def _gaps(form: Formulation, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Gaps and their rates (k,) at one state of a formulation."""
    g, rate = form.system.gaps(*form.to_system(q[None], v[None]))
    return g[0], rate[0]


def _time_to_zero(g: Floats, rate: Floats, curvature: Floats) -> float:
    """The shortest time (s) in which one of g + rate t + curvature t^2/2 falls from above zero to zero."""
    root = rate * rate - 2.0 * curvature * g
    falls = (g > 0.0) & (root >= 0.0)
    bottom = np.sqrt(np.where(falls, root, 0.0)) - rate
    falls &= bottom > 0.0
    return float(np.min(2.0 * g[falls] / bottom[falls], initial=inf))


def _extrema(times: Floats, g: Floats, rate: Floats) -> Floats:
    """Instants of negative extrema of the cubic interpolants between positive values g with the rates given."""
    extrema = []
    for i, k in zip(*np.nonzero((g[:-1] > 0.0) & (g[1:] > 0.0) & (rate[:-1] < 0.0) & (rate[1:] > 0.0)), strict=True):
        h = times[i + 1] - times[i]
        first, last, rise = h * rate[i, k], h * rate[i + 1, k], g[i + 1, k] - g[i, k]
        cubic = np.array([first + last - 2.0 * rise, 3.0 * rise - 2.0 * first - last, first, g[i, k]])
        x = np.roots(np.polyder(cubic))
        x = x[np.isreal(x)].real
        x = x[(x > 0.0) & (x < 1.0)]
        x = x[np.polyval(cubic, x) < 0.0]
        extrema += list(times[i] + h * x)
    return np.array(extrema)


# Energy balance of steps: the filter of an error estimate must not hide a change of the energy.
#
# An implicit method damps vibrations faster than its step, and its error estimate is filtered accordingly: negligible
# vibrations of stiff parts cost no steps. A stiff impact is not negligible. It transfers the energy of the motion to a
# vibration that a long step does not resolve, and would dissipate or, with the work of forces at few instants, amplify.
# A step whose estimate is below the tolerance only after filtering is therefore accepted only if
#
#     |dT + dV - dW| <= sqrt(rtol) max(T, |V - V_0|, |W|, T_0)
#
# with the kinetic energy T, the potential energy V, V_0 at the start of the run, the work W of loads, dampers and
# drivers, and T_0, the kinetic energy of velocities of NEGLIGIBLE_VELOCITY times their absolute tolerances. Components
# of the estimate that violate the constraints, as where drivers begin a motion, are no vibration: they are removed
# first. Source: docs/theory/integration.md, section 5.

# Velocities up to this many times their absolute tolerance have a negligible energy.
NEGLIGIBLE_VELOCITY = 1000.0
# Cause of a failure, for messages.
UNBALANCED_ENERGY = "a stiff part takes up energy that shorter steps had to follow, as in an impact"


class StepEnergy:
    """The energy that the steps of a stepper give to the motion beyond the work of forces."""

    def __init__(self) -> None:
        # form, q and v at the end of the last step, and the energies there
        self._end: tuple[Formulation, Floats, Floats] | None = None
        self._at_end = 0.0, 0.0

    def gained(
        self, stepper: StepperState, q: Floats, v: Floats, work: Floats
    ) -> tuple[float, tuple[float, float], tuple[float, float]]:
        """That (J) of a step from the state of a stepper to q (n_q,), v (n_v,) and the budget ``work`` (n_w,); kinetic
        and potential energy at its start, and at its end."""
        form, end = stepper.form, self._end
        known = end is not None and form is end[0] and stepper.q is end[1] and stepper.v is end[2]
        start = self._at_end if known else _energies(form, stepper.q, stepper.v)
        self._end, self._at_end = (form, q, v), _energies(form, q, v)
        total = form.system.budget.total
        worked = float(total(work)) - float(total(stepper.work))
        return sum(self._at_end) - sum(start) - worked, start, self._at_end


class EnergyWatch:
    """Checks the energy balance of the steps of a stepper, relative to the start of the run."""

    def __init__(self, form: Formulation, run: Run) -> None:
        system = form.system
        self._part = sqrt(run.rtol)
        self._scale = system.error_scale(run.rtol, run.atol)[1]
        start, size, atol, _ = self._scale
        v = np.zeros(system.n_v)
        for first, width, tolerance in zip(start, np.abs(size), atol, strict=True):
            v[first : first + width] = NEGLIGIBLE_VELOCITY * tolerance
        self._energy = StepEnergy()
        q = form.to_system(form.q0[None].copy(), form.v0[None].copy())[0]
        self._least, self._first = (float(x) for x in system.energy_momentum(q, v[None])[0, :2])

    def is_balanced(self, stepper: StepperState, q: Floats, v: Floats, work: Floats, error_v: Floats) -> bool:
        """Whether a step from the state of a stepper to q (n_q,), v (n_v,) and the budget ``work`` (n_w,) does.

        error_v (n_v,) : the unfiltered error estimate of v.
        """
        error, (T0, V0), (T1, V1) = self._energy.gained(stepper, q, v, work)
        before = float(stepper.form.system.budget.total(stepper.work))
        sizes = [T0, T1, abs(V0 - self._first), abs(V1 - self._first), abs(before)]
        if abs(error) <= self._part * max(*sizes, self._least):
            return True
        return not self._hidden_by_stiffness(stepper, error_v)

    def _hidden_by_stiffness(self, stepper: StepperState, error_v: Floats) -> bool:
        """Whether the estimate is above the tolerance also within the motions that the constraints admit."""
        form = stepper.form
        system = form.system
        if not system.n_c:
            return True
        states = np.stack([stepper.q, stepper.q]), np.stack([stepper.v, stepper.v + error_v])
        Q, V = form.to_system(*states)
        x = np.concatenate([system.mass_matrix(Q[0]) @ (V[1] - V[0]), np.zeros(system.n_c)])
        u = system.inputs_at(stepper.t, Q[0], V[0])
        admitted = mass_factors(system, u, Q[0]).solve(x)[: system.n_v]
        return bool(error_norm(*self._scale, admitted, V[0]) > 1.0)


def _energies(form: Formulation, q: Floats, v: Floats) -> tuple[float, float]:
    """Kinetic and potential energy (J) at one state of a formulation."""
    values = form.system.energy_momentum(*form.to_system(q[None].copy(), v[None].copy()))[0]
    return float(values[0]), float(values[1])


NOT_CONVERGED = "Newton's iteration did not converge"
# Tries of a given step, whose length stays; corrections of the length of one that ends where a gap closes.
TRIES, CORRECTIONS = 4, 12

T = TypeVar("T")


class VariableStep(ABC, Generic[F, T]):
    """A stepper with error control; T is the type of its trial steps. See ``femb.steppers.contract``."""

    q: Floats
    v: Floats
    work: Floats
    error_v: Floats | None = None
    # part of the limit of elements on the length of steps that the method takes
    share_of_longest: ClassVar[float] = 1.0
    # whether to restart also where a contact ends, which costs a multistep method more than it gains
    lands_on_openings = True
    # where the steps are noted, and those that are to be taken again; see ``femb.steppers.replay``
    record: StepRecord | None = None
    given: GivenSteps | None = None
    _tries = 0
    # see ``femb.base.memory``; q, v, work and the rest are those of the method
    memory: ClassVar[tuple[str, ...]] = ("h", "_contacts", "statistics")

    def __init__(self, form: F, run: Run) -> None:
        self.form, self.run = form, run
        self.t = 0.0
        self.statistics = Statistics()
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        self._most = self.max_step = run.max_step or np.inf
        # length of the next step, s; zero where it is to be estimated
        self.h = run.first_step or 0.0
        self._contacts = Contacts(run, self.lands_on_openings, form.layout.length) if form.system.has_gaps else None
        # rejections of the present step; after one the next step is not longer
        self._rejections = 0

    def step(self, limit: float) -> AcceptedStep:
        """One accepted step that ends at the next contact at the latest; raises SolveError where none can be made."""
        if self.given is not None:
            return self.given.step(self, limit)
        if self.record is not None:
            self.record.limit = limit
        return self._contacts.step(self, self._accepted, limit) if self._contacts else self._accepted(limit)

    def _accepted(self, limit: float) -> AcceptedStep:
        """Try steps until one is accepted."""
        self._limit_steps()
        h, self._rejections = min(self.h, self.max_step), 0
        cause: str | Exception = ABOVE_TOLERANCE
        while True:
            h = step_to(limit, self.t, h)
            if too_small(limit, h):
                raise step_failure(self, h, cause) from (cause if isinstance(cause, Exception) else None)
            end = limit if h == limit - self.t else self._time_after(h)
            problem: str | Exception = NOT_CONVERGED
            try:
                trial = self._solve(h, end)
            except (TrialError, SingularError) as error:
                trial, problem = None, error
            if trial is None:
                h, cause = self._after_failure(h, problem), problem
            elif not (norm := self._error(trial, h)) <= 1.0:
                self._rejections += 1
                h, cause = self._after_error(trial, h, norm), ABOVE_TOLERANCE
            else:
                try:
                    if self._complete(trial, h, end):
                        self.statistics.steps += 1
                        if self.record is not None:
                            self.record.add(self.t, end, self._order(), self._damps())
                        return self._accept(trial, h, end, norm, end == limit)
                    h, cause = self._after_impact(h), UNBALANCED_ENERGY
                except TrialError as error:
                    self._rejections += 1
                    h, cause = 0.5 * h, error
            self.statistics.rejected += 1

    # Steps that are taken again

    def take(self, h: float, end: float, one: TakenStep, landing: Callable[[], float] | None) -> AcceptedStep:
        """Take a step of length h (s) to ``end``; landing : the time (s) to the zero of a gap, to which it goes then.

        Raises ReplayError.
        """
        self._rejections = 0
        self._follow(h, one)
        trial = self._solved(h, end)
        for _ in range(CORRECTIONS if landing is not None else 0):
            assert landing is not None
            more = landing()
            if abs(more) <= 4.0 * ulp(end):
                break
            h, end = h + more, end + more
            if not h > 0.0:
                raise ReplayError("a contact moves by more than the steps before it")
            self._follow(h, one)
            trial = self._solved(h, end)
        self.statistics.steps += 1
        return self._accept(trial, h, end, 1.0, False)

    def _solved(self, h: float, end: float) -> T:
        """A step of given length, solved, whose end is on the constraints. Raises ReplayError."""
        cause: str | Exception = NOT_CONVERGED
        for k in range(TRIES):
            self._tries = k
            try:
                trial = self._solve(h, end)
                if trial is not None:
                    self._complete(trial, h, end)
                    return trial
            except (TrialError, SingularError) as error:
                cause = error
            self._after_failure(h, cause)
        raise ReplayError(f"the step of {h:.3g} s at t = {self.t:.6g} s was not solved again: {cause}")

    def gap(self, passing: Bools) -> float:
        """The time (s) from the end of a solved step to the zero of the first of these gaps."""
        g, rate = _gaps(self.form, *self._end_of_trial())
        k = int(np.argmax(passing))
        return float(-g[k] / rate[k])

    def _end_of_trial(self) -> tuple[Floats, Floats]:
        """q (n_q,) and v (n_v,) at the end of the last solved step."""
        raise NotImplementedError

    def _follow(self, h: float, one: TakenStep) -> None:
        """Prepare for a given step of length h (s)."""

    def _order(self) -> int:
        """That of the step, of methods that change it."""
        return 0

    def _damps(self) -> bool:
        """Whether a filter damps in the step."""
        return False

    def _limit_steps(self) -> None:
        """Set ``max_step`` to what the run and the elements admit at the present state."""
        if self.form.system.limits_steps:
            self.max_step = min(self._most, longest_step(self, self.share_of_longest))

    def land(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart where a contact begins or ends, an instant within the last step or shortly after it."""
        self.jump(t, q, v, work)

    def move(self, t: float, q: Floats, v: Floats, h: float) -> None:
        """Restart at another state, to which no impact has led, with a step of h (s), of zero with an estimated one."""
        self.h = h or self.h
        self.jump(t, q, v, self.work)

    def after_impact(self, form: Formulation, t: float, q: Floats, v: Floats) -> Floats:
        """Velocities (n_v,) with which a formulation goes on from a state after an impact at the time t (s)."""
        return v

    # Implemented by methods

    @abstractmethod
    def restart(self) -> None:
        """Begin a smooth interval at the present state, without history. Raises TrialError."""

    def resume(self) -> None:
        """Restart after a change of inputs alone. Raises TrialError."""
        self.restart()

    @abstractmethod
    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from an instant within the last step, with another state. Raises TrialError."""

    @abstractmethod
    def _solve(self, h: float, end: float) -> T | None:
        """Solve the equations of a step of length h (s) to ``end``; None, TrialError or SingularError on failure."""

    @abstractmethod
    def _error(self, trial: T, h: float) -> float:
        """Norm of the local error of a solved step: at most one where it may be accepted."""

    @abstractmethod
    def _after_error(self, trial: T, h: float, error: float) -> float:
        """The step length to try after an error above one."""

    @abstractmethod
    def _complete(self, trial: T, h: float, end: float) -> bool:
        """Project the end of a step on the constraints; False if its energy balance fails. Raises TrialError."""

    @abstractmethod
    def _accept(self, trial: T, h: float, end: float, error: float, cut: bool) -> AcceptedStep:
        """Advance to the end of a step and plan the next; cut : whether the step ends at the limit."""

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        """The step length to try after a step whose equations were not solved."""
        self._rejections += 1
        return 0.5 * h

    def _after_impact(self, h: float) -> float:
        """The step length to try after a step whose energy balance failed."""
        self._rejections += 1
        return 0.25 * h

    def _time_after(self, h: float) -> float:
        """The time at the end of a step h, s."""
        return self.t + h

    # Shared by methods

    def _norm(self, error_q: Floats, error_v: Floats, q: Floats, v: Floats) -> float:
        """The larger of the norms of errors of q and of v at a state."""
        return float(max(error_norm(*self.scale_q, error_q, q), error_norm(*self.scale_v, error_v, v)))

    def _next_length(self, h: float, factor: float, cut: bool, worthwhile: float = WORTHWHILE) -> float:
        """``factor`` times h as in the kernel, at most h after rejections."""
        if self._rejections:
            factor = min(1.0, factor)
        return float(next_length(h, self.h, factor, cut, worthwhile))

"""Crossing of singular configurations, in which rows of a closed loop are dependent for an instant."""

from collections import deque
from typing import TypeGuard

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import NO_STAGES
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm
from femb.run.events import RunSummary as RunSummary
from femb.steppers.contract import AcceptedStep, F, PassedSteps, Stepper, left_limit
from femb.steppers.dense import HermiteStep
from femb.system.constraints import mass_factors
from femb.system.system import System

# The pivot of such a row falls to zero like the square of an angle s between it and the others; forces of constraints
# grow like 1/s and change their sign, though the motion is smooth. Near the singularity accelerations are inaccurate
# and error control shrinks the step. The time loop therefore ends a step at a sufficiently large s, and crosses to the
# same distance on the other side by one step of the implicit Adams formula
#
#     y1 = y0 + sum_j w_j y'_j,        t_j = t0 - j h (j = 0 .. 5) and t1 = t0 + h
#
# with accelerations at its end and at past instants only, solved by fixed-point iteration with a projection on the
# constraints at its end. The error estimate is the difference from the formula without the oldest instant.
#
# docs/theory/constraints.md, section 6; E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations
# I, section III.1 (Adams formulas).

# The angle s at which a crossing begins, and the least angle at which one is tried.
BEGIN, LEAST = 0.02, 1e-3
# A step towards a singularity leaves at least the part LEFT of the time to it; NEAR : that time, in steps, from which
# on singularities are considered.
LEFT, NEAR = 0.3, 8.0
# That number of steps from which on a loop of steps need not stop to look.
FAR = 6.0
# Number of past instants in the formula.
PAST = 6
# Iterations; changes, relative to the tolerance, that end the iteration, and that count as converged.
ITERATIONS, ROUNDING, SOLVED = 12, 1e-8, 1e-2


class SingularityCrossing:
    """Steps of a stepper, with crossings of singularities, for systems with closed loops.

    warning : empty until the first crossing, then its time and the joint whose rows became dependent. is_far : whether
    there is none within ``FAR`` steps.
    """

    def __init__(self, stepper: Stepper[System]) -> None:
        self._stepper = stepper
        self._scales = stepper.form.error_scale(stepper.run.rtol, stepper.run.atol)
        self._steps: deque[AcceptedStep] = deque(maxlen=3 * PAST)
        self._last_angles: tuple[float, Floats] | None = None
        self._begin, self._worst, self._row = BEGIN, np.inf, -1
        self.warning = ""
        self.is_far = True

    @classmethod
    def of(cls, stepper: Stepper[F]) -> "SingularityCrossing | None":
        """The crossings of a stepper of a System with closed loops; None for others, without such singularities."""
        return cls(stepper) if stepper.form.layout.has_loops and _of_system(stepper) else None

    def reset(self) -> None:
        """Restart after a discontinuity of the motion."""
        self._steps.clear()
        self._last_angles = None

    def pass_over(self, steps: PassedSteps) -> None:
        """Steps were made without crossings."""
        self.reset()
        self._begin, self._worst, self.is_far = BEGIN, np.inf, not steps.is_near

    def step(self, limit: float) -> AcceptedStep:
        """A step of the stepper to ``limit`` at most, or a crossing. Raises SolveError as the stepper does.

        Rows that are dependent at the start are left out throughout the step.
        """
        stepper = self._stepper
        time_left, angle = self._time_left()
        if self._last_angles is not None and np.any(self._last_angles[1] == 0.0):
            stepper.form = stepper.form.without_rows(self._last_angles[1] == 0.0)
        while stepper.t + 1.2 * time_left < limit and self._begin >= LEAST:
            begin = min(1.0, self._begin / angle) * time_left
            if time_left > 1.2 * begin:
                limit = min(limit, stepper.t + time_left - max(begin, LEFT * time_left))
                break
            step = self._cross(min(limit, stepper.t + 2.0 * time_left))
            if step is not None:
                return step
        step = stepper.step(limit)
        self._steps.append(step)
        return step

    def _time_left(self) -> tuple[float, float]:
        """Time (s) to the singularity that the motion approaches, infinity if there is none near, and the angle s."""
        stepper, system = self._stepper, self._stepper.form
        try:
            now = (stepper.t, _angles(system, stepper.t, stepper.q, stepper.v))
            previous, self._last_angles, self.is_far = self._last_angles, now, False
            if previous is None or not self._steps or self._steps[-1].end != now[0]:
                return np.inf, 0.0
            last = self._steps[-1]
            h = last.end - last.start
            times = _times_to_zero(previous, now)
            self.is_far = not np.any(times <= FAR * h)
            if not np.any(times <= NEAR * h):
                self._begin, self._worst = BEGIN, np.inf
                return np.inf, 0.0
            t = now[0] - 0.1 * h
            q, v, _ = last(np.array([t]))
            times = _times_to_zero((t, _angles(system, t, q[0], v[0])), now)
        except TrialError:
            return np.inf, 0.0
        self._row = int(np.argmin(times))
        return float(times[self._row]), float(now[1][self._row])

    # The crossing

    def _cross(self, end: float) -> AcceptedStep | None:
        """The step across, after which the stepper restarts; None where its error would exceed the tolerance."""
        stepper = self._stepper
        system, t0 = stepper.form, stepper.t
        h = end - t0
        past = self._past(h)
        if past is None:
            self._begin *= 0.5
            return None
        ages, y, rates, a0 = past
        n_q, in_v, in_work = system.n_q, self._in_v, self._in_work
        full, less = (_weights(np.append(h, -past), h) for past in (ages, ages[:-1]))
        change = np.inf
        try:
            now, rate, a = self._on_constraints(system, end, t0, y + rates.T @ _weights(-ages, h))
            for _ in range(ITERATIONS):
                last, previous = now, change
                now, rate, a = self._on_constraints(system, end, t0, y + full[0] * rate + rates.T @ full[1:])
                change = self._norm(now - last, now, n_q)
                if change <= ROUNDING or change > 0.5 * previous:
                    break
            system.check_singularities(t0, np.stack([y[:n_q], now[:n_q]]), np.stack([y[in_v], now[in_v]]))
        except TrialError:
            self._begin *= 0.5
            return None
        error = max(change / SOLVED, self._norm(y + less[0] * rate + rates[:-1].T @ less[1:] - now, now, n_q))
        if not error <= 1.0 and not error > 0.5 * self._worst:
            # the error falls with the distance, unless it is rounding
            self._begin, self._worst = 0.5 * self._begin, error
            return None
        q0, v0 = y[:n_q], y[in_v]
        q, v = now[:n_q].copy(), now[in_v].copy()
        self._warn(system, t0 + 0.5 * h)
        stepper.statistics.steps += 1
        stepper.jump(end, q, v, now[in_work].copy())
        self.reset()
        at_start, at_end = (q0, v0, a0, y[in_work], rates[0, in_work]), (q, v, a, now[in_work], rate[in_work])
        return HermiteStep(system, t0, end, at_start, at_end)

    def _past(self, h: float) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Ages (s) of past instants, the present state y = (q, v, budget), the rates of y at all instants, and the
        present accelerations; None where the past is too short."""
        stepper, system, t0 = self._stepper, self._stepper.form, self._stepper.t
        d = float(min(h, (t0 - self._steps[0].start) / (PAST - 1)))
        if d < 0.3 * h:
            return None
        ages = d * np.arange(PAST, dtype=np.float64)
        y = np.concatenate([stepper.q, stepper.v, stepper.work])
        _, first, a0 = self._on_constraints(system, t0, t0, y)
        rates = [first]
        for age in ages[1:]:
            step = next(step for step in self._steps if step.end >= t0 - age)
            q, v, work = step(np.array([t0 - age]))
            rates.append(self._on_constraints(system, t0 - age, t0, np.concatenate([q[0], v[0], work[0]]))[1])
        return ages, y, np.array(rates), a0

    def _on_constraints(self, system: System, t: float, start: float, y: Floats) -> tuple[Floats, Floats, Floats]:
        """y projected on the constraints, its rate, and the accelerations; inputs from the left."""
        n_q = system.n_q
        q, v = y[:n_q].copy(), y[self._in_v]
        system.normalise(q)
        u = system.inputs_at(left_limit(t, start) if t > start else t, q, v)
        # once more than until the gaps are closed, since what remains of them is amplified by 1/s
        found = None if system.rigid is None else system.rigid.projected(system, q, v, again=1)
        q, v = self._projected_again(system, u, q, v) if found is None else found
        y = np.concatenate([q, v, y[self._in_work]])
        rate = np.zeros_like(y)
        if system.has_stages:
            system.stages(NO_STAGES, 0, 1, 0.0, y, rate[None])
        else:
            rate[:n_q] = system.rates(q[None], v[None])[0]
            rate[self._in_v], multipliers = system.forward(u, q, v)
            rate[self._in_work] = system.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
        return y, rate, rate[self._in_v]

    @staticmethod
    def _projected_again(system: System, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,) and v (n_v,) on the constraints, with a correction more."""
        q, v = system.projected(u, q, v)
        factors, x = mass_factors(system, u, q), np.zeros(system.n_v + system.n_c)
        x[system.n_v :] = -system.position_residual(u, q, v)
        q = system.retract(q, factors.solve(x)[: system.n_v])
        x[: system.n_v], x[system.n_v :] = 0.0, -system.velocity_residual(u, q, v)
        return q, v + factors.solve(x)[: system.n_v]

    @property
    def _in_v(self) -> slice:
        system = self._stepper.form
        return slice(system.n_q, system.n_q + system.n_v)

    @property
    def _in_work(self) -> slice:
        return slice(self._in_v.stop, None)

    def _norm(self, error: Floats, y: Floats, n_q: int) -> float:
        of_q = error_norm(*self._scales[0], error[:n_q], y[:n_q])
        return float(max(of_q, error_norm(*self._scales[1], error[self._in_v], y[self._in_v])))

    def _warn(self, system: System, t: float) -> None:
        if not self.warning:
            layout = system.layout
            label = layout.row_labels[int(np.flatnonzero(layout.row_c == self._row)[0])]
            item, _, what = label.partition(": ")
            self.warning = (
                f"at t = {t:.6g} s the mechanism passed a singular posture, where {item} ({what}) depends on the other "
                "constraints; it went on along its branch"
            )


def _of_system(stepper: Stepper[F]) -> TypeGuard[Stepper[System]]:
    return isinstance(stepper.form, System)


def _angles(system: System, t: float, q: Floats, v: Floats) -> Floats:
    """The angles s (n_c,) of all rows at a state; zero for dependent rows."""
    if system.rigid is not None:
        return system.rigid.angles(system, q, v)
    return np.sqrt(mass_factors(system, system.inputs_at(t, q, v), q).pivot_ratios())


def _times_to_zero(earlier: tuple[float, Floats], now: tuple[float, Floats]) -> Floats:
    """Times (s) from ``now`` to the zeros of the lines through two (time, values); infinity if they do not fall."""
    fall = (earlier[1] - now[1]) / (now[0] - earlier[0])
    falls = (fall > 0.0) & (now[1] > 0.0)
    return np.where(falls, now[1] / np.where(falls, fall, 1.0), np.inf)


def _weights(instants: Floats, h: float) -> Floats:
    """Weights of the rates at some instants (s) that integrate the polynomial through them from 0 to h."""
    powers = np.arange(len(instants))
    return h * np.linalg.solve((instants / h) ** powers[:, None], 1.0 / (powers + 1.0))

"""Gauss-Legendre steps of fixed length, orders 4 and 6: symplectic where the coordinates are canonical.

The collocation itself is ``femb.steppers.gauss``; this is its stepper. Accelerations come from the
equations with the constraints on accelerations (index 1), and the state is projected on the constraints after each
step, as in ``femb.steppers.runge_kutta``. Source: docs/theory/integration.md, section 7.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, WithStiffJacobian
from femb.layout.element import TrialError
from femb.numerics.compiler.compile import kernel
from femb.numerics.tableaux import GAUSS
from femb.steppers.contract import AcceptedStep, Statistics, check_fixed_step, lands, left_limit
from femb.steppers.dense import End, HermiteStep

# Gauss-Legendre collocation, orders 4 and 6, on a first-order system y' = f(t, y): the core of femb.steppers.gauss.
#
# Symplectic and symmetric: quadratic invariants are conserved to rounding, and the energy error of a conservative
# system stays bounded, as long as the step is fixed and resolves the fastest motion. Stage equations are solved until
# their iteration stagnates at rounding, and sums are compensated: their errors would accumulate in long runs. Sources:
# E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, Springer 2006, sections II.1.3, VIII.5 and VIII.6.

MAX_ITERATIONS = 60
# Changes are relative to the largest value so far of each component, and at least to this fraction of the largest
# component: a component that is pure rounding never converges relative to itself.
FLOOR = 1e-4
# Changes below the first may be rounding; so may those below the second that do not decrease over several iterations
# (stiff forces). Above the last the iteration has diverged.
ROUNDING, NOISE, DIVERGED = 1e-11, 1e-8, 1e9
EPSILON = float(np.finfo(float).eps)


class Collocation:
    """Steps of y' = rates(t, y) from y0 (n,).

    rates : (s,) times and (s, n) states to (s, n). step : s. stages : 2 (order 4) or 3 (order 6). jacobian : (t, y) to
    df/dy (n, n); with it the stages are solved by simplified Newton iteration (stiff systems), without it by
    fixed-point iteration, which needs the step times the largest eigenvalue of df/dy to be below about two. ``step()``
    raises SolveError where the iteration does not converge.
    """

    def __init__(
        self,
        rates: Callable[[Any, Floats], Floats],
        y0: Floats,
        step: float,
        stages: int = 2,
        jacobian: Callable[[float, Floats], Floats] | None = None,
    ) -> None:
        if stages not in GAUSS:
            raise SolveError(f"stages: got {stages!r}, wanted 2 (order 4) or 3 (order 6)")
        if not (math.isfinite(step) and step > 0.0):
            raise SolveError(f"step: got {step!r} s, must be greater than 0")
        self.rates, self.jacobian = rates, jacobian
        self.c, self.b, self._A = GAUSS[stages]
        self.order, self.h = 2 * stages, float(step)
        self.statistics = Statistics()
        self.begin(0.0, y0)
        self.resize(step)

    memory: ClassVar[tuple[str, ...]] = ("_from", "_count", "h", "y", "_carry", "_size", "_F", "_h_of_F", "statistics")

    def recalled(self) -> None:
        """Set what depends on the step length, which `resize` would count steps from."""
        self._ahead = _extrapolation(self.c, 1.0 if self._F is None else self.h / self._h_of_F)
        self._hA, self._hb = self.h * self._A, self.h * self.b

    def begin(self, t: float, y: Floats) -> None:
        """Restart from a state (n,), without history."""
        self.t, self.y = t, np.array(y, dtype=float)
        self._carry, self._size = np.zeros_like(self.y), np.abs(self.y)
        self._F: Floats | None = None
        self._h_of_F = 0.0

    def resize(self, step: float) -> None:
        """Set the step length, s."""
        self.t = self.t  # counts steps of the new length from here
        self._ahead = _extrapolation(self.c, 1.0 if self._F is None else step / self._h_of_F)
        self.h = float(step)
        self._hA, self._hb = self.h * self._A, self.h * self.b

    @property
    def t(self) -> float:
        """Time, s: the value last set plus a multiple of the step, so that rounding does not accumulate."""
        return self._from + self._count * self.h

    @t.setter
    def t(self, value: float) -> None:
        self._from, self._count = float(value), 0

    def step(self) -> Floats:
        """One step; returns the state at its end, (n,)."""
        self.accept(self.stages()[2])
        return self.y.copy()

    def stages(self) -> tuple[Floats, Floats, Floats]:
        """Instants (s,), states and their rates (s, n) at the nodes of the next step, which is not yet taken."""
        instants = self.t + self.h * self.c
        if self._F is None:
            F = np.repeat(self._evaluate([self.t], self.y[None]), len(self.c), 0)
        else:
            F = self._ahead @ self._F
        Y = np.empty_like(F)
        advance(self._hA, F, self.y, self._carry, self._size, Y)
        F = self._newton(instants, Y) if self.jacobian else self._fixed_point(instants, Y)
        return instants, Y, F

    def accept(self, F: Floats) -> None:
        """Take the step with these rates at its nodes."""
        accept(self._hb, F, self.y, self._carry, self._size)
        if self._h_of_F != self.h:
            self._ahead, self._h_of_F = _extrapolation(self.c, 1.0), self.h
        self._F = F
        self._count += 1
        self.statistics.steps += 1

    def run(self, steps: int, every: int = 1) -> tuple[Floats, Floats]:
        """Take ``steps`` steps; (times, states) at the start and after every ``every``-th of them."""
        times, states = [self.t], [self.y.copy()]
        for k in range(1, steps + 1):
            self.step()
            if k % every == 0:
                times.append(self.t)
                states.append(self.y.copy())
        return np.array(times), np.array(states)

    def _evaluate(self, t: Any, Y: Floats) -> Floats:
        self.statistics.evaluations += len(Y)
        return self.rates(t, Y)

    def _fixed_point(self, instants: Floats, Y: Floats) -> Floats:
        changes = [math.inf]
        for _ in range(MAX_ITERATIONS):
            F = self._evaluate(instants, Y)
            change = advance(self._hA, F, self.y, self._carry, self._size, Y)
            if not change < DIVERGED:
                break
            changes.append(change)
            if _settled(changes):
                return F
        raise self._failure(changes[-1])

    def _newton(self, instants: Floats, Y: Floats) -> Floats:
        assert self.jacobian is not None
        n, changes = self.y.size, [math.inf]
        J = self.jacobian(self.t, self.y)
        self.statistics.jacobians += 1
        self.statistics.factorizations += 1
        factors = lu_factor(np.eye(Y.size) - np.kron(self._hA, J))
        target = np.empty_like(Y)
        for _ in range(MAX_ITERATIONS):
            F = self._evaluate(instants, Y)
            self.statistics.newton_iterations += 1
            advance(self._hA, F, self.y, self._carry, self._size, target)
            correction = lu_solve(factors, (target - Y).ravel()).reshape(-1, n)
            if not np.all(np.isfinite(correction)):
                break
            Y += correction
            size = np.maximum(self._size, np.abs(Y).max(axis=0))
            changes.append(float(np.max(np.abs(correction) / np.maximum(size, max(FLOOR * size.max(), 1e-300)))))
            if _settled(changes):
                return F
        raise self._failure(changes[-1])

    def _failure(self, change: float) -> SolveError:
        return SolveError(
            f"the stages of the Gauss step of {self.h:.6g} s at t = {self.t:.6g} s did not settle (last relative change"
            f" {change:.2g}): the step is too long for the fastest motion. Try a smaller step; for stiff members a "
            'jacobian of the rates, or another method such as "radau"'
        )


def _settled(changes: list[float]) -> bool:
    """Whether the changes of an iteration, in order, have decreased to rounding."""
    change, last = changes[-1], changes[-2]
    if change <= EPSILON or (change >= last and change <= ROUNDING):
        return True
    if len(changes) < 7:
        return False
    # neither decreasing nor growing: fluctuations by rounding
    best, previous, latest = min(changes[:-3]), max(changes[-6:-3]), changes[-3:]
    return max(latest) <= min(NOISE, 2.0 * previous) and min(latest) > 0.5 * best


def _extrapolation(c: Floats, ratio: float) -> Floats:
    """Weights (s, s) that extrapolate rates at the nodes of a step to those of the next, ``ratio`` times as long."""
    powers = np.arange(len(c))
    return (1.0 + ratio * c)[:, None] ** powers @ np.linalg.inv(c[:, None] ** powers)


@kernel
def advance(hA, F, y, carry, size, Y):
    """Y (s, n) = y + hA F, in place; returns its largest change relative to the sizes of components so far."""
    floor, worst = 0.0, 0.0
    for k in range(y.size):
        floor = max(floor, FLOOR * size[k])
    for i in range(Y.shape[0]):
        for k in range(y.size):
            total = carry[k]
            for j in range(F.shape[0]):
                total += hA[i, j] * F[j, k]
            new = y[k] + total
            if not math.isfinite(new):
                return math.inf
            change = abs(new - Y[i, k])
            if change != 0.0:
                change /= max(size[k], floor, abs(new))
            worst = max(worst, change)
            Y[i, k] = new
    return worst


@kernel
def accept(hb, F, y, carry, size):
    """y += hb F with the rounding error of the sum carried to the next step."""
    for k in range(y.size):
        total = carry[k]
        for j in range(F.shape[0]):
            total += hb[j] * F[j, k]
        new = y[k] + total
        carry[k] = total - (new - y[k])
        y[k] = new
        size[k] = max(size[k], abs(new))


class Gauss:
    """Steps of the length ``run.step``, shorter only to end at a limit; ``run.order`` 4 or 6.

    Stages are solved by fixed-point iteration, for which the step must resolve the fastest motion; after the first
    failure, if the formulation is one ``WithStiffJacobian``, by simplified Newton iteration.
    """

    error_v: Floats | None = None
    memory: ClassVar[tuple[str, ...]] = ("t", "work", "core", "iterates_by_newton")

    def __init__(self, form: Formulation, run: Run) -> None:
        self.form, self.run, self.order = form, run, run.order
        self.n_q, self.t, self.work = form.n_q, 0.0, form.system.budget.none()
        y = np.concatenate([form.q0, form.v0])
        self.core = Collocation(self._rates, y, float(run.step or run.duration), stages=run.order // 2)
        self.statistics = self.core.statistics

    @property
    def q(self) -> Floats:
        """Coordinates (n_q,)."""
        return self.core.y[: self.n_q]

    @property
    def v(self) -> Floats:
        """Velocities, or momenta of a Hamiltonian formulation (n_v,)."""
        return self.core.y[self.n_q :]

    @property
    def iterates_by_newton(self) -> bool:
        """Whether stages are solved by Newton's iteration, after a failure of the fixed-point iteration."""
        return self.core.jacobian is not None

    @iterates_by_newton.setter
    def iterates_by_newton(self, value: bool) -> None:
        self.core.jacobian = self._stiff_jacobian if value else None

    def restart(self) -> None:
        """Discard the rates that stages are extrapolated from: inputs may jump here."""
        self.core.begin(self.t, self.core.y)

    def resume(self) -> None:
        """Restart: there is nothing to keep."""
        self.restart()

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from a state within the last step."""
        self.t, self.work = t, work
        self.core.begin(t, np.concatenate([q, v]))

    def rate(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """y' and the rates (n_w,) of the budget at one state."""
        form, q, v = self.form, y[: self.n_q], y[self.n_q :]
        u = form.inputs_at(t, q, v)
        a, multipliers = form.forward(u, q, v)
        power = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
        return np.concatenate([form.rates(q[None], v[None])[0], a]), power

    def _rates(self, t: Sequence[float] | Floats, Y: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):  # stages that diverge end the iteration
            rates, powers = zip(*(self.rate(float(instant), y) for instant, y in zip(t, Y, strict=True)), strict=True)
        self._powers = np.array(powers)
        return np.array(rates)

    def step(self, limit: float) -> AcceptedStep:
        """One step; raises SolveError where the iteration of its stages does not converge."""
        core, start, length = self.core, self.t, float(self.run.step or self.run.duration)
        remaining = limit - start
        landing = lands(length, remaining)
        h = remaining if landing else length
        check_fixed_step(self, h)
        if h != core.h:
            core.resize(h)
        y0 = core.y.copy()
        try:
            _, Y, F = self._settled()
            if not np.all(np.isfinite(F)):
                raise TrialError("the state is not finite")
            if self.form.singular_batches:
                states = np.vstack([y0, Y])
                q, v = np.ascontiguousarray(states[:, : self.n_q]), np.ascontiguousarray(states[:, self.n_q :])
                self.form.check_singularities(start, q, v, True)
            core.accept(F)
            end = limit if landing else core.t
            self._project(left_limit(end, start))
        except TrialError as problem:
            raise SolveError(
                f"gauss stopped at t = {start:.6g} s with step {h:.6g} s ({problem}); try a smaller step"
            ) from problem
        if landing:
            core.t = limit
        work, self.work = self.work, self.work + h * (core.b @ self._powers)
        self.t = end
        return _GaussStep(self, self.form, start, end, (y0, work), (core.y.copy(), self.work), self._powers)

    def _settled(self) -> tuple[Floats, Floats, Floats]:
        core = self.core
        try:
            return core.stages()
        except SolveError as problem:
            form = self.form
            if isinstance(problem, TrialError) or core.jacobian is not None or not isinstance(form, WithStiffJacobian):
                raise
            self.iterates_by_newton = True
        return core.stages()

    def _stiff_jacobian(self, t: float, y: Floats) -> Floats:
        assert isinstance(self.form, WithStiffJacobian)
        return self.form.stiff_jacobian(t, y[: self.n_q], y[self.n_q :])

    def _project(self, t: float) -> None:
        """Unit quaternions, and the state on the constraints, in place."""
        form, y = self.form, self.core.y
        form.normalise(y[: self.n_q])
        if form.n_c:
            u = form.inputs_at(t, y[: self.n_q], y[self.n_q :])
            y[: self.n_q], y[self.n_q :] = form.projected(u, y[: self.n_q], y[self.n_q :])


@dataclass(eq=False)
class _GaussStep:
    """A step; its interpolant needs the rates at both ends (y, work), which are evaluated on first use."""

    stepper: Gauss
    form: Formulation
    start: float
    end: float
    first: tuple[Floats, Floats]
    last: tuple[Floats, Floats]
    powers: Floats

    def _state(self, t: float, y: Floats, work: Floats) -> End:
        n_q = self.stepper.n_q
        rate, power = self.stepper.rate(t, y)
        self.stepper.statistics.evaluations += 1
        return y[:n_q], y[n_q:], rate[n_q:], work, power

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        return self._interpolant(times)

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return self._interpolant.accelerations(times)

    @cached_property
    def _interpolant(self) -> HermiteStep:
        first = self._state(self.start, *self.first)
        last = self._state(left_limit(self.end, self.start), *self.last)
        stages = self.stepper.core.c, self.powers
        return HermiteStep(self.form, self.start, self.end, first, last, stages)

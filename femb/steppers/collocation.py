"""Gauss-Legendre collocation, orders 4 and 6, on a first-order system y' = f(t, y): the core of femb.steppers.gauss.

Symplectic and symmetric: quadratic invariants are conserved to rounding, and the energy error of a conservative system
stays bounded, as long as the step is fixed and resolves the fastest motion. Stage equations are solved until their
iteration stagnates at rounding, and sums are compensated: their errors would accumulate in long runs. Sources:
E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, Springer 2006, sections II.1.3, VIII.5 and VIII.6.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.numerics.compile import kernel
from femb.numerics.tableaux import GAUSS
from femb.steppers.contract import Statistics

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

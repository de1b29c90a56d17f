"""Gauss-Legendre collocation with a fixed step, orders 4 and 6, on a first-order system y' = f(t, y).

Symplectic and symmetric: quadratic invariants are kept to rounding, and the energy error of a conservative system stays
bounded, as long as the step is fixed and resolves the fastest motion. Stage equations are solved until their iteration
stagnates at rounding, and sums are compensated, as an error left in them would act as a drift over long runs. Sources:
E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, Springer 2006, sections II.1.3, VIII.5 and VIII.6.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from femb.errors import SolveError
from femb.jit import kernel
from femb.steppers.contract import Statistics
from femb.types import Floats

_R3, _R15 = math.sqrt(3.0), math.sqrt(15.0)
# Nodes c, weights b and matrix A by number of stages.
TABLEAUX = {
    2: (
        np.array([0.5 - _R3 / 6.0, 0.5 + _R3 / 6.0]),
        np.array([0.5, 0.5]),
        np.array([[0.25, 0.25 - _R3 / 6.0], [0.25 + _R3 / 6.0, 0.25]]),
    ),
    3: (
        np.array([0.5 - _R15 / 10.0, 0.5, 0.5 + _R15 / 10.0]),
        np.array([5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0]),
        np.array(
            [
                [5.0 / 36.0, 2.0 / 9.0 - _R15 / 15.0, 5.0 / 36.0 - _R15 / 30.0],
                [5.0 / 36.0 + _R15 / 24.0, 2.0 / 9.0, 5.0 / 36.0 - _R15 / 24.0],
                [5.0 / 36.0 + _R15 / 30.0, 2.0 / 9.0 + _R15 / 15.0, 5.0 / 36.0],
            ]
        ),
    ),
}
MAX_ITERATIONS = 60
# Changes are measured against the largest value of each component so far, and at least by this part of the largest
# component: one that is nothing but rounding never settles in proportion to itself.
FLOOR = 1e-4
# Changes below this may be rounding; a stage changed by more than the other is lost.
ROUNDING, DIVERGED = 1e-11, 1e9
EPSILON = float(np.finfo(float).eps)


class Gauss:
    """Steps of y' = rates(t, y) from y0 (n,) at t0.

    rates : (s,) times and (s, n) states to (s, n). step : s. stages : 2 (order 4) or 3 (order 6). jacobian : (t, y) to
    df/dy (n, n); with it the stages are solved by simplified Newton iteration (stiff systems), without it by
    fixed-point iteration, which needs the step times the largest eigenvalue of df/dy to be below about two. ``step()``
    raises SolveError where the stages have no solution near by.
    """

    def __init__(
        self,
        rates: Callable[[Any, Floats], Floats],
        y0: Floats,
        step: float,
        stages: int = 2,
        t0: float = 0.0,
        jacobian: Callable[[float, Floats], Floats] | None = None,
    ) -> None:
        if stages not in TABLEAUX:
            raise SolveError(f"stages: got {stages!r}, wanted 2 (order 4) or 3 (order 6)")
        if not (math.isfinite(step) and step > 0.0):
            raise SolveError(f"step: got {step!r} s, must be greater than 0")
        self.rates, self.jacobian, self.h = rates, jacobian, float(step)
        self.c, self.b, A = TABLEAUX[stages]
        self.order = 2 * stages
        self._hA, self._hb = self.h * A, self.h * self.b
        self._ahead = _extrapolation(self.c)
        self.t0, self.y = float(t0), np.array(y0, dtype=float)
        self.statistics = Statistics()
        self._carry, self._size = np.zeros_like(self.y), np.abs(self.y)
        self._F: Floats | None = None

    @property
    def t(self) -> float:
        """Time, s; a multiple of the step, so that it gathers no rounding."""
        return self.t0 + self.statistics.steps * self.h

    def step(self) -> Floats:
        """One step; returns the state at its end, (n,)."""
        instants = self.t + self.h * self.c
        if self._F is None:
            self._F = np.repeat(self._evaluate([self.t], self.y[None]), len(self.c), 0)
            F = self._F
        else:
            F = self._ahead @ self._F
        Y = np.empty_like(F)
        advance(self._hA, F, self.y, self._carry, self._size, Y)
        F = self._newton(instants, Y) if self.jacobian else self._fixed_point(instants, Y)
        accept(self._hb, F, self.y, self._carry, self._size)
        self._F = F
        self.statistics.steps += 1
        return self.y.copy()

    def run(self, steps: int, every: int = 1) -> tuple[Floats, Floats]:
        """(times, states) at the start and after each ``every`` of so many steps."""
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
        last = math.inf
        for _ in range(MAX_ITERATIONS):
            F = self._evaluate(instants, Y)
            change = advance(self._hA, F, self.y, self._carry, self._size, Y)
            if not change < DIVERGED:
                break
            if self._settled(change, last):
                return F
            last = change
        raise self._failure(last)

    def _newton(self, instants: Floats, Y: Floats) -> Floats:
        assert self.jacobian is not None
        n, last = self.y.size, math.inf
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
            change = float(np.max(np.abs(correction) / np.maximum(size, max(FLOOR * size.max(), 1e-300))))
            if self._settled(change, last):
                return F
            last = change
        raise self._failure(last)

    @staticmethod
    def _settled(change: float, last: float) -> bool:
        return change <= EPSILON or (change >= last and change <= ROUNDING)

    def _failure(self, change: float) -> SolveError:
        return SolveError(
            f"the stages of the Gauss step of {self.h:.6g} s at t = {self.t:.6g} s did not settle (last relative change"
            f" {change:.2g}): the step is too long for the fastest motion. Try a smaller step, or give a jacobian for "
            "stiff springs"
        )


def _extrapolation(c: Floats) -> Floats:
    """(s, s): rates at the nodes of the next step from those of this one, by the polynomial through them."""
    powers = np.arange(len(c))
    return (1.0 + c)[:, None] ** powers @ np.linalg.inv(c[:, None] ** powers)


@kernel
def advance(hA, F, y, carry, size, Y):  # type: ignore[no-untyped-def]
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
def accept(hb, F, y, carry, size):  # type: ignore[no-untyped-def]
    """y += hb F with the rounding error of the sum carried to the next step."""
    for k in range(y.size):
        total = carry[k]
        for j in range(F.shape[0]):
            total += hb[j] * F[j, k]
        new = y[k] + total
        carry[k] = total - (new - y[k])
        y[k] = new
        size[k] = max(size[k], abs(new))

"""Optimisation of many variables by moving asymptotes, with constraints, as a method of ``scipy.optimize.minimize``.

Of f_0 the least is sought with f_i <= 0, i > 0. About each design all f are taken as convex sums, with asymptotes L < x
< U that come nearer where a variable oscillates:

    f_i ~ r_i + sum_j p_ij/(U_j - x_j) + q_ij/(x_j - L_j)

whose optimum follows from a dual problem of as many unknowns as constraints. Where an f lies above its sum at the new
design, its sum gets more curvature and the step is repeated. Source: K. Svanberg, SIAM J. Optim. 12 (2002) 555.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats

# Of the range of a variable: the first distance of asymptotes, its least and largest, and the largest step.
FIRST, LEAST, LARGEST, STEP = 0.5, 1e-4, 10.0, 0.5
# Factors of the distance of asymptotes where a variable oscillates, and where it goes on.
NEARER, FARTHER = 0.7, 1.2
# Part of the way to an asymptote that a variable may go.
WAY = 0.9
# Cost of a constraint that is not kept, by the largest gradient; repetitions of a step.
COST, REPEATED = 1e3, 8


@dataclass(frozen=True)
class _Sums:
    """Convex sums of n functions of k variables: p, q (n, k) about x (k,) with the values f (n,) there; the curvature
    ``bent`` (n,) adds to them."""

    x: Floats
    f: Floats
    low: Floats
    high: Floats
    least: Floats
    largest: Floats
    p: Floats
    q: Floats

    @classmethod
    def of(
        cls, x: Floats, f: Floats, slopes: Floats, distance: Floats, bent: Floats, ends: tuple[Floats, Floats]
    ) -> "_Sums":
        """About x, with asymptotes at a distance (k,); slopes (n, k); ends (k,) : of the variables."""
        low, high = x - distance, x + distance
        up, down = np.maximum(slopes, 0.0), np.maximum(-slopes, 0.0)
        more = bent[:, None] + 1e-3 * (up + down)
        least = np.maximum.reduce([ends[0], x - WAY * distance, x - STEP])
        largest = np.minimum.reduce([ends[1], x + WAY * distance, x + STEP])
        return cls(x, f, low, high, least, largest, (up + more) * distance**2, (down + more) * distance**2)

    def at(self, x: Floats) -> Floats:
        """(n,) the sums."""
        ahead, behind = self.high - x, x - self.low
        here = self.high - self.x, self.x - self.low
        return np.asarray(
            self.f + np.sum(self.p * (1.0 / ahead - 1.0 / here[0]) + self.q * (1.0 / behind - 1.0 / here[1]), axis=1)
        )

    def optimum(self, cost: float) -> Floats:
        """x (k,) of the least first sum where the others are not positive, or are so at ``cost``."""
        from scipy.optimize import minimize

        def best(multipliers: Floats) -> Floats:
            weights = np.append(1.0, multipliers)
            p, q = np.sqrt(weights @ self.p), np.sqrt(weights @ self.q)
            return np.asarray(np.clip((p * self.low + q * self.high) / (p + q), self.least, self.largest))

        def dual(multipliers: Floats) -> tuple[float, Floats]:
            f, beyond = self.at(best(multipliers)), np.maximum(multipliers - cost, 0.0)
            value = f[0] + multipliers @ f[1:] - 0.5 * beyond @ beyond
            return -float(value), beyond - f[1:]

        count = len(self.f) - 1
        if not count:
            return best(np.zeros(0))
        found = minimize(
            dual, np.ones(count), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * count,
            options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 500, "maxfun": 2000},
        )  # fmt: skip
        return best(found.x)


def moving_asymptotes(
    fun: Callable[[Floats], float],
    x0: Floats,
    *,
    jac: Callable[[Floats], Floats],
    bounds: Any,
    constraints: Any = (),
    callback: Callable[[Floats], object] | None = None,
    tolerance: float = 1e-8,
    maxiter: int = 1000,
    **_words: object,
) -> Any:
    """The least ``fun`` of variables within bounds in 0 to 1 with constraint["fun"] >= 0, of one with "jac" or none.

    Ends where neither variables nor fun change by more than the tolerance. Returns an OptimizeResult.
    """
    from scipy.optimize import OptimizeResult

    def values(x: Floats) -> Floats:
        return np.append(fun(x), -constraints["fun"](x)) if constraints else np.array([fun(x)])

    def gradients(x: Floats) -> Floats:
        return np.vstack([jac(x), -constraints["jac"](x)]) if constraints else jac(x)[None]

    x = np.clip(np.asarray(x0, dtype=float), bounds.lb, bounds.ub)
    f, distance, before = values(x), np.full(len(x), FIRST), [x, x]
    for _iteration in range(maxiter):
        slopes = gradients(x)
        signs = (x - before[-1]) * (before[-1] - before[-2])
        distance = np.clip(distance * np.select([signs < 0.0, signs > 0.0], [NEARER, FARTHER], 1.0), LEAST, LARGEST)
        bent = np.maximum(0.1 * np.mean(np.abs(slopes), axis=1), 1e-6)
        for _ in range(REPEATED):
            sums = _Sums.of(x, f, slopes, distance, bent, (bounds.lb, bounds.ub))
            new = sums.optimum(COST * max(1.0, float(np.max(np.abs(slopes[0])))))
            beyond = (found := values(new)) - sums.at(new)
            if np.all(beyond <= 1e-7):
                break
            curved = 2.0 * distance * (new - x) ** 2 / ((sums.high - new) * (new - sums.low))
            more = beyond / max(float(np.sum(curved)), np.finfo(float).tiny)
            bent = np.where(beyond > 0.0, np.minimum(1.1 * (bent + more), 10.0 * bent), bent)
        change, better = float(np.max(np.abs(new - x))), abs(found[0] - f[0])
        before, x, f = [before[-1], x], new, found
        if callback is not None:
            callback(x)
        if change <= tolerance or (better <= tolerance * abs(f[0]) and np.all(f[1:] <= tolerance)):
            break
    return OptimizeResult(x=x, fun=float(f[0]), success=True)

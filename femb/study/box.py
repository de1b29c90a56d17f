"""The largest value of a function over a box: corners, random points, then a local search from the best of them."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from femb.base.types import Floats

# Parameters of which all corners are visited; of more, as many corners at random.
ALL_CORNERS = 8
POINTS, BEST = 30, 3
# Of a local search, by the number of parameters.
EVALUATIONS = 60
SEED = 1
# The first step of a local search, from a point of the box inwards.
INWARD = 0.2


def points_of(count: int, seed: int = SEED) -> Floats:
    """(n, count) the middle of the box [-1, 1], its corners and random points; the same for the same seed."""
    rng = np.random.default_rng(seed)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=min(count, ALL_CORNERS))))
    corners = np.hstack([corners, rng.choice([-1.0, 1.0], (len(corners), count - corners.shape[1]))])
    return np.vstack([np.zeros((1, count)), corners, rng.uniform(-1.0, 1.0, (POINTS, count))])


def largest(
    objective: Callable[[Floats], float],
    begun: Floats,
    values: Sequence[float],
    best: int = BEST,
    evaluations: int = EVALUATIONS,
) -> tuple[Floats, float]:
    """Where a function over the box [-1, 1] is largest, and its value, from points (n, k) with known values.

    best : of the points, from which local searches (Nelder and Mead) of so many ``evaluations`` a parameter start.
    """
    from scipy.optimize import minimize

    order = np.argsort(-np.asarray(values), kind="stable")
    found, value = begun[order[0]], float(values[order[0]])
    if not np.isfinite(value) or not begun.shape[1]:
        return found, value
    bounds = [(-1.0, 1.0)] * begun.shape[1]
    for k in order[:best]:
        # scipy's own simplex has no extent at a lower bound
        inward = np.where(begun[k] > 0.0, -INWARD, INWARD)
        simplex = np.vstack([begun[k], begun[k] + np.diag(inward)])
        words = {"maxfev": evaluations * begun.shape[1], "xatol": 1e-9, "fatol": 1e-12 * abs(value)}
        words["initial_simplex"] = simplex
        search = minimize(lambda d: -objective(d), begun[k], method="Nelder-Mead", bounds=bounds, options=words)
        if -search.fun > value:
            found, value = np.asarray(search.x), float(-search.fun)
    return found, value

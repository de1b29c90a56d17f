"""Designs: the values of all variables in every run of a study.

Sources: scipy.stats.qmc for Latin hypercubes and scrambled Sobol sequences; A. Saltelli et al., Variance based
sensitivity analysis of model output, Computer Physics Communications 181 (2010), for the samples of Sobol indices.
"""

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.study.variables import Variable

LISTED = ("grid", "list")
"""Designs of the variables' own values."""
SAMPLED = ("random", "latin-hypercube", "sobol", "saltelli")
"""Designs of a number of samples."""
DESIGNS = (*LISTED, *SAMPLED)
# The smallest probability, since the first point of a Sobol sequence may be zero, where a normal variable is infinite.
EDGE = 2.0**-53


def rows_of(design: str, variables: Sequence[Variable], runs: int | None, seed: int) -> list[tuple[Any, ...]]:
    """The values of all variables, run by run.

    grid : every combination of values, the last variable changing fastest. list : the first values of all, the second,
    and so on. The others sample the unit cube: ``runs`` points; of "saltelli" ``runs`` times (variables + 2), see
    `saltelli`.
    """
    if design == "grid":
        return list(product(*(variable.levels() or [] for variable in variables)))
    if design == "list":
        return list(zip(*(variable.levels() or [] for variable in variables), strict=True))
    points = np.clip(unit_points(design, len(variables), runs or 0, seed), EDGE, 1.0 - EDGE)
    columns = [variable.quantile(u) for variable, u in zip(variables, points.T, strict=True)]
    return list(zip(*columns, strict=True))


def unit_points(design: str, dimensions: int, runs: int, seed: int) -> Floats:
    """(n, dimensions) points of the unit cube."""
    rng = np.random.default_rng(seed)
    if design == "random":
        return rng.random((runs, dimensions))
    from scipy.stats import qmc

    if design == "latin-hypercube":
        return np.asarray(qmc.LatinHypercube(dimensions, seed=rng).random(runs))
    if design == "saltelli":
        return saltelli(_sobol(2 * dimensions, runs, rng))
    return _sobol(dimensions, runs, rng)


def _sobol(dimensions: int, runs: int, rng: np.random.Generator) -> Floats:
    from scipy.stats import qmc

    with warnings.catch_warnings():
        # of numbers that are no powers of two, for which Study warns in its own words
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(qmc.Sobol(dimensions, scramble=True, seed=rng).random(runs))


def saltelli(points: Floats) -> Floats:
    """(n (d + 2), d) points from n points of 2 d dimensions, A and B: A, B, and for every variable A with its column of
    B."""
    dimensions = points.shape[1] // 2
    A, B = points[:, :dimensions], points[:, dimensions:]
    mixed = []
    for k in range(dimensions):
        mixed.append(A.copy())
        mixed[-1][:, k] = B[:, k]
    return np.concatenate([A, B, *mixed])

"""Variables of a study, and the designs that choose their values in every run."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.meanings import Description
from femb.base.options import AUTO
from femb.base.types import POSITIVE, Floats, OneOf, SeveralForms
from femb.base.values import shown
from femb.study.box import points_of

SPACINGS = ("linear", "logarithmic")
Keys = Annotated[Any, SeveralForms((str, list[str]))]


@dataclass(frozen=True, kw_only=True)
class Variable(Description):
    """Base of the kinds of variables."""

    table: ClassVar[str] = "variables"
    kind: ClassVar[str]

    name: str
    key: Keys = None
    """the entry of the case that it sets, as with --set: "sections.boom.youngs_modulus"; or a list of entries that are
    set to the same value. Of a case that is a function, the name of its argument"""
    relative: bool = False
    """whether the values are factors of the number, or the list of numbers, in the case"""

    @property
    def keys(self) -> tuple[str, ...]:
        """The entries that it sets; of a function, by default the argument of its name."""
        if self.key is None:
            return (self.name,)
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            texts = [self.key] if isinstance(self.key, str) else self.key
            if texts is not None and not (texts and isinstance(texts, list | tuple) and all(map(_is_text, texts))):
                check.fail("key", f"got {shown(self.key)}, wanted an entry of the case, or a list of such")
            self.check(check)

    def check(self, check: Checks) -> None:
        """Check the fields of the kind."""

    def levels(self) -> list[Any] | None:
        """Its values in a grid or a list; None of a distribution."""
        return None

    def quantile(self, u: Floats) -> list[Any]:
        """The values below which it lies with the probabilities ``u``, above 0 and below 1."""
        levels = self.levels() or []
        return [levels[min(int(share * len(levels)), len(levels) - 1)] for share in u]


@dataclass(frozen=True, kw_only=True)
class Values(Variable):
    """Values one by one; in a random design each is as probable as the others."""

    kind: ClassVar[str] = "values"

    values: list[Any]
    """a list of numbers, words or lists"""

    def check(self, check: Checks) -> None:
        if not isinstance(self.values, list | tuple) or not self.values:
            check.fail("values", f"got {shown(self.values)}, wanted a list of at least one value")
        elif any(isinstance(value, float) and not np.isfinite(value) for value in self.values):
            check.fail("values", f"got {shown(self.values)}, every number must be finite")

    def levels(self) -> list[Any] | None:
        return list(self.values)


@dataclass(frozen=True, kw_only=True)
class Range(Variable):
    """Numbers from the first to the last."""

    kind: ClassVar[str] = "range"

    first: float
    """the first of the numbers"""
    last: float
    """the last of the numbers"""
    count: int
    """at least 2"""
    spacing: Annotated[str, OneOf(SPACINGS)] = "linear"
    """of the numbers"""

    def check(self, check: Checks) -> None:
        check.whole("count", 2, 1_000_000)
        if self.spacing == "logarithmic":
            check.positive("first", "last")

    def levels(self) -> list[Any] | None:
        spaced = np.geomspace if self.spacing == "logarithmic" else np.linspace
        return [float(value) for value in spaced(self.first, self.last, self.count)]


@dataclass(frozen=True, kw_only=True)
class Uniform(Variable):
    """Numbers that are equally probable between two bounds."""

    kind: ClassVar[str] = "uniform"

    low: float
    """the lower bound"""
    high: float
    """the upper bound"""

    def check(self, check: Checks) -> None:
        if not {"low", "high"} & check.bad:
            check.require("high", self.high > self.low, f"must be above low = {self.low:g}")

    def quantile(self, u: Floats) -> list[Any]:
        return [float(value) for value in self.low + u * (self.high - self.low)]


@dataclass(frozen=True, kw_only=True)
class Normal(Variable):
    """Numbers of a normal distribution, whose mean and standard deviation are those without bounds."""

    kind: ClassVar[str] = "normal"

    mean: float
    """of the numbers"""
    standard_deviation: Annotated[float, POSITIVE]
    """of the numbers"""
    low: float | None = None
    """bound below which there are no values"""
    high: float | None = None
    """bound above which there are no values"""

    def check(self, check: Checks) -> None:
        if not check.bad and self.low is not None and self.high is not None:
            check.require("high", self.high > self.low, f"must be above low = {self.low:g}")
        if not check.bad and not self._share()[1] > self._share()[0]:
            given = "low" if self.low is not None else "high"
            check.fail(given, f"got {shown(getattr(self, given))}, beyond which the distribution has no values")

    def standard(self, value: float) -> float:
        """The standard normal variable at a value."""
        return (value - self.mean) / self.standard_deviation

    def value(self, x: Floats) -> Floats:
        """The values at standard normal variables, the inverse of ``standard``."""
        return np.asarray(self.mean + self.standard_deviation * x)

    def _share(self) -> tuple[float, float]:
        """The probabilities of values below the lower and below the upper bound."""
        from scipy.special import ndtr

        low = 0.0 if self.low is None else float(ndtr(self.standard(self.low)))
        return low, 1.0 if self.high is None else float(ndtr(self.standard(self.high)))

    def quantile(self, u: Floats) -> list[Any]:
        from scipy.special import ndtri

        low, high = self._share()
        return [float(value) for value in self.value(ndtri(low + u * (high - low)))]


@dataclass(frozen=True, kw_only=True)
class Lognormal(Normal):
    """Positive numbers whose logarithms have a normal distribution; mean and standard deviation are those of the
    numbers.
    """

    kind: ClassVar[str] = "lognormal"

    def check(self, check: Checks) -> None:
        check.positive("mean", "low", "high")
        super().check(check)

    def _logarithm(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm."""
        variance = np.log1p((self.standard_deviation / self.mean) ** 2)
        return float(np.log(self.mean) - 0.5 * variance), float(np.sqrt(variance))

    def standard(self, value: float) -> float:
        mean, deviation = self._logarithm()
        return (float(np.log(value)) - mean) / deviation

    def value(self, x: Floats) -> Floats:
        mean, deviation = self._logarithm()
        return np.asarray(np.exp(mean + deviation * x))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


VARIABLES: dict[str, type[Variable]] = {kind.kind: kind for kind in (Values, Range, Uniform, Normal, Lognormal)}
"""The kinds of variables by their words; the first is the default."""


# Designs: the values of all variables in every run of a study.
#
# Sources: scipy.stats.qmc for Latin hypercubes and scrambled Sobol sequences; A. Saltelli et al., Variance based
# sensitivity analysis of model output, Computer Physics Communications 181 (2010), for the samples of Sobol indices.

LISTED = ("grid", "list")
"""Designs of the variables' own values."""
SAMPLED = ("random", "latin-hypercube", "sobol", "saltelli")
"""Designs of a number of samples."""
OPTIMIZE = "optimize"
"""Design of runs that follow each other in search of the best."""
WORST = "worst"
"""Corners and random points of the bounds of the variables, and a local search, for the worst of an output."""
DESIGNS = (*LISTED, *SAMPLED, OPTIMIZE, WORST)
SLSQP, MOVING, EVOLUTION = "slsqp", "mma", "differential-evolution"
OPTIMIZERS = (AUTO, SLSQP, "trust-constr", MOVING, EVOLUTION)
# The smallest probability, since the first point of a Sobol sequence may be zero, where a normal variable is infinite.
EDGE = 2.0**-53


def rows_of(design: str, variables: Sequence[Variable], runs: int | None, seed: int) -> list[tuple[Any, ...]]:
    """The values of all variables, run by run; of a grid or a list none where a variable has no values.

    grid : every combination of values, the last variable changing fastest. list : the first values of all, the second,
    and so on. The others sample the unit cube: ``runs`` points; of "saltelli" ``runs`` times (variables + 2), see
    `saltelli`.
    """
    if design in LISTED:
        levels = [variable.levels() or [] for variable in variables]
        return list(product(*levels)) if design == "grid" else list(zip(*levels, strict=all(levels)))
    if design == WORST:
        return at_points(variables, points_of(len(variables), seed))
    if design == OPTIMIZE:
        design, runs = "latin-hypercube", generation(len(variables))
    points = np.clip(unit_points(design, len(variables), runs or 0, seed), EDGE, 1.0 - EDGE)
    columns = [variable.quantile(u) for variable, u in zip(variables, points.T, strict=True)]
    return list(zip(*columns, strict=True))


def at_points(variables: Sequence[Variable], points: Floats) -> list[tuple[Any, ...]]:
    """The values of variables between bounds at points (n, k) of the box [-1, 1]."""
    columns = [variable.quantile(0.5 * (1.0 + d)) for variable, d in zip(variables, points.T, strict=True)]
    return list(zip(*columns, strict=True))


def generation(dimensions: int) -> int:
    """Number of runs of a generation of a search over so many variables."""
    return max(8, 5 * dimensions)


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

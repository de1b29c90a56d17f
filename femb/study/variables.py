"""Variables of a study: an entry of the case, and its values or their distribution."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Floats, OneOf, SeveralForms
from femb.base.values import shown

SPACINGS = ("linear", "logarithmic")
Keys = Annotated[Any, SeveralForms((str, list[str]))]


@dataclass(frozen=True, kw_only=True)
class Variable:
    """Base of the kinds of variables.

    key : the entry of the case that it sets, as with --set: "sections.boom.youngs_modulus"; or a list of entries that
    are set to the same value. Of a case that is a function, the name of its argument.
    relative : whether the values are factors of the number, or the list of numbers, in the case.
    """

    table: ClassVar[str] = "variables"
    kind: ClassVar[str]

    name: str
    key: Keys = None
    relative: bool = False

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
    """Values one by one; in a random design each is as probable as the others.

    values : a list of numbers, words or lists.
    """

    kind: ClassVar[str] = "values"

    values: list[Any]

    def check(self, check: Checks) -> None:
        if not isinstance(self.values, list | tuple) or not self.values:
            check.fail("values", f"got {shown(self.values)}, wanted a list of at least one value")
        elif any(isinstance(value, float) and not np.isfinite(value) for value in self.values):
            check.fail("values", f"got {shown(self.values)}, every number must be finite")

    def levels(self) -> list[Any] | None:
        return list(self.values)


@dataclass(frozen=True, kw_only=True)
class Range(Variable):
    """Numbers from the first to the last.

    first, last : numbers. count : how many, at least 2. spacing : linear or logarithmic.
    """

    kind: ClassVar[str] = "range"

    first: float
    last: float
    count: int
    spacing: Annotated[str, OneOf(SPACINGS)] = "linear"

    def check(self, check: Checks) -> None:
        check.whole("count", 2, 1_000_000)
        if self.spacing == "logarithmic":
            check.positive("first", "last")

    def levels(self) -> list[Any] | None:
        spaced = np.geomspace if self.spacing == "logarithmic" else np.linspace
        return [float(value) for value in spaced(self.first, self.last, self.count)]


@dataclass(frozen=True, kw_only=True)
class Uniform(Variable):
    """Numbers that are equally probable between two bounds.

    low, high : the bounds.
    """

    kind: ClassVar[str] = "uniform"

    low: float
    high: float

    def check(self, check: Checks) -> None:
        if not {"low", "high"} & check.bad:
            check.require("high", self.high > self.low, f"must be above low = {self.low:g}")

    def quantile(self, u: Floats) -> list[Any]:
        return [float(value) for value in self.low + u * (self.high - self.low)]


@dataclass(frozen=True, kw_only=True)
class Normal(Variable):
    """Numbers of a normal distribution.

    mean, standard_deviation : of the distribution without bounds. low, high : bounds, beyond which there are no values.
    """

    kind: ClassVar[str] = "normal"

    mean: float
    standard_deviation: float
    low: float | None = None
    high: float | None = None

    def check(self, check: Checks) -> None:
        check.positive("standard_deviation")
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
    """Positive numbers whose logarithms have a normal distribution.

    mean, standard_deviation : of the numbers, not of their logarithms. low, high : bounds, beyond which there are no
    values.
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


VARIABLES: dict[str, type[Variable]] = {
    kind.kind: kind for kind in (Values, Range, Uniform, Normal, Lognormal)
}  # fmt: skip
"""The kinds of variables by their words; the first is the default."""

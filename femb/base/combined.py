"""Profiles of time that combine others: sums and repetitions; and the bang-bang profile of slews."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from femb.base.checks import Checks
from femb.base.profile import CheckedProfile, Derivatives, Motion, Profile
from femb.base.types import Unit
from femb.base.values import shown

MOST_REPETITIONS = 100_000  # each has its breakpoints


@dataclass(frozen=True)
class BangBang(CheckedProfile):
    """One from ``start``, minus one in the second half of ``duration``, zero outside: a slew from rest to rest.

    coast : s, time at zero between the halves, a part of ``duration``. The integral over time is zero.
    """

    shape: ClassVar[str] = "bang_bang"
    positive: ClassVar[tuple[str, ...]] = ("duration",)
    duration: Annotated[float, Unit("s")]
    start: Annotated[float, Unit("s")] = 0.0
    coast: Annotated[float, Unit("s")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        check.not_negative("coast")
        if not check.bad:
            check.require("coast", self.coast < self.duration, f"must be less than the duration, {self.duration:g} s")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        half = 0.5 * (self.duration - self.coast)
        instants = (self.start, self.start + half, self.start + half + self.coast, self.start + self.duration)
        return tuple(dict.fromkeys(instants))

    def __call__(self, t: float) -> float:
        half, x = 0.5 * (self.duration - self.coast), t - self.start
        if 0.0 <= x < half:
            return 1.0
        return -1.0 if half + self.coast <= x < self.duration else 0.0


@dataclass(frozen=True)
class Sum(CheckedProfile):
    """The sum of the profiles ``terms``, each multiplied by its number of ``factors`` (by default one).

    A driver follows it if it follows every term.
    """

    shape: ClassVar[str] = "sum"
    terms: Annotated[list[Profile], Unit("value")]
    factors: Annotated[list[float] | None, Unit("")] = None

    def __new__(cls, terms: Any = (), factors: Any = None) -> "Sum":
        smooth = isinstance(terms, list | tuple) and all(isinstance(term, Motion) for term in terms)
        return object.__new__(_SumOfMotions if smooth else Sum)

    def check(self, check: Checks) -> None:
        given = isinstance(self.terms, list | tuple)
        if not given or not self.terms or not all(isinstance(term, Profile) for term in self.terms):
            check.fail("terms", f"got {shown(self.terms)}, wanted a list of profiles")
            return
        object.__setattr__(self, "terms", tuple(self.terms))
        if self.factors is not None:
            check.numbers("factors")
            if not check.bad:
                wanted = f"wanted {len(self.terms)}, one for each of the terms"
                check.require("factors", len(self.factors) == len(self.terms), wanted)

    @property
    def weights(self) -> tuple[float, ...]:
        """The factor of every term."""
        return (1.0,) * len(self.terms) if self.factors is None else tuple(self.factors)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(sorted({instant for term in self.terms for instant in term.breakpoints}))

    def __call__(self, t: float) -> float:
        return sum(factor * term(t) for factor, term in zip(self.weights, self.terms, strict=True))


class _SumOfMotions(Sum):
    """A sum that a driver can follow."""

    def derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""
        parts = [cast(Motion, term).derivatives(t) for term in self.terms]
        value, rate, second = (
            sum(factor * part[k] for factor, part in zip(self.weights, parts, strict=True)) for k in range(3)
        )
        return value, rate, second


@dataclass(frozen=True)
class Repeat(CheckedProfile):
    """``profile`` from zero to ``period`` (s), ``count`` times from ``start``; zero outside. It is for loads."""

    shape: ClassVar[str] = "repeat"
    positive: ClassVar[tuple[str, ...]] = ("period",)
    profile: Annotated[Profile, Unit("value")]
    period: Annotated[float, Unit("s")]
    count: int
    start: Annotated[float, Unit("s")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        check.whole("count", 1, MOST_REPETITIONS)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        inner = sorted({0.0, *(t for t in self.profile.breakpoints if 0.0 < t < self.period)})
        instants = [self.start + k * self.period + t for k in range(self.count) for t in inner]
        return (*instants, self.start + self.count * self.period)

    def __call__(self, t: float) -> float:
        number = math.floor((t - self.start) / self.period)
        # exactly as the breakpoints are computed, so that both sides of one are those of the profile
        if t >= self.start + (number + 1) * self.period:
            number += 1
        elif t < self.start + number * self.period:
            number -= 1
        if not 0 <= number < self.count:
            return 0.0
        return float(self.profile(t - (self.start + number * self.period)))

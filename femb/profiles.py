"""Profiles of time: the factor a load is multiplied with, and the instants where it is not smooth.

Adding a profile is one class here and one word in ``KINDS``.
"""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from femb.checks import Checks


class Profile(Protocol):
    """A factor as a function of time; steppers land on its ``breakpoints`` (s)."""

    @property
    def breakpoints(self) -> tuple[float, ...]: ...

    def __call__(self, t: float) -> float: ...


@dataclass(frozen=True)
class Constant:
    """One at all times, or ``value``."""

    shape: ClassVar[str] = "constant"
    value: float = 1.0

    def __post_init__(self) -> None:
        with Checks(self, "profile"):
            pass

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return ()

    def __call__(self, t: float) -> float:
        return self.value


@dataclass(frozen=True)
class Versine:
    """(1 - cos(2 pi (t - start)/duration))/2 for ``duration`` seconds from ``start``, zero elsewhere; peak one."""

    shape: ClassVar[str] = "versine"
    duration: float
    start: float = 0.0

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            check.positive("duration")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start, self.start + self.duration)

    def __call__(self, t: float) -> float:
        if not self.start < t < self.start + self.duration:
            return 0.0
        return 0.5 * (1.0 - math.cos(2.0 * math.pi * (t - self.start) / self.duration))


@dataclass(frozen=True)
class Step:
    """Zero before ``start``, one from then on, zero again after ``duration`` if that is given.

    At a jump the value is that of the side the integration comes from, which is why jumps are breakpoints.
    """

    shape: ClassVar[str] = "step"
    start: float = 0.0
    duration: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", 1e300 if self.duration == math.inf else self.duration)
        with Checks(self, "profile") as check:
            check.positive("duration")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        end = self.start + self.duration
        return (self.start, end) if end < 1e299 else (self.start,)

    def __call__(self, t: float) -> float:
        return 1.0 if self.start <= t < self.start + self.duration else 0.0


@dataclass(frozen=True)
class Table:
    """Linear interpolation of ``values`` at ``times`` (s); constant before the first and after the last."""

    shape: ClassVar[str] = "table"
    times: Any
    values: Any

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            check.numbers("times", "values")
            if not check.bad:
                rising = all(a < b for a, b in zip(self.times, self.times[1:], strict=False))
                check.require("times", rising, "must rise from each to the next")
                check.require("values", len(self.values) == len(self.times), f"wanted {len(self.times)}, one a time")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return self.times

    def __call__(self, t: float) -> float:
        k = bisect.bisect_right(self.times, t)
        if k == 0:
            return self.values[0]
        if k == len(self.times):
            return self.values[-1]
        part = (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1])
        return self.values[k - 1] + part * (self.values[k] - self.values[k - 1])


@dataclass(frozen=True)
class Exponential:
    """Zero before ``start``, then 1 - exp(-(t - start)/time_constant): the first-order approach of a temperature."""

    shape: ClassVar[str] = "exponential"
    time_constant: float
    start: float = 0.0

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            check.positive("time_constant")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start,)

    def __call__(self, t: float) -> float:
        return -math.expm1(-(t - self.start) / self.time_constant) if t > self.start else 0.0


@dataclass(frozen=True)
class SmoothStep:
    """From zero before ``start`` to one after ``duration`` seconds, with continuous first and second derivatives.

    In between it is 10 x^3 - 15 x^4 + 6 x^5 with x = (t - start)/duration.
    """

    shape: ClassVar[str] = "smooth_step"
    duration: float
    start: float = 0.0

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            check.positive("duration")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start, self.start + self.duration)

    def __call__(self, t: float) -> float:
        x = min(max((t - self.start) / self.duration, 0.0), 1.0)
        return x**3 * (10.0 - x * (15.0 - 6.0 * x))


@dataclass(frozen=True)
class Polynomial:
    """c0 + c1 x + c2 x^2 + ... of x = t - start, s, with ``coefficients`` (c0, c1, ...), at all times."""

    shape: ClassVar[str] = "polynomial"
    coefficients: Any
    start: float = 0.0

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            check.numbers("coefficients")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return ()

    def __call__(self, t: float) -> float:
        value = 0.0
        for coefficient in reversed(self.coefficients):
            value = value * (t - self.start) + coefficient
        return value


KINDS = (Constant, Versine, Step, SmoothStep, Exponential, Polynomial, Table)
PROFILES: dict[str, Callable[..., Profile]] = {kind.shape: kind for kind in KINDS}

"""Profiles of time: the factor of a load, or the motion that a driver prescribes.

A profile declares the instants where it is not smooth. One that a driver can follow also gives its first and second
derivative in closed form, with their right limits where they jump. Adding a profile takes one class here and one word
in ``KINDS``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

from femb.base.checks import Checks
from femb.base.profile import BangBang, CheckedProfile, Derivatives, Integral, Repeat, SmoothProfile, Spline, Sum, Table
from femb.base.profile import Motion as Motion
from femb.base.profile import Profile as Profile
from femb.base.shaper import EI, ZV, ZVD, ZVDD, Shaped
from femb.base.types import OWN_UNITS, POSITIVE, Numbers, Unit
from femb.base.values import LARGEST


@dataclass(frozen=True)
class Constant(CheckedProfile):
    """One at all times, or ``value``."""

    shape: ClassVar[str] = "constant"
    value: Annotated[float, Unit("value")] = 1.0

    def __call__(self, t: float) -> float:
        return self.value

    def derivatives(self, t: float) -> Derivatives:
        return self.value, 0.0, 0.0

    def antiderivative(self, t: float) -> float:
        return self.value * t


@dataclass(frozen=True)
class Polynomial(SmoothProfile):
    """c0 + c1 x + c2 x^2 + ... of x = t - start with ``coefficients`` c from the constant upwards, at all times: [0, 2]
    is a steady rate of two.
    """

    shape: ClassVar[str] = "polynomial"
    coefficients: Annotated[Numbers, OWN_UNITS]
    """from the constant upwards, in the unit of the value over powers of s"""
    start: Annotated[float, Unit("s")] = 0.0
    """origin of x"""

    def check(self, check: Checks) -> None:
        check.numbers("coefficients")

    def derivatives(self, t: float) -> Derivatives:
        x = t - self.start
        value = rate = half = 0.0  # Horner's rule and its derivatives; half : half the second derivative
        for coefficient in reversed(self.coefficients):
            half = half * x + rate
            rate = rate * x + value
            value = value * x + coefficient
        return value, rate, 2.0 * half

    def antiderivative(self, t: float) -> float:
        x, value = t - self.start, 0.0
        for power in range(len(self.coefficients), 0, -1):
            value = (value + self.coefficients[power - 1] / power) * x
        return value


@dataclass(frozen=True)
class Sine(SmoothProfile):
    """mean + amplitude sin(2 pi frequency t + phase), with the frequency in Hz and the phase in rad."""

    shape: ClassVar[str] = "sine"
    frequency: Annotated[float, Unit("Hz"), POSITIVE]
    amplitude: Annotated[float, Unit("value")] = 1.0
    """half of the range"""
    phase: Annotated[float, Unit("rad")] = 0.0
    """at t = 0"""
    mean: Annotated[float, Unit("value")] = 0.0
    """of the largest and the least value"""

    def derivatives(self, t: float) -> Derivatives:
        omega = 2.0 * math.pi * self.frequency
        sine = self.amplitude * math.sin(omega * t + self.phase)
        return self.mean + sine, omega * self.amplitude * math.cos(omega * t + self.phase), -omega * omega * sine

    def antiderivative(self, t: float) -> float:
        half = math.pi * self.frequency * t
        # the difference of two cosines as a product, exact at small times
        return self.mean * t + self.amplitude / (math.pi * self.frequency) * math.sin(half) * math.sin(
            half + self.phase
        )


@dataclass(frozen=True)
class Versine(CheckedProfile):
    """(1 - cos(2 pi (t - start)/duration))/2 for ``duration`` seconds from ``start``, zero elsewhere; peak one."""

    shape: ClassVar[str] = "versine"
    duration: Annotated[float, Unit("s"), POSITIVE]
    start: Annotated[float, Unit("s")] = 0.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start, self.start + self.duration)

    def __call__(self, t: float) -> float:
        if not self.start < t < self.start + self.duration:
            return 0.0
        return 0.5 * (1.0 - math.cos(2.0 * math.pi * (t - self.start) / self.duration))

    def derivatives(self, t: float) -> Derivatives:
        """The second derivative jumps at the start and at the end."""
        if not self.start <= t < self.start + self.duration:
            return 0.0, 0.0, 0.0
        omega = 2.0 * math.pi / self.duration
        angle = omega * (t - self.start)
        return self(t), 0.5 * omega * math.sin(angle), 0.5 * omega * omega * math.cos(angle)

    def antiderivative(self, t: float) -> float:
        x, omega = min(max(t - self.start, 0.0), self.duration), 2.0 * math.pi / self.duration
        return 0.5 * (x - math.sin(omega * x) / omega)


@dataclass(frozen=True)
class SmoothStep(SmoothProfile):
    """From ``before`` to ``after`` in ``duration`` seconds from ``start``, at both ends at rest and not accelerated.

    The polynomial s^3 (10 - 15 s + 6 s^2); its rate is at most 15/8 of the mean rate.
    """

    shape: ClassVar[str] = "smooth_step"
    duration: Annotated[float, Unit("s"), POSITIVE]
    start: Annotated[float, Unit("s")] = 0.0
    before: Annotated[float, Unit("value")] = 0.0
    after: Annotated[float, Unit("value")] = 1.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start, self.start + self.duration)

    def derivatives(self, t: float) -> Derivatives:
        s, change = (t - self.start) / self.duration, self.after - self.before
        if s <= 0.0:
            return self.before, 0.0, 0.0
        if s >= 1.0:
            return self.after, 0.0, 0.0
        value = self.before + change * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        rate = change / self.duration * 30.0 * (s * (1.0 - s)) ** 2
        return value, rate, change / self.duration**2 * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)

    def antiderivative(self, t: float) -> float:
        x = t - self.start
        s = min(max(x / self.duration, 0.0), 1.0)
        risen = self.duration * s**4 * (2.5 - 3.0 * s + s * s) + max(x - self.duration, 0.0)
        return self.before * t + (self.after - self.before) * risen


@dataclass(frozen=True)
class Slew(SmoothProfile):
    """From ``before`` to ``after`` in the shortest time from ``start``, from rest to rest: constant accelerations, with
    a constant rate between them where ``max_rate`` is reached.

    A ``bang_bang`` profile of the same times is its acceleration, for loads.
    """

    shape: ClassVar[str] = "slew"
    after: Annotated[float, Unit("value")]
    before: Annotated[float, Unit("value")] = 0.0
    max_acceleration: Annotated[float | None, Unit("value/s2"), POSITIVE] = None
    """give it or the duration"""
    max_rate: Annotated[float | None, Unit("value/s"), POSITIVE] = None
    """by default no limit"""
    duration: Annotated[float | None, Unit("s"), POSITIVE] = None
    """in place of max_acceleration"""
    start: Annotated[float, Unit("s")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        if check.bad:
            return
        check.exactly_one("max_acceleration", "duration")
        if self.duration is not None and self.max_rate is not None:
            least = abs(self.after - self.before) / self.max_rate
            check.require("duration", self.duration > least, f"must be more than {least:g} s, at the largest rate")

    @cached_property
    def times(self) -> tuple[float, float]:
        """Seconds of each acceleration, and between them."""
        change, fastest = abs(self.after - self.before), math.inf if self.max_rate is None else self.max_rate
        if change == 0.0:
            return 0.0, 0.0
        if self.duration is not None:
            ramp = min(0.5 * self.duration, self.duration - change / fastest)
            return ramp, max(self.duration - 2.0 * ramp, 0.0)
        assert self.max_acceleration is not None
        ramp = math.sqrt(change / self.max_acceleration)
        if ramp * self.max_acceleration <= fastest:
            return ramp, 0.0
        ramp = fastest / self.max_acceleration
        return ramp, change / fastest - ramp

    @property
    def breakpoints(self) -> tuple[float, ...]:
        ramp, coast = self.times
        corners = (0.0, ramp, ramp + coast, 2.0 * ramp + coast)
        return tuple(dict.fromkeys(self.start + x for x in corners)) if ramp > 0.0 else ()

    def derivatives(self, t: float) -> Derivatives:
        """The second derivative jumps at the breakpoints."""
        corners = self.breakpoints
        if not corners or t < corners[0]:
            return self.before, 0.0, 0.0
        if t >= corners[-1]:
            return self.after, 0.0, 0.0
        ramp, coast = self.times
        second = (self.after - self.before) / (ramp * (ramp + coast))
        if t < corners[1]:
            x = t - corners[0]
            return self.before + 0.5 * second * x * x, second * x, second
        if t >= corners[-2]:
            x = t - corners[-1]
            return self.after - 0.5 * second * x * x, -second * x, -second
        rate = second * ramp
        return 0.5 * (self.before + self.after) + rate * (t - 0.5 * (corners[0] + corners[-1])), rate, 0.0

    def antiderivative(self, t: float) -> float:
        ramp, coast = self.times
        x, whole, change = t - self.start, 2.0 * ramp + coast, self.after - self.before
        if x <= 0.0 or whole == 0.0:
            return self.before * t
        second, y = change / (ramp * (ramp + coast)), max(whole - x, 0.0)
        if x <= ramp:
            risen = second * x**3 / 6.0
        elif y <= ramp:
            risen = change * (x - 0.5 * whole) + second * y**3 / 6.0
        else:
            risen = second * ramp * (ramp * ramp / 6.0 + 0.5 * (x - ramp) * x)
        return self.before * t + risen


@dataclass(frozen=True)
class Step(CheckedProfile):
    """Zero before ``start``, one from then on, zero again after ``duration`` if that is given.

    Jumps are breakpoints: integration uses the left limit before a jump and the right limit after it.
    """

    shape: ClassVar[str] = "step"
    start: Annotated[float, Unit("s")] = 0.0
    """of the first jump"""
    duration: Annotated[float, Unit("s"), POSITIVE] = math.inf
    """from the first jump to the second, by default without end"""

    def __post_init__(self) -> None:
        if isinstance(self.duration, float) and self.duration == math.inf:
            object.__setattr__(self, "duration", LARGEST)
        super().__post_init__()

    @property
    def breakpoints(self) -> tuple[float, ...]:
        end = self.start + self.duration
        return (self.start, end) if end < LARGEST else (self.start,)

    def __call__(self, t: float) -> float:
        return 1.0 if self.start <= t < self.start + self.duration else 0.0


@dataclass(frozen=True)
class Exponential(CheckedProfile):
    """Zero before ``start``, then 1 - exp(-(t - start)/time_constant): the first-order approach of a temperature.

    Its rate jumps at the start: a driver cannot follow it.
    """

    shape: ClassVar[str] = "exponential"
    time_constant: Annotated[float, Unit("s"), POSITIVE]
    """after which 63 % are reached"""
    start: Annotated[float, Unit("s")] = 0.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.start,)

    def __call__(self, t: float) -> float:
        return -math.expm1(-(t - self.start) / self.time_constant) if t > self.start else 0.0


def check_profile(check: Checks, *fields: str) -> None:
    """Refuse a profile where one of these fields is a function of time and state, which it does not multiply."""
    for field in fields:
        if callable(getattr(check.item, field)) and check.item.profile != Constant():
            check.fail(
                "profile",
                f"given beside a function for {field}, which it does not multiply: let the function take the time, or "
                "give numbers",
            )
            return


KINDS = (
    *(Constant, Polynomial, Sine, Versine, Step, SmoothStep, Slew, Exponential, BangBang, Table, Spline, Sum, Repeat),
    Integral,
    *(ZV, ZVD, ZVDD, EI, Shaped),
)
PROFILES: dict[str, Callable[..., Profile]] = {kind.shape: kind for kind in KINDS}

"""Base classes of profiles of time (``femb.profiles``)."""

import bisect
import csv
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar, Protocol, cast, runtime_checkable

import numpy as np

from femb.base.array_files import content_of
from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.types import NOT_NEGATIVE, POSITIVE, Numbers, Pair, Unit
from femb.base.values import shown

Derivatives = tuple[float, float, float]


@runtime_checkable
class Profile(Protocol):
    """A factor as a function of time; steppers land on its ``breakpoints`` (s)."""

    @property
    def breakpoints(self) -> tuple[float, ...]: ...

    def __call__(self, t: float) -> float: ...


@runtime_checkable
class Motion(Profile, Protocol):
    """A profile without jumps of value and rate, which a driver can follow."""

    def derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""


@runtime_checkable
class Integrable(Profile, Protocol):
    """A profile with an antiderivative in closed form."""

    def antiderivative(self, t: float) -> float:
        """A function whose derivative by time is the value."""


@dataclass(frozen=True)
class CheckedProfile(Description):
    """Base of the profiles: the word in case files, and the checks of the fields."""

    shape: ClassVar[str]

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Report problems of the fields that their annotations do not find."""

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return ()


class SmoothProfile(CheckedProfile):
    """Base of profiles that compute the value with its derivatives."""

    def __call__(self, t: float) -> float:
        return self.derivatives(t)[0]

    def derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""
        raise NotImplementedError


# Columns of numbers in text files (.csv).


def columns_of(path: str, column: str | int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The first column of a table and another one, by its name in the first row or by its number from 1.

    Columns are separated by commas, semicolons or blanks; lines from # on are comments. Raises ModelError.
    """
    try:
        text = content_of(path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: cannot be read: {what}; wanted a table of numbers") from error
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    rows = [(number, _entries(line)) for number, line in enumerate(lines, 1) if line]
    if not rows:
        raise ModelError(f"{path}: has no numbers; wanted rows of a time (s) and values")
    heads: Sequence[str] = ()
    if _number(rows[0][1][0]) is None:
        heads, rows = rows[0][1], rows[1:]
    k = _place(path, column, heads, len(rows[0][1]) if rows else len(heads))
    result: tuple[list[float], list[float]] = [], []
    for number, entries in rows:
        for place, values in zip((0, k), result, strict=True):
            value = _number(entries[place]) if place < len(entries) else None
            if value is None:
                got = shown(entries[place]) if place < len(entries) else "nothing"
                raise ModelError(f"{path}:{number}: column {place + 1}: got {got}, wanted a number")
            values.append(value)
    if not result[0]:
        raise ModelError(f"{path}: has no numbers below its first row")
    return tuple(result[0]), tuple(result[1])


def _place(path: str, column: str | int, heads: Sequence[str], count: int) -> int:
    """The index of a column."""
    if isinstance(column, str):
        if column not in heads:
            known = f"its columns are {', '.join(map(repr, heads))}" if heads else "its first row has no names"
            raise ModelError(f"{path}: has no column {column!r}; {known}")
        return heads.index(column)
    if not 1 <= column <= count:
        raise ModelError(f"{path}: got column = {column}, but it has {count} columns")
    return column - 1


def _entries(line: str) -> list[str]:
    if ";" in line or "," in line:
        return [entry.strip() for entry in next(csv.reader([line], delimiter=";" if ";" in line else ","))]
    return line.split()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# Profiles of time that combine others: sums and repetitions; and the bang-bang profile of slews.

MOST_REPETITIONS = 100_000  # each has its breakpoints


@dataclass(frozen=True)
class BangBang(CheckedProfile):
    """One from ``start``, minus one in the second half of ``duration``, zero outside: a slew from rest to rest.

    The integral over time is zero.
    """

    shape: ClassVar[str] = "bang_bang"
    duration: Annotated[float, Unit("s"), POSITIVE]
    """of both halves with the time between them"""
    start: Annotated[float, Unit("s")] = 0.0
    """first instant"""
    coast: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """time at zero between the halves, a part of the duration"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if not check.bad:
            check.require("coast", self.coast < self.duration, f"must be less than the duration, {self.duration:g} s")

    @cached_property
    def _jumps(self) -> tuple[float, float, float, float]:
        half = 0.5 * (self.duration - self.coast)
        return self.start, self.start + half, self.start + half + self.coast, self.start + self.duration

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self._jumps))

    def __call__(self, t: float) -> float:
        # by the instants themselves: their differences, rounded, would put a jump beside its breakpoint
        first, middle, back, last = self._jumps
        if first <= t < middle:
            return 1.0
        return -1.0 if back <= t < last else 0.0


def delayed_instant(t: float, delay: float, breakpoints: Sequence[float]) -> float:
    """The instant t - delay, on the same side of breakpoints as t is of those that are delayed."""
    x = t - delay
    passed = bisect.bisect_right(breakpoints, x)
    if passed < len(breakpoints) and t >= delay + breakpoints[passed]:
        return breakpoints[passed]
    if passed > 0 and t < delay + breakpoints[passed - 1]:
        return math.nextafter(breakpoints[passed - 1], -math.inf)
    return x


@dataclass(frozen=True)
class Copy:
    """``profile``, multiplied by a factor and delayed (s)."""

    factor: float
    delay: float
    profile: Profile

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(self.delay + instant for instant in self.profile.breakpoints)

    def local(self, t: float) -> float:
        """The instant of the profile itself."""
        return delayed_instant(t, self.delay, self.profile.breakpoints)


@dataclass(frozen=True)
class Combined(CheckedProfile):
    """Base of sums of weighted and delayed profiles. One has ``derivatives`` if all its terms have: a driver follows it
    then."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if all(isinstance(copy.profile, Motion) for copy in self.copies):
            object.__setattr__(self, "derivatives", self._derivatives)
        if all(isinstance(copy.profile, Integrable) for copy in self.copies):
            object.__setattr__(self, "antiderivative", self._antiderivative)

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """The terms of the sum."""
        raise NotImplementedError

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return tuple(sorted({instant for copy in self.copies for instant in copy.breakpoints}))

    def __call__(self, t: float) -> float:
        return sum(copy.factor * copy.profile(copy.local(t)) for copy in self.copies)

    def _derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""
        parts = [(copy.factor, cast(Motion, copy.profile).derivatives(copy.local(t))) for copy in self.copies]
        value, rate, second = (sum(factor * part[k] for factor, part in parts) for k in range(3))
        return value, rate, second

    def _antiderivative(self, t: float) -> float:
        """A function whose derivative by time is the value."""
        return sum(copy.factor * cast(Integrable, copy.profile).antiderivative(copy.local(t)) for copy in self.copies)


@dataclass(frozen=True)
class Sum(Combined):
    """The sum of the profiles ``terms``, each multiplied by its number of ``factors``. A driver follows it if it
    follows every term.
    """

    shape: ClassVar[str] = "sum"
    terms: Annotated[list[Profile], Unit("value")]
    factors: Annotated[list[float] | None, Unit("")] = None
    """one a term, by default one"""

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

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        factors = [1.0] * len(self.terms) if self.factors is None else self.factors
        return tuple(Copy(factor, 0.0, term) for factor, term in zip(factors, self.terms, strict=True))


@dataclass(frozen=True)
class Repeat(CheckedProfile):
    """``profile`` from zero to ``period`` (s), ``count`` times from ``start``; zero outside. It is for loads."""

    shape: ClassVar[str] = "repeat"
    profile: Annotated[Profile, Unit("value")]
    """the one that is repeated, with its own time from zero"""
    period: Annotated[float, Unit("s"), POSITIVE]
    count: int
    """number of repetitions"""
    start: Annotated[float, Unit("s")] = 0.0
    """of the first one"""

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
        return float(self.profile(delayed_instant(t, self.start + number * self.period, self.profile.breakpoints)))


@dataclass(frozen=True)
class Integral(SmoothProfile):
    """``initial`` at t = 0, with the rate ``rate``: the angle of a drive whose rate is given, exactly."""

    shape: ClassVar[str] = "integral"
    rate: Annotated[Profile, Unit("value/s")]
    """a profile of the rate without jumps, as ``sine``, ``table``, ``smooth_step`` or a sum of such"""
    initial: Annotated[float, Unit("value")] = 0.0
    """the value at t = 0"""

    def check(self, check: Checks) -> None:
        check_rate(check, "rate")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return self.rate.breakpoints

    @cached_property
    def _offset(self) -> float:
        return self.initial - cast(Integrable, self.rate).antiderivative(0.0)

    def derivatives(self, t: float) -> Derivatives:
        """The second derivative is the right limit where the rate has a corner."""
        value = self._offset + cast(Integrable, self.rate).antiderivative(t)
        if isinstance(self.rate, Table):
            return value, self.rate(t), self.rate.slope(t)
        return value, *cast(Motion, self.rate).derivatives(t)[:2]


def check_rate(check: Checks, field: str) -> None:
    """Report a field that is not a profile whose integral a driver can follow."""
    rate = getattr(check.item, field)
    if not isinstance(rate, Integrable) or not isinstance(rate, Motion | Table):
        shape = getattr(rate, "shape", None)
        got = shown(rate) if shape is None else f"the profile {shape!r}"
        wanted = (
            "'constant', 'polynomial', 'sine', 'versine', 'smooth_step', 'slew', 'table', 'spline' or a sum of them"
        )
        check.fail(field, f"got {got}, whose value jumps or has no integral; wanted {wanted}")


# Profiles of time that interpolate given values: a table, linear, and a cubic spline.


class Tabulated:
    """Base of profiles that interpolate between points, which are lists or a file."""

    times: Numbers
    """increasing"""
    values: Numbers
    """one at each of the times"""
    file: str | None
    """in place of both a table (.csv); its first column is the time"""
    column: str | int
    """name or number (from 1) of the column of values in the file"""


@dataclass(frozen=True)
class Table(Tabulated, CheckedProfile):
    """Linear interpolation of ``values`` at ``times`` (s); constant before the first and after the last.

    Its rate jumps at every time: a driver cannot follow it and needs a Spline.
    """

    shape: ClassVar[str] = "table"
    times: Annotated[Numbers, Unit("s")] = ()
    values: Annotated[Numbers, Unit("value")] = ()
    file: str | None = None
    column: str | int = 2

    def check(self, check: Checks) -> None:
        _check_table(self, check)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        result: tuple[float, ...] = self.times
        return result

    def __call__(self, t: float) -> float:
        values: Sequence[float] = self.values
        k = bisect.bisect_right(self.times, t)
        if k == 0:
            return values[0]
        if k == len(self.times):
            return values[-1]
        part: float = (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1])
        return values[k - 1] + part * (values[k] - values[k - 1])

    def slope(self, t: float) -> float:
        """Its rate (1/s) after t."""
        k, times, values = bisect.bisect_right(self.times, t), self.times, self.values
        if k in (0, len(times)):
            return 0.0
        slope: float = (values[k] - values[k - 1]) / (times[k] - times[k - 1])
        return slope

    @cached_property
    def _areas(self) -> list[float]:
        """The integral from the first time to each."""
        pairs = zip(pairwise(self.times), pairwise(self.values), strict=True)
        return list(itertools.accumulate((0.5 * (b - a) * (x + y) for (a, b), (x, y) in pairs), initial=0.0))

    def antiderivative(self, t: float) -> float:
        k = max(bisect.bisect_right(self.times, t), 1)
        return float(self._areas[k - 1] + 0.5 * (t - self.times[k - 1]) * (self.values[k - 1] + self(t)))


@dataclass(frozen=True, eq=False)
class Spline(Tabulated, SmoothProfile):
    """The cubic spline through ``values`` at ``times`` (s): smooth up to the second derivative between them."""

    shape: ClassVar[str] = "spline"
    times: Annotated[Numbers, Unit("s")] = ()
    values: Annotated[Numbers, Unit("value")] = ()
    slopes: Annotated[Pair, Unit("value/s")] = (0.0, 0.0)
    """the rates at the first and the last time, constant before and after; by default zero"""
    file: str | None = None
    column: str | int = 2

    def check(self, check: Checks) -> None:
        _check_table(self, check, at_least=2)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The ends, where the second derivative jumps; its corners in between need no restart."""
        return (self.times[0], self.times[-1])

    @cached_property
    def _pieces(self) -> list[tuple[float, ...]]:
        """Coefficients of the cubic of each interval, highest power first, in the time from its start."""
        from scipy.interpolate import CubicSpline

        first, last = self.slopes
        spline = CubicSpline(self.times, self.values, bc_type=((1, first), (1, last)))
        return [tuple(map(float, column)) for column in np.asarray(spline.c).T]

    def derivatives(self, t: float) -> Derivatives:
        k = bisect.bisect_right(self.times, t)
        if k in (0, len(self.times)):
            end = 0 if k == 0 else -1
            slope = float(self.slopes[end])
            return self.values[end] + slope * (t - self.times[end]), slope, 0.0
        a, b, c, d = self._pieces[k - 1]
        x = t - self.times[k - 1]
        return ((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c, 6.0 * a * x + 2.0 * b

    @cached_property
    def _areas(self) -> list[float]:
        """The integral from the first time to each."""
        pieces = zip(pairwise(self.times), self._pieces, strict=True)
        return list(itertools.accumulate((_area(piece, b - a) for (a, b), piece in pieces), initial=0.0))

    def antiderivative(self, t: float) -> float:
        k = bisect.bisect_right(self.times, t)
        if k in (0, len(self.times)):
            end = 0 if k == 0 else -1
            x = t - self.times[end]
            return float(self._areas[end] + x * (self.values[end] + 0.5 * self.slopes[end] * x))
        return self._areas[k - 1] + _area(self._pieces[k - 1], t - self.times[k - 1])


def _area(piece: tuple[float, ...], x: float) -> float:
    """The integral of a cubic from zero to x."""
    a, b, c, d = piece
    return (((a * x / 4.0 + b / 3.0) * x + c / 2.0) * x + d) * x


def _check_table(item: "Table | Spline", check: Checks, at_least: int = 1) -> None:
    """Check ``times`` and ``values`` of a profile; set them from its file."""
    if item.file is not None and not {"file", "column"} & check.bad:
        try:
            times, values = columns_of(item.file, item.column)
        except ModelError as error:
            check.fail("file", str(error))
            return
        for name, array in (("times", times), ("values", values)):
            if _given(item, name) and not np.array_equal(getattr(item, name), array):
                check.fail(name, "given beside 'file', which has them: give one of them")
            object.__setattr__(item, name, array)
    for name in ("times", "values"):
        if not _given(item, name):
            check.fail(name, "is missing: give times and values, or a file")
    if check.bad:
        return
    check.numbers("times", "values")
    if not check.bad:
        rising = all(a < b for a, b in zip(item.times, item.times[1:], strict=False))
        check.require("times", rising, "must rise from each to the next")
        check.require("times", len(item.times) >= at_least, f"wanted at least {at_least}")
        check.require("values", len(item.values) == len(item.times), f"wanted {len(item.times)}, one a time")


def _given(item: "Table | Spline", name: str) -> bool:
    """Whether a field is not the empty default."""
    value = getattr(item, name)
    return not (isinstance(value, tuple) and not value)

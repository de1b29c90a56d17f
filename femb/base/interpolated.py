"""Profiles of time that interpolate given values: a table, linear, and a cubic spline."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.columns import columns_of
from femb.base.errors import ModelError
from femb.base.profile import CheckedProfile, Derivatives, SmoothProfile
from femb.base.types import Numbers, Pair, Unit


@dataclass(frozen=True)
class Table(CheckedProfile):
    """Linear interpolation of ``values`` at ``times`` (s); constant before the first and after the last.

    Its rate jumps at every time: a driver cannot follow it and needs a Spline.
    file : in place of both a table (.csv), in a case file relative to its folder; its first column is the time.
    column : name or number (from 1) of the column of values, by default the second.
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


@dataclass(frozen=True, eq=False)
class Spline(SmoothProfile):
    """The cubic spline through ``values`` at ``times`` (s): smooth up to the second derivative between them.

    file : in place of both a table (.csv), in a case file relative to its folder; its first column is the time.
    column : name or number (from 1) of the column of values, by default the second.
    slopes : the rates at the first and the last time (1/s), constant before and after; by default zero.
    """

    shape: ClassVar[str] = "spline"
    times: Annotated[Numbers, Unit("s")] = ()
    values: Annotated[Numbers, Unit("value")] = ()
    slopes: Annotated[Pair, Unit("value/s")] = (0.0, 0.0)
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

"""The error of a truncated linear model over frequency."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femb.analysis.linear.response import FrequencyResponse, checked_frequencies, largest_alike
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import LOST

# Of the largest entry with the same units: below this a transfer function is zero by symmetry, and its error is
# relative to that entry.
ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class Truncation(Tabled):
    """What a truncated model was compared with, and a bound of its error.

    kind : how it was truncated, in words. full, reduced : responses at the same frequencies (f,).
    bound_at : (p, m) bounds of the absolute difference at omega (rad/s), or None where there is none, as the
    damping is not symmetric.
    """

    kind: str
    full: FrequencyResponse
    reduced: FrequencyResponse
    bound_at: Callable[[float], Floats] | None

    def bound(self, frequencies: ArrayLike) -> Floats:
        """(f, p, m) bounds of the absolute difference at frequencies in Hz; infinite where there is none."""
        found = checked_frequencies(frequencies)
        if self.bound_at is None:
            return np.full((len(found), *self.full.values.shape[1:]), np.inf)
        return np.array([self.bound_at(2.0 * np.pi * frequency) for frequency in found])

    @property
    def error(self) -> Floats:
        """(f, p, m) relative errors of the transfer functions.

        Of those that are zero by symmetry, to the largest entry with the same units; nan where that is zero too.
        """
        return self._relative(np.abs(self.reduced.values - self.full.values))

    @property
    def relative_bound(self) -> Floats:
        """(f, p, m) the same of the bound."""
        return self._relative(self.bound(self.full.frequencies))

    def _relative(self, difference: Floats) -> Floats:
        size = np.abs(self.full.values)
        largest = largest_alike(size, self.full.outputs, self.full.inputs)
        of = np.where(size <= ZERO * largest, largest, size)
        zero = of == 0.0
        if self.full.rounding is not None:
            rounding = np.max(self.full.rounding, axis=0, initial=0.0)
            zero |= np.max(largest, axis=0, initial=0.0) <= rounding
        return np.where(zero, np.nan, difference / np.where(zero, 1.0, of))

    @property
    def _names(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("inputs", self.full.inputs), ("outputs", self.full.outputs)

    def arrays(self) -> dict[str, Floats]:
        """What files hold: frequencies (f,) Hz, error (f, p, m), bound (f, p, m)."""
        return {
            "truncation_frequencies": self.full.frequencies,
            "truncation_error": self.error,
            "truncation_bound": self.relative_bound,
        }

    def table(self) -> str:
        """A line for each frequency with the largest relative error, whose it is, and the bound of it."""
        if not self.full.values[0].size:
            none = " and ".join(word for word, names in self._names if not names)
            return f"{self.kind}\nno error to show: there are no {none}; name some"
        lines = [self.kind, f"{'frequency Hz':>14}{'largest error':>15}{'bound':>12}  of"]
        lost = self.full.lost() | self.reduced.lost()
        for frequency, error, bound, no_digits in zip(
            self.full.frequencies, self.error, self.relative_bound, lost, strict=True
        ):
            if no_digits:
                lines.append(f"{frequency:14.6g}{LOST:>15}{'-':>12}  rounding hides the error")
                continue
            if np.all(np.isnan(error)):
                lines.append(f"{frequency:14.6g}{'-':>15}{'-':>12}  nothing that responds")
                continue
            i, j = np.unravel_index(np.nanargmax(error), error.shape)
            limit = f"{bound[i, j]:12.2g}" if np.isfinite(bound[i, j]) else f"{'-':>12}"
            lines.append(
                f"{frequency:14.6g}{error[i, j]:15.2g}{limit}  {self.full.outputs[i]} by {self.full.inputs[j]}"
            )
        return "\n".join(lines)

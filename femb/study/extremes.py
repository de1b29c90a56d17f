"""Extreme values of runs between output times: where they are, and the values there that they follow from.

A smooth piece of the motion between two of its corners is the polynomial through some instants inside it. An extreme
value inside does not change, to first order, with its instant; one at the end of a piece, as before the impact of a
latch, changes with the instant of this. Source: docs/theory/sensitivities.md, section 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from femb.base.types import Complexes, Floats
from femb.results.results import Results
from femb.run.events import corners_of
from femb.steppers.replay import ReplayError
from femb.study.outputs import BETWEEN, BY_STEPS, Analyses, ByChanges

# Instants in a piece, and the part of it left out at both ends, which move; the degree with which errors are compared.
COUNT, LEFT_OUT, LOWER = 7, 0.06, 5
# A piece is shortened so often, to such a part, until both polynomials differ by this part of the largest value.
TIMES, PART, RESOLVED = 3, 0.25, 1e-8
# Places in a piece among which the extreme one is searched, and corrections of it.
PLACES, CORRECTIONS = 200, 6
_NODES = (1.0 - 2.0 * LEFT_OUT) * np.cos(np.pi * (np.arange(COUNT) + 0.5) / COUNT)
_POWERS = np.vander(_NODES, increasing=True)
_OF_VALUES: Floats = np.asarray(np.linalg.inv(_POWERS), dtype=np.float64)
_OF_LOWER: Floats = np.asarray(np.linalg.pinv(_POWERS[:, : LOWER + 1]), dtype=np.float64)

Values = Callable[[Results, Floats], Floats]
"""(n,) of results at some of their times."""


@dataclass(frozen=True)
class Extreme:
    """The place of the largest of some values, between corners of a run.

    times (n,) : s, of values. weights, lower (n,) : of these in the largest one, by a polynomial and one of lower
    degree. slope : by the instant of the corner of this number, where it is at one. ends : numbers of the corners
    around the times. until : s, what motions have to be known up to.
    """

    times: Floats
    weights: Floats
    lower: Floats
    slope: float = 0.0
    corner: int = -1
    ends: tuple[int | None, int | None] = (None, None)
    until: float = 0.0

    @property
    def instants(self) -> Floats:
        """The times (s) of motions from which it follows."""
        return np.append(self.times, max(self.until, self.times.max()))

    def by_changes(self, values: Values, factor: float = 1.0) -> ByChanges:
        """The way a factor of it is differentiated, by the changes of values at the times and of the corner's
        instant."""

        def numbers(other: Analyses) -> Complexes:
            results = other.results(BETWEEN)
            corners = corners_of(results)
            first, last = (None if k is None else corners[k] for k in self.ends)
            if (first is not None and first >= self.times.min()) or (last is not None and last <= self.times.max()):
                raise ReplayError("a corner moves by more than the instants beside it")
            moved = corners[self.corner] if self.corner >= 0 else 0.0
            return np.append(values(results, self.times), moved).astype(complex)

        weights, lower = (factor * np.append(each, self.slope) for each in (self.weights, self.lower))
        return ByChanges(
            numbers, lambda change: float(weights @ change.real), BY_STEPS,
            lower=lambda change: float(lower @ change.real),
        )  # fmt: skip


def extreme(time: Floats, k: int, corners: Floats, values: Callable[[Floats], Floats]) -> Extreme:
    """The place of the largest of values about the output time k; of times (T,), s. corners : of the run, s. values :
    function of instants (n,)."""
    first, last = float(time[max(k - 1, 0)]), float(time[min(k + 1, len(time) - 1)])
    alone = Extreme(time[[k]], np.ones(1), np.ones(1))
    near = 1e-9 * (last - first)
    if last <= first:
        return alone
    inside = np.unique(corners[(corners > first + near) & (corners < last - near)])
    edges = [first, *inside[np.diff(inside, prepend=first) > near], last]
    found = _best(list(pairwise(edges)), values)
    for _ in range(TIMES):
        a, b, s, x = found
        if abs(_weights(s, _OF_VALUES) @ x - _weights(s, _OF_LOWER) @ x) <= RESOLVED * np.max(np.abs(x)):
            break
        t, half = 0.5 * (a + b) + 0.5 * s * (b - a), 0.5 * PART * (b - a)
        found = _best([(max(a, t - half), min(b, t + half))], values)
    a, b, s, x = found
    times = 0.5 * (a + b) + 0.5 * _NODES * (b - a)
    ends = _number(corners, a, near), _number(corners, b, near)
    weights, lower = _weights(s, _OF_VALUES), _weights(s, _OF_LOWER)
    if abs(s) < 1.0:
        return Extreme(times, weights, lower, ends=ends, until=b)
    corner = ends[s > 0.0]
    if corner is None:
        return alone
    slope = float(np.polyval(np.polyder((_OF_VALUES @ x)[::-1]), s)) * 2.0 / (b - a)
    return Extreme(times, weights, lower, slope, corner, ends, b)


def _number(corners: Floats, t: float, near: float) -> int | None:
    """The number of the corner at a time (s); None where there is none."""
    found = np.flatnonzero(np.abs(corners - t) <= near)
    return int(found[0]) if found.size else None


def _weights(s: float, of: Floats) -> Floats:
    return np.asarray(s ** np.arange(len(of)) @ of)


def _best(pieces: list[tuple[float, float]], values: Callable[[Floats], Floats]) -> tuple[float, float, float, Floats]:
    """The ends (s) of the piece with the largest value, its place there from -1 to 1, and the values at the nodes."""
    times = [0.5 * (a + b) + 0.5 * _NODES * (b - a) for a, b in pieces]
    known = values(np.concatenate(times)).reshape(len(pieces), COUNT)
    grid, best = np.linspace(-1.0, 1.0, PLACES + 1), list[tuple[float, int, float]]()
    for number, x in enumerate(known):
        terms = (_OF_VALUES @ x)[::-1]
        s = float(grid[np.argmax(np.polyval(terms, grid))])
        if abs(s) < 1.0:
            slope, bend = np.polyder(terms), np.polyder(terms, 2)
            for _ in range(CORRECTIONS if np.polyval(bend, s) < 0.0 else 0):
                s -= float(np.clip(np.polyval(slope, s) / min(np.polyval(bend, s), -1e-300), -0.01, 0.01))
            s = min(max(s, -1.0), 1.0)
        best.append((float(np.polyval(terms, s)), -number, s))
    _, number, s = max(best)
    return *pieces[-number], s, known[-number]

"""Extreme values of runs between output times: where they are, and the values there that they follow from.

A smooth piece of the motion between two of its corners is the polynomial through some instants inside it. An extreme
value inside does not change, to first order, with its instant; one at the end of a piece, as before the impact of a
latch, changes with the instant of this. About every output time that may be beside the largest value it is searched;
the derivatives of values equal to it are part of the error. Source: docs/theory/sensitivities.md, section 4.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
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
# Values that differ by less than this part are equal, some tolerances of a usual run; so many of them count.
EQUAL, RIVALS = 1e-5, 3
_NODES = (1.0 - 2.0 * LEFT_OUT) * np.cos(np.pi * (np.arange(COUNT) + 0.5) / COUNT)
_POWERS = np.vander(_NODES, increasing=True)
_OF_VALUES: Floats = np.asarray(np.linalg.inv(_POWERS), dtype=np.float64)
_OF_LOWER: Floats = np.asarray(np.linalg.pinv(_POWERS[:, : LOWER + 1]), dtype=np.float64)

Values = Callable[[Results, Floats], Floats]
"""(m, n) values of m curves of results at some of their times (n,)."""


@dataclass(frozen=True)
class Extreme:
    """The place of the largest of the values of some curves, between corners of a run.

    times (n,) : s, of values. weights, lower (n,) : of these in the largest one, by a polynomial and one of lower
    degree. curve : its number. slope : by the instant of the corner of this number, where it is at one. ends : numbers
    of the corners around the times. until : s, what motions have to be known up to. rivals : places of equal values.
    """

    times: Floats
    weights: Floats
    lower: Floats
    curve: int = 0
    slope: float = 0.0
    corner: int = -1
    ends: tuple[int | None, int | None] = (None, None)
    until: float = 0.0
    rivals: tuple["Extreme", ...] = ()

    @property
    def instants(self) -> Floats:
        """The times (s) of motions from which it and its rivals follow."""
        own = np.append(self.times, max(self.until, self.times.max()))
        return np.concatenate([own, *(each.instants for each in self.rivals)])

    def _read(self, values: Values, results: Results) -> Floats:
        corners = corners_of(results)
        first, last = (None if k is None else corners[k] for k in self.ends)
        if (first is not None and first >= self.times.min()) or (last is not None and last <= self.times.max()):
            raise ReplayError("a corner moves by more than the instants beside it")
        moved = corners[self.corner] if self.corner >= 0 else 0.0
        return np.append(values(results, self.times)[self.curve], moved)

    def by_changes(self, values: Values, factor: float = 1.0) -> ByChanges:
        """The way a factor of it is differentiated, by the changes of values at the times and of the corner's
        instant."""
        places = (self, *self.rivals)
        ends = np.cumsum([each.times.size + 1 for each in places])
        weights = [factor * np.append(each.weights, each.slope) for each in places]
        of_lower = factor * np.append(self.lower, self.slope)

        def numbers(other: Analyses) -> Complexes:
            results = other.results(BETWEEN)
            return np.concatenate([each._read(values, results) for each in places]).astype(complex)

        def derivative(change: Complexes) -> float:
            return float(weights[0] @ change.real[: ends[0]])

        def other(change: Complexes) -> float:
            """The derivative farthest from it, by the polynomial of lower degree or of a rival."""
            parts = np.split(change.real, ends[:-1])
            found = [of_lower @ parts[0], *(w @ part for w, part in zip(weights[1:], parts[1:], strict=True))]
            return float(max(found, key=lambda each: abs(each - derivative(change))))

        return ByChanges(numbers, derivative, BY_STEPS, lower=other)


@dataclass(frozen=True, eq=False)
class _Top:
    """The largest value of a curve about an output time, in the piece from a to b (s).

    s : its place there from -1 to 1. known (n,) : values at the nodes.
    """

    curve: int
    k: int
    a: float
    b: float
    s: float
    known: Floats

    @property
    def value(self) -> float:
        return float(_weights(self.s, _OF_VALUES) @ self.known)

    @property
    def gap(self) -> float:
        """The difference to the polynomial of lower degree."""
        return abs(self.value - float(_weights(self.s, _OF_LOWER) @ self.known))

    @property
    def closer(self) -> tuple[int, int, float, float]:
        t, half = 0.5 * (self.a + self.b) + 0.5 * self.s * (self.b - self.a), 0.5 * PART * (self.b - self.a)
        return self.curve, self.k, max(self.a, t - half), min(self.b, t + half)

    def place(self, time: Floats, corners: Floats) -> Extreme:
        near = 1e-9 * (time[min(self.k + 1, len(time) - 1)] - time[max(self.k - 1, 0)])
        ends = _number(corners, self.a, near), _number(corners, self.b, near)
        corner = ends[self.s > 0.0] if abs(self.s) == 1.0 else -1
        if corner is None:
            return Extreme(time[[self.k]], np.ones(1), np.ones(1), self.curve)
        times = 0.5 * (self.a + self.b) + 0.5 * _NODES * (self.b - self.a)
        rate = float(np.polyval(np.polyder((_OF_VALUES @ self.known)[::-1]), self.s)) * 2.0 / (self.b - self.a)
        weights, lower = _weights(self.s, _OF_VALUES), _weights(self.s, _OF_LOWER)
        return Extreme(times, weights, lower, self.curve, rate if corner >= 0 else 0.0, corner, ends, self.b)


def extreme(time: Floats, x: Floats, corners: Floats, values: Callable[[Floats], Floats]) -> Extreme:
    """The place of the largest value of some curves.

    time (T,) : s, of output. x (m, T) : the curves then. corners : of the run, s. values : (m, n) of the curves, a
    function of instants (n,).
    """
    tops = _tops([piece for curve, k in _near_the_largest(x) for piece in _pieces(time, curve, k, corners)], values)
    for _ in range(TIMES):
        least = max((each.value - each.gap for each in tops), default=0.0)
        tops = [each for each in tops if each.value + each.gap >= least - EQUAL * abs(least)]
        open_ones = [each for each in tops if each.gap > RESOLVED * np.max(np.abs(each.known))]
        if not open_ones:
            break
        tops = [each for each in tops if each not in open_ones] + _tops([each.closer for each in open_ones], values)
    if not tops:
        curve, k = np.unravel_index(np.argmax(x), x.shape)
        return Extreme(time[[k]], np.ones(1), np.ones(1), int(curve))
    best, *others = sorted(tops, key=lambda each: -each.value)
    places = [each.place(time, corners) for each in others if each.value >= best.value - EQUAL * abs(best.value)]
    # a largest value at the end of what was searched is no largest one, but of the run
    rivals = [each for each in places if each.times.size > 1 or each.times[0] in time[[0, -1]]]
    return replace(best.place(time, corners), rivals=tuple(rivals[:RIVALS]))


def _near_the_largest(x: Floats) -> list[tuple[int, int]]:
    """Curves and numbers of the output times at which values (m, T) are not below those beside them, and near enough to
    the largest that the values about them may be larger."""
    steps = np.abs(np.diff(x, axis=1, prepend=x[:, :1], append=x[:, -1:]))
    before, after = np.roll(x, 1, axis=1), np.roll(x, -1, axis=1)
    before[:, 0] = after[:, -1] = -np.inf
    found = (x > before) & (x >= after) & (x + np.maximum(steps[:, :-1], steps[:, 1:]) >= np.max(x))
    return [(int(curve), int(k)) for curve, k in np.argwhere(found)]


def _pieces(time: Floats, curve: int, k: int, corners: Floats) -> list[tuple[int, int, float, float]]:
    """The smooth pieces about the output time k, between those beside it."""
    first, last = float(time[max(k - 1, 0)]), float(time[min(k + 1, len(time) - 1)])
    near = 1e-9 * (last - first)
    if last <= first:
        return []
    inside = np.unique(corners[(corners > first + near) & (corners < last - near)])
    edges = [first, *inside[np.diff(inside, prepend=first) > near].tolist(), last]
    return [(curve, k, a, b) for a, b in pairwise(edges)]


def _number(corners: Floats, t: float, near: float) -> int | None:
    """The number of the corner at a time (s); None where there is none."""
    found = np.flatnonzero(np.abs(corners - t) <= near)
    return int(found[0]) if found.size else None


def _weights(s: float, of: Floats) -> Floats:
    return np.asarray(s ** np.arange(len(of)) @ of)


def _tops(pieces: list[tuple[int, int, float, float]], values: Callable[[Floats], Floats]) -> list[_Top]:
    """The largest value about each output time, of the pieces about it."""
    if not pieces:
        return []
    times = [0.5 * (a + b) + 0.5 * _NODES * (b - a) for *_, a, b in pieces]
    found = values(np.concatenate(times)).reshape(-1, len(pieces), COUNT)
    grid, best = np.linspace(-1.0, 1.0, PLACES + 1), dict[tuple[int, int], _Top]()
    for number, (curve, k, a, b) in enumerate(pieces):
        x = found[curve, number]
        terms = (_OF_VALUES @ x)[::-1]
        s = float(grid[np.argmax(np.polyval(terms, grid))])
        if abs(s) < 1.0:
            slope, bend = np.polyder(terms), np.polyder(terms, 2)
            for _ in range(CORRECTIONS if np.polyval(bend, s) < 0.0 else 0):
                s -= float(np.clip(np.polyval(slope, s) / min(np.polyval(bend, s), -1e-300), -0.01, 0.01))
            s = min(max(s, -1.0), 1.0)
        top = _Top(curve, k, a, b, s, x)
        if (curve, k) not in best or top.value > best[curve, k].value:
            best[curve, k] = top
    return list(best.values())

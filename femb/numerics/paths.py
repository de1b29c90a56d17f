"""Gravity of a central body that may be oblate, and paths about it: Kepler's, disturbed, or through given points.

Source: docs/theory/orbit.md, equations (1) to (5).
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from femb.base.types import Floats
from femb.base.values import frozen_array
from femb.numerics import orbits

# Points of a segment of a disturbed path, and its length, as a part of the time of a radian of a circle there.
POINTS, PART = 16, 0.3
ITERATIONS = 40
# Places of a segment at which a path is looked at.
LOOKS = 10
# Degree of the spline through points of a path.
DEGREE = 5
# Motions that a path keeps, since several items ask for those of one instant.
KEPT = 32


class PathPoint(NamedTuple):
    """Position (3,) m, velocity (3,) m/s and acceleration (3,) m/s2 about the central body, inertial axes."""

    position: Floats
    velocity: Floats
    acceleration: Floats


Path = Callable[[float], PathPoint]


@dataclass(frozen=True)
class Central:
    """A central body: its constant mu, m3/s2, J2 with its equatorial radius, m, and the unit vector to its pole.

    Arrays: mu (...), oblate (...) = 3/2 J2 mu radius^2, m5/s2, and pole (..., 3) belong to positions (..., 3).
    """

    mu: float | Floats
    oblate: float | Floats = 0.0
    pole: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    def gravity(self, position: Floats) -> Floats:
        """(..., 3) m/s2 at positions from its centre: equation (1)."""
        square = (position * position).sum(axis=-1)
        result: Floats = -(self.mu / square**1.5)[..., None] * position
        return result + self._of_oblateness(position) if np.any(self.oblate) else result

    def _of_oblateness(self, position: Floats) -> Floats:
        square = (position * position).sum(axis=-1)[..., None]
        height = (position * self.pole).sum(axis=-1)[..., None]
        factor = np.asarray(self.oblate)[..., None] / square**2.5
        result: Floats = factor * ((5.0 * height**2 / square - 1.0) * position - 2.0 * height * self.pole)
        return result

    def tide(self, origin: Floats, point: Floats) -> Floats:
        """(3,) m/s2 of gravity at a point (3,) m from an origin, less that at the origin: equation (4)."""
        square, at = float(origin @ origin), origin + point
        x = float((2.0 * origin + point) @ point) / square
        root = (1.0 + x) ** 1.5
        result: Floats = self.mu / (square**1.5 * root) * (x * (3.0 + 3.0 * x + x * x) / (1.0 + root) * origin - point)
        return result + self._of_oblateness(at) - self._of_oblateness(origin) if self.oblate else result

    def gradient(self, position: Floats) -> Floats:
        """(..., 3, 3) derivative of gravity by the position (..., 3), 1/s2: equation (5)."""
        square = (position * position).sum(axis=-1)
        up, one = position / np.sqrt(square)[..., None], np.eye(3)

        def outer(a: Floats, b: Floats) -> Floats:
            return np.asarray(a[..., :, None] * b[..., None, :])

        result: Floats = (self.mu / square**1.5)[..., None, None] * (3.0 * outer(up, up) - one)
        if np.any(self.oblate):
            pole = np.broadcast_to(self.pole, up.shape)
            sine = (up * pole).sum(axis=-1)[..., None, None]
            result = result - np.asarray(self.oblate / square**2.5)[..., None, None] * (
                (1.0 - 5.0 * sine**2) * one
                + 2.0 * outer(pole, pole)
                - 10.0 * sine * (outer(up, pole) + outer(pole, up))
                + (35.0 * sine**2 - 5.0) * outer(up, up)
            )
        return result


def keeping(path: Path) -> Path:
    """The path with its last motions kept."""
    return _Keeping(path)


@dataclass(frozen=True)
class _Keeping:
    path: Path
    kept: dict[float, PathPoint] = field(default_factory=dict)

    def __call__(self, t: float) -> PathPoint:
        motion = self.kept.get(t)
        if motion is None:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            motion = self.kept[t] = PathPoint(*map(frozen_array, self.path(t)))
        return motion


@dataclass(frozen=True)
class KeplerPath:
    """The path of a point about a body without oblateness from a position (3,) m and velocity (3,) m/s at time 0."""

    mu: float
    position: Floats
    velocity: Floats

    def __call__(self, t: float) -> PathPoint:
        out = np.empty((3, 3))
        orbits.set_motion(*self._start, float(t), out)
        return PathPoint(*out)

    @cached_property
    def _start(self) -> tuple[float, Floats, Floats]:
        return float(self.mu), np.array(self.position, dtype=float), np.array(self.velocity, dtype=float)


class PathSegment(NamedTuple):
    """A piece of a path: its start and half length (s), and coefficients (POINTS + 2, 3) of Legendre's polynomials."""

    start: float
    half: float
    position: Floats
    velocity: Floats
    acceleration: Floats

    def at(self, t: float) -> PathPoint:
        """The motion at an instant (s)."""
        x = (t - self.start) / self.half - 1.0
        basis = [1.0, x]
        for k in range(1, POINTS + 1):
            basis.append(((2 * k + 1) * x * basis[k] - k * basis[k - 1]) / (k + 1))
        polynomials = np.array(basis)
        return PathPoint(*(polynomials[: len(part)] @ part for part in self[2:]))


@dataclass(frozen=True)
class DisturbedPath:
    """The path of a point under the gravity of a body with oblateness, from a position and a velocity at time 0.

    Each segment is a polynomial whose acceleration is that of gravity at the points of Gauss, to rounding; its length
    follows from the distance alone, so that a motion does not depend on which others were asked for.
    """

    body: Central
    position: Floats
    velocity: Floats
    after: list[PathSegment] = field(default_factory=list)
    before: list[PathSegment] = field(default_factory=list)

    def __call__(self, t: float) -> PathPoint:
        sign, segments = (1.0, self.after) if t >= 0.0 else (-1.0, self.before)
        while not segments or sign * t > sign * (segments[-1].start + 2.0 * segments[-1].half):
            self._add(sign, segments)
        k = bisect_right(segments, sign * t, key=lambda segment: sign * segment.start) - 1
        return segments[k].at(t)

    def places(self, end: float) -> tuple[Floats, Floats]:
        """Instants (m,) s from zero beyond an end, and positions (m, 3), close enough to see all that it passes."""
        self(end)
        x = np.linspace(-1.0, 1.0, LOOKS, endpoint=False)
        basis = _legendre(x)
        times = [segment.start + segment.half * (1.0 + x) for segment in self.after]
        return np.concatenate(times), np.concatenate([basis @ segment.position for segment in self.after])

    def _add(self, sign: float, segments: list[PathSegment]) -> None:
        """Continue the path by a segment."""
        start, R, V = 0.0, self.position, self.velocity
        if segments:
            start = segments[-1].start + 2.0 * segments[-1].half
            R, V, _ = segments[-1].at(start)
        nodes, to_series, once, twice = _collocation()
        half = 0.5 * sign * PART * sqrt(float(R @ R) ** 1.5 / float(self.body.mu))
        line = R + half * (nodes + 1.0)[:, None] * V
        to_nodes = half * half * (_legendre(nodes) @ twice @ to_series)
        a = np.tile(self.body.gravity(R), (POINTS, 1))
        change = inf
        for _ in range(ITERATIONS):
            new = self.body.gravity(line + to_nodes @ a)
            last, change = change, float(np.max(np.abs(new - a)))
            a = new
            if change == 0.0 or change >= last:
                break
        series = to_series @ a
        velocity, position = half * (once @ series), half * half * (twice @ series)
        velocity[0] += V
        position[0] += R + half * V
        position[1] += half * V
        segments.append(PathSegment(start, half, position, velocity, series))


def places(path: Path, mu: float, end: float) -> tuple[Floats, Floats]:
    """``DisturbedPath.places`` of any path about a body with the constant mu, m3/s2, up to the end (s)."""
    times, positions = [0.0], [path(0.0).position]
    while times[-1] < end:
        times.append(min(times[-1] + PART / LOOKS * sqrt(float(positions[-1] @ positions[-1]) ** 1.5 / mu), end))
        positions.append(path(times[-1]).position)
    return np.array(times), np.array(positions)


def _legendre(x: Floats) -> Floats:
    """(m, POINTS + 2) Legendre's polynomials at x (m,)."""
    return np.asarray(np.polynomial.legendre.legvander(x, POINTS + 1), dtype=float)


@cache
def _collocation() -> tuple[Floats, Floats, Floats, Floats]:
    """The points of Gauss (n,) in [-1, 1], and matrices from values there to the series of Legendre of them (n, n),
    and from that to the series of its first integral from -1 (n + 2, n) and its second one."""
    legendre = np.polynomial.legendre
    nodes, weights = legendre.leggauss(POINTS)
    degrees = np.arange(POINTS)
    to_series = ((2 * degrees + 1) / 2.0)[:, None] * _legendre(nodes)[:, :POINTS].T * weights
    once, twice = np.zeros((2, POINTS + 2, POINTS))
    once[: POINTS + 1] = legendre.legint(np.eye(POINTS), lbnd=-1)
    twice[:] = legendre.legint(np.eye(POINTS), m=2, lbnd=-1)
    return nodes, to_series, once, twice


@dataclass(frozen=True)
class GivenPath:
    """The spline of degree 5 through positions (n, 3) m at times (n,) s, of which there are six or more.

    Raises ValueError before the first time and after the last.
    """

    times: Floats
    positions: Floats

    @cached_property
    def _pieces(self) -> tuple[list[float], Floats]:
        """Knots, and coefficients (6, n, 3) after each, highest power first."""
        from scipy.interpolate import PPoly, make_interp_spline

        parts = [PPoly.from_spline(make_interp_spline(self.times, each, k=DEGREE)) for each in self.positions.T]
        return parts[0].x.tolist(), np.stack([part.c for part in parts], axis=-1)

    def __call__(self, t: float) -> PathPoint:
        first, last = float(self.times[0]), float(self.times[-1])
        if not first <= t <= last:
            raise ValueError(f"got t = {t:.9g} s, but the table is from {first:.9g} to {last:.9g} s")
        knots, pieces = self._pieces
        k = min(bisect_right(knots, t), len(knots) - DEGREE - 1) - 1
        x, (a, b, c, d, e, f) = t - knots[k], pieces[:, k]
        position = ((((a * x + b) * x + c) * x + d) * x + e) * x + f
        velocity = (((5.0 * a * x + 4.0 * b) * x + 3.0 * c) * x + 2.0 * d) * x + e
        acceleration = ((20.0 * a * x + 12.0 * b) * x + 6.0 * c) * x + 2.0 * d
        return PathPoint(position, velocity, acceleration)

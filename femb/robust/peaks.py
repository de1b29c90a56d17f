"""Local peaks of the sensitivity of a loop over frequency, and its slowest poles: what limits of tuning are about.

Peaks are found on a grid, then by parabolas on the gain itself: a grid alone misses thin ones. Source:
docs/theory/robust.md, section 8.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from femb.base.types import Complexes, Floats
from femb.linear.loop import STABLE
from femb.linear.state_space import StateSpace

# The poles of a plant that are constraints.
POLES = 4
# Steps to the summit of a peak. Bands of frequency without a peak have this size at least. Frequencies nearer to each
# other, relative to them, are one: between those of equal poles sizes differ by rounding.
REFINED, LOW, APART = 4, 0.1, 1e-6
# Frequencies of a grid near a pole, by its decay.
WIDTHS = np.array([-4.0, -2.0, -1.2, -0.6, -0.2, 0.2, 0.6, 1.2, 2.0, 4.0])
UNMOVED = 1e-8  # of the largest of all modes: what moves or shows one that no law moves is less


class LoopPeaks(NamedTuple):
    """The largest real parts of poles, 1/s; of each channel the frequencies and heights of the local peaks of the
    sensitivity, and of its ends, by frequency, and where it is least between them."""

    rates: Floats
    at: list[Floats]
    tops: list[Floats]
    valleys: list[Floats]

    @property
    def growth(self) -> float:
        return float(self.rates[-1])

    @property
    def peak(self) -> float:
        """The largest of all channels."""
        return float(np.max(np.concatenate(self.tops)))

    @staticmethod
    def of(rates: Floats, grids: Sequence[Floats], gains: Sequence[Callable[[Floats], Floats]]) -> "LoopPeaks":
        """By the sizes of channels at frequencies, each once on its grid and then about its peaks."""
        return LoopPeaks(rates, *map(list, zip(*map(_tops, grids, gains), strict=True)))

    @staticmethod
    def alone(rates: Floats, largest: Sequence[tuple[float, float]]) -> "LoopPeaks":
        """By the largest peak of each channel, and its frequency, rad/s."""
        tops, at = ([np.array([each[k]]) for each in largest] for k in (0, 1))
        return LoopPeaks(rates, at, tops, [np.zeros(0)] * len(tops))


def slowest(poles: Complexes) -> Floats:
    """The largest real parts of poles, one of each pair, the last the largest; as many where pairs become real."""
    found = np.sort(poles[poles.imag >= 0.0].real)[-POLES:]
    return np.pad(found, (POLES - len(found), 0), "edge")


def fixed_poles(plant: StateSpace) -> Complexes:
    """Poles of a plant that decay and that no law moves: inputs do not move them, or outputs do not show them."""
    from scipy.linalg import eig

    if not len(plant.A):
        return np.zeros(0, dtype=complex)
    values, left, right = eig(plant.A, left=True, right=True)
    moving, shown = np.linalg.norm(plant.B.T @ left, axis=0), np.linalg.norm(plant.C @ right, axis=0)
    still = (moving <= UNMOVED * moving.max()) | (shown <= UNMOVED * shown.max())
    # one that grows is no less a fault for being the same with all laws
    return np.asarray(values[still & (values.real < -STABLE * np.abs(values))])


def resolved(grid: Floats, poles: Complexes) -> Floats:
    """Frequencies of a grid and near the poles, rad/s."""
    own = poles[poles.imag > 0.0]
    near = (own.imag + np.outer(WIDTHS, own.real)).ravel()
    return np.unique(np.concatenate([grid, near[(near > grid[0]) & (near < grid[-1])]]))


def _tops(omega: Floats, gain: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
    """Frequencies and heights of the local peaks of a gain and of its ends, and where it is least between peaks."""
    omega = omega[np.diff(np.log(omega), prepend=-np.inf) > APART]
    x = np.log(omega)
    y = gain(omega)
    inner = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:])) + 1
    valleys = np.array([omega[i + int(np.argmin(y[i:j]))] for i, j in pairwise(inner)])
    at, width = x[inner], 0.5 * np.minimum(x[inner + 1] - x[inner], x[inner] - x[inner - 1])
    for _ in range(REFINED if len(at) else 0):
        low, middle, high = np.log(gain(np.exp(np.concatenate([at - width, at, at + width])))).reshape(3, -1)
        bend = low - 2.0 * middle + high
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(bend < 0.0, 0.5 * (low - high) / bend, np.sign(high - low))
        at, width = at + width * np.clip(step, -1.5, 1.5), np.where(np.abs(step) < 1.0, 0.2, 1.0) * width
    frequencies = np.concatenate([omega[:1], np.exp(at), omega[-1:]])
    return frequencies, np.concatenate([y[:1], gain(np.exp(at)) if len(at) else at, y[-1:]]), valleys


def within_bands(at: Floats, tops: Floats, edges: Floats) -> list[float]:
    """The largest size in each band between frequencies."""
    places = np.searchsorted(edges, at)
    return [float(np.max(tops[places == k], initial=LOW)) for k in range(len(edges) + 1)]

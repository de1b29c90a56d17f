"""Input shapers of a model's own modes: impulses, residual vibration over frequency, shaped profiles.

Source: docs/theory/shapers.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.shaper import ORDERS, SHAPERS, TOLERANCE, Shaped, impulses, merged, residual
from femb.base.types import Floats
from femb.base.values import as_numbers, numbered, shown, whole_number
from femb.linear.state_space import StateSpace
from femb.profiles import PROFILES, Profile
from femb.vibration.modes import Modes
from femb.vibration.modes import modes as modes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from femb.case import Given

WIDE = 0.6  # part of the lowest and of the highest frequency that the curve goes beyond them
POINTS = 2001
BAND = 0.05  # residual vibration of the band in tables


@dataclass(frozen=True, eq=False)
class Shaper(Tabled):
    """Impulses that leave no vibration of some modes, as ``femb.shaper`` gives them.

    kind : "zv", "zvd", "zvdd" or "ei". frequencies (k,) Hz, undamped, and damping (k,) ratios : of the modes.
    tolerance : the part of the vibration that "ei" leaves, without a unit. times (n,) s, amplitudes (n,) : of the
    impulses; the sum of these is one.
    """

    kind: str
    frequencies: Floats
    damping: Floats
    tolerance: float
    times: Floats
    amplitudes: Floats

    @property
    def duration(self) -> float:
        """Time (s) by which a shaped profile ends later."""
        return float(self.times[-1])

    def residual(self, frequencies: ArrayLike, damping: ArrayLike = 0.0) -> Floats:
        """Vibration that is left in modes of these frequencies (Hz, undamped) and ratios, over that of one impulse.

        Source: docs/theory/shapers.md, equation (5).
        """
        return residual(self.times, self.amplitudes, np.asarray(frequencies, dtype=float), np.asarray(damping))

    def band(self, mode: int = 1, level: float = BAND) -> tuple[float, float]:
        """First and last frequency (Hz) about a mode, counted from 1, where at most the part ``level`` of the vibration
        is left; both NaN where more is left at the mode itself. The damping ratio is that of the mode."""
        centre, ratio = float(self.frequencies[mode - 1]), float(self.damping[mode - 1])
        if self.residual(centre, ratio) > level * (1.0 + 1e-9):
            return np.nan, np.nan
        ends = []
        for sign in (-1.0, 1.0):
            f = centre * (1.0 + sign * np.linspace(0.0, 1.0, POINTS)[1:])
            f = f[f > 0.0]
            over = np.flatnonzero(self.residual(f, ratio) > level * (1.0 + 1e-9))
            if not len(over):
                ends.append(float(f[-1]))
                continue
            inside, outside = (centre if over[0] == 0 else float(f[over[0] - 1])), float(f[over[0]])
            for _ in range(60):
                middle = 0.5 * (inside + outside)
                good = self.residual(middle, ratio) <= level * (1.0 + 1e-9)
                inside, outside = (middle, outside) if good else (inside, middle)
            ends.append(inside)
        return ends[0], ends[1]

    def shaped(self, profile: Profile) -> Profile:
        """The profile, convolved with the impulses."""
        return Shaped(profile, self.times, self.amplitudes)

    def sampled(self, period: float, *, split: bool = True) -> "Shaper":
        """The shaper whose impulses are at multiples of a period (s): each split over the two samples beside it, so
        that its mean instant stays, or else moved to the nearest one. Raises ModelError: a period that is not positive.
        """
        if as_numbers(period) is None or not 0.0 < period < np.inf:
            raise ModelError(f"shaper: period: got {shown(period)}, must be greater than 0 s")
        place = self.times / period
        before = np.floor(place)
        later = place - before if split else np.round(place - before)
        times = period * np.concatenate([before, before + 1.0])
        amplitudes = np.concatenate([self.amplitudes * (1.0 - later), self.amplitudes * later])
        times, amplitudes = merged(times[amplitudes != 0.0], amplitudes[amplitudes != 0.0])
        return Shaper(self.kind, self.frequencies, self.damping, self.tolerance, times, amplitudes)

    def words(self) -> str:
        """The keys of the shaped profile in a case file, without the profile that is shaped."""
        text = f'shape = "{self.kind}", frequencies = [{_listed(self.frequencies)}]'
        if self.kind == "ei":
            return f"{text}, tolerance = {self.tolerance:g}"
        return f"{text}, damping = [{_listed(self.damping)}]"

    def table(self) -> str:
        """The impulses, and for each mode the residual vibration and the band of 5 %."""
        of = " and ".join(f"{frequency:.6g}" for frequency in self.frequencies)
        lines = [f"{self.kind} of {numbered(len(self.frequencies), 'mode')} at {of} Hz: {self.duration:.6g} s longer"]
        lines += ["", f"{'time s':>12}{'amplitude':>12}"]
        lines += [f"{t:12.6f}{a:12.6f}" for t, a in zip(self.times, self.amplitudes, strict=True)]
        lines += ["", "what is left of the vibration at a part of the frequency, and where it is at most 5 %"]
        parts = (0.8, 0.9, 1.0, 1.1, 1.2)
        lines.append(f"{'mode Hz':>12}" + "".join(f"{part:>10}" for part in parts) + f"{'band Hz':>22}")
        for k, (frequency, ratio) in enumerate(zip(self.frequencies, self.damping, strict=True)):
            left = self.residual(frequency * np.array(parts), ratio)
            first, last = self.band(k + 1)
            band = f"{first:.5g} to {last:.5g}" if first == first else "-"
            lines.append(f"{frequency:12.6g}" + "".join(f"{x:10.5f}" for x in left) + f"{band:>22}")
        return "\n".join(lines)

    def plot(self) -> "Figure":
        """The figure (matplotlib) of the residual vibration over frequency, with the damping of the first mode."""
        from femb.pictures.frequency import draw_residual

        low, high = float(np.min(self.frequencies)), float(np.max(self.frequencies))
        span = np.linspace((1.0 - WIDE) * low, (1.0 + WIDE) * high, POINTS)
        curve = self.residual(span, float(self.damping[0]))
        return draw_residual(span, curve, self.frequencies, f"{self.kind}, {self.duration:.4g} s")

    def draw(self, path: str | Path, *, dpi: int = 150) -> Path:
        """Draw the residual vibration over frequency to a picture file with ``dpi`` dots per inch; its path."""
        from femb.pictures.drawing import save

        return save(self.plot(), Path(path), dpi)


def shaper(
    kind: str = "zvd",
    model: "Given | Modes | StateSpace | None" = None,
    *,
    modes: "int | Sequence[int]" = 1,
    frequencies: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    start: str | None = None,
) -> Shaper:
    """The shaper of modes: "zv", "zvd", "zvdd", or "ei" with a ``tolerance``.

    Parameters:
        kind: of the shaper.
        model: whose modes these are: a model, free as it is, with its own dampers; its ``Modes``; or the ``StateSpace``
            of a control loop.
        modes: number of the lowest oscillations, or their numbers from 1.
        frequencies: (m,) Hz, undamped, in place of a model.
        damping: (m,) ratios, or one number, in place of the model's.
        tolerance: part of the vibration that is left.
        start: as in ``femb.modes``.

    Raises:
        ModelError: an unknown kind, neither or both of model and frequencies, modes that are not there, frequencies
            that are not positive, ratios outside 0 to 1.
    """
    if kind not in SHAPERS:
        raise ModelError(f"shaper: got {shown(kind)}, must be one of {', '.join(map(repr, SHAPERS))}")
    if (model is None) == (frequencies is None):
        raise ModelError("shaper: got neither or both of a model and frequencies: give one")
    if model is None:
        found, ratios = _numbers("frequencies", frequencies), np.zeros(1)
    else:
        found, ratios = _oscillations(model, modes, start)
    if damping is not None:
        ratios = _numbers("damping", damping)
    if ratios.size not in (1, found.size):
        raise ModelError(f"shaper: damping: got {ratios.size} numbers, wanted one, or {found.size}, one a mode")
    ratios = np.broadcast_to(ratios, found.shape).copy()
    words: dict[str, Any] = {"damping": ratios} if kind in ORDERS else {"tolerance": tolerance}
    PROFILES[kind](profile=PROFILES["constant"](), frequencies=found, **words)  # its checks
    times, amplitudes = impulses(kind, found.tolist(), ratios.tolist(), tolerance)
    return Shaper(kind, found, ratios, tolerance, times, amplitudes)


def _numbers(word: str, value: Any) -> Floats:
    numbers = as_numbers(value)
    if numbers is None or numbers.ndim > 1 or not numbers.size:
        raise ModelError(f"shaper: {word}: got {shown(value)}, wanted a number, or a list of numbers")
    return np.atleast_1d(numbers)


def _oscillations(
    model: "Given | Modes | StateSpace", modes: "int | Sequence[int]", start: str | None
) -> tuple[Floats, Floats]:
    """Frequencies (Hz, undamped) and damping ratios of the chosen oscillations."""
    chosen = list(range(1, modes + 1)) if isinstance(modes, int) else list(modes)
    if not chosen or not all(whole_number(number) and number > 0 for number in chosen):
        raise ModelError(f"shaper: modes: got {shown(modes)}, wanted how many of the lowest, or numbers from 1")
    if isinstance(model, StateSpace):
        poles = model.eigenvalues()
        # motions without stiffness are double poles at zero, which rounding of A moves apart
        poles = poles[np.abs(poles) > model.smallest_pole]
    else:
        found = model if isinstance(model, Modes) else modes_of(model, max(chosen), start=start, damped=True)
        poles = found.eigenvalues
    poles = poles[poles.imag > 1e-9 * np.abs(poles)]
    poles = poles[np.argsort(np.abs(poles), kind="stable")]
    if max(chosen) > len(poles):
        raise ModelError(f"shaper: modes: got {shown(modes)}, found {numbered(len(poles), 'oscillation')}")
    poles = poles[np.array(chosen) - 1]
    if np.any(poles.real > 1e-9 * np.abs(poles)):
        raise ModelError("shaper: a mode grows: a shaper leaves no vibration of modes that die out or go on")
    return np.abs(poles) / (2.0 * np.pi), np.maximum(-poles.real / np.abs(poles), 0.0)


def _listed(values: Floats) -> str:
    return ", ".join(f"{value:.8g}" for value in values)

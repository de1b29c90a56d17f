"""Input shapers: impulses in time with which a command is convolved, so that it leaves no vibration of given modes.

A shaped command is the sum of delayed copies of the command, and ends later by the time of the last impulse.
Source: docs/theory/shapers.md; N. C. Singer and W. P. Seering, ASME J. Dyn. Syst. Meas. Control 112 (1990) 76-82;
W. Singhose, W. Seering and N. Singer, ASME J. Mech. Des. 116 (1994) 654-659.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.profile import Combined, Copy, Profile
from femb.base.types import Coordinates, Floats, Numbers, Unit
from femb.base.values import LARGEST

ORDERS = {"zv": 1, "zvd": 2, "zvdd": 3}
"""Shapers of vanishing derivatives, and the number of their factors ZV."""
SHAPERS = (*ORDERS, "ei")
TOLERANCE = 0.05  # default residual vibration of EI at the frequency of its mode
MOST_IMPULSES = 10_000
SAME = 1e-12  # of the last instant: impulses nearer than this are one


def impulses(
    kind: str, frequencies: Sequence[float], damping: Sequence[float], tolerance: float = TOLERANCE
) -> tuple[Floats, Floats]:
    """Times (s) and amplitudes (n,) of a shaper of SHAPERS for modes with these frequencies (Hz, undamped) and damping
    ratios; the amplitudes add up to one. tolerance : of "ei".

    "ei" is for undamped modes. Several modes have the convolution of their shapers.
    Source: docs/theory/shapers.md, equations (1) to (4).
    """
    times, amplitudes = np.zeros(1), np.ones(1)
    for frequency, ratio in zip(frequencies, damping, strict=True):
        root = math.sqrt(1.0 - ratio * ratio) if kind in ORDERS else 1.0
        half = 0.5 / (frequency * root)
        if kind == "ei":
            own = np.array([1.0 + tolerance, 2.0 * (1.0 - tolerance), 1.0 + tolerance]) / 4.0
        else:
            n, K = ORDERS[kind], math.exp(-ratio * math.pi / root)
            own = np.array([math.comb(n, k) * K**k for k in range(n + 1)]) / (1.0 + K) ** n
        times = np.add.outer(times, half * np.arange(len(own))).ravel()
        amplitudes = np.multiply.outer(amplitudes, own).ravel()
    return merged(times, amplitudes)


def merged(times: Floats, amplitudes: Floats) -> tuple[Floats, Floats]:
    """The impulses in the order of time, those at one instant as one."""
    order = np.argsort(times, kind="stable")
    times, amplitudes = times[order], amplitudes[order]
    new = np.append(True, np.diff(times) > SAME * max(abs(times[-1]), abs(times[0])))
    first = np.flatnonzero(new)
    return times[first], np.add.reduceat(amplitudes, first)


def residual(times: Floats, amplitudes: Floats, frequency: Floats, damping: float | Floats = 0.0) -> Floats:
    """Vibration that impulses leave in a mode of these frequencies (Hz, undamped) and damping ratios, over that of one
    impulse of their sum at the instant of the last. Source: docs/theory/shapers.md, equation (5)."""
    omega, ratio = np.broadcast_arrays(2.0 * np.pi * np.asarray(frequency, dtype=float), damping)
    late = times - times[-1]
    turns = np.exp(np.multiply.outer(omega * ratio + 1j * omega * np.sqrt(1.0 - ratio * ratio), late))
    return np.asarray(np.abs(turns @ amplitudes) / abs(np.sum(amplitudes)))


@dataclass(frozen=True)
class Shaped(Combined):
    """The sum of copies of ``profile``, delayed by ``times`` (s) and multiplied by ``amplitudes``: its convolution with
    impulses. A driver follows it if it follows the profile.
    """

    shape: ClassVar[str] = "shaped"
    profile: Annotated[Profile, Unit("value")]
    """the one that is shaped"""
    times: Annotated[Numbers, Unit("s")]
    """of the impulses, from zero"""
    amplitudes: Annotated[Numbers, Unit("")]
    """of the impulses, as many; their sum is one for a profile that ends at the same value"""

    def check(self, check: Checks) -> None:
        check.numbers("times", "amplitudes")
        if not check.bad:
            wanted = f"wanted {len(self.times)}, one for each of the times"
            check.require("amplitudes", len(self.amplitudes) == len(self.times), wanted)
            check.require("times", min(self.times) >= 0.0, "must be at least 0: a copy is not earlier than the profile")
            check.require("times", len(self.times) <= MOST_IMPULSES, f"wanted at most {MOST_IMPULSES}")

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(Copy(a, t, self.profile) for t, a in zip(self.times, self.amplitudes, strict=True))


@dataclass(frozen=True)
class _OfModes(Combined):
    """Base of the shapers of modes."""

    profile: Annotated[Profile, Unit("value")]
    """the one that is shaped"""
    frequencies: Annotated[Numbers, Unit("Hz")]
    """of the undamped modes"""

    def check(self, check: Checks) -> None:
        check.numbers("frequencies")
        if not check.bad:
            check.require("frequencies", min(self.frequencies) >= 1.0 / LARGEST, "must be greater than 0")
            most = int(math.log(MOST_IMPULSES, ORDERS.get(self.shape, 2) + 1))
            check.require("frequencies", len(self.frequencies) <= most, f"wanted at most {most}")

    @property
    def impulses(self) -> tuple[Floats, Floats]:
        """Times (s) and amplitudes of its impulses."""
        raise NotImplementedError

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        times, amplitudes = self.impulses
        return tuple(Copy(a, t, self.profile) for t, a in zip(times.tolist(), amplitudes.tolist(), strict=True))


@dataclass(frozen=True)
class ZV(_OfModes):
    """``profile`` shaped so that it leaves no vibration of modes with these ``frequencies`` (Hz, undamped) and
    ``damping`` ratios. It ends half a period later, for each mode. A driver follows it if it follows the profile.

    Source: docs/theory/shapers.md, equation (1).
    """

    shape: ClassVar[str] = "zv"
    damping: Annotated[Coordinates, Unit("")] = 0.0
    """ratios of the modes, a number or one a mode"""

    def check(self, check: Checks) -> None:
        super().check(check)
        ratios = check.array("damping", lambda x: x.ndim <= 1 and x.size > 0, "a number, or a list of numbers")
        if ratios is None:
            return
        object.__setattr__(self, "damping", float(ratios) if ratios.ndim == 0 else tuple(ratios.tolist()))
        check.require("damping", np.all((ratios >= 0.0) & (ratios < 1.0)), "must be at least 0 and less than 1")
        if not check.bad:
            wanted = f"wanted a number, or {len(self.frequencies)}, one a mode"
            check.require("damping", ratios.ndim == 0 or len(ratios) == len(self.frequencies), wanted)

    @property
    def impulses(self) -> tuple[Floats, Floats]:
        """Times (s) and amplitudes of its impulses."""
        ratios = np.broadcast_to(np.ravel(self.damping), len(self.frequencies))
        return impulses(self.shape, self.frequencies, ratios.tolist())


@dataclass(frozen=True)
class ZVD(ZV):
    """A shaper as ``zv``, with a residual vibration whose derivative by the frequency is zero too: for frequencies
    known to some 10 %. It ends a period later, for each mode.
    """

    shape: ClassVar[str] = "zvd"


@dataclass(frozen=True)
class ZVDD(ZV):
    """A shaper as ``zv``, with two derivatives of the residual vibration that are zero. It ends one and a half periods
    later, for each mode.
    """

    shape: ClassVar[str] = "zvdd"


@dataclass(frozen=True)
class EI(_OfModes):
    """``profile`` shaped so that it leaves the part ``tolerance`` of the vibration of undamped modes with these
    ``frequencies`` (Hz), and none of two frequencies beside each (extra insensitive). It ends a period later, for each
    mode. A driver follows it if it follows the profile.

    Source: docs/theory/shapers.md, equation (3).
    """

    shape: ClassVar[str] = "ei"
    tolerance: Annotated[float, Unit("")] = TOLERANCE
    """part of the vibration that is left at the frequencies"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if "tolerance" not in check.bad:
            check.require("tolerance", 0.0 <= self.tolerance < 1.0, "must be at least 0 and less than 1")

    @property
    def impulses(self) -> tuple[Floats, Floats]:
        """Times (s) and amplitudes of its impulses."""
        return impulses(self.shape, self.frequencies, [0.0] * len(self.frequencies), self.tolerance)

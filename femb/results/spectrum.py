"""Spectra of quantities over time at equal intervals."""

from typing import Literal, NamedTuple

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.base.values import shown

# Relative difference of intervals between output times up to which they are equal.
UNIFORM = 1e-6
FEWEST = 8

SpectrumKind = Literal["psd", "amplitude"]


class Spectrum(NamedTuple):
    """frequency (F,) Hz, and the values (F, ...) of a spectrum over it."""

    frequency: Floats
    values: Floats


def spectrum_of(time: Floats, values: Floats, kind: SpectrumKind, name: str) -> Spectrum:
    """The spectrum of values (T, ...) at the times (T,) s; ``name`` is for messages. See ``Results.spectrum``."""
    from scipy import signal

    if not isinstance(kind, str) or kind not in ("psd", "amplitude"):
        raise ResultError(f"kind: got {shown(kind)}, wanted 'psd' or 'amplitude'")
    if time.size < FEWEST:
        raise ResultError(f"{name}: a spectrum needs at least {FEWEST} output times, there are {time.size}")
    intervals = np.diff(time)
    interval = float(np.mean(intervals))
    if np.max(np.abs(intervals - interval)) > UNIFORM * interval:
        raise ResultError(
            f"{name}: a spectrum needs equal intervals between the output times, got {intervals.min():.6g} to "
            f"{intervals.max():.6g} s: give an output_interval of which the duration is a multiple"
        )
    if kind == "psd":
        return Spectrum(*signal.periodogram(values, 1.0 / interval, "hann", detrend="constant", axis=0))
    amplitude = 2.0 / time.size * np.abs(np.fft.rfft(values, axis=0))
    amplitude[0] *= 0.5
    if time.size % 2 == 0:
        amplitude[-1] *= 0.5
    return Spectrum(np.arange(len(amplitude)) / (time.size * interval), amplitude)


def unit_of_spectrum(unit: str, kind: SpectrumKind) -> str:
    """The unit of a spectrum of a quantity in ``unit``: of "psd" its square per Hz."""
    if kind == "amplitude":
        return unit
    return f"({unit})²/Hz" if any(letter in unit for letter in " /") else f"{unit}²/Hz" if unit else "1/Hz"

"""Reductions: one number from the history of a quantity.

Times are those of the output; between them, values are interpolated linearly.
"""

import numpy as np

from femb.base.types import Floats

# Amplitudes of a spectrum below this part of the largest are no vibration of their own.
VISIBLE = 0.1


def mean(time: Floats, x: Floats) -> float:
    """The mean over time."""
    if not time[-1] > time[0]:
        return float(x[-1])
    return float(np.sum(0.5 * (x[1:] + x[:-1]) * np.diff(time)) / (time[-1] - time[0]))


def rms(time: Floats, x: Floats) -> float:
    """The root of the mean square over time."""
    return float(np.sqrt(mean(time, x**2)))


def peak_time(time: Floats, x: Floats) -> float:
    """The instant (s) of the largest magnitude."""
    return float(time[np.argmax(np.abs(x))])


def settling_time(
    time: Floats, x: Floats, target: float | None, band: float | None, tolerance: float | None, hold: float = 0.0
) -> float:
    """The instant (s) after which the history stays within a band about a target.

    target : by default the last value. tolerance : half of the width of the band, in the unit of the quantity; else
    ``band`` times the largest distance from the target. NaN where the history ends outside of the band, or has been
    inside for less than ``hold`` s.
    """
    distance = np.abs(x - (x[-1] if target is None else target))
    width = tolerance if tolerance is not None else (0.02 if band is None else band) * float(np.max(distance))
    outside = np.flatnonzero(distance > width)
    if not outside.size:
        return float(time[0])
    last = int(outside[-1])
    if last == len(time) - 1:
        return float("nan")
    share = (distance[last] - width) / (distance[last] - distance[last + 1])
    settled = float(time[last] + share * (time[last + 1] - time[last]))
    return settled if time[-1] - settled >= hold else float("nan")


def first_frequency(time: Floats, x: Floats) -> float:
    """The lowest frequency (Hz) with a peak in the amplitude spectrum, of at least a tenth of its largest value.

    From the history without its linear trend, in a Hann window; the peak is that of a parabola through the logarithms
    of three amplitudes. NaN where there is no peak. Source: F. J. Harris, On the use of windows for harmonic analysis
    with the discrete Fourier transform, Proceedings of the IEEE 66 (1978).
    """
    if len(time) < 8 or not time[-1] > time[0]:
        return float("nan")
    even = np.linspace(time[0], time[-1], len(time))
    y = np.interp(even, time, x)
    y = (y - np.polynomial.Polynomial.fit(even, y, 1)(even)) * np.hanning(len(y))
    size = np.abs(np.fft.rfft(y))
    inner = np.arange(1, len(size) - 1)
    peaks = inner[(size[inner] >= size[inner - 1]) & (size[inner] > size[inner + 1])]
    peaks = peaks[size[peaks] >= VISIBLE * np.max(size)]
    if not peaks.size or not np.max(size) > 1e-12 * len(x) * np.max(np.abs(x)):
        return float("nan")
    k = int(peaks[0])
    a, b, c = np.log(np.maximum(size[k - 1 : k + 2], np.finfo(float).tiny))
    bins = k + 0.5 * (a - c) / (a - 2.0 * b + c)
    return float(bins / (len(even) * (even[1] - even[0])))
